"""CSV rows: every cell is text; a record that is no record is a row error, not the end of the file.

Whole records are cut off by the parity of quotes and parsed by Arrow. Where a quote stands inside a cell that does not
begin with one, parity says nothing: from there on Python's reader takes each record by itself.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from rageval_batch.columnar.strings import Bytes, Flags, Offsets
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import KEPT_OF_LONG, RowError, cut_long, too_long_error
from rageval_batch.inputs.readers.columns import (
    ColumnBlock,
    check_names,
    column_blocks,
    field_columns,
    first_columns,
)
from rageval_batch.inputs.readers.json_rows import BYTE_ORDER_MARK, is_utf8, read_more
from rageval_batch.inputs.recognise import HEAD
from rageval_batch.inputs.sources import Source

SEPARATOR_LINE = re.compile(rb"sep=[^\r\n]\r?\n", re.IGNORECASE)  # what Excel reads and writes before the header
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13


def read_csv(source: Source) -> Iterator[ColumnBlock]:
    """The records of a CSV file. Records are counted as lines: the header is the first."""
    delimiter = source.reading.delimiter or ","
    names: list[str] = []
    line = 1
    rest = np.zeros(0, np.uint8)
    with source.open() as opened:
        stream: BinaryIO = opened
        head = stream.read(HEAD).removeprefix(BYTE_ORDER_MARK)
        if b"\r" in head and b"\n" not in head:  # as old systems end lines
            stream, head = cast(BinaryIO, _ReturnsAsNewlines(stream)), head.replace(b"\r", b"\n")
        if (separator := SEPARATOR_LINE.match(head)) is not None:
            head, line = head[separator.end() :], 2
        rest = np.frombuffer(head, np.uint8)
        while True:
            data, at_end = read_more(stream, rest)
            stop = _end_of_records(data, at_end, ord(delimiter))
            if stop is None:
                yield from _by_record(source, data, stream, names=names, line=line)
                return
            if at_end and stop < len(data):
                too_long = len(data) - stop > source.reading.max_row_bytes
                raise (_too_long if too_long else _unclosed)(source, line + _count_records(data[:stop]))
            rest, part = data[stop:], data[:stop]
            if not names and len(part):
                width = _first_record(part)
                names = _header(source, part[:width].tobytes().decode("utf-8", "replace"), delimiter)
                part, line = part[width:], line + 1
            if len(part) and is_utf8(part):
                line = yield from _parsed(source, part, names, line=line)
            elif len(part):  # Arrow drops a record of the wrong width whose bytes it cannot show
                line = yield from _by_record(source, part, io.BytesIO(), names=names, line=line)
            if at_end:
                return
            if len(rest) > source.reading.max_row_bytes:
                behind = _behind_long_record(rest, stream)
                if behind is None or not names:
                    raise _too_long(source, line)
                yield _long_record_block(source, rest, line)
                rest, line = behind, line + 1


def _behind_long_record(begin: Bytes, stream: BinaryIO) -> Bytes | None:
    """What follows a record that is too long; None where it has a quote, which may hold any number of other records."""
    data = begin
    while True:
        newlines = np.flatnonzero(data == _NEWLINE)
        stop = int(newlines[0]) + 1 if len(newlines) else len(data)
        if (data[:stop] == _QUOTE).any():
            return None
        if len(newlines) or not stop:
            return data[stop:]
        data = np.frombuffer(stream.read(blocks.BLOCK_BYTES), np.uint8)


def _long_record_block(source: Source, begin: Bytes, line: int) -> ColumnBlock:
    return ColumnBlock(
        lines=np.array([line], np.int64),
        columns={},
        row_errors=[too_long_error(0, source.reading.max_row_bytes)],
        raw_rows=[cut_long(begin[: KEPT_OF_LONG + 1].tobytes())],
    )


class _ReturnsAsNewlines:
    """A stream with a newline in place of each carriage return."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        """So many bytes."""
        return self._stream.read(size).replace(b"\r", b"\n")

    def readinto(self, buffer: memoryview) -> int:
        """Fill a buffer; how many bytes that were."""
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


def _too_long(source: Source, line: int) -> InputError:
    return InputError(
        f"{source.name}: the record of line {line} has more than {source.reading.max_row_bytes:,} bytes, or a "
        "quote in it is never closed. Mend the file, or allow longer ones with --max-row-bytes."
    )


def _unclosed(source: Source, line: int) -> InputError:
    return InputError(f"{source.name}: a quote in the record of line {line} is never closed. Mend the file.")


def _end_of_records(data: Bytes, at_end: bool, delimiter: int) -> int | None:
    """Behind the last whole record; None where a quote stands in the middle of a cell, so that parity says nothing."""
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) and not at_end and quotes[-1] == len(data) - 1:
        quotes = quotes[:-1]  # what follows it is not there yet
    if not _regular(data, quotes, delimiter):
        return None
    newlines = np.flatnonzero(data == _NEWLINE)
    outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    if at_end and len(quotes) % 2 == 0:
        return len(data)
    return int(outside[-1]) + 1 if len(outside) else 0


def _regular(data: Bytes, quotes: Offsets, delimiter: int) -> bool:
    """Whether every quote opens a cell, closes one, or is one of two inside a cell."""
    if not len(quotes):
        return True
    padded = np.concatenate([[_NEWLINE], data, [_NEWLINE]])  # as wide as the data; only where there are quotes
    edges = (delimiter, _NEWLINE, _RETURN)
    opening, closing = quotes[0::2], quotes[1::2]
    starts: Flags = np.isin(padded[opening], edges)
    ends: Flags = np.isin(padded[closing + 2], edges)
    doubled = opening[1:] == closing[: len(opening) - 1] + 1
    starts[1:] |= doubled
    ends[: len(doubled)] |= doubled
    return bool(starts.all() and ends.all())


def _first_record(part: Bytes) -> int:
    """Behind the first record of whole records."""
    quotes, newlines = np.flatnonzero(part == _QUOTE), np.flatnonzero(part == _NEWLINE)
    outside = newlines[np.searchsorted(quotes, newlines) % 2 == 0]
    return int(outside[0]) + 1 if len(outside) else len(part)


def _count_records(part: Bytes) -> int:
    quotes, newlines = np.flatnonzero(part == _QUOTE), np.flatnonzero(part == _NEWLINE)
    return int(np.count_nonzero(np.searchsorted(quotes, newlines) % 2 == 0))


def _header(source: Source, text: str, delimiter: str) -> list[str]:
    """The names of the columns; InputError where one is there twice. A nameless column is called by its place."""
    cells = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), [])
    return checked_names(source, [name.strip() for name in cells])


def checked_names(source: Source, names: list[str]) -> list[str]:
    """Names of columns, each once, those without one called by their place; InputError for one that is there twice."""
    named = [name or f"column {k}" for k, name in enumerate(names, start=1)]
    check_names(source, named)
    return named


def _parsed(source: Source, part: Bytes, names: list[str], *, line: int) -> Generator[ColumnBlock, None, int]:
    """Whole records by Arrow, those of the wrong width in a block of their own; the line of the next record."""
    delimiter = source.reading.delimiter or ","
    bad_records: list[Any] = []

    def skip(record: Any) -> str:
        bad_records.append(record)
        return "skip"

    def parsed(columns: list[str]) -> pa.Table:
        bad_records.clear()
        return arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(part)),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(part) + 1, column_names=names),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_binary()), strings_can_be_null=False, include_columns=columns
            ),
        )

    read = first_columns(names, field_columns(source))
    others = _UnreadCells(names, read, parsed) if len(read) < len(names) else None
    table = parsed([name for name in names if name in read])
    places = {line + record.number - 1 for record in bad_records}
    lines = _numbers_without(line, table.num_rows, places)
    bad = [
        (
            line + record.number - 1,
            f"{record.actual_columns} cells where the header has {record.expected_columns}",
            str(record.text),
        )
        for record in bad_records
    ]
    for batch in table.combine_chunks().to_batches():
        yield from column_blocks([batch], lines, longest=source.reading.max_row_bytes, others=others)
    if bad:
        yield _bad_record_block(bad)
    return line + int(table.num_rows) + len(bad)


class _UnreadCells:
    """The columns of a wide table that no array was made of: the records are parsed again where one is asked for."""

    def __init__(self, names: list[str], read: frozenset[str], parsed: Callable[[list[str]], pa.Table]) -> None:
        self._parsed = parsed
        self.every, self.names = names, frozenset(names) - read

    def column(self, name: str, first: int, count: int) -> pa.Array:
        """Some rows of one of these columns."""
        return self._parsed([name]).column(name).slice(first, count).combine_chunks()


def _numbers_without(first: int, count: int, taken: set[int]) -> Offsets:
    """`count` numbers from `first` on, without those that are taken."""
    numbers = np.arange(first, first + count + len(taken))
    return numbers[~np.isin(numbers, sorted(taken))][:count] if taken else numbers


def _bad_record_block(records: list[tuple[int, str, str]]) -> ColumnBlock:
    """A block of (line, detail, raw text)."""
    return ColumnBlock(
        lines=np.array([line for line, _, _ in records], np.int64),
        columns={},
        row_errors=[RowError(k, "malformed_csv", detail) for k, (_, detail, _) in enumerate(records)],
        raw_rows=[raw for _, _, raw in records],
    )


# --- record by record -----------------------------------------------------------------------------------------------


def _by_record(
    source: Source, data: Bytes, stream: BinaryIO, *, names: list[str], line: int
) -> Generator[ColumnBlock, None, int]:
    """The records of the data and the rest of the stream, by Python's reader; the line of the next record.

    Bytes that are not UTF-8 survive it.
    """
    csv.field_size_limit(sys.maxsize)
    longest = source.reading.max_row_bytes
    read: list[str] = []

    def lines() -> Iterator[str]:
        for text in _lines(data.tobytes(), stream, longest):
            read.append(text.decode("utf-8", "surrogateescape"))
            if sum(map(len, read)) > longest:
                raise _too_long(source, line)
            yield read[-1]

    reader = csv.reader(lines(), delimiter=source.reading.delimiter or ",", strict=True)
    good: list[tuple[int, list[str]]] = []
    bad: list[tuple[int, str, str]] = []
    size = 0
    while True:
        read.clear()
        try:
            record = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise _unclosed(source, line) from error
            bad.append((line, f"a quote stands inside a cell: {error}", _escaped("".join(read))))
            line += 1
            continue
        if not record:
            continue  # a blank line is no row
        if not names:
            names = checked_names(source, [name.strip() for name in record])
        elif len(record) != len(names):
            bad.append((line, f"{len(record)} cells where the header has {len(names)}", _escaped("".join(read))))
        else:
            good.append((line, record))
            size += sum(map(len, record))
        line += 1
        if size >= blocks.BLOCK_BYTES or len(good) + len(bad) >= blocks.BLOCK_ROWS:
            yield from _record_blocks(names, good, bad)
            good, bad, size = [], [], 0
    yield from _record_blocks(names, good, bad)
    return line


def _lines(data: bytes, stream: BinaryIO, longest: int) -> Iterator[bytes]:
    """Lines with their ends, of the data and then of the stream; one that is too long comes in pieces."""
    rest = data
    while True:
        *whole, rest = rest.split(b"\n")
        for text in whole:
            yield text + b"\n"
        if len(rest) > longest:
            yield rest
            rest = b""
        more = stream.read(blocks.BLOCK_BYTES)
        if not more:
            break
        rest += more
    if rest:
        yield rest


def _record_blocks(
    names: list[str], good: list[tuple[int, list[str]]], bad: list[tuple[int, str, str]]
) -> Iterator[ColumnBlock]:
    if good:
        cells = zip(*(record for _, record in good), strict=True)
        columns = [
            pa.array([cell.encode("utf-8", "surrogateescape") for cell in column], pa.large_binary())
            for column in cells
        ]
        yield from column_blocks(
            [pa.RecordBatch.from_arrays(columns, names=names)], np.array([line for line, _ in good], np.int64)
        )
    if bad:
        yield _bad_record_block(bad)


def _escaped(text: str) -> str:
    return text.rstrip("\r\n").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
