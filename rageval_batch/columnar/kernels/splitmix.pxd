"""Random numbers from a counter (SplitMix64): the same bits on every machine, nothing carried from draw to draw."""

from libc.stdint cimport uint64_t


cdef inline uint64_t random_word(uint64_t seed, uint64_t k) noexcept nogil:
    """64 random bits: number k of the stream that a seed stands for."""
    cdef uint64_t z = seed + (k + 1) * <uint64_t>0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)
