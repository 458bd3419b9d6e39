"""Tables that are read whole: sheets of Excel files, and JSON documents with names of columns and lists of cells."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow as pa

from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.columns import ColumnBlock, column_blocks
from rageval_batch.inputs.readers.csv import checked_names
from rageval_batch.inputs.readers.json_documents import read_document
from rageval_batch.inputs.readers.json_rows import JsonBlock
from rageval_batch.inputs.reading import steps_of
from rageval_batch.inputs.sources import Source, check_growth, value_column
from rageval_batch.locations import open_input

_MOST_CELLS = 30_000_000
_CELL = re.compile(rb'<(?:\w+:)?(?:c|row) [^>]{0,99}?\br="([A-Z]{0,3})([0-9]{1,7})"')
_CELL_WIDTH = 128  # bytes that the beginning of a cell may have
_EXACT = 2.0**53  # whole numbers below it are exact as floats


def read_xlsx(source: Source) -> Iterator[ColumnBlock]:
    """The rows of the first sheet that has any; the first row has the names, a row that is empty is none."""
    import python_calamine

    try:
        _check_sheets(source)
        with open_input(source.place) as file:
            book = python_calamine.CalamineWorkbook.from_filelike(file)
        sheets = (book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names)
        rows = next((rows for rows in sheets if rows), [])
    except (python_calamine.CalamineError, OSError, BadZipFile, zlib.error, EOFError, RuntimeError) as error:
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
        yield from column_blocks([pa.RecordBatch.from_pydict(columns)], lines, longest=source.reading.max_row_bytes)


def _check_sheets(source: Source) -> None:
    """InputError where the file, or a table from the first to the last cell of a sheet, is beyond all measure."""
    with open_input(source.place) as file, ZipFile(file) as archive:
        check_growth(source, sum(info.file_size for info in archive.infolist()))
        for name in archive.namelist():
            if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
                continue
            with archive.open(name) as stream:
                width, height = _extent(stream)
            if width * height > _MOST_CELLS:
                raise InputError(
                    f"{source.name}: {name} has cells as far as row {height:,} and column {width:,}, a table of "
                    f"{width * height:,} cells; {_MOST_CELLS:,} are read. Delete what lies far out, or save it as CSV."
                )


def _extent(stream: IO[bytes]) -> tuple[int, int]:
    """(the last column, the last row) that a cell of a sheet is in."""
    width = height = 0
    rest = b""
    while piece := stream.read(blocks.BLOCK_BYTES):
        found = rest + piece
        for columns, row in set(_CELL.findall(found)):
            width, height = max(width, _column_number(columns)), max(height, int(row))
        rest = found[-_CELL_WIDTH:]
    return width, height


def _column_number(letters: bytes) -> int:
    """A is 1, Z is 26, AA is 27; no letters, as of a row, are 0."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


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
        batch = pa.RecordBatch.from_pydict(columns)
        yield from column_blocks([batch], longest=source.reading.max_row_bytes)


def _list_at(value: Any, path: str) -> list[Any] | None:
    for step in steps_of(path):
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, list) else None
