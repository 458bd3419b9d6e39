"""Figures with separators in one format: 1 250,5 and 1.250,5 as 1,250.5, character by character.

What a comma and a point mean in 1,250 and 1.250 only the language says: in a text whose letters are mostly Cyrillic the
comma stands before decimals (but 42,000 is a round number in every language), in every other text the point. 12,5 has
a comma before decimals unless the text has Han or Kana, where a comma lists. All other forms can be read in one way
only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

DECIMAL_MARKS = ("auto", "point", "comma")

_PERHAPS = re.compile("[0-9][ .,][0-9]")
_FIGURES = re.compile(r"[0-9]+(?:[ .,][0-9]+)+")
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
    lists = mark != "auto" or _HAN_OR_KANA.search(text) is not None
    for m in _runs(text):
        if mark == "auto" and _ROUND.fullmatch(m[0]):
            continue
        if "," not in m[0] and " " not in m[0] and m[0].count(".") == 1 and not _EITHER.fullmatch(m[0]):
            continue  # 4.25
        comma = _has_decimal_comma(text, mark) if comma is None else comma
        decimals = comma or not (
            lists or (text[m.start() - 1 : m.start()] == "[" and text[m.end() : m.end() + 1] == "]")
        )
        if (written := _in_points(m[0], comma, decimals)) is not None:
            pieces += [text[at : m.start()], written]
            at = m.end()
    return "".join([*pieces, text[at:]]) if pieces else text


_COMMA_TO_POINT = str.maketrans(".,", ",.")
_BLANK_TO_COMMA = str.maketrans(" ,", ",.")


def _in_points(figure: str, comma: bool, decimals: bool) -> str | None:
    """A figure in the format with a decimal point; None where it is no one number, or is in that format already.

    `comma`: a comma stands before decimals; `decimals`: it does where it cannot separate thousands.
    """
    if _SPACED.fullmatch(figure):
        groups = re.split("[.,]", figure)[0].split(" ")
        listed = len(groups[0]) == 3 and not any(group[0] == "0" for group in groups)  # 100 200 300
        return None if listed and not comma else figure.translate(_BLANK_TO_COMMA)
    if _POINTED.fullmatch(figure) or _TENTHS.fullmatch(figure):
        return figure.translate(_COMMA_TO_POINT)
    if decimals and _NO_THOUSANDS.fullmatch(figure):
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
