"""Locks and durable writes, on POSIX and on Windows."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

_WINDOWS = os.name == "nt"


def try_lock(path: Path) -> BaseFileLock | None:
    """The lock of a file, None where another holds it. Kept until it is released, dropped, or the process ends."""
    return wait_for_lock(path, 0)


def wait_for_lock(path: Path, seconds: float) -> BaseFileLock | None:
    """The lock of a file, as soon as no other holds it; None where that takes longer than so many seconds."""
    lock = FileLock(path, timeout=seconds, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def sync(path: Path) -> None:
    """Have a file or folder written to the disk. Windows has no such call for folders: it writes renames itself."""
    if _WINDOWS and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)
    try:
        _sync_handle(handle)
    finally:
        os.close(handle)


def _sync_handle(handle: int) -> None:
    """On macOS `fsync` ends when the disk has the bytes in its own memory: a call of its own has them written."""
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):  # a file system that lacks the call
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def remove_released(folder: Path) -> None:
    """Remove a folder whose lock was held while it was emptied, which Windows does not do; nothing elsewhere.

    One that another process has locked meanwhile stays, as its lock is open there.
    """
    if _WINDOWS:
        shutil.rmtree(folder, ignore_errors=True)


def sync_below(folder: Path) -> None:
    """Have all files of a folder written to the disk: at once where the system can, else one by one."""
    if hasattr(os, "sync"):
        os.sync()
        return
    for path in folder.rglob("*"):
        sync(path)


def write_durably(path: Path, content: bytes) -> None:
    """Write a file and have it on the disk."""
    path.write_bytes(content)
    sync(path)
