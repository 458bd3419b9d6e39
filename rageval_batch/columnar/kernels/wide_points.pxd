"""Code points, 16 at a time, on processors of which `wide.has_wide` is true: nothing here may be called where it is not.

Nothing behind what a function was given is read or written. What takes a short loop elsewhere, whose end the processor
cannot foresee, is one step here, so that texts of any length take about as long.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.wide cimport has_wide


cdef extern from *:
    """
    #if defined(RAGEVAL_TARGET)
    #define RAGEVAL_FIRST(count) ((count) >= 64 ? ~0ULL : (count) > 0 ? (1ULL << (count)) - 1 : 0)
    #define RAGEVAL_LANES(count) (__mmask16)((count) >= 16 ? 0xFFFF : (1u << (count)) - 1)
    #define RAGEVAL_POINTS(value) _mm512_set1_epi32(value)

    /* The code points of valid UTF-8 without White_Space; how many, -1 where some have four bytes. */
    RAGEVAL_TARGET static int64_t rageval_wide_points(const uint8_t *text, int64_t width, uint32_t *out) {
        const __m512i low6 = RAGEVAL_POINTS(63);
        int64_t at, to = 0;
        for (at = 0; at < width; at += 64) {
            const uint64_t there = RAGEVAL_FIRST(width - at);
            __m512i first = _mm512_maskz_loadu_epi8(there, text + at);
            __m512i second = _mm512_maskz_loadu_epi8(RAGEVAL_FIRST(width - at - 1), text + at + 1);
            __m512i third = _mm512_maskz_loadu_epi8(RAGEVAL_FIRST(width - at - 2), text + at + 2);
            uint64_t leads = there & _mm512_cmpgt_epi8_mask(first, _mm512_set1_epi8((char)0xBF));
            int64_t k, count;
            if (there & _mm512_cmpge_epu8_mask(first, _mm512_set1_epi8((char)0xF0))) return -1;
            leads &= ~(_mm512_cmpeq_epi8_mask(first, _mm512_set1_epi8(32))
                | _mm512_cmplt_epu8_mask(_mm512_sub_epi8(first, _mm512_set1_epi8(9)), _mm512_set1_epi8(5)));
            first = _mm512_maskz_compress_epi8(leads, first);
            second = _mm512_maskz_compress_epi8(leads, second);
            third = _mm512_maskz_compress_epi8(leads, third);
            count = _mm_popcnt_u64(leads);
            for (k = 0; k < count; k += 16) {
                const __m512i one = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(first));
                const __m512i two = _mm512_and_si512(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(second)), low6);
                const __m512i three = _mm512_and_si512(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(third)), low6);
                const __m512i middle = _mm512_slli_epi32(two, 6);
                __m512i points = _mm512_or_si512(_mm512_or_si512(middle, three),
                    _mm512_slli_epi32(_mm512_and_si512(one, RAGEVAL_POINTS(15)), 12)), block;
                __mmask16 lanes = RAGEVAL_LANES(count - k), spaces;
                points = _mm512_mask_or_epi32(points, _mm512_cmplt_epu32_mask(one, RAGEVAL_POINTS(0xE0)), two,
                    _mm512_slli_epi32(_mm512_and_si512(one, RAGEVAL_POINTS(31)), 6));
                points = _mm512_mask_mov_epi32(points, _mm512_cmplt_epu32_mask(one, RAGEVAL_POINTS(0x80)), one);
                spaces = _mm512_cmpeq_epi32_mask(points, RAGEVAL_POINTS(0x3000))
                    | _mm512_cmpeq_epi32_mask(points, RAGEVAL_POINTS(0x85))
                    | _mm512_cmpeq_epi32_mask(points, RAGEVAL_POINTS(0xA0))
                    | _mm512_cmpeq_epi32_mask(points, RAGEVAL_POINTS(0x1680));
                block = _mm512_sub_epi32(points, RAGEVAL_POINTS(0x2000));
                if (_mm512_cmplt_epu32_mask(block, RAGEVAL_POINTS(0x60)))
                    spaces |= _mm512_cmplt_epu32_mask(block, RAGEVAL_POINTS(0x0B))
                        | _mm512_cmpeq_epi32_mask(block, RAGEVAL_POINTS(0x28))
                        | _mm512_cmpeq_epi32_mask(block, RAGEVAL_POINTS(0x29))
                        | _mm512_cmpeq_epi32_mask(block, RAGEVAL_POINTS(0x2F))
                        | _mm512_cmpeq_epi32_mask(block, RAGEVAL_POINTS(0x5F));
                if (lanes & spaces) {
                    points = _mm512_maskz_compress_epi32(lanes & ~spaces, points);
                    lanes = RAGEVAL_LANES(_mm_popcnt_u32(lanes & ~spaces));
                }
                _mm512_mask_storeu_epi32(out + to, lanes, points);
                to += _mm_popcnt_u32(lanes);
                first = _mm512_shuffle_i64x2(first, first, 0x39);
                second = _mm512_shuffle_i64x2(second, second, 0x39);
                third = _mm512_shuffle_i64x2(third, third, 0x39);
            }
        }
        return to;
    }

    /* The two words of the signature of two or more code points: a bit for each bigram, by the top bits of its hash. */
    RAGEVAL_TARGET static void rageval_wide_signature(const uint32_t *points, int64_t count, uint64_t *signs) {
        const __m512i first = RAGEVAL_POINTS((int)points[0]), second = RAGEVAL_POINTS((int)points[1]);
        const __m512i factor = _mm512_set1_epi64((int64_t)0x9E3779B97F4A7C15ULL), bit = _mm512_set1_epi64(1);
        __m512i low = _mm512_setzero_si512(), high = low;
        int64_t k;
        for (k = 0; k < count - 1; k += 16) {
            const __mmask16 lanes = RAGEVAL_LANES(count - 1 - k);
            const __m512i left = _mm512_mask_loadu_epi32(first, lanes, points + k);  /* others: the first bigram */
            const __m512i right = _mm512_mask_loadu_epi32(second, lanes, points + k + 1);
            const __m512i one = _mm512_srli_epi64(_mm512_mullo_epi64(_mm512_unpacklo_epi32(right, left), factor), 57);
            const __m512i two = _mm512_srli_epi64(_mm512_mullo_epi64(_mm512_unpackhi_epi32(right, left), factor), 57);
            low = _mm512_or_si512(low, _mm512_or_si512(_mm512_sllv_epi64(bit, one), _mm512_sllv_epi64(bit, two)));
            high = _mm512_or_si512(high, _mm512_or_si512(
                _mm512_sllv_epi64(bit, _mm512_sub_epi64(one, _mm512_set1_epi64(64))),
                _mm512_sllv_epi64(bit, _mm512_sub_epi64(two, _mm512_set1_epi64(64)))));
        }
        signs[0] = (uint64_t)_mm512_reduce_or_epi64(low);
        signs[1] = (uint64_t)_mm512_reduce_or_epi64(high);
    }

    /* The places, at most 64, at which two runs of code points are equal. */
    RAGEVAL_TARGET static uint64_t rageval_wide_equal_points(const uint32_t *one, const uint32_t *two, int64_t count) {
        uint64_t marks = 0;
        int64_t k;
        for (k = 0; k < count; k += 16) {
            const __mmask16 lanes = RAGEVAL_LANES(count - k);
            marks |= (uint64_t)_mm512_mask_cmpeq_epi32_mask(
                lanes, _mm512_maskz_loadu_epi32(lanes, one + k), _mm512_maskz_loadu_epi32(lanes, two + k)) << k;
        }
        return marks;
    }

    /* The first of some bigrams that is the wanted one, `count` where none is. */
    RAGEVAL_TARGET static int64_t rageval_wide_find_bigram(
        const uint32_t *points, int64_t count, uint32_t left, uint32_t right) {
        int64_t k;
        for (k = 0; k < count; k += 16) {
            const __mmask16 lanes = RAGEVAL_LANES(count - k);
            const unsigned marks = _mm512_mask_cmpeq_epi32_mask(
                _mm512_mask_cmpeq_epi32_mask(
                    lanes, _mm512_maskz_loadu_epi32(lanes, points + k), RAGEVAL_POINTS((int)left)),
                _mm512_maskz_loadu_epi32(lanes, points + k + 1), RAGEVAL_POINTS((int)right));
            if (marks) return k + (int64_t)_tzcnt_u32(marks);
        }
        return count;
    }
    #else
    #define rageval_wide_points(text, width, out) (-1)
    #define rageval_wide_signature(points, count, signs) ((void)0)
    #define rageval_wide_equal_points(one, two, count) 0
    #define rageval_wide_find_bigram(points, count, left, right) (count)
    #endif
    """
    int64_t wide_points "rageval_wide_points"(const uint8_t *text, int64_t width, uint32_t *out) noexcept nogil
    void wide_signature "rageval_wide_signature"(const uint32_t *points, int64_t count, uint64_t *signs) noexcept nogil
    uint64_t wide_equal_points "rageval_wide_equal_points"(
        const uint32_t *one, const uint32_t *two, int64_t count
    ) noexcept nogil
    int64_t wide_find_bigram "rageval_wide_find_bigram"(
        const uint32_t *points, int64_t count, uint32_t left, uint32_t right
    ) noexcept nogil
