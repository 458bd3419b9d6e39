"""Code points, bigrams, the soft match of pairs and the assignment of items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import compiled, kernel, popcount
from rageval_batch.columnar.kernels.json import unescape
from rageval_batch.columnar.kernels.spaces import _space
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, Strings

Points = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]


Codes = npt.NDArray[np.uint8]

# How two texts match.
UNMATCHED, EQUAL, CONTAINED, SIMILAR = range(4)

_MIX = np.uint64(0x9E3779B97F4A7C15)


class Grams(NamedTuple):
    """The distinct bigrams of every string, sorted, with the range of each string."""

    grams: Words
    bounds: Offsets


class Points32(NamedTuple):
    """Strings as code points, each with two 64-bit signatures of its bigrams."""

    points: Points
    offsets: Offsets
    low: Words
    high: Words


@compiled
def _point(data: Bytes, at: int) -> tuple[Any, int]:
    """(code point, width) at `at` of valid UTF-8."""
    byte = np.int64(data[at])
    if byte < 0x80:
        return byte, 1
    if byte < 0xE0:
        return ((byte & 31) << 6) | (np.int64(data[at + 1]) & 63), 2
    if byte < 0xF0:
        return ((byte & 15) << 12) | ((np.int64(data[at + 1]) & 63) << 6) | (np.int64(data[at + 2]) & 63), 3
    high = ((byte & 7) << 18) | ((np.int64(data[at + 1]) & 63) << 12)
    return high | ((np.int64(data[at + 2]) & 63) << 6) | (np.int64(data[at + 3]) & 63), 4


@compiled
def _bigram(first: int, second: int) -> np.uint64:
    """Two code points as one number."""
    return (np.uint64(first) << np.uint64(32)) | np.uint64(second)


@compiled
def _points_of(text: Bytes, at: int, end: int, squashed: bool, out: Points, first: int, signs: Words) -> int:
    """The code points of one text from `out[first]` on, and the signatures of its bigrams; where they end."""
    low = high = before = np.uint64(0)
    one, six = np.uint64(1), np.uint64(63)
    to = first
    while at < end:
        byte = np.int64(text[at])
        if byte >= 0xE4 and byte < 0xF0:  # most of Han: three bytes, never white space
            point = ((byte & 15) << 12) | ((np.int64(text[at + 1]) & 63) << 6) | (np.int64(text[at + 2]) & 63)
            at += 3
        elif byte > 32 and byte < 0x80:
            point = byte
            at += 1
        else:
            width = _space(text, at, end) if squashed else 0
            if width:
                at += width
                continue
            point, width = _point(text, at)
            at += width
        out[to] = point
        if to > first:
            mixed = (((before << np.uint64(32)) | np.uint64(point)) * _MIX) >> np.uint64(57)
            bit = one << (mixed & six)
            upper = np.uint64(0) - (mixed >> np.uint64(6))  # all ones for the upper half of the signature
            high |= bit & upper
            low |= bit & ~upper
        before = np.uint64(point)
        to += 1
    signs[0], signs[1] = low, high
    return to


@kernel
def _points(
    data: Bytes, starts: Offsets, ends: Offsets, escaped: Bytes, squashed: bool
) -> tuple[Points, Offsets, Words, Words]:
    size = longest = 0
    for k in range(len(starts)):
        size += ends[k] - starts[k]
        if escaped[k]:
            longest = max(longest, ends[k] - starts[k])
    plain = np.empty(longest, np.uint8)
    out = np.empty(size, np.uint32)
    bounds = np.empty(len(starts) + 1, np.int64)
    low = np.empty(len(starts), np.uint64)
    high = np.empty(len(starts), np.uint64)
    signs = np.zeros(2, np.uint64)
    bounds[0] = 0
    for k in range(len(starts)):
        first = bounds[k]
        if escaped[k]:
            end = unescape(data, starts[k], ends[k], plain, 0)
            bounds[k + 1] = _points_of(plain, 0, end, squashed, out, first, signs)
        else:
            bounds[k + 1] = _points_of(data, starts[k], ends[k], squashed, out, first, signs)
        low[k], high[k] = signs[0], signs[1]
    return out[: bounds[-1]], bounds, low, high


def span_points(data: Bytes, starts: Offsets, ends: Offsets, escaped: Bytes) -> Points32:
    """Squashed code points and signatures of spans, some of them JSON strings with escapes."""
    return Points32(*_points(data, starts, ends, escaped, True))


def squashed_points(column: Strings) -> Points32:
    """Squashed code points and signatures; empty gives an empty run with zero signatures."""
    return span_points(column.data, column.starts, column.ends, np.zeros(len(column), np.uint8))


def plain_points(column: Strings) -> Points32:
    """The code points of each string as it is, and signatures; empty gives an empty run."""
    return Points32(*_points(column.data, column.starts, column.ends, np.zeros(len(column), np.uint8), False))


@compiled
def _sorted_bigrams(points: Points, start: int, end: int, out: Words) -> int:
    """The distinct bigrams of one string, sorted, into `out`; how many."""
    count = end - start - 1
    if count <= 0:
        return 0
    for k in range(count):
        out[k] = _bigram(points[start + k], points[start + k + 1])
    part = out[:count]
    if count > 48:
        part.sort()
    else:
        for k in range(1, count):
            value = part[k]
            j = k - 1
            while j >= 0 and part[j] > value:
                part[j + 1] = part[j]
                j -= 1
            part[j + 1] = value
    kept = 1
    for k in range(1, count):
        if part[k] != part[kept - 1]:
            part[kept] = part[k]
            kept += 1
    return kept


@kernel
def _all_grams(points: Points, offsets: Offsets) -> tuple[Words, Offsets]:
    out = np.empty(len(points), np.uint64)
    bounds = np.empty(len(offsets), np.int64)
    bounds[0] = 0
    for k in range(len(offsets) - 1):
        bounds[k + 1] = bounds[k] + _sorted_bigrams(points, offsets[k], offsets[k + 1], out[bounds[k] :])
    return out[: bounds[-1]].copy(), bounds


def grams_of(column: Points32) -> Grams:
    """The sorted bigrams of a column; a string of one character has none."""
    return Grams(*_all_grams(column.points, column.offsets))


@compiled
def _shared(one: Words, i: int, one_end: int, two: Words, two_end: int) -> int:
    """How many values of one[i:one_end] are in two[:two_end]; both sorted, each value once."""
    j = count = 0
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


@compiled
def _within(hay: Points, h0: int, h1: int, needle: Points, n0: int, n1: int) -> bool:
    """Whether needle[n0:n1], which must not be empty, is a part of hay[h0:h1]."""
    width = n1 - n0
    first = needle[n0]
    for at in range(h0, h1 - width + 1):
        if hay[at] != first:
            continue
        k = 1
        while k < width and hay[at + k] == needle[n0 + k]:
            k += 1
        if k == width:
            return True
    return False


@compiled
def _longest(offsets: Offsets) -> int:
    """The length of the longest string, at least 1."""
    width = 1
    for k in range(len(offsets) - 1):
        width = max(width, offsets[k + 1] - offsets[k])
    return width


@kernel
def _match_pairs(
    ep: Points,
    eo: Offsets,
    el: Words,
    eh: Words,
    e_first: Ints,
    e_last: Ints,
    grams: Words,
    gram_bounds: Offsets,
    gp: Points,
    go: Offsets,
    gl: Words,
    gh: Words,
    g_first: Ints,
    g_last: Ints,
    threshold: float,
    containment_min: int,
    contained_only: bool,
) -> tuple[Codes, Offsets]:
    rows = len(e_first)
    bounds = np.empty(rows + 1, np.int64)
    bounds[0] = 0
    for r in range(rows):
        bounds[r + 1] = bounds[r] + np.int64(e_last[r] - e_first[r]) * np.int64(g_last[r] - g_first[r])
    how = np.zeros(bounds[rows], np.uint8)
    g_grams = np.empty(_longest(go), np.uint64)
    for r in range(rows):
        wide = g_last[r] - g_first[r]
        for g in range(g_first[r], g_last[r]):
            g0, g1 = go[g], go[g + 1]
            g_count = -1
            for e in range(e_first[r], e_last[r]):
                e0, e1 = eo[e], eo[e + 1]
                if e0 == e1 or g0 == g1:
                    continue
                to = bounds[r] + np.int64(e - e_first[r]) * wide + (g - g_first[r])
                # One string inside the other has all its bigrams there: the signatures rule most pairs out.
                e_low, e_high = el[e] & ~gl[g], eh[e] & ~gh[g]
                g_low, g_high = gl[g] & ~el[e], gh[g] & ~eh[e]
                if e1 - e0 <= g1 - g0:
                    inside = e_low | e_high == 0 and _within(gp, g0, g1, ep, e0, e1)
                else:
                    inside = g_low | g_high == 0 and _within(ep, e0, e1, gp, g0, g1)
                if inside and e1 - e0 == g1 - g0:
                    how[to] = EQUAL
                    continue
                if inside and min(e1 - e0, g1 - g0) >= containment_min:
                    how[to] = CONTAINED
                    continue
                if contained_only or e1 - e0 < 2 or g1 - g0 < 2:
                    continue
                # No more are shared than the answer has, and the union has all of the expected ones.
                first, last = gram_bounds[e], gram_bounds[e + 1]
                if (g1 - g0 - 1) / (last - first) < threshold:
                    continue
                # At least `alone` bigrams stand on one side only, and no more are shared than either side has left.
                e_alone = popcount(e_low) + popcount(e_high)
                g_alone = popcount(g_low) + popcount(g_high)
                most = max(0, min(last - first - e_alone, g1 - g0 - 1 - g_alone))
                if most / max(1, most + e_alone + g_alone) < threshold:
                    continue
                if g_count < 0:
                    g_count = _sorted_bigrams(gp, g0, g1, g_grams)
                shared = _shared(grams, first, last, g_grams, g_count)
                e_count = last - first
                if shared / (e_count + g_count - shared) >= threshold:
                    how[to] = SIMILAR
    return how, bounds


class Pairs(NamedTuple):
    """Row by row the matrix expected x got, row-major, as one flat column with the offsets of each row's matrix.

    `how` is UNMATCHED, EQUAL, CONTAINED or SIMILAR.
    """

    how: Codes
    bounds: Offsets

    @property
    def matched(self) -> Flags:
        """Which pairs match in any way."""
        matched: Flags = self.how != UNMATCHED
        return matched


def match_pairs(
    expected: Points32,
    grams: Grams,
    e_first: Ints,
    e_last: Ints,
    got: Points32,
    g_first: Ints,
    g_last: Ints,
    threshold: float,
    containment_min: int = 1,
    contained_only: bool = False,
) -> Pairs:
    """Soft match of every expected item with every got item of a row; an empty item matches nothing.

    Items are ranges of the two columns. Containment counts from `containment_min` characters of the shorter item on;
    with `contained_only` nothing but containment and equality does.
    """
    ranges = [e_first, e_last, *grams, *got, g_first, g_last]
    given: list[Any] = [*expected, *ranges, threshold, containment_min, contained_only]
    return Pairs(*_match_pairs(*given))


class Assignment(NamedTuple):
    """Which items of a row match: how many of each side, and for every item the place of its partner, else -1.

    The items of all rows stand end to end; a place is that in the other side's items of the row.
    """

    e_matched: Ints
    g_matched: Ints
    e_partner: Ints
    g_partner: Ints


@kernel
def _assign(how: Codes, bounds: Offsets, e_counts: Ints, g_counts: Ints, one_to_one: bool) -> Any:
    rows = len(e_counts)
    e_matched = np.zeros(rows, np.int32)
    g_matched = np.zeros(rows, np.int32)
    e_partner = np.full(e_counts.sum(), -1, np.int32)
    g_partner = np.full(g_counts.sum(), -1, np.int32)
    e0 = g0 = 0
    for r in range(rows):
        wide = g_counts[r]
        for e in range(e_counts[r]):
            base = bounds[r] + e * wide
            for g in range(wide):
                if how[base + g] == UNMATCHED or (one_to_one and g_partner[g0 + g] >= 0):
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
        g0 += wide
    return e_matched, g_matched, e_partner, g_partner


def assign(pairs: Pairs, e_counts: Ints, g_counts: Ints, one_to_one: bool) -> Assignment:
    """Partners among the items of each row; empty sides give 0 matched.

    One to one: expected items in order, each takes the first unused got item that matches. Else every item that
    has any match counts, with the first of its matches as its partner.
    """
    return Assignment(*_assign(*pairs, e_counts, g_counts, one_to_one))


@kernel
def _jaccard(ap: Points, ao: Offsets, bp: Points, bo: Offsets) -> npt.NDArray[np.float64]:
    out = np.empty(len(ao) - 1, np.float64)
    a_grams = np.empty(_longest(ao), np.uint64)
    b_grams = np.empty(_longest(bo), np.uint64)
    for k in range(len(out)):
        a_count = _sorted_bigrams(ap, ao[k], ao[k + 1], a_grams)
        b_count = _sorted_bigrams(bp, bo[k], bo[k + 1], b_grams)
        shared = _shared(a_grams, 0, a_count, b_grams, b_count)
        union = a_count + b_count - shared
        out[k] = shared / union if union else 0.0
    return out


def bigram_jaccard(a: Points32, b: Points32) -> npt.NDArray[np.float64]:
    """Jaccard similarity of the bigram sets, row by row; 0 where neither side has a bigram."""
    return _jaccard(a.points, a.offsets, b.points, b.offsets)
