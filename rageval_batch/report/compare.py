"""Comparisons for people and for CI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval_batch.analysis.compared_runs import ComparedRuns
from rageval_batch.analysis.comparison import SIGNIFICANT, Comparison
from rageval_batch.errors import IncompatibleRuns
from rageval_batch.report.cells import format_value, json_line, truncate, visible
from rageval_batch.report.formats import md_text, render, screen_width, titled
from rageval_batch.report.junit import Case, Suite, junit

FORMATS = ("table", "json", "md", "csv", "junit", "parquet")
COLUMNS = (
    "base_run", "candidate_run", "profile", "metric", "base", "candidate", "delta", "interval_low", "interval_high",
    "p_value", "p_holm", "improvements", "regressions", "ties", "only_base_count", "only_cand_count", "passed",
)  # fmt: skip
_LOW, _HIGH = "95% low", "high"
_SHOWN_IDS = 12
_SHOWN_ANSWERS = 3
_ANSWER = 400


def compare_text(results: Sequence[Comparison], format: str) -> str:
    """Comparisons in one of the text formats; one object of JSON for one candidate, an array for several."""
    if format == "json":
        objects = [result.as_dict() for result in results]
        return json_line(objects[0] if len(objects) == 1 else objects)
    if format == "csv":
        return render(compare_rows(results), COLUMNS, "csv")
    if format == "junit":
        return junit([Suite(f"{r.compared.base.name} -> {r.candidate.name}", tuple(_cases(r))) for r in results])
    return _one(results[0], format) if len(results) == 1 else _many(results, format)


def compare_rows(results: Sequence[Comparison]) -> list[dict[str, Any]]:
    """A flat row for each candidate."""
    return [{name: whole[name] for name in COLUMNS} for whole in (result.as_dict() for result in results)]


def mismatch_text(error: IncompatibleRuns, format: str) -> str | None:
    """What a program reads where runs must not be compared; null where there is no such form of it."""
    if format == "json" and error.found:
        return json_line(error.found[0] if len(error.found) == 1 else error.found)
    if format == "junit":
        return junit([Suite("compare", (Case("compatible", "failed", str(error)),))])
    return None


def _cases(result: Comparison) -> list[Case]:
    """A check for every rule."""
    rules = result.rules
    if rules.fail_on == SIGNIFICANT:
        return [Case("no significant drop", "passed" if result.passed else "failed", _interval(result))]
    enough = result.delta is not None and rules.passed(result.delta, 0, result.interval)
    few = result.regressions <= rules.max_regressions
    return [
        Case(
            "delta", "passed" if enough else "failed", f"delta {format_value(result.delta)}, least {rules.min_delta:g}"
        ),
        Case(
            "regressions",
            "passed" if few else "failed",
            f"{result.regressions} regressions, most {rules.max_regressions}: "
            + ", ".join(result.listed["regressed"][:_SHOWN_IDS]),
        ),
    ]


def _interval(result: Comparison) -> str:
    return f"95 % interval of the delta {format_value(result.interval.low)} to {format_value(result.interval.high)}"


def _verdict(result: Comparison) -> str:
    failed = [case.message for case in _cases(result) if case.status == "failed"]
    return "PASSED" if result.passed else "FAILED: " + visible("; ".join(failed))


def _one(result: Comparison, format: str) -> str:
    compared = result.compared
    line = {
        "base": result.base_score,
        "candidate": result.cand_score,
        "delta": result.delta,
        _LOW: result.interval.low,
        _HIGH: result.interval.high,
        "p": result.p_value,
        "better": result.improvements,
        "worse": result.regressions,
        "same": result.ties,
    }
    head = f"{compared.base.name} -> {result.candidate.name}: {_measure(compared)}"
    parts = [
        f"## {md_text(head)}" if format == "md" else visible(head),
        f"**{md_text(_verdict(result))}**" if format == "md" else _verdict(result),
        render([line], list(line), format),
        *(_plain(note, format) for note in result.notes),
    ]
    for name, count, what in (
        ("only_base", result.only_base_count, "only in the base"),
        ("only_cand", result.only_cand_count, "only in the candidate"),
    ):
        if count:
            parts.append(_plain(f"{count:,} {compared.unit}s {what}: {_ids(result.listed[name], count)}", format))
    for side, repeats in (("base", result.base_repeats), ("candidate", result.cand_repeats)):
        if repeats:
            parts.append(_plain(f"{side}: " + ", ".join(f"{n} {format_value(v)}" for n, v in repeats.items()), format))
    if result.movers:
        rows = [vars(mover) for mover in result.movers]
        columns = ("question_id", "base_score", "cand_score", "delta")
        parts += [titled("moved most", format), render(rows, columns, format)]
        parts += _answers(result, format)
    return "\n\n".join(parts)


def _answers(result: Comparison, format: str) -> list[str]:
    """Both answers of the questions that moved most, cut."""
    rows = [
        {"question": mover.question_id if side == "base" else "", "run": side, "answer": _cut(answer)}
        for mover in result.movers[:_SHOWN_ANSWERS]
        for side, answer in (("base", mover.base_answer), ("candidate", mover.cand_answer))
        if mover.base_answer is not None or mover.cand_answer is not None
    ]
    return [titled("answers", format), render(rows, ("question", "run", "answer"), format)] if rows else []


def _cut(answer: str | None) -> str | None:
    return None if answer is None else answer if len(answer) <= _ANSWER else answer[:_ANSWER] + "…"


def _ids(ids: Sequence[str], count: int) -> str:
    return ", ".join(ids[:_SHOWN_IDS]) + (", …" if count > _SHOWN_IDS else "")


def _plain(text: str, format: str) -> str:
    return md_text(text) if format == "md" else truncate(visible(text), 4 * screen_width())


def _measure(compared: ComparedRuns) -> str:
    return f"{compared.metric}, {'higher' if compared.higher_is_better else 'lower'} is better"


def _many(results: Sequence[Comparison], format: str) -> str:
    """A line for each candidate, best first."""
    rows = [
        {
            "candidate": result.candidate.name,
            "score": result.cand_score,
            "delta": result.delta,
            _LOW: result.interval.low,
            _HIGH: result.interval.high,
            "p (Holm)": result.p_holm,
            "better": result.improvements,
            "worse": result.regressions,
            "passed": result.passed,
        }
        for result in sorted(results, key=lambda result: -(result.delta or 0.0))
    ]
    compared = results[0].compared
    failed = sum(not result.passed for result in results)
    verdict = "PASSED" if not failed else f"FAILED: {failed} of {len(results)} candidates"
    base = f"{compared.base.name} ({format_value(results[0].base_score)})"
    head = f"{len(results)} candidates against {base}: {_measure(compared)}"
    notes = dict.fromkeys(note for result in results for note in result.notes)
    return "\n\n".join(
        [
            f"## {md_text(head)}" if format == "md" else visible(head),
            f"**{verdict}**" if format == "md" else verdict,
            render(rows, list(rows[0]), format),
            *(_plain(note, format) for note in notes),
        ]
    )
