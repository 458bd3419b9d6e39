"""Bytes of buffers: eight at a time, runs of them copied and compared.

`load64` and `store64` read and write a word at any byte, and `zero_bytes` finds the bytes of a word that are 0, so that
long stretches of plain text cost an eighth of a loop over bytes. Where a run of bytes goes to the C library, a build
with bounds checks looks at its last byte first.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy


cdef extern from *:
    """
    #define RAGEVAL_CHECKED (RAGEVAL_VARIANT == 1)
    #define RAGEVAL_LOW_BITS 0x0101010101010101ULL
    #define RAGEVAL_HIGH_BITS 0x8080808080808080ULL
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int rageval_lowest_bit(unsigned __int64 word) {
        unsigned long at;
        _BitScanForward64(&at, word);
        return (int)at;
    }
    #define rageval_popcount(word) (int)__popcnt64(word)
    #else
    #define rageval_lowest_bit(word) __builtin_ctzll(word)
    #define rageval_popcount(word) __builtin_popcountll(word)
    #endif
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    #define RAGEVAL_MARKS(bytes) (unsigned)_mm_movemask_epi8(bytes)
    /* Sixteen bytes at once, as every x86-64 has them; what is left, less than sixteen, is for the caller. */
    static inline int64_t rageval_plain_width(const uint8_t *text, int64_t width) {
        const __m128i quote = _mm_set1_epi8(34), slash = _mm_set1_epi8(92), control = _mm_set1_epi8(31);
        int64_t at = 0;
        for (; at + 16 <= width; at += 16) {
            const __m128i some = _mm_loadu_si128((const __m128i *)(text + at));
            const __m128i found = _mm_or_si128(
                _mm_or_si128(_mm_cmpeq_epi8(some, quote), _mm_cmpeq_epi8(some, slash)),
                _mm_cmpeq_epi8(_mm_min_epu8(some, control), some));
            const unsigned marks = RAGEVAL_MARKS(found);
            if (marks) return at + rageval_lowest_bit(marks);
        }
        return at;
    }
    static inline int64_t rageval_copy_plain(const uint8_t *text, int64_t width, uint8_t *out) {
        const __m128i slash = _mm_set1_epi8(92);
        int64_t at = 0;
        for (; at + 16 <= width; at += 16) {
            const __m128i some = _mm_loadu_si128((const __m128i *)(text + at));
            const unsigned marks = RAGEVAL_MARKS(_mm_cmpeq_epi8(some, slash));
            _mm_storeu_si128((__m128i *)(out + at), some);
            if (marks) return at + rageval_lowest_bit(marks);
        }
        return at;
    }
    #else
    #define rageval_plain_width(text, width) 0
    #define rageval_copy_plain(text, width, out) 0
    #endif
    static inline int64_t rageval_next_two(
        const uint8_t *text, int64_t at, int64_t stop, int64_t apart, uint8_t first, uint8_t second, uint8_t fold) {
    #if defined(RAGEVAL_MARKS)
        const __m128i one = _mm_set1_epi8((char)first), two = _mm_set1_epi8((char)second);
        const __m128i bits = _mm_set1_epi8((char)fold);
        const int64_t begin = at;
        while (at < stop && stop - begin >= 16) {
            const int64_t from = at + 16 <= stop ? at : stop - 16;  /* the last sixteen may have been seen before */
            const __m128i a = _mm_or_si128(_mm_loadu_si128((const __m128i *)(text + from)), bits);
            const __m128i b = _mm_or_si128(_mm_loadu_si128((const __m128i *)(text + from + apart)), bits);
            const unsigned marks = RAGEVAL_MARKS(_mm_and_si128(_mm_cmpeq_epi8(a, one), _mm_cmpeq_epi8(b, two)));
            if (marks) return from + rageval_lowest_bit(marks);
            at = from + 16;
        }
    #endif
        while (at < stop && ((text[at] | fold) != first || (text[at + apart] | fold) != second)) at++;
        return at;
    }
    """
    const int VARIANT_NUMBER "RAGEVAL_VARIANT"
    const bint CHECKED "RAGEVAL_CHECKED"
    const uint64_t LOW_BITS "RAGEVAL_LOW_BITS"
    const uint64_t HIGH_BITS "RAGEVAL_HIGH_BITS"
    int lowest_bit "rageval_lowest_bit"(uint64_t word) noexcept nogil
    int popcount "rageval_popcount"(uint64_t word) noexcept nogil
    int64_t sse_plain_width "rageval_plain_width"(const uint8_t *text, int64_t width) noexcept nogil
    int64_t sse_copy_plain "rageval_copy_plain"(const uint8_t *text, int64_t width, uint8_t *out) noexcept nogil
    int64_t sse_next_two "rageval_next_two"(
        const uint8_t *text, int64_t at, int64_t stop, int64_t apart, uint8_t first, uint8_t second, uint8_t fold
    ) noexcept nogil


cdef inline uint64_t load64(const uint8_t[::1] data, int64_t at) noexcept nogil:
    """The eight bytes at `at`, the first of them lowest; they must all be inside the buffer."""
    cdef uint64_t word
    cdef uint8_t last
    if CHECKED:
        last = data[at + 7]
    memcpy(&word, &data[at], 8)
    return word


cdef inline void store64(uint8_t[::1] out, int64_t at, uint64_t word) noexcept nogil:
    """Write eight bytes at `at`; they must all be inside the buffer."""
    if CHECKED:
        out[at + 7] = 0
    memcpy(&out[at], &word, 8)


cdef inline int64_t plain_width(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """How many bytes from `at` on are seen at once to be neither quote, backslash nor control character; maybe more are."""
    cdef uint8_t last
    if end - at < 16:
        return 0
    if CHECKED:
        last = data[end - 1]
    return sse_plain_width(&data[at], end - at)


cdef inline int64_t copy_plain(const uint8_t[::1] data, int64_t at, int64_t end, uint8_t[::1] out, int64_t to) noexcept nogil:
    """Copy bytes before a backslash, as far as that is seen at once; how many. `out` must have room for all to `end`."""
    cdef uint8_t last
    if end - at < 16:
        return 0
    if CHECKED:
        last = data[end - 1]
        out[to + (end - at) - 1] = 0
    return sse_copy_plain(&data[at], end - at, &out[to])


cdef inline void copy_bytes(const uint8_t[::1] data, int64_t at, int64_t width, uint8_t[::1] out, int64_t to) noexcept nogil:
    """Copy `width` bytes; no width is no bytes, wherever they would stand."""
    cdef uint8_t last
    if width <= 0:
        return
    if CHECKED:
        last = data[at + width - 1]
        out[to + width - 1] = 0
    memcpy(&out[to], &data[at], <size_t>width)


cdef inline bint equal_bytes(const uint8_t[::1] a, int64_t a_at, const uint8_t[::1] b, int64_t b_at, int64_t width) noexcept nogil:
    """Whether `width` bytes are the same; no bytes are."""
    cdef uint8_t last
    if width <= 0:
        return True
    if CHECKED:
        last = a[a_at + width - 1]
        last = b[b_at + width - 1]
    return memcmp(&a[a_at], &b[b_at], <size_t>width) == 0


cdef inline bint equal_short(const uint8_t[::1] a, int64_t a_at, const uint8_t[::1] b, int64_t b_at, int64_t width) noexcept nogil:
    """As `equal_bytes`, without a call where there are 4 to 16 bytes."""
    cdef uint32_t one, two, other_one, other_two
    cdef uint8_t last
    if 8 <= width <= 16:
        return load64(a, a_at) == load64(b, b_at) and load64(a, a_at + width - 8) == load64(b, b_at + width - 8)
    if not 4 <= width <= 16:
        return equal_bytes(a, a_at, b, b_at, width)
    if CHECKED:
        last = a[a_at + width - 1]
        last = b[b_at + width - 1]
    memcpy(&one, &a[a_at], 4)
    memcpy(&other_one, &b[b_at], 4)
    memcpy(&two, &a[a_at + width - 4], 4)
    memcpy(&other_two, &b[b_at + width - 4], 4)
    return one == other_one and two == other_two


cdef inline int64_t find_byte(const uint8_t[::1] data, int64_t at, int64_t end, int byte) noexcept nogil:
    """The first place of a byte in data[at:end], `end` where it is not there."""
    cdef uint8_t last
    cdef const uint8_t *found
    if at >= end:
        return end
    if CHECKED:
        last = data[end - 1]
    found = <const uint8_t *>memchr(&data[at], byte, <size_t>(end - at))
    return end if found == NULL else at + (found - &data[at])


cdef inline int64_t next_two(
    const uint8_t[::1] data, int64_t at, int64_t stop, int64_t apart, uint8_t first, uint8_t second, uint8_t fold
) noexcept nogil:
    """The first place in data[at:stop] that has one byte, and another `apart` bytes behind; `stop` where there is none.

    The bits of `fold` are set in each byte before it is compared, as they must be in the two that are looked for.
    """
    cdef uint8_t last
    if at >= stop:
        return stop
    if CHECKED:
        last = data[stop + apart - 1]
    return sse_next_two(&data[0], at, stop, apart, first, second, fold)


cdef inline uint64_t zero_bytes(uint64_t word) noexcept nogil:
    """The high bit of the lowest zero byte is the lowest bit set; 0 where no byte is zero."""
    return (word - LOW_BITS) & ~word & HIGH_BITS


cdef inline int64_t first_byte(uint64_t marks) noexcept nogil:
    """The index of the byte that holds the lowest bit set; the marks must not be 0."""
    return lowest_bit(marks) >> 3
