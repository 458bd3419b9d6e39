"""The numbers of stretches whose figures no rule of the reader changes, by one pattern instead of all of its rules.

A figure is plain where nothing in the stretch can be a part of a date, a page, a sign, a magnitude, a range or a list
marker. What is not plain is left to the reader.
"""

from __future__ import annotations

import re
from decimal import Decimal

from rageval_batch.columnar.values.lexicon import lexicon
from rageval_batch.columnar.values.numbers import unit_pattern
from rageval_batch.columnar.values.numerals import CHINESE, arabic, run_value
from rageval_batch.columnar.values.window_classes import MONTH_NAMES, VALUE_WORD_BEGINNINGS, VALUE_WORDS

# Han and Kana with which rules begin or without which they do not: all others say nothing of a value.
_SPEAKING = "参壱弐第页頁行ジ年月分角毛点點半多余餘几幾数數至到负負ゝゞ゛゜ゟヿ"
_SIGNS = "。“”‘’「」『』《》〈〉…・%$€£ \t\n"
_LATIN, _CYRILLIC = "A-Za-z", "А-Яа-яЁё"
_LETTER = f"{_LATIN}{_CYRILLIC}"
_NUMERAL = CHINESE.replace("兆", "")  # 兆 begins no number and may be a part of a unit
_UNIT = unit_pattern(lexicon().units)

_QUIET_HAN = f"(?![{_SPEAKING}{CHINESE}])[\u4e00-\u9fff\u3400-\u4dbf\u3041-\u30ff]"
_WORD = f"(?<![0-9{CHINESE}])(?:[{_LATIN}]++|[{_CYRILLIC}]++)(?![0-9{CHINESE}{_LETTER}])"
_COMMAS = "，(?![0-9]{3})|(?<![0-9])，|,(?![0-9])"
# What may not stand behind a figure: a part of it, a magnitude, a mark of a list; 、 may where it begins no line.
_ALONE = rf"(?![0-9]|[,.’][0-9]|[ \t]*[{CHINESE}.)\]】]|[ \t]+、)"
_NO_MARKER = "(?!、)"
_POINT_FIGURE = r"(?>[1-9][0-9]{0,2}(?:,[0-9]{3})++|[0-9]++)(?:\.[0-9]++)?+(?![ \t]+[0-9]{3}(?![0-9]))"
_COMMA_FIGURE = r"[0-9]++(?:,[0-9]{1,2}+)?+(?![ \t]+[0-9]{3}(?![0-9]))"
_NUMERALS = rf"[{_NUMERAL}]++(?!克|[ \t]*[0-9])"  # 千克 is a unit


def _stretch(figure: str) -> re.Pattern[str]:
    number = rf"(?:{figure}|{_NUMERALS}){_ALONE}"
    return re.compile(f"(?:(?:{_QUIET_HAN}|、)(?:{number})?+|[{_SIGNS}]|{number}{_NO_MARKER}|{_WORD}|{_COMMAS})*+")


_POINT_STRETCH, _COMMA_STRETCH = _stretch(_POINT_FIGURE), _stretch(_COMMA_FIGURE)
_NUMBERS = re.compile(rf"(?P<numerals>[{_NUMERAL}]+)|[0-9](?:[0-9.,]*[0-9])?")
_FIGURES = re.compile("[0-9](?:[0-9.,]*[0-9])?")
_WORDS = re.compile(f"[{_LETTER}]+")
_TOKENS = re.compile(rf"[0-9](?:[0-9.,]*[0-9])?|[{_LETTER}]+")
_HAS_NUMERAL = re.compile(f"[{_NUMERAL}]")
_BETWEEN = frozenset(
    {"to", "through", "until", "до", "по"}
)  # both ends of a range have the values they are written with
_CHANGING = VALUE_WORDS - _BETWEEN
_LONGEST_DAY = 2  # digits
_YEAR = re.compile(r"(?:19|20)[0-9]{2}(?![0-9])")
_DAY = re.compile(r"[0-9]{1,2}(?![0-9])")


def plain_numbers(text: str, *, decimal_comma: bool, at_start: bool, at_end: bool) -> tuple[Decimal, ...] | None:
    """The numbers of a stretch that is plain, None of any other.

    `decimal_comma`: the text in which it stands has a comma before decimals; `at_start`, `at_end`: nothing stands
    before it, behind it.
    """
    if not at_start:
        text = f"門{text}"
    if (_COMMA_STRETCH if decimal_comma else _POINT_STRETCH).fullmatch(text) is None:
        return None
    words = _WORDS.findall(text.lower())
    has_numeral = _HAS_NUMERAL.search(text) is not None
    if has_numeral and (words or (at_start and at_end)):
        return None
    if words and not _leave_values_alone(text.lower(), words):
        return None
    figure = _with_comma if decimal_comma else arabic
    if not has_numeral:
        return tuple(map(figure, _FIGURES.findall(text)))
    values = (_numeral(m) if m["numerals"] else figure(m[0]) for m in _NUMBERS.finditer(text))
    return tuple(value for value in values if value is not None)


def _with_comma(figure: str) -> Decimal:
    return Decimal(figure.replace(",", "."))


def _numeral(m: re.Match[str]) -> Decimal | None:
    """The value of numerals, None where they are a part of a word."""
    return run_value(m[0], _UNIT.match(m.string, m.end()) is not None)


def _leave_values_alone(text: str, words: list[str]) -> bool:
    """Whether none of the words multiplies, negates or numbers a figure, and no month makes a date of one."""
    if not _CHANGING.isdisjoint(words) or any(word.startswith(VALUE_WORD_BEGINNINGS) for word in words):
        return False
    if MONTH_NAMES.isdisjoint(words):
        return True
    tokens = [token for token in _TOKENS.findall(text) if token != "of"]
    return not any(map(_may_be_date, tokens, tokens[1:]))


def _may_be_date(first: str, second: str) -> bool:
    """Whether a figure and a month beside each other, in lower case, may be a date."""
    if second in MONTH_NAMES:
        return first[0].isdecimal() and len(first) <= _LONGEST_DAY
    if first not in MONTH_NAMES:
        return False
    return _YEAR.match(second) is not None or (first.isascii() and _DAY.match(second) is not None)
