"""The bytes of a value, told from the value itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def size(value: Any, kind: pa.DataType) -> int:
    """Bytes of texts, and the width of other values; a null has none where it stands for a text or a list."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return size(value, kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return size(value, kind.value_type)
    if types.is_struct(kind):
        return sum(size((value or {}).get(field.name), field.type) for field in kind)
    if types.is_map(kind):
        return sum(size(key, kind.key_type) + size(item, kind.item_type) for key, item in value or ())
    if types.is_nested(kind):
        return sum(size(one, kind.value_type) for one in value or ())
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return 0 if is_text else max(1, kind.bit_width // 8)
