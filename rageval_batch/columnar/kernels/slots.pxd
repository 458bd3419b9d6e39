"""A hash table of 64-bit keys that is emptied at no cost: a slot is filled where it has the stamp of the table."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free


cdef struct Slot:
    uint64_t key
    uint32_t stamp       # of the round in which the slot was filled
    int32_t left         # two counts or marks of the key, 0 at first
    int32_t right


cdef struct Table:
    Slot* slots
    int64_t mask
    uint32_t stamp


cdef inline Table no_table() noexcept nogil:
    cdef Table table
    table.slots, table.mask, table.stamp = NULL, -1, 0
    return table


cdef inline int reserve(Table* table, int64_t count) noexcept nogil:
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
