"""What killed processes leave in a store: folders to spill to, and work that nobody goes on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.runs import store_index
from rageval_batch.runs.spill import spill_folder
from rageval_batch.runs.store import Store
from rageval_batch.runs.upkeep import drop
from support.places import TESTS
from support.stores import publish, simple_run

READER = """
import os, signal, sys
from rageval_batch.analysis.catalog import open_store
session = open_store(sys.argv[1], functions=False).__enter__()
print(session.rows("select current_setting('temp_directory') as folder")[0]["folder"], flush=True)
if sys.argv[2] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""
LONG_AGO = 120.0  # seconds


def _reader(store: Path, what: str) -> tuple[subprocess.Popen[str], Path]:
    """A process with an open session, and the folder that it spills to."""
    process = subprocess.Popen(
        [sys.executable, "-c", READER, str(store), what],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent,
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _age(folder: Path, seconds: float = LONG_AGO) -> Path:
    then = time.time() - seconds
    os.utime(folder, (then, then))
    return folder


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills as POSIX does")
def test_the_folder_of_a_killed_reader_is_removed_by_the_next(tmp_path: Path) -> None:
    publish(tmp_path, {"a": simple_run(x=0.5)})
    dead, left = _reader(tmp_path, "die")
    living, used = _reader(tmp_path, "wait")
    dead.communicate()
    assert left.is_dir() and left.parent == used.parent == tmp_path / ".staging"
    _age(left), _age(used)
    with open_store(tmp_path, functions=False):
        assert not left.exists() and used.is_dir()
    living.communicate("")
    _age(used)  # it ended without closing its session
    with open_store(tmp_path, functions=False):
        pass
    assert list((tmp_path / ".staging").iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    young = spill_folder(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    for folder in (tmp_path / "spill-1", tmp_path / "rageval", elsewhere):
        folder.mkdir()
        _age(folder)
    (tmp_path / "rageval-spill-link").symlink_to(elsewhere)
    spill_folder(tmp_path).remove()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {young.path.name, "spill-1", "rageval", "elsewhere", "rageval-spill-link"}
    young.remove()


def test_where_nothing_can_be_written_there_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "none"))
    found = spill_folder(tmp_path / "no store")
    assert not found.path.exists() and found.lock is None
    found.remove()


def test_work_that_no_command_finds_again_is_removed(tmp_path: Path) -> None:
    """A killed drop or prune, a pruned commit that was being removed; the work of a job stays for a week."""
    publish(tmp_path, {"a": simple_run(x=0.5), "b": simple_run(x=0.5)})
    names = ["drop-0011aabb", "prune-0011aabb", "removed-20260101T000000-x-00", f"{'a' * 24}-0011aabb", "b" * 24]
    for name in names:
        (tmp_path / ".staging" / name).mkdir(parents=True)
    (tmp_path / ".staging" / names[-1] / "part").write_bytes(b"x")  # an empty folder has no work
    drop(Store(tmp_path), ["a"])
    assert sorted(path.name for path in (tmp_path / ".staging").iterdir()) == sorted(names)  # they may be new
    for name in names:
        _age(tmp_path / ".staging" / name)
    drop(Store(tmp_path), ["b"])
    assert [path.name for path in (tmp_path / ".staging").iterdir()] == ["b" * 24]


def test_an_index_from_a_clock_that_was_ahead_is_followed_by_others(tmp_path: Path) -> None:
    def write_tables(runs: Path, summaries: Path) -> None:
        runs.touch()
        summaries.touch()

    def write(names: list[str]) -> None:
        known: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {name: ((1, 2), {}) for name in names}
        made = store_index.write_index(tmp_path, known, {}, summaries=frozenset(), write_tables=write_tables)
        assert made is not None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.time_ns", lambda: 4 * 10**18)
        write(["a"])
    write(["a", "b"])
    found = store_index.read_index(tmp_path)
    assert found is not None and set(found.manifests) == {"a", "b"}
