"""Comparisons from stores: against the oracle, in SQL, with repeats, weights, older results and answers."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rageval_batch
from oracles import compare as oracle
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.compared_runs import find_compared_runs, open_compared
from rageval_batch.analysis.comparison import SIGNIFICANT, Comparison, Rules, compare
from rageval_batch.analysis.paired_units import MOVERS
from rageval_batch.analysis.repeats import pass_rates, repeat_summary
from rageval_batch.analysis.runs import find_run
from rageval_batch.analysis.session import Session
from rageval_batch.columnar import statistics
from rageval_batch.errors import IncompatibleRuns, InputError, StoreError
from rageval_batch.inputs import file_hashes
from rageval_batch.inputs.sources import Source
from rageval_batch.runs.store import Store
from support.stores import HOSTILE, catalog_row, publish, score_row, simple_run


def compared(folder: Path, base: str, *candidates: str, rules: Rules | None = None, **how: Any) -> list[Comparison]:
    with open_compared(folder, [base, *candidates]) as session:
        return compare(session, find_compared_runs(session, base, candidates, **how), rules or Rules())


def made_up_run(chance: random.Random) -> list[dict[str, Any]]:
    """Scores of some of 12 questions, with repeats, weights and values that are not there."""
    rows = []
    for number in range(12):
        if chance.random() < 0.8:
            repeats = chance.choice([1, 1, 2, 3])
            weight = [0.0, 1.0, 2.5][number % 3]
            for repeat in range(repeats):
                score = None if chance.random() < 0.05 else chance.choice([0.0, 100.0, 50.0, chance.uniform(0, 100)])
                rows.append(score_row(f"q{number:02d}", score, repeat=repeat, weight=weight))
    return rows


@pytest.mark.parametrize("weighted", [False, True])
def test_comparisons_equal_the_oracle(tmp_path: Path, weighted: bool) -> None:
    chance = random.Random(weighted)
    runs = {f"run-{k}": made_up_run(chance) for k in range(12)}
    publish(tmp_path, runs)
    stat = "weighted_mean" if weighted else "mean"
    metrics = [replace(m, null_counts_as=None) for m in catalog_row().metrics]
    rows = [replace(catalog_row(), run_stat=stat, metrics=tuple(metrics))]
    with Session(Store(tmp_path), rows) as session:
        compared = find_compared_runs(session, "run-0", [f"run-{k}" for k in range(1, 12)])
        found = compare(session, compared, Rules(min_delta=-10.0, max_regressions=4))
        std = {name: repeat_summary(session, find_run(session, name).key, 3) for name in ("run-0", "run-1")}
    for result in found:
        want = oracle.compare_questions(
            runs["run-0"], runs[result.candidate.name], min_delta=-10.0, max_regressions=4, weighted=weighted
        )
        got = result.as_dict()
        for name, value in want.items():
            assert got[name] == (pytest.approx(value, abs=1e-12) if isinstance(value, float) else value), name
        deltas = np.array(oracle.paired_deltas(runs["run-0"], runs[result.candidate.name]))
        weights = _weights(runs["run-0"], runs[result.candidate.name]) if weighted else None
        assert result.interval.low == pytest.approx(statistics.bootstrap_interval(deltas, weights).low, abs=1e-9)
        assert result.p_value == pytest.approx(statistics.sign_flip_p(deltas, weights), abs=1e-12)
    assert [result.p_holm for result in found] == statistics.holm([result.p_value for result in found])
    for name, values in std.items():
        want_std = oracle.std_over_repeats(runs[name], weighted=weighted)
        assert values["score_std_over_repeats"] == pytest.approx(want_std, abs=1e-9)


def _weights(base: list[dict[str, Any]], cand: list[dict[str, Any]]) -> Any:
    shared = oracle.question_scores(base).keys() & oracle.question_scores(cand).keys()
    weight = {row["question_id"]: row["weight"] for row in base}
    return np.array([weight[name] for name in sorted(shared)])


def test_lower_is_better_turns_all_signs(tmp_path: Path) -> None:
    base = [score_row(f"q{k}", 1.0, repaired=k < 3) for k in range(4)]
    cand = [score_row(f"q{k}", 1.0, repaired=k == 3) for k in range(4)]
    publish(tmp_path, {"base": base, "cand": cand})
    (result,) = compared(tmp_path, "base", "cand", metric="repaired")
    assert (result.base_score, result.cand_score, result.delta) == (0.75, 0.25, 0.5)
    assert (result.improvements, result.regressions, result.ties, result.passed) == (3, 1, 0, False)
    assert [mover.delta for mover in result.movers] == [1.0, 1.0, 1.0, -1.0]


def test_a_null_counts_as_its_metric_says(tmp_path: Path) -> None:
    publish(tmp_path, {"base": simple_run(a=1.0), "cand": [score_row("a", None)]})
    (result,) = compared(tmp_path, "base", "cand")
    assert (result.cand_score, result.regressions, result.only_base_count) == (0.0, 1, 0)


def test_significant_drops_alone_fail(tmp_path: Path) -> None:
    chance = random.Random(4)
    base = {f"q{k}": chance.uniform(20, 80) for k in range(60)}
    runs = {
        "base": base,
        "noise": {q: s + chance.uniform(-10, 9.5) for q, s in base.items()},
        "drop": {q: s - chance.uniform(0, 10) for q, s in base.items()},
    }
    publish(tmp_path, {name: simple_run(**scores) for name, scores in runs.items()})
    noise, drop = compared(tmp_path, "base", "noise", "drop", rules=Rules(fail_on=SIGNIFICANT))
    assert noise.regressions > 0 and noise.passed
    assert not drop.passed and drop.p_holm < 0.01
    assert drop.interval.high is not None and drop.interval.high < 0


def test_rules_refuse_what_they_cannot_mean() -> None:
    with pytest.raises(InputError):
        Rules(fail_on="never")
    with pytest.raises(InputError):
        Rules(min_delta=float("nan"))


# --- SQL --------------------------------------------------------------------------------------------------------------


def test_regressions_macro_rows_in_rows_out(tmp_path: Path) -> None:
    publish(tmp_path, {"a'": simple_run(x=1.0, y=0.5, z=0.25, v=0.1), "b": simple_run(x=0.5, y=0.5, z=0.75, w=1.0)})
    with open_store(tmp_path) as session:
        rows = session.rows("from regressions('a''', 'b') order by question_id")
        assert [tuple(row.values()) for row in rows] == [
            ("v", 0.1, None, None, "only_base"),
            ("w", None, 1.0, None, "only_cand"),
            ("x", 1.0, 0.5, -0.5, "regression"),
            ("y", 0.5, 0.5, 0.0, "tie"),
            ("z", 0.25, 0.75, 0.5, "improvement"),
        ]
        assert list(rows[0]) == ["question_id", "base_score", "cand_score", "delta", "status"]
        assert session.rows("from regressions('b', 'nobody')") == []


def test_run_delta_macro_rows_in_rows_out(tmp_path: Path) -> None:
    base = [score_row("x", 80.0, repaired=True), score_row("y", 20.0)]
    cand = [score_row("x", 60.0), score_row("y", 30.0)]
    publish(tmp_path, {"base": base, "cand": cand})
    with open_store(tmp_path) as session:
        rows = {row.pop("metric"): row for row in session.rows("from run_delta('base', 'cand')")}
        metrics = session.rows("select count(*) as n from metric_catalog where profile = 'eval_json_v2'")
    assert len(rows) == metrics[0]["n"]
    assert rows["score"] == {
        "base": 50.0, "cand": 45.0, "delta": -5.0, "improvements": 1, "regressions": 1, "ties": 0
    }  # fmt: skip
    assert rows["repaired"] == {
        "base": 0.5, "cand": 0.0, "delta": 0.5, "improvements": 1, "regressions": 0, "ties": 1
    }  # fmt: skip


def test_run_delta_agrees_with_the_summary(tmp_path: Path) -> None:
    chance = random.Random(3)
    publish(tmp_path, {name: made_up_run(chance) for name in ("a", "b")})
    with open_store(tmp_path) as session:
        means = session.rows("select metric, mean from run_summary where run_id = 'b' order by metric")
        delta = session.rows("select metric, cand as mean from run_delta('a', 'b') order by metric")
    assert delta == means


def test_macros_pick_the_newest_questions_that_both_have(tmp_path: Path) -> None:
    publish(tmp_path, {"a": simple_run(x=1.0), "b": simple_run(x=0.5)}, questions_sha256="1" * 64, eval_set="old@1")
    publish(tmp_path, {"a": simple_run(y=1.0)}, questions_sha256="2" * 64, eval_set="new@2")
    with open_store(tmp_path) as session:
        assert [row["question_id"] for row in session.rows("from regressions('a', 'b')")] == ["x"]
    (result,) = compared(tmp_path, "a", "b")
    assert result.regressions == 1
    with pytest.raises(StoreError, match="not with this profile or eval set"):
        compared(tmp_path, "a", "b", eval_set="new")


def test_macros_take_the_eval_set_and_profile_that_are_named(tmp_path: Path) -> None:
    publish(tmp_path, {"a": simple_run(x=1.0), "b": simple_run(x=0.5)}, questions_sha256="1" * 64, eval_set="old@1")
    publish(tmp_path, {"a": simple_run(y=0.5), "b": simple_run(y=1.0)}, questions_sha256="2" * 64, eval_set="new@2")
    with open_store(tmp_path) as session:

        def found(how: str) -> tuple[list[str], list[float]]:
            delta = session.rows(f"from run_delta('a', 'b'{how}) where metric = 'score'")
            pairs = session.rows(f"from regressions('a', 'b'{how})")
            return [row["question_id"] for row in pairs], [row["delta"] for row in delta]

        newest, older, none = (["y"], [0.5]), (["x"], [-0.5]), (list[str](), list[float]())
        assert found("") == found(", of_eval_set := 'new'") == newest
        for name in ("old", "old@1", "11111111"):
            assert found(f", of_eval_set := '{name}'") == older
        profile = session.rows("select any_value(profile) as p from runs")[0]["p"]
        assert found(f", of_eval_set := 'old', of_profile := '{profile}'") == older
        assert found(", of_eval_set := 'other'") == found(", of_profile := 'other'") == none


@pytest.mark.parametrize("profile", ["include_rate", "claim_evidence"])
def test_score_deltas_are_run_delta_of_every_candidate(tmp_path: Path, profile: str) -> None:
    """By one statement in a session as small as any, however many candidates there are."""
    runs = {
        f"r{k:02}": [score_row(f"q{q}", ((k * 7 + q * 3) % 11) / 10, weight=1.0 + q % 3) for q in range(4)]
        for k in range(26)
    }
    publish(tmp_path, runs, profile=profile, with_summary=True)
    names = ", ".join(f"'r{k:02}'" for k in range(1, 26))
    with open_store(tmp_path) as session:
        rows = session.rows(f"from score_deltas('r00', [{names}]) order by candidate")
        assert [row["candidate"] for row in rows] == [f"r{k:02}" for k in range(1, 26)]
        for row in (rows[0], rows[12]):
            (want,) = session.rows(f"from run_delta('r00', '{row['candidate']}') where metric = 'score'")
            assert {name: row[name] for name in want if name != "metric"} == {
                k: v for k, v in want.items() if k != "metric"
            }
            assert row["n"] == 4
        assert session.rows("from score_deltas('r00', ['r01'], of_eval_set := 'other')") == []


def test_leaderboard_of_a_weighted_profile(tmp_path: Path) -> None:
    rows = [score_row("x", 1.0, weight=3.0), score_row("y", 0.0, weight=1.0)]
    publish(tmp_path, {"a": rows, "b": simple_run(x=1.0, y=1.0)})
    with Session(Store(tmp_path), [replace(catalog_row(), run_stat="weighted_mean")]) as session:
        best, second = session.rows("select * from leaderboard order by rank")
    assert (best["run_id"], best["score"], best["low"], best["high"]) == ("b", 1.0, 1.0, 1.0)
    # Of two questions, a quarter of the resamples is all of the one, a quarter all of the other.
    assert (second["run_id"], second["score"], second["low"], second["high"]) == ("a", 0.75, 0.0, 1.0)


# --- repeats ----------------------------------------------------------------------------------------------------------


def test_pass_at_k_of_a_run(tmp_path: Path) -> None:
    rows = [score_row("a", 1.0, repeat=k, schema_ok=ok) for k, ok in enumerate([True, False, False, False])]
    rows += [score_row("b", 1.0, repeat=k, schema_ok=None if k else True) for k in range(4)]
    rows += [score_row("gone", 0.0, schema_ok=False, fail_reason="missing_output")]
    publish(tmp_path, {"run": rows})
    with open_store(tmp_path, functions=False) as session:
        rates = pass_rates(session, find_run(session, "run").key, 4, metric="schema_ok")
        std = repeat_summary(session, find_run(session, "run").key, 4)
        assert pass_rates(session, find_run(session, "run").key, 4) == {}
    answered = {"question_id": "gone", "passed": False}
    all_rows = [{**row, "passed": row["schema_ok"]} for row in rows[:8]] + [answered] * 4
    for k in range(1, 5):
        assert rates[f"pass@{k}"] == pytest.approx(oracle.run_pass_at_k(all_rows, k))
    assert std == {"score_std_over_repeats": 0.0}  # the question without an answer counts in every repeat


def test_repeats_are_averaged_and_reported(tmp_path: Path) -> None:
    base = [score_row("a", 10.0, repeat=0), score_row("a", 30.0, repeat=1)]
    publish(tmp_path, {"base": base, "cand": simple_run(a=20.0)})
    (result,) = compared(tmp_path, "base", "cand")
    assert (result.base_score, result.ties, result.passed) == (20.0, 1, True)
    assert result.base_repeats == {"score_std_over_repeats": 10.0}
    assert result.cand_repeats == {}


# --- which runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["questions_sha256", "source_sha256", "params_sha256"])
def test_runs_that_differ_must_not_be_compared(tmp_path: Path, name: str) -> None:
    for run, score, digit in (("a", 1.0, "1"), ("b", 0.5, "2")):
        record: dict[str, Any] = {name: digit * 64}
        publish(tmp_path, {run: simple_run(x=score)}, **record)
    with pytest.raises(IncompatibleRuns, match=f"{name} is 1111111111111111… and 2222222222222222…") as caught:
        compared(tmp_path, "a", "b")
    assert caught.value.found[0]["error"] == "hash_mismatch"
    (result,) = compared(tmp_path, "a", "b", strict=False)
    assert result.regressions == 1 and name in result.notes[0]


@pytest.mark.parametrize(
    ("older", "newer"),
    [("profile:eval_json_v2/1", "profile:eval_json_v2/2"), ("profile:eval_json_v2", "profile:eval_json_v2/2")],
    ids=["both said it", "a store of 0.1"],
)
def test_versions_of_a_profile_are_not_compared_unless_the_user_wants_it(
    tmp_path: Path, older: str, newer: str
) -> None:
    publish(tmp_path, {"a": simple_run(x=1.0)}, signature=f"{older}|params:default|questions:q@1")
    publish(tmp_path, {"b": simple_run(x=0.5)}, signature=f"{newer}|params:default|questions:q@1")
    with pytest.raises(IncompatibleRuns, match=r"profile_version is 1 and 2\. .* rageval rescore, or add") as caught:
        compared(tmp_path, "a", "b")
    mismatch = caught.value.found[0]
    assert (mismatch["base_profile_version"], mismatch["cand_profile_version"]) == ("1", "2")
    (result,) = compared(tmp_path, "a", "b", strict=False)
    assert result.regressions == 1 and "profile_version is 1 and 2" in result.notes[0]


def test_known_against_unknown_differs_except_for_parameters(tmp_path: Path) -> None:
    publish(tmp_path, {"a": simple_run(x=1.0)}, source_sha256="1" * 64)
    publish(tmp_path, {"b": simple_run(x=1.0)})
    publish(tmp_path, {"c": simple_run(x=1.0)}, params_sha256=None)
    with pytest.raises(IncompatibleRuns, match="source_sha256 is 1111111111111111… and unknown"):
        compared(tmp_path, "a", "b")
    assert compared(tmp_path, "b", "c")[0].passed


def test_older_results_by_commit(tmp_path: Path) -> None:
    old = publish(tmp_path, {"a": simple_run(x=0.5)})
    publish(tmp_path, {"a": simple_run(x=1.0)})
    (result,) = compared(tmp_path, f"a@{old.id}", "a")
    assert (result.base_score, result.cand_score, result.improvements) == (0.5, 1.0, 1)


def test_all_other_runs_and_those_left_out(tmp_path: Path) -> None:
    publish(tmp_path, {name: simple_run(x=1.0) for name in ("a", "b", "c")})
    publish(tmp_path, {"d": simple_run(x=1.0)}, params_sha256="9" * 64)
    publish(tmp_path, {"e": simple_run(x=1.0)}, questions_sha256="9" * 64, eval_set="other@9")
    with open_store(tmp_path, functions=False) as session:
        compared = find_compared_runs(session, "a", [], every=True, eval_set="q")
        assert ([side.name for side in compared.candidates], compared.left_out) == (["b", "c"], ("d",))
        assert [result.passed for result in compare(session, compared, Rules())] == [True, True]


def test_unknown_names(tmp_path: Path) -> None:
    publish(tmp_path, {"adapter-a": simple_run(x=1.0)})
    with pytest.raises(StoreError, match="Did you mean 'adapter-a'"):
        compared(tmp_path, "adapter-b", "adapter-a")
    with pytest.raises(InputError, match=r"no file nowhere\.json"):
        compared(tmp_path, "nowhere.json", "adapter-a")
    publish(tmp_path, {f"run-{k:03}": simple_run(x=1.0) for k in range(300)})
    with pytest.raises(StoreError, match="and 276 more"):
        compared(tmp_path, "nobody", "adapter-a")
    with pytest.raises(StoreError, match="Did you mean 'run-299'"):
        compared(tmp_path, "run-2999", "adapter-a")
    with pytest.raises(InputError, match="Did you mean 'score'"):
        compared(tmp_path, "adapter-a", "adapter-a", metric="scores")


def test_hostile_ids_and_one_side_only(tmp_path: Path) -> None:
    base, cand = (f"{name}-{''.join(HOSTILE)}" for name in ("base", "cand"))
    publish(
        tmp_path,
        {
            base: [score_row(name, 1.0) for name in HOSTILE],
            cand: [score_row(name, k / 20) for k, name in enumerate(HOSTILE[1:])],
        },
    )
    (result,) = compared(tmp_path, base, cand)
    assert result.listed["only_base"] == [HOSTILE[0]]
    assert sorted(result.listed["regressed"]) == sorted(HOSTILE[1:])
    assert len(result.movers) == MOVERS


# --- answers ----------------------------------------------------------------------------------------------------------


def scored(folder: Path) -> tuple[Path, Path, list[dict[str, Any]]]:
    """(store, output file, its rows) of two scored runs."""
    questions = [{"id": f"q{k}", "question": "?", "expected": {"answer_example": _answer(k)}} for k in range(3)]
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    rows = [
        {"run_id": run, "question_id": f"q{k}", "output": json.dumps(_answer(k if run == "base" or k else 7))}
        for run in ("base", "cand")
        for k in range(3)
    ]
    outputs = folder / "outputs.jsonl"
    outputs.write_text("".join(json.dumps(row) + "\n\n" for row in rows), encoding="utf-8")
    rageval_batch.score(str(outputs), str(folder / "questions.json"), "eval_json_v2", store=folder / "runs")
    return folder / "runs", outputs, rows


def _answer(k: int) -> dict[str, Any]:
    texts = {name: f"{name} {k * 1117}" for name in ("target_audience", "main_topic", "sub_topic", "original_evidence")}
    return {**texts, "detailed_description": [f"d{k * 1117}"], "predicted_questions": [], "source_map": []}


def test_a_file_is_hashed_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, outputs, _ = scored(tmp_path)
    hashed: list[str] = []
    measured = Source.with_hash

    def with_hash(file: Source) -> Source:
        hashed.append(file.name)
        return measured(file)

    monkeypatch.setattr(Source, "with_hash", with_hash)
    monkeypatch.setattr(file_hashes, "_SETTLED", -1)  # else a file that was just written is hashed every time
    for _ in range(2):
        assert rageval_batch.compare("base", "cand", store=store).movers[0].base_answer is not None
    assert len(hashed) == 1
    content = outputs.read_bytes()
    outputs.write_bytes(content[::-1])  # as long as before
    assert "has changed" in rageval_batch.compare("base", "cand", store=store).notes[0]


def test_a_file_that_is_as_it_was_when_it_was_scored_is_not_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time stamps that the commit noted; other bytes of the same size and age are seen all the same."""
    monkeypatch.setattr(file_hashes, "_SETTLED", -1)
    store, outputs, _ = scored(tmp_path)
    hashed: list[str] = []
    measured = Source.with_hash

    def with_hash(file: Source) -> Source:
        hashed.append(file.name)
        return measured(file)

    monkeypatch.setattr(Source, "with_hash", with_hash)
    assert rageval_batch.compare("base", "cand", store=store).movers[0].base_answer is not None
    assert hashed == []
    found, content = outputs.stat(), outputs.read_bytes()
    outputs.write_bytes(content[::-1])
    os.utime(outputs, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert "has changed" in rageval_batch.compare("base", "cand", store=store).notes[0]
    outputs.write_bytes(content)
    assert rageval_batch.compare("base", "cand", store=store).movers[0].base_answer is not None


def test_a_file_that_was_changed_just_before_it_was_hashed_is_hashed_again(tmp_path: Path) -> None:
    """Another change might leave its time stamps as they are."""
    store, *_ = scored(tmp_path)
    assert all("stamps" not in one for one in Store(store).commits()[0].manifest["inputs"])


def test_answers_are_read_again(tmp_path: Path) -> None:
    store, outputs, rows = scored(tmp_path)
    result = rageval_batch.compare("base", "cand", store=store)
    assert [mover.question_id for mover in result.movers] == ["q0"]
    assert (result.movers[0].base_answer, result.movers[0].cand_answer) == (rows[0]["output"], rows[3]["output"])
    outputs.write_text("changed", encoding="utf-8")
    result = rageval_batch.compare("base", "cand", store=store)
    assert result.movers[0].base_answer is None and result.regressions == 1
    assert "has changed" in result.notes[0]
    outputs.unlink()
    assert "is gone" in rageval_batch.compare("base", "cand", store=store).notes[0]
