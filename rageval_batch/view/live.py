"""Sessions over the store as it is now, opened anew after a commit.

One is for pages, one for pages that may take long, which the others need not wait for, and one for the queries of
users.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.session import Session
from rageval_batch.answering import DamageFound
from rageval_batch.errors import InputError
from rageval_batch.runs.store import Store

LONGEST = 30.0  # seconds that a query of a user may take
_LET_GO = 1.0  # seconds in which a session that is to be closed may come to its end


class LiveStore:
    """The store of a viewer. Sessions are used by one request at a time."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self._pages = _Kept(store, locked=False)
        self._long_pages = _Kept(store, locked=False)
        self._queries = _Kept(store, locked=True)

    @contextmanager
    def session(self, *names: str, may_take_long: bool = False) -> Iterator[Session]:
        """A session that sees all commits; older results that are named RUN@COMMIT are seen by one of their own."""
        with (self._long_pages if may_take_long else self._pages).session() as session:
            runs = {name for commit in session.commits for name in commit.manifest["runs"]}
            if all(name in runs or "@" not in name for name in names):
                yield session
                return
        with open_store(self.name, functions=False, named=names) as session:
            yield session

    @contextmanager
    def query_session(self) -> Iterator[Session]:
        """A session that can reach nothing but the store."""
        with self._queries.session() as session:
            yield session

    def close(self) -> None:
        """Stop the queries that run, and let go of the files."""
        every = (self._pages, self._long_pages, self._queries)
        for kept in every:
            kept.interrupt()
        for kept in every:
            kept.close()


@contextmanager
def limited_query(session: Session, query: str) -> Iterator[None]:
    """While a query of a user runs: where it takes too long, it is stopped.

    The inputs that it is about are read before that: stopped there, it would begin anew each time.
    """
    session.prepare(query)
    late = threading.Event()

    def stop() -> None:
        late.set()
        session.interrupt()

    timer = threading.Timer(LONGEST, stop)
    timer.start()
    try:
        yield
    except InputError as error:
        if late.is_set():
            raise InputError(
                f"The query was stopped after {LONGEST:g} seconds. Ask for less, or use rageval sql."
            ) from error
        raise
    finally:
        timer.cancel()


class _Kept:
    """A session that is kept for as long as no commit comes."""

    def __init__(self, store: Store, locked: bool) -> None:
        self._store, self._locked = store, locked
        self._guard = threading.Lock()
        self._open = ExitStack()
        self._session: Session | None = None
        self._seen: Sequence[str] = ()

    @contextmanager
    def session(self) -> Iterator[Session]:
        with self._guard:
            there = self._store.folder_names()
            if self._session is None or there != self._seen:
                self._session = None  # where the store cannot be opened, the next request tries again
                self._open.close()
                session = self._open.enter_context(open_store(self._store.name, functions=self._locked))
                if self._locked:
                    session.lock()
                self._session, self._seen = session, there
            try:
                yield self._session
            except DamageFound:  # which the next one is opened without
                self._session = None
                raise

    def interrupt(self) -> None:
        if self._session is not None:
            self._session.interrupt()

    def close(self) -> None:
        if not self._guard.acquire(timeout=_LET_GO):
            return  # an input is being read, which nothing stops; the process ends without it
        try:
            self._open.close()
            self._session = None
        finally:
            self._guard.release()
