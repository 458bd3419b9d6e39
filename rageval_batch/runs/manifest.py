"""Manifests: what a commit says of itself, and what is wrong with a commit that cannot be used.

A manifest has the size and SHA-256 of each file of its commit, and the SHA-256 of itself. (SHA-256 because Python has
it and processors compute it at 1.5 GB/s: hashing the files of a commit costs far less than writing them.)
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rageval_batch.errors import StoreError
from rageval_batch.locations import COMMIT_NAME, MANIFEST

FORMAT = 1  # of a commit with scores
TOMBSTONE_FORMAT = 2  # of one that hides others: a version that does not know those must not read the store
PACK_FORMAT = 3  # of a pack, which has the files of many commits
_OWN_CHECKSUM = "manifest_sha256"
_COUNTS = {"rows_read", "score_rows", "missing_rows", "rejected_rows"}
_PARQUET_END = b"PAR1"


class Damage(Exception):
    """What is wrong with a commit, as a part of a sentence; and what mends it, where that is known."""

    def __init__(self, problem: str, remedy: str | None = None) -> None:
        super().__init__(problem)
        self.remedy = remedy


def is_tombstone(manifest: Mapping[str, Any]) -> bool:
    """Whether a commit hides others in place of having scores."""
    return "hides" in manifest


def is_pack(manifest: Mapping[str, Any]) -> bool:
    """Whether a folder has the rows of several commits in place of one."""
    return "packs" in manifest


def checksums(folder: Path, known: Mapping[str, dict[str, Any]] = MappingProxyType({})) -> dict[str, dict[str, Any]]:
    """The size and SHA-256 of each file of a folder; of those that are known, what is known."""
    return {
        path.name: known.get(path.name) or file_checksum(path)
        for path in sorted(folder.iterdir())
        if path.name != MANIFEST
    }


def file_checksum(path: Path) -> dict[str, Any]:
    """The size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


def checksum_of(content: memoryview) -> dict[str, Any]:
    """The same of the content of a file."""
    return {"size": content.nbytes, "sha256": hashlib.sha256(content).hexdigest()}


def signed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest with the checksum of itself."""
    return {**manifest, _OWN_CHECKSUM: _own_checksum(manifest)}


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as it is written."""
    return json.dumps(manifest, ensure_ascii=False, indent=1).encode()


def _own_checksum(manifest: Mapping[str, Any]) -> str:
    content = {name: value for name, value in manifest.items() if name != _OWN_CHECKSUM}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a commit; None for a folder of somebody else's; Damage for a commit that cannot be used."""
    ours = COMMIT_NAME.fullmatch(folder.name) is not None
    try:
        _require_regular(folder / MANIFEST)
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        if ours:
            raise Damage(f"it has no {MANIFEST}") from None
        return None
    except OSError as error:
        raise Damage(f"its {MANIFEST} cannot be read: {error.strerror}") from error
    except Damage:
        if ours:
            raise
        return None
    except (ValueError, RecursionError) as error:
        if ours:
            raise Damage(f"its {MANIFEST} is no JSON that can be read") from error
        return None
    if not isinstance(manifest, dict) or "format" not in manifest or not (ours or "commit" in manifest):
        if ours:
            raise Damage(f"its {MANIFEST} is that of something else")
        return None
    _check(manifest, folder)
    return manifest


def _check(manifest: dict[str, Any], folder: Path) -> None:
    version = manifest["format"]
    if not _is_count(version):
        raise Damage(f"its {MANIFEST} has no usable 'format'")
    if version > max(FORMAT, TOMBSTONE_FORMAT, PACK_FORMAT):
        _check_own_checksum(manifest)  # one flipped bit makes a 9 of a 1
        raise StoreError(f"{folder} was written by a newer version of rageval-batch. Install that version to read it.")
    fields = _TOMBSTONE_FIELDS if is_tombstone(manifest) else _PACK_FIELDS if is_pack(manifest) else _FIELDS
    for name, usable in fields.items():
        if not usable(manifest.get(name)):
            raise Damage(f"its {MANIFEST} has no usable '{name}'")
    _check_own_checksum(manifest)
    if manifest["commit"] != folder.name:
        name = manifest["commit"]
        raise Damage(f"it was renamed from {name}", f"give the folder the name {name} again")


def _check_own_checksum(manifest: Mapping[str, Any]) -> None:
    try:
        own = _own_checksum(manifest)
    except (ValueError, RecursionError) as error:
        raise Damage(f"its {MANIFEST} has text or nesting that cannot be used") from error
    # An older version wrote neither checksum; of one that was written, the other was too.
    if manifest.get(_OWN_CHECKSUM, None if "checksums" in manifest else own) != own:
        raise Damage(f"its {MANIFEST} does not have its checksum")


def check_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Damage where a file of a commit is missing or has another size, or the folder lies elsewhere: a look at the
    folder, not into the files."""
    if folder.is_symlink():
        # SQL is locked to the store: through a link its files lie elsewhere and cannot be read.
        raise Damage("it is a link to another folder", "put a copy of that folder in its place")
    place = os.fspath(folder)  # a store of thousands of commits has five times as many files: no Path for each
    for name, _ in _files(manifest):
        _check_size(os.path.join(place, name), manifest.get("checksums", {}).get(name))


def check_sizes(sizes: Mapping[str, int], manifest: Mapping[str, Any]) -> None:
    """The same of a commit whose files are known by their names and sizes; all of them must have checksums."""
    for name, _ in _files(manifest):
        known = manifest.get("checksums", {}).get(name)
        if known is None:
            raise Damage(f"{name} has no checksum, without which it is not fetched")
        if name not in sizes:
            raise Damage(f"{name} is missing")
        if sizes[name] != known["size"]:
            raise Damage(_wrong_size(name, sizes[name], known["size"]))


def damaged_files(folder: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(file, what is wrong with it) of a commit, by reading all of each file."""
    for name, _ in _files(manifest):
        known = manifest.get("checksums", {}).get(name)
        try:
            _check_size(os.path.join(folder, name), known)
            _check_content(folder / name, known)
        except Damage as damage:
            yield name, str(damage)


def _check_size(path: str, known: Mapping[str, Any] | None) -> None:
    try:
        size = _require_regular(path)
        if known is not None and size != known["size"]:
            raise Damage(_wrong_size(os.path.basename(path), size, known["size"]))
        if known is None and path.endswith(".parquet") and not _ends_as_parquet(path):
            raise Damage(f"{os.path.basename(path)} is not a whole Parquet file")
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise Damage(
            f"{os.path.basename(path)} {'is missing' if missing else f'cannot be read: {error.strerror}'}"
        ) from error


def _require_regular(path: str | Path) -> int:
    """The size of a file; Damage where it is no regular one: reading a pipe would wait for ever, and SQL, which is
    locked to the store, reads no link to a file elsewhere."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise Damage(f"{os.path.basename(path)} is a link to another file", "put a copy of that file in its place")
    if not stat.S_ISREG(status.st_mode):
        raise Damage(f"{os.path.basename(path)} is no regular file")
    return status.st_size


def _wrong_size(name: str, size: int, known: int) -> str:
    return f"{name} has {size:,} bytes in place of {known:,}"


def _ends_as_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) < 3 * len(_PARQUET_END):
            return False
        file.seek(-len(_PARQUET_END), os.SEEK_END)
        return file.read() == _PARQUET_END


def _check_content(path: Path, known: Mapping[str, Any] | None) -> None:
    """Damage where a file has another content than was written; of an older version's, where it cannot be read."""
    try:
        if known is not None:
            if file_checksum(path)["sha256"] != known["sha256"]:
                raise Damage(f"{path.name} does not have its checksum")
        elif path.suffix == ".parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches():
                    batch.validate(full=True)
    except (OSError, ValueError) as error:  # Arrow's errors are one or the other
        raise Damage(f"{path.name} cannot be read: {str(error).splitlines()[0]}") from error


def _files(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(file, role) of a commit."""
    for role, names in manifest.get("files", {}).items():
        for name in names:
            yield name, role


# --- what the fields of a manifest must be --------------------------------------------------------------------------


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


def _is_counts(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == _COUNTS and all(map(_is_count, value.values()))


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _is_plain_name(value: Any) -> bool:
    return isinstance(value, str) and value not in ("", ".", "..") and not set(value) & {"/", "\\", "\0"}


def _is_files(value: Any) -> bool:
    if not isinstance(value, dict) or not all(value.get(role) for role in ("scores", "runs", "rejects", "tallies")):
        return False
    return _is_file_names(value)


def _is_file_names(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(names, list) and all(map(_is_plain_name, names)) for names in value.values()
    )


def _is_checksum(value: Any) -> bool:
    return isinstance(value, dict) and _is_count(value.get("size")) and _is_text(value.get("sha256"))


def _is_checksums(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(map(_is_checksum, value.values())))


def _is_questions(value: Any) -> bool:
    texts = isinstance(value, dict) and all(_is_text(value.get(name)) for name in ("version", "sha256"))
    return texts and _is_objects(value.get("files"))


def _is_contexts(value: Any) -> bool:
    return isinstance(value, dict) and _is_objects(value.get("files"))


def _is_declaration(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and _is_text(value.get("reference")))


def _is_hidden(value: Any) -> bool:
    return isinstance(value, dict) and all(runs is None or _is_texts(runs) for runs in value.values())


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "commit": _is_text,
    "created_at": _is_time,
    "job": _is_text,
    "profile": _is_text,
    "params": _is_object,
    "declaration": _is_declaration,
    "questions": _is_questions,
    "contexts": _is_contexts,
    "inputs": _is_objects,
    "runs": _is_texts,
    "counts": _is_counts,
    "files": _is_files,
    "checksums": _is_checksums,
}


def _is_packs(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(manifest, dict)
        and manifest.get("commit") == commit
        and all(usable(manifest.get(name)) for name, usable in _FIELDS.items())
        for commit, manifest in value.items()
    )


_PACK_FIELDS: dict[str, Callable[[Any], bool]] = {
    "commit": _is_text,
    "created_at": _is_time,
    "packs": _is_packs,
    "files": _is_file_names,
    "checksums": _is_checksums,
}
_TOMBSTONE_FIELDS: dict[str, Callable[[Any], bool]] = {
    "commit": _is_text,
    "created_at": _is_time,
    "hides": _is_hidden,
}
