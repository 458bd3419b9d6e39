"""What a profile file computes: steps in their order, each an expression or a function of one row, over one batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.functions import FUNCTIONS, has_type
from rageval_batch.columnar.functions.columns import TYPE_WORDS, flat_array, one_array
from rageval_batch.columnar.strings import LARGE_STRING, Flags
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import Params
from rageval_batch.profiles.files import engine
from rageval_batch.profiles.files.expressions import Call, Expression, read_expression
from rageval_batch.profiles.files.fields import LIST_OF_TEXTS, TYPES, Field
from rageval_batch.profiles.files.row_metrics import RowMetric
from rageval_batch.sql_text import quoted

SCORE, FAIL_REASON, FAIL_DETAIL = "score", "fail_reason", "fail_detail"
OUTPUT, CHUNKS = "output", "chunks"
LARGEST = 1e12  # a value of more, either side of 0, is none: sql/exact_sum.sql holds no larger
SMALLEST = 1e-12  # a value of less, but for 0, loses digits there: sums have 18 decimal places
_NUMBER = re.compile(r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)")
_TEXT = re.compile(r'VARCHAR|"NULL"')
_NO_OVERLOAD = re.compile(r"(?:Macro |argument types ')(\w+)\(")


@dataclass(frozen=True)
class Step:
    """A name and how its values come about; `place` says where that is written."""

    name: str
    how: str | RowMetric
    place: str
    _: KW_ONLY
    is_value: bool = False  # of any type; else a number, or of the reason a text


@dataclass(frozen=True)
class Program:
    """All that a profile file computes. It can be pickled."""

    where: str  # how the file is called in messages
    fields: tuple[Field, ...]  # of questions
    outputs: tuple[Field, ...]  # of output rows
    _: KW_ONLY
    params: tuple[str, ...]
    steps: tuple[Step, ...]  # values, metrics, then the score, then the reason
    base: tuple[tuple[str, Any], ...] = ()  # columns (name, type) of the profile that is extended, which come first

    def inputs(self) -> dict[str, pa.DataType]:
        """The columns that expressions may use before any step."""
        named = {one.name: TYPES[one.type] for one in (*self.fields, *self.outputs)}
        return {OUTPUT: LARGE_STRING, CHUNKS: LIST_OF_TEXTS, **named, **dict(self.base)}

    def json_columns(self) -> tuple[str, ...]:
        """The inputs that are JSON."""
        return tuple(one.name for one in self.fields if one.type == "json")


@dataclass(frozen=True)
class Plan:
    """Steps in groups that can run together, each after the steps that it uses."""

    groups: tuple[tuple[Step, ...], ...]
    uses: Mapping[str, tuple[str, ...]]  # of each step
    calls: Mapping[str, Call]  # of the steps that are no more than a call of a function of the library

    @property
    def used(self) -> frozenset[str]:
        """Every name that a step uses."""
        return frozenset(name for names in self.uses.values() for name in names)


@lru_cache(maxsize=64)
def plan_of(program: Program) -> Plan:
    """The order of the steps; InputError for an expression that is not allowed or uses a name that is not known."""
    earlier: list[str] = [*program.inputs(), *program.params]
    uses: dict[str, tuple[str, ...]] = {}
    calls: dict[str, Call] = {}
    level: dict[str, int] = {}
    for step in program.steps:
        expression = _expression(program, step, earlier)
        uses[step.name] = expression.names
        if expression.call is not None:
            calls[step.name] = expression.call
        level[step.name] = 1 + max((level.get(name, -1) for name in uses[step.name]), default=-1)
        if step.name not in earlier:
            earlier.append(step.name)
    groups = (tuple(one for one in program.steps if level[one.name] == k) for k in sorted(set(level.values())))
    return Plan(tuple(groups), uses, calls)


def _expression(program: Program, step: Step, earlier: list[str]) -> Expression:
    where = f"{program.where}, {step.place}"
    later = [one.name for one in program.steps if one.name not in earlier]

    def unknown(name: str) -> str:
        if name == step.name:
            return f"'{name}' is used in its own expression."
        if name in later:
            return f"'{name}' comes later. An expression uses metrics that stand before it."
        return did_you_mean("name", name, earlier)

    if isinstance(step.how, RowMetric):
        for name in step.how.names:
            if name not in earlier:
                raise InputError(f"{where}: {unknown(name)}")
        return Expression("", step.how.names)
    return read_expression(step.how, where, earlier, unknown=unknown)


def _misused_function(text: str, error: duckdb.Error) -> str:
    """What a function of the library takes, where an expression calls it with anything else; else empty.

    DuckDB's message names the macro, or what a macro of an overloaded name stands for.
    """
    found = _NO_OVERLOAD.search(engine.first_line(error))
    names = (found[1], found[1].removeprefix("list_")) if found else ()
    name = next((one for one in names if one in FUNCTIONS and re.search(rf"\b{one}\b", text, re.IGNORECASE)), None)
    if name is None:
        return ""
    function = FUNCTIONS[name]
    takes = "; ".join(f"{one.name}: {TYPE_WORDS[one.type]}" for one in function.arguments)
    return f"{function.signature} does not take these arguments. It takes {takes}."


def check_types(program: Program, params: Params) -> None:
    """Bind every expression on no rows; InputError for one of another type than a number, or a text for the reason."""
    plan = plan_of(program)
    table = pa.schema(list(program.inputs().items())).empty_table()
    for group in plan.groups:
        for step in group:
            if isinstance(step.how, RowMetric):
                table = _with(table, step.name, pa.array([], pa.float64()))
                continue
            rows = engine.Rows(table, constants(params), program.json_columns())
            try:
                found = engine.result_types({step.name: step.how}, rows)[step.name]
                column = engine.evaluate({step.name: step.how}, rows)[step.name].column
            except duckdb.Error as error:
                said = _misused_function(step.how, error) or engine.first_line(error)
                raise InputError(f"{program.where}, {step.place}: {said}") from error
            wanted, words = (_TEXT, "a text") if step.name == FAIL_REASON else (_NUMBER, "a number or true/false")
            if not step.is_value and not wanted.fullmatch(found):
                raise InputError(f"{program.where}, {step.place}: the expression is of type {found}. Expected {words}.")
            table = _with(table, step.name, column)


def constants(params: Params) -> dict[str, str]:
    """The parameters as SQL."""
    return {name: _literal(value) for name, value in params.items()}


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f"{quoted(value)}::varchar"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(quoted, value))}]::varchar[]"
    return f"{value!r}::{'bigint' if isinstance(value, int) else 'double'}"


@dataclass
class Computed:
    """The columns of a batch as far as they are computed, and the rows on which a step failed or had no number."""

    table: pa.Table
    failed: dict[str, Flags] = field(default_factory=dict)
    not_finite: dict[str, Flags] = field(default_factory=dict)
    _: KW_ONLY
    too_large: dict[str, Flags] = field(default_factory=dict)

    def column(self, name: str) -> pa.Array:
        """The values of a step."""
        column = self.table.column(name)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def any_failed(self, rows: int) -> Flags:
        """The rows on which any step failed or had no number."""
        flags = np.zeros(rows, np.bool_)
        for found, _ in self.problems():
            for one in found.values():
                flags |= one
        return flags

    def problems(self) -> list[tuple[dict[str, Flags], str]]:
        """The rows of each step by what is wrong with its value there, with the words for it."""
        return [
            (self.failed, "the expression failed"),
            (self.not_finite, "not a finite number"),
            (self.too_large, f"beyond {LARGEST:,.0f}, more than sums hold: it counts as null"),
        ]

    def detail(self, rows: int) -> pa.Array:
        """What went wrong on each row: the steps, and how; null where nothing did."""
        parts = [
            pc.if_else(pa.array(flags), pa.scalar(f"{name}: {what}; ", LARGE_STRING), pa.scalar("", LARGE_STRING))
            for found, what in self.problems()
            for name, flags in found.items()
        ]
        if not parts:
            return pa.nulls(rows, LARGE_STRING)
        whole = pc.utf8_rtrim(pc.binary_join_element_wise(*parts, pa.scalar("", LARGE_STRING)), characters="; ")
        return pc.if_else(pc.equal(whole, ""), pa.scalar(None, LARGE_STRING), whole)


def joined(parts: Sequence[Computed], steps: Sequence[str], places: npt.NDArray[np.int64]) -> Computed:
    """The steps of the parts of a batch as one; row r is row `places[r]` of the parts one after the other."""
    out = Computed(pa.concat_tables([part.table.select(steps) for part in parts]).take(pa.array(places)))
    for kind, (whole, _) in enumerate(out.problems()):
        found = [part.problems()[kind][0] for part in parts]
        for name in (name for name in steps if any(name in flags for flags in found)):
            rows = (part.table.num_rows for part in parts)
            flags = [f.get(name, np.zeros(n, np.bool_)) for f, n in zip(found, rows, strict=True)]
            whole[name] = np.concatenate(flags)[places]
    return out


def run_steps(program: Program, params: Params, table: pa.Table) -> Computed:
    """All steps over the rows of a table of the program's inputs; fields of questions may have a dictionary in it."""
    done = Computed(table)
    plan = plan_of(program)
    for group in plan.groups:
        found, expressions = {}, {}
        for step in group:
            if isinstance(step.how, RowMetric):
                found[step.name] = step.how.values(_with_params(done.table, params, step.how.names))
            elif (column := _called(plan.calls.get(step.name), done.table, program.json_columns())) is not None:
                found[step.name] = engine.Values(column, np.zeros(table.num_rows, np.bool_))
            else:
                expressions[step.name] = step.how
        found |= _evaluated(program, params, done.table, expressions=expressions)
        for step in group:
            _take_values(done, step, found[step.name])
    return done


def _evaluated(
    program: Program, params: Params, table: pa.Table, *, expressions: Mapping[str, str]
) -> dict[str, engine.Values]:
    """Expressions by DuckDB; one that uses fields of the question alone, once for each question."""
    fields = {one.name for one in program.fields}
    uses = plan_of(program).uses
    found, by_row = {}, {}
    for name, text in expressions.items():
        used = [one for one in uses[name] if one not in program.params]
        columns = {one: one_array(table.column(one)) for one in used if one in fields}
        if not used or len(columns) < len(used) or not all(pa.types.is_dictionary(c.type) for c in columns.values()):
            by_row[name] = text
            continue
        questions = pa.table({one: column.dictionary for one, column in columns.items()})
        values = engine.evaluate({name: text}, _expression_rows(program, params, questions, expressions=[name]))[name]
        codes = columns[used[0]].indices
        found[name] = engine.Values(values.column.take(codes), values.failed[codes.to_numpy()])
    return found | engine.evaluate(by_row, _expression_rows(program, params, table, expressions=by_row))


def _expression_rows(program: Program, params: Params, table: pa.Table, *, expressions: Iterable[str]) -> engine.Rows:
    """What expressions see of a table: the columns that they use."""
    uses = plan_of(program).uses
    used = [name for name in table.column_names if any(name in uses[one] for one in expressions)]
    json_columns = tuple(name for name in program.json_columns() if name in used)
    return engine.Rows(table.select(used), constants(params), json_columns)


def _called(call: Call | None, table: pa.Table, json_columns: Sequence[str]) -> pa.Array | None:
    """A call over columns of the very types of its arguments, without DuckDB; None where it is not that."""
    if call is None:
        return None
    if call.function is None:
        name = str(call.arguments[0])
        usable = name in table.column_names and name not in json_columns
        return flat_array(table.column(name)) if usable else None
    function = FUNCTIONS[call.function]
    if function.sql_type or len(call.arguments) != len(function.arguments):
        return None
    columns = []
    for given, argument in zip(call.arguments, function.arguments, strict=True):
        if isinstance(given, int):
            if argument.type != "integer":
                return None
            columns.append(pa.repeat(pa.scalar(given, pa.int64()), table.num_rows))
        elif given not in table.column_names or given in json_columns:
            return None
        elif not has_type(table.column(given).type, argument.type):
            return None  # DuckDB casts it, or says that it does not fit
        else:
            columns.append(table.column(given))
    return function.call(*columns)


def _take_values(done: Computed, step: Step, values: engine.Values) -> None:
    """Take over the values of a step: null where they are no number that can be kept."""
    name, column = step.name, values.column
    if values.failed.any():
        done.failed[name] = values.failed
    if pa.types.is_floating(column.type):
        odd = pc.fill_null(pc.invert(pc.is_finite(column)), False)
        if pc.any(odd).as_py():
            done.not_finite[name] = odd.to_numpy(zero_copy_only=False)
            column = pc.if_else(odd, pa.scalar(None, column.type), column)
    if not step.is_value and _is_number(column.type):
        large = pc.fill_null(pc.greater(pc.abs(column.cast(pa.float64(), safe=False)), LARGEST), False)
        if pc.any(large).as_py():
            done.too_large[name] = large.to_numpy(zero_copy_only=False)
            column = pc.if_else(large, pa.scalar(None, column.type), column)
    done.table = _with(done.table, name, column)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_floating(type_) or pa.types.is_integer(type_) or pa.types.is_decimal(type_))


def _with(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    """A table with a column, in place of an older one of the name."""
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _with_params(table: pa.Table, params: Params, names: Sequence[str]) -> pa.Table:
    for name in names:
        if name in params and name not in table.column_names:
            table = table.append_column(name, pa.array([params[name]] * table.num_rows))
    return table


def failure(program: Program, params: Params, step: Step, *, table: pa.Table) -> str:
    """Why a step fails on the first row of a table with all that it uses; empty where it does not."""
    if isinstance(step.how, RowMetric):
        return step.how.failure(_with_params(table, params, step.how.names))
    return engine.failure(step.how, engine.Rows(table, constants(params), program.json_columns()))
