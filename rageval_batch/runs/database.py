"""DuckDB databases in memory: each has a limit of memory, and spills to a private folder that goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rageval_batch.interrupts import stop_when_interrupted
from rageval_batch.runs.spill import spill_folder

if TYPE_CHECKING:
    import duckdb

MEMORY = "512MB"
_CATALOG = "work"


def connect(spill: Path, memory: str = MEMORY) -> duckdb.DuckDBPyConnection:
    """A connection in memory that spills to a folder; Ctrl-C stops its queries."""
    import duckdb  # which takes 0.05 s: most scoring needs no database

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


class Database:
    """A database for several uses, one after the other: to open one costs 14 ms of CPU, a connection next to none. A
    thread waits until another has done with it: the limit of memory is that of all.

    It is opened when it is first used. A connection sees nothing of those before it: what it creates, and what is
    registered with it, goes when it closes.
    """

    def __init__(self, spill: Path, opened: ExitStack) -> None:
        self._spill = spill
        self._opened = opened
        self._used = RLock()

    @cached_property
    def _root(self) -> duckdb.DuckDBPyConnection:
        return self._opened.enter_context(connect(self._spill))

    @contextmanager
    def connected(self, memory: str = MEMORY) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to an empty catalog, under a limit of memory."""
        with self._used:
            self._root.execute(f"attach ':memory:' as {_CATALOG}")
            try:
                with self._root.cursor() as connection:
                    stop_when_interrupted(connection)
                    connection.execute("set enable_progress_bar = false")  # a setting of each connection
                    connection.execute(f"set memory_limit = '{memory}'")
                    connection.execute(f"use {_CATALOG}")
                    yield connection
            finally:
                self._root.execute(f"detach {_CATALOG}")


@contextmanager
def database(preferred: Path | None = None) -> Iterator[Database]:
    """A database that spills below the preferred folder; what it spilled is removed at the end."""
    spill = spill_folder(preferred)
    try:
        with ExitStack() as opened:
            yield Database(spill.path, opened)
    finally:
        spill.remove()


def create_table(connection: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Copy an Arrow table into a new table of the connection."""
    connection.register("new_rows", rows)
    connection.execute(f"create table {name} as from new_rows")
    connection.unregister("new_rows")


@contextmanager
def connected(preferred: Path | None = None, memory: str = MEMORY) -> Iterator[duckdb.DuckDBPyConnection]:
    """The only connection to a database of its own."""
    with database(preferred) as own, own.connected(memory) as connection:
        yield connection
