"""Windows of live runs and the bootstrap of two means, slow and plain."""

import math
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

MASK = 2**64 - 1


def random_word(counter: int) -> int:
    """splitmix64 of a counter."""
    word = counter * 0x9E3779B97F4A7C15 & MASK
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


Weighted = list[tuple[float, float]]  # values with their weights


def drawn_means(sample: Weighted, count: int, seed: int) -> list[float]:
    """Weighted means of resamples with replacement; NaN where all weights drawn are 0."""
    means = []
    counter = seed
    for _ in range(count):
        total = whole = 0.0
        for _ in sample:
            counter = counter + 1 & MASK
            value, weight = sample[(random_word(counter) >> 32) * len(sample) >> 32]
            total += value * weight
            whole += weight
        means.append(total / whole if whole else math.nan)
    return means


def quantile(values: list[float], share: float) -> float:
    """Linear between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def mean(sample: Weighted) -> float:
    """The weighted mean, exactly."""
    whole = sum(Fraction(weight) for _, weight in sample)
    return float(sum(Fraction(value) * Fraction(weight) for value, weight in sample) / whole)


def difference(a: Weighted, b: Weighted, resamples: int, seed: int) -> tuple[float, float, float]:
    """(mean(a) - mean(b), low, high)."""
    streams = [number * 0xD1342543DE82EF95 & MASK for number in (2 * seed, 2 * seed + 1)]
    first, second = (drawn_means(sorted(v), resamples, s) for v, s in zip((a, b), streams, strict=True))
    drawn = [x - y for x, y in zip(first, second, strict=True)]
    return mean(a) - mean(b), quantile(drawn, 0.025), quantile(drawn, 0.975)


def tiles(times: list[datetime], end: datetime, window: timedelta, baseline: timedelta) -> list[dict[str, Any]]:
    """Every window from that of the first run on, oldest first: which runs are inside, and which in the span before.

    The newest window is there whether there are runs or not.
    """
    found: list[dict[str, Any]] = []
    while not found or any(time <= end for time in times):
        start = end - window
        inside = [k for k, time in enumerate(times) if start < time <= end]
        before = [k for k, time in enumerate(times) if start - baseline < time <= start]
        found.append({"start": start, "end": end, "inside": inside, "before": before})
        end = start
    return found[::-1]
