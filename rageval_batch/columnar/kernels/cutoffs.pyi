import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Floats, Ints, Offsets

Counts = npt.NDArray[np.int64]

def gold_ranks(
    ids: Ints, bounds: Offsets, gold: Ints, gold_bounds: Offsets, grades: Floats, known: int
) -> tuple[Counts, Floats, Offsets, Counts]: ...
def best_gains(
    gold: Ints, gold_bounds: Offsets, grades: Floats, cut: Counts, discounts: Floats, known: int
) -> Floats: ...
