"""One `score` call from files to a commit: ingest, score on threads, keep parts, commit_files, publish."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import Flags
from rageval_batch.errors import InputError
from rageval_batch.inputs import check, eval_sets
from rageval_batch.inputs.outputs import Ingest, Ingested, RecordIngest, records_schema
from rageval_batch.inputs.run_metadata import RunMetadata
from rageval_batch.inputs.sources import Source, content_hash
from rageval_batch.model import Profile, canonical_json, params_sha256
from rageval_batch.model.schemas import KEPT, PROVENANCE, REJECTS, RUNS, TALLIES, EvalSet
from rageval_batch.runs import commit_files
from rageval_batch.runs.batch import map_ordered, missing_rows, score_batch, scorer
from rageval_batch.runs.store import Commit, Staging, Store
from rageval_batch.version import __version__

Progress = Callable[[int, int], None]  # rows done, bytes of input in all


@dataclass(frozen=True)
class Job:
    """All that a score call depends on."""

    profile: Profile
    params: dict[str, Any]
    outputs: list[Source]
    questions: list[Source]
    contexts: list[Source] = field(default_factory=list)
    document: Source | None = None
    given: RunMetadata = field(default_factory=RunMetadata)
    keep_inputs: bool = False
    runs: frozenset[str] | None = None  # only these runs of the outputs

    def with_hash(self) -> Job:
        """The same job with all its files hashed."""
        return Job(
            self.profile, self.params,
            [file.with_hash() for file in self.outputs], [file.with_hash() for file in self.questions],
            [file.with_hash() for file in self.contexts],
            self.document.with_hash() if self.document else None,
            self.given, self.keep_inputs, self.runs,
        )  # fmt: skip


@dataclass
class Timing:
    """Seconds of CPU by stage, for measuring; threads add up."""

    read: float = 0.0
    score: float = 0.0
    write: float = 0.0


@dataclass(frozen=True)
class Counts:
    """What became of the rows: rows read = score rows - missing rows + rejected rows."""

    rows_read: int
    score_rows: int
    missing_rows: int
    rejected_rows: int


@dataclass(frozen=True)
class Outcome:
    """The commit that a job has, whether this call made it, and how much of it was found from an earlier try."""

    commit: Commit
    created: bool
    resumed_parts: int
    counts: Counts
    timing: Timing


@dataclass(frozen=True)
class _Identity:
    eval_set: eval_sets.Identity
    contexts_sha256: str | None
    source_sha256: str | None
    params_sha256: str
    job: str


def _identify(job: Job) -> _Identity:
    questions = eval_sets.identity(job.questions)
    contexts = content_hash(job.contexts).sha256 if job.contexts else None
    document = job.document.sha256 if job.document else None
    described = {
        "version": __version__,
        "profile": job.profile.name,
        "params": job.params,
        "outputs": [[file.name, file.sha256] for file in job.outputs],
        "questions": [questions.version, questions.sha256],
        "contexts": contexts,
        "source": document,
        "meta": dict(job.given.meta),
        "run_meta": {run: dict(fields) for run, fields in job.given.run_meta.items()},
        "prompt": dict(job.given.prompt),
        "keep_inputs": job.keep_inputs,
        "runs": sorted(job.runs) if job.runs is not None else None,
    }
    digest = hashlib.sha256(canonical_json(described).encode()).hexdigest()
    return _Identity(questions, contexts, document, params_sha256(job.params), digest)


def run(job: Job, store: Store, progress: Progress | None = None, threads: int | None = None) -> Outcome:
    """Score a sweep into the store; a finished one is found again, an interrupted one goes on."""
    job = job.with_hash()
    identity = _identify(job)
    if (done := _finished(store, identity.job)) is not None:
        return existing_outcome(done)
    with store.staging(identity.job[:24]) as staging:
        kind = _Sweep if job.profile.records is None else _RecordSweep
        sweep = kind(job, identity, staging, threads or os.cpu_count() or 1)
        outcome = sweep.run(store, progress)
        staging.clear()
    return outcome


def existing_outcome(commit: Commit) -> Outcome:
    """The outcome of asking for what a commit has."""
    return Outcome(commit, False, 0, Counts(**commit.manifest["counts"]), Timing())


def _finished(store: Store, job: str) -> Commit | None:
    """The commit of the same job, if it is still the newest of all its runs."""
    newest: dict[tuple[str, str, str], str] = {}
    commits = store.commits()
    for commit in commits:
        for run_id in commit.manifest["runs"]:
            newest[run_id, commit.manifest["profile"], commit.manifest["questions"]["sha256"]] = commit.id
    for commit in reversed(commits):
        manifest = commit.manifest
        if manifest["job"] == job:
            keys = [(run_id, manifest["profile"], manifest["questions"]["sha256"]) for run_id in manifest["runs"]]
            return commit if all(newest[key] == commit.id for key in keys) else None
    return None


class _Sweep:
    """The work of one job in its staging folder."""

    def __init__(self, job: Job, identity: _Identity, staging: Staging, threads: int) -> None:
        self.job = job
        self.identity = identity
        self.staging = staging
        self.threads = threads
        self.timing = Timing()
        self.resumed = 0
        self.rows_read = 0
        self.rejected = 0
        self.scored = 0
        self.parts = 0

    def run(self, store: Store, progress: Progress | None) -> Outcome:
        eval_set, run_contexts = self._eval_set()
        self.scorer = scorer(self.job.profile, self.job.params, eval_set)
        self.run_contexts = run_contexts
        self.ingest = self._ingest(eval_set)
        size = sum(file.size for file in self.job.outputs)
        for part in map_ordered(self._part, self._numbered_blocks(), self.threads):
            self._note(part)
            if progress:
                progress(self.rows_read, size)
        if self.scored == 0:
            raise self._nothing_usable()
        start = time.process_time()
        with self.staging.assembling() as ready:
            answered = self._answered(ready)
            missing = sum(int((~flags).sum()) for flags in answered.values())
            counts = Counts(self.rows_read, self.scored + missing, missing, self.rejected)
            files = self._assemble(ready, answered)
        manifest = self._manifest(answered, counts, files)
        self.timing.write += time.process_time() - start
        again = _finished(store, self.identity.job)  # somebody else may have finished the same job meanwhile
        commit = again or store.publish(ready, manifest)
        return Outcome(commit, again is None, self.resumed, counts, self.timing)

    def _eval_set(self) -> tuple[EvalSet, eval_sets.RunContexts | None]:
        eval_set = eval_sets.eval_set_of(check.checked_questions(self.job.questions, self.job.profile))
        if not self.job.contexts:
            return eval_set, None
        return eval_sets.with_contexts(eval_set, self.job.contexts, self.staging.path)

    def _ingest(self, eval_set: EvalSet) -> Ingest:
        return Ingest(self.job.outputs, eval_set, self.job.runs, self.job.profile.output_fields)

    def _answered(self, ready: Path) -> dict[str, Flags]:
        """For every run, which of the questions it should answer have an answer."""
        return self.ingest.answered()

    def _nothing_usable(self) -> InputError:
        names = ", ".join(file.name for file in self.job.outputs[:3])
        if not self.rejected:
            return InputError(f"{names}: no rows. Nothing was scored.")
        first = next(self._rows("rejects")).slice(0, 1).to_pylist()[0]
        where = f"{first['file']}, line {first['line']}: {first['reason']}, {first['detail']}"
        return InputError(f"None of the {self.rejected} rows of {names} can be used ({where}). Nothing was scored.")

    # --- parts --------------------------------------------------------------------------------------------------

    def _numbered_blocks(self) -> Iterator[tuple[int, Ingested]]:
        blocks = self.ingest.blocks()
        number = 0
        while True:
            start = time.thread_time()
            block = next(blocks, None)
            self.timing.read += time.thread_time() - start
            if block is None:
                return
            yield number, block
            number += 1

    def _part(self, item: tuple[int, Ingested]) -> tuple[int, Ingested, float, bool]:
        """Score one block and keep the result on disk, unless an earlier try did."""
        number, block = item
        start = time.thread_time()
        done = self.staging.path / _part_name("done", number)
        found = done.exists()
        if not found:
            batch = self._with_contexts(block.batch)
            scored = score_batch(self.scorer, batch)
            self._keep(_part_name("scores", number), [scored.scores], self.scorer.schema)
            if scored.tallies.num_rows:
                self._keep(_part_name("tallies", number), scored.tallies.to_batches(), TALLIES)
            if block.rejects.num_rows:
                self._keep(_part_name("rejects", number), block.rejects.to_batches(), REJECTS)
            if self.job.keep_inputs:
                kept = self._answers(batch)
                self._keep(_part_name("answers", number), [kept], kept.schema)
            with self.staging.writing(done.name) as path:
                path.touch()
        return number, block, time.thread_time() - start, found

    def _keep(self, name: str, batches: list[pa.RecordBatch], schema: pa.Schema) -> None:
        with self.staging.writing(name) as path:
            commit_files.write_part(path, batches, schema)

    def _answers(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        ids = self.scorer.ids.take(batch.column("question"))
        return pa.RecordBatch.from_arrays(
            [batch.column("run_id"), ids, *(batch.column(name) for name in ("repeat", "output", "chunks"))], schema=KEPT
        )

    def _with_contexts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows without chunks of their own get those given for their run and question."""
        return batch if self.run_contexts is None else self.run_contexts.joined_to(batch, self.scorer.ids)

    def _note(self, part: tuple[int, Ingested, float, bool]) -> None:
        number, block, seconds, found = part
        self.timing.score += seconds
        self.resumed += found
        self.rows_read += block.rows
        self.rejected += block.rejects.num_rows
        self.scored += block.batch.num_rows
        self.parts = number + 1

    def _rows(self, kind: str) -> Iterator[pa.RecordBatch]:
        """What all parts hold of a kind; a part without rows of a kind has no file of it."""
        paths = (self.staging.path / _part_name(kind, number) for number in range(self.parts))
        return commit_files.read_parts([path for path in paths if path.exists()])

    # --- the commit ---------------------------------------------------------------------------------------------

    def _write_scores(self, ready: Path, answered: dict[str, Flags]) -> None:
        commit_files.write_parquet(
            self._all_scores(answered), self.scorer.schema,
            "from rows order by run_id, question_id, repeat", ready / f"{self.job.profile.name}.parquet",
        )  # fmt: skip

    def _assemble(self, ready: Path, answered: dict[str, Flags]) -> dict[str, list[str]]:
        profile = self.job.profile.name
        self._write_scores(ready, answered)
        commit_files.write_parquet(
            self._rows("tallies"), TALLIES,
            "select run_id, kind, got, expected, sum(n)::bigint as n from rows group by all order by all",
            ready / "tallies.parquet",
        )  # fmt: skip
        commit_files.write_parquet(
            self._rows("rejects"), REJECTS, "from rows order by file, line", ready / "rejects.parquet"
        )
        pq.write_table(self._runs(answered), ready / "runs.parquet", compression="zstd")
        return {
            "scores": [f"{profile}.parquet"],
            "tallies": ["tallies.parquet"],
            "rejects": ["rejects.parquet"],
            "runs": ["runs.parquet"],
            **(self._kept(ready) if self.job.keep_inputs else {}),
        }

    def _kept(self, ready: Path) -> dict[str, list[str]]:
        """A copy of the inputs: every distinct answer of a question once, and the question and context files."""
        self._keep_outputs(ready / "kept_outputs.parquet")
        kept = {"kept_outputs": ["kept_outputs.parquet"]}
        for role, files in (("kept_questions", self.job.questions), ("kept_contexts", self.job.contexts)):
            kept[role] = [f"{role}-{k}-{_kept_name(file)}" for k, file in enumerate(files)]
            for name, file in zip(kept[role], files, strict=True):
                if file.table is None:
                    shutil.copyfile(file.path, ready / name)
                else:
                    pq.write_table(file.table, ready / name)
        return kept

    def _keep_outputs(self, target: Path) -> None:
        commit_files.write_parquet(
            self._rows("answers"), KEPT,
            "select question_id, output, chunks, "
            "list({'run_id': run_id, 'repeat': repeat} order by run_id, repeat) as given_by "
            "from rows group by all order by question_id, output, chunks",
            target,
        )  # fmt: skip

    def _all_scores(self, answered: dict[str, Flags]) -> Iterator[pa.RecordBatch]:
        yield from self._rows("scores")
        for run_id, flags in answered.items():
            holes = np.flatnonzero(~flags).astype(np.int32)
            if len(holes):
                yield from missing_rows(self.scorer, run_id, holes).to_batches()

    def _runs(self, answered: dict[str, Flags]) -> pa.Table:
        columns = self._run_columns()
        repeats = self.ingest.repeats()
        rows = []
        for run_id, flags in sorted(answered.items()):
            meta = {
                "eval_set_version": self.identity.eval_set.version,
                **self.job.given.of_run(run_id, columns.get(run_id, {})),
            }
            rows.append(
                {
                    "run_id": run_id,
                    "profile": self.job.profile.name,
                    "eval_set": self.identity.eval_set.version,
                    "questions_sha256": self.identity.eval_set.sha256,
                    "source_sha256": self.identity.source_sha256,
                    "contexts_sha256": self.identity.contexts_sha256,
                    "params_sha256": self.identity.params_sha256,
                    "signature": self._signature(),
                    "version": __version__,
                    **self._run_counts(run_id, flags, repeats[run_id]),
                    **{name: meta.get(name) for name in PROVENANCE},
                    "meta": sorted((k, v) for k, v in meta.items() if k not in PROVENANCE),
                }
            )
        return pa.Table.from_pylist(rows, schema=RUNS)

    def _run_columns(self) -> dict[str, dict[str, str]]:
        """What the rows of every run say of it."""
        return self.ingest.metadata()

    def _run_counts(self, run_id: str, flags: Flags, repeats: int) -> dict[str, int | None]:
        return {"question_count": len(flags), "answered_count": int(flags.sum()), "repeats": repeats}

    def _signature(self) -> str:
        """Everything that could change a score, readable."""
        profile, identity = self.job.profile, self.identity
        parts = {
            "profile": profile.name,
            "params": profile.signature(self.job.params),
            "questions": identity.eval_set.version,
            "contexts": identity.contexts_sha256[:12] if identity.contexts_sha256 else "none",
            "version": __version__,
        }
        return "|".join(f"{name}:{value}" for name, value in parts.items())

    def _manifest(self, answered: dict[str, Flags], counts: Counts, files: dict[str, list[str]]) -> dict[str, Any]:
        identity = self.identity
        return {
            "job": identity.job,
            "profile": self.job.profile.name,
            "version": __version__,
            "params": self.job.params,
            "params_sha256": identity.params_sha256,
            "signature": self._signature(),
            "questions": {
                "version": identity.eval_set.version,
                "sha256": identity.eval_set.sha256,
                "files": [_reference(file) for file in self.job.questions],
            },
            "contexts": {
                "sha256": identity.contexts_sha256,
                "files": [_reference(file) for file in self.job.contexts],
            },
            "source": _reference(self.job.document) if self.job.document else None,
            "given": {
                "meta": dict(self.job.given.meta),
                "run_meta": {run: dict(fields) for run, fields in self.job.given.run_meta.items()},
                "prompt": dict(self.job.given.prompt),
            },
            "inputs": [_reference(file) for file in self.job.outputs],
            "runs": sorted(answered),
            "counts": vars(counts),
            "files": files,
        }


class _RecordSweep(_Sweep):
    """The same for rows that name themselves what they are about: what is missing shows when all have been read."""

    def __init__(self, job: Job, identity: _Identity, staging: Staging, threads: int) -> None:
        super().__init__(job, identity, staging, threads)
        assert job.profile.records is not None
        self.records = job.profile.records
        self.log: dict[str, dict[str, Any]] = {}

    def _eval_set(self) -> tuple[EvalSet, eval_sets.RunContexts | None]:
        names = self.records.listed(self.job.params)
        check.checked_questions(self.job.questions, self.job.profile.with_question_fields(names))
        texts = eval_sets.read_texts(self.job.contexts, self.records.texts)
        self.listed = self.records.read_list(eval_sets.read_rows(self.job.questions, names, "sample"))
        return EvalSet((), (), (), (), texts), None

    def _ingest(self, eval_set: EvalSet) -> Ingest:
        return RecordIngest(self.job.outputs, self.records.keys, self.job.runs)

    def _answers(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def _answered(self, ready: Path) -> dict[str, Flags]:
        logged = commit_files.write_reconciled(
            [self.staging.path / _part_name("scores", number) for number in range(self.parts)],
            self.scorer.schema, self.listed, self.records.reconcile, self.records.log, self.records.order,
            ready / f"{self.job.profile.name}.parquet",
        )  # fmt: skip
        self.log = {row["run_id"]: row for row in logged}
        return {
            run_id: np.arange(row["question_count"] or row["answered_count"]) < row["answered_count"]
            for run_id, row in self.log.items()
        }

    def _write_scores(self, ready: Path, answered: dict[str, Flags]) -> None:
        """They were written when it was seen what is missing."""

    def _keep_outputs(self, target: Path) -> None:
        names = (name for name in records_schema(self.records.keys).names if name != "output")
        given = ", ".join(f"{name}: {name}" for name in names)
        commit_files.write_parquet(
            self._rows("answers"), records_schema(self.records.keys),
            f"select output, list({{{given}}} order by input, line) as given_by from rows group by output order by 1",
            target,
        )  # fmt: skip

    def _run_counts(self, run_id: str, flags: Flags, repeats: int) -> dict[str, int | None]:
        return {name: self.log[run_id][name] for name in ("question_count", "answered_count", "repeats")}

    def _run_columns(self) -> dict[str, dict[str, str]]:
        given = super()._run_columns()
        return {run_id: dict(row["meta"] or []) | given.get(run_id, {}) for run_id, row in self.log.items()}


def _part_name(kind: str, number: int) -> str:
    return f"{kind}-{number:06d}"


def _kept_name(file: Source) -> str:
    return f"{file.name}.parquet" if file.table is not None else Path(file.name).name


def _reference(file: Source) -> dict[str, Any]:
    """A file as the store remembers it."""
    path = str(file.path.resolve()) if file.table is None else None
    given = {"name": file.name, "path": path, "size": file.size, "sha256": file.sha256}
    return {**given, "folder": True} if file.members else given
