"""Where a text can be cut: between characters as people see them, which may be several code points.

The rules are those of Unicode's extended grapheme clusters, as far as the categories of the running Python tell them.
"""

from __future__ import annotations

import unicodedata

_MARKS = frozenset(("Mn", "Mc", "Me"))
_JOINER = "\u200d"
_PREFIXES = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)  # number signs
_VIRAMA = 9  # the combining class of what puts consonants below each other
_LONGEST = 64  # code points that one character is given at most: heaps of marks are cut


def cut_place(text: str, at: int) -> int:
    """The last place at or before `at` where no character is cut in two; `at` itself where there is none nearby."""
    if at <= 0 or at >= len(text) or (text[at] < "\u0300" and text[at] != "\n"):
        return max(0, min(at, len(text)))
    for place in range(at, max(0, at - _LONGEST), -1):
        if _is_between(text, place):
            return place
    return 0 if at < _LONGEST else at - ("\udc00" <= text[at] <= "\udfff")


def _is_between(text: str, at: int) -> bool:
    """Whether a character ends before this place, and another begins."""
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return False
    if before < "\u0300" and after < "\u0300":
        return True
    if _extends(after) or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"):
        return before in "\r\n"
    if before == _JOINER or before in _PREFIXES or unicodedata.combining(before) == _VIRAMA:
        return after.isspace()
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at) % 2 == 0
    return not _are_one_syllable(before, after)


def _extends(c: str) -> bool:
    """Whether a code point belongs to the one before it: marks, joiners, tones of skin, tags."""
    return (
        unicodedata.category(c) in _MARKS
        or c in "\u200c\u200d\uff9e\uff9f\u0e33\u0eb3"
        or "\U0001f3fb" <= c <= "\U0001f3ff"
        or "\U000e0020" <= c <= "\U000e007f"
    )


def _is_flag_letter(c: str) -> bool:
    return "\U0001f1e6" <= c <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    count = 0
    while count < min(at, _LONGEST) and _is_flag_letter(text[at - 1 - count]):
        count += 1
    return count


def _are_one_syllable(before: str, after: str) -> bool:
    """Parts of a Hangul syllable: leading consonants, then vowels, then trailing consonants."""
    leads = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97c"
    if leads and ("\u1100" <= after <= "\u11a7" or "\ua960" <= after <= "\ua97c" or "\uac00" <= after <= "\ud7a3"):
        return True
    syllable = "\uac00" <= before <= "\ud7a3"
    open_syllable = syllable and (ord(before) - 0xAC00) % 28 == 0
    vowel = "\u1160" <= before <= "\u11a7" or "\ud7b0" <= before <= "\ud7c6"
    trail = "\u11a8" <= before <= "\u11ff" or "\ud7cb" <= before <= "\ud7fb"
    if "\u1160" <= after <= "\u11a7" or "\ud7b0" <= after <= "\ud7c6":
        return open_syllable or vowel
    if "\u11a8" <= after <= "\u11ff" or "\ud7cb" <= after <= "\ud7fb":
        return syllable or vowel or trail
    return False
