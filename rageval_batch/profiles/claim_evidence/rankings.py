"""What questions hold to be right of rankings and pairs, and how answers do against it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.json_values import Coded
from rageval_batch.columnar.kernels.ranking import rank_scores
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, bounds_of

Floats = npt.NDArray[np.float64]


def _discounts(depth: int) -> Floats:
    return np.array([math.log2(rank + 1) for rank in range(1, depth + 1)], np.float64)


class GradedIds:
    """The grades of ids, one table a question."""

    def __init__(self, graded: Sequence[Mapping[str, float]], depth: int) -> None:
        """`depth`: the ranks that count for the gain."""
        self._depth = depth
        self._names = pa.array(sorted({name for grades in graded for name in grades}), LARGE_STRING)
        place = {name: k for k, name in enumerate(self._names.to_pylist())}
        flat = [(place[name], grade) for grades in graded for name, grade in _scaled_grades(grades).items()]
        self._gold = np.array([name for name, _ in flat], np.int32)
        self._grades = np.array([grade for _, grade in flat], np.float64)
        self._bounds = bounds_of([len(grades) for grades in graded])
        self._ideal = np.array([_ideal(_scaled_grades(grades), depth) for grades in graded], np.float64)
        self.applies = np.array([any(grade > 0 for grade in grades.values()) for grades in graded], np.bool_)

    def scores(self, question: Ints, ranked: Coded, bounds: Offsets) -> tuple[Floats, Floats]:
        """(NDCG, average precision) of rows that rank ids; 0 where a question has no grade above 0."""
        known = pc.index_in(ranked.distinct, self._names).fill_null(-1).to_numpy().astype(np.int32)
        longest = int(np.diff(bounds).max(initial=0))
        return rank_scores(
            question, bounds, ranked.codes, len(ranked.distinct), known,
            self._bounds, self._gold, self._grades, len(self._names), self._ideal,
            _discounts(min(self._depth, longest)),
        )  # fmt: skip


def _scaled_grades(grades: Mapping[str, float]) -> Mapping[str, float]:
    """Grades whose sum is finite: only their proportions matter."""
    if math.isfinite(sum(grades.values())):
        return grades
    top = max(grades.values())
    return {name: grade / top for name, grade in grades.items()}


def _ideal(grades: Mapping[str, float], depth: int) -> float:
    total = 0.0
    for rank, grade in enumerate(sorted(grades.values(), reverse=True)[:depth], start=1):
        total += grade / math.log2(rank + 1)  # one after the other, as the answers' are: `sum` of floats is another sum
    return total


class GoldPairs:
    """Unordered pairs of ids that are right, one set a question."""

    def __init__(self, pairs: Sequence[frozenset[tuple[str, str]]]) -> None:
        """Each pair sorted, an id with itself allowed."""
        self._pairs = pairs
        self._names = pa.array(sorted({name for found in pairs for pair in found for name in pair}), LARGE_STRING)
        place = {name: k for k, name in enumerate(self._names.to_pylist())}
        keys = [self._key(place[a], place[b]) for found in pairs for a, b in found]
        self._keys, number = np.unique(np.array(keys, np.int64), return_inverse=True)
        self.counts = np.array([len(found) for found in pairs], np.int32)
        owner = np.repeat(np.arange(len(pairs)), self.counts)
        self._right = np.unique(owner * (len(self._keys) + 1) + number)

    def _key(self, a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[np.int64]:
        low, high = np.minimum(a, b), np.maximum(a, b)
        return np.asarray(low, np.int64) * (len(self._names) + 1) + high

    def of(self, question: int) -> frozenset[tuple[str, str]]:
        """The pairs of a question."""
        return self._pairs[question]

    def right(self, question: Ints, a: pa.Array, b: pa.Array) -> Flags:
        """Whether each pair is one of those of its question."""
        first, second = (pc.index_in(ids, self._names).fill_null(-1).to_numpy() for ids in (a, b))
        key = self._key(first, second)
        number = np.searchsorted(self._keys, key)
        known = (first >= 0) & (second >= 0) & np.isin(key, self._keys)
        pair = question.astype(np.int64) * (len(self._keys) + 1) + number
        found: Flags = known & np.isin(pair, self._right)
        return found
