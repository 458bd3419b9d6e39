"""Jobs that both engines are given, and what must be the same of the two commits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.cli.demo import SAMPLES
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.resources import samples_folder
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Commit
from rageval_batch.runs.sweep import Outcome
from support.hostile_sweep import write_hostile_sweep

# What a commit says of itself that is not the same in two commits of the same job, and how its rows are cut into files.
OWN = {"commit", "created_at", "checksums", "manifest_sha256", "files"}


def sample_job(name: str, placed: Callable[[str], str] = str, **more: Any) -> Job:
    """The job of a profile's samples; `placed`: where files lie, if elsewhere."""
    words = [word.format(samples_folder() / name) for word in SAMPLES[name]]
    options: dict[str, list[str]] = {"": [placed(words[0])], "-q": [], "-c": []}
    for option, value in pairwise(words):
        options.setdefault(option, []).append(placed(value) if option in ("-q", "-c") else value)
    profile = PROFILES[name]
    return Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=sources(options[""], profile.inputs.whole_files),
        questions=sources(options["-q"]),
        contexts=sources(options["-c"]),
        **more,
    )


def hostile_job(folder: Path, rows: int, **more: Any) -> Job:
    """The job of a sweep with all that can be wrong."""
    files = write_hostile_sweep(folder, rows)
    profile = PROFILES["eval_json_v2"]
    return Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=sources([str(files.outputs)]),
        questions=sources([str(files.questions)]),
        contexts=sources([str(files.contexts)]),
        **more,
    )


def tables(commit: Commit) -> dict[str, pa.Table]:
    """The rows of a commit by their role, in the order of its files."""
    out = {}
    for role in commit.manifest["files"]:
        if files := [path for path in commit.files(role) if path.suffix == ".parquet"]:
            out[role] = pa.concat_tables(_nullable(pq.read_table(path, partitioning=None)) for path in files)
    return out


def _nullable(table: pa.Table) -> pa.Table:
    """A file in which no value is null may say so of its columns."""
    return pa.Table.from_arrays(table.columns, schema=pa.schema([one.with_nullable(True) for one in table.schema]))


def assert_same(local: Outcome, other: Outcome) -> None:
    """Two commits of the same job say the same."""
    assert other.created
    one, two = tables(local.commit), tables(other.commit)
    assert sorted(one) == sorted(two)
    for role in one.keys() - {"kept_outputs"}:  # distinct answers are in the order in which they were first met
        assert one[role].equals(two[role]), role
    if "kept_outputs" in one:
        order = [("question_id", "ascending"), ("output", "ascending"), ("chunks", "ascending")]
        assert one["kept_outputs"].sort_by(order).equals(two["kept_outputs"].sort_by(order))
    first, second = local.commit.manifest, other.commit.manifest
    assert {k: v for k, v in first.items() if k not in OWN} == {k: v for k, v in second.items() if k not in OWN}
    assert local.counts == other.counts
