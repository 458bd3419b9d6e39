"""`rageval sql`."""

from __future__ import annotations

from pathlib import Path

import click

from rageval_batch.cli.options import emit_rows, output_options, parquet_target, say, store_option

MOST_ROWS = 200  # of a table on the screen


@click.command()
@click.argument("query")
@store_option
@output_options("table", "csv", "json", "jsonl", "md", "parquet")
def sql(query: str, store: str, format: str, target: str | None) -> None:
    """Ask a store in SQL: all views and macros, and the scorer's own functions.

    Views: runs, scores, metrics, run_summary, leaderboard, fail_reasons, confusions, question_difficulty, rejects,
    tallies, gate_results, commits, repeat_scores, judge_*, and one a profile. Functions: bigram_jaccard, soft_match,
    squash, keywords, keyword_hits. Macros: regressions(base, cand), run_delta(base, cand). The score rows of a run,
    written as Parquet, can be compared like the run.

    \b
    Example:
      rageval sql "select run_id, score from leaderboard order by rank limit 5"
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.runs.store import Store

    path = Path(parquet_target(target)) if format == "parquet" else None
    Store(store).require()
    with open_store(store) as session:
        if path is not None:
            session.copy_to_parquet(query, path)
            return
        table = session.sql(query)
    printed = table if format != "table" or target else table.slice(0, MOST_ROWS)
    emit_rows(printed.to_pylist(), table.column_names, format, target)
    if printed.num_rows < table.num_rows:
        say(f"{table.num_rows:,} rows; the first {MOST_ROWS} are shown. --format csv or -o FILE gives all.")
