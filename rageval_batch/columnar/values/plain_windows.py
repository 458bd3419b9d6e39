"""The numbers of stretches whose figures no rule of the reader changes, by compiled code; the tables it stands on."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.kernels.plain_figures import plain_figures
from rageval_batch.columnar.strings import Bytes, Flags, Offsets, Strings
from rageval_batch.columnar.values.lexicon import lexicon
from rageval_batch.columnar.values.numerals import CHINESE, DIGITS, EXACT, POWERS, TENS
from rageval_batch.columnar.values.window_classes import (
    MONTH_NAMES,
    VALUE_WORD_BEGINNINGS,
    VALUE_WORDS,
    hash_table,
)

# Han and Kana with which rules begin or without which they do not: all others say nothing of a value.
_SPEAKING = "・参壱弐第页頁行ジ年月分之の角毛点點半多余餘几幾数數至到负負ゝゞ゛゜ゟヿ"
_SIGNS = "。“”‘’「」『』《》〈〉…%$€£ \t\n"
_QUIET_RANGES = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x3041, 0x30FF))
_BETWEEN = frozenset(
    {"to", "through", "until", "до", "по"}
)  # both ends of a range have the values they are written with

# Classes of characters and words, by the numbers that the kernel has for them.
_QUIET, _SIGN, _DIGIT, _LATIN, _CYRILLIC, _COMMA, _WIDE_COMMA, _TRILLION = range(1, 9)
_CHINESE_DIGIT, _CHINESE_POWER, _CHINESE_TENS = 16, 32, 63
_UNIT, _UNIT_BEGINNING = 64, 128
_CHANGING, _CHANGING_BEGINNING, _MONTH, _FILLER = range(1, 5)
_POINTS = 0x10000  # code points that the table has

# How the kernel writes a number: its digits times _EXPONENTS, plus _NO_EXPONENT and the power of ten behind them.
_EXPONENTS, _NO_EXPONENT, _LARGEST = 256, 128, 1 << 47


class _Tables(NamedTuple):
    characters: Bytes
    keys: npt.NDArray[np.uint64]
    words: Bytes
    units: npt.NDArray[np.int64]


def _character_classes(units: tuple[str, ...]) -> Bytes:
    table = np.zeros(_POINTS, np.uint8)
    for first, last in _QUIET_RANGES:
        table[first : last + 1] = _QUIET
    groups = ((0, _SPEAKING + CHINESE), (_QUIET, "、"), (_SIGN, _SIGNS), (_DIGIT, "0123456789"), (_TRILLION, "兆"))
    for number, characters in (*groups, (_COMMA, ","), (_WIDE_COMMA, "，"), (_CHINESE_TENS, "".join(TENS))):
        table[[ord(character) for character in characters]] = number
    for point in range(0x452):
        letter = chr(point)
        if letter.isascii() and letter.isalpha():
            table[point] = _LATIN
        elif "А" <= letter <= "я" or letter in "Ёё":
            table[point] = _CYRILLIC
    for character, value in DIGITS.items():
        table[ord(character)] = _CHINESE_DIGIT + value
    for character, power in POWERS.items():
        if character != "兆":  # it begins no number and may be a part of a unit
            table[ord(character)] = _CHINESE_POWER + power
    table[[ord(unit) for unit in units if len(unit) == 1]] |= _UNIT
    table[[ord(unit[0]) for unit in units if len(unit) > 1]] |= _UNIT_BEGINNING
    return table


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    """For the packaged units."""
    units = lexicon().units
    words = dict.fromkeys(MONTH_NAMES, _MONTH) | {"of": _FILLER} | dict.fromkeys(VALUE_WORDS - _BETWEEN, _CHANGING)
    words |= dict.fromkeys(VALUE_WORD_BEGINNINGS, _CHANGING_BEGINNING)
    pairs = [ord(character) for unit in units if len(unit) > 1 for character in unit[:2]]
    return _Tables(_character_classes(units), *hash_table(words), np.array(pairs, np.int64))


def plain_numbers(stretches: Strings, flags: npt.NDArray[np.uint16]) -> tuple[npt.NDArray[np.int64], Offsets, Flags]:
    """(numbers of the stretches that are plain, as `packed` writes them, bounds of each stretch's, whether it is)."""
    return plain_figures(stretches.data, stretches.offsets, flags, *_tables())


def packed(value: Decimal) -> int | None:
    """A number as one integer, equal numbers as equal ones; None where its digits have no room in it."""
    if not value:
        return _NO_EXPONENT
    sign, digits, exponent = EXACT.normalize(value).as_tuple()
    whole = int("".join(map(str, digits)))
    if not isinstance(exponent, int) or whole >= _LARGEST or not -_NO_EXPONENT <= exponent < _NO_EXPONENT:
        return None
    return (-whole if sign else whole) * _EXPONENTS + exponent + _NO_EXPONENT


def unpacked(number: int) -> Decimal:
    """The number that `packed` wrote."""
    return EXACT.scaleb(Decimal(number // _EXPONENTS), number % _EXPONENTS - _NO_EXPONENT)
