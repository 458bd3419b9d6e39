"""Texts as numbered words: equal words of a batch have equal numbers, so that everything behind is about integers."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from rageval_batch.columnar.kernels.utf8 cimport code_point, put_point

# Kinds of a character, in the bits of a table above those of its lower case.
SPACE_BIT, DROPPED_BIT, WORD_BIT, ALONE_BIT = 1 << 24, 1 << 25, 1 << 26, 1 << 27
cdef enum:
    POINT = (1 << 21) - 1
    DROPPED = 1 << 25  # punctuation
    SPACE_KIND = 1     # words are cut here
    WORD_KIND = 4      # of `\w`: an article is a whole run of these
    ALONE_KIND = 8     # a word by itself


cdef struct Word:
    uint64_t hash
    int64_t start        # in the characters of all words
    int32_t length
    int32_t number       # from 1; 0 where the slot is empty


cdef struct Vocabulary:
    uint32_t* points     # the characters of all words, each once
    int64_t used         # of those
    Word* slots
    int64_t mask
    int32_t count


cdef int grow(Vocabulary* known) noexcept nogil:
    """Twice as many slots; -1 where there is no memory."""
    cdef int64_t size = (known.mask + 1) * 2
    cdef Word* slots = <Word*>calloc(size, sizeof(Word))
    cdef int64_t slot, old
    if slots == NULL:
        return -1
    for old in range(known.mask + 1):
        if known.slots[old].number:
            slot = <int64_t>(known.slots[old].hash & <uint64_t>(size - 1))
            while slots[slot].number:
                slot = (slot + 1) & (size - 1)
            slots[slot] = known.slots[old]
    free(known.slots)
    known.slots = slots
    known.mask = size - 1
    return 0


cdef int32_t number_of(Vocabulary* known, const uint32_t* points, int64_t length) noexcept nogil:
    """The number of a word, a new one where it was not met before; -1 without memory."""
    cdef uint64_t hash = <uint64_t>length
    cdef int64_t k, slot
    cdef Word* word
    for k in range(length):
        hash = (hash ^ points[k]) * <uint64_t>0x9E3779B97F4A7C15
        hash ^= hash >> 32
    slot = <int64_t>(hash & <uint64_t>known.mask)
    while known.slots[slot].number:
        word = &known.slots[slot]
        if (
            word.hash == hash and word.length == length
            and memcmp(known.points + word.start, points, length * sizeof(uint32_t)) == 0
        ):
            return word.number - 1
        slot = (slot + 1) & known.mask
    known.count += 1
    word = &known.slots[slot]
    word.hash, word.start, word.length, word.number = hash, known.used, <int32_t>length, known.count
    memcpy(known.points + known.used, points, length * sizeof(uint32_t))
    known.used += length
    if known.count * 2 > known.mask and grow(known) < 0:
        return -1
    return known.count - 1


cdef inline bint is_article(const uint32_t* points, int64_t start, int64_t end) noexcept nogil:
    """a, an, the."""
    if end - start == 1:
        return points[start] == 97
    if end - start == 2:
        return points[start] == 97 and points[start + 1] == 110
    return end - start == 3 and points[start] == 116 and points[start + 1] == 104 and points[start + 2] == 101


def word_codes(const uint8_t[::1] data, const int64_t[::1] offsets, const uint32_t[::1] table):
    """(number of every word, bounds of each text's, starts, points) of texts; an empty text has no words.

    `table` has the lower case and the kind of every character. Word w is `points[starts[w]:starts[w + 1]]`.
    """
    cdef Py_ssize_t count = offsets.shape[0] - 1
    cdef int64_t most = offsets[count] - offsets[0]
    cdef int64_t longest = int(np.diff(offsets).max(initial=0))
    # Room for the worst case: what is not used is never touched.
    all_codes = np.empty(most, np.int32)
    all_points = np.empty(most + 1, np.uint32)
    bounds = np.zeros(count + 1, np.int64)
    cdef int32_t[::1] codes = all_codes
    cdef uint32_t[::1] arena = all_points
    cdef int64_t[::1] out = bounds
    cdef uint32_t[::1] points = np.empty(longest + 1, np.uint32)  # of one text
    cdef uint8_t[::1] kind = np.empty(longest + 1, np.uint8)
    cdef Vocabulary known
    cdef Py_ssize_t row
    cdef int64_t at, end, k, run, begin, used, slot, point, width, found = 0
    cdef uint32_t entry
    cdef uint8_t of_run
    cdef int32_t code = 0
    known.points, known.used, known.count = &arena[0], 0, 0
    known.mask = (1 << 12) - 1
    known.slots = <Word*>calloc(1 << 12, sizeof(Word))
    if known.slots == NULL:
        raise MemoryError
    with nogil:
        for row in range(count):
            at, end, used = offsets[row], offsets[row + 1], 0
            while at < end:
                point, width = code_point(data, at)
                at += width
                entry = table[point]
                points[used] = entry & POINT
                kind[used] = <uint8_t>(entry >> 24)
                used += not entry & DROPPED
            kind[used] = SPACE_KIND  # ends the last word
            k, begin = 0, -1
            while k <= used and code >= 0:
                run = k + 1
                of_run = kind[k]
                if of_run & WORD_KIND:
                    while kind[run] & WORD_KIND:
                        run += 1
                    if is_article(&points[0], k, run):
                        of_run = SPACE_KIND
                if of_run & SPACE_KIND:
                    if begin >= 0:
                        code = number_of(&known, &points[begin], k - begin)
                        codes[found] = code
                        found += 1
                        begin = -1
                    k = run
                    continue
                while k < run and code >= 0:
                    if kind[k] & ALONE_KIND:
                        if begin >= 0:
                            code = number_of(&known, &points[begin], k - begin)
                            codes[found] = code
                            found += 1
                            begin = -1
                        if code >= 0:
                            code = number_of(&known, &points[k], 1)
                            codes[found] = code
                            found += 1
                    elif begin < 0:
                        begin = k
                    k += 1
            out[row + 1] = found
            if code < 0:
                break
    starts = np.empty(known.count + 1, np.int64)
    cdef int64_t[::1] start = starts
    start[known.count] = known.used
    for slot in range(known.mask + 1):
        if known.slots[slot].number:
            start[known.slots[slot].number - 1] = known.slots[slot].start
    free(known.slots)
    if code < 0:
        raise MemoryError
    return all_codes[:found], bounds, starts, all_points[:known.used]


def encoded(const uint32_t[::1] points, const int64_t[::1] starts):
    """(bytes, offsets) of words in UTF-8."""
    cdef Py_ssize_t count = starts.shape[0] - 1
    offsets = np.zeros(count + 1, np.int64)
    content = np.empty(4 * len(points), np.uint8)
    cdef int64_t[::1] ends = offsets
    cdef uint8_t[::1] data = content
    cdef Py_ssize_t word
    cdef int64_t at = 0, k
    with nogil:
        for word in range(count):
            for k in range(starts[word], starts[word + 1]):
                at = put_point(data, at, points[k])
            ends[word + 1] = at
    return content[:at].copy(), offsets
