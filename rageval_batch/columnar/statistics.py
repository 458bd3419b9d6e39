"""What chance could have done: bootstrap interval, sign-flip test, Holm's correction, repeats. Seeded and bounded.

Up to BLOCKS questions every resample is one of questions. More are first assigned at random to BLOCKS blocks, and whole
blocks are resampled or have their signs flipped: time and memory stop growing, the test keeps its level, and the width
of the interval is known to about 1 / sqrt(2 * BLOCKS), half a percent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np

from rageval_batch.columnar.kernels.resample import (
    SAMPLES_AT_ONCE,
    all_extreme_flips,
    block_sums,
    extreme_flips,
    resampled_means,
    resampled_means_of_several,
)
from rageval_batch.columnar.kernels.sums import fsum
from rageval_batch.columnar.strings import Floats
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass

RESAMPLES = 10_000
BLOCKS = 16_384
LEVEL = 0.95
SEED = 20_240_229
_ASSIGNING, _DRAWING, _FLIPPING = range(3)  # streams of random numbers of their own


@dataclass(frozen=True)
class Interval:
    """The ends of an interval; null where there was nothing to resample."""

    low: float | None
    high: float | None


def _stream(seed: int, purpose: int) -> np.uint64:
    """The seed of a stream: far from those of other purposes and neighbouring seeds."""
    mixed = (seed * 3 + purpose) * 0xD1342543DE82EF95 + 0x63652362D2C1B4A5
    return np.uint64(mixed % 2**64)


def _blocks(values: Floats, weights: Floats | None, seed: int, *, blocks: int) -> tuple[Floats, Floats]:
    """(sums of value times weight, sums of weights) of the blocks that rows are assigned to."""
    return block_sums(values, weights, blocks, _stream(seed, _ASSIGNING))


def mean_delta(deltas: Floats, weights: Floats | None = None) -> float | None:
    """The mean, weighted where weights are given; null for no deltas or weights that sum to 0."""
    if weights is None:
        return fsum(deltas) / len(deltas) if len(deltas) else None
    weights = _scaled(weights)
    total = fsum(weights)
    return fsum(deltas * weights) / total if total else None


def bootstrap_interval(
    deltas: Floats,
    weights: Floats | None = None,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
    blocks: int = BLOCKS,
) -> Interval:
    """The percentile interval of the mean delta over resamples of questions, weighted where weights are given.

    A resample whose weights sum to 0 is left out; nulls for no deltas. The interval never leaves the range of the
    deltas: a mean does not, and rounding must not.
    """
    means = resample_means(deltas, weights, resamples=resamples, seed=seed, blocks=blocks)
    return percentile_interval(means, *_range(deltas), level=level)


def _range(values: Floats) -> tuple[float, float]:
    """The least and the largest value."""
    return float(values.min(initial=math.inf)), float(values.max(initial=-math.inf))


def bootstrap_intervals(
    sample: Callable[[int], tuple[Floats, Floats]], sizes: Sequence[int], *, resamples: int, threads: int
) -> list[Interval]:
    """The bootstrap_interval of several samples: `sample` gives the (values, weights) of each number, `sizes` how many.

    The bits are those of one sample at a time. Samples of one size have the same draws, which are made once for several
    of them.
    """
    alike: dict[int, list[int]] = {}
    for number, size in enumerate(sizes):
        alike.setdefault(size, []).append(number)
    several = [
        numbers[start : start + SAMPLES_AT_ONCE]
        for numbers in alike.values()
        for start in range(0, len(numbers), SAMPLES_AT_ONCE)
    ]

    def intervals(numbers: list[int]) -> list[Interval]:
        own = [sample(number) for number in numbers]
        means = _means_of_several(own, resamples)
        return [percentile_interval(mine, *_range(values)) for mine, (values, _) in zip(means, own, strict=True)]

    found: dict[int, Interval] = {}
    with ThreadPoolExecutor(threads) as pool:
        for numbers, mine in zip(several, pool.map(intervals, several), strict=True):
            found.update(zip(numbers, mine, strict=True))
    return [found[number] for number in range(len(sizes))]


def _means_of_several(samples: Sequence[tuple[Floats, Floats]], resamples: int) -> Sequence[Floats]:
    """The resample_means of samples of one size."""
    prepared = [_resampled(values, weights, seed=SEED, blocks=BLOCKS) for values, weights in samples]
    even = all((weights == 1.0).all() for _, weights in prepared)
    values, weights = ([one[k] for one in prepared] for k in range(2))
    stream = _stream(SEED, _DRAWING)
    return list(resampled_means_of_several(values, None if even else weights, stream, resamples))


def resample_means(
    values: Floats,
    weights: Floats | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    blocks: int = BLOCKS,
) -> Floats:
    """The mean of every resample, weighted where weights are given: NaN where its weights sum to 0, none for no values.

    Every interval of the project is made of these means.
    """
    values, weights = _resampled(values, weights, seed=seed, blocks=blocks)
    return resampled_means(values, weights, _stream(seed, _DRAWING), resamples)


def _resampled(values: Floats, weights: Floats | None, *, seed: int, blocks: int) -> tuple[Floats, Floats]:
    """(values, weights) of what is resampled: of questions, or of blocks where there are more questions than blocks."""
    if weights is not None:
        weights = _scaled(weights)
    if len(values) > blocks:
        sums, weights = _blocks(values, weights, seed, blocks=blocks)
        return np.divide(sums, weights, out=np.zeros(blocks), where=weights != 0), weights
    return values, np.ones(len(values)) if weights is None else weights


def percentile_interval(means: Floats, least: float, most: float, *, level: float = LEVEL) -> Interval:
    """The middle `level` of the means that are numbers, inside what the values allow; nulls where there are none."""
    means = means[~np.isnan(means)]
    if not len(means):
        return Interval(None, None)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(*(min(max(float(end), least), most) for end in (low, high)))


def _scaled(weights: Floats) -> Floats:
    """Weights by the largest: the mean is the same, and no finite weight is too large to add."""
    top = float(weights.max(initial=0.0))
    return weights / top if top > 0 else weights


def sign_flip_p(
    deltas: Floats,
    weights: Floats | None = None,
    *,
    flips: int = RESAMPLES,
    seed: int = SEED,
    blocks: int = BLOCKS,
) -> float:
    """The paired two-sided p-value: how often a choice of signs moves the mean as far from 0; 1.0 for no deltas.

    Exact over all choices where there are no more than `flips`, else (1 + b) / (1 + flips). A delta of 0 has no sign.
    """
    products, total = deltas, float(len(deltas))
    if weights is not None:
        weights = _scaled(weights)
        products, total = deltas * weights, fsum(weights)
    limit = abs(fsum(products)) - TOLERANCE * total
    signed = products[products != 0.0]
    if len(signed) < flips.bit_length():
        return all_extreme_flips(signed, limit) / (1 << len(signed))
    if len(signed) > blocks:
        signed, _ = _blocks(signed, None, seed, blocks=blocks)
    extreme: int = extreme_flips(signed, limit, _stream(seed, _FLIPPING), flips)
    return (1 + extreme) / (1 + flips)


def shows_drop(interval: Interval) -> bool:
    """Whether the whole interval lies below 0."""
    return interval.high is not None and interval.high < -TOLERANCE


def holm(p_values: Sequence[float | None], tests: int | None = None) -> list[float | None]:
    """Holm's step-down correction, in the order given; a null stays null and is no test.

    `tests`: how many there are in all, where these are only some of them. The values are then upper bounds: no other
    test can raise the k-th smallest of these above tests - k + 1 times its p, or what a smaller one is raised to.
    """
    ranked = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    tests = len(ranked) if tests is None else tests
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ranked):
        largest = max(largest, min(1.0, (tests - rank) * p))
        corrected[place] = largest
    return corrected


def pass_at_k(repeats: int, passed: int, k: int) -> Fraction:
    """The unbiased chance that one of k repeats drawn without return passed, for k from 1 to the repeats."""
    return 1 - Fraction(math.comb(repeats - passed, k), math.comb(repeats, k))


def population_std(values: Sequence[float]) -> float | None:
    """The standard deviation of values that are all there is; null for none."""
    if not values:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return math.sqrt(sum((value - mean) ** 2 for value in exact) / len(exact))
