"""Code points, bigrams, the soft match of pairs and the assignment of items."""

from typing import NamedTuple

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport popcount
from rageval_batch.columnar.kernels.json cimport unescape
from rageval_batch.columnar.kernels.sorting cimport sort_words
from rageval_batch.columnar.kernels.utf8 cimport code_point, space_width


cdef enum:  # how two texts match
    IS_UNMATCHED
    IS_EQUAL
    IS_CONTAINED
    IS_SIMILAR


UNMATCHED, EQUAL, CONTAINED, SIMILAR = IS_UNMATCHED, IS_EQUAL, IS_CONTAINED, IS_SIMILAR


class Grams(NamedTuple):
    """The distinct bigrams of every string, sorted, with the range of each string."""

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


cdef inline int64_t points_of(
    const uint8_t[::1] text, int64_t at, int64_t end, bint squashed, uint32_t[::1] out, int64_t first, uint64_t *signs
) noexcept nogil:
    """The code points of one text from `out[first]` on, and the signatures of its bigrams; where they end."""
    cdef uint64_t low = 0, high = 0, before = 0
    cdef uint64_t mixed, bit, upper
    cdef int64_t byte, point, width, to = first
    while at < end:
        byte = text[at]
        if 0xE4 <= byte < 0xF0:  # most of Han: three bytes, never white space
            point = ((byte & 15) << 12) | ((text[at + 1] & 63) << 6) | (text[at + 2] & 63)
            at += 3
        elif 32 < byte < 0x80:
            point = byte
            at += 1
        else:
            width = space_width(text, at, end) if squashed else 0
            if width:
                at += width
                continue
            point, width = code_point(text, at)
            at += width
        out[to] = <uint32_t>point
        if to > first:
            mixed = (((before << 32) | <uint64_t>point) * <uint64_t>0x9E3779B97F4A7C15) >> 57
            bit = <uint64_t>1 << (mixed & 63)
            upper = <uint64_t>0 - (mixed >> 6)  # all ones for the upper half of the signature
            high |= bit & upper
            low |= bit & ~upper
        before = <uint64_t>point
        to += 1
    signs[0] = low
    signs[1] = high
    return to


cdef object points(data_, starts_, ends_, escaped_, bint squashed):
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
    cdef uint64_t signs[2]
    bounds[0] = 0
    with nogil:
        for k in range(rows):
            if escaped[k]:
                end = unescape(data, starts[k], ends[k], plain, 0)
                bounds[k + 1] = points_of(plain, 0, end, squashed, out, bounds[k], signs)
            else:
                bounds[k + 1] = points_of(data, starts[k], ends[k], squashed, out, bounds[k], signs)
            low[k] = signs[0]
            high[k] = signs[1]
    return Points32(content[: bounds[rows]], offsets, lows, highs)


def span_points(data, starts, ends, escaped):
    """Squashed code points and signatures of spans, some of them JSON strings with escapes."""
    return points(data, starts, ends, escaped, True)


def squashed_points(column):
    """Squashed code points and signatures; empty gives an empty run with zero signatures."""
    return points(column.data, column.starts, column.ends, np.zeros(len(column), np.uint8), True)


def plain_points(column):
    """The code points of each string as it is, and signatures; empty gives an empty run."""
    return points(column.data, column.starts, column.ends, np.zeros(len(column), np.uint8), False)


cdef int64_t sorted_bigrams(
    const uint32_t[::1] points, int64_t start, int64_t end, uint64_t[::1] out, int64_t first
) noexcept nogil:
    """The distinct bigrams of one string, sorted, from `out[first]` on; how many."""
    cdef int64_t k, count = end - start - 1, kept = 1
    if count <= 0:
        return 0
    for k in range(count):
        out[first + k] = (<uint64_t>points[start + k] << 32) | points[start + k + 1]
    sort_words(out, first, first + count)
    for k in range(1, count):
        if out[first + k] != out[first + kept - 1]:
            out[first + kept] = out[first + k]
            kept += 1
    return kept


def grams_of(column):
    """The sorted bigrams of a column; a string of one character has none."""
    cdef const uint32_t[::1] points = column.points
    cdef const int64_t[::1] offsets = column.offsets
    cdef Py_ssize_t k, rows = offsets.shape[0] - 1
    grams = np.empty(len(points), np.uint64)
    gram_bounds = np.empty(rows + 1, np.int64)
    cdef uint64_t[::1] out = grams
    cdef int64_t[::1] bounds = gram_bounds
    bounds[0] = 0
    with nogil:
        for k in range(rows):
            bounds[k + 1] = bounds[k] + sorted_bigrams(points, offsets[k], offsets[k + 1], out, bounds[k])
    return Grams(grams[: bounds[rows]].copy(), gram_bounds)


cdef int64_t shared_words(
    const uint64_t[::1] one, int64_t i, int64_t one_end, const uint64_t[::1] two, int64_t two_end
) noexcept nogil:
    """How many values of one[i:one_end] are in two[:two_end]; both sorted, each value once."""
    cdef int64_t j = 0, count = 0
    while i < one_end and j < two_end:
        if one[i] == two[j]:
            count += 1
            i += 1
            j += 1
        elif one[i] < two[j]:
            i += 1
        else:
            j += 1
    return count


cdef bint within(
    const uint32_t[::1] hay, int64_t h0, int64_t h1, const uint32_t[::1] needle, int64_t n0, int64_t n1
) noexcept nogil:
    """Whether needle[n0:n1], which must not be empty, is a part of hay[h0:h1]."""
    cdef int64_t at, k, width = n1 - n0
    cdef uint32_t first = needle[n0]
    for at in range(h0, h1 - width + 1):
        if hay[at] != first:
            continue
        k = 1
        while k < width and hay[at + k] == needle[n0 + k]:
            k += 1
        if k == width:
            return True
    return False


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
):
    """Soft match of every expected item with every got item of a row; an empty item matches nothing.

    Items are ranges of the two columns. Containment counts from `containment_min` characters of the shorter item on;
    with `contained_only` nothing but containment and equality does.
    """
    cdef const uint32_t[::1] ep = expected.points
    cdef const int64_t[::1] eo = expected.offsets
    cdef const uint64_t[::1] el = expected.low
    cdef const uint64_t[::1] eh = expected.high
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
    cdef uint64_t[::1] g_grams = np.empty(longest, np.uint64)
    cdef int64_t e0, e1, g0, g1, e_width, g_width, g_count, e_count, to, wide, shared, e_alone, g_alone, most
    cdef uint64_t e_low, e_high, g_low, g_high
    cdef int32_t e, g
    cdef bint contained
    with nogil:
        for r in range(rows):
            wide = g_last[r] - g_first[r]
            for g in range(g_first[r], g_last[r]):
                g0, g1 = go[g], go[g + 1]
                g_width = g1 - g0
                g_count = -1
                for e in range(e_first[r], e_last[r]):
                    e0, e1 = eo[e], eo[e + 1]
                    e_width = e1 - e0
                    if e_width == 0 or g_width == 0:
                        continue
                    to = bounds[r] + (e - e_first[r]) * wide + (g - g_first[r])
                    # One string inside the other has all its bigrams there: the signatures rule most pairs out.
                    e_low, e_high = el[e] & ~gl[g], eh[e] & ~gh[g]
                    g_low, g_high = gl[g] & ~el[e], gh[g] & ~eh[e]
                    if e_width <= g_width:
                        contained = (e_low | e_high) == 0 and within(gp, g0, g1, ep, e0, e1)
                    else:
                        contained = (g_low | g_high) == 0 and within(ep, e0, e1, gp, g0, g1)
                    if contained and e_width == g_width:
                        how[to] = IS_EQUAL
                        continue
                    if contained and min(e_width, g_width) >= containment_min:
                        how[to] = IS_CONTAINED
                        continue
                    if contained_only or e_width < 2 or g_width < 2:
                        continue
                    # No more are shared than the answer has, and the union has all of the expected ones.
                    e_count = gram_bounds[e + 1] - gram_bounds[e]
                    if <double>(g_width - 1) / <double>e_count < threshold:
                        continue
                    # At least `alone` bigrams stand on one side only, and no more are shared than either side has left.
                    e_alone = popcount(e_low) + popcount(e_high)
                    g_alone = popcount(g_low) + popcount(g_high)
                    most = max(<int64_t>0, min(e_count - e_alone, g_width - 1 - g_alone))
                    if <double>most / <double>max(<int64_t>1, most + e_alone + g_alone) < threshold:
                        continue
                    if g_count < 0:
                        g_count = sorted_bigrams(gp, g0, g1, g_grams, 0)
                    shared = shared_words(grams, gram_bounds[e], gram_bounds[e + 1], g_grams, g_count)
                    if <double>shared / <double>(e_count + g_count - shared) >= threshold:
                        how[to] = IS_SIMILAR
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
