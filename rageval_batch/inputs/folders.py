"""The files of a folder or glob that is given as an input."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from rageval_batch.locations import COMMIT_NAME, is_commit


def visible_files(root: Path) -> list[Path]:
    """The files below a folder without those that are hidden and those of commits: a store may lie among the outputs
    that it was made of."""

    def is_hidden(path: Path) -> bool:
        return any(part.startswith(".") for part in path.relative_to(root).parts)

    return outside_commits((path for path in root.rglob("*") if not is_hidden(path) and path.is_file()), root)


def outside_commits(paths: Iterable[Path], root: Path) -> list[Path]:
    """The paths that lie in no commit below a folder."""
    commits = {root: False}  # for a folder, whether it is a commit or lies in one

    def in_commit(folder: Path) -> bool:
        if folder not in commits:
            above = folder.parent
            commits[folder] = (above != folder and in_commit(above)) or is_commit(folder)
        return commits[folder]

    return [path for path in paths if not in_commit(path.parent)]


def glob_root(pattern: str) -> Path:
    """The folder that a glob begins in: what a user spells out is meant, be it a commit."""
    parts = Path(pattern).parts
    first = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:first])


def url_in_commit(url: str, root: str) -> bool:
    """Whether a file behind a URL lies in a commit below the folder or glob that was given."""
    given = root.split("/")
    return any(COMMIT_NAME.fullmatch(part) and part not in given for part in url.split("/")[:-1])


class Spellings:
    """Files and folders, each once, though it is written in several ways (a.jsonl, ./x/../a.jsonl): as the shortest of
    them. A link to a file is a name of its own."""

    def __init__(self) -> None:
        self.shortest: dict[str, str | Path] = {}
        self._folders: dict[Path, str] = {}  # where they lie

    def add(self, place: str | Path) -> str:
        """Note a place; what is the same for all its spellings."""
        key = str(place)
        if isinstance(place, Path):
            if place.parent not in self._folders:
                self._folders[place.parent] = os.path.realpath(place.parent)
            key = os.path.normpath(os.path.join(self._folders[place.parent], place.name))
        known = self.shortest.get(key)
        if known is None or (len(str(place)), str(place)) < (len(str(known)), str(known)):
            self.shortest[key] = place
        return key
