"""Rows of a block of bytes: lines, elements of an array; which are UTF-8, which were seen before."""

import numpy as np
from libc.stdint cimport int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport HIGH_BITS, find_byte, load64
from rageval_batch.columnar.kernels.utf8 cimport space_width
from rageval_batch.columnar.kernels.wide cimport has_wide, wide_utf8


HAS_WIDE = bool(has_wide())  # whether `is_valid_utf8` goes by 64 bytes


cdef enum:
    NEWLINE = 10
    RETURN = 13
    LINES_AT_FIRST = 8192  # for which there is room


def split_lines(const uint8_t[::1] data, int64_t line):
    """(starts, ends, line numbers, next line number) of the lines of `data` that are not blank."""
    cdef int64_t size = data.shape[0]
    cdef int64_t at, stop, width, start = 0
    columns = [np.empty(LINES_AT_FIRST, np.int64) for _ in range(3)]
    cdef int64_t[::1] starts = columns[0]
    cdef int64_t[::1] ends = columns[1]
    cdef int64_t[::1] lines = columns[2]
    cdef Py_ssize_t kept = 0
    with nogil:
        while start < size:
            stop = find_byte(data, start, size, NEWLINE)
            at = start
            while at < stop:
                width = space_width(data, at, stop)
                if width == 0:
                    break
                at += width
            if at < stop:
                if kept == starts.shape[0]:
                    with gil:
                        columns = [wider(column) for column in columns]
                        starts, ends, lines = columns
                starts[kept] = start
                ends[kept] = stop - 1 if data[stop - 1] == RETURN else stop
                lines[kept] = line
                kept += 1
            line += 1
            start = stop + 1
    return (*[column[:kept] for column in columns], line)


def mark_first(uint8_t[::1] seen, const int64_t[:] keys):
    """Which keys are met for the first time, in order; sets their bits in `seen`, the lowest of a byte first."""
    new = np.empty(len(keys), np.bool_)
    cdef uint8_t[::1] out = new.view(np.uint8)
    cdef uint8_t bit
    cdef int64_t place
    cdef Py_ssize_t k
    with nogil:
        for k in range(keys.shape[0]):
            place = keys[k] >> 3
            bit = <uint8_t>1 << (keys[k] & 7)
            out[k] = not seen[place] & bit
            seen[place] |= bit
    return new


cdef bint is_utf8(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    cdef uint8_t byte, low, high
    cdef int64_t i, more
    while at < end:
        byte = data[at]
        if byte < 0x80:
            at += 1
            while at + 8 <= end and load64(data, at) & HIGH_BITS == 0:
                at += 8
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= byte <= 0xDF:
            more = 1
        elif 0xE0 <= byte <= 0xEF:
            more = 2
            if byte == 0xE0:
                low = 0xA0
            elif byte == 0xED:
                high = 0x9F
        elif 0xF0 <= byte <= 0xF4:
            more = 3
            if byte == 0xF0:
                low = 0x90
            elif byte == 0xF4:
                high = 0x8F
        else:
            return False
        if at + more >= end or data[at + 1] < low or data[at + 1] > high:
            return False
        for i in range(2, more + 1):
            if data[at + i] < 0x80 or data[at + i] > 0xBF:
                return False
        at += more + 1
    return True


def is_valid_utf8(const uint8_t[::1] data):
    """Whether all bytes are UTF-8 as one text; no bytes are."""
    cdef bint valid
    if data.shape[0] == 0:
        return True
    with nogil:
        if has_wide():
            valid = wide_utf8(&data[0], data.shape[0])
        else:
            valid = is_utf8(data, 0, data.shape[0])
    return bool(valid)


def valid_utf8(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends):
    """Whether each span is UTF-8: no stray, missing or overlong bytes, no surrogates; an empty span is."""
    valid = np.empty(len(starts), np.bool_)
    cdef uint8_t[::1] out = valid.view(np.uint8)
    cdef Py_ssize_t k
    with nogil:
        for k in range(starts.shape[0]):
            out[k] = is_utf8(data, starts[k], ends[k])
    return valid


cdef object wider(values):
    """The same values with as much room again behind them."""
    return np.concatenate([values, np.empty_like(values)])


def elements_of_array(const uint8_t[::1] data, int64_t at, int64_t end):
    """The spans of the elements of the array that opens at `at`: (starts, stops, lines, position behind, closed).

    Commas and brackets outside strings are all that is looked at; whether an element is JSON is for `parse` to say.
    """
    element_starts = np.empty(1024, np.int64)
    element_stops = np.empty(1024, np.int64)
    element_lines = np.empty(1024, np.int64)
    cdef int64_t[::1] starts = element_starts
    cdef int64_t[::1] stops = element_stops
    cdef int64_t[::1] lines = element_lines
    cdef Py_ssize_t count = 0
    cdef int64_t depth = 0, line = 1, first = at + 1, first_line = 1
    cdef bint quoted = False, seen = False, closed = False, ended
    cdef uint8_t byte = 0
    with nogil:
        while not closed:
            ended = at >= end
            if not ended:
                byte = data[at]
                if byte == NEWLINE:
                    line += 1
            if ended or (not quoted and depth == 1 and (byte == 44 or byte == 93)):
                if seen:
                    if count == starts.shape[0]:
                        with gil:
                            element_starts = wider(element_starts)
                            element_stops = wider(element_stops)
                            element_lines = wider(element_lines)
                            starts, stops, lines = element_starts, element_stops, element_lines
                    starts[count] = first
                    stops[count] = end if ended else at
                    lines[count] = first_line
                    count += 1
                if ended:
                    at = end
                    break
                first = at + 1
                seen = False
                closed = byte == 93
            elif quoted:
                if byte == 92:
                    at += 1
                elif byte == 34:
                    quoted = False
            else:
                if depth >= 1 and not seen and not (byte == 32 or byte == 10 or byte == 13 or byte == 9):
                    seen = True
                    first = at
                    first_line = line
                if byte == 34:
                    quoted = True
                elif byte == 91 or byte == 123:
                    depth += 1
                elif byte == 93 or byte == 125:
                    depth -= 1
            at += 1
    return element_starts[:count], element_stops[:count], element_lines[:count], at, bool(closed)


def behind_element(const uint8_t[::1] data, int64_t at, int64_t depth, bint quoted):
    """Read over the rest of an element of an array: (position of the comma or bracket behind it, depth, quoted).

    A position at or behind the end of the data: the element goes on, and the next bytes are read from there with the
    same depth and quotes. By the rules of `elements_of_array`; empty data gives what came in.
    """
    cdef int64_t end = data.shape[0]
    cdef uint8_t byte
    with nogil:
        while at < end:
            byte = data[at]
            if quoted:
                if byte == 92:
                    at += 1
                elif byte == 34:
                    quoted = False
            elif depth == 0 and (byte == 44 or byte == 93):
                break
            elif byte == 34:
                quoted = True
            elif byte == 91 or byte == 123:
                depth += 1
            elif byte == 93 or byte == 125:
                depth -= 1
            at += 1
    return at, depth, bool(quoted)
