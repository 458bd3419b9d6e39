"""Exact JSON: a parser of many rows into a flat table of values, strings without their escapes, member look-up."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from rageval_batch.columnar.kernels.buffers cimport copy_bytes
from rageval_batch.columnar.kernels.wide cimport has_wide

from rageval_batch.columnar.strings import pooled_bytes


cdef bint WIDE = has_wide()
HAS_WIDE = bool(WIDE)  # whether strings are found 64 bytes at a time

OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE = IS_OBJECT, IS_ARRAY, IS_STRING, IS_NUMBER, IS_TRUE, IS_FALSE
globals()["NULL"] = IS_NULL  # Cython keeps the bare name for pointers
OK, EMPTY, UNEXPECTED, ENDS_EARLY = IS_OK, IS_EMPTY, IS_UNEXPECTED, IS_ENDS_EARLY
TRAILING, BAD_ESCAPE, CONTROL, BAD_NUMBER = IS_TRAILING, IS_BAD_ESCAPE, IS_CONTROL, IS_BAD_NUMBER


def room_for_marks(longest):
    """An array for the marks of JSON texts of at most so many bytes."""
    return np.empty(longest + MARK_ROOM, np.uint32)


def room_for_nodes(count):
    """An array for the nodes of one JSON text."""
    words = [(name, np.int64) for name in ("start", "stop", "key_start", "key_stop")]
    words += [(name, np.int32) for name in ("parent", "position", "children", "behind")]
    return np.empty(count, np.dtype([*words, ("kind", np.uint8), ("flags", np.uint8)], align=True))


def parse(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends, Py_ssize_t size, bint wide=HAS_WIDE):
    """(the columns of a `json_tape.Tape`, whether there were more than `size` values): then the columns are not whole.

    One pass over all rows. `wide` is for tests: the result does not depend on it.
    """
    cdef Py_ssize_t rows = starts.shape[0]
    columns = [np.empty(size, dtype) for dtype in (np.int32, np.int32, np.int32, np.uint8, np.uint8)]
    columns += [np.empty(size, np.int64) for _ in range(4)]
    roots = np.full(rows, -1, np.int32)
    statuses = np.zeros(rows, np.uint8)
    errors = np.full(rows, -1, np.int64)
    cdef int32_t[::1] row = columns[0]
    cdef int32_t[::1] behind = columns[1]
    cdef int32_t[::1] position = columns[2]
    cdef uint8_t[::1] kind = columns[3]
    cdef uint8_t[::1] flags = columns[4]
    cdef int64_t[::1] start = columns[5]
    cdef int64_t[::1] stop = columns[6]
    cdef int64_t[::1] key_start = columns[7]
    cdef int64_t[::1] key_stop = columns[8]
    cdef int32_t[::1] root = roots
    cdef uint8_t[::1] status = statuses
    cdef int64_t[::1] error_at = errors
    cdef Node[::1] nodes = room_for_nodes(1024)
    cdef uint32_t[::1] marks
    cdef int64_t longest = 0
    cdef int32_t node, found, count = 0
    cdef int64_t at
    cdef int code
    cdef bint overflow = False
    cdef Py_ssize_t r
    with nogil:
        for r in range(rows):
            longest = max(longest, ends[r] - starts[r])
    marks = room_for_marks(longest)
    wide = wide and HAS_WIDE
    with nogil:
        for r in range(rows):
            code, at, found = parse_row(data, starts[r], ends[r], nodes, marks, wide)
            while code == IS_OVERFLOW:
                if nodes.shape[0] > size - count:
                    break
                with gil:
                    nodes = room_for_nodes(4 * nodes.shape[0])
                code, at, found = parse_row(data, starts[r], ends[r], nodes, marks, wide)
            if code == IS_OVERFLOW or found > size - count:
                overflow = True
                break
            if code != IS_OK:
                status[r] = <uint8_t>code
                error_at[r] = at - starts[r]
                continue
            root[r] = count
            for node in range(found):
                row[count + node] = <int32_t>r
                behind[count + node] = nodes[node].behind + count
                position[count + node] = nodes[node].position
                kind[count + node] = nodes[node].kind
                flags[count + node] = nodes[node].flags
                start[count + node] = nodes[node].start
                stop[count + node] = nodes[node].stop
                key_start[count + node] = nodes[node].key_start
                key_stop[count + node] = nodes[node].key_stop
            count += found
    return (*[column[:count] for column in columns], roots, statuses, errors), bool(overflow)


def texts(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] stops,
    const uint8_t[:] flags,
    const int32_t[:] nodes,
):
    """(bytes, offsets) of the texts of nodes, strings without their escapes; node -1 gives empty."""
    cdef int64_t size = 0, to = 0
    cdef int32_t node
    cdef Py_ssize_t k
    with nogil:
        for k in range(nodes.shape[0]):
            node = nodes[k]
            if node >= 0:
                size += stops[node] - starts[node]
    content = pooled_bytes(size)
    bounds = np.empty(len(nodes) + 1, np.int64)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] offsets = bounds
    offsets[0] = 0
    with nogil:
        for k in range(nodes.shape[0]):
            node = nodes[k]
            if node >= 0:
                if flags[node] & ESCAPED_VALUE:
                    to = unescape(data, starts[node], stops[node], out, to, WIDE)
                else:
                    copy_bytes(data, starts[node], stops[node] - starts[node], out, to)
                    to += stops[node] - starts[node]
            offsets[k + 1] = to
    return content[:to], bounds


def children(const int32_t[::1] behind, const uint8_t[::1] kind, const int32_t[:] owners, int wanted, int64_t limit):
    """(nodes, index of the owner) of the first `limit` children of each owner of the wanted kind, in order."""
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t k, to = 0
    cdef int32_t owner, node
    cdef int64_t place
    with nogil:
        for k in range(owners.shape[0]):
            owner = owners[k]
            if owner < 0 or kind[owner] != wanted:
                continue
            node, place = owner + 1, 0
            while node < behind[owner] and place < limit:
                node, place = behind[node], place + 1
            count += place
    found = np.empty(count, np.int32)
    indexes = np.empty(count, np.int32)
    cdef int32_t[::1] nodes = found
    cdef int32_t[::1] index = indexes
    with nogil:
        for k in range(owners.shape[0]):
            owner = owners[k]
            if owner < 0 or kind[owner] != wanted:
                continue
            node, place = owner + 1, 0
            while node < behind[owner] and place < limit:
                nodes[to], index[to] = node, <int32_t>k
                node, place, to = behind[node], place + 1, to + 1
    return found, indexes


def members(
    const uint8_t[::1] data,
    const int32_t[::1] behind,
    const uint8_t[::1] kind,
    const uint8_t[::1] flags,
    const int64_t[::1] key_start,
    const int64_t[::1] key_stop,
    const int32_t[:] owners,
    const uint8_t[::1] names,
    const int64_t[::1] bounds,
):
    """The node of each named member of each owner that is an object, -1 where it has none; of duplicate keys the last.
    """
    nodes = np.full((len(owners), len(bounds) - 1), -1, np.int32)
    cdef int32_t[:, ::1] found = nodes
    cdef int64_t name, width
    cdef int32_t owner, node
    cdef uint8_t[::1] scratch = np.empty(64, np.uint8)
    cdef Py_ssize_t k
    with nogil:
        for k in range(owners.shape[0]):
            owner = owners[k]
            if owner < 0 or kind[owner] != IS_OBJECT:
                continue
            node = owner + 1
            while node < behind[owner]:
                if flags[node] & ESCAPED_KEY:
                    if key_stop[node] - key_start[node] > scratch.shape[0]:
                        with gil:
                            scratch = np.empty(2 * (key_stop[node] - key_start[node]), np.uint8)
                    width = unescape(data, key_start[node], key_stop[node], scratch, 0, WIDE)
                    name = name_index(scratch, 0, width, names, bounds)
                else:
                    name = name_index(data, key_start[node], key_stop[node] - key_start[node], names, bounds)
                if name >= 0:
                    found[k, name] = node
                node = behind[node]
    return nodes
