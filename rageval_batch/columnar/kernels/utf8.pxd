"""Characters of valid UTF-8."""

from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef inline int64_t decode(const uint8_t[::1] data, int64_t at, uint32_t* point) noexcept nogil:
    """The character at a byte, and where the next one begins."""
    cdef uint32_t first = data[at]
    if first < 0x80:
        point[0] = first
        return at + 1
    if first < 0xE0:
        point[0] = (first & 0x1F) << 6 | (data[at + 1] & 0x3F)
        return at + 2
    if first < 0xF0:
        point[0] = (first & 0x0F) << 12 | <uint32_t>(data[at + 1] & 0x3F) << 6 | (data[at + 2] & 0x3F)
        return at + 3
    point[0] = (
        (first & 0x07) << 18 | <uint32_t>(data[at + 1] & 0x3F) << 12
        | <uint32_t>(data[at + 2] & 0x3F) << 6 | (data[at + 3] & 0x3F)
    )
    return at + 4
