"""`judge_protocol` as data: parameters, columns (they follow from the rubric), metrics, gates, and the sample list."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model import Column, Example, Gate, Metric, Param, Params
from rageval_batch.model.schemas import KEYS
from rageval_batch.profiles.judge_protocol.rubric import (
    DEFAULT_RUBRIC,
    OVERALL,
    SAMPLE,
    Rubric,
    rubric_of,
    rubric_problems,
)

WORDS = pa.large_list(LARGE_STRING)

BEFORE = (
    *(Column(name, LARGE_STRING, doc) for name, doc in (
        ("judge_model", "who judged: the column, else what the record says"),
        ("prompt_variant", "of the sample"),
        ("target_model", "whose output was judged"),
        ("output_id", "which output was judged"),
        ("file", "the file that the judgement is, or the column file"),
        ("method", "cross_judge or self_judge"),
    )),
    Column("valid", pa.bool_(), "no flag holds"),
    Column("flags", WORDS, "everything that makes the judgement unusable, in the order of the protocol"),
    Column("judge_flags", WORDS, "the judge's own flags"),
    Column("warnings", WORDS, "verdict_mismatch, quote_long, quote_not_found, duplicate: none of them invalidates"),
)  # fmt: skip
BEHIND = (
    Column(OVERALL, pa.int32(), "the sum as the judge gave it"),
    Column("overall_recomputed", pa.int64(), "the sum of the dimensions"),
    Column("verdict_declared", LARGE_STRING, "the verdict as the judge gave it"),
    Column("verdict", LARGE_STRING, "the verdict that the scores make"),
    Column("evidence_count", pa.int32(), "entries of evidence with dimension, quote and reason"),
    Column("quotes_found", pa.int32(), "of those, quotes that stand in the target's text; null without the text"),
    Column("score", pa.float64(), "overall_recomputed over the highest sum; null where invalid"),
    Column(
        "fail_reason",
        LARGE_STRING,
        "why the text cannot be read, else the first flag; missing where there is no record",
    ),
    Column(
        "fail_detail", LARGE_STRING, "what a record without scores or evidence has, and what is wanted", internal=True
    ),
    Column(
        "cross_score",
        pa.float64(),
        "the score of a valid judgement of another model, duplicates left out",
        internal=True,
    ),
    Column("cross_counted", pa.int8(), "1 where there is a cross_score", internal=True),
    Column("self_score", pa.float64(), "the same for a model that judged itself", internal=True),
    Column("self_counted", pa.int8(), "1 where there is a self_score", internal=True),
    Column(
        "due",
        pa.int8(),
        "1 on the row that stands for a judge and a sample of the list; null without a list",
        internal=True,
    ),
    Column("answered", pa.int8(), "on such a row, 1 if there is a record and 0 if it is missing", internal=True),
    Column("target_key", LARGE_STRING, "target_model for comparing: NFKC, strip, casefold", internal=True),
    Column(
        "judge_name",
        LARGE_STRING,
        "judge_model as the run first writes it: one name for all its spellings",
        internal=True,
    ),
    Column("target_name", LARGE_STRING, "target_model as the run first writes it", internal=True),
    Column(
        "base_variant", LARGE_STRING, "the variant that drift is measured from; null: the first by name", internal=True
    ),
)
CARRIED = (
    Column("judge_key", LARGE_STRING, "judge_model for comparing"),
    Column("key_known", pa.bool_(), "judge and sample are known, as far as the rubric asks for them"),
    Column("points", pa.large_list(pa.int64()), "the dimensions' scores, then the overall one"),
    Column("digest_a", pa.int64(), "of the text"),
    Column("digest_b", pa.int64(), "of the text"),
    Column("timestamp", LARGE_STRING, "meta.timestamp"),
)
_TAKEN = frozenset(
    column.lower()
    for column in (*KEYS.names, *(c.name for c in (*BEFORE, *BEHIND, *CARRIED)), "eval_set", "commit", "filename")
)


def columns_of(rubric: Rubric) -> tuple[Column, ...]:
    """The columns of a score row: one a dimension between those that all rubrics have."""
    scored = (Column(name, pa.int32(), f"{rubric.bottom} to {rubric.top}") for name in rubric.dimensions)
    return (*BEFORE, *scored, *BEHIND)


def columns_for(params: Params) -> tuple[Column, ...]:
    """The columns with these parameters."""
    return columns_of(rubric_of(params["rubric"]))


COLUMNS = columns_of(rubric_of(DEFAULT_RUBRIC))

PARAMS = (
    Param("rubric", DEFAULT_RUBRIC,
          "FILE.toml: what differs in dimensions, scale, evidence_required, [verdict] or [record]",
          problems=partial(rubric_problems, taken=_TAKEN)),
    Param("refusal_phrases", (), "phrases of a refusal beside the packaged ones: one, or a JSON list"),
    Param("base_variant", "", "the prompt variant that drift is measured from; empty: the first by name"),
)  # fmt: skip

METRICS = (
    # A question has many judgements: a run's score is the mean of them all (micro), not that of its questions' means.
    Metric("score", "cross-judging: valid, no duplicate", numerator="cross_score",
           denominator="cross_counted", column="cross_score"),
    Metric("self_score", "self-judging: valid, no duplicate", numerator="self_score",
           denominator="self_counted"),
    Metric("valid", "share of usable judgements, missing ones among the others", null_counts_as=0.0,
           numerator="valid", denominator="weight", coverage=True),
    Metric("answered", "share of the listed samples that judges have a record for", numerator="answered",
           denominator="due", coverage=True),
)  # fmt: skip

GATES = (Gate("answered_share", "answered", "micro", op=">=", limit=1.0),)

_META = ("judge_model", *SAMPLE, "method")
_VERDICTS = ("FAIL", "PARTIAL", "PASS")
_KEY_MEANINGS = {
    "judge_model": "the model that judges",
    "target_model": "the model whose output is judged",
    "question_id": "what was asked",
    "prompt_variant": "with which prompt",
    "output_id": "the output that is judged",
    "method": "cross_judge or self_judge",
    "timestamp": "when it was judged",
}
SAMPLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": list(SAMPLE),
    "properties": {
        name: {
            "type": "string", "pattern": "\\S", "description": "a text that is not blank", "title": _KEY_MEANINGS[name],
        }
        for name in SAMPLE
    },
}  # fmt: skip

_PACKAGED = rubric_of(DEFAULT_RUBRIC)
_NAMED = {name: {"type": ["string", "integer"], "title": _KEY_MEANINGS[name]} for name in (*_META, "timestamp")}
# A record of the packaged rubric; another rubric may have the same things in other places.
RECORD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["scores"],
    "properties": {
        "meta": {"type": "object", "properties": _NAMED, "title": "who judged what; columns of the row win over it"},
        "scores": {
            "type": "object",
            "title": "of each dimension of the rubric, and their sum",
            "required": [*_PACKAGED.dimensions, OVERALL],
            "properties": {
                **{
                    name: {
                        "type": "integer", "minimum": _PACKAGED.bottom, "maximum": _PACKAGED.top,
                        "title": f"{_PACKAGED.bottom} to {_PACKAGED.top}",
                    }
                    for name in _PACKAGED.dimensions
                },
                OVERALL: {"type": "integer", "title": "the sum"},
            },
        },
        "verdict": {"enum": list(_VERDICTS), "title": "as the judge has it; what counts is made from the scores"},
        "flags": {"type": "array", "items": {"type": "string"}, "default": [], "title": "the judge's own"},
        "evidence": {
            "type": "array",
            "title": "at least one entry for every dimension",
            "items": {
                "type": "object",
                "properties": {
                    "dimension": {"enum": list(_PACKAGED.dimensions), "title": "what it is evidence for"},
                    "quote": {"type": "string", "title": "from the text that is judged"},
                    "reason": {"type": "string", "title": "why"},
                },
            },
        },
    },
}  # fmt: skip
_JUDGED = {
    "question_id": "q1", "prompt_variant": "A", "target_model": "model-a", "output_id": "model-a_q1_A",
}  # fmt: skip
EXAMPLE = Example(
    question=_JUDGED,
    output={
        "output": {
            "meta": {"judge_model": "model-b", **_JUDGED, "method": "cross_judge", "timestamp": "2025-03-03"},
            "scores": {
                **dict.fromkeys(_PACKAGED.dimensions, _PACKAGED.top),
                OVERALL: _PACKAGED.top * len(_PACKAGED.dimensions),
            },
            "verdict": "PASS",
            "flags": [],
            "evidence": [
                {"dimension": name, "quote": "up to five books", "reason": "The answer says so."}
                for name in _PACKAGED.dimensions
            ],
        }
    },
    contexts=({"output_id": _JUDGED["output_id"], "text": "Readers may borrow up to five books for thirty days."},),
)
