"""Scores that are used again are those of scoring again, to the last bit; what is kept is bounded."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_batch.columnar.kernels import digests
from rageval_batch.model import Scored
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.runs import reused_scores
from rageval_batch.runs.batch import Scorer, score_batch
from rageval_batch.runs.reused_scores import ReusedScores
from support.effort import examples
from support.samples import sample

NAMES = [name for name in PROFILES if name != "judge_protocol"]  # whose rows are about themselves
CHUNKS = [None, "[]", '[{"source_path": "a.md", "text": "12 480,5 млн"}]']


@pytest.fixture(scope="module", params=NAMES)
def scored_sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return sample(request.param, tmp_path_factory.mktemp("sample"))


def batches_of(batch: pa.RecordBatch, rows: list[tuple[int, int]], cuts: list[int]) -> list[pa.RecordBatch]:
    """Rows of a batch, any of them several times and in other runs, with other chunks, in batches of their own."""
    chosen = batch.take(pa.array([row % batch.num_rows for row, _ in rows], pa.int32()))
    columns = {name: chosen.column(name) for name in chosen.schema.names}
    columns["run_id"] = pa.array([f"run {number % 3}" for number in range(len(rows))], pa.large_string())
    columns["line"] = pa.array(range(len(rows)), pa.int64())
    columns["chunks"] = pa.array([CHUNKS[chunks] for _, chunks in rows], pa.large_string())
    made = pa.RecordBatch.from_arrays([columns[name] for name in batch.schema.names], schema=batch.schema)
    bounds = [0, *sorted({cut % (len(rows) + 1) for cut in cuts}), len(rows)]
    return [made.slice(first, last - first) for first, last in pairwise(bounds) if first < last]


def assert_same(ready: Scorer, reused: ReusedScores | None, batches: list[pa.RecordBatch]) -> None:
    for batch in batches:
        found, wanted = score_batch(ready, batch, reused), score_batch(ready, batch)
        assert found.scores.equals(wanted.scores)
        by = [(name, "ascending") for name in wanted.tallies.schema.names]
        assert found.tallies.sort_by(by).equals(wanted.tallies.sort_by(by))


@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    most=st.sampled_from([1, 9, 1 << 18]),
)
def test_scores_are_the_same_bits_whether_they_are_used_again_or_not(
    scored_sample: tuple[Scorer, pa.RecordBatch],
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[int, int]],
    cuts: list[int],
    most: int,
) -> None:
    ready, batch = scored_sample
    monkeypatch.setattr(reused_scores, "MOST_ANSWERS", most)
    assert_same(ready, ready.reused_scores(), batches_of(batch, rows, cuts))


class Counting:
    """A scorer of digits that counts the rows that it was given."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, batch: pa.RecordBatch) -> Scored:
        self.rows += batch.num_rows
        return Scored({"score": pa.array([float(text) for text in batch.column("output").to_pylist()])})


def numbered(first: int, count: int) -> pa.RecordBatch:
    """Answers that are numbers."""
    texts = pa.array([str(number) for number in range(first, first + count)], pa.large_string())
    return pa.RecordBatch.from_arrays([pa.array(np.zeros(count, np.int32)), texts], ["question", "output"])


def test_an_answer_of_an_earlier_batch_is_not_scored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    score = Counting()
    reused = ReusedScores(score, ("question", "output"))
    for _ in range(3):
        found, spread = reused.score(numbered(0, 50))
        assert found.columns["score"].take(pa.array(range(50) if spread is None else spread)).to_pylist() == [
            float(number) for number in range(50)
        ]
    assert score.rows == 50
    monkeypatch.setattr(reused_scores, "MOST_BYTES", 1)  # all is forgotten whenever something is kept
    reused.score(numbered(50, 10))
    reused.score(numbered(60, 10))
    reused.score(numbered(0, 60))
    assert score.rows == 50 + 10 + 10 + 60


def test_batches_without_known_answers_are_soon_scored_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reused_scores, "WINDOW", 100)
    looked = 0

    def counted(*given: Any) -> Any:
        nonlocal looked
        looked += 1
        return digests.keyed_digests(*given)

    monkeypatch.setattr(reused_scores, "keyed_digests", counted)
    reused = ReusedScores(Counting(), ("question", "output"))
    for number in range(26):
        reused.score(numbered(50 * number, 50))
    assert looked == 2 + 2  # a window of two batches, then one 8 batches later and one 16 behind that
    for number in range(26, 26 + 32 + 64 + 64):
        reused.score(numbered(50 * number, 50))
    assert looked == 2 + 2 + 3  # 32 behind, and from then on 64


def test_threads_score_at_once_whether_batches_are_looked_at_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reused_scores, "WINDOW", 100)
    count, met = Counting(), threading.Barrier(2)

    def meeting(batch: pa.RecordBatch) -> Scored:
        met.wait(60)  # breaks, and raises, where one thread keeps the other from scoring
        return count(batch)

    reused = ReusedScores(meeting, ("question", "output"))
    with ThreadPoolExecutor(2) as pool:
        assert len(list(pool.map(reused.score, (numbered(50 * number, 50) for number in range(26))))) == 26
    assert count.rows == 26 * 50


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_says_whether_its_answers_are_scored_once(name: str, tmp_path: Path) -> None:
    ready, batch = sample(name, tmp_path)
    assert (ready.reused_scores() is None) == (name == "judge_protocol")
    assert ready.row_keys.answer in ((), ("question", "output", "chunks"))
    assert set(ready.row_keys.answer) <= set(batch.schema.names)
