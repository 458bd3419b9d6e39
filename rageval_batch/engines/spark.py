"""Scoring on Apache Spark: the same rows, rejects, summaries and job identity as on one machine.

A split of the outputs is scored by one task and kept as a part in the store's staging folder, so that a job whose
driver was killed goes on. What only all rows together can tell is decided by joins and windows over the parts' keys;
then rows are sent to range partitions, each of which becomes a sorted file of the commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.engines.parts import SplitResult
from rageval_batch.engines.ranges import Ranges, plan_ranges
from rageval_batch.engines.session import require_spark
from rageval_batch.engines.shared import SharedFolder
from rageval_batch.engines.tasks import Routes, Work, Written
from rageval_batch.errors import InputError, RagevalError
from rageval_batch.inputs import extras
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.outputs import FileColumns, InputCounts
from rageval_batch.inputs.protocols import MAX_ROWS, RunCounts
from rageval_batch.inputs.readers import ColumnLimit
from rageval_batch.inputs.sources import Source
from rageval_batch.inputs.splits import Split, SplitSource
from rageval_batch.locations import Folder, child
from rageval_batch.model.schemas import REJECTS, RUNS
from rageval_batch.profiles.registry import get_profile, profile_module
from rageval_batch.runs import commit_files, commit_record
from rageval_batch.runs.batch import scorer
from rageval_batch.runs.commit_record import Counts, Files, Finished
from rageval_batch.runs.database import database
from rageval_batch.runs.findings import Observed, findings_of
from rageval_batch.runs.job import Identity, Job, identify
from rageval_batch.runs.job_inputs import given_job, given_sources
from rageval_batch.runs.staging import STAGING, Staging
from rageval_batch.runs.store import Store, finished_commit
from rageval_batch.runs.sweep import (
    Outcome,
    Progress,
    Timing,
    existing_outcome,
    nothing_usable,
    publish_once,
    unused,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rageval_batch.engines.stages import Sent, Stages

_REJECT_BYTES = 64 << 20  # of rejected rows in one file


def run(
    job: Job,
    store: Store,
    spark: SparkSession,
    *,
    progress: Progress | None = None,
    partitions: int | None = None,
) -> Outcome:
    """Score a sweep into the store; a finished one is found again, an interrupted one goes on.

    `partitions`: about how many files of score rows the commit has; without it, one for every million rows.
    """
    from rageval_batch.engines.stages import Stages

    stages = Stages(spark)
    store = store if store.remote else Store(store.path.resolve())
    with stages.settings():
        files = stages.split_sources([_shared(file) for file in job.outputs])
        named = [replace(file.source, path=given.path) for file, given in zip(files, job.outputs, strict=True)]
        job = replace(job, outputs=named).with_hash()
        identity = identify(job)
        if (done := finished_commit(store, identity.job)) is not None:
            store.clear_published()
            return existing_outcome(done)
        with store.staging(identity.job[:24]) as staging:
            sweep = _Sweep(job, identity, staging, stages=stages, files=files)
            outcome = sweep.run(store, progress, partitions)
            staging.clear()
            if store.remote is not None:
                Folder(sweep.shared).remove_folder("")
        return outcome


def score(
    outputs: Any,
    questions: Any = None,
    profile: str = "",
    *,
    spark: SparkSession | None = None,
    contexts: Any = None,
    params: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] = "runs",
    partitions: int | None = None,
    keep_inputs: bool = False,
    max_rows: int = MAX_ROWS,
    map: Mapping[str, Any] | None = None,
    preset: str | None = None,
) -> Outcome:
    """Score a Spark data frame, or files and folders that all nodes see, as a commit of the store.

    `spark`: the session, else the active one. Questions and contexts are files or frames that the driver has.
    """
    require_spark()
    from pyspark.sql import DataFrame, SparkSession

    from rageval_batch.engines.frames import frame_files

    chosen = get_profile(profile)
    place = Store(store)
    is_frame = isinstance(outputs, DataFrame)
    active = spark or (outputs.sparkSession if is_frame else SparkSession.getActiveSession())
    if active is None:
        raise InputError("There is no Spark session. Give one: score(…, spark=SparkSession.builder.getOrCreate()).")
    if is_frame and (map or questions is None):
        raise InputError("A Spark data frame needs `questions`, and its columns under the names of the fields: no map.")
    with ExitStack() as stack:
        files = (
            [stack.enter_context(frame_files(outputs, place))]
            if is_frame
            else given_sources(outputs, "outputs", chosen.inputs.whole_files)
        )
        job = stack.enter_context(
            given_job(files, questions, chosen, contexts=contexts, params=params, map=map, preset=preset)
        )
        job = replace(job, keep_inputs=keep_inputs, max_rows=max_rows)
        return run(job, place, active, partitions=partitions)


def _shared(file: Source) -> Source:
    """A file by a path that does not depend on the folder a process runs in."""
    if file.table is not None:
        raise InputError(f"{file.name}: a frame in memory is no input of Spark. Give a Spark data frame, or files.")
    return file if file.url else replace(file, path=file.path.resolve())


class _Sweep:
    """The work of one job, as the driver sees it."""

    def __init__(
        self, job: Job, identity: Identity, staging: Staging, *, stages: Stages, files: Sequence[SplitSource]
    ) -> None:
        self.job = job
        self.identity = identity
        self.staging = staging
        self.stages = stages
        self.files = files
        self.kind = input_kind(job.profile)
        self.inputs = self.kind.load(job.questions, job.contexts, job.params, folder=staging.path)
        self.columns = ColumnLimit()
        self.splits = [Split(number, part) for number, file in enumerate(files) for part in file.parts]
        self.shared = _shared_folder(staging)
        parts, written = (SharedFolder(child(self.shared, name)) for name in ("parts", "written"))
        for folder in (parts, written):
            folder.create()
        written.clear()
        self.work = Work(
            scorer=scorer(job.profile, job.params, self.inputs.eval_set),
            kind=self.kind,
            inputs=self.inputs.without_questions().placed(self._placed_file),
            sources=[file.source for file in files],
            has_run=[file.has_run for file in files],
            runs=job.runs,
            keep_inputs=job.keep_inputs,
            max_rows=job.max_rows,
            store=staging.store.name,
            parts=parts,
            written=written,
        )

    def _placed_file(self, path: Path) -> str:
        """Where all nodes see a file of the staging folder."""
        if self.staging.store.remote is None:
            return str(path)
        Folder(self.shared).upload(path, path.name)
        return child(self.shared, path.name)

    def run(self, store: Store, progress: Progress | None, partitions: int | None) -> Outcome:
        """Score, decide, write and publish."""
        size = sum(file.source.size for file in self.files)
        work = self.stages.send(self.work, profile_module(self.job.profile))
        report = (lambda rows: progress(rows, size)) if progress else None
        parts = self.stages.score(work, self.splits, report)
        self._check(parts)
        resumed = sum(part.found for part in parts)
        if self.inputs.eval_set.ids and len(parts):
            for part in self.stages.score_again(work, self.splits, parts):
                parts[part.number] = part
            _raise_first(parts)
        self.columns = self._kept_columns(work, parts)
        counts = InputCounts()
        for part in parts:
            counts.add(part.counts, self.columns)
        self.job.check_unchanged()
        if not any(part.scored for part in parts):
            first = next((part.first_reject for part in parts if part.first_reject), None)
            raise nothing_usable(self.job, sum(part.rejected for part in parts), first)
        with self.staging.assembling() as ready:
            placed = _Placed(self.work.written, ready, store)
            finished, files = self._assemble(work, placed, parts, counts=counts, partitions=partitions)
        manifest = store.seal(
            ready, commit_record.manifest(self.job, self.identity, finished, files=files), placed.checksums
        )
        commit, created = publish_once(store, ready, manifest, lying=placed.lying)
        return Outcome(commit, created, resumed, counts=finished.counts, timing=Timing())

    def _kept_columns(self, work: Sent, parts: list[SplitResult]) -> ColumnLimit:
        """The columns that are kept of those that are no fields: the first of all rows. A split that left one of them
        out, having many others before it, is scored again."""
        columns = ColumnLimit()
        for part in parts:
            for name in (*part.others.names, *part.others.left_out):
                columns.take(name)
        kept = columns.names.keys()
        lacking = [part for part in parts if part.others.is_full or not kept.isdisjoint(part.others.left_out)]
        if lacking:
            for part in self.stages.keep_columns(work, self.splits, lacking, columns=list(kept)):
                parts[part.number] = part
            _raise_first(parts)
        return columns

    def _check(self, parts: Sequence[SplitResult]) -> None:
        """InputError where a split, a file or the whole input cannot be scored: the first in the order of the files."""
        repeats: dict[str, set[int]] = {}
        error = None
        try:
            self._check_files(parts, repeats)
        except RagevalError as found:
            error = found
        # Of the rows before an error, too many are the earlier one.
        rows = sum(sum(part.scored.values()) for part in parts)
        self.inputs.check_rows(repeats, rows, self.job.max_rows)
        if error is not None:
            raise error

    def _check_files(self, parts: Sequence[SplitResult], repeats: dict[str, set[int]]) -> None:
        """InputError for the first split that failed, or file that lacks a field; the repeats of runs until there."""
        reader = self.inputs.row_reader()
        for number, mine in groupby(parts, key=lambda part: self.splits[part.number].file):
            file = self.files[number]
            columns = FileColumns(has_run=file.has_run)
            for part in mine:
                if part.error is not None:
                    raise part.error
                columns.add(part.columns)
                for run, met in part.repeats.items():
                    repeats.setdefault(run, set()).update(met)
            columns.check(file.source, reader)

    def _assemble(
        self,
        work: Sent,
        placed: _Placed,
        parts: list[SplitResult],
        *,
        counts: InputCounts,
        partitions: int | None,
    ) -> tuple[Finished, Files]:
        """Write the files of the commit; what became of the rows, and the files by their roles."""
        ready = placed.ready
        routes = self._routes(parts, counts, partitions)
        written = self.stages.write(work, self.stages.send(routes), parts, partitions=routes.count)
        runs = {run: found.with_input(run, counts) for run, found in _runs(written).items()}
        summaries, seen, unmade = self._summarize(work, routes.ranges, written, runs=runs)
        scores = placed.take("scores", written, self.job.profile.name)
        missing = sum(found.missing for found in runs.values())
        scored = sum(sum(part.scored.values()) for part in parts)
        finished = Finished(
            runs=runs,
            counts=Counts(
                rows_read=sum(part.rows_read for part in parts),
                score_rows=scored + missing,
                missing_rows=missing,
                rejected_rows=sum(part.rejected for part in parts),
            ),
            inputs=counts,
            findings=findings_of(seen, self.job.profile, runs, unused=unused(self.job, self.inputs, runs)),
        )
        records = commit_record.run_records(self.job, self.identity, runs, findings=finished.findings)
        pq.write_table(records, ready / "runs.parquet", compression="zstd")
        files: Files = {"scores": scores}
        if summaries:
            files["summary"] = placed.take("summary", summaries, "summary")
        for role in ("tallies", "rejects"):
            files[role] = placed.take(role, written, role) or [f"{role}.parquet"]
        if files["tallies"][0] not in placed.checksums:
            with database(self.staging.path) as opened:
                commit_files.write_tallies([], target=ready / "tallies.parquet", database=opened)
        if files["rejects"][0] not in placed.checksums:
            commit_files.write_rejects([], REJECTS, ready / "rejects.parquet")
        files["runs"] = ["runs.parquet"]
        for role in ("extras", "kept_outputs"):
            if names := placed.take(role, written, role):
                files[role] = names
        if self.job.stored_extras:
            run_ids = sorted(self.job.runs or ())
            with database(self.staging.path) as opened:
                commit_files.copy_runs(
                    self.job.stored_extras, run_ids, target=ready / "extras.parquet", database=opened
                )
            files["extras"] = ["extras.parquet"]
        return finished.with_warnings(unmade), {**files, **commit_record.input_copies(self.job, ready)}

    def _routes(self, parts: Sequence[SplitResult], counts: InputCounts, partitions: int | None) -> Routes:
        """Where rows go: ranges of runs and questions, files of rejects, files of kept answers."""
        ids = self.inputs.eval_set.ids
        rows: dict[str, int] = {}
        for part in parts:
            for run, scored in part.scored.items():
                rows[run] = rows.get(run, 0) + scored
        schema = None
        if not self.job.stored_extras:
            found = {name for part in parts for name in part.others.names}
            left_out = counts.constant() | (found - self.columns.names.keys())
            schema = extras.common_schema((one for part in parts for one in part.extras), left_out)
        ranges = plan_ranges({run: max(scored, len(ids)) for run, scored in rows.items()}, ids, partitions)
        group, filled = np.zeros(len(parts), np.int32), 0
        for k, part in enumerate(parts):
            if filled and filled + part.reject_bytes > _REJECT_BYTES:
                filled, group[k:] = 0, group[k] + 1
            filled += part.reject_bytes
        return Routes(
            ranges=ranges,
            extras=schema if schema is not None and len(schema) > len(extras.KEYS) else None,
            copy_partitions=(min(ranges.count, len(ids)) or 1) if self.job.keep_inputs else 0,
            reject_group=group,
            reject_groups=int(group[-1]) + 1 if any(part.rejected for part in parts) else 0,
        )

    def _summarize(
        self, work: Sent, ranges: Ranges, written: Iterable[Written], *, runs: Mapping[str, RunCounts]
    ) -> tuple[list[Written], Observed, list[str]]:
        """(summaries of the commit, what the score rows show, []); no summaries where one cannot be made, and why."""
        scores = {file.place: file.name for file in written if file.role == "scores"}
        groups = []
        for partitions, names in ranges.groups():
            rows = [{"run_id": name, "repeats": runs[name].repeats} for name in names if name in runs]
            records = pa.Table.from_pylist(rows, schema=pa.schema([RUNS.field("run_id"), RUNS.field("repeats")]))
            groups.append(([scores[partition] for partition in partitions], records))
        found = self.stages.summarize(work, groups)
        seen = Observed.joined([one for _, one in found])
        unmade = [summary for summary, _ in found if isinstance(summary, str)]
        summaries = [summary for summary, _ in found if not isinstance(summary, str)]
        return ([], seen, unmade[:1]) if unmade else (summaries, seen, [])


def _raise_first(parts: Iterable[SplitResult]) -> None:
    for part in parts:
        if part.error is not None:
            raise part.error


def _runs(written: Iterable[Written]) -> dict[str, RunCounts]:
    """What became of each run, from the partitions that have its rows."""
    found: dict[str, list[Written]] = {}
    for file in sorted(written, key=lambda one: one.place):
        for name in file.runs:
            found.setdefault(name, []).append(file)
    return {name: _total_counts(name, files) for name, files in found.items()}


def _total_counts(run: str, files: Sequence[Written]) -> RunCounts:
    """The counts of a run; each of several partitions knows the answers that are missing in it alone."""
    first = files[0].runs[run]
    if len(files) == 1:
        return first
    missing = sum(file.runs[run].missing for file in files)
    repeats = frozenset[int]().union(*(file.repeats[run] for file in files))
    return replace(first, answered_count=(first.question_count or 0) - missing, repeats=len(repeats))


def _shared_folder(staging: Staging) -> str:
    """Where the tasks of a job leave what they made: beside the commits."""
    if staging.store.remote is None:
        return str(staging.path)
    return child(staging.store.name, f"{STAGING}/{staging.path.name}")


class _Placed:
    """Gives files that tasks wrote their names in the commit: here, or behind a URL when it is published."""

    def __init__(self, written: SharedFolder, ready: Path, store: Store) -> None:
        self.ready = ready
        self._written = written
        self._store = store
        self.checksums: dict[str, dict[str, Any]] = {}
        self.lying: dict[str, str] = {}  # files behind the URL of the store, by their names in the commit

    def take(self, role: str, written: Iterable[Written], stem: str) -> list[str]:
        """The names of the files of a role, in their order."""
        files = sorted((file for file in written if file.role == role), key=lambda one: one.place)
        names = [f"{stem}.parquet" if len(files) == 1 else f"{stem}-{k:05d}.parquet" for k in range(len(files))]
        for name, file in zip(names, files, strict=True):
            if self._store.remote is None:
                os.rename(os.path.join(self._written.place, file.name), self.ready / name)
            else:
                self.lying[name] = f"{STAGING}/{self.ready.parent.name}/written/{file.name}"
            self.checksums[name] = file.checksum
        return names
