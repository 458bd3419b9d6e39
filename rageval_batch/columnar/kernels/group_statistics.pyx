"""Statistics of numbers in groups: counts, exact sums, means, spread and percentiles.

Sums are those of the SQL macro `exact_sum`: each value is taken to 18 decimals, the sum is one of integers of 128 bits,
and it is rounded to a double once. So they are the same bits in any order, on every machine.
"""

from typing import NamedTuple

import numpy as np
from libc.math cimport NAN, fabs, floor, fma, ldexp, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from rageval_batch.columnar.kernels.sorting cimport select_word


cdef extern from *:
    """
    #define RAGEVAL_DECIMALS 1e18
    #define RAGEVAL_TWO_63 9223372036854775808.0
    """
    const double DECIMALS "RAGEVAL_DECIMALS"
    const double TWO_63 "RAGEVAL_TWO_63"


cdef enum:
    CUTS = 3

NO_ROWS = np.empty(0, np.int32)


class GroupStatistics(NamedTuple):
    """A value a group in every array; NaN stands for null.

    n_scored: values of their own; n_counted: with those that stand for nulls; rate: share of values that are not 0.
    weighted_mean: NaN where all weights are 0. mean, sum, std and weighted_mean are NaN where a value is beyond the
    largest that is summed.
    """

    n_scored: np.ndarray
    n_counted: np.ndarray
    mean: np.ndarray
    weighted_mean: np.ndarray
    rate: np.ndarray
    std: np.ndarray
    min: np.ndarray
    p50: np.ndarray
    p90: np.ndarray
    p95: np.ndarray
    max: np.ndarray
    sum: np.ndarray


cdef struct Wide:  # an integer of 128 bits
    uint64_t low
    int64_t high


cdef inline void add_decimal(Wide *total, double value) noexcept nogil:
    """Add a value, below 1e20, taken to 18 decimals."""
    cdef double scaled = value * DECIMALS, rest
    cdef int64_t whole
    cdef uint64_t low
    if fabs(scaled) < TWO_63:
        whole = <int64_t>scaled
        rest = scaled - <double>whole  # 0 for all but small values
        whole += (rest >= 0.5) - (rest <= -0.5)
        total.low += <uint64_t>whole
        total.high += (total.low < <uint64_t>whole) - (whole < 0)
        return
    scaled = fabs(scaled)
    whole = <int64_t>(scaled * (0.5 / TWO_63))
    low = <uint64_t>(scaled - <double>whole * (2.0 * TWO_63))
    if value > 0:
        total.low += low
        total.high += whole + (total.low < low)
    else:
        total.high -= whole + (total.low < low)
        total.low -= low


cdef inline double rounded(Wide total) noexcept nogil:
    """The double nearest to the total over 1e18."""
    cdef uint64_t low = total.low, high = <uint64_t>total.high, digits, rest, behind = 0
    cdef uint64_t limbs[4]
    cdef int shift = 0, turn, k
    cdef bint negative = total.high < 0
    cdef double found
    if negative:
        low = ~low + 1
        high = ~high + (low == 0)
    if high == 0 and low == 0:
        return 0.0
    # As an integer of 119 bits, its quotient has 59 or 60: more than a double, and the rest is one bit.
    while high >= <uint64_t>1 << 55:
        behind |= low & 1
        low = (low >> 1) | (high << 63)
        high >>= 1
        shift -= 1
    if high == 0:
        high, low = low, 0
        shift += 64
        while high >= <uint64_t>1 << 55:
            low = (low >> 1) | (high << 63)
            high >>= 1
            shift -= 1
    while high < <uint64_t>1 << 54:
        high = (high << 1) | (low >> 63)
        low <<= 1
        shift += 1
    limbs[0] = high >> 32
    limbs[1] = high & <uint64_t>0xFFFFFFFF
    limbs[2] = low >> 32
    limbs[3] = low & <uint64_t>0xFFFFFFFF
    for turn in range(2):  # divided by 1e9 twice
        rest = 0
        for k in range(4):
            digits = (rest << 32) | limbs[k]
            limbs[k] = digits // 1000000000
            rest = digits % 1000000000
        behind |= rest
    digits = (limbs[2] << 32) | limbs[3]
    found = ldexp(<double>(digits | (behind != 0)), -shift)
    return -found if negative else found


def group_statistics(
    const double[:] values,
    const uint8_t[:] present,
    double worth,
    const double[:] weights,
    rows,
    const int64_t[::1] bounds,
    double most,
    double large,
    tuple cuts,
):
    """The statistics of the values of each group g, whose rows are rows[bounds[g]:bounds[g + 1]]; all finite.

    `rows` is None where groups stand together: then the rows are those from bounds[g] to bounds[g + 1].
    A value that is not `present` counts as `worth`, where that is a number. `most`: the largest value that is summed.
    Deviations of values beyond `large` are scaled before they are squared. `cuts`: the three shares of percentiles,
    which interpolate between neighbours. A group without values has NaN everywhere.
    """
    cdef Py_ssize_t groups = bounds.shape[0] - 1
    counts = np.zeros((2, groups), np.int64)
    numbers = np.full((7 + CUTS, groups), NAN)
    cdef int64_t[:, ::1] n = counts
    cdef double[:, ::1] out = numbers
    cdef int64_t longest = 0, k, m, at, nonzero
    cdef Py_ssize_t g
    cdef double value, weight, low, high, low_weight, high_weight, mean, scale, total
    cdef double shares[CUTS]
    cdef Wide summed
    cdef bint has_worth = worth == worth, has_rows = rows is not None
    cdef const int32_t[::1] row = rows if has_rows else NO_ROWS
    for g in range(groups):
        longest = max(longest, bounds[g + 1] - bounds[g])
    for k in range(CUTS):
        shares[k] = cuts[k]
    kept_values = np.empty(longest, np.float64)
    cdef double[::1] kept = kept_values
    cdef uint64_t[::1] words = kept_values.view(np.uint64)  # the same memory: percentiles come last
    with nogil:
        for g in range(groups):
            m = nonzero = 0
            summed.low, summed.high = 0, 0
            low = high = low_weight = high_weight = 0.0
            for k in range(bounds[g], bounds[g + 1]):
                at = row[k] if has_rows else k
                n[0, g] += present[at]
                if not present[at] and not has_worth:
                    continue
                value, weight = values[at] if present[at] else worth, weights[at]
                if m == 0:
                    low = high = value
                    low_weight = high_weight = weight
                low, high = min(low, value), max(high, value)
                low_weight, high_weight = min(low_weight, weight), max(high_weight, weight)
                nonzero += value != 0.0
                kept[m] = value
                m += 1
            n[1, g] = m
            if m == 0:
                continue
            out[2, g] = <double>nonzero / <double>m
            out[4, g] = low
            out[5 + CUTS, g] = high
            if max(fabs(low), fabs(high)) <= most:
                for k in range(m):
                    add_decimal(&summed, kept[k])
                total = rounded(summed)
                mean = total / <double>m
                out[0, g], out[6 + CUTS, g] = mean, total
                scale = max(-low, high)
                if scale <= large:
                    scale = 1.0
                out[3, g] = deviation(kept, m, mean, scale) * scale
            if low_weight == high_weight:
                out[1, g] = out[0, g] if high_weight != 0.0 else NAN
            elif high_weight != 0.0:
                out[1, g] = weighted(
                    values, present, worth, weights, row, has_rows, bounds[g], bounds[g + 1], high_weight, most
                )
            if low == high:
                for k in range(CUTS):
                    out[5 + k, g] = low
            else:
                percentiles(words, m, low, high, shares, out, g)
    return GroupStatistics(*counts, *numbers)


cdef double deviation(const double[::1] values, int64_t count, double mean, double scale) noexcept nogil:
    """The standard deviation of the population, in units of the scale."""
    cdef Wide summed
    cdef double distance
    cdef int64_t k
    summed.low, summed.high = 0, 0
    for k in range(count):
        distance = values[k] - mean if scale == 1.0 else (values[k] - mean) / scale
        add_decimal(&summed, distance * distance)
    return sqrt(rounded(summed) / <double>count)


cdef double weighted(
    const double[:] values,
    const uint8_t[:] present,
    double worth,
    const double[:] weights,
    const int32_t[::1] row,
    bint has_rows,
    int64_t first,
    int64_t last,
    double top,
    double most,
) noexcept nogil:
    """The mean by weights, which are taken as shares of the largest; NaN where the weights sum to 0."""
    cdef Wide summed, shares
    cdef double value, share
    cdef int64_t k, at
    summed.low, summed.high = 0, 0
    shares.low, shares.high = 0, 0
    for k in range(first, last):
        at = row[k] if has_rows else k
        if not present[at] and worth != worth:
            continue
        share = weights[at] / top
        value = (values[at] if present[at] else worth) * share
        if fabs(value) > most or fabs(share) > most:
            return NAN
        add_decimal(&summed, value)
        add_decimal(&shares, share)
    share = rounded(shares)
    return rounded(summed) / share if share != 0.0 else NAN


cdef inline uint64_t ordered_word(double value) noexcept nogil:
    """A word that is larger for larger numbers."""
    cdef uint64_t word
    memcpy(&word, &value, 8)
    return ~word if word >> 63 else word | (<uint64_t>1 << 63)


cdef inline double ordered_value(uint64_t word) noexcept nogil:
    """The number of such a word."""
    cdef double value
    word = word & ~(<uint64_t>1 << 63) if word >> 63 else ~word
    memcpy(&value, &word, 8)
    return value


cdef void percentiles(
    uint64_t[::1] words,
    int64_t count,
    double low,
    double high,
    const double *shares,
    double[:, ::1] out,
    Py_ssize_t g,
) noexcept nogil:
    """The percentiles of a group, in rising order of their shares; `words`: the bits of its values, which are moved."""
    cdef double place, below, above, share, value
    cdef int64_t k, at, lows = 0, highs = 0, first = 0
    for k in range(count):
        memcpy(&value, &words[k], 8)
        lows += value == low
        highs += value == high
        words[k] = ordered_word(value)
    if lows + highs == count:  # yes and no: in order at once
        for k in range(count):
            words[k] = ordered_word(low if k < lows else high)
        first = count
    for k in range(CUTS):
        place = <double>(count - 1) * shares[k]
        at = <int64_t>floor(place)
        share = place - floor(place)
        below = ordered_value(select_word(words, first, count, at) if at >= first else words[at])
        first = max(first, at)
        if share == 0.0:
            out[5 + k, g] = below
            continue
        above = ordered_value(select_word(words, at + 1, count, at + 1) if at + 1 >= first else words[at + 1])
        first = max(first, at + 1)
        # One rounding of the first product and the sum, as DuckDB's quantile_cont has it.
        out[5 + k, g] = fma(below, 1.0 - share, above * share)


def exact_sums(const double[:] values, const uint8_t[:] present, rows, const int64_t[::1] bounds):
    """(the sum of each group's values, how many there are); NaN for a group without any.

    Values must be at most 1e12 in size: the sum holds a hundred million of those.

    `rows`: see group_statistics.
    """
    cdef Py_ssize_t g, groups = bounds.shape[0] - 1
    sums = np.full(groups, NAN)
    counts = np.zeros(groups, np.int64)
    cdef double[::1] out = sums
    cdef int64_t[::1] n = counts
    cdef Wide summed
    cdef int64_t k, at
    cdef bint has_rows = rows is not None
    cdef const int32_t[::1] row = rows if has_rows else NO_ROWS
    with nogil:
        for g in range(groups):
            summed.low, summed.high = 0, 0
            for k in range(bounds[g], bounds[g + 1]):
                at = row[k] if has_rows else k
                if present[at]:
                    add_decimal(&summed, values[at])
                    n[g] += 1
            if n[g]:
                out[g] = rounded(summed)
    return sums, counts


def decimal_sum(const double[:] values):
    """The sum of values, each taken to 18 decimals, as an integer in units of 1e-18; 0 for none.

    Values must be at most 1e12 in size. The quotient by 10**18 is what exact_sums gives.
    """
    cdef Wide summed
    cdef Py_ssize_t k
    summed.low, summed.high = 0, 0
    with nogil:
        for k in range(values.shape[0]):
            add_decimal(&summed, values[k])
    return (int(summed.high) << 64) + int(summed.low)


def answer_means(const double[:] values, const uint8_t[:] present, double worth, rows, const int64_t[::1] bounds):
    """Of the answers of each question: (mean of their values, share of values that are not 0, how many count, how many
    are `present`); 0 where none counts.

    The answers of question q are rows[bounds[q]:bounds[q + 1]], see group_statistics; a value that is not present counts
    as `worth`, where that is a number. Values must be at most 1e12 in size.
    """
    cdef Py_ssize_t q, questions = bounds.shape[0] - 1
    found = np.zeros((2, questions))
    counts = np.zeros((2, questions), np.int64)
    cdef double[:, ::1] out = found
    cdef int64_t[:, ::1] n = counts
    cdef Wide summed
    cdef int64_t k, at, m, nonzero
    cdef double value
    cdef bint has_worth = worth == worth, has_rows = rows is not None
    cdef const int32_t[::1] row = rows if has_rows else NO_ROWS
    with nogil:
        for q in range(questions):
            summed.low, summed.high = 0, 0
            m = nonzero = 0
            for k in range(bounds[q], bounds[q + 1]):
                at = row[k] if has_rows else k
                n[1, q] += present[at]
                if not present[at] and not has_worth:
                    continue
                value = values[at] if present[at] else worth
                add_decimal(&summed, value)
                nonzero += value != 0.0
                m += 1
            n[0, q] = m
            if m:
                out[0, q] = rounded(summed) / <double>m
                out[1, q] = <double>nonzero / <double>m
    return *found, *counts
