"""Model answers that should be one JSON object: which are, and what is wrong with the others."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import json_tape, kernels
from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import OK
from rageval_batch.columnar.strings import LARGE_STRING, Bytes, Flags, Offsets, from_arrow
from rageval_batch.dataclass import dataclass

# In the order in which they are tested; the first that holds is the reason.
REASONS = (
    "missing_output",
    "empty_output",
    "code_fence",
    "truncated_json",
    "extra_text",
    "invalid_json",
    "not_object",
    "missing_field",
    "wrong_type",
    "wrong_shape",
)
NO_REASON = -1
(MISSING_OUTPUT, EMPTY_OUTPUT, CODE_FENCE, TRUNCATED_JSON, EXTRA_TEXT, INVALID_JSON, NOT_OBJECT, MISSING_FIELD,
 WRONG_TYPE, WRONG_SHAPE) = range(len(REASONS))  # fmt: skip

Reasons = np.ndarray[tuple[int], np.dtype[np.int8]]


@dataclass(frozen=True)
class ParsedObjects:
    """A column of answers: `tape` has the objects that may be scored, `reason` why a row is not one or was mended."""

    tape: Tape
    reason: Reasons
    usable: Flags
    _: KW_ONLY
    repaired: Flags


def read_objects(column: pa.Array, lenient: bool) -> ParsedObjects:
    """The JSON objects of a column of raw answers; null and blank are empty_output.

    Lenient: what stands inside a code fence or amid other text is taken, and the row keeps that reason.
    """
    texts = from_arrow(column)
    starts, ends = kernels.strip(texts.data, texts.starts, texts.ends)
    tape = json_tape.parse(texts.data, starts, ends)
    reason: Reasons = np.full(len(texts), NO_REASON, np.int8)
    reason[starts == ends] = EMPTY_OUTPUT
    broken = np.flatnonzero((tape.status != OK) & (starts < ends)).astype(np.int32)
    if len(broken):
        diagnosis = diagnose(texts.data, starts[broken], ends[broken])
        reason[broken] = diagnosis.reason
        if lenient:
            tape = json_tape.merge(tape, diagnosis.tape, broken)
    usable = json_tape.usable(tape)
    reason[(tape.status == OK) & ~usable] = NOT_OBJECT
    return ParsedObjects(tape, reason, usable, repaired=usable & (reason != NO_REASON))


@dataclass(frozen=True)
class Diagnosis:
    """Why texts are no JSON, and the spans of JSON inside them; empty, and no row of the tape, where there is none."""

    reason: Reasons
    starts: Offsets
    ends: Offsets
    _: KW_ONLY
    tape: Tape


def diagnose(data: Bytes, starts: Offsets, ends: Offsets) -> Diagnosis:
    """What is wrong with texts that are not blank and no JSON."""
    unfenced, fence_starts, fence_ends = _inside_fences(data, starts, ends)
    object_starts, object_ends = kernels.first_object(data, starts, ends)
    balanced = object_ends >= 0
    # One span each: what the fence holds, else what the first bracket opens, else nothing.
    span_starts = np.where(unfenced, fence_starts, np.where(balanced, object_starts, 0))
    span_ends = np.where(unfenced, fence_ends, np.where(balanced, object_ends, 0))
    tape = json_tape.parse(data, span_starts, span_ends)
    reason: Reasons = np.full(len(starts), INVALID_JSON, np.int8)
    reason[balanced & (tape.status == OK)] = EXTRA_TEXT
    reason[(object_starts >= 0) & ~balanced] = TRUNCATED_JSON
    reason[unfenced] = CODE_FENCE
    return Diagnosis(reason, span_starts, span_ends, tape=tape)


def _inside_fences(data: Bytes, starts: Offsets, ends: Offsets) -> tuple[Flags, Offsets, Offsets]:
    """(holds JSON, start, end) of what stands between code fences, with or without its first word as a language."""
    inner, behind, stops = kernels.fenced(data, starts, ends)
    there = np.flatnonzero(inner >= 0)
    holds = np.zeros(len(starts), np.bool_)
    if len(there):
        for first in (inner, behind):  # the second, with the language word off, wins where both are JSON
            begin, end = kernels.strip(data, first[there], stops[there])
            good = json_tape.parse(data, begin, end).status == OK
            holds[there[good]] = True
            inner[there[good]], stops[there[good]] = begin[good], end[good]
    return holds, inner, stops


def shape_detail(field: str, elements: str, wanted: str) -> str:
    """What a field is and what it should be, where its elements are of another shape."""
    return f"{field} is a list of {elements}, wanted is {wanted}"


def reason_names(reason: Reasons) -> pa.Array:
    """The reasons as a string column, null where there is none."""
    names = pa.array(REASONS, LARGE_STRING)
    return names.take(as_arrow(reason, reason >= 0))
