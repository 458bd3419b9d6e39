"""Dates with the name of a month in English or Russian: March 5, 2024, 5 марта 2024 года."""

from __future__ import annotations

import re

ENGLISH = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
RUSSIAN = (
    "январ[ьяе]", "феврал[ьяе]", "март[ае]?", "апрел[ьяе]", "ма[йяе]", "июн[ьяе]", "июл[ьяе]", "август[ае]?",
    "сентябр[ьяе]", "октябр[ьяе]", "ноябр[ьяе]", "декабр[ьяе]",
)  # fmt: skip
_ENGLISH_SHORT = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
_RUSSIAN_SHORT = ("янв", "февр", "фев", "мар", "апр", "авг", "сент", "сен", "окт", "нояб", "ноя", "дек")
SHORT = (*_ENGLISH_SHORT, *_RUSSIAN_SHORT)
_STEMS = (*(name[:3] for name in ENGLISH), *(name[:3] for name in RUSSIAN[:4]), "ма", *(n[:3] for n in RUSSIAN[5:]))
_NUMBERS = {stem: k % 12 + 1 for k, stem in enumerate(_STEMS)}

# without regard to case İ would be an i
_NO_LETTER_BEFORE = "(?-i:(?<![A-Za-zА-Яа-яЁё]))"
_NO_LETTER_BEHIND = "(?-i:(?![A-Za-zА-Яа-яЁё]))"


def _month(names: tuple[str, ...], short: tuple[str, ...]) -> str:
    return rf"(?P<month>(?:{'|'.join(names)}){_NO_LETTER_BEHIND}|(?:{'|'.join(short)})(?:\.|{_NO_LETTER_BEHIND}))"


_MONTH = _month((*ENGLISH, *RUSSIAN), SHORT)
_DAY = "(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?-i:(?![0-9A-Za-z]))"
_COMMA = r"(?:[ \t]*,[ \t]*|[ \t]+)"
_YEAR_WORD = r"(?:[ \t]*(?:годах|года|году|год|г\.?)(?![а-яё]))?"
_NO_FIGURE_BEHIND = "(?![0-9])(?![.,:/-][0-9])"
_YEAR = rf"(?P<year>[12][0-9]{{3}}){_NO_FIGURE_BEHIND}{_YEAR_WORD}"
_NEAR_YEAR = rf"(?P<year>(?:19|20)[0-9]{{2}}){_NO_FIGURE_BEHIND}{_YEAR_WORD}"  # May 1000
_NO_FIGURE_BEFORE = "(?-i:(?<![0-9A-Za-zА-Яа-яЁё_]))(?<![0-9][-.,:/])"

MONTH_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NO_FIGURE_BEFORE}{_DAY}(?:[ \t]+(?:of[ \t]+)?|-){_MONTH}(?:(?:{_COMMA}|-){_YEAR})?",
        rf"{_NO_LETTER_BEFORE}{_month(ENGLISH, _ENGLISH_SHORT)}[ \t]*{_DAY}(?:{_COMMA}{_YEAR}|(?![.,:/-][0-9]))",
        rf"{_NO_LETTER_BEFORE}{_MONTH}(?:[ \t]+of[ \t]+|{_COMMA}){_NEAR_YEAR}",
    )
)
_LETTER = re.compile("[A-Za-zА-Яа-я]")
_STEM = re.compile("|".join(_STEMS))  # of casefolded texts, as looking without regard to case is far slower
_FULL_NAME = re.compile("|".join((*ENGLISH, *RUSSIAN)), re.IGNORECASE)


def may_have_month_name(text: str) -> bool:
    """Whether a text may have the name of a month."""
    return _LETTER.search(text) is not None and _STEM.search(text.casefold()) is not None


def month_number(name: str) -> int:
    """1 to 12 of a name that a pattern found."""
    folded = name.lower()
    return _NUMBERS.get(folded[:3]) or _NUMBERS[folded[:2]]


def is_date_with_name(name: str, has_day: bool, has_year: bool) -> bool:
    """Whether a month's name says a date: with day and year always, else a full name that no verb is (may, march)."""
    if has_day and has_year:
        return True
    if name[0].isascii():
        return name[0].isupper() and (has_year or _FULL_NAME.fullmatch(name) is not None)
    return has_year or _FULL_NAME.fullmatch(name) is not None
