"""Ctrl-C, wherever it meets the command line: exit 130 within a moment, without a traceback; SIGTERM, with which CI and
containers end what takes too long, in the same way: exit 143.

Python raises KeyboardInterrupt in its main thread, between two of its own instructions. A library in C may make another
error of it, drop it, or not come back for minutes. So an interrupt is also noted here, a second thread stops the
queries that run, and a process that has not ended after a few seconds is ended: like a kill, that loses nothing.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Protocol
from weakref import WeakSet

from rageval_batch.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

_SECONDS = 3.0  # that a command has to end by itself
_STEP = 0.05  # seconds from one call to stop a query to the next: one that comes before it has begun is lost


class Query(Protocol):
    """A database connection, whose query can be stopped from another thread."""

    def interrupt(self) -> None:
        """Stop what runs now."""


class _State:
    watched = False
    seen = False
    raised = False
    left_to_command = False
    terminated = False
    stoppable: _Stoppable | None = None
    pipe = -1  # into which the number of every signal is written


class _Stoppable:
    """A query that Ctrl-C stops while its command goes on."""

    interrupted = False


_running: WeakSet[Query] = WeakSet()
_stopping = _thread.allocate_lock()


def seen() -> bool:
    """Whether there was an interrupt."""
    return _State.seen


def terminated() -> bool:
    """Whether it was SIGTERM, which ends every command."""
    return _State.terminated


def exit_code() -> int:
    """With which an interrupted process ends."""
    return EXIT_TERMINATED if _State.terminated else EXIT_INTERRUPTED


def message() -> str:
    """What an interrupted process says."""
    return f"rageval: {'terminated' if _State.terminated else 'interrupted'}. Give the same command again to go on.\n"


def stop_when_interrupted(query: Query) -> None:
    """Have an interrupt stop the queries of a connection, as long as that is open."""
    _running.add(query)


def watch() -> None:
    """From here on an interrupt ends this process; only for a process that is all our own."""
    reading, writing = os.pipe()
    if os.name != "nt":  # where a pipe need not, and cannot, be told
        os.set_blocking(writing, False)
    _State.pipe = writing
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _interrupted)
    signal.signal(signal.SIGTERM, _interrupted)
    sys.unraisablehook = _unraisable
    _State.watched = True
    _thread.start_new_thread(_end_the_slow, (reading,))


@contextmanager
def left_to_command() -> Iterator[None]:
    """While a command has its own use for Ctrl-C: it is a KeyboardInterrupt and nothing else. SIGTERM is as ever."""
    if not _State.watched:
        yield
        return
    _State.left_to_command = True
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _interrupted)
        _State.left_to_command = False


@contextmanager
def stoppable_query() -> Iterator[None]:
    """While a command that has its own use for Ctrl-C runs a query: Ctrl-C stops it, wherever it is, and is a
    KeyboardInterrupt, whatever a library makes of it. Nothing is stopped any more behind its end."""
    if _State.watched:  # event loops, such as that of a prompt, take the pipe away when they end
        signal.set_wakeup_fd(_State.pipe, warn_on_full_buffer=False)
    query = _State.stoppable = _Stoppable()
    try:
        yield
    except Exception as error:
        if query.interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        _State.stoppable = None
        with _stopping:  # a call that is on its way would stop the next query
            pass


def leave(code: int) -> NoReturn:
    """End the process now. Interpreters that take themselves apart print what an interrupt then breaks."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _interrupted(number: int, frame: object) -> None:
    """The first interrupt lets a command clean up; a second one does not wait for that."""
    _State.terminated |= number == signal.SIGTERM
    if _State.raised:
        os._exit(exit_code())
    _State.seen = _State.raised = True
    raise KeyboardInterrupt


def _unraisable(found: Any) -> None:
    if not (_State.seen and found.exc_type is KeyboardInterrupt):
        sys.__unraisablehook__(found)


def _end_the_slow(signals: int) -> None:
    """Wait for an interrupt; stop queries until the process has ended, or end it."""
    while True:
        number = os.read(signals, 1)
        if not number:
            return
        if number[0] == signal.SIGTERM:
            _State.terminated = True
            break
        if number[0] == signal.SIGINT:
            if not _State.left_to_command:
                break
            if _State.stoppable is not None:
                _State.stoppable.interrupted = True
                _thread.start_new_thread(_stop, (_State.stoppable,))
    _State.seen = True
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        _interrupt_queries()
        time.sleep(_STEP)
    with suppress(OSError):
        os.write(2, message().encode())
    os._exit(exit_code())


def _stop(query: _Stoppable) -> None:
    """Interrupt what runs until that query has come to its end."""
    while _State.stoppable is query:
        with _stopping:
            if _State.stoppable is query:
                _interrupt_queries()
        time.sleep(_STEP)


def _interrupt_queries() -> None:
    for query in list(_running):
        with suppress(Exception):  # closed meanwhile
            query.interrupt()
