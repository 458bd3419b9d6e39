"""Damage that shows only while the files of a commit are read: the commit is noted, every later look at the store
leaves it out, and what was asked for is answered again without it.

Opening a store compares sizes, which is quick; checksums are compared where reading fails. What is noted holds for this
process and for as long as the files are not touched: one that was restored is read again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rageval_batch.answering import DamageFound
from rageval_batch.runs.manifest import Damage

if TYPE_CHECKING:
    from rageval_batch.runs.store import Commit

_Stamps = tuple[tuple[str, int, int], ...]  # name, time and size of the files of a folder

_NOTED: dict[str, tuple[_Stamps, str]] = {}


def noted_damage(folder: Path) -> Damage | None:
    """What was found to be wrong with a commit, if its files are still the same."""
    if not _NOTED or (known := _NOTED.get(os.path.abspath(folder))) is None:
        return None
    stamps, problem = known
    return Damage(problem) if stamps == _stamps(folder) else None


def _stamps(folder: Path) -> _Stamps:
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat()
            found.append((entry.name, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))


def find_damage(commits: Iterable[Commit]) -> DamageFound | None:
    """Read all files of commits and note those that are damaged; an error that names the first of them, or None."""
    damaged: list[tuple[Commit, str]] = []
    restored: list[tuple[Commit, str]] = []
    for commit in {commit.path: commit for commit in commits}.values():
        for name, problem in commit.damaged_files():
            if not commit.restored(name):
                damaged.append((commit, problem))
                break
            restored.append((commit, problem))
    if damaged:
        return note_damage(damaged)
    return _damage_found(restored) if restored else None


def note_damage(problems: Sequence[tuple[Commit, str]]) -> DamageFound:
    """Note what is wrong with commits; the error to raise."""
    for commit, problem in problems:
        _NOTED[os.path.abspath(commit.path)] = (_stamps(commit.path), problem)
    return _damage_found(problems)


def _damage_found(problems: Sequence[tuple[Commit, str]]) -> DamageFound:
    commit, problem = problems[0]
    name, store = commit.path.name, commit.store_name
    return DamageFound(
        f"Commit {name} of {store} is damaged: {problem}.",
        advice=f"Restore it from a copy, or leave it out: rageval drop {name} --store {store}",
        problem=problem,
        folders=frozenset(one.path for one, _ in problems),
    )


@contextmanager
def reading(commits: Iterable[Commit]) -> Iterator[None]:
    """While files of a few commits are read: an error for which their damage is the reason is DamageFound."""
    try:
        yield
    except DamageFound:
        raise
    except Exception as error:
        if (found := find_damage(commits)) is not None:
            raise found from error
        raise
