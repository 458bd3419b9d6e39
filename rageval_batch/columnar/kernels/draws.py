"""Means of random draws from a sample. The numbers come from a counter, so they are the same on every machine."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import compiled
from rageval_batch.columnar.kernels.resample import word

Floats = npt.NDArray[np.float64]

_UNIT = 2.0**-53
_NO_SEED = np.uint64(0)


@compiled
def drawn_means(values: Floats, weights: Floats, count: int, seed: np.uint64) -> Floats:
    """`count` weighted means of as many values as there are, drawn with replacement; NaN where the drawn weights sum to
    0. Fewer than 2^32 values, not none."""
    size = np.uint64(len(values))
    means = np.empty(count)
    counter = seed
    for k in range(count):
        total = weight = 0.0
        for _ in range(len(values)):
            place = np.int64(((word(_NO_SEED, counter) >> np.uint64(32)) * size) >> np.uint64(32))
            total += values[place] * weights[place]
            weight += weights[place]
            counter += np.uint64(1)
        means[k] = total / weight if weight != 0.0 else np.nan
    return means


@compiled
def normal_draws(mean: float, deviation: float, count: int, seed: np.uint64) -> Floats:
    """`count` numbers of a normal distribution."""
    drawn = np.empty(count)
    counter = seed
    for k in range(count):
        first = (np.float64(word(_NO_SEED, counter) >> np.uint64(11)) + 0.5) * _UNIT
        second = np.float64(word(_NO_SEED, counter + np.uint64(1)) >> np.uint64(11)) * _UNIT
        counter += np.uint64(2)
        drawn[k] = mean + deviation * math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * second)
    return drawn
