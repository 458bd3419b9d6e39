"""A sweep in a process of its own, which may kill itself or wait for others on the way: python writer.py FOLDER …"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.run_metadata import RunMetadata
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.eval_json_v2 import PROFILE
from rageval_batch.runs import commit_files, parts, staging, store, sweep
from rageval_batch.runs.job import Job

PATIENCE = 120.0


def job(folder: Path, **params: Any) -> Job:
    """The sweep of a folder: outputs*, questions.json and contexts.jsonl."""
    return Job(
        profile=PROFILE,
        params=PROFILE.read_params(params),
        outputs=sources([str(folder / "outputs*")]),
        questions=sources([folder / "questions.json"]),
        contexts=sources([folder / "contexts.jsonl"]),
    )


def at(owner: Any, name: str, number: int, then: Callable[[], None]) -> None:
    """Do something before the call of that number."""
    plain = getattr(owner, name)
    calls = 0

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            then()
        return plain(*args, **kwargs)

    setattr(owner, name, counted)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def meet(folder: Path, others: int) -> Callable[[], None]:
    """Wait until so many writers are at this point."""

    def wait() -> None:
        (folder / f"meeting-{os.getpid()}").touch()
        end = time.monotonic() + PATIENCE
        while len(list(folder.glob("meeting-*"))) < others and time.monotonic() < end:
            time.sleep(0.01)

    return wait


def main(folder: str, place: str, what: str, number: str, params: str, job_number: str | None = None) -> None:
    """Run the folder's sweep into a store and print what became of it; a number makes it another job."""
    blocks.BLOCK_ROWS = 5 if job_number is None else 200
    if what != "die_in_the_first_moments":
        parts.WRITTEN_AFTER = 0.0
    points: dict[str, Callable[[], None]] = {
        "undisturbed": lambda: None,
        "die_scoring": lambda: at(sweep, "score_batch", int(number), die),
        "die_in_the_first_moments": lambda: at(sweep, "score_batch", int(number), die),
        "die_assembling": lambda: at(commit_files, "write_tallies", int(number), die),
        "die_writing": lambda: at(os, "replace", int(number), die),
        "die_before_commit": lambda: at(store, "write_durably", int(number), die),
        "die_after_commit": lambda: at(sweep.Outcome, "__init__", int(number), die),
        "die_clearing": lambda: at(staging.Staging, "clear", 1, lambda: at(os, "unlink", int(number), die)),
        "die_behind_clearing": lambda: at(staging.Staging, "clear", 1, lambda: at(os, "rmdir", int(number), die)),
        "meet": lambda: at(sweep, "score_batch", 2, meet(Path(folder), int(number))),
    }
    points[what]()
    wanted = job(Path(folder), **json.loads(params))
    if job_number is not None:
        wanted = replace(wanted, metadata=RunMetadata({"number": job_number}, {}, {}))
    outcome = sweep.run(wanted, store.Store(place), threads=1)
    print(json.dumps([outcome.commit.id, outcome.created, outcome.resumed_parts]))


if __name__ == "__main__":
    main(*sys.argv[1:])
