"""Tallies: what was counted on the way of scoring, by run, kind and texts, added up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.places import distinct_rows
from rageval_batch.columnar.strings import Ints, Offsets
from rageval_batch.model import Scored
from rageval_batch.model.schemas import TALLIES

_KEYS = TALLIES.names[:-1]


def run_tallies(scored: Scored, run_id: pa.Array, spread: Ints | None) -> pa.Table:
    """The tallies of a batch, summed for each run. `spread`: the scored answer of each row; None: its own."""
    if scored.tallies is None or scored.tallies.num_rows == 0:
        return TALLIES.empty_table()
    tallies, row = scored.tallies, scored.tallies.column("row").to_numpy()
    if spread is not None:
        tally, row = _spread_out(row, spread)
        tallies = tallies.take(pa.array(tally))
    return summed(tallies.append_column("run_id", run_id.take(pa.array(row))))


def _spread_out(answer: Ints, spread: Ints) -> tuple[Offsets, Offsets]:
    """(tally, row): every row that has an answer has its tallies."""
    rows = np.argsort(spread, kind="stable")
    count = np.bincount(spread, minlength=int(answer.max()) + 1)
    times = count[answer]
    tally = np.repeat(np.arange(len(answer)), times)
    place = np.arange(len(tally)) - np.repeat(np.cumsum(times) - times, times)
    return tally, rows[(np.cumsum(count) - count)[answer[tally]] + place]


def summed(tallies: pa.Table) -> pa.Table:
    """Tallies as of TALLIES, those of the same run, kind and texts added up."""
    columns = [tallies.column(field.name).combine_chunks().cast(field.type) for field in TALLIES]
    first, which = distinct_rows(columns[:-1])
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, which, columns[-1].to_numpy())
    rows = pa.array(first)
    return pa.Table.from_arrays([*(column.take(rows) for column in columns[:-1]), pa.array(counts)], schema=TALLIES)


def in_order(tallies: pa.Table) -> pa.Table:
    """Tallies by run, kind and texts, nulls last."""
    ranks = [_ranks(tallies.column(name).combine_chunks()) for name in _KEYS]
    return tallies.take(pa.array(np.lexsort(ranks[::-1])))


def _ranks(texts: pa.Array) -> Offsets:
    """For each text its place among the distinct ones, sorted; null comes last."""
    coded = texts.dictionary_encode()
    place = np.empty(len(coded.dictionary) + 1, np.int64)
    place[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(coded.dictionary))
    place[-1] = len(coded.dictionary)
    ranks: Offsets = place[coded.indices.fill_null(len(coded.dictionary)).to_numpy()]
    return ranks
