"""Output files in splits that are read alone: together they give the blocks and lines of the whole files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.inputs import readers
from rageval_batch.inputs.outputs import has_run_column
from rageval_batch.inputs.readers import LineSpan, Part, RowGroups
from rageval_batch.inputs.readers.json_rows import line_spans
from rageval_batch.inputs.readers.parquet import check_parquet_growth
from rageval_batch.inputs.sources import Source, unreadable
from rageval_batch.locations import Folder, arrow_input, child

SPLIT_BYTES = 32 << 20  # of a file; a split of JSON lines is at least what is read at once, one of Parquet a row group


@dataclass(frozen=True)
class Split:
    """A part of the output file with that number; None: all of it."""

    file: int
    part: Part | None = None


@dataclass(frozen=True)
class SplitSource:
    """A file with its size and hash, its parts in order, and whether its rows name their runs (None: no usable row)."""

    source: Source
    parts: tuple[Part | None, ...]
    has_run: bool | None


def split_source(source: Source) -> SplitSource:
    """Read a file once to find all that its splits must know. InputError where it cannot be read."""
    hashed = source.with_hash()
    try:
        parts = tuple(_parts(hashed))
        blocks = (block for part in parts for block in readers.read_blocks(hashed, part=part))
        return SplitSource(hashed, parts, has_run_column(hashed, blocks))
    except (OSError, pa.ArrowException) as error:
        raise unreadable(source.name, error) from error


def _parts(source: Source) -> Iterator[Part | None]:
    """A compressed file, one in another encoding, and one that is no lines or row groups has one part."""
    import pyarrow.parquet as pq

    if source.format == "parquet":
        check_parquet_growth(source, pq.read_metadata(arrow_input(source.place)))
        yield from _row_groups([source.place])
    elif source.format == "frame" and source.table is None:
        yield from _row_groups(frame_parts(source))
    elif source.format == "jsonl" and source.compression is None and not source.reading.encoding:
        yield from _group_spans(line_spans(source))
    else:
        yield None


def frame_parts(source: Source) -> list[str]:
    """The Parquet files that a data frame was written to, in the order of its rows."""
    names = [entry.name for entry in Folder(source.url).entries()] if source.url else os.listdir(source.path)
    return [child(source.place, name) for name in sorted(names) if name.endswith(".parquet")]


def _group_spans(spans: Iterator[LineSpan]) -> Iterator[tuple[LineSpan, ...]]:
    """Spans in groups of about the size of a split."""
    group: list[LineSpan] = []
    for span in spans:
        group.append(span)
        if sum(one.size for one in group) >= SPLIT_BYTES:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)


def _row_groups(places: Iterable[str]) -> Iterator[RowGroups]:
    """The row groups of Parquet files, small ones of a file together."""
    import pyarrow.parquet as pq

    line = 1
    for place in places:
        metadata = pq.read_metadata(arrow_input(place))
        groups: list[int] = []
        size = rows = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            groups.append(number)
            size, rows = size + group.total_byte_size, rows + group.num_rows
            if size >= SPLIT_BYTES or number == metadata.num_row_groups - 1:
                yield RowGroups(place, tuple(groups), line)
                line, size, rows, groups = line + rows, 0, 0, []
