"""The summary of score rows by compiled loops: for files with the rows of each run together, as commits have them.

Some small runs are in memory at a time, or one run, however large, a column at a time. What the loops do not take
(values that are not finite, rows in another order) is for the macros of sql/jobs, which define the statistics; both
give the same bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.kernels.group_statistics import answer_means, exact_sums, group_statistics
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Floats, Ints, Offsets
from rageval_batch.dataclass import dataclass
from rageval_batch.runs.score_runs import OtherRows, ScoreRuns, WholeRuns, is_there, numbers, runs_of_table
from rageval_batch.runs.summary_plan import FAIL_REASON, OF_RUN, SUMMARY, SummarizedMetric, SummaryPlan

# As the macros have them: exact_sum, metric_totals.
MOST_SUMMED = 1e12
_CUTS = (0.5, 0.9, 0.95)

_OF_RUN = SummarizedMetric(name=OF_RUN, column=OF_RUN, null_counts_as=0.0, numerator=None, denominator=None)


def statistics_of_runs(plan: SummaryPlan, paths: Sequence[Path], repeats: Mapping[str, int]) -> Iterator[pa.Table]:
    """The rows of SUMMARY of Parquet files of score rows, in their order, some runs at a time.

    `repeats`: how many each run has, 1 where it is not named. OtherRows where the rows are not for this way.
    """
    with ScoreRuns(paths, repeats, _columns(plan)) as runs:
        for rows in runs:
            yield _statistics_of(plan, rows)


def statistics_of_rows(plan: SummaryPlan, rows: pa.Table, repeats: Mapping[str, int]) -> Iterator[pa.Table]:
    """The same of whole runs in memory, which stand in their order."""
    for runs in runs_of_table(rows, repeats):
        yield _statistics_of(plan, runs)


def _statistics_of(plan: SummaryPlan, rows: WholeRuns) -> pa.Table:
    found = _Collected(rows.names)
    _summarize(plan, rows, found)
    return found.table()


def _columns(plan: SummaryPlan) -> list[str]:
    """The columns of score rows that every summary is made of."""
    ratios = (part for metric in plan.metrics for part in (metric.numerator, metric.denominator) if part)
    values = (metric.column for metric in plan.metrics)
    return list(dict.fromkeys(("weight", FAIL_REASON, *values, *ratios, *plan.groups)))


@dataclass(frozen=True, kw_only=True)
class _Cells:
    """Rows in groups: which rows, where each group of them begins and ends, its run and its value.

    Where a group is made of questions with several answers each: where the rows of each question begin and end.
    """

    rows: Ints | None  # None: all, as they stand
    bounds: Offsets
    run: Offsets
    value: pa.Array
    questions: Offsets | None = None  # bounds of the answers of questions

    @property
    def question_bounds(self) -> Offsets:
        """Where each group begins and ends among the questions; among rows, where each is one."""
        if self.questions is None:
            return self.bounds
        return np.searchsorted(self.questions, self.bounds).astype(np.int64)


class _Collected:
    """Columns of the summary of some runs, in pieces."""

    def __init__(self, runs: pa.Array) -> None:
        self._runs = runs
        self._pieces: list[tuple[str, str, _Cells, dict[str, Any]]] = []

    def add(self, grouping: str, metric: str, cells: _Cells, **numbers: Any) -> None:
        """The statistics of one metric, by column: an array, or one value of all. What is not given or NaN is null."""
        self._pieces.append((grouping, metric, cells, numbers))

    def table(self) -> pa.Table:
        """All rows, by run, metric and group."""
        groupings, metrics, cells, stats = zip(*self._pieces, strict=True)
        counts = [len(mine.run) for mine in cells]
        bounds = np.cumsum([0, *counts])
        piece = as_arrow(np.repeat(np.arange(len(counts)), counts))
        columns = {
            "run_id": self._runs.take(as_arrow(np.concatenate([mine.run for mine in cells]))),
            "group_value": pa.concat_arrays([mine.value for mine in cells]),
            "metric": pa.array(metrics, LARGE_STRING).take(piece),
            "grouping": pa.array(groupings, LARGE_STRING).take(piece),
        }
        for field in SUMMARY:
            if field.name not in columns:
                columns[field.name] = _joined([mine.get(field.name) for mine in stats], bounds, field.type)
        rows = pa.Table.from_arrays([columns[field.name] for field in SUMMARY], schema=SUMMARY)
        keys = [(name, "ascending") for name in ("run_id", "metric", "grouping", "group_value")]
        return rows.take(pc.sort_indices(rows, sort_keys=keys))  # sort_by imports Arrow's query engine


def _joined(pieces: Sequence[Any], bounds: Offsets, type_: pa.DataType) -> pa.Array:
    """Pieces of a column, each an array, one value of all its rows, or None; of a column of floats NaN is null."""
    is_float = pa.types.is_floating(type_)
    joined = np.full(bounds[-1], math.nan) if is_float else np.zeros(bounds[-1], np.int64)
    known = np.ones(len(joined), np.bool_)
    for first, last, piece in zip(bounds[:-1].tolist(), bounds[1:].tolist(), pieces, strict=True):
        if piece is None:
            known[first:last] = False
        else:
            joined[first:last] = piece
    return as_arrow(joined, ~np.isnan(joined) if is_float else known)


class _Numbers:
    """Columns of some runs as numbers; each is let go when it was asked for as often as the metrics need it."""

    def __init__(self, plan: SummaryPlan, rows: WholeRuns, usable: Flags) -> None:
        self._rows = rows
        self._nothing = (np.zeros(len(rows)), np.zeros(len(rows), np.bool_))
        self._known: dict[str, tuple[Floats, Flags]] = {
            OF_RUN: (usable.astype(np.float64), np.ones(len(rows), np.bool_))
        }
        self._uses = Counter(
            name for metric in plan.metrics for name in (metric.column, metric.numerator, metric.denominator)
        )

    def of(self, name: str | None) -> tuple[Floats, Flags]:
        """(values, which there are) of a column; none where the rows do not have it."""
        if name is None or not (name in self._known or self._rows.has(name)):
            return self._nothing
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = numbers(self._rows.column(name))
        self._uses[name] -= 1
        if not self._uses[name]:
            del self._known[name]
        return found


def _summarize(plan: SummaryPlan, rows: WholeRuns, found: _Collected) -> None:
    """Add what is said of some whole runs."""
    run_of_row = np.repeat(np.arange(len(rows.names), dtype=np.int32), np.diff(rows.bounds))
    weights = _weights(rows.column("weight"))
    question = _questions(rows, run_of_row) if rows.repeated or not plan.by_question else None
    nameless = pa.repeat(pa.scalar("", LARGE_STRING), len(rows.names))
    whole = _Cells(rows=None, bounds=rows.bounds, run=np.arange(len(rows.names)), value=nameless)
    passes = [("", _of_questions(whole, question))]
    for name in plan.groups:
        if rows.has(name):
            grouped = _grouped(name, rows.column(name), run_of_row)
            passes += [(key, _of_questions(cells, question)) for key, cells in grouped]
    units = None if plan.by_question else _of_questions(*_by_unit(plan, rows, run_of_row, whole=whole))
    failed = rows.column(FAIL_REASON)
    values = _Numbers(plan, rows, ~is_there(failed))
    for metric in (*plan.metrics, _OF_RUN):
        columns = [values.of(name) for name in (metric.column, metric.numerator, metric.denominator)]
        statistics = partial(_statistics, plan, metric, columns, weights=weights, repeated=rows.repeated)
        of_units = None if units is None else statistics(cells=units)
        for grouping, cells in passes:
            stats = statistics(cells=cells)
            if of_units is not None and cells is passes[0][1]:
                stats |= {name: of_units[name] for name in ("value", "n_units")}
            found.add(grouping, metric.name, cells, **stats)
    reasons = _cells_of(np.arange(len(rows), dtype=np.int32), failed, run_of_row)
    counts = {"n_total": np.diff(reasons.bounds), "n_counted": np.diff(rows.bounds)[reasons.run]}
    found.add(FAIL_REASON, OF_RUN, reasons, **counts)


_Column = tuple[Floats, Flags]


def _weights(column: pa.Array) -> Floats:
    """The weights of rows; OtherRows where one is not finite. Where all are equal, one value that stands for each."""
    weights, known = numbers(column)
    if not (known.all() and np.isfinite(weights).all()):
        raise OtherRows
    return np.broadcast_to(weights[0], len(weights)) if (weights == weights[:1]).all() else weights


def _check_summed(values: Floats, present: Flags) -> None:
    """OtherRows where a value that is there is not finite, or beyond the largest that is summed."""
    if not (np.abs(values[present]) <= MOST_SUMMED).all():
        raise OtherRows


def _statistics(
    plan: SummaryPlan,
    metric: SummarizedMetric,
    columns: Sequence[_Column],
    *,
    cells: _Cells,
    weights: Floats,
    repeated: bool,
) -> dict[str, Any]:
    """The statistics of a metric by group, from its (values, which there are), numerators and denominators."""
    (values, present), numerator, denominator = columns
    worth = math.nan if metric.null_counts_as is None else metric.null_counts_as
    rows, bounds = cells.rows, cells.question_bounds
    replaced: dict[str, Any] = {}
    if cells.questions is not None:
        _check_summed(values, present)
        values, rates, counted, own = answer_means(values, present, worth, rows, cells.questions)
        present, worth = counted > 0, math.nan
        weights = weights[cells.questions[:-1] if rows is None else rows[cells.questions[:-1]]]
        rows = None
        totals, counts = exact_sums(rates, present, None, bounds)
        replaced = {
            "n_scored": np.diff(np.append(0, np.cumsum(own > 0))[bounds]),
            "rate": np.divide(totals, counts, out=np.full(len(totals), math.nan), where=counts > 0),
        }
    described = group_statistics(values, present, worth, weights, rows, bounds, MOST_SUMMED, _CUTS)
    if described is None:
        raise OtherRows
    stats = {"n_parts": 0, "micro": math.nan, **described._asdict(), **replaced}
    if metric.numerator and metric.denominator:
        stats |= _ratio(numerator, denominator, cells, repeated=repeated)
    n_total = np.diff(bounds)
    value = stats[plan.run_stat if plan.run_stat in ("micro", "weighted_mean") else "mean"]
    return {**stats, "value": value, "n_total": n_total, "n_units": n_total}


def _ratio(numerator: _Column, denominator: _Column, cells: _Cells, *, repeated: bool) -> dict[str, Any]:
    """The sums of a metric's numerators and denominators, and their quotient."""
    sums = []
    for values, present in (numerator, denominator):
        _check_summed(values, present)
        sums.append(exact_sums(values, present, cells.rows, cells.bounds))
    (above, _), (below, count) = sums
    if repeated and cells.questions is not None:
        values, present = denominator
        *_, own = answer_means(values, present, math.nan, cells.rows, cells.questions)
        count = np.diff(np.append(0, np.cumsum(own > 0))[cells.question_bounds])
    micro = np.divide(above, below, out=np.full(len(above), math.nan), where=below != 0)
    return {"numerator": above, "denominator": below, "micro": micro, "n_parts": count}


# --- which rows are one question or unit ------------------------------------------------------------------------------


def _questions(rows: WholeRuns, run_of_row: Ints) -> Ints:
    """A number for each row, the same for all answers of a run to a question, which stand together; it never falls."""
    ids = rows.column("question_id")
    run_changes = run_of_row[1:] != run_of_row[:-1]
    before, after = ids[:-1], ids[1:]
    changes = pc.not_equal(before, after).fill_null(True).to_numpy(zero_copy_only=False)
    null = ids.is_null().to_numpy(zero_copy_only=False)
    changes &= ~(null[1:] & null[:-1])
    falls = pc.greater(before, after).fill_null(False).to_numpy(zero_copy_only=False) | (null[:-1] & ~null[1:])
    if (falls & ~run_changes).any():  # rows in another order
        raise OtherRows
    return np.append(0, np.cumsum(changes | run_changes)).astype(np.int32)


def _by_unit(plan: SummaryPlan, rows: WholeRuns, run_of_row: Ints, *, whole: _Cells) -> tuple[_Cells, Ints]:
    """(the rows of whole runs, those of a unit together; a number for each row, the same for all of a unit)"""
    unit = run_of_row.astype(np.int64)
    for name in plan.unit_key:
        if rows.has(name):
            coded = rows.column(name).dictionary_encode("encode")
            distinct, unit = np.unique(unit * len(coded.dictionary) + coded.indices.to_numpy(), return_inverse=True)
            del distinct
    order = np.argsort(unit, kind="stable").astype(np.int32)
    return _Cells(rows=order, bounds=whole.bounds, run=whole.run, value=whole.value), unit.astype(np.int32)


def _of_questions(cells: _Cells, question: Ints | None) -> _Cells:
    """Groups of questions that each have several rows, which stand together; as they are where each row is one."""
    if question is None:
        return cells
    own = question if cells.rows is None else question[cells.rows]
    changes = np.append(True, own[1:] != own[:-1])[: len(own)]
    changes[cells.bounds[:-1]] = True
    questions = np.append(np.flatnonzero(changes), len(own)).astype(np.int64)
    return _Cells(rows=cells.rows, bounds=cells.bounds, run=cells.run, value=cells.value, questions=questions)


# --- groups -----------------------------------------------------------------------------------------------------------


def _grouped(name: str, column: pa.Array, run_of_row: Ints) -> Iterator[tuple[str, _Cells]]:
    """The groups of rows by a column: its values, every entry of a list once, or the values of each key of a map."""
    if pa.types.is_map(column.type):
        row, entries = _entries(column)
        keys, items = column.keys[entries], column.items[entries]
        for key in sorted(keys.unique().to_pylist()):
            mine = pc.equal(keys, key)
            yield key, _cells_of(row[mine.to_numpy(zero_copy_only=False)], items.filter(mine), run_of_row)
    elif pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        row, entries = _entries(column)
        yield name, _cells_of(row, column.values[entries], run_of_row)
    else:
        yield name, _cells_of(np.arange(len(column), dtype=np.int32), column, run_of_row)


def _entries(column: Any) -> tuple[Ints, slice]:
    """(the row of each entry of lists or maps, where the entries stand among the values)"""
    offsets = column.offsets.to_numpy().astype(np.int64)
    return np.repeat(np.arange(len(column), dtype=np.int32), np.diff(offsets)), slice(offsets[0], offsets[-1])


def _cells_of(row: Ints, values: pa.Array, run_of_row: Ints) -> _Cells:
    """The rows, which rise, that stand under each value in each run; one that has a value twice stands there once,
    null is none."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise OtherRows
    there = is_there(values)
    coded = values.drop_null().dictionary_encode()
    names = coded.dictionary.cast(LARGE_STRING)
    row = row[there]
    cell = run_of_row[row].astype(np.int64) * len(names) + coded.indices.to_numpy()
    order = np.argsort(cell, kind="stable")
    row, cell = row[order], cell[order]
    repeated = np.append(False, (cell[1:] == cell[:-1]) & (row[1:] == row[:-1]))[: len(cell)]
    if repeated.any():
        row, cell = row[~repeated], cell[~repeated]
    starts = np.flatnonzero(np.append(True, cell[1:] != cell[:-1])[: len(cell)])
    run, value = np.divmod(cell[starts], max(len(names), 1))
    bounds = np.append(starts, len(cell)).astype(np.int64)
    return _Cells(rows=row, bounds=bounds, run=run, value=names.take(as_arrow(value)))
