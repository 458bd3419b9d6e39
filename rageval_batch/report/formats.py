"""Rows as table, json, jsonl, csv, md or parquet."""

from __future__ import annotations

import csv
import html
import io
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from rageval_batch.report.cells import format_value, json_line, padded, to_jsonable, truncate, visible, width

FORMATS = ("table", "json", "jsonl", "csv", "md", "parquet")
NARROWEST = 80
_LEAST = 4
_GAP = 2
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def screen_width() -> int:
    """Columns to fit into: those of the terminal, and eighty where there is none."""
    return max(40, shutil.get_terminal_size((NARROWEST, 24)).columns)


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str], room: int | None = None) -> str:
    """Aligned columns that fit the screen: the widest texts are cut first, numbers never."""
    if not columns:
        return ""
    cells = [[format_value(row.get(name)) for name in columns] for row in rows]
    numeric = [
        all(isinstance(row.get(name), int | float | None) and not isinstance(row.get(name), bool) for row in rows)
        and any(row.get(name) is not None for row in rows)
        for name in columns
    ]
    widths = [max([width(name), *(width(line[k]) for line in cells)]) for k, name in enumerate(columns)]
    _shrink(widths, numeric, (room or screen_width()) - _GAP * (len(columns) - 1))
    lines = [list(columns), *cells]
    return "\n".join(
        (" " * _GAP)
        .join(padded(truncate(cell, widths[k]), widths[k], numeric[k]) for k, cell in enumerate(line))
        .rstrip()
        for line in lines
    )


def _shrink(widths: list[int], fixed: list[bool], room: int) -> None:
    """Take columns off the widest texts until all fits or nothing can be cut any more."""
    free = [k for k in range(len(widths)) if not fixed[k]]
    while sum(widths) > room:
        widest = max(free, key=lambda k: widths[k], default=None)
        if widest is None or widths[widest] <= _LEAST:
            return
        widths[widest] -= 1


def _csv_lines(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """CSV with a header; a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    for cells in chain([columns], ([_csv_cell(row.get(name)) for name in columns] for row in rows)):
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(cells)
        yield out.getvalue()


def _csv_cell(value: Any) -> Any:
    value = to_jsonable(value)
    if isinstance(value, str) and value.startswith(_FORMULA) and value != "==":  # the operator of a gate is no formula
        return "'" + value
    if isinstance(value, dict | list):
        return json_line(value)
    return value


def _markdown_lines(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """A Markdown table; texts cannot break out of their cell."""
    yield "| " + " | ".join(map(md_text, columns)) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(md_text(format_value(row.get(name))) for name in columns) + " |"


def md_text(text: str) -> str:
    """A text that Markdown shows as it is."""
    escaped = html.escape(visible(text), quote=False)
    for c in "\\`*_[]|":
        escaped = escaped.replace(c, "\\" + c)
    return escaped


def titled(name: str, format: str) -> str:
    """The heading of a part."""
    return f"### {name}" if format == "md" else f"{name}\n{'-' * len(name)}"


STREAMED = ("json", "jsonl", "csv", "md")  # formats whose rows can be written one after another


def pieces(rows: Iterable[dict[str, Any]], columns: Sequence[str], format: str) -> Iterator[str]:
    """Rows in one of the STREAMED formats, as pieces of one text: nothing is held but the row at hand."""
    objects = (json_line({name: row.get(name) for name in columns}) for row in rows)
    lines = {
        "csv": lambda: _csv_lines(rows, columns),
        "md": lambda: _markdown_lines(rows, columns),
    }.get(format, lambda: objects)()
    between = ",\n " if format == "json" else "\n"
    yield "[" if format == "json" else ""
    for k, line in enumerate(lines):
        yield between + line if k else line
    yield "]" if format == "json" else ""


def render(rows: Sequence[dict[str, Any]], columns: Sequence[str], format: str) -> str:
    """Rows in one of the text formats."""
    return "".join(pieces(rows, columns, format)) if format in STREAMED else table(rows, columns)


def to_arrow(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pa.Table:
    """Rows as Arrow, for Parquet."""
    return pa.table({name: [row.get(name) for row in rows] for name in columns})
