"""Two independent samples: by how much their means differ, and the bootstrap interval of that difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_batch.kernels.draws import Floats, drawn_means, normal_draws

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 20_260_309
# The mean of so large a resample is normal for all that an interval can show, and drawing it costs nothing.
LARGE_SAMPLE = 20_000


@dataclass(frozen=True)
class Difference:
    """mean(a) - mean(b), and a percentile interval of it over resamples of both."""

    value: float
    low: float
    high: float


def difference(a: Floats, b: Floats, resamples: int = RESAMPLES, seed: int = SEED) -> Difference:
    """How much the mean of `a` is above that of `b`; both have values. The same samples give the same bits."""
    drawn = _means(a, resamples, 2 * seed) - _means(b, resamples, 2 * seed + 1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(mean(a) - mean(b), float(low), float(high))


def mean(values: Floats) -> float:
    """The mean, whatever the order of the values."""
    return math.fsum(values) / len(values)


def _means(values: Floats, resamples: int, stream: int) -> Floats:
    """Means of resamples; streams of different numbers do not meet."""
    start = np.uint64(stream * 0xD1342543DE82EF95 % 2**64)
    if len(values) <= LARGE_SAMPLE:
        return drawn_means(np.sort(values), resamples, start)
    return normal_draws(mean(values), float(np.std(np.sort(values))) / math.sqrt(len(values)), resamples, start)
