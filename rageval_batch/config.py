"""Small files that are read whole: settings in TOML or JSON, by their ending, as tables."""

from __future__ import annotations

import json
import os
import stat
from os import PathLike
from typing import Any

from rageval_batch.errors import InputError

_MOST_BYTES = 64 << 20  # of a file of settings, a prompt or another that is read whole


def read_small_file(path: str | PathLike[str], kind: str) -> bytes:
    """A file that is read whole; InputError where it is too large to be of its kind, as a device without an end is, or
    a named pipe, which may never have a writer; OSError where it cannot be read."""
    if stat.S_ISFIFO(os.lstat(path).st_mode):  # what a shell makes of <(…) is a link to a pipe, with its writer
        raise InputError(f"{path} is a named pipe. Write what it gives into a file first.")
    with open(path, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES >> 20} MiB: it is no {kind}.")
    return content


def read_config(path: str) -> dict[str, Any]:
    """The table of a TOML file or the object of a JSON file; InputError with the place where it is broken."""
    try:
        content = read_small_file(path, "file of settings")
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    import tomllib

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


def read_table(path: str, name: str) -> dict[str, Any]:
    """The table of a name in a TOML or JSON file; InputError where it has none."""
    found = read_config(path).get(name)
    if not isinstance(found, dict):
        raise InputError(f"{path} has no table [{name}].")
    return found
