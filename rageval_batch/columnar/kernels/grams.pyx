"""Characters that pairs of texts share: n-grams as bags, adjacent pairs as sets. Pair p compares the texts `left[p]` and
`right[p]`; `order` has the pairs of one right text together, and that text is worked out once for all of them."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from rageval_batch.columnar.kernels.slots cimport Slot, Table, filled, no_table, reserve, slot_of
from rageval_batch.columnar.kernels.utf8 cimport code_point


def code_points(const uint8_t[::1] data, const int64_t[::1] offsets, const uint8_t[::1] kinds, uint8_t dropped):
    """(code points without those of the kinds `dropped`, bounds of each text's); an empty text has none."""
    cdef Py_ssize_t count = offsets.shape[0] - 1
    points = np.empty(int(offsets[count] - offsets[0]), np.uint32)
    bounds = np.zeros(count + 1, np.int64)
    cdef uint32_t[::1] out = points
    cdef int64_t[::1] ends = bounds
    cdef Py_ssize_t row
    cdef int64_t at, end, point, width, used = 0
    with nogil:
        for row in range(count):
            at, end = offsets[row], offsets[row + 1]
            while at < end:
                point, width = code_point(data, at)
                at += width
                if not kinds[point] & dropped:
                    out[used] = <uint32_t>point
                    used += 1
            ends[row + 1] = used
    return points[:used], bounds


# --- adjacent pairs ---------------------------------------------------------------------------------------------


def pair_jaccard(
    const uint32_t[::1] points, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right,
    const int64_t[::1] order,
):
    """Adjacent pairs of characters that both texts have over those that either has, as sets; 0 without any."""
    similarity = np.zeros(len(left), np.float64)
    cdef double[::1] out = similarity
    cdef Py_ssize_t i, p
    cdef int64_t k, both, alone, wanted = 0, text, current = -1
    cdef uint64_t key
    cdef Slot* slot
    cdef Table reference = no_table(), others = no_table()  # pairs of the right text, and those of the left one alone
    cdef bint failed = False
    with nogil:
        for i in range(order.shape[0]):
            p = order[i]
            if right[p] != current:
                current = right[p]
                if reserve(&reference, bounds[current + 1] - bounds[current]) < 0:
                    failed = True
                    break
                wanted = 0
                for k in range(bounds[current], bounds[current + 1] - 1):
                    slot = filled(&reference, <uint64_t>points[k] << 32 | points[k + 1])
                    wanted += slot.left == 0
                    slot.left = 1
            text = left[p]
            if reserve(&others, bounds[text + 1] - bounds[text]) < 0:
                failed = True
                break
            both, alone = 0, 0
            for k in range(bounds[text], bounds[text + 1] - 1):
                key = <uint64_t>points[k] << 32 | points[k + 1]
                slot = slot_of(&reference, key)
                if slot.stamp == reference.stamp:
                    both += slot.right != <int32_t>i + 1
                    slot.right = <int32_t>i + 1
                else:
                    slot = filled(&others, key)
                    alone += slot.left == 0
                    slot.left = 1
            if wanted + alone:
                out[p] = <double>both / <double>(wanted + alone)
        free(reference.slots)
        free(others.slots)
    if failed:
        raise MemoryError
    return similarity


# --- n-grams ----------------------------------------------------------------------------------------------------


cdef struct Tree:        # the n-grams of the right text by number, the short ones first; 0 is the empty one
    int32_t* parent      # the n-gram without its last character
    uint32_t* point      # its last character
    int32_t* tail        # the n-gram without its first character
    int32_t* times       # how often the right text has it
    int32_t* met         # how often the left text has it, those at the end of a longer one that is counted not included
    int32_t* last        # of each place the longest n-gram so far that begins there
    int32_t* slots       # numbers by the hash of parent and last character, 0 where free
    int64_t mask         # of the slots
    int64_t room         # characters that the arrays are for
    int64_t orders
    int64_t count
    int64_t* first       # the first n-gram of each length, and the end of all


cdef void uproot(Tree* tree) noexcept nogil:
    free(tree.parent)
    free(tree.point)
    free(tree.tail)
    free(tree.times)
    free(tree.met)
    free(tree.last)
    free(tree.slots)
    tree.parent = tree.tail = tree.times = tree.met = tree.last = tree.slots = NULL
    tree.point = NULL


cdef int grow(Tree* tree, int64_t size) noexcept nogil:
    """Room for a text of `size` characters; -1 where there is no memory."""
    cdef int64_t most = size * tree.orders + 1
    tree.mask = 63
    while tree.mask + 1 < 2 * most:
        tree.mask = 2 * tree.mask + 1
    if size <= tree.room:
        return 0
    uproot(tree)
    tree.parent = <int32_t*>malloc(most * sizeof(int32_t))
    tree.point = <uint32_t*>malloc(most * sizeof(uint32_t))
    tree.tail = <int32_t*>malloc(most * sizeof(int32_t))
    tree.times = <int32_t*>malloc(most * sizeof(int32_t))
    tree.met = <int32_t*>malloc(most * sizeof(int32_t))
    tree.last = <int32_t*>malloc((size + 1) * sizeof(int32_t))
    tree.slots = <int32_t*>malloc((tree.mask + 1) * sizeof(int32_t))
    tree.room = size
    if tree.parent and tree.point and tree.tail and tree.times and tree.met and tree.last and tree.slots:
        return 0
    return -1


cdef inline int32_t* child(Tree* tree, int32_t parent, uint32_t point) noexcept nogil:
    """The slot of an n-gram and one more character; 0 is in it where there is no such n-gram."""
    cdef uint64_t hash = (<uint64_t>parent << 21 | point) * <uint64_t>0x9E3779B97F4A7C15
    cdef int64_t at = <int64_t>((hash ^ hash >> 32) & <uint64_t>tree.mask)
    cdef int32_t number = tree.slots[at]
    while number and (tree.parent[number] != parent or tree.point[number] != point):
        at = (at + 1) & tree.mask
        number = tree.slots[at]
    return &tree.slots[at]


cdef int plant(Tree* tree, const uint32_t[::1] points, int64_t start, int64_t size) noexcept nogil:
    """All n-grams of a text; -1 where there is no memory."""
    cdef int64_t k, order
    cdef int32_t count = 1, number
    cdef int32_t* slot
    if grow(tree, size) < 0:
        return -1
    memset(tree.slots, 0, (tree.mask + 1) * sizeof(int32_t))
    memset(tree.last, 0, (size + 1) * sizeof(int32_t))
    tree.met[0] = 0
    for order in range(tree.orders):
        tree.first[order] = count
        for k in range(size - order):
            slot = child(tree, tree.last[k], points[start + k + order])
            number = slot[0]
            if number == 0:
                number = slot[0] = count
                tree.parent[count], tree.point[count] = tree.last[k], points[start + k + order]
                tree.tail[count] = tree.last[k + 1] if order else 0
                tree.times[count] = tree.met[count] = 0
                count += 1
            tree.times[number] += 1
            tree.last[k] = number
    tree.first[tree.orders] = tree.count = count
    return 0


cdef void meet(Tree* tree, const uint32_t[::1] points, int64_t start, int64_t size, int64_t* shared) noexcept nogil:
    """Count the n-grams of a text that the tree has, as bags, into `shared` by their length."""
    cdef int64_t k, order
    cdef int32_t at = 0, number, longest = <int32_t>tree.first[tree.orders - 1]
    for k in range(size):
        # The longest n-gram of the tree that ends at this character: all shorter ones are its tails.
        if at >= longest:
            at = tree.tail[at]
        number = child(tree, at, points[start + k])[0]
        while number == 0 and at:
            at = tree.tail[at]
            number = child(tree, at, points[start + k])[0]
        at = number
        tree.met[at] += 1
    for order in range(tree.orders - 1, -1, -1):
        for k in range(tree.first[order], tree.first[order + 1]):
            number = tree.met[k]
            tree.met[k] = 0
            tree.met[tree.tail[k]] += number
            shared[order] += min(number, tree.times[k])
    tree.met[0] = 0


def shared_grams(
    const uint32_t[::1] points, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right,
    const int64_t[::1] order, Py_ssize_t orders,
):
    """How many n-grams of characters, n from 1 to `orders`, the texts of each pair share, as bags: a row a pair.

    All n-grams of a right text are held at once: some 200 bytes a character where `orders` is 6.
    """
    shared = np.zeros((len(left), orders), np.int64)
    cdef int64_t[:, ::1] out = shared
    cdef int64_t[::1] firsts = np.zeros(orders + 1, np.int64)
    cdef Py_ssize_t i, p
    cdef int64_t text, current = -1
    cdef Tree tree
    cdef bint failed = False
    memset(&tree, 0, sizeof(Tree))
    tree.room, tree.orders, tree.first = -1, orders, &firsts[0]
    with nogil:
        for i in range(order.shape[0]):
            p = order[i]
            if right[p] != current:
                current = right[p]
                if plant(&tree, points, bounds[current], bounds[current + 1] - bounds[current]) < 0:
                    failed = True
                    break
            text = left[p]
            meet(&tree, points, bounds[text], bounds[text + 1] - bounds[text], &out[p, 0])
        uproot(&tree)
    if failed:
        raise MemoryError
    return shared


def shared_grams_in_turn(
    const uint32_t[::1] points, const int64_t[::1] bounds, const int64_t[::1] left, const int64_t[::1] right,
    Py_ssize_t orders,
):
    """The same as `shared_grams`, one length of n-grams after the other: slower, in less memory.

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
            first, begin = bounds[left[p]], bounds[right[p]]
            sizes, size = bounds[left[p] + 1] - first, bounds[right[p] + 1] - begin
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
