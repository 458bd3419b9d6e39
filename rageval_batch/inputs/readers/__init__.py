"""Files of every format as blocks of rows: one module for each family of formats, one protocol for all blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import pyarrow as pa

from rageval_batch.columnar.strings import Offsets
from rageval_batch.inputs.readers import json_rows
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
from rageval_batch.inputs.readers.parts import LineSpan, Part, RowGroups
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


# The module and function that read a format: one is imported when a file of its format is read.
_READERS = {
    "json": ("json_documents", "read_json"),
    "samples": ("zipped_samples", "read_zipped_samples"),
    "xlsx": ("sheets", "read_xlsx"),
    "parquet": ("parquet", "read_parquet_file"),
    "arrow": ("columns", "read_arrow"),
    "csv": ("csv", "read_csv"),
    "frame": ("columns", "read_frame"),
    "trec_run": ("trec", "read_trec_run"),
    "qrels": ("trec", "read_qrels"),
    "texts": ("whole_files", "read_whole_files"),
}


def read_blocks(source: Source, only_lines: Offsets | None = None, part: Part | None = None) -> Iterator[Block]:
    """The rows of one file, or of a part of it. With `only_lines`, a JSONL file gives these lines alone and parses no
    others."""
    try:
        for block in _blocks(source, only_lines, part):
            yield _mapped(block, source) if source.reading.maps else block
    except (OSError, pa.ArrowException, UnicodeError) as error:
        raise unreadable(source.name, error) from error


def _mapped(block: Block, source: Source) -> Block:
    from rageval_batch.inputs.readers.mapped import MappedBlock

    return MappedBlock(block, source.reading, source.run)


def _blocks(source: Source, only_lines: Offsets | None, part: Part | None) -> Iterator[Block]:
    if isinstance(part, RowGroups):
        from rageval_batch.inputs.readers.parquet import read_row_groups

        return read_row_groups(source, part)
    if source.format == "jsonl":
        return json_rows.read_jsonl(source, only_lines, part)
    if source.format == "json" and source.reading.columns:
        return _reader("sheets", "read_cells")(source)
    return _reader(*_READERS[source.format])(source)


def _reader(module: str, name: str) -> Callable[[Source], Iterator[Block]]:
    found: Callable[[Source], Iterator[Block]] = getattr(import_module(f"{__name__}.{module}"), name)
    return found
