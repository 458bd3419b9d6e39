"""Expressions of a profile file, held against what they may be: one DuckDB expression over the names of one row.

DuckDB's own parser reads them; what it makes of the text is walked, and anything that is not listed here is refused:
statements, subqueries, aggregates, windows, files, settings, other tables, the clock and chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rageval_batch.columnar.functions import FUNCTIONS
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.profiles.files.engine import has_function, syntax_tree
from rageval_batch.profiles.files.names import words_in

_CLASSES = frozenset(
    ("FUNCTION", "COLUMN_REF", "CONSTANT", "CAST", "CASE", "COMPARISON", "CONJUNCTION", "OPERATOR", "BETWEEN", "LAMBDA")
)
_REFUSED = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "STAR": "a *",
    "PARAMETER": "a placeholder of a prepared statement",
    "POSITIONAL_REFERENCE": "a column by its number",
    "COLLATE": "a collation",
    "DEFAULT": "a default",
}
_OPERATORS = frozenset(
    ("OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "OPERATOR_TRY",
     "OPERATOR_NULLIF", "COMPARE_IN", "COMPARE_NOT_IN", "ARRAY_EXTRACT", "ARRAY_SLICE", "ARRAY_CONSTRUCTOR",
     "STRUCT_EXTRACT")
)  # fmt: skip
_TYPES = words_in("""
    boolean bool tinyint smallint integer int int1 int2 int4 int8 bigint hugeint utinyint usmallint uinteger ubigint
    float float4 real double float8 decimal numeric varchar text string char date time timestamp datetime interval json
    list struct
""")
# What DuckDB has that depends on its arguments alone. Similarities of its own work on bytes: ours stand for them.
DUCKDB_FUNCTIONS = words_in("""
    + - * / // % ** ^ || ~~ !~~ ~~* !~~* ~~~ ^@ -> ->> like_escape ilike_escape not_like_escape not_ilike_escape
    abs ceil ceiling floor round trunc sqrt cbrt exp ln log log10 log2 pow power sign mod greatest least pi
    isnan isinf isfinite if ifnull nullif coalesce
    length len char_length character_length lower lcase upper ucase trim ltrim rtrim replace translate reverse
    substring substr left right starts_with ends_with prefix suffix instr strpos position split_part split
    string_split str_split string_split_regex str_split_regex string_to_array regexp_split_to_array regexp_matches
    regexp_full_match regexp_extract regexp_extract_all regexp_replace regexp_escape concat concat_ws strip_accents
    nfc_normalize ascii unicode ord chr
    list_value list_contains list_has list_has_any list_has_all list_position list_indexof list_distinct list_unique
    list_sort list_reverse_sort list_reverse list_slice list_extract list_element list_concat list_cat list_append
    list_prepend list_filter list_apply list_transform list_reduce list_zip list_intersect list_where list_select
    list_sum list_avg list_min list_max list_count list_first list_last list_median list_bool_and list_bool_or
    array_length array_contains array_has array_has_any array_has_all array_position array_distinct array_sort
    array_slice array_extract array_concat array_to_string array_value filter apply flatten
    row struct_pack struct_extract
    json_array_length json_contains json_exists json_extract json_extract_string json_extract_path
    json_extract_path_text json_keys json_type json_valid json_value json_transform from_json to_json
    date_part datepart date_diff datediff date_trunc datetrunc date_add date_sub year month day quarter week weekday
    dayofweek dayofyear hour minute second epoch last_day make_date strptime try_strptime strftime
    to_days to_weeks to_months to_years to_hours to_minutes to_seconds
""")
# The usual aggregates, for a sentence that says so; others are unknown functions.
_AGGREGATES = words_in(
    "sum avg mean count count_star min max median mode first last any_value string_agg list array_agg stddev variance"
)
_SPOKEN = re.compile(r"[a-z_]\w*$")


@dataclass(frozen=True)
class Call:
    """A function of the library over columns and whole numbers, and nothing around it; or a column by itself."""

    function: str | None  # None: the column that is the only argument
    arguments: tuple[str | int, ...]  # names of columns, and numbers


@dataclass(frozen=True)
class Expression:
    """An expression that may be run, and the names of a row that it uses, in their order."""

    text: str
    names: tuple[str, ...]
    call: Call | None = None  # where it is no more than that


@lru_cache(maxsize=1)
def _template() -> dict[str, Any]:
    node: dict[str, Any] = syntax_tree("select (1)")["statements"][0]["node"]
    return _around(node)


def _around(node: dict[str, Any]) -> dict[str, Any]:
    """All of a select but its list: what a text that ends the expression and goes on would change."""
    return {key: value for key, value in node.items() if key != "select_list"}


def read_expression(text: str, where: str, known: Sequence[str], *, unknown: Callable[[str], str]) -> Expression:
    """A text as an expression over known names; InputError with the place where it is anything else.

    `unknown`: the sentence about a name that is not known.
    """
    if not text.strip():
        raise InputError(f"{where}: there is no expression.")
    try:
        tree = syntax_tree(f"select ({text}\n)")
    except RecursionError:
        raise InputError(f"{where}: the expression is nested too deep.") from None
    if tree["error"] and "expression depth" in tree["error_message"]:
        raise InputError(f"{where}: the expression is nested too deep, or too long. Give parts of it names in [let].")
    if tree["error"]:
        raise InputError(
            f"{where}: {tree['error_message'].strip().splitlines()[0].rstrip('.')}. Expected one DuckDB expression."
        )
    node = tree["statements"][0]["node"] if len(tree["statements"]) == 1 else {}
    items = node.get("select_list", [])
    if len(items) != 1 or _around(node) != _template() or items[0]["alias"]:
        raise InputError(f"{where}: there is more than one expression in it. Expected one, without from, as or ;.")
    spelled = {name.lower(): name for name in known}
    return Expression(text, _Walk(where, spelled, unknown).names(items[0]), _call(items[0], spelled))


def _call(part: dict[str, Any], spelled: dict[str, str]) -> Call | None:
    """A tree as a call of a function of the library over names and whole numbers; None where it is anything else."""
    if part["class"] == "COLUMN_REF":
        return Call(None, (spelled[part["column_names"][0].lower()],))
    if part["class"] != "FUNCTION" or part["function_name"].lower() not in FUNCTIONS:
        return None
    arguments: list[str | int] = []
    for one in (argument["expression"] for argument in part["arguments"]):
        if one["class"] == "COLUMN_REF":
            arguments.append(spelled[one["column_names"][0].lower()])
        elif one["class"] == "CONSTANT" and one["literal"]["kind"] == "INTEGER":
            arguments.append(int(one["literal"]["text"]))
        else:
            return None
    return Call(part["function_name"].lower(), tuple(arguments))


class _Walk:
    """Goes through the tree of an expression and refuses what is not allowed."""

    def __init__(self, where: str, known: dict[str, str], unknown: Callable[[str], str]) -> None:
        self.where = where
        self.known = known
        self.unknown = unknown
        self.used: dict[str, int] = {}
        self.waiting: list[tuple[Any, frozenset[str]]] = []

    def names(self, root: dict[str, Any]) -> tuple[str, ...]:
        self.waiting.append((root, frozenset()))
        while self.waiting:
            part, scope = self.waiting.pop()
            if isinstance(part, list):
                self.waiting += [(one, scope) for one in part]
            elif isinstance(part, dict):
                self._visit(part, scope)
        return tuple(sorted(self.used, key=self.used.__getitem__))

    def _visit(self, part: dict[str, Any], scope: frozenset[str]) -> None:
        kind = part.get("class")
        if kind is not None and kind not in _CLASSES:
            raise InputError(
                f"{self.where}: {_REFUSED.get(kind, kind.lower())} is not allowed in an expression over one row."
            )
        skipped: tuple[str, ...] = ("literal",)
        if kind == "COLUMN_REF":
            self._column(part, scope)
            return
        if kind == "FUNCTION":
            self._function(part)
        elif kind == "OPERATOR" and part["type"] not in _OPERATORS:
            raise InputError(f"{self.where}: the operator {part['type'].lower()} is not allowed.")
        elif kind == "CAST":
            self._type(part["type_expr"])
            skipped = ("type_expr",)
        elif kind == "LAMBDA":
            scope = scope | self._parameters(part["lhs"])
            skipped = ("lhs",)
        self.waiting += [(value, scope) for key, value in part.items() if key not in skipped]

    def _column(self, part: dict[str, Any], scope: frozenset[str]) -> None:
        name = part["column_names"][0]
        if name.lower() in scope:
            return
        if len(part["column_names"]) > 1 or name.lower() not in self.known:
            raise InputError(f"{self.where}: {self.unknown('.'.join(part['column_names']))}")
        self.used.setdefault(self.known[name.lower()], part["query_location"])

    def _parameters(self, part: dict[str, Any]) -> frozenset[str]:
        """The parameters of a lambda: one name, or a row of them."""
        columns = [one["expression"] for one in part["arguments"]] if part["class"] == "FUNCTION" else [part]
        for column in columns:
            if column["class"] != "COLUMN_REF" or len(column["column_names"]) != 1:
                raise InputError(f"{self.where}: a lambda is written as lambda x: …, with names for its parameters.")
        return frozenset(column["column_names"][0].lower() for column in columns)

    def _function(self, part: dict[str, Any]) -> None:
        name = part["function_name"].lower()
        if part["filter"] is not None or part["distinct"] or part["order_bys"]["orders"] or part["export_state"]:
            raise InputError(f"{self.where}: {name} is used as an aggregate. An expression is over one row.")
        if part["schema"] or part["catalog"] or len(part["qualified_name"]["path"]) != 1:
            raise InputError(f"{self.where}: {name} is named with a schema. Name the function alone.")
        if name not in FUNCTIONS and name not in DUCKDB_FUNCTIONS:
            if name in _AGGREGATES:
                raise InputError(
                    f"{self.where}: {name} is an aggregate. An expression is over one row; lists have list_sum, …"
                )
            if has_function(name):
                ours = [one for one in FUNCTIONS if one.startswith(name)]
                hint = f" There is {', '.join(ours)}." if ours else ""
                raise InputError(f"{self.where}: the function {name} of DuckDB is not allowed in a profile file.{hint}")
            known = [*FUNCTIONS, *sorted(one for one in DUCKDB_FUNCTIONS if _SPOKEN.match(one))]
            raise InputError(f"{self.where}: {did_you_mean('function', name, known)}")

    def _type(self, part: dict[str, Any]) -> None:
        waiting = [part]
        while waiting:
            type_ = waiting.pop()
            if type_["class"] == "CONSTANT":
                continue
            name = str(type_.get("type_name", type_["class"])).lower()
            if type_["class"] != "TYPE" or name not in _TYPES or len(type_["qualified_name"]["path"]) != 1:
                raise InputError(f"{self.where}: {did_you_mean('type', name, sorted(_TYPES))}")
            waiting += type_["children"]
