"""The files of a folder that is given as an input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rageval_batch.locations import COMMIT_NAME, is_commit


def visible_files(root: Path) -> Iterator[Path]:
    """The files below a folder without those that are hidden and those of commits: a store may lie among the outputs
    that it was made of."""
    commits = {root: False}  # for a folder, whether it is a commit or lies in one

    def in_commit(folder: Path) -> bool:
        if folder not in commits:
            commits[folder] = in_commit(folder.parent) or is_commit(folder)
        return commits[folder]

    for path in root.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
        if not hidden and path.is_file() and not in_commit(path.parent):
            yield path


def url_in_commit(url: str, root: str) -> bool:
    """Whether a file behind a URL lies in a commit below the folder or glob that was given."""
    given = root.split("/")
    return any(COMMIT_NAME.fullmatch(part) and part not in given for part in url.split("/")[:-1])
