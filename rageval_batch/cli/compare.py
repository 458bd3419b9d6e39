"""`rageval compare` and `rageval leaderboard`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import (
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
from rageval_batch.errors import EXIT_FAILED, EXIT_OK, IncompatibleRuns, InputError

_SHOWN = 5


@click.command()
@click.argument("runs", nargs=-1, metavar="[BASE] [CAND]...", shell_complete=completion.runs)
@click.option("--base", help="The base, in place of the first argument.", shell_complete=completion.runs)
@click.option("--cand", "more", multiple=True, help="A candidate, beside the arguments.",
              shell_complete=completion.runs)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="All other runs of the base's profile and questions.")
@click.option("--metric", default="score", show_default=True, help="Compare by this metric of the profile.",
              shell_complete=completion.metrics)  # fmt: skip
@click.option("--min-delta", type=float, default=0.0, show_default=True, help="Pass with at least this delta.")
@click.option("--max-regressions", type=click.IntRange(0), default=0, show_default=True,
              help="How many questions may be worse.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(["rules", "significant"]), default="rules", show_default=True,
              help="significant: fail only on a drop that the interval shows.")  # fmt: skip
@click.option("--strict-hashes/--no-strict-hashes", "strict", default=True, show_default=True,
              help="Refuse runs of other questions, sources, parameters or profile versions.")  # fmt: skip
@click.option("--seed", type=int, default=None, help="Seed of the resamples.")
@store_option
@picking_options
@output_options("table", "json", "md", "csv", "junit", "parquet", "jsonl", "tsv", "html", "xlsx")
def compare(
    *,
    runs: tuple[str, ...],
    base: str | None,
    more: tuple[str, ...],
    every: bool,
    metric: str,
    min_delta: float,
    max_regressions: int,
    fail_on: str,
    strict: bool,
    seed: int | None,
    store: str,
    profile_name: str | None,
    eval_set: str | None,
    format: str,
    target: str | None,
) -> int:
    """Compare candidates with a base: the delta, which questions rose and fell, and whether chance could do it.

    BASE and CAND are runs of the store (RUN@COMMIT is an older result), a Parquet of score rows, or a JSON run
    {"summary": …, "results": …}. Exit 0 passed, 1 a candidate failed, 2 the runs must not be compared.

    \b
    Example:
      rageval compare adapter-good adapter-weak --max-regressions 2 --format md
    """
    from rageval_batch.analysis.compared_runs import find_compared_runs, open_compared
    from rageval_batch.analysis.comparison import Rules, require_shared_questions
    from rageval_batch.analysis.comparison import compare as compare_runs
    from rageval_batch.columnar import statistics
    from rageval_batch.report.compare import COLUMNS, compare_rows, compare_text, mismatch_text
    from rageval_batch.report.formats import FILE_FORMATS, and_more
    from rageval_batch.report.screen import standard_screen

    first, candidates = _base_and_candidates(runs, base, more, every=every)
    rules = Rules(min_delta, max_regressions, fail_on)
    with open_compared(store, [first, *candidates]) as session:
        try:
            compared = find_compared_runs(
                session, first, candidates,
                every=every, profile=profile_name, eval_set=eval_set, metric=metric, strict=strict,
            )  # fmt: skip
        except IncompatibleRuns as error:
            if (text := mismatch_text(error, format)) is not None:
                emit(text, target, format)
            raise
        results = compare_runs(session, compared, rules, seed=statistics.SEED if seed is None else seed)
    require_shared_questions(results)
    if compared.left_out:
        names = and_more(compared.left_out, len(compared.left_out), _SHOWN)
        say(
            f"{len(compared.left_out)} runs were left out, scored with another source, other parameters or another "
            f"version of the profile: {names}"
        )
    if format in FILE_FORMATS:
        emit_rows(compare_rows(results), COLUMNS, format, target=target)
    else:
        emit(compare_text(results, format, standard_screen(target)), target, format)
    return EXIT_OK if all(result.passed for result in results) else EXIT_FAILED


def _base_and_candidates(
    runs: tuple[str, ...], base: str | None, more: tuple[str, ...], *, every: bool
) -> tuple[str, list[str]]:
    """The base and the candidates of a command line."""
    if base is None:
        if not runs:
            raise InputError("Name a base and a candidate: rageval compare BASE CAND.")
        base, runs = runs[0], runs[1:]
    candidates = [*runs, *more]
    if not candidates and not every:
        raise InputError(f"Name a candidate to compare with '{base}', or give --all.")
    return base, candidates


@click.command()
@store_option
@picking_options
@click.option("-n", "--limit", type=click.IntRange(1, 10**9), help="Only so many runs, the best.")
@output_options("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
def leaderboard(
    *, store: str, profile_name: str | None, eval_set: str | None, limit: int | None, format: str, target: str | None
) -> None:
    """Rank the runs of a store by score, with 95 % intervals, for each profile and eval set.

    \b
    Example:
      rageval leaderboard --store runs -n 10 --format md
    """
    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.analysis.runs import ranked_runs

    with open_store(store, functions=False) as session:
        rows = ranked_runs(session, profile_name, eval_set, limit=limit)
        notes = score_notes(session, rows)
    if not rows:
        raise no_runs(store, profile_name, eval_set)
    emit_rows(
        rows,
        list(rows[0]),
        format,
        target=target,
        optional=optional_columns(rows, ("eval_set", "stat", ("low", "high"))),
    )
    for note in notes:
        say(note)
