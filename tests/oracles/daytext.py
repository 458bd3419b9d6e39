"""Dates in text, whole and partial, and their ranges."""

import datetime
import re
from typing import NamedTuple

from oracles.numerals import DIGITS, NUMERAL, small_chinese
from oracles.reading import mask_spans, normalised, references_masked


class Date(NamedTuple):
    """A day as ISO, or what is known of it: 2020-08, 2020, --08-30, --08."""

    iso: str
    start: int
    end: int


# --- dates ---------------------------------------------------------------------------------------------------------

_CN4 = r"[〇零○一二三四五六七八九]{4}"
_CN_MONTH = r"十[一二]?|[一二三四五六七八九]"
_CN_DAY = r"三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九]"
_DATE_DIGITS = re.compile(r"(?<![0-9])([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})(?![0-9])(?!\2[0-9])")
_DATE_MONTH = re.compile(r"(?<![0-9])(?<![-/.])((?:19|20)[0-9]{2})-(0[1-9]|1[0-2])(?![-/.]?[0-9])")
_DATE_HAN = re.compile(
    rf"(?:(?<![0-9{NUMERAL}])([0-9]{{4}}|{_CN4})[ \t]*年[ \t]*)?"
    rf"(?<![0-9.{NUMERAL}])([0-9]{{1,2}}|{_CN_MONTH}|(?<=年)元)[ \t]*月份?"
    rf"(?:[ \t]*([0-9]{{1,2}}|{_CN_DAY})[ \t]*[日号號])?"
)
_YEAR = re.compile(rf"(?<![0-9.{NUMERAL}])([0-9]{{4}}|{_CN4})[ \t]*年")
_CLOCK = re.compile(
    r"(?:T|[ \t]+)?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![0-9])"
)
_UNTIL = re.compile(r"[ \t]*起?(?:至|到|~|-|–|—{1,2}|to(?![A-Za-z]))[ \t]*(?:[同当當][年月])?", re.IGNORECASE)
_END_DAY = re.compile(rf"([0-9]{{1,2}}|{_CN_DAY})[ \t]*[日号號]")
_END_DIGITS = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})(?![0-9])(?!\2[0-9])")


class _Day(NamedTuple):
    """Year, month, day as far as they stand in the text, with the normalised span."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int

    def iso(self) -> str:
        """ISO 8601, truncated where parts are unknown."""
        year = "-" if self.year is None else f"{self.year:04d}"
        rest = [f"{part:02d}" for part in (self.month, self.day) if part is not None]
        return "-".join([year, *rest])

    def possible(self) -> bool:
        """Whether the calendar has such a day (29 February where the year is unknown)."""
        if self.year is not None and not 1 <= self.year <= 9999:
            return False
        try:
            datetime.date(self.year or 2000, self.month or 1, 1 if self.day is None else self.day)
        except ValueError:
            return False
        return self.month != 0


def _part(s: str | None) -> int | None:
    if s is None:
        return None
    if s[0] in "0123456789":
        return int(s)
    if s == "元":
        return 1
    if len(s) == 4:
        return int("".join(str(DIGITS[c]) for c in s))
    return small_chinese(s)


def days_in(text: str) -> tuple[list[_Day], list[tuple[_Day, _Day]], str]:
    """The dates of a normalised text, its ranges, and the text with their characters masked."""
    found: list[_Day] = []

    def take(candidates: list[_Day], clock: bool) -> None:
        nonlocal text
        taken = []
        for day in candidates:
            behind = _CLOCK.match(text, day.end) if clock and day.day is not None else None
            taken.append(day._replace(end=behind.end()) if behind else day)
        found.extend(taken)
        text = mask_spans(text, [(day.start, day.end) for day in taken])

    shaped = [(_Day(int(m[1]), int(m[3]), int(m[4]), *m.span()), m[2]) for m in _DATE_DIGITS.finditer(text)]
    take([day for day, mark in shaped if day.possible() and not _glued(text, day.start, mark)], clock=True)
    han = [_Day(_part(m[1]), _part(m[2]), _part(m[3]), *m.span()) for m in _DATE_HAN.finditer(text)]
    take([day for day in han if day.possible()], clock=True)
    take([_Day(int(m[1]), int(m[2]), None, *m.span()) for m in _DATE_MONTH.finditer(text)], clock=False)
    impossible = {day.start for day in han if not day.possible()}
    years = [_Day(_part(m[1]), None, None, *m.span()) for m in _YEAR.finditer(text)]
    take([day for day in years if 1900 <= (day.year or 0) <= 2099 and day.start not in impossible], clock=False)
    found.sort(key=lambda day: day.start)
    days, ranges = _complete(text, found)
    return days, ranges, mask_spans(text, [(day.start, day.end) for day in days])


def _glued(text: str, start: int, mark: str) -> bool:
    """Whether a date is the tail of something longer, as in 001-2020-08-30."""
    return start > 1 and text[start - 1] == mark and text[start - 2] in "0123456789"


def _complete(text: str, found: list[_Day]) -> tuple[list[_Day], list[tuple[_Day, _Day]]]:
    """Gives the end of a range the year and month that stand only at its beginning."""
    starts = {day.start: day for day in found}
    days: list[_Day] = []
    ranges: list[tuple[_Day, _Day]] = []
    replaced: dict[int, _Day] = {}
    for day in found:
        first = replaced.get(day.start, day)
        days.append(first)
        until = _UNTIL.match(text, first.end)
        if not until:
            continue
        at = until.end()
        last = starts.get(at)
        if last is not None:
            if last.year is None and last.month is not None and first.year is not None:
                full = last._replace(year=first.year)
                last = replaced[at] = full if full.possible() else last
            ranges.append((first, last))
            continue
        last = _short_end(text, at, first)
        if last is not None:
            days.append(last)
            ranges.append((first, last))
    return days, ranges


def _short_end(text: str, at: int, first: _Day) -> _Day | None:
    """The end of 8月1日至30日 or 2020/8/1~8/30, which is no date by itself."""
    if first.day is None:
        return None
    last = None
    if m := _END_DAY.match(text, at):
        last = _Day(first.year, first.month, _part(m[1]), *m.span())
    elif (m := _END_DIGITS.match(text, at)) and first.year is not None and text[at - 1] != m[2]:
        last = _Day(first.year, int(m[1]), int(m[3]), *m.span())
    return last if last is not None and last.possible() else None


def dates(raw: str) -> list[Date]:
    """Every date in the text, in order."""
    normal = normalised(raw)
    days = days_in(references_masked(normal.text))[0]
    return [Date(day.iso(), *normal.span(day.start, day.end)) for day in days]


def date_ranges(raw: str) -> list[tuple[Date, Date]]:
    """Pairs of dates joined by 至, 到, ~, a dash or `to`."""
    normal = normalised(raw)
    ranges = days_in(references_masked(normal.text))[1]
    return [
        (Date(a.iso(), *normal.span(a.start, a.end)), Date(b.iso(), *normal.span(b.start, b.end))) for a, b in ranges
    ]
