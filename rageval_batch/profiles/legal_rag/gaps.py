"""Answers to questions that the record leaves open: abstention, quotes, and what the answer makes up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import kernels
from rageval_batch.columnar.strings import (
    Flags,
    Ints,
    Offsets,
    Strings,
    bounds_by_owner,
    bounds_of,
    from_arrow,
    from_list,
    spread,
)
from rageval_batch.columnar.values import Reader, Reading, fold, holds_parts
from rageval_batch.columnar.values.columns import ReadTexts, Stretch
from rageval_batch.columnar.values.numerals import EXACT
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.legal_rag.fields import as_boolean, as_text
from rageval_batch.profiles.legal_rag.outputs import FLAG, Coded, Codes, Outputs
from rageval_batch.profiles.legal_rag.questions import Known, Question, breakdown

_PLAIN_FIELDS = ("amount", "amount_total", "count", "date", "text", "text_answer")


class Specific(NamedTuple):
    """A number, date or name of an answer: what is counted, how it is spelled there, and what knowing it means."""

    kind: str
    label: str  # equal labels of a kind are counted once
    shown: str
    readings: tuple[Any, ...] = ()

    def known(self, known: Known) -> bool:
        """Whether the question says it itself."""
        if self.kind == "number":
            return self.readings[0] in known.numbers
        if self.kind == "date":
            return known.has_date(self.label)
        return any(known.has_name(reading) for reading in self.readings)


class Placed(NamedTuple):
    """A specific and its span in the text that it was read in; -1 where it is no part of a text."""

    specific: Specific
    start: int = -1
    end: int = -1


def _numbers(found: Reading | Stretch) -> list[Placed]:
    """The numbers that are specifics; the 一 of 一个 is none."""
    return [
        Placed(Specific("number", _plain(n.value), found.text(n.start, n.end), readings=(n.value,)), n.start, n.end)
        for n in found.numbers
        if not n.article
    ]


def _plain(value: Decimal) -> str:
    return f"{EXACT.normalize(value):f}"


def _dates(found: Reading | Stretch) -> list[Placed]:
    return [
        Placed(Specific("date", day.iso, found.text(day.start, day.end)), day.start, day.end) for day in found.dates
    ]


def _names(reading: Reading) -> list[Placed]:
    """Names as specifics. A quotation that holds a value or says that nothing is known is no name."""
    quoted = [name for name in reading.names if name.quoted]
    spans = [(number.start, number.end) for number in reading.numbers] if quoted else []
    spans += [(date.start, date.end) for date in reading.dates] if quoted else []
    found = []
    for name in reading.names:
        if name.quoted:
            holds_value = any(name.start < end and start < name.end for start, end in spans)
            if holds_value or reading.reader.read(name.text).abstention:
                continue
        elif any(q.start <= name.start and name.end <= q.end for q in quoted):
            continue
        found.append(Placed(_named(name.text, name.readings), name.start, name.end))
    return found


@lru_cache(maxsize=4_096)
def _named(text: str, readings: tuple[str, ...]) -> Specific:
    return Specific("name", fold(text), text, readings=tuple(map(fold, readings)))


def specifics(reading: Reading) -> list[Placed]:
    """The specifics of one text."""
    return [*_numbers(reading), *_dates(reading), *_names(reading)]


def entity(reader: Reader, value: Any) -> list[Placed]:
    """The name that a field `entity` claims."""
    text = as_text(value)
    name = fold(text)
    return [Placed(Specific("name", name, text, readings=(name,)))] if name and not reader.read(name).abstention else []


@dataclass(frozen=True)
class Stated:
    """The specifics of a batch, distinct in what they say and how it is spelled, and which row states which where."""

    table: list[Specific]
    row: Codes
    specific: Codes
    _: KW_ONLY
    start: Codes  # of its span in the text that it was read in, -1 for none
    end: Codes


class _Statements:
    """Specifics under construction: those of some rows at a time."""

    def __init__(self) -> None:
        # By spelling too: a row shows its own, whatever stands in others.
        self._codes: dict[Specific, int] = {}
        self._parts: list[tuple[Codes, ...]] = []

    def add(self, found: Iterable[Placed], places: Codes, rows: Codes, *, first: Codes | int = 0) -> None:
        """Row `rows[k]` states `found[places[k]]`, in a part of its text that begins at `first[k]`."""
        codes = self._codes
        table = np.array(
            [(codes.setdefault(specific, len(codes)), start, end) for specific, start, end in found], np.int64
        ).reshape(-1, 3)[places]
        moved = np.where(table[:, 1:] < 0, -1, table[:, 1:] + np.reshape(first, (-1, 1)))
        self._parts.append((rows, table[:, 0], moved[:, 0], moved[:, 1]))

    def stated(self) -> Stated:
        """All that was added, in its order."""
        row, specific, start, end = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        return Stated(list(self._codes), row, specific, start=start, end=end)


def stated(outputs: Outputs, rows: npt.NDArray[np.int64], reader: Reader) -> Stated:
    """What the answers of rows assert: their texts and typed fields, not their citations and evidence."""
    statements = _Statements()
    _add_answers(statements, outputs, rows)

    def add(column: Coded, read: Callable[[Any], list[Placed]]) -> None:
        """Every distinct value of a column is read once."""
        code = column.code[rows]
        there = np.flatnonzero(code >= 0)
        distinct, inverse = np.unique(code[there], return_inverse=True)
        lists = [read(column.values[k]) for k in distinct.tolist()]
        which, owner = spread(bounds_of([len(found) for found in lists]), inverse)
        statements.add([one for found in lists for one in found], which, rows[there[owner]])

    for name in _PLAIN_FIELDS:
        add(
            outputs.field((name,)), lambda value: [] if isinstance(value, bool) else _of_texts(reader, [as_text(value)])
        )
    add(outputs.field(("date_range",)), lambda value: _of_texts(reader, _range_texts(value)))
    add(outputs.field(("amount_breakdown",)), lambda value: _of_texts(reader, _amount_texts(reader, value)))
    add(outputs.field(("entity",)), lambda value: entity(reader, value))
    return statements.stated()


def _add_answers(statements: _Statements, outputs: Outputs, rows: Codes) -> None:
    """What the texts of the answers assert: of a stretch that many texts have, numbers and dates once."""
    readings = outputs.answer.values
    texts, of_row = np.unique(outputs.answer.code[rows], return_inverse=True)
    for kind in (_numbers, _dates):
        found, places = readings.found(texts, kind)
        which, owner = spread(bounds_by_owner(places.texts, len(texts)), of_row)
        statements.add(found, places.places[which], rows[owner], first=places.first[which])
    named = _perhaps_named(readings, texts)
    lists = [_names(readings[k]) if there else [] for k, there in zip(texts.tolist(), named.tolist(), strict=True)]
    which, owner = spread(bounds_of([len(found) for found in lists]), of_row)
    statements.add([one for found in lists for one in found], which, rows[owner])


def _perhaps_named(readings: ReadTexts, texts: Codes) -> Flags:
    """Which texts may have names."""
    written = readings.texts.to_arrow().take(pa.array(texts))
    found: Flags = pc.match_substring_regex(written, readings.reader.names.perhaps_named).to_numpy(zero_copy_only=False)
    return found | readings.whole[texts]


def _of_texts(reader: Reader, texts: list[str]) -> list[Placed]:
    return [found for text in texts for found in specifics(reader.read(text))]


def _range_texts(value: Any) -> list[str]:
    return [as_text(end) for end in value.values()] if isinstance(value, dict) else [as_text(value)]


def _amount_texts(reader: Reader, value: Any) -> list[str]:
    return [f"{amount:f}" for entry in breakdown(reader, value) if entry is not None for amount in entry.values]


def inventions(found: Stated, question: Ints, questions: Sequence[Question]) -> Codes:
    """The places, among all that is stated, of what the questions do not say: each once a row, its first spelling."""
    if not len(found.row):
        return np.zeros(0, np.int64)
    keys = question[found.row].astype(np.int64) * len(found.table) + found.specific
    pairs, inverse = np.unique(keys, return_inverse=True)
    asked, stated = np.divmod(pairs, len(found.table))
    unknown = np.array(
        [not found.table[s].known(questions[q].known) for q, s in zip(asked.tolist(), stated.tolist(), strict=True)],
        np.bool_,
    )
    invented = np.flatnonzero(unknown[inverse])
    labels: dict[tuple[str, str], int] = {}
    label = np.array([labels.setdefault((s.kind, s.label), len(labels)) for s in found.table], np.int64)
    _, first = np.unique(found.row[invented] * len(labels) + label[found.specific[invented]], return_index=True)
    return invented[first]


def abstained(outputs: Outputs, rows: npt.NDArray[np.int64], reader: Reader) -> Flags:
    """The flag, or a phrase in the answer, for each of the rows."""
    distinct, inverse = np.unique(outputs.answer.code[rows], return_inverse=True)
    said = reader.abstention.found(outputs.folded_answers.to_arrow().take(pa.array(distinct)))[inverse]
    flag = outputs.field(FLAG)
    true = np.array([as_boolean(reader, value) is True for value in flag.values] + [False], np.bool_)
    out: Flags = said | true[flag.code[rows]]  # code -1 is the False behind the others
    return out


@dataclass(frozen=True)
class Quotes:
    """The quotes of all questions, end to end: the squashed parts of each between its ellipses."""

    bounds: Offsets  # of each question's
    first_parts: Strings
    parts: tuple[tuple[str, ...], ...]


def quotes_of(questions: Sequence[Question]) -> Quotes:
    """The quotes of an eval set."""
    parts = tuple(parts for question in questions for _, parts in question.quotes)
    bounds = bounds_of([len(question.quotes) for question in questions])
    return Quotes(bounds, from_list([first for first, *_ in parts]), parts)


@dataclass(frozen=True)
class QuoteHits:
    """Quotes of questions that were found in answers, citations and evidence items of their rows."""

    row: Codes
    source: Codes  # of QUOTE_SOURCES
    quote: Codes  # its place among those of the question

    def rows(self, count: int) -> Flags:
        """Which of `count` rows have a quote somewhere."""
        out = np.zeros(count, np.bool_)
        out[self.row] = True
        return out


QUOTE_SOURCES = ("answer", "citation", "evidence")


def find_quotes(outputs: Outputs, rows: npt.NDArray[np.int64], question: Ints, *, quotes: Quotes) -> QuoteHits:
    """The quotes of its question in the answer, the citations and the evidence items of each of the rows."""
    searched = np.zeros(len(outputs), np.bool_)
    searched[rows] = True
    answers = outputs.answer.values.texts.to_arrow()
    texts, owners = [answers.take(pa.array(outputs.answer.code[rows]))], [rows]
    for items in (outputs.citations, outputs.evidence):
        which = np.flatnonzero(searched[items.row])
        texts.append(items.text.to_arrow().take(pa.array(which)))
        owners.append(items.row[which].astype(np.int64))
    row = np.concatenate(owners)
    source = np.repeat(np.arange(len(owners)), [len(owner) for owner in owners])
    coded = pa.concat_arrays(texts).dictionary_encode()
    code = coded.indices.to_numpy().astype(np.int64)
    pairs, inverse = np.unique(question[row].astype(np.int64) * len(coded.dictionary) + code, return_inverse=True)
    asked, text = np.divmod(pairs, max(len(coded.dictionary), 1))
    quote, pair = quotes_in(kernels.squash(from_arrow(coded.dictionary)), text, asked, quotes=quotes)
    which, owner = spread(bounds_by_owner(pair, len(pairs)), inverse)
    return QuoteHits(row[owner], source[owner], (quote - quotes.bounds[asked[pair]])[which])


def quotes_in(squashed: Strings, text: Codes, question: Codes, *, quotes: Quotes) -> tuple[Codes, Codes]:
    """(quotes, places of their pairs in order) that squashed text `text[p]` has of those of question `question[p]`."""
    quote, pair = spread(quotes.bounds, question)
    hay, needle, place = squashed, quotes.first_parts, text[pair]
    held = kernels.contains(
        hay.data, hay.starts[place], hay.ends[place], needle.data, needle.starts[quote], needle.ends[quote]
    )
    several = np.array([len(parts) > 1 for parts in quotes.parts], np.bool_)
    for k in np.flatnonzero(held & several[quote]).tolist():
        held[k] = holds_parts(squashed.at(int(place[k])), quotes.parts[int(quote[k])])
    return quote[held], pair[held]
