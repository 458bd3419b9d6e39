"""The arguments of functions: any Arrow column of a fitting type as the one form that the code of a function takes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import LARGE_STRING, Flags, Offsets, bounds_of
from rageval_batch.dataclass import dataclass

Type = Literal["text", "refs", "list", "groups", "integer", "number", "numbers"]
TYPE_WORDS: dict[str, str] = {
    "text": "a text",
    "refs": "a text or a list of texts",
    "list": "a list of texts or a text",
    "groups": "a list of lists of texts or of texts",
    "integer": "a whole number",
    "number": "a number",
    "numbers": "a list of numbers",
}

TEXTS = pa.large_list(LARGE_STRING)
_ARROW: dict[str, pa.DataType] = {
    "text": LARGE_STRING,
    "refs": TEXTS,
    "list": TEXTS,
    "groups": pa.large_list(TEXTS),
    "integer": pa.int64(),
    "number": pa.float64(),
    "numbers": pa.large_list(pa.float64()),
}


@dataclass(frozen=True)
class Lists:
    """A list for each row: row r has `values[bounds[r]:bounds[r + 1]]`. Null lists are empty, no value is null."""

    values: pa.Array
    bounds: Offsets

    def counts(self) -> npt.NDArray[np.int64]:
        """How many values each row has."""
        return np.diff(self.bounds)

    def owners(self) -> npt.NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self.bounds) - 1), self.counts())

    def places(self, which: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(place in `values` of every value of the lists `which`, one list after the other; how many each has)."""
        counts = self.counts()[which]
        ends = np.cumsum(counts)
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.bounds[which] - ends + counts, counts), counts


@dataclass(frozen=True)
class SharedLists:
    """Lists that rows may share: row r has list `codes[r]` of `distinct`."""

    distinct: Lists
    codes: Offsets

    def counts(self) -> npt.NDArray[np.int64]:
        """How many values each row has."""
        return self.distinct.counts()[self.codes]

    def by_row(self) -> Lists:
        """A list of its own for each row."""
        if len(self.codes) == len(self.distinct.bounds) - 1 and (self.codes == np.arange(len(self.codes))).all():
            return self.distinct
        places, counts = self.distinct.places(self.codes)
        return Lists(self.distinct.values.take(pa.array(places)), bounds_of(counts))

    def of_rows(self, rows: npt.NDArray[np.int64] | slice) -> SharedLists:
        """The lists of some rows, and no others."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        if len(used) and used[-1] - used[0] + 1 == len(used):
            bounds = self.distinct.bounds[used[0] : used[-1] + 2]
            return SharedLists(Lists(self.distinct.values[bounds[0] : bounds[-1]], bounds - bounds[0]), codes)
        places, counts = self.distinct.places(used)
        return SharedLists(Lists(self.distinct.values.take(pa.array(places)), bounds_of(counts)), codes)


@dataclass(frozen=True)
class Groups:
    """Lists of lists: row r has the groups from `rows[r]`, group g the phrases from `bounds[g]`, to the next one's."""

    values: pa.Array
    bounds: Offsets
    rows: Offsets


@dataclass(frozen=True)
class ReadColumn:
    """A column as a function takes it, and which of its rows are not null."""

    values: Any
    valid: Flags


def has_type(column: pa.DataType, type: Type) -> bool:
    """Whether a column of an Arrow type is of a function's type as it is, without a cast."""
    if pa.types.is_dictionary(column):
        column = column.value_type
    if type in ("refs", "list") and _is_list_type(column):
        return _is_text_type(column.value_type)
    if type in ("text", "refs", "list"):
        return _is_text_type(column)
    if type == "integer":
        return bool(pa.types.is_integer(column))
    return type == "numbers" and _is_list_type(column) and bool(pa.types.is_float64(column.value_type))


def one_array(column: Any) -> pa.Array:
    """One Arrow array; chunks are joined, other sequences written out."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    elif not isinstance(column, pa.Array):
        column = pa.array(column)
    if isinstance(column, pa.ChunkedArray):  # of an array type that Arrow reads in chunks
        return one_array(column)
    return column


def valid_array(column: Any, name: str) -> pa.Array:
    """One Arrow array of a column that a caller gave as the argument `name`; ValueError for one that is not valid, as
    compiled loops would read beyond its end: Arrow and Polars take buffers as they are."""
    try:
        chunks = column if isinstance(column, pa.Array | pa.ChunkedArray) else one_array(column)
        chunks.validate(full=True)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name}: {error.object[error.start]!r} is half of a surrogate pair. Make it of valid text."
        ) from error
    except pa.ArrowInvalid as error:
        said = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f"{name}: the column is no valid Arrow data ({said}). Make it of valid text.") from error
    return one_array(chunks)


def flat_array(column: Any) -> pa.Array:
    """One Arrow array without a dictionary."""
    array = one_array(column)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def read_column(array: pa.Array, type: Type) -> ReadColumn:
    """A column of a type. A text where texts are taken is a list of one; a null inside a list is left out.

    Lists in a dictionary are read once, and rows share them.
    """
    if type in ("refs", "list"):
        return _read_lists(array, type)
    array = flat_array(array)
    if type == "groups":
        return _read_groups(array)
    column = array if array.type == _ARROW[type] else array.cast(_ARROW[type])
    valid: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    if type == "text":
        return ReadColumn(column, valid)
    if type in ("integer", "number"):
        return ReadColumn(column.fill_null(0).to_numpy(zero_copy_only=False), valid)
    return ReadColumn(_lists(column, drop_nulls=False), valid)


def _read_lists(array: pa.Array, type: Type) -> ReadColumn:
    if pa.types.is_dictionary(array.type) and array.indices.null_count == 0 and len(array.dictionary) <= len(array):
        codes: Offsets = array.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        array = array.dictionary
    else:
        array = flat_array(array)
        codes = np.arange(len(array))
    if not _is_list(array):
        array = _lists_of_one(array)
    column = array if array.type == TEXTS else array.cast(TEXTS)
    lists = _lists(column)
    valid: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    if type == "refs":
        valid = valid & (lists.counts() > 0)
    return ReadColumn(SharedLists(lists, codes), valid[codes])


def _is_text_type(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_list(array: pa.Array) -> bool:
    return _is_list_type(array.type)


def _is_list_type(kind: pa.DataType) -> bool:
    return any(
        test(kind)
        for test in (
            pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view,
            pa.types.is_large_list_view,
        )
    )  # fmt: skip


def _lists_of_one(array: pa.Array) -> pa.Array:
    """Each value as a list of one; null is a null list."""
    offsets = pa.array(np.arange(len(array) + 1, dtype=np.int64))
    lists = pa.LargeListArray.from_arrays(offsets, array)
    return lists if array.null_count == 0 else pc.if_else(array.is_valid(), lists, pa.scalar(None, lists.type))


def _lists(column: pa.Array, drop_nulls: bool = True) -> Lists:
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    values = column.flatten()
    if drop_nulls and values.null_count:
        there = values.is_valid()
        owners = np.repeat(np.arange(len(counts)), counts)[there.to_numpy(zero_copy_only=False)]
        counts, values = np.bincount(owners, minlength=len(counts)), values.drop_null()
    return Lists(values, bounds_of(counts))


def _read_groups(array: pa.Array) -> ReadColumn:
    """Groups of phrases; an entry that is a text, in a list of texts, is a group of one phrase."""
    if not _is_list(array):
        array = _lists_of_one(array)
    if not _is_list(array.flatten()):
        texts = array if array.type == TEXTS else array.cast(TEXTS)
        lists = _lists(texts)
        bounds = np.arange(len(lists.values) + 1, dtype=np.int64)
        valid: Flags = texts.is_valid().to_numpy(zero_copy_only=False)
        return ReadColumn(Groups(lists.values, bounds, lists.bounds), valid)
    column = array.cast(_ARROW["groups"])
    outer = _lists(column)
    inner = _lists(outer.values)
    return ReadColumn(
        Groups(inner.values, inner.bounds, outer.bounds), column.is_valid().to_numpy(zero_copy_only=False)
    )
