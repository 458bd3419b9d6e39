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

MEMORY = "512MB"


def connection_settings(spill: Path, memory: str = MEMORY) -> dict[str, Any]:
    """The settings of a connection that spills to a folder, which DuckDB makes when it needs it."""
    return {"memory_limit": memory, "temp_directory": str(spill)}


def spill_folder(preferred: Path | None) -> Path:
    """A path for a folder of one's own below the preferred folder, or the system's where that cannot be written."""
    usable = preferred is not None and preferred.is_dir() and os.access(preferred, os.W_OK | os.X_OK)
    parent = preferred if usable and preferred is not None else Path(tempfile.gettempdir())
    return parent.absolute() / f"spill-{os.getpid()}-{secrets.token_hex(4)}"


def hide_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep DuckDB from drawing its progress into what is printed.

    Only where it is on: in a notebook without ipywidgets it is off, and DuckDB refuses to set it.
    """
    ((shown,),) = connection.execute("select current_setting('enable_progress_bar')").fetchall()
    if shown:
        connection.execute("set enable_progress_bar = false")


@contextmanager
def connected(preferred: Path | None = None, memory: str = MEMORY) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in memory that spills below the preferred folder; what it spilled is removed at the end."""
    spill = spill_folder(preferred)
    try:
        with duckdb.connect(config=connection_settings(spill, memory)) as connection:
            hide_progress_bar(connection)
            yield connection
    finally:
        shutil.rmtree(spill, ignore_errors=True)
