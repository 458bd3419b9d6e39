"""`rageval bench`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from rageval_batch.cli.options import emit, emit_rows, output_options, say
from rageval_batch.errors import InputError

_LEAST = 100


@click.command()
@click.option("--rows", type=int, default=100_000, show_default=True, help="Answers in the sweep.")
@click.option("--seed", type=int, default=7, show_default=True, help="Seed of the sweep.")
@click.option(
    "--profile", type=click.Choice(["eval_json_v2", "reference"]), default="eval_json_v2", show_default=True,
    help="What to measure: a sweep of eval_json_v2, or reference and its functions beside the public ones.",
)  # fmt: skip
@output_options("table", "json", "md", "jsonl", "csv", "tsv", "html", "parquet", "xlsx")
def bench(rows: int, seed: int, profile: str, format: str, target: str | None) -> None:
    """Measure this machine: a seeded sweep with 3 % damaged answers, stage by stage, against the oracle and the floor.

    The floor is DuckDB merely reading, validating and decoding the file. Ratios of one run can be compared between
    machines; seconds cannot.

    \b
    Example:
      rageval bench --rows 100000
    """
    if rows < _LEAST:
        raise InputError(f"--rows {rows} is too few to measure. Give at least {_LEAST}.")
    if profile == "reference":
        _functions(rows, seed, format, target)
    else:
        _sweep(rows, seed, format, target)


def _functions(rows: int, seed: int, format: str, target: str | None) -> None:
    from rageval_batch.bench.functions import measure

    say(f"Scoring {rows:,} made-up answers of 300 characters, a function at a time on one core …")
    lines = [rate.as_dict() for rate in measure(rows, seed)]
    if format != "json":
        lines = [{**line, "rows_per_s": round(line["rows_per_s"])} for line in lines]
    emit_rows(lines, ("function", "implementation", "rows", "cpu_s", "rows_per_s"), format, target)


def _sweep(rows: int, seed: int, format: str, target: str | None) -> None:
    from rageval_batch.bench.measure import run
    from rageval_batch.report.cells import json_line
    from rageval_batch.report.formats import render
    from rageval_batch.report.screen import standard_screen

    with tempfile.TemporaryDirectory(prefix="rageval-bench-") as folder:
        measured = run(rows, seed, Path(folder), say)
    ratios = measured.ratios()
    if format == "json":
        emit(
            json_line({"rows": rows, "megabytes": measured.megabytes, "stages": measured.lines(), **ratios}),
            target,
            format,
        )
        return
    if format not in ("table", "md"):
        stages = measured.lines()
        emit_rows(stages, list(stages[0]), format, target)
        return
    screen = standard_screen(target)
    lines = [{**line, "rows_per_s": round(line["rows_per_s"])} for line in measured.lines()]
    columns = ("stage", "rows", "cpu_s", "wall_s", "rows_per_s", "peak_mib")
    ratio_rows = [{"ratio": name.replace("_", " "), "value": value} for name, value in ratios.items()]
    parts = (render(lines, columns, format, screen), render(ratio_rows, ("ratio", "value"), format, screen))
    emit("\n\n".join(parts), target, format)
