"""Statistics and gates of a run, slow and plain: exact fractions over the answers, one question after another."""

from fractions import Fraction
from typing import Any

TOLERANCE = Fraction(1, 10**9)


def _by_question(rows: list[dict[str, Any]], column: str) -> dict[str, list[Fraction]]:
    """The values of each question's repeats; a question without values has none."""
    found: dict[str, list[Fraction]] = {row["question_id"]: [] for row in rows}
    for row in rows:
        if row[column] is not None:
            found[row["question_id"]].append(Fraction(row[column]))
    return found


def _mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _percentile(values: list[Fraction], share: Fraction) -> Fraction:
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def figure(
    rows: list[dict[str, Any]],
    metric: str,
    stat: str,
    null_counts_as: float | None,
    parts: tuple[str, str] | None = None,
) -> Fraction | None:
    """A statistic of a metric over the answers of a run; None where there is nothing to make it of."""
    if stat == "usable_share":
        flags = [{**row, metric: int(row["fail_reason"] is None)} for row in rows]
        return figure(flags, metric, "mean", None)
    if stat == "n":
        return Fraction(sum(bool(values) for values in _by_question(rows, metric).values()))
    if stat == "micro":
        if parts is None:
            return None
        pairs = [(row[parts[0]], row[parts[1]]) for row in rows]
        below = sum((Fraction(b) for _, b in pairs if b is not None), Fraction(0))
        return sum((Fraction(a) for a, _ in pairs if a is not None), Fraction(0)) / below if below else None
    counted = [{**row, metric: null_counts_as if row[metric] is None else row[metric]} for row in rows]
    if stat == "rate":
        shares = [{**row, metric: None if row[metric] is None else int(row[metric] != 0)} for row in counted]
        return figure(shares, metric, "mean", None)
    by_question = {question: _mean(values) for question, values in _by_question(counted, metric).items() if values}
    values = list(by_question.values())
    if not values:
        return None
    if stat == "weighted_mean":
        weights = {row["question_id"]: Fraction(row["weight"]) for row in rows}
        whole = sum((weights[question] for question in by_question), Fraction(0))
        return sum((weights[q] * value for q, value in by_question.items()), Fraction(0)) / whole if whole else None
    if stat.startswith("p"):
        return _percentile(values, Fraction(int(stat[1:]), 100))
    return {"mean": _mean(values), "sum": sum(values, Fraction(0)), "min": min(values), "max": max(values)}[stat]


def nothing_to_judge(statuses: list[tuple[str, bool]]) -> bool:
    """Of gates as (status, whether it is on coverage): no gate on quality applies, or none at all where all are on
    coverage."""
    on_quality = [found for found, coverage in statuses if not coverage]
    return all(found == "skipped" for found in on_quality or [found for found, _ in statuses])


def status(actual: Fraction | None, op: str, limit: float) -> str:
    """passed, failed or skipped."""
    if actual is None:
        return "skipped"
    over = actual - Fraction(limit)
    holds = {
        ">=": over >= -TOLERANCE,
        "<=": over <= TOLERANCE,
        ">": over > TOLERANCE,
        "<": over < -TOLERANCE,
        "==": abs(over) <= TOLERANCE,
    }
    return "passed" if holds[op] else "failed"
