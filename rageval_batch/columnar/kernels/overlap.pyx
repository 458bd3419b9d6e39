"""What pairs of numbered sequences share: bags, n-grams, order, characters. Pair p compares the left sequence
`left[p]` with the right sequence p; a sequence is a range of codes. Empty sequences share nothing."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from rageval_batch.columnar.kernels.utf8 cimport code_point


def same_sequence(
    const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, int64_t right
):
    """Whether the sequences of each pair are equal; the right sequence of pair p is `right + p`. Two empty ones are."""
    same = np.zeros(len(left), np.bool_)
    cdef uint8_t[::1] out = same.view(np.uint8)
    cdef Py_ssize_t p
    cdef int64_t k, size, a, b
    with nogil:
        for p in range(left.shape[0]):
            a, b = bounds[left[p]], bounds[right + p]
            size = bounds[left[p] + 1] - a
            if size != bounds[right + p + 1] - b:
                continue
            k = 0
            while k < size and codes[a + k] == codes[b + k]:
                k += 1
            out[p] = k == size
    return same


def shared_codes(
    const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, int64_t right, Py_ssize_t known
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
            for k in range(bounds[right + p], bounds[right + p + 1]):
                code = codes[k]
                if count[code] > 0:
                    count[code] -= 1
                    found += 1
            for k in range(bounds[left[p]], bounds[left[p] + 1]):
                count[codes[k]] = 0
            out[p] = found
    return shared


cdef struct Slot:
    uint64_t key
    uint32_t stamp       # of the round in which the slot was filled
    int32_t left         # how often the left sequence has the key
    int32_t right        # and how often it was met in the right one


cdef struct Table:
    Slot* slots
    int64_t mask
    uint32_t stamp


cdef inline Table no_table() noexcept nogil:
    cdef Table table
    table.slots, table.mask, table.stamp = NULL, -1, 0
    return table


cdef int reserve(Table* table, int64_t count) noexcept nogil:
    """Slots for `count` keys at half load, all empty; -1 where there is no memory."""
    cdef int64_t size
    table.stamp += 1
    if table.mask >= 0 and table.mask + 1 >= 2 * count and table.stamp != 0:
        return 0
    size = max(table.mask + 1, 64)
    while size < 2 * count:
        size *= 2
    free(table.slots)
    table.slots = <Slot*>calloc(size, sizeof(Slot))
    table.mask = size - 1
    table.stamp = 1
    return 0 if table.slots else -1


cdef inline Slot* slot_of(Table* table, uint64_t key) noexcept nogil:
    """The slot that has the key, or the empty one where it belongs."""
    cdef uint64_t hash = key * <uint64_t>0x9E3779B97F4A7C15
    cdef int64_t at = <int64_t>((hash ^ hash >> 32) & <uint64_t>table.mask)
    while table.slots[at].stamp == table.stamp and table.slots[at].key != key:
        at = (at + 1) & table.mask
    return &table.slots[at]


cdef inline Slot* filled(Table* table, uint64_t key) noexcept nogil:
    """The slot of a key, which is there from now on."""
    cdef Slot* slot = slot_of(table, key)
    if slot.stamp != table.stamp:
        slot.stamp, slot.key, slot.left, slot.right = table.stamp, key, 0, 0
    return slot


def shared_pairs(const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, int64_t right):
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
            for k in range(bounds[right + p], bounds[right + p + 1] - 1):
                slot = slot_of(&table, <uint64_t>codes[k] << 32 | <uint64_t>codes[k + 1])
                if slot.stamp == table.stamp and slot.right < slot.left:
                    slot.right += 1
                    out[p] += 1
        free(table.slots)
    if failed:
        raise MemoryError
    return shared


def pair_jaccard(const uint32_t[::1] points, const int64_t[::1] bounds, const int64_t[::1] left, int64_t right):
    """Adjacent pairs of characters that both sequences have over those that either has, as sets; 0 without any."""
    similarity = np.zeros(len(left), np.float64)
    cdef double[::1] out = similarity
    cdef Py_ssize_t p
    cdef int64_t k, both, either
    cdef Slot* slot
    cdef Table table = no_table()
    cdef bint failed = False
    with nogil:
        for p in range(left.shape[0]):
            k = bounds[left[p] + 1] - bounds[left[p]] + bounds[right + p + 1] - bounds[right + p]
            if reserve(&table, k) < 0:
                failed = True
                break
            both, either = 0, 0
            for k in range(bounds[left[p]], bounds[left[p] + 1] - 1):
                slot = filled(&table, <uint64_t>points[k] << 32 | points[k + 1])
                either += slot.left == 0
                slot.left = 1
            for k in range(bounds[right + p], bounds[right + p + 1] - 1):
                slot = filled(&table, <uint64_t>points[k] << 32 | points[k + 1])
                if slot.right == 0:
                    slot.right = 1
                    both += slot.left
                    either += slot.left == 0
            if either:
                out[p] = <double>both / <double>either
        free(table.slots)
    if failed:
        raise MemoryError
    return similarity


def common_subsequence(
    const int32_t[::1] codes, const int64_t[::1] bounds, const int64_t[::1] left, int64_t right, Py_ssize_t known
):
    """The length of the longest common subsequence of each pair.

    64 codes of the left sequence at a time (Hyyrö's bit vectors); the carries between them are kept a bit a code of
    the right sequence, so that memory does not grow with the product of the lengths.
    """
    lengths = np.zeros(len(left), np.int64)
    cdef int64_t[::1] out = lengths
    cdef uint64_t[::1] places = np.zeros(known, np.uint64)
    cdef int64_t longest = int(np.diff(bounds[right:]).max(initial=0)) if len(left) else 0
    cdef uint8_t[::1] carries = np.zeros(longest, np.uint8)
    cdef Py_ssize_t p
    cdef int64_t k, first, last, begin, size, start, width
    cdef uint64_t open, matched, total, partial
    cdef uint8_t carry
    with nogil:
        for p in range(left.shape[0]):
            first, last = bounds[left[p]], bounds[left[p] + 1]
            begin = bounds[right + p]
            size = bounds[right + p + 1] - begin
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


def shared_grams(
    const uint32_t[::1] points, const int64_t[::1] bounds, const int64_t[::1] left, int64_t right, Py_ssize_t orders
):
    """How many n-grams of characters, n from 1 to `orders`, the sequences of each pair share, as bags: a row a pair.

    An n-gram is the slot of its first n - 1 characters and one more; one that only one side has is not made longer.
    """
    shared = np.zeros((len(left), orders), np.int64)
    cdef int64_t[:, ::1] out = shared
    cdef int64_t longest = int(np.diff(bounds).max(initial=0))
    # Of each place the number of the n-gram that begins there, -1 where the other side does not have it.
    cdef int64_t[::1] of_left = np.zeros(longest + 1, np.int64)
    cdef int64_t[::1] of_right = np.zeros(longest + 1, np.int64)
    cdef Py_ssize_t p, order
    cdef int64_t k, found, first, begin, sizes, size
    cdef Slot* slot
    cdef Table table = no_table()
    cdef bint failed = False
    with nogil:
        for p in range(left.shape[0]):
            first, begin = bounds[left[p]], bounds[right + p]
            sizes, size = bounds[left[p] + 1] - first, bounds[right + p + 1] - begin
            for k in range(sizes):
                of_left[k] = 0
            for k in range(size):
                of_right[k] = 0
            for order in range(orders):
                if reserve(&table, sizes) < 0:
                    failed = True
                    break
                found = 0
                for k in range(sizes - order):
                    if of_left[k] >= 0:
                        slot = filled(&table, <uint64_t>of_left[k] << 21 | points[first + k + order])
                        slot.left += 1
                        of_left[k] = slot - table.slots
                for k in range(size - order):
                    if of_right[k] >= 0:
                        slot = slot_of(&table, <uint64_t>of_right[k] << 21 | points[begin + k + order])
                        if slot.stamp != table.stamp:
                            of_right[k] = -1
                            continue
                        of_right[k] = slot - table.slots
                        found += slot.right < slot.left
                        slot.right += 1
                out[p, order] = found
                if found == 0:
                    break
                for k in range(sizes - order):
                    if of_left[k] >= 0 and table.slots[of_left[k]].right == 0:
                        of_left[k] = -1
            if failed:
                break
        free(table.slots)
    if failed:
        raise MemoryError
    return shared


def unspaced_points(const uint8_t[::1] data, const int64_t[::1] offsets, const uint8_t[::1] kinds, uint8_t space):
    """(code points without those of kind `space`, bounds of each text's)."""
    cdef Py_ssize_t count = offsets.shape[0] - 1
    points = np.empty(int(offsets[count] - offsets[0]), np.uint32)
    bounds = np.zeros(count + 1, np.int64)
    cdef uint32_t[::1] out = points
    cdef int64_t[::1] ends = bounds
    cdef Py_ssize_t row
    cdef int64_t at, point, width, used = 0
    with nogil:
        for row in range(count):
            at = offsets[row]
            while at < offsets[row + 1]:
                point, width = code_point(data, at)
                at += width
                if not kinds[point] & space:
                    out[used] = <uint32_t>point
                    used += 1
            ends[row + 1] = used
    return points[:used], bounds
