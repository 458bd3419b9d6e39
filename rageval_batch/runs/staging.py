"""The staging folders of a store, in which writers do their work: one for each job, locked while it is worked in."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import BaseFileLock

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import StoreError
from rageval_batch.runs.file_system import try_lock
from rageval_batch.runs.manifest import checksum_of, file_checksum

if TYPE_CHECKING:
    from rageval_batch.runs.store import Store

STAGING = ".staging"
PUBLISHED = "published"  # in a staging folder: the name of the commit that its work became
_LOCK = "lock"
_JOB_NAME = re.compile(r"[0-9a-f]{24}")  # of the folder that the same job finds again
_FORGOTTEN = timedelta(days=7)
_CLAIMED = timedelta(minutes=1)  # within which a writer has locked the folder that it made


@dataclass(frozen=True)
class Staging:
    """The folder of one job: `parts` survive an interruption, `ready` becomes the commit."""

    store: Store
    path: Path
    is_new: bool  # else the job was begun before

    @contextmanager
    def assembling(self) -> Iterator[Path]:
        """A fresh, empty folder for the commit's files; what goes wrong while they are written is said plainly."""
        ready = self.path / "ready"
        with store_errors(self.store.name):
            shutil.rmtree(ready, ignore_errors=True)
            ready.mkdir()
            yield ready

    def write_marked(self, mark: str, files: Mapping[str, memoryview]) -> None:
        """Write files by their names, then a mark that they are whole. They are not forced to the disk, so the mark has
        their checksums."""
        with store_errors(self.store.name):
            for name, content in files.items():
                self._write(name, content)
            noted = {name: checksum_of(content) for name, content in files.items()}
            self._write(mark, json.dumps(noted).encode())

    def _write(self, name: str, content: memoryview | bytes) -> None:
        """Write a file that takes its name only when it is whole."""
        aside = self.path / f".{name}"
        aside.write_bytes(content)
        os.replace(aside, self.path / name)

    def is_done(self, mark: str) -> bool:
        """Whether the files of a mark are there as they were written: a power loss may tear what a mark outlives."""
        try:
            noted = json.loads((self.path / mark).read_bytes())
            return bool(noted) and all(file_checksum(self.path / name) == known for name, known in noted.items())
        except (OSError, ValueError, AttributeError):
            return False

    def clear(self) -> None:
        """Remove what was put aside."""
        remove_staging(self.path)

    def is_cleared(self) -> bool:
        """Whether nothing is there any more, but for the lock where that cannot be removed while it is held."""
        with suppress(OSError):
            return os.listdir(self.path) == [_LOCK]
        return True


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """What the file system says, as one sentence."""
    try:
        yield
    except OSError as error:
        raise store_error(name, error) from error


def store_error(name: str, error: OSError) -> StoreError:
    """The sentence for an error of the file system under a store."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"No space left for the store {name}. Free some and give the same command again: it goes on.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"The store {name} cannot be written: {error.strerror}. Name another with --store.")
    return StoreError(f"The store {name} cannot be written: {error.strerror or error}.")


def claim_staging(root: Path, job: str) -> tuple[Path, BaseFileLock, bool]:
    """The job's folder if nobody else has it, else one of one's own; whether it is new."""
    for name in (job, f"{job}-{secrets.token_hex(4)}"):
        folder = root / name
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        lock = _lock(folder)
        if lock is not None:
            return folder, lock, is_new
    raise StoreError(f"Cannot lock {folder}. Give the command again.")


def has_work(folder: Path) -> bool:
    """Whether a folder has work of a job, with which the same job may go on."""
    return _JOB_NAME.fullmatch(folder.name) is not None and not set(os.listdir(folder)) <= {_LOCK}


def forget_abandoned(root: Path) -> None:
    """Remove work that nobody will go on with: that of a job a week later, what no command finds again, or has
    nothing in it, at once."""
    now = time.time()
    for folder in root.iterdir():
        with suppress(OSError):  # another writer may clear its own meanwhile
            age = now - folder.stat().st_mtime
            patience = _FORGOTTEN if has_work(folder) else _CLAIMED
            if folder.is_dir() and age > patience.total_seconds() and not is_locked(folder):
                remove_staging(folder)


def remove_staging(folder: Path) -> None:
    """Remove a staging folder, the mark of its commit last: by that another finds what a killed process left of it."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name not in (_LOCK, PUBLISHED):
                path.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path) -> BaseFileLock | None:
    return try_lock(folder / _LOCK)


def is_locked(folder: Path) -> bool:
    lock = _lock(folder)
    if lock is None:
        return True
    lock.release()
    return False
