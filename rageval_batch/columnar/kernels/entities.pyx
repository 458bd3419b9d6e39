"""Words looked for in texts at their boundaries, and texts made ready for that."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport copy_bytes, equal_bytes
from rageval_batch.columnar.kernels.utf8 cimport code_point


cdef enum:
    STAYS = -1
    UNDECIDED = -2


ITSELF, ASK = STAYS, UNDECIDED  # in a folding: the character stays; what becomes of it depends on its neighbours


def fold(const uint8_t[::1] data, const int64_t[::1] offsets, const int32_t[::1] folding, const uint8_t[::1] pool):
    """(bytes, offsets, not done) of strings with every character replaced as the folding says; empty gives empty.

    `folding` has for each of the first code points ITSELF, ASK, or where in `pool` its replacement stands, behind its
    length; no replacement is longer than the character. Of the code points behind them, all below 2F800 are Han.
    """
    cdef Py_ssize_t k, rows = offsets.shape[0] - 1
    content = np.empty(offsets[rows] - offsets[0], np.uint8)
    folded_bounds = np.empty(rows + 1, np.int64)
    not_done = np.zeros(rows, np.bool_)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] bounds = folded_bounds
    cdef uint8_t[::1] left = not_done.view(np.uint8)
    cdef int64_t at, end, first, point, width, to = 0
    cdef int32_t place
    cdef uint8_t byte
    bounds[0] = 0
    with nogil:
        for k in range(rows):
            first = to
            at, end = offsets[k], offsets[k + 1]
            while at < end:
                byte = data[at]
                if byte < 0x80:
                    out[to] = byte | 32 if 65 <= byte <= 90 else byte
                    to += 1
                    at += 1
                    continue
                point, width = code_point(data, at)
                if point < folding.shape[0]:
                    place = folding[point]
                else:
                    place = STAYS if point < 0x2F800 else UNDECIDED
                if place == UNDECIDED:
                    left[k] = True
                    to = first
                    break
                if place == STAYS:
                    copy_bytes(data, at, width, out, to)
                    to += width
                else:
                    copy_bytes(pool, place + 1, pool[place], out, to)
                    to += pool[place]
                at += width
            bounds[k + 1] = to
    return content[:to], folded_bounds, not_done


cdef bint joined_before(
    const uint8_t[::1] data, int64_t start, int64_t at, const uint8_t[::1] joins
) noexcept nogil:
    """Whether the character before `at` makes one word with what follows it."""
    cdef int64_t point
    if at == start:
        return False
    at -= 1
    while (data[at] & 0xC0) == 0x80:
        at -= 1
    point = code_point(data, at)[0]
    return point < joins.shape[0] and joins[point]


cdef bint joined_behind(const uint8_t[::1] data, int64_t at, int64_t end, const uint8_t[::1] joins) noexcept nogil:
    """Whether the character at `at` makes one word with what stands before it."""
    cdef int64_t point
    if at == end:
        return False
    point = code_point(data, at)[0]
    return point < joins.shape[0] and joins[point]


cdef bint stands_in(
    const uint8_t[::1] data,
    int64_t start,
    int64_t end,
    const uint8_t[::1] word,
    int64_t first,
    int64_t last,
    bint bound_before,
    bint bound_behind,
    const uint8_t[::1] joins,
) noexcept nogil:
    cdef int64_t at, width = last - first
    cdef uint8_t head = word[first]
    for at in range(start, end - width + 1):
        if data[at] != head or not equal_bytes(data, at, word, first, width):
            continue
        if bound_before and joined_before(data, start, at, joins):
            continue
        if bound_behind and joined_behind(data, at + width, end, joins):
            continue
        return True
    return False


def find_words(
    const uint8_t[::1] data,
    const int64_t[::1] offsets,
    const int64_t[::1] text_bounds,
    const int32_t[:] which,
    const uint8_t[::1] words,
    const int64_t[::1] word_offsets,
    const int64_t[::1] word_bounds,
    bound_before,
    bound_behind,
    joins,
):
    """(found, bounds of rows) of every word of set `which[r]` in the texts of row r; no texts: none is found.

    At an end where it is bound, a word is not found beside a character that joins. No word is empty.
    """
    cdef const uint8_t[:] before = bound_before.view(np.uint8)
    cdef const uint8_t[:] behind = bound_behind.view(np.uint8)
    cdef const uint8_t[::1] joining = joins.view(np.uint8)
    cdef Py_ssize_t r, rows = which.shape[0]
    row_bounds = np.empty(rows + 1, np.int64)
    cdef int64_t[::1] bounds = row_bounds
    bounds[0] = 0
    with nogil:
        for r in range(rows):
            bounds[r + 1] = bounds[r] + word_bounds[which[r] + 1] - word_bounds[which[r]]
    found = np.zeros(bounds[rows], np.bool_)
    cdef uint8_t[::1] out = found.view(np.uint8)
    cdef int64_t w, t
    with nogil:
        for r in range(rows):
            for w in range(word_bounds[which[r]], word_bounds[which[r] + 1]):
                for t in range(text_bounds[r], text_bounds[r + 1]):
                    if stands_in(
                        data,
                        offsets[t],
                        offsets[t + 1],
                        words,
                        word_offsets[w],
                        word_offsets[w + 1],
                        before[w],
                        behind[w],
                        joining,
                    ):
                        out[bounds[r] + w - word_bounds[which[r]]] = True
                        break
    return found, row_bounds
