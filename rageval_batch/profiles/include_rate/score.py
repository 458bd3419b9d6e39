"""`include_rate`: required and forbidden phrases, citations and weights."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, kernels, text
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, Strings, from_arrow, from_list
from rageval_batch.model.field_names import schema_of_first
from rageval_batch.model.profile import Column, Explanation, Metric, Param, Params, Profile, Scored, Section
from rageval_batch.model.schemas import QUESTION, EvalSet

MISSING_OUTPUT, EMPTY_OUTPUT = (
    json_objects.REASONS[json_objects.MISSING_OUTPUT],
    json_objects.REASONS[json_objects.EMPTY_OUTPUT],
)
PAGE = r"(?i)(?:\(\s*)?стр\.?\s*\d+"


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
    Metric("include_rate", "required groups found; micro: of those of answered questions", True, 0.0,
           "include_hits", "include_total"),
    Metric("safe_ok", "share of answers without a forbidden phrase", null_counts_as=0.0),
    Metric("citation_ok", "share of answers with the citation they need", null_counts_as=0.0),
    Metric("exclude_hits", "forbidden phrases in an answer", higher_is_better=False, scale=None),
    Metric("citation_penalty", "taken off for absent citations", higher_is_better=False),
)  # fmt: skip


@dataclass(frozen=True)
class Phrases:
    """Groups of phrases of all questions: as they were written, and normalised with the range of each group."""

    written: list[list[list[str]]]  # of each question, the groups of phrases
    texts: Strings
    groups: Offsets
    questions: Offsets

    def totals(self) -> npt.NDArray[np.int64]:
        """How many groups each question has."""
        return np.diff(self.questions)


@dataclass(frozen=True)
class Prepared:
    """An eval set with its phrases normalised and its patterns compiled."""

    params: Params
    required: Phrases
    forbidden: Phrases
    citation_required: Flags
    citations: text.PatternSet


# --- the questions ------------------------------------------------------------------------------------------------


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The phrases of all questions, each normalised once."""
    required, forbidden, citation_required = [], [], []
    for question in eval_set.objects:
        groups = [*question.get("must_include", []), *question.get("must_include_any", [])]
        required.append([_group(entry) for entry in groups])
        forbidden.append([_group(entry) for entry in question.get("must_not_include", [])])
        citation_required.append(question.get("require_citation", False))
    normalizer = params["normalizer"]
    return Prepared(
        params,
        _phrases(required, normalizer),
        _phrases(forbidden, normalizer),
        np.array(citation_required, np.bool_),
        text.PatternSet(params["citation_patterns"]),
    )


def _phrases(written: list[list[list[str]]], normalizer: str) -> Phrases:
    """The groups of all questions with every phrase normalised."""
    groups = [group for question in written for group in question]
    return Phrases(
        written,
        text.normalized(from_list([phrase for group in groups for phrase in group]), normalizer),
        np.cumsum([0, *map(len, groups)], dtype=np.int64),
        np.cumsum([0, *map(len, written)], dtype=np.int64),
    )


def _group(entry: Any) -> list[str]:
    """The phrases of a group, which may be one phrase by itself; a number is its JSON text."""
    phrases = entry if isinstance(entry, list) else [entry]
    return [phrase if isinstance(phrase, str) else json.dumps(phrase) for phrase in phrases]


# --- the answers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalizedAnswers:
    """The distinct answers of a batch, as they are and normalised, and which of them each row has."""

    raw: Strings
    normal: Strings
    blank: Flags
    code: Ints


def _normalized_answers(column: pa.Array, normalizer: str) -> NormalizedAnswers:
    """Distinct answers, each normalised once; one that is blank is the empty answer for every normaliser."""
    coded = column.fill_null("").dictionary_encode()
    raw = from_arrow(coded.dictionary)
    blank = text.blank(raw)
    if blank.any():
        empty = pa.scalar("", LARGE_STRING)
        raw = from_arrow(pc.if_else(pa.array(blank), empty, coded.dictionary))
    return NormalizedAnswers(raw, text.normalized(raw, normalizer), blank, coded.indices.to_numpy())


@dataclass(frozen=True)
class Checks:
    """What was looked for in the answers of a batch and found: columns and explanations are both made from this.

    `required` and `forbidden` are (groups found in each row, the first phrase found of every group of every row, -1
    for none).
    """

    answers: NormalizedAnswers
    required: tuple[Ints, Ints]
    forbidden: tuple[Ints, Ints]
    citation_required: Flags
    citation_ok: Flags


def _check(prepared: Prepared, batch: pa.RecordBatch) -> Checks:
    """Phrases and citations of each answer against its question; a blank answer has none of them."""
    question = batch.column("question").to_numpy()
    answers = _normalized_answers(batch.column("output"), prepared.params["normalizer"])
    citation_required = prepared.citation_required[question]
    return Checks(
        answers,
        _hits(prepared.required, answers, question),
        _hits(prepared.forbidden, answers, question),
        citation_required,
        ~citation_required | _cited(prepared, answers, citation_required),
    )


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column for a batch of answers; a blank answer is scored as an empty one."""
    params = prepared.params
    checks = _check(prepared, batch)
    hits, excluded = checks.required[0], checks.forbidden[0]
    total = prepared.required.totals()[batch.column("question").to_numpy()]
    rate = np.where(total > 0, hits / np.maximum(total, 1), 1.0)
    safe = (excluded == 0).astype(np.float64)
    penalty = np.where(checks.citation_ok, 0.0, params["citation_penalty"])
    values = {
        "score": np.maximum(0.0, params["w_include"] * rate + params["w_safe"] * safe - penalty),
        "include_hits": hits,
        "include_total": total,
        "include_rate": rate,
        "exclude_hits": excluded,
        "safe_ok": safe,
        "require_citation": checks.citation_required,
        "citation_ok": checks.citation_ok,
        "citation_penalty": penalty,
    }
    columns = {name: pa.array(value, _TYPE_OF[name]) for name, value in values.items()}
    reasons = pa.array([None, EMPTY_OUTPUT], LARGE_STRING)
    columns["fail_reason"] = reasons.take(pa.array(checks.answers.blank[checks.answers.code].astype(np.int8)))
    return Scored(columns)


_TYPE_OF = {column.name: column.type for column in COLUMNS}


def _hits(phrases: Phrases, answers: NormalizedAnswers, question: Ints) -> tuple[Ints, Ints]:
    """(how many groups of its question each answer hits, the first phrase found of every group, else -1)."""
    normal, code = answers.normal, answers.code
    return kernels.group_hits(
        normal.data, normal.starts[code], normal.ends[code],
        question, phrases.questions, phrases.groups, phrases.texts.data, phrases.texts.offsets,
    )  # fmt: skip


def _cited(prepared: Prepared, answers: NormalizedAnswers, required: Flags) -> Flags:
    """Whether the raw answer has a citation; only answers that need one are looked at, each distinct one once."""
    needed = np.unique(answers.code[required])
    cited: Flags = np.zeros(len(answers.raw), np.bool_)
    cited[needed] = prepared.citations.found(from_arrow(answers.raw.to_arrow().take(pa.array(needed))))
    return cited[answers.code]


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """An unanswered question: score 0, and what it asks for; its other columns are null."""
    return {
        "score": pa.array(np.zeros(len(question))),
        "require_citation": pa.array(prepared.citation_required[question]),
        "fail_reason": pa.repeat(pa.scalar(MISSING_OUTPUT, LARGE_STRING), len(question)),
    }


# --- one answer, taken apart --------------------------------------------------------------------------------------


def explain(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every group with the phrase that hit, forbidden phrases with whether they are there, and the citation."""
    question = int(batch.column("question")[0].as_py())
    checks = _check(prepared, batch)
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
        "patterns": " | ".join(prepared.params["citation_patterns"]),
    }
    sections += [Section("required", tuple(required)), Section("forbidden", tuple(forbidden))]
    return Explanation((*sections, Section("citation", (citation,))))


def _group_hits(phrases: Phrases, question: int, hits: Ints) -> list[tuple[list[str], list[str], int | None]]:
    """(phrases as written, as compared, place of the one that hit) of every group; `hits` is one phrase a group."""
    bounds = phrases.groups[phrases.questions[question] : phrases.questions[question + 1] + 1].tolist()
    return [
        (written, [phrases.texts.at(k) for k in range(first, last)], hit - first if hit >= 0 else None)
        for written, first, last, hit in zip(
            phrases.written[question], bounds[:-1], bounds[1:], hits.tolist(), strict=True
        )
    ]


_PHRASE: dict[str, Any] = {"type": ["string", "number"]}  # a number counts as its JSON text
_PHRASES: dict[str, Any] = {"type": "array", "items": _PHRASE}
_GROUPS: dict[str, Any] = {"type": "array", "items": {"type": ["array", "string", "number"], "items": _PHRASE}}
_FIELDS = {
    "must_include": _PHRASES,
    "must_include_any": _GROUPS,
    "must_not_include": _PHRASES,
    "require_citation": {"type": "boolean"},
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
    "properties": _FIELDS,
    "allOf": [
        schema_of_first(QUESTION, {"type": "string"}, f"the question's text: {', '.join(QUESTION)}"),
        {
            "anyOf": [{"required": [name], "properties": {name: rules}} for name, rules in _TESTS.items()],
            "description": f"something to test: one or more of {', '.join(_FIELDS)}",
        },
    ],
}

PROFILE = Profile(
    name="include_rate",
    title="Required and forbidden phrases, citations, weights",
    doc=(
        "The answer must have a phrase of every required group, none of the forbidden phrases and, where the question "
        "wants one, a citation. Both sides are normalised, so that 78,3% finds 78.3%. 0 to 1, weighted by question."
    ),
    params=PARAMS,
    columns=COLUMNS,
    metrics=METRICS,
    gates=(),
    run_stat="weighted_mean",
    score_top=1.0,
    prepare=prepare,
    score=score,
    explain=explain,
    missing_columns=missing_columns,
    summary={
        "weighted_score": ("score", "weighted_mean"),
        "score_avg": ("score", "mean"),
        "include_rate_avg": ("include_rate", "mean"),
        "safe_rate": ("safe_ok", "mean"),
        "citation_rate": ("citation_ok", "mean"),
        "exclude_hits_sum": ("exclude_hits", "sum"),
    },
    headline=("weighted_score", "include_rate_avg", "safe_rate"),
    tallies={},
    question_schema=QUESTION_SCHEMA,
    question_marks=tuple(_FIELDS),
)
