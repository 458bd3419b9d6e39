"""Metrics that are Python functions of one row: as slow as that sounds, for what no expression can say."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from importlib import import_module
from typing import Any, overload

import numpy as np
import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import DeclarationError
from rageval_batch.profiles.files.engine import Values


@dataclass(frozen=True)
class RowMetric:
    """A function that is called once a row with the values of the names of its parameters."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    doc: str
    _: KW_ONLY
    higher_is_better: bool = True
    scale: float | None = 1.0

    def __reduce__(self) -> Any:
        """It is found again by the name of its function, as functions are."""
        return _named, (self.function.__module__, self.function.__qualname__)

    def __call__(self, *values: Any) -> Any:
        """The function itself."""
        return self.function(*values)

    @property
    def source(self) -> str:
        """Its text, a change of which changes scores; its name where there is none."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return f"{self.function.__module__}.{self.function.__qualname__}"

    def values(self, table: pa.Table) -> Values:
        """Its value for each row; null where it returns None or raises."""
        columns = [table.column(name).to_pylist() for name in self.names]
        found: list[float | None] = []
        failed = np.zeros(table.num_rows, np.bool_)
        for row, values in enumerate(zip(*columns, strict=True)):
            try:
                value = self.function(*values)
                found.append(None if value is None else float(value))
            except Exception:  # whatever a function of somebody else's raises on a row
                found.append(None)
                failed[row] = True
        return Values(pa.array(found, pa.float64()), failed)

    def failure(self, table: pa.Table) -> str:
        """What it raises on the first row; empty where it raises nothing."""
        try:
            value = self.function(*(table.column(name)[0].as_py() for name in self.names))
            return "" if value is None or math.isfinite(float(value)) else f"{value} is no finite number"
        except Exception as error:  # as above
            return f"{type(error).__name__}: {error}"


def _named(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module) or import_module(module), name)


@overload
def row_metric(function: Callable[..., Any]) -> RowMetric: ...
@overload
def row_metric(
    *, higher_is_better: bool = True, scale: float | None = 1.0
) -> Callable[[Callable[..., Any]], RowMetric]: ...
def row_metric(
    function: Callable[..., Any] | None = None, *, higher_is_better: bool = True, scale: float | None = 1.0
) -> RowMetric | Callable[[Callable[..., Any]], RowMetric]:
    """Makes a function of one row a metric of `declare_profile`; its parameters are named like what it needs.

    They are `output`, `chunks`, fields of the question, parameters of the profile and earlier metrics. It returns a
    number, True, False or None, and depends on nothing but its arguments. It runs once a row, on one core: some
    hundred thousand rows a second at best, where an expression does millions.
    """

    def declare(given: Callable[..., Any]) -> RowMetric:
        parameters = inspect.signature(given).parameters.values()
        if any(one.kind is not one.POSITIONAL_OR_KEYWORD for one in parameters):
            raise DeclarationError(f"row metric {given.__name__}: its parameters must have plain names")
        doc = (inspect.getdoc(given) or "").split("\n")[0]
        return RowMetric(
            given, tuple(one.name for one in parameters), doc, higher_is_better=higher_is_better, scale=scale
        )

    return declare if function is None else declare(function)
