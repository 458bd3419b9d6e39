"""Pieces of SQL that are built from values: quoted texts, names and readers of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterable

# The name of the commit that a file of a store belongs to, from the column `filename` of a reader.
COMMIT_OF_FILE = "split_part(replace(filename, '\\', '/'), '/', -2)"
PACKED_COMMIT = "packed_commit"  # the column of the files of a pack that names the commit of each row


def quoted(value: str | os.PathLike[str]) -> str:
    """A text as an SQL literal."""
    return "'" + os.fspath(value).replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name of a column in SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def file_pattern(path: str | os.PathLike[str]) -> str:
    """A path as DuckDB's readers of files take it, to whom `*`, `?` and `[` are parts of a pattern."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in os.fspath(path))


def file_literal(path: str | os.PathLike[str]) -> str:
    """A path as a literal for DuckDB's readers of files."""
    return quoted(file_pattern(path))


def parquet_reader(
    paths: Iterable[str | os.PathLike[str]], *, filename: bool = False, union_by_name: bool = False
) -> str:
    """The expression that reads Parquet files as they are.

    Without `hive_partitioning = false` DuckDB takes columns from the names of folders: below `score=99/` every score
    would be 99.
    """
    options = ["hive_partitioning = false"]
    options += ["filename = true"] if filename else []
    options += ["union_by_name = true"] if union_by_name else []
    return f"read_parquet([{', '.join(map(file_literal, paths))}], {', '.join(options)})"
