"""Words looked for in texts at their boundaries, and texts made ready for that."""

from __future__ import annotations

from typing import Any

import numpy as np

from rageval_batch.columnar.compiled import compiled, kernel
from rageval_batch.columnar.kernels.softmatch import _point
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets

ITSELF, ASK = -1, -2  # in a folding: the character stays; what becomes of it depends on its neighbours


@kernel
def fold(data: Bytes, offsets: Offsets, folding: Ints, pool: Bytes) -> tuple[Bytes, Offsets, Flags]:
    """(bytes, offsets, not done) of strings with every character replaced as the folding says; empty gives empty.

    `folding` has for each of the first code points ITSELF, ASK, or where in `pool` its replacement stands, behind its
    length; no replacement is longer than the character. Of the code points behind them, all below 2F800 are Han.
    """
    out = np.empty(offsets[-1] - offsets[0], np.uint8)
    bounds = np.empty(len(offsets), np.int64)
    bounds[0] = 0
    left = np.zeros(len(offsets) - 1, np.bool_)
    to = 0
    for k in range(len(offsets) - 1):
        first = to
        at, end = offsets[k], offsets[k + 1]
        while at < end:
            byte = data[at]
            if byte < 0x80:
                out[to] = byte | 32 if 65 <= byte <= 90 else byte
                to += 1
                at += 1
                continue
            point, width = _point(data, at)
            place = folding[point] if point < len(folding) else (ITSELF if point < 0x2F800 else ASK)
            if place == ASK:
                left[k] = True
                to = first
                break
            if place == ITSELF:
                for i in range(width):
                    out[to + i] = data[at + i]
                to += width
            else:
                for i in range(pool[place]):
                    out[to + i] = pool[place + 1 + i]
                to += pool[place]
            at += width
        bounds[k + 1] = to
    return out[:to], bounds, left


@compiled
def _joined_before(data: Bytes, start: int, at: int, joins: Flags) -> Any:
    """Whether the character before `at` makes one word with what follows it."""
    if at == start:
        return False
    at -= 1
    while (data[at] & 0xC0) == 0x80:
        at -= 1
    point, _ = _point(data, at)
    return point < len(joins) and joins[point]


@compiled
def _joined_behind(data: Bytes, at: int, end: int, joins: Flags) -> Any:
    """Whether the character at `at` makes one word with what stands before it."""
    if at == end:
        return False
    point, _ = _point(data, at)
    return point < len(joins) and joins[point]


@compiled
def _stands_in(
    data: Bytes, start: int, end: int, word: Bytes, first: int, last: int, bound_before: bool, bound_behind: bool,
    joins: Flags,
) -> bool:  # fmt: skip
    width = last - first
    head = word[first]
    for at in range(start, end - width + 1):
        if data[at] != head:
            continue
        i = 1
        while i < width and data[at + i] == word[first + i]:
            i += 1
        if i < width:
            continue
        if bound_before and _joined_before(data, start, at, joins):
            continue
        if bound_behind and _joined_behind(data, at + width, end, joins):
            continue
        return True
    return False


@kernel
def find_words(
    data: Bytes,
    offsets: Offsets,
    text_bounds: Offsets,
    which: Ints,
    words: Bytes,
    word_offsets: Offsets,
    word_bounds: Offsets,
    bound_before: Flags,
    bound_behind: Flags,
    joins: Flags,
) -> tuple[Flags, Offsets]:
    """(found, bounds of rows) of every word of set `which[r]` in the texts of row r; no texts: none is found.

    At an end where it is bound, a word is not found beside a character that joins. No word is empty.
    """
    bounds = np.empty(len(which) + 1, np.int64)
    bounds[0] = 0
    for r in range(len(which)):
        bounds[r + 1] = bounds[r] + word_bounds[which[r] + 1] - word_bounds[which[r]]
    out = np.zeros(bounds[-1], np.bool_)
    for r in range(len(which)):
        for w in range(word_bounds[which[r]], word_bounds[which[r] + 1]):
            for t in range(text_bounds[r], text_bounds[r + 1]):
                if _stands_in(
                    data, offsets[t], offsets[t + 1], words, word_offsets[w], word_offsets[w + 1],
                    bound_before[w], bound_behind[w], joins,
                ):  # fmt: skip
                    out[bounds[r] + w - word_bounds[which[r]]] = True
                    break
    return out, bounds
