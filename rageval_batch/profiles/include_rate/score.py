"""`include_rate`: required and forbidden phrases, citations and weights."""

from __future__ import annotations

from array import array
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, kernels, text
from rageval_batch.columnar.json_numbers import value_text
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, Strings, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.model import EvalSet, Params, Scored
from rageval_batch.profiles.include_rate.declaration import COLUMNS, PAGES

MISSING_OUTPUT, EMPTY_OUTPUT = (
    json_objects.REASONS[json_objects.MISSING_OUTPUT],
    json_objects.REASONS[json_objects.EMPTY_OUTPUT],
)


_TEXTS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Phrases:
    """Groups of phrases of all questions: as they were written, as they are compared, and the range of each group."""

    written: Strings
    texts: Strings
    groups: Offsets
    _: KW_ONLY
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
    _: KW_ONLY
    citation_required: Flags
    citations: text.PatternSet


# --- the questions ------------------------------------------------------------------------------------------------


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The phrases of all questions, each normalised once."""
    required, forbidden, citation_required = _Groups(), _Groups(), array("b")
    for question in eval_set.objects_once():
        required.add([*question.get("must_include", []), *question.get("must_include_any", [])])
        forbidden.add(question.get("must_not_include", []))
        citation_required.append(question.get("require_citation", False))
    more_patterns = PAGES if params["citation_style"] == "any" else ()
    return Prepared(
        params,
        _phrases(required, params),
        _phrases(forbidden, params),
        citation_required=np.array(citation_required, np.bool_),
        citations=text.PatternSet((*params["citation_patterns"], *more_patterns)),
    )


def _compared(column: Strings, params: Params) -> Strings:
    """Answers or phrases as they are compared: normalised, and with words marked where only whole words count."""
    normal = text.normalized(column, params["normalizer"])
    return text.word_marked(normal) if params["phrase_match"] == "word" else normal


class _Groups:
    """The groups of phrases of questions, one question after the other; texts are soon Arrow, which is smaller."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._texts: list[str] = []
        self._before = 0  # texts of the parts
        self.groups, self.questions = array("q", [0]), array("q", [0])

    def add(self, groups: list[Any]) -> None:
        """The groups of the next question."""
        for entry in groups:
            self._texts += _group(entry)
            self.groups.append(self._before + len(self._texts))
        self.questions.append(len(self.groups) - 1)
        if len(self._texts) >= _TEXTS_AT_ONCE:
            self._parts.append(pa.array(self._texts, LARGE_STRING))
            self._before += len(self._texts)
            self._texts = []

    def written(self) -> Strings:
        """All phrases."""
        return from_arrow(pa.concat_arrays([*self._parts, pa.array(self._texts, LARGE_STRING)]))


def _phrases(found: _Groups, params: Params) -> Phrases:
    """The groups of all questions with every phrase as it is compared."""
    written = found.written()
    groups, questions = np.array(found.groups, np.int64), np.array(found.questions, np.int64)
    return Phrases(written, _compared(written, params), groups, questions=questions)


def _group(entry: Any) -> list[str]:
    """The phrases of a group, which may be one phrase by itself; a number is its JSON text."""
    phrases = entry if isinstance(entry, list) else [entry]
    return [value_text(phrase) for phrase in phrases]


# --- the answers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NormalizedAnswers:
    """The distinct answers of a batch, as they are and normalised, and which of them each row has."""

    raw: Strings
    normal: Strings
    blank: Flags
    _: KW_ONLY
    code: Ints


def _normalized_answers(column: pa.Array, params: Params) -> NormalizedAnswers:
    """Distinct answers, each normalised once; one that is blank is the empty answer for every normaliser."""
    coded = column.fill_null("").dictionary_encode()
    raw = from_arrow(coded.dictionary)
    blank = text.blank(raw)
    if blank.any():
        empty = pa.scalar("", LARGE_STRING)
        raw = from_arrow(pc.if_else(pa.array(blank), empty, coded.dictionary))
    return NormalizedAnswers(raw, _compared(raw, params), blank, code=coded.indices.to_numpy())


@dataclass(frozen=True)
class Checks:
    """What was looked for in the answers of a batch and found: columns and explanations are both made from this.

    `required` and `forbidden` are (groups found in each row, the first phrase found of every group of every row, -1
    for none).
    """

    answers: NormalizedAnswers
    required: tuple[Ints, Ints]
    forbidden: tuple[Ints, Ints]
    _: KW_ONLY
    citation_required: Flags
    citation_ok: Flags


def check(prepared: Prepared, batch: pa.RecordBatch) -> Checks:
    """Phrases and citations of each answer against its question; a blank answer has none of them."""
    question = batch.column("question").to_numpy()
    answers = _normalized_answers(batch.column("output"), prepared.params)
    citation_required = prepared.citation_required[question]
    return Checks(
        answers,
        _hits(prepared.required, answers, question),
        _hits(prepared.forbidden, answers, question),
        citation_required=citation_required,
        citation_ok=~citation_required | _cited(prepared, answers, citation_required),
    )


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column for a batch of answers; a blank answer is scored as an empty one."""
    params = prepared.params
    checks = check(prepared, batch)
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
