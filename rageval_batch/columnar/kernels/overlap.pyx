"""What pairs of numbered sequences share: bags, pairs of neighbours, order. Pair p compares the sequences `left[p]` and
`right[p]`; a sequence is a range of codes. Empty sequences share nothing."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free

from rageval_batch.columnar.kernels.slots cimport Slot, Table, filled, no_table, reserve, slot_of


def same_sequence(
    const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right
):
    """Whether the sequences of each pair are equal. Two empty ones are."""
    same = np.zeros(len(left), np.bool_)
    cdef uint8_t[::1] out = same.view(np.uint8)
    cdef Py_ssize_t p
    cdef int64_t k, size, a, b
    with nogil:
        for p in range(left.shape[0]):
            a, b = bounds[left[p]], bounds[right[p]]
            size = bounds[left[p] + 1] - a
            if size != bounds[right[p] + 1] - b:
                continue
            k = 0
            while k < size and codes[a + k] == codes[b + k]:
                k += 1
            out[p] = k == size
    return same


def shared_codes(
    const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right, Py_ssize_t known
):
    """How many codes (below `known`) the sequences of each pair share, as bags."""
    shared = np.zeros(len(left), np.int64)
    cdef int64_t[::1] out = shared
    cdef int32_t[::1] count = np.zeros(known, np.int32)
    cdef Py_ssize_t p
    cdef int64_t k, found
    cdef int32_t code
    with nogil:
        for p in range(left.shape[0]):
            for k in range(bounds[left[p]], bounds[left[p] + 1]):
                count[codes[k]] += 1
            found = 0
            for k in range(bounds[right[p]], bounds[right[p] + 1]):
                code = codes[k]
                if count[code] > 0:
                    count[code] -= 1
                    found += 1
            for k in range(bounds[left[p]], bounds[left[p] + 1]):
                count[codes[k]] = 0
            out[p] = found
    return shared


def codes_among(
    const int64_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] others, const int64_t[::1] other_bounds,
    const int64_t[::1] which, Py_ssize_t known,
):
    """How many codes of sequence r, repeats too, are among those of the other sequence `which[r]`.

    The others are below `known` and not below 0; a code below 0 is among none.
    """
    found = np.zeros(len(which), np.int64)
    cdef int64_t[::1] out = found
    cdef int64_t[::1] seen = np.full(known, -1, np.int64)  # the other sequence that had a code last
    cdef Py_ssize_t r
    cdef int64_t k, current = -1
    with nogil:
        for r in range(which.shape[0]):
            if which[r] != current:
                current = which[r]
                for k in range(other_bounds[current], other_bounds[current + 1]):
                    seen[others[k]] = current
            for k in range(bounds[r], bounds[r + 1]):
                out[r] += codes[k] >= 0 and seen[codes[k]] == current
    return found


def shared_pairs(const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right):
    """How many pairs of adjacent codes the sequences of each pair share, as bags."""
    shared = np.zeros(len(left), np.int64)
    cdef int64_t[::1] out = shared
    cdef Py_ssize_t p
    cdef int64_t k
    cdef Slot* slot
    cdef Table table = no_table()
    cdef bint failed = False
    with nogil:
        for p in range(left.shape[0]):
            if reserve(&table, bounds[left[p] + 1] - bounds[left[p]]) < 0:
                failed = True
                break
            for k in range(bounds[left[p]], bounds[left[p] + 1] - 1):
                filled(&table, <uint64_t>codes[k] << 32 | <uint64_t>codes[k + 1]).left += 1
            for k in range(bounds[right[p]], bounds[right[p] + 1] - 1):
                slot = slot_of(&table, <uint64_t>codes[k] << 32 | <uint64_t>codes[k + 1])
                if slot.stamp == table.stamp and slot.right < slot.left:
                    slot.right += 1
                    out[p] += 1
        free(table.slots)
    if failed:
        raise MemoryError
    return shared


def common_subsequence(
    const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right, Py_ssize_t known
):
    """The length of the longest common subsequence of each pair.

    64 codes of the left sequence at a time (Hyyrö's bit vectors); the carries between them are kept a bit a code of
    the right sequence, so that memory does not grow with the product of the lengths.
    """
    lengths = np.zeros(len(left), np.int64)
    cdef int64_t[::1] out = lengths
    cdef uint64_t[::1] places = np.zeros(known, np.uint64)
    cdef int64_t longest = int(np.diff(bounds).max(initial=0))
    cdef uint8_t[::1] carries = np.zeros(longest, np.uint8)
    cdef Py_ssize_t p
    cdef int64_t k, first, last, begin, size, start, width
    cdef uint64_t open, matched, total, partial
    cdef uint8_t carry
    with nogil:
        for p in range(left.shape[0]):
            first, last = bounds[left[p]], bounds[left[p] + 1]
            begin = bounds[right[p]]
            size = bounds[right[p] + 1] - begin
            for k in range(size):
                carries[k] = 0
            start = first
            while start < last:
                width = min(last - start, 64)
                for k in range(width):
                    places[codes[start + k]] |= <uint64_t>1 << k
                open = ~<uint64_t>0
                for k in range(size):
                    matched = open & places[codes[begin + k]]
                    partial = open + matched
                    carry = partial < open
                    total = partial + carries[k]
                    carry |= total < partial
                    carries[k] = carry
                    open = total | (open & ~matched)
                for k in range(width):
                    out[p] += not (open >> k) & 1
                    places[codes[start + k]] = 0
                start += width
    return lengths
