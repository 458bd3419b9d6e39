"""What a record of a judge is measured by: whole numbers, the length of quotes, a digest of the text."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport load64
from rageval_batch.columnar.kernels.json cimport IS_NUMBER
from rageval_batch.columnar.kernels.utf8 cimport code_point, space_width

from rageval_batch.columnar.characters import letter_table


cdef extern from *:
    """
    #define RAGEVAL_MOST ((int64_t)1 << 62)
    """
    const int64_t AT_MOST "RAGEVAL_MOST"


MOST = AT_MOST  # larger whole numbers count as this


def whole_numbers(
    const uint8_t[::1] data,
    const uint8_t[::1] kind,
    const int64_t[::1] start,
    const int64_t[::1] stop,
    const int32_t[:] nodes,
):
    """(value, is a whole number) of JSON nodes; a fraction or exponent makes none, and node -1 is none."""
    numbers = np.zeros(len(nodes), np.int64)
    flags = np.zeros(len(nodes), np.bool_)
    cdef int64_t[::1] values = numbers
    cdef uint8_t[::1] whole = flags.view(np.uint8)
    cdef int64_t at, end, value
    cdef int32_t node
    cdef bint negative
    cdef Py_ssize_t k
    with nogil:
        for k in range(nodes.shape[0]):
            node = nodes[k]
            if node < 0 or kind[node] != IS_NUMBER:
                continue
            at, end = start[node], stop[node]
            negative = data[at] == 45
            at += negative
            value = 0
            whole[k] = True
            while at < end:
                if data[at] < 48 or data[at] > 57:
                    whole[k] = False
                    break
                value = value * 10 + data[at] - 48 if value < AT_MOST // 16 else AT_MOST
                at += 1
            values[k] = -value if negative else value
    return numbers, flags


def lengths(texts, int64_t at_most):
    """Han characters and words together, a word having a letter or digit; texts of so few bytes count as empty."""
    cdef const uint8_t[::1] data = texts.data
    cdef const int64_t[::1] offsets = texts.offsets
    cdef const uint8_t[::1] letters = letter_table().view(np.uint8)
    counts = np.zeros(len(texts), np.int64)
    cdef int64_t[::1] out = counts
    cdef int64_t at, end, width, point, count
    cdef bint word
    cdef Py_ssize_t k
    with nogil:
        for k in range(out.shape[0]):
            at, end = offsets[k], offsets[k + 1]
            if end - at <= at_most:
                continue
            count = 0
            word = False
            while at < end:
                width = space_width(data, at, end)
                if width:
                    count += word
                    word = False
                    at += width
                    continue
                point, width = code_point(data, at)
                at += width
                if 0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF:
                    count += word
                    word = False
                    count += 1
                elif letters[point]:
                    word = True
            out[k] = count + word
    return counts


cdef inline uint64_t mixed(uint64_t state, uint64_t word, uint64_t factor) noexcept nogil:
    state = (state ^ word) * factor
    return state ^ (state >> 29)


def digests(const uint8_t[::1] data, const int64_t[::1] offsets):
    """128 bits of every string, in two halves: equal for equal strings, and else not equal but by a miracle."""
    cdef uint64_t one = <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t two = <uint64_t>0xC2B2AE3D27D4EB4F
    first_halves = np.empty(len(offsets) - 1, np.int64)
    second_halves = np.empty(len(offsets) - 1, np.int64)
    cdef int64_t[::1] first = first_halves
    cdef int64_t[::1] second = second_halves
    cdef uint64_t a, b, word
    cdef int64_t at, end
    cdef Py_ssize_t k
    with nogil:
        for k in range(first.shape[0]):
            at, end = offsets[k], offsets[k + 1]
            a = <uint64_t>(end - at)
            b = ~a
            while at + 8 <= end:
                word = load64(data, at)
                a = mixed(a, word, one)
                b = mixed(b, word, two)
                at += 8
            word = 0
            while at < end:
                word = (word << 8) | data[at]
                at += 1
            first[k] = <int64_t>mixed(mixed(a, word, one), b, two)
            second[k] = <int64_t>mixed(mixed(b, word, two), a, one)
    return first_halves, second_halves
