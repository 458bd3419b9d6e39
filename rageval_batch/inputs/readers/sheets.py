"""Tables that are read whole: sheets of Excel files, and JSON documents with names of columns and lists of cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.errors import InputError
from rageval_batch.inputs.readers.columns import ColumnBlock, column_blocks
from rageval_batch.inputs.readers.csv import checked_names
from rageval_batch.inputs.readers.json_rows import JsonBlock, read_document
from rageval_batch.inputs.reading import steps_of
from rageval_batch.inputs.sources import Source, value_column
from rageval_batch.locations import open_input

_EXACT = 2.0**53  # whole numbers below it are exact as floats


def read_xlsx(source: Source) -> Iterator[ColumnBlock]:
    """The rows of the first sheet that has any; the first row has the names, a row that is empty is none."""
    import python_calamine

    try:
        with open_input(source.place) as file:
            book = python_calamine.CalamineWorkbook.from_filelike(file)
        sheets = (book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names)
        rows = next((rows for rows in sheets if rows), [])
    except (python_calamine.CalamineError, OSError) as error:
        raise InputError(
            f"Cannot read {source.name}: {error}. Check that it is an Excel file of the kind .xlsx."
        ) from error
    if not rows:
        return
    names = checked_names(source, [str(cell).strip() for cell in rows[0]])
    numbered = [(k, row) for k, row in enumerate(rows[1:], start=2) if any(cell != "" for cell in row)]
    lines = np.array([k for k, _ in numbered], np.int64)
    columns = {name: _sheet_column([row[k] for _, row in numbered]) for k, name in enumerate(names)}
    if numbered:
        yield from column_blocks([pa.RecordBatch.from_pydict(columns)], lines)


def _sheet_column(cells: list[Any]) -> pa.Array:
    """Cells of a column: Excel has one kind of number, so whole ones are whole; a blank cell is null."""
    values = [None if cell == "" else int(cell) if _is_whole(cell) else cell for cell in cells]
    return value_column([value if isinstance(value, str | int | float | None) else str(value) for value in values])


def _is_whole(cell: Any) -> bool:
    return isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT


def read_cells(source: Source) -> Iterator[ColumnBlock | JsonBlock]:
    """The rows of a JSON object with names and lists of cells; a list of objects is read as such."""
    document = read_document(source)
    if not document.in_object:
        yield from document.blocks()
        return
    try:
        content = json.loads(document.content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source.name} is not JSON: {error}.") from error
    names, rows = (_list_at(content, path) for path in (source.reading.columns, source.reading.rows[0]))
    if names is None or rows is None or any(not isinstance(row, list) or len(row) != len(names) for row in rows):
        raise InputError(
            f"{source.name} is no table: wanted is an object with the names at {source.reading.columns} and as many "
            f"cells in each list at {source.reading.rows[0]}."
        )
    named = checked_names(source, [str(name) for name in names])
    if rows:
        columns = {name: value_column([row[k] for row in rows]) for k, name in enumerate(named)}
        yield from column_blocks([pa.RecordBatch.from_pydict(columns)])


def _list_at(value: Any, path: str) -> list[Any] | None:
    for step in steps_of(path):
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, list) else None
