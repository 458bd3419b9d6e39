"""A benchmark for people and for programs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rageval_batch.analysis.benchmark import Benchmark
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.report.cells import json_line
from rageval_batch.report.formats import ROW_FORMATS, render, titled
from rageval_batch.report.safe_text import markdown_text, terminal_text
from rageval_batch.report.screen import PLAIN, Screen, verdict_tone

FORMATS = ("json", *(name for name in ROW_FORMATS if name != "json"))
_ROWS = pa.schema(
    [
        ("benchmark", LARGE_STRING),
        ("dataset", LARGE_STRING),
        ("kind", LARGE_STRING),
        ("profile", LARGE_STRING),
        ("run_id", LARGE_STRING),
        ("score", pa.float64()),
        ("weight", pa.float64()),
        ("questions", pa.int64()),
        ("questions_sha256", LARGE_STRING),
        ("source_sha256", LARGE_STRING),
        ("params_sha256", LARGE_STRING),
        ("commit", LARGE_STRING),
        ("error", LARGE_STRING),
        ("run_weighted_score", pa.float64()),
        ("run_question_weighted_score", pa.float64()),
    ]
)


def benchmark_text(result: Benchmark, format: str, screen: Screen = PLAIN) -> str:
    """The whole result as JSON, what people look at as a table or Markdown, or its rows."""
    if format == "json":
        return json_line(result.as_dict())
    if format not in ("table", "md"):
        return render(_benchmark_rows(result), _ROWS.names, format)
    verdict = "PASSED" if result.passed else "FAILED"
    runs = [vars(run) for run in result.runs]
    shown = screen.paint(verdict, verdict_tone(result.passed))
    parts = [
        f"## {markdown_text(result.name)}: {verdict}" if format == "md" else f"{terminal_text(result.name)}: {shown}"
    ]
    if runs:
        columns = ("run_id", "weighted_score", "question_weighted_score", "total_questions")
        parts.append(render(runs, columns, format, screen=screen))
    by_dataset = [
        {"dataset": row["dataset"], "run_id": row["run_id"], "score": row["score"], "error": row["error"]}
        for row in _benchmark_rows(result)
    ]
    parts += [
        titled("datasets", format),
        render(by_dataset, ("dataset", "run_id", "score", "error"), format, screen=screen),
    ]
    if result.gates:
        gates = [vars(gate) for gate in result.gates]
        tones = {"passed": verdict_tone}
        columns = ("gate", "actual", "limit", "passed")
        parts += [titled("gates", format), render(gates, columns, format, screen=screen, tones=tones)]
    return "\n\n".join(parts)


def benchmark_table(result: Benchmark) -> pa.Table:
    """A row for every dataset and run."""
    return pa.Table.from_pylist(_benchmark_rows(result), schema=_ROWS)


def _benchmark_rows(result: Benchmark) -> list[dict[str, Any]]:
    rows = []
    for found in result.datasets:
        whole = found.as_dict()
        common = {name: whole[name] for name in ("kind", "profile", "weight", "questions", "questions_sha256",
                                                 "source_sha256", "params_sha256", "commit", "error")}  # fmt: skip
        common |= {"benchmark": result.name, "dataset": found.dataset.id}
        rows += [
            {
                **common,
                "run_id": run.run_id,
                "score": found.scores.get(run.run_id),
                "run_weighted_score": run.weighted_score,
                "run_question_weighted_score": run.question_weighted_score,
            }
            for run in result.runs
        ] or [common | {"run_id": None, "score": None}]
    return rows
