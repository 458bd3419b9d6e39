"""Expressions of profile files that read a number which another tool computed from a member of the answer."""

from __future__ import annotations

import re

_MEMBER = re.compile(r"""json_extract_string\(output, '\$\."((?:[^'"\\]|\\.|'')*)"'\)""")


def number_expression(column: str) -> str:
    """The expression of a column's number; text that is none fails on its row."""
    path = column.replace("\\", "\\\\").replace('"', '\\"').replace("'", "''")
    text = f"nullif(trim(json_extract_string(output, '$.\"{path}\"')), '')"
    return f"case lower({text}) when 'true' then 1 when 'false' then 0 else {text}::double end"


def imported_column(expression: str) -> str | None:
    """The column whose number an expression is; null for any other expression."""
    if (found := _MEMBER.search(expression)) is None:
        return None
    column = re.sub(r"\\(.)", r"\1", found[1].replace("''", "'"))
    return column if expression == number_expression(column) else None
