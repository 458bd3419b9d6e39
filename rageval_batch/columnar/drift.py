"""Two independent samples: by how much their means differ, and the bootstrap interval of that difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rageval_batch.columnar.kernels.draws import drawn_means, normal_draws
from rageval_batch.columnar.strings import Floats

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 20_260_309
# The mean of so large a resample is normal for all that an interval can show, and drawing it costs nothing.
LARGE_SAMPLE = 20_000


@dataclass(frozen=True)
class Sample:
    """Values with their weights, all above 0; weights of 1 give the plain mean."""

    values: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        """The weighted mean, whatever the order of the values; there must be some."""
        weights = self._scaled()
        return math.fsum(self.values * weights) / math.fsum(weights)

    @property
    def error(self) -> float:
        """The standard deviation of the mean."""
        weights = self._scaled()
        return math.sqrt(math.fsum(((self.values - self.mean) * weights) ** 2)) / math.fsum(weights)

    def ordered(self) -> Sample:
        """The same sample by value and weight, the weights scaled: equal samples become the same arrays."""
        order = np.lexsort((self.weights, self.values))
        return Sample(self.values[order], self._scaled()[order])

    def _scaled(self) -> Floats:
        """Weights by the largest: the mean is the same, and no finite weight is too large to add."""
        scaled: Floats = self.weights / self.weights.max()
        return scaled


def joined(samples: Sequence[Sample]) -> Sample:
    """All values of several samples; of none, no values."""
    nothing = np.zeros(0)
    return Sample(
        np.concatenate([nothing, *(sample.values for sample in samples)]),
        np.concatenate([nothing, *(sample.weights for sample in samples)]),
    )


@dataclass(frozen=True)
class Difference:
    """mean(a) - mean(b), and a percentile interval of it over resamples of both."""

    value: float
    low: float
    high: float


def difference(a: Sample, b: Sample, resamples: int = RESAMPLES, seed: int = SEED) -> Difference:
    """How much the mean of `a` is above that of `b`; both have values. The same samples give the same bits."""
    drawn = _means(a, resamples, 2 * seed) - _means(b, resamples, 2 * seed + 1)
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(a.mean - b.mean, float(low), float(high))


def _means(sample: Sample, resamples: int, stream: int) -> Floats:
    """Means of resamples; streams of different numbers do not meet."""
    start = np.uint64(stream * 0xD1342543DE82EF95 % 2**64)
    if len(sample) <= LARGE_SAMPLE:
        ordered = sample.ordered()
        return drawn_means(ordered.values, ordered.weights, resamples, start)
    return normal_draws(sample.mean, sample.error, resamples, start)
