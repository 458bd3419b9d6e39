from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Offsets

VARIANT: str

def popcounts(words: npt.NDArray[np.uint64]) -> Offsets: ...
def first_zero_bytes(words: npt.NDArray[np.uint64]) -> Offsets: ...
def wider(values: npt.NDArray[Any], least: int) -> npt.NDArray[Any]: ...
