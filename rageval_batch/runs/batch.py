"""A batch of answers in, a batch of scores out: pure, so that threads and cluster engines run the same function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING, Ints
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.protocols import RowKeys
from rageval_batch.model import BATCH, EvalSet, Params, Profile, Scored
from rageval_batch.model.schemas import KEYS, TALLIES


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A profile with its eval set worked out: all that scoring a batch needs. It can be pickled."""

    profile: Profile
    prepared: Any
    row_keys: RowKeys
    schema: pa.Schema  # keys and the profile's columns


def scorer(profile: Profile, params: Params, eval_set: EvalSet) -> Scorer:
    """The profile made ready for an eval set."""
    return Scorer(
        profile=profile,
        prepared=profile.scoring.prepare(eval_set, params),
        row_keys=input_kind(profile).row_keys(eval_set),
        schema=pa.schema([*KEYS, *profile.schema_for(params)]),
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
    """(first rows of every distinct answer, for each row which of those it equals) by the columns of an answer."""
    if not answer:
        rows = np.arange(batch.num_rows, dtype=np.int32)
        return rows, rows
    group = np.zeros(batch.num_rows, np.int64)
    for name in answer:
        codes = batch.column(name).dictionary_encode(null_encoding="encode").indices.to_numpy()
        _, group = np.unique(group * (len(codes) + 1) + codes, return_inverse=True)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    distinct, spread = np.unique(first[group], return_inverse=True)  # in the order of the rows
    return distinct.astype(np.int32), spread.astype(np.int32)


_WORTH_SPREADING = 0.875  # with fewer repetitions, gathering the distinct answers costs more than scoring them again


def _run_tallies(scored: Scored, run_id: pa.Array, spread: Ints) -> pa.Table:
    if scored.tallies is None or scored.tallies.num_rows == 0:
        return TALLIES.empty_table()
    answer = scored.tallies.column("row").to_numpy()
    rows = np.argsort(spread, kind="stable")
    count = np.bincount(spread, minlength=int(answer.max()) + 1)
    times = count[answer]  # every row that has the answer has its tallies
    tally = np.repeat(np.arange(len(answer)), times)
    place = np.arange(len(tally)) - np.repeat(np.cumsum(times) - times, times)
    row = rows[(np.cumsum(count) - count)[answer[tally]] + place]
    spread_out = scored.tallies.take(pa.array(tally)).append_column("run_id", run_id.take(pa.array(row)))
    summed = spread_out.group_by(["run_id", "kind", "got", "expected"]).aggregate([("n", "sum")])
    return summed.rename_columns({"n_sum": "n"}).select(TALLIES.names).cast(TALLIES)


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
