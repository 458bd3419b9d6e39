"""A profile declared outside the package, in one file: does the answer have the words that the question asks for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.model import (
    LARGE_STRING,
    ByQuestion,
    Column,
    EvalSet,
    Explanation,
    Gate,
    Metric,
    Param,
    Params,
    Profile,
    QuestionFormat,
    Scored,
    Scoring,
    Section,
    Summary,
)


@dataclass(frozen=True)
class Prepared:
    """The words of every question."""

    words: tuple[tuple[str, ...], ...]
    fold: bool


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """What each question asks for."""
    return Prepared(tuple(tuple(question["words"]) for question in eval_set.objects), params["case"] == "fold")


def found_words(prepared: Prepared, batch: pa.RecordBatch) -> list[dict[str, bool]]:
    """For each answer, whether each word is there."""
    out = []
    for question, output in zip(batch.column("question").to_pylist(), batch.column("output").to_pylist(), strict=True):
        text = (output or "").casefold() if prepared.fold else output or ""
        words = prepared.words[question]
        out.append({word: (word.casefold() if prepared.fold else word) in text for word in words})
    return out


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """The share of the words that are there; an answer that is null or empty has none."""
    found = found_words(prepared, batch)
    hits = np.array([sum(words.values()) for words in found], np.int32)
    total = np.array([len(words) for words in found], np.int32)
    empty = [not output for output in batch.column("output").to_pylist()]
    return Scored(
        {
            "score": pa.array(hits / np.maximum(total, 1)),
            "hits": pa.array(hits),
            "words": pa.array(total),
            "fail_reason": pa.array(["empty_output" if one else None for one in empty], LARGE_STRING),
        }
    )


def missing(prepared: Prepared, question: Any) -> dict[str, pa.Array]:
    """An unanswered question: score 0."""
    return {
        "score": pa.array(np.zeros(len(question))),
        "fail_reason": pa.repeat(pa.scalar("missing_output", LARGE_STRING), len(question)),
    }


def explain(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every word and whether it is there."""
    lines = ({"word": word, "found": found} for word, found in found_words(prepared, batch)[0].items())
    return Explanation((Section("words", tuple(lines)),))


PROFILE = Profile(
    name="has_words",
    version=1,
    title="Words that an answer must have",
    doc="The share of the question's words that stand in the answer. 0 to 1.",
    params=(Param("case", "keep", "fold: capitals do not matter", choices=("keep", "fold")),),
    columns=(
        Column("score", pa.float64(), "share of the words that are there"),
        Column("hits", pa.int32(), "words that are there"),
        Column("words", pa.int32(), "words that are asked for"),
        Column("fail_reason", LARGE_STRING, "missing_output or empty_output"),
    ),
    metrics=(
        Metric("score", "0 to 1", null_counts_as=0.0, numerator="hits", denominator="words"),
        Metric("hits", "words that are there", scale=None),
    ),
    gates=(Gate("score_avg", "score", "mean", op=">=", limit=0.7),),
    inputs=ByQuestion(
        questions=QuestionFormat(
            schema={
                "type": "object",
                "required": ["words"],
                "properties": {"words": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
            },
            marks=("words",),
        )
    ),
    scoring=Scoring(prepare=prepare, score=score, missing=missing, explain=explain),
    summary=Summary(stats={"score_avg": ("score", "mean"), "hits": ("hits", "sum")}, headline=("score_avg",)),
)
