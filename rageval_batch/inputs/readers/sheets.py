"""Tables that are read whole: sheets of Excel files, and JSON documents with names of columns and lists of cells."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.strings import Offsets
from rageval_batch.errors import InputError
from rageval_batch.inputs.frames import value_column
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.columns import ColumnBlock, column_blocks
from rageval_batch.inputs.readers.csv import checked_names
from rageval_batch.inputs.readers.json_documents import read_document
from rageval_batch.inputs.readers.json_rows import JsonBlock
from rageval_batch.inputs.reading import steps_of
from rageval_batch.inputs.sources import Source, check_growth
from rageval_batch.locations import open_input

_MOST_CELLS = 10_000_000
_MOST_BYTES = 1 << 30  # of a sheet
_SHARED = "xl/sharedStrings.xml"
_SHARED_CELL = re.compile(rb't="s"[^>]{0,99}>\s*<(?:\w+:)?v>(\d{1,9})<')
_TEXT_END = re.compile(rb"</(?:\w{1,9}:)?si>")
_CELL = re.compile(rb'<(?:\w+:)?(?:c|row) [^>]{0,99}?\br="([A-Z]{0,3})([0-9]{1,7})"')
_CELL_WIDTH = 128  # bytes that the beginning of a cell may have
_EXACT = 2.0**53  # whole numbers below it are exact as floats


def read_xlsx(source: Source) -> Iterator[ColumnBlock]:
    """The rows of the first sheet that has any; the first row has the names, a row that is empty is none.

    The cells of the sheet are held as the library has them, and become columns for some rows at a time.
    """
    import python_calamine

    try:
        _check_sheets(source)
        with open_input(source.place) as file:
            book = python_calamine.CalamineWorkbook.from_filelike(file)
        sheets = (book.get_sheet_by_name(name) for name in book.sheet_names)
        sheet = next((sheet for sheet in sheets if sheet.height), None)
    except (python_calamine.CalamineError, OSError, BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise InputError(
            f"Cannot read {source.name}: {error}. Check that it is an Excel file of the kind .xlsx."
        ) from error
    if sheet is None:
        return
    head = next(_sheet_rows(sheet))
    names = checked_names(source, [str(cell).strip() for cell in head])
    types: list[set[type]] = [set() for _ in names]
    for _, part in _sheet_parts(sheet):
        for found, cells in zip(types, zip(*part, strict=True), strict=True):
            found.update(map(type, _sheet_values(cells)))
    for lines, part in _sheet_parts(sheet):
        columns = {
            name: _sheet_column(cells, found)
            for name, found, cells in zip(names, types, zip(*part, strict=True), strict=True)
        }
        batch = pa.RecordBatch.from_pydict(columns)
        yield from column_blocks([batch], lines, longest=source.reading.max_row_bytes)


def _sheet_rows(sheet: Any) -> Iterator[list[Any]]:
    """All rows from the first of the sheet on, each from its first column on."""
    before = [""] * sheet.start[1]
    return (before + row for row in sheet.iter_rows())


def _sheet_parts(sheet: Any) -> Iterator[tuple[Offsets, list[list[Any]]]]:
    """(the lines of some rows, their cells), without the first row and without those that are empty."""
    numbered = enumerate(_sheet_rows(sheet), start=1)
    filled = ((line, row) for line, row in numbered if line > 1 and any(cell != "" for cell in row))
    while part := list(islice(filled, blocks.BLOCK_ROWS)):
        yield np.array([line for line, _ in part], np.int64), [row for _, row in part]


def _check_sheets(source: Source) -> None:
    """InputError where the file, or a table from the first to the last cell of a sheet, is beyond all measure."""
    with open_input(source.place) as file, ZipFile(file) as archive:
        check_growth(source, sum(info.file_size for info in archive.infolist()))
        for info in archive.infolist():
            name = info.filename
            if not name.startswith("xl/worksheets/") or not name.endswith(".xml"):
                continue
            with archive.open(name) as stream:
                width, height = _extent(stream)
            if width * height > _MOST_CELLS:
                raise InputError(
                    f"{source.name}: {name} has cells as far as row {height:,} and column {width:,}, a table of "
                    f"{width * height:,} cells; {_MOST_CELLS:,} are read. Delete what lies far out, or save it as CSV."
                )
            if (size := max(info.file_size, _shared_bytes(archive, name))) > _MOST_BYTES:
                raise InputError(
                    f"{source.name}: {name} has {size:,} bytes, and a sheet is held whole; {_MOST_BYTES:,} are read. "
                    "Save it as CSV."
                )


def _shared_bytes(archive: ZipFile, sheet: str) -> int:
    """No fewer bytes than the texts that cells of a sheet share have where each cell has its own, as it is held."""
    if _SHARED not in archive.namelist():
        return 0
    cells = sum(piece.count(b't="s"') for piece in _pieces(archive, sheet))
    sizes = _text_sizes(archive)
    if int(sizes.max(initial=0)) * cells <= _MOST_BYTES:
        return 0
    uses = np.zeros(len(sizes), np.int64)
    rest = b""
    for piece in _pieces(archive, sheet):
        found = rest + piece
        last = found.rfind(b"</c>")
        numbers = np.array(_SHARED_CELL.findall(found[: max(0, last)]), dtype=np.int64)
        uses += np.bincount(numbers[numbers < len(sizes)], minlength=len(sizes))
        rest = found[max(0, last) :][-_CELL_WIDTH * 2 :]
    return int(sizes @ uses)


def _text_sizes(archive: ZipFile) -> Offsets:
    """The bytes between the ends of the texts that cells share."""
    ends, read, rest = [0], 0, b""
    for piece in _pieces(archive, _SHARED):
        found = rest + piece
        ends += [read - len(rest) + match.end() for match in _TEXT_END.finditer(found)]
        read += len(piece)
        cut = max(0, found.rfind(b"<"))
        rest = b"" if b">" in found[cut:] else found[cut:][:_CELL_WIDTH]  # of a tag that goes on
    bounds = np.array(ends, np.int64)
    sizes: Offsets = bounds[1:] - bounds[:-1]
    return sizes


def _pieces(archive: ZipFile, name: str) -> Iterator[bytes]:
    with archive.open(name) as stream:
        while piece := stream.read(blocks.BLOCK_BYTES):
            yield piece


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


def _sheet_values(cells: Sequence[Any]) -> list[Any]:
    """Cells of a column: Excel has one kind of number, so whole ones are whole; a blank cell is None."""
    values = [None if cell == "" else int(cell) if _is_whole(cell) else cell for cell in cells]
    return [value if isinstance(value, str | int | float | None) else str(value) for value in values]


def _sheet_column(cells: Sequence[Any], types: set[type]) -> pa.Array:
    """Cells of a column as Arrow, in a type that holds those of all its rows; of several kinds as JSON texts."""
    values, kinds = _sheet_values(cells), types - {type(None)}
    if kinds <= {int, float}:
        return pa.array(values, pa.float64() if float in kinds else pa.int64() if kinds else pa.null())
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([value if value is None or isinstance(value, str) else json.dumps(value) for value in values])


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
