"""Files of every format as blocks of rows: one module for each family of formats, one protocol for all blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from rageval_batch.columnar.strings import Offsets
from rageval_batch.inputs.readers import columns, csv, json_rows, trec, whole_files
from rageval_batch.inputs.readers.blocks import (
    ABSENT,
    BOOLEAN,
    LIST,
    NOTHING,
    NUMERIC,
    STRUCT,
    TEXT,
    Block,
    Field,
    RowError,
    read_chunks,
    read_output,
)
from rageval_batch.inputs.readers.json_rows import JsonDocument, read_document
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
    "Field",
    "JsonDocument",
    "RowError",
    "read_blocks",
    "read_chunks",
    "read_document",
    "read_output",
]

_READERS: dict[str, Callable[[Source], Iterator[Block]]] = {
    "json": json_rows.read_json,
    "parquet": columns.read_parquet_file,
    "arrow": columns.read_arrow,
    "csv": csv.read_csv,
    "frame": columns.read_frame,
    "trec_run": trec.read_trec_run,
    "qrels": trec.read_qrels,
    "texts": whole_files.read_whole_files,
}


def read_blocks(source: Source, only_lines: Offsets | None = None) -> Iterator[Block]:
    """The rows of one file. With `only_lines`, a JSONL file gives these lines alone and parses no others."""
    try:
        if source.format == "jsonl":
            yield from json_rows.read_jsonl(source, only_lines)
            return
        yield from _READERS[source.format](source)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable(source.name, error) from error
