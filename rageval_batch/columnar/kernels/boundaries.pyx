"""Texts folded by a table, substrings that stand as whole words, and the letters of a text by their script."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcmp

from rageval_batch.columnar.kernels.utf8 cimport code_point, put_point


def folded(const uint8_t[::1] data, const int64_t[:] offsets, const int32_t[::1] table):
    """(bytes, offsets, which are not folded) of texts with every character replaced by that of the table.

    A text with a character that has none, -1, is not folded and comes out empty.
    """
    cdef Py_ssize_t row, count = offsets.shape[0] - 1
    content = np.empty(2 * int(offsets[count] - offsets[0]), np.uint8)  # at most 4 bytes for a character of 2 or more
    bounds = np.zeros(count + 1, np.int64)
    left_out = np.zeros(count, np.bool_)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] ends = bounds
    cdef uint8_t[::1] skipped = left_out.view(np.uint8)
    cdef int64_t at, to, point, width
    cdef int32_t other
    with nogil:
        for row in range(count):
            at, to = offsets[row], ends[row]
            while at < offsets[row + 1]:
                point, width = code_point(data, at)
                other = table[point]
                if other < 0:
                    skipped[row] = True
                    to = ends[row]
                    break
                to = put_point(out, to, other)
                at += width
            ends[row + 1] = to
    return content[:ends[count]], bounds, left_out


cdef inline bint in_word(const uint8_t[::1] data, int64_t at, const uint8_t[::1] spaced) noexcept nogil:
    """Whether the character at a byte is a letter or digit of a script that writes spaces."""
    return spaced[code_point(data, at)[0]]


cdef inline int64_t character_before(const uint8_t[::1] data, int64_t at) noexcept nogil:
    """Where the character that ends before a byte begins."""
    at -= 1
    while data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def whole_parts(
    const uint8_t[::1] hay, const int64_t[::1] hay_offsets, const int64_t[::1] which,
    const uint8_t[::1] parts, const int64_t[::1] part_offsets, const int64_t[::1] part, const uint8_t[::1] spaced,
):
    """Whether part `part[p]` stands in hay `which[p]`, with no character of `spaced` beside one of its own at either end.

    An empty part is in no text.
    """
    found = np.zeros(len(which), np.bool_)
    cdef uint8_t[::1] out = found.view(np.uint8)
    cdef Py_ssize_t p
    cdef int64_t start, size, at, first, last
    cdef const uint8_t* place
    cdef bint bound_left, bound_right
    with nogil:
        for p in range(which.shape[0]):
            start, size = part_offsets[part[p]], part_offsets[part[p] + 1] - part_offsets[part[p]]
            first, last = hay_offsets[which[p]], hay_offsets[which[p] + 1]
            if size == 0 or size > last - first:
                continue
            bound_left = in_word(parts, start, spaced)
            bound_right = in_word(parts, character_before(parts, start + size), spaced)
            at = first
            while at <= last - size:
                place = <const uint8_t*>memchr(&hay[at], parts[start], <size_t>(last - size - at + 1))
                if place == NULL:
                    break
                at = place - &hay[0]
                if (
                    memcmp(place, &parts[start], <size_t>size) == 0
                    and not (bound_left and at > first and in_word(hay, character_before(hay, at), spaced))
                    and not (bound_right and at + size < last and in_word(hay, at + size, spaced))
                ):
                    out[p] = True
                    break
                at += 1
    return found


def main_script(
    const uint8_t[::1] data, const int64_t[::1] offsets, const uint8_t[::1] scripts, Py_ssize_t count,
    uint8_t han, uint8_t kana,
):
    """The number of the script that most characters of each text have, of equals the first; 0 where none has one.

    `scripts` numbers the script of every letter from 1, below `count`, and has 0 for all else. Where there is Kana,
    Han counts as Kana.
    """
    found = np.zeros(len(offsets) - 1, np.uint8)
    cdef uint8_t[::1] out = found
    cdef int64_t[::1] counts = np.zeros(count, np.int64)
    cdef int64_t[::1] seen = np.zeros(count, np.int64)  # when each script was first met
    cdef Py_ssize_t row, script
    cdef int64_t at, order, best, point, width
    with nogil:
        for row in range(offsets.shape[0] - 1):
            for script in range(count):
                counts[script] = 0
            at, order = offsets[row], 0
            while at < offsets[row + 1]:
                point, width = code_point(data, at)
                at += width
                script = scripts[point]
                if script:
                    if counts[script] == 0:
                        seen[script] = order
                        order += 1
                    counts[script] += 1
            if counts[kana] and counts[han]:
                counts[kana] += counts[han]
                seen[kana] = min(seen[kana], seen[han])
                counts[han] = 0
            best = 0
            for script in range(1, count):
                if counts[script] > best or (best and counts[script] == best and seen[script] < seen[out[row]]):
                    best = counts[script]
                    out[row] = <uint8_t>script
    return found
