"""Means of random draws from a sample. The numbers come from a counter, so they are the same on every machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_batch.compiled import compiled

Floats = npt.NDArray[np.float64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


@compiled
def _random(counter: Any) -> Any:
    """The 64 random bits of a counter (splitmix64)."""
    word = counter * _STEP
    word = (word ^ (word >> np.uint64(30))) * _MIX_A
    word = (word ^ (word >> np.uint64(27))) * _MIX_B
    return word ^ (word >> np.uint64(31))


@compiled
def drawn_means(values: Floats, count: int, seed: np.uint64) -> Floats:
    """`count` means of as many values as there are, drawn with replacement; fewer than 2^32 values, not none."""
    size = np.uint64(len(values))
    means = np.empty(count)
    counter = seed
    for k in range(count):
        total = 0.0
        for _ in range(len(values)):
            counter += np.uint64(1)
            total += values[np.int64(((_random(counter) >> np.uint64(32)) * size) >> np.uint64(32))]
        means[k] = total / len(values)
    return means


@compiled
def normal_draws(mean: float, deviation: float, count: int, seed: np.uint64) -> Floats:
    """`count` numbers of a normal distribution."""
    drawn = np.empty(count)
    counter = seed
    for k in range(count):
        first = (np.float64(_random(counter + np.uint64(1)) >> np.uint64(11)) + 0.5) * _UNIT
        second = np.float64(_random(counter + np.uint64(2)) >> np.uint64(11)) * _UNIT
        counter += np.uint64(2)
        drawn[k] = mean + deviation * math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * second)
    return drawn
