"""The JSON Schema of `legal_rag` questions, beside the names that scoring reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from rageval_batch.columnar.values import Reader, lexicon
from rageval_batch.model import Example
from rageval_batch.model.field_names import MISTAKEN_NAMES
from rageval_batch.model.field_table import OTHER_PLACE
from rageval_batch.model.schemas import QUESTION
from rageval_batch.profiles.legal_rag.fields import as_quantity
from rageval_batch.profiles.legal_rag.questions import NAMES, NUMBERS, PENALTIES, PRECISION_MIN, RECALL_MIN, TYPES

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
            "properties": {"amount": {**_AMOUNT, "title": "of one part"}},
            "required": ["amount"],
        },
        "minItems": 1,
    },
    "date": _ISO_DATE,
    "date_range": {
        "type": "object",
        "properties": {"start": {**_ISO_DATE, "title": "the first day"}, "end": {**_ISO_DATE, "title": "the last"}},
        "required": ["start", "end"],
    },
    "count": {"type": ["integer", "string"]},
    "text_answer": _TEXT,
    "boolean_answer": _FLAG,
    "entity": _TEXT,
}
assert set(_EXPECTED_TYPES) == set(NAMES)
_MEANINGS = {
    "amount_total": "an amount, or a text with one number",
    "amount_breakdown": "its parts: amounts, or objects with an amount",
    "date": "a day",
    "date_range": "a first and a last day",
    "count": "how many",
    "text_answer": "a text, compared softly",
    "boolean_answer": "yes or no",
    "entity": "a name that the answer must have",
}
# An output calls them otherwise; in `expected` those names are read by nobody.
_EXPECTED_FIELDS: dict[str, Schema] = {
    name: {**rules, "title": _MEANINGS[name], MISTAKEN_NAMES: [other for other in NAMES[name] if other != name]}
    for name, rules in _EXPECTED_TYPES.items()
}

# What may stand in the question, in `expected` or in `scoring`.
_SETTINGS: dict[str, Schema] = {
    "numeric_exact": {**_FLAG, "default": True, "title": "false: a number may be off by numeric_tolerance"},
    "date_exact": {**_FLAG, "default": True, "title": "false: a date may be off by date_tolerance_days"},
    "citation_required": {**_FLAG, "default": True, "title": "whether a citation is scored"},
    "should_abstain": {**_FLAG, "default": True, "title": "conflict_gap: whether the record leaves it open"},
    "required_quote": {**_TEXT, "title": "conflict_gap: what must be quoted; … stands for any text"},
    "additional_quotes": {"type": "array", "items": _TEXT, "default": [], "title": "quotes that do as well"},
    "hallucination_penalty": {"enum": list(PENALTIES), "default": "high", "title": "of every invention"},
    "key_points": {"type": "array", "items": _TEXT, "default": [], "title": "evidence_set: what the items must cover"},
    "evidence_count_min": {"type": "integer", "minimum": 0, "default": 0, "title": "relevant items that there must be"},
    "evidence_recall_min": {**_SHARE, "default": RECALL_MIN, "title": "recall from which it counts"},
    "evidence_precision_min": {**_SHARE, "default": PRECISION_MIN, "title": "precision from which it counts"},
    "weight": {"type": "number", "minimum": 0, "default": 1, "title": "of the question"},
}
_SETTINGS_TOO: Schema = {"properties": _SETTINGS, OTHER_PLACE: True}
_SOME_EVIDENCE: Schema = {"required": ["required_evidence"], "properties": {"required_evidence": {"minItems": 1}}}
_SOME_POINTS: Schema = {"required": ["key_points"], "properties": {"key_points": {"minItems": 1}}}

_REQUIRED_EVIDENCE: Schema = {
    "type": "array",
    "title": "passages of the record that the answer must rest on",
    "items": {
        "type": "object",
        "required": ["page", "must_include"],
        "properties": {
            "page": {**_PAGE, "title": "where it stands"},
            "must_include": {**_TEXT, "title": "a text that a citation or evidence item must hold"},
            "section": {"type": "string", "title": "equal where both have one"},
            "speaker": {"type": "string", "title": "equal where both have one"},
            "is_critical": {**_FLAG, "default": True, "title": "whether it must be cited"},
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
        "type": {**_TYPE, "title": "how it is scored; else the benchmark_type of the file"},
        **{name: {**_TEXT, "title": "the question's text"} for name in QUESTION},
        "expected": {
            "type": "object",
            "title": "fact_exact: typed values, all of which must be right",
            "properties": _EXPECTED_FIELDS,
            "allOf": [_SETTINGS_TOO],
        },
        "required_evidence": _REQUIRED_EVIDENCE,
        "scoring": {
            "type": "object",
            "title": "settings: the fields below may stand here, in expected or in the question itself",
            "allOf": [_SETTINGS_TOO],
        },
        **_SETTINGS,
        "evidence_location": {
            "type": "object",
            "title": "for people; not scored",
            "properties": {
                "page": {**_PAGE, "title": "of the record"},
                "lines": {"type": ["string", "integer"], "title": "of the page"},
            },
        },
        "expected_behavior": {"type": "string", "title": "for people; not scored"},
        "metadata": {
            "type": "object",
            "title": "what results are grouped by",
            "properties": {
                "difficulty": {"type": "string", "title": "a group"},
                "category": {"type": "string", "title": "a group"},
                "tags": {"type": "array", "items": {"type": "string"}, "title": "groups"},
                "notes": {"type": "string", "title": "for people; not scored"},
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
        "benchmark_type": {**_TYPE, "title": "the type of questions that name none"},
        "description": {"type": "string", "title": "for people"},
        "document": {"type": "string", "title": "for people"},
        "evaluation_criteria": {"type": "object", "title": "for people"},
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

_ITEMS: Schema = {
    "type": ["array", "object", "string"],
    "default": [],
    "items": {
        "type": ["object", "string", "number"],
        "properties": {
            "page": {"type": ["integer", "string", "number"], "title": "where it stands"},
            "text": {"type": "string", "title": "the passage"},
            "quote": {"type": "string", "title": "another name of text"},
            "section": {"type": "string", "title": "of the record"},
            "speaker": {"type": "string", "title": "who said it"},
        },
    },
}
_AMOUNT_GIVEN: Schema = {"type": ["number", "string"]}
_GIVEN: dict[str, Schema] = {
    "amount": {**_AMOUNT_GIVEN, "title": _MEANINGS["amount_total"]},
    "amount_breakdown": {"type": ["array", "number", "string"], "title": _MEANINGS["amount_breakdown"]},
    "date": {"type": "string", "title": "a day in any writing, as March 5, 2024 or 2024年3月5日"},
    "date_range": {"type": ["object", "string"], "title": "an object with start and end, or a text with both"},
    "count": {**_AMOUNT_GIVEN, "title": _MEANINGS["count"]},
    "text": {"type": ["string", "number"], "title": _MEANINGS["text_answer"]},
    "boolean": {"type": ["boolean", "string"], "title": _MEANINGS["boolean_answer"]},
    "entity": {"type": ["string", "number"], "title": "a name"},
}
ANSWER_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "answer": {"type": ["string", "number", "boolean"], "title": "the text; read where a field is absent"},
        **_GIVEN,
        "evidence": {**_ITEMS, "title": "passages of the record"},
        "citations": {**_ITEMS, "title": "pages of the record; citation is another name"},
        "abstained": {"type": ["boolean", "string"], "default": False, "title": "that the record leaves it open"},
    },
    "allOf": [
        {  # other names
            "properties": {
                "citation": _ITEMS,
                **{other: _GIVEN[names[0]] for names in NAMES.values() for other in names[1:]},
            },
            OTHER_PLACE: True,
        }
    ],
}
EXAMPLE = Example(
    question={
        "type": "fact_exact",
        "question": "How much was paid, and when?",
        "expected": {"amount_total": 42000, "date": "2024-03-05"},
        "required_evidence": [{"page": 2, "must_include": "42,000 yuan"}],
    },
    output={
        "output": {
            "answer": "42,000 yuan were paid on March 5, 2024.",
            "citations": [{"page": 2, "quote": "On March 5, 2024 he paid 42,000 yuan."}],
        }
    },
)

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
