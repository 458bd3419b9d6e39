"""Whole columns of texts read: compiled code finds the stretches that hold numbers, dates and cited pages, and each
distinct stretch is read once, however many texts have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import pyarrow.compute as pc

from rageval_batch.columnar.computed_once import computed_once
from rageval_batch.columnar.strings import Strings
from rageval_batch.columnar.values import Citation, Date, Number, Reader, Reading
from rageval_batch.columnar.values.dates import PERHAPS_DATE
from rageval_batch.columnar.values.references import PERHAPS_CITED
from rageval_batch.columnar.values.window_classes import classes_for_reading
from rageval_batch.columnar.values.windows import WHOLE, find_windows, padded

_KEPT = 32_768  # readings of stretches


class ColumnReader:
    """Reads columns of texts with one reader, exactly as that reads each text."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._classes = classes_for_reading(reader.units)
        self._stretch: Callable[[str, int], _Stretch] = lru_cache(_KEPT)(self._read_stretch)

    def __reduce__(self) -> tuple[type[ColumnReader], tuple[Reader]]:
        return ColumnReader, (self.reader,)

    def _read_stretch(self, text: str, flags: int) -> _Stretch:
        before, behind = padded(text, flags)
        return _Stretch(self.reader.read(f"{before}{text}{behind}"), len(before))

    def read(self, column: Strings) -> list[Reading]:
        """The readings of texts, in their order."""
        windows = find_windows(column, self._classes)
        texts: list[str] = column.to_arrow().to_pylist()
        found = windows.texts.to_arrow()
        stretches: list[str] = found.to_pylist()
        flags, first, bounds = windows.flags.tolist(), windows.first.tolist(), windows.bounds.tolist()
        dated, cites = (pc.match_substring_regex(found, one).to_pylist() for one in (PERHAPS_DATE, PERHAPS_CITED))
        of_places = zip(repeat(self._stretch), stretches, flags, first, dated, cites)
        places = list(map(_Place._make, of_places))
        return [
            Reading(self.reader, text)
            if start < end and flags[start] & WHOLE
            else _ReadByStretches(
                self.reader,
                text,
                tuple(places[start:end]),
            )
            for text, start, end in zip(texts, bounds, bounds[1:], strict=False)
        ]


@dataclass(frozen=True)
class _Stretch:
    """What a stretch says; spans count from its first character."""

    reading: Reading
    before: int  # characters of the reading that are not of the stretch

    @computed_once
    def numbers(self) -> list[Number]:
        return [_moved_number(number, -self.before) for number in self.reading.numbers]

    @computed_once
    def dates(self) -> list[Date]:
        return [_moved_date(date, -self.before) for date in self.reading.dates]

    @computed_once
    def date_ranges(self) -> list[tuple[Date, Date]]:
        by = -self.before
        return [(_moved_date(first, by), _moved_date(last, by)) for first, last in self.reading.date_ranges]

    @computed_once
    def citations(self) -> list[Citation]:
        by = -self.before
        return [Citation(page, start + by, end + by) for page, start, end in self.reading.citations]


class _Place(NamedTuple):
    """A stretch in a text: how it is read, its first character, and whether it can have dates and cited pages."""

    read: Callable[[str, int], _Stretch]
    text: str
    flags: int
    first: int
    dated: bool
    cites: bool


def _moved_number(number: Number, by: int) -> Number:
    value, unit, start, end, article, kind, high = number
    return Number(value, unit, start + by, end=end + by, article=article, kind=kind, high=high)


def _moved_date(date: Date, by: int) -> Date:
    year, month, day, start, end = date
    return Date(year, month, day, start=start + by, end=end + by)


@dataclass(frozen=True)
class _ReadByStretches(Reading):
    """What a text says, by the stretches that hold its figures; letters, Han and Kana of such a text are in NFKC."""

    places: tuple[_Place, ...]

    @computed_once
    def numbers(self) -> list[Number]:
        return [
            _moved_number(number, first)
            for read, text, flags, first, _, _ in self.places
            for number in read(text, flags).numbers
        ]

    @computed_once
    def dates(self) -> list[Date]:
        return [
            _moved_date(date, first)
            for read, text, flags, first, dated, _ in self.places
            if dated
            for date in read(text, flags).dates
        ]

    @computed_once
    def date_ranges(self) -> list[tuple[Date, Date]]:
        return [
            (_moved_date(low, first), _moved_date(high, first))
            for read, text, flags, first, dated, _ in self.places
            if dated
            for low, high in read(text, flags).date_ranges
        ]

    @computed_once
    def citations(self) -> list[Citation]:
        return [
            Citation(page, start + first, end + first)
            for read, text, flags, first, _, cites in self.places
            if cites
            for page, start, end in read(text, flags).citations
        ]
