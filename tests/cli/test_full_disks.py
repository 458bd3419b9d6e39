"""Disks that are full, and stores that cannot be written: one sentence, nothing lost, and readers go on.

A small disk in memory takes the right to mount one; without it these tests are skipped. That a writer meets a full disk
at chosen calls is tested in `runs/test_sweep.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rageval_batch.bench import synthetic
from rageval_batch.cli import main
from rageval_batch.runs.store import Store
from rageval_batch.runs.upkeep import check_store
from support.stores import publish, simple_run
from support.viewing import viewing

Call = Callable[..., tuple[int, str]]
SOAK = range(100, 7_000, 150)  # kilobytes; the sweep needs about 6,400 while it is made


class Disk:
    """A disk of a few kilobytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mount(self, options: str) -> None:
        """Mount it, or mount it again with other options."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.path], check=True, capture_output=True)

    def fill(self) -> None:
        """Leave no space on it."""
        with (self.path / "filler").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4_096)):
                    pass
            except OSError:
                return


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 4 MB; skipped where none can be mounted."""
    found = Disk(tmp_path / "disk")
    found.path.mkdir()
    try:
        found.mount("size=4m")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a disk in memory cannot be mounted here")
    try:
        yield found
    finally:
        subprocess.run(["umount", found.path], check=True)


@pytest.fixture
def rageval(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call a command; its exit code and what it says on stderr."""

    def call(*words: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        assert isinstance(stop.value.code, int)
        return stop.value.code, capsys.readouterr().err

    return call


READERS = (
    ["runs"], ["leaderboard"], ["show", "a"], ["compare", "a", "b"], ["gate", "--all"], ["fsck"],
    ["sql", "from scores order by score"],
)  # fmt: skip


def test_commands_on_a_full_disk(disk: Disk, rageval: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers answer as before; writers say it in a sentence; an output is whole or not there."""
    store = disk.path / "runs"
    publish(store, {"a": simple_run(x=0.25, y=1.0), "b": simple_run(x=0.5, y=0.5)})
    expected = {str(words): rageval(*words, "--store", store)[0] for words in READERS}
    shutil.rmtree(store / ".index", ignore_errors=True)
    monkeypatch.setenv("TMPDIR", str(disk.path))
    monkeypatch.setattr("tempfile.tempdir", None)
    disk.fill()
    before = sorted(disk.path.rglob("*"))
    assert {str(words): rageval(*words, "--store", store)[0] for words in READERS} == expected
    code, said = rageval("drop", "a", "--store", store)
    assert code == 2 and "No space left" in said and len(said.splitlines()) == 1
    for name in ("o.csv", "o.parquet", "o.jsonl", "o.xlsx"):
        code, said = rageval("sql", "from scores", "-o", disk.path / name, "--store", store)
        assert code == 2 and "No space left" in said, name
    code, said = rageval("report", "-o", disk.path / "report.html", "--store", store)
    assert code == 2 and "No space left" in said
    assert [path for path in sorted(disk.path.rglob("*")) if store / ".staging" not in path.parents] == before
    (disk.path / "filler").unlink()
    assert check_store(Store(store)).problems == []
    assert rageval("drop", "a", "--store", store)[0] == 0


def test_a_store_that_is_read_only(disk: Disk, rageval: Call, tmp_path: Path) -> None:
    """No index, interval or spill folder can be written there: readers answer all the same."""
    store = disk.path / "runs"
    publish(store, {"a": simple_run(x=0.25, y=1.0), "b": simple_run(x=0.5, y=0.5)})
    expected = {str(words): rageval(*words, "--store", store)[0] for words in READERS}
    shutil.rmtree(store / ".index", ignore_errors=True)
    shutil.rmtree(store / ".staging", ignore_errors=True)
    disk.mount("remount,ro")
    assert {str(words): rageval(*words, "--store", store)[0] for words in READERS} == expected
    assert rageval("report", "-o", tmp_path / "report.html", "--store", store)[0] == 0
    with viewing(store) as client:
        assert "0.625" in client.get("/") and client.get("/gates")
    code, said = rageval("drop", "a", "--store", store)
    assert code == 2 and "cannot be written: Read-only file system" in said


@pytest.mark.parametrize("kilobytes", [200, *(pytest.param(size, marks=pytest.mark.soak) for size in SOAK)])
def test_a_sweep_that_fills_the_disk_goes_on_with_space(
    kilobytes: int, disk: Disk, rageval: Call, tmp_path: Path
) -> None:
    """Wherever the space ends: one sentence and no commit; then the same command makes the commit."""
    synthetic.write_sweep(tmp_path, 2_000)
    disk.mount(f"remount,size={kilobytes}k")
    store = disk.path / "runs"
    questions = ["-q", tmp_path / "questions.json", "-c", tmp_path / "contexts.jsonl"]
    words = ["score", tmp_path / "outputs.jsonl", "-p", "eval_json_v2", *questions, "--keep-inputs", "--store", store]
    code, said = rageval(*words)
    commits = list(store.glob("2*"))
    assert (code, len(commits)) in ((0, 1), (2, 0)), said
    assert code == 0 or ("No space left for the store" in said and "Traceback" not in said)
    disk.mount("remount,size=100m")
    assert rageval(*words)[0] == 0
    assert len(list(store.glob("2*"))) == 1
    assert check_store(Store(store)).problems == []
    assert list((store / ".staging").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="permissions do not hold for the superuser")
def test_a_store_without_permission(rageval: Call, tmp_path: Path) -> None:
    publish(tmp_path / "runs", {"a": simple_run(x=0.25)})
    (tmp_path / "runs").chmod(0o555)
    try:
        assert rageval("runs", "--store", tmp_path / "runs")[0] == 0
        code, said = rageval("drop", "a", "--store", tmp_path / "runs")
        assert code == 2 and "Permission denied" in said
    finally:
        (tmp_path / "runs").chmod(0o755)
