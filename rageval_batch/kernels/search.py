"""Substrings and membership, byte for byte: exact for UTF-8."""

from __future__ import annotations

import numpy as np

from rageval_batch.compiled import kernel
from rageval_batch.strings import Bytes, Flags, Ints, Offsets


@kernel
def contains(
    hay: Bytes, h_starts: Offsets, h_ends: Offsets, needle: Bytes, n_starts: Offsets, n_ends: Offsets
) -> Flags:
    """Whether each needle is a substring of its hay, byte for byte (exact for UTF-8); an empty needle is not."""
    out = np.zeros(len(h_starts), np.bool_)
    jump = np.empty(256, np.int64)
    for k in range(len(h_starts)):
        start, width = n_starts[k], n_ends[k] - n_starts[k]
        if width == 0 or width > h_ends[k] - h_starts[k]:
            continue
        jump[:] = width
        for i in range(width - 1):
            jump[needle[start + i]] = width - 1 - i
        at = h_starts[k]
        last = h_ends[k] - width
        while at <= last:
            i = width - 1
            while i >= 0 and hay[at + i] == needle[start + i]:
                i -= 1
            if i < 0:
                out[k] = True
                break
            at += jump[hay[at + width - 1]]
    return out


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
