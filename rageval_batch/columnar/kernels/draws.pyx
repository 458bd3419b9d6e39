"""Means of random draws from a sample. The numbers come from a counter, so they are the same on every machine."""

import numpy as np
from libc.math cimport NAN, cos, log, sqrt
from libc.stdint cimport uint64_t

from rageval_batch.columnar.kernels.splitmix cimport random_word


cdef double UNIT = 2.0**-53
cdef double TURN = 2.0 * 3.141592653589793


def drawn_means(sample, sample_weights, Py_ssize_t count, uint64_t seed):
    """`count` weighted means of as many values as there are, drawn with replacement; NaN where the drawn weights sum to
    0. Fewer than 2^32 values, not none."""
    cdef const double[::1] values = np.ascontiguousarray(sample)
    cdef const double[::1] weights = np.ascontiguousarray(sample_weights)
    means = np.empty(count)
    cdef double[::1] out = means
    cdef uint64_t place, size = values.shape[0], counter = seed
    cdef double total, weight
    cdef Py_ssize_t k, draw
    with nogil:
        for k in range(count):
            total = weight = 0.0
            for draw in range(values.shape[0]):
                place = ((random_word(0, counter) >> 32) * size) >> 32
                total += values[<Py_ssize_t>place] * weights[<Py_ssize_t>place]
                weight += weights[<Py_ssize_t>place]
                counter += 1
            out[k] = total / weight if weight != 0.0 else NAN
    return means


def normal_draws(double mean, double deviation, Py_ssize_t count, uint64_t seed):
    """`count` numbers of a normal distribution."""
    drawn = np.empty(count)
    cdef double[::1] out = drawn
    cdef uint64_t counter = seed
    cdef double first, second
    cdef Py_ssize_t k
    with nogil:
        for k in range(count):
            first = (<double>(random_word(0, counter) >> 11) + 0.5) * UNIT
            second = <double>(random_word(0, counter + 1) >> 11) * UNIT
            counter += 2
            out[k] = mean + deviation * sqrt(-2.0 * log(first)) * cos(TURN * second)
    return drawn
