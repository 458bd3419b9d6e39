"""Numbers of stretches whose figures no rule of the reader changes.

A figure is plain where nothing in its stretch can be a part of a date, a page, a sign, a magnitude, a range or a list
marker. What is not plain, or has more digits than there is room for, is left to the reader.
"""

import numpy as np
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t

from rageval_batch.columnar.kernels.utf8 cimport code_point

# Classes of characters, as `values/plain_windows.py` makes the table.
cdef enum:
    OTHER = 0
    QUIET = 1  # Han and Kana that say nothing of a value, and 、
    SIGN = 2
    DIGIT = 3
    LATIN = 4
    CYRILLIC = 5
    COMMA = 6
    WIDE_COMMA = 7
    TRILLION = 8  # a numeral that begins no number and may be a part of a unit
    CHINESE_DIGIT = 16  # and its value
    CHINESE_POWER = 32  # and its power of ten
    CHINESE_TENS = 63  # 廿, 卅
    CLASS = 63
    UNIT = 64  # a unit by itself
    UNIT_BEGINNING = 128  # the first character of a unit of two
    # of words in the table
    CHANGING = 1
    CHANGING_BEGINNING = 2
    MONTH = 3
    FILLER = 4  # stands between a day and a month
    # kinds of tokens
    NO_TOKEN = 0
    FIGURE_TOKEN = 1
    WORD_TOKEN = 2
    LATIN_MONTH = 3
    CYRILLIC_MONTH = 4
    # what a stretch is, as `figure_windows` says it
    DECIMAL_COMMA = 1
    AT_START = 2
    AT_END = 4
    WHOLE = 8

cdef int64_t LISTING = 0x3001, GRAM = 0x514B, POINT = 0x2E, APOSTROPHE = 0x2019
cdef int64_t LARGEST = <int64_t>1 << 47  # of the digits of a number, without the zeros at its end
cdef int64_t EXPONENTS = 256, NO_EXPONENT = 128
cdef uint64_t FIRST_HASH = 1469598103934665603ULL, HASH_FACTOR = 1099511628211ULL


cdef struct Stretch:
    const int64_t* points
    const uint8_t* classes  # of the points; 0 behind the last
    int64_t size


cdef inline bint is_chinese(uint8_t one) noexcept nogil:
    return one & CLASS >= CHINESE_DIGIT or one & CLASS == TRILLION


cdef inline bint is_digit(const Stretch* text, int64_t at) noexcept nogil:
    return at < text.size and text.classes[at] == DIGIT


cdef inline bint is_letter(uint8_t one) noexcept nogil:
    return one == LATIN or one == CYRILLIC


cdef inline int64_t behind_blanks(const Stretch* text, int64_t at) noexcept nogil:
    while at < text.size and (text.points[at] == 32 or text.points[at] == 9):
        at += 1
    return at


cdef inline int64_t packed(int64_t digits, int64_t exponent) noexcept nogil:
    """A number as one integer, equal numbers as equal ones; -1 where it has too many digits."""
    if digits == 0:
        return NO_EXPONENT
    while digits % 10 == 0:
        digits //= 10
        exponent += 1
    if digits >= LARGEST or not -NO_EXPONENT <= exponent < NO_EXPONENT:
        return -1
    return digits * EXPONENTS + exponent + NO_EXPONENT


cdef inline bint stands_alone(const Stretch* text, int64_t end) noexcept nogil:
    """Whether no part of a figure, magnitude or mark of a list stands behind one."""
    cdef int64_t at = end
    if is_digit(text, end):
        return False
    if end < text.size and text.points[end] in (44, POINT, APOSTROPHE) and is_digit(text, end + 1):
        return False
    at = behind_blanks(text, end)
    if at == text.size:
        return True
    if is_chinese(text.classes[at]) or text.points[at] in (POINT, 0x29, 0x5D, 0x3011):
        return False
    return at == end or text.points[at] != LISTING


cdef bint group_follows(const Stretch* text, int64_t end) noexcept nogil:
    """Whether blanks and three digits stand behind a figure, as in 1 250."""
    cdef int64_t at = behind_blanks(text, end)
    if at == end:
        return False
    return is_digit(text, at) and is_digit(text, at + 1) and is_digit(text, at + 2) and not is_digit(text, at + 3)


cdef (int64_t, int64_t) arabic(const Stretch* text, int64_t at, bint decimal_comma) noexcept nogil:
    """(number, end) of the figure at `at`; -1 for one that is not plain."""
    cdef int64_t start = at, digits = 0, decimals = 0, groups = 0, end
    while is_digit(text, at):
        digits = digits * 10 + text.points[at] - 48
        at += 1
        if at - start > 17:
            return -1, at
    end = at
    if decimal_comma:
        if end < text.size and text.points[end] == 44 and is_digit(text, end + 1):
            end += 1
            while is_digit(text, end) and decimals < 2:
                digits = digits * 10 + text.points[end] - 48
                decimals += 1
                end += 1
    else:
        if end - start <= 3 and text.points[start] != 48:
            while (
                end < text.size and text.points[end] == 44 and is_digit(text, end + 1) and is_digit(text, end + 2)
                and is_digit(text, end + 3)
            ):
                groups += 1
                if groups > 4:
                    return -1, end
                digits = digits * 1000 + (text.points[end + 1] - 48) * 100 + (text.points[end + 2] - 48) * 10
                digits += text.points[end + 3] - 48
                end += 4
        if end < text.size and text.points[end] == POINT and is_digit(text, end + 1):
            end += 1
            while is_digit(text, end):
                digits = digits * 10 + text.points[end] - 48
                decimals += 1
                end += 1
                if end - start > 17:
                    return -1, end
    if group_follows(text, end) or not stands_alone(text, end):
        return -1, end
    return packed(digits, -decimals), end


cdef inline int64_t ten_to(int64_t power) noexcept nogil:
    cdef int64_t value = 1, k
    for k in range(power):
        value *= 10
    return value


cdef inline int64_t digit_value(uint8_t one) noexcept nogil:
    """The value of a Chinese digit, -1 for anything else."""
    return (one & CLASS) - CHINESE_DIGIT if CHINESE_DIGIT <= one & CLASS < CHINESE_POWER else -1


cdef inline int64_t digit_power(uint8_t one) noexcept nogil:
    """The power of a Chinese magnitude, -1 for anything else."""
    return (one & CLASS) - CHINESE_POWER if one & CLASS >= CHINESE_POWER else -1


cdef struct Section:  # of a numeral, up to 万, 亿 or its end
    int64_t total  # thousands, hundreds and tens
    int64_t last  # power of the last of them, -1 without any
    int64_t ones  # -1 without any
    bint behind_zero  # the ones
    int64_t end


cdef Section section_at(const uint8_t* run, int64_t at, int64_t size) noexcept nogil:
    """The section at `at` as far as it goes; what it cannot read is behind its end."""
    cdef Section found
    cdef int64_t power, digit
    found.total, found.last, found.ones, found.behind_zero, found.end = 0, -1, -1, False, at
    while at < size and digit_value(run[at]) == 0:
        at += 1
    for power in range(3, 0, -1):
        digit = digit_value(run[at]) if at < size else -1
        if digit > 0 and at + 1 < size and digit_power(run[at + 1]) == power:
            at += 2
        elif power == 1 and at < size and digit_power(run[at]) == 1:
            digit = 1
            at += 1
        else:
            continue
        found.total += digit * ten_to(power)
        found.last = power
        while at < size and digit_value(run[at]) == 0:
            at += 1
    if at < size and digit_value(run[at]) > 0:
        found.ones = digit_value(run[at])
        found.behind_zero = at > 0 and digit_value(run[at - 1]) == 0
        at += 1
    found.end = at
    return found


cdef inline int64_t whole_section(const Section* part) noexcept nogil:
    return part.total + max(part.ones, 0)


cdef int64_t structured(const uint8_t* run, int64_t size) noexcept nogil:
    """What digits and magnitudes write: sections before 万 and 亿, and what stands last; -1 where they write nothing."""
    cdef Section part
    cdef int64_t at = 0, total = 0, last, behind = 0, big = -1, k
    for k in range(size):
        if digit_power(run[k]) == 8:
            if big >= 0:
                return -1
            big = k
    if big >= 0:
        part = section_at(run, 0, big)
        if part.end < big:  # 三万五千亿
            if digit_power(run[part.end]) != 4 or whole_section(&part) == 0:
                return -1
            total = whole_section(&part) * 10_000
            part = section_at(run, part.end + 1, big)
            if part.end < big:
                return -1
        elif whole_section(&part) == 0:
            return -1
        total = (total + whole_section(&part)) * 100_000_000
        at, behind = big + 1, 8
    part = section_at(run, at, size)
    if part.end < size and digit_power(run[part.end]) == 4:
        if whole_section(&part) == 0:
            return -1
        total += whole_section(&part) * 10_000
        at, behind = part.end + 1, 4
        part = section_at(run, at, size)
    if part.end < size:
        return -1
    total += part.total
    if part.ones < 0:
        return total
    # Ones behind a magnitude count a tenth of it (四万二, 一百五), behind a zero as ones.
    last = part.last if part.last >= 0 else behind
    return total + part.ones * (ten_to(last - 1) if last > 1 and not part.behind_zero else 1)


cdef int64_t bare(const uint8_t* run, int64_t size, bint before_unit) noexcept nogil:
    """十万, 百万元: a magnitude in front counts as one of it; -1 for 百元 and 千万."""
    cdef int64_t front = digit_power(run[0]), total = front, k
    if size == 1:
        return 10 if front == 1 and before_unit else -1
    if front == 8 or digit_power(run[1]) <= front or not (front == 1 or before_unit):
        return -1
    for k in range(1, size):  # 万, 亿 or both behind it
        if digit_power(run[k]) != (4 if k == 1 and digit_power(run[1]) == 4 else 8) or k > 2 - (digit_power(run[1]) == 8):
            return -1
        total += digit_power(run[k])
    return ten_to(total)


cdef int64_t positional(const uint8_t* run, int64_t size, bint before_unit) noexcept nogil:
    """二〇二〇 is 2020; one digit needs a unit; 七八 and 三五 are guesses, 一一 is a word: -1."""
    cdef int64_t value = 0, k, first, second
    if size == 1 and not before_unit:
        return -1
    if size == 2:
        first, second = digit_value(run[0]), digit_value(run[1])
        if first and second:
            if second == first + 1 or (first == 3 and second == 5) or (first == second and not before_unit):
                return -1
    for k in range(size):
        value = value * 10 + digit_value(run[k])
    return value


cdef enum:
    LONGEST_RUN = 16  # numerals of a run


cdef int64_t numeral(const Stretch* text, int64_t start, int64_t end, bint before_unit) noexcept nogil:
    """The value of a run of numerals, -1 where it is a part of a word."""
    cdef uint8_t[LONGEST_RUN + 1] run
    cdef int64_t k, digits = 0, size = end - start
    cdef bint one_left_out
    for k in range(size):
        run[k + 1] = text.classes[start + k]
        digits += digit_value(run[k + 1]) >= 0
    if digits == size:
        return positional(&run[1], size, before_unit)
    if digits == 0:
        return bare(&run[1], size, before_unit)
    one_left_out = size >= 3 and digit_value(run[2]) > 0 and (
        (digit_power(run[1]) == 3 and digit_power(run[3]) in (1, 2))
        or (digit_power(run[1]) == 2 and digit_power(run[3]) == 1)
    )  # 千二百
    if not one_left_out:
        return structured(&run[1], size)
    run[0] = CHINESE_DIGIT + 1
    return structured(&run[0], size + 1)


cdef inline int64_t lower(int64_t point) noexcept nogil:
    if 65 <= point <= 90 or 0x410 <= point <= 0x42F:
        return point + 32
    return 0x451 if point == 0x401 else point


cdef uint8_t word_class(
    const Stretch* text, int64_t start, int64_t end, const uint64_t[::1] keys, const uint8_t[::1] values
) noexcept nogil:
    """The class of a word in the table, 0 where it is not in it; words may be listed by their beginnings."""
    cdef uint64_t hash = FIRST_HASH
    cdef int64_t mask = keys.shape[0] - 1, slot, k
    cdef uint8_t found = 0
    for k in range(start, end):
        hash = (hash ^ <uint64_t>lower(text.points[k])) * HASH_FACTOR
        slot = <int64_t>(hash & <uint64_t>mask)
        found = 0
        while keys[slot]:
            if keys[slot] == hash:
                found = values[slot]
                break
            slot = (slot + 1) & mask
        if found == CHANGING_BEGINNING:
            return CHANGING
    return found


cdef inline bint is_year(const Stretch* text, int64_t at) noexcept nogil:
    """Whether a figure begins like a year of this century or the last."""
    if not (is_digit(text, at + 1) and is_digit(text, at + 2) and is_digit(text, at + 3)) or is_digit(text, at + 4):
        return False
    return (text.points[at] == 49 and text.points[at + 1] == 57) or (text.points[at] == 50 and text.points[at + 1] == 48)


cdef inline bint is_day(const Stretch* text, int64_t at) noexcept nogil:
    return not (is_digit(text, at + 1) and is_digit(text, at + 2))


cdef int64_t read_stretch(
    const Stretch* text, uint16_t flags, const uint64_t[::1] keys, const uint8_t[::1] values, const int64_t[::1] units,
    int64_t* out,
) noexcept nogil:
    """Write the numbers of a stretch and return how many there are; -1 for one that is not plain."""
    cdef int64_t at = 0, end, k, number, count = 0, length = 0
    cdef uint8_t one, found, token, before = NO_TOKEN
    cdef bint behind_quiet = not flags & AT_START, words = False, numerals = False, before_unit
    while at < text.size:
        one, end = text.classes[at] & CLASS, at + 1
        token = NO_TOKEN
        if one == DIGIT or CHINESE_DIGIT <= one:
            if one == DIGIT:
                number, end = arabic(text, at, flags & DECIMAL_COMMA)
                if number < 0:
                    return -1
                token, length = FIGURE_TOKEN, end - at
                out[count] = number
                count += 1
            else:
                while end < text.size and text.classes[end] & CLASS >= CHINESE_DIGIT:
                    end += 1
                for k in range(at, end):
                    if text.classes[k] & CLASS == CHINESE_TENS:
                        return -1
                k = behind_blanks(text, end)
                if end - at > LONGEST_RUN or (end < text.size and text.points[end] == GRAM) or is_digit(text, k):
                    return -1
                if not stands_alone(text, end):
                    return -1
                before_unit = k < text.size and text.classes[k] & UNIT
                if k + 1 < text.size and text.classes[k] & UNIT_BEGINNING:
                    for number in range(0, units.shape[0], 2):
                        before_unit |= units[number] == text.points[k] and units[number + 1] == text.points[k + 1]
                numerals = True
                number = numeral(text, at, end, before_unit)
                if number >= 0:
                    out[count] = packed(number, 0)
                    if out[count] < 0:
                        return -1
                    count += 1
            if not behind_quiet and end < text.size and text.points[end] == LISTING:
                return -1
        elif is_letter(one):
            while end < text.size and text.classes[end] == one:
                end += 1
            if at > 0 and (text.classes[at - 1] == DIGIT or is_chinese(text.classes[at - 1])):
                return -1
            if end < text.size and (
                is_letter(text.classes[end]) or text.classes[end] == DIGIT or is_chinese(text.classes[end])
            ):
                return -1
            words = True
            found = word_class(text, at, end, keys, values)
            if found == CHANGING:
                return -1
            token = WORD_TOKEN
            if found == MONTH:
                token = LATIN_MONTH if one == LATIN else CYRILLIC_MONTH
            elif found == FILLER:
                token = NO_TOKEN
        elif one == COMMA:
            if is_digit(text, end):
                return -1
        elif one == WIDE_COMMA:
            if at > 0 and text.classes[at - 1] == DIGIT and (
                is_digit(text, end) and is_digit(text, end + 1) and is_digit(text, end + 2)
            ):
                return -1
        elif one != QUIET and one != SIGN:
            return -1
        if token:
            # A figure and a month beside each other may be a date.
            if token >= LATIN_MONTH and before == FIGURE_TOKEN and length <= 2:
                return -1
            if token == FIGURE_TOKEN and before >= LATIN_MONTH:
                if is_year(text, at) or (before == LATIN_MONTH and is_day(text, at)):
                    return -1
            before = token
        behind_quiet = one == QUIET
        at = end
    if numerals and (words or (flags & AT_START and flags & AT_END)):
        return -1
    return count


def plain_figures(
    const uint8_t[::1] data, const int64_t[::1] offsets, const uint16_t[::1] flags, const uint8_t[::1] classes,
    const uint64_t[::1] keys, const uint8_t[::1] values, const int64_t[::1] units,
):
    """(numbers of the stretches that are plain, bounds of each stretch's, whether it is plain); an empty one has none.

    A number is its digits times 256, plus 128 and the power of ten that they are multiplied with. `classes` has the
    class of every character, `keys` and `values` words: a table of their hashes with empty places. `units` has the
    first two characters of units of several, pair by pair.
    """
    cdef Py_ssize_t row, count = offsets.shape[0] - 1
    cdef int64_t longest = int(np.diff(offsets).max(initial=0))
    all_numbers = np.empty(int(offsets[count]) - int(offsets[0]) + 1, np.int64)
    bounds = np.zeros(count + 1, np.int64)
    plain = np.zeros(count, np.bool_)
    cdef int64_t[::1] numbers = all_numbers, out = bounds
    cdef uint8_t[::1] is_plain = plain.view(np.uint8)
    cdef int64_t[::1] points = np.empty(longest + 1, np.int64)
    cdef uint8_t[::1] kinds = np.empty(longest + 1, np.uint8)
    cdef Stretch text
    cdef int64_t at, end, point, width, found, used = 0
    text.points, text.classes = &points[0], &kinds[0]
    with nogil:
        for row in range(count):
            found = -1
            if not flags[row] & WHOLE:
                at, end, text.size = offsets[row], offsets[row + 1], 0
                while at < end:
                    point, width = code_point(data, at)
                    points[text.size] = point
                    kinds[text.size] = classes[point] if point < classes.shape[0] else OTHER
                    text.size += 1
                    at += width
                found = read_stretch(&text, flags[row], keys, values, units, &numbers[used])
            if found >= 0:
                is_plain[row] = True
                used += found
            out[row + 1] = used
    return all_numbers[:used].copy(), bounds, plain
