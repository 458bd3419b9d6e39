"""One text inside another, byte for byte: exact for UTF-8."""

from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport equal_bytes, next_two


cdef inline int64_t rare_place(const uint8_t[::1] needle, int64_t start, int64_t end) noexcept nogil:
    """Where in the needle its likely rarest byte stands: no space and no first byte of a long character if it can."""
    cdef int rank, best = 4
    cdef int64_t i, at = start
    cdef uint8_t byte
    for i in range(start, end):
        byte = needle[i]
        rank = 3 if byte == 32 or byte >= 0xC0 else 1 if byte >= 0x80 else 2 if byte >= 97 else 0
        if rank < best:
            best, at = rank, i
    return at - start


cdef inline bint inside(
    const uint8_t[::1] hay, int64_t h_start, int64_t h_end, const uint8_t[::1] needle, int64_t start, int64_t end
) noexcept nogil:
    """Whether the needle is a substring of the hay; an empty needle is not. Where two of its bytes stand as far apart
    as in the needle, the others are looked at."""
    cdef int64_t width = end - start
    cdef int64_t ahead, other, at, stop
    if width == 0 or width > h_end - h_start:
        return False
    ahead = rare_place(needle, start, end)
    other = width - 1 if ahead < width - 1 else 0
    ahead, other = min(ahead, other), max(ahead, other)
    at = h_start + ahead
    stop = h_end - width + ahead + 1
    while at < stop:
        at = next_two(hay, at, stop, other - ahead, needle[start + ahead], needle[start + other], 0)
        if at < stop and equal_bytes(hay, at - ahead, needle, start, width):
            return True
        at += 1
    return False
