"""One judgement of `judge_protocol`, taken apart: rules broken, scores, quotes."""

from __future__ import annotations

import pyarrow as pa

from rageval_batch.columnar.json_objects import NO_REASON, REASONS
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.judge_protocol.evidence import entries_of
from rageval_batch.profiles.judge_protocol.record import FLAGS, Prepared, judge
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
    output_id = judged.columns["output_id"]
    entries, _ = entries_of(judged.fields, prepared.target_ids, prepared.targets, output_id, -1)
    lines = [
        {
            "dimension": entries.dimension[k].as_py(),
            "quote": entries.quote.at(k),
            "length": int(entries.length[k]),
            "in the target's text": bool(entries.found[k]) if entries.checked[0] else None,
        }
        for k in range(len(entries.row))
    ]
    return Explanation((*sections, Section("evidence", tuple(lines))))
