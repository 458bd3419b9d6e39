"""Keywords of texts (ASCII tokens, pairs of Han) and how many of them another text has."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.compiled import compiled, kernel
from rageval_batch.columnar.kernels.softmatch import _longest, _point
from rageval_batch.columnar.strings import Bytes, Ints, Offsets, Strings

Words = npt.NDArray[np.uint64]

_PAIR = np.uint64(1 << 63)
_TOKEN = np.uint64((1 << 63) - 1)


@compiled
def _letter(byte: int) -> bool:
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122


@compiled
def _lower(byte: int) -> int:
    return byte | 32 if 65 <= byte <= 90 else byte


@compiled
def _token_end(data: Bytes, at: int, end: int) -> int:
    """The end of the run of token characters at `at`, which begins with a letter or digit."""
    while at < end and (_letter(data[at]) or data[at] == 46 or data[at] == 95 or data[at] == 45):
        at += 1
    return at


@compiled
def _token_key(data: Bytes, at: int, end: int) -> np.uint64:
    """A hash of the lower-cased token with the top bit clear; equal hashes are compared byte by byte."""
    key = np.uint64(0xCBF29CE484222325)
    for k in range(at, end):
        key = (key ^ np.uint64(_lower(data[k]))) * np.uint64(0x100000001B3)
    return key & _TOKEN


@compiled
def _script(point: int, kana: bool) -> int:
    """1 for Han, 2 for Kana where that is asked for, else 0."""
    if 0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF:
        return 1
    if not kana:
        return 0
    if 0x3041 <= point <= 0x30FF:  # letters and combining marks; not the separate marks, the hyphen, the middle dot
        return (
            2 if not (0x3096 < point < 0x3099 or 0x309A < point < 0x309D or point == 0x30A0 or point == 0x30FB) else 0
        )
    return 2 if 0x31F0 <= point <= 0x31FF or 0xFF66 <= point <= 0xFF9F else 0


@compiled
def _may_pair(byte: int, kana: bool) -> bool:
    """Whether a character that begins with this byte may be of such a script; half-width Kana begin with EF."""
    return 0xE3 <= byte <= 0xE9 or (kana and byte == 0xEF)


@compiled
def _candidates(data: Bytes, start: int, end: int, kana: bool, keys: Words, froms: Offsets, tos: Offsets) -> int:
    """All keywords of one text in order, repeats included: tokens first, then pairs of Han, then those of Kana."""
    count = 0
    at = start
    while at < end:
        if not _letter(data[at]):
            at += 1
            continue
        stop = _token_end(data, at, end)
        if stop - at >= 3:
            keys[count] = _token_key(data, at, stop)
            froms[count] = at
            tos[count] = stop
            count += 1
        at = stop
    for paired_script in range(1, 3 if kana else 2):
        at = start
        before = before_script = 0
        before_at = start
        while at < end:
            byte = data[at]
            if not _may_pair(byte, kana):
                before_script = 0
                at += 1
                continue
            point, width = _point(data, at)
            script = _script(point, kana)
            if script == paired_script and script == before_script:
                keys[count] = _PAIR | (np.uint64(before) << np.uint64(24)) | np.uint64(point)
                froms[count] = before_at
                tos[count] = at + width
                count += 1
            before, before_script, before_at = point, script, at
            at += width
    return count


@compiled
def _same_token(a: Bytes, a0: int, a1: int, b: Bytes, b0: int, b1: int) -> bool:
    if a1 - a0 != b1 - b0:
        return False
    for k in range(a1 - a0):
        if _lower(a[a0 + k]) != _lower(b[b0 + k]):
            return False
    return True


@compiled
def _spot(key: np.uint64, mask: np.uint64) -> np.uint64:
    return ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask


@compiled
def _find(
    table: Ints,
    base: int,
    mask: np.uint64,
    key: np.uint64,
    data: Bytes,
    start: int,
    end: int,
    keys: Words,
    source: Bytes,
    froms: Offsets,
    tos: Offsets,
) -> tuple[np.int64, np.int64]:
    """(slot, entry) of a keyword in an open table of entries; entry -1 and the free slot where it is not there."""
    slot = np.int64(_spot(key, mask))
    while True:
        entry = table[base + slot]
        if entry < 0:
            return slot, np.int64(-1)
        if keys[entry] == key and (key & _PAIR or _same_token(source, froms[entry], tos[entry], data, start, end)):
            return slot, np.int64(entry)
        slot = (slot + 1) & np.int64(mask)


@compiled
def _power(count: int) -> int:
    size = 2
    while size < 2 * count:
        size *= 2
    return size


@kernel
def _keywords(data: Bytes, offsets: Offsets, kana: bool, cap: int) -> tuple[Words, Offsets, Offsets, Offsets]:
    widest = _longest(offsets)
    keys = np.empty(widest, np.uint64)
    froms = np.empty(widest, np.int64)
    tos = np.empty(widest, np.int64)
    table = np.empty(_power(widest), np.int32)
    size = max(64, (offsets[-1] - offsets[0]) // 2)
    out_keys = np.empty(size, np.uint64)
    out_froms = np.empty(size, np.int64)
    out_tos = np.empty(size, np.int64)
    bounds = np.empty(len(offsets), np.int64)
    bounds[0] = 0
    kept = 0
    for r in range(len(offsets) - 1):
        count = _candidates(data, offsets[r], offsets[r + 1], kana, keys, froms, tos)
        room = _power(count)
        table[:room] = -1
        first = kept
        for k in range(count):
            if kept - first >= cap:
                break
            slot, entry = _find(table, 0, np.uint64(room - 1), keys[k], data, froms[k], tos[k], keys, data, froms, tos)
            if entry >= 0:
                continue
            table[slot] = k
            out_keys[kept] = keys[k]
            out_froms[kept] = froms[k]
            out_tos[kept] = tos[k]
            kept += 1
        bounds[r + 1] = kept
    return out_keys[:kept].copy(), out_froms[:kept].copy(), out_tos[:kept].copy(), bounds


class Keywords(NamedTuple):
    """Distinct keywords of every text, first seen first: spans into `data`, tokens still in their own case."""

    data: Bytes
    keys: Words
    froms: Offsets
    tos: Offsets
    bounds: Offsets

    def counts(self) -> npt.NDArray[np.int64]:
        """How many keywords each text has."""
        return np.diff(self.bounds)


NO_CAP = 2**62


def keywords(column: Strings, cap: int = NO_CAP, kana: bool = False) -> Keywords:
    """The first `cap` distinct keywords of every text; empty gives none."""
    return Keywords(column.data, *_keywords(column.data, column.offsets, kana, cap))


@kernel
def _lowered(data: Bytes, froms: Offsets, tos: Offsets) -> tuple[Bytes, Offsets]:
    size = 0
    for k in range(len(froms)):
        size += tos[k] - froms[k]
    out = np.empty(size, np.uint8)
    offsets = np.empty(len(froms) + 1, np.int64)
    offsets[0] = 0
    to = 0
    for k in range(len(froms)):
        for at in range(froms[k], tos[k]):
            out[to] = _lower(data[at])
            to += 1
        offsets[k + 1] = to
    return out, offsets


def keyword_texts(found: Keywords) -> Strings:
    """The keywords themselves, lower-cased, one after the other."""
    return Strings(*_lowered(found.data, found.froms, found.tos))


class KeywordTables(NamedTuple):
    """Keywords with a hash table for every text, for looking up the keywords of other texts."""

    found: Keywords
    table: Ints
    table_bounds: Offsets


@kernel
def _tables(data: Bytes, keys: Words, froms: Offsets, tos: Offsets, bounds: Offsets) -> tuple[Ints, Offsets]:
    rows = len(bounds) - 1
    starts = np.empty(rows + 1, np.int64)
    starts[0] = 0
    for r in range(rows):
        starts[r + 1] = starts[r] + _power(bounds[r + 1] - bounds[r])
    table = np.full(starts[rows], -1, np.int32)
    for r in range(rows):
        mask = np.uint64(starts[r + 1] - starts[r] - 1)
        for k in range(bounds[r], bounds[r + 1]):
            slot, _ = _find(table, starts[r], mask, keys[k], data, froms[k], tos[k], keys, data, froms, tos)
            table[starts[r] + slot] = k
    return table, starts


def keyword_tables(found: Keywords) -> KeywordTables:
    """Look-up tables of keywords, one for each text."""
    return KeywordTables(found, *_tables(*found))


@kernel
def _hits(
    source: Bytes,
    keys: Words,
    froms: Offsets,
    tos: Offsets,
    table: Ints,
    starts: Offsets,
    which: Ints,
    data: Bytes,
    begins: Offsets,
    ends: Offsets,
    kana: bool,
) -> tuple[Ints, Ints]:
    out = np.zeros(len(which), np.int32)
    seen = np.full(len(keys), -1, np.int32)
    for r in range(len(which)):
        q = which[r]
        base = starts[q]
        mask = np.uint64(starts[q + 1] - base - 1)
        at, end = begins[r], ends[r]
        before = before_script = 0
        hits = 0
        while at < end:
            byte = data[at]
            if _letter(byte):
                before_script = 0
                stop = _token_end(data, at, end)
                begin, at = at, stop
                if stop - begin < 3:
                    continue
                key = _token_key(data, begin, stop)
            elif not _may_pair(byte, kana):
                before_script = 0
                at += 1
                continue
            else:
                begin = stop = at
                point, width = _point(data, at)
                at += width
                script = _script(point, kana)
                pair = script != 0 and script == before_script
                key = _PAIR | (np.uint64(before) << np.uint64(24)) | np.uint64(point)
                before, before_script = point, script
                if not pair:
                    continue
            _, entry = _find(table, base, mask, key, data, begin, stop, keys, source, froms, tos)
            if entry >= 0 and seen[entry] != r:
                seen[entry] = r
                hits += 1
        out[r] = hits
    return out, seen


class KeywordHits(NamedTuple):
    """What a look-up of keywords found: how many in each row, and for every keyword of the tables the last row with it.

    `last_row` is -1 for a keyword that no row has. Where only one row looks up a text, it tells which keywords hit.
    """

    counts: Ints
    last_row: Ints


def keyword_hits(tables: KeywordTables, which: Ints, got: Strings, kana: bool = False) -> KeywordHits:
    """Which keywords of text `which[i]` are among all keywords of `got[i]`; an empty text has none."""
    keywords = tables.found
    spans = (keywords.data, keywords.keys, keywords.froms, keywords.tos, tables.table, tables.table_bounds)
    return KeywordHits(*_hits(*spans, which, got.data, got.starts, got.ends, kana))
