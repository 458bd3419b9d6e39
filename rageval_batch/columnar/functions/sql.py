"""The functions as DuckDB has them: Arrow columns in, one Arrow column out, null handled by the function itself.

A function that takes a text or a list of texts is two overloads of a macro over one registered function: DuckDB
registers a name once. `contains` is a macro too, because the name is taken by a function of DuckDB; of lists it keeps
DuckDB's meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, Signature
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.functions.declaration import Argument, Function
from rageval_batch.columnar.functions.library import FUNCTIONS

_SQL_ARGUMENT = {
    "text": "VARCHAR",
    "refs": "VARCHAR[]",
    "list": "VARCHAR[]",
    "groups": "VARCHAR[][]",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "numbers": "DOUBLE[]",
}
# Overloads: the type that is taken beside the one above, and how it becomes that.
_OVERLOADS = {
    "refs": ("VARCHAR", "[{name}]"),
    "list": ("VARCHAR", "case when {name} is not null then [{name}] end"),
    "groups": ("VARCHAR[]", "list_transform({name}, lambda phrase: [phrase])"),
}
_SQL_RESULT = {
    pa.float64(): "DOUBLE",
    pa.int32(): "INTEGER",
    pa.bool_(): "BOOLEAN",
    pa.large_string(): "VARCHAR",
    pa.large_list(pa.large_string()): "VARCHAR[]",
    pa.large_list(pa.float64()): "DOUBLE[]",
}
_JSON = pa.json_(pa.large_string())
# Names of DuckDB's that mean ours for texts, and what they still mean for anything else.
_BUILT_IN = {"contains": "(items, item) as list_contains(items, item)"}


def sql_result(function: Function) -> str:
    """The SQL type of a function's result."""
    return function.sql_type or _SQL_RESULT[function.result]


def register_functions(connection: Any, names: Iterable[str] = FUNCTIONS) -> list[str]:
    """Create functions in a DuckDB connection, else all; the names that `remove_function` takes before it is closed."""
    return [_register(connection, FUNCTIONS[name]) for name in names]


def _register(connection: Any, function: Function) -> str:
    overloaded = any(argument.type in _OVERLOADS for argument in function.arguments)
    hidden = overloaded or function.name in _BUILT_IN
    name = f"rageval_{function.name}" if hidden else function.name
    types = [_SQL_ARGUMENT[argument.type] for argument in function.arguments]
    connection.create_function(
        name, _udf(function), types, sql_result(function), type="arrow", null_handling="special"
    )  # fmt: skip
    if hidden:
        overloads = _overloads(name, function)
        if function.name in _BUILT_IN:
            overloads.append(_BUILT_IN[function.name])
        connection.execute(f"create or replace macro {function.name}{', '.join(overloads)}")
    return name


def _udf(function: Function) -> Any:
    """A plain function whose signature names the arguments: DuckDB counts them there."""

    def call(*columns: Any) -> pa.Array:
        found = function.call(*columns)
        return pa.ExtensionArray.from_storage(_JSON, found) if function.sql_type == "JSON" else found

    names = (argument.name for argument in function.arguments)
    signature = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in names])
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _overloads(name: str, function: Function) -> list[str]:
    """The parameters and bodies of the macro, one for each combination of types."""
    ways: list[list[tuple[str, str]]] = [[]]
    for argument in function.arguments:
        ways = [[*way, option] for way in ways for option in _options(argument)]
    return [
        f"({', '.join(parameter for parameter, _ in way)}) as {name}({', '.join(value for _, value in way)})"
        for way in ways
    ]


def _options(argument: Argument) -> list[tuple[str, str]]:
    """(parameter, value) of each type that an argument may have."""
    options = [(f"{argument.name} {_SQL_ARGUMENT[argument.type]}", argument.name)]
    if argument.type in _OVERLOADS:
        other, value = _OVERLOADS[argument.type]
        options.insert(0, (f"{argument.name} {other}", value.format(name=argument.name)))
    return options
