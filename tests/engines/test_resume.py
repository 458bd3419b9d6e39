"""One job and both engines: what the one began the other finishes, and two that write at once make one commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rageval_batch.engines.session import has_java
from rageval_batch.runs import sweep
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Commit, Store
from support.cluster import CONF
from support.engines import assert_same_commits, hostile_job

pytestmark = [
    pytest.mark.soak,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(not has_java(), reason="the engine spark was not tested: there is no Java"),
]
TESTS = Path(__file__).parents[1]
WRITER = TESTS / "support" / "engine_writer.py"
SPARK = [
    *("--engine", "spark", "--master", "local[2]"),
    *(word for name, value in CONF.items() for word in ("--conf", f"{name}={value}")),
]
LOCAL: list[str] = []
Start = Callable[[str, list[str]], "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return hostile_job(tmp_path_factory.mktemp("inputs") / "hostile", 4_000)


@pytest.fixture(scope="module")
def whole(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Commit:
    """The commit of the job that nobody disturbed."""
    return sweep.run(job, Store(tmp_path_factory.mktemp("whole"))).commit


@pytest.fixture
def start(job: Job, tmp_path: Path) -> Start:
    """Start the command of the job with an engine, disturbed at a point."""
    words = ["score", *(file.name for file in job.outputs), "-p", job.profile.name]
    words += [word for option, files in (("-q", job.questions), ("-c", job.contexts)) for file in files
              for word in (option, file.name)]  # fmt: skip
    words += ["--store", str(tmp_path / "store")]

    def started(what: str, engine: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(WRITER), what, str(tmp_path), *words, *engine],
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    return started


def said(process: subprocess.Popen[str], code: int) -> str:
    """What a command that ended so has said."""
    _, errors = process.communicate(timeout=600)
    assert process.returncode == code, errors
    return errors


def seen(store: Path) -> list[str]:
    """What a reader may look at."""
    assert Store(store).commits() == []
    return [path.name for path in store.iterdir() if not path.name.startswith(".")]


def check_finished(store: Path, whole: Commit) -> None:
    """One commit, with what it must have, and nothing beside it."""
    (commit,) = Store(store).commits()
    assert_same_commits(whole, commit)
    assert list((store / ".staging").iterdir()) == []


def test_begun_locally_and_finished_by_spark(start: Start, tmp_path: Path, whole: Commit) -> None:
    """Spark's driver is killed too, when all files but the manifest are there: the same command goes on."""
    store = tmp_path / "store"
    said(start("die_assembling", LOCAL), -signal.SIGKILL)
    assert list(store.glob(".staging/*/done-*"))
    assert seen(store) == []
    said(start("die_before_manifest", SPARK), -signal.SIGKILL)
    assert list(store.glob(".staging/*/ready/*.parquet"))
    assert seen(store) == []
    assert "Went on with an interrupted sweep" in said(start("undisturbed", SPARK), 0)
    check_finished(store, whole)


def test_begun_by_spark_and_finished_locally(start: Start, tmp_path: Path, whole: Commit) -> None:
    store = tmp_path / "store"
    said(start("die_before_manifest", SPARK), -signal.SIGKILL)
    assert list(store.glob(".staging/*/parts/[0-9]*"))
    assert seen(store) == []
    said(start("undisturbed", LOCAL), 0)
    check_finished(store, whole)


def test_both_engines_at_once_make_one_commit(start: Start, tmp_path: Path, whole: Commit) -> None:
    """Both have all files when either may publish."""
    writers = [start("meet_before_commit", engine) for engine in (SPARK, LOCAL)]
    errors = [said(process, 0) for process in writers]
    assert len(list(tmp_path.glob("meeting-*"))) == len(writers)
    assert sum("Committed" in text for text in errors) == 1, errors
    check_finished(tmp_path / "store", whole)
