"""`rageval monitor`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import emit, emit_rows, output_options, picking_options, say, store_option
from rageval_batch.errors import EXIT_FAILED, EXIT_OK, InputError


@click.command()
@click.option("--metric", required=True, help="What to watch; see rageval profiles NAME.",
              shell_complete=completion.metrics)  # fmt: skip
@click.option("--window", default="7d", show_default=True, help="Length of a window: 12h, 7d, 4w.")
@click.option("--baseline", default="28d", show_default=True, help="Length of the span before it.")
@click.option(
    "--max-drop",
    type=float,
    help="How much worse is too much, in the metric's unit; else 5 % of its scale, of a count 5 % of its baseline.",
)
@click.option("--now", metavar="TIME", help="Where the last window ends, as an ISO time; else the latest run.")
@store_option
@picking_options
@output_options("table", "jsonl", "json", "csv", "tsv", "md", "html", "parquet", "xlsx")
def monitor(
    *,
    metric: str,
    window: str,
    baseline: str,
    max_drop: float | None,
    now: str | None,
    store: str,
    profile_name: str | None,
    eval_set: str | None,
    format: str,
    target: str | None,
) -> int:
    """Watch a metric of live runs: each window against the span before it; exit 1 if any window alerts.

    A run's time is its metadata `timestamp`, else its commit's. A window alerts if the mean became worse by more than
    --max-drop and the bootstrap interval over rows excludes 0; the newest one also if it has no runs (stale). All eval
    sets of the profile count, unless one is named. Every format has every window, but jsonl one line an alert;
    the table gathers long stretches without runs.

    \b
    Example:
      rageval monitor --metric claim_precision --window 7d --baseline 28d --format jsonl
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.monitor import read_span, read_time, watch
    from rageval_batch.report.formats import FILE_FORMATS
    from rageval_batch.report.monitor import watch_text, window_rows
    from rageval_batch.report.screen import standard_screen

    length, before = read_span(window, "--window"), read_span(baseline, "--baseline")
    end = read_time(now) if now else None
    if now and end is None:
        raise InputError(f"--now {now}: write an ISO time such as 2026-03-09T09:00:00Z.")
    with open_store(store, functions=False) as session:
        result = watch(
            session,
            metric,
            length,
            baseline=before,
            max_drop=max_drop,
            now=end,
            profile=profile_name,
            eval_set=eval_set,
        )
    for note in result.notes:
        say(note)
    if format in FILE_FORMATS:
        rows = window_rows(result)
        emit_rows(rows, list(rows[0]) if rows else [], format, target=target)
    elif (text := watch_text(result, format, standard_screen(target))) or target:
        emit(text, target, format)
    say(f"Alerts: {len(result.alerts)} of {len(result.windows)} windows ({result.profile}, {result.metric}).")
    return EXIT_FAILED if result.alerts else EXIT_OK
