"""Code points and bigrams of one text, and the soft match of two."""

from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport CHECKED, lowest_bit, popcount
from rageval_batch.columnar.kernels.sorting cimport sort_words
from rageval_batch.columnar.kernels.utf8 cimport code_point, space_width
from rageval_batch.columnar.kernels.wide_points cimport (
    wide_equal_points,
    wide_find_bigram,
    wide_points,
    wide_signature,
)


cdef enum:  # how two texts match
    IS_UNMATCHED
    IS_EQUAL
    IS_CONTAINED
    IS_SIMILAR


cdef struct Squashed:  # a text without its white space
    int64_t first  # its code points; -1 as long as they were not needed
    int64_t last
    int64_t gram_count  # its distinct bigrams; -1 as long as they were not needed
    uint64_t low  # the signature of its bigrams, two words
    uint64_t high


cdef inline int64_t points_of(
    const uint8_t[::1] text, int64_t at, int64_t end, bint squashed, uint32_t[::1] out, int64_t to, bint wide
) noexcept nogil:
    """The code points of one text from `out[to]` on, which must have room for one a byte; where they end.

    `wide`, here and below: with the registers of a processor that has them.
    """
    cdef int64_t byte, point, width
    cdef uint8_t last
    if wide and squashed and at < end:
        if CHECKED:
            last = text[end - 1]
            out[to + end - at - 1] = 0
        width = wide_points(&text[at], end - at, &out[to])
        if width >= 0:
            return to + width
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
        to += 1
    return to


cdef inline uint64_t gram_sign(uint64_t left, uint64_t right) noexcept nogil:
    """The place of a bigram in a signature, from 0 to 127."""
    return (((left << 32) | right) * <uint64_t>0x9E3779B97F4A7C15) >> 57


cdef inline (uint64_t, uint64_t) signature_of(
    const uint32_t[::1] points, int64_t start, int64_t end, bint wide
) noexcept nogil:
    """A bit for each bigram of one text, in two words; equal bigrams have equal bits, others may."""
    cdef uint64_t low = 0, high = 0, sign, bit, upper
    cdef uint64_t signs[2]
    cdef uint32_t last
    cdef int64_t k
    if wide and end - start >= 2:
        if CHECKED:
            last = points[end - 1]
        wide_signature(&points[start], end - start, signs)
        return signs[0], signs[1]
    for k in range(start + 1, end):
        sign = gram_sign(points[k - 1], points[k])
        bit = <uint64_t>1 << (sign & 63)
        upper = <uint64_t>0 - (sign >> 6)  # all ones for the upper half of the signature
        high |= bit & upper
        low |= bit & ~upper
    return low, high


cdef inline bint may_have(uint64_t low, uint64_t high, uint64_t left, uint64_t right) noexcept nogil:
    """Whether a text of this signature may have a bigram; where not, it has none."""
    cdef uint64_t sign = gram_sign(left, right)
    return (high if sign >> 6 else low) >> (sign & 63) & 1


cdef enum:
    LISTED_UNIONS = 256


cdef struct Threshold:  # the share of bigrams in both texts, of those in either, from which they are similar
    double share
    int16_t least[LISTED_UNIONS]  # by the size of the union: the size of the intersection from which it is reached


cdef inline Threshold threshold_of(double share) noexcept nogil:
    """A threshold, which must not be less than 0 but by rounding."""
    cdef Threshold threshold
    cdef int16_t union, least = 0
    threshold.share = share
    threshold.least[0] = 0
    for union in range(1, LISTED_UNIONS):
        while least <= union and <double>least / <double>union < share:
            least += 1
        threshold.least[union] = least
    return threshold


cdef inline bint reaches(const Threshold *threshold, int64_t shared, int64_t union) noexcept nogil:
    """Whether so many shared bigrams of so many, at least 1, are enough: by a table, as dividing takes long."""
    if union < LISTED_UNIONS:
        return shared >= threshold.least[union]
    return <double>shared / <double>union >= threshold.share


cdef inline int64_t sorted_bigrams(
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


cdef inline int64_t shared_words(
    const uint64_t[::1] one, int64_t i, int64_t one_end, const uint64_t[::1] two, int64_t j, int64_t two_end
) noexcept nogil:
    """How many values of one[i:one_end] are in two[j:two_end]; both sorted, each value once."""
    cdef int64_t count = 0
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


cdef inline bint within(
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


cdef extern from *:
    """
    /* The places, at most 64, at which two runs of code points are equal. */
    static inline uint64_t rageval_equal_points(const uint32_t *one, const uint32_t *two, int64_t count) {
        uint64_t marks = 0;
        int64_t k = 0;
    #if defined(RAGEVAL_MARKS)
        for (; k + 4 <= count; k += 4) {
            const __m128i a = _mm_loadu_si128((const __m128i *)(one + k));
            const __m128i b = _mm_loadu_si128((const __m128i *)(two + k));
            marks |= (uint64_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(a, b))) << k;
        }
    #endif
        for (; k < count; k++) marks |= (uint64_t)(one[k] == two[k]) << k;
        return marks;
    }
    /* The first of some bigrams that is the wanted one, `count` where none is. */
    static inline int64_t rageval_find_bigram(const uint32_t *points, int64_t count, uint32_t left, uint32_t right) {
        int64_t k = 0;
    #if defined(RAGEVAL_MARKS)
        const __m128i lefts = _mm_set1_epi32((int)left), rights = _mm_set1_epi32((int)right);
        for (; k + 4 <= count; k += 4) {
            const __m128i a = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(points + k)), lefts);
            const __m128i b = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(points + k + 1)), rights);
            const unsigned marks = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_and_si128(a, b)));
            if (marks) return k + rageval_lowest_bit(marks);
        }
    #endif
        while (k < count && (points[k] != left || points[k + 1] != right)) k++;
        return k;
    }
    """
    uint64_t sse_equal_points "rageval_equal_points"(const uint32_t *one, const uint32_t *two, int64_t count) noexcept nogil
    int64_t sse_find_bigram "rageval_find_bigram"(
        const uint32_t *points, int64_t count, uint32_t left, uint32_t right
    ) noexcept nogil


cdef enum:
    ALIGNED_WIDTH = 64  # code points up to which two texts are compared place by place
    MOST_APART = 32  # bigrams that are looked up by search


cdef inline uint64_t equal_places(
    const uint32_t[::1] one, int64_t i, const uint32_t[::1] two, int64_t j, int64_t count, bint wide
) noexcept nogil:
    """The bits of the places, at most 64, at which two runs of code points are equal; they must not be empty."""
    cdef uint32_t last
    if CHECKED:
        last = one[i + count - 1]
        last = two[j + count - 1]
    if wide:
        return wide_equal_points(&one[i], &two[j], count)
    return sse_equal_points(&one[i], &two[j], count)


cdef inline bint has_bigram(
    const uint32_t[::1] points, int64_t start, int64_t end, uint32_t left, uint32_t right, bint wide
) noexcept nogil:
    """Whether points[start:end], two or more, have a bigram."""
    cdef uint32_t last
    if CHECKED:
        last = points[end - 1]
    if wide:
        return wide_find_bigram(&points[start], end - start - 1, left, right) < end - start - 1
    return sse_find_bigram(&points[start], end - start - 1, left, right) < end - start - 1


cdef inline bint is_first_bigram(const uint32_t[::1] points, int64_t start, int64_t at, bint wide) noexcept nogil:
    """Whether the bigram at `at` does not stand before it in points[start:]."""
    return at == start or not has_bigram(points, start, at + 1, points[at], points[at + 1], wide)


cdef struct Apart:  # the bigrams of two texts that do not stand at the same place in the other one, a bit each
    uint64_t e
    uint64_t g


cdef inline Apart places_apart(
    const uint32_t[::1] ep, int64_t e0, int64_t e1, const uint32_t[::1] gp, int64_t g0, int64_t g1, bint wide
) noexcept nogil:
    """Of two texts of 2 to ALIGNED_WIDTH code points; places are counted from their beginnings and from their ends."""
    cdef int64_t e_width = e1 - e0, g_width = g1 - g0, shorter = min(e_width, g_width)
    cdef uint64_t same = equal_places(ep, e0, gp, g0, shorter, wide)
    cdef uint64_t from_end = same
    cdef Apart apart
    if e_width != g_width:
        from_end = equal_places(ep, e1 - shorter, gp, g1 - shorter, shorter, wide)
    same &= same >> 1
    from_end &= from_end >> 1
    apart.e = ~(same | from_end << (e_width - shorter)) & (((<uint64_t>1) << (e_width - 1)) - 1)
    apart.g = ~(same | from_end << (g_width - shorter)) & (((<uint64_t>1) << (g_width - 1)) - 1)
    return apart


cdef inline int aligned_match(
    const uint32_t[::1] ep, int64_t e0, int64_t e1, uint64_t e_low, uint64_t e_high, int64_t e_count,
    const uint32_t[::1] gp, const Squashed *got, const Threshold *threshold, bint wide,
) noexcept nogil:
    """Whether two texts of 2 to ALIGNED_WIDTH code points are similar; -1 where too many bigrams stand elsewhere.

    A bigram that has the same place in both is in both: only the others are looked up. `e_count`: the distinct bigrams
    of the first.
    """
    cdef int64_t g0 = got.first, g1 = got.last, k
    cdef int64_t e_alone = 0, g_alone = 0  # distinct bigrams that the other text does not have
    cdef Apart apart = places_apart(ep, e0, e1, gp, g0, g1, wide)
    cdef int64_t most_e = popcount(apart.e), most_g = popcount(apart.g)
    cdef bint shared
    if reaches(threshold, e_count - most_e, e_count + most_g):
        return 1
    if most_e + most_g > MOST_APART:
        return -1
    while apart.e:
        k = e0 + lowest_bit(apart.e)
        apart.e &= apart.e - 1
        shared = may_have(got.low, got.high, ep[k], ep[k + 1]) and has_bigram(gp, g0, g1, ep[k], ep[k + 1], wide)
        if not shared and is_first_bigram(ep, e0, k, wide):
            e_alone += 1
            if not reaches(threshold, e_count - e_alone, e_count):
                return 0
    while apart.g:
        k = g0 + lowest_bit(apart.g)
        apart.g &= apart.g - 1
        shared = may_have(e_low, e_high, gp[k], gp[k + 1]) and has_bigram(ep, e0, e1, gp[k], gp[k + 1], wide)
        if not shared and is_first_bigram(gp, g0, k, wide):
            g_alone += 1
            if not reaches(threshold, e_count - e_alone, e_count + g_alone):
                return 0
    return reaches(threshold, e_count - e_alone, e_count + g_alone)


cdef enum:
    HASHED_WIDTH = 128  # code points up to which bigrams are hashed; a longer text is sorted, which has no bad case
    GRAM_ROOM = 4  # words that the bigrams of a text take for each of its code points


cdef inline int64_t gram_slots(int64_t width) noexcept nogil:
    """The slots of the table of a hashed text of that many code points: a power of 2, at least half of them free."""
    cdef int64_t size = 2
    while size < 2 * (width - 1):
        size *= 2
    return size


cdef inline int64_t gram_slot(uint64_t gram, int64_t slots) noexcept nogil:
    return <int64_t>((gram * <uint64_t>0x9E3779B97F4A7C15) >> 40) & (slots - 1)


cdef inline int64_t distinct_bigrams(
    const uint32_t[::1] points, int64_t start, int64_t end, uint64_t[::1] out, int64_t first
) noexcept nogil:
    """The distinct bigrams of one text from `out[first]` on, for `shared_bigrams`; how many."""
    cdef int64_t k, slot, slots, kept = 0
    cdef uint64_t gram
    if end - start > HASHED_WIDTH:
        return sorted_bigrams(points, start, end, out, first)
    slots = gram_slots(end - start)
    for k in range(first, first + slots):
        out[k] = 0
    for k in range(start, end - 1):
        gram = ((<uint64_t>points[k] << 32) | points[k + 1]) + 1  # 0 is a free slot
        slot = gram_slot(gram, slots)
        while out[first + slot] != 0 and out[first + slot] != gram:
            slot = (slot + 1) & (slots - 1)
        kept += out[first + slot] == 0
        out[first + slot] = gram
    return kept


cdef inline bint is_among(
    const uint64_t[::1] grams, int64_t first, int64_t count, int64_t width, uint64_t gram
) noexcept nogil:
    """Whether a bigram is one of those that `distinct_bigrams` gave of a text of `width` code points."""
    cdef int64_t slot, slots, middle, last = first + count - 1
    if width > HASHED_WIDTH:
        while first < last:
            middle = (first + last) >> 1
            if grams[middle] < gram:
                first = middle + 1
            else:
                last = middle
        return grams[first] == gram
    slots = gram_slots(width)
    slot = gram_slot(gram + 1, slots)
    while grams[first + slot] != 0 and grams[first + slot] != gram + 1:
        slot = (slot + 1) & (slots - 1)
    return grams[first + slot] != 0


cdef inline bint keeps_bigrams(int64_t width, int64_t distinct) noexcept nogil:
    """Whether the bigrams of an expected text of so many code points are kept: those of a short one, each of which stands
    there once, are soon read again."""
    return width > HASHED_WIDTH or distinct < width - 1


cdef inline int64_t shared_bigrams(
    const uint32_t[::1] ep, int64_t e0, int64_t e1, const uint64_t[::1] e_grams, int64_t e_gram, int64_t e_count,
    const uint64_t[::1] g_grams, int64_t g_gram, int64_t g_count, int64_t g_width,
) noexcept nogil:
    """How many distinct bigrams of an expected text another has, whose own `distinct_bigrams` gave. Those of the expected
    one are given, sorted, where `keeps_bigrams` says so; else its code points are read."""
    cdef int64_t k, count = 0
    if not keeps_bigrams(e1 - e0, e_count):
        for k in range(e0, e1 - 1):
            count += is_among(g_grams, g_gram, g_count, g_width, (<uint64_t>ep[k] << 32) | ep[k + 1])
        return count
    if g_width > HASHED_WIDTH:
        return shared_words(e_grams, e_gram, e_gram + e_count, g_grams, g_gram, g_gram + g_count)
    for k in range(e_gram, e_gram + e_count):
        count += is_among(g_grams, g_gram, g_count, g_width, e_grams[k])
    return count


cdef inline int match_pair(
    const uint32_t[::1] ep,
    int64_t e0,
    int64_t e1,
    uint64_t e_low,
    uint64_t e_high,
    const uint64_t[::1] e_grams,
    int64_t e_gram,
    int64_t e_count,
    const uint32_t[::1] gp,
    Squashed *got,
    uint64_t[::1] g_grams,
    int64_t g_gram,
    const Threshold *threshold,
    int64_t containment_min,
    bint contained_only,
    bint wide,
) noexcept nogil:
    """How the expected item ep[e0:e1] and the got item, whose code points are in `gp`, match; an empty item matches
    nothing.

    The expected one has `e_count` distinct bigrams, from e_grams[e_gram] on where they are kept. Those of the got one are
    put into `g_grams` from `g_gram` on, GRAM_ROOM words a code point, the first time that they are needed.
    """
    cdef int64_t e_width = e1 - e0, g_width = got.last - got.first, e_alone, g_alone, most, shared
    # One string inside the other has all its bigrams there: the signatures rule most pairs out.
    cdef uint64_t e_low_alone = e_low & ~got.low, e_high_alone = e_high & ~got.high
    cdef uint64_t g_low_alone = got.low & ~e_low, g_high_alone = got.high & ~e_high
    cdef bint contained
    cdef int similar
    if e_width == 0 or g_width == 0:
        return IS_UNMATCHED
    if e_width <= g_width:
        contained = (e_low_alone | e_high_alone) == 0 and within(gp, got.first, got.last, ep, e0, e1)
    else:
        contained = (g_low_alone | g_high_alone) == 0 and within(ep, e0, e1, gp, got.first, got.last)
    if contained and e_width == g_width:
        return IS_EQUAL
    if contained and min(e_width, g_width) >= containment_min:
        return IS_CONTAINED
    if contained_only or e_width < 2 or g_width < 2:
        return IS_UNMATCHED
    # No more are shared than the answer has, and the union has all of the expected ones.
    if not reaches(threshold, g_width - 1, e_count):
        return IS_UNMATCHED
    # At least `alone` bigrams stand on one side only, and no more are shared than either side has left.
    e_alone = popcount(e_low_alone) + popcount(e_high_alone)
    g_alone = popcount(g_low_alone) + popcount(g_high_alone)
    most = max(<int64_t>0, min(e_count - e_alone, g_width - 1 - g_alone))
    if not reaches(threshold, most, max(<int64_t>1, most + e_alone + g_alone)):
        return IS_UNMATCHED
    if max(e_width, g_width) <= ALIGNED_WIDTH:
        similar = aligned_match(ep, e0, e1, e_low, e_high, e_count, gp, got, threshold, wide)
        if similar >= 0:
            return IS_SIMILAR if similar else IS_UNMATCHED
    if got.gram_count < 0:
        got.gram_count = distinct_bigrams(gp, got.first, got.last, g_grams, g_gram)
    shared = shared_bigrams(ep, e0, e1, e_grams, e_gram, e_count, g_grams, g_gram, got.gram_count, g_width)
    return IS_SIMILAR if reaches(threshold, shared, e_count + got.gram_count - shared) else IS_UNMATCHED
