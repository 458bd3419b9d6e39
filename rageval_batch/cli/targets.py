"""Files that -o must not write: what the command itself reads, and what a store holds."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rageval_batch.errors import InputError
from rageval_batch.locations import is_commit, is_url
from rageval_batch.runs.staging import STAGING

_WRITTEN = ("target", "store", "archive")  # parameters that are no inputs
_FOLDERS = ("outputs", "questions", "contexts", "files")  # parameters whose folders are read


def check_target(target: str, given: Mapping[str, Any]) -> None:
    """InputError where a file to write is one that the command reads, or lies in a commit or in what becomes one."""
    try:
        place = Path(target).resolve()
    except (OSError, RuntimeError, ValueError):  # which writing the file says better
        return
    if any(folder.name == STAGING or is_commit(folder) for folder in place.parents):
        raise InputError(f"-o {target} lies in a commit of a store, which is never changed. Name another file.")
    if not place.is_file():
        return
    for name, value in given.items():
        for text in [value] if isinstance(value, str) else value if isinstance(value, tuple) else []:
            if name not in _WRITTEN and any(_reads(path, place, name) for path in _paths(str(text))):
                raise InputError(f"-o {target} is an input of this command, and would be lost. Name another file.")


def _paths(text: str) -> Iterator[Path]:
    """What a word may name: a file or folder, a glob, or NAME=PATH."""
    for name in (text, text.partition("=")[2]):
        if name and "\0" not in name and not is_url(name):
            yield Path(name)
            yield from map(Path, glob.iglob(name, recursive=True) if glob.has_magic(name) else ())


def _reads(path: Path, place: Path, name: str) -> bool:
    try:
        found = path.resolve()
    except (OSError, RuntimeError):
        return False
    return found == place or (name in _FOLDERS and found in place.parents)
