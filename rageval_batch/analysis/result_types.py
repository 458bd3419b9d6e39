"""Columns of results whose values have no form of their own in texts and JSON."""

from __future__ import annotations

import duckdb

from rageval_batch.sql_text import identifier

_WRITTEN = frozenset(("interval", "blob"))


def as_texts(result: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The result with intervals and blobs as DuckDB casts them to text, also within lists, structs and maps."""
    if not any(map(_has_written, result.types)):
        return result
    return result.project(
        ", ".join(
            f"#{place}::{_text_type(kind)} as {identifier(name)}" if _has_written(kind) else f"#{place}"
            for place, (name, kind) in enumerate(zip(result.columns, result.types, strict=True), 1)
        )
    )


def _has_written(kind: duckdb.sqltypes.DuckDBPyType) -> bool:
    """Whether a type is, or has within it, one that is written as text."""
    if kind.id not in ("list", "array", "struct", "map"):
        return kind.id in _WRITTEN
    return any(_has_written(part) for part in _parts(kind).values())


def _text_type(kind: duckdb.sqltypes.DuckDBPyType) -> str:
    """A type with texts in place of intervals and blobs."""
    if kind.id in _WRITTEN:
        return "varchar"
    if not _has_written(kind):
        return str(kind)
    parts = {name: _text_type(part) for name, part in _parts(kind).items()}
    if kind.id == "struct":
        return f"struct({', '.join(f'{identifier(name)} {part}' for name, part in parts.items())})"
    if kind.id == "map":
        return f"map({parts['key']}, {parts['value']})"
    size = dict(kind.children)["size"] if kind.id == "array" else ""
    return f"{parts['child']}[{size}]"


def _parts(kind: duckdb.sqltypes.DuckDBPyType) -> dict[str, duckdb.sqltypes.DuckDBPyType]:
    """The types within a type by their names."""
    return {name: part for name, part in kind.children if isinstance(part, duckdb.sqltypes.DuckDBPyType)}
