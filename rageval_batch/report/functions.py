"""The library of functions for people: the list, one function, the page docs/functions.md."""

from __future__ import annotations

import textwrap
from difflib import get_close_matches
from typing import Any

from rageval_batch.columnar.functions import FUNCTIONS, Function, sql_result
from rageval_batch.errors import InputError
from rageval_batch.report.cells import json_line, width
from rageval_batch.report.formats import render
from rageval_batch.report.safe_text import markdown_text
from rageval_batch.report.screen import PLAIN, Screen

_WIDTH = 80  # of paragraphs where there is no screen
_HEAD = """\
# Functions

Each is one operation over columns, with three ways to call it:

- SQL: in every `rageval sql` and `open_store()` session, and in the expressions of a profile file;
- Polars: `import rageval_batch.functions`, then `pl.col("answer").rageval.token_f1(pl.col("reference"))`;
- Python: `rageval_batch.functions.token_f1(answers, references)` over Arrow arrays, series or lists.

An argument of type `refs` is a text or a list of texts, of which the best counts; `list` is a list of texts, or one
text; `groups` is a list of lists of texts, or of texts. Texts are code points, never bytes. Characters are lower-cased
and classified as the Unicode tables of the running Python have them (`unicodedata.unidata_version`).

`contains` is DuckDB's name too. In our sessions it means the function below for texts, DuckDB's for lists; for maps
write `map_contains`.

This page is made by `rageval functions --format md`.
"""


def _row(function: Function) -> dict[str, Any]:
    return {
        "function": function.signature,
        "arguments": {argument.name: argument.type for argument in function.arguments},
        "result": sql_result(function),
        "what": function.doc,
        "null": function.null_rule,
        "example": function.example.sql,
        "gives": function.example.value,
    }


def function_list(format: str, screen: Screen = PLAIN) -> str:
    """Every function: a line each, an array of objects, or a page."""
    rows = [_row(function) for function in FUNCTIONS.values()]
    if format == "json":
        return "[" + ",\n ".join(map(json_line, rows)) + "]"
    if format == "md":
        return "\n".join([_HEAD, *map(_section, FUNCTIONS.values())]).rstrip("\n")
    lines = [{"example": row["example"], "gives": json_line(row["gives"])} for row in rows]
    table = render(lines, ("example", "gives"), "table")
    if screen.columns is None or max(map(width, table.split("\n"))) <= screen.columns:
        return table
    return "\n".join(f"{line['example']}\n  = {line['gives']}" for line in lines)  # half an example shows nothing


def describe_function(name: str, format: str, screen: Screen = PLAIN) -> str:
    """One function; InputError for a name that is none."""
    if name not in FUNCTIONS:
        near = get_close_matches(name, FUNCTIONS, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise InputError(f"Unknown function '{name}'.{hint} Available: {', '.join(FUNCTIONS)}.")
    function = FUNCTIONS[name]
    if format == "json":
        return json_line(_row(function))
    if format == "md":
        return _section(function).rstrip("\n")
    paragraphs = (f"{_typed(function)} -> {sql_result(function)}", function.doc, function.null_rule)
    wrapped = [textwrap.fill(text, screen.columns or _WIDTH) for text in paragraphs]
    return "\n\n".join([*wrapped, f"{function.example.sql} = {json_line(function.example.value)}"])


def _typed(function: Function) -> str:
    return f"{function.name}({', '.join(f'{argument.name} {argument.type}' for argument in function.arguments)})"


def _section(function: Function) -> str:
    return (
        f"## `{_typed(function)}` → `{sql_result(function)}`\n\n"
        f"{markdown_text(function.doc)} {markdown_text(function.null_rule)}\n\n"
        f"```sql\n{function.example.sql}  -- {json_line(function.example.value)}\n```\n"
    )
