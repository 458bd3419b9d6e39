"""One answer of `eval_json_v2`, taken apart: expected and got, item by item, with the scorer's own verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import json_objects, json_tape
from rageval_batch.columnar.kernels import CONTAINED, EQUAL, SIMILAR, UNMATCHED
from rageval_batch.model import Explanation, Section
from rageval_batch.profiles.eval_json_v2.compare import UNGROUNDED, Measured, measure
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, LISTS
from rageval_batch.profiles.eval_json_v2.expected import Prepared, item_texts

SHORT = 2  # characters up to which a match by containment is doubtful


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Expected and got of the one answer in the batch, field by field and item by item."""
    measured = measure(prepared, batch)
    reason = int(measured.reason[0])
    sections = []
    if reason >= 0:
        status, error_at = int(measured.compared.status[0]), int(measured.compared.error_at[0])
        why = measured.detail[0].as_py() or (json_tape.problem(status, error_at) if status else "mended")
        sections.append(Section("format", ({"reason": json_objects.REASONS[reason], "why": why},)))
    if measured.compared.ok[0]:
        sections.append(_explain_classes(prepared, measured))
        sections += [_explain_list(prepared, name, measured) for name in LISTS]
        keywords = prepared.evidence.hit_keywords(int(measured.question[0]), measured.evidence_hits, 0)
        lines = [{"keyword": word, "found": found} for word, found in keywords]
        sections.append(_of_member("original_evidence", lines))
        sections.append(_explain_refs(measured))
    return Explanation(tuple(sections))


def _explain_classes(prepared: Prepared, measured: Measured) -> Section:
    question = int(measured.question[0])
    first = np.zeros(1, np.int32)
    texts = [measured.class_texts(name, first).at(0) for name in CLASSES]
    expected_widths = np.diff(prepared.items.points.offsets)[prepared.items.first[: len(CLASSES), question]]
    shorter = np.minimum(expected_widths, measured.compared.class_width[0]).tolist()
    matches = measured.compared.class_how[0].tolist()
    lines = [
        {
            "field": name,
            "expected": prepared.expected_classes[name][question].as_py(),
            "got": text_,
            "matched": how != UNMATCHED,
            "by": _matched_by(how, width, "bigram_jaccard"),
        }
        for name, text_, how, width in zip(CLASSES, texts, matches, shorter, strict=True)
    ]
    return Section("classes", tuple(lines), members=CLASSES)


def _matched_by(how: int, shorter: int, matcher: str) -> str | None:
    """What made two texts match; containment of one or two characters, which proves little, says so."""
    contained = f"containment of {shorter} character{'s'[: shorter - 1]}" if shorter <= SHORT else "containment"
    return {UNMATCHED: None, EQUAL: "equal", CONTAINED: contained, SIMILAR: matcher}[how]


def _explain_list(prepared: Prepared, name: str, measured: Measured) -> Section:
    """Every item of both sides with its partner; where items match independently, one may be the partner of several."""
    match, expected = measured.last_list(name), prepared.items
    field = len(CLASSES) + LISTS.index(name)
    first = int(expected.first[field, measured.question[0]])
    expected_texts = item_texts(expected.points, first + np.arange(len(match.e_partner)))
    got_texts = item_texts(match.items, np.arange(len(match.g_partner)))
    pairs = [(e, g, how) for e, (g, how) in enumerate(zip(match.e_partner.tolist(), match.e_how.tolist(), strict=True))]
    listed = {g for _, g, _ in pairs}
    others = enumerate(zip(match.g_partner.tolist(), match.g_how.tolist(), strict=True))
    pairs += [(e, g, how) for g, (e, how) in others if g not in listed]
    matcher = prepared.params["list_matcher"]
    lines = []
    for e, g, how in pairs:
        both = e >= 0 and g >= 0
        line = {
            "expected_item": e + 1 if e >= 0 else None,
            "expected": expected_texts[e] if e >= 0 else None,
            "got_item": g + 1 if g >= 0 else None,
            "got": got_texts[g] if g >= 0 else None,
            "matched": both,
            "by": _matched_by(how, min(len(expected_texts[e]), len(got_texts[g])), matcher) if both else None,
        }
        lines.append(line)
    return _of_member(name, lines)


def _of_member(name: str, lines: list[dict[str, Any]]) -> Section:
    """What was looked for in one member of the answer."""
    return Section(name, tuple(lines), members=(name,) * len(lines))


def _explain_refs(measured: Measured) -> Section:
    refs = measured.compared.citations.refs()
    files = measured.texts(refs.start, refs.stop, refs.flags).to_arrow().to_pylist()
    lines = [
        {"file": file, "held": bool(why < 0), "why": UNGROUNDED[why] if why >= 0 else "file and an anchor found"}
        for file, why in zip(files, refs.why.tolist(), strict=True)
    ]
    return Section("source_map", tuple(lines))
