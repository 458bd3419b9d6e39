"""Ranked ids against gold ids: at which ranks the gold ids stand, and what that is worth."""

import numpy as np
from libc.stdint cimport int32_t, int64_t


def gold_ranks(
    const int32_t[::1] ids, const int64_t[::1] bounds, const int32_t[::1] gold, const int64_t[::1] gold_bounds,
    const double[::1] grades, Py_ssize_t known,
):
    """(ranks of the gold ids found, their grades, bounds of each row's, how many gold ids a row has).

    Ids are numbers below `known`. Ranks count from 1, and an id that comes again has none. A gold id that is given
    twice has the greater grade; one whose grade is not above 0 is no gold.
    """
    cdef Py_ssize_t rows = bounds.shape[0] - 1
    ranks = np.empty(len(ids), np.int64)
    gains = np.empty(len(ids), np.float64)
    ends = np.zeros(rows + 1, np.int64)
    counts = np.zeros(rows, np.int64)
    cdef int64_t[::1] rank_out = ranks
    cdef double[::1] gain_out = gains
    cdef int64_t[::1] end_out = ends
    cdef int64_t[::1] count_out = counts
    cdef int64_t[::1] wanted = np.full(known, -1, np.int64)  # the row that an id is gold in
    cdef int64_t[::1] seen = np.full(known, -1, np.int64)    # the row that an id was last met in
    cdef double[::1] grade = np.zeros(known)
    cdef Py_ssize_t row
    cdef int64_t k, rank, used = 0
    cdef int32_t code
    with nogil:
        for row in range(rows):
            for k in range(gold_bounds[row], gold_bounds[row + 1]):
                if not grades[k] > 0:
                    continue
                code = gold[k]
                if wanted[code] != row:
                    wanted[code] = row
                    grade[code] = grades[k]
                    count_out[row] += 1
                elif grades[k] > grade[code]:
                    grade[code] = grades[k]
            rank = 0
            for k in range(bounds[row], bounds[row + 1]):
                code = ids[k]
                if seen[code] == row:
                    continue
                seen[code] = row
                rank += 1
                if wanted[code] == row:
                    rank_out[used] = rank
                    gain_out[used] = grade[code]
                    used += 1
            end_out[row + 1] = used
    return ranks[:used], gains[:used], ends, counts


def best_gains(
    const int32_t[::1] gold, const int64_t[::1] gold_bounds, const double[::1] grades, const int64_t[::1] cut,
    const double[::1] discounts, Py_ssize_t known,
):
    """The discounted gain of the gold ids of each row in the best order, of at most `cut` ranks; 0 without gold.

    Gold ids of a row must stand in descending order of their grades; an id that comes again is not counted.
    """
    found = np.zeros(len(cut), np.float64)
    cdef double[::1] out = found
    cdef int64_t[::1] seen = np.full(known, -1, np.int64)
    cdef Py_ssize_t row
    cdef int64_t k, rank
    with nogil:
        for row in range(cut.shape[0]):
            rank = 0
            for k in range(gold_bounds[row], gold_bounds[row + 1]):
                if not grades[k] > 0 or rank >= cut[row]:
                    break
                if seen[gold[k]] != row:
                    seen[gold[k]] = row
                    out[row] += grades[k] / discounts[rank]
                    rank += 1
    return found
