"""Resampling loops with their own counter-based random numbers: the same bits on every machine.

Draw k of a stream is a hash of its seed and k, so nothing is carried from one resample to the next and no table of
indices is ever made.
"""

import numpy as np
from libc.math cimport NAN, fabs
from libc.stdint cimport int64_t, uint64_t


cdef inline uint64_t random_word(uint64_t seed, uint64_t k) noexcept nogil:
    cdef uint64_t z = seed + (k + 1) * <uint64_t>0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


def word(uint64_t seed, uint64_t k):
    """64 random bits: number k of the stream that a seed stands for (SplitMix64)."""
    return random_word(seed, k)


def resampled_means(sample, sample_weights, uint64_t seed, Py_ssize_t count):
    """Weighted means of `count` resamples with return; NaN where a resample's weights sum to 0, none for no values."""
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


def extreme_flips(values, double limit, uint64_t seed, Py_ssize_t count):
    """How many of `count` random choices of signs give a sum as far from 0 as the limit."""
    fours = np.zeros(((len(values) + 63) // 64 * 16, 4), np.float64)
    fours.ravel()[: len(values)] = values
    table = np.zeros((len(fours), 16), np.float64)  # of four values with all their signs: four bits cost one addition
    for j in range(4):
        table += fours[:, j, None] * np.where((np.arange(16) >> j) & 1, 1.0, -1.0)
    cdef const double[::1] sums = table.ravel()
    cdef int64_t words = sums.shape[0] // 256
    cdef int64_t r, w, group, found = 0
    cdef uint64_t bits
    cdef double total
    with nogil:
        for r in range(count):
            total = 0.0
            for w in range(words):
                bits = random_word(seed, r * words + w)
                for group in range(w * 16, w * 16 + 16):
                    total += sums[group * 16 + <int64_t>(bits & 15)]
                    bits >>= 4
            if fabs(total) >= limit:
                found += 1
    return found


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


def assign_blocks(Py_ssize_t count, uint64_t blocks, uint64_t seed):
    """A block for each of `count` rows, at random."""
    assigned = np.empty(count, np.int64)
    cdef int64_t[::1] out = assigned
    cdef Py_ssize_t k
    with nogil:
        for k in range(count):
            out[k] = ((random_word(seed, k) >> 32) * blocks) >> 32
    return assigned
