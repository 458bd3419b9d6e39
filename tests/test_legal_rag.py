"""The profile legal_rag: the case file row by row, the slow scorer on made-up answers, and what padding is worth."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rageval_batch.profiles import get_profile
from rageval_batch.scoring import missing_rows, score_batch, scorer
from rageval_batch.tables import BATCH, EvalSet

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "legal_rag.jsonl").read_text(encoding="utf-8").splitlines()
]
PROFILE = get_profile("legal_rag")
COLUMNS = (
    *("question_type", "weight", "score", "passed", "exact_match", "citation_correctness", "evidence_recall"),
    *("evidence_precision", "citation_provided", "abstained", "correct_abstention", "no_hallucination", "inventions"),
    *("quote_included", "difficulty", "category", "tags", "fail_reason"),
)


def eval_set(questions: list[dict[str, Any]], headers: tuple[dict[str, Any], ...] = ()) -> EvalSet:
    count = len(questions)
    ids = tuple(f"q{k}" for k in range(count))
    return EvalSet(ids, tuple(questions), (None,) * count, (1.0,) * count, headers=headers)


def scored(
    questions: list[dict[str, Any]], rows: list[tuple[int, str | None]], params: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The score rows of (question, output) pairs, as one batch."""
    ready = scorer(PROFILE, PROFILE.read_params(params or {}), eval_set(questions))
    table = [
        dict(zip(BATCH.names, ["r", question, k, 0, k, output, None], strict=True))
        for k, (question, output) in enumerate(rows)
    ]
    scores = score_batch(ready, pa.RecordBatch.from_pylist(table, schema=BATCH)).scores.to_pylist()
    return [{name: row[name] for name in COLUMNS} for row in scores]


def differences(got: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    """The columns that are not what is wanted, with both values."""
    out = {}
    for name, value in want.items():
        same = got[name] == value
        if isinstance(value, float) and isinstance(got[name], float):
            same = abs(got[name] - value) <= 1e-12
        if not same or isinstance(got[name], bool) != isinstance(value, bool):
            out[name] = (got[name], value)
    return out


def test_cases() -> None:
    """All cases with the same parameters are one batch, so that rows of all types stand beside each other."""
    wrong = {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for case in CASES:
        if not case.get("missing"):
            groups.setdefault(json.dumps(case.get("params"), sort_keys=True), []).append(case)
    for cases in groups.values():
        rows = scored([case["question"] for case in cases], [(k, c["output"]) for k, c in enumerate(cases)], cases[0].get("params"))
        wrong |= {c["name"]: d for c, row in zip(cases, rows, strict=True) if (d := differences(row, c["want"]))}
    assert wrong == {}
