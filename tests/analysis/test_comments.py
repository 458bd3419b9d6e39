"""What a user may rely on: public views with comments, internals apart, questions and runs by any field of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import main
from rageval_batch.resources import packaged_data, sql_names
from support.inputs import jsonl
from support.places import SAMPLES_FOLDER
from support.stores import publish, simple_run


def test_every_public_view_and_column_says_what_it_is(tmp_path: Path) -> None:
    """Those of all profiles too; what they are made of is not listed."""
    publish(tmp_path / "runs", {"a": simple_run(x=1.0)})
    with open_store(tmp_path / "runs") as session:
        session.lock()
        listed = session.sql("Show Tables;").to_pylist()
        names = {row["name"] for row in listed}
        assert names >= set(packaged_data("views.toml")["views"]) and {"eval_json_v2", "legal_rag"} <= names
        assert not [name for name in names if name.startswith(("stored_", "given_", "metric_")) or "catalog" in name]
        assert all(row["comment"] for row in listed)
        bare = session.sql(
            "select table_name, column_name from duckdb_columns() "
            "where schema_name = 'main' and not internal and comment is null"
        )
        assert bare.to_pylist() == []
        assert session.sql("select count(*) as n from internal.stored_runs").to_pylist() == [{"n": 1}]
        assert session.sql("from runs").num_rows == 1


def test_what_is_said_to_be_public_is_there() -> None:
    views = packaged_data("views.toml")["views"]
    assert set(views) - {"commits"} <= set(sql_names())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The samples of claim_evidence, copied, scored without keeping inputs."""
    shutil.copytree(SAMPLES_FOLDER / "claim_evidence", tmp_path / "in")
    words = [tmp_path / "in" / "outputs", "-p", "claim_evidence", "-q", tmp_path / "in" / "gold.jsonl"]
    with pytest.raises(SystemExit) as left:
        main(["score", *map(str, words), "--store", str(tmp_path / "runs"), "--quiet"])
    assert left.value.code == 0
    return tmp_path / "runs"


def test_questions_and_runs_by_any_field_of_them(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups by a field hold every question that has it, with the mean that its rows give; gone files are said."""
    gold = [json.loads(line) for line in (store.parent / "in" / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    with open_store(store, functions=False) as session:
        session.lock()
        rows = session.sql("select question_id, question, category, fields from questions order by all").to_pylist()
        assert {row["question_id"]: row["category"] for row in rows} == {q["task_id"]: q["category"] for q in gold}
        assert {json.dumps(json.loads(row["fields"]), sort_keys=True) for row in rows} == {
            json.dumps(question, sort_keys=True) for question in gold
        }
        groups = session.sql("from run_groups_by('$.category')").to_pylist()
        for group in groups:
            wanted = [q["task_id"] for q in gold if q["category"] == group["value"]]
            scores = session.sql(
                "select score from scores where run_id = $run and list_contains($ids, question_id)",
                {"run": group["run_id"], "ids": wanted},
            )
            values = scores.column("score").to_pylist()
            assert group["n"] == len(wanted) == len(values)
            assert group["mean"] == pytest.approx(sum(values) / len(values), abs=1e-12)
        assert session.sql("from run_groups_by('$.nothing')").num_rows == 0
    shutil.rmtree(store.parent / "in")
    with pytest.raises(SystemExit) as left:
        main(["sql", "select count(*) as n from questions", "--store", str(store), "--format", "csv"])
    out, err = capsys.readouterr()
    assert left.value.code == 0 and out == "n\n0\n" and "are not shown" in err


def test_a_question_of_several_rows_is_in_no_group_that_they_do_not_share(tmp_path: Path) -> None:
    folder = SAMPLES_FOLDER / "judge_protocol"
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    topics = {"Q1": "x", "Q2": "x", "Q3": "y"}
    samples = [row | {"topic": topics[row["question_id"]]} for row in map(json.loads, lines)]
    (tmp_path / "samples.jsonl").write_bytes(jsonl(samples))
    with pytest.raises(SystemExit):
        main(
            ["score", str(folder / "judgements.jsonl"), "-p", "judge_protocol", "-q", str(tmp_path / "samples.jsonl"),
             "-c", str(folder / "targets.jsonl"), "--store", str(tmp_path / "runs")]
        )  # fmt: skip
    with open_store(tmp_path / "runs", functions=False) as session:
        assert session.sql("from run_groups_by('$.target_model')").num_rows == 0
        groups = session.sql("select value, n from run_groups_by('$.topic') order by value").to_pylist()
        assert groups == [{"value": "x", "n": 2}, {"value": "y", "n": 1}]


@pytest.mark.parametrize("keep", [(), ("--keep-inputs",)])
def test_answers_are_those_of_the_files(
    tmp_path: Path, keep: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every answer of the current runs with its keys; which run regressed on which topic is one query with them."""
    shutil.copytree(SAMPLES_FOLDER / "include_rate", tmp_path / "in")
    words = [tmp_path / "in" / "outputs", "-p", "include_rate", "-q", tmp_path / "in" / "questions.jsonl"]
    store = ["--store", str(tmp_path / "runs")]
    with pytest.raises(SystemExit):
        main(["score", *map(str, words), *store, "--quiet", *keep])
    capsys.readouterr()
    given = {
        (path.stem, row.get("question_id") or row.get("id"), row["output"])
        for path in (tmp_path / "in" / "outputs").glob("*.jsonl")
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }
    if keep:
        shutil.rmtree(tmp_path / "in")
    with open_store(tmp_path / "runs", functions=False) as session:
        session.lock()
        rows = session.sql("select run_id, question_id, output from answers").to_pylist()
        assert {(row["run_id"], row["question_id"], row["output"]) for row in rows} == given
        assert len(rows) == len(given) and session.notes == []
        joined = "select count(*) as n from scores join answers using (run_id, profile, eval_set, question_id, repeat)"
        assert session.sql(joined).to_pylist() == [{"n": len(given)}]
