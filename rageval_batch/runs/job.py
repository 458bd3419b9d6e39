"""A score call as data: all that its result depends on, and the hash by which it is found again."""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import eval_sets
from rageval_batch.inputs.protocols import MAX_ROWS
from rageval_batch.inputs.run_metadata import RunMetadata
from rageval_batch.inputs.sources import Source, content_hash
from rageval_batch.model import Profile, canonical_json, params_sha256
from rageval_batch.version import __version__


@dataclass(frozen=True, kw_only=True)
class Job:
    """All that a score call depends on."""

    profile: Profile
    params: dict[str, Any]
    outputs: list[Source]
    questions: list[Source] = field(default_factory=list)
    contexts: list[Source] = field(default_factory=list)
    document: Source | None = None
    metadata: RunMetadata = field(default_factory=RunMetadata)
    keep_inputs: bool = False
    runs: frozenset[str] | None = None  # only these runs of the outputs
    stored_extras: str | None = None  # the query of other columns, where the outputs are a copy without them
    max_rows: int = MAX_ROWS  # score rows that it may make; the result does not depend on it

    def with_hash(self) -> Job:
        """The same job with all its files hashed."""
        return replace(
            self,
            outputs=[file.with_hash() for file in self.outputs],
            questions=[file.with_hash() for file in self.questions],
            contexts=[file.with_hash() for file in self.contexts],
            document=self.document.with_hash() if self.document else None,
        )

    def check_unchanged(self) -> None:
        """InputError where a file has changed since it was hashed: what was read of it is not what the record says."""
        for file in (*self.outputs, *self.questions, *self.contexts):
            if file.has_changed():
                raise InputError(
                    f"{file.name} has changed while it was read. Nothing was committed. Give the command again when "
                    "nobody writes to it."
                )


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Which job it is: hashes of its inputs and parameters, the signature of its scores, and the hash of all."""

    eval_set: eval_sets.Identity
    contexts_sha256: str | None
    source_sha256: str | None
    params_sha256: str
    signature: str
    job: str


def identify(job: Job) -> Identity:
    """The identity of a job whose files are hashed: equal jobs have equal ones, also under another version of Python.

    A profile whose version differs scores in another way, so its jobs are others.
    """
    questions = eval_sets.identity(job.questions)
    contexts = content_hash(job.contexts).sha256 if job.contexts else None
    document = job.document.sha256 if job.document else None
    described = {
        "version": __version__,
        "profile": job.profile.name,
        "profile_version": job.profile.digest or job.profile.version,
        "params": job.params,
        "outputs": [[file.name, file.sha256, *_reading(file)] for file in job.outputs],
        "questions": [questions.version, questions.sha256],
        "contexts": contexts,
        "source": document,
        "meta": dict(job.metadata.meta),
        "run_meta": {run: dict(fields) for run, fields in job.metadata.run_meta.items()},
        "prompt": dict(job.metadata.prompt),
        "keep_inputs": job.keep_inputs,
        "runs": sorted(job.runs) if job.runs is not None else None,
    }
    return Identity(
        eval_set=questions,
        contexts_sha256=contexts,
        source_sha256=document,
        params_sha256=params_sha256(job.params),
        signature=_signature(job, questions.version, contexts),
        job=hashlib.sha256(canonical_json(described).encode()).hexdigest(),
    )


def _reading(file: Source) -> list[dict[str, Any]]:
    """How a file is read, where that is not as its name says."""
    reading = file.reading.as_dict()
    return [reading] if reading else []


def _signature(job: Job, questions: str, contexts: str | None) -> str:
    """Everything that could change a score, readable."""
    parts = {
        "profile": f"{job.profile.name}/{job.profile.revision}",
        "params": job.profile.signature(job.params),
        "questions": questions,
        "contexts": contexts[:12] if contexts else "none",
        "version": __version__,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())
