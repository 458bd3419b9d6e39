"""Names that a profile file may give: they become columns, metrics and a view, beside those that are there already."""

from __future__ import annotations

from rageval_batch.errors import InputError
from rageval_batch.model.schemas import KEYS
from rageval_batch.resources import sql_names


def words_in(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


# Words that DuckDB does not take as the name of a column or view without quotes.
SQL_WORDS = words_in("""
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
    collate collation column concurrently constraint create cross default deferrable desc describe distinct do else
    end except
    false fetch for foreign freeze from full glob group having ilike in initially inner intersect into is isnull join
    lambda lateral leading left like limit natural not notnull null offset on only or order outer overlaps pivot
    pivot_longer pivot_wider placing positional primary qualify references returning right select semi show similar some
    summarize symmetric table tablesample then to trailing true union unique unpack unpivot using variadic verbose when
    where window with
""")
# Columns that every score row or every view has.
KEY_COLUMNS = frozenset(
    (*KEYS.names, "commit", "eval_set", "profile", "stored_id", "unit", "by_question", "metric", "value")
)
RESULT_COLUMNS = frozenset(("score", "fail_reason", "fail_detail", "question_fields"))
_SESSION_TABLES = frozenset(
    ("commits", "pinned", "metric_catalog", "profile_catalog", "gate_catalog", "file_rows", "file_runs", "new_rows",
     "compared_file", "group_rows", "metric_rows", "gate_values")
)  # fmt: skip


def check_profile_name(name: str, where: str) -> None:
    """InputError for a name that cannot be that of a profile, and so of a view."""
    if not name.isidentifier() or not name.isascii() or name != name.lower():
        raise InputError(f"{where}, name: '{name}' is no name of a profile. Write lower-case letters, digits and _.")
    if name in sql_names() or name in SQL_WORDS or name in _SESSION_TABLES or name.startswith(("stored_", "later_")):
        raise InputError(f"{where}, name: '{name}' is a view or a word of SQL. Give the profile another name.")


def check_column_name(name: str, where: str) -> None:
    """InputError for a name that cannot be that of a column of score rows."""
    if not name.isidentifier() or not name.isascii():
        raise InputError(f"{where}: '{name}' is no name of a column. Write letters, digits and _.")
    _check_free(name, where)


def check_field_name(name: str, where: str) -> None:
    """InputError for a name that cannot be that of a field; letters of every script are allowed."""
    if not name.isidentifier():
        raise InputError(f"{where}: '{name}' is no name of a field. Write letters, digits and _.")
    _check_free(name, where)


def _check_free(name: str, where: str) -> None:
    if name.lower() in KEY_COLUMNS or name.lower() in RESULT_COLUMNS:
        raise InputError(f"{where}: '{name}' is a key column of every score row. Give it another name.")
    if name.lower() in SQL_WORDS:
        raise InputError(f"{where}: '{name}' is a word of SQL. Give it another name.")
