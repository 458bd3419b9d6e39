"""A folder of files as rows: each file is the output of one row, whatever is in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import KEPT_OF_LONG, cut_long, too_long_error
from rageval_batch.inputs.readers.columns import ColumnBlock
from rageval_batch.inputs.sources import Source, shown_name
from rageval_batch.locations import open_input
from rageval_batch.model.schemas import FILE, OUTPUT


def read_whole_files(source: Source) -> Iterator[ColumnBlock]:
    """A row for each file: its name and its content. Bytes that are not UTF-8 become NUL, which is never valid JSON."""
    longest = source.reading.max_row_bytes
    names: list[str] = []
    contents: list[bytes] = []
    size, line = 0, 1
    for member in source.members:
        with open_input(source.member_place(member)) as file:
            content = file.read(max(longest, KEPT_OF_LONG) + 1)
        names.append(shown_name(member))
        contents.append(content)
        size += len(content)
        if size >= blocks.BLOCK_BYTES or len(names) >= blocks.BLOCK_ROWS:
            yield _file_block(names, contents, line, longest=longest)
            line += len(names)
            names, contents, size = [], [], 0
    if names:
        yield _file_block(names, contents, line, longest=longest)


def _nul_for_bad_bytes(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        escaped = content.decode("utf-8", "surrogateescape")
        return "".join("\0" if "\ud800" <= c <= "\udfff" else c for c in escaped)


def _file_block(names: list[str], contents: list[bytes], line: int, *, longest: int) -> ColumnBlock:
    too_long = [len(content) > longest for content in contents]
    texts = [None if long else _nul_for_bad_bytes(content) for content, long in zip(contents, too_long, strict=True)]
    return ColumnBlock(
        lines=np.arange(line, line + len(names)),
        columns={OUTPUT[0]: pa.array(texts, LARGE_STRING), FILE[0]: pa.array(names, LARGE_STRING)},
        row_errors=[too_long_error(row, longest) for row, long in enumerate(too_long) if long],
        raw_rows=[cut_long(content) if text is None else text for text, content in zip(texts, contents, strict=True)],
    )
