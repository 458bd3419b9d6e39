"""`rageval benchmark`."""

from __future__ import annotations

import click

from rageval_batch.cli.options import emit, emit_batches, output_options, say, say_error, store_option
from rageval_batch.errors import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_OK


@click.command()
@click.argument("config")
@click.option("--run-mode", type=click.Choice(["fail-fast", "best-effort"]), default="fail-fast", show_default=True,
              help="best-effort scores the other datasets where one cannot be scored.")  # fmt: skip
@click.option("--baseline", help="A JSON result of a benchmark or run, or a run, to compare with.")
@click.option("--max-std-weighted", type=float, help="Gate: std over runs of weighted_score.")
@click.option("--max-std-question", type=float, help="Gate: std over runs of question_weighted_score.")
@click.option("--max-drop-vs-baseline", type=float, help="Gate: how far the mean over runs may be below the baseline.")
@click.option("--min-delta", type=float, help="Gate: how far the mean over runs must be above the baseline.")
@click.option("--max-regressions", type=click.IntRange(0), help="Gate: runs below the baseline plus --min-delta.")
@store_option
@output_options("json", "table", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def benchmark(
    *,
    config: str,
    run_mode: str,
    baseline: str | None,
    max_std_weighted: float | None,
    max_std_question: float | None,
    max_drop_vs_baseline: float | None,
    min_delta: float | None,
    max_regressions: int | None,
    store: str,
    format: str,
    target: str | None,
) -> int:
    """Score all datasets of CONFIG (TOML or JSON) into the store and average them for every run.

    Gates are off unless given. Exit 0 passed, 1 a gate failed, 2 a dataset could not be scored.

    \b
    Example:
      rageval benchmark benchmark.json -o result.json --baseline old-result.json --max-drop-vs-baseline 0.01
    """
    from rageval_batch.analysis.benchmark import Gates, run_benchmark
    from rageval_batch.analysis.benchmark_config import read_benchmark
    from rageval_batch.report.benchmark import benchmark_table, benchmark_text
    from rageval_batch.report.formats import FILE_FORMATS
    from rageval_batch.report.screen import standard_screen
    from rageval_batch.runs.store import Store

    gates = Gates(
        max_std_weighted=max_std_weighted,
        max_std_question=max_std_question,
        max_drop_vs_baseline=max_drop_vs_baseline,
        min_delta=min_delta,
        max_regressions=max_regressions,
    )
    read = read_benchmark(config)
    result = run_benchmark(read, Store(store), mode=run_mode, gates=gates, baseline=baseline, say=say)
    if format in FILE_FORMATS:
        emit_batches(benchmark_table(result).to_reader(), format, target)
    else:
        emit(benchmark_text(result, format, standard_screen(target)), target, format)
    if result.error is not None:
        say_error(f"rageval: {result.error}")
        return EXIT_BAD_INPUT
    return EXIT_OK if result.passed else EXIT_FAILED
