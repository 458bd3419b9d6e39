"""Work that may take long: a page waits a moment, says that its query still runs, and has the result on reload."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDone
from typing import Generic, TypeVar

from rageval_batch.dataclass import dataclass

WAIT = 1.2  # seconds that a page waits for its query
_MOST = 8  # queries whose results nobody came back for

Result = TypeVar("Result")


@dataclass(frozen=True)
class StillRunning:
    """A query that is not done, the seconds since it was asked for, and whether it waits for another to end."""

    seconds: float
    is_behind: bool


class RunningQueries(Generic[Result]):
    """Queries by their names, one at a time: who asks for a name again gets the result of what was begun before."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1)
        self._guard = threading.Lock()
        self._begun: dict[Hashable, tuple[Future[Result], float]] = {}

    def result(self, name: Hashable, query: Callable[[], Result]) -> Result | StillRunning:
        """What the query gives or raises, handed out once; or that it still runs."""
        with self._guard:
            if name not in self._begun:
                for old in list(self._begun)[: 1 - _MOST]:
                    self._begun.pop(old)[0].cancel()
                self._begun[name] = self._worker.submit(query), time.monotonic()
            future, since = self._begun[name]
        try:
            future.exception(WAIT)
        except NotDone:
            return StillRunning(time.monotonic() - since, is_behind=self._is_behind(since))
        with self._guard:
            if self._begun.get(name) == (future, since):
                del self._begun[name]
        return future.result()

    def _is_behind(self, since: float) -> bool:
        """Whether a query that was begun before that time is not done."""
        with self._guard:
            return any(begun < since and not future.done() for future, begun in self._begun.values())

    def close(self) -> None:
        """Begin nothing more."""
        self._worker.shutdown(wait=False, cancel_futures=True)
