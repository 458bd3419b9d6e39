"""Resampling loops with their own counter-based random numbers: the same bits on every machine.

Draw k of a stream is a hash of its seed and k, so nothing is carried from one resample to the next and no table of
indices is ever made.
"""

import numpy as np
from libc.math cimport NAN, fabs
from libc.stdint cimport int64_t, uint64_t

from rageval_batch.columnar.kernels.wide cimport has_wide

cdef bint WIDE = has_wide()
HAS_WIDE = bool(WIDE)  # whether the random words of eight resamples are made at once


cdef extern from *:
    """
    #if defined(RAGEVAL_TARGET)
    /* Eight random words: those of resamples that stand side by side. */
    RAGEVAL_TARGET static inline __m512i rageval_eight_words(__m512i z) {
        z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 30));
        z = _mm512_mullo_epi64(z, _mm512_set1_epi64((long long)0xBF58476D1CE4E5B9ULL));
        z = _mm512_xor_si512(z, _mm512_srli_epi64(z, 27));
        z = _mm512_mullo_epi64(z, _mm512_set1_epi64((long long)0x94D049BB133111EBULL));
        return _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
    }
    /* The sums of eight resamples side by side, their random words in the lanes of a register. What is added to what,
       and in which order, is as for one. `twos`: of each value, that times its weight, then the weight. */
    RAGEVAL_TARGET static void rageval_eight_resamples(
        const double *twos, uint64_t size, uint64_t seed, uint64_t first, uint64_t words, double *out) {
        const uint64_t step = 0x9E3779B97F4A7C15ULL;
        const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        const __m512i by_step = _mm512_set1_epi64((long long)step), sizes = _mm512_set1_epi64((long long)size);
        __m512i at = _mm512_add_epi64(
            _mm512_set1_epi64((long long)(seed + (first + 1) * step)),
            _mm512_mullo_epi64(lanes, _mm512_set1_epi64((long long)(words * step))));
        __m128d sums[8];
        uint64_t low[8], high[8], k;
        int lane;
        for (lane = 0; lane < 8; lane++) sums[lane] = _mm_setzero_pd();
        for (k = 0; k < words; k++) {
            const __m512i z = rageval_eight_words(at);
            at = _mm512_add_epi64(at, by_step);
            _mm512_storeu_si512(low, _mm512_srli_epi64(_mm512_mul_epu32(z, sizes), 32));
            _mm512_storeu_si512(high, _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(z, 32), sizes), 32));
            #define RAGEVAL_DRAW(lane, from) sums[lane] = _mm_add_pd(sums[lane], _mm_loadu_pd(twos + 2 * from[lane]))
            #define RAGEVAL_DRAWS(from) \
                RAGEVAL_DRAW(0, from); RAGEVAL_DRAW(1, from); RAGEVAL_DRAW(2, from); RAGEVAL_DRAW(3, from); \
                RAGEVAL_DRAW(4, from); RAGEVAL_DRAW(5, from); RAGEVAL_DRAW(6, from); RAGEVAL_DRAW(7, from)
            RAGEVAL_DRAWS(low);
            if (2 * k + 1 < size) { RAGEVAL_DRAWS(high); }
        }
        for (lane = 0; lane < 8; lane++) _mm_storeu_pd(out + 2 * lane, sums[lane]);
    }
    /* The sums of 32 choices of signs. The 16 sums that four values can have fill two registers, out of which four bits
       of eight choices pick at once. What is added to what, and in which order, is as for one. */
    RAGEVAL_TARGET static void rageval_flips(
        const double *table, uint64_t words, uint64_t seed, uint64_t first, double *out) {
        const uint64_t step = 0x9E3779B97F4A7C15ULL;
        const __m512i by_step = _mm512_set1_epi64((long long)step);
        const __m512i by_eight = _mm512_set1_epi64((long long)(8 * words * step));
        __m512i at = _mm512_add_epi64(
            _mm512_set1_epi64((long long)(seed + (first + 1) * step)),
            _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64((long long)(words * step))));
        __m512d a = _mm512_setzero_pd(), b = a, c = a, d = a;
        uint64_t w;
        int group;
        for (w = 0; w < words; w++) {
            __m512i next = at, of_a, of_b, of_c, of_d;
            of_a = rageval_eight_words(next); next = _mm512_add_epi64(next, by_eight);
            of_b = rageval_eight_words(next); next = _mm512_add_epi64(next, by_eight);
            of_c = rageval_eight_words(next); next = _mm512_add_epi64(next, by_eight);
            of_d = rageval_eight_words(next);
            at = _mm512_add_epi64(at, by_step);
            for (group = 0; group < 16; group++, table += 16) {
                const __m512d low = _mm512_loadu_pd(table), high = _mm512_loadu_pd(table + 8);
                #define RAGEVAL_ADD(sum, bits) \
                    sum = _mm512_add_pd(sum, _mm512_permutex2var_pd(low, bits, high)); bits = _mm512_srli_epi64(bits, 4)
                RAGEVAL_ADD(a, of_a); RAGEVAL_ADD(b, of_b); RAGEVAL_ADD(c, of_c); RAGEVAL_ADD(d, of_d);
            }
        }
        _mm512_storeu_pd(out, a); _mm512_storeu_pd(out + 8, b);
        _mm512_storeu_pd(out + 16, c); _mm512_storeu_pd(out + 24, d);
    }
    #else
    #define rageval_eight_resamples(twos, size, seed, first, words, out) (void)0
    #define rageval_flips(table, words, seed, first, out) (void)0
    #endif
    """
    void eight_resamples "rageval_eight_resamples"(
        const double *twos, uint64_t size, uint64_t seed, uint64_t first, uint64_t words, double *out
    ) noexcept nogil
    void wide_flips "rageval_flips"(
        const double *table, uint64_t words, uint64_t seed, uint64_t first, double *out
    ) noexcept nogil


cdef inline uint64_t random_word(uint64_t seed, uint64_t k) noexcept nogil:
    cdef uint64_t z = seed + (k + 1) * <uint64_t>0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


def word(uint64_t seed, uint64_t k):
    """64 random bits: number k of the stream that a seed stands for (SplitMix64)."""
    return random_word(seed, k)


def resampled_means(sample, sample_weights, uint64_t seed, Py_ssize_t count, bint wide=True):
    """Weighted means of `count` resamples with return; NaN where a resample's weights sum to 0, none for no values.

    `wide`: with the wide registers of a processor that has them; the bits are the same.
    """
    if wide and WIDE and len(sample):
        return eight_at_a_time(sample, sample_weights, seed, count)
    cdef const double[::1] values = np.ascontiguousarray(sample)
    cdef const double[::1] weights = np.ascontiguousarray(sample_weights)
    cdef int64_t n = values.shape[0]
    means = np.empty(count if n else 0, np.float64)
    cdef double[::1] out = means
    cdef uint64_t bits, size = n
    cdef int64_t pairs = (n + 1) // 2
    cdef int64_t r, j, at, place
    cdef double total, weight
    with nogil:
        for r in range(out.shape[0]):
            total = 0.0
            weight = 0.0
            at = r * pairs
            for j in range(pairs):
                bits = random_word(seed, at + j)
                place = ((bits & <uint64_t>0xFFFFFFFF) * size) >> 32
                total += values[place] * weights[place]
                weight += weights[place]
                if 2 * j + 1 < n:
                    place = ((bits >> 32) * size) >> 32
                    total += values[place] * weights[place]
                    weight += weights[place]
            out[r] = total / weight if weight != 0.0 else NAN
    return means


cdef eight_at_a_time(sample, sample_weights, uint64_t seed, Py_ssize_t count):
    """What resampled_means gives for values, of a processor with wide registers."""
    cdef uint64_t size = len(sample), words = (size + 1) // 2
    twos = np.empty((len(sample), 2), np.float64)
    np.multiply(sample, sample_weights, out=twos[:, 0])
    twos[:, 1] = sample_weights
    means = np.empty(count, np.float64)
    cdef const double[:, ::1] drawn = twos
    cdef double[::1] out = means
    cdef double sums[16]
    cdef Py_ssize_t r, k
    with nogil:
        for r in range(0, count, 8):
            eight_resamples(&drawn[0, 0], size, seed, <uint64_t>r * words, words, sums)
            for k in range(min(8, count - r)):
                out[r + k] = sums[2 * k] / sums[2 * k + 1] if sums[2 * k + 1] != 0.0 else NAN
    return means


cdef enum:
    LANES = 8  # samples whose values stand side by side, so that a draw is one line of the cache


SAMPLES_AT_ONCE = LANES


def resampled_means_of_several(samples, sample_weights, uint64_t seed, Py_ssize_t count):
    """The means of resampled_means of up to SAMPLES_AT_ONCE samples of one size, a row for each sample: the same bits.

    Draws depend on the seed and the size alone, so that each is made once for all samples. `sample_weights` is None
    where all weights are 1.
    """
    cdef Py_ssize_t several = len(samples), size = len(samples[0])
    cdef bint weighted = sample_weights is not None
    lanes = np.zeros((size, LANES), np.float64)
    lane_weights = np.zeros((size if weighted else 0, LANES), np.float64)
    for number, sample in enumerate(samples):
        lanes[:, number] = sample if not weighted else sample * sample_weights[number]
        if weighted:
            lane_weights[:, number] = sample_weights[number]
    means = np.empty((several, count if size else 0), np.float64)
    cdef const double[:, ::1] values = lanes
    cdef const double[:, ::1] weights = lane_weights
    cdef double[:, ::1] out = means
    cdef double total[LANES]
    cdef double weight[LANES]
    cdef int64_t r
    cdef int lane
    for lane in range(LANES):
        weight[lane] = <double>size
    with nogil:
        for r in range(out.shape[1]):
            add_draws(values, seed, r, total)
            if weighted:
                add_draws(weights, seed, r, weight)
            for lane in range(several):
                out[lane, r] = total[lane] / weight[lane] if weight[lane] != 0.0 else NAN
    return means


cdef inline void add_draws(const double[:, ::1] lanes, uint64_t seed, int64_t resample, double *totals) noexcept nogil:
    """The sums of the values that a resample draws, of each of LANES samples."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0, e = 0.0, f = 0.0, g = 0.0, h = 0.0
    cdef uint64_t bits, size = lanes.shape[0]
    cdef int64_t pairs = <int64_t>(size + 1) // 2
    cdef int64_t first = resample * pairs
    cdef int64_t j, place
    cdef int half
    for j in range(pairs):
        bits = random_word(seed, first + j)
        for half in range(1 if <uint64_t>(2 * j + 1) == size else 2):
            place = ((bits & <uint64_t>0xFFFFFFFF) * size) >> 32
            bits >>= 32
            a += lanes[place, 0]
            b += lanes[place, 1]
            c += lanes[place, 2]
            d += lanes[place, 3]
            e += lanes[place, 4]
            f += lanes[place, 5]
            g += lanes[place, 6]
            h += lanes[place, 7]
    totals[0], totals[1], totals[2], totals[3] = a, b, c, d
    totals[4], totals[5], totals[6], totals[7] = e, f, g, h


cdef enum:
    FLIPS = 4  # choices of signs whose sums are made side by side: an addition need not wait for the one before
    WIDE_FLIPS = 32


def extreme_flips(values, double limit, uint64_t seed, Py_ssize_t count, bint wide=True):
    """How many of `count` random choices of signs give a sum as far from 0 as the limit.

    `wide`: with the wide registers of a processor that has them; the bits are the same.
    """
    fours = np.zeros(((len(values) + 63) // 64 * 16, 4), np.float64)
    fours.ravel()[: len(values)] = values
    table = np.zeros((len(fours), 16), np.float64)  # of four values with all their signs: four bits cost one addition
    for j in range(4):
        table += fours[:, j, None] * np.where((np.arange(16) >> j) & 1, 1.0, -1.0)
    cdef const double[::1] sums = table.ravel()
    cdef uint64_t words = sums.shape[0] // 256
    cdef bint in_wide = wide and WIDE and words
    cdef int64_t at_once = WIDE_FLIPS if in_wide else FLIPS
    cdef int64_t some, r, k, found = 0
    cdef double totals[WIDE_FLIPS]
    with nogil:
        for some in range((count + at_once - 1) // at_once):
            r = some * at_once
            if in_wide:
                wide_flips(&sums[0], words, seed, <uint64_t>r * words, totals)
            else:
                add_flips(sums, seed, <uint64_t>r * words, totals)
            for k in range(min(at_once, count - r)):
                if fabs(totals[k]) >= limit:
                    found += 1
    return found


cdef inline void add_flips(const double[::1] sums, uint64_t seed, uint64_t first, double *totals) noexcept nogil:
    """The sums of FLIPS choices of signs; `first` is the random word of the first of them."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef uint64_t words = sums.shape[0] // 256
    cdef uint64_t of_a, of_b, of_c, of_d, w
    cdef int64_t group
    for w in range(words):
        of_a = random_word(seed, first + w)
        of_b = random_word(seed, first + words + w)
        of_c = random_word(seed, first + 2 * words + w)
        of_d = random_word(seed, first + 3 * words + w)
        for group in range(<int64_t>w * 256, <int64_t>w * 256 + 256, 16):
            a += sums[group + <int64_t>(of_a & 15)]
            b += sums[group + <int64_t>(of_b & 15)]
            c += sums[group + <int64_t>(of_c & 15)]
            d += sums[group + <int64_t>(of_d & 15)]
            of_a >>= 4
            of_b >>= 4
            of_c >>= 4
            of_d >>= 4
    totals[0], totals[1], totals[2], totals[3] = a, b, c, d


def all_extreme_flips(const double[:] values, double limit):
    """How many of all choices of signs give a sum as far from 0 as the limit; 1 choice for no values."""
    cdef int64_t signs, found = 0
    cdef Py_ssize_t j
    cdef double total
    with nogil:
        for signs in range((<int64_t>1) << values.shape[0]):
            total = 0.0
            for j in range(values.shape[0]):
                total += values[j] if (signs >> j) & 1 else -values[j]
            if fabs(total) >= limit:
                found += 1
    return found


def block_sums(const double[:] values, sample_weights, uint64_t blocks, uint64_t seed):
    """(sums of values times weights, sums of weights) of blocks that the values are assigned to at random.

    `sample_weights` is None where all weights are 1.
    """
    cdef bint weighted = sample_weights is not None
    cdef const double[:] weights = sample_weights if weighted else values
    found = np.zeros((2, blocks), np.float64)
    cdef double[:, ::1] out = found
    cdef int64_t block
    cdef Py_ssize_t k
    with nogil:
        for k in range(values.shape[0]):
            block = ((random_word(seed, k) >> 32) * blocks) >> 32
            out[0, block] += values[k] * weights[k] if weighted else values[k]
            out[1, block] += weights[k] if weighted else 1.0
    return found[0], found[1]
