"""Whole runs of score rows: those of a table in memory, or of files, some small ones at a time, or one, however large,
a column or some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby, islice, pairwise
from pathlib import Path
from types import TracebackType
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING, Flags, Floats, Offsets
from rageval_batch.dataclass import dataclass

MOST_AT_ONCE = 1 << 18  # rows whose columns are all held in memory
_ROWS_AT_ONCE = 1 << 15
_RUNS_AT_ONCE = 1 << 10  # of a table: the statistics of a run take more than its rows where these are few


class OtherRows(Exception):
    """The rows are not as those of a commit: a run stands in several places, or its values are not for the loops."""


@dataclass(frozen=True, kw_only=True)
class _RowGroup:
    """A row group of a file, and the first of its rows among those of all files."""

    file: int
    number: int
    start: int
    count: int


class WholeRuns(Protocol):
    """All rows of some runs that follow each other."""

    names: pa.Array
    bounds: Offsets  # where the rows of each run begin and end
    repeated: bool  # whether questions may have several answers

    def __len__(self) -> int:
        """How many rows there are."""

    def has(self, name: str) -> bool:
        """Whether the rows have a column."""

    def column(self, name: str) -> pa.Array:
        """A column of the rows, in their order."""


_Runs = list[tuple[str, int]]  # names and numbers of rows


def _bounds(runs: _Runs) -> Offsets:
    return np.cumsum([0, *(count for _, count in runs)], dtype=np.int64)


def _runs_of(run_id: pa.ChunkedArray) -> _Runs:
    """The runs of a column of names or of codes, as they follow each other."""
    names = run_id.combine_chunks()
    coded = pa.types.is_dictionary(names.type)
    encoded = pc.run_end_encode(names.indices if coded else names)
    values = names.dictionary.take(encoded.values) if coded else encoded.values
    ends = [0, *encoded.run_ends.to_pylist()]
    counts = (last - first for first, last in pairwise(ends))
    return list(zip(values.to_pylist(), counts, strict=True))


class TableRuns:
    """Whole runs of a table in memory."""

    def __init__(self, rows: pa.Table, runs: _Runs, repeated: bool) -> None:
        self.names = pa.array([name for name, _ in runs], LARGE_STRING)
        self.bounds = _bounds(runs)
        self.repeated = repeated
        self._rows = rows
        self._columns = frozenset(rows.column_names)

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def has(self, name: str) -> bool:
        return name in self._columns

    def column(self, name: str) -> pa.Array:
        column = self._rows.column(name).combine_chunks()
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def runs_of_table(rows: pa.Table, repeats: Mapping[str, int]) -> Iterator[TableRuns]:
    """All runs of a table, whose rows stand together; `repeats`: how many each has, 1 where it is not named."""
    start = 0
    for repeated, alike in groupby(_runs_of(rows.column("run_id")), lambda run: repeats.get(run[0], 1) > 1):
        while runs := list(islice(alike, _RUNS_AT_ONCE)):
            found = TableRuns(rows.slice(start, sum(count for _, count in runs)), runs, repeated)
            yield found
            start += len(found)


class _StoredRuns:
    """Whole runs of score files."""

    def __init__(self, files: ScoreRuns, runs: _Runs, start: int) -> None:
        """`start`: the first of the rows among those of all files."""
        self.names = pa.array([name for name, _ in runs], LARGE_STRING)
        self.bounds = _bounds(runs)
        self.repeated = files.repeated(runs[0][0])
        self._files = files
        self._start = start
        self._table = files.read(files.columns, start, len(self)) if len(self) <= MOST_AT_ONCE else None

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def has(self, name: str) -> bool:
        return name in self._files.names

    def column(self, name: str) -> pa.Array:
        table = self._table
        if table is None or name not in table.column_names:
            table = self._files.read([name], self._start, len(self))
        return table.column(name).combine_chunks()


class ScoreRuns:
    """The runs of score files, whose rows stand together and in the order of the runs' names; else OtherRows."""

    def __init__(self, paths: Sequence[Path], repeats: Mapping[str, int], columns: Sequence[str]) -> None:
        """`columns`: those that are read together, as far as the files have them."""
        self._repeats = repeats
        self._open = ExitStack()
        self._files = [self._open.enter_context(pq.ParquetFile(path)) for path in paths]
        self.names = frozenset(self._files[0].schema_arrow.names)
        self.columns = [name for name in columns if name in self.names]
        self._groups: list[_RowGroup] = []
        self._last: tuple[_RowGroup, list[str], pa.Table] | None = None
        start = 0
        for number, file in enumerate(self._files):
            for k in range(file.num_row_groups):
                count = file.metadata.row_group(k).num_rows
                self._groups.append(_RowGroup(file=number, number=k, start=start, count=count))
                start += count

    def __enter__(self) -> ScoreRuns:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def repeated(self, run: str) -> bool:
        """Whether questions of a run may have several answers."""
        return self._repeats.get(run, 1) > 1

    def __iter__(self) -> Iterator[WholeRuns]:
        start = 0
        for _, alike in groupby(self._runs(), lambda run: self.repeated(run[0])):
            waiting: _Runs = []
            rows = 0
            for run in alike:
                if waiting and rows + run[1] > MOST_AT_ONCE:
                    yield _StoredRuns(self, waiting, start)
                    start, waiting, rows = start + rows, [], 0
                waiting.append(run)
                rows += run[1]
                if rows >= _ROWS_AT_ONCE:
                    yield _StoredRuns(self, waiting, start)
                    start, waiting, rows = start + rows, [], 0
            if waiting:
                yield _StoredRuns(self, waiting, start)
                start += rows

    def _runs(self) -> _Runs:
        """All runs."""
        found: _Runs = []
        for group in self._groups:
            for name, count in _runs_of(self._read_group(group, ["run_id"]).column("run_id")):
                before = found.pop()[1] if found and found[-1][0] == name else 0
                found.append((name, before + count))
        if any(this >= following for (this, _), (following, _) in pairwise(found)):
            raise OtherRows
        return found

    def read(self, columns: list[str], start: int, count: int) -> pa.Table:
        """Columns of some rows."""
        tables = []
        for group in self._groups:
            first, last = max(start - group.start, 0), min(start + count - group.start, group.count)
            if first < last:
                tables.append(self._read_group(group, columns).slice(first, last - first))
        return pa.concat_tables(tables)

    def _read_group(self, group: _RowGroup, columns: list[str]) -> pa.Table:
        """A row group. The last is kept: the next runs may begin in it."""
        if self._last is None or self._last[:2] != (group, columns):
            self._last = None
            self._last = group, columns, self._files[group.file].read_row_group(group.number, columns)
        return self._last[2]


def rows_of_run(paths: Sequence[Path], run: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of one run in score files, as they stand, a row group at a time; OtherRows where a column is missing."""
    name = run.encode()
    for path in paths:
        with pq.ParquetFile(path, read_dictionary=["run_id"]) as file:
            if not set(columns) <= set(file.schema_arrow.names):
                raise OtherRows
            place = next(k for k in range(len(file.schema)) if file.schema.column(k).path == "run_id")
            for k in range(file.num_row_groups):
                about = file.metadata.row_group(k).column(place).statistics
                if about is not None and about.has_min_max and not about.min_raw <= name <= about.max_raw:
                    continue
                rows = file.read_row_group(k, ["run_id", *columns], use_threads=False)
                mine = pc.equal(rows.column("run_id"), run)
                yield (rows if pc.all(mine).as_py() else rows.filter(mine)).select(columns)


def numbers(column: pa.Array) -> tuple[Floats, Flags]:
    """(values, which are there) of a column of numbers or flags, the rest being any; OtherRows for other columns."""
    is_number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    if not (is_number or pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
        raise OtherRows
    values = column if pa.types.is_float64(column.type) else column.cast(pa.float64(), safe=False)
    whole = pa.Array.from_buffers(pa.float64(), len(values), [None, values.buffers()[1]], offset=values.offset)
    return whole.to_numpy(), is_there(column)


def is_there(column: pa.Array) -> Flags:
    """Which values of a column are not null."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    valid = column.is_valid()
    bits = np.frombuffer(valid.buffers()[1], np.uint8)[valid.offset // 8 : -(-(valid.offset + len(valid)) // 8)]
    return np.unpackbits(bits, bitorder="little")[valid.offset % 8 :][: len(valid)].view(np.bool_)


def finite_numbers(column: pa.Array) -> tuple[Floats, Flags]:
    """(values, which are there) of a column of numbers or flags, 0 for those that are not; OtherRows for others, and
    where one is not finite."""
    values, present = numbers(column)
    values = np.where(present, values, 0.0)
    if not np.isfinite(values).all():
        raise OtherRows
    return values, present
