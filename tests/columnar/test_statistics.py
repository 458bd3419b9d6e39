"""Intervals and p-values against slow oracles, SciPy, and the coverage they promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from oracles import compare as oracle
from oracles import resampling
from rageval_batch.columnar import statistics
from rageval_batch.columnar.kernels.group_statistics import decimal_sum, exact_sums
from rageval_batch.columnar.kernels.resample import block_sums, extreme_flips, resampled_means, word
from rageval_batch.columnar.kernels.sums import fsum
from rageval_batch.columnar.strings import Floats
from support.effort import examples

FINITE = st.floats(-100, 100, allow_subnormal=False)
DELTAS = st.lists(st.one_of(FINITE, st.sampled_from([0.0, 0.5, -0.5, 1.0])), max_size=8)
WEIGHT = st.just(0.0) | st.floats(1e-6, 5)  # the oracle loses smaller ones


def test_random_words_are_splitmix64() -> None:
    assert int(word(np.uint64(0), 0)) == 0xE220A8397B1DCDAF  # its published first number
    for seed in (0, 1, 2**64 - 1):
        assert [int(word(np.uint64(seed), k)) for k in range(5)] == [resampling.random_word(seed, k) for k in range(5)]


def test_the_bits_are_the_same_everywhere() -> None:
    deltas = np.arange(-20, 37) / 8
    interval = statistics.bootstrap_interval(deltas, seed=1)
    assert (interval.low, interval.high) == (0.46271929824561403, 1.532949561403508)
    assert statistics.sign_flip_p(deltas - 0.75, seed=1) == 0.3702629737026297


@settings(max_examples=examples(60), deadline=None)
@given(deltas=DELTAS, data=st.data(), seed=st.integers(0, 10))
def test_bootstrap_equals_the_oracle_on_the_same_resamples(deltas: list[float], data: Any, seed: int) -> None:
    weights = data.draw(st.none() | st.lists(WEIGHT, min_size=len(deltas), max_size=len(deltas)))
    got = statistics.bootstrap_interval(np.array(deltas), _array(weights), resamples=40, seed=seed)
    low, high = oracle.bootstrap_interval(
        deltas, resampling.resample_places(len(deltas), 40, seed) if deltas else [], weights
    )
    for mine, wanted in ((got.low, low), (got.high, high)):
        assert (mine is None) == (wanted is None)
        assert mine is None or mine == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(st.tuples(FINITE, WEIGHT), max_size=5), max_size=20), st.booleans(), st.integers(1, 3))
def test_intervals_of_several_samples_are_those_of_each(
    samples: list[list[tuple[float, float]]], even: bool, threads: int
) -> None:
    """With draws that samples of one size share: the same bits."""
    arrays = [np.array(sample).reshape(-1, 2).T for sample in samples]
    pairs = [(values, np.full(len(values), 0.25) if even else weights) for values, weights in arrays]
    sizes = [len(sample) for sample in samples]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "BLOCKS", 4)  # samples of five are assigned to blocks
        found = statistics.bootstrap_intervals(pairs.__getitem__, sizes, resamples=40, threads=threads)
    assert found == [statistics.bootstrap_interval(*pair, resamples=40, blocks=4) for pair in pairs]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(FINITE, WEIGHT), max_size=40), st.integers(0, 2**64 - 1), st.integers(0, 20))
def test_wide_registers_give_the_same_bits(sample: list[tuple[float, float]], seed: int, count: int) -> None:
    values, weights = np.array(sample).reshape(-1, 2).T
    wide, plain = (resampled_means(values, weights, seed, count, wide=wide) for wide in (True, False))
    assert wide.tobytes() == plain.tobytes()


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(FINITE, max_size=140), st.integers(0, 2**64 - 1), st.integers(0, 70), st.floats(0, 1))
def test_flips_side_by_side_are_those_of_one_at_a_time(
    values: list[float], seed: int, count: int, share: float
) -> None:
    """With wide registers and without: sums are rounded as in the order of the values, four by four."""
    limit = share * sum(map(abs, values))
    sums = [
        abs(_by_fours([sign * value for sign, value in zip(signs, values, strict=True)]))
        for signs in resampling.flipped_signs(len(values), count, seed)
    ]
    stream = np.uint64(resampling.stream_of(seed, resampling.FLIPPING))
    for wide in (True, False):
        assert extreme_flips(np.array(values), limit, stream, count, wide) == sum(one >= limit for one in sums)


def _by_fours(values: list[float]) -> float:
    """The sum of values that are added up four by four first."""
    total = 0.0
    for k in range(0, len(values), 4):
        four = 0.0
        for value in values[k : k + 4]:
            four += value
        total += four
    return total


ANY_FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(ANY_FINITE | FINITE, max_size=30), st.booleans())
def test_sums_are_rounded_once(values: list[float], cancelled: bool) -> None:
    given = [*values, *(-value for value in reversed(values)), 1e-300] if cancelled else values
    try:
        want = math.fsum(given)
    except OverflowError:
        with pytest.raises(OverflowError):
            fsum(np.array(given, np.float64))
        return
    assert fsum(np.array(given, np.float64)).hex() == want.hex()


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30))
def test_sums_of_decimals_can_be_added(values: list[float]) -> None:
    array = np.array(values)
    (want,), _ = exact_sums(array, np.ones(len(array), np.bool_), None, np.array([0, len(array)]))
    assert sum(decimal_sum(array[k : k + 3]) for k in range(0, len(array), 3)) / 10**18 == want


@settings(max_examples=examples(60), deadline=None)
@given(deltas=DELTAS, data=st.data())
def test_exact_p_equals_the_oracle(deltas: list[float], data: Any) -> None:
    weights = data.draw(st.none() | st.lists(st.integers(0, 5), min_size=len(deltas), max_size=len(deltas)))
    got = statistics.sign_flip_p(np.array(deltas), _array(weights))
    assert got == pytest.approx(oracle.sign_flip_exact(deltas, weights), abs=1e-12)


@pytest.mark.parametrize("n", [14, 63, 64, 65, 130])
def test_sampled_p_equals_the_oracle_on_the_same_flips(n: int) -> None:
    deltas = np.random.default_rng(n).normal(0.2, 1, n)
    got = statistics.sign_flip_p(deltas, flips=200, seed=3)
    assert got == oracle.sign_flip_sampled(deltas.tolist(), resampling.flipped_signs(n, 200, 3))


def _array(values: list[float] | None) -> Floats | None:
    return None if values is None else np.array(values, np.float64)


@pytest.mark.parametrize("n", [30, 200])
def test_interval_agrees_with_scipy(n: int) -> None:
    deltas = np.random.default_rng(n).gamma(2, 3, n) - 5
    got = statistics.bootstrap_interval(deltas)
    want = scipy_stats.bootstrap((deltas,), np.mean, method="percentile", rng=np.random.default_rng(1))
    width = want.confidence_interval.high - want.confidence_interval.low
    assert got.low == pytest.approx(want.confidence_interval.low, abs=0.05 * width)
    assert got.high == pytest.approx(want.confidence_interval.high, abs=0.05 * width)


@pytest.mark.parametrize(("n", "tolerance"), [(9, 1e-12), (13, 1e-12), (40, 0.02)])
def test_p_agrees_with_scipy(n: int, tolerance: float) -> None:
    deltas = np.random.default_rng(n).normal(0.3, 1, n)
    want = scipy_stats.permutation_test(
        (deltas,), np.mean, permutation_type="samples", n_resamples=9_999,
        rng=np.random.default_rng(2),
    )  # fmt: skip
    assert statistics.sign_flip_p(deltas) == pytest.approx(want.pvalue, abs=tolerance)


def coverage(sample: Any, truth: float, runs: int, **how: Any) -> float:
    """How often the interval of a sample holds the true mean."""
    held = 0
    for seed in range(runs):
        interval = statistics.bootstrap_interval(sample(np.random.default_rng(seed)), seed=seed, resamples=999, **how)
        assert interval.low is not None and interval.high is not None
        held += interval.low <= truth <= interval.high
    return held / runs


def test_the_interval_covers_what_it_says() -> None:
    def pairs(rng: np.random.Generator) -> Floats:
        """Two runs over 150 questions of very different difficulty: scores from 0 to 1, the second a little better."""
        base = rng.beta(2, 1, 150)
        return np.clip(base + rng.normal(0.0, 0.2, 150), -1, 2) + 0.03 - base

    assert 0.93 <= coverage(pairs, 0.03, 2_000) <= 0.97


def test_the_interval_of_blocks_covers_what_it_says() -> None:
    def skewed(rng: np.random.Generator) -> Floats:
        return rng.exponential(1.0, 2_000) - 1.0

    assert 0.93 <= coverage(skewed, 0.0, 1_500, blocks=256) <= 0.97


def test_the_test_of_blocks_keeps_its_level() -> None:
    rejected = 0
    for seed in range(1_000):
        deltas = np.random.default_rng(seed).normal(0, 1, 1_000)
        rejected += statistics.sign_flip_p(deltas, flips=499, seed=seed, blocks=128) <= 0.05
    assert 0.03 <= rejected / 1_000 <= 0.07


def test_blocks_are_dealt_evenly() -> None:
    sums, counts = block_sums(np.full(160_000, 0.5), None, 16, np.uint64(9))
    assert len(counts) == 16 and abs(counts - 10_000).max() < 500
    assert (sums == counts / 2).all()


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(FINITE, WEIGHT), max_size=20), st.booleans(), st.integers(1, 5), st.integers(0, 2**64 - 1))
def test_sums_of_blocks_equal_the_oracle(
    sample: list[tuple[float, float]], weighted: bool, blocks: int, seed: int
) -> None:
    values, weights = np.array(sample).reshape(-1, 2).T
    sums, weighed = [0.0] * blocks, [0.0] * blocks
    for k, (value, weight) in enumerate(sample):
        block = (resampling.random_word(seed, k) >> 32) * blocks >> 32
        sums[block] += value * weight if weighted else value
        weighed[block] += weight if weighted else 1.0
    found = block_sums(values, weights if weighted else None, blocks, seed)
    assert [part.tolist() for part in found] == [sums, weighed]


def test_many_questions_need_no_more_than_their_blocks() -> None:
    deltas = np.random.default_rng(0).normal(0.01, 1, 200_000)
    interval = statistics.bootstrap_interval(deltas)
    assert interval.low is not None and interval.high is not None
    error = 1.96 * deltas.std() / math.sqrt(len(deltas))
    assert interval.high - interval.low == pytest.approx(2 * error, rel=0.05)
    assert statistics.sign_flip_p(deltas) < 0.01


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1e308, 1e308], [5e-324, 5e-324]])
def test_extreme_weights(weights: list[float]) -> None:
    interval = statistics.bootstrap_interval(np.array([0.5, 0.5]), np.array(weights))
    assert interval == (statistics.Interval(None, None) if weights[0] == 0 else statistics.Interval(0.5, 0.5))
    assert statistics.sign_flip_p(np.array([0.5, 0.5]), np.array(weights)) == (1.0 if weights[0] == 0 else 0.5)


def test_nothing_to_resample() -> None:
    nothing = np.zeros(0)
    assert statistics.bootstrap_interval(nothing) == statistics.Interval(None, None)
    assert statistics.sign_flip_p(nothing) == 1.0
    assert statistics.mean_delta(nothing) is None
    assert statistics.mean_delta(nothing, nothing) is None
    assert statistics.population_std([]) is None


@given(st.lists(st.none() | st.floats(0, 1), max_size=12))
def test_holm_equals_the_oracle(p_values: list[float | None]) -> None:
    assert statistics.holm(p_values) == oracle.holm(p_values)


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 12))
def test_holm_of_some_tests_is_a_bound_of_holm_of_all(p_values: list[float], some: int) -> None:
    exact = oracle.holm(p_values)[:some]
    bounds = statistics.holm(p_values[:some], len(p_values))
    assert all(b is not None and e is not None and b >= e for b, e in zip(bounds, exact, strict=True))


@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 12))
def test_pass_at_k_equals_the_oracle(repeats: int, passed: int, k: int) -> None:
    passed, k = min(passed, repeats), min(k, repeats)
    assert float(statistics.pass_at_k(repeats, passed, k)) == oracle.pass_at_k(repeats, passed, k)


@given(st.lists(FINITE, min_size=1, max_size=20))
def test_population_std(values: list[float]) -> None:
    assert statistics.population_std(values) == pytest.approx(float(np.std(values)), rel=1e-9, abs=1e-9)
