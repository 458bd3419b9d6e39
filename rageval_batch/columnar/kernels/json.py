"""Compiled JSON: one pass over all rows into a flat table of values, strings without their escapes, member look-up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import (
    HIGH_BITS,
    LOW_BITS,
    compiled,
    first_byte,
    kernel,
    load64,
    store64,
    zero_bytes,
)
from rageval_batch.columnar.strings import Bytes, Ints, Offsets

OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE, NULL = range(7)
OK, EMPTY, UNEXPECTED, ENDS_EARLY, TRAILING, BAD_ESCAPE, CONTROL, BAD_NUMBER = range(8)


_SPACES = LOW_BITS * np.uint64(32)
_QUOTES = LOW_BITS * np.uint64(34)
_BACKSLASHES = LOW_BITS * np.uint64(92)

_ESCAPED_VALUE = 1
_ESCAPED_KEY = 2


@compiled
def _hex(byte: int) -> int:
    if 48 <= byte <= 57:
        return int(byte) - 48
    byte = byte | 32
    if 97 <= byte <= 102:
        return int(byte) - 87
    return -1


@compiled
def _unit(data: Bytes, at: int, end: int) -> int:
    """The UTF-16 unit of the four hex digits at `at`, -1 where they are not four hex digits."""
    if at + 4 > end:
        return -1
    value = 0
    for k in range(4):
        digit = _hex(data[at + k])
        if digit < 0:
            return -1
        value = value * 16 + digit
    return value


@compiled
def _string_end(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """From behind an opening quote: (position of the closing quote, escapes seen, status)."""
    escaped = 0
    while at < end:
        if at + 8 <= end:  # pass eight bytes at once while none is a quote, a backslash or a control character
            word = load64(data, at)
            control = (word - _SPACES) & ~word & HIGH_BITS
            marks = zero_bytes(word ^ _QUOTES) | zero_bytes(word ^ _BACKSLASHES) | control
            if marks == 0:
                at += 8
                continue
            at += first_byte(marks)
        byte = data[at]
        if byte == 34:
            return at, escaped, OK
        if byte == 92:
            escaped = 1
            if at + 1 >= end:
                return at, escaped, ENDS_EARLY
            kind = data[at + 1]
            if kind == 117:
                unit = _unit(data, at + 2, end)
                if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
                    return at, escaped, BAD_ESCAPE
                at += 6
                if 0xD800 <= unit <= 0xDBFF:
                    if at + 1 >= end or data[at] != 92 or data[at + 1] != 117:
                        return at, escaped, BAD_ESCAPE
                    low = _unit(data, at + 2, end)
                    if low < 0xDC00 or low > 0xDFFF:
                        return at, escaped, BAD_ESCAPE
                    at += 6
                continue
            if not (
                kind == 34
                or kind == 92
                or kind == 47
                or kind == 98
                or kind == 102
                or kind == 110
                or kind == 114
                or kind == 116
            ):
                return at, escaped, BAD_ESCAPE
            at += 2
            continue
        if byte < 32:
            return at, escaped, CONTROL
        at += 1
    return at, escaped, ENDS_EARLY


@compiled
def _number_end(data: Bytes, at: int, end: int) -> int:
    """The position behind the number that begins at `at`, -1 where there is none."""
    if data[at] == 45:
        at += 1
    if at >= end or data[at] < 48 or data[at] > 57:
        return -1
    if data[at] == 48:
        at += 1
    else:
        while at < end and 48 <= data[at] <= 57:
            at += 1
    if at < end and data[at] == 46:
        at += 1
        if at >= end or data[at] < 48 or data[at] > 57:
            return -1
        while at < end and 48 <= data[at] <= 57:
            at += 1
    if at < end and (data[at] | 32) == 101:
        at += 1
        if at < end and (data[at] == 43 or data[at] == 45):
            at += 1
        if at >= end or data[at] < 48 or data[at] > 57:
            return -1
        while at < end and 48 <= data[at] <= 57:
            at += 1
    return at


@compiled
def _literal_end(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """(kind, position behind) of true, false or null at `at`; (-1, at) where it is none of them."""
    if at + 4 <= end and data[at] == 116 and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
        return TRUE, at + 4
    if at + 4 <= end and data[at] == 110 and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
        return NULL, at + 4
    if (
        at + 5 <= end
        and data[at] == 102
        and data[at + 1] == 97
        and data[at + 2] == 108
        and data[at + 3] == 115
        and data[at + 4] == 101
    ):
        return FALSE, at + 5
    return -1, at


@compiled
def _skip(data: Bytes, at: int, end: int) -> int:
    while at < end and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@kernel
def parse(data: Bytes, starts: Offsets, ends: Offsets, size: int) -> Any:
    """One pass over all rows, no recursion: the open containers are the chain of parents.

    The last of the results says whether there were more than `size` values, and nothing else counts then.
    """
    overflow = False
    row = np.empty(size, np.int32)
    parent = np.empty(size, np.int32)
    position = np.empty(size, np.int32)
    children = np.empty(size, np.int32)
    kind = np.empty(size, np.uint8)
    flags = np.empty(size, np.uint8)
    start = np.empty(size, np.int64)
    stop = np.empty(size, np.int64)
    key_start = np.empty(size, np.int64)
    key_stop = np.empty(size, np.int64)
    rows = len(starts)
    root = np.full(rows, -1, np.int32)
    status = np.zeros(rows, np.uint8)
    error_at = np.full(rows, -1, np.int64)
    count = 0
    for r in range(rows):
        first = count
        end = ends[r]
        at = _skip(data, starts[r], end)
        code = OK
        if at >= end:
            status[r] = EMPTY
            error_at[r] = 0
            continue
        inside = -1
        want_key = False
        k0 = k1 = at
        key_escaped = 0
        if overflow:
            break
        while True:
            if want_key:
                at = _skip(data, at, end)
                if at >= end:
                    code = ENDS_EARLY
                    break
                if data[at] != 34:
                    code = UNEXPECTED
                    break
                k0 = at + 1
                k1, key_escaped, code = _string_end(data, k0, end)
                if code != OK:
                    at = k1
                    break
                at = _skip(data, k1 + 1, end)
                if at >= end:
                    code = ENDS_EARLY
                    break
                if data[at] != 58:
                    code = UNEXPECTED
                    break
                at += 1
                want_key = False
            at = _skip(data, at, end)
            if at >= end:
                code = ENDS_EARLY
                break
            if count == size:
                overflow = True
                break
            node = count
            count += 1
            row[node] = r
            parent[node] = inside
            children[node] = 0
            flags[node] = 0
            position[node] = 0
            key_start[node] = k0
            key_stop[node] = k0
            if inside >= 0:
                position[node] = children[inside]
                children[inside] += 1
                if kind[inside] == OBJECT:
                    key_stop[node] = k1
                    if key_escaped:
                        flags[node] = _ESCAPED_KEY
            byte = data[at]
            start[node] = at
            opened = False
            if byte == 34:
                kind[node] = STRING
                start[node] = at + 1
                stop[node], escaped, code = _string_end(data, at + 1, end)
                if code != OK:
                    at = stop[node]
                    break
                if escaped:
                    flags[node] |= _ESCAPED_VALUE
                at = stop[node] + 1
            elif byte == 123 or byte == 91:
                kind[node] = OBJECT if byte == 123 else ARRAY
                inside = node
                at = _skip(data, at + 1, end)
                if at >= end:
                    code = ENDS_EARLY
                    break
                if data[at] != byte + 2:
                    opened = True
                    want_key = byte == 123
            elif byte == 45 or 48 <= byte <= 57:
                kind[node] = NUMBER
                stop[node] = _number_end(data, at, end)
                if stop[node] < 0:
                    code = BAD_NUMBER
                    break
                at = stop[node]
            else:
                word, at = _literal_end(data, at, end)
                if word < 0:
                    code = UNEXPECTED
                    break
                kind[node] = word
                stop[node] = at
            if opened:
                continue
            # A value has ended: close what closes here, then look for the next one.
            while inside >= 0:
                at = _skip(data, at, end)
                if at >= end:
                    code = ENDS_EARLY
                    break
                byte = data[at]
                if byte == 44 and children[inside] > 0:
                    at += 1
                    want_key = kind[inside] == OBJECT
                    break
                if byte != (125 if kind[inside] == OBJECT else 93):
                    code = UNEXPECTED
                    break
                at += 1
                stop[inside] = at
                inside = parent[inside]
            if code != OK:
                break
            if inside < 0:
                at = _skip(data, at, end)
                if at < end:
                    code = TRAILING
                break
        if code != OK:
            status[r] = code
            error_at[r] = at - starts[r]
            count = first
        else:
            root[r] = first
    return (
        row[:count],
        parent[:count],
        position[:count],
        kind[:count],
        flags[:count],
        start[:count],
        stop[:count],
        key_start[:count],
        key_stop[:count],
        root,
        status,
        error_at,
        overflow,
    )


@compiled
def _put(out: Bytes, at: int, point: int) -> int:
    """Write one code point as UTF-8; the position behind it."""
    if point < 0x80:
        out[at] = point
        return at + 1
    if point < 0x800:
        out[at] = 0xC0 | (point >> 6)
        out[at + 1] = 0x80 | (point & 63)
        return at + 2
    if point < 0x10000:
        out[at] = 0xE0 | (point >> 12)
        out[at + 1] = 0x80 | ((point >> 6) & 63)
        out[at + 2] = 0x80 | (point & 63)
        return at + 3
    out[at] = 0xF0 | (point >> 18)
    out[at + 1] = 0x80 | ((point >> 12) & 63)
    out[at + 2] = 0x80 | ((point >> 6) & 63)
    out[at + 3] = 0x80 | (point & 63)
    return at + 4


@compiled
def unescape(data: Bytes, at: int, end: int, out: Bytes, to: int) -> int:
    """Copy a checked JSON string without its escapes; never longer than it was."""
    while at < end:
        if at + 8 <= end:  # eight bytes at once; of those, what stands before a backslash
            word = load64(data, at)
            store64(out, to, word)
            marks = zero_bytes(word ^ _BACKSLASHES)
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
            unit = _unit(data, at, end)
            at += 4
            if 0xD800 <= unit <= 0xDBFF:
                unit = 0x10000 + ((unit - 0xD800) << 10) + (_unit(data, at + 2, end) - 0xDC00)
                at += 6
            to = _put(out, to, unit)
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


@kernel
def texts(data: Bytes, starts: Offsets, stops: Offsets, flags: Bytes, nodes: Ints) -> tuple[Bytes, Offsets]:
    size = 0
    for node in nodes:
        if node >= 0:
            size += stops[node] - starts[node]
    out = np.empty(size, np.uint8)
    offsets = np.empty(len(nodes) + 1, np.int64)
    offsets[0] = 0
    to = 0
    for k in range(len(nodes)):
        node = nodes[k]
        if node >= 0:
            if flags[node] & _ESCAPED_VALUE:
                to = unescape(data, starts[node], stops[node], out, to)
            else:
                at, end = starts[node], stops[node]
                while at + 8 <= end:
                    store64(out, to, load64(data, at))
                    at += 8
                    to += 8
                while at < end:
                    out[to] = data[at]
                    at += 1
                    to += 1
        offsets[k + 1] = to
    return out[:to], offsets


@kernel
def elements(parent: Ints, position: Ints, slot: Ints, limit: int) -> tuple[Ints, Ints]:
    """(nodes, slot of the parent) of the nodes that stand below `limit` in a parent with a slot, in order."""
    count = 0
    for node in range(len(parent)):
        count += parent[node] >= 0 and slot[parent[node]] >= 0 and position[node] < limit
    nodes = np.empty(count, np.int32)
    owners = np.empty(count, np.int32)
    to = 0
    for node in range(len(parent)):
        if parent[node] >= 0 and slot[parent[node]] >= 0 and position[node] < limit:
            nodes[to] = node
            owners[to] = slot[parent[node]]
            to += 1
    return nodes, owners


@kernel
def members(
    data: Bytes,
    parent: Ints,
    flags: Bytes,
    key_start: Offsets,
    key_stop: Offsets,
    slot: Ints,
    owners: int,
    names: Bytes,
    bounds: Offsets,
) -> npt.NDArray[np.int32]:
    """The node of each named member of each owner, -1 where it has none; of duplicate keys the last."""
    name_count = len(bounds) - 1
    found = np.full((owners, name_count), -1, np.int32)
    longest = 0
    for node in range(len(parent)):
        if flags[node] & _ESCAPED_KEY:
            longest = max(longest, key_stop[node] - key_start[node])
    scratch = np.empty(longest, np.uint8)
    for node in range(len(parent)):
        if parent[node] < 0:
            continue
        owner = slot[parent[node]]
        if owner < 0:
            continue
        key, first, width = data, key_start[node], key_stop[node] - key_start[node]
        if flags[node] & _ESCAPED_KEY:
            key, first, width = scratch, 0, unescape(data, key_start[node], key_stop[node], scratch, 0)
        for name in range(name_count):
            if bounds[name + 1] - bounds[name] != width:
                continue
            same = True
            for k in range(width):
                if key[first + k] != names[bounds[name] + k]:
                    same = False
                    break
            if same:
                found[owner, name] = node
                break
    return found
