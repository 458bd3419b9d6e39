"""One run, and one answer, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rageval_batch.analysis.runs import RunSummary
from rageval_batch.model import Explanation
from rageval_batch.report.cells import count_text, partial_words
from rageval_batch.report.formats import render, titled
from rageval_batch.report.layout import pair_lines
from rageval_batch.report.provenance import given_by
from rageval_batch.report.readable import ESCAPES_READ, without_escapes
from rageval_batch.report.safe_text import markdown_block, terminal_lines, terminal_text
from rageval_batch.report.screen import PLAIN, Screen

_RECORD = (
    "run_id", "profile", "eval_set", "commit", "created_at", "signature", "params_sha256", "questions_sha256",
    "contexts_sha256", "source_sha256", "prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id",
)  # fmt: skip
_GROUP = ("grouping", "value", "total_tests", "passed_tests", "pass_rate", "mean")
_METRIC = ("metric", "mean", "n_counted", "n_scored", "n_total", "std", "p50", "max")


def _pairs(values: Mapping[str, Any], format: str, screen: Screen) -> str:
    if format == "md":
        return render([{"": name, "value": value} for name, value in values.items()], ["", "value"], format)
    return "\n".join(pair_lines(values, screen))


def _record(summary: RunSummary) -> dict[str, Any]:
    """The run's record; a field that is missing says how it is given."""
    record = summary.run.record
    shown = {name: record[name] for name in _RECORD}
    missing = {name: f"– (give it with {option})" for name in shown if (option := given_by(name))}
    return {name: missing.get(name) if value is None else value for name, value in shown.items()} | dict(record["meta"])


def metric_rows(summary: RunSummary) -> list[dict[str, Any]]:
    """A flat row for each metric of a run."""
    return [{**summary.run.key, **row} for row in summary.metrics]


def show_text(
    summary: RunSummary,
    format: str,
    shown_views: Mapping[str, tuple[str, ...]] | None = None,
    *,
    screen: Screen = PLAIN,
) -> str:
    """A run as a table or as Markdown; of views of its profile's own, these columns."""
    parts = [
        _pairs(_record(summary), format, screen),
        titled("summary", format),
        _pairs(summary.summary, format, screen),
        *partial_words(summary.partial),
        titled("metrics", format),
        render(summary.metrics, _METRIC, format, screen=screen, optional=("max", "p50", "std", "n_total", "n_scored")),
    ]
    if summary.groups:
        parts += [titled("by group", format), render(summary.groups, _GROUP, format, screen=screen)]
        parts += [
            f"{count_text(n, 'question')} without {terminal_text(name)}: in none of these groups."
            for name, n in summary.ungrouped.items()
        ]
    if summary.fail_reasons:
        columns: tuple[str, ...] = ("fail_reason", "n", "share")
        parts += [titled("failures", format), render(summary.fail_reasons, columns, format, screen=screen)]
    for name, columns in (shown_views or {}).items():
        if rows := summary.views[name]:
            parts += [titled(name, format), render(rows, columns, format, screen=screen)]
    if summary.tallies:
        columns = ("kind", "got", "expected", "n")
        parts += [titled("most often wrong", format), render(summary.tallies, columns, format, screen=screen)]
    return "\n\n".join(parts)


def explain_text(
    row: dict[str, Any],
    output: str | None,
    explanation: Explanation | None,
    *,
    said: str | None,
    format: str,
    screen: Screen = PLAIN,
) -> str:
    """One answer: its score row, then what was expected and got."""
    scored = {name: value for name, value in row.items() if value is not None}
    parts = [_pairs(scored, format, screen)]
    if said:
        parts.append(terminal_text(said))
    for section in explanation.sections if explanation else ():
        columns = list(section.lines[0]) if section.lines else []
        body = render(section.lines, columns, format, screen=screen) if columns else "nothing"
        parts += [titled(section.name, format), body]
    if output is not None:
        shown = without_escapes(output)
        parts += [titled("answer", format), markdown_block(shown) if format == "md" else terminal_lines(shown)]
        if shown != output:
            parts.append(ESCAPES_READ)
    elif not said:
        parts += [titled("answer", format), "The answer is null."]
    return "\n\n".join(parts)
