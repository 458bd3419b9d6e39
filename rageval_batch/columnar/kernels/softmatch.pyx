"""Code points, bigrams, the soft match of pairs and the assignment of items."""

from typing import NamedTuple

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.json cimport unescape
from rageval_batch.columnar.kernels.wide cimport has_wide


cdef bint WIDE = has_wide()

UNMATCHED, EQUAL, CONTAINED, SIMILAR = IS_UNMATCHED, IS_EQUAL, IS_CONTAINED, IS_SIMILAR


class Grams(NamedTuple):
    """How many distinct bigrams every string has; those of long strings and of strings with repeats, sorted, with the
    range of each string.

    A bigram takes eight bytes, twice as much as the code point that it begins with: other strings are soon read again.
    """

    counts: np.ndarray
    grams: np.ndarray
    bounds: np.ndarray


class Points32(NamedTuple):
    """Strings as code points, each with two 64-bit signatures of its bigrams."""

    points: np.ndarray
    offsets: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Pairs(NamedTuple):
    """Row by row the matrix expected x got, row-major, as one flat column with the offsets of each row's matrix.

    `how` is UNMATCHED, EQUAL, CONTAINED or SIMILAR.
    """

    how: np.ndarray
    bounds: np.ndarray

    @property
    def matched(self):
        """Which pairs match in any way."""
        return self.how != UNMATCHED


class Assignment(NamedTuple):
    """Which items of a row match: how many of each side, and for every item the place of its partner, else -1.

    The items of all rows stand end to end; a place is that in the other side's items of the row.
    """

    e_matched: np.ndarray
    g_matched: np.ndarray
    e_partner: np.ndarray
    g_partner: np.ndarray


cdef object points(data_, starts_, ends_, escaped_, bint squashed, bint wide):
    cdef const uint8_t[::1] data = data_
    cdef const int64_t[:] starts = starts_
    cdef const int64_t[:] ends = ends_
    cdef const uint8_t[:] escaped = escaped_
    cdef int64_t end, size = 0, longest = 0
    cdef Py_ssize_t k, rows = starts.shape[0]
    with nogil:
        for k in range(rows):
            size += ends[k] - starts[k]
            if escaped[k]:
                longest = max(longest, ends[k] - starts[k])
    content = np.empty(size, np.uint32)
    offsets = np.empty(rows + 1, np.int64)
    lows = np.empty(rows, np.uint64)
    highs = np.empty(rows, np.uint64)
    cdef uint8_t[::1] plain = np.empty(longest, np.uint8)
    cdef uint32_t[::1] out = content
    cdef int64_t[::1] bounds = offsets
    cdef uint64_t[::1] low = lows
    cdef uint64_t[::1] high = highs
    bounds[0] = 0
    wide = wide and WIDE
    with nogil:
        for k in range(rows):
            if escaped[k]:
                end = unescape(data, starts[k], ends[k], plain, 0, wide)
                bounds[k + 1] = points_of(plain, 0, end, squashed, out, bounds[k], wide)
            else:
                bounds[k + 1] = points_of(data, starts[k], ends[k], squashed, out, bounds[k], wide)
            low[k], high[k] = signature_of(out, bounds[k], bounds[k + 1], wide)
    return Points32(content[: bounds[rows]], offsets, lows, highs)


def span_points(data, starts, ends, escaped):
    """Squashed code points and signatures of spans, some of them JSON strings with escapes."""
    return points(data, starts, ends, escaped, True, True)


def squashed_points(column, bint wide=True):
    """Squashed code points and signatures; empty gives an empty run with zero signatures. `wide`: see `match_pairs`."""
    return points(column.data, column.starts, column.ends, np.zeros(len(column), np.uint8), True, wide)


def plain_points(column):
    """The code points of each string as it is, and signatures; empty gives an empty run."""
    return points(column.data, column.starts, column.ends, np.zeros(len(column), np.uint8), False, True)


def grams_of(column):
    """The bigrams of a column; a string of one character has none."""
    cdef const uint32_t[::1] points = column.points
    cdef const int64_t[::1] offsets = column.offsets
    cdef Py_ssize_t k, rows = offsets.shape[0] - 1
    grams = np.empty(len(points), np.uint64)
    gram_counts = np.empty(rows, np.int32)
    gram_bounds = np.empty(rows + 1, np.int64)
    cdef uint64_t[::1] out = grams
    cdef int32_t[::1] counts = gram_counts
    cdef int64_t[::1] bounds = gram_bounds
    bounds[0] = 0
    with nogil:
        for k in range(rows):
            counts[k] = <int32_t>sorted_bigrams(points, offsets[k], offsets[k + 1], out, bounds[k])
            bounds[k + 1] = bounds[k]
            if keeps_bigrams(offsets[k + 1] - offsets[k], counts[k]):
                bounds[k + 1] += counts[k]
    return Grams(gram_counts, grams[: bounds[rows]], gram_bounds)  # room that is not used is never touched


cdef int64_t longest_of(const int64_t[::1] offsets) noexcept nogil:
    """The length of the longest string, at least 1."""
    cdef int64_t width = 1
    cdef Py_ssize_t k
    for k in range(offsets.shape[0] - 1):
        width = max(width, offsets[k + 1] - offsets[k])
    return width


def match_pairs(
    expected,
    expected_grams,
    const int32_t[:] e_first,
    const int32_t[:] e_last,
    got,
    const int32_t[:] g_first,
    const int32_t[:] g_last,
    double threshold,
    int64_t containment_min=1,
    bint contained_only=False,
    bint wide=True,
):
    """Soft match of every expected item with every got item of a row; an empty item matches nothing.

    Items are ranges of the two columns. Containment counts from `containment_min` characters of the shorter item on;
    with `contained_only` nothing but containment and equality does. `wide` is for tests: no result depends on it.
    """
    cdef const uint32_t[::1] ep = expected.points
    cdef const int64_t[::1] eo = expected.offsets
    cdef const uint64_t[::1] el = expected.low
    cdef const uint64_t[::1] eh = expected.high
    cdef const int32_t[::1] gram_counts = expected_grams.counts
    cdef const uint64_t[::1] grams = expected_grams.grams
    cdef const int64_t[::1] gram_bounds = expected_grams.bounds
    cdef const uint32_t[::1] gp = got.points
    cdef const int64_t[::1] go = got.offsets
    cdef const uint64_t[::1] gl = got.low
    cdef const uint64_t[::1] gh = got.high
    cdef Py_ssize_t r, rows = e_first.shape[0]
    pair_bounds = np.empty(rows + 1, np.int64)
    cdef int64_t[::1] bounds = pair_bounds
    cdef int64_t longest
    bounds[0] = 0
    with nogil:
        for r in range(rows):
            bounds[r + 1] = bounds[r] + <int64_t>(e_last[r] - e_first[r]) * (g_last[r] - g_first[r])
        longest = longest_of(go)
    matches = np.zeros(bounds[rows], np.uint8)
    cdef uint8_t[::1] how = matches
    cdef uint64_t[::1] g_grams = np.empty(GRAM_ROOM * longest, np.uint64)
    cdef Threshold least = threshold_of(threshold)
    cdef Squashed item
    cdef int64_t to, got_count
    cdef int32_t e, g
    with nogil:
        for r in range(rows):
            got_count = g_last[r] - g_first[r]
            for g in range(g_first[r], g_last[r]):
                item.first, item.last, item.gram_count = go[g], go[g + 1], -1
                item.low, item.high = gl[g], gh[g]
                for e in range(e_first[r], e_last[r]):
                    to = bounds[r] + (e - e_first[r]) * got_count + (g - g_first[r])
                    how[to] = <uint8_t>match_pair(
                        ep, eo[e], eo[e + 1], el[e], eh[e],
                        grams, gram_bounds[e], gram_counts[e],
                        gp, &item, g_grams, 0, &least, containment_min, contained_only, wide and WIDE,
                    )
    return Pairs(matches, pair_bounds)


def assign(pairs, const int32_t[:] e_counts, const int32_t[:] g_counts, bint one_to_one):
    """Partners among the items of each row; empty sides give 0 matched.

    One to one: expected items in order, each takes the first unused got item that matches. Else every item that
    has any match counts, with the first of its matches as its partner.
    """
    cdef const uint8_t[::1] how = pairs.how
    cdef const int64_t[::1] bounds = pairs.bounds
    cdef Py_ssize_t r, rows = e_counts.shape[0]
    cdef int64_t e0 = 0, g0 = 0
    with nogil:
        for r in range(rows):
            e0 += e_counts[r]
            g0 += g_counts[r]
    out = Assignment(
        np.zeros(rows, np.int32), np.zeros(rows, np.int32), np.full(e0, -1, np.int32), np.full(g0, -1, np.int32)
    )
    cdef int32_t[::1] e_matched = out.e_matched
    cdef int32_t[::1] g_matched = out.g_matched
    cdef int32_t[::1] e_partner = out.e_partner
    cdef int32_t[::1] g_partner = out.g_partner
    cdef int64_t base
    cdef int32_t e, g
    e0 = g0 = 0
    with nogil:
        for r in range(rows):
            for e in range(e_counts[r]):
                base = bounds[r] + <int64_t>e * g_counts[r]
                for g in range(g_counts[r]):
                    if how[base + g] == IS_UNMATCHED or (one_to_one and g_partner[g0 + g] >= 0):
                        continue
                    if e_partner[e0 + e] < 0:
                        e_partner[e0 + e] = g
                        e_matched[r] += 1
                    if g_partner[g0 + g] < 0:
                        g_partner[g0 + g] = e
                        g_matched[r] += 1
                    if one_to_one:
                        break
            e0 += e_counts[r]
            g0 += g_counts[r]
    return out
