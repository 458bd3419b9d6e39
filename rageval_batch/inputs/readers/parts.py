"""Parts of a file that can be read by themselves."""

from __future__ import annotations

from dataclasses import KW_ONLY

from rageval_batch.dataclass import dataclass


@dataclass(frozen=True)
class LineSpan:
    """Bytes of a stream that hold whole lines: those that are read at once. `line` is the number of the first.

    `is_cut`: it is the beginning of one line, which is too long to be read whole.
    """

    start: int
    size: int
    line: int
    _: KW_ONLY
    is_cut: bool = False


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file. `line` is the number of the first row."""

    place: str
    groups: tuple[int, ...]
    line: int


Part = tuple[LineSpan, ...] | RowGroups
