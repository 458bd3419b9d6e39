"""Values in text: numbers with units, dates, booleans, names, phrases and cited pages, each with its raw span.

Chinese, English and mixed writing. The readers are regular expressions compiled once; a text is read once, and only
for what is asked of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rageval_batch.columnar.values.dates import Date, Dates, agrees, find_dates
from rageval_batch.columnar.values.lexicon import Lexicon, lexicon
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
    "fold",
    "holds_parts",
    "lexicon",
    "quote_parts",
    "sentences",
    "squash",
]


class Reader:
    """Reads texts with one set of lists; patterns are compiled here."""

    def __init__(self, lists: Lexicon | None = None) -> None:
        lists = lists or lexicon()
        self.numbers = NumberReader(lists.units)
        self.names = NameReader(lists.titles, lists.surnames)
        self.abstention = Phrases(lists.abstention)

    def read(self, raw: str) -> Reading:
        """A text, read as far as it is asked."""
        return Reading(self, raw)


@dataclass(frozen=True)
class Reading:
    """What a text says; spans point into the raw text."""

    reader: Reader
    raw: str

    @cached_property
    def _normal(self) -> Normal:
        return normal(self.raw)

    @cached_property
    def _dates(self) -> Dates:
        return find_dates(without_references(self._normal.text))

    def _placed(self, date: Date) -> Date:
        start, end = self._normal.span(date.start, date.end)
        return date._replace(start=start, end=end)

    @cached_property
    def dates(self) -> list[Date]:
        """Every date, in order, ends of ranges completed."""
        return [self._placed(date) for date in self._dates.dates]

    @cached_property
    def date_ranges(self) -> list[tuple[Date, Date]]:
        """Pairs of dates joined by 至, to or a dash."""
        return [(self._placed(first), self._placed(last)) for first, last in self._dates.ranges]

    @cached_property
    def numbers(self) -> list[Number]:
        """Every number, in order; digits of dates, references and markers are none."""
        found = self.reader.numbers.find(without_markers(self._dates.rest))
        spans = (self._normal.span(number.start, number.end) for number in found)
        return [number._replace(start=a, end=b) for number, (a, b) in zip(found, spans, strict=True)]

    @cached_property
    def boolean(self) -> Boolean | None:
        """The first boolean."""
        return first_boolean(self._normal)

    @cached_property
    def names(self) -> list[Name]:
        """Names in quotation marks and with titles."""
        return self.reader.names.find(self._normal)

    @cached_property
    def citations(self) -> list[Citation]:
        """The pages it cites."""
        return cited_pages(self._normal)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Spans between sentence ends."""
        return sentences(self.raw)

    @cached_property
    def abstention(self) -> str | None:
        """The first phrase that says that nothing is known."""
        return self.reader.abstention.first(self.raw)
