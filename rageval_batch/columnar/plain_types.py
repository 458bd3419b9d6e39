"""Arrow columns of any type as columns of the types that the rest of the program reads."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import LARGE_STRING

_UUID_DASHES = (8, 13, 18, 23)
_UUID_WIDTH = 36
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint8).reshape(256, 2)


def plain_column(column: pa.Array) -> pa.Array:
    """The same values in a plain type; null stays null.

    A UUID is its usual text; another extension type is what it is stored as; half floats are floats; a time zone that
    nobody knows is UTC. What Arrow cannot convert (unions, intervals, some types inside lists) is a text, as JSON where
    it is nested.
    """
    kind = column.type
    if _is_plain(kind):
        return column
    if kind == pa.uuid():
        return _uuid_texts(column)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_column(column.storage)
    if pa.types.is_dictionary(kind):
        return plain_column(column.dictionary).take(column.indices)
    if pa.types.is_run_end_encoded(kind):
        return plain_column(pc.run_end_decode(column))
    try:
        found = column.cast(_nearest_plain(kind))
        found.validate()  # Arrow 26 casts views of lists to lists that lack their last offset
        return found
    except pa.ArrowException:
        return _one_by_one(column, _nearest_plain(kind))


@lru_cache(maxsize=256)
def _is_plain(kind: pa.DataType) -> bool:
    return bool(_nearest_plain(kind) == kind)


def _nearest_plain(kind: pa.DataType) -> pa.DataType:
    """The plain type that is nearest to a type; null where there is none."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return pa.null() if kind == pa.uuid() else _nearest_plain(kind.storage_type)
    if types.is_dictionary(kind):
        return kind if _nearest_plain(kind.value_type) == kind.value_type else pa.null()
    if types.is_string_view(kind):
        return LARGE_STRING
    if types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.large_binary()
    if types.is_float16(kind):
        return pa.float32()
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= 38 else pa.float64()
    if types.is_timestamp(kind) and kind.tz is not None and not _known_zone(kind.tz):
        return pa.timestamp(kind.unit, "UTC")
    if types.is_struct(kind):
        return pa.struct([field.with_type(_nearest_plain(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_nearest_plain(kind.key_type), _nearest_plain(kind.item_type))
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(kind.value_field.with_type(_nearest_plain(kind.value_type)))
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(kind.value_field.with_type(_nearest_plain(kind.value_type)))
    if types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_nearest_plain(kind.value_type)), kind.list_size)
    if types.is_union(kind) or types.is_interval(kind) or types.is_run_end_encoded(kind):
        return pa.null()
    return kind


@lru_cache(maxsize=64)
def _known_zone(zone: str) -> bool:
    try:
        pa.array([0], pa.timestamp("s", zone)).cast(LARGE_STRING)
    except pa.ArrowException:
        return False
    return True


def _uuid_texts(column: pa.Array) -> pa.Array:
    """UUIDs as 8-4-4-4-12 hexadecimal digits."""
    if not len(column):
        return pa.array([], LARGE_STRING)
    stored = column.storage.cast(pa.large_binary()).fill_null(bytes(16))
    bounds = np.frombuffer(stored.buffers()[1], np.int64)[stored.offset : stored.offset + len(stored) + 1]
    digits = _HEX[np.frombuffer(stored.buffers()[2], np.uint8)[bounds[0] : bounds[-1]]].reshape(-1, 32)
    texts = np.full((len(column), _UUID_WIDTH), ord("-"), np.uint8)
    texts[:, np.setdiff1d(np.arange(_UUID_WIDTH), _UUID_DASHES)] = digits
    offsets = np.arange(len(column) + 1, dtype=np.int64) * _UUID_WIDTH
    found = pa.LargeStringArray.from_buffers(len(column), pa.py_buffer(offsets), pa.py_buffer(texts))
    return pc.if_else(column.is_valid(), found, pa.scalar(None, LARGE_STRING))


def _one_by_one(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values of a rare type in a plain type, where Python's values fit that, else as texts."""
    values = column.to_pylist()
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else _text(value) for value in values], LARGE_STRING)


def _text(value: object) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=_printable)
    return _printable(value)


def _printable(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
