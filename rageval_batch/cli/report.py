"""`rageval report`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import emit, picking_options, say, store_option
from rageval_batch.errors import InputError


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=completion.runs)
@click.option("--all", "every", is_flag=True, help="All runs of the store: so it is without RUN.")
@click.option("--base", help="The run that the others are compared with; else the first RUN, else the best.",
              shell_complete=completion.runs)  # fmt: skip
@click.option("-o", "--output", "target", required=True, metavar="FILE.html", help="Write the report to this file.")
@store_option
@picking_options
def report(
    *,
    runs: tuple[str, ...],
    every: bool,
    base: str | None,
    target: str,
    store: str,
    profile_name: str | None,
    eval_set: str | None,
) -> None:
    """Write one HTML file about runs: gates, leaderboard, distributions, comparison, failures, movers, rejects.

    It opens by double click and loads nothing. It has at most 3 MB: long tables are cut, and the SQL beside each
    gives the rest.

    \b
    Example:
      rageval report --all --base baseline -o report.html
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.report.html.report import build_report, report_html

    if runs and every:
        raise InputError("Name the runs of the report, or give --all, not both.")
    if not target.lower().endswith((".html", ".htm")):
        raise InputError(f"A report is an HTML file, and '{target}' has another ending. Give -o FILE.html.")
    named = [*runs, base] if base else list(runs)
    with open_store(store, functions=False, named=named) as session:
        made = build_report(session, runs, base, profile=profile_name, eval_set=eval_set)
    emit(report_html(made), target)
    say(f"Wrote {target}.")
