"""The library of functions for Python: each over Arrow columns, and as Polars expressions under `rageval`.

    from rageval_batch import functions
    functions.token_f1(answers, references)
    frame.select(pl.col("answer").rageval.token_f1(pl.col("reference")))

A column is an Arrow array, a Polars or pandas series or a list; a text or number stands for a column of it.
`FUNCTIONS` has the declarations. `rageval functions` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.functions import FUNCTIONS, Function, expressions

__all__ = ["FUNCTIONS", "Function", "expressions"]
__all__ += list(FUNCTIONS)

_SCALARS = (str, int, float)


def _over_columns(function: Function) -> Callable[..., pa.Array]:
    def call(*columns: Any) -> pa.Array:
        arrays = function.valid(*([column] if isinstance(column, _SCALARS) else column for column in columns))
        alone = [isinstance(column, _SCALARS) for column in columns]
        rows = next((len(array) for array, is_one in zip(arrays, alone, strict=True) if not is_one), 1)
        return function.call(
            *(pa.repeat(array[0], rows) if is_one else array for array, is_one in zip(arrays, alone, strict=True))
        )

    call.__name__ = call.__qualname__ = function.name
    call.__doc__ = f"{function.signature}: {function.doc}\n\n{function.null_rule}"
    return call


_CALLS = {name: _over_columns(function) for name, function in FUNCTIONS.items()}


def __getattr__(name: str) -> Callable[..., pa.Array]:
    """A function by its name."""
    if name not in _CALLS:
        raise AttributeError(f"module 'rageval_batch.functions' has no attribute '{name}'")
    return _CALLS[name]
