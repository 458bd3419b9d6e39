"""Files that come with the package: data, SQL and samples, from an installed package or from a checkout."""

from __future__ import annotations

import json
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


@lru_cache(maxsize=1)
def _sql_files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(sql_folder().rglob("*.sql"))}


def sql_names() -> dict[str, str | None]:
    """Every view and macro of sql/ with the folder it lies in: that of a profile, of jobs, or None for the top."""
    top = sql_folder()
    return {name: None if path.parent == top else path.parent.name for name, path in _sql_files().items()}


@lru_cache(maxsize=64)
def sql_definition(name: str) -> str:
    """The statement of a view or macro."""
    return _sql_files()[name].read_text(encoding="utf-8")


_PROFILE_FILES = _PACKAGE / "data" / "profiles"


def packaged_profile_names() -> list[str]:
    """The names of the profile files of the package."""
    return sorted(path.stem for path in _PROFILE_FILES.glob("*.toml"))


def packaged_profile(name: str) -> str:
    """The text of a profile file of the package."""
    return (_PROFILE_FILES / f"{name}.toml").read_text(encoding="utf-8")


@lru_cache(maxsize=8)
def packaged_data(name: str) -> Any:
    """The content of a TOML or JSON file of the folder `data`; shared, so callers must not change it."""
    text = (_PACKAGE / "data" / name).read_text(encoding="utf-8")
    if not name.endswith(".toml"):
        return json.loads(text)
    import tomllib

    return tomllib.loads(text)
