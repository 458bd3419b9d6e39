from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Flags, Offsets

class RowField(NamedTuple):
    starts: Offsets
    stops: Offsets
    flags: Bytes
    kinds: npt.NDArray[np.int8]

class ReadRows(NamedTuple):
    fields: list[RowField]
    status: Bytes
    error_at: Offsets
    usable: Flags
    having: Offsets
    members: int
    copied: tuple[Bytes, Offsets]

ROOM: int
HAS_WIDE: bool
MOST_GROUPS: int

def read_rows(
    data: Bytes,
    starts: Offsets,
    ends: Offsets,
    groups: Sequence[tuple[str, ...]],
    copied: int,
    content: Bytes,
    wide: bool = ...,
) -> ReadRows: ...
