"""Numbers in a text, with their units."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from rageval_batch.values.lexicon import CURRENCIES, MULTIPLYING_UNIT, SAME_UNIT, longest_first
from rageval_batch.values.numerals import (
    ARABIC,
    CHINESE,
    DIGITS,
    HAS_ARABIC,
    POWERS,
    RUN,
    TOKEN,
    run_value,
    scaled,
    with_fraction,
)

_CANDIDATE = re.compile(
    rf"(?P<word>[A-Za-z_]+)(?P<attached>{ARABIC})?|(?P<share>[百佰千仟万萬])分之|(?P<run>[0-9{CHINESE}])"
)
_SHARES = {"百": "%", "佰": "%", "千": "‰", "仟": "‰", "万": "‱", "萬": "‱"}
_FRACTION = re.compile(rf"[点點](?P<digits>[{''.join(DIGITS)}]+)")
_POINT = re.compile(rf"{_FRACTION.pattern}(?P<power>(?:百|千|佰|仟)?(?:万|萬|亿|億)|千|仟|百|佰)?")
_AND_MORE = re.compile("[多余餘](?P<power>[万萬亿億])")  # 二十多万
_JOINED = re.compile(r"[ \t]*[-~–—至到、或和][ \t]*")
_VAGUE = "几幾数數"
_ONE = ("一", "壹")
_MOST_TOKENS = 40  # of a run with Arabic figures; longer ones are no numbers, and looking for the longest that is costs


class Number(NamedTuple):
    """A number, its unit ("" for none) and the span of both; `article` marks the 一 of 一个."""

    value: Decimal
    unit: str
    start: int
    end: int
    article: bool = False


class NumberReader:
    """Finds numbers, given the units that may follow them."""

    def __init__(self, units: Iterable[str]) -> None:
        self._unit = re.compile(rf"[ \t]*(?P<unit>{'|'.join(map(re.escape, longest_first(units)))})")

    def find(self, text: str) -> list[Number]:
        """The numbers of a normal text in which dates, references and markers are masked."""
        found: list[Number] = []
        at = 0
        while (m := _CANDIDATE.search(text, at)) is not None:
            number: Number | None = None
            if m["word"]:
                currency = m["attached"] and m["word"].upper() in CURRENCIES
                at = m.end("word") if currency else m.end()
                continue
            if m["share"]:
                number, at = self._share(text, m)
            else:
                number, at = self._at(text, m.start())
            if number is not None:
                found.append(number)
        return _units_shared(text, found)

    def _at(self, text: str, start: int) -> tuple[Number | None, int]:
        """The number that begins here, if any, and where to go on."""
        m = RUN.match(text, start)
        if m is None:  # 千克
            return None, start + 1
        run, end = m[0], m.end()
        ends = _token_ends(run, start) if HAS_ARABIC.search(run) else [end]
        end = ends[-1]
        if text.startswith("分之", end):  # 三分之一
            numerator = RUN.match(text, end + 2)
            return None, numerator.end() if numerator else end + 2
        if start and text[start - 1] in _VAGUE and text[start] in POWERS:  # 几十, 数百万
            return None, end
        if len(ends) == 1 and not HAS_ARABIC.search(run):
            return self._chinese(text, start, end)
        for stop in reversed(ends):
            if (number := self._number(text, start, stop)) is not None:
                return number, number.end
        return None, ends[0]

    def _chinese(self, text: str, start: int, end: int) -> tuple[Number | None, int]:
        if point := _POINT.match(text, end):
            number = self._pointed(text, start, end, point)
            if number is not None:
                return number, number.end
        number = self._number(text, start, end)
        return number, number.end if number is not None else end

    def _number(self, text: str, start: int, end: int) -> Number | None:
        """The number that is written from start to end, with what follows of magnitude and unit."""
        run = text[start:end]
        if more := _AND_MORE.match(text, end):
            value = run_value(run, True)
            if value is not None:
                value = scaled(value, POWERS[more["power"]])
            end = more.end()
        unit = self._unit.match(text, end)
        if unit is None and text[end : end + 1] in ("多", "余", "餘"):  # 30余人
            unit = self._unit.match(text, end + 1)
        if not more:
            value = run_value(run, unit is not None)
        if value is None:
            return None
        return _with_unit(value, unit, start, end, article=unit is not None and run in _ONE)

    def _pointed(self, text: str, start: int, end: int, point: re.Match[str]) -> Number | None:
        """四点二万, 三点五公里: only before a magnitude or a unit, for 三点五十分 is a time."""
        whole = run_value(text[start:end], True)
        unit = self._unit.match(text, point.end())
        if whole is None or not (point["power"] or unit):
            return None
        value = scaled(with_fraction(whole, point["digits"]), sum(POWERS[c] for c in point["power"] or ""))
        return _with_unit(value, unit, start, point.end())

    def _share(self, text: str, m: re.Match[str]) -> tuple[Number | None, int]:
        """百分之十五 is 15 %, 千分之三 3 ‰."""
        start, at, unit = m.start(), m.end(), _SHARES[m["share"]]
        if text.startswith(("百", "佰"), at):
            return Number(Decimal(100), unit, start, at + 1), at + 1
        if (run := RUN.match(text, at)) is None:
            return None, at
        end = _token_ends(run[0], at)[-1] if HAS_ARABIC.search(run[0]) else run.end()
        value = run_value(text[at:end], True)
        if value is not None and "." not in run[0] and (fraction := _FRACTION.match(text, end)):
            value, end = with_fraction(value, fraction["digits"]), fraction.end()
        return (None if value is None else Number(value, unit, start, end)), end


def _token_ends(run: str, start: int) -> list[int]:
    """Where each figure and numeral of a run ends, of a long run with Arabic figures only the first."""
    ends, arabic = [], False
    for m in TOKEN.finditer(run):
        ends.append(start + m.end())
        arabic = arabic or HAS_ARABIC.search(m[0]) is not None
        if arabic and len(ends) >= _MOST_TOKENS:
            break
    return ends


def _with_unit(value: Decimal, unit: re.Match[str] | None, start: int, end: int, article: bool = False) -> Number:
    if unit is None:
        return Number(value, "", start, end, article)
    name = unit["unit"]
    if name in MULTIPLYING_UNIT:
        value, name = scaled(value, MULTIPLYING_UNIT[name]), "元"
    return Number(value, SAME_UNIT.get(name, name), start, unit.end(), article)


def _units_shared(text: str, found: list[Number]) -> list[Number]:
    """100-200元: a number without a unit that is joined to the next has that one's."""
    for k in range(len(found) - 2, -1, -1):
        here, after = found[k], found[k + 1]
        if here.unit == "" and (joined := _JOINED.match(text, here.end)) and joined.end() == after.start:
            found[k] = here._replace(unit=after.unit)
    return found
