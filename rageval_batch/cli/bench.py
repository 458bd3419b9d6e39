"""`rageval bench`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from rageval_batch.cli.options import emit, emit_rows, output_options, say
from rageval_batch.errors import InputError

_LEAST, _MOST = 100, 10**12
_ALL = "all"
_FUNCTIONS_OF = "reference"  # the profile whose functions are measured one by one
_PROFILES = (
    "eval_json_v2", "include_rate", "claim_evidence", "judge_protocol", "legal_rag", "reference", "retrieval",
)  # fmt: skip
_STAGES = ("stage", "rows", "cpu_s", "wall_s", "rows_per_s", "us_per_row", "peak_mib")
_FUNCTIONS = ("function", "implementation", "rows", "cpu_s", "rows_per_s", "us_per_row")


@click.command()
@click.option("--rows", type=int, default=100_000, show_default=True, help="Answers in the sweep.")
@click.option("--seed", type=int, default=7, show_default=True, help="Seed of the sweep.")
@click.option(
    "--profile", type=click.Choice([*_PROFILES, _ALL]), default="eval_json_v2", show_default=True,
    help="What to measure; reference: its functions beside the public ones too.",
)  # fmt: skip
@click.option(
    "--repeated", type=click.FloatRange(0, 1), default=0.0, show_default=True,
    help="Share of the answers that are the first one to their question again.",
)  # fmt: skip
@click.option("--commands", is_flag=True, help="Whole commands too: start-up, score, runs, leaderboard, gate, compare.")
@click.option(
    "--growth", is_flag=True, help="Score the same sweep 10 and 100 times as large too: time and peak memory."
)
@click.option(
    "--compared", type=click.IntRange(_LEAST, 100_000_000), metavar="QUESTIONS",
    help="Compare two runs of so many questions too, and join their scores by DuckDB: how compare stands to that.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--against", metavar="FILE", help="Beside an earlier measurement, a file of --format json.")
@output_options("table", "json", "md", "jsonl", "csv", "tsv", "html", "parquet", "xlsx")
def bench(
    *,
    rows: int,
    seed: int,
    profile: str,
    repeated: float,
    commands: bool,
    growth: bool,
    compared: int | None,
    as_json: bool,
    against: str | None,
    format: str,
    target: str | None,
) -> None:
    """Measure this machine: a seeded sweep with 3 % damaged answers, stage by stage, against the oracle and the floor.

    The floor is DuckDB merely reading, validating and decoding the file: for the sweep in a process that has done so
    once, for the command as a command of its own, in turns, the least of five. Ratios of one run can be compared
    between machines; seconds cannot.

    \b
    Example:
      rageval bench --rows 100000
      rageval bench --profile legal_rag --json -o before.json
      rageval bench --profile legal_rag --against before.json
    """
    from rageval_batch.bench import against as earlier
    from rageval_batch.bench.measure import run

    if rows > _MOST:
        raise InputError(f"--rows {str(rows)[:20]}… is more than any disk holds. Give at most {_MOST:,}.")
    if rows < _LEAST:
        raise InputError(f"--rows {rows} is too few to measure. Give at least {_LEAST}.")
    before = earlier.read_measured(against) if against is not None else None
    profiles = []
    for name in _PROFILES if profile == _ALL else (profile,):
        with tempfile.TemporaryDirectory(prefix="rageval-bench-") as folder:
            measured = run(
                name,
                rows,
                seed,
                folder=Path(folder),
                note=say,
                commands=commands,
                growth=growth,
                compared=compared,
                repeated=repeated,
            ).as_dict()
        profiles.append({**measured, **(_functions(rows, seed) if name == _FUNCTIONS_OF else {})})
    result: dict[str, Any] = {"machine": _machine(), "profiles": profiles}
    if before is not None:
        result["against"] = earlier.compared(before, profiles)
    _show(result, "json" if as_json else format, target)


def _functions(rows: int, seed: int) -> dict[str, Any]:
    from rageval_batch.bench.functions import measure

    say(f"Scoring {rows:,} made-up answers of 300 characters, a function at a time on one core …")
    return {"functions": [rate.as_dict() for rate in measure(rows, seed)]}


def _machine() -> dict[str, Any]:
    """What the seconds depend on."""
    import os
    import platform

    from rageval_batch.version import __version__

    return {
        "rageval": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }


def _show(result: dict[str, Any], format: str, target: str | None) -> None:
    """All of it as JSON or as tables; in the formats of one table, the stages."""
    from rageval_batch.bench import against as earlier
    from rageval_batch.report.cells import json_line
    from rageval_batch.report.formats import render
    from rageval_batch.report.screen import standard_screen

    if format == "json":
        emit(json_line(result), target, format)
        return
    if format not in ("table", "md"):
        rows = [{"profile": one["profile"], **line} for one in result["profiles"] for line in one["stages"]]
        emit_rows(rows, ("profile", *_STAGES), format, target=target)
        return
    screen = standard_screen(target)
    parts = []
    for one in result["profiles"]:
        name = one["profile"]
        ratios = [
            {name: key.replace("_", " "), "value": value}
            for key, value in one.items()
            if value is None or isinstance(value, float | int)
        ]
        parts.append(render(_rounded_lines(one["stages"]), _STAGES, format, screen=screen))
        parts.append(render(_rounded_lines(ratios), (name, "value"), format, screen=screen))
        if "functions" in one:
            parts.append(render(_rounded_lines(one["functions"]), _FUNCTIONS, format, screen=screen))
    if "against" in result:
        parts.append(render(_rounded_lines(result["against"]), earlier.COLUMNS, format, screen=screen))
    emit("\n\n".join(parts), target, format)


def _rounded_lines(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines for a screen: rates as whole numbers, no more digits than a measurement has."""
    return [
        {
            name: (round(value) if name == "rows_per_s" else round(value, 3)) if isinstance(value, float) else value
            for name, value in line.items()
        }
        for line in lines
    ]
