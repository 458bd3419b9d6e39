"""Answers to questions that the record leaves open: abstention, quotes, and what the answer makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar.strings import Flags, Ints, bounds_of
from rageval_batch.columnar.values import Reader, Reading, fold, holds_parts, squash
from rageval_batch.columnar.values.numerals import EXACT
from rageval_batch.profiles.legal_rag.fields import as_boolean, as_text
from rageval_batch.profiles.legal_rag.outputs import FLAG, Coded, Codes, Outputs, spread
from rageval_batch.profiles.legal_rag.questions import Known, Question, breakdown

_PLAIN_FIELDS = ("amount", "amount_total", "count", "date", "text", "text_answer")


@dataclass(frozen=True)
class Specific:
    """A number, date or name of an answer: what is counted, as it stands there, and what knowing it means."""

    kind: str
    label: str  # equal labels of a kind are one specific
    readings: tuple[Any, ...]
    _: KW_ONLY
    shown: str = field(compare=False)
    span: tuple[int, int] | None = field(default=None, compare=False)

    def known(self, known: Known) -> bool:
        """Whether the question says it itself."""
        if self.kind == "number":
            return self.readings[0] in known.numbers
        if self.kind == "date":
            return known.has_date(self.label)
        return any(known.has_name(reading) for reading in self.readings)


def specifics(reading: Reading) -> list[Specific]:
    """The specifics of a text. A quotation that holds a value or says that nothing is known is no name."""
    found = [
        Specific(
            "number",
            f"{EXACT.normalize(n.value):f}",
            (n.value,),
            shown=reading.raw[n.start : n.end],
            span=(n.start, n.end),
        )
        for n in reading.numbers
        if not n.article
    ]
    spans = [(n.start, n.end) for n in reading.numbers]
    for date in reading.dates:
        span = (date.start, date.end)
        found.append(Specific("date", date.iso, (), shown=reading.raw[date.start : date.end], span=span))
        spans.append(span)
    quoted = [name for name in reading.names if name.quoted]
    for name in reading.names:
        if name.quoted:
            holds_value = any(name.start < end and start < name.end for start, end in spans)
            if holds_value or reading.reader.read(name.text).abstention:
                continue
        elif any(q.start <= name.start and name.end <= q.end for q in quoted):
            continue
        readings = tuple(map(fold, name.readings))
        found.append(Specific("name", fold(name.text), readings, shown=name.text, span=(name.start, name.end)))
    return found


def entity(reader: Reader, value: Any) -> list[Specific]:
    """The name that a field `entity` claims."""
    text = as_text(value)
    name = fold(text)
    return [Specific("name", name, (name,), shown=text)] if name and not reader.read(name).abstention else []


@dataclass(frozen=True)
class Stated:
    """The specifics of a batch, distinct in what they say and how it is spelled, and which row states which."""

    table: list[Specific]
    row: Codes
    specific: Codes


def stated(outputs: Outputs, rows: npt.NDArray[np.int64], reader: Reader) -> Stated:
    """What the answers of rows assert: their texts and typed fields, not their citations and evidence."""
    codes: dict[tuple[Specific, str], int] = {}  # by spelling too: a row shows its own, whatever stands in others
    parts: list[tuple[Codes, Codes]] = []

    def add(column: Coded, read: Callable[[Any], list[Specific]]) -> None:
        """Every distinct value of a column is read once."""
        code = column.code[rows]
        there = np.flatnonzero(code >= 0)
        distinct, inverse = np.unique(code[there], return_inverse=True)
        lists = [
            [codes.setdefault((s, s.shown), len(codes)) for s in read(column.values[k])] for k in distinct.tolist()
        ]
        bounds = bounds_of([len(found) for found in lists])
        which, owner = spread(bounds, inverse)
        flat = np.array([code for found in lists for code in found], np.int64)
        parts.append((rows[there[owner]], flat[which]))

    add(outputs.answer, specifics)
    for name in _PLAIN_FIELDS:
        add(
            outputs.field((name,)), lambda value: [] if isinstance(value, bool) else _of_texts(reader, [as_text(value)])
        )
    add(outputs.field(("date_range",)), lambda value: _of_texts(reader, _range_texts(value)))
    add(outputs.field(("amount_breakdown",)), lambda value: _of_texts(reader, _amount_texts(reader, value)))
    add(outputs.field(("entity",)), lambda value: entity(reader, value))
    row, specific = (np.concatenate([part[k] for part in parts]) for k in range(2))
    return Stated([found for found, _ in codes], row, specific)


def _of_texts(reader: Reader, texts: list[str]) -> list[Specific]:
    return [found for text in texts for found in specifics(reader.read(text))]


def _range_texts(value: Any) -> list[str]:
    return [as_text(end) for end in value.values()] if isinstance(value, dict) else [as_text(value)]


def _amount_texts(reader: Reader, value: Any) -> list[str]:
    return [f"{amount:f}" for entry in breakdown(reader, value) if entry is not None for amount in entry.values]


def inventions(found: Stated, question: Ints, questions: Sequence[Question]) -> tuple[Codes, Codes]:
    """(row, specific) of everything that the questions do not say, each once a row in its first spelling there."""
    if not len(found.row):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    row_question = question[found.row].astype(np.int64)
    pairs, inverse = np.unique(np.stack([row_question, found.specific], axis=1), axis=0, return_inverse=True)
    unknown = np.array([not found.table[s].known(questions[q].known) for q, s in pairs.tolist()], np.bool_)
    invented = np.flatnonzero(unknown[inverse.ravel()])
    labels: dict[tuple[str, str], int] = {}
    label = np.array([labels.setdefault((s.kind, s.label), len(labels)) for s in found.table], np.int64)
    keys = np.stack([found.row[invented], label[found.specific[invented]]], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    chosen = invented[first]
    return found.row[chosen], found.specific[chosen]


def abstained(outputs: Outputs, rows: npt.NDArray[np.int64], reader: Reader) -> Flags:
    """The flag, or a phrase in the answer, for each of the rows."""
    code = outputs.answer.code[rows]
    distinct, inverse = np.unique(code, return_inverse=True)
    said = np.array([outputs.answer.values[k].abstention is not None for k in distinct.tolist()], np.bool_)[inverse]
    flag = outputs.field(FLAG)
    true = np.array([as_boolean(reader, value) is True for value in flag.values] + [False], np.bool_)
    out: Flags = said | true[flag.code[rows]]  # code -1 is the False behind the others
    return out


@dataclass(frozen=True)
class QuoteHits:
    """Texts of answers, citations and evidence items that were searched for their question's quotes, one entry a text.

    `held` has, for each distinct question and text, the places of the question's quotes that the text has.
    """

    row: Codes
    source: Codes  # of QUOTE_SOURCES
    pair: Codes  # which of `held` it is
    _: KW_ONLY
    held: list[tuple[int, ...]]

    def rows(self, count: int) -> Flags:
        """Which of `count` rows have a quote somewhere."""
        out = np.zeros(count, np.bool_)
        out[self.row[np.array([bool(held) for held in self.held], np.bool_)[self.pair]]] = True
        return out


QUOTE_SOURCES = ("answer", "citation", "evidence")


def find_quotes(
    outputs: Outputs, rows: npt.NDArray[np.int64], question: Ints, *, questions: Sequence[Question]
) -> QuoteHits:
    """The quotes of its question in the answer, the citations and the evidence items of each of the rows."""
    searched = np.zeros(len(outputs), np.bool_)
    searched[rows] = True
    texts, owners = [_answer_texts(outputs, rows)], [rows]
    for items in (outputs.citations, outputs.evidence):
        which = np.flatnonzero(searched[items.row])
        texts.append(items.text.to_arrow().take(pa.array(which)))
        owners.append(items.row[which].astype(np.int64))
    row = np.concatenate(owners)
    coded = pa.concat_arrays(texts).dictionary_encode()
    squashed = [squash(text) for text in coded.dictionary.to_pylist()]
    code = coded.indices.to_numpy().astype(np.int64)
    pairs, inverse = np.unique(np.stack([question[row], code], axis=1), axis=0, return_inverse=True)
    held = [quotes_in(questions[q], squashed[text]) for q, text in pairs.tolist()]
    source = np.repeat(np.arange(len(owners)), [len(owner) for owner in owners])
    return QuoteHits(row, source, inverse.ravel(), held=held)


def _answer_texts(outputs: Outputs, rows: npt.NDArray[np.int64]) -> pa.Array:
    texts = pa.array([reading.raw for reading in outputs.answer.values], pa.large_string())
    return texts.take(pa.array(outputs.answer.code[rows]))


def quotes_in(question: Question, squashed: str) -> tuple[int, ...]:
    """The places of the question's quotes that a squashed text has."""
    return tuple(k for k, (_, parts) in enumerate(question.quotes) if holds_parts(squashed, parts))
