"""What a user should be told about the scores of a commit: parts of the score that could not be computed, a failure
that most answers of a run share, rows that a run lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.columnar.json_objects import MISSING_OUTPUT, REASONS
from rageval_batch.columnar.strings import Offsets
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.inputs.protocols import RunCounts
from rageval_batch.model import Profile
from rageval_batch.runs.database import Database
from rageval_batch.sql_text import parquet_reader

if TYPE_CHECKING:
    import duckdb

MOST = 0.5  # share of the answers of a run from which a common failure is told
_SHOWN = 3  # runs that a message names
_ROWS_AT_ONCE = 1 << 16
_UNANSWERED = (REASONS[MISSING_OUTPUT], "missing")


@dataclass(frozen=True)
class Findings:
    """Sentences about a commit, each once, and those about each of its runs."""

    of_commit: tuple[str, ...]
    of_run: Mapping[str, tuple[str, ...]]

    def with_more(self, sentences: Sequence[str]) -> Findings:
        """These and more sentences about the commit."""
        return replace(self, of_commit=(*self.of_commit, *sentences))


@dataclass(frozen=True)
class Observed:
    """What score rows show of their runs. What is observed of some runs and of others adds up."""

    uncomputed: Mapping[str, Mapping[str, tuple[int, int]]]  # condition -> run -> (rows with it, all rows)
    failures: tuple[tuple[str, str, int, int, str | None], ...]  # run, reason that most answers share, how many of
    # how many, detail; by run
    _: KW_ONLY
    # Runs with missing answers, how many of how many rows, and the worst score where it is below the 0 of those.
    below_zero: tuple[tuple[str, int, int, float], ...] = ()
    above_top: tuple[tuple[str, float], ...] = ()  # runs with a score above the best of their profile, and that score

    @staticmethod
    def joined(several: Sequence[Observed]) -> Observed:
        """What was observed of different runs together; the runs of the first come first."""
        uncomputed: dict[str, dict[str, tuple[int, int]]] = {}
        for one in several:
            for part, runs in one.uncomputed.items():
                uncomputed.setdefault(part, {}).update(runs)
        return Observed(
            uncomputed,
            tuple(failure for one in several for failure in one.failures),
            below_zero=tuple(run for one in several for run in one.below_zero),
            above_top=tuple(run for one in several for run in one.above_top),
        )


def observed(scores: Sequence[Path], profile: Profile, *, database: Database) -> Observed:
    """What score rows show. The files have all rows of each of their runs."""
    counted = CountedRows(profile, pq.read_schema(scores[0]))
    if counted.show_nothing(scores):
        return counted.nothing
    reader = parquet_reader(scores)
    with database.connected() as connection:
        uncomputed = {
            part.where: _counts(connection, reader, f"count(*) filter ({part.where})")
            for part in profile.scoring.uncomputed
        }
        return Observed(
            uncomputed,
            _common_failures(connection, reader),
            below_zero=_below_zero(connection, reader),
            above_top=_above_top(connection, reader, profile.summary.score_top),
        )


def _flags(where: str, schema: pa.Schema) -> list[str] | None:
    """The columns of a condition that is "flag and flag", None where it is another."""
    names = where.split(" and ")
    is_flag = all(name in schema.names and pa.types.is_boolean(schema.field(name).type) for name in names)
    return names if is_flag else None


class CountedRows:
    """Score rows that are counted to see whether they show anything: whether a row has all flags of a condition, or a
    run a reason that most of its answers share, or a score lies outside 0 to the best. Mostly none, which counting
    alone shows."""

    def __init__(self, profile: Profile, schema: pa.Schema) -> None:
        """`schema`: the columns of the rows."""
        conditions = [_flags(part.where, schema) for part in profile.scoring.uncomputed]
        self._conditions = [names for names in conditions if names]
        self._answers: Counter[str] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._may_be_nothing = all(conditions)
        self._top = profile.summary.score_top + TOLERANCE
        self.nothing = Observed({part.where: {} for part in profile.scoring.uncomputed}, ())

    def add(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Count more rows; nothing where it is known that they show something."""
        counted = self._counts(rows)
        if counted is None:
            return
        runs, reasons, counts = counted
        self._answers.update(dict(zip(runs, counts.sum(axis=1).tolist(), strict=True)))
        for r, k in np.argwhere(counts[:, :-1]).tolist():
            self._failed[runs[r], reasons[k]] += int(counts[r, k])

    def add_whole_runs(self, rows: pa.Table) -> None:
        """The same with all rows of some runs, of which nothing is kept."""
        counted = self._counts(rows)
        if counted is not None:
            counts = counted[2]
            self._may_be_nothing = not (counts[:, :-1] > MOST * counts.sum(axis=1, keepdims=True)).any()

    def _counts(self, rows: pa.Table | pa.RecordBatch) -> tuple[list[str], list[str], Offsets] | None:
        """(runs, reasons, of each run the answers with each reason and, last, without) of rows; None where it is known
        that they show something."""
        for names in self._conditions:
            flagged = pa.scalar(True)
            for name in names:
                flagged = pc.and_kleene(flagged, rows.column(name))
            self._may_be_nothing = self._may_be_nothing and not pc.any(flagged).as_py()
        worst, best = pc.min_max(rows.column("score")).as_py().values()
        in_range = worst is None or (worst >= 0 and best <= self._top)
        self._may_be_nothing = self._may_be_nothing and in_range
        if not self._may_be_nothing:
            return None
        run, reason = (_coded(rows.column(name)) for name in ("run_id", "fail_reason"))
        reasons, runs = reason.dictionary.to_pylist(), run.dictionary.to_pylist()
        left_out = np.array([name in _UNANSWERED for name in reasons], np.bool_)
        code = reason.indices.fill_null(len(reasons)).to_numpy().astype(np.int64)
        cell = run.indices.to_numpy().astype(np.int64) * (len(reasons) + 1) + code
        counts = np.bincount(cell, minlength=len(runs) * (len(reasons) + 1)).reshape(len(runs), -1)
        counts[:, :-1][:, left_out] = 0
        return runs, reasons, counts

    def is_nothing(self) -> bool:
        """Whether the rows show nothing; they must be all of each of their runs."""
        return self._may_be_nothing and not any(n > MOST * self._answers[run] for (run, _), n in self._failed.items())

    def show_nothing(self, scores: Sequence[Path]) -> bool:
        """Whether the rows of files show nothing."""
        columns = [
            "run_id",
            "fail_reason",
            "score",
            *dict.fromkeys(name for names in self._conditions for name in names),
        ]
        for path in scores:
            with pq.ParquetFile(path, read_dictionary=["run_id", "fail_reason"]) as file:
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
                    self.add(batch)
                    if not self._may_be_nothing:
                        return False
        return self.is_nothing()


def _coded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """A column of texts as codes."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def findings_of(
    seen: Observed, profile: Profile, runs: Mapping[str, RunCounts], *, unused: Sequence[str] = ()
) -> Findings:
    """What to say of the runs of a commit; `unused`: sentences about what was given and belongs to none of them."""
    said = list(unused)
    of_run: dict[str, list[str]] = {}
    for sentence, by_run in (
        *_uncomputed(seen, profile),
        *_failures(seen),
        *_raised_by_missing(seen),
        *_too_high(seen, profile),
    ):
        said.append(sentence)
        for run, own in by_run.items():
            of_run.setdefault(run, []).append(own)
    lost = {run: counts.rejected for run, counts in sorted(runs.items()) if counts.lost_rows}
    if lost:
        named = [f"'{run}' {n:,} of {rows:,}" for run, (n, rows) in lost.items()]
        said.append(f"WARNING: {_runs(len(lost))} lost more than 1 % of the rows to rejects: {_few_names(named)}.")
    return Findings(tuple(said), {run: tuple(sentences) for run, sentences in of_run.items()})


_Finding = tuple[str, dict[str, str]]  # a sentence about the commit, and one for each run that it is about


def _uncomputed(seen: Observed, profile: Profile) -> list[_Finding]:
    out = []
    for part in profile.scoring.uncomputed:
        if found := seen.uncomputed.get(part.where):
            n, rows = (sum(one[k] for one in found.values()) for k in range(2))
            by_run = {run: f"{part.part}: not computed for {n:,} of {rows:,} rows" for run, (n, rows) in found.items()}
            about = f"{n:,} of {rows:,} rows of {_runs(len(found))}"
            out.append((f"WARNING: {part.part}: {about}: {part.why}. {part.give}", by_run))
    return out


def _counts(connection: duckdb.DuckDBPyConnection, reader: str, count: str) -> dict[str, tuple[int, int]]:
    """(counted rows, all rows) of every run in which any row is counted."""
    query = f"select run_id, {count} as n, count(*) from {reader} group by run_id having n > 0"
    return {run: (n, rows) for run, n, rows in connection.execute(f"{query} order by run_id").fetchall()}


def _common_failures(
    connection: duckdb.DuckDBPyConnection, reader: str
) -> tuple[tuple[str, str, int, int, str | None], ...]:
    """Of every run most of whose answers fail for one reason: that, and the least of their details, as an example
    where they have several."""
    names = [row[0] for row in connection.execute(f"describe from {reader}").fetchall()]
    detail = "fail_detail" if "fail_detail" in names else "null"
    query = f"""
        with answers as (
            select run_id, fail_reason, {detail} as detail from {reader}
            where fail_reason is null or fail_reason not in {_UNANSWERED}
        )
        select run_id, fail_reason, n, rows::bigint, detail from (
            select run_id, fail_reason, count(*) as n, sum(count(*)) over (partition by run_id) as rows,
                   case when count(distinct coalesce(detail, '')) > 1 then 'for example ' else '' end || min(detail)
                       as detail
            from answers group by run_id, fail_reason
        ) where fail_reason is not null and n > {MOST} * rows order by run_id"""
    return tuple(connection.execute(query).fetchall())


def _below_zero(connection: duckdb.DuckDBPyConnection, reader: str) -> tuple[tuple[str, int, int, float], ...]:
    """Of every run with missing answers and a score below 0: how many of how many rows are missing, the worst score."""
    query = f"""
        select run_id, count(*) filter (fail_reason in {_UNANSWERED}) as missing, count(*), min(score)::double as worst
        from {reader} group by run_id having missing > 0 and worst < 0 order by run_id"""
    return tuple(connection.execute(query).fetchall())


def _above_top(connection: duckdb.DuckDBPyConnection, reader: str, top: float) -> tuple[tuple[str, float], ...]:
    """Of every run with a score above the best: the highest."""
    query = (
        f"select run_id, max(score)::double as high from {reader} group by run_id having high > $top order by run_id"
    )
    return tuple(connection.execute(query, {"top": top + TOLERANCE}).fetchall())


def _too_high(seen: Observed, profile: Profile) -> list[_Finding]:
    top = profile.summary.score_top
    by_run = {run: f"a score of {high:g} is above the best, {top:g}" for run, high in seen.above_top}
    if not by_run:
        return []
    high = max(high for _, high in seen.above_top)
    sentence = f"WARNING: scores of {_runs(len(by_run))} go up to {high:g}, above the best score {top:g}"
    return [(f"{sentence} (score.top of the profile, import-scores --top): {_few_names(list(by_run))}.", by_run)]


def missing_counts_more(missing: int, rows: int, worst: float) -> str:
    """What a missing answer does to a run whose scores go below 0, and what to do about it."""
    return (
        f"{missing:,} of {rows:,} answers are missing, and each counts as 0, more than the worst answer ({worst:g}): "
        "leaving questions out raises the mean. Compare runs that answer the same questions, or give scores from 0 up"
    )


def _raised_by_missing(seen: Observed) -> list[_Finding]:
    by_run = {run: missing_counts_more(missing, rows, worst) for run, missing, rows, worst in seen.below_zero}
    if not by_run:
        return []
    run, said = next(iter(by_run.items()))
    more = f" So it is in {_runs(len(by_run))} in all." if len(by_run) > 1 else ""
    return [(f"WARNING: '{run}': {said}.{more}", by_run)]


def _failures(seen: Observed) -> list[_Finding]:
    """Of every failure that most answers of some run share: which runs, and the most frequent detail."""
    found: dict[str, list[tuple[str, int, int, str | None]]] = {}
    for run, reason, n, rows, text in seen.failures:
        found.setdefault(reason, []).append((run, n, rows, text))
    out = []
    for reason, runs in found.items():
        details = Counter(text for *_, text in runs if text)
        example = f" ({details.most_common(1)[0][0]})" if details else ""
        by_run = {run: f"{n:,} of {rows:,} answers: {reason}{example}" for run, n, rows, _ in runs}
        named = _few_names([f"'{run}' {n:,} of {rows:,}" for run, n, rows, _ in runs])
        sentence = f"WARNING: most answers of {_runs(len(runs))} fail for one reason, {reason}{example}: {named}."
        out.append((f"{sentence} Look at one with rageval explain.", by_run))
    return out


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _few_names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
