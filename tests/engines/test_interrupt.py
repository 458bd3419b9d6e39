"""Ctrl-C while Spark works: exit 130 and one sentence, and no process of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rageval_batch.engines.session import has_java
from rageval_batch.runs.store import Store
from support.cluster import CONF
from support.engines import hostile_job

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(not has_java(), reason="the engine spark was not tested: there is no Java"),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes as Linux lists them"),
]
PATIENCE = 60.0  # seconds for processes to end, on a machine that is busy


def processes_of(session: int) -> list[str]:
    """The names of the processes of a session; Java and the workers of Python stay in that of the command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:  # it has ended meanwhile
            continue
        state, _, _, its_session = rest.split()[:4]
        if int(its_session) == session and state != "Z":
            found.append(name)
    return found


def test_an_interrupt_is_one_sentence_and_leaves_no_process(tmp_path: Path) -> None:
    """SIGINT to the command and all that a terminal would send it to, while there is a part and no commit."""
    job = hostile_job(tmp_path / "hostile", 2_000)
    store = tmp_path / "store"
    words = [sys.executable, "-m", "rageval_batch", "score", str(tmp_path / "hostile" / "outputs"), "-p"]
    words += [job.profile.name, "-q", job.questions[0].name, "--store", str(store), "--engine", "spark"]
    words += ["--master", "local[2]", *(word for item in CONF.items() for word in ("--conf", "=".join(item)))]
    process = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not any(store.glob(".staging/*/parts/[0-9]*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    assert any("java" in name for name in processes_of(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, ""), said
    assert said.splitlines()[-1] == "rageval: interrupted. Give the same command again to go on."
    assert not any(word in said for word in ("Traceback", "Exception", " ERROR "))
    assert Store(store).commits() == []
    deadline = time.monotonic() + PATIENCE
    while left := processes_of(process.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
