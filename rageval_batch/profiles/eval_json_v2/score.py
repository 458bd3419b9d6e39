"""`eval_json_v2`: structured JSON answers against an expected example."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, kernels
from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.strings import LARGE_STRING, Ints, bitmap
from rageval_batch.model import Params, Scored
from rageval_batch.profiles.eval_json_v2.compare import UNGROUNDED, Measured, measure
from rageval_batch.profiles.eval_json_v2.declaration import CLASSES, COLUMNS, LISTS
from rageval_batch.profiles.eval_json_v2.expected import Prepared

Floats = npt.NDArray[np.float64]

SHOWN_CHARACTERS = 120  # of a wrong class, in the confusions


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column of page order for a batch of answers; rows with a reason that fails have null sub-scores."""
    measured = measure(prepared, batch)
    compared, ok = measured.compared, measured.compared.ok
    classes = (compared.class_how.T != kernels.UNMATCHED).astype(np.float64)
    values: dict[str, Any] = dict(zip(CLASSES, classes, strict=True))
    for k, name in enumerate(LISTS):
        values.update(_list_scores(name, measured, k))
    values.update(_evidence(prepared, measured))
    values.update(_grounding(measured))
    values["score"] = np.where(ok, _total(values, prepared.params), 0.0)

    valid = None if ok.all() else bitmap(ok)
    columns = {name: _typed(name, value, valid) for name, value in values.items()}
    columns["score"] = as_arrow(values["score"])
    columns["schema_ok"] = as_arrow(ok)
    columns["repaired"] = as_arrow(measured.repaired)
    columns["fail_reason"] = json_objects.reason_names(measured.reason)
    columns["fail_detail"] = measured.detail
    columns["context_missing"] = as_arrow(~measured.contexts.present[measured.context])
    wrong = {name: np.flatnonzero(ok & (values[name] == 0.0)).astype(np.int32) for name in CLASSES}
    return Scored(columns, _tallies(prepared, measured, wrong))


_TYPE_OF = {column.name: column.type for column in COLUMNS}


def _typed(name: str, value: Any, valid: pa.Buffer | None) -> pa.Array:
    """A column of numbers, null where a bit is not set: one bitmap for all of them."""
    type_ = _TYPE_OF[name]
    numbers = np.ascontiguousarray(value, type_.to_pandas_dtype())
    return pa.Array.from_buffers(type_, len(numbers), [valid, pa.py_buffer(numbers)])


def _list_scores(name: str, measured: Measured, k: int) -> dict[str, Floats]:
    """Recall, precision and F1 of a list; two empty lists agree, so that all three are 1."""
    compared = measured.compared
    e_count, g_count = compared.e_count[k], compared.g_count[k]
    both_empty = ((e_count == 0) & (g_count == 0)).astype(np.float64)
    recall = np.where(e_count > 0, compared.e_matched[k] / np.maximum(e_count, 1), both_empty)
    precision = np.where(g_count > 0, compared.g_matched[k] / np.maximum(g_count, 1), both_empty)
    total = recall + precision
    f1 = np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1.0), 0.0)
    return {f"{name}_recall": recall, f"{name}_precision": precision, f"{name}_f1": f1}


def _evidence(prepared: Prepared, measured: Measured) -> dict[str, Any]:
    hits, length = measured.evidence_hits.counts, measured.compared.length
    full_hits, full_length = prepared.params["full_hits"], prepared.params["full_length"]
    return {
        "evidence_keywords": prepared.evidence.counts[measured.question],
        "evidence_hits": hits,
        "original_evidence": np.minimum(1.0, hits / full_hits) * np.minimum(1.0, length / full_length),
    }


def _grounding(measured: Measured) -> dict[str, Any]:
    """The refs of each answer that hold, of those that count; 0 where none counts."""
    total, held = measured.compared.citations.total, measured.compared.citations.held
    share = np.where(total > 0, held / np.maximum(total, 1), 0.0)
    return {"grounding_ok_refs": held, "grounding_total_refs": total, "grounding": share}


WEIGHED = (
    ("w_target_audience", "target_audience"),
    ("w_main_topic", "main_topic"),
    ("w_sub_topic", "sub_topic"),
    ("w_detailed_description", "detailed_description_f1"),
    ("w_original_evidence", "original_evidence"),
    ("w_predicted_questions", "predicted_questions_f1"),
    ("w_grounding", "grounding"),
)


def _total(values: dict[str, Any], params: Params) -> Floats:
    total: Floats = params[WEIGHED[0][0]] * values[WEIGHED[0][1]]
    for weight, name in WEIGHED[1:]:  # one after the other: the order of the sum is part of the score
        total = total + params[weight] * values[name]
    return 100.0 * np.clip(total, 0.0, 1.0)


def _tallies(prepared: Prepared, measured: Measured, wrong: dict[str, Ints]) -> pa.Table:
    """Confused classes (got, expected) and refs that do not hold (why), one line an occurrence."""
    parts = []
    for name, rows in wrong.items():
        got = pc.utf8_slice_codeunits(measured.class_texts(name, rows).to_arrow(), 0, SHOWN_CHARACTERS)
        expected = prepared.expected_classes[name].take(as_arrow(measured.question[rows]))
        parts.append(_tally(rows, name, got, expected=expected))
    refs = measured.compared.citations.refs()
    ungrounded = refs.why >= 0
    why = pa.array(UNGROUNDED, LARGE_STRING).take(as_arrow(refs.why[ungrounded]))
    parts.append(_tally(refs.row[ungrounded], "ungrounded", why, expected=pa.nulls(len(why), LARGE_STRING)))
    return pa.concat_tables(parts)


def _tally(row: Ints, kind: str, got: pa.Array, *, expected: pa.Array) -> pa.Table:
    kinds = pa.repeat(pa.scalar(kind, LARGE_STRING), len(row))
    ones = as_arrow(np.ones(len(row), np.int64))
    return pa.table({"row": as_arrow(row), "kind": kinds, "got": got, "expected": expected, "n": ones})


def missing_columns(prepared: Prepared, question: Ints) -> dict[str, pa.Array]:
    """An unanswered question: score 0, and whether it had context all the same."""
    count = len(question)
    return {
        "score": as_arrow(np.zeros(count)),
        "schema_ok": as_arrow(np.zeros(count, np.bool_)),
        "repaired": as_arrow(np.zeros(count, np.bool_)),
        "fail_reason": pa.repeat(pa.scalar(json_objects.REASONS[json_objects.MISSING_OUTPUT], LARGE_STRING), count),
        "context_missing": as_arrow(~prepared.contexts.present[question]),
    }
