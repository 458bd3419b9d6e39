"""Sums that are rounded once."""

import math

import numpy as np
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef enum:
    EXPONENTS = 2048
    LARGEST = 2014  # the exponent from which sums may leave the range of a double on the way


def fsum(const double[:] values):
    """The double nearest to the exact sum of the values, as math.fsum has it; 0.0 for none.

    Significands are added as integers, those of each exponent by themselves, in two halves that cannot run over.
    """
    halves = np.zeros((2, EXPONENTS), np.int64)
    cdef int64_t[:, ::1] sums = halves
    cdef uint64_t bits, digits
    cdef int64_t sign
    cdef Py_ssize_t k
    cdef int exponent, largest = 0
    with nogil:
        for k in range(values.shape[0]):
            memcpy(&bits, &values[k], 8)
            exponent = <int>(bits >> 52) & 2047
            digits = bits & (((<uint64_t>1) << 52) - 1)
            if exponent:
                digits |= (<uint64_t>1) << 52
            else:
                exponent = 1  # of numbers too small for a digit before the point
            largest = max(largest, exponent)
            sign = 1 - 2 * <int64_t>(bits >> 63)
            sums[0, exponent] += sign * <int64_t>(digits & <uint64_t>0xFFFFFFFF)
            sums[1, exponent] += sign * <int64_t>(digits >> 32)
    if largest >= LARGEST:  # or not finite
        return math.fsum(values)
    total = 0
    for exponent in range(largest, 0, -1):
        total += ((int(sums[1, exponent]) << 32) + int(sums[0, exponent])) << exponent
    return total / (1 << 1075)
