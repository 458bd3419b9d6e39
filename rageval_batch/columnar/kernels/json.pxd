"""The parser of one JSON text into a flat list of nodes, look-up among them, and JSON strings without their escapes."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport (
    HIGH_BITS,
    LOW_BITS,
    copy_plain,
    equal_bytes,
    first_byte,
    load64,
    plain_width,
    store64,
    zero_bytes,
)
from rageval_batch.columnar.kernels.json_marks cimport MARK_ROOM, MOST_MARKED, find_marks
from rageval_batch.columnar.kernels.utf8 cimport put_point
from rageval_batch.columnar.kernels.wide_escapes cimport ESCAPE_WIDTH, ESCAPED_POINT, escapes_width, unescaped_width


cdef enum:
    IS_OBJECT
    IS_ARRAY
    IS_STRING
    IS_NUMBER
    IS_TRUE
    IS_FALSE
    IS_NULL


cdef enum:
    ESCAPED_VALUE = 1
    ESCAPED_KEY = 2


cdef enum:
    IS_OK
    IS_EMPTY
    IS_UNEXPECTED
    IS_ENDS_EARLY
    IS_TRAILING
    IS_BAD_ESCAPE
    IS_CONTROL
    IS_BAD_NUMBER
    IS_OVERFLOW  # more values than there is room for; never the status of a row

cdef struct Node:
    int64_t start  # of the value; of a string behind its quote
    int64_t stop
    int64_t key_start  # of its name in an object, without quotes
    int64_t key_stop
    int32_t parent  # -1 for the whole text
    int32_t position  # among the children of the parent
    int32_t children
    int32_t behind  # the node behind all that this one holds
    uint8_t kind
    uint8_t flags


cdef extern from *:
    """
    /* The value of every hex digit; 255 for other bytes. */
    static const uint8_t rageval_hex[256] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 255, 255, 255, 255, 255,
        255, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    """
    const uint8_t[256] HEX "rageval_hex"


cdef inline int64_t utf16_unit(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """The UTF-16 unit of the four hex digits at `at`, -1 where they are not four hex digits."""
    cdef uint32_t first, second, third, fourth
    if at + 4 > end:
        return -1
    first, second, third, fourth = HEX[data[at]], HEX[data[at + 1]], HEX[data[at + 2]], HEX[data[at + 3]]
    if (first | second | third | fourth) > 15:
        return -1
    return <int64_t>(first << 12 | second << 8 | third << 4 | fourth)


cdef inline int64_t unescape(
    const uint8_t[::1] data, int64_t at, int64_t end, uint8_t[::1] out, int64_t to, bint wide
) noexcept nogil:
    """Copy a checked JSON string without its escapes; never longer than it was.

    `wide`, here and below: with the registers of a processor that has them.
    """
    cdef uint64_t word, marks
    cdef int64_t width, unit
    cdef uint8_t kind
    while at < end:
        width = copy_plain(data, at, end, out, to)
        at += width
        to += width
        if at == end:
            break
        if at + 8 <= end:  # eight bytes at once; of those, what stands before a backslash
            word = load64(data, at)
            store64(out, to, word)
            marks = zero_bytes(word ^ (LOW_BITS * 92))
            width = first_byte(marks) if marks else 8
            at += width
            to += width
            if marks == 0:
                continue
        elif data[at] != 92:
            out[to] = data[at]
            to += 1
            at += 1
            continue
        while at < end and data[at] == 92:  # escapes mostly stand together
            kind = data[at + 1]
            at += 2
            if kind == 117:
                if wide:
                    width = unescaped_width(data, at - 2, end, out, to)
                    if width:
                        at += width - 2
                        to += width // ESCAPE_WIDTH * ESCAPED_POINT
                        continue
                unit = utf16_unit(data, at, end)
                at += 4
                if 0xD800 <= unit <= 0xDBFF:
                    unit = 0x10000 + ((unit - 0xD800) << 10) + (utf16_unit(data, at + 2, end) - 0xDC00)
                    at += 6
                to = put_point(out, to, unit)
                continue
            if kind == 110:
                kind = 10
            elif kind == 116:
                kind = 9
            elif kind == 114:
                kind = 13
            elif kind == 98:
                kind = 8
            elif kind == 102:
                kind = 12
            out[to] = kind
            to += 1
    return to


cdef inline (int64_t, int) escapes_end(const uint8_t[::1] data, int64_t at, int64_t end, bint wide) noexcept nogil:
    """From a backslash in a string: (position behind the escapes that stand together, status)."""
    cdef int64_t unit, low
    cdef uint8_t kind
    while at < end and data[at] == 92:
        if wide:
            unit = escapes_width(data, at, end)
            if unit:
                at += unit
                continue
        if at + 1 >= end:
            return at, IS_ENDS_EARLY
        kind = data[at + 1]
        if kind != 117:
            if kind not in (34, 92, 47, 98, 102, 110, 114, 116):
                return at, IS_BAD_ESCAPE
            at += 2
            continue
        unit = utf16_unit(data, at + 2, end)
        if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
            return at, IS_BAD_ESCAPE
        at += 6
        if 0xD800 <= unit <= 0xDBFF:
            if at + 1 >= end or data[at] != 92 or data[at + 1] != 117:
                return at, IS_BAD_ESCAPE
            low = utf16_unit(data, at + 2, end)
            if low < 0xDC00 or low > 0xDFFF:
                return at, IS_BAD_ESCAPE
            at += 6
    return at, IS_OK


cdef inline (int64_t, int, int) string_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """From behind an opening quote: (position of the closing quote, escapes seen, status)."""
    cdef uint64_t word, marks
    cdef int escaped = 0, code
    cdef uint8_t byte
    while at < end:
        at += plain_width(data, at, end)
        if at == end:
            break
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
            at, code = escapes_end(data, at, end, False)
            if code != IS_OK:
                return at, escaped, code
            continue
        if byte < 32:
            return at, escaped, IS_CONTROL
        at += 1
    return at, escaped, IS_ENDS_EARLY


cdef inline (int64_t, int, int) marked_end(
    const uint8_t[::1] data, int64_t start, int64_t at, int64_t end, const uint32_t[::1] marks, int64_t *place
) noexcept nogil:
    """`string_end` in a text whose marks from `start` on were found; `place`: the number of the first that may follow."""
    cdef int escaped = 0, code
    cdef uint8_t byte
    while True:
        while marks[place[0]] < at - start:
            place[0] += 1
        at = start + marks[place[0]]
        if at >= end:
            return end, escaped, IS_ENDS_EARLY
        byte = data[at]
        if byte == 34:
            return at, escaped, IS_OK
        if byte != 92:
            return at, escaped, IS_CONTROL
        escaped = 1
        at, code = escapes_end(data, at, end, True)
        if code != IS_OK:
            return at, escaped, code


cdef inline int64_t digits_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    while at < end and 48 <= data[at] <= 57:
        at += 1
    return at


cdef inline int64_t number_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
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


cdef inline (int, int64_t) literal_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
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


cdef inline (int, int64_t, int32_t) parse_row(
    const uint8_t[::1] data, int64_t start, int64_t end, Node[::1] nodes, uint32_t[::1] marks, bint wide
) noexcept nogil:
    """(status, position of the error, number of nodes) of one JSON text. No recursion: the open containers are the
    chain of parents. `marks` is room where `wide`: see `find_marks`."""
    cdef int64_t at = skip_space(data, start, end), k0 = at, k1 = at, mark = 0
    cdef int32_t inside = -1, node, count = 0
    cdef int word, code = IS_OK, key_escaped = 0, escaped
    cdef bint want_key = False
    cdef uint8_t byte
    if at >= end:
        return IS_EMPTY, start, 0
    wide = wide and end - start < MOST_MARKED
    if wide:
        find_marks(data, start, end, marks)
    while True:
        if want_key:
            at = skip_space(data, at, end)
            if at >= end:
                return IS_ENDS_EARLY, at, 0
            if data[at] != 34:
                return IS_UNEXPECTED, at, 0
            k0 = at + 1
            if wide:
                k1, key_escaped, code = marked_end(data, start, k0, end, marks, &mark)
            else:
                k1, key_escaped, code = string_end(data, k0, end)
            if code != IS_OK:
                return code, k1, 0
            at = skip_space(data, k1 + 1, end)
            if at >= end:
                return IS_ENDS_EARLY, at, 0
            if data[at] != 58:
                return IS_UNEXPECTED, at, 0
            at += 1
            want_key = False
        at = skip_space(data, at, end)
        if at >= end:
            return IS_ENDS_EARLY, at, 0
        if count == nodes.shape[0]:
            return IS_OVERFLOW, at, 0
        node = count
        count += 1
        nodes[node].parent = inside
        nodes[node].children = 0
        nodes[node].flags = 0
        nodes[node].position = 0
        nodes[node].key_start = k0
        nodes[node].key_stop = k0
        nodes[node].behind = count
        if inside >= 0:
            nodes[node].position = nodes[inside].children
            nodes[inside].children += 1
            if nodes[inside].kind == IS_OBJECT:
                nodes[node].key_stop = k1
                if key_escaped:
                    nodes[node].flags = ESCAPED_KEY
        byte = data[at]
        nodes[node].start = at
        if byte == 34:
            nodes[node].kind = IS_STRING
            nodes[node].start = at + 1
            if wide:
                at, escaped, code = marked_end(data, start, at + 1, end, marks, &mark)
            else:
                at, escaped, code = string_end(data, at + 1, end)
            if code != IS_OK:
                return code, at, 0
            nodes[node].stop = at
            if escaped:
                nodes[node].flags |= ESCAPED_VALUE
            at += 1
        elif byte == 123 or byte == 91:
            nodes[node].kind = IS_OBJECT if byte == 123 else IS_ARRAY
            inside = node
            at = skip_space(data, at + 1, end)
            if at >= end:
                return IS_ENDS_EARLY, at, 0
            if data[at] != byte + 2:
                want_key = byte == 123
                continue
        elif byte == 45 or 48 <= byte <= 57:
            nodes[node].kind = IS_NUMBER
            k1 = number_end(data, at, end)
            if k1 < 0:
                return IS_BAD_NUMBER, at, 0
            nodes[node].stop = at = k1
        else:
            word, at = literal_end(data, at, end)
            if word < 0:
                return IS_UNEXPECTED, at, 0
            nodes[node].kind = <uint8_t>word
            nodes[node].stop = at
        # A value has ended: close what closes here, then look for the next one.
        while inside >= 0:
            at = skip_space(data, at, end)
            if at >= end:
                return IS_ENDS_EARLY, at, 0
            byte = data[at]
            if byte == 44 and nodes[inside].children > 0:
                at += 1
                want_key = nodes[inside].kind == IS_OBJECT
                break
            if byte != (125 if nodes[inside].kind == IS_OBJECT else 93):
                return IS_UNEXPECTED, at, 0
            at += 1
            nodes[inside].stop = at
            nodes[inside].behind = count
            inside = nodes[inside].parent
        if inside < 0:
            at = skip_space(data, at, end)
            if at < end:
                return IS_TRAILING, at, 0
            return IS_OK, at, count


cdef inline int64_t name_index(
    const uint8_t[::1] key, int64_t first, int64_t width, const uint8_t[::1] names, const int64_t[::1] bounds
) noexcept nogil:
    """Which of the names is key[first:first + width], -1 where none is."""
    cdef int64_t name
    for name in range(bounds.shape[0] - 1):
        if bounds[name + 1] - bounds[name] != width:
            continue
        if width == 0 or (key[first] == names[bounds[name]] and equal_bytes(key, first, names, bounds[name], width)):
            return name
    return -1


cdef inline int64_t member_name(
    const uint8_t[::1] data, const Node *node, uint8_t[::1] plain, const uint8_t[::1] names, const int64_t[::1] bounds
) noexcept nogil:
    """Which of the names a member has, -1 where none; `plain` is room for a name without its escapes."""
    cdef int64_t width
    if node.flags & ESCAPED_KEY:
        width = unescape(data, node.key_start, node.key_stop, plain, 0, False)
        return name_index(plain, 0, width, names, bounds)
    return name_index(data, node.key_start, node.key_stop - node.key_start, names, bounds)
