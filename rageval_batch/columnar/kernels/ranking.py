"""Rankings against graded judgements: normalised discounted gain and average precision."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import kernel
from rageval_batch.columnar.strings import Ints, Offsets

Floats = npt.NDArray[np.float64]


@kernel
def rank_scores(
    question: Ints,
    bounds: Offsets,
    ids: Ints,
    id_count: int,
    known: Ints,
    gold_bounds: Offsets,
    gold: Ints,
    grades: Floats,
    gold_count: int,
    ideal: Floats,
    discounts: Floats,
) -> tuple[Floats, Floats]:
    """(gain of the first ranks over the ideal, average precision) of each row; no ids or no gold above 0 gives 0, 0.

    Row r ranks `ids[bounds[r]:bounds[r + 1]]`, numbers below `id_count`; -1 is no id, and a repeated one is not there
    again. `known` numbers the same ids as the gold does, -1 where the gold has no such id. Gain is counted for as many
    ranks as there are discounts.
    """
    gain = np.zeros(len(question))
    average = np.zeros(len(question))
    seen = np.full(id_count, -1, np.int32)
    grade_of = np.zeros(gold_count)
    for r in range(len(question)):
        q = question[r]
        relevant = 0
        for g in range(gold_bounds[q], gold_bounds[q + 1]):
            grade_of[gold[g]] = grades[g]
            relevant += grades[g] > 0
        rank = hits = 0
        total = precision = 0.0
        if relevant:
            for k in range(bounds[r], bounds[r + 1]):
                code = ids[k]
                if code < 0 or seen[code] == r:
                    continue
                seen[code] = r
                rank += 1
                if known[code] < 0:
                    continue
                grade = grade_of[known[code]]
                if rank <= len(discounts):
                    total += grade / discounts[rank - 1]
                if grade > 0:
                    hits += 1
                    precision += hits / rank
            average[r] = precision / relevant
            gain[r] = total / ideal[q] if ideal[q] > 0 else 0.0
        for g in range(gold_bounds[q], gold_bounds[q + 1]):
            grade_of[gold[g]] = 0.0
    return gain, average
