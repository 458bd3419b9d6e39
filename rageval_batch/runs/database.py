"""DuckDB connections: each with a limit of memory, and a private folder that it spills to and that goes with it."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from rageval_batch.interrupts import stop_when_interrupted

MEMORY = "512MB"


def connect(spill: Path, memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    """A connection in memory that spills to a folder, which DuckDB makes when it needs it; Ctrl-C stops its queries."""
    settings: dict[str, Any] = {"memory_limit": memory, "temp_directory": str(spill)}
    connection = duckdb.connect(config=settings)
    _hide_progress_bar(connection)
    stop_when_interrupted(connection)
    return connection


def _hide_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep DuckDB from drawing its progress into what is printed.

    Only where it is on: in a notebook without ipywidgets it is off, and DuckDB refuses to set it.
    """
    ((shown,),) = connection.execute("select current_setting('enable_progress_bar')").fetchall()
    if shown:
        connection.execute("set enable_progress_bar = false")


def spill_folder(preferred: Path | None) -> Path:
    """A path for a folder of one's own below the preferred folder, or the system's where that cannot be written."""
    usable = preferred is not None and preferred.is_dir() and os.access(preferred, os.W_OK | os.X_OK)
    parent = preferred if usable and preferred is not None else Path(tempfile.gettempdir())
    return parent.absolute() / f"spill-{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def connected(preferred: Path | None = None, memory: str = MEMORY) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in memory that spills below the preferred folder; what it spilled is removed at the end."""
    spill = spill_folder(preferred)
    try:
        with connect(spill, memory) as connection:
            yield connection
    finally:
        shutil.rmtree(spill, ignore_errors=True)
