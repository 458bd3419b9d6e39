"""One `score` call from files to a commit: ingest, score on threads, keep parts, commit_files, publish."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import Ints, release_unused_memory
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import extras
from rageval_batch.inputs.joined import joined_blocks
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.outputs import Ingested
from rageval_batch.inputs.protocols import LoadedInputs
from rageval_batch.model.schemas import REJECTS
from rageval_batch.profiles.registry import profile_module
from rageval_batch.runs import commit_files, commit_record, sorted_rows
from rageval_batch.runs.batch import Scorer, map_ordered, missing_rows, score_batch, scorer
from rageval_batch.runs.commit_record import Counts, Finished
from rageval_batch.runs.database import Database, database
from rageval_batch.runs.findings import findings_of, observed
from rageval_batch.runs.job import Identity, Job, identify
from rageval_batch.runs.parts import Part, Parts, read_parts, schema_of_part
from rageval_batch.runs.reused_scores import ReusedScores
from rageval_batch.runs.staging import Staging
from rageval_batch.runs.store import Commit, Store, finished_commit
from rageval_batch.runs.summary import write_commit_summary
from rageval_batch.runs.summary_plan import summary_plan
from rageval_batch.runs.written_rows import WrittenRows

Progress = Callable[[int, int], None]  # rows done, bytes of input in all


@dataclass
class Timing:
    """Seconds of CPU by stage, for measuring; threads add up."""

    read: float = 0.0
    score: float = 0.0
    write: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The commit that a job has, whether this call made it, and how much of it was found from an earlier try."""

    commit: Commit
    created: bool
    resumed_parts: int
    _: KW_ONLY
    counts: Counts
    timing: Timing

    @property
    def reject_reasons(self) -> dict[str, int]:
        """How many rows were rejected, by reason, the most frequent first; empty for commits of old versions."""
        found: dict[str, int] = self.commit.manifest.get("reject_reasons", {})
        return found

    @property
    def lost_rows(self) -> dict[str, int]:
        """The rejected rows of every run that lost too many of them."""
        found: dict[str, int] = self.commit.manifest.get("lost_rows", {})
        return found

    @property
    def warnings(self) -> list[str]:
        """What a user should know about the scores."""
        found: list[str] = self.commit.manifest.get("warnings", [])
        return found


def run(job: Job, store: Store, progress: Progress | None = None, *, threads: int | None = None) -> Outcome:
    """Score a sweep into the store; a finished one is found again, an interrupted one goes on."""
    job = job.with_hash()
    identity = identify(job)
    if (done := finished_commit(store, identity.job)) is not None:
        store.clear_published()
        return existing_outcome(done)
    with store.staging(identity.job[:24]) as staging:
        outcome = _Sweep(job, identity, staging).run(store, progress, threads or os.cpu_count() or 1)
        staging.clear()
    return outcome


def existing_outcome(commit: Commit) -> Outcome:
    """The outcome of asking for what a commit has."""
    return Outcome(commit, False, 0, counts=Counts(**commit.manifest["counts"]), timing=Timing())


def nothing_usable(job: Job, rejected: int, first: dict[str, Any] | None) -> InputError:
    """The error for a job without a row that can be scored; `first` is the first of its rejects."""
    names = ", ".join(file.name for file in job.outputs[:3])
    if first is None:
        return InputError(f"{names}: no rows. Nothing was scored.")
    where = f"{first['file']}, line {first['line']}: {first['reason']}, {first['detail']}"
    return InputError(f"None of the {rejected} rows of {names} can be used ({where}). Nothing was scored.")


def unused(job: Job, inputs: LoadedInputs, runs: Collection[str]) -> list[str]:
    """Contexts and metadata that belong to nothing that was scored, in sentences; none where only some runs were."""
    return [] if job.runs is not None else [*inputs.unused(runs), *job.metadata.unused(runs)]


def publish_once(
    store: Store, ready: Path, manifest: dict[str, Any], *, lying: Mapping[str, str] = MappingProxyType({})
) -> tuple[Commit, bool]:
    """(the commit of a sealed folder, True), or the one that somebody else made of the same job meanwhile.

    `lying`: files that lie behind the URL of the store already, by their names in the commit.
    """
    with store.publishing() as publish:
        again = finished_commit(store, manifest["job"], again=True)
        return again or publish(ready, manifest, lying), again is None


def scored_tables(
    scorer: Scorer, inputs: LoadedInputs, block: Ingested, *, keep_inputs: bool, reused: ReusedScores | None
) -> dict[str, pa.Table]:
    """The tables of a scored block that are kept until the commit is made, by kind; only `scores` is always there."""
    batch = inputs.with_contexts(block.batch)
    scored = score_batch(scorer, batch, reused)
    tables = {"scores": pa.Table.from_batches([scored.scores], scorer.schema)}
    if scored.tallies.num_rows:
        tables["tallies"] = scored.tallies
    if block.rejects.num_rows:
        tables["rejects"] = block.rejects
    if block.extras is not None:
        tables["extras"] = pa.Table.from_batches([block.extras])
    if keep_inputs:
        tables["answers"] = pa.Table.from_batches([inputs.copy_rows(batch)])
    return tables


class _Sweep:
    """The work of one job in its staging folder."""

    def __init__(self, job: Job, identity: Identity, staging: Staging) -> None:
        self.job = job
        self.identity = identity
        self.staging = staging
        self.kind = input_kind(job.profile)
        self.inputs = self.kind.load(job.questions, job.contexts, job.params, folder=staging.path)
        if profile_module(job.profile) is None:  # what a profile from elsewhere reads is not known
            self.inputs.eval_set.prepare_once()
        self.scorer = scorer(job.profile, job.params, self.inputs.eval_set)
        self.inputs = self.inputs.without_questions()  # of which the scorer has what it needs
        release_unused_memory()
        self.reused = self.scorer.reused_scores()
        self.ingest = self.inputs.ingest(job.outputs, job.runs, job.max_rows)
        self.timing = Timing()
        self.resumed = 0
        self.rows_read = 0
        self.rejected = 0
        self.scored = 0
        self.parts = Parts(staging)

    def run(self, store: Store, progress: Progress | None, threads: int) -> Outcome:
        with self.parts:
            return self._run(store, progress, threads)

    def _run(self, store: Store, progress: Progress | None, threads: int) -> Outcome:
        size = sum(file.size for file in self.job.outputs)
        for part in map_ordered(self._part, self._numbered_blocks(), threads):
            self._note(part)
            if progress:
                progress(self.rows_read, size)
        try:
            self.job.check_unchanged()
        except InputError:
            self.parts.clear()  # they are of other bytes
            raise
        if self.scored == 0:
            first = next(read_parts(self.parts.of("rejects"))).slice(0, 1).to_pylist()[0] if self.rejected else None
            raise nothing_usable(self.job, self.rejected, first)
        self.reused = None
        release_unused_memory()  # of blocks and scores
        start = time.process_time()
        with self.staging.assembling() as ready, database(self.staging.path) as self.database:
            finished, files = self._assemble(ready)
        manifest = store.seal(ready, commit_record.manifest(self.job, self.identity, finished, files=files))
        self.timing.write += time.process_time() - start
        commit, created = publish_once(store, ready, manifest)
        return Outcome(commit, created, self.resumed, counts=finished.counts, timing=self.timing)

    # --- parts --------------------------------------------------------------------------------------------------

    def _numbered_blocks(self) -> Iterator[tuple[int, Ingested]]:
        blocks = joined_blocks(self.ingest.blocks())
        number = 0
        while True:
            start = time.thread_time()
            block = next(blocks, None)
            self.timing.read += time.thread_time() - start
            if block is None:
                return
            yield number, block
            number += 1

    def _part(self, item: tuple[int, Ingested]) -> tuple[Ingested, float, bool]:
        """Score one block and keep the result, unless an earlier try did."""
        number, block = item
        start = time.thread_time()
        found = self.parts.find(number)
        if not found:
            tables = scored_tables(
                self.scorer, self.inputs, block, keep_inputs=self.job.keep_inputs, reused=self.reused
            )
            self.parts.keep(number, tables)
        return block, time.thread_time() - start, found

    def _note(self, part: tuple[Ingested, float, bool]) -> None:
        block, seconds, found = part
        self.timing.score += seconds
        self.resumed += found
        self.rows_read += block.rows
        self.rejected += block.rejects.num_rows
        self.scored += block.batch.num_rows

    # --- the commit ---------------------------------------------------------------------------------------------

    def _assemble(self, ready: Path) -> tuple[Finished, commit_record.Files]:
        """Write the files of the commit; what became of the rows, and the files by their roles."""
        written = WrittenRows(
            self.job.profile,
            self.scorer.schema,
            ready / "summary.parquet",
            repeats=self.ingest.reader.repeats,
        )
        scores = ScoreFile(
            path=ready / f"{self.job.profile.name}.parquet",
            scorer=self.scorer,
            parts=self.parts.of("scores"),
            written=written,
            database=self.database,
        )
        tallies = partial(commit_files.write_tallies, self.parts.of("tallies"), database=self.database)
        with ThreadPoolExecutor(1) as beside:  # one thread writes the score rows, another makes their summary
            written_tallies = beside.submit(tallies, target=ready / "tallies.parquet")
            runs = self.inputs.finish(self.ingest.reader, scores)
            written_tallies.result()
        runs = {run: found.with_input(run, self.ingest.counts) for run, found in runs.items()}
        missing = sum(counts.missing for counts in runs.values())
        seen = written.observed() or observed([scores.path], self.job.profile, database=self.database)
        finished = Finished(
            runs=runs,
            counts=Counts(
                rows_read=self.rows_read,
                score_rows=self.scored + missing,
                missing_rows=missing,
                rejected_rows=self.rejected,
            ),
            inputs=self.ingest.counts,
            findings=findings_of(seen, self.job.profile, runs, unused=unused(self.job, self.inputs, runs)),
        )
        commit_files.write_rejects(self.parts.of("rejects"), REJECTS, ready / "rejects.parquet")
        records = commit_record.run_records(self.job, self.identity, runs, findings=finished.findings)
        pq.write_table(records, ready / "runs.parquet", compression="zstd")
        summary, unmade = self._summary(scores.path, records, written)
        files = {
            "scores": [scores.path.name],
            **summary,
            "tallies": ["tallies.parquet"],
            "rejects": ["rejects.parquet"],
            "runs": ["runs.parquet"],
            **self._extras(ready),
            **(self._input_copy(ready) if self.job.keep_inputs else {}),
            **commit_record.input_copies(self.job, ready),
        }
        return finished.with_warnings(unmade), files

    def _extras(self, ready: Path) -> dict[str, list[str]]:
        """Other columns of the rows, an answer each; those that are constant in their runs are metadata already."""
        if self.job.stored_extras is not None:
            runs = sorted(self.job.runs or ())
            commit_files.copy_runs(
                self.job.stored_extras, runs, target=ready / "extras.parquet", database=self.database
            )
            return {"extras": ["extras.parquet"]}
        parts = self.parts.of("extras")
        schema = extras.common_schema(map(schema_of_part, parts), self.ingest.counts.constant())
        if len(schema) == len(extras.KEYS):
            return {}
        batches = (extras.filled(batch, schema) for batch in read_parts(parts))
        target = ready / "extras.parquet"
        commit_files.write_sorted(batches, schema, extras.ORDER, target=target, database=self.database)
        return {"extras": ["extras.parquet"]}

    def _summary(self, scores: Path, records: pa.Table, written: WrittenRows) -> tuple[dict[str, list[str]], list[str]]:
        """(the file of the summary, []); (none, why) where it cannot be made, as it can be made of the rows at any
        time."""
        target = scores.parent / "summary.parquet"
        if written.has_summary:
            return {"summary": [target.name]}, []
        runs = records.select(["run_id", "repeats"])
        plan = summary_plan(self.job.profile)
        unmade = write_commit_summary(plan, [scores], runs, target=target, database=self.database)
        return ({}, [unmade]) if unmade else ({"summary": [target.name]}, [])

    def _input_copy(self, ready: Path) -> commit_record.Files:
        """A copy of the answers, every distinct one once."""
        commit_files.write_input_copy(
            self.parts.of("answers"),
            self.kind.copy_format,
            target=ready / "kept_outputs.parquet",
            database=self.database,
        )
        return {"kept_outputs": ["kept_outputs.parquet"]}


@dataclass(frozen=True)
class ScoreFile:
    """The scored parts of a job as the one file of its commit."""

    path: Path
    scorer: Scorer
    parts: Sequence[Part]
    _: KW_ONLY
    database: Database
    written: WrittenRows | None = None  # what watches rows that are written in order

    def write(self, missing: Mapping[str, Ints], order: Sequence[str]) -> None:
        """All rows in order, with those of questions that runs left unanswered."""
        make = partial(missing_rows, self.scorer)
        flat = not any(pa.types.is_nested(field.type) for field in self.scorer.schema)
        if flat and tuple(order) == sorted_rows.ORDER:
            at_once = commit_files.ROW_GROUP
            chunks = sorted_rows.sorted_by_run(self.parts, missing, make, rows_at_once=at_once)
            if chunks is not None:
                rows = (chunk.rows for chunk in chunks) if self.written is None else self.written.watch(chunks)
                commit_files.write_in_order(rows, self.scorer.schema, self.path)
                return
        more = (batch for runs in _some_at_once(missing) for batch in make(runs).to_batches())
        batches = chain(read_parts(self.parts), more)
        commit_files.write_sorted(batches, self.scorer.schema, order, target=self.path, database=self.database)

    def reconcile(self, listed: pa.Table, macro: str, log: str, *, order: Sequence[str]) -> list[dict[str, Any]]:
        """What a macro makes of all rows, in order; the rows of the macro `log` about them."""
        return commit_files.write_reconciled(
            self.parts,
            self.scorer.schema,
            listed,
            reconcile=macro,
            log=log,
            order=order,
            target=self.path,
            database=self.database,
        )


def _some_at_once(missing: Mapping[str, Ints]) -> Iterator[dict[str, Ints]]:
    """The missing questions of some runs at a time, or some of those of one, so many that they make a row group."""
    waiting: dict[str, Ints] = {}
    room = commit_files.ROW_GROUP
    for run_id, questions in missing.items():
        rest = questions
        while len(rest) >= room:
            yield {**waiting, run_id: rest[:room]}
            waiting, rest, room = {}, rest[room:], commit_files.ROW_GROUP
        if len(rest):
            waiting[run_id] = rest
            room -= len(rest)
    if waiting:
        yield waiting
