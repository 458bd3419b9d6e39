"""Locks between processes and threads, and writes that last."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rageval_batch.runs import file_system
from rageval_batch.runs.file_system import sync, sync_below, try_lock, write_durably

HOLD = """
import sys
from pathlib import Path
from rageval_batch.runs.file_system import try_lock
lock = try_lock(Path(sys.argv[1]))
assert lock is not None
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    first = try_lock(tmp_path / "lock")
    assert first is not None and try_lock(tmp_path / "lock") is None
    first.release()
    second = try_lock(tmp_path / "lock")
    assert second is not None
    second.release()


def test_a_process_that_ends_gives_its_lock_back(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2],
    ) as holder:  # fmt: skip
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        assert try_lock(tmp_path / "lock") is None
        holder.kill()
        holder.wait()
    lock = try_lock(tmp_path / "lock")
    assert lock is not None
    lock.release()


@pytest.mark.parametrize("windows", [False, True])
def test_writes_are_synced(windows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_system, "_WINDOWS", windows)
    if windows:
        monkeypatch.delattr("os.sync", raising=False)
    write_durably(tmp_path / "a", b"content")
    sync(tmp_path)
    sync_below(tmp_path)
    assert (tmp_path / "a").read_bytes() == b"content"
