"""`rageval sql`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from rageval_batch.cli.options import emit_pieces, emit_rows, output_options, parquet_target, say, store_option

MOST_ROWS = 200  # of a table on the screen


@click.command()
@click.argument("query")
@store_option
@output_options("table", "csv", "json", "jsonl", "md", "parquet")
def sql(query: str, store: str, format: str, target: str | None) -> None:
    """Ask a store in SQL: all views and macros, and the functions that `rageval functions` lists.

    Views: runs, scores, metrics, run_summary, leaderboard, fail_reasons, confusions, question_difficulty, rejects,
    tallies, gate_results, commits, repeat_scores, judge_*, and one a profile. Macros: regressions(base, cand),
    run_delta(base, cand). The score rows of a run, written as Parquet, can be compared like the run.

    \b
    Example:
      rageval sql "select run_id, score from leaderboard order by rank limit 5"
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.report import formats

    with open_store(store) as session:
        if format == "parquet":
            session.copy_to_parquet(query, Path(parquet_target(target)))
            return
        with session.stream(query) as (columns, batches):
            if format != "table":
                rows = (row for batch in batches for row in batch.to_pylist())
                emit_pieces(formats.pieces(rows, columns, format), target)
                return
            shown, count = _first_rows(batches, None if target else MOST_ROWS)
    emit_rows(shown, columns, format, target)
    if len(shown) < count:
        say(f"{count:,} rows; the first {MOST_ROWS} are shown. --format csv or -o FILE gives all.")


def _first_rows(batches: Iterable[Any], most: int | None) -> tuple[list[dict[str, Any]], int]:
    """(the first rows, how many there are)"""
    shown: list[dict[str, Any]] = []
    count = 0
    for batch in batches:
        wanted = batch.num_rows if most is None else max(0, most - len(shown))
        shown += batch.slice(0, wanted).to_pylist()
        count += batch.num_rows
    return shown, count
