"""Dates in a text, whole or partial, and ranges of them: figures, Chinese and Japanese, English and Russian months.

03/05/2024 has its month first, in a text whose letters are mostly Cyrillic its day, unless a reader is told otherwise;
where a calendar has only one of the two days, it is that one. With points the day comes first.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rageval_batch.columnar.values.figures import is_cyrillic
from rageval_batch.columnar.values.month_names import (
    MONTH_PATTERNS,
    is_date_with_name,
    may_have_month_name,
    month_number,
)
from rageval_batch.columnar.values.normal import MASK
from rageval_batch.columnar.values.numerals import CHINESE, DIGITS, chinese_int

DATE_ORDERS = ("auto", "dmy", "mdy")
FIRST_YEAR, LAST_YEAR = 1900, 2099  # of a year that stands alone; other figures before 年 are numbers of years

_CN_YEAR = "[〇零○一二三四五六七八九]{4}"
_CN_MONTH = "十[一二]?|[一二三四五六七八九]"
_CN_DAY = "三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九]"
_B = r"[ \t]*"

_PERHAPS_SEPARATED = re.compile(r"[0-9]{4}[-/.][0-9]|[0-9][-/.][12][0-9]{3}")
_SEPARATED = re.compile(
    r"(?<![0-9])(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})"
    r"(?![0-9])(?!(?P=mark)[0-9])"
)
_HAN = re.compile(
    rf"(?:(?<![0-9{CHINESE}])(?P<year>[0-9]{{4}}|{_CN_YEAR}){_B}年{_B})?"
    rf"(?<![0-9.{CHINESE}])(?P<month>[0-9]{{1,2}}|{_CN_MONTH}|(?<=年)元){_B}月份?"
    rf"(?:{_B}(?P<day>[0-9]{{1,2}}|{_CN_DAY}){_B}[日号號])?"
)
_YEAR_MONTH = re.compile(r"(?<![0-9])(?<![-/.])(?P<year>(?:19|20)[0-9]{2})-(?P<month>0[1-9]|1[0-2])(?![-/.]?[0-9])")
_YEAR = re.compile(rf"(?<![0-9.{CHINESE}])(?P<year>[0-9]{{4}}|{_CN_YEAR}){_B}年")
_YEAR_LAST = re.compile(
    r"(?<![0-9])(?P<first>[0-9]{1,2})(?P<mark>[-/.])(?P<second>[0-9]{1,2})(?P=mark)"
    r"(?P<year>[12][0-9]{3})(?![0-9])(?!(?P=mark)[0-9])"
)
# The year before the first of an era.
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民国": 1911, "民國": 1911}
_ERA_NAME = re.compile("|".join(_ERAS))
_ERA = re.compile(
    rf"(?P<era>{'|'.join(_ERAS)}){_B}(?P<year>[0-9]{{1,3}}|元|[一二三四五六七八九十百]{{1,5}}){_B}年"
    rf"(?:{_B}(?P<month>[0-9]{{1,2}}|{_CN_MONTH}){_B}月(?:{_B}(?P<day>[0-9]{{1,2}}|{_CN_DAY}){_B}[日号號])?)?"
)
_CLOCK = re.compile(
    r"(?:T|[ \t]+)?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?![0-9])"
)
_UNTIL = re.compile(
    rf"{_B}起?(?:至|到|~|-|–|—{{1,2}}|から|(?:to|through|until)(?![A-Za-z])|(?:по|до)(?![А-Яа-яЁё])){_B}"
    r"(?:[同当當][年月])?",
    re.IGNORECASE,
)
_END_DAY = re.compile(rf"(?P<day>[0-9]{{1,2}}|{_CN_DAY}){_B}[日号號]")
_END_MONTH_DAY = re.compile(r"(?P<month>[0-9]{1,2})(?P<mark>[-/.])(?P<day>[0-9]{1,2})(?![0-9])(?!(?P=mark)[0-9])")


PERHAPS_DATE = "[-/.․﹒﹣－．／年月A-Za-zА-Яа-я]"  # of texts with letters and Han in NFKC: without these no date


class Date(NamedTuple):
    """What a text says of a day, with its span; year, month and day as far as they are there."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int

    @property
    def iso(self) -> str:
        """ISO 8601, cut where parts are unknown: 2020-08-30, 2020-08, 2020, --08-30, --08."""
        parts = [f"{part:02d}" for part in (self.month, self.day) if part is not None]
        return "-".join(["-" if self.year is None else f"{self.year:04d}", *parts])

    def exists(self) -> bool:
        """Whether a calendar has it; 29 February passes where the year is unknown."""
        if self.year == 0 or self.month == 0:
            return False
        try:
            datetime.date(self.year or 2000, self.month or 1, 1 if self.day is None else self.day)
        except ValueError:
            return False
        return True


class Dates(NamedTuple):
    """The dates of a normal text, the pairs that are ranges, and the text with them masked."""

    dates: list[Date]
    ranges: list[tuple[Date, Date]]
    rest: str


def _read_number(text: str | None) -> int | None:
    if text is None:
        return None
    if text[0] in "0123456789":
        return int(text)
    if text == "元":
        return 1
    return int("".join(str(DIGITS[c]) for c in text)) if len(text) == 4 else chinese_int(text)


def _read_date(m: re.Match[str]) -> Date:
    parts = m.groupdict()
    return Date(
        _read_number(parts.get("year")), _read_number(parts.get("month")), _read_number(parts.get("day")), *m.span()
    )


def _is_glued(m: re.Match[str]) -> bool:
    """001-2020-08-30 is a number of something, no date."""
    before = m.string[max(0, m.start() - 2) : m.start()]
    return len(before) == 2 and before[1] == m["mark"] and before[0] in "0123456789"


def _read_era(m: re.Match[str]) -> Date | None:
    """A year of an era as one of our own; None for a year that is none."""
    date = _read_date(m)
    return date._replace(year=_ERAS[m["era"]] + date.year) if date.year else None


def _named_reader() -> Callable[[re.Match[str]], Date | None]:
    """Reads dates with a month's name; the month of a day that no calendar has (30 February 2024) is none either."""
    impossible: set[int] = set()  # where those names stand

    def read(m: re.Match[str]) -> Date | None:
        parts = m.groupdict()
        day, year = _read_number(parts.get("day")), _read_number(parts.get("year"))
        if m.start("month") in impossible or not is_date_with_name(m["month"], day is not None, year is not None):
            return None
        date = Date(year, month_number(m["month"]), day, *m.span())
        if date.exists():
            return date
        impossible.add(m.start("month"))
        return None

    return read


def _year_last_reader(text: str, order: str) -> Callable[[re.Match[str]], Date | None]:
    """Reads 05.03.2024 and 03/05/2024."""
    slashed = order if order != "auto" else "dmy" if is_cyrillic(text) else "mdy"

    def read(m: re.Match[str]) -> Date | None:
        if _is_glued(m):
            return None
        first, second, year = int(m["first"]), int(m["second"]), int(m["year"])
        day_first = Date(year, second, first, *m.span())
        month_first = Date(year, first, second, *m.span())
        inverted = m["mark"] != "." and slashed == "mdy"
        either = (month_first, day_first) if inverted else (day_first, month_first)
        return next((date for date in either if date.exists()), None)

    return read


def _mask(text: str, dates: list[Date]) -> str:
    if not dates:
        return text
    pieces, at = [], 0
    for date in sorted(dates, key=lambda date: date.start):
        start = max(at, date.start)
        pieces += [text[at:start], MASK * (date.end - start)]
        at = max(at, date.end)
    return "".join([*pieces, text[at:]])


def _exists(m: re.Match[str], date: Date) -> bool:
    return date.exists()


def _is_separated(m: re.Match[str], date: Date) -> bool:
    return date.exists() and not _is_glued(m)


def find_dates(text: str, order: str = "auto") -> Dates:
    """The dates of a normal text without references."""
    found: list[Date] = []
    refused: set[int] = set()

    def take(
        pattern: re.Pattern[str],
        fits: Callable[[re.Match[str], Date], bool] = _exists,
        read: Callable[[re.Match[str]], Date | None] = _read_date,
    ) -> None:
        nonlocal text
        taken = []
        for m in pattern.finditer(text):
            date = read(m)
            if date is None or not fits(m, date):
                refused.add(m.start())
                continue
            clock = _CLOCK.match(text, date.end) if date.day is not None else None
            taken.append(date._replace(end=clock.end()) if clock else date)
        found.extend(taken)
        text = _mask(text, taken)

    if _PERHAPS_SEPARATED.search(text):
        take(_SEPARATED, _is_separated)
        take(_YEAR_LAST, read=_year_last_reader(text, order))
    if may_have_month_name(text):
        read_named = _named_reader()
        for pattern in MONTH_PATTERNS:
            take(pattern, read=read_named)
    if "年" in text and _ERA_NAME.search(text):
        take(_ERA, read=_read_era)
    refused.clear()
    if "月" in text:
        take(_HAN)
    if "-" in text:
        take(_YEAR_MONTH, lambda m, date: True)
    if "年" in text:  # the year of 2021年2月30日 is no date by itself
        take(_YEAR, lambda m, date: FIRST_YEAR <= (date.year or 0) <= LAST_YEAR and date.start not in refused)
    if not found:
        return Dates([], [], text)
    dates, ranges = _join_ranges(text, sorted(found, key=lambda date: date.start))
    return Dates(dates, ranges, _mask(text, [date for date in dates if date not in found]))


def ambiguous_dates(text: str) -> list[tuple[int, int]]:
    """Spans of days such as 03/05/2024, of which the order of day and month must be known."""
    out = []
    for m in _YEAR_LAST.finditer(text):
        first, second = int(m["first"]), int(m["second"])
        if m["mark"] != "." and first != second and 1 <= first <= 12 and 1 <= second <= 12:
            out.append(m.span())
    return out


def _join_ranges(text: str, found: list[Date]) -> tuple[list[Date], list[tuple[Date, Date]]]:
    """Pairs joined by 至, to or a dash; the end has from its beginning what it does not say itself."""
    dates: list[Date] = []
    ranges: list[tuple[Date, Date]] = []
    at_start = {date.start: date for date in found}
    for origin in found:
        first = at_start[origin.start]
        dates.append(first)
        if (until := _UNTIL.match(text, first.end)) is None:
            continue
        last = at_start.get(until.end())
        if last is None:
            last = _short_end(text, until.end(), first)
            if last is None:
                continue
            dates.append(last)
        elif last.year is None and first.year is not None:
            full = last._replace(year=first.year)
            last = at_start[last.start] = full if full.exists() else last
        ranges.append((first, last))
    return dates, ranges


def _short_end(text: str, at: int, first: Date) -> Date | None:
    """30日 of 8月1日至30日, 8/30 of 2020/8/1~8/30."""
    return next((date for date in _short_ends(text, at, first) if date.exists()), None)


def _short_ends(text: str, at: int, first: Date) -> Iterator[Date]:
    if first.day is None:
        return
    if m := _END_DAY.match(text, at):
        yield Date(first.year, first.month, _read_number(m["day"]), *m.span())
    elif first.year is not None and (m := _END_MONTH_DAY.match(text, at)) and text[at - 1] != m["mark"]:
        yield Date(first.year, int(m["month"]), int(m["day"]), *m.span())


def agrees(date: str, known: str) -> bool:
    """Whether a date says nothing that the known one does not: 2020-08 and --08-30 agree with 2020-08-30."""
    if known == date or known.startswith(f"{date}-"):
        return True
    return date.startswith("-") and f"{known}-"[4:].startswith(f"{date[1:]}-")
