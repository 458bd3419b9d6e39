"""One answer of `eval_json_v2`, taken apart: expected and got, item by item, with the scorer's own verdicts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import json_objects
from rageval_batch.columnar.kernels import CONTAINED, EQUAL, SIMILAR, UNMATCHED
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, LISTS
from rageval_batch.profiles.eval_json_v2.grounding import UNGROUNDED
from rageval_batch.profiles.eval_json_v2.score import Measured, Prepared, as_text, item_texts, measure

SHORT = 2  # characters up to which a match by containment is doubtful


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Expected and got of the one answer in the batch, field by field and item by item."""
    measured = measure(prepared, batch)
    reason = int(measured.reason[0])
    sections = []
    if reason >= 0:
        tape = measured.parsed.tape
        why = measured.detail[0].as_py() or (tape.problem(0) if tape.status[0] else "mended")
        sections.append(Section("format", ({"reason": json_objects.REASONS[reason], "why": why},)))
    if measured.ok[0]:
        sections.append(_explain_classes(prepared, measured))
        sections += [_explain_list(prepared, name, measured) for name in LISTS]
        keywords = prepared.evidence.hit_keywords(int(measured.question[0]), measured.evidence_hits, 0)
        lines = [{"keyword": word, "found": found} for word, found in keywords]
        sections.append(Section("original_evidence", tuple(lines)))
        sections.append(_explain_refs(measured))
    return Explanation(tuple(sections))


def _explain_classes(prepared: Prepared, measured: Measured) -> Section:
    question = int(measured.question[0])
    nodes = np.array([measured.field[name][0] for name in CLASSES], np.int32)
    texts = measured.parsed.tape.texts(nodes).to_arrow().to_pylist()
    first = question * len(CLASSES)
    expected_widths = np.diff(prepared.classes.offsets[first : first + len(CLASSES) + 1])
    shorter = np.minimum(expected_widths, np.diff(measured.got_classes.offsets)).tolist()
    lines = [
        {
            "field": name,
            "expected": as_text(prepared.examples[question].get(name)),
            "got": text_,
            "matched": how != UNMATCHED,
            "by": _matched_by(how, width, "bigram_jaccard"),
        }
        for name, text_, how, width in zip(CLASSES, texts, measured.class_matches[:, 0].tolist(), shorter, strict=True)
    ]
    return Section("classes", tuple(lines))


def _matched_by(how: int, shorter: int, matcher: str) -> str | None:
    """What made two texts match; containment of one or two characters, which proves little, says so."""
    contained = f"containment of {shorter} character{'s'[: shorter - 1]}" if shorter <= SHORT else "containment"
    return {UNMATCHED: None, EQUAL: "equal", CONTAINED: contained, SIMILAR: matcher}[how]


def _explain_list(prepared: Prepared, name: str, measured: Measured) -> Section:
    """Every item of both sides with its partner; where items match independently, one may be the partner of several."""
    expected, got, match = prepared.lists[name], measured.got_lists[name], measured.list_matches[name]
    e_count, g_count = int(match.e_count[0]), int(match.g_count[0])
    how = match.pairs.how.reshape(e_count, g_count)
    expected_texts = item_texts(expected.points, int(expected.first[measured.question[0]]) + np.arange(e_count))
    got_texts = item_texts(got.points, np.arange(g_count))
    partners = list(enumerate(match.assignment.e_partner.tolist()))
    listed = {g for _, g in partners}
    partners += [(e, g) for g, e in enumerate(match.assignment.g_partner.tolist()) if g not in listed]
    matcher = prepared.params["list_matcher"]
    lines = []
    for e, g in partners:
        both = e >= 0 and g >= 0
        line = {
            "expected_item": e + 1 if e >= 0 else None,
            "expected": expected_texts[e] if e >= 0 else None,
            "got_item": g + 1 if g >= 0 else None,
            "got": got_texts[g] if g >= 0 else None,
            "matched": both,
            "by": _matched_by(int(how[e, g]), min(len(expected_texts[e]), len(got_texts[g])), matcher)
            if both
            else None,
        }
        lines.append(line)
    return Section(name, tuple(lines))


def _explain_refs(measured: Measured) -> Section:
    tape, refs = measured.parsed.tape, measured.refs
    files = tape.texts(tape.members(refs.node, ["file"])[:, 0].copy()).to_arrow().to_pylist()
    lines = [
        {"file": file, "held": bool(why < 0), "why": UNGROUNDED[why] if why >= 0 else "file and an anchor found"}
        for file, why in zip(files, refs.why.tolist(), strict=True)
    ]
    return Section("source_map", tuple(lines))
