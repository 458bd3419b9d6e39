"""One answer of `legal_rag` taken apart, for people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rageval_batch.columnar.values import Kind, Number, Reading
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.legal_rag.evidence import Entries, Pairs
from rageval_batch.profiles.legal_rag.gaps import QUOTE_SOURCES
from rageval_batch.profiles.legal_rag.outputs import FLAG, Coded, Items
from rageval_batch.profiles.legal_rag.questions import Question
from rageval_batch.profiles.legal_rag.score import (
    EvidenceChecks,
    FactChecks,
    GapChecks,
    Measured,
    Prepared,
    measure,
)

Line = dict[str, Any]


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """The one answer of a batch: which value was read where, what is covered, what is made up."""
    measured = measure(prepared, batch)
    outputs, index = measured.outputs, int(measured.question[0])
    question = prepared.questions[index]
    if outputs.empty[0]:
        return Explanation((Section("format", ({"reason": "empty_output", "why": "nothing but white space"},)),))
    reading: Reading = outputs.answer.values[int(outputs.answer.code[0])]
    form = "a JSON object" if outputs.structured[0] else "plain text"
    sections = [Section("format", ({"read as": form, "answer": reading.raw or None},))]
    if measured.facts is not None:
        sections += _explain_facts(question, prepared.entries, index, checks=measured.facts, reading=reading)
    if measured.evidence is not None:
        sections += _explain_evidence(question, prepared.entries, index, checks=measured.evidence)
    if measured.gaps is not None:
        sections += _explain_gap(question, measured, measured.gaps, reading=reading)
    return Explanation((*sections, _values(reading)))


def _first_value(column: Coded) -> Any:
    return column.values[int(column.code[0])] if column.code[0] >= 0 else None


def _where(span: tuple[int, int] | None) -> str | None:
    return None if span is None else f"{span[0]}–{span[1]}"


def _explain_facts(
    question: Question, entries: Entries, index: int, *, checks: FactChecks, reading: Reading
) -> list[Section]:
    """The verdict on every typed field, the evidence that must be cited, and what was cited."""
    lines: list[Line] = []
    for field, verdicts in checks.verdicts.items():
        match = verdicts.distinct[int(verdicts.which[0])]
        lines.append(
            {
                "field": field,
                "expected": question.expected_text(field),
                "got": match.got,
                "matched": match.matched,
                "characters": _where(match.span),
                "text": reading.raw[slice(*match.span)] if match.span else None,
                "why": match.why,
            }
        )
    relevant = checks.pairs.items(len(checks.items)).tolist()
    return [
        Section("expected", tuple(lines)),
        _required(question, entries, index, items=checks.items, pairs=checks.pairs),
        _items(checks.items, relevant),
    ]


def _explain_evidence(question: Question, entries: Entries, index: int, *, checks: EvidenceChecks) -> list[Section]:
    """Evidence that must be covered, key points, and the distinct items that were brought."""
    texts = checks.items.text.to_arrow().to_pylist()
    first = int(entries.point_bounds[index])
    points: list[Line] = [
        {"key point": point, "covered by": _covering(checks.point_pairs, first + k, texts)}
        for k, point in enumerate(question.points)
    ]
    return [
        _required(question, entries, index, items=checks.items, pairs=checks.required_pairs),
        Section("key_points", tuple(points)),
        _items(checks.items, checks.relevant.tolist()),
    ]


def _required(question: Question, entries: Entries, index: int, *, items: Items, pairs: Pairs) -> Section:
    texts = items.text.to_arrow().to_pylist()
    first = int(entries.bounds[index])
    lines: list[Line] = [
        {
            "must include": entry.shown,
            "page": entry.page,
            "critical": entry.critical,
            "covered by": _covering(pairs, first + k, texts),
        }
        for k, entry in enumerate(question.required)
    ]
    return Section("required_evidence", tuple(lines))


def _items(items: Items, relevant: list[bool]) -> Section:
    texts = items.text.to_arrow().to_pylist()
    lines: list[Line] = [
        {"item": text or "(a page alone)", "has a page": page >= 0, "covers something": covers}
        for text, page, covers in zip(texts, items.page.tolist(), relevant, strict=True)
    ]
    return Section("items", tuple(lines))


def _covering(pairs: Pairs, entry: int, texts: list[str]) -> str | None:
    found = pairs.item[pairs.ok & (pairs.entry == entry)]
    return texts[int(found[0])] or "(a page alone)" if len(found) else None


def _explain_gap(question: Question, measured: Measured, checks: GapChecks, *, reading: Reading) -> list[Section]:
    """Abstention by flag or phrase, where each quote was found, and every specific with whether it is invented."""
    abstention: Line = {
        "should abstain": question.should_abstain,
        "abstained": bool(checks.abstained[0]),
        "flag": _first_value(measured.outputs.field(FLAG)),
        "phrase": reading.abstention,
    }
    found_in: dict[int, str] = {}  # place of a quote -> the first source that has it
    for source, place in zip(checks.quotes.source.tolist(), checks.quotes.quote.tolist(), strict=True):
        found_in.setdefault(place, QUOTE_SOURCES[source])
    quotes: list[Line] = [{"quote": quote, "found in": found_in.get(k)} for k, (quote, _) in enumerate(question.quotes)]
    return [
        Section("abstention", (abstention,)),
        Section("quotes", tuple(quotes)),
        Section("specifics", tuple(_specifics(checks))),
    ]


def _specifics(checks: GapChecks) -> list[Line]:
    """Every number, date and name that the answer states, those of one label once.

    An answer that should abstain and neither does nor quotes the record counts as one invention by itself.
    """
    stated = checks.stated

    def label(place: int) -> tuple[str, str]:
        return stated.table[int(stated.specific[place])][:2]

    invented = {label(place): place for place in checks.invented.tolist()}
    lines: dict[tuple[str, str], Line] = {}
    for place in range(len(stated.row)):
        shown = invented.get(label(place), place)
        one, start = stated.table[int(stated.specific[shown])], int(stated.start[shown])
        lines[label(place)] = {
            "kind": one.kind,
            "value": one.label,
            "text": one.shown,
            "characters": _where((start, int(stated.end[shown])) if start >= 0 else None),
            "invented": label(place) in invented,
        }
    if checks.inventions[0] > len(invented):
        by_itself = dict.fromkeys(("value", "text", "characters"))
        return [*lines.values(), {"kind": "answer", **by_itself, "invented": True}]
    return list(lines.values())


def _kind(number: Number) -> str:
    return "number" if number.kind is Kind.EXACT else f"number, {number.kind}"


def _values(reading: Reading) -> Section:
    """Every value that was read in the answer's text, in its order."""
    found: list[tuple[int, int, str, str, str | None]] = [
        (n.start, n.end, _kind(n), f"{n.value:f}", n.unit or None) for n in reading.numbers
    ]
    found += [(d.start, d.end, "date", d.iso, None) for d in reading.dates]
    found += [(n.start, n.end, "name", n.text, None) for n in reading.names]
    found += [(c.start, c.end, "cited page", str(c.page), None) for c in reading.citations]
    if reading.boolean is not None:
        found.append((reading.boolean.start, reading.boolean.end, "boolean", str(reading.boolean.value).lower(), None))
    lines: list[Line] = [
        {
            "kind": kind,
            "value": value,
            "unit": unit,
            "text": reading.raw[start:end],
            "characters": f"{start}–{end}",
            "read with": _read_with(reading, start, end),
        }
        for start, end, kind, value, unit in sorted(found, key=lambda one: one[:3])
    ]
    return Section("values in the text", tuple(lines))


def _read_with(reading: Reading, start: int, end: int) -> str | None:
    """How a value was read that can be read in two ways, and what decided; None for all others."""
    for one in reading.ambiguous:
        if start <= one.start and one.end <= end:
            return f"{one.read_with}, by {'the parameter' if one.by_parameter else 'the letters of the text'}"
    return None
