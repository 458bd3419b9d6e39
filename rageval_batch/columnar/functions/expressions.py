"""The functions as Polars expressions: `pl.col("answer").rageval.token_f1(pl.col("reference"))`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

from rageval_batch.columnar.functions.declaration import Function
from rageval_batch.columnar.functions.library import FUNCTIONS

_DATA_TYPES = {
    pa.float64(): pl.Float64(),
    pa.int32(): pl.Int32(),
    pa.bool_(): pl.Boolean(),
    pa.large_string(): pl.String(),
    pa.large_list(pa.large_string()): pl.List(pl.String()),
    pa.large_list(pa.float64()): pl.List(pl.Float64()),
}


def _on_series(function: Function, series: Sequence[pl.Series]) -> pl.Series:
    """The function over columns of a frame; a literal is as long as the others."""
    lengths = {len(one) for one in series}
    rows = 0 if 0 in lengths else max(lengths)
    columns = [(one if len(one) == rows else one.new_from_index(0, rows)).to_arrow() for one in series]
    return pl.Series(series[0].name, function.call(*function.valid(*columns)), dtype=_DATA_TYPES[function.result])


def expression(function: Function, *arguments: Any) -> pl.Expr:
    """A call as an expression. A string names a column, as everywhere in Polars; numbers are literals."""
    if len(arguments) != len(function.arguments):
        raise TypeError(f"{function.signature} takes {len(function.arguments)} columns; {len(arguments)} were given.")
    columns = [pl.col(given) if isinstance(given, str) else _literal(given) for given in arguments]
    return pl.map_batches(
        columns, partial(_on_series, function), return_dtype=_DATA_TYPES[function.result], is_elementwise=True
    )  # fmt: skip


def _literal(given: Any) -> pl.Expr:
    return given if isinstance(given, pl.Expr) else pl.lit(given)


def _method(function: Function) -> Callable[..., pl.Expr]:
    def method(self: Any, *arguments: Any) -> pl.Expr:
        return expression(function, self._first, *arguments)

    method.__name__ = function.name
    method.__doc__ = f"{function.doc}\n\n{function.null_rule}"
    return method


class Namespace:
    """The functions as methods of an expression, which is their first argument."""

    def __init__(self, first: pl.Expr) -> None:
        self._first = first


for _function in FUNCTIONS.values():
    setattr(Namespace, _function.name, _method(_function))

pl.api.register_expr_namespace("rageval")(Namespace)
