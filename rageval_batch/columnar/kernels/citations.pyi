from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Ints, Offsets

class FoundRefs(NamedTuple):
    row: Ints
    why: npt.NDArray[np.int8]
    start: Offsets
    stop: Offsets
    flags: Bytes

class Citations:
    total: Ints
    held: Ints
    strange: npt.NDArray[np.int16]
    def refs(self) -> FoundRefs: ...
