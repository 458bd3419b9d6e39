"""Windows of live runs and the bootstrap of two means, slow and plain."""

import math
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

Weighted = list[tuple[float, float]]  # values with their weights


def resampled_means(sample: Weighted, indices: list[list[int]]) -> list[float]:
    """The weighted mean of every resample, each given by its places in the sample; NaN where its weights sum to 0."""
    means = []
    for row in indices:
        whole = sum(sample[place][1] for place in row)
        means.append(sum(sample[place][0] * sample[place][1] for place in row) / whole if whole else math.nan)
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


def difference(a: Weighted, b: Weighted, first: list[list[int]], second: list[list[int]]) -> tuple[float, float, float]:
    """(mean(a) - mean(b), low, high) over resamples of both, given by places in the sorted samples."""
    means = (resampled_means(sorted(a), first), resampled_means(sorted(b), second))
    drawn = [x - y for x, y in zip(*means, strict=True)]
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
