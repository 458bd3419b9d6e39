"""A folder of files as rows: each file is the output of one row, whatever is in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.columns import ColumnBlock
from rageval_batch.inputs.sources import Source, shown_name
from rageval_batch.model.schemas import FILE, OUTPUT


def read_whole_files(source: Source) -> Iterator[ColumnBlock]:
    """A row for each file: its name and its content. Bytes that are not UTF-8 become NUL, which is never valid JSON."""
    names: list[str] = []
    contents: list[str] = []
    size, line = 0, 1
    for member in source.members:
        content = source.member_bytes(member)
        names.append(shown_name(member))
        contents.append(_nul_for_bad_bytes(content))
        size += len(content)
        if size >= blocks.BLOCK_BYTES or len(names) >= blocks.BLOCK_ROWS:
            yield _file_block(names, contents, line)
            line += len(names)
            names, contents, size = [], [], 0
    if names:
        yield _file_block(names, contents, line)


def _nul_for_bad_bytes(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        escaped = content.decode("utf-8", "surrogateescape")
        return "".join("\0" if "\ud800" <= c <= "\udfff" else c for c in escaped)


def _file_block(names: list[str], contents: list[str], line: int) -> ColumnBlock:
    return ColumnBlock(
        lines=np.arange(line, line + len(names)),
        columns={OUTPUT[0]: pa.array(contents, LARGE_STRING), FILE[0]: pa.array(names, LARGE_STRING)},
        row_errors=[],
        raw_rows=contents,
    )
