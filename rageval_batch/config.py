"""Small configuration files, TOML or JSON, by their ending."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from rageval_batch.errors import InputError


def read_config(path: str) -> dict[str, Any]:
    """The table of a TOML file or the object of a JSON file; InputError with the place where it is broken."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    try:
        text = content.decode("utf-8-sig")
        value = json.loads(text) if path.lower().endswith(".json") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Write it as TOML, or as JSON with the ending .json."
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{path} must hold an object with names and values.")
    return value
