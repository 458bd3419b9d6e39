import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Offsets

def figure_windows(
    data: Bytes, offsets: Offsets, classes: Bytes, keys: npt.NDArray[np.uint64], values: Bytes, values_only: bool
) -> tuple[Offsets, Offsets, Offsets, npt.NDArray[np.uint16], Offsets]: ...
