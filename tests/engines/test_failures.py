"""What happens when processes of a cluster end: the same rows in the end, and no half commit in sight."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rageval_batch.engines import spark as engine
from rageval_batch.engines.session import has_java, quiet_pandas, session
from rageval_batch.runs import sweep
from rageval_batch.runs.store import Store
from support.cluster import CONF, Cluster, children, kill, started
from support.engines import assert_same, hostile_job

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("spark")]
ROWS = 40_000  # enough that a job takes some seconds


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that tests may damage."""
    if not has_java():
        pytest.skip("the engine spark was not tested: there is no Java")
    with started(tmp_path_factory.mktemp("cluster")) as found:
        yield found


def once_there_are_parts(store: Path, act: Callable[[], None]) -> threading.Thread:
    """A thread that acts as soon as a job has left the first of its parts."""

    def watch() -> None:
        deadline = time.monotonic() + 300
        while not any((store / ".staging").glob("*/parts/[0-9]*")):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        act()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_driver_that_is_killed_goes_on(own_cluster: Cluster, tmp_path: Path) -> None:
    """SIGKILL to the command and its Java while splits are scored; the same command finds what was made of them."""
    job = hostile_job(tmp_path / "hostile", ROWS)
    store = tmp_path / "spark"
    inputs = tmp_path / "hostile"
    words = [sys.executable, "-m", "rageval_batch", "score", str(inputs / "outputs"), "-p", job.profile.name]
    words += [word for option, files in (("-q", job.questions), ("-c", job.contexts)) for file in files
              for word in (option, file.name)]  # fmt: skip
    words += ["--store", str(store), "--engine", "spark", "--master", own_cluster.url]
    words += [word for name, value in CONF.items() for word in ("--conf", f"{name}={value}")]
    process = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    once_there_are_parts(store, lambda: os.killpg(process.pid, signal.SIGKILL)).join()
    assert process.wait() == -signal.SIGKILL
    assert Store(store).commits() == []
    again = subprocess.run(words, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "Went on with an interrupted sweep" in again.stderr
    (commit,) = Store(store).commits()
    assert not list((store / ".staging").iterdir())
    local = sweep.run(job, Store(tmp_path / "local"))
    made = sweep.Outcome(commit, True, 0, counts=local.counts, timing=local.timing)
    assert_same(local, made)


def test_a_worker_that_is_stopped_is_not_missed(own_cluster: Cluster, tmp_path: Path) -> None:
    """SIGKILL to a worker and its executor: the other one does the rest."""
    job = hostile_job(tmp_path / "hostile", ROWS)
    store = tmp_path / "spark"

    def stop() -> None:
        worker = own_cluster.processes[1]
        executors = children(worker.pid)
        worker.kill()
        for pid in executors:
            kill(pid)

    with quiet_pandas(), session(own_cluster.url, CONF) as spark:
        stopped = once_there_are_parts(store, stop)
        other = engine.run(job, Store(store), spark, partitions=5)
        stopped.join()
    assert own_cluster.processes[1].wait() == -signal.SIGKILL
    assert_same(sweep.run(job, Store(tmp_path / "local")), other)
