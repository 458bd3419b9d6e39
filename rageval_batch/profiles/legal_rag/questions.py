"""Questions of `legal_rag` as they are scored: types, expected values, evidence, quotes."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import KW_ONLY
from decimal import Decimal
from typing import Any

from rageval_batch.columnar.json_numbers import written_float
from rageval_batch.columnar.values import Reader, agrees, fold, holds_parts, quote_parts, squash
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.model.schemas import EXPECTED, QUESTION, EvalSet, first_of
from rageval_batch.profiles.legal_rag.fields import (
    Quantity,
    as_boolean,
    as_date,
    as_label,
    as_list,
    as_page,
    as_quantity,
    as_text,
)

FACT, EVIDENCE, GAP = range(3)
TYPES = ("fact_exact", "evidence_set", "conflict_gap")
PENALTIES = {"high": 1.0, "medium": 0.5, "low": 0.25}  # of no_hallucination, for each invention
RECALL_MIN, PRECISION_MIN = 0.8, 0.7

NUMBERS = ("amount_total", "count")
# Typed fields of `expected`, and what an output may call them; the first that is not null counts.
NAMES = {
    "amount_total": ("amount", "amount_total"),
    "amount_breakdown": ("amount_breakdown",),
    "date": ("date",),
    "date_range": ("date_range",),
    "count": ("count",),
    "text_answer": ("text", "text_answer"),
    "boolean_answer": ("boolean", "boolean_answer"),
    "entity": ("entity",),
}


@dataclass(frozen=True)
class Required:
    """A piece of `required_evidence`: what an item must hold, and where it must be from if both say so."""

    shown: str
    include: str  # squashed
    page: str | None
    _: KW_ONLY
    section: str | None
    speaker: str | None
    critical: bool


@dataclass(frozen=True)
class Known:
    """What a gap question says itself: repeating it invents nothing."""

    numbers: frozenset[Decimal]
    dates: frozenset[str]
    texts: tuple[str, ...]  # folded

    def has_date(self, iso: str) -> bool:
        """Whether a known date says at least as much."""
        return any(agrees(iso, known) for known in self.dates)

    def has_name(self, folded: str) -> bool:
        """Whether a folded name stands in one of the texts."""
        parts = quote_parts(folded)
        return any(holds_parts(text, parts) for text in self.texts)


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, worked out once."""

    name: str
    type: int
    text: str
    expected: dict[str, Any]  # the typed fields that are there
    wanted: dict[str, Any]  # what each of them says, as answers are compared with it
    allowed: frozenset[Decimal]  # numbers that may stand beside the expected one
    numeric_exact: bool
    date_exact: bool
    citation_required: bool
    required: tuple[Required, ...]
    points: tuple[str, ...]
    count_min: float
    recall_min: float
    precision_min: float
    should_abstain: bool
    quotes: tuple[tuple[str, tuple[str, ...]], ...]  # as written, and squashed between ellipses
    penalty: float
    known: Known
    difficulty: str | None
    category: str | None
    tags: tuple[str, ...]

    def expected_text(self, field: str) -> str:
        """An expected value as a text."""
        return as_text(self.expected[field])


def _structured(value: Any) -> Any:
    """A value, or what it says where it is the JSON text of an object or array, as in a column of texts."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return json.loads(value, parse_float=written_float)
    return value


def _object(value: Any) -> dict[str, Any]:
    value = _structured(value)
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class _Settings:
    """Settings that may stand in the question, in `expected` or in `scoring`; the first that is not null counts."""

    places: tuple[dict[str, Any], ...]

    def any(self, key: str) -> Any:
        return next((place[key] for place in self.places if place.get(key) is not None), None)

    def flag(self, key: str, default: bool) -> bool:
        value = self.any(key)
        return value if isinstance(value, bool) else default

    def number(self, key: str, default: float) -> float:
        value = self.any(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return default
        with suppress(OverflowError):
            return float(value)
        return default


def _settings(question: dict[str, Any]) -> _Settings:
    return _Settings((question, _object(first_of(question, EXPECTED)), _object(question.get("scoring"))))


def weights(eval_set: EvalSet) -> tuple[float, ...]:
    """The weight of each question; InputError naming one that is no weight."""
    out = []
    for name, question in zip(eval_set.ids, eval_set.objects, strict=True):
        given = _settings(question).any("weight")
        if given is None:
            out.append(1.0)
            continue
        good = isinstance(given, int | float) and not isinstance(given, bool)
        if not good or not math.isfinite(given) or given < 0:
            raise InputError(f"Question '{name}' has weight {given!r}. A weight is a finite number from 0.")
        out.append(float(given))
    return tuple(out)


def read_questions(eval_set: EvalSet, reader: Reader) -> tuple[Question, ...]:
    """All questions; InputError naming the first whose type is not known."""
    return tuple(
        _question(name, question, eval_set.header(index), reader=reader)
        for index, (name, question) in enumerate(zip(eval_set.ids, eval_set.objects, strict=True))
    )


def _type(name: str, question: dict[str, Any], header: dict[str, Any]) -> int:
    kind = question.get("type")
    kind = header.get("benchmark_type") if kind is None else kind
    if not isinstance(kind, str) or kind not in TYPES:
        found = f"the unknown type {kind!r}" if kind is not None else "no type, and its file no benchmark_type"
        raise InputError(f"Question '{name}' has {found}. Allowed: {', '.join(TYPES)}.")
    return TYPES.index(kind)


def _question(name: str, question: dict[str, Any], header: dict[str, Any], *, reader: Reader) -> Question:
    settings = _settings(question)
    expected = settings.places[1]
    typed = {field: expected[field] for field in NAMES if expected.get(field) is not None}
    text = as_text(first_of(question, QUESTION))
    given = as_list(_structured(question.get("required_evidence")))
    evidence = [entry for entry in given if isinstance(entry, dict)]
    quotes = [as_text(settings.any("required_quote"))]
    quotes += map(as_text, as_list(_structured(settings.any("additional_quotes"))))
    said = [(quote, parts) for quote in quotes if (parts := quote_parts(quote))]
    points = [as_text(point) for point in as_list(_structured(settings.any("key_points")))]
    penalty = settings.any("hallucination_penalty")
    metadata = _object(question.get("metadata"))
    tags = metadata.get("tags")
    return Question(
        name=name,
        type=_type(name, question, header),
        text=text,
        expected=typed,
        wanted={field: _expected_value(reader, field, value) for field, value in typed.items()},
        allowed=_allowed(reader, text, typed),
        numeric_exact=settings.flag("numeric_exact", True),
        date_exact=settings.flag("date_exact", True),
        citation_required=settings.flag("citation_required", True),
        required=_required(reader, evidence),
        points=tuple(point for point in points if squash(point)),
        count_min=settings.number("evidence_count_min", 0.0),
        recall_min=settings.number("evidence_recall_min", RECALL_MIN),
        precision_min=settings.number("evidence_precision_min", PRECISION_MIN),
        should_abstain=settings.flag("should_abstain", True),
        quotes=tuple(said),
        penalty=PENALTIES.get(penalty if isinstance(penalty, str) else "high", PENALTIES["high"]),
        known=_known(reader, [text, *(quote for quote, _ in said), *_evidence_texts(evidence)]),
        difficulty=as_text(metadata.get("difficulty")) or None,
        category=as_text(metadata.get("category")) or None,
        tags=tuple(map(as_text, tags)) if isinstance(tags, list) else (),
    )


def _required(reader: Reader, evidence: list[dict[str, Any]]) -> tuple[Required, ...]:
    """Critical are those that do not say otherwise; where none is, all are."""
    flags = [entry.get("is_critical") is not False for entry in evidence]
    flags = flags if any(flags) else [True] * len(flags)
    return tuple(
        Required(
            as_text(entry.get("must_include")),
            squash(as_text(entry.get("must_include"))),
            as_page(reader, entry.get("page")),
            section=as_label(entry.get("section")),
            speaker=as_label(entry.get("speaker")),
            critical=critical,
        )
        for entry, critical in zip(evidence, flags, strict=True)
    )


def breakdown(reader: Reader, value: Any) -> list[Quantity | None]:
    """The amounts of a breakdown: of objects their `amount`, else the entries; None for what is no number."""
    entries = (entry.get("amount") if isinstance(entry, dict) else entry for entry in as_list(_structured(value)))
    return [as_quantity(reader, entry) for entry in entries]


def _allowed(reader: Reader, text: str, typed: dict[str, Any]) -> frozenset[Decimal]:
    """The question's own numbers and all expected ones."""
    expected = [
        *breakdown(reader, typed.get("amount_breakdown")),
        *(as_quantity(reader, typed.get(f)) for f in NUMBERS),
    ]
    found = {value for quantity in expected if quantity is not None for value in quantity.values}
    return frozenset(found.union(number.value for number in reader.read(text).numbers))


def _evidence_texts(evidence: list[dict[str, Any]]) -> list[str]:
    keys = ("must_include", "text", "quote")
    return [as_text(entry[key]) for entry in evidence for key in keys if entry.get(key) is not None]


def _known(reader: Reader, texts: list[str]) -> Known:
    readings = [reader.read(text) for text in texts]
    return Known(
        frozenset(number.value for reading in readings for number in reading.numbers),
        frozenset(date.iso for reading in readings for date in reading.dates),
        tuple(map(fold, texts)),
    )


def _expected_value(reader: Reader, field: str, expected: Any) -> Any:
    """What an expected value says: a quantity, a list of them, a day or the ends of a range, a boolean, a folded text.

    None where it says nothing of its type.
    """
    if field in NUMBERS:
        return as_quantity(reader, expected)
    if field == "amount_breakdown":
        return breakdown(reader, expected)
    if field in ("date", "date_range"):
        return _range_ends(reader, expected) if isinstance(expected, dict) else as_date(reader, expected)
    return as_boolean(reader, expected) if field == "boolean_answer" else fold(as_text(expected))


def _range_ends(reader: Reader, value: dict[str, Any]) -> dict[str, str | None]:
    """The ends of an expected range that are given, as ISO."""
    return {end: as_date(reader, value[end]) for end in ("start", "end") if value.get(end) is not None}
