"""Resampling loops with their own counter-based random numbers: the same bits on every machine.

Draw k of a stream is a hash of its seed and k, so nothing is carried from one resample to the next and no table of
indices is ever made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import compiled
from rageval_batch.columnar.strings import Offsets

Floats = npt.NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FOUR = np.uint64(4)
_FOUR_BITS = np.uint64(15)


@compiled
def word(seed: Any, k: Any) -> Any:
    """64 random bits: number k of the stream that a seed stands for (SplitMix64)."""
    z = np.uint64(seed) + (np.uint64(k) + _ONE) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def resampled_means(values: Floats, weights: Floats, seed: Any, count: int) -> Floats:
    """Weighted means of `count` resamples with return; NaN where a resample's weights sum to 0, none for no values."""
    n = len(values)
    out = np.empty(count if n else 0, np.float64)
    size = np.uint64(n)
    pairs = (n + 1) // 2
    for r in range(len(out)):
        total = 0.0
        weight = 0.0
        at = r * pairs
        for j in range(pairs):
            bits = word(seed, at + j)
            low = np.int64(((bits & _LOW) * size) >> _HALF)
            total += values[low] * weights[low]
            weight += weights[low]
            if 2 * j + 1 < n:
                high = np.int64(((bits >> _HALF) * size) >> _HALF)
                total += values[high] * weights[high]
                weight += weights[high]
        out[r] = total / weight if weight != 0.0 else np.nan
    return out


@compiled
def _extreme_flips(sums: Floats, limit: float, seed: Any, count: int) -> int:
    words = len(sums) // 256
    found = 0
    for r in range(count):
        total = 0.0
        for w in range(words):
            bits = word(seed, r * words + w)
            for group in range(w * 16, w * 16 + 16):
                total += sums[group * 16 + np.int64(bits & _FOUR_BITS)]
                bits >>= _FOUR
        if abs(total) >= limit:
            found += 1
    return found


def extreme_flips(values: Floats, limit: float, seed: Any, count: int) -> int:
    """How many of `count` random choices of signs give a sum as far from 0 as the limit."""
    fours = np.zeros(((len(values) + 63) // 64 * 16, 4), np.float64)
    fours.ravel()[: len(values)] = values
    sums = np.zeros((len(fours), 16), np.float64)  # of four values with all their signs: four bits cost one addition
    for j in range(4):
        sums += fours[:, j, None] * np.where((np.arange(16) >> j) & 1, 1.0, -1.0)
    return _extreme_flips(sums.ravel(), limit, seed, count)


@compiled
def all_extreme_flips(values: Floats, limit: float) -> int:
    """How many of all choices of signs give a sum as far from 0 as the limit; 1 choice for no values."""
    found = 0
    for signs in range(1 << len(values)):
        total = 0.0
        for j in range(len(values)):
            total += values[j] if (signs >> j) & 1 else -values[j]
        if abs(total) >= limit:
            found += 1
    return found


@compiled
def assign_blocks(count: int, blocks: int, seed: Any) -> Offsets:
    """A block for each of `count` rows, at random."""
    out = np.empty(count, np.int64)
    for k in range(count):
        out[k] = np.int64(((word(seed, k) >> _HALF) * np.uint64(blocks)) >> _HALF)
    return out
