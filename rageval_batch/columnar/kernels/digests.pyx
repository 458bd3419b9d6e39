"""Rows told apart by a digest that nobody can foresee: SipHash-2-4 of 128 bits with a key, and a table of digests."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport load64


cdef struct Sip:
    uint64_t a
    uint64_t b
    uint64_t c
    uint64_t d


cdef inline uint64_t turned(uint64_t word, int bits) noexcept nogil:
    return (word << bits) | (word >> (64 - bits))


cdef inline void mix(Sip* state) noexcept nogil:
    """One round."""
    state.a += state.b
    state.b = turned(state.b, 13) ^ state.a
    state.a = turned(state.a, 32)
    state.c += state.d
    state.d = turned(state.d, 16) ^ state.c
    state.a += state.d
    state.d = turned(state.d, 21) ^ state.a
    state.c += state.b
    state.b = turned(state.b, 17) ^ state.c
    state.c = turned(state.c, 32)


cdef inline void absorb(Sip* state, uint64_t word) noexcept nogil:
    state.d ^= word
    mix(state)
    mix(state)
    state.a ^= word


cdef inline uint64_t squeezed(Sip* state) noexcept nogil:
    mix(state)
    mix(state)
    mix(state)
    mix(state)
    return state.a ^ state.b ^ state.c ^ state.d


def keyed_digests(key, const int32_t[:] numbers, columns):
    """Two words for every row: of its number and its texts, given as (Strings, flags of those that are not null).

    A row's message is its number, then of each text the length (-1 for null) and the bytes, filled up with zeros; all
    in words of eight bytes, so that different rows have different messages.
    """
    cdef uint64_t first_key = key[0]
    cdef uint64_t second_key = key[1]
    cdef Py_ssize_t rows = numbers.shape[0]
    states = np.empty((rows, 5), np.uint64)
    found = np.empty((rows, 2), np.uint64)
    cdef uint64_t[:, ::1] kept = states
    cdef uint64_t[:, ::1] out = found
    cdef const uint8_t[::1] data
    cdef const int64_t[::1] offsets
    cdef const uint8_t[::1] valid
    cdef uint64_t word, words
    cdef int64_t at, end
    cdef int shift
    cdef Sip state
    cdef Py_ssize_t row
    with nogil:
        for row in range(rows):
            state.a = first_key ^ <uint64_t>0x736F6D6570736575
            state.b = second_key ^ <uint64_t>0x646F72616E646F6D ^ 0xEE
            state.c = first_key ^ <uint64_t>0x6C7967656E657261
            state.d = second_key ^ <uint64_t>0x7465646279746573
            absorb(&state, <uint64_t>numbers[row])
            kept[row, 0], kept[row, 1], kept[row, 2], kept[row, 3] = state.a, state.b, state.c, state.d
            kept[row, 4] = 1
    for texts, there in columns:
        data, offsets, valid = texts.data, texts.offsets, there.view(np.uint8)
        with nogil:
            for row in range(rows):
                state.a, state.b, state.c, state.d = kept[row, 0], kept[row, 1], kept[row, 2], kept[row, 3]
                words = kept[row, 4] + 1
                at, end = offsets[row], offsets[row + 1]
                if valid[row]:
                    absorb(&state, <uint64_t>(end - at))
                    while at + 8 <= end:
                        absorb(&state, load64(data, at))
                        words += 1
                        at += 8
                    if at < end:
                        word, shift = 0, 0
                        while at < end:
                            word |= <uint64_t>data[at] << shift
                            shift += 8
                            at += 1
                        absorb(&state, word)
                        words += 1
                else:
                    absorb(&state, <uint64_t>-1)
                kept[row, 0], kept[row, 1], kept[row, 2], kept[row, 3] = state.a, state.b, state.c, state.d
                kept[row, 4] = words
    with nogil:
        for row in range(rows):
            state.a, state.b, state.c, state.d = kept[row, 0], kept[row, 1], kept[row, 2], kept[row, 3]
            absorb(&state, (8 * kept[row, 4]) << 56)
            state.c ^= 0xEE
            out[row, 0] = squeezed(&state)
            state.b ^= 0xDD
            out[row, 1] = squeezed(&state)
    return found


cdef inline int64_t place_of(
    const uint64_t[:, ::1] keys, const int32_t[::1] values, uint64_t first, uint64_t second
) noexcept nogil:
    """The slot that has a digest, or the empty one where it belongs; a table is never full."""
    cdef int64_t mask = values.shape[0] - 1
    cdef int64_t at = <int64_t>(first & <uint64_t>mask)
    while values[at] >= 0 and (keys[at, 0] != first or keys[at, 1] != second):
        at = (at + 1) & mask
    return at


def room_for_digests(count):
    """(keys, values) of an empty table for so many digests, at most half full; its size is a power of two."""
    size = 64
    while size < 2 * count:
        size *= 2
    return np.empty((size, 2), np.uint64), np.full(size, -1, np.int32)


def insert_digests(uint64_t[:, ::1] keys, int32_t[::1] values, const uint64_t[:, ::1] digests, const int32_t[:] numbers):
    """Give every digest its number, from 0; one that is in the table keeps the number that it has."""
    cdef int64_t at
    cdef Py_ssize_t row
    with nogil:
        for row in range(digests.shape[0]):
            at = place_of(keys, values, digests[row, 0], digests[row, 1])
            if values[at] < 0:
                keys[at, 0], keys[at, 1] = digests[row, 0], digests[row, 1]
                values[at] = numbers[row]


def find_digests(const uint64_t[:, ::1] keys, const int32_t[::1] values, const uint64_t[:, ::1] digests):
    """The number of every digest in a table, -1 where it is not there."""
    found = np.empty(len(digests), np.int32)
    cdef int32_t[::1] out = found
    cdef Py_ssize_t row
    with nogil:
        for row in range(digests.shape[0]):
            out[row] = values[place_of(keys, values, digests[row, 0], digests[row, 1])]
    return found


def distinct_digests(const uint64_t[:, ::1] digests):
    """(first row of every distinct digest, in the order of the rows; for each row which of them it has)."""
    table, numbers = room_for_digests(len(digests))
    firsts = np.empty(len(digests), np.int32)
    rows = np.empty(len(digests), np.int32)
    cdef uint64_t[:, ::1] keys = table
    cdef int32_t[::1] values = numbers
    cdef int32_t[::1] first = firsts
    cdef int32_t[::1] which = rows
    cdef int32_t count = 0
    cdef int64_t at
    cdef Py_ssize_t row
    with nogil:
        for row in range(digests.shape[0]):
            at = place_of(keys, values, digests[row, 0], digests[row, 1])
            if values[at] < 0:
                keys[at, 0], keys[at, 1] = digests[row, 0], digests[row, 1]
                values[at] = count
                first[count] = <int32_t>row
                count += 1
            which[row] = values[at]
    return firsts[:count], rows
