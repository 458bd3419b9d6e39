"""Sorting of words in place, without a second buffer and without a bad case."""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef inline void insertion_sort(uint64_t[::1] words, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t k, j
    cdef uint64_t value
    for k in range(first + 1, last):
        value = words[k]
        j = k - 1
        while j >= first and words[j] > value:
            words[j + 1] = words[j]
            j -= 1
        words[j + 1] = value


cdef inline void sift_down(uint64_t[::1] words, int64_t first, int64_t root, int64_t count) noexcept nogil:
    cdef uint64_t value = words[first + root]
    cdef int64_t child = 2 * root + 1
    while child < count:
        if child + 1 < count and words[first + child + 1] > words[first + child]:
            child += 1
        if words[first + child] <= value:
            break
        words[first + root] = words[first + child]
        root = child
        child = 2 * root + 1
    words[first + root] = value


cdef inline void heap_sort(uint64_t[::1] words, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t count = last - first
    cdef int64_t k
    cdef uint64_t value
    for k in range(count // 2 - 1, -1, -1):
        sift_down(words, first, k, count)
    for k in range(count - 1, 0, -1):
        value = words[first]
        words[first] = words[first + k]
        words[first + k] = value
        sift_down(words, first, 0, k)


cdef inline (int64_t, int64_t) partition(uint64_t[::1] words, int64_t first, int64_t last) noexcept nogil:
    """Part words[first:last] by the median of three: (i, j), no word up to j larger than it, none from i on smaller."""
    cdef int64_t i = first, j = last - 1
    cdef uint64_t value
    cdef uint64_t pivot = words[first + (last - first) // 2]
    if (words[first] < pivot) != (words[first] < words[last - 1]):
        pivot = words[first]
    elif (words[last - 1] < pivot) != (words[last - 1] < words[first]):
        pivot = words[last - 1]
    while i <= j:
        while words[i] < pivot:
            i += 1
        while words[j] > pivot:
            j -= 1
        if i <= j:
            value = words[i]
            words[i] = words[j]
            words[j] = value
            i += 1
            j -= 1
    return i, j


cdef inline void sort_words(uint64_t[::1] words, int64_t first, int64_t last) noexcept nogil:
    """Sort words[first:last]: quicksort by the median of three, insertion where few are left, and a heap where the
    parts do not shrink, so that no input takes more than n log n."""
    cdef int64_t firsts[64]
    cdef int64_t lasts[64]
    cdef int rounds[64]
    cdef int64_t i, j
    cdef int depth = 0, left = 2
    while (<int64_t>1 << (left // 2)) < last - first:
        left += 2
    while True:
        if last - first <= 32:
            insertion_sort(words, first, last)
        elif left == 0:
            heap_sort(words, first, last)
        else:
            left -= 1
            i, j = partition(words, first, last)
            # The larger part waits, so that no more than log n parts do.
            if j + 1 - first < last - i:
                firsts[depth], lasts[depth], rounds[depth] = i, last, left
                last = j + 1
            else:
                firsts[depth], lasts[depth], rounds[depth] = first, j + 1, left
                first = i
            depth += 1
            continue
        if depth == 0:
            return
        depth -= 1
        first, last, left = firsts[depth], lasts[depth], rounds[depth]


cdef inline uint64_t select_word(uint64_t[::1] words, int64_t first, int64_t last, int64_t place) noexcept nogil:
    """What stands at `place` when words[first:last] are sorted. Then no word before it is larger, none behind smaller.

    Quickselect by the median of three, and a heap where the parts do not shrink.
    """
    cdef int64_t i, j
    cdef int left = 2
    while (<int64_t>1 << (left // 2)) < last - first:
        left += 2
    while last - first > 1:
        if left == 0:
            heap_sort(words, first, last)
            break
        left -= 1
        i, j = partition(words, first, last)
        if place <= j:
            last = j + 1
        elif place >= i:
            first = i
        else:
            break
    return words[place]


cdef inline uint64_t ordered_word(double value) noexcept nogil:
    """A word that is larger for larger numbers."""
    cdef uint64_t word
    memcpy(&word, &value, 8)
    return ~word if word >> 63 else word | (<uint64_t>1 << 63)


cdef inline double ordered_value(uint64_t word) noexcept nogil:
    """The number of such a word."""
    cdef double value
    word = word & ~(<uint64_t>1 << 63) if word >> 63 else ~word
    memcpy(&value, &word, 8)
    return value
