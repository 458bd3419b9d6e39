"""Statistics of a group of numbers in exact fractions, rounded once: slow and obvious."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def exact_sum(values: Sequence[float]) -> float:
    """The sum of values, each taken to 18 decimals (half away from 0), as the double nearest to it."""
    total = sum((_decimals(value) for value in values), 0)
    return float(Fraction(total, 10**18))


def _decimals(value: float) -> int:
    scaled = Fraction(value * 1e18)  # the product is rounded to a double first
    whole = math.floor(abs(scaled) + Fraction(1, 2))
    return whole if scaled >= 0 else -whole


def percentile(values: Sequence[float], share: float) -> float:
    """Between the two neighbours of a place, by one rounding of the first product and the sum."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = math.floor(place)
    part = place - low
    if part == 0:
        return ordered[low]
    return float(Fraction(ordered[low]) * Fraction(1.0 - part) + Fraction(ordered[low + 1] * part))


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of the population: deviations are divided by the largest of them before they are squared,
    where that is not of a usual size; those that are but the rounding of the mean are none."""
    mean = exact_sum(values) / len(values)
    largest = max(max(values) - mean, mean - min(values))
    if largest <= max(1e-3, *map(abs, values)) * 1e-15:
        return 0.0
    scale = 1.0 if 1e-3 <= largest <= 1e5 else largest
    squares = [((value - mean) / scale) * ((value - mean) / scale) for value in values]
    return math.sqrt(exact_sum(squares) / len(values)) * scale


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    """The mean by weights, as shares of the largest; None where they sum to 0."""
    top = max(weights)
    if min(weights) == top:
        return exact_sum(values) / len(values) if top else None
    shares = [weight / top for weight in weights]
    below = exact_sum(shares)
    return exact_sum([value * share for value, share in zip(values, shares, strict=True)]) / below if below else None
