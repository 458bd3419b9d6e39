"""The summary of score rows by compiled loops: for files with the rows of each run together, one answer a question.

A few runs are in memory at a time. What the loops do not take (a run of very many rows, values that are not finite)
is for the macros of sql/jobs, which define the statistics; both give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.columnar.kernels.group_statistics import exact_sums, group_statistics
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Floats, Offsets
from rageval_batch.runs.summary_plan import FAIL_REASON, OF_RUN, SUMMARY, SummarizedMetric, SummaryPlan

MOST_OF_RUN = 1 << 18  # rows of one run that are held in memory
_ROWS_AT_ONCE = 1 << 15

# As the macros have them: exact_sum, spread_scale, metric_totals; and what fits into decimal(38, 18).
_MOST_SUMMED = 1e12
_LARGE = 1e5
_CUTS = (0.5, 0.9, 0.95)
_MOST_DECIMAL = 1e20

_OF_RUN = SummarizedMetric(name=OF_RUN, column=OF_RUN, null_counts_as=0.0, numerator=None, denominator=None)


class _NotTaken(Exception):
    """The rows are not for these loops."""


def statistics_of_runs(plan: SummaryPlan, paths: Sequence[Path]) -> pa.Table | None:
    """The rows of SUMMARY, in their order, of Parquet files of score rows; None where the rows are not for this way."""
    names = pq.read_schema(paths[0]).names
    ratios = (part for metric in plan.metrics for part in (metric.numerator, metric.denominator) if part)
    wanted = ("run_id", "weight", FAIL_REASON, *(metric.column for metric in plan.metrics), *ratios, *plan.groups)
    columns = [name for name in dict.fromkeys(wanted) if name in names]
    found = _Collected()
    try:
        for rows in _whole_runs(paths, columns):
            _summarize(plan, rows, found)
    except _NotTaken:
        return None
    return found.table()


def _whole_runs(paths: Sequence[Path], columns: list[str]) -> Iterator[pa.Table]:
    """Rows of files, some runs at a time; _NotTaken where a run is too long or its rows do not stand together."""
    seen: set[str] = set()
    waiting: list[pa.Table] = []
    for batch in _batches(paths, columns):
        waiting.append(pa.Table.from_batches([batch]))
        if sum(table.num_rows for table in waiting) < _ROWS_AT_ONCE:
            continue
        rows = pa.concat_tables(waiting)
        last = rows.column("run_id")[-1]
        whole = pc.index(rows.column("run_id"), last).as_py()
        if whole:
            _note_runs(rows.slice(0, whole), seen)
            yield rows.slice(0, whole)
        waiting = [rows.slice(whole)]
        if waiting[0].num_rows > MOST_OF_RUN:
            raise _NotTaken
    if waiting:
        rows = pa.concat_tables(waiting)
        _note_runs(rows, seen)
        yield rows


def _batches(paths: Sequence[Path], columns: list[str]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(_ROWS_AT_ONCE, columns=columns)


def _note_runs(rows: pa.Table, seen: set[str]) -> None:
    """Remember the runs of rows; _NotTaken where one was there before."""
    names = _run_ends(rows).values.to_pylist()
    if len(set(names)) < len(names) or not seen.isdisjoint(names):
        raise _NotTaken
    seen.update(names)


def _run_ends(rows: pa.Table) -> Any:
    return pc.run_end_encode(rows.column("run_id").combine_chunks())


@dataclass(frozen=True, kw_only=True)
class _Cells:
    """Rows in groups: which rows, where each group of them begins and ends, its run and its value."""

    rows: Offsets | None  # None: all, as they stand
    bounds: Offsets
    run: Offsets
    value: pa.Array

    def of(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return column if self.rows is None else column[self.rows]


@dataclass
class _Collected:
    """Columns of the summary, in pieces."""

    pieces: list[pa.Table] = field(default_factory=list)

    def add(self, runs: pa.Array, grouping: str, cells: _Cells, **columns: Any) -> None:
        """The statistics of one metric, by column: an array, or one value of all. What is not given or NaN is null."""
        count = len(cells.run)
        made: dict[str, Any] = {
            **columns,
            "run_id": runs.take(pa.array(cells.run)),
            "grouping": grouping,
            "group_value": cells.value,
            "n_total": np.diff(cells.bounds),
        }
        arrays = []
        for one in SUMMARY:
            value = made.get(one.name)
            if value is None or (isinstance(value, float) and math.isnan(value)):
                arrays.append(pa.nulls(count, one.type))
            elif isinstance(value, np.ndarray):
                arrays.append(pa.array(value, one.type, from_pandas=True))
            else:
                arrays.append(value if isinstance(value, pa.Array) else pa.repeat(pa.scalar(value, one.type), count))
        self.pieces.append(pa.Table.from_arrays(arrays, schema=SUMMARY))

    def table(self) -> pa.Table:
        """All rows, by run, metric and group."""
        rows = pa.concat_tables(self.pieces) if self.pieces else SUMMARY.empty_table()
        return rows.sort_by([(name, "ascending") for name in ("run_id", "metric", "grouping", "group_value")])


def _summarize(plan: SummaryPlan, rows: pa.Table, found: _Collected) -> None:
    """Add what is said of some whole runs."""
    encoded = _run_ends(rows)
    runs = encoded.values.cast(LARGE_STRING)
    bounds = np.concatenate([[0], encoded.run_ends.to_numpy()]).astype(np.int64)
    run_of_row = np.repeat(np.arange(len(runs)), np.diff(bounds))
    nameless = pa.repeat(pa.scalar("", LARGE_STRING), len(runs))
    whole = _Cells(rows=None, bounds=bounds, run=np.arange(len(runs)), value=nameless)
    passes = [("", whole)]
    for name in plan.groups:
        if name in rows.schema.names:
            passes += _grouped(name, rows.column(name).combine_chunks(), run_of_row)
    weights, has_weight = _numbers(rows.column("weight"))
    if not has_weight.all():
        raise _NotTaken
    failed = rows.column(FAIL_REASON).combine_chunks()
    values: dict[str, tuple[Floats, Flags]] = {
        OF_RUN: (failed.is_null().to_numpy(zero_copy_only=False).astype(np.float64), np.ones(len(failed), np.bool_))
    }
    for metric in (*plan.metrics, _OF_RUN):
        own, numerator, denominator = (
            _column(values, rows, name) for name in (metric.column, metric.numerator, metric.denominator)
        )
        worth = math.nan if metric.null_counts_as is None else metric.null_counts_as
        for grouping, cells in passes:
            described = group_statistics(
                cells.of(own[0]), cells.of(own[1]), worth, cells.of(weights), cells.bounds, _MOST_SUMMED, _LARGE, _CUTS
            )
            parts = _ratio(numerator, denominator, cells) if metric.numerator and metric.denominator else _NO_RATIO
            stats = {"n_parts": 0, "micro": math.nan, **described._asdict(), **parts}
            value = stats[plan.run_stat if plan.run_stat in ("micro", "weighted_mean") else "mean"]
            found.add(runs, grouping, cells, metric=metric.name, **stats, value=value, n_units=np.diff(cells.bounds))
    reasons = _cells_of(np.arange(len(failed)), failed, run_of_row)
    found.add(runs, FAIL_REASON, reasons, metric=OF_RUN, n_counted=np.diff(bounds)[reasons.run])


_NO_RATIO: dict[str, Any] = {}


def _ratio(numerator: tuple[Floats, Flags], denominator: tuple[Floats, Flags], cells: _Cells) -> dict[str, Any]:
    """The sums of a metric's numerators and denominators, and their quotient."""
    sums = []
    for values, present in (numerator, denominator):
        if (np.abs(values) >= _MOST_DECIMAL).any():
            raise _NotTaken
        sums.append(exact_sums(cells.of(values), cells.of(present), cells.bounds))
    (above, _), (below, count) = sums
    micro = np.divide(above, below, out=np.full(len(above), math.nan), where=below != 0)
    return {"numerator": above, "denominator": below, "micro": micro, "n_parts": count}


def _column(known: dict[str, tuple[Floats, Flags]], rows: pa.Table, name: str | None) -> tuple[Floats, Flags]:
    """(values, which there are) of a column; none where the rows do not have it."""
    if name is None or (name not in known and name not in rows.schema.names):
        return np.zeros(rows.num_rows), np.zeros(rows.num_rows, np.bool_)
    if name not in known:
        known[name] = _numbers(rows.column(name))
    return known[name]


def _numbers(column: pa.ChunkedArray) -> tuple[Floats, Flags]:
    """(values, which are there) of a column of numbers or flags; _NotTaken for others, and where one is not finite."""
    is_number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    if not (is_number or pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
        raise _NotTaken
    whole = column.combine_chunks()
    present = whole.is_valid().to_numpy(zero_copy_only=False)
    values = whole.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()
    if not np.isfinite(values).all():
        raise _NotTaken
    return values, present


def _grouped(name: str, column: pa.Array, run_of_row: Offsets) -> list[tuple[str, _Cells]]:
    """The groups of rows by a column: its values, every entry of a list once, or the values of each key of a map."""
    if pa.types.is_map(column.type):
        row, entries = _entries(column)
        keys, items = column.keys[entries], column.items[entries]
        named = ((key, pc.equal(keys, key)) for key in sorted(keys.unique().to_pylist()))
        return [
            (key, _cells_of(row[mine.to_numpy(zero_copy_only=False)], items.filter(mine), run_of_row))
            for key, mine in named
        ]
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        row, entries = _entries(column)
        return [(name, _cells_of(row, column.values[entries], run_of_row))]
    return [(name, _cells_of(np.arange(len(column)), column, run_of_row))]


def _entries(column: Any) -> tuple[Offsets, slice]:
    """(the row of each entry of lists or maps, where the entries stand among the values)"""
    offsets = column.offsets.to_numpy().astype(np.int64)
    return np.repeat(np.arange(len(column)), np.diff(offsets)), slice(offsets[0], offsets[-1])


def _cells_of(row: Offsets, values: pa.Array, run_of_row: Offsets) -> _Cells:
    """The rows that stand under each value in each run; one that has a value twice stands there once, null is none."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise _NotTaken
    there = values.is_valid().to_numpy(zero_copy_only=False)
    coded = values.drop_null().dictionary_encode()
    names = coded.dictionary.cast(LARGE_STRING)
    row = row[there]
    cell = run_of_row[row] * len(names) + coded.indices.to_numpy()
    order = np.lexsort((row, cell))
    row, cell = row[order], cell[order]
    repeated = np.concatenate([[False], (cell[1:] == cell[:-1]) & (row[1:] == row[:-1])])[: len(cell)]
    row, cell = row[~repeated], cell[~repeated]
    starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]])[: len(cell)])
    run, value = np.divmod(cell[starts], max(len(names), 1))
    bounds = np.append(starts, len(cell)).astype(np.int64)
    return _Cells(rows=row, bounds=bounds, run=run, value=names.take(pa.array(value)))
