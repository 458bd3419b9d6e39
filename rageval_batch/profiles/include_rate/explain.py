"""One answer of `include_rate`, taken apart: groups, forbidden phrases, citation."""

from __future__ import annotations

import pyarrow as pa

from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.include_rate.score import EMPTY_OUTPUT, Phrases, Prepared, read_answers


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every group with the phrase that hit, forbidden phrases with whether they are there, and the citation."""
    question = int(batch.column("question")[0].as_py())
    found = read_answers(batch.column("output"), prepared.params["normalizer"])
    answer = found.normal.at(0)
    sections = []
    if found.blank[0]:
        sections.append(Section("format", ({"reason": EMPTY_OUTPUT, "why": "nothing but white space"},)))
    required = []
    for written, normal in _groups(prepared.required, question):
        hit = next((k for k, phrase in enumerate(normal) if phrase and phrase in answer), None)
        required.append(
            {
                "any of": " | ".join(written),
                "hit": hit is not None,
                "phrase": None if hit is None else written[hit],
                "compared as": None if hit is None else normal[hit],
            }
        )
    sections.append(Section("required", tuple(required)))
    forbidden = [
        {"phrase": written[0], "compared as": normal[0], "found": normal[0] != "" and normal[0] in answer}
        for written, normal in _groups(prepared.forbidden, question)
    ]
    sections.append(Section("forbidden", tuple(forbidden)))
    citation = {
        "required": bool(prepared.wants_citation[question]),
        "found": prepared.citations.first(found.raw.at(0)),
        "patterns": " | ".join(prepared.params["citation_patterns"]),
    }
    return Explanation((*sections, Section("citation", (citation,))))


def _groups(phrases: Phrases, question: int) -> list[tuple[list[str], list[str]]]:
    """(phrases as written, as compared) of every group of a question."""
    first = int(phrases.questions[question])
    bounds = phrases.groups.tolist()
    return [
        (written, [phrases.texts.at(k) for k in range(bounds[first + g], bounds[first + g + 1])])
        for g, written in enumerate(phrases.written[question])
    ]
