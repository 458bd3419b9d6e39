"""The sources that answers cite, looked up in the chunks that they may cite."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from rageval_batch.columnar.kernels.json cimport Node


cdef class Citations:
    cdef readonly object total, held, strange
    cdef int32_t[::1] _total, _held
    cdef int16_t[::1] _strange
    cdef const uint8_t[::1] names
    cdef const int64_t[::1] name_bounds
    cdef int64_t entry_cap, ref_cap, anchor_cap
    # the chunks that answers may cite
    cdef const uint8_t[::1] path_data, text_data
    cdef const int64_t[::1] path_offsets, path_bounds, text_offsets
    # the answers, the nodes of the one that is read, and room for a text without its escapes
    cdef const uint8_t[::1] data
    cdef Node[::1] nodes
    cdef uint8_t[::1] plain
    cdef bint wide  # whether escapes are read with wide registers: no result depends on it
    # the refs of all answers
    cdef object columns
    cdef int32_t[::1] row
    cdef int8_t[::1] why
    cdef uint8_t[::1] flags
    cdef int64_t[::1] start, stop
    cdef Py_ssize_t count

    cdef void set_columns(self, columns) except *
    cdef void reserve(self, Py_ssize_t count) except *
    cdef int32_t member(self, int32_t owner, int64_t wanted) noexcept nogil
    cdef void find(self, int32_t sources, int32_t r, int32_t context) noexcept nogil
    cdef bint has_refs(self, int32_t sources) noexcept nogil
    cdef void note(self, int32_t ref, int32_t r, int32_t context) noexcept nogil
    cdef bint is_known(self, int32_t file, int32_t context) noexcept nogil
    cdef int quoted(self, int32_t anchors, int32_t context) noexcept nogil
