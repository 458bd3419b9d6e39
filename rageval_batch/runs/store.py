"""The store: a folder of commits, each written aside and put in place by one rename. Nothing is ever changed there.

A store behind a URL has the same commits; there the manifest is written last and makes a commit (`remote_store`).

A commit that is damaged is left out, and said; one that hides others (a tombstone) is how results are dropped. A pack
is a folder with the rows of many commits in a few files: each of them is read from there, under its own name.
"""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rageval_batch.answering import DamageFound
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import DamagedCommit, StoreError
from rageval_batch.locations import COMMIT_NAME, MANIFEST, Entry, is_url, plain_name
from rageval_batch.runs.damage import find_damage, note_damage, noted_damage
from rageval_batch.runs.file_system import remove_released, sync, wait_for_lock, write_durably
from rageval_batch.runs.manifest import (
    FORMAT,
    Damage,
    check_files,
    check_sizes,
    checksums,
    damaged_files,
    is_pack,
    is_tombstone,
    manifest_bytes,
    read_manifest,
    signed,
)
from rageval_batch.runs.remote_store import RemoteStore
from rageval_batch.runs.staging import (
    PUBLISHED,
    STAGING,
    Staging,
    claim_staging,
    forget_abandoned,
    has_work,
    is_locked,
    remove_staging,
    store_errors,
)
from rageval_batch.runs.store_index import Stamp, StoreIndex, read_index
from rageval_batch.sql_text import PACKED_COMMIT, parquet_reader, quoted

_LOCK = ".publish.lock"
_STAMP = "%Y%m%dT%H%M%S.%fZ"
_PATIENCE = 600.0  # seconds that a writer waits for another to put its commit in place
Publish = Callable[..., "Commit"]  # of a sealed folder and its manifest


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One `score` call: its manifest, and the folder that its files lie in, alone or with those of other commits."""

    path: Path
    manifest: dict[str, Any]
    stamp: Stamp = field(default=(0, 0), compare=False)  # of the manifest, by which an index knows that it is the same
    dropped: frozenset[str] = frozenset()  # runs that its files have and that are no longer to be seen
    packed: Mapping[str, Any] = field(default_factory=dict, compare=False)  # the manifest of the pack that it lies in
    remote: RemoteStore | None = field(default=None, compare=False)  # where its files are fetched from, if not here

    @property
    def id(self) -> str:
        """The name; later commits have greater names."""
        name: str = self.manifest["commit"]
        return name

    @property
    def store_name(self) -> str:
        """What the store that it lies in is called."""
        return str(self.path.parent) if self.remote is None else self.remote.url

    def files(self, role: str) -> list[Path]:
        """The Parquet files of a role: scores, runs, rejects, tallies, kept_…; those of a pack have rows of others."""
        names = self.manifest["files"].get(role, [])
        self._fetch(names)
        return [self.path / name for name in names]

    def _fetch(self, names: Iterable[str], anew: bool = False) -> None:
        """Have files here that lie elsewhere."""
        if self.remote is not None:
            known = (self.packed or self.manifest)["checksums"]
            try:
                self.remote.fetch(self.path.name, {name: known[name] for name in names}, anew)
            except Damage as damage:
                raise note_damage([(self, str(damage))]) from damage

    def restored(self, name: str) -> bool:
        """Whether a damaged file was only the copy of one that lies elsewhere, and is now fetched again."""
        if self.remote is None:
            return False
        try:
            self._fetch([name], anew=True)
        except StoreError:
            return False
        return True

    def damaged_files(self, anew: bool = False) -> Iterator[tuple[str, str]]:
        """(file, what is wrong with it) of all files of the folder, by reading them whole; of one that lies elsewhere,
        of the files that were fetched, or, `anew`, of all as they are there."""
        manifest = self.packed or self.manifest
        for name in (name for names in manifest["files"].values() for name in names if anew and self.remote):
            try:
                self._fetch([name], anew)
            except DamageFound as found:
                yield name, found.problem
            except StoreError as error:
                yield name, str(error).rstrip(".")
        for name, problem in damaged_files(self.path, manifest):
            if self.remote is None or (self.path / name).exists():
                yield name, problem

    def rows(self, role: str) -> str:
        """The query of the rows of a role: scores, runs, summary, tallies, rejects or extras."""
        reader = parquet_reader(self.files(role))
        if not self.packed:
            return f"from {reader}"
        return f"select * exclude ({PACKED_COMMIT}) from {reader} where {PACKED_COMMIT} = {quoted(self.id)}"


@dataclass(frozen=True)
class Listing:
    """All that lies in a store, oldest first: commits, those that hide others, packs, and damaged folders.

    A commit that is in a folder of its own and in packs is that of the last pack; `folders` has every folder with the
    names of the commits that it has the files of.
    """

    commits: list[Commit] = field(default_factory=list)
    tombstones: list[Commit] = field(default_factory=list)
    packs: list[Commit] = field(default_factory=list)
    _: KW_ONLY
    damaged: list[tuple[Path, Damage]] = field(default_factory=list)
    folders: dict[Path, list[str]] = field(default_factory=dict)

    def visible(self) -> list[Commit]:
        """The commits without what was dropped."""
        hidden = hidden_runs(self.tombstones)
        found = (_without(commit, hidden.get(commit.id, set())) for commit in self.commits)
        return [commit for commit in found if commit is not None]

    def reported(self) -> list[tuple[Path, Damage]]:
        """The damaged commits that were not dropped."""
        hidden = hidden_runs(self.tombstones)
        return [(folder, damage) for folder, damage in self.damaged if hidden.get(folder.name, set()) is not None]


def hidden_runs(tombstones: Sequence[Commit]) -> dict[str, set[str] | None]:
    """The dropped runs of commits; None for all of a commit."""
    hidden: dict[str, set[str] | None] = {}
    for tombstone in tombstones:
        for name, runs in tombstone.manifest["hides"].items():
            known = hidden.get(name, set())
            hidden[name] = None if runs is None or known is None else known | set(runs)
    return hidden


def removable_commits(tombstones: Iterable[Commit]) -> set[str]:
    """The commits that a prune has given up: their files are to be removed."""
    return {
        name for tombstone in tombstones if tombstone.manifest.get("removes") for name in tombstone.manifest["hides"]
    }


def _listing(folders: list[Commit], damaged: list[tuple[Path, Damage]]) -> Listing:
    """What folders hold, those of a pack being commits of their own."""
    tombstones = [folder for folder in folders if is_tombstone(folder.manifest)]
    hidden = hidden_runs(tombstones)
    packs = [folder for folder in folders if is_pack(folder.manifest)]
    held = {path: [path.name] for path, _ in damaged}
    commits = {}
    for folder in folders:
        if not is_tombstone(folder.manifest) and not is_pack(folder.manifest):
            commits[folder.id] = folder
            held[folder.path] = [folder.id]
    for pack in packs:
        found = _unpacked(pack) if hidden.get(pack.id, set()) is not None else {}
        commits |= found
        held[pack.path] = list(found) or [pack.id]
    left_out = [(path, damage) for path, damage in damaged if path.name not in commits]
    return Listing([commits[name] for name in sorted(commits)], tombstones, packs, damaged=left_out, folders=held)


def _unpacked(pack: Commit) -> dict[str, Commit]:
    """The commits of a pack by their names."""
    return {
        name: Commit(path=pack.path, manifest=manifest, stamp=pack.stamp, packed=pack.manifest, remote=pack.remote)
        for name, manifest in pack.manifest["packs"].items()
    }


def _without(commit: Commit, hidden: set[str] | None) -> Commit | None:
    """A commit without some of its runs; None without all of them."""
    if hidden == set():
        return commit
    runs = [run for run in commit.manifest["runs"] if hidden is not None and run not in hidden]
    if not runs or hidden is None:
        return None
    return replace(commit, manifest={**commit.manifest, "runs": runs}, dropped=frozenset(hidden))


def _folder(name: str) -> Path:
    """The path of a folder; a relative one that a library takes for something else, from the root on: Arrow takes `a:b`
    for a URL, DuckDB `~/a` for a folder of the user's."""
    path = Path(name)
    return path.absolute() if ":" in name or name.startswith("~") else path


class Store:
    """Commits in a folder. Readers see a commit whole or not at all; writers do not disturb each other."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """`path`: that of a folder, or a URL."""
        self.name = plain_name(path)  # as users call it
        self.remote = RemoteStore(self.name) if is_url(self.name) else None
        self.path = _folder(self.name) if self.remote is None else self.remote.mirror
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file, not a store. Name a folder with --store.")
        self._whole: dict[str, Commit] = {}  # the folders that the last look found undamaged

    @cached_property
    def index(self) -> StoreIndex | None:
        """The index of the store, as it was when it was first asked for."""
        return read_index(self.path)

    @property
    def staging_folder(self) -> Path:
        """The folder of unfinished work."""
        return self.path / STAGING

    def exists(self) -> bool:
        """Whether there is a folder, with commits or without."""
        with _read_errors(self.name):
            return self.path.is_dir() if self.remote is None else bool(self.remote.folder.entries())

    def commits(self, again: bool = False) -> list[Commit]:
        """All commits that can be used, without what was dropped, oldest first; a DamagedCommit warning of others.

        `again`: folders that this object has found undamaged are not looked into a second time.
        """
        listing = self.listing(again=again)
        for folder, damage in listing.reported():
            text = f"Commit {folder.name} of {self.name} is damaged and left out: {damage}. See rageval fsck."
            warnings.warn(DamagedCommit(text), stacklevel=2)
        return listing.visible()

    def listing(self, anew: bool = False, *, again: bool = False) -> Listing:
        """All that lies in the store; `anew`: by the manifests themselves, whatever the index says of them; `again`:
        with the folders of the last look that are still there as they were."""
        # Behind a URL a commit whose manifest is gone is gone, whatever else of its folder is left.
        known = self._whole if again and self.remote is None else {}
        found: dict[str, Commit] = {}
        damaged: list[tuple[Path, Damage]] = []
        names = self.folder_names()
        with _read_errors(self.name):
            there = self.remote.files(names) if self.remote is not None else {}
        for name in names:
            try:
                commit = known.get(name) or (
                    self._commit(name, anew=anew) if self.remote is None else self._remote_commit(name, there[name])
                )
            except Damage as damage:
                if self.remote is not None or (self.path / name).exists():  # else it was removed meanwhile
                    damaged.append((self.path / name, damage))
                continue
            if (noted := noted_damage(self.path / name)) is not None:
                damaged.append((self.path / name, noted))
            elif commit is not None:
                found[name] = commit
        self._whole = found
        return _listing(list(found.values()), damaged)

    def folder_names(self) -> list[str]:
        """The folders of the store, in the order of their names; another list means that something was committed or
        removed."""
        with _read_errors(self.name):
            if self.remote is not None:
                return self.remote.commit_names()
            if not self.path.is_dir():
                return []
            with os.scandir(self.path) as entries:
                return sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())

    def _remote_commit(self, name: str, files: Mapping[str, Entry]) -> Commit | None:
        """The commit of a folder elsewhere; None without a manifest, which is written last."""
        if self.remote is None or MANIFEST not in files:
            return None
        with _read_errors(self.name):
            self.remote.fetch_manifest(name, files[MANIFEST])
        commit = self._commit(name, check=False)
        if commit is None:
            return None
        check_sizes({file: entry.size for file, entry in files.items()}, commit.manifest)
        return replace(commit, remote=self.remote)

    def _commit(self, name: str, check: bool = True, anew: bool = False) -> Commit | None:
        """The commit of a folder, by the index where that knows it; None where the folder is somebody else's."""
        folder = self.path / name
        stamp = (0, 0)
        with suppress(OSError):
            status = os.stat(folder / MANIFEST)
            stamp = (status.st_mtime_ns, status.st_size)
        manifest = self.index.manifest(name, stamp) if not anew and self.index is not None else None
        if manifest is None:
            manifest = read_manifest(folder)
        if manifest is None:
            return None
        if check:
            check_files(folder, manifest)
        return Commit(path=folder, manifest=manifest, stamp=stamp)

    def require(self) -> list[Commit]:
        """All commits; StoreError where there is none."""
        commits = self.commits()
        if not commits:
            raise StoreError(
                f"The store {self.name} has no runs. Score some first: rageval score --store {self.name} …"
            )
        return commits

    @contextmanager
    def staging(self, job: str) -> Iterator[Staging]:
        """A folder aside for one job, kept if the work is interrupted and found again by the same job."""
        with store_errors(self.name):
            root = self.staging_folder
            root.mkdir(parents=True, exist_ok=True)
            self.clear_published()
            forget_abandoned(root)
            folder, lock, is_new = claim_staging(root, job)
        staging = Staging(self, folder, is_new)
        try:
            yield staging
        finally:
            lock.release()
            if staging.is_cleared():
                remove_released(folder)

    def publish(self, staging: Path, manifest: dict[str, Any]) -> Commit:
        """Put a finished folder in place as a commit."""
        manifest = self.seal(staging, manifest)
        with self.publishing() as publish:
            return publish(staging, manifest)

    def seal(
        self, staging: Path, manifest: dict[str, Any], known: Mapping[str, dict[str, Any]] = MappingProxyType({})
    ) -> dict[str, Any]:
        """Have the files of a finished folder on the disk; the manifest with their checksums.

        `known`: checksums of files that are on the disk already.
        """
        with store_errors(self.name):
            for file in staging.iterdir():
                if file.name not in known:
                    sync(file)
            return {**manifest, "checksums": {**known, **checksums(staging, known)}}

    @contextmanager
    def publishing(self) -> Iterator[Publish]:
        """Alone among all writers: what puts a sealed folder in place. Nobody else does so until the end."""
        with store_errors(self.name):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = wait_for_lock(self.path / _LOCK, _PATIENCE)
        if lock is None:
            raise StoreError(
                f"Another writer has held {self.path / _LOCK} for {_PATIENCE:.0f} seconds. "
                "End it, and give the command again."
            )
        try:
            yield self._put_in_place
        finally:
            lock.release()

    def _put_in_place(
        self, staging: Path, manifest: dict[str, Any], lying: Mapping[str, str] = MappingProxyType({})
    ) -> Commit:
        """Rename a folder to a name greater than all there are. Its time is that of the clock, whatever its name is.

        `lying`: files of the commit that lie in a store behind a URL already, by their names in the commit.
        """
        with store_errors(self.name):
            created = datetime.now(UTC)
            name = f"{max(created, self._next_stamp()).strftime(_STAMP)}-{secrets.token_hex(3)}"
            manifest = signed({"format": FORMAT, **manifest, "commit": name, "created_at": created.isoformat()})
            write_durably(staging / MANIFEST, manifest_bytes(manifest))
            sync(staging)
            (staging.parent / PUBLISHED).write_text(name)
            if self.remote is not None:
                self.remote.publish(staging, name, lying)
            target = self.path / name
            os.rename(staging, target)
            sync(self.path)
            return Commit(path=target, manifest=manifest, remote=self.remote)

    def _next_stamp(self) -> datetime:
        """A time later than in the name of any commit: clocks differ between machines, and may go back."""
        stamps = [datetime.min.replace(tzinfo=UTC)]
        for name in self.folder_names():
            if COMMIT_NAME.fullmatch(name):
                with suppress(ValueError, OverflowError):  # no time, or the last there is
                    stamp = datetime.strptime(name[: name.rindex("-")], _STAMP).replace(tzinfo=UTC)
                    stamps.append(stamp + timedelta(microseconds=1))
        return max(stamps)

    def clear_published(self) -> None:
        """Remove the staging folders of work that is a commit now, its own or that of another writer of the same job: a
        process that is killed leaves its own."""
        with suppress(OSError):
            for folder in self.staging_folder.iterdir():
                done = self._became_commit(folder / PUBLISHED) or (
                    has_work(folder) and finished_commit(self, folder.name, again=True) is not None
                )
                if done and not is_locked(folder):
                    remove_staging(folder)

    def _became_commit(self, mark: Path) -> bool:
        """Whether a mark names a commit that is there; a power loss may leave anything in it."""
        with suppress(OSError, ValueError):
            name = mark.read_text(encoding="ascii") if mark.is_file() else ""
            return COMMIT_NAME.fullmatch(name) is not None and (self.path / name).is_dir()
        return False


def finished_commit(store: Store, job: str, *, again: bool = False) -> Commit | None:
    """The commit of the same job, if it is still the newest of all its runs; `again`: by what came since the last look
    at the store.

    `job`: its hash, or the beginning of it by which its staging folder is named.
    """
    newest: dict[tuple[str, str, str], str] = {}
    commits = store.commits(again)
    for commit in commits:
        for run_id in commit.manifest["runs"]:
            newest[run_id, commit.manifest["profile"], commit.manifest["questions"]["sha256"]] = commit.id
    for commit in reversed(commits):
        manifest = commit.manifest
        if manifest["job"].startswith(job) and not commit.dropped:
            keys = [(run_id, manifest["profile"], manifest["questions"]["sha256"]) for run_id in manifest["runs"]]
            if not all(newest[key] == commit.id for key in keys):
                return None
            # A damaged one is noted: the second look names it and is without it, and the job is scored again.
            return commit if find_damage([commit]) is None else finished_commit(store, job, again=again)
    return None


@contextmanager
def _read_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"Cannot read the store {name}: {error.strerror or error}.") from error
