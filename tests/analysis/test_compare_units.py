"""One value of a run and one way to pair runs, for every profile: stores, exported files and the oracle agree."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import compare as oracle
from oracles import judge_protocol as judges
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.compared_runs import find_compared_runs, open_compared
from rageval_batch.analysis.comparison import Comparison, Rules, compare
from rageval_batch.api import score
from rageval_batch.columnar import statistics
from rageval_batch.errors import InputError
from rageval_batch.report.writers import write_file
from support.command import run_command
from support.effort import examples
from support.stores import publish, score_row, simple_run

Row = dict[str, Any]
Q = judges.DEFAULT_RUBRIC["dimensions"]
QUESTIONS = [f"q{k}" for k in range(7)]


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command."""
    return run_command(capsys, *words)


def jsonl(path: Path, rows: list[Row]) -> Path:
    """A file with these rows."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def good(**meta: Any) -> Row:
    """A valid judgement, with these fields of meta."""
    said = {"judge_model": "j", "target_model": "m", "question_id": "Q1", "prompt_variant": "A", "output_id": "o1"}
    return {
        "meta": {**said, "method": "cross_judge", **meta},
        "scores": {**dict.fromkeys(Q, 2), "overall_score": 8},
        "verdict": "PASS",
        "flags": [],
        "evidence": [{"dimension": name, "quote": "x", "reason": "y"} for name in Q],
    }


def compared(folder: Path, base: str, *candidates: str, rules: Rules | None = None, **how: Any) -> list[Comparison]:
    with open_compared(folder, [base, *candidates]) as session:
        return compare(session, find_compared_runs(session, base, candidates, **how), rules or Rules(), answers=False)


def exported(store: Path, profile: str, runs: list[str], folder: Path) -> list[str]:
    """The score rows of runs as Parquet files."""
    files = [folder / f"{run}.parquet" for run in runs]
    with open_store(store, functions=False) as session:
        for run, file in zip(runs, files, strict=True):
            write_file(session.exported_reader(f"from {profile} where run_id = '{run}'"), "parquet", str(file))
    return list(map(str, files))


def figures(result: Comparison) -> Row:
    """What a comparison says, without the names of its sides and what only a store knows."""
    unlike = ("base_run", "candidate_run", "base_repeats", "candidate_repeats", "movers", "notes")
    found = {name: value for name, value in result.as_dict().items() if name not in unlike}
    return {**found, "movers": [(m.question_id, m.base_score, m.cand_score, m.delta) for m in result.movers]}


def assert_equal(got: Row, want: Row) -> None:
    for name, value in want.items():
        assert got[name] == (pytest.approx(value, abs=1e-12) if isinstance(value, float) else value), name


# --- any profile: store and file, weights, repeats, nulls, questions on one side --------------------------------------

WEIGHTS = st.sampled_from([0.0, 1.0, 2.5, 1e-300, 1e19, 1e308])


CANDS = [f"cand-{k}" for k in range(5)]


@st.composite
def runs(draw: st.DrawFn) -> dict[str, list[Row]]:
    """Runs over some of the same questions, with repeats, weights of questions, and values that are not there."""
    weight = {question: draw(WEIGHTS) for question in QUESTIONS}
    found = {}
    for name in ("base", *CANDS):
        rows = []
        for question in draw(st.lists(st.sampled_from(QUESTIONS), min_size=1, unique=True)):
            for repeat in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
                value = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1, allow_subnormal=False))
                penalty = draw(st.sampled_from([0.0, 0.2, None]))
                hits = draw(st.sampled_from([0, 1, None]))
                rows.append(score_row(question, value, repeat=repeat, weight=weight[question],
                                      citation_penalty=penalty, exclude_hits=hits))  # fmt: skip
        found[name] = rows
    return found


def usual(rows: list[Row], metric: str, null_counts_as: float | None = None) -> list[Row]:
    """The rows with another metric as their score."""
    return [{**row, "score": null_counts_as if row[metric] is None else row[metric]} for row in rows]


def close_weights(given: dict[str, list[Row]]) -> bool:
    """Whether exact sums of 18 decimals can tell the weights of every run from 0."""
    for rows in given.values():
        weights = {row["weight"] for row in rows if row["weight"]}
        if weights and min(weights) / max(weights) < 1e-3:
            return False
    return True


@pytest.mark.parametrize(
    ("profile", "weighted"), [("include_rate", True), pytest.param("legal_rag", False, marks=pytest.mark.soak)]
)
@settings(max_examples=examples(4), deadline=None)
@given(given_runs=runs())
def test_stores_files_and_oracle_agree(profile: str, weighted: bool, given_runs: dict[str, list[Row]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = folder / "runs"
        publish(store, given_runs, profile=profile)
        files = exported(store, profile, ["base", *CANDS], folder)
        found = compared(store, "base", *CANDS)
        assert list(map(figures, compared(store, *files))) == list(map(figures, found))
        mixed = compared(store, "base", files[1], CANDS[1], files[3], *CANDS[3:])
        assert list(map(figures, mixed)) == list(map(figures, found))
        for result in found:
            if not weighted or close_weights(given_runs):
                runs_ = given_runs["base"], given_runs[result.candidate.name]
                assert_equal(result.as_dict(), oracle.compare_questions(*runs_, weighted=weighted))
        with open_store(store, functions=False) as session:
            board = {row["run_id"]: row for row in session.rows("from leaderboard")}
            (delta,) = session.rows("from run_delta('base', 'cand-0') where metric = 'score'")
        assert {result.candidate.name: result.cand_score for result in found} == {
            run: board[run]["score"] for run in CANDS
        }
        assert (delta["base"], delta["cand"], delta["delta"]) == (
            board["base"]["score"], board["cand-0"]["score"], found[0].delta,
        )  # fmt: skip
        for row in board.values():
            assert row["low"] is None or 0.0 <= row["low"] <= row["high"] <= 1.0


@settings(max_examples=examples(3), deadline=None)
@given(given_runs=runs())
def test_any_column_of_numbers_is_a_metric(given_runs: dict[str, list[Row]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        publish(folder / "runs", given_runs, profile="include_rate")
        for metric in ("exclude_hits", "citation_penalty"):
            scores = {run: usual(rows, metric) for run, rows in given_runs.items()}
            candidates = [run for run in CANDS if oracle.question_scores(scores["base"] + scores[run])]
            if not candidates:
                continue
            files = exported(folder / "runs", "include_rate", ["base", *candidates], folder)
            found = compared(folder / "runs", "base", *candidates, metric=metric)
            assert list(map(figures, found)) == list(map(figures, compared(folder / "runs", *files, metric=metric)))
            for result in found if close_weights(given_runs) else ():
                want = oracle.compare_questions(
                    scores["base"], scores[result.candidate.name], higher_is_better=result.compared.higher_is_better
                )
                assert_equal(result.as_dict(), want)


def test_columns_that_are_no_metric_say_so_and_unknown_ones_are_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {run: [score_row("x", 1.0, include_total=total)] for run, total in (("c", 2), ("d", 3))}
    publish(tmp_path, rows, profile="include_rate")
    code, out, _ = called(
        capsys, "compare", "c", "d", "--store", str(tmp_path), "--metric", "include_total", "--format", "json"
    )
    assert (code, json.loads(out)["delta"]) == (0, 1.0)
    assert "include_total is a column of include_rate and no metric: higher counts as better." in out
    for metric, said in (("include_totl", "Did you mean 'include_total'"), ("weight", "Unknown metric"),
                         ("fail_reason", "Unknown metric")):  # fmt: skip
        code, _, err = called(capsys, "compare", "c", "d", "--store", str(tmp_path), "--metric", metric)
        assert code == 2 and said in err


def test_boolean_columns(tmp_path: Path) -> None:
    base = [score_row(f"q{k}", 1.0, citation_ok=k < 3) for k in range(4)]
    cand = [score_row(f"q{k}", 1.0, citation_ok=k == 3) for k in range(4)]
    publish(tmp_path, {"base": base, "cand": cand}, profile="include_rate")
    (result,) = compared(tmp_path, "base", "cand", metric="citation_ok")
    assert (result.base_score, result.cand_score, result.regressions, result.improvements) == (0.75, 0.25, 3, 1)


@pytest.mark.parametrize("weight", [1e308, 1.7e308, 5e-324, 1e19, 0.0])
def test_extreme_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str], weight: float) -> None:
    rows = {
        run: [score_row(q, value, weight=weight) for q, value in zip("xyz", values, strict=True)]
        for run, values in (("a", (1.0, 0.5, 0.0)), ("b", (0.5, 0.5, 0.0)))
    }
    publish(tmp_path, rows, profile="include_rate")
    code, out, err = called(capsys, "compare", "a", "b", "--store", str(tmp_path), "--format", "json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    if weight:
        assert (found["base"], found["candidate"]) == (0.5, pytest.approx(1 / 3))
        assert found["paired_delta"] == pytest.approx(-1 / 6)
        assert found["interval_low"] < found["interval_high"] <= 0.0
    else:
        assert found["base"] is found["delta"] is found["paired_delta"] is found["interval_low"] is None


def test_weights_of_another_eval_set_do_not_count(tmp_path: Path) -> None:
    rows = {"a": [score_row("x", 1.0, weight=1e-3)], "b": [score_row("x", 0.5, weight=1e-3)]}
    publish(tmp_path, {run: [score_row("y", 1.0, weight=1e19)] for run in rows}, profile="include_rate",
            questions_sha256="0" * 64, eval_set="heavy@0")  # fmt: skip
    publish(tmp_path, rows, profile="include_rate")
    with open_store(tmp_path, functions=False) as session:
        found = session.rows("select base, cand, delta from run_delta('a', 'b') where metric = 'score'")
    assert found == [{"base": 1.0, "cand": 0.5, "delta": -0.5}]
    (result,) = compared(tmp_path, "a", "b")
    assert (result.base_score, result.cand_score, result.compared.base.eval_set) == (1.0, 0.5, "q@1")
    (older,) = compared(tmp_path, "a", "b", eval_set="heavy")
    assert (older.delta, older.ties) == (0.0, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_intervals_stay_on_the_scale(tmp_path: Path, n: int) -> None:
    chance = random.Random(n)
    runs = {
        f"run-{k}": [score_row(f"q{j:02d}", float(chance.random() < k / 10), weight=chance.choice([1e-3, 1.0, 50.0]))
                     for j in range(n)]
        for k in range(11)
    }  # fmt: skip
    publish(tmp_path, runs, profile="include_rate")
    publish(tmp_path, {name: [{**row, "score": 100.0 * row["score"]} for row in rows] for name, rows in runs.items()})
    with open_store(tmp_path, functions=False) as session:
        board = session.rows("from leaderboard")
    for row in board:
        top = 1.0 if row["profile"] == "include_rate" else 100.0
        assert 0.0 <= row["low"] <= row["high"] <= top
        values = sorted((r["score"] * top, r["weight"] if top == 1.0 else 1.0) for r in runs[row["run_id"]])
        want = statistics.bootstrap_interval(
            np.array([v for v, _ in values]), np.array([w for _, w in values]), resamples=2_000
        )
        assert (row["low"], row["high"]) == (want.low, want.high)


# --- exported files ---------------------------------------------------------------------------------------------------


def test_an_exported_file_says_what_it_is(tmp_path: Path) -> None:
    commit = publish(tmp_path / "runs", {"it's": simple_run(x=1.0), "b": simple_run(x=0.5)}, source_sha256="5" * 64)
    queries = {
        "from eval_json_v2 where run_id = 'it''s'": {"run_id", "eval_set", "profile"},
        "select run_id, question_id, score from eval_json_v2 where run_id = 'it''s'; ": {"run_id", "profile"},
        "select * from scores where run_id like 'it%' -- legal_rag": {"run_id", "eval_set", "profile"},
        "from scores": {"eval_set", "profile"},
        "select 1 as one": set(),
        "select run_id, 'legal_rag' as note from eval_json_v2": {"profile"},
        "select question_id from eval_json_v2": set(),
        "select 'nobody' as run_id from eval_json_v2": set(),
    }
    target = tmp_path / "it's.parquet"
    for query, wanted in queries.items():
        with open_store(tmp_path / "runs", functions=False) as session:
            write_file(session.exported_reader(query), "parquet", str(target))
        about = json.loads(pq.read_metadata(target).metadata[b"rageval"])
        assert wanted <= set(about) and ("run_id" in about) == ("run_id" in wanted), query
        if wanted:
            assert (about["profile"], about["run_stat"], about["source_sha256"]) == ("eval_json_v2", "mean", "5" * 64)
            assert about.get("commit") == commit.id and about["questions_sha256"] == "a" * 64
    with open_store(tmp_path / "runs", functions=False) as session, pytest.raises(InputError, match="SQL"):
        session.exported_reader("select nothing from nowhere")


def test_a_file_is_compared_by_its_profile_not_by_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mean falls, the weighted mean rises: legal_rag is a mean, whatever weights its rows have."""
    rows = {
        "a": [score_row("x", 0.0, weight=9.0), score_row("y", 1.0), score_row("z", 1.0)],
        "b": [score_row("x", 1.0, weight=9.0), score_row("y", 0.0), score_row("z", 0.0)],
    }
    publish(tmp_path / "runs", rows, profile="legal_rag")
    files = []
    for run in rows:
        files.append(str(tmp_path / f"{run}.parquet"))
        query = f"select s.*, r.params_sha256 from scores s join runs r on r.run_id = s.run_id where s.run_id = '{run}'"
        assert called(
            capsys, "sql", query, "--store", str(tmp_path / "runs"), "--format", "parquet", "-o", files[-1]
        )[0] == 0  # fmt: skip
    for names in (["a", "b"], files, ["a", files[1]], [files[0], "b"]):
        code, out, _ = called(
            capsys, "compare", *names, "--store", str(tmp_path / "runs"), "--format", "json", "--max-regressions", "9"
        )
        assert (code, json.loads(out)["delta"]) == (1, pytest.approx(-1 / 3))
        assert json.loads(out)["profile"] == "legal_rag"
    with pytest.raises(InputError, match=r"is of eval set q@1, not of other"):
        compared(tmp_path / "runs", files[0], files[1], eval_set="other")
    assert compared(tmp_path / "runs", files[0], files[1], eval_set="q")[0].delta == pytest.approx(-1 / 3)


# --- judge_protocol: samples, judgements, models' names ---------------------------------------------------------------

SPELLINGS = {"GPT-5": ("GPT-5", " gpt-5", "ＧＰＴ-5"), "m": ("m", "M"), "solo": ("solo",)}


def judgements(seed: int, targets: tuple[str, ...] = ("GPT-5", "m", "j0")) -> list[Row]:
    """Records of judges that judge unequally many samples, themselves too, invalidly, twice and again."""
    chance = random.Random(seed)
    records = []
    for target in targets:
        for question in ("Q1", "Q2", "Q3"):
            for variant in ("A", "B"):
                for output in ("o1", "o2"):
                    for judge in [f"j{k}" for k in range(4)][: chance.choice([0, 1, 2, 4])]:
                        records += _judgement(chance, judge, target, (question, variant, output))
    return records


def _judgement(chance: random.Random, judge: str, target: str, sample: tuple[str, str, str]) -> list[Row]:
    question, variant, output = sample
    whole = good(judge_model=judge, target_model=chance.choice(SPELLINGS.get(target, (target,))),
                 question_id=question, prompt_variant=variant, output_id=output,
                 method="self_judge" if judge == target else "cross_judge")  # fmt: skip
    scores = [chance.choice([0, 1, 2]) for _ in Q]
    whole["scores"] = {**dict(zip(Q, scores, strict=True)), "overall_score": sum(scores)}
    broken = chance.random()
    if broken < 0.1:
        whole["scores"]["overall_score"] = 9
    text = json.dumps(whole)[: -1 if 0.1 < broken < 0.2 else None]
    repeats = chance.choice([[0], [0], [0], [0, 1], [0, 0]])
    return [{"output": text, "repeat": repeat} for repeat in repeats]


def oracle_rows(records: list[Row]) -> list[Row]:
    """The judgements that count, each with the folded name of its target."""
    rows = judges.counted(judges.score_run(records), "cross_judge")
    return [{**row, "target_key": judges.fold(row["target_model"]), "weight": 1.0} for row in rows]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, list[Row]]]]:
    """A store of judged runs, and the rows of the oracle that count."""
    folder = tmp_path_factory.mktemp("judged")
    records = {f"run-{seed}": judgements(seed) for seed in range(5)} | {"elsewhere": judgements(9, ("solo",))}
    path = jsonl(folder / "all.jsonl", [{"run_id": run, **row} for run, rows in records.items() for row in rows])
    score(path, profile="judge_protocol", store=folder / "runs")
    yield folder / "runs", {run: oracle_rows(rows) for run, rows in records.items()}


def test_judged_runs_are_compared_by_sample(judged: tuple[Path, dict[str, list[Row]]]) -> None:
    store, rows = judged
    names = [f"run-{k}" for k in range(1, 5)]
    for result in compared(store, "run-0", *names, rules=Rules(-0.1, 3)):
        before, after = rows["run-0"], rows[result.candidate.name]
        want = oracle.compare_questions(before, after, min_delta=-0.1, max_regressions=3, micro=True, key=oracle.SAMPLE)
        got = result.as_dict()
        assert_equal(got, want)
        assert got["unit"] == "sample" and result.ties + result.improvements + result.regressions > 5
        deltas = np.array(oracle.paired_deltas(before, after, oracle.SAMPLE))
        assert result.paired_delta == pytest.approx(oracle.mean_delta(deltas.tolist()))
        assert result.interval.low == pytest.approx(statistics.bootstrap_interval(deltas).low, abs=1e-9)
        assert result.p_value == pytest.approx(statistics.sign_flip_p(deltas), abs=1e-12)


def test_one_score_of_a_judged_run_everywhere(
    judged: tuple[Path, dict[str, list[Row]]], capsys: pytest.CaptureFixture[str]
) -> None:
    store, rows = judged
    want = {run: oracle.run_score(found, micro=True) for run, found in rows.items()}
    with open_store(store, functions=False) as session:
        board = {row["run_id"]: row for row in session.rows("from leaderboard")}
        delta = session.rows("from run_delta('run-0', 'run-1') where metric = 'score'")[0]
        pairs = session.rows("from regressions('run-0', 'run-1')")
    assert {run: row["score"] for run, row in board.items()} == {
        run: pytest.approx(value, abs=1e-12) for run, value in want.items()
    }
    assert all(0.0 <= row["low"] <= row["score"] <= row["high"] <= 1.0 for row in board.values())
    (result,) = compared(store, "run-0", "run-1")
    assert (delta["base"], delta["cand"], delta["delta"]) == (result.base_score, result.cand_score, result.delta)
    assert delta["regressions"] == result.regressions == sum(row["status"] == "regression" for row in pairs)
    for run, row in board.items():
        code, out, _ = called(capsys, "show", run, "--store", str(store), "--format", "json")
        assert (code, json.loads(out)["cross_score_avg"]) == (0, row["score"])


def test_an_unequal_number_of_judges_does_not_turn_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine judges of a bad sample weigh nine times as much in the run's score: mean of samples +0.25, run −0.35."""

    def records(run: str, first: tuple[int, int], second: tuple[int, int]) -> list[Row]:
        rows = []
        for question, (points, judges_) in (("Q1", first), ("Q2", second)):
            for judge in range(judges_):
                whole = good(judge_model=f"j{judge}", question_id=question)
                whole["scores"] = {**dict.fromkeys(Q, points), "overall_score": 4 * points}
                whole["verdict"] = ("FAIL", "PARTIAL", "PASS")[points]
                rows.append({"run_id": run, "output": json.dumps(whole)})
        return rows

    path = jsonl(tmp_path / "j.jsonl", [*records("a", (1, 1), (1, 1)), *records("b", (2, 1), (0, 9))])
    config = {"datasets": [{"id": "d", "profile": "judge_protocol", "outputs": "j.jsonl", "questions": "list.jsonl"}]}
    jsonl(tmp_path / "list.jsonl", [
        {"question_id": q, "prompt_variant": "A", "target_model": "m", "output_id": "o1"} for q in ("Q1", "Q2")
    ])  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    store = str(tmp_path / "runs")
    score(path, profile="judge_protocol", store=store)
    code, out, _ = called(capsys, "compare", "a", "b", "--store", store, "--format", "json", "--max-regressions", "9")
    found = json.loads(out)
    assert (code, found["base"], found["candidate"]) == (1, 0.5, 0.1)
    assert (found["delta"], found["paired_delta"]) == (pytest.approx(-0.4), 0.0)
    assert found["improved"] == ['["Q1","A","m","o1"]'] and found["regressed"] == ['["Q2","A","m","o1"]']
    assert json.loads(found["movers"][0]["base_answer"])["meta"]["question_id"] == "Q1"
    code, out, err = called(capsys, "benchmark", str(tmp_path / "config.json"), "--store", store)
    assert code == 0, err
    runs_ = json.loads(out)["datasets"][0]["runs"]
    assert {run: row["score"] for run, row in runs_.items()} == {"a": 0.5, "b": 0.1}


def test_runs_of_other_targets_share_no_sample(judged: tuple[Path, dict[str, list[Row]]]) -> None:
    store, rows = judged
    (result,) = compared(store, "run-0", "elsewhere")
    samples = {run: oracle.question_scores(rows[run], oracle.SAMPLE) for run in ("run-0", "elsewhere")}
    assert (result.improvements, result.regressions, result.ties) == (0, 0, 0)
    assert (result.only_base_count, result.only_cand_count) == tuple(map(len, samples.values()))
    assert result.delta is not None and result.paired_delta is result.interval.low is None
    assert "The runs have no sample in common" in result.notes[0]
    with open_store(store, functions=False) as session:
        sides = find_compared_runs(session, "run-0", ["elsewhere"])
        assert not compare(session, sides, Rules(fail_on="significant"), answers=False)[0].passed


def test_exported_judgements_are_compared_as_the_store_would(
    judged: tuple[Path, dict[str, list[Row]]], tmp_path: Path
) -> None:
    store, _ = judged
    names = ["run-0", "run-1", "elsewhere"]
    files = exported(store, "judge_protocol", names, tmp_path)
    for metric in ("score", "valid", "SEMANTIC_FIDELITY"):
        of_store, of_files = (compared(store, *sides, metric=metric) for sides in (names, files))
        assert list(map(figures, of_store)) == list(map(figures, of_files)), metric
    with pytest.raises(InputError, match="answered"):
        compared(store, *files[:2], metric="answered")
    pl.read_parquet(files[0]).select("run_id", "question_id", "score", profile=pl.lit("judge_protocol")).write_parquet(
        tmp_path / "thin.parquet"
    )
    with pytest.raises(InputError, match="has not all columns of judge_protocol"):
        compared(store, str(tmp_path / "thin.parquet"), "run-1", strict=False)


def test_a_dimension_counts_where_the_score_does(judged: tuple[Path, dict[str, list[Row]]]) -> None:
    """Neither invalid judgements nor those of a model by itself are in the comparison of a dimension."""
    store, rows = judged
    (result,) = compared(store, "run-0", "run-1", metric="COMPLETENESS")
    before, after = (usual(rows[run], "COMPLETENESS") for run in ("run-0", "run-1"))
    assert_equal(result.as_dict(), oracle.compare_questions(before, after, micro=True, key=oracle.SAMPLE))


# --- errors of ours ---------------------------------------------------------------------------------------------------


def test_an_error_of_ours_is_no_failed_gate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, {"a": simple_run(x=1.0)})

    def broken(*_: Any, **__: Any) -> None:
        raise OverflowError("intermediate overflow")

    monkeypatch.setattr("rageval_batch.analysis.comparison.compare", broken)
    code, out, err = called(capsys, "compare", "a", "a", "--store", str(tmp_path))
    said = "rageval: an error of rageval itself (OverflowError: intermediate overflow), not of the data."
    assert (code, out, err.count("\n")) == (70, "", 1) and err.startswith(said) and "--debug" in err
    traced = called(capsys, "compare", "a", "a", "--debug", "--store", str(tmp_path))
    monkeypatch.setenv("RAGEVAL_DEBUG", "1")
    for code, out, err in (traced, called(capsys, "compare", "a", "a", "--store", str(tmp_path))):
        assert (code, out) == (70, "") and "Traceback" in err and err.splitlines()[-1].startswith(said)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rageval_batch.analysis.comparison.compare", interrupted)
    code, out, err = called(capsys, "compare", "a", "a", "--store", str(tmp_path))
    assert (code, out) == (130, "") and "Traceback" not in err
