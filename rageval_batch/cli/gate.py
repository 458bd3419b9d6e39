"""`rageval gate`."""

from __future__ import annotations

import click

from rageval_batch.cli import completion
from rageval_batch.cli.options import emit, emit_batches, output_options, picking_options, say, store_option
from rageval_batch.errors import EXIT_FAILED, EXIT_OK, InputError


@click.command()
@click.argument("runs", nargs=-1, shell_complete=completion.runs)
@click.option("--all", "every", is_flag=True, help="All current runs of the store.")
@click.option(
    "--level",
    type=click.Choice(("initial", "target")),
    help="Which limits, where a profile has several; else the run's parameter level, else initial.",
)
@click.option("--gates", "gates_path", metavar="FILE", help="Gates to add, or to put in place of those of their name.")
@click.option("--allow-missing-provenance", is_flag=True, help="Do not fail a run whose record is not complete.")
@store_option
@picking_options
@output_options("table", "json", "jsonl", "csv", "md", "junit", "parquet", "tsv", "html", "xlsx")
def gate(
    *,
    runs: tuple[str, ...],
    every: bool,
    level: str | None,
    gates_path: str | None,
    allow_missing_provenance: bool,
    store: str,
    profile_name: str | None,
    eval_set: str | None,
    format: str,
    target: str | None,
) -> int:
    """Hold RUNS against the gates of their profile; exit 1 if any run fails. RUN@COMMIT is an older result.

    --all skips the runs of a profile without gates, says so, and is decided by the others.

    A gate with nothing to apply to is skipped. A run all of whose gates are skipped fails: there is nothing to judge.
    Gates on coverage (answered_share, usable_share, n) and on provenance do not count for that where there are others.

    A file of gates is TOML, one table a gate; defaults = false at its top leaves out those of the profile:

    \b
      [[gate]]
      name = "eval_score_avg"
      metric = "score"      # see rageval profiles NAME
      stat = "mean"         # mean weighted_mean micro min max sum rate p50 p90 p95 n; of a run,
      op = ">="             # without a metric: answered_share usable_share missing_provenance
      limit = 90
      level = "target"      # if left out: every level
      failure = "QualityGateFailure"
      profile = "eval_json_v2"   # if left out: every profile

    \b
    Example:
      rageval gate adapter-good --level target --format md -o gate.md
    """
    from rageval_batch.analysis.catalog import open_store, profiles_of
    from rageval_batch.analysis.gate_file import read_gates
    from rageval_batch.analysis.gates import (
        WAIVED_PROVENANCE,
        check_gates,
        gate_runs,
        gated_runs,
        wanted_levels,
        wanted_runs,
        with_claims,
    )
    from rageval_batch.report import gates as report
    from rageval_batch.report.formats import FILE_FORMATS
    from rageval_batch.report.screen import standard_screen

    if bool(runs) == every:
        raise InputError("Name the runs to gate, or give --all.")
    file = read_gates(gates_path, profiles_of(store)) if gates_path else None
    waived = WAIVED_PROVENANCE if allow_missing_provenance else ()
    with open_store(store, functions=False, named=runs, gate_file=file, waived=waived) as session:
        wanted = wanted_runs(session, runs, profile_name, eval_set=eval_set)
        levels = wanted_levels(session, wanted, level)
        if every:
            wanted, levels, without = gated_runs(wanted, levels, file)
            for name, count in without.items():
                say(f"{count:,} runs of {name} are skipped: it has no gates. Give some with --gates FILE.toml.")
        check_gates(wanted, levels, file)
        results = gate_runs(session, wanted, levels, every=every)
        if format in ("json", "jsonl") or (format in ("table", "md") and len(results) <= report.FEW):
            results = with_claims(session, results)
    if format in FILE_FORMATS:
        emit_batches(report.gate_table(results).to_reader(), format, target)
    else:
        single = len(results) == 1 and not every
        emit(report.gate_text(results, format, single, screen=standard_screen(target)), target, format)
    failed = sum(not result.passed for result in results)
    say(f"Runs: {len(results) - failed:,} passed, {failed:,} failed.")
    return EXIT_FAILED if failed else EXIT_OK
