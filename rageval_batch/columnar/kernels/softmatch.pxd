"""Code points and bigrams of one text, and the soft match of two."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport CHECKED, lowest_bit, popcount
from rageval_batch.columnar.kernels.sorting cimport sort_words
from rageval_batch.columnar.kernels.utf8 cimport code_point, space_width


cdef enum:  # how two texts match
    IS_UNMATCHED
    IS_EQUAL
    IS_CONTAINED
    IS_SIMILAR


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
    const uint32_t[::1] one, int64_t i, const uint32_t[::1] two, int64_t j, int64_t count
) noexcept nogil:
    """The bits of the places, at most 64, at which two runs of code points are equal; they must not be empty."""
    cdef uint32_t last
    if CHECKED:
        last = one[i + count - 1]
        last = two[j + count - 1]
    return sse_equal_points(&one[i], &two[j], count)


cdef inline bint has_bigram(
    const uint32_t[::1] points, int64_t start, int64_t end, uint32_t left, uint32_t right
) noexcept nogil:
    """Whether points[start:end], two or more, have a bigram."""
    cdef uint32_t last
    if CHECKED:
        last = points[end - 1]
    return sse_find_bigram(&points[start], end - start - 1, left, right) < end - start - 1


cdef inline bint is_first_bigram(const uint32_t[::1] points, int64_t start, int64_t at) noexcept nogil:
    """Whether the bigram at `at` does not stand before it in points[start:]."""
    return at == start or not has_bigram(points, start, at + 1, points[at], points[at + 1])


cdef inline int aligned_match(
    const uint32_t[::1] ep, int64_t e0, int64_t e1, int64_t e_count,
    const uint32_t[::1] gp, int64_t g0, int64_t g1, double threshold,
) noexcept nogil:
    """Whether two texts of 2 to ALIGNED_WIDTH code points are similar; -1 where too many bigrams stand elsewhere.

    A bigram that has the same place in both, counted from their beginnings or from their ends, is in both: only the
    others are looked up. `e_count`: the distinct bigrams of the first.
    """
    cdef int64_t e_width = e1 - e0, g_width = g1 - g0, shorter = min(e_width, g_width), k
    cdef int64_t e_alone = 0, g_alone = 0  # distinct bigrams that the other text does not have
    cdef uint64_t same = equal_places(ep, e0, gp, g0, shorter)
    cdef uint64_t from_end = same
    if e_width != g_width:
        from_end = equal_places(ep, e1 - shorter, gp, g1 - shorter, shorter)
    same &= same >> 1
    from_end &= from_end >> 1
    cdef uint64_t e_apart = ~(same | from_end << (e_width - shorter)) & (((<uint64_t>1) << (e_width - 1)) - 1)
    cdef uint64_t g_apart = ~(same | from_end << (g_width - shorter)) & (((<uint64_t>1) << (g_width - 1)) - 1)
    cdef int64_t most_e = popcount(e_apart), most_g = popcount(g_apart)
    if <double>(e_count - most_e) / <double>(e_count + most_g) >= threshold:
        return 1
    if most_e + most_g > MOST_APART:
        return -1
    while e_apart:
        k = e0 + lowest_bit(e_apart)
        e_apart &= e_apart - 1
        if not has_bigram(gp, g0, g1, ep[k], ep[k + 1]) and is_first_bigram(ep, e0, k):
            e_alone += 1
            if <double>(e_count - e_alone) / <double>e_count < threshold:
                return 0
    while g_apart:
        k = g0 + lowest_bit(g_apart)
        g_apart &= g_apart - 1
        if not has_bigram(ep, e0, e1, gp[k], gp[k + 1]) and is_first_bigram(gp, g0, k):
            g_alone += 1
            if <double>(e_count - e_alone) / <double>(e_count + g_alone) < threshold:
                return 0
    return <double>(e_count - e_alone) / <double>(e_count + g_alone) >= threshold


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


cdef inline int64_t shared_bigrams(
    const uint64_t[::1] e_grams, int64_t e_gram, int64_t e_count,
    const uint64_t[::1] g_grams, int64_t g_gram, int64_t g_count, int64_t g_width,
) noexcept nogil:
    """How many of some sorted, distinct bigrams a text has whose own `distinct_bigrams` gave."""
    cdef int64_t k, slot, slots, count = 0
    cdef uint64_t gram
    if g_width > HASHED_WIDTH:
        return shared_words(e_grams, e_gram, e_gram + e_count, g_grams, g_gram, g_gram + g_count)
    slots = gram_slots(g_width)
    for k in range(e_gram, e_gram + e_count):
        gram = e_grams[k] + 1
        slot = gram_slot(gram, slots)
        while g_grams[g_gram + slot] != 0 and g_grams[g_gram + slot] != gram:
            slot = (slot + 1) & (slots - 1)
        count += g_grams[g_gram + slot] != 0
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
    int64_t g0,
    int64_t g1,
    uint64_t g_low,
    uint64_t g_high,
    uint64_t[::1] g_grams,
    int64_t g_gram,
    int64_t *g_count,
    double threshold,
    int64_t containment_min,
    bint contained_only,
) noexcept nogil:
    """How the expected item ep[e0:e1] and the got item gp[g0:g1] match; an empty item matches nothing.

    The expected one has `e_count` bigrams from e_grams[e_gram] on. Those of the got one are put into `g_grams` from
    `g_gram` on, GRAM_ROOM words a code point, the first time that they are needed: until then `g_count` is -1.
    """
    cdef int64_t e_width = e1 - e0, g_width = g1 - g0, e_alone, g_alone, most, shared
    # One string inside the other has all its bigrams there: the signatures rule most pairs out.
    cdef uint64_t e_low_alone = e_low & ~g_low, e_high_alone = e_high & ~g_high
    cdef uint64_t g_low_alone = g_low & ~e_low, g_high_alone = g_high & ~e_high
    cdef bint contained
    cdef int similar
    if e_width == 0 or g_width == 0:
        return IS_UNMATCHED
    if e_width <= g_width:
        contained = (e_low_alone | e_high_alone) == 0 and within(gp, g0, g1, ep, e0, e1)
    else:
        contained = (g_low_alone | g_high_alone) == 0 and within(ep, e0, e1, gp, g0, g1)
    if contained and e_width == g_width:
        return IS_EQUAL
    if contained and min(e_width, g_width) >= containment_min:
        return IS_CONTAINED
    if contained_only or e_width < 2 or g_width < 2:
        return IS_UNMATCHED
    # No more are shared than the answer has, and the union has all of the expected ones.
    if <double>(g_width - 1) / <double>e_count < threshold:
        return IS_UNMATCHED
    # At least `alone` bigrams stand on one side only, and no more are shared than either side has left.
    e_alone = popcount(e_low_alone) + popcount(e_high_alone)
    g_alone = popcount(g_low_alone) + popcount(g_high_alone)
    most = max(<int64_t>0, min(e_count - e_alone, g_width - 1 - g_alone))
    if <double>most / <double>max(<int64_t>1, most + e_alone + g_alone) < threshold:
        return IS_UNMATCHED
    if max(e_width, g_width) <= ALIGNED_WIDTH:
        similar = aligned_match(ep, e0, e1, e_count, gp, g0, g1, threshold)
        if similar >= 0:
            return IS_SIMILAR if similar else IS_UNMATCHED
    if g_count[0] < 0:
        g_count[0] = distinct_bigrams(gp, g0, g1, g_grams, g_gram)
    shared = shared_bigrams(e_grams, e_gram, e_count, g_grams, g_gram, g_count[0], g_width)
    if <double>shared / <double>(e_count + g_count[0] - shared) >= threshold:
        return IS_SIMILAR
    return IS_UNMATCHED
