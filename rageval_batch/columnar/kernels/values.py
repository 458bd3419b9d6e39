"""Values of JSON texts as whole numbers, and what is new in its row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import kernel
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets


@kernel
def whole_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[npt.NDArray[np.int64], Flags]:
    """(value, is one) of JSON numbers written as whole numbers of 64 bits; anything else, and empty, gives 0 and no."""
    out = np.zeros(len(starts), np.int64)
    good = np.zeros(len(starts), np.bool_)
    for k in range(len(starts)):
        at, end = starts[k], ends[k]
        negative = at < end and data[at] == 45
        at += negative
        fine = 0 < end - at <= 19  # so many digits cannot overflow 64 bits without a sign
        value = np.uint64(0)
        while at < end and fine:
            fine = 48 <= data[at] <= 57
            value = value * np.uint64(10) + np.uint64(data[at] - 48)
            at += 1
        if fine and value <= np.uint64(2**63 - 1) + np.uint64(negative):
            out[k] = np.int64(~value + np.uint64(1)) if negative else np.int64(value)
            good[k] = True
    return out, good


@kernel
def first_in_row(row: Ints, code: Ints, codes: int) -> Flags:
    """Which codes (below `codes`) are met for the first time in their row; rows stand together; -1 is never new."""
    out = np.zeros(len(row), np.bool_)
    seen = np.full(codes, -1, np.int32)
    for k in range(len(row)):
        if code[k] >= 0 and seen[code[k]] != row[k]:
            seen[code[k]] = row[k]
            out[k] = True
    return out
