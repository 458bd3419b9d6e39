"""The score of `judge_protocol`: every rule that a judgement breaks, and its scores where none is broken."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import kernels, text
from rageval_batch.columnar.json_objects import NO_REASON, REASONS
from rageval_batch.columnar.strings import LARGE_STRING, Flags, from_list
from rageval_batch.model import EvalSet, Params, Scored
from rageval_batch.profiles.judge_protocol.declaration import BEHIND, WORDS
from rageval_batch.profiles.judge_protocol.record import FLAGS, WARNINGS, Prepared, judge
from rageval_batch.profiles.judge_protocol.rubric import rubric_of
from rageval_batch.resources import packaged_data


def prepare(eval_set: EvalSet, params: Params) -> Prepared:
    """The rubric read, phrases folded, target texts squashed."""
    listed = [phrase for phrases in packaged_data("phrases.json")["refusal"].values() for phrase in phrases]
    folded = (text.nfkc_casefold(phrase) for phrase in (*listed, *params["refusal_phrases"]))
    return Prepared(
        rubric_of(params["rubric"]),
        from_list(list(dict.fromkeys(phrase for phrase in folded if phrase.strip()))),
        params["base_variant"] or None,
        target_ids=pa.array(list(eval_set.chunks), LARGE_STRING),
        targets=kernels.squash(from_list(list(eval_set.chunks.values()))),
    )


def score(prepared: Prepared, batch: pa.RecordBatch) -> Scored:
    """Every column of a judgement by itself; what needs the other records is for `reconcile`."""
    judged, reason = judge(prepared, batch)
    columns = judged.columns
    mask = _bits([judged.holds(flag) for flag in range(len(FLAGS))])
    valid = mask == 0
    columns["valid"] = pa.array(valid)
    columns["flags"] = _words(FLAGS, mask)
    columns["warnings"] = _words(WARNINGS, _bits(judged.warned))
    first = np.array([0, *((m & -m).bit_length() - 1 for m in range(1, 1 << len(FLAGS)))])[mask]
    why = np.where(reason == NO_REASON, len(REASONS) + first, reason)
    columns["fail_reason"] = pa.array([*REASONS, *FLAGS], LARGE_STRING).take(pa.array(why, mask=valid))
    total = columns["overall_recomputed"].fill_null(0).to_numpy() / prepared.rubric.best
    columns["score"] = pa.array(total, mask=~valid)
    columns["base_variant"] = pa.repeat(pa.scalar(prepared.base_variant, LARGE_STRING), batch.num_rows)
    for column in BEHIND:
        columns.setdefault(column.name, pa.nulls(batch.num_rows, column.type))
    return Scored(columns)


def _bits(flags: list[Flags]) -> npt.NDArray[np.int64]:
    """One number a row: bit k is flag k."""
    return np.array(flags, np.int64).T @ (np.int64(1) << np.arange(len(flags)))


def _words(names: tuple[str, ...], mask: npt.NDArray[np.int64]) -> pa.Array:
    """Lists of the names whose bits are set."""
    lists = [[name for bit, name in enumerate(names) if m >> bit & 1] for m in range(1 << len(names))]
    return pa.array(lists, WORDS).take(pa.array(mask))
