"""Summaries by compiled loops: the bits of exact fractions, and those of the SQL macros for any rows of a commit."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import group_statistics as oracle
from rageval_batch.columnar.kernels.group_statistics import exact_sums, group_statistics
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.runs import run_statistics, summary
from rageval_batch.runs.database import database
from rageval_batch.runs.run_statistics import statistics_of_runs
from rageval_batch.runs.summary import ScoreRows, write_summary
from rageval_batch.runs.summary_plan import SUMMARY, SummarizedMetric, SummaryPlan
from support.effort import examples

VALUES = st.sampled_from(
    [0.0, 1.0, -1.0, 1 / 3, 0.1, 1e-18, 5e-19, -5e-19, 4.9e-19, 1e-300, 99.99999999999999, 1e5, 1e9, -1e9, 1e12, -1e12]
) | st.floats(-1e6, 1e6)  # fmt: skip
WEIGHTS = st.sampled_from([1.0, 1.0, 0.0, 0.1, 3.0, 1e-300, 1e300])
CUTS = (0.5, 0.9, 0.95)


def optional(value: float) -> float | None:
    return None if math.isnan(value) else value


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.none() | VALUES, WEIGHTS), max_size=40), min_size=1, max_size=4),
    st.sampled_from([math.nan, 0.0, 1.0]),
)
def test_statistics_are_those_of_exact_fractions(groups: list[list[tuple[float | None, float]]], worth: float) -> None:
    flat = [entry for group in groups for entry in group]
    values = np.array([value or 0.0 for value, _ in flat])
    present = np.array([value is not None for value, _ in flat], np.bool_)
    weights = np.array([weight for _, weight in flat])
    bounds = np.cumsum([0, *map(len, groups)], dtype=np.int64)
    found = group_statistics(values, present, worth, weights, bounds, 1e12, 1e5, CUTS)
    for k, group in enumerate(groups):
        filled = [(worth if value is None else value, weight) for value, weight in group]
        filled = [(value, weight) for value, weight in filled if not math.isnan(value)]
        got = {name: column[k] for name, column in found._asdict().items()}
        assert got["n_scored"] == sum(value is not None for value, _ in group)
        assert got["n_counted"] == len(filled)
        if not filled:
            assert all(math.isnan(value) for name, value in got.items() if not name.startswith("n_"))
            continue
        mine, own_weights = [value for value, _ in filled], [weight for _, weight in filled]
        largest = max(abs(value) for value in mine)
        assert got["sum"] == oracle.exact_sum(mine)
        assert got["mean"] == oracle.exact_sum(mine) / len(mine)
        assert got["std"] == oracle.deviation(mine, largest if largest > 1e5 else 1.0)
        assert got["rate"] == sum(value != 0 for value in mine) / len(mine)
        assert (got["min"], got["max"]) == (min(mine), max(mine))
        assert [got[name] for name in ("p50", "p90", "p95")] == [oracle.percentile(mine, share) for share in CUTS]
        assert optional(got["weighted_mean"]) == oracle.weighted_mean(mine, own_weights)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.floats(-9e19, 9e19) | st.floats(-1e-15, 1e-15), max_size=30))
def test_sums_of_large_and_small_values_are_exact(values: list[float]) -> None:
    total, count = exact_sums(np.array(values), np.ones(len(values), np.bool_), np.array([0, len(values)]))
    assert count[0] == len(values)
    assert optional(total[0]) == (oracle.exact_sum(values) if values else None)


def test_percentiles_of_many_values_need_no_luck() -> None:
    """Orders that are bad for a quicksort, and many equal values."""
    rows = 2_000
    for values in (
        np.arange(rows, dtype=np.float64),
        np.arange(rows, dtype=np.float64)[::-1].copy(),
        np.abs(np.arange(rows) - rows / 2),
        np.arange(rows) % 3 / 2.0,
        np.tile([0.0, 1.0], rows // 2),
    ):
        found = group_statistics(
            values, np.ones(rows, np.bool_), math.nan, np.ones(rows), np.array([0, rows]), 1e12, 1e5, CUTS
        )
        assert [found.p50[0], found.p90[0], found.p95[0]] == [oracle.percentile(values.tolist(), cut) for cut in CUTS]


PLAN = SummaryPlan(
    run_stat="weighted_mean",
    unit_key=("question_id",),
    metrics=(
        SummarizedMetric(name="score", column="score", null_counts_as=0.0, numerator=None, denominator=None),
        SummarizedMetric(name="share", column="score", null_counts_as=None, numerator="ok", denominator="of"),
        SummarizedMetric(name="passed", column="flag", null_counts_as=None, numerator=None, denominator=None),
        SummarizedMetric(name="later", column="later", null_counts_as=1.0, numerator="gone", denominator="of"),
    ),
    groups=("kind", "tags", "fields", "absent"),
)
SCHEMA = pa.schema(
    [
        ("run_id", LARGE_STRING), ("question_id", LARGE_STRING), ("weight", pa.float64()), ("score", pa.float64()),
        ("flag", pa.bool_()), ("ok", pa.int64()), ("of", pa.int64()), ("fail_reason", LARGE_STRING),
        ("kind", LARGE_STRING), ("tags", pa.list_(LARGE_STRING)), ("fields", pa.map_(LARGE_STRING, LARGE_STRING)),
    ]
)  # fmt: skip
NAMES = st.sampled_from(["", "a", "b", "é", "it's"])


@st.composite
def score_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of some runs, a question each, in the order of a commit."""
    rows = []
    for run in sorted(draw(st.sets(st.sampled_from(["r1", "r2", "R", "é"]), min_size=1))):
        for k in range(draw(st.integers(1, 5))):
            rows.append(
                {
                    "run_id": run, "question_id": f"q{k}", "weight": draw(WEIGHTS), "score": draw(st.none() | VALUES),
                    "flag": draw(st.none() | st.booleans()), "ok": draw(st.none() | st.integers(0, 3)),
                    "of": draw(st.none() | st.integers(0, 3)),
                    "fail_reason": draw(st.sampled_from([None, None, "empty_output", "missing_output"])),
                    "kind": draw(st.none() | NAMES), "tags": draw(st.none() | st.lists(st.none() | NAMES, max_size=3)),
                    "fields": draw(st.none() | st.dictionaries(NAMES, st.none() | NAMES, max_size=2).map(
                        lambda found: list(found.items())
                    )),
                }
            )  # fmt: skip
    return rows


def by_sql(path: Path, folder: Path) -> pa.Table:
    runs = pq.read_table(path, columns=["run_id"]).column("run_id").unique()
    records = pa.table({"run_id": runs, "repeats": [1] * len(runs), "commit": [path.parent.name] * len(runs)})
    with database(folder) as opened:
        write_summary(PLAN, ScoreRows.of_files([path]), records, target=folder / "summary.parquet", database=opened)
    return pq.read_table(folder / "summary.parquet").cast(SUMMARY)


@settings(max_examples=examples(30), deadline=None)
@given(score_rows(), st.integers(1, 4))
def test_compiled_summaries_are_those_of_the_macros(rows: list[dict[str, Any]], at_once: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_statistics, "_ROWS_AT_ONCE", at_once)
        path = Path(name, "scores.parquet")
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path)
        found = statistics_of_runs(PLAN, [path])
        assert found is not None
        assert found.to_pylist() == by_sql(path, Path(name)).to_pylist()


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("a", 1.0, 1.0), ("b", 1.0, 1.0), ("a", 1.0, 1.0)], "rows of a run apart"),
        ([("a", math.inf, 1.0)], "a value that is not finite"),
        ([("a", 1.0, None)], "no weight"),
    ],
)
def test_other_rows_are_left_to_sql(rows: list[tuple[str, float, float | None]], why: str, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"run_id": run, "score": score, "weight": w} for run, score, w in rows], SCHEMA)
    pq.write_table(table, tmp_path / "scores.parquet")
    assert statistics_of_runs(PLAN, [tmp_path / "scores.parquet"]) is None, why


def test_a_run_of_very_many_rows_is_left_to_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_statistics, "MOST_OF_RUN", 3)
    monkeypatch.setattr(run_statistics, "_ROWS_AT_ONCE", 2)
    table = pa.Table.from_pylist([{"run_id": "a", "weight": 1.0}] * 9, SCHEMA)
    pq.write_table(table, tmp_path / "scores.parquet")
    assert statistics_of_runs(PLAN, [tmp_path / "scores.parquet"]) is None


def test_runs_are_divided_where_the_memory_does_not_do_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what was too much at once is divided, and the summary is the one of all runs; of one run it is none."""
    names = [f"run {k} 'é" for k in range(7)]
    rows = pa.table(
        {
            "run_id": pa.array([name for name in names for _ in range(4)], LARGE_STRING),
            "question_id": pa.array(["a", "b"] * 14, LARGE_STRING),
            "repeat": pa.array([0, 0, 1, 1] * 7, pa.int32()),
            "weight": pa.array([1.0] * 28),
            "score": pa.array([k / 7 for k in range(28)]),
            "fail_reason": pa.array([None, "x"] * 14, LARGE_STRING),
        }
    )
    scores = tmp_path / "scores.parquet"
    pq.write_table(rows, scores)
    runs = pa.table({"run_id": pa.array(names[::-1], LARGE_STRING), "repeats": pa.array([2] * 7, pa.int32())})
    write, most = summary.write_summary, 7

    def limited(plan: SummaryPlan, found: ScoreRows, mine: pa.Table, **more: Any) -> None:
        if mine.num_rows > most:
            raise MemoryError
        write(plan, found, mine, **more)

    monkeypatch.setattr(summary, "write_summary", limited)
    plan = replace(PLAN, metrics=PLAN.metrics[:1], groups=())
    made = []
    for most in (7, 3, 1, 0):
        target = tmp_path / f"{most}.parquet"
        with database(tmp_path) as own:
            done = summary.write_commit_summary(plan, [scores], runs, target=target, database=own)
        assert done == target.exists() == (most > 0)
        made += [pq.read_table(target)] if done else []
    assert made[0].num_rows > 7
    assert all(table.equals(made[0]) for table in made)
    assert not list(tmp_path.glob("*.parquet.*"))
