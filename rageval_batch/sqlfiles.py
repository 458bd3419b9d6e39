"""Where the SQL files are, and what they say."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path


def sql_folder() -> Path:
    """Where the SQL files are: inside an installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / "sql"
    return inside if inside.is_dir() else package.parent / "sql"


@lru_cache(maxsize=64)
def definition(name: str) -> str:
    """The statement of one file."""
    return (sql_folder() / f"{name}.sql").read_text(encoding="utf-8")
