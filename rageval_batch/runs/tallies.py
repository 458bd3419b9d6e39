"""Tallies: what was counted on the way of scoring, by run, kind and texts, added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.places import distinct_rows
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets
from rageval_batch.model import Scored
from rageval_batch.model.schemas import TALLIES
from rageval_batch.runs.parts import Part, table_of_part

AT_ONCE = 1 << 15  # tallies that are added up at a time, and those of one more run
MOST_OF_RUN = 1 << 18  # tallies of one run that are added up in memory
_MOST_READS = 4  # times that each part and each group of runs may be read on average
_KEYS = TALLIES.names[:-1]


def run_tallies(scored: Scored, run_id: pa.Array, spread: Ints | None) -> pa.Table:
    """The tallies of a batch by run, added up where many are the same. `spread`: the scored answer of each row; None:
    its own."""
    if scored.tallies is None or scored.tallies.num_rows == 0:
        return TALLIES.empty_table()
    tallies, row = scored.tallies, scored.tallies.column("row").to_numpy()
    if spread is not None:
        tally, row = _spread_out(row, spread)
        tallies = tallies.take(as_arrow(tally))
    by_run = tallies.append_column("run_id", run_id.take(as_arrow(row))).select(TALLIES.names).cast(TALLIES)
    repeats = by_run.num_rows - pc.count_distinct(by_run.column("got"), mode="all").as_py()
    return summed(by_run) if 2 * repeats > by_run.num_rows else by_run


def _spread_out(answer: Ints, spread: Ints) -> tuple[Offsets, Offsets]:
    """(tally, row): every row that has an answer has its tallies."""
    rows = np.argsort(spread, kind="stable")
    count = np.bincount(spread, minlength=int(answer.max()) + 1)
    times = count[answer]
    tally = np.repeat(np.arange(len(answer)), times)
    place = np.arange(len(tally)) - np.repeat(np.cumsum(times) - times, times)
    return tally, rows[(np.cumsum(count) - count)[answer[tally]] + place]


def sorted_by_run(parts: Sequence[Part]) -> Iterator[pa.Table] | None:
    """The tallies of parts, those of the same run, kind and texts added up, in order, some runs at a time.

    None where a run has too many of them, or the runs are too scattered over the parts.
    """
    places: dict[str, int] = {}  # of runs, as they are met
    counted: list[tuple[Ints, Offsets]] = []  # of each part: the places of its runs, how many tallies each has
    for part in parts:
        coded = table_of_part(part).column("run_id").combine_chunks().dictionary_encode()
        mine = [places.setdefault(run, len(places)) for run in coded.dictionary.to_pylist()]
        counted.append((np.array(mine, np.int32), np.bincount(coded.indices.to_numpy(), minlength=len(mine))))
    names = sorted(places)
    order = np.array([places[name] for name in names], np.int64)
    counts = np.zeros(len(names), np.int64)
    for runs, count in counted:
        counts[runs] += count
    if (counts > MOST_OF_RUN).any():
        return None
    starts, group = _groups(counts[order])
    group[order] = group.copy()
    read: list[list[Part]] = [[] for _ in starts]
    for part, (runs, _) in zip(parts, counted, strict=True):
        for k in sorted(set(group[runs].tolist())):
            read[k].append(part)
    if sum(map(len, read)) > _MOST_READS * (len(parts) + len(read)):
        return None
    bounds = pairwise([*starts.tolist(), len(names)])
    return (_of_runs(some, names[first:last]) for some, (first, last) in zip(read, bounds, strict=True))


def _groups(counts: Offsets) -> tuple[Offsets, Offsets]:
    """(the first run of each group of runs that follow each other, the group of each run) with about AT_ONCE tallies a
    group."""
    cut = (np.cumsum(counts) - 1) // AT_ONCE
    changes = np.append(True, cut[1:] != cut[:-1])[: len(cut)]
    return np.flatnonzero(changes), np.cumsum(changes) - 1


def _of_runs(parts: Sequence[Part], names: Sequence[str]) -> pa.Table:
    """The tallies that some runs have in parts, added up, in order."""
    wanted = pa.array(names, LARGE_STRING)
    found = (rows.filter(pc.is_in(rows.column("run_id"), wanted)) for rows in map(table_of_part, parts))
    return in_order(pa.concat_tables(found))


def summed(tallies: pa.Table) -> pa.Table:
    """Tallies as of TALLIES, those of the same run, kind and texts added up."""
    columns = [column.combine_chunks() for column in tallies.columns]
    first, which = distinct_rows(columns[:-1])
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, which, columns[-1].to_numpy())
    rows = as_arrow(first)
    return pa.Table.from_arrays([*(column.take(rows) for column in columns[:-1]), as_arrow(counts)], schema=TALLIES)


def in_order(tallies: pa.Table) -> pa.Table:
    """Tallies by run, kind and texts, nulls last, those of the same run, kind and texts added up."""
    run, kind, got, expected, n = (tallies.column(field.name).combine_chunks() for field in TALLIES)
    (_, run_rank), (kinds, kind_rank) = _ranks(run), _ranks(kind)
    key = as_arrow(run_rank * kinds + kind_rank)
    # Numbers first: then texts are compared with those of the same run and kind alone.
    keys = pa.RecordBatch.from_arrays([key, got, expected], names=["key", "got", "expected"])
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.schema.names])
    rows = tallies.take(order)
    key, got, expected = (column.take(order) for column in (key, got, expected))
    repeats = np.logical_and.reduce([_repeats(column) for column in (key, got, expected)])
    starts = np.flatnonzero(~repeats)
    if len(starts) == len(order):
        return rows
    counts = as_arrow(np.add.reduceat(n.take(order).to_numpy(), starts))
    return rows.take(as_arrow(starts)).set_column(len(_KEYS), TALLIES.field(len(_KEYS)), counts)


def _repeats(column: pa.Array) -> Flags:
    """Which values are those before them; null is a value."""
    before, after = column.slice(0, max(len(column) - 1, 0)), column.slice(1)
    same = pc.equal(before, after).fill_null(False).to_numpy(zero_copy_only=False)
    if column.null_count:
        same = same | pc.and_(before.is_null(), after.is_null()).to_numpy(zero_copy_only=False)
    return np.append(False, same)[: len(column)]


def _ranks(texts: pa.Array) -> tuple[int, Offsets]:
    """(how many ranks there are, for each text its place among the distinct ones, sorted; null comes last)"""
    coded = texts.dictionary_encode()
    count = len(coded.dictionary)
    place = np.full(count + 1, count, np.int64)
    place[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(count)
    return count + 1, place[coded.indices.fill_null(count).to_numpy()]
