"""A Spark session from a command line; what is missing for one is said in a sentence."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rageval_batch.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTRA = ("pyspark", "pandas")
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
    if not has_java():
        raise InputError("The engine spark needs Java 17 or newer: install it, or name its folder in JAVA_HOME.")


def has_java() -> bool:
    """Whether there is a Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None) is not None


@contextmanager
def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session of a cluster, ended at the end; without `master`, the one that Spark's own configuration names, else
    all cores of this machine. `conf` are settings of Spark."""
    require_spark()
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
            reason = str(error).strip().splitlines()[0]
            raise InputError(f"Spark does not start at {master or 'its default master'}: {reason}") from error
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def quiet_pandas() -> Iterator[None]:
    """Without PySpark's warning about versions of pandas: no pandas frame passes between the two here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        yield
