"""Whether an answer gives the expected number, date or boolean of a typed field, and where it says so."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.columnar.values import Kind, Number, Reader, Reading, currency, is_no_money
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.legal_rag.fields import Quantity, as_boolean, as_date, as_quantity, as_text
from rageval_batch.profiles.legal_rag.questions import NUMBERS, Question, breakdown

_TOLERANCE = Decimal(str(TOLERANCE))
_TOTAL_BEFORE = re.compile(
    r"(?:共|总|總|合计|合計|共计|共計|总计|總計|total(?:\s+of)?)[\s:：]*[¥￥$]?\s*\Z", re.IGNORECASE
)
_LOOK_BACK = 40


class Match(NamedTuple):
    """The verdict on a field: what was read, where it stands in the answer's text (if it does), and why."""

    matched: bool
    got: str | None = None
    span: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True)
class Tolerances:
    """How far a number (a share of the expected one) and a date (in days) may be off if they need not be exact."""

    share: Decimal
    days: int


@dataclass(frozen=True)
class Facts:
    """Judges numbers, dates and booleans with one reader and its tolerances; texts are judged by columns."""

    reader: Reader
    tolerances: Tolerances

    def judge(self, question: Question, field: str, given: Any, *, answer: Reading) -> Match:
        """Whether a field is right: `given` is the structured value, None where the answer's text is read."""
        wanted = question.wanted[field]
        if field in NUMBERS:
            return self._number(question, wanted, given, answer=answer)
        if field == "amount_breakdown":
            return self._breakdown(question, wanted, given, answer=answer)
        if field in ("date", "date_range"):
            return self._range(question, wanted, given, answer=answer)
        return self._boolean(wanted, given, answer)

    # --- numbers ----------------------------------------------------------------------------------------------------

    def _rule(self, question: Question) -> Comparison:
        return Comparison(question.numeric_exact, self.tolerances.share)

    def _number(self, question: Question, want: Quantity | None, given: Any, *, answer: Reading) -> Match:
        if want is None:
            return Match(False, why="the expected value is no number")
        rule = self._rule(question)
        if given is None:
            return _in_text(want, rule, question.allowed, answer=answer)
        got = as_quantity(self.reader, given)
        if got is None:
            return Match(False, as_text(given), why="not one number")
        return Match(rule.same(want, got), got.shown, why="the field")

    def _breakdown(self, question: Question, want: list[Quantity | None], given: Any, *, answer: Reading) -> Match:
        expected = [amount for amount in want if amount is not None]
        if len(expected) < len(want):
            return Match(False, why="an expected amount is no number")
        rule = self._rule(question)
        if given is not None:
            got = breakdown(self.reader, given)
            amounts = [amount for amount in got if amount is not None]
            same = len(amounts) == len(got) == len(expected) and all(
                map(rule.same, sorted(expected, key=rule.order), sorted(amounts, key=rule.order))
            )
            return Match(same, as_text(given), why="the field")
        for amount in expected:
            found = _in_text(amount, rule, question.allowed, answer=answer)
            if not found.matched:
                return Match(False, found.got, found.span, why=f"{amount.shown}: {found.why}")
        short = _short_of(sorted(expected, key=rule.order), answer.numbers, rule)
        if short is not None:
            return Match(False, why=f"{short.shown} is not there often enough")
        return Match(True, ", ".join(amount.shown for amount in expected), why="every amount is in the text")

    # --- dates ------------------------------------------------------------------------------------------------------

    def _same_day(self, question: Question, want: str | None, got: str | None) -> bool:
        if want is None or got is None:
            return False
        if want == got:
            return True
        try:
            apart = datetime.date.fromisoformat(want) - datetime.date.fromisoformat(got)
        except ValueError:
            return False
        return not question.date_exact and abs(apart.days) <= self.tolerances.days

    def _date(self, question: Question, want: str | None, given: Any, *, answer: Reading) -> Match:
        if given is not None:
            got = as_date(self.reader, given)
            return Match(self._same_day(question, want, got), got or as_text(given), why="the field")
        return self._date_in_text(question, want, answer)

    def _date_in_text(self, question: Question, want: str | None, answer: Reading) -> Match:
        for date in answer.dates:
            if self._same_day(question, want, date.iso):
                return Match(True, date.iso, (date.start, date.end), why="among the dates of the text")
        first = answer.dates[0] if answer.dates else None
        if first is None:
            return Match(False, why="no date in the text")
        return Match(False, first.iso, (first.start, first.end), why="not among the dates of the text")

    def _range(
        self, question: Question, ends: dict[str, str | None] | str | None, given: Any, *, answer: Reading
    ) -> Match:
        """Both ends, or those that are expected; one day where no range is."""
        if not isinstance(ends, dict):
            return self._date(question, ends, given, answer=answer)
        if given is None:
            found = [self._date_in_text(question, want, answer) for want in ends.values()]
            wrong = next((match for match in found if not match.matched), None)
            shown = "/".join(match.got or "" for match in found)
            return wrong or Match(True, shown, found[0].span if found else None, why="both ends are in the text")
        got = self._given_range(given)
        same = got is not None and all(self._same_day(question, want, got.get(end)) for end, want in ends.items())
        return Match(same, as_text(given), why="the field")

    def _given_range(self, given: Any) -> dict[str, str | None] | None:
        if isinstance(given, dict):
            return {end: as_date(self.reader, given.get(end)) for end in ("start", "end")}
        ranges = self.reader.read(as_text(given)).date_ranges
        return {"start": ranges[0][0].iso, "end": ranges[0][1].iso} if len(ranges) == 1 else None

    # --- booleans ---------------------------------------------------------------------------------------------------

    def _boolean(self, want: bool | None, given: Any, answer: Reading) -> Match:
        if given is not None:
            got = as_boolean(self.reader, given)
            return Match(want is not None and got is want, _yes_no(got), why="the field")
        found = answer.boolean
        if found is None:
            return Match(False, why="no yes or no in the text")
        matched = want is not None and found.value is want
        return Match(matched, _yes_no(found.value), (found.start, found.end), why="the first in the text")


def _yes_no(value: bool | None) -> str | None:
    return None if value is None else "true" if value else "false"


def near(want: Decimal, got: Decimal, share: Decimal) -> bool:
    """Equal, or apart by no more than a share of the expected number."""
    if want == got or share == 0:
        return want == got
    with localcontext(prec=100):
        return abs(got - want) <= abs(want) * share + _TOLERANCE


@dataclass(frozen=True)
class Comparison:
    """How numbers are compared: value and kind exactly, or the value within a share of the expected one."""

    exact: bool
    tolerance: Decimal

    def near(self, want: Decimal, got: Decimal) -> bool:
        """Whether a value is the expected one."""
        return near(want, got, Decimal(0) if self.exact else self.tolerance)

    def same(self, want: Quantity, got: Quantity) -> bool:
        """Whether a field says what is expected; of a range both ends."""
        if self.exact and want.kind is not got.kind:
            return False
        return self.near(want.value, got.value) and self.near(want.values[-1], got.values[-1])

    def found(self, want: Quantity, number: Number) -> bool:
        """Whether a number of a text is the expected one; an expected range is found by its low end."""
        if want.high is not None:
            return self.same(want, Quantity(number.value, number.kind, number.high))
        return self.near(want.value, number.value) and not (self.exact and want.kind is not number.kind)

    def order(self, quantity: Quantity) -> tuple[Any, ...]:
        """In which order amounts are compared one by one."""
        return (*quantity.values[:1], quantity.values[-1], quantity.kind if self.exact else "")


def _in_text(want: Quantity, rule: Comparison, allowed: frozenset[Decimal], *, answer: Reading) -> Match:
    """A number in a text counts if the first sentence that holds it does not also offer another of its unit."""
    numbers = answer.numbers
    first = next((number for number in numbers if rule.found(want, number)), None)
    if first is None:
        return _not_in_text(want, rule, answer)
    if len(numbers) == 1 and not _TOTAL_BEFORE.search(answer.raw, max(0, first.start - _LOOK_BACK), first.start):
        return Match(True, _format_numbers([first]), (first.start, first.end), why="in the text")
    start, end = next((a, b) for a, b in answer.sentences if a <= first.start < b)
    inside = [number for number in answer.numbers if start <= number.start < end]
    hits = [number for number in inside if rule.found(want, number)]
    for hit in hits:
        if _TOTAL_BEFORE.search(answer.raw[max(start, hit.start - _LOOK_BACK) : hit.start]):
            return Match(True, _format_numbers([hit]), (hit.start, hit.end), why="the total of its sentence")
    rival: Number | None = None
    for hit in hits:
        others = (
            n for n in inside if _contradicts(answer.raw, n, hit) and not _is_excused(n, want, rule, allowed=allowed)
        )
        rival = next(others, None)
        if rival is None:
            return Match(True, _format_numbers([hit]), (hit.start, hit.end), why="in the text")
    return Match(
        False,
        _format_numbers([first]),
        (first.start, first.end),
        why=f"beside another value, {_format_numbers([rival])}",
    )


def _contradicts(raw: str, other: Number, hit: Number) -> bool:
    """Whether a number has the unit of another; a currency is one, and years, days and people are not money."""
    if other.unit != hit.unit or hit.unit:
        return other.unit == hit.unit
    money = currency(raw, hit)
    if not money:
        return True
    also = currency(raw, other)
    return also == money if also else not is_no_money(raw, other)


def _is_excused(number: Number, want: Quantity, rule: Comparison, *, allowed: frozenset[Decimal]) -> bool:
    """Whether a number may stand beside the expected one: the same value, or one that the question expects or says."""
    if number.value in allowed or any(rule.near(value, number.value) for value in want.values):
        return True
    return not rule.exact and any(rule.near(value, number.value) for value in allowed)


def _not_in_text(want: Quantity, rule: Comparison, answer: Reading) -> Match:
    other = next((number for number in answer.numbers if rule.near(want.value, number.value)), None)
    if other is not None:
        why = f"the value is there as {_ARTICLE[other.kind]}, {_ARTICLE[want.kind]} is expected"
        return Match(False, _format_numbers([other]), (other.start, other.end), why=why)
    return Match(
        False, _format_numbers(answer.numbers[:1]), _span(answer.numbers[:1]), why="not among the numbers of the text"
    )


_ARTICLE = {
    Kind.EXACT: "an exact number",
    Kind.APPROXIMATE: "an approximation",
    Kind.LOWER: "a lower bound",
    Kind.UPPER: "an upper bound",
    Kind.RANGE: "an end of a range",
}


def _format_numbers(numbers: Iterable[Number | None]) -> str | None:
    return next((_number_shown(number) for number in numbers if number is not None), None)


def _number_shown(number: Number) -> str:
    return f"{number.value:f}{number.unit}" + ("" if number.kind is Kind.EXACT else f" ({number.kind})")


def _span(numbers: list[Number]) -> tuple[int, int] | None:
    return (numbers[0].start, numbers[0].end) if numbers else None


def _short_of(expected: list[Quantity], numbers: list[Number], rule: Comparison) -> Quantity | None:
    """The first expected amount that no number is left for."""
    left = sorted(numbers, key=lambda number: number.value)
    for amount in expected:
        at = next((k for k, number in enumerate(left) if rule.found(amount, number)), None)
        if at is None:
            return amount
        del left[at]
    return None
