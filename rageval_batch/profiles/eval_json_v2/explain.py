"""One answer of `eval_json_v2`, taken apart: expected and got, item by item, with the scorer's own verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import json_objects
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels import CONTAINED, EQUAL, SIMILAR, UNMATCHED
from rageval_batch.columnar.strings import Ints
from rageval_batch.model import Explanation, Params, Section
from rageval_batch.profiles.eval_json_v2.contexts import Contexts
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, FIELDS, LISTS
from rageval_batch.profiles.eval_json_v2.grounding import UNGROUNDED, find_refs
from rageval_batch.profiles.eval_json_v2.score import (
    Items,
    Prepared,
    as_text,
    check_schema,
    class_matches,
    got_items,
    item_texts,
    match_lists,
    squashed_values,
)

SHORT = 2  # characters up to which a match by containment is doubtful


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Expected and got of the one answer in the batch, field by field and item by item."""
    question = batch.column("question").to_numpy()
    example = prepared.examples[int(question[0])]
    lenient = prepared.params["json_mode"] == "lenient"
    found = json_objects.read_objects(batch.column("output"), lenient)
    nodes = found.tape.members(np.where(found.usable, found.tape.root, -1).astype(np.int32), list(FIELDS))
    reason, detail, ok = check_schema(found, found.tape.kinds(nodes))
    sections = []
    if reason[0] >= 0:
        why = detail[0].as_py() or (found.tape.problem(0) if found.tape.status[0] else "mended")
        sections.append(Section("format", ({"reason": json_objects.REASONS[reason[0]], "why": why},)))
    if ok[0]:
        field = {name: nodes[:, k].copy() for k, name in enumerate(FIELDS)}
        sections.append(_explain_classes(prepared, found.tape, question, nodes, example))
        for name, cap in zip(LISTS, ("description_cap", "questions_cap"), strict=True):
            got = got_items(found.tape, field[name], prepared.params[cap], prepared.params["unicode_form"])
            sections.append(_explain_list(prepared, name, question, got))
        got_evidence = found.tape.texts(field["original_evidence"]).at(0)
        wanted, hit = prepared.evidence.shown(int(question[0]), got_evidence)
        lines = [{"keyword": word, "found": word in set(hit)} for word in wanted]
        sections.append(Section("original_evidence", tuple(lines)))
        contexts, which = prepared.contexts.with_rows(question, batch.column("chunks"))
        sections.append(_explain_refs(found.tape, field["source_map"], contexts, which, prepared.params))
    return Explanation(tuple(sections))


def _explain_classes(
    prepared: Prepared, tape: Tape, question: Ints, nodes: npt.NDArray[np.int32], example: dict[str, Any]
) -> Section:
    matches = class_matches(prepared, tape, question, nodes)[:, 0].tolist()
    classes = nodes[0, : len(CLASSES)].copy()
    texts = tape.texts(classes).to_arrow().to_pylist()
    got = squashed_values(tape, classes, prepared.params["unicode_form"])
    first = int(question[0]) * len(CLASSES)
    wanted = np.diff(prepared.classes.offsets[first : first + len(CLASSES) + 1])
    shorter = np.minimum(wanted, np.diff(got.offsets)).tolist()
    lines = [
        {
            "field": name,
            "expected": as_text(example.get(name)),
            "got": text_,
            "matched": how != UNMATCHED,
            "by": _matched_by(how, width, "bigram_jaccard"),
        }
        for name, text_, how, width in zip(CLASSES, texts, matches, shorter, strict=True)
    ]
    return Section("classes", tuple(lines))


def _matched_by(how: int, shorter: int, matcher: str) -> str | None:
    """What made two texts match; containment of one or two characters, which proves little, says so."""
    contained = f"containment of {shorter} character{'s'[: shorter - 1]}" if shorter <= SHORT else "containment"
    return {UNMATCHED: None, EQUAL: "equal", CONTAINED: contained, SIMILAR: matcher}[how]


def _explain_list(prepared: Prepared, name: str, question: Ints, got: Items) -> Section:
    """Every item of both sides with its partner; where items match independently, one may be the partner of several."""
    expected, found = prepared.lists[name], match_lists(prepared, name, question, got)
    e_count, g_count = int(found.e_count[0]), int(found.g_count[0])
    how = found.pairs.how.reshape(e_count, g_count)
    wanted = item_texts(expected.points, int(expected.first[question[0]]) + np.arange(e_count))
    given = item_texts(got.points, np.arange(g_count))
    partners = list(enumerate(found.assignment.e_partner.tolist()))
    shown = {g for _, g in partners}
    partners += [(e, g) for g, e in enumerate(found.assignment.g_partner.tolist()) if g not in shown]
    matcher = prepared.params["list_matcher"]
    lines = []
    for e, g in partners:
        both = e >= 0 and g >= 0
        line = {
            "expected_item": e + 1 if e >= 0 else None,
            "expected": wanted[e] if e >= 0 else None,
            "got_item": g + 1 if g >= 0 else None,
            "got": given[g] if g >= 0 else None,
            "matched": both,
            "by": _matched_by(int(how[e, g]), min(len(wanted[e]), len(given[g])), matcher) if both else None,
        }
        lines.append(line)
    return Section(name, tuple(lines))


def _explain_refs(tape: Tape, source_map: Ints, contexts: Contexts, which: Ints, params: Params) -> Section:
    refs = find_refs(tape, source_map, contexts, which, params)
    files = tape.texts(tape.members(refs.node, ["file"])[:, 0].copy()).to_arrow().to_pylist()
    lines = [
        {"file": file, "held": bool(why < 0), "why": UNGROUNDED[why] if why >= 0 else "file and an anchor found"}
        for file, why in zip(files, refs.why.tolist(), strict=True)
    ]
    return Section("source_map", tuple(lines))
