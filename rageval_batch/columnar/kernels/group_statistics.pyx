"""Statistics of numbers in groups: counts, exact sums, means, spread and percentiles.

Sums are those of the SQL macro `exact_sum` (decimals.pxd): the same bits in any order, on every machine.
"""

from typing import NamedTuple

import numpy as np
from libc.math cimport NAN, fabs, floor, fma, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from rageval_batch.columnar.kernels.decimals cimport Wide, add_decimal, add_times, rounded
from rageval_batch.columnar.kernels.sorting cimport ordered_value, ordered_word, select_word, sort_words


cdef extern from *:
    """
    #define RAGEVAL_MINUS_ZERO 0x8000000000000000ULL
    #define RAGEVAL_SMALL 1e-3
    #define RAGEVAL_LARGE 1e5
    #define RAGEVAL_ROUNDING 1e-15
    """
    const uint64_t MINUS_ZERO "RAGEVAL_MINUS_ZERO"
    # As the macro spread_scale has them.
    const double SMALL "RAGEVAL_SMALL"
    const double LARGE "RAGEVAL_LARGE"
    const double ROUNDING "RAGEVAL_ROUNDING"


cdef enum:
    CUTS = 3
    # Values of a group that are counted, each distinct one once. More of them, or many among the first rows, are for a
    # loop over all values.
    MOST_DISTINCT = 256
    FEW_DISTINCT = 32
    SLOT_BITS = 10
    SLOTS = 1024
    MOST_STEPS = 32

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


cdef struct Counted:  # the distinct values of a group, as they are met, and how often each is there
    uint64_t bits[SLOTS]  # MINUS_ZERO: the slot is free
    int64_t counts[SLOTS]
    int32_t slots[MOST_DISTINCT]  # of the values
    int64_t distinct
    int64_t total
    int64_t present


cdef inline int64_t first_slot(uint64_t bits) noexcept nogil:
    return <int64_t>((bits * <uint64_t>0x9E3779B97F4A7C15) >> (64 - SLOT_BITS))


cdef inline int64_t slot_of(const Counted *counted, uint64_t bits) noexcept nogil:
    """The slot that has a value, or the free one that it gets; -1 where that is far."""
    cdef int64_t slot = first_slot(bits)
    cdef int step
    for step in range(MOST_STEPS):
        if counted.bits[slot] == bits or counted.bits[slot] == MINUS_ZERO:
            return slot
        slot = (slot + 1) & (SLOTS - 1)
    return -1


cdef bint count_values(
    Counted *counted,
    const double[::1] values,
    const uint8_t[::1] present,
    double worth,
    const int32_t[::1] row,
    bint has_rows,
    int64_t first,
    int64_t last,
) noexcept nogil:
    """Count the values of a group; False, and no matter what is counted, where too many are distinct, or one is -0.0,
    whose bits differ from those of a value that it is equal to."""
    cdef int64_t k, at, slot, own = 0, left_out = 0
    cdef uint64_t bits, filled
    cdef bint has_worth = worth == worth
    for k in range(counted.distinct):
        counted.bits[counted.slots[k]] = MINUS_ZERO
    counted.distinct = 0
    memcpy(&filled, &worth, 8)
    for k in range(first, last):
        at = row[k] if has_rows else k
        own += present[at]
        if not present[at] and not has_worth:
            left_out += 1
            continue
        memcpy(&bits, &values[at], 8)
        bits = bits if present[at] else filled
        if bits == MINUS_ZERO:
            return False
        slot = first_slot(bits)
        if counted.bits[slot] != bits:
            slot = slot_of(counted, bits)
            if slot < 0:
                return False
            if counted.bits[slot] != bits:
                if counted.distinct == min(<int64_t>MOST_DISTINCT, FEW_DISTINCT + (k - first) // 2):
                    return False
                counted.bits[slot] = bits
                counted.counts[slot] = 0
                counted.slots[counted.distinct] = <int32_t>slot
                counted.distinct += 1
        counted.counts[slot] += 1
    counted.total, counted.present = last - first - left_out, own
    return True


def group_statistics(
    const double[::1] values,
    const uint8_t[::1] present,
    double worth,
    const double[:] weights,
    rows,
    const int64_t[::1] bounds,
    double most,
    tuple cuts,
):
    """The statistics of the values of each group g, whose rows are rows[bounds[g]:bounds[g + 1]]; None where one of them
    is not finite.

    `rows` is None where groups stand together: then the rows are those from bounds[g] to bounds[g + 1].
    A value that is not `present` counts as `worth`, where that is a number. `most`: the largest value that is summed.
    `cuts`: the three shares of percentiles, which interpolate between neighbours. A group without values has NaN
    everywhere.

    Weights that are all the same are told by a stride of 0, and not read.
    """
    cdef Py_ssize_t groups = bounds.shape[0] - 1
    counts = np.zeros((2, groups), np.int64)
    numbers = np.full((7 + CUTS, groups), NAN)
    cdef int64_t[:, ::1] n = counts
    cdef double[:, ::1] out = numbers
    cdef int64_t longest = MOST_DISTINCT, k
    cdef Py_ssize_t g
    cdef double low_weight, high_weight
    cdef double shares[CUTS]
    cdef Counted counted
    cdef bint has_rows = rows is not None, even = weights.strides[0] == 0, finite = True
    cdef const int32_t[::1] row = rows if has_rows else NO_ROWS
    for g in range(groups):
        longest = max(longest, bounds[g + 1] - bounds[g])
    for k in range(CUTS):
        shares[k] = cuts[k]
    kept_values = np.empty(longest, np.float64)
    cdef double[::1] kept = kept_values
    cdef uint64_t[::1] words = kept_values.view(np.uint64)  # the same memory: percentiles come last
    with nogil:
        counted.distinct = 0
        for k in range(SLOTS):
            counted.bits[k] = MINUS_ZERO
        for g in range(groups):
            if count_values(&counted, values, present, worth, row, has_rows, bounds[g], bounds[g + 1]):
                n[0, g], n[1, g] = counted.present, counted.total
                finite = of_counted(&counted, words, most, shares, out, g)
            else:
                n[1, g] = keep_values(
                    kept, &n[0, g], values, present, worth, row, has_rows, bounds[g], bounds[g + 1]
                )
                finite = of_kept(kept, words, n[1, g], most, shares, out, g)
            if not finite:
                break
            if n[1, g] == 0:
                continue
            if even:
                low_weight = high_weight = weights[0]
            else:
                low_weight, high_weight = weight_range(
                    present, worth, weights, row, has_rows, bounds[g], bounds[g + 1]
                )
            if low_weight == high_weight:
                out[1, g] = out[0, g] if high_weight != 0.0 else NAN
            elif high_weight != 0.0:
                out[1, g] = weighted(
                    values, present, worth, weights, row, has_rows, bounds[g], bounds[g + 1], high_weight, most
                )
    return GroupStatistics(*counts, *numbers) if finite else None


cdef bint of_counted(
    const Counted *counted,
    uint64_t[::1] words,
    double most,
    const double *shares,
    double[:, ::1] out,
    Py_ssize_t g,
) noexcept nogil:
    """The statistics of a group but for its weighted mean; False where a value is not finite. `words`: room."""
    cdef double value, low = 0.0, high = 0.0, mean, total, scale, distance
    cdef int64_t k, zeros = 0
    cdef Wide summed
    if counted.total == 0:
        return True
    for k in range(counted.distinct):
        memcpy(&value, &counted.bits[counted.slots[k]], 8)
        if not isfinite(value):
            return False
        if k == 0:
            low = high = value
        low, high = min(low, value), max(high, value)
        if value == 0.0:
            zeros += counted.counts[counted.slots[k]]
    out[2, g] = <double>(counted.total - zeros) / <double>counted.total
    out[4, g] = low
    out[5 + CUTS, g] = high
    if max(fabs(low), fabs(high)) <= most:
        summed.low, summed.high = 0, 0
        for k in range(counted.distinct):
            memcpy(&value, &counted.bits[counted.slots[k]], 8)
            add_times(&summed, value, counted.counts[counted.slots[k]])
        total = rounded(summed)
        mean = total / <double>counted.total
        out[0, g], out[6 + CUTS, g] = mean, total
        scale = spread_scale(low, high, mean, most)
        summed.low, summed.high = 0, 0
        for k in range(counted.distinct):
            memcpy(&value, &counted.bits[counted.slots[k]], 8)
            distance = value - mean if scale == 1.0 else (value - mean) / scale
            add_times(&summed, distance * distance, counted.counts[counted.slots[k]])
        out[3, g] = sqrt(rounded(summed) / <double>counted.total) * scale
    counted_percentiles(counted, words, shares, out, g)
    return True


cdef void counted_percentiles(
    const Counted *counted, uint64_t[::1] words, const double *shares, double[:, ::1] out, Py_ssize_t g
) noexcept nogil:
    """The percentiles of a group, in rising order of their shares; `words`: room for its distinct values."""
    cdef int64_t ends[MOST_DISTINCT]  # places behind each value, where all stand in order
    cdef double value, place, share
    cdef uint64_t bits
    cdef int64_t k, at, end = 0, low = 0, high
    for k in range(counted.distinct):
        memcpy(&value, &counted.bits[counted.slots[k]], 8)
        words[k] = ordered_word(value)
    sort_words(words, 0, counted.distinct)
    for k in range(counted.distinct):
        value = ordered_value(words[k])
        memcpy(&bits, &value, 8)
        end += counted.counts[slot_of(counted, bits)]
        ends[k] = end
    for k in range(CUTS):
        place = <double>(counted.total - 1) * shares[k]
        at = <int64_t>floor(place)
        share = place - floor(place)
        while ends[low] <= at:
            low += 1
        high = low + (ends[low] <= at + 1)
        out[5 + k, g] = between(words[low], words[high if share != 0.0 else low], share)


cdef inline double between(uint64_t below, uint64_t above, double share) noexcept nogil:
    """The number at a share of the way between two, by one rounding of the first product and the sum, as DuckDB's
    quantile_cont has it."""
    if share == 0.0:
        return ordered_value(below)
    return fma(ordered_value(below), 1.0 - share, ordered_value(above) * share)


cdef int64_t keep_values(
    double[::1] kept,
    int64_t *own,
    const double[::1] values,
    const uint8_t[::1] present,
    double worth,
    const int32_t[::1] row,
    bint has_rows,
    int64_t first,
    int64_t last,
) noexcept nogil:
    """How many values of a group are kept, one after the other; `own`: how many of them are its own."""
    cdef int64_t k, at, count = 0
    cdef bint has_worth = worth == worth
    own[0] = 0
    for k in range(first, last):
        at = row[k] if has_rows else k
        own[0] += present[at]
        if present[at] or has_worth:
            kept[count] = values[at] if present[at] else worth
            count += 1
    return count


cdef bint of_kept(
    double[::1] kept,
    uint64_t[::1] words,
    int64_t count,
    double most,
    const double *shares,
    double[:, ::1] out,
    Py_ssize_t g,
) noexcept nogil:
    """The same as of_counted, of all values of a group; `words`: their bits, which are moved."""
    cdef double value, low = kept[0], high = kept[0], mean, total, scale
    cdef int64_t k, nonzero = 0
    cdef Wide summed
    for k in range(count):
        value = kept[k]
        if not isfinite(value):
            return False
        low, high = min(low, value), max(high, value)
        nonzero += value != 0.0
    out[2, g] = <double>nonzero / <double>count
    out[4, g] = low
    out[5 + CUTS, g] = high
    if max(fabs(low), fabs(high)) <= most:
        summed.low, summed.high = 0, 0
        for k in range(count):
            add_decimal(&summed, kept[k])
        total = rounded(summed)
        mean = total / <double>count
        out[0, g], out[6 + CUTS, g] = mean, total
        scale = spread_scale(low, high, mean, most)
        out[3, g] = deviation(kept, count, mean, scale) * scale
    if low == high:
        for k in range(CUTS):
            out[5 + k, g] = low
    else:
        percentiles(words, count, low, high, shares, out, g)
    return True


cdef inline double spread_scale(double low, double high, double mean, double most) noexcept nogil:
    """What deviations are divided by before they are squared: 1 where the largest is of a usual size, else that one.

    Deviations that are but the rounding of the mean are divided by so much that nothing is left of them.
    """
    cdef double largest = max(high - mean, mean - low)
    if largest <= max(max(-low, high), SMALL) * ROUNDING:
        return most
    return 1.0 if SMALL <= largest <= LARGE else largest


cdef (double, double) weight_range(
    const uint8_t[::1] present,
    double worth,
    const double[:] weights,
    const int32_t[::1] row,
    bint has_rows,
    int64_t first,
    int64_t last,
) noexcept nogil:
    """The least and the greatest weight of the rows that count."""
    cdef double weight, low = 0.0, high = 0.0
    cdef int64_t k, at
    cdef bint is_first = True, has_worth = worth == worth
    for k in range(first, last):
        at = row[k] if has_rows else k
        if present[at] or has_worth:
            weight = weights[at]
            if is_first:
                low = high = weight
                is_first = False
            low, high = min(low, weight), max(high, weight)
    return low, high


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
    const double[::1] values,
    const uint8_t[::1] present,
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
    cdef double place, share, value
    cdef uint64_t below, above
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
        below = select_word(words, first, count, at) if at >= first else words[at]
        first = max(first, at)
        above = below
        if share != 0.0:
            above = select_word(words, at + 1, count, at + 1) if at + 1 >= first else words[at + 1]
            first = max(first, at + 1)
        out[5 + k, g] = between(below, above, share)


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
