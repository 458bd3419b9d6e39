"""Compaction: every view of a store, and every command, says the same before and after; nothing goes before a prune."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import main
from rageval_batch.errors import DamagedCommit, StoreError
from rageval_batch.locations import MANIFEST
from rageval_batch.runs import packs
from rageval_batch.runs.database import connected
from rageval_batch.runs.packs import compact
from rageval_batch.runs.staging import STAGING
from rageval_batch.runs.store import Store
from rageval_batch.runs.upkeep import check_store, drop, prune
from support.stores import publish, simple_run

ANSWERS: dict[str, list[Any]] = {
    "one": [
        {"question_id": "q1", "output": "yes", "seconds": 1.5},
        {"question_id": "q2", "output": "no", "seconds": 2},
    ],
    "two": [{"question_id": "q1", "output": "yes", "tokens": 7}, "broken", {"question_id": "q2", "tokens": 8}],
    "three": [{"question_id": "q2", "output": "maybe", "packed": [1, 2]}, {"question_id": "zz", "output": "?"}],
}
QUESTIONS = [
    {"id": "q1", "question": "?", "must_include": ["yes"]},
    {"id": "q2", "question": "?", "must_include": ["no"]},
]
REFERENCES = [{"id": "q1", "question": "?", "reference": "yes"}, {"id": "q2", "question": "?", "reference": "no"}]


def lines(path: Path, rows: list[Any]) -> str:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def scored(folder: Path, store: Path, run: str, *more: str, profile: str = "include_rate") -> int:
    questions = QUESTIONS if profile == "include_rate" else REFERENCES
    words = ["score", lines(folder / f"{run}.jsonl", ANSWERS[run]), "-p", profile, "--store", str(store), "--quiet"]
    return exit_code(*words, "-q", lines(folder / f"{profile}.jsonl", questions), *more)


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(words)
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store: two profiles, a run scored twice, kept inputs, rejects, other columns, a dropped run."""
    folder = tmp_path_factory.mktemp("committed")
    place = folder / "runs"
    assert scored(folder, place, "one", "--keep-inputs") == 0
    assert scored(folder, place, "two", "--keep-inputs") == 0
    assert scored(folder, place, "three") == 0
    assert scored(folder, place, "one", profile="reference") == 0
    assert scored(folder, place, "one", "--meta", "temperature=1") == 0
    publish(place, {"x": simple_run(q=0.5), "y": simple_run(q=0.25)})  # made without a summary
    drop(Store(place), ["y"])
    return folder


@pytest.fixture(scope="module")
def before(committed: Path) -> dict[str, list[str]]:
    """What the store says at first."""
    return everything(Store(committed / "runs"))


@pytest.fixture
def store(committed: Path, tmp_path: Path) -> Store:
    """A copy of the store."""
    shutil.copytree(committed / "runs", tmp_path / "runs")
    return Store(tmp_path / "runs")


def everything(store: Store) -> dict[str, list[str]]:
    """All rows of all views and of the tables behind them, history too, in one order."""
    oldest = next(commit for commit in store.commits() if "one" in commit.manifest["runs"])
    found = {}
    with open_store(store.path, named=[f"one@{oldest.id}"]) as session:
        known = ("runs", "scores", "metrics", "run_summary", "rejects", "tallies", "answers", "run_groups")
        stored = ("stored_runs", "stored_summary", "stored_extras", "include_rate", "reference", "eval_json_v2")
        for name in (*known, *stored):
            rows = session.rows(f"select * from {name}")
            found[name] = sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)
    assert all(found[name] for name in ("runs", "scores", "rejects", "stored_extras", "stored_summary"))
    return found


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = exit_code(*words)
    return code, capsys.readouterr().out


def commands(store: Store, capsys: pytest.CaptureFixture[str]) -> list[tuple[int, str]]:
    """What commands print."""
    place = ["--store", str(store.path)]
    return [
        printed(capsys, *words, *place)
        for words in (
            ["show", "one", "-p", "include_rate", "--format", "json"],
            ["explain", "one", "q1", "-p", "include_rate"],
            ["compare", "one", "two", "-p", "include_rate", "--format", "json"],
            ["gate", "x", "--format", "json"],
        )
    ]


def folders(store: Store) -> list[str]:
    return sorted(path.name for path in store.path.iterdir() if not path.name.startswith("."))


def test_every_view_and_command_says_the_same(
    store: Store, before: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    shown, there = commands(store, capsys), folders(store)
    done = compact(store)
    assert (done.commits, done.files_after < done.files_before) == (6, True)
    assert everything(Store(store.path)) == before
    assert commands(store, capsys) == shown
    assert folders(store) == [*there, str(done.pack)]  # nothing is gone
    assert list((store.path / STAGING).iterdir()) == []
    assert all(commit.path.name == done.pack for commit in Store(store.path).commits())

    assert len(prune(store, compacted=True).removed) == 0  # somebody may be reading
    assert len(prune(store, compacted=True, at_once=True).removed) == 6
    assert folders(store) == [there[-1], str(done.pack)]  # the drop and the pack
    assert everything(Store(store.path)) == before
    assert commands(store, capsys) == shown
    assert check_store(store).problems == []
    assert compact(store).pack is None


def test_a_finished_sweep_is_found_in_a_pack_and_scored_again_from_it(
    store: Store, committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compact(store)
    prune(store, compacted=True, at_once=True)
    there = folders(store)
    assert scored(committed, store.path, "two", "--keep-inputs") == 0
    assert folders(store) == there
    two = next(commit for commit in store.commits() if commit.manifest["runs"] == ["two"])
    assert exit_code("rescore", "two", "--store", str(store.path), "--param", "phrase_match=word") == 0
    again = Store(store.path).commits()[-1]
    assert again.manifest["runs"] == ["two"]
    for role in ("extras", "runs"):
        rows = "select * exclude (params_sha256, signature)" if role == "runs" else "select *"
        assert _of(f"{rows} from ({again.rows(role)})") == _of(f"{rows} from ({two.rows(role)})")


def _of(query: str) -> list[str]:
    with connected() as connection:
        return sorted(map(str, connection.sql(query).to_arrow_table().to_pylist()))


def test_packs_are_put_together_with_what_came_later(store: Store, tmp_path: Path) -> None:
    first = compact(store).pack
    publish(store.path, {"x": simple_run(q=1.0)})
    before = everything(store)
    second = compact(store)
    assert second.commits == 7
    assert everything(Store(store.path)) == before
    assert first in prune(store, compacted=True, at_once=True).removed
    assert everything(Store(store.path)) == before
    gone = prune(store, keep_last=1, at_once=True)
    assert len(gone.hidden) == 2 and not gone.removed  # the rows stay in the pack until it is made again
    current = {row["run_id"] for row in _rows(store, "from runs")}
    publish(store.path, {"x": simple_run(q=0.75)})
    third = compact(store)
    assert third.commits == 6
    assert second.pack in prune(store, compacted=True, at_once=True).removed
    assert {row["run_id"] for row in _rows(store, "from runs")} == current
    assert _rows(store, "select score from scores where run_id = 'x'") == [{"score": 0.75}]


def _rows(store: Store, query: str) -> list[dict[str, Any]]:
    with open_store(store.path) as session:
        return session.rows(query)


def test_some_commits_are_read_from_an_older_pack(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compact(store).pack
    publish(store.path, {"z": simple_run(q=0.75)})
    before = everything(store)
    monkeypatch.setattr(packs, "_small_commits", lambda listing: [*listing.commits[1:3], listing.commits[-1]])
    second = compact(store).pack
    prune(store, compacted=True, at_once=True)
    assert {commit.path.name for commit in Store(store.path).commits()} == {first, second}
    assert everything(Store(store.path)) == before


def test_a_damaged_pack_costs_nothing_before_a_prune(store: Store, before: dict[str, list[str]]) -> None:
    pack = store.path / str(compact(store).pack)
    (pack / "runs-0.parquet").write_bytes(b"PAR1")
    with pytest.warns(match="is damaged and left out"):
        assert everything(Store(store.path)) == before
    prune(store, compacted=True, at_once=True)
    with pytest.warns(match="is damaged and left out"):
        assert everything(Store(store.path)) == before
    drop(store, [pack.name])
    assert everything(Store(store.path)) == before


def test_a_changed_bit_in_a_pack_stops_a_prune_and_is_found(store: Store, before: dict[str, list[str]]) -> None:
    pack = store.path / str(compact(store).pack)
    file = pack / "runs-0.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    there = folders(store)
    with pytest.raises(StoreError, match="does not have its checksum"):
        prune(store, compacted=True, at_once=True)
    assert folders(store) == there
    assert [row["file"] for row in check_store(store).problems] == ["runs-0.parquet"]
    drop(store, [pack.name])
    assert everything(Store(store.path)) == before


def test_a_prune_meanwhile_is_noticed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    seal = Store.seal

    def prune_first(self: Store, staging: Path, manifest: dict[str, Any]) -> dict[str, Any]:
        prune(store, keep_last=1, at_once=True)
        return seal(self, staging, manifest)

    monkeypatch.setattr(Store, "seal", prune_first)
    with pytest.raises(StoreError, match="pruned meanwhile"):
        compact(store)


def test_unusable_packs_are_left_out(store: Store, before: dict[str, list[str]]) -> None:
    pack = store.path / str(compact(store).pack)
    manifest = json.loads((pack / MANIFEST).read_bytes())
    manifest["packs"] = {name: {**inner, "runs": 5} for name, inner in manifest["packs"].items()}
    (pack / MANIFEST).write_text(json.dumps(manifest))
    with pytest.warns(match="no usable 'packs'"):
        assert everything(Store(store.path)) == before


def test_a_reader_goes_on_while_a_store_is_compacted(store: Store) -> None:
    with open_store(store.path) as session:
        compact(store)
        prune(store, compacted=True)
        assert len(session.rows("from scores")) == 9
        assert session.rows("from stored_extras")


_KILLED = "import sys; from rageval_batch.runs.packs import compact; from rageval_batch.runs.store import Store; "
_KILLED += "print('ready', flush=True); compact(Store(sys.argv[1]))"


@pytest.mark.parametrize("milliseconds", [45, *(pytest.param(ms, marks=pytest.mark.soak) for ms in range(0, 400, 10))])
def test_killed_at_any_moment(store: Store, before: dict[str, list[str]], milliseconds: int) -> None:
    with subprocess.Popen([sys.executable, "-c", _KILLED, str(store.path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        time.sleep(milliseconds / 1000)
        os.kill(process.pid, signal.SIGKILL)
    assert everything(Store(store.path)) == before
    compact(Store(store.path))
    assert everything(Store(store.path)) == before


@pytest.mark.parametrize("file", ["runs.parquet", "eval_json_v2.parquet"])
def test_a_damaged_commit_is_named_and_one_that_is_dropped_is_left_out(tmp_path: Path, file: str) -> None:
    for k in range(3):
        publish(tmp_path / "runs", {f"run {k}": simple_run(x=k / 4)})
    store = Store(tmp_path / "runs")
    first, *others = store.commits()
    (first.path / file).write_bytes(bytes((first.path / file).stat().st_size))
    with pytest.warns(DamagedCommit, match=f"Commit {first.id} of .* left out: {file} does not have its checksum"):
        assert compact(store).commits == 2
    drop(store, [first.id])
    assert compact(store).pack is None
    assert {commit.id for commit in Store(tmp_path / "runs").commits()} == {commit.id for commit in others}
