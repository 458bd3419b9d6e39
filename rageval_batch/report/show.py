"""One run, and one answer, for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rageval_batch.analysis.runs import RunSummary
from rageval_batch.model import Explanation
from rageval_batch.report.cells import format_value, truncate, visible
from rageval_batch.report.formats import render, screen_width, titled

_RECORD = (
    "run_id", "profile", "eval_set", "commit", "created_at", "signature", "params_sha256", "questions_sha256",
    "contexts_sha256", "source_sha256", "prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id",
)  # fmt: skip
_GROUP = ("grouping", "value", "total_tests", "passed_tests", "pass_rate", "mean")
_METRIC = ("metric", "mean", "n_scored", "n_total", "std", "p50", "max")


def _pairs(values: dict[str, Any], format: str) -> str:
    if format == "md":
        return render([{"": name, "value": value} for name, value in values.items()], ["", "value"], format)
    room = max(map(len, values))
    return "\n".join(
        f"{name:<{room}}  {truncate(format_value(value), screen_width() - room - 2)}" for name, value in values.items()
    )


def show_text(summary: RunSummary, format: str, shown_views: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """A run as a table or as Markdown; of views of its profile's own, these columns."""
    record = summary.run.record
    parts = [
        _pairs({name: record[name] for name in _RECORD} | dict(record["meta"]), format),
        titled("summary", format),
        _pairs(dict(summary.summary), format),
        titled("metrics", format),
        render(summary.metrics, _METRIC, format),
    ]
    if summary.groups:
        parts += [titled("by group", format), render(summary.groups, _GROUP, format)]
    if summary.fail_reasons:
        parts += [titled("failures", format), render(summary.fail_reasons, ("fail_reason", "n", "share"), format)]
    for name, columns in (shown_views or {}).items():
        if rows := summary.views[name]:
            parts += [titled(name, format), render(rows, columns, format)]
    if summary.tallies:
        parts += [titled("most often wrong", format), render(summary.tallies, ("kind", "got", "expected", "n"), format)]
    return "\n\n".join(parts)


def explain_text(
    row: dict[str, Any], output: str | None, explanation: Explanation | None, said: str | None, format: str
) -> str:
    """One answer: its score row, then what was expected and got."""
    scored = {name: value for name, value in row.items() if value is not None}
    parts = [_pairs(scored, format)]
    if said:
        parts.append(said)
    for section in explanation.sections if explanation else ():
        columns = list(section.lines[0]) if section.lines else []
        parts += [titled(section.name, format), render(section.lines, columns, format) if columns else "nothing"]
    if output is not None:
        parts += [titled("answer", format), _answer(output, format)]
    return "\n\n".join(parts)


def _answer(output: str, format: str) -> str:
    if format == "md":
        fence = "`" * (max((len(run) for run in _backtick_runs(output)), default=0) + 3)
        return f"{fence}\n{output}\n{fence}"
    return "\n".join(visible(line) for line in output.split("\n"))


def _backtick_runs(text: str) -> list[str]:
    return re.findall(r"`+", text)
