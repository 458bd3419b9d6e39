"""The sources that answers cite, looked up in the chunks that they may cite.

The part of `answers.Comparison` that reads the source map of an answer, whose nodes are there.
"""

from typing import NamedTuple

import cython
import numpy as np
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from rageval_batch.columnar.kernels.buffers cimport equal_bytes
from rageval_batch.columnar.kernels.json cimport ESCAPED_VALUE, IS_ARRAY, IS_OBJECT, IS_STRING, member_name, unescape
from rageval_batch.columnar.kernels.search cimport inside
from rageval_batch.columnar.kernels.spaces cimport strip_one

from rageval_batch.columnar.kernels.buffers import wider
from rageval_batch.columnar.strings import from_list


cdef enum:  # the members of a source map, in the order in which their names are given
    REFS
    FILE
    ANCHORS


cdef enum:  # why a ref does not hold
    FILE_UNKNOWN
    NO_ANCHOR_FOUND
    NO_ANCHORS


class FoundRefs(NamedTuple):
    """The refs that count: the answer of each, why it does not hold (-1: it does), and where its file is written."""

    row: np.ndarray
    why: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    flags: np.ndarray


@cython.final
cdef class Citations:
    """The refs of a batch of answers: how many of each count, how many of them hold, and the kind of the first entry
    of a source map that has entries but none with refs, else -1."""

    def __init__(self, Py_ssize_t rows, names, limits, contexts):
        """`names`: of refs, file and anchors; `contexts`: sets of paths and texts."""
        named = from_list(names)
        self.names, self.name_bounds = named.data, named.offsets
        self.entry_cap, self.ref_cap, self.anchor_cap = limits.entry_cap, limits.ref_cap, limits.anchor_cap
        self.path_data, self.path_offsets = contexts.paths.data, contexts.paths.offsets
        self.path_bounds = contexts.path_bounds
        self.text_data, self.text_offsets = contexts.text.data, contexts.text.offsets
        self.total = self._total = np.zeros(rows, np.int32)
        self.held = self._held = np.zeros(rows, np.int32)
        self.strange = self._strange = np.full(rows, -1, np.int16)
        self.count = 0
        self.set_columns([np.empty(rows + 64, kind) for kind in (np.int32, np.int8, np.int64, np.int64, np.uint8)])

    cdef void set_columns(self, columns) except *:
        self.columns = columns
        self.row, self.why, self.start, self.stop, self.flags = columns

    cdef void reserve(self, Py_ssize_t count) except *:
        """Room for that many more refs."""
        if self.count + count > self.row.shape[0]:
            self.set_columns([wider(column, count) for column in self.columns])

    def refs(self):
        """The refs of all answers, in their order."""
        return FoundRefs(*(column[: self.count] for column in self.columns))

    cdef int32_t member(self, int32_t owner, int64_t wanted) noexcept nogil:
        """The last member of an object with one of the names of a source map, -1 where it has none or is no object."""
        cdef int32_t node = owner + 1, found = -1
        if self.nodes[owner].kind != IS_OBJECT:
            return -1
        while node < self.nodes[owner].behind:
            if member_name(self.data, &self.nodes[node], self.plain, self.names, self.name_bounds) == wanted:
                found = node
            node = self.nodes[node].behind
        return found

    cdef void find(self, int32_t sources, int32_t r, int32_t context) noexcept nogil:
        """Note every ref within the caps; a source map that has entries, none of them with refs, is strange."""
        cdef int32_t refs, ref, entry = sources + 1
        while entry < self.nodes[sources].behind and self.nodes[entry].position < self.entry_cap:
            refs = self.member(entry, REFS)
            if refs >= 0 and self.nodes[refs].kind == IS_ARRAY:
                ref = refs + 1
                while ref < self.nodes[refs].behind and self.nodes[ref].position < self.ref_cap:
                    if self.nodes[ref].kind == IS_OBJECT:
                        self.note(ref, r, context)
                    ref = self.nodes[ref].behind
            entry = self.nodes[entry].behind
        if self._total[r] == 0 and self.nodes[sources].children and not self.has_refs(sources):
            self._strange[r] = self.nodes[sources + 1].kind

    cdef bint has_refs(self, int32_t sources) noexcept nogil:
        """Whether any entry has a list of refs that is empty or has an object in it."""
        cdef int32_t refs, ref, entry = sources + 1
        while entry < self.nodes[sources].behind:
            refs = self.member(entry, REFS)
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

    cdef void note(self, int32_t ref, int32_t r, int32_t context) noexcept nogil:
        cdef int32_t file = self.member(ref, FILE)
        cdef Py_ssize_t to = self.count
        cdef int why = FILE_UNKNOWN
        self.start[to] = self.stop[to] = 0
        self.flags[to] = 0
        if file >= 0:
            self.start[to] = self.nodes[file].start
            self.stop[to] = self.nodes[file].stop
            self.flags[to] = self.nodes[file].flags & ESCAPED_VALUE
            if self.nodes[file].kind == IS_STRING and self.is_known(file, context):
                why = self.quoted(self.member(ref, ANCHORS), context)
        self.row[to] = r
        self.why[to] = <int8_t>why
        self.count += 1
        self._total[r] += 1
        self._held[r] += why < 0

    cdef bint is_known(self, int32_t file, int32_t context) noexcept nogil:
        """Whether a file is one of the paths of a set of chunks."""
        cdef int64_t end, start = self.nodes[file].start
        if self.nodes[file].flags & ESCAPED_VALUE:
            end = unescape(self.data, start, self.nodes[file].stop, self.plain, 0, self.wide)
            return is_path(self, self.plain, 0, end, context)
        return is_path(self, self.data, start, self.nodes[file].stop, context)

    cdef int quoted(self, int32_t anchors, int32_t context) noexcept nogil:
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
                    end = unescape(self.data, start, end, self.plain, 0, self.wide)
                    why = quoted_text(self, self.plain, 0, end, context, why)
                else:
                    why = quoted_text(self, self.data, start, end, context, why)
                if why < 0:
                    return -1
            anchor = self.nodes[anchor].behind
        return why


cdef inline bint is_path(
    Citations known, const uint8_t[::1] text, int64_t start, int64_t end, int32_t context
) noexcept nogil:
    """Whether a text is one of the paths of a set of chunks."""
    cdef int64_t m
    start, end = strip_one(text, start, end)
    for m in range(known.path_bounds[context], known.path_bounds[context + 1]):
        if known.path_offsets[m + 1] - known.path_offsets[m] == end - start and equal_bytes(
            known.path_data, known.path_offsets[m], text, start, end - start
        ):
            return True
    return False


cdef inline int quoted_text(
    Citations known, const uint8_t[::1] text, int64_t start, int64_t end, int32_t context, int why
) noexcept nogil:
    """-1 where a text is in those of a set of chunks, `why` where it is blank."""
    start, end = strip_one(text, start, end)
    if start == end:
        return why
    if inside(known.text_data, known.text_offsets[context], known.text_offsets[context + 1], text, start, end):
        return -1
    return NO_ANCHOR_FOUND
