"""An index beside the commits of a store: their manifests, run records and summaries in a few files.

With it, opening thousands of commits takes as long as opening a few, and the summary of a commit that was made without
one is computed once. It says nothing that the commits do not say and can be removed at any time. Each version of it is
a folder of its own, put in place by one rename; the newest is read. Of its files it has the checksums, and one that is
not as it was written is not read: what it says would be taken for what the commits say.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.runs.manifest import checksum_of, checksums, file_checksum

FOLDER = ".index"
MANIFESTS, RUNS, SUMMARIES = "manifests.json", "runs.parquet", "summary.parquet"
CHECKSUMS = "checksums.json"
_FORMAT = 1
_KEPT_SECONDS = 3_600.0  # an older version may still be read by sessions that opened it

Stamp = tuple[int, int]  # of a manifest: when it was written, and its size


@dataclass(frozen=True, kw_only=True)
class StoreIndex:
    """One version of the index: what it knows of commits, by their names."""

    path: Path
    manifests: Mapping[str, tuple[Stamp, dict[str, Any]]]
    columns: Mapping[str, str]  # of the score rows of each commit, with their types
    summaries: frozenset[tuple[str, str]]  # (commit, definition) of the summaries that it has

    def manifest(self, name: str, stamp: Stamp) -> dict[str, Any] | None:
        """The manifest of a commit, if that has not been written again."""
        found = self.manifests.get(name)
        return found[1] if found is not None and found[0] == stamp else None


def read_index(store: Path) -> StoreIndex | None:
    """The newest version of the index of a store; None where there is none that can be read."""
    try:
        entries = [entry for entry in os.scandir(store / FOLDER) if entry.is_dir()]
    except OSError:
        return None
    for name in sorted((entry.name for entry in entries if not entry.name.startswith(".")), reverse=True):
        with suppress(
            OSError, ValueError, KeyError, TypeError, RecursionError
        ):  # damaged, or removed meanwhile: an older one, or none
            folder = store / FOLDER / name
            content = json.loads(_whole(folder))
            if content["format"] == _FORMAT:
                manifests = {name: ((stamp[0], stamp[1]), manifest) for name, stamp, manifest in content["commits"]}
                columns = {name: content["columns"][k] for name, k in content["columns_of"].items()}
                summaries = frozenset((commit, definition) for commit, definition in content["summaries"])
                return StoreIndex(path=folder, manifests=manifests, columns=columns, summaries=summaries)
    return None


def _whole(folder: Path) -> bytes:
    """The manifests of a version; ValueError where a file of it is not as it was written."""
    known = json.loads((folder / CHECKSUMS).read_bytes())
    manifests = (folder / MANIFESTS).read_bytes()
    found = {MANIFESTS: checksum_of(memoryview(manifests)), **{n: file_checksum(folder / n) for n in (RUNS, SUMMARIES)}}
    if known != found:
        raise ValueError(f"{folder} is damaged")
    return manifests


def write_index(
    store: Path,
    manifests: Mapping[str, tuple[Stamp, dict[str, Any]]],
    columns: Mapping[str, str],
    *,
    summaries: frozenset[tuple[str, str]],
    write_tables: Callable[[Path, Path], None],
) -> StoreIndex | None:
    """Put a new version in place; `write_tables` writes the run records and the summaries of these commits.

    None where the store cannot be written: an index is no more than a help.
    """
    root = store / FOLDER
    name = f"{max(time.time_ns(), _latest(root) + 1):020d}-{secrets.token_hex(3)}"
    aside = root / f".{name}"
    distinct = {text: k for k, text in enumerate(dict.fromkeys(columns.values()))}
    content = {
        "format": _FORMAT,
        "columns": list(distinct),
        "columns_of": {commit: distinct[text] for commit, text in columns.items()},
        "commits": [[commit, stamp, manifest] for commit, (stamp, manifest) in manifests.items()],
        "summaries": sorted(summaries),
    }
    try:
        aside.mkdir(parents=True)
        write_tables(aside / RUNS, aside / SUMMARIES)
        (aside / MANIFESTS).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        (aside / CHECKSUMS).write_text(json.dumps(checksums(aside)), encoding="utf-8")
        os.rename(aside, root / name)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        return None
    _remove_older(root, name)
    return StoreIndex(path=root / name, manifests=manifests, columns=columns, summaries=summaries)


def _latest(root: Path) -> int:
    """The number of the newest version: a clock may have been ahead when it was written."""
    numbers = [0]
    with suppress(OSError):
        numbers += [int(name[:20]) for name in os.listdir(root) if name[:20].isdecimal()]
    return max(numbers)


def _remove_older(root: Path, newest: str) -> None:
    """Remove versions that nobody reads any more, and what was left half written."""
    limit = time.time() - _KEPT_SECONDS
    with suppress(OSError):
        for folder in root.iterdir():
            if folder.is_dir() and folder.name != newest and folder.stat().st_mtime < limit:
                shutil.rmtree(folder, ignore_errors=True)
