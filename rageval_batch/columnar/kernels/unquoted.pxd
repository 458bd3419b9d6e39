"""JSON strings copied without their escapes while their end is looked for: one pass, 64 bytes at a time.

Of 64 bytes it is known at once which are backslashes and which end the string. Where the processor has AVX-512 VBMI2,
the backslashes are squeezed out of all of them at once; every x86-64 copies what stands between two of them by strides
of 16 bytes; others go by words of eight up to the first byte that is not plain.
"""

from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport CHECKED
from rageval_batch.columnar.kernels.json cimport utf16_unit
from rageval_batch.columnar.kernels.utf8 cimport put_point


cdef extern from *:
    """
    #include <string.h>
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #include <immintrin.h>
    __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,popcnt")))
    static int64_t rageval_unquote_wide(const uint8_t *data, int64_t *from, int64_t end, uint8_t *out, int64_t to) {
        const __m512i quote = _mm512_set1_epi8(34), slash = _mm512_set1_epi8(92), space = _mm512_set1_epi8(32);
        int64_t at = *from;
        while (at + 64 <= end) {
            __m512i some = _mm512_loadu_si512((const void *)(data + at));
            uint64_t slashes = _mm512_cmpeq_epi8_mask(some, slash), quotes = _mm512_cmpeq_epi8_mask(some, quote);
            uint64_t stops = _mm512_cmplt_epu8_mask(some, space), escapes, follow, inside, odd;
            int width = 64, last = 0;
            if (!slashes) {
                stops |= quotes;
                _mm512_storeu_si512((void *)(out + to), some);
                if (stops) {
                    width = (int)_tzcnt_u64(stops);
                    *from = at + width;
                    return to + width;
                }
                at += 64;
                to += 64;
                continue;
            }
            escapes = slashes;
            if (slashes & (slashes << 1)) {  /* of backslashes in a row every other one begins an escape */
                uint64_t rest = slashes;
                escapes = 0;
                while (rest) {
                    const uint64_t one = rest & (0 - rest);
                    escapes |= one;
                    rest &= ~(one | one << 1);
                }
            }
            follow = escapes << 1;
            stops |= quotes & ~follow;
            if (stops) {
                width = (int)_tzcnt_u64(stops);
                last = 1;
            } else if (escapes >> 63) {
                width = 63;
            }
            inside = width == 64 ? ~0ULL : (1ULL << width) - 1;
            odd = follow & inside & ~(slashes | quotes | _mm512_cmpeq_epi8_mask(some, _mm512_set1_epi8(47)));
            if (odd) {
                uint64_t known = 0, one;
                #define RAGEVAL_ESCAPE(letter, byte) \\
                    one = odd & _mm512_cmpeq_epi8_mask(some, _mm512_set1_epi8(letter)); \\
                    some = _mm512_mask_blend_epi8(one, some, _mm512_set1_epi8(byte)); \\
                    known |= one;
                RAGEVAL_ESCAPE('n', 10)
                RAGEVAL_ESCAPE('t', 9)
                RAGEVAL_ESCAPE('r', 13)
                RAGEVAL_ESCAPE('b', 8)
                RAGEVAL_ESCAPE('f', 12)
                odd &= ~known;
                if (odd) {
                    width = (int)_tzcnt_u64(odd) - 1;
                    last = 1;
                    inside = (1ULL << width) - 1;
                }
            }
            inside &= ~escapes;
            _mm512_storeu_si512((void *)(out + to), _mm512_maskz_compress_epi8(inside, some));
            to += _mm_popcnt_u64(inside);
            at += width;
            if (last) break;
        }
        *from = at;
        return to;
    }
    #else
    #define rageval_unquote_wide(data, from, end, out, to) (to)
    #endif

    /* What a letter behind a backslash stands for; 0 where it is no such letter, or u. */
    static const uint8_t rageval_escape_of[256] = {
        ['"'] = '"', ['\\\\'] = '\\\\', ['/'] = '/', ['n'] = 10, ['t'] = 9, ['r'] = 13, ['b'] = 8, ['f'] = 12
    };

    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static inline uint64_t rageval_marks(const __m128i *some, int byte) {
        const __m128i wanted = _mm_set1_epi8((char)byte);
        uint64_t marks = 0;
        int k;
        for (k = 0; k < 4; k++)
            marks |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(some[k], wanted)) << (16 * k);
        return marks;
    }
    /* Reads and writes up to 64 bytes behind what it copies. */
    static int64_t rageval_unquote(const uint8_t *data, int64_t *from, int64_t end, uint8_t *out, int64_t to) {
        const __m128i control = _mm_set1_epi8(31);
        int64_t at = *from;
        while (at + 128 <= end) {
            __m128i some[4];
            uint64_t slashes, stops = 0;
            int k, first = 0, stop;
            for (k = 0; k < 4; k++) some[k] = _mm_loadu_si128((const __m128i *)(data + at) + k);
            slashes = rageval_marks(some, 92);
            for (k = 0; k < 4; k++) {
                const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(some[k], control), some[k]);
                stops |= (uint64_t)(unsigned)_mm_movemask_epi8(low) << (16 * k);
            }
            stops |= rageval_marks(some, 34);
            if (!slashes) {
                for (k = 0; k < 4; k++) _mm_storeu_si128((__m128i *)(out + to) + k, some[k]);
                stop = stops ? rageval_lowest_bit(stops) : 64;
                at += stop;
                to += stop;
                if (stops) break;
                continue;
            }
            while (1) {  /* what stands between two escapes */
                const uint64_t marks = first < 64 ? (slashes | stops) >> first << first : 0;
                int64_t width;
                stop = marks ? rageval_lowest_bit(marks) : 64;
                width = stop - first;
                if (width > 0) {
                    const uint8_t *text = data + at + first;
                    for (k = 0; k < width; k += 16)
                        _mm_storeu_si128((__m128i *)(out + to + k), _mm_loadu_si128((const __m128i *)(text + k)));
                    to += width;
                }
                if (!marks) {
                    at += first > 64 ? first : 64;
                    break;
                }
                if (!(slashes >> stop & 1) || !rageval_escape_of[data[at + stop + 1]]) {
                    *from = at + stop;
                    return to;
                }
                out[to++] = rageval_escape_of[data[at + stop + 1]];
                first = stop + 2;
            }
        }
        *from = at;
        return to;
    }
    #else
    static int64_t rageval_unquote(const uint8_t *data, int64_t *from, int64_t end, uint8_t *out, int64_t to) {
        int64_t at = *from;
        while (at + 8 <= end) {
            uint64_t word, marks, quotes, slashes;
            memcpy(&word, data + at, 8);
            quotes = word ^ RAGEVAL_LOW_BITS * 34;
            slashes = word ^ RAGEVAL_LOW_BITS * 92;
            marks = (word - RAGEVAL_LOW_BITS * 32) & ~word;
            marks |= (quotes - RAGEVAL_LOW_BITS) & ~quotes;
            marks |= (slashes - RAGEVAL_LOW_BITS) & ~slashes;
            if (marks & RAGEVAL_HIGH_BITS) break;
            memcpy(out + to, &word, 8);
            at += 8;
            to += 8;
        }
        *from = at;
        return to;
    }
    #endif
    """
    int64_t unquote_wide "rageval_unquote_wide"(
        const uint8_t *data, int64_t *at, int64_t end, uint8_t *out, int64_t to
    ) noexcept nogil
    int64_t unquote_strides "rageval_unquote"(
        const uint8_t *data, int64_t *at, int64_t end, uint8_t *out, int64_t to
    ) noexcept nogil
    const uint8_t *ESCAPE_OF "rageval_escape_of"


cdef enum:
    SLACK = 64  # bytes that may be written behind what is copied


cdef inline (int64_t, int64_t) unquote(
    const uint8_t[::1] data, int64_t at, int64_t end, uint8_t[::1] out, int64_t to, bint wide
) noexcept nogil:
    """Copy the string that begins at `at`, behind its quote: (position of the closing quote, end of the copy).

    (-1, to) where it is no string or does not close before `end`; then what stands behind `to` means nothing. `out` must
    have room behind `to` for all of the data from `at` on, and SLACK.
    """
    cdef int64_t size = data.shape[0], unit, low
    cdef uint8_t byte, last
    while True:
        if at < size:
            if CHECKED:
                out[to + (size - at) + SLACK - 1] = 0
            if wide:
                to = unquote_wide(&data[0], &at, size, &out[0], to)
            else:
                to = unquote_strides(&data[0], &at, size, &out[0], to)
        if at >= end:
            return -1, to
        byte = data[at]
        if byte == 34:
            return at, to
        if byte < 32:
            return -1, to
        if byte != 92:
            out[to] = byte
            at, to = at + 1, to + 1
            continue
        if at + 1 >= end:
            return -1, to
        byte = data[at + 1]
        if byte != 117:
            byte = ESCAPE_OF[byte]
            if byte == 0:
                return -1, to
            out[to] = byte
            at, to = at + 2, to + 1
            continue
        while at + 1 < end and data[at] == 92 and data[at + 1] == 117:  # they seldom stand alone
            unit = utf16_unit(data, at + 2, end)
            if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
                return -1, to
            at += 6
            if 0xD800 <= unit <= 0xDBFF:
                if at + 1 >= end or data[at] != 92 or data[at + 1] != 117:
                    return -1, to
                low = utf16_unit(data, at + 2, end)
                if low < 0xDC00 or low > 0xDFFF:
                    return -1, to
                at += 6
                unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
            to = put_point(out, to, unit)
