import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Ints, Offsets

Points = npt.NDArray[np.uint32]

SPACE_BIT: int
DROPPED_BIT: int
WORD_BIT: int
ALONE_BIT: int

def word_codes(data: Bytes, offsets: Offsets, table: Points) -> tuple[Ints, Offsets, Offsets, Points]: ...
def encoded(points: Points, starts: Offsets) -> tuple[Bytes, Offsets]: ...
