"""Ranked ids against the ids that should have been found, as trec_eval measures them."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.functions.columns import Lists, SharedLists
from rageval_batch.columnar.kernels.cutoffs import best_gains, gold_ranks
from rageval_batch.columnar.strings import Floats, Ints, Offsets
from rageval_batch.dataclass import dataclass

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """The gold ids found: row r has the ranks and gains from `bounds[r]`, of `wanted[r]` gold ids."""

    ranks: Counts
    gains: Floats
    bounds: Offsets
    _: KW_ONLY
    wanted: Counts

    def rows(self) -> Counts:
        """The row of each gold id found."""
        return np.repeat(np.arange(len(self.wanted)), np.diff(self.bounds))

    def total(self, values: Floats) -> Floats:
        """The sum of a value of the gold ids found, by row."""
        sums: Floats = np.bincount(self.rows(), weights=values, minlength=len(self.wanted)).astype(np.float64)
        return sums

    def hits(self, k: Counts) -> Floats:
        """How many stand at the first k ranks of each row."""
        return self.total((self.ranks <= k[self.rows()]).astype(np.float64))

    def over(self, part: Floats, whole: Counts | Floats) -> pa.Array:
        """part / whole; null for a row without gold or where the whole is not above 0."""
        defined = (self.wanted > 0) & (whole > 0)
        return pa.array(np.divide(part, whole, out=np.zeros(len(part)), where=defined), mask=~defined)


def _numbered(ids: Lists, gold: Lists) -> tuple[Ints, Ints, int]:
    """Ids and gold ids as numbers, equal ones by the same, and how many numbers there are."""
    coded = pa.concat_arrays([ids.values, gold.values]).dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes[: len(ids.values)], codes[len(ids.values) :], len(coded.dictionary)


def _found_gold(shared_ids: SharedLists, shared_gold: SharedLists) -> Found:
    ids, gold = shared_ids.by_row(), shared_gold.by_row()
    mine, wanted, known = _numbered(ids, gold)
    ranks, gains, bounds, count = gold_ranks(mine, ids.bounds, wanted, gold.bounds, np.ones(len(wanted)), known)
    return Found(ranks, gains, bounds, wanted=count)


def recall_at(ids: SharedLists, gold: SharedLists, k: Counts) -> pa.Array:
    """Gold ids at the first k ranks over all gold ids."""
    found = _found_gold(ids, gold)
    return _from_one(found.over(found.hits(k), found.wanted), k)


def precision_at(ids: SharedLists, gold: SharedLists, k: Counts) -> pa.Array:
    """Gold ids at the first k ranks over k."""
    found = _found_gold(ids, gold)
    return found.over(found.hits(k), k)


def hit_at(ids: SharedLists, gold: SharedLists, k: Counts) -> pa.Array:
    """1 where a gold id is at the first k ranks."""
    found = _found_gold(ids, gold)
    return _from_one(found.over((found.hits(k) > 0).astype(np.float64), np.ones(len(k))), k)


def _from_one(values: pa.Array, k: Counts) -> pa.Array:
    """Null where k is below 1."""
    return pc.if_else(pa.array(k >= 1), values, pa.scalar(None, values.type))


def reciprocal_rank(ids: SharedLists, gold: SharedLists) -> pa.Array:
    """1 over the rank of the first gold id."""
    found = _found_gold(ids, gold)
    some = np.diff(found.bounds) > 0
    first = np.zeros(len(some))
    first[some] = 1.0 / found.ranks[found.bounds[:-1][some]]
    return found.over(first, np.ones(len(first)))


def average_precision(ids: SharedLists, gold: SharedLists) -> pa.Array:
    """Mean precision at the ranks of the gold ids."""
    found = _found_gold(ids, gold)
    place = np.arange(len(found.ranks)) - found.bounds[found.rows()] + 1
    return found.over(found.total(place / found.ranks), found.wanted)


def ndcg_at(shared_ids: SharedLists, shared_gold: SharedLists, grades: Lists, k: Counts) -> pa.Array:
    """Discounted gain of the first k ranks over the best possible."""
    ids, gold = shared_ids.by_row(), shared_gold.by_row()
    mine, wanted, known = _numbered(ids, gold)
    values = _grades(gold, grades)
    ranks, gains, bounds, count = gold_ranks(mine, ids.bounds, wanted, gold.bounds, values, known)
    found = Found(ranks, gains, bounds, wanted=count)
    most = int(max(found.ranks.max(initial=1), gold.counts().max(initial=1)))
    discounts = np.log2(np.arange(2, most + 2))
    counted = found.ranks <= k[found.rows()]
    gain = found.total(np.where(counted, found.gains / discounts[found.ranks - 1], 0.0))
    order = np.lexsort((-values, gold.owners()))
    ideal = best_gains(wanted[order], gold.bounds, values[order], k, discounts, known)
    return found.over(gain, ideal)


def _grades(gold: Lists, grades: Lists) -> Floats:
    """The grade of each gold id, 1 where there is none for it."""
    places = np.arange(len(gold.values)) - gold.bounds[gold.owners()]
    there = places < grades.counts()[gold.owners()]
    given = grades.values.fill_null(1.0).to_numpy(zero_copy_only=False)
    out = np.ones(len(gold.values))
    out[there] = given[(grades.bounds[gold.owners()] + places)[there]]
    return out
