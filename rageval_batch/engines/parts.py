"""What a task has made of a split, in one file: a driver that begins again finds it, and later tasks read it."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import field
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import Offsets
from rageval_batch.dataclass import dataclass
from rageval_batch.engines.shared import SharedFolder
from rageval_batch.errors import RagevalError
from rageval_batch.inputs.outputs import FileColumns, InputCounts
from rageval_batch.inputs.readers import ColumnLimit

_DIGEST = hashlib.sha256().digest_size


@dataclass(kw_only=True)
class SplitResult:
    """What became of the rows of a split: all that the driver must know of it."""

    number: int
    name: str = ""  # of the file of the part
    rows_read: int = 0
    rejected: int = 0
    scored: dict[str, int] = field(default_factory=dict)  # rows by run
    repeats: dict[str, set[int]] = field(default_factory=dict)  # of each run
    counts: InputCounts = field(default_factory=InputCounts)
    columns: FileColumns = field(default_factory=FileColumns)
    extras: list[pa.Schema] = field(default_factory=list)  # of the blocks, in their order
    others: ColumnLimit = field(default_factory=ColumnLimit)  # the columns that are no fields
    first_reject: dict[str, Any] | None = None
    reject_bytes: int = 0
    found: bool = False  # an earlier try made it
    error: RagevalError | None = None


@dataclass(frozen=True)
class Part:
    """The result of a split and its tables by kind, one for each block."""

    result: SplitResult
    tables: dict[str, list[bytes]]
    second_answers: Offsets  # which of the usable rows were passed over as duplicates, counted from 0

    def table(self, kind: str) -> pa.Table | None:
        """The rows of a kind whose columns are the same in all blocks."""
        found = self.blocks(kind)
        return pa.concat_tables(found) if found else None

    def blocks(self, kind: str) -> list[pa.Table]:
        """The tables of a kind."""
        return [pa.ipc.open_file(content).read_all() for content in self.tables.get(kind, ())]


def ipc_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow file, lightly compressed."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def write_part(folder: SharedFolder, name: str, part: Part) -> None:
    """Write a part with its checksum; a second try of the same task does no harm."""
    content = pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL)
    folder.write(name, hashlib.sha256(content).digest(), content)


def read_part(folder: SharedFolder, name: str) -> Part | None:
    """The part of a file; None where there is none, or not the one that was written."""
    content = folder.read(name)
    if content is None or hashlib.sha256(memoryview(content)[_DIGEST:]).digest() != content[:_DIGEST]:
        return None
    part: Part = pickle.loads(memoryview(content)[_DIGEST:])
    return part
