"""Texts as numbered words: equal words of a batch have equal numbers, so that everything behind is about integers."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from rageval_batch.columnar.kernels.utf8 cimport decode

# Kinds of a character, in the bits of a table above those of its lower case.
SPACE_BIT, DROPPED_BIT, WORD_BIT, ALONE_BIT = 1 << 24, 1 << 25, 1 << 26, 1 << 27
cdef uint32_t SPACE = 1 << 24    # words are cut here
cdef uint32_t DROPPED = 1 << 25  # punctuation
cdef uint32_t WORD = 1 << 26     # of `\w`: an article is a whole run of these
cdef uint32_t ALONE = 1 << 27    # a word by itself
cdef uint32_t POINT = (1 << 21) - 1


cdef struct Vocabulary:
    uint32_t* points     # of all words, where they were first met
    int64_t* starts      # of each word, by its number
    int32_t* lengths
    uint64_t* hashes
    int32_t* slots       # number + 1 of the word in each slot, 0 where there is none
    int64_t mask
    int32_t count


cdef int grow(Vocabulary* known) noexcept nogil:
    """Twice as many slots; -1 where there is no memory."""
    cdef int64_t size = (known.mask + 1) * 2
    cdef int32_t* slots = <int32_t*>calloc(size, sizeof(int32_t))
    cdef int64_t slot
    cdef int32_t word
    if slots == NULL:
        return -1
    for word in range(known.count):
        slot = <int64_t>(known.hashes[word] & <uint64_t>(size - 1))
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = word + 1
    free(known.slots)
    known.slots = slots
    known.mask = size - 1
    return 0


cdef int32_t number_of(Vocabulary* known, int64_t start, int64_t end) noexcept nogil:
    """The number of the word in `points[start:end]`, a new one where it was not met before; -1 without memory."""
    cdef uint64_t hash = <uint64_t>1469598103934665603
    cdef int64_t k, slot
    cdef int32_t word
    for k in range(start, end):
        hash = (hash ^ known.points[k]) * <uint64_t>1099511628211
    hash ^= hash >> 29
    slot = <int64_t>(hash & <uint64_t>known.mask)
    while known.slots[slot]:
        word = known.slots[slot] - 1
        if (
            known.hashes[word] == hash and known.lengths[word] == end - start
            and memcmp(known.points + known.starts[word], known.points + start, (end - start) * sizeof(uint32_t)) == 0
        ):
            return word
        slot = (slot + 1) & known.mask
    word = known.count
    known.slots[slot] = word + 1
    known.starts[word] = start
    known.lengths[word] = <int32_t>(end - start)
    known.hashes[word] = hash
    known.count += 1
    if known.count * 2 > known.mask and grow(known) < 0:
        return -1
    return word


cdef inline bint is_article(const uint32_t* points, int64_t start, int64_t end) noexcept nogil:
    """a, an, the."""
    if end - start == 1:
        return points[start] == 97
    if end - start == 2:
        return points[start] == 97 and points[start + 1] == 110
    return end - start == 3 and points[start] == 116 and points[start + 1] == 104 and points[start + 2] == 101


def word_codes(const uint8_t[::1] data, const int64_t[::1] offsets, const uint32_t[::1] table):
    """(number of every word, bounds of each text's, starts, lengths, points) of texts; an empty text has no words.

    `table` has the lower case and the kind of every character. Word w is `points[starts[w]:starts[w] + lengths[w]]`.
    """
    cdef Py_ssize_t count = offsets.shape[0] - 1
    cdef int64_t most = offsets[count] - offsets[0]
    all_codes = np.empty(most, np.int32)
    all_points = np.empty(most, np.uint32)
    all_starts = np.empty(most, np.int64)
    all_lengths = np.empty(most, np.int32)
    all_hashes = np.empty(most, np.uint64)
    kinds = np.empty(most, np.uint8)
    bounds = np.zeros(count + 1, np.int64)
    if most == 0:
        return all_codes, bounds, all_starts, all_lengths, all_points
    cdef int32_t[::1] codes = all_codes
    cdef uint32_t[::1] points = all_points
    cdef int64_t[::1] starts = all_starts
    cdef int32_t[::1] lengths = all_lengths
    cdef uint64_t[::1] hashes = all_hashes
    cdef uint8_t[::1] kind = kinds
    cdef int64_t[::1] out = bounds
    cdef Vocabulary known
    cdef Py_ssize_t row
    cdef int64_t at, end, k, first, run, begin, used = 0, found = 0
    cdef uint32_t point, entry
    cdef bint failed = False
    known.points, known.starts, known.lengths, known.hashes = &points[0], &starts[0], &lengths[0], &hashes[0]
    known.count = 0
    known.mask = (1 << 12) - 1
    known.slots = <int32_t*>calloc(1 << 12, sizeof(int32_t))
    if known.slots == NULL:
        raise MemoryError
    with nogil:
        for row in range(count):
            at, end, first = offsets[row], offsets[row + 1], used
            while at < end:
                at = decode(data, at, &point)
                entry = table[point]
                if not entry & DROPPED:
                    points[used] = entry & POINT
                    kind[used] = <uint8_t>(entry >> 24)
                    used += 1
            k, begin = first, -1
            while k < used and not failed:
                if kind[k] & 1:  # white space ends a word
                    if begin >= 0:
                        codes[found] = number_of(&known, begin, k)
                        failed = codes[found] < 0
                        found += 1
                        begin = -1
                    k += 1
                    continue
                run = k + 1
                if kind[k] & 4:
                    while run < used and kind[run] & 4:
                        run += 1
                    if is_article(&points[0], k, run):
                        if begin >= 0:
                            codes[found] = number_of(&known, begin, k)
                            failed = codes[found] < 0
                            found += 1
                            begin = -1
                        k = run
                        continue
                while k < run and not failed:
                    if kind[k] & 8:
                        if begin >= 0:
                            codes[found] = number_of(&known, begin, k)
                            failed = codes[found] < 0
                            found += 1
                            begin = -1
                        codes[found] = number_of(&known, k, k + 1)
                        failed = failed or codes[found] < 0
                        found += 1
                    elif begin < 0:
                        begin = k
                    k += 1
            if begin >= 0 and not failed:
                codes[found] = number_of(&known, begin, used)
                failed = codes[found] < 0
                found += 1
            out[row + 1] = found
            if failed:
                break
        free(known.slots)
    if failed:
        raise MemoryError
    return all_codes[:found], bounds, all_starts[:known.count], all_lengths[:known.count], all_points[:used]


def encoded(const uint32_t[::1] points, const int64_t[::1] starts, const int32_t[::1] lengths):
    """(bytes, offsets) of words in UTF-8."""
    cdef Py_ssize_t count = starts.shape[0]
    offsets = np.zeros(count + 1, np.int64)
    content = np.empty(4 * int(np.sum(lengths)), np.uint8)
    cdef int64_t[::1] ends = offsets
    cdef uint8_t[::1] data = content
    cdef Py_ssize_t word
    cdef int64_t at = 0, k
    cdef uint32_t point
    with nogil:
        for word in range(count):
            for k in range(starts[word], starts[word] + lengths[word]):
                point = points[k]
                if point < 0x80:
                    data[at] = <uint8_t>point
                    at += 1
                elif point < 0x800:
                    data[at] = <uint8_t>(0xC0 | point >> 6)
                    data[at + 1] = <uint8_t>(0x80 | point & 0x3F)
                    at += 2
                elif point < 0x10000:
                    data[at] = <uint8_t>(0xE0 | point >> 12)
                    data[at + 1] = <uint8_t>(0x80 | point >> 6 & 0x3F)
                    data[at + 2] = <uint8_t>(0x80 | point & 0x3F)
                    at += 3
                else:
                    data[at] = <uint8_t>(0xF0 | point >> 18)
                    data[at + 1] = <uint8_t>(0x80 | point >> 12 & 0x3F)
                    data[at + 2] = <uint8_t>(0x80 | point >> 6 & 0x3F)
                    data[at + 3] = <uint8_t>(0x80 | point & 0x3F)
                    at += 4
            ends[word + 1] = at
    return content[:at].copy(), offsets
