"""JSON: one pass over all rows into a flat table of values, strings without their escapes, member look-up."""

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport (
    HIGH_BITS,
    LOW_BITS,
    copy_bytes,
    equal_bytes,
    first_byte,
    load64,
    zero_bytes,
)


cdef enum:
    IS_OK
    IS_EMPTY
    IS_UNEXPECTED
    IS_ENDS_EARLY
    IS_TRAILING
    IS_BAD_ESCAPE
    IS_CONTROL
    IS_BAD_NUMBER


OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE = IS_OBJECT, IS_ARRAY, IS_STRING, IS_NUMBER, IS_TRUE, IS_FALSE
globals()["NULL"] = IS_NULL  # Cython keeps the bare name for pointers
OK, EMPTY, UNEXPECTED, ENDS_EARLY = IS_OK, IS_EMPTY, IS_UNEXPECTED, IS_ENDS_EARLY
TRAILING, BAD_ESCAPE, CONTROL, BAD_NUMBER = IS_TRAILING, IS_BAD_ESCAPE, IS_CONTROL, IS_BAD_NUMBER


cdef (int64_t, int, int) string_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """From behind an opening quote: (position of the closing quote, escapes seen, status)."""
    cdef uint64_t word, marks
    cdef int64_t unit, low
    cdef int escaped = 0
    cdef uint8_t byte, kind
    while at < end:
        if at + 8 <= end:  # pass eight bytes at once while none is a quote, a backslash or a control character
            word = load64(data, at)
            marks = (word - LOW_BITS * 32) & ~word & HIGH_BITS
            marks |= zero_bytes(word ^ (LOW_BITS * 34)) | zero_bytes(word ^ (LOW_BITS * 92))
            if marks == 0:
                at += 8
                continue
            at += first_byte(marks)
        byte = data[at]
        if byte == 34:
            return at, escaped, IS_OK
        if byte == 92:
            escaped = 1
            if at + 1 >= end:
                return at, escaped, IS_ENDS_EARLY
            kind = data[at + 1]
            if kind == 117:
                unit = utf16_unit(data, at + 2, end)
                if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
                    return at, escaped, IS_BAD_ESCAPE
                at += 6
                if 0xD800 <= unit <= 0xDBFF:
                    if at + 1 >= end or data[at] != 92 or data[at + 1] != 117:
                        return at, escaped, IS_BAD_ESCAPE
                    low = utf16_unit(data, at + 2, end)
                    if low < 0xDC00 or low > 0xDFFF:
                        return at, escaped, IS_BAD_ESCAPE
                    at += 6
                continue
            if kind not in (34, 92, 47, 98, 102, 110, 114, 116):
                return at, escaped, IS_BAD_ESCAPE
            at += 2
            continue
        if byte < 32:
            return at, escaped, IS_CONTROL
        at += 1
    return at, escaped, IS_ENDS_EARLY


cdef inline int64_t digits_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


cdef int64_t number_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """The position behind the number that begins at `at`, -1 where there is none."""
    cdef int64_t first
    if data[at] == 45:
        at += 1
    if at >= end or data[at] < 48 or data[at] > 57:
        return -1
    at = at + 1 if data[at] == 48 else digits_end(data, at, end)
    if at < end and data[at] == 46:
        first = at + 1
        at = digits_end(data, first, end)
        if at == first:
            return -1
    if at < end and (data[at] | 32) == 101:
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        first = at
        at = digits_end(data, first, end)
        if at == first:
            return -1
    return at


cdef (int, int64_t) literal_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """(kind, position behind) of true, false or null at `at`; (-1, at) where it is none of them."""
    if at + 4 <= end and data[at] == 116 and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        return IS_TRUE, at + 4
    if at + 4 <= end and data[at] == 110 and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        return IS_NULL, at + 4
    if (
        at + 5 <= end
        and data[at] == 102
        and data[at + 1] == 97
        and data[at + 2] == 108
        and data[at + 3] == 115
        and data[at + 4] == 101
    ):
        return IS_FALSE, at + 5
    return -1, at


cdef inline int64_t skip_space(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    while at < end and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


def parse(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends, Py_ssize_t size):
    """(the columns of a `json_tape.Tape`, whether there were more than `size` values): then the columns are not whole.

    One pass over all rows, no recursion: the open containers are the chain of parents.
    """
    cdef Py_ssize_t rows = starts.shape[0]
    columns = [np.empty(size, dtype) for dtype in (np.int32, np.int32, np.int32, np.uint8, np.uint8)]
    columns += [np.empty(size, np.int64) for _ in range(4)]
    roots = np.full(rows, -1, np.int32)
    statuses = np.zeros(rows, np.uint8)
    errors = np.full(rows, -1, np.int64)
    cdef int32_t[::1] row = columns[0]
    cdef int32_t[::1] parent = columns[1]
    cdef int32_t[::1] position = columns[2]
    cdef uint8_t[::1] kind = columns[3]
    cdef uint8_t[::1] flags = columns[4]
    cdef int64_t[::1] start = columns[5]
    cdef int64_t[::1] stop = columns[6]
    cdef int64_t[::1] key_start = columns[7]
    cdef int64_t[::1] key_stop = columns[8]
    cdef int32_t[::1] children = np.empty(size, np.int32)
    cdef int32_t[::1] root = roots
    cdef uint8_t[::1] status = statuses
    cdef int64_t[::1] error_at = errors
    cdef int32_t inside, node, first, count = 0
    cdef int64_t at, end, k0, k1
    cdef int code, word, key_escaped, escaped
    cdef bint want_key, opened, overflow = False
    cdef uint8_t byte
    cdef Py_ssize_t r
    with nogil:
        for r in range(rows):
            first = count
            end = ends[r]
            at = skip_space(data, starts[r], end)
            code = IS_OK
            if at >= end:
                status[r] = IS_EMPTY
                error_at[r] = 0
                continue
            inside = -1
            want_key = False
            k0 = k1 = at
            key_escaped = 0
            while True:
                if want_key:
                    at = skip_space(data, at, end)
                    if at >= end:
                        code = IS_ENDS_EARLY
                        break
                    if data[at] != 34:
                        code = IS_UNEXPECTED
                        break
                    k0 = at + 1
                    k1, key_escaped, code = string_end(data, k0, end)
                    if code != IS_OK:
                        at = k1
                        break
                    at = skip_space(data, k1 + 1, end)
                    if at >= end:
                        code = IS_ENDS_EARLY
                        break
                    if data[at] != 58:
                        code = IS_UNEXPECTED
                        break
                    at += 1
                    want_key = False
                at = skip_space(data, at, end)
                if at >= end:
                    code = IS_ENDS_EARLY
                    break
                if count == size:
                    overflow = True
                    break
                node = count
                count += 1
                row[node] = <int32_t>r
                parent[node] = inside
                children[node] = 0
                flags[node] = 0
                position[node] = 0
                key_start[node] = k0
                key_stop[node] = k0
                if inside >= 0:
                    position[node] = children[inside]
                    children[inside] += 1
                    if kind[inside] == IS_OBJECT:
                        key_stop[node] = k1
                        if key_escaped:
                            flags[node] = ESCAPED_KEY
                byte = data[at]
                start[node] = at
                opened = False
                if byte == 34:
                    kind[node] = IS_STRING
                    start[node] = at + 1
                    at, escaped, code = string_end(data, at + 1, end)
                    stop[node] = at
                    if code != IS_OK:
                        break
                    if escaped:
                        flags[node] |= ESCAPED_VALUE
                    at += 1
                elif byte == 123 or byte == 91:
                    kind[node] = IS_OBJECT if byte == 123 else IS_ARRAY
                    inside = node
                    at = skip_space(data, at + 1, end)
                    if at >= end:
                        code = IS_ENDS_EARLY
                        break
                    if data[at] != byte + 2:
                        opened = True
                        want_key = byte == 123
                elif byte == 45 or 48 <= byte <= 57:
                    kind[node] = IS_NUMBER
                    stop[node] = number_end(data, at, end)
                    if stop[node] < 0:
                        code = IS_BAD_NUMBER
                        break
                    at = stop[node]
                else:
                    word, at = literal_end(data, at, end)
                    if word < 0:
                        code = IS_UNEXPECTED
                        break
                    kind[node] = <uint8_t>word
                    stop[node] = at
                if opened:
                    continue
                # A value has ended: close what closes here, then look for the next one.
                while inside >= 0:
                    at = skip_space(data, at, end)
                    if at >= end:
                        code = IS_ENDS_EARLY
                        break
                    byte = data[at]
                    if byte == 44 and children[inside] > 0:
                        at += 1
                        want_key = kind[inside] == IS_OBJECT
                        break
                    if byte != (125 if kind[inside] == IS_OBJECT else 93):
                        code = IS_UNEXPECTED
                        break
                    at += 1
                    stop[inside] = at
                    inside = parent[inside]
                if code != IS_OK:
                    break
                if inside < 0:
                    at = skip_space(data, at, end)
                    if at < end:
                        code = IS_TRAILING
                    break
            if overflow:
                break
            if code != IS_OK:
                status[r] = <uint8_t>code
                error_at[r] = at - starts[r]
                count = first
            else:
                root[r] = first
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
    content = np.empty(size, np.uint8)
    bounds = np.empty(len(nodes) + 1, np.int64)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] offsets = bounds
    offsets[0] = 0
    with nogil:
        for k in range(nodes.shape[0]):
            node = nodes[k]
            if node >= 0:
                if flags[node] & ESCAPED_VALUE:
                    to = unescape(data, starts[node], stops[node], out, to)
                else:
                    copy_bytes(data, starts[node], stops[node] - starts[node], out, to)
                    to += stops[node] - starts[node]
            offsets[k + 1] = to
    return content[:to], bounds


def elements(const int32_t[::1] parent, const int32_t[::1] position, const int32_t[::1] slot, int64_t limit):
    """(nodes, slot of the parent) of the nodes that stand below `limit` in a parent with a slot, in order."""
    cdef Py_ssize_t count = 0
    cdef Py_ssize_t node, to = 0
    with nogil:
        for node in range(parent.shape[0]):
            count += parent[node] >= 0 and slot[parent[node]] >= 0 and position[node] < limit
    found = np.empty(count, np.int32)
    slots = np.empty(count, np.int32)
    cdef int32_t[::1] nodes = found
    cdef int32_t[::1] owners = slots
    with nogil:
        for node in range(parent.shape[0]):
            if parent[node] >= 0 and slot[parent[node]] >= 0 and position[node] < limit:
                nodes[to] = <int32_t>node
                owners[to] = slot[parent[node]]
                to += 1
    return found, slots


cdef inline int64_t name_index(
    const uint8_t[::1] key, int64_t first, int64_t width, const uint8_t[::1] names, const int64_t[::1] bounds
) noexcept nogil:
    """Which of the names is key[first:first + width], -1 where none is."""
    cdef int64_t name
    for name in range(bounds.shape[0] - 1):
        if bounds[name + 1] - bounds[name] == width and equal_bytes(key, first, names, bounds[name], width):
            return name
    return -1


def members(
    const uint8_t[::1] data,
    const int32_t[::1] parent,
    const uint8_t[::1] flags,
    const int64_t[::1] key_start,
    const int64_t[::1] key_stop,
    const int32_t[::1] slot,
    Py_ssize_t owners,
    const uint8_t[::1] names,
    const int64_t[::1] bounds,
):
    """The node of each named member of each owner, -1 where it has none; of duplicate keys the last."""
    nodes = np.full((owners, len(bounds) - 1), -1, np.int32)
    cdef int32_t[:, ::1] found = nodes
    cdef int64_t name, width, longest = 0
    cdef int32_t owner
    cdef Py_ssize_t node
    with nogil:
        for node in range(parent.shape[0]):
            if flags[node] & ESCAPED_KEY:
                longest = max(longest, key_stop[node] - key_start[node])
    cdef uint8_t[::1] scratch = np.empty(longest, np.uint8)
    with nogil:
        for node in range(parent.shape[0]):
            if parent[node] < 0:
                continue
            owner = slot[parent[node]]
            if owner < 0:
                continue
            if flags[node] & ESCAPED_KEY:
                width = unescape(data, key_start[node], key_stop[node], scratch, 0)
                name = name_index(scratch, 0, width, names, bounds)
            else:
                name = name_index(data, key_start[node], key_stop[node] - key_start[node], names, bounds)
            if name >= 0:
                found[owner, name] = <int32_t>node
    return nodes
