"""White space of one string, by the explicit White_Space list."""

from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.utf8 cimport space_width


cdef inline (int64_t, int64_t) strip_one(const uint8_t[::1] data, int64_t start, int64_t end) noexcept nogil:
    """The span without White_Space at either end."""
    cdef int64_t at, width
    while start < end:
        width = space_width(data, start, end)
        if width == 0:
            break
        start += width
    while end > start:
        at = end - 1
        while at > start and (data[at] & 0xC0) == 0x80:
            at -= 1
        width = space_width(data, at, end)
        if width == 0 or at + width != end:
            break
        end = at
    return start, end


cdef inline int64_t collapsed_one(const uint8_t[::1] data, int64_t start, int64_t end, int64_t enough) noexcept nogil:
    """Code points of one string, white space stripped and its runs counted as one, counted up to `enough`."""
    cdef int64_t at, width, count = 0
    cdef bint spaced = False
    at, end = strip_one(data, start, end)
    while at < end and count < enough:
        if 32 < data[at] < 0x80:
            spaced = False
            count += 1
            at += 1
            continue
        if 0xE4 <= data[at] < 0xF0:  # most of Han: three bytes, never white space
            spaced = False
            count += 1
            at += 3
            continue
        width = space_width(data, at, end)
        if width:
            count += not spaced
            spaced = True
            at += width
            continue
        spaced = False
        count += 1
        at += 1
        while at < end and (data[at] & 0xC0) == 0x80:
            at += 1
    return count
