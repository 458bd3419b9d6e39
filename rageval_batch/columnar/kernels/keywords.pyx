"""Keywords of texts (ASCII tokens, pairs of Han) and how many of them another text has."""

from typing import NamedTuple

import numpy as np
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from rageval_batch.columnar.kernels.utf8 cimport code_point

from rageval_batch.columnar.strings import Strings


NO_CAP = 2**62


class Keywords(NamedTuple):
    """Distinct keywords of every text, first seen first: spans into `data`, tokens still in their own case."""

    data: np.ndarray
    keys: np.ndarray
    froms: np.ndarray
    tos: np.ndarray
    bounds: np.ndarray

    def counts(self):
        """How many keywords each text has."""
        return np.diff(self.bounds)


class KeywordTables(NamedTuple):
    """Keywords with a hash table for every text, for looking up the keywords of other texts."""

    found: Keywords
    table: np.ndarray
    table_bounds: np.ndarray


class KeywordHits(NamedTuple):
    """What a look-up of keywords found: how many in each row, and for every keyword of the tables the last row with it.

    `last_row` is -1 for a keyword that no row has. Where only one row looks up a text, it tells which keywords hit.
    """

    counts: np.ndarray
    last_row: np.ndarray


cdef int64_t candidates(
    const uint8_t[::1] data,
    int64_t start,
    int64_t end,
    bint kana,
    uint64_t[::1] keys,
    int64_t[::1] froms,
    int64_t[::1] tos,
) noexcept nogil:
    """All keywords of one text in order, repeats included: tokens first, then pairs of Han, then those of Kana."""
    cdef int64_t stop, point, width, before, before_at, at = start, count = 0
    cdef int script, before_script, paired_script
    cdef bint has_scripts = False, has_kana = False
    while at < end:
        if not is_letter(data[at]):
            has_scripts = has_scripts or may_pair(data[at], kana)
            at += 1
            continue
        stop = token_end(data, at, end)
        if stop - at >= 3:
            keys[count] = token_key(data, at, stop)
            froms[count] = at
            tos[count] = stop
            count += 1
        at = stop
    for paired_script in range(1, 3):
        if not (has_scripts if paired_script == 1 else has_kana):
            break
        at = before_at = start
        before = 0
        before_script = 0
        while at < end:
            if not may_pair(data[at], kana):
                before_script = 0
                at += 1
                continue
            point, width = code_point(data, at)
            script = script_of(point, kana)
            has_kana = has_kana or script == 2
            if script == paired_script and script == before_script:
                keys[count] = pair_key(before, point)
                froms[count] = before_at
                tos[count] = at + width
                count += 1
            before, before_script, before_at = point, script, at
            at += width
    return count


cdef inline int64_t table_size(int64_t count) noexcept nogil:
    """A power of 2 that leaves half of a table free."""
    cdef int64_t size = 2
    while size < 2 * count:
        size *= 2
    return size


def keywords(column, int64_t cap=NO_CAP, bint kana=False):
    """The first `cap` distinct keywords of every text; empty gives none."""
    cdef const uint8_t[::1] data = column.data
    cdef const int64_t[::1] offsets = column.offsets
    cdef Py_ssize_t k, r, rows = offsets.shape[0] - 1
    cdef int64_t widest = 1
    for r in range(rows):
        widest = max(widest, offsets[r + 1] - offsets[r])
    cdef int64_t size = max(<int64_t>64, (offsets[rows] - offsets[0]) // 2)
    cdef uint64_t[::1] keys = np.empty(widest, np.uint64)
    cdef int64_t[::1] froms = np.empty(widest, np.int64)
    cdef int64_t[::1] tos = np.empty(widest, np.int64)
    cdef int32_t[::1] table = np.empty(table_size(widest), np.int32)
    kept_keys = np.empty(size, np.uint64)
    kept_froms = np.empty(size, np.int64)
    kept_tos = np.empty(size, np.int64)
    kept_bounds = np.empty(rows + 1, np.int64)
    cdef uint64_t[::1] out_keys = kept_keys
    cdef int64_t[::1] out_froms = kept_froms
    cdef int64_t[::1] out_tos = kept_tos
    cdef int64_t[::1] bounds = kept_bounds
    cdef int64_t count, room, slot, entry, first, kept = 0
    bounds[0] = 0
    with nogil:
        for r in range(rows):
            count = candidates(data, offsets[r], offsets[r + 1], kana, keys, froms, tos)
            room = table_size(count)
            for k in range(room):
                table[k] = -1
            first = kept
            for k in range(count):
                if kept - first >= cap:
                    break
                slot, entry = find_keyword(
                    table, 0, <uint64_t>(room - 1), keys[k], data, froms[k], tos[k], keys, data, froms, tos
                )
                if entry >= 0:
                    continue
                table[slot] = <int32_t>k
                out_keys[kept] = keys[k]
                out_froms[kept] = froms[k]
                out_tos[kept] = tos[k]
                kept += 1
            bounds[r + 1] = kept
    return Keywords(
        column.data, kept_keys[:kept].copy(), kept_froms[:kept].copy(), kept_tos[:kept].copy(), kept_bounds
    )


def keyword_texts(found):
    """The keywords themselves, lower-cased, one after the other."""
    cdef const uint8_t[::1] data = found.data
    cdef const int64_t[::1] froms = found.froms
    cdef const int64_t[::1] tos = found.tos
    cdef int64_t at, size = 0, to = 0
    cdef Py_ssize_t k
    with nogil:
        for k in range(froms.shape[0]):
            size += tos[k] - froms[k]
    content = np.empty(size, np.uint8)
    bounds = np.empty(len(froms) + 1, np.int64)
    cdef uint8_t[::1] out = content
    cdef int64_t[::1] offsets = bounds
    offsets[0] = 0
    with nogil:
        for k in range(froms.shape[0]):
            for at in range(froms[k], tos[k]):
                out[to] = lower(data[at])
                to += 1
            offsets[k + 1] = to
    return Strings(content, bounds)


def keyword_tables(found):
    """Look-up tables of keywords, one for each text."""
    cdef const uint8_t[::1] data = found.data
    cdef const uint64_t[::1] keys = found.keys
    cdef const int64_t[::1] froms = found.froms
    cdef const int64_t[::1] tos = found.tos
    cdef const int64_t[::1] bounds = found.bounds
    cdef Py_ssize_t r, rows = bounds.shape[0] - 1
    table_bounds = np.empty(rows + 1, np.int64)
    cdef int64_t[::1] starts = table_bounds
    starts[0] = 0
    with nogil:
        for r in range(rows):
            starts[r + 1] = starts[r] + table_size(bounds[r + 1] - bounds[r])
    entries = np.full(starts[rows], -1, np.int32)
    cdef int32_t[::1] table = entries
    cdef uint64_t mask
    cdef int64_t k, slot, entry
    with nogil:
        for r in range(rows):
            mask = <uint64_t>(starts[r + 1] - starts[r] - 1)
            for k in range(bounds[r], bounds[r + 1]):
                slot, entry = find_keyword(
                    table, starts[r], mask, keys[k], data, froms[k], tos[k], keys, data, froms, tos
                )
                table[starts[r] + slot] = <int32_t>k
    return KeywordTables(found, entries, table_bounds)


def keyword_hits(tables, const int32_t[:] which, got, bint kana=False):
    """Which keywords of text `which[i]` are among all keywords of `got[i]`; an empty text has none."""
    cdef const uint8_t[::1] source = tables.found.data
    cdef const uint64_t[::1] keys = tables.found.keys
    cdef const int64_t[::1] froms = tables.found.froms
    cdef const int64_t[::1] tos = tables.found.tos
    cdef const int32_t[::1] table = tables.table
    cdef const int64_t[::1] bounds = tables.found.bounds
    cdef const int64_t[::1] starts = tables.table_bounds
    cdef const uint8_t[::1] data = got.data
    cdef const int64_t[::1] offsets = got.offsets
    counts = np.zeros(len(which), np.int32)
    last_row = np.full(len(keys), -1, np.int32)
    cdef int32_t[::1] out = counts
    cdef int32_t[::1] seen = last_row
    cdef int64_t base
    cdef Py_ssize_t r
    with nogil:
        for r in range(which.shape[0]):
            base = starts[which[r]]
            out[r] = hits_of_text(
                table, base, <uint64_t>(starts[which[r] + 1] - base - 1), keys, source, froms, tos,
                bounds[which[r]], bounds[which[r] + 1],
                data, offsets[r], offsets[r + 1], kana, <int32_t>r, seen,
            )
    return KeywordHits(counts, last_row)


cdef inline int64_t without_marks(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """The end of a token without the marks . _ - behind its last letter or digit."""
    while end > at and not is_letter(data[end - 1]):
        end -= 1
    return end


def keyword_codes(found, texts):
    """(code of every keyword found, codes of what stands in texts, bounds of each text's, how many codes there are).

    Equal pairs of Han have equal codes, and so have tokens, of any length, that are equal but for case and the marks
    . _ - at their ends. A keyword that stands in no text has the code -1.
    """
    cdef const uint8_t[::1] source = found.data
    cdef const uint64_t[::1] source_keys = found.keys
    cdef const int64_t[::1] source_froms = found.froms
    cdef const int64_t[::1] source_tos = found.tos
    cdef const uint8_t[::1] data = texts.data
    cdef const int64_t[::1] offsets = texts.offsets
    cdef Py_ssize_t r, rows = offsets.shape[0] - 1
    cdef int64_t room = int(offsets[rows] - offsets[0])
    codes = np.full(len(source_keys), -1, np.int64)
    text_codes = np.empty(room, np.int64)
    text_bounds = np.zeros(rows + 1, np.int64)
    cdef int64_t[::1] out = codes
    cdef int64_t[::1] theirs = text_codes
    cdef int64_t[::1] bounds = text_bounds
    # Of each code its key and where it stands.
    cdef uint64_t[::1] keys = np.empty(room, np.uint64)
    cdef int64_t[::1] froms = np.empty(room, np.int64)
    cdef int64_t[::1] tos = np.empty(room, np.int64)
    cdef int32_t[::1] table = np.full(1024, -1, np.int32)
    cdef uint64_t key
    cdef int64_t at, end, stop, begin, point, width, before, slot, entry, k, used = 0, known = 0
    cdef bint han, before_han
    for r in range(rows):
        # The table is at most half full after a text, each of whose bytes may be a keyword.
        if 2 * (known + offsets[r + 1] - offsets[r]) > len(table):
            table = np.full(table_size(2 * (known + offsets[r + 1] - offsets[r])), -1, np.int32)
            with nogil:
                for k in range(known):
                    slot, entry = find_keyword(
                        table, 0, <uint64_t>(table.shape[0] - 1), keys[k], data, froms[k], tos[k], keys, data, froms,
                        tos,
                    )
                    table[slot] = <int32_t>k
        with nogil:
            at, end = offsets[r], offsets[r + 1]
            before = 0
            before_han = False
            while at < end:
                begin = at
                if is_letter(data[at]):
                    before_han = False
                    at = token_end(data, at, end)
                    stop = without_marks(data, begin, at)
                    key = token_key(data, begin, stop)
                elif not may_pair(data[at], False):
                    before_han = False
                    at += 1
                    continue
                else:
                    point, width = code_point(data, at)
                    at += width
                    stop = at
                    han = script_of(point, False) != 0
                    key = pair_key(before, point)
                    if not (han and before_han):
                        before, before_han = point, han
                        continue
                    before = point
                slot, entry = find_keyword(
                    table, 0, <uint64_t>(table.shape[0] - 1), key, data, begin, stop, keys, data, froms, tos
                )
                if entry < 0:
                    entry = known
                    table[slot] = <int32_t>known
                    keys[known], froms[known], tos[known] = key, begin, stop
                    known += 1
                theirs[used] = entry
                used += 1
            bounds[r + 1] = used
    with nogil:
        for k in range(source_keys.shape[0]):
            key, begin, stop = source_keys[k], source_froms[k], source_tos[k]
            if not key & PAIR:
                stop = without_marks(source, begin, stop)
                key = token_key(source, begin, stop)
            slot, entry = find_keyword(
                table, 0, <uint64_t>(table.shape[0] - 1), key, source, begin, stop, keys, data, froms, tos
            )
            out[k] = entry
    return codes, text_codes[:used].copy(), text_bounds, known
