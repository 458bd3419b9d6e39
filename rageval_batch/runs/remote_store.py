"""A store behind a URL: its commits there, and on this machine a copy of what was read of them.

There are no locks and no renames of folders there: the files of a commit are written first and its manifest last, and
without its manifest a commit is none. A file is fetched when it is first read, and its checksum compared; a leaderboard
fetches the summaries, not the score rows.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from rageval_batch.errors import StoreError
from rageval_batch.locations import MANIFEST, Entry, Folder
from rageval_batch.runs.manifest import Damage

CACHE_VARIABLE, SIZE_VARIABLE = "RAGEVAL_CACHE", "RAGEVAL_CACHE_GB"
_CACHE_GB = 20.0
_IN_USE = 3_600.0  # seconds since a file was last asked for, in which it stays whatever the size of the cache
_CONNECTIONS = 16
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def cache_folder() -> Path:
    """Where copies of stores behind URLs lie: RAGEVAL_CACHE, else a folder of the user's cache."""
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rageval-batch"


class RemoteStore:
    """The folders of a store behind a URL; `mirror` has those files of them that were read."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.folder = Folder(url)
        name = _NO_NAME.sub("-", url).strip("-")[-60:]
        self.mirror = cache_folder() / "stores" / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:16]}"

    # --- reading ----------------------------------------------------------------------------------------------------

    def commit_names(self) -> list[str]:
        """The folders that are there and not hidden, in the order of their names."""
        return sorted(e.name for e in self.folder.entries() if e.is_folder and not e.name.startswith("."))

    def files(self, names: Iterable[str]) -> dict[str, dict[str, Entry]]:
        """The files of folders by their names."""
        names = list(names)
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            found = pool.map(self.folder.entries, names)
            return {name: {entry.name: entry for entry in entries} for name, entries in zip(names, found, strict=True)}

    def fetch_manifest(self, commit: str, there: Entry) -> None:
        """Have the manifest of a commit in the mirror; one that is another than before makes all copies void."""
        target = self.mirror / commit / MANIFEST
        with suppress(OSError):
            status = os.stat(target)
            if (status.st_size, status.st_mtime_ns // 10**9) == (there.size, there.written // 10**9):
                return
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = self.folder.read(f"{commit}/{MANIFEST}")
        if content is not None:
            _replace(target, content)
            os.utime(target, ns=(there.written, there.written))

    def fetch(self, commit: str, files: Mapping[str, Mapping[str, Any]], anew: bool = False) -> None:
        """Have these files of a commit in the mirror, which have these checksums. Damage where one has another.

        `anew`: also those that were fetched before.
        """
        lacking = []
        for name, known in files.items():
            path = self.mirror / commit / name
            if not anew and path.is_file() and path.stat().st_size == known["size"]:
                with suppress(OSError):
                    os.utime(path)
            else:
                lacking.append(name)
        if not lacking:
            return
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(lambda name: self._fetch_file(commit, name, files[name]), lacking))
        _shrink(cache_folder() / "stores")

    def _fetch_file(self, commit: str, name: str, known: Mapping[str, Any]) -> None:
        target = self.mirror / commit / name
        aside = target.with_name(f".{name}-{secrets.token_hex(4)}")
        digest = hashlib.sha256()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as out:
                for piece in self.folder.pieces(f"{commit}/{name}"):
                    digest.update(piece)
                    out.write(piece)
            if digest.hexdigest() != known["sha256"]:
                raise Damage(f"{name} does not have its checksum")
            os.replace(aside, target)
        except OSError as error:
            raise StoreError(f"Cannot read {name} of commit {commit} of {self.url}: {error}.") from error
        finally:
            aside.unlink(missing_ok=True)

    # --- writing ----------------------------------------------------------------------------------------------------

    def publish(self, ready: Path, commit: str, lying: Mapping[str, str]) -> None:
        """Write a commit: its files, and when they are there its manifest. `lying`: files that are in the store
        already, by the names that they get."""
        names = [path.name for path in ready.iterdir() if path.name != MANIFEST]
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            done = [pool.submit(self.folder.upload, ready / name, f"{commit}/{name}") for name in names]
            done += [pool.submit(self.folder.move, place, f"{commit}/{name}") for name, place in lying.items()]
            for one in done:
                one.result()
        self.folder.write(f"{commit}/{MANIFEST}", (ready / MANIFEST).read_bytes())
        there = self.files([commit])[commit][MANIFEST]
        os.utime(ready / MANIFEST, ns=(there.written, there.written))

    def remove(self, commit: str) -> None:
        """Remove a commit: its manifest first, so that nobody sees half of it."""
        if self.files([commit])[commit].get(MANIFEST):
            self.folder.remove(f"{commit}/{MANIFEST}")
        self.folder.remove_folder(commit)


def _replace(target: Path, content: bytes) -> None:
    aside = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    aside.write_bytes(content)
    os.replace(aside, target)


def _shrink(root: Path) -> None:
    """Remove the copies that nobody has asked for longest, until the cache has its size; none of the last hour."""
    try:
        limit = float(os.environ.get(SIZE_VARIABLE) or _CACHE_GB) * 1e9
    except ValueError:
        raise StoreError(f"{SIZE_VARIABLE}={os.environ[SIZE_VARIABLE]} is no number of gigabytes.") from None
    found = []
    for path in root.glob("*/*/*"):
        with suppress(OSError):
            if path.is_file() and path.name != MANIFEST and not path.parent.name.startswith("."):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for used, size, path in sorted(found):
        if total <= limit or used > time.time() - _IN_USE:
            return
        path.unlink(missing_ok=True)
        total -= size
