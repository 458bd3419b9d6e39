"""Two rising columns of texts merged: which rows of one have the same text as which rows of the other."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from rageval_batch.columnar.kernels.buffers cimport CHECKED


def merged_places(
    const uint8_t[::1] left, const int64_t[::1] left_offsets, bint left_ended,
    const uint8_t[::1] right, const int64_t[::1] right_offsets, bint right_ended,
):
    """(place in the left column, place in the right one) of every text of both, in their order; -1 where it is not there.

    Places end where a column ends, as there may be more of it; a column that has `ended` has no more, and all of the
    other follows. None where the texts of a column do not rise from each row to the next, by their bytes.
    """
    cdef int64_t n = left_offsets.shape[0] - 1, m = right_offsets.shape[0] - 1
    places = np.empty((2, n + m), np.int32)
    cdef int32_t[:, ::1] out = places
    cdef int64_t i = 0, j = 0, count = 0
    cdef int order
    cdef bint rising = True
    with nogil:
        while rising and (i < n or left_ended) and (j < m or right_ended) and (i < n or j < m):
            if i == n:
                order = 1
            elif j == m:
                order = -1
            else:
                order = compared(
                    left, left_offsets[i], left_offsets[i + 1], right, right_offsets[j], right_offsets[j + 1]
                )
            out[0, count] = <int32_t>i if order <= 0 else -1
            out[1, count] = <int32_t>j if order >= 0 else -1
            count += 1
            if order <= 0:
                rising = rises(left, left_offsets, i)
                i += 1
            if order >= 0:
                rising = rising and rises(right, right_offsets, j)
                j += 1
    return (places[0, :count], places[1, :count]) if rising else None


cdef inline bint rises(const uint8_t[::1] data, const int64_t[::1] offsets, int64_t k) noexcept nogil:
    """Whether the text of a row is less than that of the next; the last row has none."""
    return k + 2 == offsets.shape[0] or compared(
        data, offsets[k], offsets[k + 1], data, offsets[k + 1], offsets[k + 2]
    ) < 0


cdef inline int compared(
    const uint8_t[::1] a, int64_t a_at, int64_t a_end, const uint8_t[::1] b, int64_t b_at, int64_t b_end
) noexcept nogil:
    """Below 0, 0 or above 0: how the bytes of one text stand to those of another."""
    cdef int64_t width = min(a_end - a_at, b_end - b_at)
    cdef int order = 0
    cdef uint8_t last
    if width > 0:
        if CHECKED:
            last = a[a_at + width - 1]
            last = b[b_at + width - 1]
        order = memcmp(&a[a_at], &b[b_at], <size_t>width)
    if order == 0:
        order = (a_end - a_at > b_end - b_at) - (a_end - a_at < b_end - b_at)
    return order
