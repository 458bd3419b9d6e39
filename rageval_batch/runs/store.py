"""The store: a folder of commits, each written aside and put in place by one rename. Nothing is ever changed there."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import BaseFileLock

from rageval_batch.errors import StoreError
from rageval_batch.runs.file_system import sync, try_lock, write_durably
from rageval_batch.runs.store_index import Stamp, StoreIndex, read_index

MANIFEST = "manifest.json"
STAGING = ".staging"
FORMAT = 1
_STAMP = "%Y%m%dT%H%M%S.%fZ"
_FORGOTTEN = timedelta(days=7)


@dataclass(frozen=True)
class Commit:
    """One `score` call: a folder with its manifest."""

    path: Path
    manifest: dict[str, Any]
    stamp: Stamp = field(default=(0, 0), compare=False)  # of the manifest, by which an index knows that it is the same

    @property
    def id(self) -> str:
        """The name of the folder; later commits have greater names."""
        return self.path.name

    def files(self, role: str) -> list[Path]:
        """The Parquet files of a role: scores, runs, rejects, tallies, kept_…"""
        return [self.path / name for name in self.manifest["files"].get(role, [])]


class Store:
    """Commits in a folder. Readers see a commit whole or not at all; writers do not disturb each other."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file, not a store. Name a folder with --store.")

    @cached_property
    def index(self) -> StoreIndex | None:
        """The index of the store, as it was when it was first asked for."""
        return read_index(self.path)

    @property
    def staging_folder(self) -> Path:
        """The folder of unfinished work."""
        return self.path / STAGING

    def commits(self) -> list[Commit]:
        """All commits, oldest first."""
        if not self.path.is_dir():
            return []
        found = []
        try:
            with os.scandir(self.path) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
            for name in names:
                commit = self._commit(name)
                if commit is not None:
                    found.append(commit)
        except OSError as error:
            raise StoreError(f"Cannot read the store {self.path}: {error.strerror}.") from error
        return found

    def _commit(self, name: str) -> Commit | None:
        """The commit of a folder, by the index where that knows it; None where the folder is somebody else's."""
        try:
            status = os.stat(self.path / name / MANIFEST)
        except (FileNotFoundError, NotADirectoryError):
            return None
        stamp = (status.st_mtime_ns, status.st_size)
        manifest = self.index.manifest(name, stamp) if self.index is not None else None
        if manifest is None:
            manifest = _manifest(self.path / name)
        return Commit(self.path / name, manifest, stamp) if manifest is not None else None

    def require(self) -> list[Commit]:
        """All commits; StoreError where there is none."""
        commits = self.commits()
        if not commits:
            raise StoreError(
                f"The store {self.path} has no runs. Score some first: rageval score --store {self.path} …"
            )
        return commits

    @contextmanager
    def staging(self, job: str) -> Iterator[Staging]:
        """A folder aside for one job, kept if the work is interrupted and found again by the same job."""
        with _store_errors(self.path):
            root = self.staging_folder
            root.mkdir(parents=True, exist_ok=True)
            self._forget_abandoned(root)
            folder, lock = _claim(root, job)
        try:
            yield Staging(self, folder)
        finally:
            lock.release()

    def publish(self, staging: Path, manifest: dict[str, Any]) -> Commit:
        """Put a finished folder in place under a new name, greater than all there are."""
        with _store_errors(self.path):
            created = datetime.now(UTC)
            newest = max((commit.id for commit in self.commits()), default="")
            while True:
                name = f"{created.strftime(_STAMP)}-{secrets.token_hex(3)}"
                if name > newest:
                    break
                created = datetime.strptime(newest[: newest.rindex("-")], _STAMP).replace(tzinfo=UTC)
                created += timedelta(microseconds=1)
            manifest = {**manifest, "format": FORMAT, "commit": name, "created_at": created.isoformat()}
            write_durably(staging / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode())
            for file in staging.iterdir():
                sync(file)
            sync(staging)
            target = self.path / name
            os.rename(staging, target)
            sync(self.path)
            return Commit(target, manifest)

    def _forget_abandoned(self, root: Path) -> None:
        """Remove work that was left for a week: nobody will go on with it."""
        limit = (datetime.now(UTC) - _FORGOTTEN).timestamp()
        for folder in root.iterdir():
            with suppress(FileNotFoundError):  # another writer may clear its own meanwhile
                if folder.is_dir() and folder.stat().st_mtime < limit and not _locked(folder):
                    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Staging:
    """The folder of one job: `parts` survive an interruption, `ready` becomes the commit."""

    store: Store
    path: Path

    @contextmanager
    def assembling(self) -> Iterator[Path]:
        """A fresh, empty folder for the commit's files; what goes wrong while they are written is said plainly."""
        ready = self.path / "ready"
        with _store_errors(self.store.path):
            shutil.rmtree(ready, ignore_errors=True)
            ready.mkdir()
            yield ready

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A path to write to that takes its name only when it is whole."""
        aside = self.path / f".{name}"
        with _store_errors(self.store.path):
            yield aside
            os.replace(aside, self.path / name)

    def clear(self) -> None:
        """Remove what was put aside."""
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    """What the file system says, as one sentence."""
    try:
        yield
    except OSError as error:
        raise store_error(path, error) from error


def store_error(path: Path, error: OSError) -> StoreError:
    """The sentence for an error of the file system under a store."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"No space left for the store {path}. Free some and give the same command again: it goes on.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"The store {path} cannot be written: {error.strerror}. Name another with --store.")
    return StoreError(f"The store {path} cannot be written: {error.strerror or error}.")


def _claim(root: Path, job: str) -> tuple[Path, BaseFileLock]:
    """The job's folder if nobody else has it, else one of one's own."""
    for name in (job, f"{job}-{secrets.token_hex(4)}"):
        folder = root / name
        folder.mkdir(exist_ok=True)
        lock = _lock(folder)
        if lock is not None:
            return folder, lock
    raise StoreError(f"Cannot lock {folder}. Give the command again.")


def _lock(folder: Path) -> BaseFileLock | None:
    return try_lock(folder / "lock")


def _locked(folder: Path) -> bool:
    lock = _lock(folder)
    if lock is None:
        return True
    lock.release()
    return False


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None  # a folder of somebody else's
    except ValueError as error:
        raise StoreError(f"{folder / MANIFEST} is damaged: {error}. Remove that folder or restore it.") from error
    if not isinstance(manifest, dict) or "format" not in manifest:
        return None
    if manifest["format"] > FORMAT:
        raise StoreError(f"{folder} was written by a newer version of rageval-batch. Install that version to read it.")
    return manifest
