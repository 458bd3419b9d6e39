"""Parquet files, in batches of as many rows as fit into bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np

from rageval_batch.columnar.parquet_pages import longest_text, pages
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.columns import COLUMN_BYTES, ColumnBlock, check_names, column_blocks, field_columns
from rageval_batch.inputs.readers.parts import RowGroups
from rageval_batch.inputs.sources import Source, check_growth
from rageval_batch.locations import arrow_input, is_url, open_input

_BUFFER, _BUFFER_OF_URL = 1 << 20, 8 << 20  # of a column, in which its bytes are read; without one, all at once


def read_parquet_file(source: Source) -> Iterator[ColumnBlock]:
    """The rows of a Parquet file."""
    with _opened(source.place) as file:
        check_names(source, file.schema_arrow.names)
        check_parquet_growth(source, file.metadata)
        rows = _batch_rows(source, source.place, file.metadata, groups=range(file.num_row_groups))
        batches = file.iter_batches(batch_size=rows)
        yield from column_blocks(batches, texts=field_columns(source), longest=source.reading.max_row_bytes)


def read_row_groups(source: Source, part: RowGroups) -> Iterator[ColumnBlock]:
    """The rows of some row groups, with the lines that they have in the whole file."""
    longest = source.reading.max_row_bytes
    with _opened(part.place) as file:
        check_names(source, file.schema_arrow.names)
        line = part.line
        rows = _batch_rows(source, part.place, file.metadata, groups=part.groups)
        for batch in file.iter_batches(batch_size=rows, row_groups=list(part.groups)):
            lines = np.arange(line, line + batch.num_rows)
            yield from column_blocks([batch], lines, field_columns(source), longest=longest)
            line += batch.num_rows


def check_parquet_growth(source: Source, metadata: Any) -> None:
    """InputError where a Parquet file says to hold what is beyond all measure."""
    groups = (metadata.row_group(k) for k in range(metadata.num_row_groups))
    check_growth(source, max(metadata.num_rows, sum(group.total_byte_size for group in groups)))


def _opened(place: str) -> Any:
    import pyarrow.parquet as pq

    columns = _dictionary_columns(pq.read_metadata(arrow_input(place)))
    size = _BUFFER_OF_URL if is_url(place) else _BUFFER
    return pq.ParquetFile(arrow_input(place), read_dictionary=columns, buffer_size=size, pre_buffer=False)


def _dictionary_columns(metadata: Any) -> list[str]:
    """The columns of texts that are stored as a dictionary: they stay one, as they may stand for far more bytes."""
    if not metadata.num_row_groups:
        return []
    found = (metadata.row_group(0).column(k) for k in range(metadata.num_columns))
    return [chunk.path_in_schema for chunk in found if _has_texts(chunk) and "." not in chunk.path_in_schema]


def _has_texts(chunk: Any) -> bool:
    """Whether a column chunk has a dictionary of texts."""
    return bool(chunk.has_dictionary_page and chunk.physical_type == "BYTE_ARRAY")


def _batch_rows(source: Source, place: str, metadata: Any, *, groups: Iterable[int]) -> int:
    """How many rows are read at once, by the widest page of each column. InputError for a page that is too large."""
    most = blocks.BLOCK_ROWS
    with open_input(place) as file:
        for k in groups:
            group = metadata.row_group(k)
            chunks = (group.column(number) for number in range(metadata.num_columns))
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
