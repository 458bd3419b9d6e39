"""Rows that are JSON objects, read in one pass: where the fields stand that are looked for; the rest is only checked.

The texts of one field, the long one, are copied without their escapes in the same pass. Rows with nothing but strings,
numbers and literals, which most are, need no list of nodes; all others, and all that is no JSON, go by the parser.
"""

from typing import NamedTuple

import numpy as np
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

from rageval_batch.columnar.kernels.buffers cimport copy_bytes, equal_bytes
from rageval_batch.columnar.kernels.json cimport (
    ESCAPED_KEY,
    ESCAPED_VALUE,
    IS_NULL,
    IS_NUMBER,
    IS_OBJECT,
    IS_OK,
    IS_OVERFLOW,
    IS_STRING,
    Node,
    literal_end,
    name_index,
    number_end,
    parse_row,
    skip_space,
    string_end,
    unescape,
)
from rageval_batch.columnar.kernels.unquoted cimport SLACK, unquote
from rageval_batch.columnar.kernels.wide cimport has_wide

from rageval_batch.columnar.kernels.json import room_for_marks, room_for_nodes


ROOM = SLACK
HAS_WIDE = bool(has_wide())  # whether 64 bytes lose their backslashes at once
MOST_GROUPS = 16  # of names, for which `found` has room


class RowField(NamedTuple):
    """Where a field of each row is written, as of a JSON tape: empty, and kind -1, where a row does not have it."""

    starts: np.ndarray
    stops: np.ndarray
    flags: np.ndarray
    kinds: np.ndarray


class ReadRows(NamedTuple):
    """What stands where in rows, a field a group of names.

    `status` and `error_at` are those of the parser; `usable` are the rows that are one JSON object. `having` counts the
    rows that have a member of each name, `members` all members of all rows, duplicates too. `copied` are the bytes and
    offsets of the texts of the field that was to be copied, empty where a row does not have it or it is null.
    """

    fields: list
    status: np.ndarray
    error_at: np.ndarray
    usable: np.ndarray
    having: np.ndarray
    members: int
    copied: tuple


cdef struct Member:
    int64_t start
    int64_t stop
    int64_t rank  # of its name among those of the field, the least counts; -1: the row does not have it
    int8_t kind
    uint8_t flags


cdef class _Rows:
    """The state of a pass over rows."""

    cdef const uint8_t[::1] data, names
    cdef const int64_t[::1] bounds
    cdef const int32_t[::1] group_of
    cdef int64_t[::1] having, seen_in
    cdef int64_t[::1] usual  # the name of the k-th member of the last row: that of the next is mostly the same
    cdef uint8_t[::1] plain, out
    cdef uint32_t[::1] marks
    cdef Member[16] found  # by field
    cdef Node[::1] nodes
    cdef int n_groups, copied
    cdef bint wide
    cdef int64_t to, copied_to, members

    def __cinit__(self, const uint8_t[::1] data, groups, int copied, bint wide):
        encoded = [text.encode() for group in groups for text in group]
        self.data = data
        self.names = np.frombuffer(b"".join(encoded), np.uint8)
        self.bounds = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        self.n_groups = len(groups)
        if self.n_groups > MOST_GROUPS:
            raise ValueError("too many groups of names")
        self.group_of = np.repeat(np.arange(self.n_groups, dtype=np.int32), [len(group) for group in groups])
        self.seen_in = np.full(len(encoded), -1, np.int64)  # the last row that has a name
        self.usual = np.full(16, -1, np.int64)
        self.nodes = room_for_nodes(1024)
        self.copied, self.wide = copied, wide
        self.to = self.copied_to = self.members = 0

    cdef int64_t name_of(self, int64_t at, int64_t stop, bint escaped, int64_t place) noexcept nogil:
        """Which of the names the key at `at` of the member at this place of its row is, -1 where it is none."""
        cdef int64_t width = stop - at, name
        if escaped:
            width = unescape(self.data, at, stop, self.plain, 0, self.wide)
            return name_index(self.plain, 0, width, self.names, self.bounds)
        place &= 15
        name = self.usual[place]
        if (
            name >= 0
            and self.bounds[name + 1] - self.bounds[name] == width
            and equal_bytes(self.data, at, self.names, self.bounds[name], width)
        ):
            return name
        self.usual[place] = name = name_index(self.data, at, width, self.names, self.bounds)
        return name

    cdef void begin(self) noexcept nogil:
        cdef int g
        for g in range(self.n_groups):
            self.found[g].rank = -1
        self.copied_to = self.to

    cdef bint is_read(self, int64_t name) noexcept nogil:
        """Whether a member of this name is the value of its field, as far as the row was read."""
        cdef int64_t rank = self.found[self.group_of[name]].rank
        return rank < 0 or name <= rank

    cdef void note(self, int64_t name, int64_t start, int64_t stop, int kind, uint8_t flags) noexcept nogil:
        cdef Member *mine = &self.found[self.group_of[name]]
        mine.rank, mine.start, mine.stop, mine.kind, mine.flags = name, start, stop, <int8_t>kind, flags

    cdef bint read_flat(self, int64_t at, int64_t end, int64_t r) noexcept nogil:
        """Read a row without lists and objects inside; False, with nothing counted, where it is no such row."""
        cdef int64_t first, stop, to, name, place = 0, having = 0
        cdef int64_t[16] mine
        cdef int escaped, code, kind
        cdef bint copies
        at = skip_space(self.data, at, end)
        if at >= end or self.data[at] != 123:
            return False
        at = skip_space(self.data, at + 1, end)
        if at < end and self.data[at] == 125:
            return skip_space(self.data, at + 1, end) == end
        while True:
            if at >= end or self.data[at] != 34:
                return False
            stop, escaped, code = string_end(self.data, at + 1, end)
            if code != IS_OK:
                return False
            name = self.name_of(at + 1, stop, escaped, place)
            place += 1
            at = skip_space(self.data, stop + 1, end)
            if at >= end or self.data[at] != 58:
                return False
            at = skip_space(self.data, at + 1, end)
            if at >= end:
                return False
            copies = name >= 0 and self.group_of[name] == self.copied and self.is_read(name)
            first = at
            escaped = 0
            if self.data[at] == 34:
                first, kind = at + 1, IS_STRING
                if copies:
                    stop, to = unquote(self.data, first, end, self.out, self.to, self.wide)
                    if stop < 0:
                        return False
                    escaped = to - self.to != stop - first
                    self.copied_to = to
                else:
                    stop, escaped, code = string_end(self.data, first, end)
                    if code != IS_OK:
                        return False
                at = stop + 1
            else:
                if self.data[at] == 45 or 48 <= self.data[at] <= 57:
                    kind, stop = IS_NUMBER, number_end(self.data, at, end)
                    if stop < 0:
                        return False
                else:
                    kind, stop = literal_end(self.data, at, end)
                    if kind < 0:
                        return False
                if copies:
                    self.copied_to = self.to
                    if kind != IS_NULL:
                        copy_bytes(self.data, first, stop - first, self.out, self.to)
                        self.copied_to += stop - first
                at = stop
            if name >= 0:
                if self.is_read(name):
                    self.note(name, first, stop, kind, ESCAPED_VALUE if escaped else 0)
                if having == 16:
                    return False
                mine[having] = name
                having += 1
            at = skip_space(self.data, at, end)
            if at >= end:
                return False
            if self.data[at] == 125:
                if skip_space(self.data, at + 1, end) < end:
                    return False
                break
            if self.data[at] != 44:
                return False
            at = skip_space(self.data, at + 1, end)
        self.members += place
        while having > 0:
            having -= 1
            self.count(mine[having], r)
        return True

    cdef void count(self, int64_t name, int64_t r) noexcept nogil:
        self.having[name] += self.seen_in[name] != r
        self.seen_in[name] = r

    cdef void read_nodes(self, int64_t r) noexcept nogil:
        """Read the row whose nodes the parser has found, an object."""
        cdef int32_t node = 1
        cdef int64_t name, start, stop, to
        while node < self.nodes[0].behind:
            start, stop = self.nodes[node].key_start, self.nodes[node].key_stop
            name = self.name_of(start, stop, self.nodes[node].flags & ESCAPED_KEY, self.nodes[node].position)
            if name >= 0:
                self.count(name, r)
                if self.is_read(name):
                    start, stop = self.nodes[node].start, self.nodes[node].stop
                    self.note(name, start, stop, self.nodes[node].kind, self.nodes[node].flags & ESCAPED_VALUE)
                    if self.group_of[name] == self.copied:
                        to = self.to
                        if self.nodes[node].flags & ESCAPED_VALUE:
                            to = unescape(self.data, start, stop, self.out, to, self.wide)
                        elif self.nodes[node].kind != IS_NULL:
                            copy_bytes(self.data, start, stop - start, self.out, to)
                            to += stop - start
                        self.copied_to = to
            node = self.nodes[node].behind
        self.members += self.nodes[0].children


def read_rows(
    const uint8_t[::1] data,
    const int64_t[:] starts,
    const int64_t[:] ends,
    groups,
    int copied,
    content,
    bint wide=HAS_WIDE,
):
    """The fields of the rows data[starts[k]:ends[k]], which must be UTF-8, one a group of names; `copied`: the one whose
    texts are copied, into `content`, which must be ROOM bytes longer than the data. `wide` is for tests: the result does
    not depend on it.

    A row's value is that of the first name of the group that it has, of duplicates the last. A row that is no object
    has no value.
    """
    cdef Py_ssize_t rows = starts.shape[0]
    if len(content) < len(data) + SLACK:
        raise ValueError("too little room for the texts")
    cdef _Rows state = _Rows(data, groups, copied, wide and HAS_WIDE)
    cdef int n_groups = state.n_groups
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
    haves = np.zeros(len(state.seen_in), np.int64)
    copied_bounds = np.zeros(rows + 1, np.int64)
    cdef int64_t[:, ::1] start_of = value_starts
    cdef int64_t[:, ::1] stop_of = value_stops
    cdef uint8_t[:, ::1] flags_of = value_flags
    cdef int8_t[:, ::1] kind_of = kinds
    cdef uint8_t[::1] status = statuses
    cdef int64_t[::1] error_at = errors
    cdef uint8_t[::1] usable = objects.view(np.uint8)
    cdef int64_t[::1] offsets = copied_bounds
    state.having = haves
    state.plain = np.empty(longest, np.uint8)
    state.marks = room_for_marks(longest)
    state.out = content
    cdef int64_t at
    cdef int32_t found
    cdef int code, g
    with nogil:
        for r in range(rows):
            offsets[r + 1] = state.to
            state.begin()
            if not state.read_flat(starts[r], ends[r], r):
                state.begin()
                code, at, found = parse_row(data, starts[r], ends[r], state.nodes, state.marks, state.wide)
                while code == IS_OVERFLOW:
                    with gil:
                        state.nodes = room_for_nodes(4 * state.nodes.shape[0])
                    code, at, found = parse_row(data, starts[r], ends[r], state.nodes, state.marks, state.wide)
                if code != IS_OK:
                    status[r] = <uint8_t>code
                    error_at[r] = at - starts[r]
                    continue
                if state.nodes[0].kind != IS_OBJECT:
                    continue
                state.read_nodes(r)
            usable[r] = True
            for g in range(n_groups):
                if state.found[g].rank < 0:
                    continue
                kind_of[g, r] = state.found[g].kind
                start_of[g, r] = state.found[g].start
                stop_of[g, r] = state.found[g].stop
                flags_of[g, r] = state.found[g].flags
            state.to = offsets[r + 1] = state.copied_to
    fields = [RowField(*columns) for columns in zip(value_starts, value_stops, value_flags, kinds)]
    texts = (content[: state.to], copied_bounds)
    return ReadRows(fields, statuses, errors, objects, haves, state.members, texts)
