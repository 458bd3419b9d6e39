"""White space of UTF-8 columns, by the explicit White_Space list, and spans of text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import compiled, kernel
from rageval_batch.columnar.strings import Bytes, Offsets, Strings


@compiled
def _space(data: Bytes, at: int, end: int) -> int:
    """The width in bytes of the White_Space character at `at`, 0 where there is none."""
    byte = data[at]
    if byte > 0xE3 or (byte > 32 and byte < 0xC2):
        return 0
    if byte <= 32:
        return 1 if byte == 32 or 9 <= byte <= 13 else 0
    if byte == 0xC2 and at + 1 < end:
        return 2 if data[at + 1] == 0x85 or data[at + 1] == 0xA0 else 0
    if byte < 0xE1 or byte > 0xE3 or at + 2 >= end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if byte == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    if byte == 0xE3:
        return 3 if second == 0x80 and third == 0x80 else 0
    if second == 0x80:
        return 3 if 0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    return 3 if second == 0x81 and third == 0x9F else 0


@compiled
def _strip_one(data: Bytes, start: int, end: int) -> tuple[int, int]:
    while start < end:
        width = _space(data, start, end)
        if width == 0:
            break
        start += width
    while end > start:
        at = end - 1
        while at > start and (data[at] & 0xC0) == 0x80:
            at -= 1
        width = _space(data, at, end)
        if width == 0 or at + width != end:
            break
        end = at
    return start, end


@kernel
def strip(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    """The spans without White_Space at either end; an empty or blank string gives an empty span."""
    out_starts = np.empty(len(starts), np.int64)
    out_ends = np.empty(len(starts), np.int64)
    for k in range(len(starts)):
        out_starts[k], out_ends[k] = _strip_one(data, starts[k], ends[k])
    return out_starts, out_ends


@kernel
def _cut(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Bytes, Offsets]:
    offsets = np.empty(len(starts) + 1, np.int64)
    offsets[0] = 0
    for k in range(len(starts)):
        offsets[k + 1] = offsets[k] + ends[k] - starts[k]
    out = np.empty(offsets[-1], np.uint8)
    for k in range(len(starts)):
        for at in range(ends[k] - starts[k]):
            out[offsets[k] + at] = data[starts[k] + at]
    return out, offsets


def cut(data: Bytes, starts: Offsets, ends: Offsets) -> Strings:
    """The spans of a buffer as a column of their own; an empty span gives an empty string."""
    return Strings(*_cut(data, starts, ends))


@kernel
def _squash(data: Bytes, offsets: Offsets) -> tuple[Bytes, Offsets]:
    out = np.empty(offsets[-1] - offsets[0], np.uint8)
    bounds = np.empty(len(offsets), np.int64)
    bounds[0] = 0
    to = 0
    for k in range(len(offsets) - 1):
        at, end = offsets[k], offsets[k + 1]
        while at < end:
            width = _space(data, at, end)
            if width:
                at += width
                continue
            out[to] = data[at]
            to += 1
            at += 1
        bounds[k + 1] = to
    return out[:to], bounds


def squash(column: Strings) -> Strings:
    """Every string without its White_Space characters; empty gives empty."""
    return Strings(*_squash(column.data, column.offsets))


@kernel
def collapsed_length(data: Bytes, starts: Offsets, ends: Offsets, enough: int) -> npt.NDArray[np.int64]:
    """Code points of each string, white space stripped and its runs counted as one, counted up to `enough`."""
    out = np.empty(len(starts), np.int64)
    for k in range(len(starts)):
        at, end = _strip_one(data, starts[k], ends[k])
        count = 0
        spaced = False
        while at < end and count < enough:
            width = _space(data, at, end)
            if width:
                count += not spaced
                spaced = True
                at += width
                continue
            spaced = False
            count += 1
            at += 1
            while at < end and (data[at] & 0xC0) == 0x80:
                at += 1
        out[k] = count
    return out
