"""Answers that are JSON objects with texts, lists and cited sources, compared with the expected ones.

Each answer is one pass: it is parsed into nodes whose room the next answer reuses, and its texts are compared where
they stand; only one with escapes is copied. Which fields there are, their limits and thresholds come from the caller.
"""

from typing import NamedTuple

import cython
import numpy as np
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport equal_bytes
from rageval_batch.columnar.kernels.json cimport (
    ESCAPED_KEY,
    ESCAPED_VALUE,
    IS_ARRAY,
    IS_NULL,
    IS_OBJECT,
    IS_OK,
    IS_OVERFLOW,
    IS_STRING,
    Node,
    name_index,
    parse_row,
    unescape,
)
from rageval_batch.columnar.kernels.keywords cimport hits_of_text
from rageval_batch.columnar.kernels.search cimport inside
from rageval_batch.columnar.kernels.softmatch cimport GRAM_ROOM, IS_UNMATCHED, match_pair, points_of
from rageval_batch.columnar.kernels.spaces cimport collapsed_one, strip_one

from rageval_batch.columnar.kernels.json import room_for_nodes
from rageval_batch.columnar.kernels.softmatch import Points32


cdef enum:
    MOST_FIELDS = 16
    MOST_LISTS = 4


cdef enum:  # the members of a source map, in the order in which their names are given
    REFS
    FILE
    ANCHORS


cdef enum:  # why a ref does not hold
    FILE_UNKNOWN
    NO_ANCHOR_FOUND
    NO_ANCHORS


class Fields(NamedTuple):
    """The fields of an answer: names, the kind that each must be of, and which of them are what.

    `kinds` are kinds of JSON nodes. `classes` and `lists` are numbers of fields, as are `evidence` and `sources`.
    `source_names` are the names of refs, file and anchors.
    """

    names: tuple
    kinds: tuple
    classes: tuple
    lists: tuple
    evidence: int
    sources: int
    source_names: tuple


class Limits(NamedTuple):
    """How answers are compared: see the parameters of a profile."""

    threshold: float
    containment_min: int
    one_to_one: bool
    list_caps: tuple
    enough: int
    entry_cap: int
    ref_cap: int
    anchor_cap: int
    defer: bool


class ExpectedItems(NamedTuple):
    """Expected classes and list items: the items of field f and question q are first[f, q] to last[f, q].

    Classes come first, then lists.
    """

    points: Points32
    grams: object
    first: np.ndarray
    last: np.ndarray


class FoundRefs(NamedTuple):
    """The refs that count: the answer of each, why it does not hold (-1: it does), and where its file is written."""

    row: np.ndarray
    why: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    flags: np.ndarray


class DeferredItems(NamedTuple):
    """Texts of answers that the caller compares: the answer, the class or list, and where the value is written."""

    row: np.ndarray
    field: np.ndarray
    kind: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    flags: np.ndarray


class LastList(NamedTuple):
    """A list of the last answer: its items, and the partners (-1: none) on both sides with how they match."""

    items: Points32
    e_partner: np.ndarray
    g_partner: np.ndarray
    e_how: np.ndarray
    g_how: np.ndarray


cdef object joined(names):
    """(bytes of the names end to end, bounds)"""
    encoded = [name.encode() for name in names]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)], dtype=np.int64)


cdef object wider(values, Py_ssize_t least):
    """The same values with room for twice as many, at least for `least`."""
    return np.concatenate([values, np.empty(max(len(values), least), values.dtype)])


@cython.final
cdef class Comparison:
    """A batch of answers against what is expected, a value an answer in every array.

    `class_width` is the number of code points that were compared; places (`start`, `stop`, `flags`) are in the data. An answer whose schema is wrong has nothing but its status and the masks of absent and other fields. One with list
    items that are no strings, or every one where the limits say `defer`, is marked in `deferred`: of its classes and
    lists only the places are noted.
    """

    cdef readonly object status, error_at, usable, ok, absent, other, deferred
    cdef readonly object class_how, class_width, class_start, class_stop, class_flags
    cdef readonly object e_count, g_count, e_matched, g_matched
    cdef readonly object hits, last_row, length, evidence_start, evidence_stop, evidence_flags
    cdef readonly object refs_total, refs_held, strange
    cdef uint8_t[::1] _status, _usable, _ok, _absent, _other, _deferred
    cdef int64_t[::1] _error_at, _length, _evidence_start, _evidence_stop
    cdef uint8_t[:, ::1] _class_how, _class_flags
    cdef int64_t[:, ::1] _class_start, _class_stop, _class_width
    cdef int32_t[:, ::1] _e_count, _g_count, _e_matched, _g_matched
    cdef int32_t[::1] _hits, _last_row, _refs_total, _refs_held
    cdef uint8_t[::1] _evidence_flags
    cdef int16_t[::1] _strange
    # what is expected
    cdef const uint32_t[::1] ep
    cdef const int64_t[::1] eo
    cdef const uint64_t[::1] el, eh, e_grams
    cdef const int64_t[::1] e_gram_bounds
    cdef const int32_t[:, ::1] e_first, e_last
    cdef const uint8_t[::1] names, source_names
    cdef const int64_t[::1] name_bounds, source_bounds
    cdef const int16_t[::1] kinds
    cdef int class_fields[MOST_FIELDS]
    cdef int list_fields[MOST_LISTS]
    cdef int64_t list_caps[MOST_LISTS]
    cdef int n_names, n_classes, n_lists, evidence_field, sources_field
    cdef double threshold
    cdef int64_t containment_min, enough, entry_cap, ref_cap, anchor_cap
    cdef bint one_to_one, defer, has_tables
    # keywords of the expected evidence
    cdef const uint8_t[::1] key_data
    cdef const uint64_t[::1] keys
    cdef const int64_t[::1] key_froms, key_tos, key_bounds, table_bounds
    cdef const int32_t[::1] table
    # the chunks that answers may cite
    cdef const uint8_t[::1] path_data, text_data
    cdef const int64_t[::1] path_offsets, path_bounds, text_offsets
    # room that every answer reuses
    cdef Node[::1] nodes
    cdef uint32_t[::1] points
    cdef uint64_t[::1] grams, lows, highs
    cdef int64_t[::1] bounds, gram_counts
    cdef uint8_t[::1] plain
    cdef int32_t[::1] e_partner, g_partner
    cdef uint8_t[::1] e_how, g_how
    cdef int32_t list_first[MOST_LISTS + 1]
    cdef int32_t e_base[MOST_LISTS + 1]
    cdef int32_t n_items
    # refs and deferred items of all answers
    cdef object ref_columns, item_columns
    cdef int32_t[::1] ref_row, item_row
    cdef int8_t[::1] ref_why
    cdef uint8_t[::1] ref_flags, item_field, item_kind, item_flags
    cdef int64_t[::1] ref_start, ref_stop, item_start, item_stop
    cdef Py_ssize_t n_refs, n_deferred

    def __init__(self, Py_ssize_t rows, fields, expected, limits, tables, contexts):
        """`rows`: answers in the batch; `tables`: of the keywords of the expected evidence, None where the caller looks
        them up; `contexts`: sets of paths and texts."""
        self._set_fields(fields, limits)
        self._set_expected(expected, tables, contexts)
        self._make_columns(rows)
        self.n_refs = self.n_deferred = 0
        self._set_refs([np.empty(rows + 64, kind) for kind in (np.int32, np.int8, np.int64, np.int64, np.uint8)])
        kinds = (np.int32, np.uint8, np.uint8, np.int64, np.int64, np.uint8)
        self._set_items([np.empty(64, kind) for kind in kinds])
        self._make_room(1024)

    cdef void _set_fields(self, fields, limits) except *:
        names, bounds = joined(fields.names)
        self.names, self.name_bounds = names, bounds
        names, bounds = joined(fields.source_names)
        self.source_names, self.source_bounds = names, bounds
        self.kinds = np.array(fields.kinds, np.int16)
        self.n_names, self.n_classes, self.n_lists = len(fields.names), len(fields.classes), len(fields.lists)
        if self.n_names > MOST_FIELDS or self.n_lists > MOST_LISTS:
            raise ValueError("more fields or lists than there is room for")
        for k, field in enumerate(fields.classes):
            self.class_fields[k] = field
        for k, field in enumerate(fields.lists):
            self.list_fields[k], self.list_caps[k] = field, limits.list_caps[k]
        self.evidence_field, self.sources_field = fields.evidence, fields.sources
        self.threshold, self.containment_min = limits.threshold, limits.containment_min
        self.one_to_one, self.defer = limits.one_to_one, limits.defer
        self.enough = limits.enough
        self.entry_cap, self.ref_cap, self.anchor_cap = limits.entry_cap, limits.ref_cap, limits.anchor_cap

    cdef void _set_expected(self, expected, tables, contexts) except *:
        self.ep, self.eo = expected.points.points, expected.points.offsets
        self.el, self.eh = expected.points.low, expected.points.high
        self.e_grams, self.e_gram_bounds = expected.grams.grams, expected.grams.bounds
        self.e_first, self.e_last = expected.first, expected.last
        self.path_data, self.path_offsets = contexts.paths.data, contexts.paths.offsets
        self.path_bounds = contexts.path_bounds
        self.text_data, self.text_offsets = contexts.text.data, contexts.text.offsets
        self.has_tables = tables is not None
        self.last_row = np.full(len(tables.found.keys) if tables is not None else 0, -1, np.int32)
        self._last_row = self.last_row
        if tables is not None:
            self.key_data, self.keys = tables.found.data, tables.found.keys
            self.key_froms, self.key_tos = tables.found.froms, tables.found.tos
            self.table, self.table_bounds = tables.table, tables.table_bounds
            self.key_bounds = tables.found.bounds
        most = int((expected.last - expected.first).sum(axis=0).max()) if expected.first.size else 0
        self.e_partner, self.e_how = np.empty(most, np.int32), np.empty(most, np.uint8)

    cdef void _make_columns(self, Py_ssize_t rows) except *:
        self.status = self._status = np.zeros(rows, np.uint8)
        self.error_at = self._error_at = np.full(rows, -1, np.int64)
        self.usable = np.zeros(rows, np.bool_)
        self.ok = np.zeros(rows, np.bool_)
        self.deferred = np.zeros(rows, np.bool_)
        self._usable, self._ok = self.usable.view(np.uint8), self.ok.view(np.uint8)
        self._deferred = self.deferred.view(np.uint8)
        self.absent = self._absent = np.zeros(rows, np.uint8)
        self.other = self._other = np.zeros(rows, np.uint8)
        self.class_how = self._class_how = np.zeros((rows, self.n_classes), np.uint8)
        self.class_width = self._class_width = np.zeros((rows, self.n_classes), np.int64)
        self.class_start = self._class_start = np.zeros((rows, self.n_classes), np.int64)
        self.class_stop = self._class_stop = np.zeros((rows, self.n_classes), np.int64)
        self.class_flags = self._class_flags = np.zeros((rows, self.n_classes), np.uint8)
        self.e_count = self._e_count = np.zeros((self.n_lists, rows), np.int32)
        self.g_count = self._g_count = np.zeros((self.n_lists, rows), np.int32)
        self.e_matched = self._e_matched = np.zeros((self.n_lists, rows), np.int32)
        self.g_matched = self._g_matched = np.zeros((self.n_lists, rows), np.int32)
        self.hits = self._hits = np.zeros(rows, np.int32)
        self.length = self._length = np.zeros(rows, np.int64)
        self.evidence_start = self._evidence_start = np.zeros(rows, np.int64)
        self.evidence_stop = self._evidence_stop = np.zeros(rows, np.int64)
        self.evidence_flags = self._evidence_flags = np.zeros(rows, np.uint8)
        self.refs_total = self._refs_total = np.zeros(rows, np.int32)
        self.refs_held = self._refs_held = np.zeros(rows, np.int32)
        self.strange = self._strange = np.full(rows, -1, np.int16)

    cdef void _set_refs(self, columns) except *:
        self.ref_columns = columns
        self.ref_row, self.ref_why, self.ref_start, self.ref_stop, self.ref_flags = columns

    cdef void _set_items(self, columns) except *:
        self.item_columns = columns
        self.item_row, self.item_field, self.item_kind, self.item_start, self.item_stop, self.item_flags = columns

    cdef void _make_room(self, Py_ssize_t count) except *:
        """Room for an answer of that many nodes."""
        self.nodes = room_for_nodes(count)
        self.bounds, self.gram_counts = np.empty(count + 1, np.int64), np.empty(count, np.int64)
        self.lows, self.highs = np.empty(count, np.uint64), np.empty(count, np.uint64)
        self.g_partner, self.g_how = np.empty(count, np.int32), np.empty(count, np.uint8)

    cdef void _widen(self, Py_ssize_t count) except *:
        """Room for that many more refs and deferred items."""
        if self.n_refs + count > self.ref_row.shape[0]:
            self._set_refs([wider(column, count) for column in self.ref_columns])
        if self.n_deferred + count > self.item_row.shape[0]:
            self._set_items([wider(column, count) for column in self.item_columns])

    def run(
        self,
        const uint8_t[::1] data,
        const int64_t[:] starts,
        const int64_t[:] ends,
        const int32_t[:] rows,
        const int32_t[:] question,
        const int32_t[:] context,
    ):
        """Compare the answers data[starts[k]:ends[k]], each of them row rows[k] of the batch; in UTF-8.

        `question` and `context` have a value for every row of the batch: what is expected, and the set of chunks.
        """
        cdef Py_ssize_t k
        cdef int32_t r, found
        cdef int64_t at, longest = 1
        cdef int code
        with nogil:
            for k in range(starts.shape[0]):
                longest = max(longest, ends[k] - starts[k])
        self.points, self.grams = np.empty(longest, np.uint32), np.empty(GRAM_ROOM * longest, np.uint64)
        self.plain = np.empty(longest, np.uint8)
        with nogil:
            for k in range(starts.shape[0]):
                r = rows[k]
                code, at, found = parse_row(data, starts[k], ends[k], self.nodes)
                while code == IS_OVERFLOW:
                    with gil:
                        self._make_room(4 * self.nodes.shape[0])
                    code, at, found = parse_row(data, starts[k], ends[k], self.nodes)
                self._status[r] = <uint8_t>code
                if code != IS_OK:
                    self._error_at[r] = at - starts[k]
                    continue
                self._error_at[r] = -1
                if self.n_refs + found > self.ref_row.shape[0] or self.n_deferred + found > self.item_row.shape[0]:
                    with gil:
                        self._widen(found)
                self.compare(data, r, question[r], context[r])

    cdef inline int64_t name_of(
        self, const uint8_t[::1] data, int32_t node, const uint8_t[::1] names, const int64_t[::1] bounds
    ) noexcept nogil:
        """Which of the names a member has, -1 where none."""
        cdef int64_t width, start = self.nodes[node].key_start
        if self.nodes[node].flags & ESCAPED_KEY:
            width = unescape(data, start, self.nodes[node].key_stop, self.plain, 0)
            return name_index(self.plain, 0, width, names, bounds)
        return name_index(data, start, self.nodes[node].key_stop - start, names, bounds)

    cdef void compare(self, const uint8_t[::1] data, int32_t r, int32_t q, int32_t context) noexcept nogil:
        """All that is noted of one answer, whose nodes are there."""
        cdef int32_t found[MOST_FIELDS]
        cdef int32_t node = 1
        cdef int64_t name
        cdef int k, absent = 0, other = 0
        self._usable[r] = self.nodes[0].kind == IS_OBJECT
        if not self._usable[r]:
            return
        for k in range(self.n_names):
            found[k] = -1
        while node < self.nodes[0].behind:
            name = self.name_of(data, node, self.names, self.name_bounds)
            if name >= 0:
                found[name] = node  # of duplicates the last
            node = self.nodes[node].behind
        for k in range(self.n_names):
            if found[k] < 0:
                absent |= 1 << k
            elif self.nodes[found[k]].kind != self.kinds[k]:
                other |= 1 << k
        self._absent[r] = <uint8_t>absent
        self._other[r] = <uint8_t>other
        if absent or other:
            return
        self._ok[r] = True
        self.n_items = 0
        self.bounds[0] = 0
        for k in range(self.n_classes):
            node = found[self.class_fields[k]]
            self._class_start[r, k] = self.nodes[node].start
            self._class_stop[r, k] = self.nodes[node].stop
            self._class_flags[r, k] = self.nodes[node].flags & ESCAPED_VALUE
        if self.defer or self.has_other_items(found):
            self._deferred[r] = True
            self.defer_items(found, r)
        else:
            self.match_classes(data, found, r, q)
            self.match_lists(data, found, r, q)
        self.read_evidence(data, found[self.evidence_field], r, q)
        self.find_refs(data, found[self.sources_field], r, context)

    # --- classes and lists

    cdef bint has_other_items(self, const int32_t *found) noexcept nogil:
        """Whether a list has an item within its cap that is neither a string nor null."""
        cdef int32_t node, item
        cdef int k
        for k in range(self.n_lists):
            node = found[self.list_fields[k]]
            item = node + 1
            while item < self.nodes[node].behind and self.nodes[item].position < self.list_caps[k]:
                if self.nodes[item].kind != IS_STRING and self.nodes[item].kind != IS_NULL:
                    return True
                item = self.nodes[item].behind
        return False

    cdef inline void note_item(self, int32_t node, int32_t r, int field) noexcept nogil:
        cdef Py_ssize_t to = self.n_deferred
        self.item_row[to] = r
        self.item_field[to] = <uint8_t>field
        self.item_kind[to] = self.nodes[node].kind
        self.item_start[to] = self.nodes[node].start
        self.item_stop[to] = self.nodes[node].stop
        self.item_flags[to] = self.nodes[node].flags & ESCAPED_VALUE
        self.n_deferred += 1

    cdef void defer_items(self, const int32_t *found, int32_t r) noexcept nogil:
        """Note where classes and list items are written; null items are none."""
        cdef int32_t node, item
        cdef int k
        for k in range(self.n_classes):
            self.note_item(found[self.class_fields[k]], r, k)
        for k in range(self.n_lists):
            node = found[self.list_fields[k]]
            item = node + 1
            while item < self.nodes[node].behind and self.nodes[item].position < self.list_caps[k]:
                if self.nodes[item].kind != IS_NULL:
                    self.note_item(item, r, self.n_classes + k)
                item = self.nodes[item].behind

    cdef inline int64_t read_item(self, const uint8_t[::1] data, int32_t node) noexcept nogil:
        """Put the squashed text of a node behind the items; how many code points it has."""
        cdef int32_t item = self.n_items
        cdef int64_t end, first = self.bounds[item]
        cdef uint64_t signs[2]
        if self.nodes[node].flags & ESCAPED_VALUE:
            end = unescape(data, self.nodes[node].start, self.nodes[node].stop, self.plain, 0)
            end = points_of(self.plain, 0, end, True, self.points, first, signs)
        else:
            end = points_of(data, self.nodes[node].start, self.nodes[node].stop, True, self.points, first, signs)
        self.bounds[item + 1] = end
        self.lows[item] = signs[0]
        self.highs[item] = signs[1]
        self.gram_counts[item] = -1
        self.g_partner[item] = -1
        self.g_how[item] = IS_UNMATCHED
        return end - first

    cdef int match(self, int32_t e, int32_t g) noexcept nogil:
        """How an expected item and an item of the answer match."""
        return match_pair(
            self.ep, self.eo[e], self.eo[e + 1], self.el[e], self.eh[e],
            self.e_grams, self.e_gram_bounds[e], self.e_gram_bounds[e + 1] - self.e_gram_bounds[e],
            self.points, self.bounds[g], self.bounds[g + 1], self.lows[g], self.highs[g],
            self.grams, GRAM_ROOM * self.bounds[g], &self.gram_counts[g],
            self.threshold, self.containment_min, False,
        )

    cdef void match_classes(self, const uint8_t[::1] data, const int32_t *found, int32_t r, int32_t q) noexcept nogil:
        cdef int k
        for k in range(self.n_classes):
            self._class_width[r, k] = self.read_item(data, found[self.class_fields[k]])
            self._class_how[r, k] = <uint8_t>self.match(self.e_first[k, q], self.n_items)
            self.n_items += 1

    cdef void match_lists(self, const uint8_t[::1] data, const int32_t *found, int32_t r, int32_t q) noexcept nogil:
        cdef int32_t node, item
        cdef int k
        self.e_base[0] = 0
        for k in range(self.n_lists):
            self.list_first[k] = self.n_items
            node = found[self.list_fields[k]]
            item = node + 1
            while item < self.nodes[node].behind and self.nodes[item].position < self.list_caps[k]:
                if self.nodes[item].kind != IS_NULL and self.read_item(data, item):
                    self.n_items += 1
                item = self.nodes[item].behind
            self.list_first[k + 1] = self.n_items
            self.e_base[k + 1] = self.e_base[k] + self.e_last[self.n_classes + k, q] - self.e_first[self.n_classes + k, q]
            self.match_list(k, r, self.e_first[self.n_classes + k, q])

    cdef void match_list(self, int k, int32_t r, int32_t e_first) noexcept nogil:
        """The partners of one list, as `softmatch.assign` has them; a pair is compared only where it decides."""
        cdef int32_t e, g, to, g_first = self.list_first[k], g_last = self.list_first[k + 1]
        cdef int how
        self._e_count[k, r] = self.e_base[k + 1] - self.e_base[k]
        self._g_count[k, r] = g_last - g_first
        for e in range(self._e_count[k, r]):
            to = self.e_base[k] + e
            self.e_partner[to] = -1
            self.e_how[to] = IS_UNMATCHED
            for g in range(g_first, g_last):
                if self.g_partner[g] >= 0 and (self.one_to_one or self.e_partner[to] >= 0):
                    continue
                how = self.match(e_first + e, g)
                if how == IS_UNMATCHED:
                    continue
                if self.e_partner[to] < 0:
                    self.e_partner[to] = g - g_first
                    self.e_how[to] = <uint8_t>how
                    self._e_matched[k, r] += 1
                if self.g_partner[g] < 0:
                    self.g_partner[g] = e
                    self.g_how[g] = <uint8_t>how
                    self._g_matched[k, r] += 1
                if self.one_to_one:
                    break

    # --- evidence and sources

    cdef void read_evidence(self, const uint8_t[::1] data, int32_t node, int32_t r, int32_t q) noexcept nogil:
        cdef int64_t end, start = self.nodes[node].start
        self._evidence_start[r] = start
        self._evidence_stop[r] = end = self.nodes[node].stop
        self._evidence_flags[r] = self.nodes[node].flags & ESCAPED_VALUE
        if self._evidence_flags[r]:
            end = unescape(data, start, end, self.plain, 0)
            self.count_hits(self.plain, 0, end, r, q)
        else:
            self.count_hits(data, start, end, r, q)

    cdef inline void count_hits(
        self, const uint8_t[::1] text, int64_t start, int64_t end, int32_t r, int32_t q
    ) noexcept nogil:
        cdef int64_t base
        self._length[r] = collapsed_one(text, start, end, self.enough)
        if self.has_tables:
            base = self.table_bounds[q]
            self._hits[r] = hits_of_text(
                self.table, base, <uint64_t>(self.table_bounds[q + 1] - base - 1),
                self.keys, self.key_data, self.key_froms, self.key_tos, self.key_bounds[q], self.key_bounds[q + 1],
                text, start, end, False, r, self._last_row,
            )

    cdef int32_t member(self, const uint8_t[::1] data, int32_t owner, int64_t wanted) noexcept nogil:
        """The last member of an object with one of the names of a source map, -1 where it has none or is no object."""
        cdef int32_t node = owner + 1, found = -1
        if self.nodes[owner].kind != IS_OBJECT:
            return -1
        while node < self.nodes[owner].behind:
            if self.name_of(data, node, self.source_names, self.source_bounds) == wanted:
                found = node
            node = self.nodes[node].behind
        return found

    cdef void find_refs(self, const uint8_t[::1] data, int32_t sources, int32_t r, int32_t context) noexcept nogil:
        """Note every ref within the caps; a source map that has entries, none of them with refs, is strange."""
        cdef int32_t refs, ref, entry = sources + 1
        while entry < self.nodes[sources].behind and self.nodes[entry].position < self.entry_cap:
            refs = self.member(data, entry, REFS)
            if refs >= 0 and self.nodes[refs].kind == IS_ARRAY:
                ref = refs + 1
                while ref < self.nodes[refs].behind and self.nodes[ref].position < self.ref_cap:
                    if self.nodes[ref].kind == IS_OBJECT:
                        self.note_ref(data, ref, r, context)
                    ref = self.nodes[ref].behind
            entry = self.nodes[entry].behind
        if self._refs_total[r] == 0 and self.nodes[sources].children and not self.has_refs(data, sources):
            self._strange[r] = self.nodes[sources + 1].kind

    cdef bint has_refs(self, const uint8_t[::1] data, int32_t sources) noexcept nogil:
        """Whether any entry has a list of refs that is empty or has an object in it."""
        cdef int32_t refs, ref, entry = sources + 1
        while entry < self.nodes[sources].behind:
            refs = self.member(data, entry, REFS)
            if refs >= 0 and self.nodes[refs].kind == IS_ARRAY:
                if self.nodes[refs].children == 0:
                    return True
                ref = refs + 1
                while ref < self.nodes[refs].behind:
                    if self.nodes[ref].kind == IS_OBJECT:
                        return True
                    ref = self.nodes[ref].behind
            entry = self.nodes[entry].behind
        return False

    cdef void note_ref(self, const uint8_t[::1] data, int32_t ref, int32_t r, int32_t context) noexcept nogil:
        cdef int32_t file = self.member(data, ref, FILE)
        cdef Py_ssize_t to = self.n_refs
        cdef int why = FILE_UNKNOWN
        self.ref_start[to] = self.ref_stop[to] = 0
        self.ref_flags[to] = 0
        if file >= 0:
            self.ref_start[to] = self.nodes[file].start
            self.ref_stop[to] = self.nodes[file].stop
            self.ref_flags[to] = self.nodes[file].flags & ESCAPED_VALUE
            if self.nodes[file].kind == IS_STRING and self.is_known(data, file, context):
                why = self.quoted(data, self.member(data, ref, ANCHORS), context)
        self.ref_row[to] = r
        self.ref_why[to] = <int8_t>why
        self.n_refs += 1
        self._refs_total[r] += 1
        self._refs_held[r] += why < 0

    cdef bint is_known(self, const uint8_t[::1] data, int32_t file, int32_t context) noexcept nogil:
        """Whether a file is one of the paths of a set of chunks."""
        cdef int64_t end, start = self.nodes[file].start
        if self.nodes[file].flags & ESCAPED_VALUE:
            end = unescape(data, start, self.nodes[file].stop, self.plain, 0)
            return self.is_path(self.plain, 0, end, context)
        return self.is_path(data, start, self.nodes[file].stop, context)

    cdef inline bint is_path(
        self, const uint8_t[::1] text, int64_t start, int64_t end, int32_t context
    ) noexcept nogil:
        cdef int64_t m
        start, end = strip_one(text, start, end)
        for m in range(self.path_bounds[context], self.path_bounds[context + 1]):
            if self.path_offsets[m + 1] - self.path_offsets[m] == end - start and equal_bytes(
                self.path_data, self.path_offsets[m], text, start, end - start
            ):
                return True
        return False

    cdef int quoted(self, const uint8_t[::1] data, int32_t anchors, int32_t context) noexcept nogil:
        """-1 where an anchor is in the texts of a set of chunks, else why not."""
        cdef int32_t anchor = anchors + 1
        cdef int64_t start, end
        cdef int why = NO_ANCHORS
        if anchors < 0 or self.nodes[anchors].kind != IS_ARRAY:
            return NO_ANCHORS
        while anchor < self.nodes[anchors].behind and self.nodes[anchor].position < self.anchor_cap:
            if self.nodes[anchor].kind == IS_STRING:
                start, end = self.nodes[anchor].start, self.nodes[anchor].stop
                if self.nodes[anchor].flags & ESCAPED_VALUE:
                    end = unescape(data, start, end, self.plain, 0)
                    why = self.quoted_text(self.plain, 0, end, context, why)
                else:
                    why = self.quoted_text(data, start, end, context, why)
                if why < 0:
                    return -1
            anchor = self.nodes[anchor].behind
        return why

    cdef inline int quoted_text(
        self, const uint8_t[::1] text, int64_t start, int64_t end, int32_t context, int why
    ) noexcept nogil:
        """-1 where a text is in those of a set of chunks, `why` where it is blank."""
        start, end = strip_one(text, start, end)
        if start == end:
            return why
        if inside(
            self.text_data, self.text_offsets[context], self.text_offsets[context + 1], text, start, end
        ):
            return -1
        return NO_ANCHOR_FOUND

    # --- what was found

    def refs(self):
        """The refs of all answers, in their order."""
        return FoundRefs(*(column[: self.n_refs] for column in self.ref_columns))

    def deferred_items(self):
        """The texts of all deferred answers in the order of rows: classes, then the items of each list."""
        order = np.argsort(self.item_columns[0][: self.n_deferred], kind="stable")  # not all were compared in order
        return DeferredItems(*(column[order] for column in self.item_columns))

    def last_list(self, int k):
        """A list of the last answer, which must not be a deferred one."""
        first, last, base, end = self.list_first[k], self.list_first[k + 1], self.e_base[k], self.e_base[k + 1]
        items = Points32(
            np.array(self.points[: self.bounds[last]]), np.array(self.bounds[first : last + 1]),
            np.array(self.lows[first:last]), np.array(self.highs[first:last]),
        )
        return LastList(
            items,
            np.array(self.e_partner[base:end]), np.array(self.g_partner[first:last]),
            np.array(self.e_how[base:end]), np.array(self.g_how[first:last]),
        )
