"""Data files that come with the package."""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=8)
def packaged(name: str) -> Any:
    """The content of a TOML or JSON file of the folder data; not to be changed by who gets it."""
    text = (files("rageval_batch") / "data" / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
