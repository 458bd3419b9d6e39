"""Stretches of texts that hold their numbers: what a reader of numbers must see, and nothing else.

A text is cut into tokens. A figure is a window with all around it, up to the next token that says nothing, on both
sides; of such a token only its kind is told. Where only values are asked for, a figure whose neighbours on both sides
leave its value alone is a window by itself. A text with a character of no class, or whose figures depend on the rest of
it, is one window.
"""

import numpy as np
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t

from rageval_batch.columnar.kernels.utf8 cimport code_point

# Classes of characters, as `values/windows.py` makes the table.
cdef enum:
    UNKNOWN = 0
    BLANK = 1
    DIGIT = 2
    NUMERAL = 3
    LETTER = 4
    INERT = 5  # Han and the like: says nothing about a figure
    UNIT = 6
    STRONG = 7  # may say something of a figure
    SEPARATOR = 8  # . ,
    MARK = 9  # says nothing by itself, and what is around may be looked at through it
    STOP = 10  # a list marker may follow
    CLOSING = 11  # may end a list marker
    WIDE_COMMA = 12
    CURRENCY = 13
    NEGATIVE = 14
    LIABILITY = 15
    EACH = 16
    INERT_KANA = 17
    NAMED = 18  # no rule looks beyond it, but some look at it
    APOSTROPHE = 19  # between digits a separator of thousands, else a mark
    # classes of tokens only
    FIGURE = 20
    WORD = 21
    WEAK_WORD = 22
    # of words in the table, beside 0
    WEAK = 1
    STRONG_BEGINNING = 2
    STRONG_WORD = 3
    STRONG_WITH_POINT = 4

# What a window is, as `values/windows.py` reads it.
cdef enum:
    CYRILLIC = 1
    AT_START = 2
    AT_END = 4
    WHOLE = 8
    LEFT = 4  # bits before those of the token before the window
    RIGHT = 7
    LISTS = 1024  # the text has Han or Kana, where a comma lists
    SEPARATED = 2048  # there are separators between figures, which the language of the text decides on
    # what such a token is
    HAN_TOKEN = 1
    KANA_TOKEN = 2
    LATIN_TOKEN = 3
    CYRILLIC_TOKEN = 4

cdef int64_t BRACKET = 0x5B, HYPHEN = 0x2D, YEAR = 0x5E74, MONTH = 0x6708, YUAN = 0x5143, UNDERSCORE = 0x5F
cdef int64_t NO = 0x306E, DOT = 0xB7, KANA_DOT = 0x30FB, FULL_STOP = 0x2E, WIDE_STOP = 0xFF0E
cdef uint64_t FIRST_HASH = 1469598103934665603ULL, HASH_FACTOR = 1099511628211ULL


cdef struct Tokens:
    uint8_t* kind
    int64_t* start  # the first character
    int64_t count


cdef inline bint is_cyrillic(int64_t point) noexcept nogil:
    return 0x410 <= point <= 0x44F or point == 0x401 or point == 0x451


cdef inline int64_t lower(int64_t point) noexcept nogil:
    if 65 <= point <= 90 or 0x410 <= point <= 0x42F:
        return point + 32
    return 0x451 if point == 0x401 else point


cdef inline bint divides(int64_t point) noexcept nogil:
    """Whether の behind it joins two figures: 3分の1, 3条の2."""
    return point in (0x5206, 0x6761, 0x689D, 0x6B3E, 0x9879, 0x9805, 0x53F7, 0x865F)  # 分条條款项項号號


cdef inline uint8_t listed(uint64_t hash, const uint64_t[::1] keys, const uint8_t[::1] values) noexcept nogil:
    """The class of a word, 0 where it is not in the table."""
    cdef int64_t mask = keys.shape[0] - 1, slot = <int64_t>(hash & <uint64_t>mask)
    while keys[slot]:
        if keys[slot] == hash:
            return values[slot]
        slot = (slot + 1) & mask
    return 0


cdef uint8_t word_kind(
    const int64_t* points, int64_t first, int64_t last, bint point_behind, const uint64_t[::1] keys,
    const uint8_t[::1] values,
) noexcept nogil:
    """The token that a run of letters is; one of two scripts, or with an underscore, may say something."""
    cdef uint64_t hash = FIRST_HASH
    cdef uint8_t found = 0
    cdef int64_t k
    cdef bint cyrillic = is_cyrillic(points[first])
    for k in range(first, last):
        if points[k] == UNDERSCORE or is_cyrillic(points[k]) != cyrillic:
            return STRONG
        hash = (hash ^ <uint64_t>lower(points[k])) * HASH_FACTOR
        found = listed(hash, keys, values)
        if found == STRONG_BEGINNING:
            return STRONG
    if found == STRONG_WORD or (found == STRONG_WITH_POINT and point_behind):
        return STRONG
    return WEAK_WORD if found == WEAK else WORD


cdef inline bint says_nothing(const Tokens* tokens, int64_t at, bint values_only) noexcept nogil:
    """Whether no rule of the reader reaches beyond this token.

    A word may end like the first one of a phrase that makes a bound: then the phrase makes none.
    """
    if tokens.kind[at] in (INERT, INERT_KANA, NAMED):
        return True
    if tokens.kind[at] != WORD:
        return False
    if at > 0 and tokens.kind[at - 1] == FIGURE:
        return False
    at += 1
    if at < tokens.count and tokens.kind[at] == FIGURE:
        return False
    if values_only or at >= tokens.count or tokens.kind[at] != BLANK:
        return True
    at += 1
    return not (at < tokens.count and tokens.kind[at] in (WEAK_WORD, STRONG))


cdef inline uint16_t token_kind(const Tokens* tokens, int64_t at, const int64_t* points) noexcept nogil:
    """What a token that says nothing is, 0 for one that must be seen."""
    if tokens.kind[at] == WORD:
        return CYRILLIC_TOKEN if is_cyrillic(points[tokens.start[at]]) else LATIN_TOKEN
    return HAN_TOKEN if tokens.kind[at] == INERT else KANA_TOKEN if tokens.kind[at] == INERT_KANA else 0


cdef bint is_plain(const Tokens* tokens, int64_t figure) noexcept nogil:
    """Whether what stands around a figure leaves its value alone."""
    cdef int64_t at = figure - 1
    cdef uint8_t kind
    cdef bint behind_stop = False
    if at >= 0 and tokens.kind[at] in (WORD, WEAK_WORD, SEPARATOR):
        return False
    while True:
        if at < 0 or tokens.kind[at] == STOP:
            behind_stop = True
            break
        kind = tokens.kind[at]
        if kind == FIGURE or kind == STRONG:
            return False
        if kind == WIDE_COMMA and at == figure - 1 and at > 0 and tokens.kind[at - 1] == FIGURE:
            return False
        if kind not in (BLANK, SEPARATOR, WEAK_WORD, UNIT, CURRENCY):
            break
        at -= 1
    at = figure + 1
    if at < tokens.count and tokens.kind[at] in (WORD, WEAK_WORD):
        return False
    if behind_stop:
        while at < tokens.count and tokens.kind[at] == BLANK:
            at += 1
        if at < tokens.count and tokens.kind[at] in (SEPARATOR, CLOSING, STOP):
            return False
    at = figure + 1
    while at < tokens.count:
        kind = tokens.kind[at]
        if kind == FIGURE or kind == STRONG:
            return False
        if kind == WIDE_COMMA and at == figure + 1 and at + 1 < tokens.count and tokens.kind[at + 1] == FIGURE:
            return False
        if kind not in (BLANK, SEPARATOR, WEAK_WORD, UNIT, CURRENCY):
            break
        at += 1
    return True


def figure_windows(
    const uint8_t[::1] data, const int64_t[::1] offsets, const uint8_t[::1] classes, const uint64_t[::1] keys,
    const uint8_t[::1] values, bint values_only,
):
    """(first byte, last byte, first character in its text, what it is, bounds of each text's) of windows.

    A text without figures has none. `classes` has the class of every character, `keys` and `values` the words that may
    say something of a figure: a table of their hashes with empty places. `values_only`: a figure may be a window by
    itself, as nobody asks for its unit, its bounds or the order of day and month.
    """
    cdef Py_ssize_t row, count = offsets.shape[0] - 1
    cdef int64_t longest = int(np.diff(offsets).max(initial=0))
    cdef int64_t room = (int(offsets[count]) - int(offsets[0])) // 2 + count + 1
    first_bytes, last_bytes, first_characters = (np.empty(room, np.int64) for _ in range(3))
    kinds = np.empty(room, np.uint16)
    bounds = np.zeros(count + 1, np.int64)
    cdef int64_t[::1] starts = first_bytes, ends = last_bytes, firsts = first_characters, out = bounds
    cdef uint16_t[::1] flags = kinds
    cdef int64_t[::1] points = np.empty(longest + 2, np.int64)
    cdef int64_t[::1] places = np.empty(longest + 2, np.int64)  # bytes of characters, of tokens their first character
    cdef int64_t[::1] token_starts = np.empty(longest + 2, np.int64)
    cdef uint8_t[::1] kind = np.empty(longest + 2, np.uint8)
    cdef uint8_t[::1] token_kinds = np.empty(longest + 2, np.uint8)
    cdef Tokens tokens
    cdef int64_t at, end, used, k, run, point, width, found = 0, left, right, reach, here
    cdef int64_t cyrillic, other, inside_cyrillic, inside_other, hyphens, last_solid, first_of_row
    cdef bint whole, lists, bracketed, figures, neutral, negative, liability, each, wide, separated
    cdef uint8_t one
    cdef uint16_t flag, beside
    tokens.kind, tokens.start = &token_kinds[0], &token_starts[0]
    with nogil:
        for row in range(count):
            at, end, used = offsets[row], offsets[row + 1], 0
            whole = lists = bracketed = figures = negative = liability = each = False
            cyrillic = other = hyphens = 0
            last_solid = 10  # the last character that is not blank; a text begins like a line
            while at < end:
                point, width = code_point(data, at)
                one = classes[point] if point < classes.shape[0] else UNKNOWN
                points[used], places[used], kind[used] = point, at, one
                if one == LETTER:
                    if is_cyrillic(point):
                        cyrillic += 1
                    elif point != UNDERSCORE:
                        other += 1
                elif 0x3040 <= point <= 0x30FF or 0x3400 <= point <= 0x9FFF:
                    other += 1
                if 0x3040 <= point <= 0x30FF or 0x3400 <= point <= 0x9FFF:
                    lists = True
                if one == DIGIT or one == NUMERAL:
                    figures = True
                    bracketed = bracketed or last_solid == BRACKET
                elif one == UNKNOWN:
                    whole = True
                elif one == NEGATIVE:
                    negative = True
                elif one == LIABILITY:
                    liability = True
                elif one == EACH:
                    each = True
                elif point == HYPHEN and (last_solid == 10 or last_solid == 13):
                    hyphens += 1
                elif (point == YEAR or point == MONTH) and last_solid == YUAN:
                    whole = True
                if one != BLANK:
                    last_solid = point
                used += 1
                at += width
            out[row + 1] = found
            if not figures and not whole:
                continue
            whole = whole or hyphens > 1 or (negative and liability)
            places[used] = end
            first_of_row = found
            if not whole:
                # tokens
                tokens.count, k, neutral = 0, 0, False
                while k < used:
                    one, run = kind[k], k + 1
                    if one == DIGIT or one == NUMERAL:
                        one = FIGURE
                        while run < used:
                            if kind[run] == DIGIT or kind[run] == NUMERAL:
                                run += 1
                            elif (
                                (kind[run] == SEPARATOR or kind[run] == APOSTROPHE) and kind[run - 1] == DIGIT and run + 1 < used
                                and kind[run + 1] == DIGIT
                            ):
                                run += 2
                            elif (
                                kind[run - 1] == NUMERAL and run + 1 < used and kind[run + 1] == NUMERAL
                                and points[run] in (DOT, KANA_DOT, FULL_STOP, WIDE_STOP)
                            ):  # 三・一四
                                run += 2
                            else:
                                break
                    elif one == LETTER:
                        while run < used and kind[run] == LETTER:
                            run += 1
                        one = word_kind(&points[0], k, run, run < used and kind[run] == SEPARATOR, keys, values)
                        neutral = neutral or one == WORD
                    elif one == BLANK or one == INERT or one == INERT_KANA:
                        while run < used and kind[run] == one:
                            run += 1
                        if (
                            points[k] == NO and run == k + 1 and k > 0 and run < used
                            and (kind[run] == DIGIT or kind[run] == NUMERAL)
                            and (divides(points[k - 1]) or kind[k - 1] == DIGIT or kind[k - 1] == NUMERAL)
                        ):
                            one = STRONG
                        neutral = neutral or (one != BLANK and one != STRONG)
                    elif one == NEGATIVE or one == LIABILITY or one == EACH:
                        one = STRONG
                    elif one == APOSTROPHE:
                        one = MARK
                    tokens.kind[tokens.count], tokens.start[tokens.count] = one, k
                    tokens.count += 1
                    k = run
                tokens.start[tokens.count] = used
                whole = not neutral
                # windows
                reach, separated, wide = 0, False, False
                inside_cyrillic = inside_other = 0
                k = 0
                while k < tokens.count and not whole:
                    if tokens.kind[k] != FIGURE:
                        k += 1
                        continue
                    flag = 0
                    if values_only and is_plain(&tokens, k):
                        left, right = tokens.start[k], tokens.start[k + 1]
                        run = k + 1
                        while run < tokens.count and (tokens.kind[run] == BLANK or tokens.kind[run] == UNIT):
                            if tokens.kind[run] == UNIT:
                                right = tokens.start[run + 1]
                            run += 1
                        k += 1
                    else:
                        run = k - 1
                        while run >= 0 and not says_nothing(&tokens, run, values_only):
                            run -= 1
                        left = 0
                        if run < 0:
                            flag |= AT_START
                        else:
                            beside = token_kind(&tokens, run, &points[0])
                            flag |= beside << LEFT
                            left = tokens.start[run + 1] if beside else tokens.start[run]
                        k += 1
                        while k < tokens.count and not says_nothing(&tokens, k, values_only):
                            k += 1
                        right = used
                        if k >= tokens.count:
                            flag |= AT_END
                        else:
                            beside = token_kind(&tokens, k, &points[0])
                            flag |= beside << RIGHT
                            right = tokens.start[k] if beside else tokens.start[k + 1]
                        while found > first_of_row and starts[found - 1] >= places[left]:
                            found -= 1  # it has figures before it
                        for here in range(left, right):
                            if is_cyrillic(points[here]):
                                inside_cyrillic += 1
                            else:
                                inside_other += 1
                            wide = wide or kind[here] == WIDE_COMMA
                    for here in range(left + 1, right - 1):
                        separated = separated or (
                            kind[here - 1] == DIGIT and kind[here + 1] == DIGIT and kind[here] != DIGIT
                            and (not values_only or kind[here] in (SEPARATOR, BLANK, WIDE_COMMA))
                        )
                    starts[found], ends[found], flags[found] = places[left], places[right], flag
                    firsts[found] = left
                    found += 1
                whole = whole or (each and wide) or (separated and bracketed)
                if not whole and separated:
                    for here in range(first_of_row, found):
                        flags[here] |= SEPARATED | LISTS if lists else SEPARATED
                    if cyrillic - inside_cyrillic > other:
                        for here in range(first_of_row, found):
                            flags[here] |= CYRILLIC
                    elif cyrillic and cyrillic > other - inside_other:
                        whole = True
            if whole:
                found = first_of_row
                starts[found], ends[found], flags[found] = offsets[row], end, WHOLE
                firsts[found] = 0
                found += 1
            out[row + 1] = found
    places_of = (column[:found].copy() for column in (first_bytes, last_bytes, first_characters))
    return *places_of, kinds[:found].copy(), bounds
