"""The scored parts of a job until its commit is made: Arrow files in the staging folder, so that an interrupted job
goes on where it stopped.

Most jobs are done before such files are worth their cost. The parts of the first seconds stay in memory as they are;
they are written when the job takes longer, when they are many, or when it ends without a commit. A job that was begun
before writes each part at once, so that one that is killed again and again comes to its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TypeAlias

import pyarrow as pa

from rageval_batch.errors import RagevalError
from rageval_batch.runs.staging import Staging

WRITTEN_AFTER = 2.0  # seconds; what is lost by a kill before is scored again in that time
MOST_IN_MEMORY = 48 << 20  # bytes: 200,000 rows of `eval_json_v2` are 41 MiB
_SMALL_ROW = 512  # bytes that a row may hold in memory, whatever it has itself

Part: TypeAlias = Path | pa.Table  # an Arrow file, or what it would have
_Tables = dict[str, pa.Table]  # by the names of their files


class Parts:
    """The parts of one job, by their numbers. Threads may keep parts at once; `of` is for when all are kept.

    As a context: what is in memory is written if an exception ends it.
    """

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._lock = Lock()
        self._waiting: dict[int, _Tables] | None = {} if staging.is_new else None  # None: each is written at once
        self._size = 0
        self._start = time.monotonic()
        self._count = 0

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            with suppress(RagevalError, OSError):  # the disk may be full: that is said already
                self._write_waiting()

    def find(self, number: int) -> bool:
        """Whether an earlier try has kept a part."""
        with self._lock:
            self._count = max(self._count, number + 1)
        return not self._staging.is_new and self._staging.is_done(_name("done", number))

    def keep(self, number: int, tables: Mapping[str, pa.Table]) -> None:
        """Keep what was made of a part, by kind."""
        named = {_name(kind, number): _own_rows(table) for kind, table in tables.items()}
        with self._lock:
            waits = self._waiting is not None
            if self._waiting is not None:
                self._waiting[number] = named
                self._size += sum(table.get_total_buffer_size() for table in named.values())
        if not waits:
            self._write(number, named)
        elif self._size > MOST_IN_MEMORY or time.monotonic() - self._start > WRITTEN_AFTER:
            self._write_waiting()

    def of(self, kind: str) -> list[Part]:
        """The parts of a kind, in their order; one without rows of that kind has none."""
        names = [_name(kind, number) for number in range(self._count)]
        if self._waiting is not None:
            tables = {name: table for part in self._waiting.values() for name, table in part.items()}
            return [tables[name] for name in names if name in tables]
        return [path for path in (self._staging.path / name for name in names) if path.exists()]

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._waiting = None
        self._staging.clear()

    def _write_waiting(self) -> None:
        """Write what is in memory; from now on each part is written at once."""
        with self._lock:
            waiting, self._waiting = self._waiting or {}, None
        for number, tables in sorted(waiting.items()):
            self._write(number, tables)

    def _write(self, number: int, tables: _Tables) -> None:
        files = {name: memoryview(part_bytes(table)) for name, table in tables.items()}
        self._staging.write_marked(_name("done", number), files)


def _name(kind: str, number: int) -> str:
    return f"{kind}-{number:06d}"


def _own_rows(rows: pa.Table) -> pa.Table:
    """The rows, copied where they would keep much more in memory: the block that they are a few texts of."""
    held = rows.get_total_buffer_size()
    if held <= _SMALL_ROW * rows.num_rows or held <= 2 * rows.nbytes:
        return rows
    return _read(pa.BufferReader(part_bytes(rows)))


def part_bytes(rows: pa.Table) -> pa.Buffer:
    """One Arrow file, not compressed: it is read once, soon, and mapped into memory."""
    measured = pa.MockOutputStream()
    _write_file(rows, measured)
    content = pa.allocate_buffer(measured.size())
    _write_file(rows, pa.FixedSizeBufferWriter(content))
    return content


def _write_file(rows: pa.Table, sink: pa.NativeFile) -> None:
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


def read_parts(parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
    """The batches of parts, one part at a time."""
    for part in parts:
        if isinstance(part, pa.Table):
            yield from part.to_batches()
            continue
        with pa.OSFile(str(part)) as file, pa.ipc.open_file(file) as reader:
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k)


def schema_of_part(part: Part) -> pa.Schema:
    """The schema of a part, with what it says of its columns."""
    if isinstance(part, pa.Table):
        return part.schema
    with pa.OSFile(str(part)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def table_of_part(part: Part) -> pa.Table:
    """A part as it lies in memory, or mapped into it."""
    return part if isinstance(part, pa.Table) else _read(pa.memory_map(str(part)))


def _read(file: pa.NativeFile) -> pa.Table:
    with file, pa.ipc.open_file(file) as reader:
        return reader.read_all()
