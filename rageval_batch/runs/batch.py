"""A batch of answers in, a batch of scores out: pure, so that threads and cluster engines run the same function."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.strings import LARGE_STRING, Ints
from rageval_batch.dataclass import dataclass
from rageval_batch.inputs.kinds import input_kind
from rageval_batch.inputs.protocols import RowKeys
from rageval_batch.model import BATCH, EvalSet, Params, Profile, Scored
from rageval_batch.model.schemas import KEYS
from rageval_batch.runs.reused_scores import ReusedScores
from rageval_batch.runs.tallies import run_tallies


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A profile with its eval set worked out: all that scoring a batch needs. It can be pickled."""

    profile: Profile
    prepared: Any
    row_keys: RowKeys
    schema: pa.Schema  # keys and the profile's columns

    def score(self, batch: pa.RecordBatch) -> Scored:
        """What the profile says of a batch."""
        return self.profile.scoring.score(self.prepared, batch)

    def reused_scores(self) -> ReusedScores | None:
        """What scores equal answers of a job once; None where every row is scored for itself."""
        return ReusedScores(self.score, self.row_keys.answer) if self.row_keys.answer else None


def scorer(profile: Profile, params: Params, eval_set: EvalSet) -> Scorer:
    """The profile made ready for an eval set, whose questions it may let go."""
    row_keys = input_kind(profile).row_keys(eval_set)
    return Scorer(
        profile=profile,
        prepared=profile.scoring.prepare(eval_set, params),
        row_keys=row_keys,
        schema=pa.schema([*KEYS, *profile.schema_for(params)]),
    )


@dataclass(frozen=True)
class ScoredBatch:
    """Score rows in the order of the batch, and what was counted on the way, summed for each run."""

    scores: pa.RecordBatch
    tallies: pa.Table


def score_batch(scorer: Scorer, batch: pa.RecordBatch, reused: ReusedScores | None = None) -> ScoredBatch:
    """The score rows of a batch. With `reused`, an answer that was scored before is not scored again."""
    scored, spread = (scorer.score(batch), None) if reused is None else reused.score(batch)
    own = scored.columns
    if spread is not None:
        own = {name: column.take(as_arrow(spread)) for name, column in own.items()}
    columns = {**own, **scorer.row_keys.columns(batch)}
    scores = pa.RecordBatch.from_arrays([columns[name] for name in scorer.schema.names], schema=scorer.schema)
    return ScoredBatch(scores, run_tallies(scored, batch.column("run_id"), spread))


def missing_rows(scorer: Scorer, missing: Mapping[str, Ints]) -> pa.Table:
    """The score rows of questions that runs left unanswered, one run after the other: they count, as nothing."""
    questions = np.concatenate([np.zeros(0, np.int32), *missing.values()])
    count = len(questions)
    runs = np.repeat(np.arange(len(missing)), [len(mine) for mine in missing.values()])
    batch = {
        "run_id": pa.array(list(missing), LARGE_STRING).take(as_arrow(runs)),
        "question": as_arrow(questions),
        "repeat": pa.repeat(pa.scalar(0, pa.int32()), count),
    }
    rows = [batch.get(field.name, pa.nulls(count, field.type)) for field in BATCH]
    columns = {
        **scorer.profile.scoring.missing(scorer.prepared, questions),
        **scorer.row_keys.columns(pa.RecordBatch.from_arrays(rows, schema=BATCH)),
    }
    own = [columns.get(field.name, pa.nulls(count, field.type)) for field in scorer.schema]
    return pa.Table.from_arrays(own, schema=scorer.schema)


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_ordered(work: Callable[[Item], Result], items: Iterator[Item], threads: int) -> Iterator[Result]:
    """`work` over items on several threads, results in the order of the items, few of them waiting at a time.

    A thread takes the next item by itself and works on it: what was just read is still in the cache of its core.
    """
    taking = Lock()
    numbered = enumerate(items)

    def take_and_work() -> tuple[int, Result] | None:
        with taking:
            taken = next(numbered, None)
        return None if taken is None else (taken[0], work(taken[1]))

    done: dict[int, Result] = {}
    number = 0
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque(pool.submit(take_and_work) for _ in range(threads + 1))
        while waiting:
            found = waiting.popleft().result()
            if found is None:
                continue
            waiting.append(pool.submit(take_and_work))
            done[found[0]] = found[1]
            while number in done:  # a thread may be overtaken between taking its turn and its item
                yield done.pop(number)
                number += 1
