"""Model answers that are not JSON as they stand: fences around them, the first object inside them."""

from __future__ import annotations

import numpy as np

from rageval_batch.columnar.compiled import compiled, kernel
from rageval_batch.columnar.strings import Bytes, Offsets


@compiled
def _language_byte(byte: int) -> bool:
    return (
        48 <= byte <= 57
        or 65 <= byte <= 90
        or 97 <= byte <= 122
        or byte == 95
        or byte == 43
        or byte == 46
        or byte == 35
        or byte == 45
    )


@kernel
def fenced(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets, Offsets]:
    """(start, start behind a language word, end) inside the ``` fences around stripped texts; all -1 without fences."""
    inner = np.full(len(starts), -1, np.int64)
    behind = np.full(len(starts), -1, np.int64)
    stops = np.full(len(starts), -1, np.int64)
    for k in range(len(starts)):
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
        while at < end and _language_byte(data[at]):
            at += 1
        behind[k] = at
    return inner, behind, stops


@kernel
def first_object(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    """The span from the first `{` to where its brackets balance outside strings; -1 for what is not there."""
    out_starts = np.full(len(starts), -1, np.int64)
    out_ends = np.full(len(starts), -1, np.int64)
    for k in range(len(starts)):
        at, end = starts[k], ends[k]
        while at < end and data[at] != 123:
            at += 1
        if at == end:
            continue
        out_starts[k] = at
        depth = 0
        quoted = False
        while at < end:
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
    return out_starts, out_ends
