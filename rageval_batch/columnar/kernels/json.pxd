"""Kinds and flags of the values of a JSON tape, and JSON strings without their escapes."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport LOW_BITS, first_byte, load64, store64, zero_bytes
from rageval_batch.columnar.kernels.utf8 cimport put_point


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


cdef inline int hex_digit(int byte) noexcept nogil:
    if 48 <= byte <= 57:
        return byte - 48
    byte |= 32
    if 97 <= byte <= 102:
        return byte - 87
    return -1


cdef inline int64_t utf16_unit(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """The UTF-16 unit of the four hex digits at `at`, -1 where they are not four hex digits."""
    cdef int64_t value = 0
    cdef int64_t k
    cdef int digit
    if at + 4 > end:
        return -1
    for k in range(4):
        digit = hex_digit(data[at + k])
        if digit < 0:
            return -1
        value = value * 16 + digit
    return value


cdef inline int64_t unescape(const uint8_t[::1] data, int64_t at, int64_t end, uint8_t[::1] out, int64_t to) noexcept nogil:
    """Copy a checked JSON string without its escapes; never longer than it was."""
    cdef uint64_t word, marks
    cdef int64_t width, unit
    cdef uint8_t kind
    while at < end:
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
        kind = data[at + 1]
        at += 2
        if kind == 117:
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
