"""Stores with a damaged commit: every command names it once and goes on without it, or fails with --strict-store."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.errors import DamagedCommit
from rageval_batch.runs.manifest import Damage, read_manifest, signed
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.upkeep import check_store, drop
from support.command import run_command
from support.places import SAMPLES_FOLDER
from support.stores import publish, rewritten, simple_run

SAMPLES = SAMPLES_FOLDER / "eval_json_v2"
SCORE = ["score", str(SAMPLES / "outputs"), "-p", "eval_json_v2", "-q", str(SAMPLES / "questions.json")]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store of two commits, a run each."""
    publish(tmp_path / "runs", {"good": simple_run(a=1.0, b=0.5)})
    publish(tmp_path / "runs", {"bad": simple_run(a=0.25, b=0.5)})
    return Store(tmp_path / "runs")


def _field(name: str, value: Any) -> Callable[[Commit], object]:
    """Another value in a manifest, whose checksum is right: a fault of a writer."""
    return lambda commit: rewritten(commit, **{name: value})


def _without(name: str) -> Callable[[Commit], object]:
    def remove(commit: Commit) -> None:
        manifest = signed({key: value for key, value in commit.manifest.items() if key != name})
        (commit.path / "manifest.json").write_text(json.dumps(manifest))

    return remove


def _cut(name: str) -> Callable[[Commit], object]:
    def cut(commit: Commit) -> None:
        content = (commit.path / name).read_bytes()
        (commit.path / name).write_bytes(content[: len(content) // 2])

    return cut


def _manifest_text(text: str) -> Callable[[Commit], object]:
    return lambda commit: (commit.path / "manifest.json").write_text(text)


def _linked(commit: Commit) -> None:
    elsewhere = commit.path.parent.with_name("elsewhere")
    commit.path.rename(elsewhere)
    commit.path.symlink_to(elsewhere, target_is_directory=True)


def _file_linked(name: str) -> Callable[[Commit], object]:
    def link(commit: Commit) -> None:
        elsewhere = commit.path.parent.with_name(f"elsewhere-{name}")
        (commit.path / name).rename(elsewhere)
        (commit.path / name).symlink_to(elsewhere)

    return link


def _pipe(name: str) -> Callable[[Commit], object]:
    def replace(commit: Commit) -> None:
        (commit.path / name).unlink()
        os.mkfifo(commit.path / name)

    return replace


DAMAGES: dict[str, Callable[[Commit], object]] = {
    **{f"{name} is cut": _cut(f"{name}.parquet") for name in ("eval_json_v2", "runs", "rejects", "tallies")},
    "a file is missing": lambda commit: (commit.path / "rejects.parquet").unlink(),
    "the manifest is missing": lambda commit: (commit.path / "manifest.json").unlink(),
    "the folder was renamed": lambda commit: commit.path.rename(commit.path.with_name("baseline")),
    "the folder is a link": _linked,
    **{f"{name} is a link": _file_linked(name) for name in ("manifest.json", "eval_json_v2.parquet", "runs.parquet")},
    **{f"{name} is a pipe": _pipe(name) for name in ("manifest.json", "rejects.parquet")},
    "no JSON": _manifest_text("{"),
    "nested deeply": _manifest_text('{"format": 1, "x": ' + "[" * 100_000),
    "another thing": _manifest_text("[]"),
    "a lone surrogate": lambda commit: (commit.path / "manifest.json").write_text(
        json.dumps({**commit.manifest, "profile": "\ud800"})
    ),
    **{
        f"no {name}": _without(name)
        for name in ("files", "counts", "runs", "created_at", "profile", "questions", "job", "params", "inputs")
    },
    "text for a number": _field("counts", {"rows_read": "2", "score_rows": 2, "missing_rows": 0, "rejected_rows": 0}),
    "a format that is text": _field("format", "1"),
    "a file elsewhere": _field("files", {**{r: ["x"] for r in ("scores", "runs", "rejects")}, "tallies": ["../x"]}),
    "a time that is none": _field("created_at", "yesterday"),
}


def _call(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    return run_command(capsys, *words)


def test_fsck_says_what_to_do_about_a_link(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    _file_linked("eval_json_v2.parquet")(store.commits()[1])
    code, out, _ = _call(capsys, "fsck", "--format", "json", "--store", store.path)
    (problem,) = json.loads(out)
    assert code == 2 and problem["problem"] == "eval_json_v2.parquet is a link to another file"
    assert problem["remedy"] == "put a copy of that file in its place"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_commit_is_left_out(damage: str, store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGES[damage](store.commits()[1])
    with pytest.warns(DamagedCommit, match="is damaged and left out"):
        assert [commit.manifest["runs"] for commit in Store(store.path).commits()] == [["good"]]
    code, out, err = _call(capsys, "sql", "select run_id from runs", "--format", "csv", "--store", store.path)
    assert (code, out.split()) == (0, ["run_id", "good"])
    assert err.count("is damaged and left out") == 1
    code, out, err = _call(capsys, "runs", "--store", store.path, "--strict-store")
    assert (code, out) == (2, "")
    assert "is damaged and left out" in err
    assert "Traceback" not in err
    (problem,) = check_store(Store(store.path)).problems
    assert problem["problem"]
    publish(store.path, {"later": simple_run(a=1.0)})  # and writers go on


@pytest.mark.parametrize(
    "words",
    [
        ["runs"], ["show", "good"], ["leaderboard"], ["sql", "from runs"], ["compare", "good", "good"], SCORE,
        ["gate", "--all", "--allow-missing-provenance"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_command_names_it_once(words: list[str], store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    _cut("rejects.parquet")(store.commits()[1])
    code, _, err = _call(capsys, *words, "--store", store.path)
    assert code in (0, 1), err
    assert err.count("is damaged and left out") == 1
    assert "Traceback" not in err


def test_fsck_finds_every_flipped_bit(store: Store) -> None:
    """Of 300 single bits, in all files of a commit; manifests too."""
    assert check_store(store).problems == []
    commit = store.commits()[1]
    chance = random.Random(16)
    paths = sorted(commit.path.iterdir())
    for _ in range(300):
        path = chance.choice(paths)
        content = bytearray(path.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        whole = path.read_bytes()
        path.write_bytes(content)
        found = check_store(store).problems
        assert [row["commit"] for row in found] == [commit.id], path
        path.write_bytes(whole)


def test_every_flipped_bit_of_a_manifest_is_damage(store: Store) -> None:
    """One that makes a 9 of the format too, which would else be the format of a newer version."""
    commit = store.commits()[1]
    path, whole = commit.path / "manifest.json", (commit.path / "manifest.json").read_bytes()
    chance = random.Random(16)
    places = [*range(whole.index(b'"format"'), whole.index(b'"format"') + 12), *range(0, len(whole), 7)]
    for place in places:
        for bit in range(8) if place < 16 else [chance.randrange(8)]:
            content = bytearray(whole)
            content[place] ^= 1 << bit
            path.write_bytes(content)
            with pytest.raises(Damage):
                read_manifest(commit.path)
    path.write_bytes(whole)
    assert read_manifest(commit.path) is not None


def test_fsck_reads_manifests_whatever_an_index_says(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit that a disk has flipped leaves the time and the size by which an index knows a manifest."""
    monkeypatch.setattr("rageval_batch.analysis.stored_tables._MOST_UNINDEXED", 1)
    with open_store(store.path) as session:
        session.rows("from run_summary")
    assert Store(store.path).index is not None
    path = store.commits()[1].path / "manifest.json"
    status, content = path.stat(), bytearray(path.read_bytes())
    content[content.index(b"bad")] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    (problem,) = check_store(Store(store.path)).problems
    assert problem["problem"] == "its manifest.json does not have its checksum"


def test_a_damaged_commit_can_be_dropped(store: Store) -> None:
    commit = store.commits()[1]
    _cut("runs.parquet")(commit)
    drop(store, [commit.id])
    assert [found.manifest["runs"] for found in store.commits()] == [["good"]]
    assert check_store(store).problems == []


def test_a_renamed_commit_is_said_so(store: Store) -> None:
    commit = store.commits()[1]
    shutil.move(commit.path, commit.path.with_name("baseline"))
    (problem,) = check_store(store).problems
    assert (problem["commit"], problem["remedy"]) == ("baseline", f"give the folder the name {commit.id} again")


def test_a_commit_of_an_older_version_has_no_checksums(store: Store) -> None:
    """Its files are read instead."""
    commit = store.commits()[1]
    manifest = {name: value for name, value in commit.manifest.items() if name not in ("checksums", "manifest_sha256")}
    (commit.path / "manifest.json").write_text(json.dumps(manifest))
    checked = check_store(store)
    assert (checked.problems, checked.commits, checked.without_checksums) == ([], 2, 1)
    path = commit.files("scores")[0]
    path.write_bytes(b"PAR1" + bytes(path.stat().st_size - 8) + b"PAR1")
    (problem,) = check_store(store).problems
    assert (problem["commit"], problem["file"]) == (commit.id, path.name)
    assert "cannot be read" in str(problem["problem"])
    path.write_bytes(b"")
    with pytest.warns(DamagedCommit, match="not a whole Parquet file"):
        assert len(store.commits()) == 1
