"""The quotes, backslashes and control characters of a JSON text, found 64 bytes at a time before it is parsed.

A parser that looks for the end of each string guesses how long it is, and waits where it has guessed wrong; of a list of
marks, the end is the next one. Making the list pays where the processor has AVX-512 (see `wide`): nothing here may be
called on others.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from rageval_batch.columnar.kernels.buffers cimport CHECKED
from rageval_batch.columnar.kernels.wide cimport has_wide


cdef enum:
    MARK_ROOM = 80  # words behind those that marks can take
    MOST_MARKED = 0x7fffffff  # bytes of a text whose places fit into a word, with room


cdef extern from *:
    """
    #if defined(RAGEVAL_TARGET)
    /* Lists the places of quotes, backslashes and control characters, then the width. 16 are written at once, however
       many there are: 64 bytes seldom have more. */
    RAGEVAL_TARGET static void rageval_wide_list_marks(const uint8_t *text, int64_t width, uint32_t *out) {
        static const uint8_t places[64] = {
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
            30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56,
            57, 58, 59, 60, 61, 62, 63};
        const __m512i all = _mm512_loadu_si512((const void *)places);
        const __m512i quote = _mm512_set1_epi8(34), slash = _mm512_set1_epi8(92), space = _mm512_set1_epi8(32);
        int64_t at;
        for (at = 0; at < width; at += 64) {
            const uint64_t there = width - at >= 64 ? ~0ULL : (1ULL << (width - at)) - 1;
            const __m512i some = _mm512_maskz_loadu_epi8(there, text + at);
            const uint64_t marks = there & (_mm512_cmpeq_epi8_mask(some, quote) | _mm512_cmpeq_epi8_mask(some, slash)
                | _mm512_cmplt_epu8_mask(some, space));
            __m512i found = _mm512_maskz_compress_epi8(marks, all);
            int64_t k, count = _mm_popcnt_u64(marks);
            for (k = 0; k < count; k += 16) {
                _mm512_storeu_si512((void *)(out + k), _mm512_add_epi32(
                    _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)), _mm512_set1_epi32((int)at)));
                found = _mm512_shuffle_i64x2(found, found, 0x39);
            }
            out += count;
        }
        *out = (uint32_t)width;
    }
    #else
    #define rageval_wide_list_marks(text, width, out) ((void)0)
    #endif
    """
    void wide_list_marks "rageval_wide_list_marks"(const uint8_t *text, int64_t width, uint32_t *out) noexcept nogil


cdef inline void find_marks(
    const uint8_t[::1] data, int64_t start, int64_t end, uint32_t[::1] marks
) noexcept nogil:
    """The places of the marks of data[start:end], counted from `start`, and behind them its length.

    `marks` must have MARK_ROOM more words than there are bytes.
    """
    cdef uint8_t last
    if CHECKED and start < end:
        last = data[end - 1]
        marks[end - start + MARK_ROOM - 1] = 0
    wide_list_marks(&data[start], end - start, &marks[0])
