import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Offsets

def figure_windows(
    data: Bytes, offsets: Offsets, classes: Bytes, keys: npt.NDArray[np.uint64], values: Bytes
) -> tuple[Offsets, Offsets, npt.NDArray[np.uint16], Offsets]: ...
