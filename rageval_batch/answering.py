"""Answers of a store in which damage shows only while it is read: they are made again without what is damaged.

Apart from the store, so that the command line has it before it has anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rageval_batch.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

Answer = TypeVar("Answer")


class DamageFound(StoreError):
    """Commits that turned out to be damaged while they were read. They are noted (`runs.damage`): asked again, the
    store is without them."""

    def __init__(self, message: str, *, advice: str, problem: str, folders: frozenset[Path]) -> None:
        """`problem`: what is wrong with the first of them; `folders`: all of them."""
        super().__init__(message, advice=advice)
        self.problem, self.folders = problem, folders


def answered(answer: Callable[[], Answer], unless: Callable[[], bool] = lambda: False) -> Answer:
    """What a function of a store returns; called again, from its beginning, where it finds a damaged commit, as the
    store is without that from then on. `unless`: something of the first answer has been seen already."""
    left_out: set[Path] = set()
    while True:
        try:
            return answer()
        except DamageFound as found:
            if unless() or left_out.issuperset(found.folders):
                raise
            left_out |= found.folders
