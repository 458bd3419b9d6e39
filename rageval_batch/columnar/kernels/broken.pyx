"""Model answers that are not JSON as they stand: fences around them, the first object inside them."""

import numpy as np
from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport find_byte, plain_width


cdef inline bint language_byte(uint8_t byte) noexcept nogil:
    """Whether a byte may stand in the name of a language: letters, digits, `_+.#-`."""
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte in (95, 43, 46, 35, 45)


def fenced(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends):
    """(start, start behind a language word, end) inside the ``` fences around stripped texts; all -1 without fences."""
    inner_starts = np.full(len(starts), -1, np.int64)
    behind_words = np.full(len(starts), -1, np.int64)
    inner_ends = np.full(len(starts), -1, np.int64)
    cdef int64_t[::1] inner = inner_starts
    cdef int64_t[::1] behind = behind_words
    cdef int64_t[::1] stops = inner_ends
    cdef int64_t at, end
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            at, end = starts[k], ends[k]
            while at < end and data[at] == 96:
                at += 1
            while end > at and data[end - 1] == 96:
                end -= 1
            if at - starts[k] < 3 or ends[k] - end < 3:
                continue
            inner[k] = at
            stops[k] = end
            while at < end and (data[at] == 32 or data[at] == 9):
                at += 1
            while at < end and language_byte(data[at]):
                at += 1
            behind[k] = at
    return inner_starts, behind_words, inner_ends


def first_object(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends):
    """The span from the first `{` to where its brackets balance outside strings; -1 for what is not there."""
    object_starts = np.full(len(starts), -1, np.int64)
    object_ends = np.full(len(starts), -1, np.int64)
    cdef int64_t[::1] out_starts = object_starts
    cdef int64_t[::1] out_ends = object_ends
    cdef int64_t at, end, depth
    cdef bint quoted
    cdef uint8_t byte
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            end = ends[k]
            at = find_byte(data, starts[k], end, 123)
            if at >= end:
                continue
            out_starts[k] = at
            depth = 0
            quoted = False
            while at < end:
                if quoted:
                    at += plain_width(data, at, end)
                    if at == end:
                        break
                byte = data[at]
                if quoted:
                    if byte == 92:
                        at += 1
                    elif byte == 34:
                        quoted = False
                elif byte == 34:
                    quoted = True
                elif byte == 123 or byte == 91:
                    depth += 1
                elif byte == 125 or byte == 93:
                    depth -= 1
                    if depth == 0:
                        out_ends[k] = at + 1
                        break
                at += 1
    return object_starts, object_ends
