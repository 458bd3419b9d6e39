"""Substrings and membership, byte for byte: exact for UTF-8."""

from __future__ import annotations

import numpy as np

from rageval_batch.columnar.compiled import LOW_BITS, compiled, first_byte, kernel, load64, zero_bytes
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets


@compiled
def _same(hay: Bytes, at: int, needle: Bytes, start: int, width: int) -> bool:
    for i in range(width):
        if hay[at + i] != needle[start + i]:
            return False
    return True


@compiled
def _rare(needle: Bytes, start: int, end: int) -> int:
    """Where in the needle its likely rarest byte stands: no space and no first byte of a long character if it can."""
    best, at = 4, start
    for i in range(start, end):
        byte = needle[i]
        rank = 3 if byte == 32 or byte >= 0xC0 else 1 if byte >= 0x80 else 2 if byte >= 97 else 0
        if rank < best:
            best, at = rank, i
    return at - start


@compiled
def _inside(hay: Bytes, h_start: int, h_end: int, needle: Bytes, start: int, end: int) -> bool:
    """Whether the needle is a substring of the hay; an empty needle is not. Eight places are looked at together."""
    width = end - start
    if width == 0 or width > h_end - h_start:
        return False
    ahead = _rare(needle, start, end)
    rare = needle[start + ahead]
    pattern = np.uint64(rare) * LOW_BITS
    at = h_start + ahead
    stop = h_end - width + ahead + 1
    while at + 8 <= stop:
        marks = zero_bytes(load64(hay, at) ^ pattern)
        while marks:
            if _same(hay, at + first_byte(marks) - ahead, needle, start, width):
                return True
            marks &= marks - np.uint64(1)
        at += 8
    for place in range(at, stop):
        if hay[place] == rare and _same(hay, place - ahead, needle, start, width):
            return True
    return False


@kernel
def contains(
    hay: Bytes, h_starts: Offsets, h_ends: Offsets, needle: Bytes, n_starts: Offsets, n_ends: Offsets
) -> Flags:
    """Whether each needle is a substring of its hay, byte for byte (exact for UTF-8); an empty needle is not."""
    out = np.zeros(len(h_starts), np.bool_)
    for k in range(len(h_starts)):
        out[k] = _inside(hay, h_starts[k], h_ends[k], needle, n_starts[k], n_ends[k])
    return out


@kernel
def group_hits(
    hay: Bytes,
    starts: Offsets,
    ends: Offsets,
    which: Ints,
    set_bounds: Offsets,
    group_bounds: Offsets,
    needle: Bytes,
    needle_offsets: Offsets,
) -> tuple[Ints, Ints]:
    """(how many groups of set `which[i]` have a needle in hay i, the first such needle of every group, else -1).

    Set s has the groups from `set_bounds[s]`, group g the needles from `group_bounds[g]`, to the next one's. An empty
    needle or group is never found. The needles of all rows stand end to end, one a group of the row's set.
    """
    counts = np.zeros(len(starts), np.int32)
    size = 0
    for k in range(len(starts)):
        size += set_bounds[which[k] + 1] - set_bounds[which[k]]
    first = np.full(size, -1, np.int32)
    to = 0
    for k in range(len(starts)):
        for g in range(set_bounds[which[k]], set_bounds[which[k] + 1]):
            for n in range(group_bounds[g], group_bounds[g + 1]):
                if _inside(hay, starts[k], ends[k], needle, needle_offsets[n], needle_offsets[n + 1]):
                    counts[k] += 1
                    first[to] = n
                    break
            to += 1
    return counts, first


@kernel
def among(
    data: Bytes,
    starts: Offsets,
    ends: Offsets,
    which: Ints,
    members: Bytes,
    member_offsets: Offsets,
    set_bounds: Offsets,
) -> Flags:
    """Whether each string equals a member of set `which[i]`; set -1 has no members."""
    out = np.zeros(len(starts), np.bool_)
    for k in range(len(starts)):
        if which[k] < 0:
            continue
        width = ends[k] - starts[k]
        for m in range(set_bounds[which[k]], set_bounds[which[k] + 1]):
            if member_offsets[m + 1] - member_offsets[m] != width:
                continue
            same = True
            for i in range(width):
                if members[member_offsets[m] + i] != data[starts[k] + i]:
                    same = False
                    break
            if same:
                out[k] = True
                break
    return out
