"""Bootstrap intervals of means, over Arrow columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.kernels.bootstrap import Floats, resampled_means

MOST_RESAMPLES, LEAST_RESAMPLES = 10_000, 1_000
MOST_DRAWS = 100_000_000  # so that an interval of a hundred thousand values costs no more than of ten thousand
SEED = 42
INTERVAL = pa.struct([("low", pa.float64()), ("high", pa.float64())])


def mean_interval(values: Floats) -> dict[str, float] | None:
    """The 95 % percentile interval of the mean by resampling; none of nothing. The order of the values counts."""
    if not len(values):
        return None
    resamples = max(LEAST_RESAMPLES, min(MOST_RESAMPLES, MOST_DRAWS // len(values)))
    low, high = np.percentile(resampled_means(values, resamples, SEED), [2.5, 97.5])
    return {"low": float(low), "high": float(high)}


def mean_intervals(lists: pa.Array) -> pa.Array:
    """The interval of each list of numbers; null of a null or empty list."""
    found: list[Any] = [mean_interval(np.array(values or [], np.float64)) for values in lists.to_pylist()]
    return pa.array(found, INTERVAL)
