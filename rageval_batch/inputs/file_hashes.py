"""SHA-256 of files. A command begins to hash its inputs on a thread as soon as it knows their names: that is done while
the modules are imported that read them."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import NamedTuple

from rageval_batch.large_pages import in_large_pages

# Reading and hashing need the interpreter's lock for a moment between them, for which importing makes them wait: large
# pieces, and a short wait, let a file of 250 MB be hashed while modules are imported.
_ROOM = 4 << 20  # bytes
_IMPATIENT, _PATIENT = 0.0002, sys.getswitchinterval()  # seconds
_SETTLED = 2_000_000_000  # nanoseconds after which a change of a file shows in its time stamps everywhere

Stamps = tuple[int, int, int]  # when its bytes were changed, when anything of it was, both in ns; and its inode


class FileHash(NamedTuple):
    """What a file was when it was hashed."""

    sha256: str
    size: int
    modified: int  # ns
    stamps: Stamps | None  # for as long as a file has them and its size, it has this hash; null: nobody can say


def stamps(found: os.stat_result) -> Stamps:
    """What no change of a file leaves as it is."""
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino


_begun: dict[str, Future[FileHash]] = {}  # by absolute paths


def begin_hashing(paths: Iterable[str]) -> None:
    """Begin to hash those that are regular files, one after the other."""
    waiting: dict[str, Future[FileHash]] = {}
    for path in map(os.path.abspath, paths):
        with suppress(OSError, ValueError):  # said when the file is read
            if stat.S_ISREG(os.stat(path).st_mode):
                waiting[path] = Future()
    _begun.update(waiting)
    Thread(target=_hash_waiting, args=(waiting,), daemon=True).start()


def _hash_waiting(waiting: dict[str, Future[FileHash]]) -> None:
    sys.setswitchinterval(_IMPATIENT)
    for path, found in waiting.items():
        try:
            found.set_result(_hashed(path))
        except OSError as error:
            found.set_exception(error)
    sys.setswitchinterval(_PATIENT)


def file_hash(path: str) -> FileHash:
    """The hash of a file; one that was begun is waited for, and made anew if the file has changed since."""
    begun = _begun.pop(os.path.abspath(path), None)
    if begun is not None:
        found, now = begun.result(), os.stat(path)
        if (now.st_mtime_ns, now.st_size) == (found.modified, found.size):
            return found
    return _hashed(path)


def _hashed(path: str) -> FileHash:
    about, digest = os.stat(path), hashlib.sha256()
    room = memoryview(in_large_pages(_ROOM))
    # A file that was changed just now may be changed again while it is read, and have the same time stamps. Elsewhere
    # than on POSIX systems the second of them is the time of its creation.
    settled = os.name == "posix" and time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) > _SETTLED
    with open(path, "rb", buffering=0) as stream:
        while count := stream.readinto(room):
            digest.update(room[:count])
    known = stamps(about) if settled else None
    return FileHash(digest.hexdigest(), about.st_size, about.st_mtime_ns, stamps=known)
