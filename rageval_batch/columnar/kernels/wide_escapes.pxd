r"""Escapes `\uXXXX` that stand together, ten at a time, on processors of which `wide.has_wide` is true: nothing here may be
called where it is not.

Texts in Chinese or Russian that were written with ASCII alone are such escapes from end to end. Nothing behind what a
function was given is read or written.
"""

from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport CHECKED
from rageval_batch.columnar.kernels.wide cimport has_wide


cdef enum:
    ESCAPE_WIDTH = 6  # bytes of an escape
    ESCAPED_POINT = 3  # bytes of UTF-8 that one is


cdef extern from *:
    """
    #if defined(RAGEVAL_TARGET)
    /* The UTF-16 units of the escapes that up to 60 bytes begin with; `count`: how many there are. */
    RAGEVAL_TARGET static inline __m512i rageval_units(const uint8_t *text, int64_t width, int *count) {
        static const uint8_t digits[64] = {  /* where the four digits of each escape stand */
            2, 3, 4, 5, 8, 9, 10, 11, 14, 15, 16, 17, 20, 21, 22, 23, 26, 27, 28, 29, 32, 33, 34, 35, 38, 39, 40, 41, 44,
            45, 46, 47, 50, 51, 52, 53, 56, 57, 58, 59};
        const uint64_t first = 0x041041041041041ULL, second = first << 1;  /* every sixth byte, ten of them */
        const uint64_t there = width >= 60 ? (1ULL << 60) - 1 : (1ULL << width) - 1;
        const __m512i some = _mm512_maskz_loadu_epi8(there, text);
        const __mmask64 letters = _mm512_cmplt_epu8_mask(
            _mm512_sub_epi8(_mm512_or_si512(some, _mm512_set1_epi8(32)), _mm512_set1_epi8('a')), _mm512_set1_epi8(6));
        const __mmask64 figures = _mm512_cmplt_epu8_mask(
            _mm512_sub_epi8(some, _mm512_set1_epi8('0')), _mm512_set1_epi8(10));
        const uint64_t right = (_mm512_mask_cmpeq_epi8_mask(first, some, _mm512_set1_epi8(92))
            | _mm512_mask_cmpeq_epi8_mask(second, some, _mm512_set1_epi8('u'))
            | ((letters | figures) & ~(first | second))) & there;
        __m512i values = _mm512_and_si512(some, _mm512_set1_epi8(15));
        values = _mm512_mask_add_epi8(values, letters, values, _mm512_set1_epi8(9));
        values = _mm512_permutexvar_epi8(_mm512_loadu_si512((const void *)digits), values);
        values = _mm512_maddubs_epi16(values, _mm512_set1_epi16(0x0110));
        *count = right == (1ULL << 60) - 1 ? 10 : (int)_tzcnt_u64(~right) / 6;
        return _mm512_madd_epi16(values, _mm512_set1_epi32(0x00010100));
    }

    /* How many bytes of the text are escapes that stand together from its beginning on, none of them half of a pair.
       Ten at a time have a branch of their own, so that the next ten do not wait for their number. */
    RAGEVAL_TARGET static int64_t rageval_wide_escapes_end(const uint8_t *text, int64_t width) {
        int64_t at = 0;
        while (at + 6 <= width) {
            int count;
            const __m512i units = rageval_units(text + at, width - at, &count);
            const __mmask16 halves = _mm512_cmpeq_epi32_mask(
                _mm512_and_si512(units, _mm512_set1_epi32(0xF800)), _mm512_set1_epi32(0xD800));
            if (count < 10 || halves & 0x3FF) return at + 6 * (int64_t)_tzcnt_u32(halves | 1u << count);
            at += 60;
        }
        return at;
    }

    /* The same of a checked text, as far as each of them is three bytes of UTF-8, which are written to `out`. */
    RAGEVAL_TARGET static int64_t rageval_wide_unescape(const uint8_t *text, int64_t width, uint8_t *out) {
        const __m512i low6 = _mm512_set1_epi32(63);
        int64_t at = 0;
        while (at + 6 <= width) {
            int count;
            const __m512i units = rageval_units(text + at, width - at, &count);
            const __m512i block = _mm512_and_si512(units, _mm512_set1_epi32(0xF800));
            const __mmask16 others = _mm512_cmpeq_epi32_mask(block, _mm512_set1_epi32(0xD800))
                | _mm512_testn_epi32_mask(block, block);
            const __m512i points = _mm512_maskz_compress_epi8(0x7777777777777777ULL, _mm512_or_si512(
                _mm512_or_si512(_mm512_srli_epi32(units, 12), _mm512_set1_epi32(0x8080E0)),
                _mm512_or_si512(
                    _mm512_slli_epi32(_mm512_and_si512(_mm512_srli_epi32(units, 6), low6), 8),
                    _mm512_slli_epi32(_mm512_and_si512(units, low6), 16))));
            if (count < 10 || others & 0x3FF) {
                const int64_t whole = _tzcnt_u32(others | 1u << count);
                _mm512_mask_storeu_epi8(out + at / 2, (1ULL << 3 * whole) - 1, points);
                return at + 6 * whole;
            }
            _mm512_mask_storeu_epi8(out + at / 2, (1ULL << 30) - 1, points);
            at += 60;
        }
        return at;
    }
    #else
    #define rageval_wide_escapes_end(text, width) 0
    #define rageval_wide_unescape(text, width, out) 0
    #endif
    """
    int64_t wide_escapes_end "rageval_wide_escapes_end"(const uint8_t *text, int64_t width) noexcept nogil
    int64_t wide_unescape "rageval_wide_unescape"(const uint8_t *text, int64_t width, uint8_t *out) noexcept nogil


cdef inline bint stand_together(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """Whether one more escape may follow the one at `at`: of a single one, ten at a time take longer."""
    return at + 2 * ESCAPE_WIDTH <= end and data[at + ESCAPE_WIDTH] == 92 and data[at + 1] == 117


cdef inline int64_t escapes_width(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    r"""How many bytes from `at` on are valid escapes `\uXXXX`, none of them half of a pair; maybe more are escapes."""
    cdef uint8_t last
    if not stand_together(data, at, end):
        return 0
    if CHECKED:
        last = data[end - 1]
    return wide_escapes_end(&data[at], end - at)


cdef inline int64_t unescaped_width(
    const uint8_t[::1] data, int64_t at, int64_t end, uint8_t[::1] out, int64_t to
) noexcept nogil:
    """Write the escapes of a checked string that begin at `at` and are three bytes of UTF-8 each, as far as they stand
    together; how many bytes of it they are."""
    cdef uint8_t last
    if not stand_together(data, at, end):
        return 0
    if CHECKED:
        last = data[end - 1]
        out[to + ESCAPED_POINT * ((end - at) // ESCAPE_WIDTH) - 1] = 0
    return wide_unescape(&data[at], end - at, &out[to])
