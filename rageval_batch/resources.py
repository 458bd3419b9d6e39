"""Files that come with the package: data, SQL and samples, from an installed package or from a checkout."""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parent


def _folder(name: str) -> Path:
    """A folder that lies inside an installed package and beside it in a checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def samples_folder() -> Path:
    """The folder of the sample inputs, one sub-folder a profile."""
    return _folder("data_samples")


def sql_folder() -> Path:
    """The folder of the SQL files."""
    return _folder("sql")


@lru_cache(maxsize=64)
def sql_definition(name: str) -> str:
    """The statement of one SQL file, by its stem; the files of one profile lie in a sub-folder."""
    (path,) = sql_folder().rglob(f"{name}.sql")
    return path.read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def packaged_data(name: str) -> Any:
    """The content of a TOML or JSON file of the folder `data`; shared, so callers must not change it."""
    text = (_PACKAGE / "data" / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
