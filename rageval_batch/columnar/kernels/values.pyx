"""Values of JSON texts as whole numbers, and what is new in its row."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


def whole_numbers(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends):
    """(value, is one) of JSON numbers written as whole numbers of 64 bits; anything else, and empty, gives 0 and no."""
    values = np.zeros(len(starts), np.int64)
    valid = np.zeros(len(starts), np.bool_)
    cdef int64_t[::1] out = values
    cdef uint8_t[::1] good = valid.view(np.uint8)
    cdef Py_ssize_t k
    cdef int64_t at, end
    cdef uint64_t value
    cdef bint negative, fine
    with nogil:
        for k in range(starts.shape[0]):
            at, end = starts[k], ends[k]
            negative = at < end and data[at] == 45
            at += negative
            fine = 0 < end - at <= 19  # so many digits cannot overflow 64 bits without a sign
            value = 0
            while at < end and fine:
                fine = 48 <= data[at] <= 57
                value = value * 10 + <uint64_t>(data[at] - 48)
                at += 1
            if fine and value <= (<uint64_t>1 << 63) - 1 + negative:
                out[k] = <int64_t>(~value + 1) if negative else <int64_t>value
                good[k] = True
    return values, valid


def first_in_row(const int32_t[::1] row, const int32_t[::1] code, Py_ssize_t codes):
    """Which codes (below `codes`) are met for the first time in their row; rows stand together; -1 is never new."""
    new = np.zeros(len(row), np.bool_)
    cdef uint8_t[::1] out = new.view(np.uint8)
    cdef int32_t[::1] seen = np.full(codes, -1, np.int32)
    cdef Py_ssize_t k
    with nogil:
        for k in range(row.shape[0]):
            if code[k] >= 0 and seen[code[k]] != row[k]:
                seen[code[k]] = row[k]
                out[k] = True
    return new
