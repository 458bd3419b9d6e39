"""Figures with separators in one format: 1 250,5, 1.250,5 and 1,00,000 as 1,250.5 and 100000, character by character.

What a comma and a point mean in 1,250 and 1.250 only the language says: in a text whose letters are mostly Cyrillic the
comma stands before decimals (but 42,000 is a round number in every language), in every other text the point. 12,5 has
a comma before decimals unless the text has Han or Kana, where a comma lists. All other forms can be read in one way
only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rageval_batch.columnar.values.normal import THOUSANDS

DECIMAL_MARKS = ("auto", "point", "comma")

_PERHAPS = re.compile("[0-9][ .,][0-9]")
_FIGURES = re.compile(rf"[0-9]+(?:[ .,{THOUSANDS}][0-9]+)+")
_MARKED = re.compile(rf"[0-9]+(?:{THOUSANDS}[0-9]+)+[.,][0-9]+")  # 1'250,5
_INDIAN = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?")  # 1,00,000
_FIRST_GROUP = re.compile("[1-9][0-9]{0,2}")
_GROUP = re.compile("[0-9]{3}")
_LAST_GROUP = re.compile("[0-9]{3}[.,][0-9]+")
_SPACED = re.compile(r"[1-9][0-9]{0,2}(?: [0-9]{3})+(?:[.,][0-9]+)?")  # 1 250,5
_POINTED = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]+")  # 1.250,5
_POINTS = re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3}){2,}")  # 1.250.000
_TENTHS = re.compile("0,[0-9]+")  # no thousands begin with 0
_DECIMALS = re.compile("[0-9]+,[0-9]+")
_NO_THOUSANDS = re.compile("[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")  # 12,5
_ADDRESS = re.compile(r"(?:[0-9]{3}\.){3}[0-9]{3}")  # 192.168.100.200
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_ROUND = re.compile("[1-9][0-9]{0,2},000")
_EITHER = re.compile("[1-9][0-9]{0,2}[.,][0-9]{3}")  # 1.250 and 1,250
_GLUED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.,")
_CYRILLIC = re.compile("[А-Яа-яЁё]")
_OTHER_LETTERS = re.compile("[A-Za-z\u3040-\u30ff\u3400-\u9fff]")


class Ambiguity(NamedTuple):
    """A figure that another format reads as another number: its span, and whether a comma is before decimals here."""

    start: int
    end: int
    decimal_comma: bool


def is_cyrillic(text: str) -> bool:
    """Whether more letters are Cyrillic than Latin, Han or Kana."""
    if text.isascii():
        return False
    return len(_CYRILLIC.findall(text)) > len(_OTHER_LETTERS.findall(text))


def _has_decimal_comma(text: str, mark: str) -> bool:
    return mark == "comma" or (mark == "auto" and is_cyrillic(text))


def _runs(text: str) -> Iterator[re.Match[str]]:
    """Figures with separators that are no part of a name or of another figure."""
    for m in _FIGURES.finditer(text):
        if text[m.start() - 1 : m.start()] not in _GLUED or text[max(0, m.start() - 3) : m.start()] in _CODES:
            yield m


_CODES = frozenset({"RMB", "CNY", "USD", "HKD", "TWD", "EUR", "JPY", "GBP"})


def point_format(text: str, mark: str = "auto") -> str:
    """A normal text of the same length in which commas separate thousands and a point stands before decimals."""
    if _PERHAPS.search(text) is None:
        return text
    pieces: list[str] = []
    at = 0
    comma = None
    listed = _HAN_OR_KANA.search(text) is not None
    for m in _runs(text):
        if mark == "auto" and _ROUND.fullmatch(m[0]):
            continue
        if "," not in m[0] and " " not in m[0] and m[0].count(".") == 1 and not _EITHER.fullmatch(m[0]):
            continue  # 4.25
        comma = _has_decimal_comma(text, mark) if comma is None else comma
        lists = listed or (text[m.start() - 1 : m.start()] == "[" and text[m.end() : m.end() + 1] == "]")
        rules = _Rules(comma, comma or (mark == "auto" and not lists), not (comma or lists))
        if (written := _in_points(m[0], rules)) is None and " " in m[0]:
            written = " ".join(_in_points(part, rules) or part for part in _spaced_parts(m[0], comma))
        if written is not None:
            pieces += [text[at : m.start()], written]
            at = m.end()
    return "".join([*pieces, text[at:]]) if pieces else text


_COMMA_TO_POINT = str.maketrans(".,", ",.")
_BLANK_TO_COMMA = str.maketrans(" ,", ",.")


def _spaced_parts(run: str, comma: bool) -> Iterator[str]:
    """Figures that are no one number, one by one: 1 250,5 and 30 of `1 250,5 30`; 8 800 555 35 35 is five."""
    words = run.split(" ")
    first = 0
    while first < len(words):
        end = first + 1
        if _FIRST_GROUP.fullmatch(words[first]):
            while end < len(words) and _GROUP.fullmatch(words[end]):
                end += 1
            ended = end < len(words) and _LAST_GROUP.fullmatch(words[end]) is not None
            end += ended
            whole = " ".join(words[first:end])
            if ended and (comma or not _is_listed(whole)):
                yield whole
                first = end
                continue
        yield from words[first:end]
        first = end


def _is_listed(spaced: str) -> bool:
    """Whether groups of three digits are a list: 100 200 300."""
    groups = re.split("[.,]", spaced)[0].split(" ")
    return len(groups[0]) == 3 and not any(group[0] == "0" for group in groups)


class _Rules(NamedTuple):
    """What a comma is: `comma`, it stands before decimals; `decimals`, it does where it cannot separate thousands;
    `pairs`, it may separate pairs of digits before the last three."""

    comma: bool
    decimals: bool
    pairs: bool


def _in_points(figure: str, rules: _Rules) -> str | None:
    """A figure in the format with a decimal point; None where it is no one number, or is in that format already."""
    comma = rules.comma
    if _SPACED.fullmatch(figure):
        return None if _is_listed(figure) and not comma else figure.translate(_BLANK_TO_COMMA)
    if _POINTED.fullmatch(figure) or _TENTHS.fullmatch(figure):
        return figure.translate(_COMMA_TO_POINT)
    if _INDIAN.fullmatch(figure) and (rules.pairs or ",0" in figure):  # no list has 00
        return figure.replace(",", THOUSANDS)
    if _MARKED.fullmatch(figure):
        return figure.replace(",", ".")
    if rules.decimals and _NO_THOUSANDS.fullmatch(figure):
        return figure.translate(_COMMA_TO_POINT)
    if _POINTS.fullmatch(figure) and (comma or not _ADDRESS.fullmatch(figure)):
        return figure.translate(_COMMA_TO_POINT)
    if comma and (_DECIMALS.fullmatch(figure) or _EITHER.fullmatch(figure)):
        return figure.translate(_COMMA_TO_POINT)
    return None


def ambiguities(text: str, mark: str = "auto") -> list[Ambiguity]:
    """The figures of a normal text that say 1250 in one format and 1.25 in the other."""
    comma = _has_decimal_comma(text, mark)
    return [
        Ambiguity(*m.span(), comma and not (mark == "auto" and _ROUND.fullmatch(m[0])))
        for m in _runs(text)
        if _EITHER.fullmatch(m[0])
    ]
