import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Flags, Offsets

def plain_figures(
    data: Bytes,
    offsets: Offsets,
    flags: npt.NDArray[np.uint16],
    classes: Bytes,
    keys: npt.NDArray[np.uint64],
    values: Bytes,
    units: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], Offsets, Flags]: ...
