"""Upkeep of a store: dropping and pruning, and that whoever reads meanwhile is not disturbed."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import main
from rageval_batch.errors import DamagedCommit, InputError, StoreError
from rageval_batch.locations import MANIFEST
from rageval_batch.runs.manifest import TOMBSTONE_FORMAT, read_manifest
from rageval_batch.runs.staging import STAGING
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.upkeep import Pruned, check_store, drop, prune
from support.command import run_command
from support.stores import publish, rewritten, simple_run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Three commits: `a` and `b`, then `a` again, then `c` alone."""
    place = tmp_path / "runs"
    publish(place, {"a": simple_run(q=0.0), "b": simple_run(q=0.5)})
    publish(place, {"a": simple_run(q=1.0)})
    publish(place, {"c": simple_run(q=0.25)})
    return Store(place)


def results(store: Store, *named: str) -> dict[str, float]:
    """The current score of every run, as all views see it."""
    with open_store(store.path, named=named) as session:
        means = {row["run_id"]: row["mean"] for row in session.rows(
            "select run_id, mean from run_summary where metric = 'score'"
        )}  # fmt: skip
        scores = {row["run_id"]: row["score"] for row in session.rows("select run_id, score from scores")}
        assert {row["run_id"] for row in session.rows("from runs")} == set(scores)
    assert means == scores
    return scores


def folders(store: Store) -> list[str]:
    """The folders of the store that a reader looks at."""
    return sorted(path.name for path in store.path.iterdir() if not path.name.startswith("."))


def aged(commit: Commit, days: float) -> None:
    """Let a commit have been made so many days ago."""
    rewritten(commit, created_at=(datetime.now(UTC) - timedelta(days=days)).isoformat())


# --- drop -----------------------------------------------------------------------------------------------------------


def test_a_dropped_run_is_gone_with_all_its_results(store: Store) -> None:
    assert results(store) == {"a": 1.0, "b": 0.5, "c": 0.25}
    before = {path: path.read_bytes() for path in store.path.rglob("*.parquet")}
    first, second, _ = store.commits()
    assert drop(store, ["a"]) == {first.id: ["a"], second.id: ["a"]}
    assert results(store) == {"b": 0.5, "c": 0.25}
    assert {path: path.read_bytes() for path in before} == before  # nothing is removed before a prune
    assert list((store.path / STAGING).iterdir()) == []
    with pytest.raises(StoreError, match="no commit"):
        results(store, f"a@{first.id}")


def test_one_result_of_a_run_is_dropped_and_the_one_before_is_current(store: Store) -> None:
    _, second, _ = store.commits()
    drop(store, [f"a@{second.id}"])
    assert results(store) == {"a": 0.0, "b": 0.5, "c": 0.25}


def test_a_commit_is_dropped_whole(store: Store) -> None:
    first, second, third = store.commits()
    drop(store, [first.id, third.id[:-2]])
    assert results(store) == {"a": 1.0}
    assert [commit.id for commit in store.commits()] == [second.id]


def test_an_index_of_before_knows_nothing_of_a_drop(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rageval_batch.analysis.stored_tables._MOST_UNINDEXED", 1)
    results(store)
    assert store.index is not None
    drop(store, ["b"])
    drop(store, ["c"])
    assert results(Store(store.path)) == {"a": 1.0}
    assert results(Store(store.path)) == {"a": 1.0}


def test_drops_of_some_profile_or_eval_set(store: Store) -> None:
    with pytest.raises(StoreError, match="no such run or commit"):
        drop(store, ["a"], profile="include_rate")
    with pytest.raises(StoreError, match="no such run or commit"):
        drop(store, ["a"], eval_set="other")
    publish(store.path, {"a": simple_run(q=0.75)}, eval_set="z@2", questions_sha256="f" * 64)
    drop(store, ["a"], eval_set="z")
    assert results(store) == {"a": 1.0, "b": 0.5, "c": 0.25}


@pytest.mark.parametrize(
    ("name", "message"), [("aa", "Did you mean 'a'"), ("2026", "no such run"), ("a@2", "2 such"), ("b@1", "no such")]
)
def test_names_of_nothing(store: Store, name: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        drop(store, [name])
    assert len(folders(store)) == 3


def test_a_dropped_result_is_made_again_by_the_same_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run in ("one", "two"):
        (tmp_path / f"{run}.jsonl").write_text(json.dumps({"question_id": "q", "output": "yes"}) + "\n")
    (tmp_path / "questions.jsonl").write_text(json.dumps({"id": "q", "question": "?", "must_include": ["yes"]}) + "\n")
    place = tmp_path / "runs"
    words = ["score", str(tmp_path / "one.jsonl"), str(tmp_path / "two.jsonl"), "-p", "include_rate"]
    words += ["-q", str(tmp_path / "questions.jsonl"), "--store", str(place)]

    def call(*given: str) -> str:
        with pytest.raises(SystemExit) as left:
            main(given)
        assert not left.value.code
        return capsys.readouterr().err

    assert "Committed" in call(*words)
    assert "Nothing to do" in call(*words)
    assert "Dropped one of commit" in call("drop", "one", "--store", str(place))
    assert "Committed" in call(*words)
    assert "Nothing to do" in call(*words)
    assert results(Store(place)) == {"one": 1.0, "two": 1.0}


# --- prune ----------------------------------------------------------------------------------------------------------


def test_prune_must_be_told_what(store: Store) -> None:
    with pytest.raises(InputError, match="--older-than"):
        prune(store)


def test_current_results_are_never_pruned(store: Store) -> None:
    for commit in store.commits():
        aged(commit, 400)
    assert prune(store, older_than=timedelta(days=30), at_once=True) == Pruned([], [])
    assert prune(store, keep_last=1, at_once=True) == Pruned([], [])  # the first has the current result of b
    assert results(store) == {"a": 1.0, "b": 0.5, "c": 0.25}


def test_superseded_and_dropped_commits_are_pruned(store: Store) -> None:
    first, second, third = store.commits()
    drop(store, ["b"])
    drop(store, [third.id])
    assert prune(store, keep_last=2) == Pruned([third.id], [])
    assert prune(store, keep_last=1) == Pruned([first.id], [])
    assert prune(store, keep_last=1) == Pruned([], [])
    assert results(store) == {"a": 1.0}
    assert (first.path / MANIFEST).exists()  # for those who read it
    assert sorted(prune(store, keep_last=1, at_once=True).removed) == [first.id, third.id]
    assert folders(store) == [second.id]  # no tombstone is left either
    assert results(store) == {"a": 1.0}
    assert list((store.path / STAGING).iterdir()) == []


def test_files_are_removed_an_hour_after_they_were_hidden(store: Store) -> None:
    first, second, _ = store.commits()
    drop(store, [first.id])
    prune(store, keep_last=1)
    (tombstone,) = [commit for commit in store.listing().tombstones if commit.manifest.get("removes")]
    assert prune(store, keep_last=1).removed == []
    aged(tombstone, 1 / 20)
    assert prune(store, keep_last=1).removed == [first.id]
    assert second.path.is_dir()


def test_only_old_commits_are_pruned(store: Store) -> None:
    first, second, third = store.commits()
    drop(store, [first.id, third.id])
    aged(first, 40)
    assert prune(store, older_than=timedelta(days=30)).hidden == [first.id]
    aged(third, 31)
    assert prune(store, older_than=timedelta(days=30), keep_last=1).hidden == [third.id]
    assert [commit.id for commit in store.commits()] == [second.id]


def test_readers_are_not_disturbed_by_a_prune(store: Store) -> None:
    """A session that was opened before goes on with what it saw."""
    drop(store, ["b"])
    with open_store(store.path) as session:
        prune(store, keep_last=1)
        publish(store.path, {"d": simple_run(q=0.125)})
        assert {row["run_id"] for row in session.rows("select run_id from scores")} == {"a", "c"}
    assert results(store) == {"a": 1.0, "c": 0.25, "d": 0.125}


@pytest.mark.parametrize("call", [1, 2, 3, 5])
def test_a_prune_that_dies_anywhere_leaves_a_store_that_is_whole(store: Store, call: int) -> None:
    """Killed at each of its renames and removals: the same results, and the next prune ends the work."""
    drop(store, ["b"])
    drop(store, ["c"])
    process = multiprocessing.get_context("spawn").Process(target=_prune_and_die, args=(store.path, call))
    process.start()
    process.join(60)
    assert results(Store(store.path)) == {"a": 1.0}
    prune(store, keep_last=1, at_once=True)
    assert len(folders(store)) == 1
    assert results(Store(store.path)) == {"a": 1.0}


def _prune_and_die(path: Path, number: int) -> None:
    calls = 0

    def counted(plain: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                os._exit(9)
            return plain(*args, **options)

        return call

    for owner, name in ((os, "rename"), (shutil, "rmtree")):
        setattr(owner, name, counted(getattr(owner, name)))
    prune(Store(path), keep_last=1, at_once=True)


def test_a_version_that_knows_no_tombstones_does_not_read_the_store(store: Store) -> None:
    drop(store, ["a"])
    (tombstone,) = store.listing().tombstones
    assert tombstone.manifest["format"] == TOMBSTONE_FORMAT > store.commits()[0].manifest["format"]


# --- the command line -----------------------------------------------------------------------------------------------


def test_commands(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        return run_command(capsys, *words, "--store", str(store.path))

    first, _, third = store.commits()
    assert call("fsck") == (0, "", "3 commits read, 0 problems.\n")
    code, out, err = call("drop", "b", third.id)
    assert (code, out) == (0, "")
    assert f"Dropped b of commit {first.id}." in err
    assert f"Dropped all runs of commit {third.id}." in err
    assert call("prune", "--keep-last", "1") == (0, "", "2 commits pruned, files of 0 removed.\n")
    assert call("prune", "--older-than", "0h", "--now")[2] == "0 commits pruned, files of 2 removed.\n"
    code, _, err = call("prune", "--older-than", "soon")
    assert (code, err) == (2, "rageval: --older-than soon: write it as 12h, 30d or 8w.\n")
    assert call("prune")[0] == 2
    (left,) = store.commits()
    path = left.files("scores")[0]
    path.write_bytes(bytes(path.stat().st_size))
    code, out, err = call("fsck", "--format", "csv")
    assert code == 2
    assert f"{left.id},{path.name},{path.name} does not have its checksum" in out
    assert err == "1 commit read, 1 problem.\n"


def test_a_second_look_reads_only_what_came_since_the_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """`score` looks at the store before its work and when it publishes: of thousands of commits, only once at each."""
    oldest, kept, dropped = (commit.id for commit in store.commits())
    known = set(folders(store))
    later = publish(store.path, {"d": simple_run(q=0.75)}).id
    drop(Store(store.path), ["c"])
    shutil.rmtree(store.path / oldest)
    damaged = publish(store.path, {"e": simple_run(q=0.0)})
    damaged.files("scores")[0].unlink()
    read: list[str] = []

    def counted(folder: Path) -> dict[str, Any] | None:
        read.append(folder.name)
        return read_manifest(folder)

    monkeypatch.setattr("rageval_batch.runs.store.read_manifest", counted)
    for _ in range(2):  # what is damaged is not remembered
        with pytest.warns(DamagedCommit, match=damaged.id):
            assert [commit.id for commit in store.commits(again=True)] == [kept, later]
    assert not known & set(read) and {later, damaged.id} <= set(read) and dropped in known
    with pytest.warns(DamagedCommit):
        assert len(store.commits()) == 2 and kept in read


def test_glob_characters_and_quotes_in_the_path_of_a_store(tmp_path: Path) -> None:
    place = tmp_path / 'it\'s [a-z]*? {store} "x" $HOME %20'
    publish(place, {"a": simple_run(q=0.0), "b": simple_run(q=0.5)})
    publish(place, {"a": simple_run(q=1.0)})
    store = Store(place)
    assert results(store) == {"a": 1.0, "b": 0.5}
    drop(store, ["b"])
    assert len(prune(store, keep_last=1, at_once=True).removed) == 1
    assert results(store) == {"a": 1.0}
    assert check_store(store).problems == []


@pytest.mark.parametrize("words", [["drop", "a"], ["prune", "--keep-last", "1"], ["fsck"]])
def test_a_store_that_is_not_there(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*words, "--store", str(tmp_path / "none")])
    assert left.value.code == 2
    assert "There is no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
