"""Every record of a commit as a file of its own, valid ones apart from the others, byte for byte.

Written aside and put in place by one rename, like a commit. Names come from hostile hands: what may be a path, a
command or the name of another file in other letters is never used as it is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.sources import Source
from rageval_batch.model import Profile
from rageval_batch.model.schemas import OUTPUT
from rageval_batch.runs.commit_files import MEMORY
from rageval_batch.runs.database import connected
from rageval_batch.runs.file_system import sync, sync_below, try_lock
from rageval_batch.runs.store import Commit
from rageval_batch.sql_text import PACKED_COMMIT

INDEX = "index.parquet"
VALID, INVALID, _SORT = "valid", "invalid", ".sort"
_PLAIN = re.compile(r"[^A-Za-z0-9._\-\u00c0-\u024f\u0400-\u04ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_MOST_BYTES = 120
_BATCH = 4096
_OWN = pa.schema([("path", LARGE_STRING), ("bytes", pa.int64()), ("sha256", LARGE_STRING), ("source", LARGE_STRING)])


def write_archive(commit: Commit, profile: Profile, outputs: list[Source], *, target: Path) -> str:
    """Write the archive of a commit from its inputs; what became of it, as a sentence."""
    if (index := target / INDEX).is_file():
        if (pq.read_schema(index).metadata or {}).get(b"commit") == commit.id.encode():
            return f"{target} has the archive of this commit already."
        raise InputError(f"{target} has the archive of another commit. Name another folder with --archive.")
    if target.is_symlink():
        raise InputError(f"{target} is a link. Name the folder itself with --archive.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there already and no archive. Name another folder with --archive.")
    with _aside(target) as folder:
        archived, invalid = _Writer(commit, profile, outputs, folder=folder).write()
    return f"Archived {archived:,} judgements to {target}: {archived - invalid:,} valid, {invalid:,} invalid."


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """A locked folder beside the target that takes its name when all is written; one left by a crash is reused."""
    folder = target.parent / f".{target.name}.partial"
    guard = target.parent / f"{folder.name}.lock"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if guard.is_symlink():
            raise InputError(f"{guard} is a link. Remove it, or name another folder with --archive.")
        lock = try_lock(guard)
        if lock is None:
            raise InputError(f"{target} is being written by another process. Wait for it, or name another.")
        try:
            if folder.is_symlink():
                raise InputError(f"{folder} is a link. Remove it, or name another folder with --archive.")
            folder.mkdir(exist_ok=True)
            _clear(folder)
            yield folder
            sync_below(folder)
            if target.is_dir():
                target.rmdir()  # an empty folder, to which Windows renames no other
            os.rename(folder, target)
            sync(target.parent)
        finally:
            with suppress(OSError):  # Windows does not remove a file that is open: there it stays
                guard.unlink()  # while it is held: whoever waits for it sees that it is gone, and makes a new one
            lock.release()
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise InputError(f"{target} was made by another process meanwhile. Name another folder.") from error
        raise InputError(f"Cannot write the archive {target}: {error.strerror or error}.") from error


def _clear(folder: Path) -> None:
    """Remove what an interrupted archive left behind, and nothing else."""
    left = list(folder.iterdir())
    for part in left:
        if part.name not in (INDEX, VALID, INVALID, _SORT):
            raise InputError(f"{part} is no part of an archive. Move it away, or name another folder with --archive.")
    for part in left:
        shutil.rmtree(part) if part.is_dir() and not part.is_symlink() else part.unlink()


class Names:
    """File names that are safe on every system and never meet, whatever is asked for."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str, number: int) -> str:
        """The name asked for if it is plain and free in every spelling; else what is plain of it, and the number."""
        plain = _PLAIN.sub("_", unicodedata.normalize("NFC", wanted)).lstrip("._-").rstrip("._") or "judgement"
        stem, ending = os.path.splitext(plain)
        ending = ending if 1 < len(ending) <= 8 else ""
        stem = _truncate(plain.removesuffix(ending) if ending else plain, _MOST_BYTES)
        if _DEVICES.match(stem):
            stem = f"_{stem}"
        name = f"{stem}{ending}"
        if name != wanted or _folded(name) in self._taken:
            name = f"{stem}~{number}{ending or '.json'}"  # no plain name has a ~ in it
        self._taken.add(_folded(name))
        return name


def _truncate(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore").strip("._") or "judgement"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())


class _Writer:
    """The records of a commit and its inputs, gone through side by side in the order of the inputs."""

    def __init__(self, commit: Commit, profile: Profile, outputs: list[Source], *, folder: Path) -> None:
        assert profile.inputs.archive is not None
        self.commit = commit
        self.outputs = outputs
        self.folder = folder
        self.valid, self.why = profile.inputs.archive
        hidden = ("dataset", "weight")
        names = pq.read_schema(commit.files("scores")[0]).names
        self.columns = [name for name in names if name not in hidden and name != PACKED_COMMIT]
        self.names = Names()
        self.made: set[Path] = set()

    def write(self) -> tuple[int, int]:
        for name in (VALID, INVALID):
            (self.folder / name).mkdir()
        count = invalid = 0
        contents = self._contents()
        (self.folder / _SORT).mkdir()
        with connected(self.folder / _SORT, MEMORY) as connection:
            listed = ", ".join('"' + name.replace('"', '""') + '"' for name in self.columns)
            rows = connection.sql(
                f"select {listed} from ({self.commit.rows('scores')}) order by input nulls last, line"
            ).to_arrow_reader(_BATCH)
            schema = pa.schema([*_OWN, *rows.schema]).with_metadata({"commit": self.commit.id})
            with pq.ParquetWriter(self.folder / INDEX, schema, compression="zstd") as writer:
                for batch in rows:
                    own = []
                    for row in batch.to_pylist():
                        count += row["input"] is not None
                        invalid += row["input"] is not None and not row[self.valid]
                        own.append(self._write_record(row, contents, count))
                    placed = pa.Table.from_pylist(own, schema=_OWN)
                    table = pa.Table.from_arrays([*placed.columns, *batch.columns], schema=schema)
                    writer.write_table(table)
        shutil.rmtree(self.folder / _SORT, ignore_errors=True)
        return count, invalid

    def _write_record(
        self, row: dict[str, Any], contents: Iterator[tuple[int, int, bytes]], number: int
    ) -> dict[str, Any]:
        """Write one record; where it lies and what it is. A missing one lies nowhere."""
        if row["input"] is None:
            return {}
        source = self.outputs[row["input"]].name
        here = (row["input"], row["line"])
        content = next((content for place, line, content in contents if (place, line) == here), None)
        if content is None:
            raise InputError(f"{source} has changed while it was read. Give the command again.")
        place_in = Path(VALID) if row[self.valid] else Path(INVALID) / row[self.why][0]
        if place_in not in self.made:
            (self.folder / place_in).mkdir(exist_ok=True)
            self.made.add(place_in)
        wanted = row.get("file") or f"{row.get('judge_model') or 'judge'}__{row.get('output_id') or 'output'}.json"
        path = place_in / self.names.take(wanted, number)
        (self.folder / path).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        return {"path": path.as_posix(), "bytes": len(content), "sha256": digest, "source": source}

    def _contents(self) -> Iterator[tuple[int, int, bytes]]:
        """(input, line, bytes) of every row of the inputs."""
        for number, source in enumerate(self.outputs):
            if source.members:
                for line, member in enumerate(source.members, 1):
                    yield number, line, (source.path / member).read_bytes()
                continue
            for block in readers.read_blocks(source):
                output = block.field(OUTPUT).text.to_pylist()
                for row in np.argsort(block.lines, kind="stable").tolist():
                    yield number, int(block.lines[row]), (output[row] or "").encode()
