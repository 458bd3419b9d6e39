"""The packaged profile files reference and retrieval: their cases, samples, and explanations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rageval_batch
from rageval_batch.cli import main
from rageval_batch.errors import InputError
from rageval_batch.model import Profile
from rageval_batch.profiles.registry import get_profile
from support.cases import Case, batch_of, prepared, score_rows
from support.places import CASES_FOLDER, SAMPLES_FOLDER

CASES = {
    name: [json.loads(line) for line in (CASES_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    for name in ("reference", "retrieval")
}


def agree(got: dict[str, Any], want: dict[str, Any]) -> None:
    for name, value in want.items():
        if isinstance(value, int | float):
            assert got[name] == pytest.approx(value, abs=1e-12), name
        else:
            assert got[name] == (value if not isinstance(value, list) else [tuple(one) for one in value]), name


@pytest.mark.parametrize("case", CASES["reference"], ids=[case["name"] for case in CASES["reference"]])
def test_reference(case: dict[str, Any]) -> None:
    profile = get_profile("reference")
    answer = Case(case["question"], case["output"], chunks=case.get("chunks"))
    got = score_rows(profile, [answer], {})[0]
    agree(got, case["want"])
    explained(profile, answer, got)


@pytest.mark.parametrize("case", CASES["retrieval"], ids=[case["name"] for case in CASES["retrieval"]])
def test_retrieval(case: dict[str, Any]) -> None:
    rows = [{"run_id": "r", "question_id": "q", **case["row"]}]
    (got,) = rageval_batch.score(rows, [case["question"]], profile="retrieval").scores.to_dicts()
    agree(got, case["want"])


def explained(profile: Profile, answer: Case, row: dict[str, Any]) -> None:
    """An explanation has the values that the score row has."""
    explanation = profile.scoring.explain(prepared(profile, [answer], {}), batch_of(profile, [answer]))
    lines = {line["name"]: line["value"] for line in explanation.sections[-2].lines}
    named = {metric.name for metric in profile.metrics}
    assert named <= set(lines)
    assert {name: None if lines[name] is None else float(lines[name]) for name in named} == {
        name: row[name] for name in named
    }


def test_all_answers_together_score_as_each_alone() -> None:
    answers = [Case(one["question"], one["output"], chunks=one.get("chunks")) for one in CASES["reference"]]
    profile = get_profile("reference")
    assert score_rows(profile, answers, {}) == [score_rows(profile, [one], {})[0] for one in answers]


def test_samples_of_reference() -> None:
    folder = SAMPLES_FOLDER / "reference"
    found = rageval_batch.score(
        folder / "outputs", folder / "questions.jsonl", profile="reference", contexts=folder / "contexts.jsonl"
    )
    means = {row["run_id"]: row["mean"] for row in found.summary.to_dicts() if row["metric"] == "score"}
    assert means["reader-large"] > means["reader-small"] > 0
    rows = {(row["run_id"], row["question_id"]): row for row in found.scores.to_dicts()}
    assert rows["reader-small", "ru-3"]["fail_reason"] == "missing_output"
    assert rows["reader-small", "zh-1"]["numbers_supported"] == 0.0, "36 months are invented"
    assert rows["reader-large", "zh-2"]["exact_match"] == 1.0
    assert {rows["reader-small", f"{language}-1"]["numbers_supported"] for language in ("en", "zh", "ja")} == {0.0}


def test_samples_of_retrieval_are_the_same_as_trec_files() -> None:
    folder = SAMPLES_FOLDER / "retrieval"
    rows, trec = (
        rageval_batch.score(folder / outputs, folder / questions, profile="retrieval").scores
        for outputs, questions in (("outputs/dense.jsonl", "questions.jsonl"), ("trec/dense.run", "trec/gold.qrels"))
    )
    apart = ("eval_set", "question_fields")
    assert rows.drop(apart).equals(trec.drop(apart))


def test_every_scalar_field_of_a_question_is_a_group(tmp_path: Path) -> None:
    questions = [
        {"id": "a", "reference": "x", "category": "one", "level": 1},
        {"id": "b", "reference": "x", "category": "two", "level": 1, "it's": True},
        {"id": "c", "reference": "x"},
    ]
    rows = [{"run_id": "r", "question_id": "a", "output": "x"}, {"run_id": "r", "question_id": "b", "output": "y"}]
    rageval_batch.score(rows, questions, profile="reference", store=tmp_path / "runs")
    with rageval_batch.open_store(tmp_path / "runs") as session:
        found = session.rows("select grouping, value, total_tests, mean from run_groups order by all")
    assert [tuple(row.values()) for row in found] == [
        ("category", "one", 1, 1.0), ("category", "two", 1, 0.0), ("it's", "true", 1, 0.0), ("level", "1", 2, 0.5),
    ]  # fmt: skip


def test_one_table_with_everything_is_enough(tmp_path: Path) -> None:
    """By hand: 24 months as it is; "at 8 bar" has two of the three words of "at 6.5 bar", and 8 is in no text."""
    table = tmp_path / "table.csv"
    table.write_text(
        "question,answer,reference,contexts\n"
        'How long?,24 months,24 months,"[""It is 24 months.""]"\n'
        'When?,at 8 bar,at 6.5 bar,"[""It opens at 6.5 bar.""]"\n',
        encoding="utf-8",
    )
    words = ["score", str(table), "-p", "reference", "--store", str(tmp_path / "runs")]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 0
    with rageval_batch.open_store(tmp_path / "runs") as session:
        rows = session.rows("select token_f1, exact_match, numbers_supported from reference order by all desc")
    assert [list(row.values()) for row in rows] == [[1.0, 1.0, 1.0], [pytest.approx(2 / 3), 0.0, 0.0]]


@pytest.mark.parametrize("question", [{"id": "q"}, {"id": "q", "gold_ids": []}, {"id": "q", "gold": [{"grade": 1}]}])
def test_a_question_without_gold_tests_nothing(question: dict[str, Any]) -> None:
    row = {"run_id": "r", "question_id": "q", "retrieved_ids": ["a"]}
    with pytest.raises(InputError):
        rageval_batch.score([row], [question], profile="retrieval")
