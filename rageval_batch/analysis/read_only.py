"""A session that a user's SQL can only read with: the store, and files that were named beforehand.

DuckDB reads and writes any file, attaches databases and installs extensions on request. A locked session has its file
access narrowed to folders and files, its settings fixed, and takes one statement at a time, which must be a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb

from rageval_batch.errors import InputError
from rageval_batch.sql_text import file_literal, file_pattern, identifier, parquet_reader, quoted

_EXPLAIN = re.compile(r"\s*explain\s+(?:\([^)]*\)\s*|analyze\s+)?(.*)", re.IGNORECASE | re.DOTALL)
_PIVOT = re.compile(r"\s*(?:pivot|pivot_wider|with|from|select)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(\w+)", re.DOTALL)
_TOO_DEEP = re.compile(r"(?:Parser|Binder) Error: Max expression depth limit of (\d+) exceeded\..*", re.DOTALL)
_COMPRESSED = (".gz", ".zst")


def single_query(text: str) -> str:
    """The one query of a text; InputError where it is none, more than one, or more than a query."""
    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        raise InputError(f"SQL: {refusal(error)}") from error
    if not statements:
        raise InputError("There is no query. Give one, as in: from runs.")
    if len(statements) > 1:
        raise InputError(f"Give one query at a time: there are {len(statements)}.")
    query: str = statements[0].query.strip().rstrip(";")
    if not _only_reads(_kind(statements[0]), query):
        explained = _EXPLAIN.match(query)
        word = _FIRST_WORD.match(explained[1] if explained else query)
        named = f"'{word[1].lower()}'" if word else "this statement"
        raise InputError(
            f"Queries only read, and {named} does more. "
            "Results are written by rageval sql -o FILE, or downloaded from rageval view."
        )
    return query


def refusal(error: Exception) -> str:
    """What DuckDB says against a query, without the advice to change a setting, which a session does not let."""
    return _TOO_DEEP.sub(
        r"The query is nested deeper than \1 levels. Write it with less nesting: parts in a with clause, a list with "
        "`in` for a chain of conditions.",
        str(error).strip(),
    )


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """The kind of a statement; None for one that DuckDB has no name for in Python, as `update extensions`."""
    try:
        return statement.type
    except ValueError:
        return None


def _only_reads(kind: duckdb.StatementType | None, query: str) -> bool:
    if kind == duckdb.StatementType.SELECT:
        return True
    if kind == duckdb.StatementType.MULTI:  # a pivot is two statements for DuckDB; so is the copy of one
        return _PIVOT.match(query) is not None
    if kind == duckdb.StatementType.EXPLAIN and (found := _EXPLAIN.match(query)):  # its `analyze` runs what it explains
        try:
            explained = duckdb.extract_statements(found[1])
        except duckdb.Error:
            return False
        return len(explained) == 1 and _kind(explained[0]) == duckdb.StatementType.SELECT
    return False


def lock(
    connection: duckdb.DuckDBPyConnection,
    folders: Sequence[Path],
    files: Mapping[str, str],
    *,
    every_file: bool,
) -> None:
    """Narrow a connection for good: it reads below `folders` and the `files`, each a view of its name, or all files."""
    for name, path in files.items():
        try:
            connection.execute(f"create view main.{identifier(name)} as from {_file_reader(name, path)}")
        except duckdb.Error as error:
            raise InputError(f"--file {name}={path} cannot be read: {str(error).strip().splitlines()[0]}") from error
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "python_enable_replacements"):
        connection.execute(f"set {setting} = false")
    if not every_file:
        connection.execute(f"set allowed_directories = [{_allowed(folders)}]")
        connection.execute(f"set allowed_paths = [{_allowed(map(Path, files.values()))}]")
        connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")


def _allowed(paths: Iterable[Path]) -> str:
    """Paths as literals: as they are, for what is found, and as they are asked for."""
    written = [form for path in paths for form in (str(path.absolute()), file_pattern(path.absolute()))]
    return ", ".join(map(quoted, dict.fromkeys(written)))


def _file_reader(name: str, path: str) -> str:
    """The expression that reads a file by its ending."""
    place = Path(path).absolute()
    if not place.is_file():
        raise InputError(f"--file {name}={path}: there is no such file.")
    plain = place.name.lower()
    for ending in _COMPRESSED:
        plain = plain.removesuffix(ending)
    if plain.endswith(".parquet"):
        return parquet_reader([place])
    if plain.endswith((".csv", ".tsv")):
        return f"read_csv([{file_literal(place)}], hive_partitioning = false)"
    if plain.endswith((".jsonl", ".ndjson", ".json")):
        return f"read_json([{file_literal(place)}], hive_partitioning = false)"
    raise InputError(f"--file {name}={path}: give a .parquet, .csv, .tsv, .json or .jsonl file.")
