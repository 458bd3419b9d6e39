"""Kills at random moments, and many writers and readers at once: short here, long in `make soak`."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.bench import synthetic
from rageval_batch.runs.staging import STAGING
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.upkeep import check_store, drop, prune
from support.places import TESTS
from support.stores import publish, simple_run

ROLES = ("scores", "tallies", "rejects", "runs", "summary")
HISTORY = 3  # results of each writer that it does not drop


# --- kills ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [2, pytest.param(1_000, marks=pytest.mark.soak)])
def test_kills_at_random_moments(kills: int, tmp_path: Path) -> None:
    commits = kill_writers(tmp_path, kills)
    print(f"{kills:,} kills, {commits:,} commits, each equal to an undisturbed one")


def kill_writers(folder: Path, kills: int) -> int:
    """Kill writers until so many died; the commits that were made meanwhile, each equal to an undisturbed one."""
    synthetic.write_sweep(folder, 2_000)
    place = Store(folder / "store")
    chance = random.Random(kills)
    start = time.monotonic()
    assert _write(folder, folder / "whole", 0).wait() == 0
    usual = time.monotonic() - start
    (whole,) = Store(folder / "whole").commits()
    undisturbed = _tables(whole)
    died = number = 0
    while died < kills:
        start = time.monotonic()
        process = _write(folder, place.path, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.3, 1.1) * usual)
        process.kill()
        code = process.wait()
        assert code in (0, -signal.SIGKILL)  # one that failed by itself is no kill
        killed = code != 0
        died += killed
        number += not killed
        usual = usual if killed else min(usual, time.monotonic() - start)  # the machine was busier at first
        made = place.commits()  # a warning of a damaged commit is an error here
        assert number <= len(made) <= number + 1
    assert _write(folder, place.path, number).wait() == 0
    commits = place.commits()
    assert len(commits) == number + 1
    assert all(_tables(commit) == undisturbed for commit in commits)
    assert check_store(place).problems == []
    assert list(place.staging_folder.iterdir()) == []
    return len(commits)


def _write(folder: Path, place: Path, number: int) -> subprocess.Popen[bytes]:
    """A writer of the job of that number: the same rows with other metadata, which changes no score."""
    words = [sys.executable, TESTS / "support" / "writer.py", folder, place, "undisturbed", "0"]
    return subprocess.Popen([*map(str, words), json.dumps({}), str(number)], stdout=subprocess.DEVNULL)


def _tables(commit: Commit) -> list[object]:
    """What a commit holds, apart from the number of its job."""
    found = [pq.read_table(path).to_pylist() for role in ROLES for path in commit.files(role)]
    for record in found[ROLES.index("runs")]:
        record["meta"] = [pair for pair in record["meta"] if pair[0] != "number"]
    return found


# --- writers and readers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("each", "seconds"), [(2, 1.5), pytest.param(4, 600, marks=pytest.mark.soak)])
def test_writers_and_readers_at_once(each: int, seconds: float, tmp_path: Path) -> None:
    written, read = write_and_read(tmp_path, each, seconds)
    print(f"{each} writers made {written:,} commits, {each} readers checked the store {read:,} times")


def write_and_read(folder: Path, each: int, seconds: float) -> tuple[int, int]:
    """Writers that publish, drop and prune, and readers that check every score; how often they wrote and read."""
    publish(folder / "runs", {"first": simple_run(q=1.0)})
    context = multiprocessing.get_context("spawn")
    counts: multiprocessing.Queue[tuple[str, int]] = context.Queue()
    workers = [
        context.Process(target=work, args=(folder / "runs", number, seconds, counts))
        for work in (_write_runs, _read_runs)
        for number in range(each)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(seconds + 300)
    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    found = [counts.get(timeout=10) for _ in workers]
    written = [n for kind, n in found if kind == "written"]
    store = Store(folder / "runs")
    assert len(_checked(store)) == 1 + sum(min(n, HISTORY) for n in written)
    assert check_store(store).problems == []
    assert list((store.path / STAGING).iterdir()) == []
    return sum(written), sum(n for kind, n in found if kind == "read")


def _write_runs(place: Path, number: int, seconds: float, counts: multiprocessing.Queue[tuple[str, int]]) -> None:
    end, made = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        publish(place, {f"{number}-{made}": simple_run(q=made / 1024, r=number / 8)})
        made += 1
        if made > HISTORY:
            drop(Store(place), [f"{number}-{made - HISTORY - 1}"])
        if made % 5 == 0:
            prune(Store(place), keep_last=1)
    counts.put(("written", made))


def _read_runs(place: Path, number: int, seconds: float, counts: multiprocessing.Queue[tuple[str, int]]) -> None:
    end, read = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        assert "first" in _checked(Store(place))
        read += 1
    counts.put(("read", read))


def _checked(store: Store) -> set[str]:
    """The runs of a store, each with the scores that its name says."""
    with open_store(store.path, functions=False) as session:
        rows = session.rows("select run_id, question_id, score from scores")
        means = session.rows("select run_id, mean from run_summary where metric = 'score'")
    scores = {(row["run_id"], row["question_id"]): row["score"] for row in rows}
    expected = {("first", "q"): 1.0}
    for run in {run for run, _ in scores} - {"first"}:
        writer, _, made = run.partition("-")
        expected |= {(run, "q"): int(made) / 1024, (run, "r"): int(writer) / 8}
    assert scores == expected
    assert {row["run_id"] for row in means} == {run for run, _ in scores}
    return {run for run, _ in scores}
