"""`rageval runs` and `rageval show`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import emit, emit_rows, output_options, picking_options, store_option
from rageval_batch.errors import StoreError

_COLUMNS = ("run_id", "profile", "score", "n", "commit")


@click.command()
@store_option
@picking_options
@output_options("table", "json", "jsonl", "csv", "md", "parquet")
def runs(store: str, profile_name: str | None, eval_set: str | None, format: str, target: str | None) -> None:
    """List the runs of a store with their scores, newest last.

    \b
    Example:
      rageval runs --store runs
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import scored_runs

    with open_store(store, functions=False) as session:
        rows = scored_runs(session, profile_name, eval_set)
    if not rows:
        raise StoreError(f"The store {store} has no such runs. Score some first with rageval score.")
    columns = list(rows[0]) if format in ("json", "jsonl", "csv", "parquet") else list(_COLUMNS)
    emit_rows(rows, columns, format, target)


@click.command()
@click.argument("run")
@store_option
@picking_options
@output_options("table", "json", "md")
def show(run: str, store: str, profile_name: str | None, eval_set: str | None, format: str, target: str | None) -> None:
    """Show one RUN: its record, summary, metrics, failures and confusions. RUN@COMMIT is an older result.

    \b
    Example:
      rageval show adapter-good --format json
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import find_run, summarize
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.report.cells import json_line
    from rageval_batch.report.show import show_text

    with open_store(store, functions=False, named=[run]) as session:
        found = find_run(session, run, profile_name, eval_set)
        profile = get_profile(found.record["profile"])
        summary = summarize(session, found, profile.summary.stats, tuple(profile.views.shown))
    emit(json_line(summary.as_dict()) if format == "json" else show_text(summary, format, profile.views.shown), target)
