"""Bytes of rows, against the sizes of their values one by one; sizes of compressed Arrow files."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.row_sizes import size
from rageval_batch.columnar.ipc_sizes import batch_sizes
from rageval_batch.columnar.row_sizes import bytes_at_most, row_sizes

TEXT = st.none() | st.text(max_size=8)
LISTS = st.none() | st.lists(TEXT, max_size=3)
VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.string(): TEXT,
    pa.large_string(): TEXT,
    pa.string_view(): st.none() | st.text(max_size=20),
    pa.dictionary(pa.int32(), pa.string()): TEXT,
    pa.list_(pa.string()): LISTS,
    pa.large_list(pa.dictionary(pa.int8(), pa.string())): LISTS,
    pa.list_view(pa.string()): LISTS,
    pa.struct({"a": pa.string(), "n": pa.int32()}): st.fixed_dictionaries({"a": TEXT, "n": st.integers(0, 9)}),
    pa.map_(pa.string(), pa.string()): st.lists(st.tuples(st.text(max_size=3), TEXT), max_size=3),
    pa.list_(pa.list_(pa.string())): st.none() | st.lists(LISTS, max_size=3),
    pa.list_(pa.string(), 2): st.lists(TEXT, min_size=2, max_size=2),
}


@given(st.data(), st.sampled_from(list(VALUES)), st.integers(0, 3))
def test_sizes_of_rows(data: st.DataObject, kind: pa.DataType, start: int) -> None:
    """Of every type, and of a slice, which shares its buffers with the rows before it."""
    values = data.draw(st.lists(VALUES[kind], min_size=start, max_size=8))
    batch = pa.record_batch({"x": pa.array(values, kind), "y": pa.array(range(len(values)), pa.int64())}).slice(start)
    found = row_sizes(batch).tolist()
    assert found == [8 + size(value, kind) for value in values[start:]]
    most = bytes_at_most(batch)
    assert most is None or most >= sum(found)


def test_runs_and_unions_count_for_each_row() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["a", "four"]))
    assert row_sizes(pa.record_batch({"x": runs}).slice(1, 3)).tolist() == [1, 4, 4]
    columns = [pa.array(["abc", "z"]), pa.array(["twelve"])]
    dense = pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), columns)
    assert row_sizes(pa.record_batch({"x": dense}).slice(1)).tolist() == [6, 1]
    columns = [pa.array(["abc", "", "z"]), pa.array(["", "twelve", ""])]
    sparse = pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), columns)
    assert row_sizes(pa.record_batch({"x": sparse}).slice(1)).tolist() == [6, 1]


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
def test_size_of_a_compressed_file(compression: str, new: object, tmp_path: Path) -> None:
    """No less than the tables that were written, dictionaries included; nothing where nothing is compressed."""
    table = pa.table({"a": ["x" * 1_000] * 2_000, "d": pa.array(["y" * 10_000] * 2_000).dictionary_encode()})
    found = {}
    for kind in (compression, None):
        out = io.BytesIO()
        with new(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=kind)) as writer:  # type: ignore[operator]
            writer.write_table(table, max_chunksize=700)
        found[kind] = sum(batch_sizes(pa.BufferReader(out.getvalue()), mapped=True))
    assert found[None] == 0
    assert 2_010_000 <= found[compression] <= 2_100_000


@pytest.mark.parametrize("content", [b"", b"ARROW1\0\0", b"ARROW1\0\0\xff\xff\xff\xff\x08\0\0\0junkjunk", b"no arrow"])
def test_what_is_no_arrow_file_has_no_size(content: bytes) -> None:
    assert sum(batch_sizes(pa.BufferReader(content), mapped=True)) == 0
