"""The words of `buffers.pxd`, for columns of them, which is what their tests call; and arrays that grow."""

import numpy as np


VARIANT = ("plain", "checked", "sanitized")[VARIANT_NUMBER]  # how these modules were compiled, by `hatch_build.py`


def popcounts(const uint64_t[:] words):
    """How many bits of each word are set."""
    counts = np.empty(len(words), np.int64)
    cdef int64_t[::1] out = counts
    cdef Py_ssize_t k
    with nogil:
        for k in range(words.shape[0]):
            out[k] = popcount(words[k])
    return counts


def first_zero_bytes(const uint64_t[:] words):
    """The index of the lowest zero byte of each word, -1 where none is zero."""
    places = np.empty(len(words), np.int64)
    cdef int64_t[::1] out = places
    cdef uint64_t marks
    cdef Py_ssize_t k
    with nogil:
        for k in range(words.shape[0]):
            marks = zero_bytes(words[k])
            out[k] = first_byte(marks) if marks else -1
    return places


def wider(values, Py_ssize_t least):
    """The same values with room for twice as many, at least for `least` more."""
    return np.concatenate([values, np.empty(max(len(values), least), values.dtype)])
