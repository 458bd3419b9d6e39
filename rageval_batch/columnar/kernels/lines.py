"""Rows of a block of bytes: lines, elements of an array; which are UTF-8, which were seen before."""

from __future__ import annotations

from typing import Any

import numpy as np

from rageval_batch.columnar.compiled import LOW_BITS, compiled, first_byte, kernel, load64, zero_bytes
from rageval_batch.columnar.kernels.spaces import _space
from rageval_batch.columnar.strings import Bytes, Flags, Offsets

_NEWLINES = LOW_BITS * np.uint64(10)


@kernel
def split_lines(data: Bytes, line: int) -> tuple[Offsets, Offsets, Offsets, int]:
    """(starts, ends, line numbers, next line number) of the lines of `data` that are not blank."""
    size = len(data)
    count = 1
    for k in range(size):
        count += data[k] == 10
    starts = np.empty(count, np.int64)
    ends = np.empty(count, np.int64)
    lines = np.empty(count, np.int64)
    kept = 0
    start = 0
    while start < size:
        stop = start
        while stop < size:
            if stop + 8 <= size:
                marks = zero_bytes(load64(data, stop) ^ _NEWLINES)
                if marks == 0:
                    stop += 8
                    continue
                stop += first_byte(marks)
            if data[stop] == 10:
                break
            stop += 1
        at = start
        while at < stop:
            width = _space(data, at, stop)
            if width == 0:
                break
            at += width
        if at < stop:
            starts[kept] = start
            ends[kept] = stop - 1 if data[stop - 1] == 13 else stop
            lines[kept] = line
            kept += 1
        line += 1
        start = stop + 1
    return starts[:kept], ends[:kept], lines[:kept], line


@compiled
def mark_first(seen: Flags, keys: Offsets) -> Flags:
    """Which keys are met for the first time, in order; marks them as seen."""
    out = np.empty(len(keys), np.bool_)
    for k in range(len(keys)):
        out[k] = not seen[keys[k]]
        seen[keys[k]] = True
    return out


@kernel
def valid_utf8(data: Bytes, starts: Offsets, ends: Offsets) -> Flags:
    """Whether each span is UTF-8: no stray, missing or overlong bytes, no surrogates; an empty span is."""
    out = np.ones(len(starts), np.bool_)
    for k in range(len(starts)):
        at, end = starts[k], ends[k]
        while at < end:
            byte = data[at]
            if byte < 0x80:
                at += 1
                continue
            if 0xC2 <= byte <= 0xDF:
                more, low, high = 1, 0x80, 0xBF
            elif 0xE0 <= byte <= 0xEF:
                more = 2
                low = 0xA0 if byte == 0xE0 else 0x80
                high = 0x9F if byte == 0xED else 0xBF
            elif 0xF0 <= byte <= 0xF4:
                more = 3
                low = 0x90 if byte == 0xF0 else 0x80
                high = 0x8F if byte == 0xF4 else 0xBF
            else:
                out[k] = False
                break
            if at + more >= end or data[at + 1] < low or data[at + 1] > high:
                out[k] = False
                break
            for i in range(2, more + 1):
                if data[at + i] < 0x80 or data[at + i] > 0xBF:
                    out[k] = False
            if not out[k]:
                break
            at += more + 1
    return out


@kernel
def same_spans(data: Bytes, offsets: Offsets, other: Offsets) -> Flags:
    """Whether each string equals the string at index `other[i]`, byte for byte."""
    out = np.ones(len(other), np.bool_)
    for k in range(len(other)):
        j = other[k]
        if j == k:
            continue
        width = offsets[k + 1] - offsets[k]
        if offsets[j + 1] - offsets[j] != width:
            out[k] = False
            continue
        differ = 0
        for i in range(width):
            differ |= data[offsets[k] + i] ^ data[offsets[j] + i]
        out[k] = differ == 0
    return out


@compiled
def _wider(values: Any, size: int) -> Any:
    """The same values with room for `size`."""
    out = np.empty(size, values.dtype)
    out[: len(values)] = values
    return out


@kernel
def elements_of_array(data: Bytes, at: int, end: int) -> tuple[Offsets, Offsets, Offsets, int, bool]:
    """The spans of the elements of the array that opens at `at`: (starts, stops, lines, position behind, closed).

    Commas and brackets outside strings are all that is looked at; whether an element is JSON is for `parse` to say.
    """
    size = 1024
    starts = np.empty(size, np.int64)
    stops = np.empty(size, np.int64)
    lines = np.empty(size, np.int64)
    count = 0
    depth = 0
    quoted = False
    line = 1
    first = at + 1
    seen = False
    first_line = 1
    while at < end:
        byte = data[at]
        if byte == 10:
            line += 1
        if quoted:
            if byte == 92:
                at += 1
            elif byte == 34:
                quoted = False
        elif depth == 1 and (byte == 44 or byte == 93):
            if seen:
                if count == size:
                    size *= 2
                    starts = _wider(starts, size)
                    stops = _wider(stops, size)
                    lines = _wider(lines, size)
                starts[count] = first
                stops[count] = at
                lines[count] = first_line
                count += 1
            first = at + 1
            seen = False
            if byte == 93:
                return starts[:count], stops[:count], lines[:count], at + 1, True
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
    if seen:
        starts = np.append(starts[:count], first)
        stops = np.append(stops[:count], end)
        lines = np.append(lines[:count], first_line)
        count += 1
    return starts[:count], stops[:count], lines[:count], end, False
