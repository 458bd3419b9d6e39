"""The numbers of whole columns of texts: compiled code finds the stretches that hold them, the reader reads each
distinct stretch once.

The reader's rules look at what stands around a figure, and no rule looks beyond a word or character that is in none of
its lists. What all of a text decides, whether a comma stands before decimals or lists, is told to the reader
with the stretch. The classes of characters and words are made from the reader's own patterns and lists.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar import kernels
from rageval_batch.columnar.kernels.figure_windows import figure_windows
from rageval_batch.columnar.strings import Bytes, Offsets, Strings
from rageval_batch.columnar.values import (
    dates,
    figures,
    month_names,
    numbers,
    numbers_in,
    numerals,
    qualifiers,
    references,
)
from rageval_batch.columnar.values.lexicon import (
    CURRENCIES,
    MEASURES,
    NO_APPROXIMATION,
    NO_SIGN_BEFORE,
    WORDS_AFTER,
    WORDS_BEFORE,
    lexicon,
)
from rageval_batch.columnar.values.normal import MASK

_PATTERNS = (dates, figures, month_names, numbers, numerals, qualifiers, references)
_POINTS = 0x20000  # code points that the table has

# Classes of characters and words, by the numbers that the kernel has for them.
_BLANK, _DIGIT, _NUMERAL, _LETTER, _INERT, _UNIT, _STRONG, _SEPARATOR = range(1, 9)
_MARK, _STOP, _CLOSING, _WIDE_COMMA, _CURRENCY, _NEGATIVE, _LIABILITY, _EACH, _INERT_KANA, _NAMED = range(9, 19)
_WEAK_WORD, _STRONG_BEGINNING, _STRONG_WORD, _STRONG_WITH_POINT = range(1, 5)
_CYRILLIC, _AT_START, _AT_END, _WHOLE, _LISTS = 1, 2, 4, 8, 1024
_LEFT, _RIGHT, _KIND = 4, 7, 7  # where in the flags of a window the kinds of the tokens beside it stand
_BESIDE = (MASK, "門", "の", "qq", "ж")  # a token of each kind that says nothing

_CLASSES = (
    (_BLANK, " \t"),
    (_DIGIT, "0123456789"),
    (_NUMERAL, numerals.CHINESE),
    (_UNIT, "%人名次套件台张張笔筆元块塊圆圓天日个個岁歲克吨噸"),
    (_SEPARATOR, ".,"),
    (_MARK, "\"'“”‘’«»「」『』…·・《》〈〉"),
    (_STOP, "\n\r。！？!?；;:：([【"),
    (_CLOSING, ")]】"),
    (_WIDE_COMMA, "，"),
    (_CURRENCY, "$€£¥"),
    (_NEGATIVE, "负負"),
    (_LIABILITY, "责責债債义義"),
    (_EACH, "别別"),
)
_HAN_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF))
_KANA_RANGES = ((0x3041, 0x30FF), (0x3005, 0x3005))
_STRONG_RANGES = ((0x21, 0x7E), (0xA1, 0x24F), (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20BF), (0x2190, 0x23FF),
                  (0x2500, 0x27BF), (0x3001, 0x301F), (0x1F300, 0x1FAFF))  # fmt: skip
# Characters that patterns only refuse behind another one (上下班, 角度), or have in the middle of a word.
_BEHIND_OTHERS = (
    "车車楼樓班学學级級侧側边邊手付给給收退算交扣花用拿出少种種处處项項额額款下留期析配成局店院部度色落形星逐利重坯巾衣"
    "载載夜价價径徑途路截真推政业業述列简簡务務ー"
)
# Of the characters of bounds (超过, 以上), which never change a value, those that other rules have too.
_NOT_ONLY_OF_BOUNDS = frozenset("至到和或及与與多余餘半数數几幾点點分年月日周週起小时時公工作百人")
_OTHER_CASES = "İıſ"  # letters that patterns without regard to case take for others

_STRONG_WORDS = (
    "thousand thousands million millions mln mn billion billions bln bn trillion trillions trn k m b tn to through "
    "until st nd rd th page pages line lines minus e t z до по минус стр hundred hundreds lakh lakhs crore crores "
    "quadrillion quadrillions tsd mio mrd millionen milliard milliards milliarde milliarden dozen dozens"
)
_STRONG_BEGINNINGS = "тыс млн миллион млрд миллиард трлн триллион квадриллион дюжин страниц"
_STRONG_WITH_POINT_WORDS = "p pp с сс"
_WEAK_WORDS = (
    "of or so and more above over less fewer below under и или более больше менее меньше годах года году год г "
    "us dollar dollars euro euros pound pounds yen yuan ruble rubles rouble roubles rupee rupees руб евро"
)
_ROUBLES_AND_DOLLARS = (
    *(f"рубл{ending}" for ending in ["ь", "я", "ю", "е", "и", "ей", "ям", "ях", "ём", "ем", "ями"]),
    *(f"доллар{ending}" for ending in ("", *["а", "у", "е", "ы", "ов", "ам", "ах", "ом", "ами"])),
)
# Figures by themselves that are read in one way: 30, 4.25, 1,250.50; where a comma is before decimals 30 and 78,3.
_PLAIN = re.compile(r"(?P<figure>(?:[0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]+)?)%?")
_PLAIN_CYRILLIC = re.compile("(?P<figure>[0-9]+(?:,[0-9]{1,2})?)%?")
_LETTERS = re.compile("[a-zа-яё]+")
_ENDINGS = re.compile(r"(?P<stem>\w+)(?:\[(?P<letters>\w+)\](?P<none>\?)?)?")
_FIRST_HASH, _HASH_FACTOR, _HASH_LIMIT = 1469598103934665603, 1099511628211, 1 << 64
_PLACES = 1024  # of the table of words


# --- classes ----------------------------------------------------------------------------------------------------


def _pattern_texts(module: ModuleType) -> Iterator[str]:
    """The patterns of a module, those in tuples too."""
    waiting = list(vars(module).values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, re.Pattern):
            yield value.pattern
        elif isinstance(value, tuple):
            waiting += value


def _looked_at() -> Iterator[str]:
    """Characters of Han that rules for signs, bounds and ranges look at by themselves."""
    rows = (*NO_APPROXIMATION.values(), NO_SIGN_BEFORE, qualifiers.LOOKED_AT_BEFORE, numbers.NO_NUMERAL_BEHIND)
    return (character for row in rows for character in row if "\u3400" <= character <= "\u9fff")


def _unread_beside_figures() -> Iterator[str]:
    """Characters of Han and Kana that belong to a rule, but beside a figure leave its value alone."""
    bounds = (*(word for words in WORDS_BEFORE.values() for word in words), *WORDS_AFTER.values(), MEASURES)
    yield from _BEHIND_OTHERS
    for character in "".join(bounds):
        if "\u3400" <= character <= "\u9fff" and character not in _NOT_ONLY_OF_BOUNDS:
            yield character


@lru_cache(maxsize=1)
def _character_classes() -> Bytes:
    """The class of every character, by what NFKC makes of it; 0 where nothing is known of it."""
    known = {ord(character): number for number, characters in _CLASSES for character in characters}
    known |= {point: _LETTER for point in range(128) if chr(point).isalpha()} | {ord("_"): _LETTER}
    known |= {ord(letter): _LETTER for letter in map(chr, range(0x401, 0x452)) if re.match("[А-Яа-яЁё]", letter)}
    written = {character for module in _PATTERNS for text in _pattern_texts(module) for character in text}
    written |= {c for words in (*WORDS_BEFORE.values(), lexicon().units) for word in words for c in word}
    table = np.zeros(_POINTS, np.uint8)
    for first, last in _STRONG_RANGES:
        table[first : last + 1] = _STRONG
    for first, last in _HAN_RANGES:
        table[first : last + 1] = _INERT
    for first, last in _KANA_RANGES:
        table[first : last + 1] = _INERT_KANA
    for character in _looked_at():
        table[ord(character)] = _NAMED
    for character in written:
        if not character.isascii() and ord(character) < _POINTS:
            table[ord(character)] = _STRONG
    for character in _unread_beside_figures():
        table[ord(character)] = _MARK
    for point, number in known.items():
        table[point] = number
    for point in range(128, _POINTS):
        character = chr(point)
        form = unicodedata.normalize("NFKC", character)
        if form == character:
            if table[point] and (unicodedata.category(character) in ("No", "Nd", "Cn") or character in _OTHER_CASES):
                table[point] = 0
        elif character != "，":
            narrow = len(form) == 1 and (form in "¥" or (form.isascii() and not form.isalnum()))
            table[point] = table[ord(form)] if narrow else 0
    return table


def _hash(word: str) -> int:
    found = _FIRST_HASH
    for letter in word:
        found = (found ^ ord(letter)) * _HASH_FACTOR % _HASH_LIMIT
    return found


def _months() -> Iterator[str]:
    """The names of months in all their endings, and their short names."""
    for name in (*month_names.ENGLISH, *month_names.RUSSIAN, *month_names.SHORT):
        m = _ENDINGS.fullmatch(name)
        assert m is not None
        yield from (m["stem"] + letter for letter in m["letters"] or "")
        if m["letters"] is None or m["none"]:
            yield m["stem"]


@lru_cache(maxsize=1)
def _word_classes() -> tuple[npt.NDArray[np.uint64], Bytes]:
    """A table of the words that may say something of a figure: their hashes, each at its place, and their classes."""
    classes: dict[str, int] = {}
    spoken = (word for words in WORDS_BEFORE.values() for phrase in words for word in _LETTERS.findall(phrase))
    groups: tuple[tuple[int, Iterable[str]], ...] = (
        (_WEAK_WORD, (*spoken, *_WEAK_WORDS.split(), *_ROUBLES_AND_DOLLARS)),
        (_STRONG_WITH_POINT, _STRONG_WITH_POINT_WORDS.split()),
        (_STRONG_BEGINNING, _STRONG_BEGINNINGS.split()),
        (_STRONG_WORD, (*_STRONG_WORDS.split(), *_months(), *(name.lower() for name in CURRENCIES))),
    )
    for number, words in groups:
        classes |= dict.fromkeys(words, number)
    keys, values = np.zeros(_PLACES, np.uint64), np.zeros(_PLACES, np.uint8)
    for word, number in classes.items():
        found = _hash(word)
        place = found % _PLACES
        while keys[place]:
            place = (place + 1) % _PLACES
        keys[place], values[place] = found, number
    return keys, values


# --- reading ----------------------------------------------------------------------------------------------------


class Windows(NamedTuple):
    """Stretches of texts with what their places in it are: text t has those from `bounds[t]` to `bounds[t + 1]`."""

    texts: Strings
    flags: npt.NDArray[np.uint16]
    bounds: Offsets


def find_windows(column: Strings) -> Windows:
    """The stretches that hold the numbers of each text; an empty text has none."""
    starts, ends, flags, bounds = figure_windows(column.data, column.offsets, _character_classes(), *_word_classes())
    return Windows(kernels.cut(column.data, starts, ends), flags, bounds)


@lru_cache(maxsize=65_536)
def window_numbers(text: str, flags: int) -> tuple[Decimal, ...]:
    """The numbers of a stretch as they are read where it stands; those of the newest are kept."""
    if flags & _WHOLE:
        return tuple(numbers_in(text))
    if flags & ~_LISTS == 0 and (m := _PLAIN.fullmatch(text)):
        return (numerals.arabic(m["figure"]),)
    if flags & ~_LISTS == _CYRILLIC and (m := _PLAIN_CYRILLIC.fullmatch(text)):
        return (Decimal(m["figure"].replace(",", ".")),)
    language = ("я" if flags & _CYRILLIC else "z") * (len(text) + 8)  # more letters than the stretch has
    language += "門" if flags & _LISTS else ""
    before = "\n" if flags & _AT_START else MASK + _BESIDE[flags >> _LEFT & _KIND]
    behind = "" if flags & _AT_END else _BESIDE[flags >> _RIGHT & _KIND] + MASK
    return tuple(numbers_in(f"{language}{before}{text}{behind}"))
