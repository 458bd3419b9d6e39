"""What became of a job, as `score` and `rescore` tell it: counts of rows on stderr, a line a run on stdout."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

from rageval_batch.cli.options import emit, emit_rows, is_quiet, say

if TYPE_CHECKING:
    import pyarrow as pa

    from rageval_batch.analysis.run_lines import PartialAverage
    from rageval_batch.analysis.session import Session
    from rageval_batch.model import Profile
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import Outcome

FEW = 12  # runs that a terminal shows all; of more, the best and the worst
_LINES = 1_000  # of runs that are written at a time
_COUNTS = ("answered", "questions")


NAMED_BY_MAP = "name it: --map run_id=COLUMN or --map repeat=COLUMN"
CALLED_SO = "call it run_id or repeat"  # where columns cannot be mapped


def report_outcomes(
    store: Store, outcomes: list[Outcome], format: str, *, target: str | None, apart: str = NAMED_BY_MAP
) -> None:
    """What became of the rows, on stderr; a line a run, on stdout. `apart`: how duplicates are told apart.

    The commits are there, and that is said whatever happens: a summary that cannot be shown is no failure of the
    command.
    """
    for outcome in outcomes:
        _say_counts(outcome, store, apart=apart)
    try:
        _show(store, outcomes, format, target=target)
    finally:
        for outcome in outcomes:
            if outcome.created:
                say(f"Committed {outcome.commit.id} to {store.name}.")


def _show(store: Store, outcomes: list[Outcome], format: str, *, target: str | None) -> None:
    from rageval_batch.answering import answered
    from rageval_batch.profiles.registry import get_profile
    from rageval_batch.report.cells import counts_words, json_line, partial_words

    try:
        in_json = format in ("json", "jsonl")
        whole = answered(lambda: _whole_summaries(store, outcomes)) if in_json else []
        lines, partial = ([], []) if in_json else answered(lambda: _run_lines(store, outcomes, format))
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        say(f"The summary cannot be shown: {reason} See rageval runs --store {store.name}.")
        return
    if format == "json":
        emit(json_line(whole[0] if len(whole) == 1 else whole), target, format)
    elif format == "jsonl":
        emit("\n".join(map(json_line, whole)), target, format)
    else:
        count = sum(part.num_rows for part in lines)
        shown = _best_and_worst(lines) if _has_room_for_few(format, target) and count > FEW else lines
        names = dict.fromkeys(name for part in shown for name in part.column_names if name not in _COUNTS)
        _emit_lines(shown, [*names, *_COUNTS], format, target=target)
        for name in dict.fromkeys(outcome.commit.manifest["profile"] for outcome in outcomes):
            unit = get_profile(name).summary.unit
            if said := counts_words(name, unit.name, unit.row, counts=" and ".join(_COUNTS)):
                say(said)
        for said in partial_words(partial):
            say(said)
        if shown is not lines:
            say(f"{count:,} runs; the best and worst {FEW // 2} are shown. All: --format csv, or -o FILE.")


def _has_room_for_few(format: str, target: str | None) -> bool:
    """Whether of many runs some are shown: on a terminal, where a message says so; a pipe or a file has all."""
    return target is None and format in ("table", "md") and sys.stdout.isatty() and not is_quiet()


def _emit_lines(lines: list[pa.Table], columns: list[str], format: str, *, target: str | None) -> None:
    """Write the lines of runs; to a pipe as they are made, for there may be more runs than anybody looks at."""
    from rageval_batch.report.formats import markdown_lines
    from rageval_batch.report.layout import table_lines
    from rageval_batch.report.screen import standard_screen

    rows = (row for part in lines for batch in part.to_batches(_LINES) for row in batch.to_pylist())
    if target is not None or format not in ("table", "md"):
        emit_rows(list(rows), columns, format, target=target)
        return
    made = (
        markdown_lines(rows, columns)
        if format == "md"
        else table_lines(rows, columns, standard_screen(), optional=("stat", "answered"))
    )
    for line in made:
        emit(line, None, format)


def _best_and_worst(lines: list[pa.Table]) -> list[pa.Table]:
    """The first lines of all and the last, of more than FEW."""
    first: list[pa.Table] = []
    last: list[pa.Table] = []
    for part in lines:
        first.append(part.slice(0, FEW // 2 - sum(taken.num_rows for taken in first)))
    for part in reversed(lines):
        wanted = FEW // 2 - sum(taken.num_rows for taken in last)
        last.insert(0, part.slice(max(0, part.num_rows - wanted)))
    return [part for part in (*first, *last) if part.num_rows]


def _run_lines(store: Store, outcomes: list[Outcome], format: str) -> tuple[list[pa.Table], list[PartialAverage]]:
    """Of every commit the line that its profile shows of a run; what in them is over less than all questions."""
    import pyarrow as pa

    from rageval_batch.analysis.run_lines import (
        partial_averages,
        run_lines,
        summary_from_session,
        summary_of_commit,
    )
    from rageval_batch.runs.commit_profile import profile_of
    from rageval_batch.runs.summary_plan import summary_plan

    found, partial = [], []
    for outcome in outcomes:
        profile = profile_of(outcome.commit)
        _say_failed_expressions(store, outcome, profile)
        named = {name: profile.summary.stats[name] for name in profile.summary.headline}
        summary = summary_of_commit(outcome.commit, summary_plan(profile).definition, named)
        if summary is None:
            with _session(store) as session:
                summary = summary_from_session(session, outcome.commit.id)
        lines = run_lines(summary, named, profile.summary.run_stat)
        same = ("score", profile.summary.run_stat) if format in ("table", "md") else None
        lines = lines.drop_columns(
            [name for name, stat in named.items() if stat == same]
        )  # people need no number twice
        if lost := outcome.lost_rows:  # marked by a column that is not there otherwise
            lines = lines.append_column(
                "rejected", pa.array([lost.get(run) for run in lines.column("run_id").to_pylist()], pa.int64())
            )
        found.append(lines)
        partial += partial_averages(summary, named, profile.summary.unit.row)
    return found, partial


def _whole_summaries(store: Store, outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """All that is known of every run of the commits."""
    from rageval_batch.analysis.runs import summaries
    from rageval_batch.runs.commit_profile import profile_of

    found: list[dict[str, Any]] = []
    for outcome in outcomes:
        profile = profile_of(outcome.commit)
        _say_failed_expressions(store, outcome, profile)
        with _session(store) as session:
            found += [one.as_dict() for one in summaries(session, outcome.commit.id, profile.summary.stats)]
    return found


def _say_failed_expressions(store: Store, outcome: Outcome, profile: Profile) -> None:
    """How many rows have an expression of a profile file without a value, and the first of them."""
    if not profile.digest:
        return
    from rageval_batch.analysis.runs import failed_expressions

    with _session(store) as session:
        failed, first = failed_expressions(session, profile.name, outcome.commit.id)
    if first is not None:
        rows = f"{failed:,} {'row has' if failed == 1 else 'rows have'} an expression without a value"
        where = f"run '{first['run_id']}', question '{first['question_id']}': {first['fail_detail']}"
        query = f"select run_id, question_id, fail_detail from {profile.name} where fail_detail is not null"
        say(f'{rows}, the first {where}. All: rageval sql "{query}".')


def _session(store: Store) -> Session:
    from rageval_batch.analysis.catalog import open_store

    return open_store(store.name, functions=False)


def _say_counts(outcome: Outcome, store: Store, *, apart: str) -> None:
    from rageval_batch.report.cells import count_text

    counts = outcome.counts
    if not outcome.created:
        say(f"Nothing to do: commit {outcome.commit.id} has this already.")
    if outcome.resumed_parts:
        say(f"Went on with an interrupted sweep: {outcome.resumed_parts} parts were scored already.")
    say(
        f"{count_text(counts.rows_read, 'row')} read = {count_text(counts.score_rows, 'score row')} - "
        f"{count_text(counts.missing_rows, 'missing output')} + {counts.rejected_rows:,} rejected"
        f"{_reject_reasons(outcome)}"
    )
    if counts.rejected_rows:
        query = f"from rejects where commit = '{outcome.commit.id}'"
        say(f'Rejected rows: rageval sql "{query}" --store {shlex.quote(store.name)}')
    if "duplicate" in outcome.reject_reasons:
        say(f"A duplicate is a second answer of the same run to a question. Where a column tells them apart, {apart}.")
    for warning in outcome.warnings:
        say(warning)


def _reject_reasons(outcome: Outcome) -> str:
    reasons = ", ".join(f"{reason} {n:,}" for reason, n in outcome.reject_reasons.items())
    return f" ({reasons})" if reasons else ""
