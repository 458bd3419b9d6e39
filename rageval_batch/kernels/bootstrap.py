"""Means of resamples, with random numbers of their own: the same bits on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_batch.compiled import compiled, kernel

Floats = npt.NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def _random(number: Any) -> Any:
    """64 random bits: SplitMix64 as a hash of a counter."""
    z = np.uint64(number) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """The means of so many resamples of the values with return; none where there are no values."""
    size = len(values)
    out = np.empty(resamples if size else 0, np.float64)
    number = np.uint64(seed) << np.uint64(48)
    for k in range(len(out)):
        total = 0.0
        for _ in range(size):
            number += np.uint64(1)
            total += values[np.int64(((_random(number) >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32))]
        out[k] = total / size
    return out
