"""Jobs that both engines are given, and what must be the same of the two commits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_batch.cli import main
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
    options: dict[str, list[str]] = {"": [], "-q": [], "-c": []}
    option = ""
    for word in SAMPLES[name]:
        if word.startswith("-"):
            option = word
        else:
            options.setdefault(option, []).append(placed(word.format(samples_folder() / name)))
            option = ""
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
    """Two outcomes of the same job say the same."""
    assert other.created
    assert_same_commits(local.commit, other.commit)
    assert local.counts == other.counts


def assert_same_commits(local: Commit, other: Commit) -> None:
    """Two commits of the same job say the same."""
    one, two = tables(local), tables(other)
    assert sorted(one) == sorted(two)
    for role in one.keys() - {"kept_outputs"}:  # distinct answers are in the order in which they were first met
        assert one[role].equals(two[role]), role
    if "kept_outputs" in one:
        order = [(name, "ascending") for name in one["kept_outputs"].column_names if name != "given_by"]
        assert one["kept_outputs"].sort_by(order).equals(two["kept_outputs"].sort_by(order))
    assert _shared(local.manifest) == _shared(other.manifest)


def _shared(manifest: dict[str, Any]) -> Any:
    """What the manifests of two commits of the same job have in common; temporary folders have names of their own, and
    time stamps of inputs are noted only where those are a while old."""
    text = _TEMPORARY.sub('"', json.dumps({k: v for k, v in manifest.items() if k not in OWN}))
    return json.loads(text, object_hook=lambda found: {k: v for k, v in found.items() if k != "stamps"})


_TEMPORARY = re.compile(r'"[^"]*/rageval-\w+/')


@dataclass(frozen=True)
class Said:
    """What a command says and how it ends, without what no two commands have in common."""

    code: int
    out: str
    err: str


def said(capsys: pytest.CaptureFixture[str], words: Sequence[str], store: Path) -> Said:
    """Give a command with a store, in this process."""
    with pytest.raises(SystemExit) as ended:
        main([*words, "--store", str(store)])
    captured = capsys.readouterr()
    out, err = (_COMMIT.sub("COMMIT", text.replace(str(store), "STORE")) for text in (captured.out, captured.err))
    return Said(int(ended.value.code or 0), out, _PROGRESS.sub("", err))


_COMMIT = re.compile(r"\d{8}T\d{6}\S*-[0-9a-f]{6}|(?<=\"created_at\": \")[^\"]*")
_PROGRESS = re.compile(r"^scored [\d,]+ rows of .*\n", re.MULTILINE)
