"""Columns over NumPy arrays are those that Arrow makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from rageval_batch.columnar.arrays import as_arrow

DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float64]


@given(st.data(), st.sampled_from(DTYPES), st.integers(0, 40), st.sampled_from([1, 2, -1]))
def test_columns_are_those_of_arrow(data: st.DataObject, dtype: Any, size: int, step: int) -> None:
    """Also where the values have gaps between them, NaN is a value, and rows are null."""
    values = data.draw(of_numpy.arrays(dtype, size))[::step]
    valid = data.draw(of_numpy.arrays(np.bool_, len(values)))
    for made, wanted in (
        (as_arrow(values), pa.array(values)),
        (as_arrow(values, valid), pa.array(values, mask=~valid)),
    ):
        made.validate(full=True)
        assert made.type == wanted.type and made.null_count == wanted.null_count
        assert [repr(one) for one in made.to_pylist()] == [repr(one) for one in wanted.to_pylist()]


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_numbers_are_not_copied(dtype: Any) -> None:
    values = np.arange(10).astype(dtype)
    assert as_arrow(values).buffers()[1].address == values.ctypes.data
