"""Substrings and membership, byte for byte: exact for UTF-8."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport equal_bytes


def contains(
    const uint8_t[::1] hay,
    const int64_t[:] h_starts,
    const int64_t[:] h_ends,
    const uint8_t[::1] needle,
    const int64_t[:] n_starts,
    const int64_t[:] n_ends,
):
    """Whether each needle is a substring of its hay, byte for byte (exact for UTF-8); an empty needle is not."""
    found = np.empty(len(h_starts), np.bool_)
    cdef uint8_t[::1] out = found.view(np.uint8)
    cdef Py_ssize_t k
    with nogil:
        for k in range(h_starts.shape[0]):
            out[k] = inside(hay, h_starts[k], h_ends[k], needle, n_starts[k], n_ends[k])
    return found


def group_hits(
    const uint8_t[::1] hay,
    const int64_t[:] starts,
    const int64_t[:] ends,
    const int32_t[:] which,
    const int64_t[::1] set_bounds,
    const int64_t[::1] group_bounds,
    const uint8_t[::1] needle,
    const int64_t[::1] needle_offsets,
):
    """(how many groups of set `which[i]` have a needle in hay i, the first such needle of every group, else -1).

    Set s has the groups from `set_bounds[s]`, group g the needles from `group_bounds[g]`, to the next one's. An empty
    needle or group is never found. The needles of all rows stand end to end, one a group of the row's set.
    """
    hits = np.zeros(len(starts), np.int32)
    cdef int32_t[::1] counts = hits
    cdef int32_t[::1] first
    cdef int64_t g, n, size = 0, to = 0
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            size += set_bounds[which[k] + 1] - set_bounds[which[k]]
    needles = np.full(size, -1, np.int32)
    first = needles
    with nogil:
        for k in range(starts.shape[0]):
            for g in range(set_bounds[which[k]], set_bounds[which[k] + 1]):
                for n in range(group_bounds[g], group_bounds[g + 1]):
                    if inside(hay, starts[k], ends[k], needle, needle_offsets[n], needle_offsets[n + 1]):
                        counts[k] += 1
                        first[to] = <int32_t>n
                        break
                to += 1
    return hits, needles


def among(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] ends,
    const int32_t[:] which,
    const uint8_t[::1] members,
    const int64_t[::1] member_offsets,
    const int64_t[::1] set_bounds,
):
    """Whether each string equals a member of set `which[i]`; set -1 has no members."""
    known = np.zeros(len(starts), np.bool_)
    cdef uint8_t[::1] out = known.view(np.uint8)
    cdef int64_t m, width
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            if which[k] < 0:
                continue
            width = ends[k] - starts[k]
            for m in range(set_bounds[which[k]], set_bounds[which[k] + 1]):
                if member_offsets[m + 1] - member_offsets[m] == width and equal_bytes(
                    members, member_offsets[m], data, starts[k], width
                ):
                    out[k] = True
                    break
    return known
