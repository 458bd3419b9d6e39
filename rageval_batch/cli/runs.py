"""`rageval runs` and `rageval show`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import (
    count_notes,
    emit,
    emit_rows,
    no_runs,
    optional_columns,
    output_options,
    picking_options,
    say,
    score_notes,
    store_option,
)

_COLUMNS = ("run_id", "profile", "eval_set", "score", "stat", "n", "commit")
_OPTIONAL = ("commit", "eval_set", "stat")  # where the screen has no room


@click.command()
@store_option
@picking_options
@output_options("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def runs(*, store: str, profile_name: str | None, eval_set: str | None, format: str, target: str | None) -> None:
    """List the runs of a store with their scores, newest last.

    \b
    Example:
      rageval runs --store runs
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import scored_runs

    with open_store(store, functions=False) as session:
        rows = scored_runs(session, profile_name, eval_set)
        notes = score_notes(session, rows)
    if not rows:
        raise no_runs(store, profile_name, eval_set)
    columns = list(_COLUMNS) if format in ("table", "md", "html") else list(rows[0])
    emit_rows(rows, columns, format, target=target, optional=optional_columns(rows, _OPTIONAL))
    for note in notes:
        say(note)


@click.command()
@click.argument("run", shell_complete=completion.runs)
@store_option
@picking_options
@output_options("table", "json", "md", "jsonl", "csv", "tsv", "html", "parquet", "xlsx")
def show(
    *, run: str, store: str, profile_name: str | None, eval_set: str | None, format: str, target: str | None
) -> None:
    """Show one RUN: its record, summary, metrics, failures and confusions. RUN@COMMIT is an older result.

    As a file of rows (csv, tsv, jsonl, html, parquet, xlsx): its metrics.

    \b
    Example:
      rageval show adapter-good --format json
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import find_run, summarize
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.report.cells import json_line
    from rageval_batch.report.screen import standard_screen
    from rageval_batch.report.show import metric_rows, show_text

    with open_store(store, functions=False, named=[run]) as session:
        found = find_run(session, run, profile_name, eval_set=eval_set)
        profile = get_profile(found.record["profile"])
        summary = summarize(session, found, profile.summary.stats, views=tuple(profile.views.shown))
        notes = count_notes(session, [found.record["profile"]], counts="question_count and answered_count")
    if format == "json":
        emit(json_line(summary.as_dict()), target, format)
    elif format in ("table", "md"):
        emit(show_text(summary, format, profile.views.shown, screen=standard_screen(target)), target, format)
    else:
        rows = metric_rows(summary)
        emit_rows(rows, list(rows[0]) if rows else [], format, target=target)
    for note in notes:
        say(note)
