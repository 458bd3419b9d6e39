"""Frames that are given in memory, as Arrow tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from rageval_batch.errors import InputError


def as_table(frame: Any, name: str) -> pa.Table:
    """A Polars, Arrow or pandas frame, or a list of dicts, as an Arrow table; InputError for anything else."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if hasattr(frame, "collect") and hasattr(frame, "collect_schema"):  # a lazy Polars frame
        frame = frame.collect()
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return _of_pandas(frame, name)
    if isinstance(frame, list) and all(isinstance(row, dict) for row in frame):
        names = dict.fromkeys(key for row in frame for key in row)  # not every row need have every key
        columns = {}
        for key in names:
            with _surrogates_refused(name, key):
                str(key).encode()
                columns[key] = value_column([row.get(key) for row in frame])
        return pa.table(columns)
    kind = f"{type(frame).__name__} of other things" if isinstance(frame, list) else type(frame).__name__
    raise InputError(f"{name}: {kind} is no frame. Give Polars, Arrow, pandas or a list of dicts.")


def _of_pandas(frame: Any, name: str) -> pa.Table:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"{name}: two columns are called {twice!r}. Give each its own name.")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except UnicodeEncodeError:
        for key in frame.columns:
            with _surrogates_refused(name, key):
                pa.Array.from_pandas(frame[key])
        raise
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:  # which ends with the column
        said = " ".join(str(part).rstrip(".") + "." for part in error.args)
        raise InputError(f"{name}: {said} Make all cells of the column of one type.") from error


@contextmanager
def _surrogates_refused(name: str, column: object) -> Iterator[None]:
    """InputError for a text of a column, or for its name, that no file can hold."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name}: column {column!r} has {error.object[error.start]!r}, half of a surrogate pair. "
            "Make it of valid text."
        ) from error


def value_column(values: list[Any]) -> pa.Array:
    """Values as Arrow; of several shapes as JSON texts."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        texts = (
            v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False, default=str) for v in values
        )
        return pa.array(list(texts))


def canonical_json(table: pa.Table) -> bytes:
    """The rows of a table as JSON that does not depend on the kind of frame or the order of its columns."""
    rows = table.to_pylist()
    return json.dumps(rows, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str).encode()
