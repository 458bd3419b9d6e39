"""Two independent samples: by how much their means differ, and the bootstrap interval of that difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rageval_batch.columnar.statistics import RESAMPLES, SEED, percentile_interval, resample_means
from rageval_batch.columnar.strings import Floats
from rageval_batch.dataclass import dataclass


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


def difference(a: Sample, b: Sample, resamples: int = RESAMPLES, *, seed: int = SEED) -> Difference:
    """How much the mean of `a` is above that of `b`; both have values. The same samples give the same bits."""
    first, second = a.ordered(), b.ordered()
    means = _means(first, resamples, 2 * seed) - _means(second, resamples, 2 * seed + 1)
    least, most = first.values[0] - second.values[-1], first.values[-1] - second.values[0]
    value = a.mean - b.mean
    interval = percentile_interval(means, float(least), float(most))
    low, high = (value if end is None else end for end in (interval.low, interval.high))
    return Difference(value, low, high)


def _means(sample: Sample, resamples: int, seed: int) -> Floats:
    return resample_means(sample.values, sample.weights, resamples=resamples, seed=seed)
