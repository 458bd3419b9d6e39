"""Oracles of comparison: question by question, significance, repeats."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from oracles.include_rate import weighted_score

TOLERANCE = 1e-9

Row = Mapping[str, Any]

QUESTION = ("question_id",)
SAMPLE = ("question_id", "prompt_variant", "target_key", "output_id")


def scored(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows with a finite score, each with a weight (1.0 where it has none)."""
    kept = []
    for row in rows:
        if row.get("score") is not None and math.isfinite(row["score"]):
            weight = row.get("weight")
            kept.append({**row, "weight": 1.0 if weight is None else weight})
    return kept


def question_scores(rows: Iterable[Row], key: Sequence[str] = QUESTION) -> dict[Any, float]:
    """The score of each question (or other unit): the mean over its rows."""
    repeats: dict[Any, list[Fraction]] = {}
    for row in scored(rows):
        repeats.setdefault(unit_name(row, key), []).append(Fraction(row["score"]))
    return {question: float(sum(values) / len(values)) for question, values in repeats.items()}


def unit_name(row: Row, key: Sequence[str]) -> str:
    """What a unit is called: its question, else the JSON list of its key."""
    parts = [row[name] for name in key]
    return parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def run_score(rows: Iterable[Row], *, weighted: bool = True, micro: bool = False) -> float | None:
    """The run's score over all its questions; null without any, or where the weights sum to 0.

    micro: over all its rows, however many a question has.
    """
    kept = scored(rows)
    if micro:
        return float(sum(Fraction(row["score"]) for row in kept) / len(kept)) if kept else None
    if not weighted:
        kept = [{**row, "weight": 1.0} for row in kept]
    return weighted_score(kept)


def compare_questions(
    base: Iterable[Row],
    cand: Iterable[Row],
    *,
    min_delta: float = 0.0,
    max_regressions: int = 0,
    higher_is_better: bool = True,
    weighted: bool = True,
    micro: bool = False,
    key: Sequence[str] = QUESTION,
) -> dict[str, Any]:
    """The comparison of two runs; counts, the questions behind them, and whether the candidate passed."""
    base, cand = list(base), list(cand)
    base_score = run_score(base, weighted=weighted, micro=micro)
    cand_score = run_score(cand, weighted=weighted, micro=micro)
    sign = 1.0 if higher_is_better else -1.0
    delta = None if base_score is None or cand_score is None else sign * (cand_score - base_score)

    before, after = question_scores(base, key), question_scores(cand, key)
    improved, regressed, tied = [], [], []
    for question in sorted(before.keys() & after.keys()):
        change = sign * (after[question] - before[question])
        if change > TOLERANCE:
            improved.append(question)
        elif change < -TOLERANCE:
            regressed.append(question)
        else:
            tied.append(question)

    return {
        "base": base_score,
        "candidate": cand_score,
        "delta": delta,
        "changed": len(improved) + len(regressed),
        "improvements": len(improved),
        "regressions": len(regressed),
        "ties": len(tied),
        "improved": improved,
        "regressed": regressed,
        "only_base": sorted(before.keys() - after.keys()),
        "only_cand": sorted(after.keys() - before.keys()),
        "min_delta": min_delta,
        "max_regressions": max_regressions,
        "passed": delta is not None and delta >= min_delta - TOLERANCE and len(regressed) <= max_regressions,
    }


def paired_deltas(base: Iterable[Row], cand: Iterable[Row], key: Sequence[str] = QUESTION) -> list[float]:
    """Candidate minus base for each shared question, sorted by question."""
    before, after = question_scores(base, key), question_scores(cand, key)
    return [after[question] - before[question] for question in sorted(before.keys() & after.keys())]


def mean_delta(deltas: Sequence[float], weights: Sequence[float] | None = None) -> float | None:
    """The mean, weighted where weights are given; null for no deltas or weights that sum to 0."""
    if weights is None:
        weights = [1.0] * len(deltas)
    total = sum(map(Fraction, weights))
    if total == 0:
        return None
    return float(sum(Fraction(delta) * Fraction(weight) for delta, weight in zip(deltas, weights, strict=True)) / total)


def percentile(values: Iterable[float], share: float) -> float | None:
    """The value at a share of the sorted values, linear between neighbours; null for none."""
    ordered = sorted(values)
    if not ordered:
        return None
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def bootstrap_interval(
    deltas: Sequence[float],
    indices: Iterable[Sequence[int]],
    weights: Sequence[float] | None = None,
    level: float = 0.95,
) -> tuple[float | None, float | None]:
    """The percentile interval of the mean delta, one resample of questions for each row of indices."""
    means = []
    for row in indices:
        resampled_weights = None if weights is None else [weights[i] for i in row]
        mean = mean_delta([deltas[i] for i in row], resampled_weights)
        if mean is not None:
            means.append(mean)
    tail = (1.0 - level) / 2.0
    return percentile(means, tail), percentile(means, 1.0 - tail)


def significant_drop(interval: tuple[float | None, float | None]) -> bool:
    """Whether the whole interval lies below 0."""
    high = interval[1]
    return high is not None and high < -TOLERANCE


def as_extreme(deltas: Sequence[float], signs: Sequence[int], weights: Sequence[float] | None) -> bool:
    """Whether the mean with flipped signs is at least as far from 0 as the observed one."""
    observed = mean_delta(deltas, weights) or 0.0
    flipped = mean_delta([delta * sign for delta, sign in zip(deltas, signs, strict=True)], weights) or 0.0
    return abs(flipped) >= abs(observed) - TOLERANCE


def sign_flip_exact(deltas: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The two-sided p-value over all 2^n sign flips; 1.0 for no deltas."""
    flips = list(product((1, -1), repeat=len(deltas)))
    return sum(as_extreme(deltas, signs, weights) for signs in flips) / len(flips)


def sign_flip_sampled(
    deltas: Sequence[float],
    flips: Sequence[Sequence[int]],
    weights: Sequence[float] | None = None,
) -> float:
    """The two-sided p-value (1 + b) / (1 + N) over the N rows of signs that are given."""
    return (1 + sum(as_extreme(deltas, signs, weights) for signs in flips)) / (1 + len(flips))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction, in the order given; a null stays null and is not counted."""
    ranked = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * p))
        corrected[place] = largest
    return corrected


def pass_at_k(repeats: int, passed: int, k: int) -> float | None:
    """The unbiased chance that one of k repeats drawn without return passed; null where k is not 1 … repeats."""
    if not 1 <= k <= repeats:
        return None
    return float(1 - Fraction(math.comb(repeats - passed, k), math.comb(repeats, k)))


def run_pass_at_k(rows: Iterable[Row], k: int) -> float | None:
    """The mean of pass@k over the questions with at least k repeats; null without any."""
    outcomes: dict[Any, list[bool]] = {}
    for row in rows:
        outcomes.setdefault(row["question_id"], []).append(row.get("passed") is True)
    values = [pass_at_k(len(passed), sum(passed), k) for passed in outcomes.values()]
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def std_over_repeats(rows: Iterable[Row], *, weighted: bool = True) -> float | None:
    """The population std of the run's score, one value for each repeat over the rows of that repeat."""
    repeats: dict[Any, list[Row]] = {}
    for row in scored(rows):
        repeats.setdefault(row.get("repeat", 0), []).append(row)
    values = [run_score(group, weighted=weighted) for group in repeats.values()]
    known = [Fraction(value) for value in values if value is not None]
    if not known:
        return None
    mean = sum(known) / len(known)
    return math.sqrt(sum((value - mean) ** 2 for value in known) / len(known))
