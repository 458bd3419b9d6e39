"""Whole columns of texts read: compiled code finds the stretches that hold numbers, dates and cited pages, and each
distinct stretch is read once, however many texts have it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from functools import lru_cache
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar.computed_once import computed_once
from rageval_batch.columnar.strings import Flags, Offsets, Strings, bounds_of, spread
from rageval_batch.columnar.values import Citation, Date, Name, Number, Reader, Reading
from rageval_batch.columnar.values.dates import PERHAPS_DATE
from rageval_batch.columnar.values.references import PERHAPS_CITED
from rageval_batch.columnar.values.window_classes import classes_for_reading
from rageval_batch.columnar.values.windows import WHOLE, find_windows, padded
from rageval_batch.dataclass import dataclass

Places = npt.NDArray[np.int64]

_KEPT = 32_768  # readings of stretches
_DATED, _CITES = re.compile(PERHAPS_DATE), re.compile(PERHAPS_CITED)
_FLAGS = 16  # bits of what a stretch is


class ColumnReader:
    """Reads columns of texts with one reader, exactly as that reads each text."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._classes = classes_for_reading(reader.units)
        self._stretch: Callable[[str, int], Stretch] = lru_cache(_KEPT)(self._read_stretch)

    def __reduce__(self) -> tuple[type[ColumnReader], tuple[Reader]]:
        return ColumnReader, (self.reader,)

    def _read_stretch(self, text: str, flags: int) -> Stretch:
        """A stretch as it is read where it stands; a whole text has nothing around it."""
        if flags & WHOLE:
            return Stretch(self.reader.read(text), 0, dated=True, cites=True)
        before, behind = padded(text, flags)
        return Stretch(
            self.reader.read(f"{before}{text}{behind}"),
            len(before),
            dated=_DATED.search(text) is not None,
            cites=_CITES.search(text) is not None,
        )

    def read(self, column: Strings) -> ReadTexts:
        """The readings of texts, in their order."""
        windows = find_windows(column, self._classes)
        coded = windows.texts.to_arrow().dictionary_encode()
        keys = pa.array(coded.indices.to_numpy().astype(np.int64) << _FLAGS | windows.flags).dictionary_encode()
        distinct = keys.dictionary.to_numpy()
        written = coded.dictionary.take(pa.array(distinct >> _FLAGS)).to_pylist()
        flags = (distinct & ((1 << _FLAGS) - 1)).tolist()
        # Whole texts are kept by the reader, where they are short: each may be as long as an answer.
        stretches = [
            self._read_stretch(*one) if one[1] & WHOLE else self._stretch(*one)
            for one in zip(written, flags, strict=True)
        ]
        whole = np.zeros(len(column), np.bool_)
        whole[np.searchsorted(windows.bounds, np.flatnonzero(windows.flags & WHOLE), side="right") - 1] = True
        return ReadTexts(
            self.reader,
            column,
            stretches,
            which=keys.indices.to_numpy(),
            first=windows.first,
            bounds=windows.bounds,
            whole=whole,
        )


@dataclass(frozen=True)
class Stretch:
    """What a stretch says; spans count from its first character."""

    reading: Reading
    before: int  # characters of the reading that are not of the stretch
    _: KW_ONLY
    dated: bool  # whether it can have dates
    cites: bool  # and cited pages

    def text(self, start: int, end: int) -> str:
        """What stands in a span."""
        return self.reading.raw[start + self.before : end + self.before]

    @computed_once
    def numbers(self) -> Sequence[Number]:
        """As `Reading` has them."""
        return [_moved_number(number, -self.before) for number in self.reading.numbers]

    @computed_once
    def dates(self) -> Sequence[Date]:
        """As `Reading` has them."""
        return [_moved_date(date, -self.before) for date in self.reading.dates] if self.dated else ()

    @computed_once
    def date_ranges(self) -> Sequence[tuple[Date, Date]]:
        """As `Reading` has them."""
        by = -self.before
        ranges = self.reading.date_ranges if self.dated else ()
        return [(_moved_date(first, by), _moved_date(last, by)) for first, last in ranges]

    @computed_once
    def citations(self) -> Sequence[Citation]:
        """As `Reading` has them."""
        by = -self.before
        found = self.reading.citations if self.cites else ()
        return [Citation(page, start + by, end + by) for page, start, end in found]


class Found(NamedTuple):
    """Values of texts, in the order of the texts and inside each in its order: value `places[k]` of a list of distinct
    ones stands in text `texts[k]`, in a stretch whose first character is `first[k]`."""

    places: Places
    texts: Places
    first: Places


class ReadTexts(Sequence[Reading]):
    """Readings of a column of texts, each made when it is asked for; values of many texts as columns."""

    def __init__(
        self,
        reader: Reader,
        texts: Strings,
        stretches: list[Stretch],
        *,
        which: Places,
        first: Offsets,
        bounds: Offsets,
        whole: Flags,
    ) -> None:
        """Text t has the stretches `which[bounds[t]:bounds[t + 1]]`, which begin at its characters `first`; `whole`:
        which texts are one stretch and may have characters that are not in NFKC."""
        self.reader = reader
        self.texts = texts
        self._stretches = stretches
        self._which = which
        self._first = first
        self._bounds = bounds
        self.whole = whole

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, index: int) -> Reading: ...

    @overload
    def __getitem__(self, index: slice) -> list[Reading]: ...

    def __getitem__(self, index: int | slice) -> Reading | list[Reading]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        texts, bounds, which, first = self._single
        start, end = bounds[index], bounds[index + 1]
        if self.whole[index]:
            return self._stretches[which[start]].reading
        stretches = [(self._stretches[which[k]], first[k]) for k in range(start, end)]
        return _ReadByStretches(self.reader, texts[index], stretches)

    @computed_once
    def _single(self) -> tuple[list[str], list[int], list[int], list[int]]:
        """Texts, bounds, stretches and first characters, to make single readings of."""
        return self.texts.to_arrow().to_pylist(), self._bounds.tolist(), self._which.tolist(), self._first.tolist()

    def found(self, texts: Places, values: Callable[[Stretch], Sequence[Any]]) -> tuple[list[Any], Found]:
        """(distinct values, where they are) of some texts; `values` gives those of a stretch."""
        window, text = spread(self._bounds, texts)
        which = self._which[window]
        used = np.zeros(len(self._stretches), np.bool_)
        used[which] = True
        lists = [values(self._stretches[k]) for k in np.flatnonzero(used).tolist()]
        bounds = bounds_of([len(one) for one in lists])
        place, asker = spread(bounds, (np.cumsum(used) - 1)[which])
        first = self._first[window]
        return [one for some in lists for one in some], Found(place, text[asker], first[asker])


def _moved_number(number: Number, by: int) -> Number:
    value, unit, start, end, article, kind, high = number
    return Number(value, unit, start + by, end=end + by, article=article, kind=kind, high=high)


def _moved_date(date: Date, by: int) -> Date:
    year, month, day, start, end = date
    return Date(year, month, day, start=start + by, end=end + by)


class _ReadByStretches(Reading):
    """What a text says, by the stretches that hold its figures, each with its first character; letters, Han and Kana
    of such a text are in NFKC."""

    def __init__(self, reader: Reader, raw: str, stretches: list[tuple[Stretch, int]]) -> None:
        super().__init__(reader, raw)
        self.stretches = stretches

    @computed_once
    def names(self) -> list[Name]:
        found = self.reader.names.find_in_raw(self.raw)
        return self.reader.names.find(self._normal) if found is None else found

    @computed_once
    def numbers(self) -> list[Number]:
        return [_moved_number(number, first) for stretch, first in self.stretches for number in stretch.numbers]

    @computed_once
    def dates(self) -> list[Date]:
        return [_moved_date(date, first) for stretch, first in self.stretches for date in stretch.dates]

    @computed_once
    def date_ranges(self) -> list[tuple[Date, Date]]:
        return [
            (_moved_date(low, first), _moved_date(high, first))
            for stretch, first in self.stretches
            for low, high in stretch.date_ranges
        ]

    @computed_once
    def citations(self) -> list[Citation]:
        return [
            Citation(page, start + first, end + first)
            for stretch, first in self.stretches
            for page, start, end in stretch.citations
        ]
