"""Dates in text, whole and partial, and their ranges."""

import datetime
import re
from typing import NamedTuple

from oracles.numerals import DIGITS, NUMERAL, small_chinese
from oracles.reading import mask_spans, mostly_cyrillic, normalised, references_masked


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
_UNTIL = re.compile(
    r"[ \t]*起?(?:至|到|~|-|–|—{1,2}|から|(?:to|through|until)(?![A-Za-z])|(?:по|до)(?![А-Яа-яЁё]))[ \t]*"
    r"(?:[同当當][年月])?",
    re.IGNORECASE,
)
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


# --- dates of other writings -----------------------------------------------------------------------------------------

_MONTH_NAMES = [
    *["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"],
    *["december", "январь января январе", "февраль февраля феврале", "март марта марте", "апрель апреля апреле"],
    *["май мая мае", "июнь июня июне", "июль июля июле", "август августа августе", "сентябрь сентября сентябре"],
    *["октябрь октября октябре", "ноябрь ноября ноябре", "декабрь декабря декабре"],
]
_SHORT_NAMES = ["jan", "feb", "mar", "apr", "", "jun", "jul", "aug", "sept sep", "oct", "nov", "dec", "янв", "февр фев"]
_SHORT_NAMES += ["мар", "апр", "", "", "", "авг", "сент сен", "окт", "нояб ноя", "дек"]
_FULL = {name: k % 12 + 1 for k, names in enumerate(_MONTH_NAMES) for name in names.split()}
_SHORT = {name: k % 12 + 1 for k, names in enumerate(_SHORT_NAMES) for name in names.split()}
_WORD = re.compile("[A-Za-zА-Яа-яЁё]+")
_YEAR_WORD = re.compile(r"[ \t]*(?:годах|года|году|год|г\.?)(?![А-Яа-яЁё])", re.IGNORECASE)
_BEFORE_YEAR = re.compile(r"[ \t]*,[ \t]*|[ \t]+")


class _Name(NamedTuple):
    """The name of a month in a text."""

    month: int
    full: bool
    latin: bool
    capital: bool
    start: int
    end: int  # behind the point of an abbreviation


def _month_names(text: str) -> list[_Name]:
    found = []
    for m in _WORD.finditer(text):
        word = m[0].lower()
        month = _FULL.get(word, _SHORT.get(word))
        if month is not None and len(word) == len(m[0]):
            full = word in _FULL
            end = m.end() + (not full and text[m.end() : m.end() + 1] == ".")
            found.append(_Name(month, full, word[0] < "\x80", m[0][0].isupper(), m.start(), end))
    return found


def _year_at(text: str, i: int, near: bool) -> tuple[int, int] | None:
    """The year at i and where it ends with the word for year behind it."""
    m = re.compile(r"[12][0-9]{3}(?![0-9])(?![.,:/-][0-9])").match(text, i)
    if m is None or (near and m[0][:2] not in ("19", "20")):
        return None
    word = _YEAR_WORD.match(text, m.end())
    return int(m[0]), word.end() if word else m.end()


def _named(text: str, shape: str, impossible: set[int]) -> list[_Day]:
    """Dates with a month's name: the day before it, the day behind it, or no day; all of one shape."""
    found: list[_Day] = []
    for name in _month_names(text):
        if found and name.start < found[-1].end:
            continue
        day = _of_shape(text, name, shape)
        if day is None or name.start in impossible:
            continue
        whole = day.day is not None and day.year is not None
        if not whole and name.latin and not name.capital:
            continue
        if not whole and day.year is None and not name.full:
            continue
        if not day.possible():
            impossible.add(name.start)
            continue
        found.append(day)
    return found


def _of_shape(text: str, name: _Name, shape: str) -> _Day | None:
    if shape == "day first":
        lead = re.search(
            r"(?<![0-9A-Za-zА-Яа-яЁё_])(?<![0-9][-.,:/])([0-9]{1,2})(?:st|nd|rd|th)?(?:(?:[ \t]+of)?[ \t]+|-)\Z",
            text[: name.start],
            re.IGNORECASE,
        )
        if lead is None:
            return None
        for gap in (_BEFORE_YEAR.match(text, name.end), re.compile("-").match(text, name.end)):
            year = _year_at(text, gap.end(), False) if gap else None
            if year:
                return _Day(year[0], name.month, int(lead[1]), lead.start(), year[1])
        return _Day(None, name.month, int(lead[1]), lead.start(), name.end)
    if shape == "day last":
        day = re.compile(r"[ \t]*([0-9]{1,2})(?:st|nd|rd|th)?(?![0-9A-Za-z])", re.IGNORECASE).match(text, name.end)
        if not name.latin or day is None:
            return None
        gap = _BEFORE_YEAR.match(text, day.end())
        year = _year_at(text, gap.end(), False) if gap else None
        if year:
            return _Day(year[0], name.month, int(day[1]), name.start, year[1])
        if re.match("[.,:/-][0-9]", text[day.end() : day.end() + 2]):
            return None
        return _Day(None, name.month, int(day[1]), name.start, day.end())
    gap = re.compile(r"[ \t]+of[ \t]+", re.IGNORECASE).match(text, name.end) or _BEFORE_YEAR.match(text, name.end)
    year = _year_at(text, gap.end(), True) if gap else None
    return _Day(year[0], name.month, None, name.start, year[1]) if year else None


_YEAR_LAST = re.compile(r"(?<![0-9])([0-9]{1,2})([-/.])([0-9]{1,2})\2([12][0-9]{3})(?![0-9])(?!\2[0-9])")


def _year_last(text: str, order: str) -> list[_Day]:
    """05.03.2024 has the day first; 03/05/2024 as the order or the language says; else the only possible day."""
    found = []
    month_first = order == "mdy" or (order == "auto" and not mostly_cyrillic(text))
    for m in _YEAR_LAST.finditer(text):
        a, b, year = int(m[1]), int(m[3]), int(m[4])
        ways = [_Day(year, b, a, *m.span()), _Day(year, a, b, *m.span())]
        if m[2] != "." and month_first:
            ways.reverse()
        ways = [day for day in ways if day.possible()]
        if ways and not _glued(text, m.start(), m[2]):
            found.append(ways[0])
    return found


_FIRST_YEARS = {"令和": 2019, "平成": 1989, "昭和": 1926, "大正": 1912, "明治": 1868, "民国": 1912, "民國": 1912}
_ERA_YEAR = re.compile(r"[ \t]*([0-9]{1,3}|元|[一二三四五六七八九十百]{1,5})[ \t]*年")
_ERA_MONTH = re.compile(rf"[ \t]*([0-9]{{1,2}}|{_CN_MONTH})[ \t]*月")
_ERA_DAY = re.compile(rf"[ \t]*([0-9]{{1,2}}|{_CN_DAY})[ \t]*[日号號]")


def _eras(text: str) -> list[_Day]:
    """令和6年3月5日 and its parts."""
    found: list[_Day] = []
    i = 0
    while i < len(text):
        first = _FIRST_YEARS.get(text[i : i + 2])
        year = _ERA_YEAR.match(text, i + 2) if first else None
        if first is None or year is None:
            i += 1
            continue
        parts, end = [_part(year[1])], year.end()
        for pattern in (_ERA_MONTH, _ERA_DAY):
            m = pattern.match(text, end)
            if m is None:
                break
            parts.append(_part(m[1]))
            end = m.end()
        count, month, day = [*parts, None, None][:3]
        date = _Day(first + (count or 0) - 1, month, day, i, end)
        if count and date.possible():
            found.append(date)
        i = end
    return found


def days_in(text: str, order: str = "auto") -> tuple[list[_Day], list[tuple[_Day, _Day]], str]:
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
    take(_year_last(text, order), clock=True)
    impossible_names: set[int] = set()
    for shape in ("day first", "day last", "no day"):
        take(_named(text, shape, impossible_names), clock=True)
    take(_eras(text), clock=True)
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


def dates(raw: str, date_order: str = "auto") -> list[Date]:
    """Every date in the text, in order."""
    normal = normalised(raw)
    days = days_in(references_masked(normal.text), date_order)[0]
    return [Date(day.iso(), *normal.span(day.start, day.end)) for day in days]


def date_ranges(raw: str, date_order: str = "auto") -> list[tuple[Date, Date]]:
    """Pairs of dates joined by 至, 到, ~, a dash or `to`."""
    normal = normalised(raw)
    ranges = days_in(references_masked(normal.text), date_order)[1]
    return [
        (Date(a.iso(), *normal.span(a.start, a.end)), Date(b.iso(), *normal.span(b.start, b.end))) for a, b in ranges
    ]
