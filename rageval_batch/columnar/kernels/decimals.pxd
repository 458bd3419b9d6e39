"""Exact sums: each value is taken to 18 decimals, the sum is one of integers of 128 bits, and it is rounded to a double
once. So it is the same bits in any order, on every machine."""

from libc.math cimport fabs, ldexp
from libc.stdint cimport int64_t, uint64_t


cdef extern from *:
    """
    #define RAGEVAL_DECIMALS 1e18
    #define RAGEVAL_TWO_63 9223372036854775808.0
    """
    const double DECIMALS "RAGEVAL_DECIMALS"
    const double TWO_63 "RAGEVAL_TWO_63"


cdef struct Wide:  # an integer of 128 bits
    uint64_t low
    int64_t high


cdef inline void add_decimal(Wide *total, double value) noexcept nogil:
    """Add a value, below 1e20, taken to 18 decimals."""
    cdef double scaled = value * DECIMALS, rest
    cdef int64_t whole
    cdef uint64_t low
    if fabs(scaled) < TWO_63:
        whole = <int64_t>scaled
        rest = scaled - <double>whole  # 0 for all but small values
        whole += (rest >= 0.5) - (rest <= -0.5)
        total.low += <uint64_t>whole
        total.high += (total.low < <uint64_t>whole) - (whole < 0)
        return
    scaled = fabs(scaled)
    whole = <int64_t>(scaled * (0.5 / TWO_63))
    low = <uint64_t>(scaled - <double>whole * (2.0 * TWO_63))
    if value > 0:
        total.low += low
        total.high += whole + (total.low < low)
    else:
        total.high -= whole + (total.low < low)
        total.low -= low


cdef inline void add_times(Wide *total, double value, int64_t times) noexcept nogil:
    """Add a value, taken to 18 decimals, so many times."""
    cdef Wide one
    cdef uint64_t low, middle, other, count = <uint64_t>times
    one.low, one.high = 0, 0
    add_decimal(&one, value)
    low = (one.low & <uint64_t>0xFFFFFFFF) * (count & <uint64_t>0xFFFFFFFF)
    middle = (one.low >> 32) * (count & <uint64_t>0xFFFFFFFF) + (low >> 32)
    other = (one.low & <uint64_t>0xFFFFFFFF) * (count >> 32) + (middle & <uint64_t>0xFFFFFFFF)
    low = (other << 32) | (low & <uint64_t>0xFFFFFFFF)
    total.low += low
    total.high = <int64_t>(
        <uint64_t>total.high
        + (total.low < low)
        + (one.low >> 32) * (count >> 32)
        + (middle >> 32)
        + (other >> 32)
        + <uint64_t>one.high * count
    )


cdef inline double rounded(Wide total) noexcept nogil:
    """The double nearest to the total over 1e18."""
    cdef uint64_t low = total.low, high = <uint64_t>total.high, digits, rest, behind = 0
    cdef uint64_t limbs[4]
    cdef int shift = 0, turn, k
    cdef bint negative = total.high < 0
    cdef double found
    if negative:
        low = ~low + 1
        high = ~high + (low == 0)
    if high == 0 and low == 0:
        return 0.0
    # As an integer of 119 bits, its quotient has 59 or 60: more than a double, and the rest is one bit.
    while high >= <uint64_t>1 << 55:
        behind |= low & 1
        low = (low >> 1) | (high << 63)
        high >>= 1
        shift -= 1
    if high == 0:
        high, low = low, 0
        shift += 64
        while high >= <uint64_t>1 << 55:
            low = (low >> 1) | (high << 63)
            high >>= 1
            shift -= 1
    while high < <uint64_t>1 << 54:
        high = (high << 1) | (low >> 63)
        low <<= 1
        shift += 1
    limbs[0] = high >> 32
    limbs[1] = high & <uint64_t>0xFFFFFFFF
    limbs[2] = low >> 32
    limbs[3] = low & <uint64_t>0xFFFFFFFF
    for turn in range(2):  # divided by 1e9 twice
        rest = 0
        for k in range(4):
            digits = (rest << 32) | limbs[k]
            limbs[k] = digits // 1000000000
            rest = digits % 1000000000
        behind |= rest
    digits = (limbs[2] << 32) | limbs[3]
    found = ldexp(<double>(digits | (behind != 0)), -shift)
    return -found if negative else found
