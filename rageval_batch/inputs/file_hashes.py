"""SHA-256 of files. A command begins to hash its inputs on a thread as soon as it knows their names: that is done while
the modules are imported that read them."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import NamedTuple

# Reading and hashing need the interpreter's lock for a moment between them, for which importing makes them wait: large
# pieces, and a short wait, let a file of 250 MB be hashed while modules are imported.
_ROOM = 4 << 20  # bytes
_IMPATIENT, _PATIENT = 0.0002, sys.getswitchinterval()  # seconds


class FileHash(NamedTuple):
    """What a file was when it was hashed."""

    sha256: str
    size: int
    modified: int  # ns


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
    about, digest, room = os.stat(path), hashlib.sha256(), memoryview(bytearray(_ROOM))
    with open(path, "rb", buffering=0) as stream:
        while count := stream.readinto(room):
            digest.update(room[:count])
    return FileHash(digest.hexdigest(), about.st_size, about.st_mtime_ns)
