"""One answer of `include_rate`, taken apart: groups, forbidden phrases, citation."""

from __future__ import annotations

import pyarrow as pa

from rageval_batch.columnar.strings import Ints
from rageval_batch.columnar.text import without_word_marks
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.include_rate.score import EMPTY_OUTPUT, Phrases, Prepared, check


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every group with the phrase that hit, forbidden phrases with whether they are there, and the citation."""
    question = int(batch.column("question")[0].as_py())
    checks = check(prepared, batch)
    sections = []
    if checks.answers.blank[0]:
        sections.append(Section("format", ({"reason": EMPTY_OUTPUT, "why": "nothing but white space"},)))
    required = [
        {
            "any of": " | ".join(written),
            "hit": hit is not None,
            "phrase": None if hit is None else written[hit],
            "compared as": None if hit is None else normal[hit],
        }
        for written, normal, hit in _group_hits(prepared.required, question, checks.required[1])
    ]
    forbidden = [
        {"phrase": written[0], "compared as": normal[0], "found": hit is not None}
        for written, normal, hit in _group_hits(prepared.forbidden, question, checks.forbidden[1])
    ]
    citation = {
        "required": bool(checks.citation_required[0]),
        "ok": bool(checks.citation_ok[0]),
        "found": prepared.citations.first(checks.answers.raw.at(0)),
        "patterns": " | ".join(prepared.citations.patterns) or None,
    }
    sections += [Section("required", tuple(required)), Section("forbidden", tuple(forbidden))]
    return Explanation((*sections, Section("citation", (citation,))))


def _group_hits(phrases: Phrases, question: int, hits: Ints) -> list[tuple[list[str], list[str], int | None]]:
    """(phrases as written, as compared, place of the one that hit) of every group; `hits` is one phrase a group."""
    bounds = phrases.groups[phrases.questions[question] : phrases.questions[question + 1] + 1].tolist()
    return [
        (
            [phrases.written.at(k) for k in range(first, last)],
            [_compared_as(phrases, k) for k in range(first, last)],
            hit - first if hit >= 0 else None,
        )
        for first, last, hit in zip(bounds[:-1], bounds[1:], hits.tolist(), strict=True)
    ]


def _compared_as(phrases: Phrases, place: int) -> str:
    return without_word_marks(phrases.texts.at(place))
