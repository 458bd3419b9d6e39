"""One `score` call from files to a commit: ingest, score on threads, keep parts, commit_files, publish."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING, Ints
from rageval_batch.errors import InputError
from rageval_batch.inputs import extras
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.outputs import Ingested
from rageval_batch.inputs.protocols import RunCounts
from rageval_batch.inputs.sources import Source
from rageval_batch.model import Profile
from rageval_batch.model.schemas import PROVENANCE, REJECTED_ROWS, REJECTS, RUN_WARNINGS, RUNS, TALLIES
from rageval_batch.profiles.registry import profile_reference
from rageval_batch.runs import commit_files, sorted_rows
from rageval_batch.runs.batch import Scorer, map_ordered, missing_rows, score_batch, scorer
from rageval_batch.runs.database import Database, database
from rageval_batch.runs.findings import Findings, find
from rageval_batch.runs.job import Identity, Job, identify
from rageval_batch.runs.store import Commit, Staging, Store
from rageval_batch.runs.summary import ScoreRows, summary_plan, write_summary
from rageval_batch.version import __version__

PROFILE_FILE = "profile.toml"
Progress = Callable[[int, int], None]  # rows done, bytes of input in all


@dataclass
class Timing:
    """Seconds of CPU by stage, for measuring; threads add up."""

    read: float = 0.0
    score: float = 0.0
    write: float = 0.0


@dataclass(frozen=True, kw_only=True)
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


def run(job: Job, store: Store, progress: Progress | None = None, threads: int | None = None) -> Outcome:
    """Score a sweep into the store; a finished one is found again, an interrupted one goes on."""
    job = job.with_hash()
    identity = identify(job)
    if (done := _finished(store, identity.job)) is not None:
        store.clear_published()
        return existing_outcome(done)
    with store.staging(identity.job[:24]) as staging:
        outcome = _Sweep(job, identity, staging).run(store, progress, threads or os.cpu_count() or 1)
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
        if manifest["job"] == job and not commit.dropped:
            keys = [(run_id, manifest["profile"], manifest["questions"]["sha256"]) for run_id in manifest["runs"]]
            return commit if all(newest[key] == commit.id for key in keys) else None
    return None


class _Sweep:
    """The work of one job in its staging folder."""

    def __init__(self, job: Job, identity: Identity, staging: Staging) -> None:
        self.job = job
        self.identity = identity
        self.staging = staging
        self.kind = input_kind(job.profile)
        self.inputs = self.kind.load(job.questions, job.contexts, job.params, staging.path)
        self.scorer = scorer(job.profile, job.params, self.inputs.eval_set)
        self.ingest = self.inputs.ingest(job.outputs, job.runs, job.max_rows)
        self.summary_plan = summary_plan(job.profile)
        self.timing = Timing()
        self.resumed = 0
        self.rows_read = 0
        self.rejected = 0
        self.scored = 0
        self.parts = 0

    def run(self, store: Store, progress: Progress | None, threads: int) -> Outcome:
        size = sum(file.size for file in self.job.outputs)
        for part in map_ordered(self._part, self._numbered_blocks(), threads):
            self._note(part)
            if progress:
                progress(self.rows_read, size)
        if self.scored == 0:
            raise self._nothing_usable()
        start = time.process_time()
        with self.staging.assembling() as ready, database(self.staging.path) as self.database:
            runs, findings, files = self._assemble(ready)
        missing = sum(counts.missing for counts in runs.values())
        counts = Counts(
            rows_read=self.rows_read,
            score_rows=self.scored + missing,
            missing_rows=missing,
            rejected_rows=self.rejected,
        )
        manifest = {
            **self._manifest(sorted(runs), counts, files),
            "reject_reasons": dict(self.ingest.reasons.most_common()),
            "warnings": [*findings.of_commit, *self.ingest.notes()],
            "lost_rows": {run: counts.rejected[0] for run, counts in runs.items() if counts.lost_rows},
        }
        manifest = store.seal(ready, manifest)
        self.timing.write += time.process_time() - start
        with store.publishing() as publish:
            again = _finished(store, self.identity.job)  # somebody else may have finished the same job meanwhile
            commit = again or publish(ready, manifest)
        return Outcome(commit, again is None, self.resumed, counts, self.timing)

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
        done = _part_name("done", number)
        found = self.staging.is_done(done)
        if not found:
            batch = self.inputs.with_contexts(block.batch)
            scored = score_batch(self.scorer, batch)
            kept = {"scores": ([scored.scores], self.scorer.schema)}
            if scored.tallies.num_rows:
                kept["tallies"] = (scored.tallies.to_batches(), TALLIES)
            if block.rejects.num_rows:
                kept["rejects"] = (block.rejects.to_batches(), REJECTS)
            if block.extras is not None:
                kept["extras"] = ([block.extras], block.extras.schema)
            if self.job.keep_inputs:
                answers = self.inputs.kept_rows(batch)
                kept["answers"] = ([answers], answers.schema)
            for kind, (batches, schema) in kept.items():
                self._keep(_part_name(kind, number), batches, schema)
            self.staging.mark_done(done, [_part_name(kind, number) for kind in kept])
        return number, block, time.thread_time() - start, found

    def _keep(self, name: str, batches: list[pa.RecordBatch], schema: pa.Schema) -> None:
        with self.staging.writing(name) as path:
            commit_files.write_part(path, batches, schema)

    def _note(self, part: tuple[int, Ingested, float, bool]) -> None:
        number, block, seconds, found = part
        self.timing.score += seconds
        self.resumed += found
        self.rows_read += block.rows
        self.rejected += block.rejects.num_rows
        self.scored += block.batch.num_rows
        self.parts = number + 1

    def _part_files(self, kind: str) -> list[Path]:
        """The parts of a kind; a part without rows of a kind has no file of it."""
        paths = (self.staging.path / _part_name(kind, number) for number in range(self.parts))
        return [path for path in paths if path.exists()]

    def _rows(self, kind: str) -> Iterator[pa.RecordBatch]:
        return commit_files.read_parts(self._part_files(kind))

    # --- the commit ---------------------------------------------------------------------------------------------

    def _assemble(self, ready: Path) -> tuple[dict[str, RunCounts], Findings, dict[str, list[str]]]:
        """Write the files of the commit; what became of the runs, what to say of them, and the files by their roles."""
        scores = _ScoreFile(
            path=ready / f"{self.job.profile.name}.parquet",
            scorer=self.scorer,
            parts=self._part_files("scores"),
            database=self.database,
        )
        runs = self.inputs.finish(self.ingest, scores)
        findings = find(scores.path, self.job.profile, runs, database=self.database)
        commit_files.write_parquet(
            self._rows("tallies"), TALLIES,
            "select run_id, kind, got, expected, sum(n)::bigint as n from rows group by all order by all",
            target=ready / "tallies.parquet", database=self.database,
        )  # fmt: skip
        commit_files.write_rejects(self._part_files("rejects"), REJECTS, ready / "rejects.parquet")
        records = self._run_records(runs, findings)
        pq.write_table(records, ready / "runs.parquet", compression="zstd")
        files = {
            "scores": [scores.path.name],
            **self._summary(scores.path, records),
            "tallies": ["tallies.parquet"],
            "rejects": ["rejects.parquet"],
            "runs": ["runs.parquet"],
            **self._profile_file(ready),
            **self._extras(ready),
            **(self._kept(ready) if self.job.keep_inputs else self._kept_questions(ready)),
        }
        return runs, findings, files

    def _extras(self, ready: Path) -> dict[str, list[str]]:
        """Other columns of the rows, an answer each; those that are constant in their runs are metadata already."""
        if self.job.stored_extras is not None:
            runs = sorted(self.job.runs or ())
            commit_files.copy_runs(
                self.job.stored_extras, runs, target=ready / "extras.parquet", database=self.database
            )
            return {"extras": ["extras.parquet"]}
        parts = self._part_files("extras")
        schema = extras.common_schema(map(commit_files.schema_of_part, parts), self.ingest.constant())
        if len(schema) == len(extras.KEYS):
            return {}
        batches = (extras.typed(batch, schema) for batch in commit_files.read_parts(parts))
        order = "from rows order by run_id, question_id, repeat, input, line"
        commit_files.write_parquet(batches, schema, order, target=ready / "extras.parquet", database=self.database)
        return {"extras": ["extras.parquet"]}

    def _profile_file(self, ready: Path) -> dict[str, list[str]]:
        """A copy of the profile file, so that the store can be read where that is not."""
        if self.job.profile.content is None:
            return {}
        (ready / PROFILE_FILE).write_text(self.job.profile.content, encoding="utf-8", newline="")
        return {"profile": [PROFILE_FILE]}

    def _summary(self, scores: Path, records: pa.Table) -> dict[str, list[str]]:
        """The summary of the commit; none where it cannot be made, as it can be made of the rows at any time."""
        target = scores.parent / "summary.parquet"
        folder = pa.repeat(pa.scalar(scores.parent.name, LARGE_STRING), records.num_rows)
        runs = records.select(["run_id", "repeats"]).append_column("commit", folder)
        try:
            write_summary(self.summary_plan, ScoreRows.of_files([scores]), runs, target=target, database=self.database)
        except (duckdb.Error, MemoryError):
            target.unlink(missing_ok=True)
            return {}
        return {"summary": [target.name]}

    def _kept(self, ready: Path) -> dict[str, list[str]]:
        """A copy of the inputs: every distinct answer once, and the question and context files."""
        commit_files.write_kept(
            self._part_files("answers"), self.kind.kept, target=ready / "kept_outputs.parquet", database=self.database
        )
        kept = {"kept_outputs": ["kept_outputs.parquet"]}
        for role, files in (("kept_questions", self.job.questions), ("kept_contexts", self.job.contexts)):
            kept[role] = _copies(role, files, ready)
        return kept

    def _kept_questions(self, ready: Path) -> dict[str, list[str]]:
        """Questions that were taken from the rows are kept in any case: no other file has them."""
        derived = [file for file in self.job.questions if file.reading.derived]
        return {"kept_questions": _copies("kept_questions", derived, ready)} if derived else {}

    def _run_records(self, runs: dict[str, RunCounts], findings: Findings) -> pa.Table:
        rows = []
        for run_id, counts in sorted(runs.items()):
            meta = {
                "eval_set_version": self.identity.eval_set.version,
                **self.job.metadata.of_run(run_id, counts.metadata),
                **_found(counts, findings.of_run.get(run_id, ())),
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
                    "signature": self.identity.signature,
                    "version": __version__,
                    "question_count": counts.question_count,
                    "answered_count": counts.answered_count,
                    "repeats": counts.repeats,
                    **{name: meta.get(name) for name in PROVENANCE},
                    "meta": sorted((k, v) for k, v in meta.items() if k not in PROVENANCE),
                }
            )
        return pa.Table.from_pylist(rows, schema=RUNS)

    def _manifest(self, runs: list[str], counts: Counts, files: dict[str, list[str]]) -> dict[str, Any]:
        job, identity = self.job, self.identity
        return {
            "job": identity.job,
            "profile": job.profile.name,
            "profile_version": job.profile.revision,
            "declaration": _declaration(job.profile),
            "version": __version__,
            "params": job.params,
            "params_sha256": identity.params_sha256,
            "signature": identity.signature,
            "questions": {
                "version": identity.eval_set.version,
                "sha256": identity.eval_set.sha256,
                "files": [_reference(file) for file in job.questions],
            },
            "contexts": {
                "sha256": identity.contexts_sha256,
                "files": [_reference(file) for file in job.contexts],
            },
            "source": _reference(job.document) if job.document else None,
            "given": {
                "meta": dict(job.metadata.meta),
                "run_meta": {run: dict(fields) for run, fields in job.metadata.run_meta.items()},
                "prompt": dict(job.metadata.prompt),
            },
            "inputs": [_reference(file) for file in job.outputs],
            "runs": runs,
            "counts": vars(counts),
            "files": files,
            "summary": self.summary_plan.definition if "summary" in files else None,
        }


@dataclass(frozen=True, kw_only=True)
class _ScoreFile:
    """The scored parts of a job as the one file of its commit."""

    path: Path
    scorer: Scorer
    parts: list[Path]
    database: Database

    def write(self, missing: Mapping[str, Ints], order: Sequence[str]) -> None:
        """All rows in order, with those of questions that runs left unanswered."""
        unanswered = {
            run_id: partial(missing_rows, self.scorer, run_id, questions)
            for run_id, questions in missing.items()
            if len(questions)
        }
        flat = not any(pa.types.is_nested(field.type) for field in self.scorer.schema)
        if flat and tuple(order) == sorted_rows.ORDER:
            chunks = sorted_rows.sorted_by_run(self.parts, unanswered, commit_files.ROW_GROUP)
            if chunks is not None:
                commit_files.write_in_order(chunks, self.scorer.schema, self.path)
                return
        more = (batch for make in unanswered.values() for batch in make().to_batches())
        rows = chain(commit_files.read_parts(self.parts), more)
        query = f"from rows order by {', '.join(order)}"
        commit_files.write_parquet(rows, self.scorer.schema, query, target=self.path, database=self.database)

    def reconcile(self, listed: pa.Table, macro: str, log: str, order: Sequence[str]) -> list[dict[str, Any]]:
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


def _found(counts: RunCounts, warnings: Sequence[str]) -> dict[str, str]:
    """What scoring found about a run, as metadata."""
    rejected, rows = counts.rejected
    found = {REJECTED_ROWS: f"{rejected} of {rows}" if rejected else "", RUN_WARNINGS: "; ".join(warnings)}
    return {name: text for name, text in found.items() if text}


def _copies(role: str, files: list[Source], ready: Path) -> list[str]:
    """Copy files into a folder; their names there."""
    names = [f"{role}-{k}-{_kept_name(file)}" for k, file in enumerate(files)]
    for name, file in zip(names, files, strict=True):
        if file.table is None:
            shutil.copyfile(file.path, ready / name)
        else:
            pq.write_table(file.table, ready / name)
    return names


def _part_name(kind: str, number: int) -> str:
    return f"{kind}-{number:06d}"


def _kept_name(file: Source) -> str:
    return f"{file.name}.parquet" if file.table is not None else Path(file.name).name


def _declaration(profile: Profile) -> dict[str, Any] | None:
    """What reads the scores of a profile from elsewhere where it is not known, and where it can be found."""
    reference = profile_reference(profile)
    if reference is None:
        return None
    return {
        "reference": reference,
        "run_stat": profile.summary.run_stat,
        "score_top": profile.summary.score_top,
        "metrics": [vars(replace(metric, scale=profile.scale(metric))) for metric in profile.metrics],
    }


def _reference(file: Source) -> dict[str, Any]:
    """A file as the store remembers it."""
    path = str(file.path.resolve()) if file.table is None else None
    given = {"name": file.name, "path": path, "size": file.size, "sha256": file.sha256}
    reading = file.reading.as_dict()
    return {**given, **({"folder": True} if file.members else {}), **({"reading": reading} if reading else {})}
