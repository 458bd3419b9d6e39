import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Floats, Offsets

Counts = npt.NDArray[np.int64]
Points = npt.NDArray[np.uint32]

def code_points(data: Bytes, offsets: Offsets, kinds: Bytes, dropped: int) -> tuple[Points, Offsets]: ...
def pair_jaccard(points: Points, bounds: Offsets, left: Offsets, right: Offsets, order: Offsets) -> Floats: ...
def shared_grams(
    points: Points, bounds: Offsets, left: Offsets, right: Offsets, order: Offsets, orders: int
) -> Counts: ...
def shared_grams_in_turn(points: Points, bounds: Offsets, left: Offsets, right: Offsets, orders: int) -> Counts: ...
