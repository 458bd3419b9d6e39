"""DuckDB sessions that can only compute: no files, no extensions, no settings; and expressions run in them."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.functions import register_functions
from rageval_batch.columnar.functions.columns import flat_array
from rageval_batch.columnar.strings import Flags
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.sql_text import identifier

MEMORY = "512MB"  # an expression that needs more fails, as there is no place to spill to
_ROW = "row number"  # no name of a profile file has a space in it
_SETTINGS: dict[str, Any] = {
    "threads": 1,  # batches are scored on threads already
    "memory_limit": MEMORY,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_NOT_OF_ROWS = (duckdb.InterruptException, duckdb.InternalException, duckdb.FatalException)
_OF_OURS = "Python exception occurred while executing the UDF"
_LOCKS = "set TimeZone = 'UTC'; set enable_external_access = false; set lock_configuration = true"

_idle: list[duckdb.DuckDBPyConnection] = []
_registered: dict[int, list[str]] = {}  # names of functions by the id of their session
_guard = Lock()


@contextmanager
def locked_session() -> Iterator[duckdb.DuckDBPyConnection]:
    """A session of one's own with the functions of the library; it is used again, as opening one takes long."""
    with _guard:
        session = _idle.pop() if _idle else None
    session = session or _open()
    try:
        yield session
    finally:
        with _guard:
            _idle.append(session)


def _open() -> duckdb.DuckDBPyConnection:
    session = duckdb.connect(config=_SETTINGS)
    _registered[id(session)] = register_functions(session)
    session.execute(_LOCKS)
    return session


@atexit.register
def close_sessions() -> None:
    """Close the sessions that are not in use."""
    with _guard:
        while _idle:
            session = _idle.pop()
            for name in _registered.pop(id(session)):
                session.remove_function(name)
            session.close()


def syntax_tree(statement: str) -> dict[str, Any]:
    """What DuckDB's parser makes of a statement: `error` with its message, else `statements`."""
    with locked_session() as session:
        ((found,),) = session.execute("select json_serialize_sql(?::varchar)", [statement]).fetchall()
    tree: dict[str, Any] = json.loads(found)
    return tree


def has_function(name: str) -> bool:
    """Whether DuckDB itself has a function of that name."""
    with locked_session() as session:
        return bool(session.execute("select 1 from duckdb_functions() where function_name = ?", [name]).fetchall())


@dataclass(frozen=True)
class Values:
    """What an expression gives for each row, and on which rows it fails: it is null there."""

    column: pa.Array
    failed: Flags


@dataclass(frozen=True)
class Rows:
    """The rows that expressions see: columns, constants (typed SQL of each) and columns of JSON text."""

    table: pa.Table
    constants: Mapping[str, str]
    json: tuple[str, ...] = ()

    def select(self, items: Sequence[str]) -> str:
        """The query of some items over the rows; their numbers come last."""
        columns = [
            f"{identifier(name)}::json as {identifier(name)}" if name in self.json else identifier(name)
            for name in self.table.column_names
        ]
        constants = [f"{value} as {identifier(name)}" for name, value in self.constants.items()]
        inner = f"select {', '.join([*columns, *constants, identifier(_ROW)])} from answers"
        return f"select {', '.join([*items, identifier(_ROW)])} from ({inner})"

    def numbered(self) -> pa.Table:
        """The table with the number of each row; no column has a dictionary."""
        columns = {name: flat_array(self.table.column(name)) for name in self.table.column_names}
        return pa.table({**columns, _ROW: pa.array(np.arange(self.table.num_rows))})


def result_types(expressions: Mapping[str, str], rows: Rows) -> dict[str, str]:
    """The type of each expression by DuckDB's binder; duckdb.Error where one cannot be bound."""
    with locked_session() as session:
        session.register("answers", rows.numbered())
        try:
            query = rows.select([f"({text}\n) as {identifier(name)}" for name, text in expressions.items()])
            types = session.sql(query).types
        finally:
            session.unregister("answers")
    return {name: str(type_) for name, type_ in zip(expressions, types, strict=False)}


def evaluate(expressions: Mapping[str, str], rows: Rows) -> dict[str, Values]:
    """Expressions over whole columns. Where one fails, the others go on and the rows it fails on are null."""
    if not expressions:
        return {}
    with locked_session() as session:
        session.register("answers", rows.numbered())
        try:
            return _evaluate(session, expressions, rows)
        finally:
            session.unregister("answers")


def failure(text: str, rows: Rows) -> str:
    """What DuckDB says where an expression fails on the first row; empty where it does not."""
    with locked_session() as session:
        session.register("answers", Rows(rows.table.slice(0, 1), rows.constants, rows.json).numbered())
        try:
            session.execute(rows.select([f"({text}\n)"])).fetchall()
        except duckdb.Error as error:
            return first_line(error)
        finally:
            session.unregister("answers")
    return ""


def first_line(error: Exception) -> str:
    """The first line of a message of DuckDB."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _evaluate(session: duckdb.DuckDBPyConnection, expressions: Mapping[str, str], rows: Rows) -> dict[str, Values]:
    none = np.zeros(rows.table.num_rows, np.bool_)
    items = [f"({text}\n) as {identifier(name)}" for name, text in expressions.items()]
    try:
        found = _columns(session, rows.select(items))
        return {name: Values(column, none) for name, column in zip(expressions, found, strict=True)}
    except _NOT_OF_ROWS:
        raise
    except duckdb.Error:
        return {name: _tried(session, name, text, rows=rows) for name, text in expressions.items()}


def _tried(session: duckdb.DuckDBPyConnection, name: str, text: str, *, rows: Rows) -> Values:
    """One expression, row by row where it fails: a row that fails has no struct around its value.

    Our own functions fail on no row: where one does, that is an error of ours and no null.
    """
    value = f"{{'value': ({text}\n)}}"
    try:
        (found,) = _columns(session, rows.select([f"try({value}) as tried"]))
    except _NOT_OF_ROWS:
        raise
    except duckdb.SyntaxException as error:  # of what is written in the expression, whatever the row
        raise InputError(f"The expression of {name} cannot be computed: {first_line(error)}") from error
    except duckdb.Error:  # not every function of DuckDB leaves its errors to `try`
        found = _by_halves(session, rows.select([f"{value} as tried"]), rows.table.num_rows)
    failed = found.is_null().to_numpy(zero_copy_only=False)
    if failed.any():
        query = rows.select([f"({text}\n)"])
        first = f"{query} where {identifier(_ROW)} = {int(failed.argmax())}"
        try:
            session.execute(first).fetchall()
        except duckdb.Error as error:
            if _OF_OURS in str(error):
                raise
    return Values(pc.struct_field(found, "value"), failed)


def _by_halves(session: duckdb.DuckDBPyConnection, query: str, count: int) -> pa.Array:
    """The value of a query for every row, null where it fails: of ever fewer rows, until one fails alone."""
    number = identifier(_ROW)
    parts: list[pa.Array] = []
    waiting = [(0, count)]
    while waiting:
        first, last = waiting.pop()
        try:
            parts += _columns(session, f"from ({query}) where {number} >= {first} and {number} < {last}")
        except _NOT_OF_ROWS:
            raise
        except duckdb.Error:
            middle = (first + last) // 2
            if middle > first:
                waiting += [(middle, last), (first, middle)]
            else:
                parts.append(pa.nulls(1))
    known = [part.type for part in parts if not pa.types.is_null(part.type)]
    type_ = known[0] if known else pa.struct([("value", pa.null())])
    return pa.concat_arrays([part.cast(type_) for part in parts])


def _columns(session: duckdb.DuckDBPyConnection, query: str) -> list[pa.Array]:
    """The columns of a query but the last, in the order of that: the numbers of its rows."""
    table = session.sql(query).to_arrow_table()
    numbers = table.column(table.num_columns - 1).to_numpy()
    columns = [
        column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in table.columns[:-1]
    ]
    if (numbers[1:] > numbers[:-1]).all():
        return columns
    order = pa.array(np.argsort(numbers, kind="stable"))
    return [column.take(order) for column in columns]
