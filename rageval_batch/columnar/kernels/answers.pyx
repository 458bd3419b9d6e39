"""Answers that are JSON objects with texts, lists and cited sources, compared with the expected ones.

Each answer is one pass: it is parsed into nodes whose room the next answer reuses, and its texts are compared where
they stand; only one with escapes is copied. Which fields there are, their limits and thresholds come from the caller.
"""

import cython
import numpy as np
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport equal_bytes, load64
from rageval_batch.columnar.kernels.citations cimport Citations
from rageval_batch.columnar.kernels.json cimport (
    ESCAPED_VALUE,
    IS_NULL,
    IS_OBJECT,
    IS_OK,
    IS_OVERFLOW,
    IS_STRING,
    Node,
    member_name,
    parse_row,
    unescape,
)
from rageval_batch.columnar.kernels.keywords cimport hits_of_text
from rageval_batch.columnar.kernels.softmatch cimport (
    GRAM_ROOM,
    IS_EQUAL,
    IS_UNMATCHED,
    Squashed,
    Threshold,
    match_pair,
    points_of,
    signature_of,
    threshold_of,
)
from rageval_batch.columnar.kernels.spaces cimport collapsed_one
from rageval_batch.columnar.kernels.utf8 cimport may_be_space
from rageval_batch.columnar.kernels.wide cimport has_wide

from rageval_batch.columnar.kernels.answer_fields import DeferredItems, LastList
from rageval_batch.columnar.kernels.buffers import wider
from rageval_batch.columnar.kernels.json import room_for_marks, room_for_nodes
from rageval_batch.columnar.kernels.softmatch import span_points
from rageval_batch.columnar.strings import from_list


HAS_WIDE = bool(has_wide())  # whether strings are read 64 bytes at a time


cdef enum:
    MOST_FIELDS = 16
    MOST_LISTS = 4


cdef struct Item:  # a class or list item of an answer
    int64_t start  # where its value is written
    int64_t stop
    Squashed squashed
    int32_t partner
    uint8_t flags
    uint8_t how


cdef object room_for_items(count):
    """An array for the items of one answer."""
    words = [("first", np.int64), ("last", np.int64), ("gram_count", np.int64), ("low", np.uint64), ("high", np.uint64)]
    places = [("start", np.int64), ("stop", np.int64), ("squashed", words), ("partner", np.int32)]
    return np.empty(count, np.dtype([*places, ("flags", np.uint8), ("how", np.uint8)], align=True))


@cython.final
cdef class Comparison:
    """A batch of answers against what is expected, a value an answer in every array.

    `class_width` is the number of code points that were compared; places (`start`, `stop`, `flags`) are in the data. An
    answer whose schema is wrong has nothing but its status and the masks of absent and other fields. One with list
    items that are no strings, or every one where the limits say `defer`, is marked in `deferred`: of its classes and
    lists only the places are noted.
    """

    cdef readonly object status, error_at, usable, ok, absent, other, deferred
    cdef readonly object class_how, class_width, class_start, class_stop, class_flags
    cdef readonly object e_count, g_count, e_matched, g_matched
    cdef readonly object hits, last_row, length, evidence_start, evidence_stop, evidence_flags
    cdef readonly Citations citations
    cdef uint8_t[::1] _status, _usable, _ok, _absent, _other, _deferred
    cdef int64_t[::1] _error_at, _length, _evidence_start, _evidence_stop
    cdef uint8_t[:, ::1] _class_how, _class_flags
    cdef int64_t[:, ::1] _class_start, _class_stop, _class_width
    cdef int32_t[:, ::1] _e_count, _g_count, _e_matched, _g_matched
    cdef int32_t[::1] _hits, _last_row
    cdef uint8_t[::1] _evidence_flags
    # what is expected
    cdef const uint8_t[::1] e_text
    cdef const int64_t[::1] e_text_bounds
    cdef const uint32_t[::1] ep
    cdef const int64_t[::1] eo
    cdef const uint64_t[::1] el, eh, e_grams
    cdef const int32_t[::1] e_gram_counts
    cdef const int64_t[::1] e_gram_bounds
    cdef const int32_t[:, ::1] e_first, e_last
    cdef const uint8_t[::1] names
    cdef const int64_t[::1] name_bounds
    cdef const int16_t[::1] kinds
    cdef int class_fields[MOST_FIELDS]
    cdef int list_fields[MOST_LISTS]
    cdef int64_t list_caps[MOST_LISTS]
    cdef int n_names, n_classes, n_lists, evidence_field, sources_field
    cdef Threshold threshold
    cdef int64_t containment_min, enough
    cdef bint one_to_one, defer, has_tables, wide
    # keywords of the expected evidence
    cdef const uint8_t[::1] key_data
    cdef const uint64_t[::1] keys
    cdef const int64_t[::1] key_froms, key_tos, key_bounds, table_bounds
    cdef const int32_t[::1] table
    # the answers, and room that every one of them reuses
    cdef object texts
    cdef const uint8_t[::1] data
    cdef Node[::1] nodes
    cdef Item[::1] items
    cdef uint32_t[::1] points
    cdef uint64_t[::1] grams
    cdef uint8_t[::1] plain
    cdef uint32_t[::1] marks
    cdef int32_t[::1] e_partner
    cdef uint8_t[::1] e_how
    cdef int32_t list_first[MOST_LISTS + 1]
    cdef int32_t e_base[MOST_LISTS + 1]
    cdef int32_t n_items
    cdef int64_t n_points
    # deferred items of all answers
    cdef object item_columns
    cdef int32_t[::1] item_row
    cdef uint8_t[::1] item_field, item_kind, item_flags
    cdef int64_t[::1] item_start, item_stop
    cdef Py_ssize_t n_deferred

    def __init__(self, Py_ssize_t rows, fields, expected, limits, tables, contexts, bint wide=HAS_WIDE):
        """`rows`: answers in the batch; `tables`: of the keywords of the expected evidence, None where the caller looks
        them up; `contexts`: sets of paths and texts; `wide` is for tests: no result depends on it."""
        self.wide = wide and HAS_WIDE
        self._set_fields(fields, limits)
        self._set_expected(expected, tables)
        self._make_columns(rows)
        self.citations = Citations(rows, fields.source_names, limits, contexts)
        self.citations.wide = self.wide
        self.n_deferred = 0
        kinds = (np.int32, np.uint8, np.uint8, np.int64, np.int64, np.uint8)
        self._set_items([np.empty(64, kind) for kind in kinds])
        self._make_room(1024)

    cdef void _set_fields(self, fields, limits) except *:
        names = from_list(fields.names)
        self.names, self.name_bounds = names.data, names.offsets
        self.kinds = np.array(fields.kinds, np.int16)
        self.n_names, self.n_classes, self.n_lists = len(fields.names), len(fields.classes), len(fields.lists)
        if self.n_names > MOST_FIELDS or self.n_lists > MOST_LISTS:
            raise ValueError("more fields or lists than there is room for")
        for k, field in enumerate(fields.classes):
            self.class_fields[k] = field
        for k, field in enumerate(fields.lists):
            self.list_fields[k], self.list_caps[k] = field, limits.list_caps[k]
        self.evidence_field, self.sources_field = fields.evidence, fields.sources
        self.threshold, self.containment_min = threshold_of(limits.threshold), limits.containment_min
        self.one_to_one, self.defer = limits.one_to_one, limits.defer
        self.enough = limits.enough

    cdef void _set_expected(self, expected, tables) except *:
        self.e_text, self.e_text_bounds = expected.texts.data, expected.texts.offsets
        self.ep, self.eo = expected.points.points, expected.points.offsets
        self.el, self.eh = expected.points.low, expected.points.high
        self.e_gram_counts, self.e_grams, self.e_gram_bounds = expected.grams
        self.e_first, self.e_last = expected.first, expected.last
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

    cdef void _set_items(self, columns) except *:
        self.item_columns = columns
        self.item_row, self.item_field, self.item_kind, self.item_start, self.item_stop, self.item_flags = columns

    cdef void _make_room(self, Py_ssize_t count) except *:
        """Room for an answer of that many nodes."""
        self.nodes = self.citations.nodes = room_for_nodes(count)
        self.items = room_for_items(count)

    cdef void _widen(self, Py_ssize_t count) except *:
        """Room for that many more refs and deferred items."""
        self.citations.reserve(count)
        if self.n_deferred + count > self.item_row.shape[0]:
            self._set_items([wider(column, count) for column in self.item_columns])

    def run(
        self,
        texts,
        const int64_t[:] starts,
        const int64_t[:] ends,
        const int32_t[:] rows,
        const int32_t[:] question,
        const int32_t[:] context,
    ):
        """Compare the answers texts[starts[k]:ends[k]], each of them row rows[k] of the batch; in UTF-8.

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
        self.plain = self.citations.plain = np.empty(longest, np.uint8)
        self.marks = room_for_marks(longest)
        self.texts = self.data = self.citations.data = texts
        with nogil:
            for k in range(starts.shape[0]):
                r = rows[k]
                code, at, found = parse_row(self.data, starts[k], ends[k], self.nodes, self.marks, self.wide)
                while code == IS_OVERFLOW:
                    with gil:
                        self._make_room(4 * self.nodes.shape[0])
                    code, at, found = parse_row(self.data, starts[k], ends[k], self.nodes, self.marks, self.wide)
                self._status[r] = <uint8_t>code
                if code != IS_OK:
                    self._error_at[r] = at - starts[k]
                    continue
                self._error_at[r] = -1
                if (
                    self.citations.count + found > self.citations.row.shape[0]
                    or self.n_deferred + found > self.item_row.shape[0]
                ):
                    with gil:
                        self._widen(found)
                self.compare(r, question[r], context[r])

    cdef void compare(self, int32_t r, int32_t q, int32_t context) noexcept nogil:
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
            name = member_name(self.data, &self.nodes[node], self.plain, self.names, self.name_bounds)
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
        self.n_points = 0
        for k in range(self.n_classes):
            node = found[self.class_fields[k]]
            self._class_start[r, k] = self.nodes[node].start
            self._class_stop[r, k] = self.nodes[node].stop
            self._class_flags[r, k] = self.nodes[node].flags & ESCAPED_VALUE
        if self.defer or self.has_other_items(found):
            self._deferred[r] = True
            self.defer_items(found, r)
        else:
            self.match_classes(found, r, q)
            self.match_lists(found, r, q)
        self.read_evidence(found[self.evidence_field], r, q)
        self.citations.find(found[self.sources_field], r, context)

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

    cdef inline void add_item(self, int32_t node) noexcept nogil:
        """Make a string the next item."""
        cdef Item *item = &self.items[self.n_items]
        item.start, item.stop = self.nodes[node].start, self.nodes[node].stop
        item.flags = self.nodes[node].flags & ESCAPED_VALUE
        item.squashed.first = item.squashed.gram_count = item.partner = -1
        item.how = IS_UNMATCHED

    cdef void read_points(self, Item *item) noexcept nogil:
        """The code points of an item, behind those of others."""
        cdef int64_t end, first = self.n_points
        item.squashed.first = first
        if item.flags:
            end = unescape(self.data, item.start, item.stop, self.plain, 0, self.wide)
            self.n_points = points_of(self.plain, 0, end, True, self.points, first, self.wide)
        else:
            self.n_points = points_of(self.data, item.start, item.stop, True, self.points, first, self.wide)
        item.squashed.last = self.n_points
        item.squashed.low, item.squashed.high = signature_of(self.points, first, self.n_points, self.wide)

    cdef inline bint is_blank(self, Item *item) noexcept nogil:
        """Whether nothing is left of an item without its white space."""
        if item.start < item.stop and not item.flags and not may_be_space(self.data[item.start]):
            return False
        self.read_points(item)
        return item.squashed.first == item.squashed.last

    cdef inline bint is_verbatim(self, int32_t e, const Item *item) noexcept nogil:
        """Whether an item is written as the expected one is."""
        cdef int64_t first = self.e_text_bounds[e], width = self.e_text_bounds[e + 1] - first
        if item.stop - item.start != width or item.flags:
            return False
        if width >= 8 and load64(self.e_text, first) != load64(self.data, item.start):
            return False
        return equal_bytes(self.e_text, first, self.data, item.start, width)

    cdef int match(self, int32_t e, int32_t g) noexcept nogil:
        """How an expected item, which is not blank, and an item of the answer match."""
        cdef Item *item = &self.items[g]
        if self.is_verbatim(e, item):
            return IS_EQUAL
        if item.squashed.first < 0:
            self.read_points(item)
        return match_pair(
            self.ep, self.eo[e], self.eo[e + 1], self.el[e], self.eh[e],
            self.e_grams, self.e_gram_bounds[e], self.e_gram_counts[e],
            self.points, &item.squashed, self.grams, GRAM_ROOM * item.squashed.first,
            &self.threshold, self.containment_min, False, self.wide,
        )

    cdef void match_classes(self, const int32_t *found, int32_t r, int32_t q) noexcept nogil:
        cdef Item *item
        cdef int32_t e
        cdef int k
        for k in range(self.n_classes):
            self.add_item(found[self.class_fields[k]])
            item, e = &self.items[self.n_items], self.e_first[k, q]
            if self.eo[e] < self.eo[e + 1]:
                self._class_how[r, k] = <uint8_t>self.match(e, self.n_items)
            if item.squashed.first >= 0:
                self._class_width[r, k] = item.squashed.last - item.squashed.first
            else:
                self._class_width[r, k] = self.eo[e + 1] - self.eo[e]
            self.n_items += 1

    cdef void match_lists(self, const int32_t *found, int32_t r, int32_t q) noexcept nogil:
        cdef int32_t node, item
        cdef int k
        self.e_base[0] = 0
        for k in range(self.n_lists):
            self.list_first[k] = self.n_items
            node = found[self.list_fields[k]]
            item = node + 1
            while item < self.nodes[node].behind and self.nodes[item].position < self.list_caps[k]:
                if self.nodes[item].kind != IS_NULL:
                    self.add_item(item)
                    self.n_items += not self.is_blank(&self.items[self.n_items])
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
                if self.items[g].partner >= 0 and (self.one_to_one or self.e_partner[to] >= 0):
                    continue
                how = self.match(e_first + e, g)
                if how == IS_UNMATCHED:
                    continue
                if self.e_partner[to] < 0:
                    self.e_partner[to] = g - g_first
                    self.e_how[to] = <uint8_t>how
                    self._e_matched[k, r] += 1
                if self.items[g].partner < 0:
                    self.items[g].partner = e
                    self.items[g].how = <uint8_t>how
                    self._g_matched[k, r] += 1
                if self.one_to_one:
                    break

    # --- evidence and sources

    cdef void read_evidence(self, int32_t node, int32_t r, int32_t q) noexcept nogil:
        cdef int64_t end, start = self.nodes[node].start
        self._evidence_start[r] = start
        self._evidence_stop[r] = end = self.nodes[node].stop
        self._evidence_flags[r] = self.nodes[node].flags & ESCAPED_VALUE
        if self._evidence_flags[r]:
            end = unescape(self.data, start, end, self.plain, 0, self.wide)
            self.count_hits(self.plain, 0, end, r, q)
        else:
            self.count_hits(self.data, start, end, r, q)

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

    # --- what was found

    def deferred_items(self):
        """The texts of all deferred answers in the order of rows: classes, then the items of each list."""
        order = np.argsort(self.item_columns[0][: self.n_deferred], kind="stable")  # not all were compared in order
        return DeferredItems(*(column[order] for column in self.item_columns))

    def last_list(self, int k):
        """A list of the last answer, which must not be a deferred one."""
        first, last, base, end = self.list_first[k], self.list_first[k + 1], self.e_base[k], self.e_base[k + 1]
        items = np.asarray(self.items[first:last])
        return LastList(
            span_points(self.texts, items["start"], items["stop"], items["flags"]),
            np.array(self.e_partner[base:end]), items["partner"].copy(),
            np.array(self.e_how[base:end]), items["how"].copy(),
        )
