"""Eval sets, batches and scored rows of profile eval_json_v2, for comparing with its oracle."""

import json
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model.schemas import BATCH, EvalSet
from rageval_batch.profiles.eval_json_v2 import PROFILE
from rageval_batch.runs.batch import Scorer, score_batch, scorer

COLUMNS = PROFILE.schema.names
Row = dict[str, Any]
Questions = list[tuple[Any, Any]]  # expected answer and chunks of each


def eval_set(questions: list[tuple[Any, Any]]) -> EvalSet:
    """An eval set of (expected example, chunks or None)."""
    ids = tuple(f"q{k}" for k in range(len(questions)))
    objects = tuple(
        {"id": name, "expected": {"answer_example": expected}}
        for name, (expected, _) in zip(ids, questions, strict=True)
    )
    chunks = {
        name: json.dumps(given_, ensure_ascii=False)
        for name, (_, given_) in zip(ids, questions, strict=True)
        if given_ is not None
    }
    return EvalSet(ids, objects, (None,) * len(ids), weights=(1.0,) * len(ids), chunks=chunks)


def batch_of(rows: list[tuple[int, str | None, Any]]) -> pa.RecordBatch:
    """A batch of (question, output, chunks of the row's own or None)."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([f"run{k % 3}" for k in range(len(rows))], LARGE_STRING),
            pa.array([row[0] for row in rows], pa.int32()),
            pa.array([0] * len(rows), pa.int32()),
            pa.array([0] * len(rows), pa.int32()),
            pa.array(range(len(rows)), pa.int64()),
            pa.array([row[1] for row in rows], LARGE_STRING),
            pa.array(
                [None if row[2] is None else json.dumps(row[2], ensure_ascii=False) for row in rows], LARGE_STRING
            ),
        ],
        schema=BATCH,
    )


def ready(questions: list[tuple[Any, Any]], params: dict[str, Any] | None = None) -> Scorer:
    """The profile made ready for questions."""
    return scorer(PROFILE, PROFILE.read_params(params or {}), eval_set(questions))


def rows_of(made: Scorer, batch: pa.RecordBatch) -> list[Row]:
    """The profile's own columns of a batch, and nothing lost by scoring distinct answers once."""
    scored = PROFILE.scoring.score(made.prepared, batch)
    assert set(scored.columns) == set(COLUMNS)
    assert [scored.columns[name].type for name in COLUMNS] == PROFILE.schema.types
    table = pa.table({name: scored.columns[name] for name in COLUMNS})
    assert pa.Table.from_batches([score_batch(made, batch).scores]).select(COLUMNS).equals(table)
    rows: list[Row] = table.to_pylist()
    return rows


def differences(row: Row, want: Row) -> dict[str, tuple[Any, Any]]:
    """The columns that are not what is wanted: (got, want)."""
    found = {}
    for column, wanted in want.items():
        got = row[column]
        if isinstance(wanted, float) and isinstance(got, float):
            same = abs(got - wanted) <= 1e-12 * max(1.0, abs(wanted))
        else:
            same = got == wanted and isinstance(got, bool) == isinstance(wanted, bool)
        if not same:
            found[column] = (got, wanted)
    return found
