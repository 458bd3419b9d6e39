"""Files of every format as blocks of rows: one module for each family of formats, one protocol for all blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from rageval_batch.columnar.strings import Offsets
from rageval_batch.inputs.readers import columns, csv, json_documents, json_rows, parquet, sheets, whole_files
from rageval_batch.inputs.readers.blocks import (
    ABSENT,
    BOOLEAN,
    LIST,
    NOTHING,
    NUMERIC,
    STRUCT,
    TEXT,
    Block,
    Column,
    ColumnLimit,
    Field,
    RowError,
    read_chunks,
    read_output,
    read_own_chunks,
)
from rageval_batch.inputs.readers.json_documents import JsonDocument, read_document
from rageval_batch.inputs.readers.json_rows import LineSpan
from rageval_batch.inputs.readers.mapped import MappedBlock
from rageval_batch.inputs.readers.parquet import RowGroups
from rageval_batch.inputs.sources import Source, unreadable

__all__ = [
    "ABSENT",
    "BOOLEAN",
    "LIST",
    "NOTHING",
    "NUMERIC",
    "STRUCT",
    "TEXT",
    "Block",
    "Column",
    "ColumnLimit",
    "Field",
    "JsonDocument",
    "LineSpan",
    "Part",
    "RowError",
    "RowGroups",
    "read_blocks",
    "read_chunks",
    "read_document",
    "read_output",
    "read_own_chunks",
]


def _read_trec_run(source: Source) -> Iterator[Block]:
    from rageval_batch.inputs.readers import trec  # which needs Polars, as no other reader does

    return trec.read_trec_run(source)


def _read_qrels(source: Source) -> Iterator[Block]:
    from rageval_batch.inputs.readers import trec

    return trec.read_qrels(source)


_READERS: dict[str, Callable[[Source], Iterator[Block]]] = {
    "json": json_documents.read_json,
    "samples": json_documents.read_zipped_samples,
    "xlsx": sheets.read_xlsx,
    "parquet": parquet.read_parquet_file,
    "arrow": columns.read_arrow,
    "csv": csv.read_csv,
    "frame": columns.read_frame,
    "trec_run": _read_trec_run,
    "qrels": _read_qrels,
    "texts": whole_files.read_whole_files,
}


Part = tuple[LineSpan, ...] | RowGroups  # of a file that can be read in parts


def read_blocks(source: Source, only_lines: Offsets | None = None, part: Part | None = None) -> Iterator[Block]:
    """The rows of one file, or of a part of it. With `only_lines`, a JSONL file gives these lines alone and parses no
    others."""
    try:
        for block in _blocks(source, only_lines, part):
            yield MappedBlock(block, source.reading, source.run) if source.reading.maps else block
    except (OSError, pa.ArrowException, UnicodeError) as error:
        raise unreadable(source.name, error) from error


def _blocks(source: Source, only_lines: Offsets | None, part: Part | None) -> Iterator[Block]:
    if isinstance(part, RowGroups):
        return parquet.read_row_groups(source, part)
    if source.format == "jsonl":
        return json_rows.read_jsonl(source, only_lines, part)
    if source.format == "json" and source.reading.columns:
        return sheets.read_cells(source)
    return _READERS[source.format](source)
