"""One run, and one answer, for people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rageval_batch.analysis.runs import RunSummary
from rageval_batch.model.profile import Explanation
from rageval_batch.report.cells import fitted, shown, visible
from rageval_batch.report.formats import render, screen_width, titled

_RECORD = (
    "run_id", "profile", "eval_set", "commit", "created_at", "signature", "params_sha256", "questions_sha256",
    "contexts_sha256", "source_sha256", "prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id",
)  # fmt: skip
_GROUP = ("grouping", "value", "total_tests", "passed_tests", "pass_rate", "mean")
_METRIC = ("metric", "mean", "n_scored", "n_total", "std", "p50", "max")


def _pairs(values: dict[str, Any], form: str) -> str:
    if form == "md":
        return render([{"": name, "value": value} for name, value in values.items()], ["", "value"], form)
    room = max(map(len, values))
    return "\n".join(
        f"{name:<{room}}  {fitted(shown(value), screen_width() - room - 2)}" for name, value in values.items()
    )


def show_text(summary: RunSummary, form: str, shown_views: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """A run as a table or as Markdown; of views of its profile's own, these columns."""
    record = summary.run.record
    parts = [
        _pairs({name: record[name] for name in _RECORD} | dict(record["meta"]), form),
        titled("summary", form),
        _pairs(dict(summary.summary), form),
        titled("metrics", form),
        render(summary.metrics, _METRIC, form),
    ]
    if summary.groups:
        parts += [titled("by group", form), render(summary.groups, _GROUP, form)]
    if summary.fail_reasons:
        parts += [titled("failures", form), render(summary.fail_reasons, ("fail_reason", "n", "share"), form)]
    for name, columns in (shown_views or {}).items():
        if rows := summary.views[name]:
            parts += [titled(name, form), render(rows, columns, form)]
    if summary.tallies:
        parts += [titled("most often wrong", form), render(summary.tallies, ("kind", "got", "expected", "n"), form)]
    return "\n\n".join(parts)


def explain_text(
    row: dict[str, Any], output: str | None, explanation: Explanation | None, said: str | None, form: str
) -> str:
    """One answer: its score row, then what was expected and got."""
    scored = {name: value for name, value in row.items() if value is not None}
    parts = [_pairs(scored, form)]
    if said:
        parts.append(said)
    for section in explanation.sections if explanation else ():
        columns = list(section.lines[0]) if section.lines else []
        parts += [titled(section.name, form), render(section.lines, columns, form) if columns else "nothing"]
    if output is not None:
        parts += [titled("answer", form), _answer(output, form)]
    return "\n\n".join(parts)


def _answer(output: str, form: str) -> str:
    if form == "md":
        fence = "`" * (max((len(run) for run in _backtick_runs(output)), default=0) + 3)
        return f"{fence}\n{output}\n{fence}"
    return "\n".join(visible(line) for line in output.split("\n"))


def _backtick_runs(text: str) -> list[str]:
    return re.findall(r"`+", text)
