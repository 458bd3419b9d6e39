"""Texts with numbers in them: one spelling for all ways to write a number, and words that a number follows.

What a character is comes in as tables over all code points, from `characters`.
"""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from rageval_batch.columnar.kernels.utf8 cimport code_point, put_point

from rageval_batch.columnar import characters
from rageval_batch.columnar.strings import Strings


cdef enum:
    COMMA = 44
    FULL_STOP = 46
    BLANK = 32

cdef uint8_t SPACE = characters.SPACE
cdef uint8_t DIGIT = characters.DIGIT
cdef uint8_t WORD = characters.WORD


def blank(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends, const uint8_t[::1] kinds):
    """Which strings have nothing but white space; an empty one has nothing else."""
    flags = np.ones(len(starts), np.bool_)
    cdef uint8_t[::1] out = flags.view(np.uint8)
    cdef int64_t at, point, width
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            at = starts[k]
            while at < ends[k]:
                point, width = code_point(data, at)
                if not kinds[point] & SPACE:
                    out[k] = False
                    break
                at += width
    return flags


cdef int64_t behind_word(
    const uint8_t[::1] data,
    int64_t at,
    int64_t end,
    const int32_t[::1] mapped,
    const uint8_t[::1] kinds,
    const int32_t[::1] words,
    int64_t first,
    int64_t last,
) noexcept nogil:
    """The position behind the word and the white space that must follow it; -1 where they do not stand there."""
    cdef int64_t w, point, width, behind
    for w in range(first, last):
        if at >= end:
            return -1
        point, width = code_point(data, at)
        if mapped[point] != words[w]:
            return -1
        at += width
    behind = at
    while at < end:
        point, width = code_point(data, at)
        if not kinds[mapped[point]] & SPACE:
            break
        at += width
    return at if at > behind else -1


cdef bint digit_at(
    const uint8_t[::1] data, int64_t at, int64_t end, const int32_t[::1] mapped, const uint8_t[::1] kinds
) noexcept nogil:
    if at >= end:
        return False
    return (kinds[mapped[code_point(data, at)[0]]] & DIGIT) != 0


def unify_numbers(
    column,
    const int32_t[::1] mapped,
    const uint8_t[::1] kinds,
    const int32_t[::1] words,
    const int64_t[::1] word_bounds,
    const uint8_t[::1] signs,
):
    """Every string with its characters mapped and its numbers written one way; empty gives empty.

    A word of `words` at a word boundary becomes its sign and takes the white space behind it along. Then white space
    between digits goes, a comma between digits becomes a point, other white space becomes one space, none at the ends.
    """
    cdef const uint8_t[::1] data = column.data
    cdef const int64_t[::1] offsets = column.offsets
    cdef Py_ssize_t k, w, rows = offsets.shape[0] - 1
    cdef int64_t size = offsets[rows] - offsets[0]
    content = np.empty(size + size // 2 + 4, np.uint8)  # no character's lower case is more than half as long again
    unified_bounds = np.empty(rows + 1, np.int64)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] bounds = unified_bounds
    cdef int64_t at, end, first, point, width, behind, to = 0
    cdef uint8_t kind, before  # the latter of the last character that was no white space
    cdef bint spaced  # white space came behind it
    bounds[0] = 0
    with nogil:
        for k in range(rows):
            at, end = offsets[k], offsets[k + 1]
            first = to
            before = 0
            spaced = False
            while at < end:
                point, width = code_point(data, at)
                point = mapped[point]
                kind = kinds[point]
                if kind == WORD and before & WORD and not spaced:  # amid a word: most of a text
                    to = put_point(out, to, point)
                    at += width
                    before = kind
                    continue
                if kind & SPACE:
                    spaced = True
                    at += width
                    continue
                behind = -1
                if kind & WORD and (spaced or not before & WORD):
                    for w in range(signs.shape[0]):
                        if point == words[word_bounds[w]]:
                            behind = behind_word(
                                data, at, end, mapped, kinds, words, word_bounds[w], word_bounds[w + 1]
                            )
                            if behind >= 0:
                                point = signs[w]
                                kind = 0
                                break
                if spaced and to > first and not before & kind & DIGIT:
                    out[to] = BLANK
                    to += 1
                if point == COMMA and before & DIGIT and not spaced and digit_at(data, at + 1, end, mapped, kinds):
                    point = FULL_STOP
                to = put_point(out, to, point)
                at = behind if behind >= 0 else at + width
                before = kind
                spaced = False
            bounds[k + 1] = to
    return Strings(content[:to], unified_bounds)


def numbered(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] ends,
    const uint32_t[::1] letters,
    int64_t count,
    const uint8_t[::1] kinds,
):
    """Which strings have a word with a number behind it, a full stop and white space between them allowed.

    Bit i of `letters[point]` says that the code point may stand for letter i of the word of `count` letters.
    """
    flags = np.zeros(len(starts), np.bool_)
    cdef uint8_t[::1] out = flags.view(np.uint8)
    cdef int64_t start, end, at, point, width, letter
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            start, end = starts[k], ends[k]
            while start < end and not out[k]:
                point, width = code_point(data, start)
                start += width
                if not letters[point] & 1:
                    continue
                at, letter = start, 1
                while letter < count and at < end:
                    point, width = code_point(data, at)
                    if not (letters[point] >> letter) & 1:
                        break
                    at += width
                    letter += 1
                if letter < count:
                    continue
                if at < end and data[at] == FULL_STOP:
                    at += 1
                while at < end:
                    point, width = code_point(data, at)
                    if not kinds[point] & SPACE:
                        out[k] = (kinds[point] & DIGIT) != 0
                        break
                    at += width
    return flags
