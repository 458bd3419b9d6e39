"""NumPy arrays as Arrow columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar.strings import Flags, bitmap


def as_arrow(values: npt.NDArray[Any], valid: Flags | None = None) -> pa.Array:
    """Numbers or flags as a column, numbers over the same memory where they lie without gaps; null where not valid.

    As `pa.array`, which for this would import all that NumPy has for masked arrays, 0.005 s of every command.
    """
    data = bitmap(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    mask = None if valid is None or valid.all() else bitmap(valid)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [mask, data])
