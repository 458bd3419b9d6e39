"""The JSON Schema of `legal_rag` questions, beside the names that scoring reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from rageval_batch.columnar.values import Reader, lexicon
from rageval_batch.model.field_names import MISTAKEN_NAMES
from rageval_batch.model.schemas import QUESTION
from rageval_batch.profiles.legal_rag.fields import as_quantity
from rageval_batch.profiles.legal_rag.questions import NAMES, NUMBERS, PENALTIES, TYPES

Schema = dict[str, Any]

_ISO_DATE: Schema = {
    "type": "string",
    "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
    "format": "date",
    "description": "a date YYYY-MM-DD",
}
_TEXT: Schema = {"type": "string", "pattern": "[^\\s]", "description": "a text that is not blank"}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_FLAG: Schema = {"type": "boolean"}
_TYPE: Schema = {"enum": list(TYPES)}
_PAGE: Schema = {"type": ["integer", "string"]}
_AMOUNT: Schema = {"type": ["number", "string"]}  # a text must be one that the reader of answers finds one number in

_EXPECTED_TYPES: dict[str, Schema] = {
    "amount_total": _AMOUNT,
    "amount_breakdown": {
        "type": "array",
        "items": {
            "type": ["number", "string", "object"],
            "properties": {"amount": _AMOUNT},
            "required": ["amount"],
        },
        "minItems": 1,
    },
    "date": _ISO_DATE,
    "date_range": {
        "type": "object",
        "properties": {"start": _ISO_DATE, "end": _ISO_DATE},
        "required": ["start", "end"],
    },
    "count": {"type": ["integer", "string"]},
    "text_answer": _TEXT,
    "boolean_answer": _FLAG,
    "entity": _TEXT,
}
assert set(_EXPECTED_TYPES) == set(NAMES)
# An output calls them otherwise; in `expected` those names are read by nobody.
_EXPECTED_FIELDS: dict[str, Schema] = {
    name: {**_EXPECTED_TYPES[name], MISTAKEN_NAMES: [other for other in NAMES[name] if other != name]} for name in NAMES
}

# What may stand in the question, in `expected` or in `scoring`.
_SETTINGS: dict[str, Schema] = {
    "numeric_exact": _FLAG,
    "date_exact": _FLAG,
    "citation_required": _FLAG,
    "should_abstain": _FLAG,
    "required_quote": _TEXT,
    "additional_quotes": {"type": "array", "items": _TEXT},
    "hallucination_penalty": {"enum": list(PENALTIES)},
    "key_points": {"type": "array", "items": _TEXT},
    "evidence_count_min": {"type": "integer", "minimum": 0},
    "evidence_recall_min": _SHARE,
    "evidence_precision_min": _SHARE,
    "weight": {"type": "number", "minimum": 0},
}
_SOME_EVIDENCE: Schema = {"required": ["required_evidence"], "properties": {"required_evidence": {"minItems": 1}}}
_SOME_POINTS: Schema = {"required": ["key_points"], "properties": {"key_points": {"minItems": 1}}}

_REQUIRED_EVIDENCE: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["page", "must_include"],
        "properties": {
            "page": _PAGE,
            "must_include": _TEXT,
            "section": {"type": "string"},
            "speaker": {"type": "string"},
            "is_critical": _FLAG,
        },
    },
}

_OF_TYPE: dict[str, Schema] = {
    "fact_exact": {
        "required": ["expected"],
        "properties": {
            "expected": {
                "anyOf": [{"required": [name]} for name in NAMES],
                "description": f"one or more of {', '.join(NAMES)}",
            }
        },
    },
    "evidence_set": {
        "anyOf": [
            _SOME_EVIDENCE,
            _SOME_POINTS,
            *({"required": [place], "properties": {place: _SOME_POINTS}} for place in ("expected", "scoring")),
        ],
        "description": "required_evidence or expected.key_points",
    },
    "conflict_gap": {},
}

QUESTION_SCHEMA: Schema = {
    "type": "object",
    "anyOf": [{"required": [name]} for name in QUESTION],
    "description": f"the question's text: {', '.join(QUESTION)}",
    "properties": {
        "type": _TYPE,
        **dict.fromkeys(QUESTION, _TEXT),
        "expected": {"type": "object", "properties": {**_EXPECTED_FIELDS, **_SETTINGS}},
        "required_evidence": _REQUIRED_EVIDENCE,
        "scoring": {"type": "object", "properties": _SETTINGS},
        **_SETTINGS,
        "evidence_location": {
            "type": "object",
            "properties": {"page": _PAGE, "lines": {"type": ["string", "integer"]}},
        },
        "expected_behavior": {"type": "string"},
        "metadata": {
            "type": "object",
            "properties": {
                "difficulty": {"type": "string"},
                "category": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "notes": {"type": "string"},
            },
        },
    },
    "allOf": [
        {"if": {"required": ["type"], "properties": {"type": {"const": name}}}, "then": rules}
        for name, rules in _OF_TYPE.items()
        if rules
    ],
}

# What stands around the questions. Its type holds for questions that name none.
HEADER: Schema = {
    "type": "object",
    "properties": {
        "benchmark_type": _TYPE,
        "description": {"type": "string"},
        "document": {"type": "string"},
        "evaluation_criteria": {"type": "object"},
    },
    "if": {"not": {"required": ["benchmark_type"], "properties": {"benchmark_type": _TYPE}}},
    "then": {"properties": {"questions": {"items": {"required": ["type"], "properties": {"type": _TYPE}}}}},
    "allOf": [
        {
            "if": {"required": ["benchmark_type"], "properties": {"benchmark_type": {"const": name}}},
            "then": {
                "properties": {"questions": {"items": {"if": {"not": {"required": ["type"]}}, "then": rules}}},
            },
        }
        for name, rules in _OF_TYPE.items()
        if rules
    ],
}

# Keys that tell a file of this profile from those of others.
MARKS = (
    "benchmark_type", "required_evidence", "should_abstain", "required_quote", "hallucination_penalty",
    "expected.key_points", *(f"expected.{name}" for name in NAMES),
)  # fmt: skip


@cache
def _reader() -> Reader:
    return Reader(lexicon())


def question_problems(question: dict[str, Any]) -> Iterator[tuple[list[str | int], str]]:
    """What no schema can say: amounts without a number, ranges that end before they start, settings with two values."""
    yield from unreadable_amounts(question)
    expected = question.get("expected")
    ends = expected.get("date_range") if isinstance(expected, dict) else None
    if isinstance(ends, dict) and str(ends.get("start", "")) > str(ends.get("end", "")):
        yield ["expected", "date_range"], "a start that is not after the end"
    for name in ("should_abstain", "required_quote", "weight"):
        places: tuple[list[str | int], ...] = ([], ["expected"], ["scoring"])
        values = [(steps, part[name]) for steps in places if name in (part := _part(question, steps))]
        yield from (([*steps, name], f"one value of {name}") for steps, value in values[1:] if value != values[0][1])


def _part(question: dict[str, Any], steps: list[str | int]) -> dict[str, Any]:
    """The question itself, or an object in it; empty where there is none."""
    part = question.get(str(steps[0])) if steps else question
    return part if isinstance(part, dict) else {}


def unreadable_amounts(question: dict[str, Any]) -> Iterator[tuple[list[str | int], str]]:
    """Expected amounts that are texts without one number: no answer could equal them."""
    expected = question.get("expected")
    if not isinstance(expected, dict):
        return
    texts: list[tuple[list[str | int], Any]] = [(["expected", name], expected.get(name)) for name in NUMBERS]
    parts = expected.get("amount_breakdown")
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        steps: list[str | int] = ["expected", "amount_breakdown", index]
        texts.append(([*steps, "amount"], part.get("amount")) if isinstance(part, dict) else (steps, part))
    for steps, text in texts:
        if isinstance(text, str) and as_quantity(_reader(), text) is None:
            yield steps, "a number, or a text with one number or range in it"
