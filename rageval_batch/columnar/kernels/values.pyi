import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets

def whole_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[npt.NDArray[np.int64], Flags]: ...
def first_in_row(row: Ints, code: Ints, codes: int) -> Flags: ...
