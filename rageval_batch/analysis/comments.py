"""Which views a user may rely on, and what they and their columns are: comments in the catalog of a session."""

from __future__ import annotations

import re
from collections.abc import Mapping

import duckdb

from rageval_batch.analysis.catalog_rows import ProfileRow
from rageval_batch.resources import packaged_data
from rageval_batch.sql_text import identifier, quoted

INTERNAL = "internal"  # the schema of what the views are made of
PUBLIC = "main"
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_TABLES = f"""
    select view_name as name, comment from duckdb_views()
    where schema_name = '{PUBLIC}' and database_name = current_database() and not internal
    union all
    select table_name, comment from duckdb_tables()
    where schema_name = '{PUBLIC}' and database_name = current_database()
    order by name
"""


def public_views() -> frozenset[str]:
    """The views of sql/ that a user may rely on; beside them, each profile has one of its name."""
    return frozenset(packaged_data("views.toml")["views"])


def with_comments(query: str) -> str:
    """The query; `show tables` becomes the list of what may be relied on, with comments, which DuckDB's own has not."""
    return _TABLES if _SHOW_TABLES.fullmatch(query) else query


def columns_query(view: str) -> str:
    """The query of a view's columns with their types and comments."""
    return (
        f"select column_name, data_type, comment from duckdb_columns() "
        f"where table_name = {quoted(view)} and schema_name = '{PUBLIC}' order by column_index"
    )


def comment_on(
    connection: duckdb.DuckDBPyConnection, name: str, profile: ProfileRow | None, *, columns: list[str]
) -> None:
    """Comment a public view or table and its columns; one of a profile says what the profile declares."""
    kind = "table" if name == "commits" else "view"
    said = packaged_data("views.toml")
    view = {} if profile else said["views"][name]
    comment = f"Score rows of the profile: {profile.title}." if profile else view["comment"]
    connection.execute(f"comment on {kind} {PUBLIC}.{name} is {quoted(comment)}")
    known: Mapping[str, str] = said["columns"] | (dict(profile.docs) if profile else view.get("columns", {}))
    for column in columns:
        text = known.get(column) or view.get("other", "A column of the profile.")
        connection.execute(f"comment on column {PUBLIC}.{name}.{identifier(column)} is {quoted(text)}")
