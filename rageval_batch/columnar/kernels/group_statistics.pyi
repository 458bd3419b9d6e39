from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Flags, Floats, Offsets

Rows = npt.NDArray[np.int32] | None

class GroupStatistics(NamedTuple):
    n_scored: Offsets
    n_counted: Offsets
    mean: Floats
    weighted_mean: Floats
    rate: Floats
    std: Floats
    min: Floats
    p50: Floats
    p90: Floats
    p95: Floats
    max: Floats
    sum: Floats

def group_statistics(
    values: Floats,
    present: Flags,
    worth: float,
    weights: Floats,
    rows: Rows,
    bounds: Offsets,
    most: float,
    cuts: tuple[float, float, float],
) -> GroupStatistics | None: ...
def exact_sums(values: Floats, present: Flags, rows: Rows, bounds: Offsets) -> tuple[Floats, Offsets]: ...
def decimal_sum(values: Floats) -> int: ...
def answer_means(
    values: Floats, present: Flags, worth: float, rows: Rows, bounds: Offsets
) -> tuple[Floats, Floats, Offsets, Offsets]: ...
