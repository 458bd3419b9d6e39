"""One answer of `eval_json_v2`, taken apart: expected and got, item by item, with the scorer's own verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch import answers
from rageval_batch.contexts import Contexts
from rageval_batch.jsontape import Tape
from rageval_batch.profile import Explanation, Params, Section
from rageval_batch.profiles.eval_json_v2 import (
    CLASSES,
    FIELDS,
    LISTS,
    UNGROUNDED,
    Items,
    Prepared,
    as_text,
    check_schema,
    class_scores,
    find_refs,
    got_items,
    item_texts,
    match_lists,
)
from rageval_batch.strings import Ints


def explain_answer(prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
    """Expected and got of the one answer in the batch, field by field and item by item."""
    question = batch.column("question").to_numpy()
    example = prepared.examples[int(question[0])]
    lenient = prepared.params["json_mode"] == "lenient"
    found = answers.read_objects(batch.column("output"), lenient)
    nodes = found.tape.members(np.where(found.usable, found.tape.root, -1).astype(np.int32), list(FIELDS))
    reason, detail, ok = check_schema(found, found.tape.kinds(nodes))
    sections = []
    if reason[0] >= 0:
        why = detail[0].as_py() or (found.tape.problem(0) if found.tape.status[0] else "mended")
        sections.append(Section("format", ({"reason": answers.REASONS[reason[0]], "why": why},)))
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
    scores = class_scores(prepared, tape, question, nodes)[:, 0]
    got = tape.texts(nodes[0, : len(CLASSES)].copy()).to_arrow().to_pylist()
    lines = [
        {"field": name, "expected": as_text(example.get(name)), "got": text_, "matched": bool(score_)}
        for name, text_, score_ in zip(CLASSES, got, scores, strict=True)
    ]
    return Section("classes", tuple(lines))


def _explain_list(prepared: Prepared, name: str, question: Ints, got: Items) -> Section:
    expected = prepared.lists[name]
    first, last = int(expected.first[question[0]]), int(expected.last[question[0]])
    flags = match_lists(prepared, name, question, got).flags.reshape(last - first, -1)
    wanted = item_texts(expected.points, np.arange(first, last))
    given = item_texts(got.points, np.arange(int(got.last[0])))
    used: set[int] = set()
    lines = []
    for e, item in enumerate(wanted):
        hits = [g for g in np.flatnonzero(flags[e]).tolist() if g not in used]
        taken = hits[0] if hits else None
        if taken is not None and prepared.params["list_match"] == "one_to_one":
            used.add(taken)
        lines.append({"expected": item, "got": given[taken] if taken is not None else None, "matched": bool(hits)})
    matched = {line["got"] for line in lines}
    lines += [{"expected": None, "got": item, "matched": False} for item in given if item not in matched]
    return Section(name, tuple(lines))


def _explain_refs(tape: Tape, source_map: Ints, contexts: Contexts, which: Ints, params: Params) -> Section:
    refs = find_refs(tape, source_map, contexts, which, params)
    files = tape.texts(tape.members(refs.node, ["file"])[:, 0].copy()).to_arrow().to_pylist()
    lines = [
        {"file": file, "held": bool(why < 0), "why": UNGROUNDED[why] if why >= 0 else "file and an anchor found"}
        for file, why in zip(files, refs.why.tolist(), strict=True)
    ]
    return Section("source_map", tuple(lines))
