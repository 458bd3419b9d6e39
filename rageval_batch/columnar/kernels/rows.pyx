"""Rows that are JSON objects, read in one pass: where the fields stand that are looked for; the rest is only checked."""

from typing import NamedTuple

import numpy as np
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from rageval_batch.columnar.kernels.json cimport (
    ESCAPED_KEY,
    ESCAPED_VALUE,
    IS_OBJECT,
    IS_OK,
    IS_OVERFLOW,
    Node,
    name_index,
    parse_row,
    unescape,
)

from rageval_batch.columnar.kernels.json import room_for_nodes


class RowField(NamedTuple):
    """Where a field of each row is written, as of a JSON tape: empty, and kind -1, where a row does not have it."""

    starts: np.ndarray
    stops: np.ndarray
    flags: np.ndarray
    kinds: np.ndarray


class ReadRows(NamedTuple):
    """What stands where in rows, a field a group of names.

    `status` and `error_at` are those of the parser; `usable` are the rows that are one JSON object. `having` counts the
    rows that have a member of each name, `members` all members of all rows, duplicates too.
    """

    fields: list
    status: np.ndarray
    error_at: np.ndarray
    usable: np.ndarray
    having: np.ndarray
    members: int


def read_rows(const uint8_t[::1] data, const int64_t[:] starts, const int64_t[:] ends, groups):
    """The fields of the rows data[starts[k]:ends[k]], which must be UTF-8, one a group of names.

    A row's value is that of the first name of the group that it has, of duplicates the last. A row that is no object
    has no value.
    """
    cdef Py_ssize_t rows = starts.shape[0]
    cdef int n_groups = len(groups)
    encoded = [text.encode() for group in groups for text in group]
    cdef const uint8_t[::1] names = np.frombuffer(b"".join(encoded), np.uint8)
    cdef const int64_t[::1] bounds = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    cdef const int32_t[::1] group_of = np.repeat(np.arange(n_groups, dtype=np.int32), [len(group) for group in groups])
    cdef int64_t longest = 1
    cdef Py_ssize_t r
    with nogil:
        for r in range(rows):
            longest = max(longest, ends[r] - starts[r])
    value_starts = np.zeros((n_groups, rows), np.int64)
    value_stops = np.zeros((n_groups, rows), np.int64)
    value_flags = np.zeros((n_groups, rows), np.uint8)
    kinds = np.full((n_groups, rows), -1, np.int8)
    statuses = np.zeros(rows, np.uint8)
    errors = np.full(rows, -1, np.int64)
    objects = np.zeros(rows, np.bool_)
    haves = np.zeros(len(encoded), np.int64)
    cdef int64_t[:, ::1] start_of = value_starts
    cdef int64_t[:, ::1] stop_of = value_stops
    cdef uint8_t[:, ::1] flags_of = value_flags
    cdef int8_t[:, ::1] kind_of = kinds
    cdef uint8_t[::1] status = statuses
    cdef int64_t[::1] error_at = errors
    cdef uint8_t[::1] usable = objects.view(np.uint8)
    cdef int64_t[::1] having = haves
    cdef int64_t[::1] best = np.empty(n_groups, np.int64)  # the name that a row's value has
    cdef int32_t[::1] node_of = np.empty(n_groups, np.int32)
    cdef int64_t[::1] seen_in = np.full(len(encoded), -1, np.int64)  # the last row that has a name
    cdef uint8_t[::1] plain = np.empty(longest, np.uint8)
    cdef Node[::1] nodes = room_for_nodes(1024)
    cdef int64_t at, name, width, members = 0
    cdef int32_t node, found
    cdef int code, g
    with nogil:
        for r in range(rows):
            code, at, found = parse_row(data, starts[r], ends[r], nodes)
            while code == IS_OVERFLOW:
                with gil:
                    nodes = room_for_nodes(4 * nodes.shape[0])
                code, at, found = parse_row(data, starts[r], ends[r], nodes)
            for g in range(n_groups):
                node_of[g] = -1
            if code != IS_OK:
                status[r] = <uint8_t>code
                error_at[r] = at - starts[r]
                continue
            if nodes[0].kind != IS_OBJECT:
                continue
            usable[r] = True
            members += nodes[0].children
            node = 1
            while node < nodes[0].behind:
                at, width = nodes[node].key_start, nodes[node].key_stop - nodes[node].key_start
                if nodes[node].flags & ESCAPED_KEY:
                    width = unescape(data, at, at + width, plain, 0)
                    name = name_index(plain, 0, width, names, bounds)
                else:
                    name = name_index(data, at, width, names, bounds)
                if name >= 0:
                    having[name] += seen_in[name] != r
                    seen_in[name] = r
                    g = group_of[name]
                    if node_of[g] < 0 or name <= best[g]:
                        node_of[g] = node
                        best[g] = name
                node = nodes[node].behind
            for g in range(n_groups):
                node = node_of[g]
                if node < 0:
                    continue
                kind_of[g, r] = <int8_t>nodes[node].kind
                start_of[g, r] = nodes[node].start
                stop_of[g, r] = nodes[node].stop
                flags_of[g, r] = nodes[node].flags & ESCAPED_VALUE
    fields = [RowField(*columns) for columns in zip(value_starts, value_stops, value_flags, kinds)]
    return ReadRows(fields, statuses, errors, objects, haves, members)
