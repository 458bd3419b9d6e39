import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Ints, Offsets

OBJECT: int
ARRAY: int
STRING: int
NUMBER: int
TRUE: int
FALSE: int
NULL: int

OK: int
EMPTY: int
UNEXPECTED: int
ENDS_EARLY: int
TRAILING: int
BAD_ESCAPE: int
CONTROL: int
BAD_NUMBER: int

_Columns = tuple[Ints, Ints, Ints, Bytes, Bytes, Offsets, Offsets, Offsets, Offsets, Ints, Bytes, Offsets]

def room_for_marks(longest: int) -> npt.NDArray[np.uint32]: ...
def room_for_nodes(count: int) -> npt.NDArray[np.void]: ...
def parse(data: Bytes, starts: Offsets, ends: Offsets, size: int, wide: bool = ...) -> tuple[_Columns, bool]: ...
def texts(data: Bytes, starts: Offsets, stops: Offsets, flags: Bytes, nodes: Ints) -> tuple[Bytes, Offsets]: ...
def children(behind: Ints, kind: Bytes, owners: Ints, wanted: int, limit: int) -> tuple[Ints, Ints]: ...
def members(
    data: Bytes,
    behind: Ints,
    kind: Bytes,
    flags: Bytes,
    key_start: Offsets,
    key_stop: Offsets,
    owners: Ints,
    names: Bytes,
    bounds: Offsets,
) -> npt.NDArray[np.int32]: ...
