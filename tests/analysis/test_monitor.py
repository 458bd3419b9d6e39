"""Live runs over time: windows and resampling against slow oracles, and the command from end to end."""

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import drift as oracle
from oracles.resampling import resample_places
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.monitor import read_span, read_time, watch
from rageval_batch.cli import main
from rageval_batch.columnar import drift, statistics
from rageval_batch.columnar.drift import Sample
from rageval_batch.errors import InputError
from support.command import run_command
from support.effort import examples
from support.gated_stores import add_commit, score_row

START = datetime(2026, 3, 9, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)
WEIGHTS = st.sampled_from([1.0, 1.0, 0.25, 3.0])
SAMPLES = st.lists(st.tuples(st.floats(-10, 10), WEIGHTS), min_size=1, max_size=12)


def sample(values: Any, weights: Any = None) -> Sample:
    """Values with weights of 1, unless others are given."""
    found = np.asarray(values, np.float64)
    return Sample(found, np.ones(len(found)) if weights is None else np.asarray(weights, np.float64))


# --- resampling -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(30))
@given(SAMPLES, SAMPLES, st.integers(0, 99))
def test_the_interval_is_that_of_the_oracle(a: oracle.Weighted, b: oracle.Weighted, seed: int) -> None:
    first, second = (sample(*zip(*part, strict=True)) for part in (a, b))
    found = drift.difference(first, second, resamples=50, seed=seed)
    places = resample_places(len(a), 50, 2 * seed), resample_places(len(b), 50, 2 * seed + 1)
    wanted = oracle.difference(a, b, *places)
    assert (found.value, found.low, found.high) == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_the_interval_depends_on_the_values_only() -> None:
    values = np.linspace(0, 1, 301) ** 2
    other = np.sqrt(values)
    assert drift.difference(sample(values), sample(other)) == drift.difference(
        sample(values[::-1]), sample(np.roll(other, 7))
    )


def test_weights_of_any_size_and_one_of_all_the_weight() -> None:
    """The mean is the heavy value's; resamples without it have no weight and are left out."""
    heavy = sample([1.0, 0.0, 0.0], [1e308, 1e-300, 1e-300])
    assert heavy.mean == 1.0
    assert drift.difference(heavy, sample([0.0])) == drift.Difference(1.0, 1.0, 1.0)
    even = sample([1.0, 3.0], [1e308, 1e308])
    assert even.mean == 2.0


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    held = 0
    for seed in range(200):
        a, b = random.exponential(1.0, 80), random.exponential(1.0, 120)
        found = drift.difference(sample(a), sample(b), resamples=400, seed=seed)
        held += found.low <= 0 <= found.high
    assert 180 <= held <= 199


def test_a_large_sample_is_resampled_in_blocks_with_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    a, b = sample(random.beta(2, 1, 3_000), random.uniform(0.5, 4, 3_000)), sample(random.beta(2, 1, 5_000))
    resampled = drift.difference(a, b, resamples=2_000)
    monkeypatch.setattr(drift, "resample_means", partial(statistics.resample_means, blocks=500))
    in_blocks = drift.difference(a, b, resamples=2_000)
    assert in_blocks.value == resampled.value
    assert abs(in_blocks.low - resampled.low) < 0.002 and abs(in_blocks.high - resampled.high) < 0.002


# --- windows ----------------------------------------------------------------------------------------------------------


def live(store: Path, runs: dict[str, tuple[str | None, list[float | None]]], column: str = "score") -> None:
    """A commit of runs with their time and the values of a column."""
    rows = {
        run: [{**score_row(f"q{k}", 0.0), column: value} for k, value in enumerate(values)]
        for run, (_, values) in runs.items()
    }
    metas = {run: {"meta": [("timestamp", time)] if time is not None else []} for run, (time, _) in runs.items()}
    add_commit(store, rows, **metas)


@settings(deadline=None, max_examples=examples(10))
@given(
    st.lists(st.integers(0, 60 * 24), min_size=1, max_size=8),
    st.sampled_from([6, 24, 7 * 24]),
    st.sampled_from([12, 28 * 24]),
    st.none() | st.integers(-5, 200),
)
def test_windows_are_those_of_the_oracle(ages: list[int], window: int, baseline: int, later: int | None) -> None:
    times = sorted(START - timedelta(hours=age) for age in ages)
    spans = timedelta(hours=window), timedelta(hours=baseline)
    now = START + timedelta(hours=later) if later is not None else None
    with tempfile.TemporaryDirectory() as folder:
        live(Path(folder), {f"r{k}": (time.isoformat(), [float(k)] * (k + 1)) for k, time in enumerate(times)})
        with open_store(folder, functions=False) as session:
            found = watch(session, "score", spans[0], baseline=spans[1], now=now)
    wanted = oracle.tiles(times, now or times[-1], *spans)
    assert [(w.start, w.end, w.runs, w.baseline_runs) for w in found.windows] == [
        (tile["start"], tile["end"], len(tile["inside"]), len(tile["before"])) for tile in wanted
    ]
    for window_, tile in zip(found.windows, wanted, strict=True):
        inside, before = ([float(k) for k in tile[part] for _ in range(k + 1)] for part in ("inside", "before"))
        assert (window_.n, window_.baseline_n) == (len(inside), len(before))
        if not inside:
            assert (window_.status, window_.mean) == ("stale" if tile is wanted[-1] else "no runs", None)
            continue
        assert window_.mean == pytest.approx(sum(inside) / len(inside))
        if before:
            assert window_.drop == pytest.approx(sum(before) / len(before) - sum(inside) / len(inside), abs=1e-9)
        else:
            assert (window_.status, window_.drop) == ("no baseline", None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("7d", 7 * DAY), ("12h", DAY / 2), ("2w", 14 * DAY), ("90 m", DAY / 16), ("1.5d", 1.5 * DAY), ("30s", DAY / 2880)],
)
def test_spans(text: str, wanted: timedelta) -> None:
    assert read_span(text, "--window") == wanted


@pytest.mark.parametrize("text", ["", "7", "d", "-7d", "0d", "7days", "1e9d", "999999999w", "٧d x", "7d\x00"])
def test_bad_spans(text: str) -> None:
    with pytest.raises(InputError, match="--window"):
        read_span(text, "--window")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-03-09T09:00:00Z", START),
        ("2026-03-09 09:00", START),
        ("2026-03-09T18:00:00+09:00", START),
        ("20260309T090000Z", START),
        ("2026-03-09", START - DAY * 0.375),
        ("yesterday", None),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("\x00", None),
    ],
)
def test_times(text: str, wanted: datetime | None) -> None:
    assert read_time(text) == wanted


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """`rageval monitor …` on a store of the test: (exit code, stdout, stderr)."""

    def run(*words: str) -> tuple[int, str, str]:
        return run_command(capsys, "monitor", *words, "--store", tmp_path / "runs")

    yield run


def weeks(*means: float, n: int = 60) -> dict[str, tuple[str | None, list[float | None]]]:
    """A run a week and a little, the last one at START, with values around a mean."""
    return {
        f"week-{k}": (
            (START - 7.1 * DAY * (len(means) - k)).isoformat(),
            [mean + 0.01 * (j % 5 - 2) for j in range(n)],
        )
        for k, mean in enumerate(means, 1)
    }


def test_a_drop_alerts(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", weeks(0.9, 0.9, 0.89, 0.7), "grounding")
    code, out, err = call("--metric", "grounding", "--window", "7d", "--baseline", "28d", "--format", "jsonl")
    (alert,) = map(json.loads, out.splitlines())
    assert code == 1
    assert alert["end"] == START.isoformat()
    assert (alert["metric"], alert["status"], alert["runs"], alert["n"]) == ("grounding", "alert", 1, 60)
    assert (alert["baseline_runs"], alert["baseline_n"]) == (3, 180)
    assert alert["drop"] == pytest.approx(2.69 / 3 - 0.7)
    assert 0 < alert["low"] <= alert["drop"] <= alert["high"]
    assert "Alerts: 1 of 4 windows" in err
    code, out, _ = call("--metric", "grounding")
    lines = out.splitlines()
    assert code == 1 and len(lines) == 5
    assert lines[1].endswith("no baseline") and lines[-1].endswith("alert")
    whole = json.loads(call("--metric", "grounding", "--format", "json")[1])
    assert (whole["alerts"], len(whole["windows"]), whole["window"]) == (1, 4, 604_800.0)


def test_the_same_bits_again(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", weeks(0.9, 0.7), "grounding")
    words = ("--metric", "grounding", "--format", "json")
    assert call(*words)[1] == call(*words)[1]


@pytest.mark.parametrize(
    ("means", "n", "options"),
    [
        ((0.9, 0.91), 60, ()),  # a rise
        ((0.9, 0.86), 60, ()),  # too small a drop
        ((0.9, 0.7), 60, ("--max-drop", "0.25")),
        ((0.9, 0.7), 60, ("--now", (START - DAY).isoformat())),  # the bad week is still to come
        ((0.9, 0.7), 60, ("--baseline", "1h")),  # nothing to compare with
    ],
)
def test_no_alert(call: Any, tmp_path: Path, means: tuple[float, ...], n: int, options: tuple[str, ...]) -> None:
    live(tmp_path / "runs", weeks(*means, n=n), "grounding")
    code, out, _ = call("--metric", "grounding", "--format", "jsonl", *options)
    assert (code, out) == (0, "")


def test_a_drop_that_chance_can_make_does_not_alert(call: Any, tmp_path: Path) -> None:
    noisy: dict[str, tuple[datetime, list[float | None]]] = {
        "a": (START - 8 * DAY, [1.0, 0.0, 1.0, 0.5]),
        "b": (START, [0.0, 1.0, 0.0, 1.0]),
    }
    live(tmp_path / "runs", {run: (time.isoformat(), values) for run, (time, values) in noisy.items()}, "grounding")
    code, out, _ = call("--metric", "grounding", "--format", "json")
    window = json.loads(out)["windows"][-1]
    assert (code, window["status"]) == (0, "ok")
    assert window["drop"] > 0.05 and window["low"] < 0 < window["high"]


def test_a_lower_is_better_metric_drops_by_rising(call: Any, tmp_path: Path) -> None:
    def flags(share: int) -> list[float | None]:
        return [k % 10 < share for k in range(100)]

    times = [(START - 7 * DAY).isoformat(), START.isoformat()]
    live(tmp_path / "runs", {"a": (times[0], flags(1)), "b": (times[1], flags(5))}, "repaired")
    code, out, _ = call("--metric", "repaired", "--format", "jsonl")
    assert code == 1
    assert json.loads(out)["drop"] == pytest.approx(0.4)


def test_nulls_count_as_the_metric_says(call: Any, tmp_path: Path) -> None:
    """A null sub-score of eval_json_v2 counts as 0."""
    live(tmp_path / "runs", {"a": (START.isoformat(), [1.0, None, None, 1.0])}, "grounding")
    window = json.loads(call("--metric", "grounding", "--format", "json")[1])["windows"][0]
    assert (window["n"], window["mean"]) == (4, 0.5)


def test_without_a_timestamp_the_commit_dates_a_run(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", {"a": (None, [1.0]), "b": ("soon", [0.0]), "c": (START.isoformat(), [0.5])})
    code, out, err = call("--metric", "score", "--format", "json")
    windows = json.loads(out)["windows"]
    assert code == 0
    assert [window["runs"] for window in windows if window["runs"]] == [1, 2]
    assert "Run 'b': timestamp 'soon' is no ISO time" in err


def test_eval_sets_and_profiles_are_picked(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", weeks(0.9, 0.7), "grounding")
    assert call("--metric", "grounding", "--eval-set", "questions", "-p", "eval_json_v2")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metric", "scor"), "Did you mean 'score'?"),
        (("--metric", "score", "--window", "soon"), "--window soon"),
        (("--metric", "score", "--baseline", "0d"), "--baseline 0d"),
        (("--metric", "score", "--now", "later"), "--now later"),
        (("--metric", "score", "--max-drop", "-1"), "--max-drop"),
        (("--metric", "score", "--max-drop", "nan"), "--max-drop"),
        (("--metric", "score", "-p", "nothing"), "no run of that profile"),
        ((), "--metric"),
    ],
)
def test_errors_are_a_sentence_and_exit_2(call: Any, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    live(tmp_path / "runs", weeks(0.9))
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert said in err


def test_an_empty_store_is_exit_2(call: Any) -> None:
    code, _, err = call("--metric", "score")
    assert code == 2
    assert "There is no store" in err


def test_everything_after_now_is_stale(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", weeks(0.9))
    code, out, err = call("--metric", "score", "--now", "2020-01-01", "--format", "json")
    (window,) = json.loads(out)["windows"]
    assert (code, window["status"], window["runs"], window["mean"]) == (1, "stale", 0, None)
    assert "1 runs after 2020-01-01" in err


def test_windows_without_runs_are_shown_and_a_newest_one_alerts(call: Any, tmp_path: Path) -> None:
    times = [START - 21 * DAY, START - 7 * DAY]
    live(tmp_path / "runs", {f"r{k}": (time.isoformat(), [0.9] * 9) for k, time in enumerate(times)}, "grounding")
    code, out, _ = call("--metric", "grounding", "--format", "json")
    assert code == 0
    assert [window["status"] for window in json.loads(out)["windows"]] == ["no baseline", "no runs", "ok"]
    now = ("--now", START.isoformat())
    code, out, err = call("--metric", "grounding", *now, "--format", "json")
    windows = json.loads(out)["windows"]
    assert (code, json.loads(out)["alerts"]) == (1, 1)
    assert [(window["status"], window["runs"]) for window in windows] == [
        ("no baseline", 1), ("no runs", 0), ("ok", 1), ("stale", 0),
    ]  # fmt: skip
    assert windows[-1]["end"] == START.isoformat() and windows[-1]["baseline_mean"] == pytest.approx(0.9)
    assert "Alerts: 1 of 4 windows" in err
    (alert,) = map(json.loads, call("--metric", "grounding", *now, "--format", "jsonl")[1].splitlines())
    assert alert["status"] == "stale"
    lines = call("--metric", "grounding", *now)[1].splitlines()
    assert len(lines) == 5 and lines[2].endswith("no runs") and lines[4].endswith("stale")


def test_a_long_stretch_without_runs_is_one_line_of_the_table(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", {"a": ((START - 70 * DAY).isoformat(), [1.0]), "b": (START.isoformat(), [1.0])})
    lines = call("--metric", "score")[1].splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("2026-03-02") and lines[2].endswith("no runs (9 windows)")
    assert len(json.loads(call("--metric", "score", "--format", "json")[1])["windows"]) == 11


def test_windows_that_are_too_many_are_an_error(call: Any, tmp_path: Path) -> None:
    live(tmp_path / "runs", {"a": ((START - 365 * DAY).isoformat(), [1.0]), "b": (START.isoformat(), [1.0])})
    code, _, err = call("--metric", "score", "--window", "1m")
    assert code == 2
    assert "--window is too short" in err and "525,601 windows" in err


@pytest.mark.parametrize(
    ("column", "before", "after", "code", "limit"),
    [
        ("score", 90.0, 86.0, 0, 5.0),  # 4 of 100 is no 5 %
        ("score", 90.0, 84.0, 1, 5.0),
        ("grounding", 0.90, 0.86, 0, 0.05),
        ("grounding", 0.90, 0.84, 1, 0.05),
    ],
)
def test_the_default_is_five_percent_of_the_scale(
    call: Any, tmp_path: Path, column: str, before: float, after: float, code: int, limit: float
) -> None:
    times = [(START - 7 * DAY).isoformat(), START.isoformat()]
    live(tmp_path / "runs", {"a": (times[0], [before] * 20), "b": (times[1], [after] * 20)}, column)
    found, out, _ = call("--metric", column, "--format", "json")
    whole = json.loads(out)
    assert (found, whole["max_drop"], whole["windows"][-1]["max_drop"]) == (code, limit, limit)
    assert call("--metric", column, "--max-drop", str(before - after + 0.01))[0] == 0
    assert call("--metric", column, "--max-drop", str(before - after - 0.01))[0] == 1


def test_a_count_may_drop_by_five_percent_of_its_baseline(tmp_path: Path) -> None:
    """citation_count of claim_evidence: 40 a row before, so up to 2 fewer are no alert."""
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(f'{{"task_id": "t{k}", "query": "x"}}\n' for k in range(9)), encoding="utf-8")
    for run, count, time in (("a", 40, START - 14 * DAY), ("b", 38, START - 7 * DAY), ("c", 30, START)):
        ids = [str(n) for n in range(count)]
        lines = [
            {"run_id": run, "task_id": f"t{k}", "output": {"sentences": [{"text": "x", "evidence_ids": ids}]}}
            for k in range(9)
        ]
        path = tmp_path / f"{run}.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        words = ["-p", "claim_evidence", "-q", str(gold), "--meta", f"timestamp={time.isoformat()}"]
        with pytest.raises(SystemExit) as left:
            main(["score", str(path), *words, "--store", str(tmp_path / "runs")])
        assert left.value.code == 0
    with open_store(tmp_path / "runs", functions=False) as session:
        found = watch(session, "citation_count", 7 * DAY, baseline=7 * DAY)
        assert found.max_drop is None
        assert [window.max_drop for window in found.windows] == [None, pytest.approx(2.0), pytest.approx(1.9)]
        assert [window.status for window in found.windows] == ["no baseline", "ok", "alert"]
        # There are no claims at all, so any change of a count of them is one too many.
        assert watch(session, "support_lexical", 7 * DAY, baseline=7 * DAY).windows[-1].max_drop == 0.0


def test_rows_count_by_weight_where_the_score_of_a_run_does(tmp_path: Path) -> None:
    """include_rate: a question of weight 3 answered well and one of weight 1 badly are (3 + 0) / 4, by hand."""
    questions = [
        {"id": "q1", "question": "?", "weight": 3, "must_include": ["yes"]},
        {"id": "q2", "question": "?", "weight": 1, "must_include": ["yes"]},
        {"id": "q3", "question": "?", "weight": 0, "must_include": ["yes"]},
    ]
    path, outputs = tmp_path / "q.json", tmp_path / "o.jsonl"
    path.write_text(json.dumps({"questions": questions}), encoding="utf-8")
    answers = {"q1": "yes", "q2": "no", "q3": "no"}
    lines = [json.dumps({"run_id": "r", "question_id": q, "output": a}) for q, a in answers.items()]
    outputs.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["score", str(outputs), "-p", "include_rate", "-q", str(path), "--store", str(tmp_path / "runs")])
    assert left.value.code == 0
    with open_store(tmp_path / "runs", functions=False) as session:
        (window,) = watch(session, "include_rate", 7 * DAY, baseline=7 * DAY).windows
    assert (window.mean, window.n) == (0.75, 2)
