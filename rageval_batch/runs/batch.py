"""A batch of answers in, a batch of scores out: pure, so that threads and cluster engines run the same function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa

from rageval_batch.columnar.kernels.lines import same_spans
from rageval_batch.columnar.strings import LARGE_STRING, Ints, from_arrow
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.protocols import RowKeys
from rageval_batch.model import BATCH, EvalSet, Params, Profile, Scored
from rageval_batch.model.schemas import KEYS, TALLIES


@dataclass(frozen=True)
class Scorer:
    """A profile with its eval set worked out: all that scoring a batch needs. It can be pickled."""

    profile: Profile
    prepared: Any
    row_keys: RowKeys
    schema: pa.Schema  # keys and the profile's columns


def scorer(profile: Profile, params: Params, eval_set: EvalSet) -> Scorer:
    """The profile made ready for an eval set."""
    return Scorer(
        profile,
        profile.scoring.prepare(eval_set, params),
        input_kind(profile).row_keys(eval_set),
        pa.schema([*KEYS, *profile.schema_for(params)]),
    )


@dataclass(frozen=True)
class ScoredBatch:
    """Score rows in the order of the batch, and what was counted on the way, summed for each run."""

    scores: pa.RecordBatch
    tallies: pa.Table


def score_batch(scorer: Scorer, batch: pa.RecordBatch) -> ScoredBatch:
    """The score rows of a batch. An answer that occurs many times for one question is scored once and spread."""
    distinct, spread = _distinct(batch, scorer.row_keys.answer)
    repeated = len(distinct) < batch.num_rows * _WORTH_SPREADING
    scored = scorer.profile.scoring.score(scorer.prepared, batch.take(pa.array(distinct)) if repeated else batch)
    own = scored.columns
    if repeated:
        own = {name: column.take(pa.array(spread)) for name, column in own.items()}
    columns = {**own, **scorer.row_keys.columns(batch)}
    scores = pa.RecordBatch.from_arrays([columns[name] for name in scorer.schema.names], schema=scorer.schema)
    rows = spread if repeated else np.arange(batch.num_rows, dtype=np.int32)
    return ScoredBatch(scores, _run_tallies(scored, batch.column("run_id"), rows))


def _distinct(batch: pa.RecordBatch, answer: tuple[str, ...]) -> tuple[Ints, Ints]:
    """(first rows of every distinct answer, for each row which of those it equals) by the columns of an answer.

    Rows are grouped by a hash; a row that differs from its group's first is scored on its own, so that a clash of
    hashes costs time and never a wrong score.
    """
    if not answer:
        rows = np.arange(batch.num_rows, dtype=np.int32)
        return rows, rows
    frame = pl.DataFrame([pl.from_arrow(batch.column(name)).alias(name) for name in answer])  # type: ignore[union-attr]
    hashes = frame.hash_rows().to_numpy()
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    leader = first[group]
    same = np.ones(len(leader), np.bool_)
    for name in answer:
        column = batch.column(name)
        if pa.types.is_integer(column.type):
            values = column.to_numpy()
            same &= values == values[leader]
            continue
        texts = from_arrow(column)
        same &= same_spans(texts.data, texts.offsets, leader)
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        same &= nulls == nulls[leader]
    leader = np.where(same, leader, np.arange(len(leader)))
    distinct, spread = np.unique(leader, return_inverse=True)
    return distinct.astype(np.int32), spread.astype(np.int32)


_WORTH_SPREADING = 0.875  # with fewer repetitions, gathering the distinct answers costs more than scoring them again


def _run_tallies(scored: Scored, run_id: pa.Array, spread: Ints) -> pa.Table:
    if scored.tallies is None or scored.tallies.num_rows == 0:
        return TALLIES.empty_table()
    rows = pl.DataFrame({"run_id": pl.from_arrow(run_id), "row": spread})
    counted = pl.from_arrow(scored.tallies)
    assert isinstance(counted, pl.DataFrame)
    joined = rows.join(counted, on="row", how="inner")
    summed = joined.group_by("run_id", "kind", "got", "expected").agg(pl.col("n").sum())
    return summed.select(TALLIES.names).to_arrow().cast(TALLIES)


def missing_rows(scorer: Scorer, run_id: str, questions: Ints) -> pa.Table:
    """The score rows of questions that a run left unanswered: they count, as nothing."""
    count = len(questions)
    batch = {
        "run_id": pa.repeat(pa.scalar(run_id, LARGE_STRING), count),
        "question": pa.array(questions, pa.int32()),
        "repeat": pa.repeat(pa.scalar(0, pa.int32()), count),
    }
    missing = [batch.get(field.name, pa.nulls(count, field.type)) for field in BATCH]
    columns = {
        **scorer.profile.scoring.missing(scorer.prepared, questions),
        **scorer.row_keys.columns(pa.RecordBatch.from_arrays(missing, schema=BATCH)),
    }
    own = [columns.get(field.name, pa.nulls(count, field.type)) for field in scorer.schema]
    return pa.Table.from_arrays(own, schema=scorer.schema)


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_ordered(work: Callable[[Item], Result], items: Iterator[Item], threads: int) -> Iterator[Result]:
    """`work` over items on several threads, results in the order of the items, few of them waiting at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[Result]] = []
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()
