"""What a record of a judge is measured by: whole numbers, the length of quotes, a digest of the text."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rageval_batch.columnar.compiled import compiled, kernel, load64
from rageval_batch.columnar.kernels.json import NUMBER
from rageval_batch.columnar.kernels.spaces import _space
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, Strings

MOST = 1 << 62  # larger whole numbers count as this


@kernel
def whole_numbers(data: Bytes, kind: Bytes, start: Offsets, stop: Offsets, nodes: Ints) -> tuple[Offsets, Flags]:
    """(value, is a whole number) of JSON nodes; a fraction or exponent makes none, and node -1 is none."""
    values = np.zeros(len(nodes), np.int64)
    whole = np.zeros(len(nodes), np.bool_)
    for k in range(len(nodes)):
        node = nodes[k]
        if node < 0 or kind[node] != NUMBER:
            continue
        at, end = start[node], stop[node]
        negative = data[at] == 45
        if negative:
            at += 1
        value: Any = 0
        whole[k] = True
        while at < end:
            if data[at] < 48 or data[at] > 57:
                whole[k] = False
                break
            value = value * 10 + np.int64(data[at]) - 48 if value < MOST // 16 else MOST
            at += 1
        values[k] = -value if negative else value
    return values, whole


@kernel
def _lengths(data: Bytes, offsets: Offsets, letters: Flags) -> Offsets:
    out = np.empty(len(offsets) - 1, np.int64)
    for k in range(len(out)):
        at, end = offsets[k], offsets[k + 1]
        count = 0
        word = False
        while at < end:
            width = _space(data, at, end)
            if width:
                count += word
                word = False
                at += width
                continue
            byte = np.int64(data[at])
            if byte < 0x80:
                point, width = byte, 1
            elif byte < 0xE0:
                point, width = (byte & 0x1F) << 6 | np.int64(data[at + 1]) & 0x3F, 2
            elif byte < 0xF0:
                point = (byte & 0x0F) << 12 | (np.int64(data[at + 1]) & 0x3F) << 6 | np.int64(data[at + 2]) & 0x3F
                width = 3
            else:
                point = (byte & 0x07) << 18 | (np.int64(data[at + 1]) & 0x3F) << 12
                point |= (np.int64(data[at + 2]) & 0x3F) << 6 | np.int64(data[at + 3]) & 0x3F
                width = 4
            at += width
            if 0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF:
                count += word
                word = False
                count += 1
            elif letters[point]:
                word = True
        out[k] = count + word
    return out


@lru_cache(maxsize=1)
def _letters() -> Flags:
    """Which code points are letters or digits, as Python says."""
    return np.fromiter((chr(point).isalnum() for point in range(0x110000)), np.bool_, 0x110000)


def lengths(texts: Strings, at_most: int) -> Offsets:
    """Han characters and words together, a word having a letter or digit; texts of so few bytes count as empty."""
    long = np.flatnonzero(np.diff(texts.offsets) > at_most)
    out = np.zeros(len(texts), np.int64)
    if len(long):
        chosen = texts.to_arrow().take(long)
        _, offsets, data = chosen.buffers()
        bounds = np.frombuffer(offsets, np.int64)[: len(long) + 1]
        out[long] = _lengths(np.frombuffer(data, np.uint8), bounds, _letters())
    return out


_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(29)


@compiled
def _mixed(state: Any, word: Any, factor: Any) -> Any:
    state = (state ^ word) * factor
    return state ^ (state >> _SHIFT)


@kernel
def digests(data: Bytes, offsets: Offsets) -> tuple[Offsets, Offsets]:
    """128 bits of every string, in two halves: equal for equal strings, and else not equal but by a miracle."""
    first = np.empty(len(offsets) - 1, np.int64)
    second = np.empty(len(offsets) - 1, np.int64)
    for k in range(len(first)):
        at, end = offsets[k], offsets[k + 1]
        a: Any = np.uint64(end - at)
        b: Any = ~a
        while at + 8 <= end:
            word = load64(data, at)
            a = _mixed(a, word, _FIRST)
            b = _mixed(b, word, _SECOND)
            at += 8
        word = np.uint64(0)
        while at < end:
            word = (word << np.uint64(8)) | np.uint64(data[at])
            at += 1
        first[k] = np.int64(_mixed(_mixed(a, word, _FIRST), b, _SECOND))
        second[k] = np.int64(_mixed(_mixed(b, word, _SECOND), a, _FIRST))
    return first, second
