"""A Spark cluster of this machine alone: a master and workers, each a process, started from the pyspark package."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

HOST = "127.0.0.1"
_PR_SET_PDEATHSIG = 1
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # these processes live for a minute
CONF = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.task.maxFailures": "8",
    "spark.sql.shuffle.partitions": "4",
    "spark.excludeOnFailure.enabled": "false",
    "spark.driver.extraJavaOptions": _QUICK_JAVA,
    "spark.executor.extraJavaOptions": _QUICK_JAVA,
}


@dataclass
class Cluster:
    """The processes of a cluster, in the order in which they were started: master, then workers."""

    url: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    logs: list[IO[bytes]] = field(default_factory=list)

    def executors(self) -> list[int]:
        """The processes that run tasks."""
        return [pid for worker in self.processes[1:] for pid in children(worker.pid) if is_executor(pid)]


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] + [
            int(one)
            for thread in Path(f"/proc/{pid}/task").iterdir()
            if thread.name != str(pid)
            for one in (thread / "children").read_text().split()
        ]
    except OSError:
        return []


def is_executor(pid: int) -> bool:
    """Whether a process runs tasks of Spark."""
    try:
        return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def kill(pid: int) -> None:
    """SIGKILL, if the process is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _end_with_parent() -> None:
    """Have the system end this process when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def started(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A cluster whose workers have one core each; all its processes have ended at the end."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    port = _free_port()
    cluster = Cluster(f"spark://{HOST}:{port}")

    def start(name: str, main: str, *options: str) -> None:
        log = (folder / f"{name}.log").open("wb")
        cluster.logs.append(log)
        words = [str(home / "bin" / "spark-class"), main, "--host", HOST, *options]
        cluster.processes.append(
            subprocess.Popen(
                words,
                env=environment,
                stdout=log,
                stderr=log,
                cwd=folder,
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - one system call, no lock
            )
        )

    try:
        start("master", "org.apache.spark.deploy.master.Master", "--port", str(port), "--webui-port", "0")
        for number in range(workers):
            options = ("--webui-port", "0", "-c", "1", "-m", "1g", "-d", str(folder / f"work-{number}"), cluster.url)
            start(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *options)
        _wait_for_workers(folder / "master.log", workers)
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            for pid in children(process.pid):
                kill(pid)
            process.kill()
            process.wait()
        for log in cluster.logs:
            log.close()


def _wait_for_workers(log: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while log.read_bytes().count(b"Registering worker") < count:
        if time.monotonic() > deadline:
            raise TimeoutError(log.read_text(errors="replace"))
        time.sleep(0.1)
