"""Windows of live runs and the bootstrap of two means, slow and plain."""

import math
from datetime import datetime, timedelta
from typing import Any

MASK = 2**64 - 1


def random_word(counter: int) -> int:
    """splitmix64 of a counter."""
    word = counter * 0x9E3779B97F4A7C15 & MASK
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def drawn_means(values: list[float], count: int, seed: int) -> list[float]:
    """Means of resamples with replacement."""
    means = []
    counter = seed
    for _ in range(count):
        total = 0.0
        for _ in values:
            counter = counter + 1 & MASK
            total += values[(random_word(counter) >> 32) * len(values) >> 32]
        means.append(total / len(values))
    return means


def quantile(values: list[float], share: float) -> float:
    """Linear between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def difference(a: list[float], b: list[float], resamples: int, seed: int) -> tuple[float, float, float]:
    """(mean(a) - mean(b), low, high)."""
    streams = [number * 0xD1342543DE82EF95 & MASK for number in (2 * seed, 2 * seed + 1)]
    first, second = (drawn_means(sorted(v), resamples, s) for v, s in zip((a, b), streams, strict=True))
    drawn = [x - y for x, y in zip(first, second, strict=True)]
    value = math.fsum(a) / len(a) - math.fsum(b) / len(b)
    return value, quantile(drawn, 0.025), quantile(drawn, 0.975)


def tiles(times: list[datetime], end: datetime, window: timedelta, baseline: timedelta) -> list[dict[str, Any]]:
    """Every window that has runs, oldest first: which runs are inside, and which in the span before."""
    found = []
    while any(time <= end for time in times):
        start = end - window
        inside = [k for k, time in enumerate(times) if start < time <= end]
        before = [k for k, time in enumerate(times) if start - baseline < time <= start]
        if inside:
            found.append({"start": start, "end": end, "inside": inside, "before": before})
        end = start
    return found[::-1]
