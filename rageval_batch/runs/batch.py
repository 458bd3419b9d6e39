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
from rageval_batch.model import Params, Profile, Scored
from rageval_batch.model.schemas import KEYS, TALLIES, EvalSet


@dataclass(frozen=True)
class Scorer:
    """A profile with its eval set worked out: all that scoring a batch needs."""

    profile: Profile
    params: Params
    eval_set: EvalSet
    prepared: Any
    ids: pa.Array
    datasets: pa.Array
    weights: pa.Array

    @property
    def schema(self) -> pa.Schema:
        """Keys and the profile's columns."""
        return pa.schema([*KEYS, *self.profile.schema_for(self.params)])


def scorer(profile: Profile, params: Params, eval_set: EvalSet) -> Scorer:
    """The profile made ready for an eval set."""
    return Scorer(
        profile,
        params,
        eval_set,
        profile.prepare(eval_set, params),
        pa.array(eval_set.ids, LARGE_STRING),
        pa.array(eval_set.datasets, LARGE_STRING),
        pa.array(profile.weights(eval_set), pa.float64()),
    )


@dataclass(frozen=True)
class ScoredBatch:
    """Score rows in the order of the batch, and what was counted on the way, summed for each run."""

    scores: pa.RecordBatch
    tallies: pa.Table


def score_batch(scorer: Scorer, batch: pa.RecordBatch) -> ScoredBatch:
    """The score rows of a batch. An answer that occurs many times for one question is scored once and spread."""
    if scorer.profile.records is not None:
        return ScoredBatch(_score_records(scorer, batch), TALLIES.empty_table())
    distinct, spread = _distinct(batch)
    repeated = len(distinct) < batch.num_rows * _WORTH_SPREADING
    scored = scorer.profile.score(scorer.prepared, batch.take(pa.array(distinct)) if repeated else batch)
    question = batch.column("question")
    keys = [
        batch.column("run_id"), scorer.ids.take(question), scorer.datasets.take(question), batch.column("repeat"),
        scorer.weights.take(question), batch.column("input"), batch.column("line"),
    ]  # fmt: skip
    own = [scored.columns[name] for name in scorer.profile.schema.names]
    if repeated:
        own = [column.take(pa.array(spread)) for column in own]
    scores = pa.RecordBatch.from_arrays([*keys, *own], schema=scorer.schema)
    rows = spread if repeated else np.arange(batch.num_rows, dtype=np.int32)
    return ScoredBatch(scores, _run_tallies(scored, batch.column("run_id"), rows))


def _score_records(scorer: Scorer, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The score rows of records, whose question is what the profile found it to be."""
    scored = scorer.profile.score(scorer.prepared, batch)
    given = {
        **scored.columns,
        **{name: batch.column(name) for name in ("run_id", "repeat", "input", "line")},
        "dataset": pa.nulls(batch.num_rows, LARGE_STRING),
        "weight": pa.repeat(pa.scalar(1.0), batch.num_rows),
    }
    return pa.RecordBatch.from_arrays([given[name] for name in scorer.schema.names], schema=scorer.schema)


def _distinct(batch: pa.RecordBatch) -> tuple[Ints, Ints]:
    """(first rows of every distinct question, answer and chunks; for each row which of those it equals).

    Rows are grouped by a hash; a row that differs from its group's first is scored on its own, so that a clash of
    hashes costs time and never a wrong score.
    """
    frame = pl.DataFrame([pl.from_arrow(batch.column(name)).alias(name) for name in _ANSWER])  # type: ignore[union-attr]
    hashes = frame.hash_rows().to_numpy()
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    leader = first[group]
    same = np.ones(len(leader), np.bool_)
    for name in _ANSWER:
        column = batch.column(name)
        if name == "question":
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


_ANSWER = ("question", "output", "chunks")
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
    given = scorer.profile.missing_columns(scorer.prepared, questions)
    take = pa.array(questions)
    keys = [
        pa.repeat(pa.scalar(run_id, LARGE_STRING), count), scorer.ids.take(take), scorer.datasets.take(take),
        pa.repeat(pa.scalar(0, pa.int32()), count), scorer.weights.take(take),
        pa.nulls(count, pa.int32()), pa.nulls(count, pa.int64()),
    ]  # fmt: skip
    own = [given.get(field.name, pa.nulls(count, field.type)) for field in scorer.profile.schema]
    return pa.Table.from_arrays([*keys, *own], schema=scorer.schema)


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
