"""Upkeep of a store: drop results, prune what is no longer wanted, find what is damaged.

Nothing that a reader may hold is changed. Dropping adds a commit that hides others (a tombstone): whoever opens the
store afterwards does not see them. Pruning hides in the same way, and removes the files an hour later, when sessions
that were open before have ended.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, StoreError, did_you_mean
from rageval_batch.runs.damage import find_damage
from rageval_batch.runs.manifest import TOMBSTONE_FORMAT
from rageval_batch.runs.staging import Staging
from rageval_batch.runs.store import Commit, Listing, Publish, Store, hidden_runs, removable_commits

READER_HOURS = 1  # for which files are kept that a session may have opened before they were hidden
_SHORTEST = 8  # characters of a commit's name: the day

Hidden = Mapping[str, list[str] | None]  # runs by commit; None for all of a commit


# --- drop -----------------------------------------------------------------------------------------------------------


def drop(store: Store, names: Iterable[str], profile: str | None = None, *, eval_set: str | None = None) -> Hidden:
    """Hide results: all of a run, RUN@COMMIT alone, or those of a commit. What was hidden, by commit."""
    with store.staging(f"drop-{secrets.token_hex(4)}") as staging, store.publishing() as publish:
        listing = store.listing()
        commits = [commit for commit in listing.visible() if _matches(commit, profile, eval_set)]
        hidden: dict[str, list[str] | None] = {}
        for name in names:
            for commit, runs in _results(store, listing, commits, name=name).items():
                known = hidden.get(commit, [])
                hidden[commit] = None if runs is None or known is None else [*known, *runs]
        _publish_tombstone(staging, publish, {"hides": hidden})
    return hidden


def _matches(commit: Commit, profile: str | None, eval_set: str | None) -> bool:
    questions = commit.manifest["questions"]
    version, digest = questions["version"], questions["sha256"]
    named = eval_set is None or eval_set in (version, version.partition("@")[0]) or digest.startswith(eval_set)
    return named and profile in (None, commit.manifest["profile"])


def _results(store: Store, listing: Listing, commits: list[Commit], *, name: str) -> Hidden:
    """What a name stands for: a run, RUN@COMMIT, or a commit, whose name may be shortened."""
    if found := {commit.id: [name] for commit in commits if name in commit.manifest["runs"]}:
        return found
    run, _, prefix = name.rpartition("@")
    if run:
        pinned = [c.id for c in commits if c.id.startswith(prefix) and run in c.manifest["runs"]]
        return {_single_match(store, name, pinned): [run]}
    whole = [commit.id for commit in [*commits, *listing.packs]] + [folder.name for folder, _ in listing.reported()]
    if len(name) >= _SHORTEST and (found_names := [known for known in whole if known.startswith(name)]):
        return {_single_match(store, name, found_names): None}
    runs = sorted({run for commit in commits for run in commit.manifest["runs"]})
    raise StoreError(f"The store {store.name} has no such run or commit. {did_you_mean('run', name, runs)}")


def _single_match(store: Store, name: str, found: list[str]) -> str:
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} such commits" if found else "no such result"
    raise StoreError(f"'{name}': the store {store.name} has {what}. See rageval runs.")


def _publish_tombstone(staging: Staging, publish: Publish, content: Mapping[str, Any]) -> None:
    with staging.assembling() as ready:
        publish(ready, {"format": TOMBSTONE_FORMAT, **content})
    staging.clear()


# --- prune ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pruned:
    """The commits that were hidden now, and those whose files were removed."""

    hidden: list[str]
    removed: list[str]


def prune(
    store: Store,
    older_than: timedelta | None = None,
    keep_last: int | None = None,
    *,
    compacted: bool = False,
    at_once: bool = False,
) -> Pruned:
    """Take superseded and dropped commits out of the store; the current result of a run always stays.

    `older_than`: those made before that time. `keep_last`: those beyond the last so many results of all their runs.
    With both, commits to which both apply. Folders whose commits are all in a pack are removed too, and with
    `compacted` alone nothing else. `at_once`: remove the files now, whoever may be reading. What supersedes
    others is read whole before: where it is damaged, it is named and left out, and the results before it are current.
    """
    if older_than is None and keep_last is None and not compacted:
        raise InputError("Say what to prune: --older-than AGE, --keep-last N, both, or --compacted.")
    with store.staging(f"prune-{secrets.token_hex(4)}") as staging, store.publishing() as publish:
        limit = _time_before(older_than) if older_than is not None else None
        by_age = older_than is not None or keep_last is not None
        unwanted, wanted = _unwanted(store, limit, keep_last or 1) if by_age else ([], [])
        while unwanted and find_damage(wanted) is not None:
            store.commits()  # which names what is damaged
            unwanted, wanted = _unwanted(store, limit, keep_last or 1)
        if unwanted:
            _publish_tombstone(staging, publish, {"hides": dict.fromkeys(unwanted), "removes": True})
        staging.clear()
        return Pruned(unwanted, _remove(store, timedelta(0) if at_once else timedelta(hours=READER_HOURS)))


def _unwanted(store: Store, limit: datetime | None, keep_last: int) -> tuple[list[str], list[Commit]]:
    """(the commits before a time whose results are not among the last so many of their runs, those that have these)"""
    listing = store.listing()
    pruned = removable_commits(listing.tombstones)
    last = _last_commits(listing.visible(), keep_last)
    hidden = hidden_runs(listing.tombstones)
    dropped_packs = [pack for pack in listing.packs if hidden.get(pack.id, set()) is None]
    made = {commit.id: _made(commit) for commit in [*listing.commits, *dropped_packs] if commit.id not in last}
    # Of a damaged one that was dropped nothing may be readable; its folder has the time at which it was put in place.
    made |= {folder.name: _changed(folder) for folder, _ in listing.damaged if hidden.get(folder.name, set()) is None}
    unwanted = [name for name, at in made.items() if name not in pruned and (limit is None or at < limit)]
    return unwanted, [commit for commit in listing.commits if commit.id in last]


def _time_before(age: timedelta) -> datetime:
    """So long ago; the first moment that can be written where that is before it."""
    now = datetime.now(UTC)
    first = datetime.min.replace(tzinfo=UTC)
    return now - age if age < now - first else first


def _made(commit: Commit) -> datetime:
    return datetime.fromisoformat(commit.manifest["created_at"])


def _changed(folder: Path) -> datetime:
    with suppress(OSError):  # of one behind a URL nothing may have been fetched
        return datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    return datetime.now(UTC)


def _last_commits(commits: list[Commit], last: int) -> set[str]:
    """The commits that have one of the last so many results of any run."""
    results: dict[tuple[str, str, str], list[str]] = {}
    for commit in commits:
        about = commit.manifest["profile"], commit.manifest["questions"]["sha256"]
        for run in commit.manifest["runs"]:
            results.setdefault((run, *about), []).append(commit.id)
    return {name for names in results.values() for name in names[-last:]}


def _remove(store: Store, age: timedelta) -> list[str]:
    """Remove the files of commits that were pruned so long ago, then the tombstones that hide nothing any more."""
    listing = store.listing()
    limit = datetime.now(UTC) - age
    removable = removable_commits(tombstone for tombstone in listing.tombstones if _made(tombstone) <= limit)
    packs = {pack.path: pack for pack in listing.packs}
    read_from = {commit.id: commit.path for commit in listing.commits}
    removed, replaced_by, left = [], set(), set()
    for folder, held in listing.folders.items():
        others = {read_from.get(name, folder) for name in held if name not in removable}
        if folder in others or any(path not in packs or _made(packs[path]) > limit for path in others):
            left |= set(held)
        else:
            removed.append(folder)
            replaced_by |= others
    for path in replaced_by:  # what takes the place of files that go must be whole
        for file, problem in packs[path].damaged_files(anew=True):
            raise StoreError(f"{path / file}: {problem}. Nothing was removed. Drop the pack: rageval drop {path.name}")
    for folder in removed:
        _remove_folder(store, folder)
    for tombstone in listing.tombstones:
        if left.isdisjoint(tombstone.manifest["hides"]):
            _remove_folder(store, tombstone.path)
    return [folder.name for folder in removed]


def _remove_folder(store: Store, folder: Path) -> None:
    """Take a folder away by one rename, so that nobody sees half of it, then remove its files."""
    aside = store.staging_folder / f"removed-{folder.name}-{secrets.token_hex(4)}"
    try:
        if store.remote is not None:
            store.remote.remove(folder.name)
            if not folder.exists():
                return
        os.rename(folder, aside)
    except OSError as error:
        raise StoreError(f"{folder} cannot be removed: {error.strerror}.") from error
    shutil.rmtree(aside, ignore_errors=True)


# --- fsck -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checked:
    """What is wrong in a store, a row a fault; how many commits were looked at, and of them without checksums."""

    problems: list[dict[str, str | None]]
    commits: int
    without_checksums: int


PROBLEM_COLUMNS = ("commit", "file", "problem", "remedy")


def check_store(store: Store) -> Checked:
    """Read every file of every commit that is not dropped, and compare it with its checksum."""
    listing = store.listing(anew=True)
    rows = [_problem(folder.name, None, str(damage), remedy=damage.remedy) for folder, damage in listing.reported()]
    commits = listing.visible()
    for folder, commit in {commit.path: commit for commit in commits}.items():
        with suppress(FileNotFoundError):  # pruned meanwhile
            rows += [_problem(folder.name, file, problem) for file, problem in commit.damaged_files(anew=True)]
    unknown = sum("checksums" not in commit.manifest and not commit.packed for commit in commits)
    return Checked(rows, len(commits) + len(listing.reported()), unknown)


def _problem(commit: str, file: str | None, problem: str, *, remedy: str | None = None) -> dict[str, str | None]:
    remedy = remedy or f"restore it from a copy, or: rageval drop {commit}, and score its runs again"
    return {"commit": commit, "file": file, "problem": problem, "remedy": remedy}
