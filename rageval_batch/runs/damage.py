"""Damaged commits, named: what a library says of a file that it cannot read becomes a sentence about its commit."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_batch.errors import StoreError
from rageval_batch.runs.store import Commit, Store


def damage_in(store: Store, commits: Iterable[Commit]) -> StoreError | None:
    """What is wrong with the first of some commits that is damaged, and the way out; all their files are read."""
    for commit in {commit.path: commit for commit in commits}.values():
        for _, problem in commit.damaged_files():
            name = commit.path.name
            return StoreError(
                f"Commit {name} of {store.name} is damaged: {problem}. Restore it from a copy, or "
                f"leave it out: rageval drop {name} --store {store.name}"
            )
    return None
