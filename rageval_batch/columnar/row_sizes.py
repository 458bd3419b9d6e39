"""How many bytes the rows of Arrow columns have, found without making them: a dictionary may stand for far more bytes
than it has."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import Offsets, bounds_of


def row_sizes(batch: pa.RecordBatch) -> Offsets:
    """The bytes of each row: its texts, and the width of its other values; a null has none."""
    return sum((_sizes(column) for column in batch.columns), np.zeros(batch.num_rows, np.int64))


def bytes_at_most(batch: pa.RecordBatch) -> int | None:
    """No fewer bytes than all rows have together; None where that takes looking at each of them."""
    return None if any(map(_shares, batch.schema.types)) else int(batch.nbytes)


@lru_cache(maxsize=256)
def _shares(kind: pa.DataType) -> bool:
    """Whether several rows of a type may share the bytes of one value."""
    if isinstance(kind, pa.BaseExtensionType):
        return _shares(kind.storage_type)
    types = pa.types
    return (
        types.is_dictionary(kind)
        or types.is_run_end_encoded(kind)
        or types.is_string_view(kind)
        or types.is_binary_view(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
        or types.is_union(kind)
        or any(_shares(kind.field(k).type) for k in range(kind.num_fields))
    )


def _sizes(column: pa.Array) -> Offsets:
    """The bytes of each value of a column."""
    kind, types = column.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _sizes(column.storage)
    if types.is_dictionary(kind):
        found = pa.array(_sizes(column.dictionary)).take(column.indices)
        return _filled(found)
    if types.is_run_end_encoded(kind):
        runs = pa.RunEndEncodedArray.from_arrays(column.run_ends, pa.array(_sizes(column.values)))
        return _filled(pc.run_end_decode(runs.slice(column.offset, len(column))))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _view_sizes(column)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return _filled(pc.binary_length(column))
    if types.is_struct(kind):
        return sum((_sizes(field) for field in column.flatten()), np.zeros(len(column), np.int64))
    if types.is_union(kind):
        return _union_sizes(column)
    if types.is_fixed_size_list(kind):
        values = _sizes(column.values.slice(column.offset * kind.list_size, len(column) * kind.list_size))
        sizes: Offsets = values.reshape(len(column), kind.list_size).sum(axis=1)
        return sizes
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        starts = _filled(column.offsets)
        return _between(_sizes(column.values), starts, starts + _filled(column.sizes))
    if types.is_map(kind):
        sizes = _sizes(column.keys) + _sizes(column.items)
        return _between(sizes, *_bounds(column))
    if types.is_list(kind) or types.is_large_list(kind):
        return _between(_sizes(column.values), *_bounds(column))
    return np.full(len(column), max(1, _bits(kind) // 8), np.int64)


def _bits(kind: pa.DataType) -> int:
    try:
        return int(kind.bit_width)
    except ValueError:  # of a null
        return 0


def _filled(sizes: pa.Array) -> Offsets:
    found: Offsets = pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _bounds(column: pa.Array) -> tuple[Offsets, Offsets]:
    """Where each list begins and ends in the values of its column."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return offsets[:-1], offsets[1:]


def _between(sizes: Offsets, starts: Offsets, ends: Offsets) -> Offsets:
    """The sums of sizes from starts to ends."""
    totals = bounds_of(sizes)
    found: Offsets = totals[ends] - totals[starts]
    return found


_VIEW = np.dtype([("length", np.int32), ("bytes", "V12")])


def _view_sizes(column: pa.Array) -> Offsets:
    """The lengths that views of texts begin with; Arrow has no function that reads them."""
    views = np.frombuffer(column.buffers()[1], _VIEW, count=column.offset + len(column))[column.offset :]
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), views["length"], 0).astype(np.int64)


def _union_sizes(column: pa.Array) -> Offsets:
    """Of each value its bytes in the column of its type. Arrow's own arrays of codes and offsets are those of a slice's
    whole column."""
    rows = slice(column.offset, column.offset + len(column))
    _, codes, *offsets = column.buffers()[:3]
    code = np.frombuffer(codes, np.int8)[rows]
    is_dense = column.type.mode == "dense"
    places = np.frombuffer(offsets[0], np.int32)[rows] if is_dense else np.arange(len(column))
    out = np.zeros(len(column), np.int64)
    for k, one in enumerate(column.type.type_codes):
        mine = code == one
        out[mine] = _sizes(column.field(k))[places[mine]]
    return out
