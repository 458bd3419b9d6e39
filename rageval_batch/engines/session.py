"""A Spark session from a command line; what is missing for one is said in a sentence."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rageval_batch import interrupts
from rageval_batch.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTRA = ("pyspark", "pandas")
_OLDEST_JAVA = 17
_PATIENCE = 10.0  # seconds to wait for a master to answer
_DEFAULTS = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",  # progress is told by rows
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a task has one core
}


def require_spark() -> None:
    """InputError where the extra or Java is not there."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise InputError(
            f"The engine spark needs {' and '.join(missing)}, not installed here: pip install 'rageval-batch[spark]'."
        )
    if (java := _java()) is None:
        raise InputError("The engine spark needs Java 17 or newer: install it, or name its folder in JAVA_HOME.")
    if (version := _java_version(java)) is not None and version < _OLDEST_JAVA:
        raise InputError(f"The engine spark needs Java 17 or newer: {java} is {version}. Name another in JAVA_HOME.")


def has_java() -> bool:
    """Whether there is a Java that Spark would start."""
    return _java() is not None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None)


def _java_version(java: str) -> int | None:
    """The first number of a Java's version; of the old ones, which are called 1.8, the second. None: it says none."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


@contextmanager
def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session of a cluster, ended at the end; without `master`, the one that Spark's own configuration names, else
    all cores of this machine. `conf` are settings of Spark.

    A process has one session: the one that is there already is used as it is, and goes on afterwards."""
    require_spark()
    if master:
        _check_master(master)
    if (active := _active_session()) is not None:
        yield active
        return
    on_interrupt = signal.getsignal(signal.SIGINT)
    with quiet_pandas():
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        # Tasks run the Python of this process, unless it is said where theirs is.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("rageval score")
        if master:
            builder = builder.master(master)
        for name, value in {**_DEFAULTS, **(conf or {})}.items():
            builder = builder.config(name, value)
        try:
            spark = builder.getOrCreate()
        except Exception as error:  # of Py4J, of Java, of PySpark: whatever keeps a session from starting
            if not isinstance(error, PySparkException) and not type(error).__module__.startswith(("py4j", "pyspark")):
                raise
            place = master or "its default master"
            raise InputError(f"Spark does not start at {place}: {_reason(error)}") from error
    if threading.current_thread() is threading.main_thread():
        # PySpark's own handler calls Java in the middle of a call of Java, which fails at length.
        signal.signal(signal.SIGINT, on_interrupt)
    loggers = [logging.getLogger(name) for name in _PY4J_LOGGERS]
    for one in loggers:
        one.addFilter(_is_no_interrupt)
    try:
        yield spark
    finally:
        with _silenced(spark) if interrupts.seen() else nullcontext():
            spark.stop()
        for one in loggers:
            one.removeFilter(_is_no_interrupt)


@contextmanager
def _silenced(spark: SparkSession) -> Iterator[None]:
    """Without what Java, Py4J and the servers of PySpark say of work that is stopped in the middle."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        with suppress(Exception):  # Java may have ended
            spark.sparkContext.setLogLevel("OFF")
        yield


def _active_session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    with quiet_pandas():
        return SparkSession.getActiveSession()


# A filter of a logger sees what is logged with it, not what others hand on to it.
_PY4J_LOGGERS = ("", "py4j", "py4j.clientserver", "py4j.java_gateway")


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """False for what Py4J logs of a Ctrl-C and after it, with tracebacks: the command says that it was interrupted."""
    return not interrupts.seen() and not str(record.msg).startswith("KeyboardInterrupt while")


def _check_master(master: str) -> None:
    """InputError where a master is none that Spark knows, or a standalone one that does not answer: Spark itself would
    try for a minute."""
    if not re.match(r"(local(-cluster)?(\[.*\])?|yarn|spark://.+|k8s://.+)$", master):
        raise InputError(f"--master {master}: give spark://HOST:PORT, yarn, k8s://https://HOST:PORT or local[N].")
    if not master.startswith("spark://"):
        return
    places = [place.rpartition(":") for place in master.removeprefix("spark://").split(",")]
    if not all(host and port.isdigit() for host, _, port in places):
        raise InputError(f"--master {master}: write it as spark://HOST:PORT.")
    reasons = []
    for host, _, port in places:
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
            return
        except (OSError, OverflowError) as error:
            reasons.append(getattr(error, "strerror", None) or str(error))
    raise InputError(f"No Spark master answers at {master}: {reasons[0]}. Check that it runs, and the port.")


def _reason(error: Exception) -> str:
    """What Java says, where that is behind an error; else the error itself, in a line."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString()) if java is not None else str(error)
    if "JAVA_GATEWAY_EXITED" in text:
        return "its Java ended at once and says why above. Check --conf and JAVA_HOME."
    return (text.strip() or type(error).__name__).splitlines()[0]


@contextmanager
def quiet_pandas() -> Iterator[None]:
    """Without PySpark's warning about versions of pandas: no pandas frame passes between the two here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield
