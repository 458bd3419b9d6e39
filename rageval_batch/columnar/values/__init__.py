"""Values in text: numbers with units, dates, booleans, names, phrases and cited pages, each with its raw span.

Chinese, English, Japanese, Russian and mixed writing. The readers are regular expressions compiled once; a text is read
once, and only for what is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

from rageval_batch.columnar.computed_once import computed_once
from rageval_batch.columnar.values.dates import DATE_ORDERS, Date, Dates, agrees, ambiguous_dates, find_dates
from rageval_batch.columnar.values.figures import DECIMAL_MARKS, ambiguities, point_format
from rageval_batch.columnar.values.lexicon import Lexicon, lexicon
from rageval_batch.columnar.values.measures import currency, is_no_money
from rageval_batch.columnar.values.normal import Normal, fold, normal, sentences, squash
from rageval_batch.columnar.values.numbers import Number, NumberReader
from rageval_batch.columnar.values.qualifiers import Kind
from rageval_batch.columnar.values.references import Citation, cited_pages, without_markers, without_references
from rageval_batch.columnar.values.words import (
    Boolean,
    Name,
    NameReader,
    Phrases,
    first_boolean,
    holds_parts,
    quote_parts,
)

__all__ = [
    "DATE_ORDERS",
    "DECIMAL_MARKS",
    "Ambiguous",
    "Boolean",
    "Citation",
    "Date",
    "Kind",
    "Lexicon",
    "Name",
    "Number",
    "Reader",
    "Reading",
    "agrees",
    "currency",
    "fold",
    "holds_parts",
    "is_no_money",
    "lexicon",
    "numbers_in",
    "quote_parts",
    "sentences",
    "squash",
]


_KEPT, _SHORT = 4_096, 64  # readings, characters of a text
_COMMA, _POINT = "a comma before decimals", "a point before decimals"


class Ambiguous(NamedTuple):
    """The raw span of a value that can be read in two ways, the way it was read, and whether a parameter said so."""

    start: int
    end: int
    read_with: str
    by_parameter: bool


class Reader:
    """Reads texts with one set of lists; patterns are compiled here. Short texts are read once."""

    def __init__(self, lists: Lexicon | None = None, *, decimal_mark: str = "auto", date_order: str = "auto") -> None:
        """`decimal_mark` (of DECIMAL_MARKS) decides on 1.250, `date_order` (of DATE_ORDERS) on 03/05/2024."""
        self._lists = lists = lists or lexicon()
        self.decimal_mark = decimal_mark
        self.date_order = date_order
        self.units = lists.units
        self.numbers = NumberReader(lists.units)
        self.names = NameReader(lists.titles, lists.surnames)
        self.abstention = Phrases(lists.abstention)
        self._short: Callable[[str], Reading] = lru_cache(_KEPT)(partial(Reading, self))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Reader, decimal_mark=self.decimal_mark, date_order=self.date_order), (self._lists,)

    def read(self, raw: str) -> Reading:
        """A text, read as far as it is asked."""
        return self._short(raw) if len(raw) <= _SHORT else Reading(self, raw)


class Reading:
    """What a text says; spans point into the raw text. Whoever has one may share it: nothing of it changes."""

    def __init__(self, reader: Reader, raw: str) -> None:
        self.reader = reader
        self.raw = raw

    def text(self, start: int, end: int) -> str:
        """What stands in a span."""
        return self.raw[start:end]

    @computed_once
    def _normal(self) -> Normal:
        return normal(self.raw)

    @computed_once
    def _dates(self) -> Dates:
        return find_dates(without_references(self._normal.text), self.reader.date_order)

    def _placed(self, date: Date) -> Date:
        start, end = self._normal.span(date.start, date.end)
        return date._replace(start=start, end=end)

    @computed_once
    def dates(self) -> list[Date]:
        """Every date, in order, ends of ranges completed."""
        return [self._placed(date) for date in self._dates.dates]

    @computed_once
    def date_ranges(self) -> list[tuple[Date, Date]]:
        """Pairs of dates joined by 至, to or a dash."""
        return [(self._placed(first), self._placed(last)) for first, last in self._dates.ranges]

    @computed_once
    def numbers(self) -> list[Number]:
        """Every number, in order; digits of dates, references and markers are none."""
        text = point_format(self._dates.rest, self.reader.decimal_mark)
        found = self.reader.numbers.find(without_markers(text))
        if self._normal.in_place:
            return found
        spans = (self._normal.span(number.start, number.end) for number in found)
        return [number._replace(start=a, end=b) for number, (a, b) in zip(found, spans, strict=True)]

    @computed_once
    def ambiguous(self) -> list[Ambiguous]:
        """Values that are read by the language of the text or a parameter, with how they were read."""
        mark, order = self.reader.decimal_mark, self.reader.date_order
        found = [
            Ambiguous(*self._normal.span(one.start, one.end), _COMMA if one.decimal_comma else _POINT, mark != "auto")
            for one in ambiguities(self._dates.rest, mark)
        ]
        text = without_references(self._normal.text)
        by_start = {date.start: date for date in self._dates.dates}
        for start, end in ambiguous_dates(text):
            if (date := by_start.get(start)) is not None:
                day_first = int(text[start : start + 2].rstrip("-/")) == date.day
                why = "the day first" if day_first else "the month first"
                found.append(Ambiguous(*self._normal.span(start, end), why, order != "auto"))
        return sorted(found)

    @computed_once
    def boolean(self) -> Boolean | None:
        """The first boolean."""
        return first_boolean(self._normal)

    @computed_once
    def names(self) -> list[Name]:
        """Names in quotation marks and with titles."""
        return self.reader.names.find(self._normal)

    @computed_once
    def citations(self) -> list[Citation]:
        """The pages it cites."""
        return cited_pages(self._normal)

    @computed_once
    def sentences(self) -> list[tuple[int, int]]:
        """Spans between sentence ends."""
        return sentences(self.raw)

    @computed_once
    def abstention(self) -> str | None:
        """The first phrase that says that nothing is known."""
        return self.reader.abstention.first(self.raw)


@lru_cache(maxsize=1)
def _packaged_reader() -> Reader:
    return Reader()


def numbers_in(text: str) -> list[Decimal]:
    """The values of all numbers of a text, in its order; an empty text has none."""
    return [number.value for number in _packaged_reader().read(text).numbers]
