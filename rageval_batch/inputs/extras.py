"""Columns of output rows that are no known field: kept with the answer, typed by what all their values are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.strings import LARGE_STRING, Offsets
from rageval_batch.inputs.readers import BOOLEAN, NUMERIC, TEXT, Column

KEYS = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("question_id", LARGE_STRING),
        ("repeat", pa.int32()),
        ("input", pa.int32()),
        ("line", pa.int64()),
    ]
)
ORDER = ("run_id", "question_id", "repeat", "input", "line")  # of the rows of a commit
_TYPES = {
    b"integer": pa.int64(),
    b"number": pa.float64(),
    b"boolean": pa.bool_(),
    b"text": LARGE_STRING,
}
_KIND = b"kind"
_EMPTY = b"empty"  # a column of a columnar file that has no value in a part: it keeps its place among the others
_INTEGER = r"^-?(0|[1-9]\d{0,17})$"
_NUMBER = r"^-?(0|[1-9]\d{0,17})(\.\d+)?([eE][+-]?\d{1,3})?$"


def extras_of(
    keys: pa.RecordBatch, columns: Sequence[Column], rows: Offsets, *, size: int, typeless: bool
) -> pa.RecordBatch:
    """Keys of the chosen `rows` of a block of `size` rows, and their columns as texts that say what they are.

    `typeless`: cells of a file that has texts alone, where what looks like a number is one and a blank is nothing.
    """
    place = np.full(size, -1, np.int64)
    place[rows] = np.arange(len(rows))
    arrays, fields = list(keys.columns), list(keys.schema)
    for column in columns:
        if column.name in keys.schema.names:
            continue
        mine = place[column.rows] >= 0
        index = np.zeros(len(rows), np.int64)
        lacking = np.ones(len(rows), np.bool_)
        index[place[column.rows[mine]]] = np.flatnonzero(mine)
        lacking[place[column.rows[mine]]] = False
        text = column.text.take(as_arrow(index, ~lacking))
        if typeless:
            text = pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, LARGE_STRING), text)
        kind = _EMPTY if text.null_count == len(text) else _kind_of(column.kind[mine], text, typeless)
        arrays.append(text)
        fields.append(pa.field(column.name, LARGE_STRING, metadata={_KIND: kind}))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _kind_of(found: npt.NDArray[np.int8], text: pa.Array, typeless: bool) -> bytes:
    kinds = set(as_arrow(found).unique().to_pylist())
    if kinds == {NUMERIC} or (typeless and kinds == {TEXT}):
        for kind, pattern in ((b"integer", _INTEGER), (b"number", _NUMBER)):
            if pc.all(pc.match_substring_regex(text, pattern)).as_py():
                return kind
        return b"number" if kinds == {NUMERIC} and _fits_float(text) else b"text"
    return b"boolean" if kinds == {BOOLEAN} else b"text"


def _fits_float(text: pa.Array) -> bool:
    """Whether numbers lose nothing that matters as floats: none of them is a long whole number, such as an id."""
    return not pc.any(pc.match_substring_regex(text, r"^-?\d{19,}$")).as_py()


def _common_kinds(schemas: Iterable[pa.Schema]) -> dict[str, bytes]:
    """What every column of the parts is in all of them, in the order in which they are met."""
    kinds: dict[str, bytes] = {}
    for schema in schemas:
        for field in list(schema)[len(KEYS) :]:
            kind = field.metadata[_KIND]
            before = kinds.setdefault(field.name, kind)
            if before == _EMPTY:
                kinds[field.name] = kind
            elif kind not in (before, _EMPTY):
                kinds[field.name] = b"number" if {before, kind} == {b"integer", b"number"} else b"text"
    return kinds


def joined_extras(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of several parts as one part; null where a part lacks a column."""
    kinds = _common_kinds(part.schema for part in parts)
    fields = (pa.field(name, LARGE_STRING, metadata={_KIND: kind}) for name, kind in kinds.items())
    schema = pa.schema([*KEYS, *fields])
    return pa.concat_batches([typed(part, schema) for part in parts])


def common_schema(schemas: Iterable[pa.Schema], left_out: frozenset[str] = frozenset()) -> pa.Schema:
    """The keys, and every column that has a value with the one type that all parts allow; text where they differ."""
    kinds = _common_kinds(schemas)
    left_out = left_out.union(name for name, kind in kinds.items() if kind == _EMPTY)
    return pa.schema([*KEYS, *((name, _TYPES[kind]) for name, kind in kinds.items() if name not in left_out)])


def typed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A part as a batch of the common schema; null where it lacks a column."""
    columns = [
        batch.column(field.name).cast(field.type) if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def filled(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a part that have any of the columns of the common schema: what else a part has depends on which rows
    were read together."""
    rows = typed(batch, schema)
    there = np.zeros(rows.num_rows, np.bool_)
    for column in rows.columns[len(KEYS) :]:
        there |= column.is_valid().to_numpy(zero_copy_only=False)
    return rows if there.all() else rows.filter(as_arrow(there))
