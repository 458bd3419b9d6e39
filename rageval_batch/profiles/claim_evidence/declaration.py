"""`claim_evidence` as data: fields of an answer, parameters, columns, metrics and gates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.kernels.json import ARRAY, OBJECT, STRING
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model import Column, Example, Gate, Metric, Param, Params

FIELDS = {
    "answer": (STRING,),
    "sentences": (ARRAY,),
    "claims": (ARRAY,),
    "stages": (OBJECT, ARRAY),
    "artifacts": (ARRAY,),
    "ranking": (ARRAY,),
    "contradictions": (ARRAY,),
}

CLAIM_SHAPE = "a list of {claim_id, text, type, evidence: [{evidence_id, text}]}"

GAIN = "ndcg_10"  # the column of the default number of ranks

PARAMS = (
    Param("support_threshold", 0.5, "share of a claim's keywords in its evidence from which it is supported",
          low=0, high=1),
    Param("required_artifacts", 10, "how many artifacts there must be, or which: names with commas between them",
          low=0, high=1_000_000, or_names=True),
    Param("ndcg_k", 10, "ranks that count: with 5 the column is ndcg_5", low=1, high=1_000_000),
    Param("level", "initial", "the limits that a run is held to, where gate is not told another level",
          choices=("initial", "target")),
)  # fmt: skip

RATES = {
    "provenance_rate": ("sentences with evidence / sentences, else claims", True),
    "claim_precision": ("supported claims / claims", True),
    "unsupported_claim_rate": ("claims without an evidence item / claims", False),
    "citation_precision": ("evidence items that support their claim / evidence items", True),
    "entity_recall": ("expected entities in the answer and its claims / expected entities", True),
    "pipeline_completion": ("completed / expected stages", True),
    "contradiction_precision": ("pairs rightly said to contradict / pairs said to", True),
    "contradiction_recall": ("pairs rightly said to contradict / pairs that do", True),
    "contradiction_f1": ("harmonic mean of contradiction precision and recall", True),
}
COUNTS = {
    "facts_without_evidence": ("facts without an evidence item", False),
    "claim_count": ("claims other than log", True),
    "citation_count": ("different evidence ids, and items without one", True),
    "artifacts_missing": ("required artifacts that are not there", False),
    "support_labelled": ("claims whose support a label says", True),
    "support_lexical": ("claims whose support their words say", True),
}


def _rate(name: str) -> Column:
    return Column(name, pa.float64(), RATES[name][0])


def _count(name: str) -> Column:
    return Column(name, pa.int32(), COUNTS[name][0])


COLUMNS = (
    Column("category", LARGE_STRING, "what kind of task it is"),
    Column("score", pa.float64(), "share of the row's gates that hold, of those that apply; 0 to 1"),
    Column("fail_reason", LARGE_STRING, "why the answer cannot be used"),
    Column("fail_detail", LARGE_STRING, "the fields of which the answer has none, or a field of another shape"),
    _rate("provenance_rate"),
    _count("facts_without_evidence"),
    _count("claim_count"),
    _rate("claim_precision"),
    _rate("unsupported_claim_rate"),
    _count("citation_count"),
    _rate("citation_precision"),
    Column("citations_ok", pa.bool_(), "at least min_citations citations"),
    _rate("entity_recall"),
    _rate("pipeline_completion"),
    Column("failed_stage", LARGE_STRING, "the first stage that is not done, with its error"),
    _count("artifacts_missing"),
    Column(GAIN, pa.float64(), "normalised discounted cumulative gain of the ranking"),
    Column("map", pa.float64(), "average precision of the ranking"),
    _rate("contradiction_precision"),
    _rate("contradiction_recall"),
    _rate("contradiction_f1"),
    _count("support_labelled"),
    _count("support_lexical"),
    Column("answered", pa.bool_(), "there is an answer that can be used"),
    *(
        Column(f"{name}_{part}", pa.int32(), f"{what} of {name}")
        for name in RATES
        for part, what in (("num", "numerator"), ("den", "denominator"))
    ),
)  # fmt: skip


def columns_for(params: Params) -> tuple[Column, ...]:
    """The columns with these parameters: the gain of the ranking is called by the number of ranks that count."""
    name = gain_column(params)
    return tuple(replace(column, name=name) if column.name == GAIN else column for column in COLUMNS)


def gain_column(params: Params) -> str:
    """What the gain over the first K ranks is called."""
    return f"ndcg_{params['ndcg_k']}"


METRICS = (
    Metric("score", "share of a row's gates that hold"),
    *(
        Metric(name, doc, higher_is_better=higher, numerator=f"{name}_num", denominator=f"{name}_den")
        for name, (doc, higher) in RATES.items()
    ),
    *(Metric(name, doc, higher_is_better=higher, scale=None) for name, (doc, higher) in COUNTS.items()),
    Metric("citations_ok", "share of answers with enough citations"),
    Metric(GAIN, "gain of the ranking"),
    Metric("map", "average precision of the ranking"),
    Metric("answered", "share of tasks with an answer that can be used", coverage=True),
)


def _gates(level: str, claim_precision: float, citation_precision: float, *, unsupported: float) -> tuple[Gate, ...]:
    rules = (
        (Gate("provenance_rate", "provenance_rate", "micro", op=">=", limit=0.95), "QualityGateFailure"),
        (Gate("facts_without_evidence", "facts_without_evidence", "sum", op="==", limit=0), "HallucinationRisk"),
        (Gate("pipeline_completion", "pipeline_completion", "min", op="==", limit=1), "SystemError"),
        (Gate("artifact_contract", "artifacts_missing", "max", op="==", limit=0), "ContractViolation"),
        (Gate("claim_precision", "claim_precision", "micro", op=">=", limit=claim_precision), "QualityGateFailure"),
        (
            Gate("citation_precision", "citation_precision", "micro", op=">=", limit=citation_precision),
            "QualityGateFailure",
        ),
        (
            Gate("unsupported_claim_rate", "unsupported_claim_rate", "micro", op="<=", limit=unsupported),
            "HallucinationRisk",
        ),
        (Gate("answered_share", "answered", "mean", op="==", limit=1), "SystemError"),
    )
    return tuple(replace(gate, failure=failure, level=level) for gate, failure in rules)


GATES = (*_gates("initial", 0.85, 0.90, unsupported=0.10), *_gates("target", 0.90, 0.95, unsupported=0.05))
ROW_RULES = tuple(gate for gate in GATES if gate.level == "initial" and gate.name != "answered_share")

_ITEM_OF_EVIDENCE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "evidence_id": {"type": ["string", "number"], "title": "of the passage"},
        "text": {"type": "string", "title": "the passage"},
        "supports": {"type": "boolean", "title": "a label; without it the words decide"},
    },
}
_CLAIM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "claim_id": {"type": ["string", "number"], "title": "names the claim in summaries"},
        "text": {"type": "string", "title": "what is claimed"},
        "type": {"type": "string", "default": "fact", "title": "fact, hypothesis, log or another; log is not scored"},
        "evidence": {"type": "array", "items": _ITEM_OF_EVIDENCE, "default": [], "title": "what it rests on"},
        "supported": {"type": "boolean", "title": "a label; without it the words of the evidence decide"},
    },
}
_SENTENCE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "title": "of the answer"},
        "evidence_ids": {"type": "array", "default": [], "title": "what it rests on"},
    },
}
_PAIR: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": ["string", "number"], "title": "one document"},
        "b": {"type": ["string", "number"], "title": "the other"},
        "contradiction": {"type": "boolean", "title": "whether they are said to contradict each other"},
    },
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "anyOf": [{"required": [name]} for name in FIELDS],
    "description": f"an object with one or more of {', '.join(FIELDS)}",
    "properties": {
        "answer": {"type": "string", "title": "the text"},
        "sentences": {"type": "array", "items": _SENTENCE, "title": "of the answer, with their evidence"},
        "claims": {"type": "array", "items": _CLAIM, "title": "what the answer says, one an item"},
        "stages": {
            "type": ["object", "array"],
            "title": "of the pipeline: {expected, completed}, {name: done} or [{name, status, error}]",
        },
        "artifacts": {"type": "array", "title": "names of the files that were made"},
        "ranking": {"type": "array", "title": "ids of documents, the best first"},
        "contradictions": {"type": "array", "items": _PAIR, "title": "pairs of documents"},
    },
}
EXAMPLE = Example(
    question={
        "category": "paper_survey",
        "query": "Which enzyme makes adenosine in tumours?",
        "expected_entities": ["CD73"],
        "min_citations": 1,
    },
    output={
        "output": {
            "answer": "CD73 makes adenosine in tumours.",
            "sentences": [{"text": "CD73 makes adenosine in tumours.", "evidence_ids": ["p1"]}],
            "claims": [
                {
                    "claim_id": "c1",
                    "text": "CD73 makes adenosine in tumours",
                    "type": "fact",
                    "evidence": [{"evidence_id": "p1", "text": "The enzyme CD73 makes adenosine in tumours."}],
                }
            ],
            "stages": {"retrieve": True, "write_answer": True},
        }
    },
)
