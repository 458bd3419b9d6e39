"""Rows in every format that a result can have: texts here, files of columns in `writers`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rageval_batch.errors import InputError
from rageval_batch.report.cells import format_value, json_line
from rageval_batch.report.layout import OptionalColumns, Tones, table
from rageval_batch.report.safe_text import html_text, markdown_text
from rageval_batch.report.screen import PLAIN, Screen
from rageval_batch.report.writers import csv_text

ROW_FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "html", "parquet", "xlsx")
FILE_FORMATS = ("parquet", "xlsx")  # bytes that need a file
_ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".md": "md",
    ".markdown": "md", ".parquet": "parquet", ".xlsx": "xlsx", ".html": "html", ".htm": "html", ".xml": "junit",
    ".txt": "table",
}  # fmt: skip


def chosen_format(given: str | None, target: str | None, formats: Sequence[str]) -> str:
    """The format of a result: the given one, else that of the file's ending, else the first of the command's.

    InputError for an ending that no format has, and where the command does not write what the ending stands for.
    """
    if given is not None:
        return given
    ending = os.path.splitext(target or "")[1].lower()
    if not ending:
        return formats[0]
    found = _ENDINGS.get(ending)
    if found is None:
        endings = ", ".join(name for name, format in _ENDINGS.items() if format in formats)
        raise InputError(f"{target}: no format has the ending {ending}. Known: {endings}; --format decides otherwise.")
    if found in formats:
        return found
    raise InputError(
        f"{target}: this command does not write {ending} files. It writes: {', '.join(formats)}; "
        "--format chooses one of them for a file of any name."
    )


def render(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    format: str,
    *,
    screen: Screen = PLAIN,
    optional: OptionalColumns = (),
    tones: Tones | None = None,
) -> str:
    """Rows in one of the text formats; of `optional` columns and `tones` see `layout.table`."""
    if format == "json":
        return "[" + ",\n ".join(json_line({name: row.get(name) for name in columns}) for row in rows) + "]"
    if format == "jsonl":
        return "\n".join(json_line({name: row.get(name) for name in columns}) for row in rows)
    if format in ("csv", "tsv"):
        return csv_text(rows, columns, format)
    if format == "md":
        return markdown(rows, columns)
    if format == "html":
        return "\n".join(html_lines(rows, columns))
    return table(rows, columns, screen, optional=optional, tones=tones)


def markdown(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """A Markdown table; texts cannot break out of their cell."""
    return "\n".join(markdown_lines(rows, columns))


def markdown_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """The lines of a Markdown table, a row each, every value to its last digit."""
    yield "| " + " | ".join(map(markdown_text, columns)) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(markdown_text(format_value(row.get(name), exact=True)) for name in columns) + " |"


def html_lines(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """The lines of a page with one table, every value to its last digit."""
    head = "".join(f"<th>{html_text(name)}</th>" for name in columns)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>rageval</title></head><body>'
    yield f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>"
    for row in rows:
        cells = (f"<td>{html_text(format_value(row.get(name), exact=True))}</td>" for name in columns)
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody>\n</table>\n</body></html>"


def titled(name: str, format: str) -> str:
    """The heading of a part."""
    return f"### {name}" if format == "md" else f"{name}\n{'-' * len(name)}"


def and_more(names: Sequence[str], count: int, most: int | None) -> str:
    """The first names of a list of `count`, at most so many or all that there are, and how many more there are."""
    shown = names[:most]
    return ", ".join(shown) + (f" … and {count - len(shown):,} more" if count > len(shown) else "")
