"""Whole commands as a user gives them: CPU and wall seconds, and peak memory of each process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import islice
from pathlib import Path
from random import Random

from rageval_batch.bench import raw_join
from rageval_batch.bench.memory import in_mib
from rageval_batch.bench.sweeps import Sweep
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import EXIT_FAILED, EXIT_OK
from rageval_batch.runs.store import Store

SCORE = "score"
FLOOR = "floor: DuckDB"  # the whole command
COMPARE, RAW_JOIN = "compare of two runs", "raw join of two runs: DuckDB"
TURNS = 5  # of the two that are compared; the least of each counts
SMALL_ROWS = 100
GROWTH = (1, 10, 100)  # times the sweep
_RUN = b'"run_id": "'
_COMPARED = ("base", "cand")
_PHRASES = ("alpha", "beta", "gamma")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command and what it cost."""

    words: str
    rows: int  # of the sweep that it is about
    wall: float
    cpu: float
    _: KW_ONLY
    peak_mib: float | None


def measure_commands(profile: str, files: Sweep, folder: Path, *, rows: int, floor: Sequence[str]) -> Iterator[Command]:
    """Start-up, a small and the whole sweep scored in turns with the command that is the floor, then what is asked of
    the store of the whole one."""
    folder.mkdir()
    small = folder / "small.jsonl"
    with files.outputs.open(encoding="utf-8") as lines, small.open("w", encoding="utf-8") as out:
        out.writelines(islice(lines, SMALL_ROWS))
    inputs = _inputs(profile, files)
    few = min(rows, SMALL_ROWS)
    yield _measure("--version", rows=rows)
    yield _measure("--help", rows=rows)
    yield _measure(f"score of {few} rows", "score", str(small), *inputs, "--store", str(folder / "few"), rows=few)
    found: dict[str, list[Command]] = {FLOOR: [], SCORE: []}
    for turn in range(TURNS):  # each into a store of its own: some file systems are slow where files were just removed
        store = str(folder / f"runs-{turn}")
        found[FLOOR].append(_measure_process(FLOOR, floor, rows=rows))
        found[SCORE].append(_measure(SCORE, "score", str(files.outputs), *inputs, "--store", store, rows=rows))
    yield from (min(several, key=lambda one: one.cpu) for several in found.values())
    yield _measure("runs", "runs", "--store", store, rows=rows)
    yield _measure("leaderboard", "leaderboard", "--store", store, rows=rows)
    yield _measure("gate --all", "gate", "--all", "--allow-missing-provenance", "--store", store, rows=rows)
    first, last = _first_and_last_run(store)
    if first != last:
        yield _measure("compare", "compare", first, last, "--store", store, rows=rows)


def measure_growth(profile: str, files: Sweep, folder: Path, *, rows: int) -> Iterator[Command]:
    """`score` of the same answers by ever more runs: memory should stay as it is, time should grow as rows do."""
    folder.mkdir()
    for times in GROWTH:
        grown = folder / "outputs.jsonl"
        with grown.open("wb") as out:
            for copy in range(times):
                with files.outputs.open("rb") as lines:
                    out.writelines(line.replace(_RUN, b"%bcopy-%03d-" % (_RUN, copy), 1) for line in lines)
        store = folder / "runs"
        words = ("score", str(grown), *_inputs(profile, files), "--store", str(store), "--max-rows", str(10**12))
        yield _measure(f"score of {times * rows:,} rows", *words, rows=times * rows)
        grown.unlink()
        shutil.rmtree(store)


def measure_comparison(folder: Path, questions: int, seed: int) -> Iterator[Command]:
    """`compare` of two runs of so many questions of `include_rate`, in turns with a raw join of their scores."""
    folder.mkdir()
    files, drawn, words = (
        Sweep(folder / "outputs.jsonl", folder / "questions.jsonl", None),
        Random(seed),
        (*_PHRASES, "x"),
    )
    with files.questions.open("w", encoding="utf-8") as out:
        for k in range(questions):
            out.write(json.dumps({"id": f"q{k:09d}", "question": "?", "must_include": _PHRASES}) + "\n")
    with files.outputs.open("w", encoding="utf-8") as out:
        for run in _COMPARED:
            for k in range(questions):
                answer = " ".join(drawn.sample(words, drawn.randint(1, len(words))))
                out.write(json.dumps({"run_id": run, "question_id": f"q{k:09d}", "output": answer}) + "\n")
    store = folder / "runs"
    _measure(SCORE, "score", str(files.outputs), *_inputs("include_rate", files), "--store", str(store), rows=questions)
    (scores,) = (path for commit in Store(store).commits() for path in commit.files("scores"))
    found: dict[str, list[Command]] = {COMPARE: [], RAW_JOIN: []}
    for _ in range(TURNS):
        found[COMPARE].append(_measure(COMPARE, "compare", *_COMPARED, "--store", str(store), rows=questions))
        joined = raw_join.command(str(scores), *_COMPARED)
        found[RAW_JOIN].append(_measure_process(RAW_JOIN, joined, rows=questions))
    yield from (min(several, key=lambda one: one.cpu) for several in found.values())


def _inputs(profile: str, files: Sweep) -> list[str]:
    return ["-p", profile, "-q", str(files.questions), *(["-c", str(files.contexts)] if files.contexts else [])]


def _first_and_last_run(store: str) -> tuple[str, str]:
    names = sorted(run for commit in Store(store).commits() for run in commit.manifest["runs"])
    return names[0], names[-1]


def _measure(name: str, *words: str, rows: int) -> Command:
    """Run one of our commands in a process of its own."""
    return _measure_process(name, [sys.executable, "-m", "rageval_batch", *(words or (name,))], rows=rows)


def _measure_process(name: str, command: Sequence[str], *, rows: int) -> Command:
    """Run a command; a failed gate or comparison is a result too."""
    start, before = time.perf_counter(), os.times()
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert done.stderr is not None
    with done.stderr:
        said = done.stderr.read()
    if hasattr(os, "wait4"):
        _, status, usage = os.wait4(done.pid, 0)
        code = done.returncode = os.waitstatus_to_exitcode(status)
        cpu, peak = usage.ru_utime + usage.ru_stime, in_mib(usage.ru_maxrss)
    else:  # Windows
        code, peak = done.wait(), None
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
    wall = time.perf_counter() - start
    if code not in (EXIT_OK, EXIT_FAILED):
        raise RuntimeError(f"{' '.join(command)} ended with {code}: {said}")
    return Command(words=name, rows=rows, wall=wall, cpu=cpu, peak_mib=peak)
