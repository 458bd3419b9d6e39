"""Rankings against graded judgements: normalised discounted gain and average precision."""

import numpy as np
from libc.stdint cimport int32_t, int64_t


def rank_scores(
    const int32_t[:] question,
    const int64_t[::1] bounds,
    const int32_t[:] ids,
    Py_ssize_t id_count,
    const int32_t[:] known,
    const int64_t[::1] gold_bounds,
    const int32_t[:] gold,
    const double[:] grades,
    Py_ssize_t gold_count,
    const double[:] ideal,
    const double[::1] discounts,
):
    """(gain of the first ranks over the ideal, average precision) of each row; no ids or no gold above 0 gives 0, 0.

    Row r ranks `ids[bounds[r]:bounds[r + 1]]`, numbers below `id_count`; -1 is no id, and a repeated one is not there
    again. `known` numbers the same ids as the gold does, -1 where the gold has no such id. Gain is counted for as many
    ranks as there are discounts.
    """
    gains = np.zeros(len(question))
    averages = np.zeros(len(question))
    cdef double[::1] gain = gains
    cdef double[::1] average = averages
    cdef int32_t[::1] seen = np.full(id_count, -1, np.int32)
    cdef double[::1] grade_of = np.zeros(gold_count)
    cdef double total, precision, grade
    cdef int64_t g, k, relevant, rank, hits
    cdef int32_t q, code
    cdef Py_ssize_t r
    with nogil:
        for r in range(question.shape[0]):
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
                    seen[code] = <int32_t>r
                    rank += 1
                    if known[code] < 0:
                        continue
                    grade = grade_of[known[code]]
                    if rank <= discounts.shape[0]:
                        total += grade / discounts[rank - 1]
                    if grade > 0:
                        hits += 1
                        precision += <double>hits / <double>rank
                average[r] = precision / <double>relevant
                gain[r] = total / ideal[q] if ideal[q] > 0 else 0.0
            for g in range(gold_bounds[q], gold_bounds[q + 1]):
                grade_of[gold[g]] = 0.0
    return gains, averages
