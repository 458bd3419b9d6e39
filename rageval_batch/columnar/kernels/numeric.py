"""Texts with numbers in them: one spelling for all ways to write a number, and words that a number follows.

What a character is comes in as tables over all code points, from `characters`.
"""

from __future__ import annotations

import numpy as np

from rageval_batch.columnar.characters import DIGIT, SPACE, WORD, Marks
from rageval_batch.columnar.compiled import compiled, kernel
from rageval_batch.columnar.kernels.json import _put
from rageval_batch.columnar.kernels.softmatch import _point
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, Strings

_COMMA, _POINT, _BLANK = ord(","), ord("."), ord(" ")


@kernel
def blank(data: Bytes, starts: Offsets, ends: Offsets, kinds: Bytes) -> Flags:
    """Which strings have nothing but white space; an empty one has nothing else."""
    out = np.ones(len(starts), np.bool_)
    for k in range(len(starts)):
        at = starts[k]
        while at < ends[k]:
            point, width = _point(data, at)
            if not kinds[point] & SPACE:
                out[k] = False
                break
            at += width
    return out


@compiled
def _behind_word(data: Bytes, at: int, end: int, mapped: Ints, kinds: Bytes, words: Ints, first: int, last: int) -> int:
    """The position behind the word and the white space that must follow it; -1 where they do not stand there."""
    for w in range(first, last):
        if at >= end:
            return -1
        point, width = _point(data, at)
        if mapped[point] != words[w]:
            return -1
        at += width
    behind = at
    while at < end:
        point, width = _point(data, at)
        if not kinds[mapped[point]] & SPACE:
            break
        at += width
    return at if at > behind else -1


@compiled
def _digit_at(data: Bytes, at: int, end: int, mapped: Ints, kinds: Bytes) -> bool:
    if at >= end:
        return False
    point, _ = _point(data, at)
    return bool(kinds[mapped[point]] & DIGIT)


@kernel
def _unify(
    data: Bytes, offsets: Offsets, mapped: Ints, kinds: Bytes, words: Ints, word_bounds: Offsets, signs: Bytes
) -> tuple[Bytes, Offsets]:
    size = offsets[-1] - offsets[0]
    out = np.empty(size + size // 2 + 4, np.uint8)  # no character's lower case is more than half as long again
    bounds = np.empty(len(offsets), np.int64)
    bounds[0] = 0
    to = 0
    for k in range(len(offsets) - 1):
        at, end = offsets[k], offsets[k + 1]
        first = to
        before = 0  # the kind of the last character that was no white space
        spaced = False  # white space came behind it
        while at < end:
            point, width = _point(data, at)
            point = int(mapped[point])
            kind = kinds[point]
            if kind == WORD and before & WORD and not spaced:  # amid a word: most of a text
                to = _put(out, to, point)
                at += width
                before = kind
                continue
            if kind & SPACE:
                spaced = True
                at += width
                continue
            behind = -1
            if kind & WORD and (spaced or not before & WORD):
                for w in range(len(signs)):
                    if point == words[word_bounds[w]]:
                        behind = _behind_word(data, at, end, mapped, kinds, words, word_bounds[w], word_bounds[w + 1])
                        if behind >= 0:
                            point, kind = int(signs[w]), np.uint8(0)
                            break
            if spaced and to > first and not before & kind & DIGIT:
                out[to] = _BLANK
                to += 1
            if point == _COMMA and before & DIGIT and not spaced and _digit_at(data, at + 1, end, mapped, kinds):
                point = _POINT
            to = _put(out, to, point)
            at = behind if behind >= 0 else at + width
            before, spaced = kind, False
        bounds[k + 1] = to
    return out[:to], bounds


def unify_numbers(
    column: Strings, mapped: Ints, kinds: Bytes, words: Ints, word_bounds: Offsets, signs: Bytes
) -> Strings:
    """Every string with its characters mapped and its numbers written one way; empty gives empty.

    A word of `words` at a word boundary becomes its sign and takes the white space behind it along. Then white space
    between digits goes, a comma between digits becomes a point, other white space becomes one space, none at the ends.
    """
    return Strings(*_unify(column.data, column.offsets, mapped, kinds, words, word_bounds, signs))


@kernel
def numbered(data: Bytes, starts: Offsets, ends: Offsets, letters: Marks, count: int, kinds: Bytes) -> Flags:
    """Which strings have a word with a number behind it, a full stop and white space between them allowed.

    Bit i of `letters[point]` says that the code point may stand for letter i of the word of `count` letters.
    """
    out = np.zeros(len(starts), np.bool_)
    for k in range(len(starts)):
        start, end = starts[k], ends[k]
        while start < end and not out[k]:
            point, width = _point(data, start)
            start += width
            if not letters[point] & 1:
                continue
            at, letter = start, 1
            while letter < count and at < end:
                point, width = _point(data, at)
                if not (letters[point] >> letter) & 1:
                    break
                at += width
                letter += 1
            if letter < count:
                continue
            if at < end and data[at] == _POINT:
                at += 1
            while at < end:
                point, width = _point(data, at)
                if not kinds[point] & SPACE:
                    out[k] = (kinds[point] & DIGIT) != 0
                    break
                at += width
    return out
