"""Folders that databases spill to: each is locked while its process lives, so that the next process removes what one
that was killed has left."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from filelock import BaseFileLock

from rageval_batch.dataclass import dataclass
from rageval_batch.runs.file_system import try_lock

_PREFIX = "rageval-spill-"
_LOCK = "lock"
_YOUNG = 60.0  # seconds in which a folder may not be locked yet


@dataclass(frozen=True)
class SpillFolder:
    """A folder of one process, private to its user."""

    path: Path
    lock: BaseFileLock | None

    def remove(self) -> None:
        """Remove it with what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.lock is not None:
            self.lock.release()
        shutil.rmtree(self.path, ignore_errors=True)  # Windows does not remove a lock that is held


def spill_folder(preferred: Path | None) -> SpillFolder:
    """A new folder below the preferred one, or the system's where that cannot be written; those left there are removed.

    Where neither can be written, one that is not there: a query that must spill fails.
    """
    name = f"{_PREFIX}{secrets.token_hex(8)}"
    import tempfile

    system = Path(tempfile.gettempdir()).absolute()
    for parent in (preferred.absolute(), system) if preferred is not None else (system,):
        folder = parent / name
        with suppress(OSError):
            folder.mkdir(mode=0o700)
            _remove_left(parent)
            return SpillFolder(folder, try_lock(folder / _LOCK))
    return SpillFolder(system / name, None)


def _remove_left(parent: Path) -> None:
    """Remove the folders of processes that are gone; those of other users stay."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            with suppress(OSError):
                if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                    continue
                if time.time() - entry.stat().st_mtime > _YOUNG and (lock := try_lock(Path(entry.path, _LOCK))):
                    SpillFolder(Path(entry.path), lock).remove()
