"""Compaction: the files of many small commits as the few files of a pack, in which each commit keeps its name.

A pack is one folder. Its files have the rows of one commit after the other, each row with the name of its commit; its
manifest has the manifests of the commits. The folders that the rows came from are no longer read, and stay until
`prune`: a pack that is damaged before that costs nothing.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import StoreError
from rageval_batch.runs.commit_files import copy_rows
from rageval_batch.runs.damage import find_damage
from rageval_batch.runs.database import Database, database
from rageval_batch.runs.manifest import PACK_FORMAT, file_checksum
from rageval_batch.runs.store import Commit, Listing, Store, removable_commits
from rageval_batch.sql_text import COMMIT_OF_FILE, PACKED_COMMIT, parquet_reader, quoted

MERGED = ("scores", "summary", "runs", "tallies", "rejects", "extras")  # roles whose rows are put together
_LARGE = 1_000_000  # score rows of a commit or pack that is left as it is: its files are large already
_ANEW = ("checksums", "manifest_sha256")  # of a manifest: those of the pack stand for them


@dataclass(frozen=True)
class Compacted:
    """The pack that was made, if any, its number of commits, and the number of files before and after."""

    pack: str | None
    commits: int
    files_before: int
    _: KW_ONLY
    files_after: int


def compact(store: Store) -> Compacted:
    """Put the rows of small commits together in a pack; nothing is removed, and no result or name changes."""
    commits = _packable(store)
    with store.staging(f"compact-{secrets.token_hex(4)}") as staging:
        before = len({path for commit in commits for role in commit.manifest["files"] for path in commit.files(role)})
        if len({commit.path for commit in commits}) < 2:
            staging.clear()
            return Compacted(None, 0, before, files_after=before)
        with staging.assembling() as ready, database(staging.path) as own:
            packed = _packed_files(commits, ready, own)
        names = sorted({name for files in packed.values() for named in files.values() for name in named})
        manifests = {commit.id: _packed_manifest(commit, packed[commit.id]) for commit in commits}
        manifest = store.seal(ready, {"format": PACK_FORMAT, "packs": manifests, "files": {"packed": names}})
        with store.publishing() as publish:
            there = {commit.id for commit in _remaining(store.listing())}
            if not there.issuperset(manifests):
                raise StoreError(f"Commits of {store.name} were pruned meanwhile. Give the command again.")
            pack = publish(ready, manifest)
        staging.clear()
    return Compacted(pack.id, len(manifests), before, files_after=len(names))


def _remaining(listing: Listing) -> list[Commit]:
    """All commits but those that a prune has given up; dropped ones stay until then."""
    given_up = removable_commits(listing.tombstones)
    return [commit for commit in listing.commits if commit.id not in given_up]


def _small_commits(listing: Listing) -> list[Commit]:
    """The commits that are worth putting together: of folders that have few rows, or rows that nobody reads."""
    folders: dict[Path, list[Commit]] = {}
    for commit in _remaining(listing):
        folders.setdefault(commit.path, []).append(commit)
    found = []
    for commits in folders.values():
        rows = sum(commit.manifest["counts"]["score_rows"] for commit in commits)
        whole = not commits[0].packed or len(commits) == len(commits[0].packed["packs"])
        if rows <= _LARGE or not whole:
            found += commits
    return sorted(found, key=lambda commit: commit.id)


def _packable(store: Store) -> list[Commit]:
    """The small commits that can be put together: not those whose columns have the name that a pack needs, nor damaged
    ones, of which those that are not dropped are named."""
    find_damage(_small_commits(store.listing()))
    store.commits()
    return [commit for commit in _small_commits(store.listing()) if not _has_own_column(commit)]


def _has_own_column(commit: Commit) -> bool:
    """Whether other columns of the answers of a commit have the name that a pack needs."""
    return not commit.packed and any(
        name.lower() == PACKED_COMMIT for path in commit.files("extras") for name in pq.read_schema(path).names
    )


def _packed_manifest(commit: Commit, files: Mapping[str, list[str]]) -> dict[str, Any]:
    """What a commit says of itself, with its files in the pack."""
    return {**{name: value for name, value in commit.manifest.items() if name not in _ANEW}, "files": files}


# --- the files ------------------------------------------------------------------------------------------------------


def _packed_files(commits: Sequence[Commit], ready: Path, database: Database) -> dict[str, dict[str, list[str]]]:
    """Write the files of a pack; for each commit, its files by their roles."""
    packed: dict[str, dict[str, list[str]]] = {commit.id: {} for commit in commits}
    for role in MERGED:
        for number, (about, group) in enumerate(_groups(role, commits).items()):
            name = f"{role}-{about[0]}-{number}.parquet" if role == "scores" else f"{role}-{number}.parquet"
            copy_rows(_rows_query(role, group), ready / name, database)
            for commit in group:
                packed[commit.id][role] = [name]
    for commit in commits:
        for role in commit.manifest["files"]:
            if role not in MERGED:
                packed[commit.id][role] = [_copied_once(path, ready) for path in commit.files(role)]
    return packed


def _groups(role: str, commits: Iterable[Commit]) -> dict[tuple[str, ...], list[Commit]]:
    """The commits whose rows of a role can stand in one file: of one profile and the same columns.

    Summaries are of one definition each; run records, tallies and rejects have the same columns always, but for those
    of another version.
    """
    columns: dict[Path, str] = {}
    groups: dict[tuple[str, ...], list[Commit]] = {}
    for commit in commits:
        for path in commit.files(role)[:1]:
            if path not in columns:
                schema = pq.read_schema(path)
                columns[path] = ", ".join(f"{c.name} {c.type}" for c in schema if c.name != PACKED_COMMIT)
            of_profile = (commit.manifest["profile"],) if role in ("scores", "summary") else ()
            definition = (str(commit.manifest.get("summary")),) if role == "summary" else ()
            groups.setdefault((*of_profile, *definition, columns[path]), []).append(commit)
    return groups


def _rows_query(role: str, commits: Iterable[Commit]) -> str:
    """The query of the rows of commits with their names, one commit after the other."""
    single = [path for commit in commits if not commit.packed for path in commit.files(role)]
    branches = []
    if single:
        rows = parquet_reader(single, filename=True)
        branches.append(f"select * exclude (filename), {COMMIT_OF_FILE} as {PACKED_COMMIT} from {rows}")
    packs: dict[Path, list[str]] = {}
    for commit in commits:
        if commit.packed:
            packs.setdefault(commit.files(role)[0], []).append(quoted(commit.id))
    for path, names in packs.items():
        branches.append(f"from {parquet_reader([path])} where {PACKED_COMMIT} in ({', '.join(names)})")
    return " union all by name ".join(branches)


def _copied_once(path: Path, ready: Path) -> str:
    """Copy a file into a folder under a name of its content, once for all commits that have the same; the name."""
    digest = file_checksum(path)["sha256"]
    name = path.name if path.name.startswith(f"{digest[:16]}-") else f"{digest[:16]}-{path.name}"
    if not (ready / name).exists():
        shutil.copyfile(path, ready / name)
    return name
