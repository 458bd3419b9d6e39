"""One answer of `claim_evidence`, taken apart: gates, claims, evidence, and what was expected beside what was said."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rageval_batch.columnar import json_objects
from rageval_batch.columnar.json_objects import MISSING_FIELD, WRONG_SHAPE
from rageval_batch.columnar.json_values import new_in_row
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.claim_evidence.claims import claim_lines, evidence_lines
from rageval_batch.profiles.claim_evidence.declaration import FIELDS
from rageval_batch.profiles.claim_evidence.score import Contradictions, Measured, Prepared, Ranking, measure


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """The one answer of the batch: its gates, claims, evidence, entities, stages, ranking and contradictions."""
    measured = measure(prepared, batch)
    fields, question = measured.fields, int(measured.question[0])
    tape = fields.tape
    if not fields.ok[0]:
        reason = int(fields.reason[0])
        lacks = {
            MISSING_FIELD: f"none of {', '.join(FIELDS)}",
            WRONG_SHAPE: fields.detail[0].as_py(),
        }.get(reason, "JSON, but no object")
        why = tape.problem(0) if tape.status[0] else lacks
        return Explanation((Section("format", ({"reason": json_objects.REASONS[reason], "why": why},)),))
    first = int(prepared.entities.bounds[question])
    sections = {
        "gates": _explain_gates(measured),
        "claims": claim_lines(tape, measured.claims),
        "evidence": evidence_lines(tape, measured.claims),
        "entities": [
            {"entity": prepared.entities.names[first + k], "found": found}
            for k, found in enumerate(measured.entities.found.tolist())
        ],
        "stages": measured.stages.states.lines(),
        "ranking": _explain_ranking(prepared.graded[question], measured.ranking),
        "contradictions": _explain_pairs(prepared.contradictions.of(question), measured.contradictions),
    }
    looked_for_in = {"entities": "answer"}  # and in the texts of claims, which are marked as a whole
    return Explanation(
        tuple(
            Section(name, tuple(lines), members=(looked_for_in[name],) * len(lines) if name in looked_for_in else ())
            for name, lines in sections.items()
            if lines
        )
    )


def _explain_gates(measured: Measured) -> list[dict[str, Any]]:
    """Every gate of the row: the value, the limit, and whether it holds; null where it does not apply."""
    lines = []
    for row_gate in measured.gates:
        gate, applies = row_gate.gate, bool(row_gate.applies[0])
        actual = measured.cells[gate.metric][0][0].item() if applies else None
        held = bool(row_gate.holds[0]) if applies else None
        lines.append({"gate": gate.name, "actual": actual, "rule": f"{gate.op} {gate.limit:g}", "holds": held})
    return lines


def _explain_ranking(graded: dict[str, float], ranking: Ranking) -> list[dict[str, Any]]:
    """Different ids in order, as they count, then what the gold has and the ranking has not."""
    codes = ranking.ids.codes[new_in_row(ranking.row, ranking.ids)]
    ranked = ranking.ids.distinct.take(pa.array(codes)).to_pylist()
    lines = [{"rank": rank, "id": name, "grade": graded.get(name)} for rank, name in enumerate(ranked, start=1)]
    return lines + [{"rank": None, "id": name, "grade": graded[name]} for name in graded if name not in set(ranked)]


def _explain_pairs(gold: frozenset[tuple[str, str]], pairs: Contradictions) -> list[dict[str, Any]]:
    """The pairs that the answer names, then those of the task that it does not."""
    said = list(zip(pairs.low.to_pylist(), pairs.high.to_pylist(), strict=True))
    lines = [
        {"a": a, "b": b, "said": True, "right": right} for (a, b), right in zip(said, pairs.right.tolist(), strict=True)
    ]
    return lines + [{"a": a, "b": b, "said": False, "right": False} for a, b in sorted(gold - set(said))]
