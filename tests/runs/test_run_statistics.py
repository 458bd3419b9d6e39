"""Summaries by compiled loops: the bits of exact fractions, and those of the SQL macros for any rows of a commit."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
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
from rageval_batch.runs import score_runs, summary
from rageval_batch.runs.database import database
from rageval_batch.runs.run_statistics import statistics_of_rows, statistics_of_runs
from rageval_batch.runs.score_runs import OtherRows
from rageval_batch.runs.summary import ScoreRows, write_summary
from rageval_batch.runs.summary_plan import SUMMARY, SummarizedMetric, SummaryPlan
from support.effort import examples

VALUES = st.sampled_from(
    [0.0, 1.0, -1.0, 1 / 3, 0.1, 1e-18, 5e-19, -5e-19, 4.9e-19, 1e-300, 99.99999999999999, 1e5, 1e9, -1e9, 1e12, -1e12]
) | st.floats(-1e6, 1e6)  # fmt: skip
NARROW = st.tuples(  # a value, how far others are from it
    st.sampled_from([0.0, 0.95, -0.95, 1e-9, 75.0, 1e6, 1.7e9, -1.7e9, 1e12 - 1e6]),
    st.sampled_from([1e-18, 1e-16, 1e-12, 1e-10, 1e-7, 9.9e-4, 1e-3, 1.0, 99_999.0, 100_001.0]),
)
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
    found = group_statistics(values, present, worth, weights, None, bounds, 1e12, CUTS)
    assert found is not None
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
        assert got["sum"] == oracle.exact_sum(mine)
        assert got["mean"] == oracle.exact_sum(mine) / len(mine)
        assert got["std"] == oracle.deviation(mine)
        assert got["rate"] == sum(value != 0 for value in mine) / len(mine)
        assert (got["min"], got["max"]) == (min(mine), max(mine))
        assert [got[name] for name in ("p50", "p90", "p95")] == [oracle.percentile(mine, share) for share in CUTS]
        assert optional(got["weighted_mean"]) == oracle.weighted_mean(mine, own_weights)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(VALUES | st.just(-0.0), min_size=1, max_size=12),
    st.integers(0, 400),  # more values, all different
    st.integers(1, 1_500),
    st.integers(0, 2**32),
)
def test_statistics_of_few_and_of_many_distinct_values(few: list[float], more: int, rows: int, seed: int) -> None:
    """Few are counted, each distinct one once; many are summed one after the other."""
    random = np.random.default_rng(seed)
    pool = np.concatenate([few, random.normal(0, 100, more)])
    values = random.choice(pool, rows)
    present = random.random(rows) < random.choice([0.5, 1.0])
    order = random.permutation(rows).astype(np.int32)
    weights = np.broadcast_to(2.0, rows)
    for place in (None, order):
        found = group_statistics(values, present, 0.0, weights, place, np.array([0, rows]), 1e12, CUTS)
        assert found is not None
        mine = np.where(present, values, 0.0).tolist()
        assert (found.n_scored[0], found.n_counted[0]) == (present.sum(), rows)
        assert found.sum[0] == oracle.exact_sum(mine)
        assert found.mean[0] == found.weighted_mean[0] == oracle.exact_sum(mine) / rows
        assert found.std[0] == oracle.deviation(mine)
        assert found.rate[0] == sum(value != 0 for value in mine) / rows
        assert (found.min[0], found.max[0]) == (min(mine), max(mine))
        assert [found.p50[0], found.p90[0], found.p95[0]] == [oracle.percentile(mine, share) for share in CUTS]


@settings(max_examples=examples(200), deadline=None)
@given(NARROW, st.lists(st.floats(-1, 1) | st.sampled_from([0.0, 1.0]), min_size=1, max_size=60), st.randoms())
def test_deviations_are_those_of_fractions_however_small(
    narrow: tuple[float, float], steps: list[float], random: Random
) -> None:
    """The same bits in any order; as near to the true one as the mean is a double and sums have 18 decimals."""
    centre, width = narrow
    values = [centre + width * step for step in steps]
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    found = std_of(values)
    assert found == oracle.deviation(values)
    rounding = 2e-15 * max(1e-3, *map(abs, values))
    assert found == pytest.approx(math.sqrt(variance), rel=1e-9, abs=rounding)
    random.shuffle(values)
    assert std_of(values) == found


@pytest.mark.parametrize(
    ("values", "std"),
    [
        ([1_700_000_000.0, 1_700_000_001.0], 0.5),
        ([1_000_000.0, 1_000_000.001], 0.0005),
        ([0.95, 0.95 + 2e-10], 1e-10),
        ([3e-12, 1e-12], 1e-12),
        ([-1e12, 1e12], 1e12),
        ([0.1] * 3, 0.0),  # whose mean is 0.10000000000000002
        ([4e-19] * 3, 0.0),
        ([123_456_789_012.3] * 7, 0.0),
    ],
)
def test_deviations_far_from_one(values: list[float], std: float, tmp_path: Path) -> None:
    assert std_of(values) == pytest.approx(std, rel=1e-6, abs=0)
    rows = [{"run_id": "r", "question_id": f"q{k}", "weight": 1.0, "score": value} for k, value in enumerate(values)]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), tmp_path / "scores.parquet")
    (found,) = (
        row["std"]
        for row in by_sql(replace(PLAN, groups=()), tmp_path / "scores.parquet", {"r": 1}).to_pylist()
        if row["metric"] == "score"
    )
    assert found == std_of(values)


def std_of(values: list[float]) -> float:
    rows = len(values)
    found = group_statistics(
        np.array(values), np.ones(rows, np.bool_), math.nan, np.ones(rows), None, np.array([0, rows]), 1e12, CUTS
    )
    assert found is not None
    std: float = found.std[0]
    return std


@pytest.mark.parametrize("distinct", [2, 1_000])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_has_no_statistics(distinct: int, value: float) -> None:
    values = np.arange(1_000) % distinct / 7
    values[-1] = value
    present, bounds = np.ones(1_000, np.bool_), np.array([0, 500, 1_000])
    weights = np.ones(1_000)
    assert group_statistics(values, present, math.nan, weights, None, bounds, 1e12, CUTS) is None
    present[-1] = False  # what lies behind a null is no value
    assert group_statistics(values, present, math.nan, weights, None, bounds, 1e12, CUTS) is not None


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.floats(-1e12, 1e12) | st.floats(-1e-15, 1e-15), max_size=30))
def test_sums_of_large_and_small_values_are_exact(values: list[float]) -> None:
    total, count = exact_sums(np.array(values), np.ones(len(values), np.bool_), None, np.array([0, len(values)]))
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
            values, np.ones(rows, np.bool_), math.nan, np.ones(rows), None, np.array([0, rows]), 1e12, CUTS
        )
        assert found is not None
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
        ("run_id", LARGE_STRING), ("question_id", LARGE_STRING), ("repeat", pa.int32()), ("weight", pa.float64()),
        ("score", pa.float64()),
        ("flag", pa.bool_()), ("ok", pa.int64()), ("of", pa.int64()), ("fail_reason", LARGE_STRING),
        ("kind", LARGE_STRING), ("tags", pa.list_(LARGE_STRING)), ("fields", pa.map_(LARGE_STRING, LARGE_STRING)),
    ]
)  # fmt: skip
NAMES = st.sampled_from(["", "a", "b", "é", "it's"])
KEYS = st.sampled_from(["a", "b", "é", "it's"])  # not "": it names the whole run


BY_UNIT = replace(PLAN, run_stat="micro", unit_key=("question_id", "kind", "absent"))


@st.composite
def score_rows(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """(rows of some runs in the order of a commit, how many repeats each run has)"""
    rows, repeats = [], {}
    for run in sorted(draw(st.sets(st.sampled_from(["r1", "r2", "R", "é"]), min_size=1))):
        repeats[run] = draw(st.sampled_from([1, 1, 2, 3]))
        centre, width = draw(NARROW)
        scores = draw(st.sampled_from([VALUES, st.floats(-1, 1).map(partial(_beside, centre, width))]))
        for k in range(draw(st.integers(1, 5))):
            weight = draw(WEIGHTS)
            for repeat in range(draw(st.integers(1, repeats[run]))):
                rows.append(
                    {
                        "run_id": run, "question_id": f"q{k}", "repeat": repeat, "weight": weight,
                        "score": draw(st.none() | scores),
                        "flag": draw(st.none() | st.booleans()), "ok": draw(st.none() | st.integers(0, 3)),
                        "of": draw(st.none() | st.integers(0, 3)),
                        "fail_reason": draw(st.sampled_from([None, None, "empty_output", "missing_output"])),
                        "kind": draw(st.none() | NAMES),
                        "tags": draw(st.none() | st.lists(st.none() | NAMES, max_size=3)),
                        "fields": draw(st.none() | st.dictionaries(KEYS, st.none() | NAMES, max_size=2).map(
                            lambda found: list(found.items())
                        )),
                    }
                )  # fmt: skip
    return rows, repeats


def _beside(centre: float, width: float, step: float) -> float:
    return centre + width * step


def by_sql(plan: SummaryPlan, path: Path, repeats: dict[str, int]) -> pa.Table:
    target = path.with_name("summary.parquet")
    folder = [path.parent.name] * len(repeats)
    records = pa.table({"run_id": [*repeats], "repeats": [*repeats.values()], "commit": folder})
    with database(path.parent) as opened:
        write_summary(plan, ScoreRows.of_files([path]), records, target=target, database=opened)
    return pq.read_table(target).cast(SUMMARY)


@settings(max_examples=examples(40), deadline=None)
@given(score_rows(), st.integers(1, 4), st.integers(0, 6), st.integers(1, 20), st.sampled_from([PLAN, BY_UNIT]))
def test_compiled_summaries_are_those_of_the_macros(
    rows: tuple[list[dict[str, Any]], dict[str, int]], at_once: int, most: int, row_group: int, plan: SummaryPlan
) -> None:
    """With repeats and without, for large runs (a column at a time) and small ones, in one file or two."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_runs, "_ROWS_AT_ONCE", at_once)
        patch.setattr(score_runs, "MOST_AT_ONCE", most)
        table = pa.Table.from_pylist(rows[0], SCHEMA)
        paths = [Path(name, f"{k}.parquet") for k in range(2)]
        for path, part in zip(paths, (table.slice(0, most), table.slice(most)), strict=True):
            pq.write_table(part, path, row_group_size=row_group)
        found = pa.concat_tables(statistics_of_runs(plan, paths, rows[1]))
        assert found.equals(pa.concat_tables(statistics_of_rows(plan, table, rows[1])))
        pq.write_table(table, Path(name, "scores.parquet"))
        assert found.to_pylist() == by_sql(plan, Path(name, "scores.parquet"), rows[1]).to_pylist()


@pytest.mark.parametrize(
    ("rows", "repeats", "why"),
    [
        ([("a", "q", 1.0, 1.0), ("b", "q", 1.0, 1.0), ("a", "p", 1.0, 1.0)], 1, "rows of a run apart"),
        ([("b", "q", 1.0, 1.0), ("a", "q", 1.0, 1.0)], 1, "runs in another order"),
        ([("a", "q", math.inf, 1.0)], 1, "a value that is not finite"),
        ([("a", "q", 1.0, None)], 1, "no weight"),
        ([("a", "q", 1.0, 1.0), ("a", "p", 1.0, 1.0), ("a", "q", 1.0, 1.0)], 2, "answers to a question apart"),
        ([("a", None, 1.0, 1.0), ("a", "p", 1.0, 1.0)], 2, "nulls before questions"),
        ([("a", "q", 2e12, 1.0)], 2, "a mean of values that are too large to be summed"),
    ],
)
def test_other_rows_are_left_to_sql(
    rows: list[tuple[str, str, float, float | None]], repeats: int, why: str, tmp_path: Path
) -> None:
    names = ("run_id", "question_id", "score", "weight")
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], SCHEMA)
    pq.write_table(table, tmp_path / "scores.parquet")
    with pytest.raises(OtherRows):
        list(statistics_of_runs(PLAN, [tmp_path / "scores.parquet"], dict.fromkeys("ab", repeats)))
        pytest.fail(why)


@pytest.mark.parametrize("rows", [3_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_memory_of_a_large_run_is_a_few_columns(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many metrics there are: with 40, the rows of the run do not fit into what is allowed."""
    monkeypatch.setattr(score_runs, "MOST_AT_ONCE", 1_000)
    metrics = [f"metric_{k}" for k in range(40)]
    random = np.random.default_rng(1)
    columns = {name: random.random(rows) for name in metrics}
    table = pa.table(
        {
            "run_id": pa.repeat(pa.scalar("r", LARGE_STRING), rows), "weight": np.ones(rows), **columns,
            "fail_reason": pa.nulls(rows, LARGE_STRING), "kind": pa.array(["a", "b", "c"] * rows, LARGE_STRING)[:rows],
        }
    )  # fmt: skip
    path = tmp_path / "scores.parquet"
    pq.write_table(table, path, row_group_size=max(rows // 10, 1))
    plan = replace(
        PLAN,
        metrics=tuple(replace(PLAN.metrics[0], name=name, column=name) for name in metrics),
        groups=("kind",),
    )
    del table
    before = pa.total_allocated_bytes()
    most, read = 0, score_runs.ScoreRuns.read

    def watched(runs: Any, names: list[str], start: int, count: int) -> pa.Table:
        nonlocal most
        found = read(runs, names, start, count)
        most = max(most, pa.total_allocated_bytes() - before)
        return found

    monkeypatch.setattr(score_runs.ScoreRuns, "read", watched)
    (found,) = statistics_of_runs(plan, [path], {})
    assert found.num_rows == 41 * 4
    means = {row["metric"]: row["mean"] for row in found.to_pylist() if not row["grouping"]}
    assert all(means[name] == pytest.approx(columns[name].mean()) for name in metrics)
    assert most < 12 * 8 * rows + 200_000, "the columns of the run are not all held at once"


def refused(*_: Any) -> Any:
    raise OtherRows


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
    monkeypatch.setattr(summary, "statistics_of_runs", refused)
    plan = replace(PLAN, metrics=PLAN.metrics[:1], groups=())
    made = []
    for most in (7, 3, 1, 0):
        target = tmp_path / f"{most}.parquet"
        with database(tmp_path) as own:
            unmade = summary.write_commit_summary(plan, [scores], runs, target=target, database=own)
        done = unmade is None
        assert done == target.exists() == (most > 0)
        assert done or "no summary (not enough memory)" in str(unmade)
        made += [pq.read_table(target)] if done else []
    assert made[0].num_rows > 7
    assert all(table.equals(made[0]) for table in made)
    assert not list(tmp_path.glob("*.parquet.*"))
