"""Scores of another tool as runs: compared, gated and asked in SQL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_batch.profiles import registry
from rageval_batch.profiles.files.imported import imported_column, number_expression
from support.command import run_command
from support.inputs import put

Call = Callable[..., tuple[int, str, str]]
TUESDAY = """question_id,user_input,faithfulness,Answer Relevancy,ok,latency ms
a,what,0.5,0.25,true,120
b,who,1.0,,false,80
"""
WEDNESDAY = [
    {"run_id": "wed", "id": "a", "faithfulness": 0.75, "Answer Relevancy": 1, "ok": True, "latency ms": 100},
    {"run_id": "wed", "id": "b", "faithfulness": 1, "Answer Relevancy": 0.5, "ok": True, "latency ms": 90},
]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    """(exit code, stdout, stderr) of a command line, in a process that knows no profile of a store."""

    def run(*words: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(registry, "_KEPT", {})
        return run_command(capsys, *words)

    yield run


def test_imported_scores_are_runs(call: Call, tmp_path: Path) -> None:
    put(tmp_path / "tue.csv", TUESDAY)
    put(tmp_path / "wed.jsonl", WEDNESDAY)
    store = ("--store", tmp_path / "runs")
    chosen = ("--score", "faithfulness", "--lower", "latency ms", "--name", "ragas", "--format", "json", *store)
    code, out, err = call("import-scores", tmp_path / "tue.csv", "--run-id", "tuesday", *chosen)
    assert code == 0, err
    found = json.loads(out)
    assert (found["run_id"], found["score_avg"], found["answer_relevancy_avg"], found["ok_avg"]) == (
        "tuesday", 0.75, 0.25, 0.5,
    )  # fmt: skip
    assert call("import-scores", tmp_path / "wed.jsonl", *chosen)[0] == 0
    assert "Nothing to do" in call("import-scores", tmp_path / "wed.jsonl", *chosen)[2]
    code, out, err = call("compare", "tuesday", "wed", *store, "--format", "json")
    assert (code, json.loads(out)["delta"]) == (0, 0.125), err
    code, out, err = call("compare", "tuesday", "wed", "--metric", "latency_ms", *store, "--format", "json")
    assert (code, json.loads(out)["delta"]) == (1, 5.0), err
    put(tmp_path / "gates.toml", '[[gate]]\nname = "ok"\nmetric = "ok"\nop = ">="\nlimit = 1\n')
    code, out, err = call("sql", "select run_id, answer_relevancy, latency_ms from ragas order by all", *store,
                          "--format", "jsonl")  # fmt: skip
    assert [list(json.loads(line).values()) for line in out.splitlines()] == [
        ["tuesday", 0.25, 120.0], ["tuesday", None, 80.0], ["wed", 0.5, 90.0], ["wed", 1.0, 100.0],
    ]  # fmt: skip
    code, out, err = call("explain", "tuesday", "b", *store, "--format", "json")
    assert (code, json.loads(out)["note"]) == (0, None)
    lines = {line["name"]: line["expression"] for line in json.loads(out)["explanation"]["metrics"]}
    assert (lines["latency_ms"], lines["score"]) == ("imported: the column latency ms", "faithfulness")


def test_questions_of_a_file_are_the_denominator(call: Call, tmp_path: Path) -> None:
    put(tmp_path / "wed.jsonl", WEDNESDAY)
    put(tmp_path / "q.jsonl", [{"id": name} for name in ("a", "b", "c", "d")])
    code, out, err = call("import-scores", tmp_path / "wed.jsonl", "-q", tmp_path / "q.jsonl", "--score", "ok",
                          "--store", tmp_path / "runs", "--format", "json")  # fmt: skip
    assert (code, json.loads(out)["score_avg"]) == (0, 0.5), err


def test_weights_of_questions_are_of_the_weighted_mean(call: Call, tmp_path: Path) -> None:
    """As the sentence says that refuses a column of weights: the score stays the plain mean."""
    put(tmp_path / "x.jsonl", [{"question_id": "a", "ok": 1}, {"question_id": "b", "ok": 0}])
    put(tmp_path / "q.jsonl", [{"id": "a", "weight": 3}, {"id": "b", "weight": 1}])
    store = ("--store", tmp_path / "runs", "--format", "json")
    code, out, err = call("import-scores", tmp_path / "x.jsonl", "-q", tmp_path / "q.jsonl", *store)
    assert (code, json.loads(out)["score_avg"]) == (0, 0.5), err
    code, out, err = call("sql", "select mean, weighted_mean from run_summary where metric = 'score'", *store)
    assert (code, json.loads(out)) == (0, [{"mean": 0.5, "weighted_mean": 0.75}]), err


@pytest.mark.parametrize("column", ["x", "it's", 'a "b"', "c\\d", "e.$f", "忠実度"])
def test_expressions_of_columns_are_known_again(column: str) -> None:
    assert imported_column(number_expression(column)) == column
    assert imported_column(f"1 - {number_expression(column)}") is None


def test_a_column_called_score_is_the_score(call: Call, tmp_path: Path) -> None:
    rows = [{"question_id": "a", "score": 3, "order": 1}, {"question_id": "b", "score": 5, "order": 2}]
    put(tmp_path / "x.jsonl", rows)
    words = ("import-scores", tmp_path / "x.jsonl", "--store", tmp_path / "runs", "--format", "json")
    code, _, err = call(*words)
    assert code == 2
    assert "goes up to 5" in err and "--top" in err
    code, out, err = call(*words, "--top", 5)
    assert (code, json.loads(out)["score_avg"], json.loads(out)["order_value_avg"]) == (0, 4.0, 1.5), err


@pytest.mark.parametrize(
    ("rows", "more", "part"),
    [
        ([{"question_id": "a", "x": 1, "y": 0}], [], "Which column is the score?"),
        ([{"question_id": "a", "x": "text"}], [], "no column of numbers"),
        ([{"question_id": "a", "x": 1}], ["--score", "xx"], "Did you mean 'x'?"),
        ([{"question_id": "a", "x": 1}], ["--lower", "xx"], "Did you mean 'x'?"),
        ([{"question_id": "a", "x": 1}], ["--lower", "x"], "Give --score with a column of which more is better"),
        (
            [{"question_id": "a", "x": 1, "latency ms": 90}],
            ["--score", "latency ms", "--top", "900", "--lower", "latency ms"],
            "--lower latency ms: of the score, more is better.",
        ),
        ([{"question_id": "a", "Score": 1, "x": 1}], ["--lower", "Score"], "of the score, more is better"),
        ([{"question_id": "a", "x": 1}], ["--name", "include_rate"], "that is a profile already"),
        ([{"question_id": "a", "x": 1}], ["--name", "a b"], "'a b' is no name"),
        ([{"question_id": "a", "x y": 1, "x-y": 1}], ["--score", "x y"], "Several columns"),
        ([{"question_id": "a", "weight": 1, "x": 1}], ["--score", "x"], "run_summary has a weighted_mean"),
    ],
)
def test_what_cannot_be_imported(call: Call, tmp_path: Path, rows: list[Any], more: list[str], part: str) -> None:
    put(tmp_path / "x.jsonl", rows)
    code, _, err = call("import-scores", tmp_path / "x.jsonl", "--store", tmp_path / "runs", *more)
    assert code == 2
    assert part in err


def test_hostile_column_names(call: Call, tmp_path: Path) -> None:
    name = "a'); drop table x; -- \" \\ $.b"
    put(tmp_path / "x.jsonl", [{"question_id": "a", name: 0.5}, {"question_id": "b", name: 1}])
    code, out, err = call("import-scores", tmp_path / "x.jsonl", "--store", tmp_path / "runs", "--format", "json")
    assert (code, json.loads(out)["score_avg"]) == (0, 0.75), err


@pytest.mark.parametrize("more", [("--score", "g"), ("--score", "f")])
def test_a_cell_that_is_no_number_is_named(call: Call, tmp_path: Path, more: tuple[str, ...]) -> None:
    """A column of numbers is never left out for one of its cells; one of texts is."""
    put(tmp_path / "x.csv", "question_id,run_id,f,g,said\nq1,a,1.0,1,yes\nq2,a,abc,0,no\nq1,b,0.5,1,7\n")
    code, _, err = call("import-scores", tmp_path / "x.csv", *more, "--name", "cells", "--store", tmp_path / "runs")
    assert code == 2
    assert "x.csv, line 3: 'abc' in the column f is no number." in err
    put(tmp_path / "x.csv", "question_id,run_id,f,g,said\nq1,a,1.0,1,yes\nq2,a,,0,no\nq1,b,0.5,1,7\n")
    code, _, err = call("import-scores", tmp_path / "x.csv", *more, "--name", "cells", "--store", tmp_path / "runs")
    assert code == 0, err


def test_a_row_whose_only_cell_is_empty(call: Call, tmp_path: Path) -> None:
    """It has no value, and counts as nothing in the score; the others are as they are."""
    put(tmp_path / "one.csv", "question_id,run_id,m\nq0,a,\nq1,a,0.5\n")
    store = ("--store", tmp_path / "runs")
    code, out, err = call("import-scores", tmp_path / "one.csv", "--format", "json", *store)
    assert (code, json.loads(out)["score_avg"]) == (0, 0.25), err
    assert "1 row has an expression without a value" in err


def test_what_becomes_of_columns_is_told(call: Call, tmp_path: Path) -> None:
    """Of columns that are renamed, left out or empty, and of numbers that sums do not hold as they are."""
    rows = ["question_id,s,Big Value,said,Empty,tiny", "a,0.5,2e12,yes,,1e-20", "b,1,3,no,,0", "c,1,-5e13,no,,1"]
    put(tmp_path / "t.csv", "\n".join(rows) + "\n")
    store = ("--store", tmp_path / "runs")
    code, _, err = call("import-scores", tmp_path / "t.csv", "--score", "s", *store)
    assert code == 0
    for said in (
        "WARNING: columns have other names as metrics: 'Big Value' is big_value, 'Empty' is empty.",
        "WARNING: columns that are no numbers are left out: 'said'.",
        "WARNING: columns have no value in any row: 'Empty'.",
        "WARNING: 2 of 3 values of the column 'Big Value' count as null, as sums hold none beyond 1,000,000,000,000,",
        "t.csv, line 2: '2e12'. Give the column in a larger unit.",
        "WARNING: 1 of 3 values of the column 'tiny' lose digits in sums, which have 18 decimal places",
        "t.csv, line 2: '1e-20'. Give the column in a smaller unit.",
    ):
        assert said in " ".join(err.split()), said
    table = pa.table({"question_id": ["a", "b"], "s": [0.5, 1.0], "n": pa.nulls(2, pa.float64()), "list": [[1], [2]]})
    pq.write_table(table, tmp_path / "t.parquet")
    code, _, err = call("import-scores", tmp_path / "t.parquet", "--name", "lists", *store)
    assert code == 0, err
    assert "left out: 'list'." in err and "no value in any row: 'n'." in err
    code, _, err = call("import-scores", put(tmp_path / "p.csv", "question_id,s\na,1\n"), "--name", "plain", *store)
    assert code == 0 and "WARNING" not in err


# --- scores outside of 0 to the best --------------------------------------------------------------------------------


def test_missing_answers_that_count_for_more_than_given_ones_are_told(call: Call, tmp_path: Path) -> None:
    """Log-likelihoods: the run without an answer to the hard question wins, and every command that says so says why."""
    put(tmp_path / "all.csv", "question_id,ll\n1,-1.0\n2,-5.0\n")
    put(tmp_path / "some.csv", "question_id,ll\n1,-1.0\n")
    questions = put(tmp_path / "q.jsonl", [{"id": "1"}, {"id": "2"}])
    store = ("--store", tmp_path / "runs")
    code, _, err = call("import-scores", tmp_path / "all.csv", tmp_path / "some.csv", "-q", questions, *store)
    said = "1 of 2 answers are missing, and each counts as 0, more than the worst answer (-1)"
    assert code == 0 and f"WARNING: 'some': {said}" in err and "'all'" not in err
    code, out, _ = call("compare", "all", "some", *store, "--format", "json")
    assert code == 0 and said in json.loads(out)["notes"][0]
    assert json.loads(call("compare", "all", "all", *store, "--format", "json")[1])["notes"] == []
    gates = put(
        tmp_path / "g.toml", '[[gate]]\nname = "mean"\nmetric = "score"\nstat = "mean"\nop = ">="\nlimit = -1\n'
    )
    for format in ("json", "table", "md"):
        code, out, _ = call("gate", "some", "--gates", gates, *store, "--format", format)
        assert code == 0 and "more than the worst answer" in " ".join(out.split())
    code, out, _ = call(
        "sql", "select run_id, meta['warnings'] as said from runs order by all", *store, "--format", "jsonl"
    )
    assert [json.loads(line)["said"] is None for line in out.splitlines()] == [True, False]


def test_scores_above_the_best_are_told(call: Call, tmp_path: Path) -> None:
    put(tmp_path / "high.csv", "question_id,s\n1,2\n2,4\n")
    store = ("--store", tmp_path / "runs")
    code, _, err = call("import-scores", tmp_path / "high.csv", "--top", 1, *store)
    assert code == 0 and "WARNING: scores of 1 run go up to 4, above the best score 1" in err
    code, _, err = call("import-scores", tmp_path / "high.csv", "--top", 4, "--name", "graded", *store)
    assert code == 0 and "WARNING" not in err


def test_duplicates_are_told_apart_by_what_columns_are_called(call: Call, tmp_path: Path) -> None:
    """The command has no --map."""
    (tmp_path / "x.csv").write_text("run_id,question_id,m\nr,q1,0.5\nr,q1,0.9\n", encoding="utf-8")
    code, _, err = call("import-scores", tmp_path / "x.csv")
    assert code == 0 and "Where a column tells them apart, call it run_id or repeat." in err and "--map" not in err
