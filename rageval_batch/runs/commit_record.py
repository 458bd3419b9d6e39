"""What a commit says of its runs and of itself, whichever engine scored it: run records, manifest, copies of inputs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.dataclass import dataclass
from rageval_batch.inputs.outputs import InputCounts
from rageval_batch.inputs.protocols import RunCounts
from rageval_batch.inputs.sources import Source
from rageval_batch.locations import last_part, open_input
from rageval_batch.model import Profile
from rageval_batch.model.schemas import PROVENANCE, REJECTED_ROWS, RUN_WARNINGS, RUNS
from rageval_batch.profiles.registry import profile_reference
from rageval_batch.runs.findings import Findings
from rageval_batch.runs.job import Identity, Job
from rageval_batch.runs.summary_plan import summary_plan
from rageval_batch.version import __version__

PROFILE_FILE = "profile.toml"
_RECORDS_AT_ONCE = 1_024  # of runs, as Python objects: they take 3 KB each
Files = dict[str, list[str]]  # names of files by their role in a commit


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What became of the rows: rows read = score rows - missing rows + rejected rows."""

    rows_read: int
    score_rows: int
    missing_rows: int
    rejected_rows: int


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A job whose rows are all scored: what became of them and of each run."""

    runs: Mapping[str, RunCounts]
    counts: Counts
    inputs: InputCounts
    findings: Findings

    def with_warnings(self, sentences: Sequence[str]) -> Finished:
        """The same with more to say of the commit."""
        return replace(self, findings=self.findings.with_more(sentences))


def run_records(job: Job, identity: Identity, runs: Mapping[str, RunCounts], *, findings: Findings) -> pa.Table:
    """The records of the runs of a job, sorted."""
    rows = (_run_record(job, identity, run, counts=runs[run], findings=findings) for run in sorted(runs))
    some = iter(lambda: list(islice(rows, _RECORDS_AT_ONCE)), [])
    made = [pa.Table.from_pylist(records, schema=RUNS) for records in some]
    return pa.concat_tables([RUNS.empty_table(), *made]).combine_chunks()


def _run_record(job: Job, identity: Identity, run_id: str, *, counts: RunCounts, findings: Findings) -> dict[str, Any]:
    meta = {
        "eval_set_version": identity.eval_set.version,
        **job.metadata.of_run(run_id, counts.metadata),
        **_found_metadata(counts, findings.of_run.get(run_id, ())),
    }
    return {
        "run_id": run_id,
        "profile": job.profile.name,
        "eval_set": identity.eval_set.version,
        "questions_sha256": identity.eval_set.sha256,
        "source_sha256": identity.source_sha256,
        "contexts_sha256": identity.contexts_sha256,
        "params_sha256": identity.params_sha256,
        "signature": identity.signature,
        "version": __version__,
        "question_count": counts.question_count,
        "answered_count": counts.answered_count,
        "repeats": counts.repeats,
        **{name: meta.get(name) for name in PROVENANCE},
        "meta": sorted((k, v) for k, v in meta.items() if k not in PROVENANCE),
    }


def manifest(job: Job, identity: Identity, finished: Finished, *, files: Files) -> dict[str, Any]:
    """All that a commit says of itself but its name, time and checksums."""
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
        "runs": sorted(finished.runs),
        "counts": vars(finished.counts),
        "files": files,
        "summary": summary_plan(job.profile).definition if "summary" in files else None,
        "reject_reasons": dict(finished.inputs.reasons.most_common()),
        "warnings": [*finished.findings.of_commit, *finished.inputs.notes()],
        "lost_rows": {run: counts.rejected[0] for run, counts in finished.runs.items() if counts.lost_rows},
    }


def input_copies(job: Job, ready: Path) -> Files:
    """Copies of what a commit must be readable without: a profile file; question and context files if inputs are kept;
    and questions that were taken from the rows in any case, as no other file has them."""
    files: Files = {}
    if job.profile.content is not None:
        (ready / PROFILE_FILE).write_text(job.profile.content, encoding="utf-8", newline="")
        files["profile"] = [PROFILE_FILE]
    derived = [file for file in job.questions if file.reading.derived]
    if job.keep_inputs or derived:
        files["kept_questions"] = _copies("kept_questions", job.questions if job.keep_inputs else derived, ready)
    if job.keep_inputs:
        files["kept_contexts"] = _copies("kept_contexts", job.contexts, ready)
    return files


def _found_metadata(counts: RunCounts, warnings: Sequence[str]) -> dict[str, str]:
    """What scoring found about a run, as metadata."""
    rejected, rows = counts.rejected
    found = {REJECTED_ROWS: f"{rejected} of {rows}" if rejected else "", RUN_WARNINGS: "; ".join(warnings)}
    return {name: text for name, text in found.items() if text}


def _copies(role: str, files: list[Source], ready: Path) -> list[str]:
    """Copy files into a folder; their names there."""
    names = [f"{role}-{k}-{_copy_name(file)}" for k, file in enumerate(files)]
    for name, file in zip(names, files, strict=True):
        if file.table is None:
            with open_input(file.place) as content, (ready / name).open("wb") as copy:
                shutil.copyfileobj(content, copy)
        else:
            pq.write_table(file.table, ready / name)
    return names


def _copy_name(file: Source) -> str:
    return f"{file.name}.parquet" if file.table is not None else last_part(file.name)


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
    path = None if file.format == "frame" else file.url or str(file.path.resolve())
    given = {"name": file.name, "path": path, "size": file.size, "sha256": file.sha256}
    known = {"folder": bool(file.members), "reading": file.reading.as_dict(), "stamps": file.stamps}
    return {**given, **{name: value for name, value in known.items() if value}}
