"""`include_rate` as data: parameters, columns, metrics, and what a question looks like."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pyarrow as pa

from rageval_batch.columnar import text
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model import Column, Example, Metric, Param
from rageval_batch.model.field_names import schema_of_first
from rageval_batch.model.schemas import QUESTION

PAGE = r"(?i)(?:\(\s*)?стр\.?\s*\d+"
# What a page or a source is cited by in English, Russian, Chinese and Japanese.
PAGES = (
    r"(?i)(?<![a-z])(?:pages?|pp?\.)\s*\d+",
    r"\[\s*\d{1,4}(?:\s*[,;–-]\s*\d{1,4})*\s*\]",
    r"(?i)(?<![а-яё])(?:стр\.?|страниц[а-яё]{0,3}|сс?\.)\s*\d+",
    r"第\s*[\d零〇一二两三四五六七八九十百千]+\s*[页頁]",
    r"\d+\s*(?:ページ|頁)",
)
CITATION_STYLES = ("patterns", "any")
PHRASE_MATCHES = ("substring", "word")


def _pattern_problem(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python may read in another way some day is still a pattern
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression of Python: {error}"
    return None


PARAMS = (
    Param("normalizer", "ru_numeric", "what answers and phrases go through before they are compared",
          choices=text.NORMALIZERS),
    Param("citation_patterns", (PAGE,), "regular expressions; a citation is what any of them finds in the raw answer",
          problem=_pattern_problem),
    Param("citation_style", "patterns", "patterns: citation_patterns; any: p. 12, [12], стр. 12, 第12页, 12ページ too",
          choices=CITATION_STYLES),
    Param("phrase_match", "substring", "word: not inside a longer word or number, as 5% in 12.5% and BER in Dubber",
          choices=PHRASE_MATCHES),
    Param("w_include", 0.7, "weight of include_rate", low=0, high=100),
    Param("w_safe", 0.3, "weight of safe_ok", low=0, high=100),
    Param("citation_penalty", 0.2, "taken off where a required citation is absent", low=0, high=100),
)  # fmt: skip

COLUMNS = (
    Column("score", pa.float64(), "w_include * include_rate + w_safe * safe_ok - citation_penalty, at least 0"),
    Column("include_hits", pa.int32(), "groups with a phrase in the answer"),
    Column("include_total", pa.int32(), "groups of must_include and must_include_any"),
    Column("include_rate", pa.float64(), "hits / total, 1 without groups"),
    Column("exclude_hits", pa.int32(), "forbidden phrases in the answer"),
    Column("safe_ok", pa.float64(), "1 without a forbidden phrase, else 0"),
    Column("require_citation", pa.bool_(), "the question wants a citation"),
    Column("citation_ok", pa.bool_(), "a citation is there or not wanted"),
    Column("citation_penalty", pa.float64(), "what a citation that is absent costs"),
    Column("fail_reason", LARGE_STRING, "missing_output or empty_output"),
)

# A question without an answer counts as 0 where more is better, and not at all where less is: it must raise no mean.
METRICS = (
    Metric("score", "0 to 1", null_counts_as=0.0),
    Metric("include_rate", "required groups found; micro: of those of answered questions", null_counts_as=0.0,
           numerator="include_hits", denominator="include_total"),
    Metric("safe_ok", "share of answers without a forbidden phrase", null_counts_as=0.0),
    Metric("citation_ok", "share of answers with the citation they need", null_counts_as=0.0),
    Metric("exclude_hits", "forbidden phrases in an answer", higher_is_better=False, scale=None),
    Metric("citation_penalty", "taken off for absent citations", higher_is_better=False),
)  # fmt: skip

_PHRASE: dict[str, Any] = {"type": ["string", "number"]}  # a number counts as its JSON text
_PHRASES: dict[str, Any] = {"type": "array", "items": _PHRASE}
_GROUPS: dict[str, Any] = {"type": "array", "items": {"type": ["array", "string", "number"], "items": _PHRASE}}
FIELDS: dict[str, Any] = {
    "must_include": {**_PHRASES, "default": [], "title": "phrases that must be in the answer, each a group of its own"},
    "must_include_any": {
        **_GROUPS,
        "default": [],
        "title": "groups of phrases, of each one must be in the answer",
    },
    "must_not_include": {**_PHRASES, "default": [], "title": "phrases that must not be in the answer"},
    "require_citation": {"type": "boolean", "default": False, "title": "whether the answer must cite a page"},
}
# What a field must hold for the question to test something; a blank phrase is never found, so it forbids nothing.
_TESTS = {
    "must_include": {"minItems": 1},
    "must_include_any": {"minItems": 1},
    "must_not_include": {"contains": {"anyOf": [{"type": "number"}, {"pattern": "\\S"}]}},
    "require_citation": {"const": True},
}
QUESTION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": FIELDS,
    "allOf": [
        schema_of_first(
            QUESTION, {"type": "string", "title": "the question's text"}, f"the question's text: {', '.join(QUESTION)}"
        ),
        {
            "anyOf": [{"required": [name], "properties": {name: rules}} for name, rules in _TESTS.items()],
            "description": f"something to test, not empty or blank: one or more of {', '.join(FIELDS)}",
        },
    ],
}
EXAMPLE = Example(
    question={
        "question": "How did revenue develop in 2024?",
        "must_include": ["12.5%"],
        "must_include_any": [["rose", "grew"]],
        "must_not_include": ["fell"],
    },
    output={"output": "In 2024 revenue grew by 12.5%."},
)
