"""One answer of `legal_rag` taken apart, for people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import Ints
from rageval_batch.columnar.values import Kind, Number, Reading, holds_parts, squash
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.legal_rag import evidence, gaps
from rageval_batch.profiles.legal_rag.evidence import Entries, Pairs
from rageval_batch.profiles.legal_rag.facts import Facts
from rageval_batch.profiles.legal_rag.outputs import FLAG, Coded, Items, Outputs, joined
from rageval_batch.profiles.legal_rag.questions import EVIDENCE, FACT, NAMES, Question
from rageval_batch.profiles.legal_rag.score import Prepared

Line = dict[str, Any]


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """The one answer of a batch: which value was read where, what is covered, what is made up."""
    question = batch.column("question").to_numpy()
    outputs = Outputs(batch.column("output"), prepared.reader, prepared.entries.labels)
    asked = prepared.questions[int(question[0])]
    share = prepared.params["key_point_recall"]
    return _explain_row(asked, outputs, prepared.facts, prepared.entries, question, share)


def _explain_row(
    asked: Question, outputs: Outputs, facts: Facts, entries: Entries, question: Ints, share: float
) -> Explanation:
    """Sections for the only row of the outputs: what its type looks at, then every value read in the text."""
    if outputs.empty[0]:
        return Explanation((Section("format", ({"reason": "empty_output", "why": "nothing but white space"},)),))
    reading: Reading = outputs.answer.values[int(outputs.answer.code[0])]
    form = "a JSON object" if outputs.structured[0] else "plain text"
    sections = [Section("format", ({"read as": form, "answer": reading.raw},))]
    if asked.type == FACT:
        sections += [_fields(asked, outputs, facts, reading)]
        sections += _evidence(asked, entries, question, joined(outputs.citations, outputs.evidence), None)
    elif asked.type == EVIDENCE:
        sections += _evidence(
            asked, entries, question, evidence.retrieved(outputs.evidence, outputs.citations, 1), share
        )
    else:
        sections += _gap(asked, outputs, facts, reading)
    return Explanation((*sections, _values(reading)))


def _one(column: Coded) -> Any:
    return column.values[int(column.code[0])] if column.code[0] >= 0 else None


def _where(span: tuple[int, int] | None) -> str | None:
    return None if span is None else f"{span[0]}–{span[1]}"


def _fields(asked: Question, outputs: Outputs, facts: Facts, reading: Reading) -> Section:
    lines: list[Line] = []
    for field in asked.expected:
        given = _one(outputs.field(NAMES[field]))
        match = facts.judge(asked, field, given, reading)
        lines.append(
            {
                "field": field,
                "expected": asked.shown(field),
                "got": match.got,
                "matched": match.matched,
                "characters": _where(match.span),
                "text": reading.raw[slice(*match.span)] if match.span else None,
                "why": match.why,
            }
        )
    return Section("expected", tuple(lines))


def _evidence(asked: Question, entries: Entries, question: Ints, items: Items, share: float | None) -> list[Section]:
    """Evidence that must be covered, key points where they count, and what was brought."""
    by_text = evidence.required_pairs(entries, question, items)
    texts = items.text.to_arrow().to_pylist()
    first = int(entries.bounds[question[0]])
    required: list[Line] = [
        {
            "must include": entry.shown,
            "page": entry.page,
            "critical": entry.critical,
            "covered by": _covering(by_text, first + k, texts),
        }
        for k, entry in enumerate(asked.required)
    ]
    sections = [Section("required_evidence", tuple(required))]
    relevant = by_text.items(len(items))
    if share is not None:
        by_point = evidence.point_pairs(entries, question, items, share)
        relevant |= by_point.items(len(items))
        first = int(entries.point_bounds[question[0]])
        points: list[Line] = [
            {"key point": point, "covered by": _covering(by_point, first + k, texts)}
            for k, point in enumerate(asked.points)
        ]
        sections.append(Section("key_points", tuple(points)))
    brought: list[Line] = [
        {"item": text or "(a page alone)", "has a page": bool(page >= 0), "covers something": bool(useful)}
        for text, page, useful in zip(texts, items.page, relevant, strict=True)
    ]
    return [*sections, Section("items", tuple(brought))]


def _covering(pairs: Pairs, entry: int, texts: list[str]) -> str | None:
    found = pairs.item[pairs.ok & (pairs.entry == entry)]
    return texts[int(found[0])] or "(a page alone)" if len(found) else None


def _gap(asked: Question, outputs: Outputs, facts: Facts, reading: Reading) -> list[Section]:
    rows = outputs.answer.code[:1] * 0
    abstention: Line = {
        "should abstain": asked.should_abstain,
        "flag": _one(outputs.field(FLAG)),
        "phrase": reading.abstention,
    }
    places = {
        "answer": [reading.raw],
        "citation": outputs.citations.text.to_arrow().to_pylist(),
        "evidence": outputs.evidence.text.to_arrow().to_pylist(),
    }
    quotes: list[Line] = [
        {
            "quote": quote,
            "found in": next(
                (name for name, texts in places.items() if any(holds_parts(squash(t), parts) for t in texts)), None
            ),
        }
        for quote, parts in asked.quotes
    ]
    found = gaps.stated(outputs, rows, facts.reader)
    seen: dict[tuple[str, str], Line] = {}
    for k in found.specific.tolist():
        one = found.table[k]
        known = one.known(asked.known)
        line = {
            "kind": one.kind,
            "value": one.label,
            "text": one.shown,
            "characters": _where(one.span),
            "invented": not known,
        }
        if (one.kind, one.label) not in seen or not known:
            seen[one.kind, one.label] = line
    return [
        Section("abstention", (abstention,)),
        Section("quotes", tuple(quotes)),
        Section("specifics", tuple(seen.values())),
    ]


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
        {"kind": kind, "value": value, "unit": unit, "text": reading.raw[start:end], "characters": f"{start}–{end}"}
        for start, end, kind, value, unit in sorted(found, key=lambda one: one[:3])
    ]
    return Section("values in the text", tuple(lines))
