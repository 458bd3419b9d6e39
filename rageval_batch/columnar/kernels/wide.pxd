"""What processors with AVX-512 (BW, DQ, VBMI, VBMI2) do 64 bytes at a time: whether this is one, whether bytes are UTF-8.

Where there is no such processor or compiler, `has_wide` is False and the rest must not be called.
"""

from libc.stdint cimport int64_t, uint8_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #include <cpuid.h>
    #include <immintrin.h>
    #define RAGEVAL_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt")))
    /* By CPUID itself: what __builtin_cpu_supports needs is not in the runtime of every compiler. */
    static int rageval_has_wide(void) {
        unsigned a, b, c, d, low, high;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        if ((low & 0xe6u) != 0xe6u) return 0;  /* the system keeps the wide registers */
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
        return (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) && (c >> 1 & 1) && (c >> 6 & 1);  /* F, DQ, BW, VBMI, VBMI2 */
    }
    /* The errors of 64 bytes, each told by the high half of a byte, its low half and the high half of the next one:
       J. Keiser and D. Lemire, Validating UTF-8 in less than one instruction per byte, 2021. */
    RAGEVAL_TARGET static inline __m512i rageval_utf8_errors(const uint8_t *text) {
        enum { SHORT = 1, LONG = 2, OVER3 = 4, LARGE = 8, SURROGATE = 16, OVER2 = 32, LARGE1000 = 64, OVER4 = 64,
               CONTINUED = 128, ANY = SHORT | LONG | CONTINUED, HIGH = ANY | LARGE | LARGE1000,
               SECOND = LONG | OVER2 | CONTINUED };
        const __m512i first_high = _mm512_broadcast_i32x4(_mm_setr_epi8(
            LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, (char)CONTINUED, (char)CONTINUED, (char)CONTINUED,
            (char)CONTINUED, SHORT | OVER2, SHORT, SHORT | OVER3 | SURROGATE, SHORT | LARGE | LARGE1000 | OVER4));
        const __m512i first_low = _mm512_broadcast_i32x4(_mm_setr_epi8(
            (char)(ANY | OVER3 | OVER2 | OVER4), (char)(ANY | OVER2), (char)ANY, (char)ANY, (char)(ANY | LARGE),
            (char)HIGH, (char)HIGH, (char)HIGH, (char)HIGH, (char)HIGH, (char)HIGH, (char)HIGH, (char)HIGH,
            (char)(HIGH | SURROGATE), (char)HIGH, (char)HIGH));
        const __m512i second_high = _mm512_broadcast_i32x4(_mm_setr_epi8(
            SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, (char)(SECOND | OVER3 | LARGE1000 | OVER4),
            (char)(SECOND | OVER3 | LARGE), (char)(SECOND | SURROGATE | LARGE), (char)(SECOND | SURROGATE | LARGE),
            SHORT, SHORT, SHORT, SHORT));
        const __m512i half = _mm512_set1_epi8(15);
        const __m512i now = _mm512_loadu_si512((const void *)text), one = _mm512_loadu_si512((const void *)(text - 1));
        const __m512i three = _mm512_loadu_si512((const void *)(text - 3));
        __m512i two, cases, more;
        if (!(_mm512_movepi8_mask(now) | _mm512_movepi8_mask(three))) return _mm512_setzero_si512();
        two = _mm512_loadu_si512((const void *)(text - 2));
        cases = _mm512_and_si512(
            _mm512_shuffle_epi8(first_high, _mm512_and_si512(_mm512_srli_epi16(one, 4), half)),
            _mm512_shuffle_epi8(first_low, _mm512_and_si512(one, half)));
        cases = _mm512_and_si512(
            cases, _mm512_shuffle_epi8(second_high, _mm512_and_si512(_mm512_srli_epi16(now, 4), half)));
        more = _mm512_or_si512(
            _mm512_subs_epu8(two, _mm512_set1_epi8((char)(0xE0 - 0x80))),
            _mm512_subs_epu8(three, _mm512_set1_epi8((char)(0xF0 - 0x80))));
        return _mm512_xor_si512(_mm512_and_si512(more, _mm512_set1_epi8((char)0x80)), cases);
    }
    RAGEVAL_TARGET static int rageval_wide_utf8(const uint8_t *text, int64_t size) {
        uint8_t edge[3 + 64];
        int64_t at, width = size < 64 ? size : 64, tail;
        __m512i errors;
        memset(edge, 0, sizeof edge);
        memcpy(edge + 3, text, (size_t)width);
        errors = rageval_utf8_errors(edge + 3);
        if (size < 64) return !_mm512_test_epi8_mask(errors, errors);
        for (at = 64; at + 64 <= size; at += 64)
            errors = _mm512_or_si512(errors, rageval_utf8_errors(text + at));
        tail = size - at;  /* fewer than 64, then zeros, before which no character may be open */
        memset(edge, 0, sizeof edge);
        memcpy(edge, text + at - 3, (size_t)(3 + tail));
        errors = _mm512_or_si512(errors, rageval_utf8_errors(edge + 3));
        return !_mm512_test_epi8_mask(errors, errors);
    }
    #else
    #define rageval_has_wide() 0
    #define rageval_wide_utf8(text, size) 0
    #endif
    """
    bint has_wide "rageval_has_wide"() noexcept nogil
    bint wide_utf8 "rageval_wide_utf8"(const uint8_t *text, int64_t size) noexcept nogil
