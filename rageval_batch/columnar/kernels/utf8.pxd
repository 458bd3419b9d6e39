"""Characters of UTF-8: code points read and written, White_Space."""

from libc.stdint cimport int64_t, uint8_t


cdef inline (int64_t, int64_t) code_point(const uint8_t[::1] data, int64_t at) noexcept nogil:
    """(code point, width) at `at` of valid UTF-8."""
    cdef int64_t byte = data[at]
    if byte < 0x80:
        return byte, 1
    if byte < 0xE0:
        return ((byte & 31) << 6) | (data[at + 1] & 63), 2
    if byte < 0xF0:
        return ((byte & 15) << 12) | ((data[at + 1] & 63) << 6) | (data[at + 2] & 63), 3
    byte = ((byte & 7) << 18) | ((data[at + 1] & 63) << 12)
    return byte | ((data[at + 2] & 63) << 6) | (data[at + 3] & 63), 4


cdef inline int64_t put_point(uint8_t[::1] out, int64_t at, int64_t point) noexcept nogil:
    """Write one code point as UTF-8; the position behind it."""
    if point < 0x80:
        out[at] = <uint8_t>point
        return at + 1
    if point < 0x800:
        out[at] = <uint8_t>(0xC0 | (point >> 6))
        out[at + 1] = <uint8_t>(0x80 | (point & 63))
        return at + 2
    if point < 0x10000:
        out[at] = <uint8_t>(0xE0 | (point >> 12))
        out[at + 1] = <uint8_t>(0x80 | ((point >> 6) & 63))
        out[at + 2] = <uint8_t>(0x80 | (point & 63))
        return at + 3
    out[at] = <uint8_t>(0xF0 | (point >> 18))
    out[at + 1] = <uint8_t>(0x80 | ((point >> 12) & 63))
    out[at + 2] = <uint8_t>(0x80 | ((point >> 6) & 63))
    out[at + 3] = <uint8_t>(0x80 | (point & 63))
    return at + 4


cdef inline bint may_be_space(int byte) noexcept nogil:
    """Whether a White_Space character may begin with a byte."""
    return byte <= 32 or byte == 0xC2 or 0xE1 <= byte <= 0xE3


cdef inline int64_t space_width(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """The width in bytes of the White_Space character at `at`, 0 where there is none."""
    cdef int byte = data[at]
    cdef int second, third
    if not may_be_space(byte):
        return 0
    if byte <= 32:
        return 1 if byte == 32 or 9 <= byte <= 13 else 0
    if byte == 0xC2 and at + 1 < end:
        return 2 if data[at + 1] == 0x85 or data[at + 1] == 0xA0 else 0
    if byte < 0xE1 or at + 2 >= end:
        return 0
    second, third = data[at + 1], data[at + 2]
    if byte == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    if byte == 0xE3:
        return 3 if second == 0x80 and third == 0x80 else 0
    if second == 0x80:
        return 3 if 0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    return 3 if second == 0x81 and third == 0x9F else 0
