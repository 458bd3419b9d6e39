"""Keywords of one text (ASCII tokens, pairs of Han) and the search for them in a table."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from rageval_batch.columnar.kernels.buffers cimport equal_bytes, equal_short, next_two
from rageval_batch.columnar.kernels.utf8 cimport code_point


cdef enum:
    PAIR_WIDTH = 6  # bytes of a pair: every character of these scripts has three
    MOST_SEARCHES = 32  # in one text; going through it once costs about as much


cdef extern from *:
    """
    #define RAGEVAL_PAIR 0x8000000000000000ULL
    /* 1: an ASCII letter or digit; 2: a character of a token. */
    static const uint8_t rageval_token_bits[256] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0,
        0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 2,
        0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    };
    """
    const uint64_t PAIR "RAGEVAL_PAIR"  # the top bit of a key: a pair of characters, no token
    const uint8_t[256] TOKEN_BITS "rageval_token_bits"


cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    return TOKEN_BITS[byte] & 1


cdef inline uint8_t lower(uint8_t byte) noexcept nogil:
    return byte | 32 if 65 <= byte <= 90 else byte


cdef inline bint in_token(uint8_t byte) noexcept nogil:
    return TOKEN_BITS[byte] & 2


cdef inline int64_t token_end(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """The end of the run of token characters at `at`, which begins with a letter or digit."""
    while at < end and in_token(data[at]):
        at += 1
    return at


cdef inline uint64_t token_key(const uint8_t[::1] data, int64_t at, int64_t end) noexcept nogil:
    """A hash of the lower-cased token with the top bit clear; equal hashes are compared byte by byte."""
    cdef uint64_t key = <uint64_t>0xCBF29CE484222325
    cdef int64_t k
    for k in range(at, end):
        key = (key ^ lower(data[k])) * <uint64_t>0x100000001B3
    return key & ~PAIR


cdef inline uint64_t pair_key(int64_t before, int64_t point) noexcept nogil:
    return PAIR | (<uint64_t>before << 24) | <uint64_t>point


cdef inline int script_of(int64_t point, bint kana) noexcept nogil:
    """1 for Han, 2 for Kana where that is asked for, else 0."""
    if 0x4E00 <= point <= 0x9FFF or 0x3400 <= point <= 0x4DBF:
        return 1
    if not kana:
        return 0
    if 0x3041 <= point <= 0x30FF:  # letters and combining marks; not the separate marks, the hyphen, the middle dot
        return 0 if 0x3096 < point < 0x3099 or 0x309A < point < 0x309D or point == 0x30A0 or point == 0x30FB else 2
    return 2 if 0x31F0 <= point <= 0x31FF or 0xFF66 <= point <= 0xFF9F else 0


cdef inline bint may_pair(uint8_t byte, bint kana) noexcept nogil:
    """Whether a character that begins with this byte may be of such a script; half-width Kana begin with EF."""
    return 0xE3 <= byte <= 0xE9 or (kana and byte == 0xEF)


cdef inline bint same_token(
    const uint8_t[::1] a, int64_t a0, int64_t a1, const uint8_t[::1] b, int64_t b0, int64_t b1
) noexcept nogil:
    cdef int64_t k
    if a1 - a0 != b1 - b0:
        return False
    if equal_short(a, a0, b, b0, a1 - a0):
        return True
    for k in range(a1 - a0):
        if lower(a[a0 + k]) != lower(b[b0 + k]):
            return False
    return True


cdef inline (int64_t, int64_t) find_keyword(
    const int32_t[::1] table,
    int64_t base,
    uint64_t mask,
    uint64_t key,
    const uint8_t[::1] data,
    int64_t start,
    int64_t end,
    const uint64_t[::1] keys,
    const uint8_t[::1] source,
    const int64_t[::1] froms,
    const int64_t[::1] tos,
) noexcept nogil:
    """(slot, entry) of a keyword in an open table of entries; entry -1 and the free slot where it is not there."""
    cdef int64_t slot = <int64_t>(((key * <uint64_t>0x9E3779B97F4A7C15) >> 32) & mask)
    cdef int32_t entry
    while True:
        entry = table[base + slot]
        if entry < 0:
            return slot, -1
        if keys[entry] == key and (key & PAIR or same_token(source, froms[entry], tos[entry], data, start, end)):
            return slot, entry
        slot = (slot + 1) & <int64_t>mask


cdef inline bint is_whole_token(
    const uint8_t[::1] data, int64_t at, int64_t end, int64_t first, int64_t last
) noexcept nogil:
    """Whether data[first:last], token characters behind a letter or digit, is all of a token of data[at:end]."""
    if last < end and in_token(data[last]):
        return False
    while first > at and in_token(data[first - 1]):  # marks alone begin no token
        first -= 1
        if is_letter(data[first]):
            return False
    return True


cdef inline bint is_token_at(
    const uint8_t[::1] source, int64_t first, int64_t last, const uint8_t[::1] data, int64_t at, int64_t end, int64_t place
) noexcept nogil:
    """Whether the token source[first:last] is one of data[at:end], at a place inside of it."""
    cdef int64_t width = last - first
    return same_token(source, first, last, data, place, place + width) and is_whole_token(
        data, at, end, place, place + width
    )


cdef inline int64_t find_token(
    const uint8_t[::1] source, int64_t first, int64_t last, const uint8_t[::1] data, int64_t at, int64_t end
) noexcept nogil:
    """The first place of the token source[first:last] among those of data[at:end], -1 where it is none of them."""
    cdef int64_t place = at, stop = end - (last - first) + 1
    while True:
        place = next_two(data, place, stop, last - first - 1, source[first] | 32, source[last - 1] | 32, 32)
        if place >= stop:
            return -1
        if is_token_at(source, first, last, data, at, end, place):
            return place
        place += 1


cdef inline int64_t find_pair(
    const uint8_t[::1] source, int64_t first, const uint8_t[::1] data, int64_t at, int64_t end
) noexcept nogil:
    """The first place of the pair at source[first] in data[at:end], -1 where it has none."""
    cdef int64_t place = at + 2, stop = end - PAIR_WIDTH + 3  # of the last byte of its first character
    while True:
        place = next_two(data, place, stop, 3, source[first + 2], source[first + 5], 0)
        if place >= stop:
            return -1
        if equal_bytes(source, first, data, place - 2, PAIR_WIDTH):
            return place - 2
        place += 1


cdef inline int32_t hits_of_text(
    const int32_t[::1] table,
    int64_t base,
    uint64_t mask,
    const uint64_t[::1] keys,
    const uint8_t[::1] source,
    const int64_t[::1] froms,
    const int64_t[::1] tos,
    int64_t first,
    int64_t last,
    const uint8_t[::1] data,
    int64_t at,
    int64_t end,
    bint kana,
    int32_t row,
    int32_t[::1] last_row,
) noexcept nogil:
    """How many keywords of a table, its entries from `first` to `last`, are among those of one text; `last_row` of each
    of them becomes this row.

    An answer mostly quotes: a keyword is looked for where it stands in the source, as far from the one before. Where
    it is not there, it is searched; after many searches the text is gone through once for all that are left.
    """
    cdef int64_t entry, place, searches = 0, shift = 0
    cdef int32_t count = 0
    cdef bint there
    if first < last:
        shift = at - froms[first]
    for entry in range(first, last):
        place = froms[entry] + shift
        there = place >= at and place + tos[entry] - froms[entry] <= end
        if there and keys[entry] & PAIR:
            there = equal_bytes(source, froms[entry], data, place, PAIR_WIDTH)
        elif there:
            there = is_token_at(source, froms[entry], tos[entry], data, at, end, place)
        if not there:
            if searches == MOST_SEARCHES:
                return count + remaining_hits(
                    table, base, mask, keys, source, froms, tos, data, at, end, kana, row, last_row, last - first - count
                )
            searches += 1
            if keys[entry] & PAIR:
                place = find_pair(source, froms[entry], data, at, end)
            else:
                place = find_token(source, froms[entry], tos[entry], data, at, end)
            if place < 0:
                continue
        shift = place - froms[entry]
        last_row[entry] = row
        count += 1
    return count


cdef inline int32_t remaining_hits(
    const int32_t[::1] table,
    int64_t base,
    uint64_t mask,
    const uint64_t[::1] keys,
    const uint8_t[::1] source,
    const int64_t[::1] froms,
    const int64_t[::1] tos,
    const uint8_t[::1] data,
    int64_t at,
    int64_t end,
    bint kana,
    int32_t row,
    int32_t[::1] last_row,
    int64_t most,
) noexcept nogil:
    """How many keywords of a table that this row is not the `last_row` of are among those of one text.

    It becomes that of each of them. `most`: how many there can be; the text is read until all of them are found.
    """
    cdef int64_t stop, begin, point, width, slot, entry, before = 0
    cdef uint64_t key
    cdef int script, before_script = 0
    cdef int32_t count = 0
    cdef bint pair
    cdef uint8_t byte
    while at < end and count < most:
        byte = data[at]
        if is_letter(byte):
            before_script = 0
            begin = at
            at = stop = token_end(data, at, end)
            if stop - begin < 3:
                continue
            key = token_key(data, begin, stop)
        elif not may_pair(byte, kana):
            before_script = 0
            at += 1
            continue
        else:
            begin = stop = at
            point, width = code_point(data, at)
            at += width
            script = script_of(point, kana)
            pair = script != 0 and script == before_script
            key = pair_key(before, point)
            before, before_script = point, script
            if not pair:
                continue
        slot, entry = find_keyword(table, base, mask, key, data, begin, stop, keys, source, froms, tos)
        if entry >= 0 and last_row[entry] != row:
            last_row[entry] = row
            count += 1
    return count
