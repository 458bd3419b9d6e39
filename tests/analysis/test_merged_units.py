"""Runs paired side by side: the same bits as by the join, which is for all runs that cannot be read so."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.analysis.catalog_rows import ProfileRow
from rageval_batch.analysis.compared_runs import ComparedRuns, find_compared_runs, open_compared
from rageval_batch.analysis.comparison import Rules, compare
from rageval_batch.analysis.merged_units import merged_units
from rageval_batch.analysis.paired_units import PairedUnits, joined_units
from rageval_batch.analysis.session import Session
from rageval_batch.errors import StoreError
from rageval_batch.runs.store import Commit, Store
from support.effort import examples
from support.stores import HOSTILE, catalog_row, publish, score_row, simple_run

Row = dict[str, Any]
QUESTIONS = [*(f"q{k:02d}" for k in range(20)), *HOSTILE, ""]
VALUES = st.sampled_from([0.0, 0.25, 0.5, 1.0, None]) | st.floats(-1e13, 1e13) | st.floats(0, 1)
WEIGHTS = st.sampled_from([0.0, 1.0, 2.5, 1e-300, 1e19, 1e308])


@st.composite
def runs(draw: st.DrawFn) -> dict[str, list[Row]]:
    """Runs over some of the same questions, with weights, and values that are not there."""
    found = {}
    for name in ("base", "cand-0", "cand-1"):
        names = draw(st.lists(st.sampled_from(QUESTIONS), unique=True, min_size=1))
        found[name] = [
            score_row(question, draw(VALUES), weight=draw(WEIGHTS), repaired=draw(st.booleans())) for question in names
        ]
    return found


def figures(units: PairedUnits) -> dict[str, Any]:
    """All of it in a form that can be compared; numbers by their bits."""
    told = {**vars(units), "counts": dict(units.counts), "listed": dict(units.listed)}
    return {**told, "deltas": units.deltas.tobytes(), "weights": units.weights.tobytes()}


def both_ways(
    session: Session, compared: ComparedRuns, most_listed: int = 3
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    merged = merged_units(session, compared, most_listed)
    joined = joined_units(session, compared, most_listed)
    return (
        None if merged is None else {name: figures(units) for name, units in merged.items()},
        {name: figures(units) for name, units in joined.items()},
    )


def profile_row(stat: str, worth: float | None) -> ProfileRow:
    """A profile whose runs have that statistic, and whose scores that are not there count as this."""
    metrics = tuple(replace(metric, null_counts_as=worth) for metric in catalog_row().metrics)
    return replace(catalog_row(), run_stat=stat, metrics=metrics)


@settings(max_examples=examples(25), deadline=None)
@given(
    runs(), st.sampled_from(["mean", "weighted_mean"]), st.sampled_from([None, 0.0]),
    st.sampled_from(["score", "repaired"]), st.sampled_from([1, 3, None]),
)  # fmt: skip
def test_the_same_bits_as_the_join(
    given_runs: dict[str, list[Row]], stat: str, worth: float | None, metric: str, row_group: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        publish(Path(folder), given_runs, row_group=row_group)
        with Session(Store(folder), [profile_row(stat, worth)]) as session:
            compared = find_compared_runs(session, "base", ["cand-0", "cand-1"], metric=metric)
            merged, joined = both_ways(session, compared)
    assert merged == joined


def test_many_units_move_as_far(tmp_path: Path) -> None:
    base = {f"q{k:04d}": 0.5 for k in range(300)}
    cand = {name: 0.5 + [0.0, 0.25, -0.25, 0.125, 0.25 + 1e-8][k % 5] for k, name in enumerate(base)}
    publish(tmp_path, {"base": simple_run(**base), "cand": simple_run(**cand)}, row_group=64)
    with open_compared(tmp_path, ["base", "cand"]) as session:
        merged, joined = both_ways(session, find_compared_runs(session, "base", ["cand"]), 1_000)
    assert merged == joined


def test_older_results_and_commits_of_their_own(tmp_path: Path) -> None:
    first = publish(tmp_path, {"base": simple_run(a=1.0, b=0.5), "cand": simple_run(a=0.5, b=0.5)})
    publish(tmp_path, {"base": simple_run(a=0.0, c=0.5)})
    older = f"base@{first.id}"
    with open_compared(tmp_path, ["base", older]) as session:
        merged, joined = both_ways(session, find_compared_runs(session, older, ["base", "cand"]))
    assert merged == joined and merged is not None and len(merged) == 2


def _rewritten(commit: Commit, change: Callable[[Any], Any]) -> None:
    (path,) = commit.files("scores")
    pq.write_table(change(pq.read_table(path)), path)


def _backwards(rows: Any) -> Any:
    return rows.take(list(range(rows.num_rows - 1, -1, -1)))


def test_rows_in_another_order_are_joined(tmp_path: Path) -> None:
    runs = {"base": simple_run(a=1.0, b=0.5, c=0.25), "cand": simple_run(a=0.5, b=0.5, c=1.0)}
    commit = publish(tmp_path / "sorted", runs)
    with open_compared(tmp_path / "sorted", ["base", "cand"]) as session:
        want = compare(session, find_compared_runs(session, "base", ["cand"]), Rules())[0].as_dict()
    _rewritten(commit, _backwards)
    with open_compared(tmp_path / "sorted", ["base", "cand"]) as session:
        compared = find_compared_runs(session, "base", ["cand"])
        assert merged_units(session, compared, 3) is None
        assert compare(session, compared, Rules())[0].as_dict() == want


@pytest.mark.parametrize(
    "cand",
    [
        [score_row("a", 1.0), score_row("a", 0.0, repeat=1)],
        [score_row("a", 1.0), score_row("a", 0.5)],
        [score_row("a", float("inf"))],
        [score_row("a", float("nan"))],
        [score_row("a", 1.0, weight=None)],
        [score_row("a", 1.7e308)],
    ],
    ids=["repeats", "a question twice", "infinite", "not a number", "no weight", "delta too large"],
)
def test_rows_that_only_the_join_takes(tmp_path: Path, cand: list[Row]) -> None:
    publish(tmp_path, {"base": [score_row("a", -1.7e308), score_row("b", 0.5)], "cand": cand})
    with open_compared(tmp_path, ["base", "cand"]) as session:
        compared = find_compared_runs(session, "base", ["cand"])
        assert merged_units(session, compared, 3) is None
        assert "cand" in joined_units(session, compared, 3)


def test_runs_without_a_value_are_told_apart_from_none(tmp_path: Path) -> None:
    nothing = [score_row("a", None)]
    publish(tmp_path, {"base": nothing, "empty": nothing, "cand": simple_run(b=1.0)})
    with Session(Store(tmp_path), [profile_row("weighted_mean", None)]) as session:
        merged, joined = both_ways(session, find_compared_runs(session, "base", ["empty", "cand"]))
    assert merged == joined and list(joined) == ["cand"]


def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    commit = publish(tmp_path, {"base": simple_run(a=1.0), "cand": simple_run(a=0.5)}, with_summary=True)
    with open_compared(tmp_path, ["base", "cand"]) as session:
        compared = find_compared_runs(session, "base", ["cand"])
        (path,) = commit.files("scores")
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(StoreError, match="damaged"):
            compare(session, compared, Rules())
