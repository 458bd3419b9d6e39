"""White space of UTF-8 columns, by the explicit White_Space list, and spans of text."""

import numpy as np
from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport copy_bytes
from rageval_batch.columnar.kernels.utf8 cimport space_width

from rageval_batch.columnar.strings import Strings


def strip(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends):
    """The spans without White_Space at either end; an empty or blank string gives an empty span."""
    stripped_starts = np.empty(len(starts), np.int64)
    stripped_ends = np.empty(len(starts), np.int64)
    cdef int64_t[::1] out_starts = stripped_starts
    cdef int64_t[::1] out_ends = stripped_ends
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            out_starts[k], out_ends[k] = strip_one(data, starts[k], ends[k])
    return stripped_starts, stripped_ends


def cut(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends):
    """The spans of a buffer as a column of their own; an empty span gives an empty string."""
    bounds = np.empty(len(starts) + 1, np.int64)
    cdef int64_t[::1] offsets = bounds
    cdef uint8_t[::1] out
    cdef Py_ssize_t k
    offsets[0] = 0
    with nogil:
        for k in range(starts.shape[0]):
            offsets[k + 1] = offsets[k] + ends[k] - starts[k]
    content = np.empty(offsets[starts.shape[0]], np.uint8)
    out = content
    with nogil:
        for k in range(starts.shape[0]):
            copy_bytes(data, starts[k], ends[k] - starts[k], out, offsets[k])
    return Strings(content, bounds)


def squash(column):
    """Every string without its White_Space characters; empty gives empty."""
    cdef const uint8_t[::1] data = column.data
    cdef const int64_t[::1] offsets = column.offsets
    cdef Py_ssize_t rows = offsets.shape[0] - 1
    content = np.empty(offsets[rows] - offsets[0], np.uint8)
    squashed_bounds = np.empty(rows + 1, np.int64)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] bounds = squashed_bounds
    cdef int64_t at, end, width, to = 0
    cdef Py_ssize_t k
    bounds[0] = 0
    with nogil:
        for k in range(rows):
            at, end = offsets[k], offsets[k + 1]
            while at < end:
                width = space_width(data, at, end)
                if width:
                    at += width
                    continue
                out[to] = data[at]
                to += 1
                at += 1
            bounds[k + 1] = to
    return Strings(content[:to], squashed_bounds)


def collapsed_length(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends, int64_t enough):
    """Code points of each string, white space stripped and its runs counted as one, counted up to `enough`."""
    lengths = np.empty(len(starts), np.int64)
    cdef int64_t[::1] out = lengths
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            out[k] = collapsed_one(data, starts[k], ends[k], enough)
    return lengths
