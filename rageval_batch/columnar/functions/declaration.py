"""What a function is: name, typed arguments, result, what null and empty give, an example. SQL, Polars and Python
all call it through `Function.call`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.functions.columns import ReadColumn, Type, one_array, read_column, valid_array
from rageval_batch.dataclass import dataclass


@dataclass(frozen=True)
class Argument:
    """An argument by name and type; `optional`: it may be null, and the function says what that means."""

    name: str
    type: Type
    optional: bool = False


@dataclass(frozen=True)
class Example:
    """A call as SQL writes it, and the value that it has."""

    sql: str
    value: Any


@dataclass(frozen=True)
class Function:
    """An operation over columns. Its code is the function of the same name in `module`, imported at the first call."""

    name: str
    arguments: tuple[Argument, ...]
    result: pa.DataType
    _: KW_ONLY
    doc: str
    example: Example
    module: str  # of this package
    nulls: str = ""  # what null and empty give, beyond an argument that is null
    sql_type: str = ""  # of the result, where Arrow has no type of its own for it

    @property
    def null_rule(self) -> str:
        """What null and empty give."""
        optional = [argument.name for argument in self.arguments if argument.optional]
        other = f" other than {', '.join(optional)}" if optional else ""
        return f"Null where an argument{other} is null. {self.nulls}".rstrip()

    @property
    def signature(self) -> str:
        """The call with the names of its arguments."""
        return f"{self.name}({', '.join(argument.name for argument in self.arguments)})"

    @cached_property
    def _code(self) -> Callable[..., Any]:
        code: Callable[..., Any] = getattr(import_module(f"{__package__}.{self.module}"), self.name)
        return code

    def _read(self, array: pa.Array, argument: Argument) -> ReadColumn:
        try:
            return read_column(array, argument.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TypeError(
                f"{self.signature}: {argument.name} is of type {argument.type}; a column of {array.type} does not fit."
            ) from error

    def valid(self, *columns: Any) -> list[pa.Array]:
        """Columns that a caller gave, one for each argument, as Arrow arrays; ValueError for one that is not valid."""
        self._check_count(columns)
        return [
            valid_array(column, f"{self.signature}: {argument.name}")
            for column, argument in zip(columns, self.arguments, strict=True)
        ]

    def _check_count(self, columns: Sequence[Any]) -> None:
        if len(columns) != len(self.arguments):
            raise TypeError(f"{self.signature} takes {len(self.arguments)} columns; {len(columns)} were given.")

    def call(self, *columns: Any) -> pa.Array:
        """The result for Arrow columns of equal length, one for each argument."""
        self._check_count(columns)
        arrays = [one_array(column) for column in columns]
        if len({len(array) for array in arrays}) > 1:
            lengths = ", ".join(str(len(array)) for array in arrays)
            raise ValueError(f"{self.signature} takes columns of one length; these have {lengths} rows.")
        read = [self._read(array, argument) for array, argument in zip(arrays, self.arguments, strict=True)]
        found = self._code(*(column.values for column in read))
        out = found if isinstance(found, pa.Array) else pa.array(found)
        out = out if out.type == self.result else out.cast(self.result)
        valid = np.ones(len(out), np.bool_)
        for column, argument in zip(read, self.arguments, strict=True):
            if not argument.optional:
                valid &= column.valid
        return out if valid.all() else pc.if_else(pa.array(valid), out, pa.scalar(None, self.result))
