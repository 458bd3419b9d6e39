"""String columns as two flat arrays, the form in which compiled loops see an Arrow column without copying it."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.large_pages import LARGE_PAGE, in_large_pages

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

LARGE_STRING = pa.large_string()

_AT_ONCE = 4_096  # strings of a column that are made at a time
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Strings:
    """UTF-8 bytes and `n + 1` offsets into them; a null is an empty string here."""

    data: Bytes
    offsets: Offsets

    @property
    def starts(self) -> Offsets:
        """Where each string begins."""
        return self.offsets[:-1]

    @property
    def ends(self) -> Offsets:
        """Where each string ends."""
        return self.offsets[1:]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_arrow(self, valid: Flags | None = None) -> pa.LargeStringArray:
        """The column as Arrow; rows that are not valid become null."""
        mask = None if valid is None or valid.all() else bitmap(valid)
        buffers = [mask, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(LARGE_STRING, len(self), buffers)

    def at(self, index: int) -> str:
        """One string."""
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode("utf-8")


def bounds_of(counts: npt.ArrayLike) -> Offsets:
    """Where lists of these lengths lie end to end: list k from `bounds[k]` to `bounds[k + 1]`; [0] without lists."""
    lengths = np.asarray(counts)
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:], dtype=np.int64)
    return bounds


def bounds_by_owner(owners: npt.NDArray[np.integer], count: int) -> Offsets:
    """The bounds of the lists of `count` owners, whose elements come in the order of their owners."""
    return bounds_of(np.bincount(owners, minlength=count))


def spread(bounds: Offsets, which: npt.NDArray[Any]) -> tuple[Offsets, Offsets]:
    """(members, index of the asker) of ranges: asker k gets bounds[which[k]] … bounds[which[k] + 1]."""
    counts = np.diff(bounds)[which]
    owner = np.repeat(np.arange(len(which), dtype=np.int64), counts)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return bounds[which][owner] + inside, owner


def pooled_bytes(size: int) -> Bytes:
    """Room for bytes, whose content is not set, from Arrow's memory pool.

    It keeps what was given back for the next block, where NumPy would have the system clear every page again.
    """
    return np.frombuffer(pa.allocate_buffer(size), np.uint8)


def release_unused_memory() -> None:
    """Give the system back what Arrow's memory pool keeps for later: after a step that needed far more than the next
    ones do."""
    pa.default_memory_pool().release_unused()


def _room(size: int) -> mmap | pa.Buffer:
    return in_large_pages(size) if size >= LARGE_PAGE else pa.allocate_buffer(size)


class RecycledBytes:
    """Room for bytes, one block after the other: what no array refers to any more is given out again.

    Its pages are in memory and in the cache of the processor then, where fresh ones would first be cleared.
    """

    def __init__(self) -> None:
        self._given: list[tuple[mmap | pa.Buffer, weakref.ref[Bytes]]] = []
        self._free: list[mmap | pa.Buffer] = []

    def take(self, size: int) -> Bytes:
        """Room for so many bytes, whose content is not set."""
        returned = [buffer for buffer, array in self._given if array() is None]
        self._given = [(buffer, array) for buffer, array in self._given if array() is not None]
        self._free = [buffer for buffer in (*self._free, *returned) if size <= len(buffer) <= 2 * size]
        # A new one is a little larger than asked for: the next block may be so.
        buffer = self._free.pop() if self._free else _room(size + size // 8)
        array = np.frombuffer(buffer, np.uint8)  # whose slices keep it alive: its base is no array
        self._given.append((buffer, weakref.ref(array)))
        return array[:size]


def bitmap(valid: Flags) -> pa.Buffer:
    """Which rows of an Arrow column are not null."""
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def from_arrow(column: pa.Array | pa.ChunkedArray) -> Strings:
    """The buffers of a string column, without a copy where it is one large_string chunk; nulls are empty strings."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if column.type != LARGE_STRING:
        column = column.cast(LARGE_STRING)
    if len(column) == 0:
        return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    if column.null_count and _bytes_behind_nulls(bounds, column):
        return from_arrow(column.fill_null(""))
    return Strings(content, bounds)


def _bytes_behind_nulls(bounds: Offsets, column: pa.Array) -> bool:
    """Arrow permits bytes behind a null; a JSON null that was read as text has some."""
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    return bool(np.diff(bounds)[nulls].any())


def from_list(values: Sequence[str]) -> Strings:
    """Python strings as a column."""
    return from_arrow(pa.array(values, LARGE_STRING))


class TextColumn(Sequence[Any]):
    """A column of texts as a sequence of strings, which are made when they are asked for; a null is None."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, index: Any) -> Any:
        return TextColumn(self.column[index]) if isinstance(index, slice) else self.column[index].as_py()

    def __iter__(self) -> Iterator[Any]:
        for first in range(0, len(self.column), _AT_ONCE):
            yield from self.column[first : first + _AT_ONCE].to_pylist()


def as_column(texts: Sequence[str | None]) -> pa.Array:
    """A sequence of strings as a column; that of a TextColumn is not copied."""
    return texts.column if isinstance(texts, TextColumn) else pa.array(texts, LARGE_STRING)


def is_text(value: Any) -> TypeGuard[str]:
    """Whether it is a string that a column can hold: one without lone surrogates."""
    return isinstance(value, str) and not _SURROGATE.search(value)
