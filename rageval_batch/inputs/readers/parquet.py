"""Parquet files, in batches of as many rows as fit into bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.parquet_pages import longest_text, pages
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.columns import (
    COLUMN_BYTES,
    ColumnBlock,
    check_names,
    column_blocks,
    field_columns,
    first_columns,
)
from rageval_batch.inputs.readers.parts import RowGroups
from rageval_batch.inputs.sources import Source, check_growth
from rageval_batch.locations import arrow_input, is_url, open_input

_BUFFER, _BUFFER_OF_URL = 1 << 20, 8 << 20  # of a column, in which its bytes are read; without one, all at once


def read_parquet_file(source: Source) -> Iterator[ColumnBlock]:
    """The rows of a Parquet file."""
    table = _table(source, source.place)
    check_parquet_growth(source, table.metadata)
    yield from table.blocks(range(table.metadata.num_row_groups), line=1)


def read_row_groups(source: Source, part: RowGroups) -> Iterator[ColumnBlock]:
    """The rows of some row groups, with the lines that they have in the whole file."""
    yield from _table(source, part.place).blocks(part.groups, line=part.line)


def check_parquet_growth(source: Source, metadata: Any) -> None:
    """InputError where a Parquet file says to hold what is beyond all measure."""
    groups = (metadata.row_group(k) for k in range(metadata.num_row_groups))
    check_growth(source, max(metadata.num_rows, sum(group.total_byte_size for group in groups)))


def _table(source: Source, place: str) -> _Table:
    """A Parquet file. Of one with more columns than are kept, those that are no fields and come behind the first are
    left until somebody asks for them: each takes 50 to 100 KB while it is read."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(arrow_input(place))
    schema = metadata.schema.to_arrow_schema()
    check_names(source, schema.names)
    leaves = [name for name, type_ in zip(schema.names, schema.types, strict=True) for _ in range(_leaf_count(type_))]
    read = first_columns(schema.names, field_columns(source), _empty_columns(metadata, leaves))
    return _Table(source, place, metadata, names=schema.names, leaves=leaves, read=read)


def _leaf_count(type_: pa.DataType) -> int:
    """How many columns of values a Parquet file has for a column."""
    if isinstance(type_, pa.BaseExtensionType):
        return _leaf_count(type_.storage_type)
    return sum(_leaf_count(type_.field(k).type) for k in range(type_.num_fields)) or 1


def _empty_columns(metadata: Any, leaves: Sequence[str]) -> Callable[[str], bool]:
    """Whether a column has no value in any row group, as far as the file says so."""
    numbers: dict[str, list[int]] = {}
    for number, name in enumerate(leaves):
        numbers.setdefault(name, []).append(number)

    def is_empty(name: str) -> bool:
        groups = range(metadata.num_row_groups)
        return all(_has_no_value(metadata.row_group(k).column(number)) for number in numbers[name] for k in groups)

    return is_empty


def _has_no_value(chunk: Any) -> bool:
    found = chunk.statistics
    return found is not None and found.has_null_count and found.null_count == chunk.num_values


class _Table:
    """A Parquet file: columns that are read with every batch, and others that are read on demand."""

    def __init__(
        self,
        source: Source,
        place: str,
        metadata: Any,
        *,
        names: Sequence[str],
        leaves: Sequence[str],
        read: frozenset[str],
    ) -> None:
        """`leaves`: for each column of values the column of the table that it is, or is a part of."""
        self._source, self._place, self.metadata = source, place, metadata
        self.every, self.names = names, frozenset(names) - read
        self._leaves, self._read = leaves, read
        self._groups: Sequence[int] = ()
        self._columns: dict[str, _ColumnRows] = {}

    def blocks(self, groups: Sequence[int], line: int) -> Iterator[ColumnBlock]:
        """The rows of some row groups; `line` is that of the first."""
        self._groups = groups
        others, first = self if self.names else None, 0
        for batch in self._batches(self._read):
            lines = np.arange(line + first, line + first + batch.num_rows)
            longest = self._source.reading.max_row_bytes
            yield from column_blocks(
                [batch], lines, field_columns(self._source), longest=longest, others=others, first=first
            )
            first += batch.num_rows

    def column(self, name: str, first: int, count: int) -> pa.Array:
        """Some rows of a column that batches do not have."""
        if name not in self._columns:
            self._columns[name] = _ColumnRows(name, self._batches(frozenset((name,))))
        return self._columns[name].rows(first, count)

    def _batches(self, columns: frozenset[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of the row groups, in batches of bounded size. Texts that are stored as a dictionary stay one:
        they may stand for far more bytes."""
        import pyarrow.parquet as pq

        numbers = [number for number, name in enumerate(self._leaves) if name in columns]
        first = (
            [self.metadata.row_group(0).column(number) for number in numbers] if self.metadata.num_row_groups else []
        )
        texts = [c.path_in_schema for c in first if _has_texts(c) and "." not in c.path_in_schema]
        rows = _batch_rows(self._source, self._place, self.metadata, groups=self._groups, numbers=numbers)
        some = None if len(columns) == len(self.every) else [name for name in self.every if name in columns]
        with pq.ParquetFile(
            arrow_input(self._place),
            metadata=self.metadata,
            read_dictionary=texts,
            buffer_size=_BUFFER_OF_URL if is_url(self._place) else _BUFFER,
            pre_buffer=False,
        ) as file:
            yield from file.iter_batches(batch_size=rows, row_groups=list(self._groups), columns=some)


class _ColumnRows:
    """The rows of one column, batch by batch, of which ever later ones are asked for."""

    def __init__(self, name: str, batches: Iterator[pa.RecordBatch]) -> None:
        self._name, self._batches = name, batches
        self._first = 0  # the place of the first row that is held
        self._held: list[pa.Array] = []

    def rows(self, first: int, count: int) -> pa.Array:
        """Some rows by their places."""
        while self._first + sum(map(len, self._held)) < first + count:
            self._held.append(next(self._batches).column(self._name))
            while self._held and self._first + len(self._held[0]) <= first:
                self._first += len(self._held.pop(0))
        found = pa.chunked_array(self._held).slice(first - self._first, count)
        return found.unify_dictionaries().combine_chunks()


def _has_texts(chunk: Any) -> bool:
    """Whether a column chunk has a dictionary of texts."""
    return bool(chunk.has_dictionary_page and chunk.physical_type == "BYTE_ARRAY")


def _batch_rows(source: Source, place: str, metadata: Any, *, groups: Iterable[int], numbers: Sequence[int]) -> int:
    """How many rows of some columns are read at once, by the widest page of each. InputError for a page that is too
    large."""
    most = blocks.BLOCK_ROWS
    with open_input(place) as file:
        for k in groups:
            group = metadata.row_group(k)
            chunks = (group.column(number) for number in numbers)
            # Lists have several values in a row.
            width = sum(_widest(source, file, chunk) * chunk.num_values for chunk in chunks) / max(1, group.num_rows)
            most = min(most, int(COLUMN_BYTES / max(1, width)))
    return max(1, most)


def _widest(source: Source, file: IO[bytes], chunk: Any) -> float:
    """The most bytes that a value has on average in a page of a column chunk; in lists, which Arrow reads without their
    dictionaries, as many as the longest of the dictionary.

    Of a file behind a URL the pages of small chunks are not looked at, which would be a request for each.
    """
    limit = source.reading.max_piece_bytes
    if source.url and chunk.total_uncompressed_size <= COLUMN_BYTES:
        return float(chunk.total_uncompressed_size / max(1, chunk.num_values))
    widest = 0.0
    for page in pages(file, chunk):
        if page.size > limit:
            raise InputError(
                f"{source.name}: column {chunk.path_in_schema} has a page of {page.size:,} bytes, and a page is read "
                f"whole; {limit:,} are allowed. Write the file with smaller pages, or allow more with "
                "--max-row-bytes, of which this is eight times."
            )
        if not page.is_dictionary:
            widest = max(widest, page.size / max(1, page.values))
        elif _has_texts(chunk) and "." in chunk.path_in_schema:
            widest = max(widest, longest_text(file, chunk, page))
    return widest
