"""String columns as flat arrays, whatever Arrow keeps behind a null."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rageval_batch.columnar.strings import LARGE_STRING, RecycledBytes, Strings, from_arrow
from rageval_batch.large_pages import LARGE_PAGE


def test_bytes_behind_a_null_are_no_text() -> None:
    """A JSON null is read as text with a null over it: the rows behind it must not move."""
    data = np.frombuffer(b"onenullthree", np.uint8)
    column = Strings(data, np.array([0, 3, 7, 12], np.int64)).to_arrow(np.array([True, False, True]))
    assert column.to_pylist() == ["one", None, "three"]
    got = from_arrow(column)
    assert [got.at(k) for k in range(3)] == ["one", "", "three"]
    assert [from_arrow(column.slice(1)).at(k) for k in range(2)] == ["", "three"]
    assert len(from_arrow(pa.array([], LARGE_STRING))) == 0


@pytest.mark.parametrize("size", [1_000, LARGE_PAGE + 1_000])
def test_room_is_given_out_again_only_when_nothing_refers_to_it(size: int) -> None:
    """A slice, or an Arrow column of it, keeps it; room of quite another size is not used."""
    buffers = RecycledBytes()
    first = buffers.take(size)
    place = first.ctypes.data
    column = Strings(first[10:20], np.array([0, 10], np.int64)).to_arrow()
    first[10:20] = 97
    del first
    second = buffers.take(size)
    second[:] = 98
    assert second.ctypes.data != place
    assert column.to_pylist() == ["a" * 10]
    del column
    third = buffers.take(size + 10)
    assert third.ctypes.data == place
    del second, third
    assert [len(buffers.take(size)) for size in (10, size, 10 * size)] == [10, size, 10 * size]
