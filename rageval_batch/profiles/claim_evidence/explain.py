"""One answer of `claim_evidence`, taken apart: gates, claims, evidence, and what was expected beside what was said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import json_objects
from rageval_batch.columnar.json_objects import MISSING_FIELD
from rageval_batch.columnar.json_values import ids
from rageval_batch.columnar.strings import Ints
from rageval_batch.model import Explanation, Gate, Section
from rageval_batch.profiles.claim_evidence.claims import claim_lines, evidence_lines, read_claims
from rageval_batch.profiles.claim_evidence.declaration import FIELDS, ROW_RULES
from rageval_batch.profiles.claim_evidence.score import (
    Answers,
    Prepared,
    entity_flags,
    holds,
    read_answers,
    said_pairs,
    score,
)
from rageval_batch.profiles.claim_evidence.stages import read_stages


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """The one answer of the batch: its gates, claims, evidence, entities, stages, ranking and contradictions."""
    question = batch.column("question").to_numpy()
    found = read_answers(batch)
    if not found.ok[0]:
        reason = int(found.reason[0])
        lacks = f"none of {', '.join(FIELDS)}" if reason == MISSING_FIELD else "JSON, but no object"
        why = found.tape.problem(0) if found.tape.status[0] else lacks
        return Explanation((Section("format", ({"reason": json_objects.REASONS[reason], "why": why},)),))
    claims = read_claims(found.tape, found.field["claims"], prepared.params["support_threshold"])
    stages = read_stages(found.tape, found.field["stages"])
    flags, _ = entity_flags(prepared, question, found, claims)
    first = int(prepared.entities.bounds[question[0]])
    entities = [
        {"entity": prepared.entities.names[first + k], "found": bool(flag)} for k, flag in enumerate(flags.tolist())
    ]
    scored = score(prepared, batch).columns
    sections = {
        "gates": [_explain_gate(gate, scored[gate.metric][0].as_py()) for gate in ROW_RULES],
        "claims": claim_lines(found.tape, claims),
        "evidence": evidence_lines(found.tape, claims),
        "entities": entities,
        "stages": stages.states.lines(),
        "ranking": _explain_ranking(prepared.graded[question[0]], found),
        "contradictions": _explain_pairs(prepared, question, found),
    }
    return Explanation(tuple(Section(name, tuple(lines)) for name, lines in sections.items() if lines))


def _explain_gate(gate: Gate, actual: float | None) -> dict[str, Any]:
    held = None if actual is None else bool(holds(gate, np.array([actual]))[0])
    return {"gate": gate.name, "actual": actual, "rule": f"{gate.op} {gate.limit:g}", "holds": held}


def _explain_ranking(graded: dict[str, float], found: Answers) -> list[dict[str, Any]]:
    """Ranks in order, then what the gold has and the ranking has not."""
    nodes, _ = found.tape.elements(found.field["ranking"])
    ranked = list(dict.fromkeys(ids(found.tape, nodes).drop_null().to_pylist()))
    lines = [{"rank": rank, "id": name, "grade": graded.get(name)} for rank, name in enumerate(ranked, start=1)]
    return lines + [{"rank": None, "id": name, "grade": graded[name]} for name in graded if name not in set(ranked)]


def _explain_pairs(prepared: Prepared, question: Ints, found: Answers) -> list[dict[str, Any]]:
    row, low, high = said_pairs(found)
    right = prepared.contradictions.right(question[row], low, high)
    said = list(zip(low.to_pylist(), high.to_pylist(), strict=True))
    lines = [{"a": a, "b": b, "said": True, "right": bool(flag)} for (a, b), flag in zip(said, right, strict=True)]
    missed = sorted(prepared.contradictions.of(int(question[0])) - set(said))
    return lines + [{"a": a, "b": b, "said": False, "right": False} for a, b in missed]
