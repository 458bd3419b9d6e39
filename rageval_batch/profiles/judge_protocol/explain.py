"""One judgement of `judge_protocol`, taken apart: rules broken, scores, quotes."""

from __future__ import annotations

import pyarrow as pa

from rageval_batch.columnar.json_objects import NO_REASON, REASONS
from rageval_batch.columnar.kernels import record
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.judge_protocol.record import FLAGS, WARNINGS, Prepared, judge
from rageval_batch.profiles.judge_protocol.rubric import OVERALL


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Every rule that the one judgement of the batch breaks, its scores, and what it quotes."""
    judged, reason = judge(prepared, batch)
    tape = judged.fields.tape
    broken = [{"flag": FLAGS[flag], "rule": rule} for flag, rule, rows in judged.rules if rows[0]]
    if reason[0] != NO_REASON and tape.status[0]:
        broken[0]["rule"] += f": {REASONS[reason[0]]}, {tape.problem(0)}"
    sections = [Section("rules broken", tuple(sorted(broken, key=lambda line: FLAGS.index(line["flag"]))))]
    names = (*prepared.rubric.dimensions, OVERALL, "overall_recomputed")
    sections.append(Section("scores", tuple({"score": n, "value": judged.columns[n][0].as_py()} for n in names)))
    entries = judged.evidence
    lines = [
        {
            "dimension": entries.dimension[k].as_py(),
            "quote": entries.quote.at(k),
            "length": length,
            "too long": bool(entries.long[k]),
            "in the target's text": bool(entries.found[k]) if entries.checked[0] else None,
        }
        for k, length in enumerate(record.lengths(entries.quote, -1).tolist())
    ]
    warnings = [{"warning": name} for name, rows in zip(WARNINGS, judged.warned, strict=True) if rows[0]]
    return Explanation((*sections, Section("evidence", tuple(lines)), Section("warnings", tuple(warnings))))
