"""`eval_json_v2` as data: fields of an answer, parameters, columns, metrics, gates, and what a question looks like."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rageval_batch.columnar import text
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model import Column, Example, Gate, Metric, Param
from rageval_batch.model.field_names import schema_of_first
from rageval_batch.model.field_table import OTHER_PLACE
from rageval_batch.model.schemas import EXPECTED, QUESTION

FIELDS = (
    "target_audience",
    "main_topic",
    "sub_topic",
    "detailed_description",
    "original_evidence",
    "source_map",
    "predicted_questions",
)
CLASSES = FIELDS[:3]
LISTS = ("detailed_description", "predicted_questions")
PARTS = {
    "recall": "matched / expected items",
    "precision": "matched / got items",
    "f1": "harmonic mean of recall and precision",
}
PARAMS = (
    Param("json_mode", "strict", "lenient also scores JSON inside a code fence or amid other text",
          choices=("strict", "lenient")),
    Param("soft_threshold", text.SOFT_THRESHOLD, "bigram Jaccard from which two texts match", low=0, high=1),
    Param("containment_min", 1, "characters of the shorter text from which containment is a match", low=1),
    Param("unicode_form", "none", "normal form before the soft match", choices=text.UNICODE_FORMS),
    Param("list_match", "one_to_one", "independent: an item matches if any item of the other side does",
          choices=("one_to_one", "independent")),
    Param("list_matcher", "bigram_jaccard", "how list items that do not contain each other are compared",
          choices=("bigram_jaccard", "indel")),
    Param("indel_threshold", 0.80, "normalised Indel similarity from which items match", low=0, high=1),
    Param("description_cap", 12, "descriptions of an answer that count", low=0),
    Param("questions_cap", 10, "predicted questions of an answer that count", low=0),
    Param("keywords", "bigram", "keywords of Han text: pairs of characters, or words", choices=text.KEYWORD_MODES),
    Param("keyword_cap", 30, "keywords of the expected evidence that count", low=0),
    Param("full_hits", 8, "keyword hits for full evidence", low=1),
    Param("full_length", 40, "characters of evidence for full marks", low=1),
    Param("entry_cap", 12, "entries of source_map that count", low=0),
    Param("ref_cap", 6, "refs of an entry that count", low=0),
    Param("anchor_cap", 6, "anchors of a ref that count", low=0),
    Param("w_target_audience", 0.10, "weight of target_audience"),
    Param("w_main_topic", 0.10, "weight of main_topic"),
    Param("w_sub_topic", 0.10, "weight of sub_topic"),
    Param("w_detailed_description", 0.30, "weight of detailed_description_f1"),
    Param("w_original_evidence", 0.20, "weight of original_evidence"),
    Param("w_predicted_questions", 0.10, "weight of predicted_questions_f1"),
    Param("w_grounding", 0.10, "weight of grounding"),
)  # fmt: skip

COLUMNS = (
    Column("score", pa.float64(), "0 to 100"),
    Column("schema_ok", pa.bool_(), "one JSON object with all seven fields of their types"),
    Column("repaired", pa.bool_(), "scored from inside a fence or amid other text (json_mode=lenient)"),
    Column("fail_reason", LARGE_STRING, "the first thing that is wrong with the answer"),
    Column("fail_detail", LARGE_STRING, "the fields that are absent or of another type, or the shape of source_map"),
    Column("context_missing", pa.bool_(), "no retrieved chunks were given for this question"),
    *(Column(name, pa.float64(), "1 on a soft match, else 0") for name in CLASSES),
    *(
        Column(f"{name}_{part}", pa.float64(), doc)
        for name in LISTS
        for part, doc in PARTS.items()
    ),
    Column("evidence_keywords", pa.int32(), "keywords of the expected evidence that count"),
    Column("evidence_hits", pa.int32(), "of those, found in the answer's evidence"),
    Column("original_evidence", pa.float64(), "keyword hits times length, each up to 1"),
    Column("grounding_ok_refs", pa.int32(), "refs whose file and an anchor are in the context"),
    Column("grounding_total_refs", pa.int32(), "refs that count"),
    Column("grounding", pa.float64(), "ok / total refs"),
)  # fmt: skip

METRICS = (
    *(  # a failed answer must not raise the mean of a sub-score
        Metric(name, doc, higher_is_better=higher, null_counts_as=0.0)
        for name, doc, higher in (
            ("score", "0 to 100", True),
            ("schema_ok", "share of answers with a right schema", True),
            ("repaired", "share of answers that were mended", False),
            ("context_missing", "share of answers without context", False),
            *((name, f"{name} right", True) for name in CLASSES),
            *((f"{name}_{part}", f"{part} of {name}", True) for name in LISTS for part in PARTS),
            ("original_evidence", "evidence found and long enough", True),
        )
    ),
    Metric(
        "grounding", "refs that hold", null_counts_as=0.0, numerator="grounding_ok_refs",
        denominator="grounding_total_refs",
    ),
)  # fmt: skip

GATES = (
    Gate("eval_score_avg", "score", "mean", op=">=", limit=95.0),
    Gate("schema_pass_rate", "schema_ok", "mean", op=">=", limit=0.98),
)


_TEXT = {"type": "string", "pattern": "\\S", "description": "a text that is not blank"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_MEANINGS = {
    "target_audience": "whom the answer is for",
    "main_topic": "what it is about",
    "sub_topic": "what it is about, closer",
    "original_evidence": "the passage of the source that the answer rests on",
    "detailed_description": "the statements of the answer, one an item",
    "predicted_questions": "what will probably be asked next",
}
_EXAMPLE_FIELDS = {
    name: {**(_TEXTS if name in LISTS else _TEXT), "title": meaning} for name, meaning in _MEANINGS.items()
}
_EXAMPLE: dict[str, Any] = {
    "type": "object",
    "required": list(_EXAMPLE_FIELDS),
    "properties": _EXAMPLE_FIELDS,
    "title": "the answer that is wanted; its fields may also stand in expected itself",
    "description": f"an object with {', '.join(_EXAMPLE_FIELDS)}",
}
_EXPECTED: dict[str, Any] = {
    "type": "object",
    "properties": {"source_map": {"type": "array", "title": "where the evidence stands; not scored"}},
    "title": "what is expected",
    # The fields may stand in `expected` itself, without the level between.
    "if": {
        "not": {"required": ["answer_example"]},
        "anyOf": [{"required": [name]} for name in _EXAMPLE_FIELDS],
    },
    "then": {**_EXAMPLE, OTHER_PLACE: True},
    "else": {"required": ["answer_example"], "properties": {"answer_example": _EXAMPLE}},
}
QUESTION_SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string", "title": "the question's text"} for name in QUESTION},
    **schema_of_first(EXPECTED, _EXPECTED, "expected.answer_example"),
}
_REFS = {
    "type": "array",
    "title": "places that hold the part",
    "items": {
        "type": "object",
        "properties": {
            "file": {"type": "string", "title": "equal to the source_path of a retrieved chunk"},
            "page": {"type": ["integer", "string"], "title": "not scored"},
            "anchors": {"type": "array", "items": {"type": "string"}, "title": "texts of which one is in the chunk"},
        },
    },
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": list(FIELDS),
    "properties": {
        **{
            name: {"type": "array" if name in LISTS else "string", "title": meaning}
            for name, meaning in _MEANINGS.items()
        },
        "source_map": {
            "type": "array",
            "title": "where each part of the answer comes from",
            "items": {
                "type": "object",
                "properties": {"part": {"type": "string", "title": "the field of the answer"}, "refs": _REFS},
            },
        },
    },
}
_EVIDENCE = "Section 2.1: rooms are ready from 15:00; early guests leave luggage."
_WANTED = {
    "target_audience": "front desk",
    "main_topic": "check-in",
    "sub_topic": "early arrival",
    "detailed_description": ["rooms are ready from 15:00", "luggage can be left at the desk"],
    "original_evidence": _EVIDENCE,
    "predicted_questions": ["Is there a fee for early check-in?"],
}
EXAMPLE = Example(
    question={"question": "A guest arrives before noon. What now?", "expected": {"answer_example": _WANTED}},
    output={
        "output": {
            **_WANTED,
            "source_map": [
                {
                    "part": "original_evidence",
                    "refs": [{"file": "handbook.pdf", "page": 6, "anchors": ["rooms are ready from 15:00"]}],
                }
            ],
        }
    },
    contexts=({"source_path": "handbook.pdf", "text": _EVIDENCE},),
)
