"""Fractions that are written as two figures: 1⁄2 and 3 1⁄2 with U+2044, 三分之一, 一又二分之一, 3分の1.

A slash of ASCII divides too many other things (24/7, 5/10, km/h) to be read as a fraction.
"""

from __future__ import annotations

import decimal
import re
from decimal import Decimal
from typing import NamedTuple

from rageval_batch.columnar.values.normal import THOUSANDS
from rageval_batch.columnar.values.numerals import EXACT, RUN, arabic, run_value

_SLASHED = re.compile(
    rf"(?<!⁄)(?:(?P<whole>[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{1,9}}|[0-9]{{1,3}}(?:{THOUSANDS}[0-9]{{3}})+)[ ])?"
    r"(?P<above>[0-9]{1,9})⁄(?P<below>[0-9]{1,9})(?![0-9⁄])"
)
_AND = re.compile("又")  # between the whole part and the fraction
_PARTS = re.compile("分[之の]")
_DIVISION = decimal.Context(prec=28, traps=[])  # as ⅓ is read


class Fraction(NamedTuple):
    """The value of a fraction and where it ends; None where two figures are none that can be read."""

    value: Decimal | None
    end: int


def fraction_at(text: str, start: int, end: int) -> Fraction | None:
    """The fraction whose first figure stands from `start` to `end`; None where there is none."""
    behind = text[end : end + 1]
    if behind == "⁄" or (behind == " " and "⁄" in text):
        return _slashed(text, start)
    if behind == _AND.pattern:
        return _with_whole(text, start, end)
    return _of_parts(text, start, end) if behind == "分" else None


def _quotient(above: Decimal, below: Decimal) -> Decimal | None:
    return _DIVISION.divide(above, below) if below else None


def _slashed(text: str, start: int) -> Fraction | None:
    """1⁄2 and 3 1⁄2. 31⁄2 may be 15.5, or 3½ that lost its gap: it has no value."""
    m = _SLASHED.match(text, start)
    if m is None:
        return None
    above, below = Decimal(m["above"]), Decimal(m["below"])
    if above >= below and (m["whole"] or len(m["above"]) > 1):
        return Fraction(None, m.end())
    value = _quotient(above, below)
    if value is not None and m["whole"]:
        value = EXACT.add(arabic(m["whole"]), value)
    return Fraction(value, m.end())


def _of_parts(text: str, start: int, end: int) -> Fraction | None:
    """三分之一; 三分之 without a figure behind it has no value, 5分の is five minutes."""
    if _PARTS.match(text, end) is None:
        return None
    above = RUN.match(text, end + 2)
    if above is None:
        return Fraction(None, end + 2) if text[end + 1] == "之" else None
    figures = run_value(text[start:end], True), run_value(above[0], True)
    if figures[0] is None or figures[1] is None:
        return Fraction(None, above.end())
    return Fraction(_quotient(figures[1], figures[0]), above.end())


def _with_whole(text: str, start: int, end: int) -> Fraction | None:
    """一又二分之一."""
    below = RUN.match(text, end + 1)
    part = _of_parts(text, below.start(), below.end()) if below else None
    if part is None:
        return None
    whole = run_value(text[start:end], True)
    if whole is None or part.value is None or part.value >= 1:
        return Fraction(None, part.end)
    return Fraction(EXACT.add(whole, part.value), part.end)
