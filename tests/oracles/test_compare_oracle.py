"""The oracles of comparison against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from oracles import compare


def run(**scores: float) -> list[dict[str, Any]]:
    return [{"question_id": name, "repeat": 0, "score": value, "weight": 1.0} for name, value in scores.items()]


def test_questions_that_rose_fell_stayed_and_stand_alone() -> None:
    got = compare.compare_questions(run(a=0.5, b=0.5, c=1.0, d=0.0), run(a=1.0, b=0.25, c=1.0, e=0.75))
    assert (got["base"], got["candidate"], got["delta"]) == (0.5, 0.75, 0.25)
    assert (got["changed"], got["improvements"], got["regressions"], got["ties"]) == (2, 1, 1, 1)
    assert (got["improved"], got["regressed"]) == (["a"], ["b"])
    assert (got["only_base"], got["only_cand"]) == (["d"], ["e"])
    assert got["passed"] is False
    assert compare.compare_questions(run(a=0.5, b=0.5), run(a=1.0, b=0.25), max_regressions=1)["passed"] is True


def test_lower_is_better_turns_all_signs() -> None:
    got = compare.compare_questions(run(a=0.5, b=0.25), run(a=0.25, b=0.25), higher_is_better=False)
    assert (got["delta"], got["improvements"], got["regressions"], got["passed"]) == (0.125, 1, 0, True)


@pytest.mark.parametrize(
    ("candidate", "min_delta", "passed"),
    [(0.5, 0.0, True), (0.5 - 1e-10, 0.0, True), (0.6, 0.1, True), (0.6, 0.11, False), (0.5 - 1e-8, 0.0, False)],
)
def test_limits_have_a_tolerance(candidate: float, min_delta: float, passed: bool) -> None:
    assert compare.compare_questions(run(a=0.5), run(a=candidate), min_delta=min_delta)["passed"] is passed


def test_weights_and_repeats() -> None:
    base = [
        {"question_id": "a", "repeat": 0, "score": 1.0, "weight": 3.0},
        {"question_id": "a", "repeat": 1, "score": 0.0, "weight": 3.0},
        {"question_id": "b", "repeat": 0, "score": 1.0, "weight": 1.0},
    ]
    assert compare.question_scores(base) == {"a": 0.5, "b": 1.0}
    assert compare.run_score(base) == 0.625
    assert compare.run_score(base, weighted=False) == 0.75
    no_weight = [{**row, "weight": 0.0} for row in base]
    got = compare.compare_questions(no_weight, no_weight)
    assert (got["base"], got["delta"], got["passed"]) == (None, None, False)


@pytest.mark.parametrize(
    ("deltas", "want"),
    [
        ([], 1.0),
        ([0.0, 0.0], 1.0),
        ([0.5], 1.0),
        ([0.5, 0.5, 0.5], 0.25),
        ([-0.5, -0.5, -0.5, 0.0], 0.25),
        ([0.5, 0.25, -0.25], 0.75),
        ([0.1, 0.2, 0.3], 0.25),
        ([0.3, -0.1, -0.2], 1.0),
    ],
)
def test_sign_flip_exact(deltas: list[float], want: float) -> None:
    assert compare.sign_flip_exact(deltas) == want


def test_sign_flip_sampled_counts_the_observed_one() -> None:
    assert compare.sign_flip_sampled([0.5, 0.5], [(1, 1), (1, -1), (-1, -1)]) == 0.75
    assert compare.sign_flip_sampled([0.5, 0.5], []) == 1.0


def test_sign_flip_with_weights() -> None:
    assert compare.sign_flip_exact([1.0, 1.0], [3.0, 1.0]) == 0.5
    assert compare.sign_flip_exact([1.0, -1.0], [1.0, 0.0]) == 1.0


@pytest.mark.parametrize(
    ("values", "share", "want"),
    [([], 0.5, None), ([2.0], 0.025, 2.0), ([3.0, 1.0], 0.5, 2.0), ([0.0, 1.0, 2.0, 3.0, 4.0], 0.125, 0.5)],
)
def test_percentile(values: list[float], share: float, want: float | None) -> None:
    assert compare.percentile(values, share) == want


def test_bootstrap_interval() -> None:
    indices = [(0, 0), (0, 1), (1, 1)]
    assert compare.bootstrap_interval([0.0, 1.0], indices, level=0.5) == (0.25, 0.75)
    assert compare.bootstrap_interval([0.0, 1.0], indices, weights=[0.0, 2.0], level=0.5) == (1.0, 1.0)
    assert compare.bootstrap_interval([], []) == (None, None)
    low, high = compare.bootstrap_interval([0.0, 1.0], indices)
    assert low == pytest.approx(0.025)
    assert high == pytest.approx(0.975)


@pytest.mark.parametrize(
    ("interval", "want"), [((-0.5, -0.1), True), ((-0.5, 0.0), False), ((0.1, 0.2), False), ((None, None), False)]
)
def test_significant_drop(interval: tuple[float | None, float | None], want: bool) -> None:
    assert compare.significant_drop(interval) is want


@pytest.mark.parametrize(
    ("p_values", "want"),
    [
        ([], []),
        ([0.25], [0.25]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.5], [1.0, 1.0]),
        ([None, 0.125, 0.5], [None, 0.25, 0.5]),
        ([0.02, 0.02, 0.9], [0.06, 0.06, 0.9]),
    ],
)
def test_holm(p_values: list[float | None], want: list[float | None]) -> None:
    got = compare.holm(p_values)
    assert [value if value is None else pytest.approx(value) for value in got] == want


@pytest.mark.parametrize(
    ("repeats", "passed", "k", "want"),
    [(1, 1, 1, 1.0), (1, 0, 1, 0.0), (4, 1, 1, 0.25), (4, 1, 2, 0.5), (5, 2, 3, 0.9), (3, 2, 2, 1.0), (3, 1, 4, None)],
)
def test_pass_at_k(repeats: int, passed: int, k: int, want: float | None) -> None:
    assert compare.pass_at_k(repeats, passed, k) == want


def test_run_pass_at_k_is_a_mean_over_questions() -> None:
    rows = [{"question_id": "a", "passed": value} for value in (True, False, False, False)]
    rows += [{"question_id": "b", "passed": True}]
    assert compare.run_pass_at_k(rows, 1) == 0.625
    assert compare.run_pass_at_k(rows, 2) == 0.5
    assert compare.run_pass_at_k(rows, 5) is None


def test_std_over_repeats() -> None:
    rows = [
        {"question_id": "a", "repeat": 0, "score": 1.0, "weight": 1.0},
        {"question_id": "b", "repeat": 0, "score": 0.0, "weight": 3.0},
        {"question_id": "a", "repeat": 1, "score": 0.0, "weight": 1.0},
        {"question_id": "b", "repeat": 1, "score": 1.0, "weight": 3.0},
    ]
    assert compare.std_over_repeats(rows) == 0.25
    assert compare.std_over_repeats(rows, weighted=False) == 0.0
    assert compare.std_over_repeats([]) is None
