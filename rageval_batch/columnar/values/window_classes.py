"""What characters and words may say of a figure: tables for finding the stretches of a text that hold its values.

They are made from the reader's own patterns and lists: what stands in none of them says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes
from rageval_batch.columnar.values import (
    dates,
    figures,
    fractions,
    month_names,
    numbers,
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

_PATTERNS = (dates, figures, fractions, month_names, numbers, numerals, qualifiers, references)
_POINTS = 0x20000  # code points that the table has

# Classes of characters and words, by the numbers that the kernel has for them.
_BLANK, _DIGIT, _NUMERAL, _LETTER, _INERT, _UNIT, _STRONG, _SEPARATOR = range(1, 9)
_MARK, _STOP, _CLOSING, _WIDE_COMMA, _CURRENCY, _NEGATIVE, _LIABILITY, _EACH, _INERT_KANA, _NAMED, _APOSTROPHE = range(
    9, 20
)
_WEAK_WORD, _STRONG_BEGINNING, _STRONG_WORD, _STRONG_WITH_POINT = range(1, 5)

_CLASSES = (
    (_BLANK, " \t"),
    (_DIGIT, "0123456789"),
    (_NUMERAL, f"{numerals.CHINESE}参壱弐"),
    (_UNIT, "%人名次套件台张張笔筆元块塊圆圓天日个個岁歲克吨噸"),
    (_SEPARATOR, ".,"),
    (_MARK, '"“”‘«»「」『』…·・《》〈〉'),
    (_STOP, "\n\r。！？!?；;:：([【"),
    (_CLOSING, ")]】"),
    (_WIDE_COMMA, "，"),
    (_CURRENCY, "$€£¥"),
    (_NEGATIVE, "负負"),
    (_LIABILITY, "责責债債义義"),
    (_EACH, "别別"),
    (_APOSTROPHE, "'’"),
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
_JOINING_KANA = "の"  # joins figures behind 分, 条 and the like only, which the kernel sees
# Of the characters of bounds (超过, 以上), which never change a value, those that other rules have too.
_NOT_ONLY_OF_BOUNDS = frozenset("至到和或及与與多余餘半数數几幾点點分年月日周週起小时時公工作百人")
# Code points whose NFKC is another text, or that are numbers in themselves: none is a Han or Hangul syllable.
_WITH_OTHER_FORMS = (range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x10000), range(0x1F000, 0x20000))
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
_MONEY_BEGINNINGS = ("рубл", "доллар")  # with any ending
_ROUBLES_AND_DOLLARS = (
    *(f"рубл{ending}" for ending in ["ь", "я", "ю", "е", "и", "ей", "ям", "ях", "ём", "ем", "ями"]),
    *(f"доллар{ending}" for ending in ("", *["а", "у", "е", "ы", "ов", "ам", "ах", "ом", "ами"])),
)
_LETTERS = re.compile("[a-zа-яё]+")
_ENDINGS = re.compile(r"(?P<stem>\w+)(?:\[(?P<letters>\w+)\](?P<none>\?)?)?")
_FIRST_HASH, _HASH_FACTOR, _HASH_LIMIT = 1469598103934665603, 1099511628211, 1 << 64
_PLACES = 1024  # of the table of words


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
    """Characters of Han and Kana that rules for signs, bounds and ranges look at by themselves."""
    rows = (*NO_APPROXIMATION.values(), NO_SIGN_BEFORE, qualifiers.LOOKED_AT_BEFORE, numbers.NO_NUMERAL_BEHIND)
    return (character for row in rows for character in row if "\u3040" <= character <= "\u9fff")


def _unread_beside_figures() -> Iterator[str]:
    """Characters of Han and Kana that belong to a rule, but beside a figure leave its value alone."""
    bounds = (*(word for words in WORDS_BEFORE.values() for word in words), *WORDS_AFTER.values(), MEASURES)
    yield from _BEHIND_OTHERS
    for character in "".join(bounds):
        if "\u3400" <= character <= "\u9fff" and character not in _NOT_ONLY_OF_BOUNDS:
            yield character


def _character_classes(units: Iterable[str], unread: Iterable[str]) -> Bytes:
    """The class of every character, by what NFKC makes of it; 0 where nothing is known of it.

    `units` are those of the reader, `unread` characters that belong to a rule that does not matter.
    """
    known = {ord(character): number for number, characters in _CLASSES for character in characters}
    known |= {point: _LETTER for point in range(128) if chr(point).isalpha()} | {ord("_"): _LETTER}
    known |= {ord(letter): _LETTER for letter in map(chr, range(0x401, 0x452)) if re.match("[А-Яа-яЁё]", letter)}
    written = {character for module in _PATTERNS for text in _pattern_texts(module) for character in text}
    written |= {c for words in (*WORDS_BEFORE.values(), units) for word in words for c in word}
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
        if not character.isascii() and ord(character) < _POINTS and character not in _JOINING_KANA:
            table[ord(character)] = _STRONG
    for character in unread:
        table[ord(character)] = _MARK
    for point, number in known.items():
        table[point] = number
    for point in (point for part in _WITH_OTHER_FORMS for point in part):
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


def _word_classes(beginnings: Iterable[str]) -> tuple[npt.NDArray[np.uint64], Bytes]:
    """A table of the words that may say something of a figure: their hashes, each at its place, and their classes.

    `beginnings`: words that begin with one of these may do so too.
    """
    classes: dict[str, int] = {}
    spoken = (word for words in WORDS_BEFORE.values() for phrase in words for word in _LETTERS.findall(phrase))
    groups: tuple[tuple[int, Iterable[str]], ...] = (
        (_WEAK_WORD, (*spoken, *_WEAK_WORDS.split(), *_ROUBLES_AND_DOLLARS)),
        (_STRONG_WITH_POINT, _STRONG_WITH_POINT_WORDS.split()),
        (_STRONG_WORD, (*_STRONG_WORDS.split(), *_months(), *(name.lower() for name in CURRENCIES))),
        (_STRONG_BEGINNING, (*_STRONG_BEGINNINGS.split(), *beginnings)),
    )
    for number, words in groups:
        classes |= dict.fromkeys(words, number)
    return hash_table(classes)


def hash_table(classes: Mapping[str, int]) -> tuple[npt.NDArray[np.uint64], Bytes]:
    """Words in lower case with their classes as a table with empty places: hashes, each at its place, and classes."""
    size = max(_PLACES, 1 << (4 * len(classes)).bit_length())
    keys, values = np.zeros(size, np.uint64), np.zeros(size, np.uint8)
    for word, number in classes.items():
        found = _hash(word)
        place = found % size
        while keys[place]:
            place = (place + 1) % size
        keys[place], values[place] = found, number
    return keys, values


MONTH_NAMES = frozenset(_months())
# Words that may change a value wherever they stand near it, a month not among them, and beginnings of such words.
VALUE_WORDS = frozenset((*_STRONG_WORDS.split(), *_STRONG_WITH_POINT_WORDS.split(), *(c.lower() for c in CURRENCIES)))
VALUE_WORD_BEGINNINGS = tuple(_STRONG_BEGINNINGS.split())


class WindowClasses(NamedTuple):
    """The class of every character, and a table of words: hashes, each at its place, and their classes."""

    characters: Bytes
    keys: npt.NDArray[np.uint64]
    words: Bytes


@lru_cache(maxsize=1)
def classes_for_values() -> WindowClasses:
    """What may say something of the value of a figure, with the packaged units."""
    return WindowClasses(_character_classes(lexicon().units, _unread_beside_figures()), *_word_classes(()))


@lru_cache(maxsize=8)
def classes_for_reading(units: tuple[str, ...]) -> WindowClasses:
    """What may say anything of a figure: its value, unit, bounds, or that it is a date or a page."""
    spelled = {word for unit in units for word in _LETTERS.findall(unit.lower())}
    return WindowClasses(_character_classes(units, ()), *_word_classes((*_MONEY_BEGINNINGS, *spelled)))
