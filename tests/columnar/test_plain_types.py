"""Columns of every Arrow type: as plain types, in files and frames, as columns that nobody asks for and as fields."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rageval_batch
from rageval_batch.columnar.plain_types import plain_column
from rageval_batch.columnar.row_sizes import row_sizes
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError

ONE, TWO = uuid.UUID(int=0x12345678_1234_5678_1234_567812345678), uuid.UUID(int=2**128 - 1)
DAY = dt.datetime(2024, 3, 5)


def stored(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """An array of an extension type."""
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


# Array, and its values as plain ones.
EXOTIC: dict[str, tuple[pa.Array, list[Any]]] = {
    "uuid": (pa.array([ONE.bytes, None, TWO.bytes], pa.uuid()), [str(ONE), None, str(TWO)]),
    "uuids in lists": (
        pa.ListArray.from_arrays(pa.array([0, 1, 1, 2], pa.int32()), pa.array([ONE.bytes, TWO.bytes], pa.uuid())),
        [f'["{ONE}"]', "[]", f'["{TWO}"]'],
    ),
    "json": (stored(pa.json_(), ['{"a": 1}', None, "2"]), ['{"a": 1}', None, "2"]),
    "bool8": (stored(pa.bool8(), [1, None, 0]), [1, None, 0]),
    "tensor": (stored(pa.fixed_shape_tensor(pa.int32(), [2]), [[1, 2], [3, 4], [5, 6]]), [[1, 2], [3, 4], [5, 6]]),
    "half float": (pa.array(np.array([1.5, 2.0, -0.25], np.float16)), [1.5, 2.0, -0.25]),
    "half float in struct": (
        pa.StructArray.from_arrays([pa.array(np.array([1.5, 2.0, 3.0], np.float16))], ["h"]),
        [{"h": 1.5}, {"h": 2.0}, {"h": 3.0}],
    ),
    "wide decimal": (pa.array([Decimal("1.25"), None, Decimal(3)], pa.decimal256(60, 2)), [1.25, None, 3.0]),
    "narrow decimal": (pa.array([Decimal("1.25"), None, Decimal(3)], pa.decimal32(5, 2)), [Decimal("1.25"), None, 3]),
    "unknown zone": (pa.array([DAY, None, DAY], pa.timestamp("us", "Mars/Phobos")), [DAY, None, DAY]),
    "interval": (
        pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
        ["MonthDayNano(months=1, days=2, nanoseconds=3)", None, "MonthDayNano(months=4, days=5, nanoseconds=6)"],
    ),
    "runs": (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", "y"])), ["x", "x", "y"]),
    "union": (
        pa.UnionArray.from_dense(
            pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["x"])]
        ),
        ["1", "x", "2"],
    ),
    "view of texts": (pa.array(["abc", None, "x"], pa.string_view()), ["abc", None, "x"]),
    "view of bytes": (pa.array([b"abc", None, b"\xff"], pa.binary_view()), [b"abc", None, b"\xff"]),
    "bytes of one width": (pa.array([b"abc", None, b"\xff\x00a"], pa.binary(3)), [b"abc", None, b"\xff\x00a"]),
    "view of lists": (pa.array([[1, 2], None, [3]], pa.list_view(pa.int64())), [[1, 2], None, [3]]),
    "large view of lists": (pa.array([[1, 2], None, []], pa.large_list_view(pa.int64())), [[1, 2], None, []]),
    "dictionary of views": (
        pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), pa.array(["a", "b"], pa.string_view())),
        ["a", None, "b"],
    ),
}
# Those that are plain already: the same objects come back.
PLAIN = [
    pa.array([1, None], pa.uint64()), pa.array([DAY, None], pa.timestamp("ns", "Europe/Berlin")),
    pa.array([2**31 - 1, None], pa.date32()), pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int32())),
    pa.array([[1], None], pa.large_list(pa.int8())), pa.array([Decimal("1.5"), None]), pa.nulls(2),
    pa.array([{}, None]), pa.array(["a", None]).dictionary_encode(), pa.array([1, None], pa.duration("s")),
    pa.array([b"\xff", None]),
]  # fmt: skip


@pytest.mark.parametrize("name", EXOTIC)
def test_plain_values(name: str) -> None:
    column, values = EXOTIC[name]
    found = plain_column(column)
    found.validate(full=True)
    shown = [value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value for value in found.to_pylist()]
    assert shown == values
    assert plain_column(column[1:]).to_pylist() == found[1:].to_pylist()
    assert len(plain_column(column[:0])) == 0


@pytest.mark.parametrize("column", PLAIN, ids=[str(column.type) for column in PLAIN])
def test_a_plain_column_stays(column: pa.Array) -> None:
    assert plain_column(column) is column


@given(st.lists(st.none() | st.uuids(), max_size=8), st.integers(0, 8))
def test_uuids(values: list[uuid.UUID | None], start: int) -> None:
    column = pa.array([value and value.bytes for value in values], pa.uuid())[start:]
    assert plain_column(column).to_pylist() == [value and str(value) for value in values[start:]]
    assert plain_column(column).type == LARGE_STRING


@pytest.mark.parametrize("column", [*(column for column, _ in EXOTIC.values()), *PLAIN], ids=lambda one: str(one.type))
def test_rows_of_every_type_have_sizes(column: pa.Array) -> None:
    sizes = row_sizes(pa.record_batch({"x": column}).slice(1))
    assert len(sizes) == len(column) - 1 and (sizes >= 0).all()


QUESTIONS = [{"id": id, "question": "?", "must_include": ["alpha"]} for id in ("q0", "q1", "q2", str(ONE))]
ANSWERS = {
    "run_id": pa.array(["r"] * 3), "question_id": pa.array(["q0", "q1", "q2"]), "output": pa.array(["alpha"] * 3)
}  # fmt: skip


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_column_that_nobody_asks_for_changes_no_score(ending: str, tmp_path: Path) -> None:
    """All types in one file, and bytes that are no text."""
    columns = {**ANSWERS, **{name: column for name, (column, _) in EXOTIC.items()}}
    if ending == "parquet":  # which has fewer types, of some more with each version of Arrow
        columns = {name: column for name, column in columns.items() if fits_parquet(column)}
        unknown = {"interval", "runs", "union", "dictionary of views", "view of lists", "large view of lists"}
        assert {*EXOTIC} - {*columns} <= unknown
    path = write(tmp_path / f"outputs.{ending}", pa.table(columns))
    scored = rageval_batch.score(path, QUESTIONS, profile="include_rate")
    assert scored.rejects.is_empty()
    assert sorted(scored.scores["score"].to_list(), reverse=True)[:3] == [1.0] * 3


@pytest.mark.parametrize("field", ["output", "question_id", "run_id"])
def test_fields_of_every_type(field: str, tmp_path: Path) -> None:
    """Each row is scored or rejected with a reason; no type is an error of the program."""
    for number, name in enumerate(("uuid", "view of bytes", "half float in struct", "unknown zone")):
        rows = {**ANSWERS, field: EXOTIC[name][0], "far": pa.array([2**62, None, -(2**62)], pa.timestamp("s"))}
        path = write(tmp_path / f"{number}.arrow", pa.table(rows))
        try:
            scored = rageval_batch.score(path, QUESTIONS, profile="include_rate")
        except InputError as error:
            assert "can be used" in str(error), name  # every row is a reject
            continue
        known = scored.scores.filter(
            scored.scores["fail_reason"].is_null() | (scored.scores["fail_reason"] != "missing_output")
        )
        assert len(known) + len(scored.rejects) == 3, name


def test_a_uuid_is_the_id_of_a_question(tmp_path: Path) -> None:
    rows = {"run_id": ["r"], "question_id": pa.array([ONE.bytes], pa.uuid()), "output": ["alpha"]}
    path = write(tmp_path / "outputs.parquet", pa.table(rows))
    scored = rageval_batch.score(path, QUESTIONS, profile="include_rate").scores
    assert scored.filter(scored["question_id"] == str(ONE))["score"].to_list() == [1.0]


def fits_parquet(column: pa.Array) -> bool:
    """Whether Arrow can write a column as Parquet."""
    try:
        pq.write_table(pa.table({"column": column}), pa.BufferOutputStream())
    except pa.ArrowNotImplementedError:
        return False
    return True


def write(path: Path, table: pa.Table) -> Path:
    """A table as a Parquet or Arrow file."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return path
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return path
