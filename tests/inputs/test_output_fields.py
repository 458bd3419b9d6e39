"""Answers whose fields stand in the row itself: JSON rows, nested columns, cells with JSON in them."""

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_batch.api import Scores, score
from rageval_batch.cli import main
from rageval_batch.errors import InputError
from rageval_batch.resources import samples_folder

SAMPLES = samples_folder() / "claim_evidence"
GOLD = SAMPLES / "gold.jsonl"
RUN = SAMPLES / "outputs" / "run-hallucinating.jsonl"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def flat_rows() -> list[dict[str, Any]]:
    """The sample run with the fields of each answer in the row."""
    return [{"run_id": row["run_id"], "task_id": row["task_id"], **row["output"]} for row in rows_of(RUN)]


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def expected() -> Scores:
    return score(RUN, GOLD, "claim_evidence")


def test_fields_of_a_json_row(tmp_path: Path, expected: Scores) -> None:
    got = score(write_lines(tmp_path / "flat.jsonl", flat_rows()), GOLD, "claim_evidence")
    assert got.scores.equals(expected.scores)


def test_escapes_and_strange_characters_stay_as_they_are(tmp_path: Path) -> None:
    gold = write_lines(tmp_path / "gold.jsonl", [{"task_id": "t", "expected_entities": ['a"b\\c', "é\n", "\x00x"]}])
    rows = [{"run_id": "r", "task_id": "t", "answer": 'a"b\\c É\n \x00x \u202e😀 </script>'}]
    for ensure_ascii in (True, False):
        path = tmp_path / f"{ensure_ascii}.jsonl"
        path.write_text(json.dumps(rows[0], ensure_ascii=ensure_ascii), "utf-8")
        assert score(path, gold, "claim_evidence").scores["entity_recall"].to_list() == [1.0]
    assert score(pl.DataFrame(rows), gold, "claim_evidence").scores["entity_recall"].to_list() == [1.0]


def test_nested_columns_of_parquet(tmp_path: Path, expected: Scores) -> None:
    rows = [{**row, "stages": as_list(row["stages"])} for row in flat_rows()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), tmp_path / "nested.parquet")
    got = score(tmp_path / "nested.parquet", GOLD, "claim_evidence")
    assert got.scores.equals(expected.scores)


def as_list(stages: Any) -> list[dict[str, Any]]:
    """Stages in the one form that a column can have: a struct column has every name in every row."""
    if isinstance(stages, list):
        return stages
    if "expected" in stages:
        return [{"name": "s", "status": "done" if k < stages["completed"] else ""} for k in range(stages["expected"])]
    return [{"name": name, "status": "done" if done is True else done} for name, done in stages.items()]


def test_cells_with_json_in_them(tmp_path: Path, expected: Scores) -> None:
    rows = flat_rows()
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (tmp_path / "cells.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            cells = [row.get(name, "") for name in names]
            writer.writerow([cell if isinstance(cell, str) else json.dumps(cell) for cell in cells])
    assert score(tmp_path / "cells.csv", GOLD, "claim_evidence").scores.equals(expected.scores)


def test_an_answer_that_looks_like_json_stays_a_text(tmp_path: Path) -> None:
    gold = [{"task_id": "t", "expected_entities": ["CD73"], "min_citations": None}]
    rows = [{"run_id": "r", "task_id": "t", "answer": '["CD73"]', "claims": "no JSON", "artifacts": " "}]
    got = score(pl.DataFrame(rows), gold, "claim_evidence").scores.to_dicts()[0]
    assert (got["entity_recall"], got["claim_count"], got["artifacts_missing"]) == (1.0, 0, None)


def test_output_wins_over_fields_and_null_does_not(tmp_path: Path) -> None:
    gold = write_lines(tmp_path / "gold.jsonl", [{"task_id": f"t{k}", "expected_entities": ["CD73"]} for k in range(5)])
    answer = {"answer": "CD73"}
    rows: list[dict[str, Any]] = [
        {"task_id": "t0", "output": {"answer": "none"}, **answer},
        {"task_id": "t1", "output": None, **answer},
        {"task_id": "t2", "output": "", **answer},
        {"task_id": "t3", "answer": None, "claims": None},
        {"task_id": "t4", "claims": 5},
    ]
    path = write_lines(tmp_path / "run.jsonl", rows)
    got = score(path, gold, "claim_evidence").scores
    reasons = [None, None, "empty_output", "empty_output", "missing_field"]
    assert got["fail_reason"].to_list() == reasons
    assert got["entity_recall"].to_list() == [0.0, 1.0, 0.0, 0.0, 0.0]
    columns = {name: [row.get(name) for row in rows] for name in ("task_id", "output", "answer")}
    columns["output"] = ['{"answer": "none"}', None, "", None, None]
    columns["claims"] = [None, None, None, None, "5"]
    table = pl.DataFrame(columns).with_columns(run_id=pl.lit("run"))
    assert score(table, gold, "claim_evidence").scores.equals(got)


def test_fields_are_no_metadata_and_a_file_without_answers_is_named(tmp_path: Path) -> None:
    gold = write_lines(tmp_path / "gold.jsonl", [{"task_id": "t"}])
    path = write_lines(tmp_path / "run.jsonl", [{"task_id": "t", "answer": "a", "model_id": "m", "note": "n"}])
    score(path, gold, "claim_evidence", store=tmp_path / "runs")
    from rageval_batch import open_store

    with open_store(tmp_path / "runs") as session:
        record = session.rows("from runs")[0]
    assert (record["model_id"], dict(record["meta"])) == ("m", {"note": "n"})
    bare = write_lines(tmp_path / "bare.jsonl", [{"task_id": "t", "reply": "a"}])
    with pytest.raises(InputError, match=r"no row has a field output .* or answer or sentences"):
        score(bare, gold, "claim_evidence")
    with pytest.raises(InputError, match="no answers"):
        score(path, samples_folder() / "eval_json_v2" / "questions.json", "eval_json_v2")


# --- the command line -----------------------------------------------------------------------------------------------


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(words))
    return int(caught.value.code or 0)


def test_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "runs")
    flat = write_lines(tmp_path / "flat.jsonl", flat_rows())
    outputs = [str(SAMPLES / "outputs" / "run-pass.jsonl"), str(flat)]
    assert call("score", *outputs, "-p", "claim_evidence", "-q", str(GOLD), "--store", store) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "run_id", "score", "stat", "n", "provenance_rate", "claim_precision", "answered", "questions",
    ]  # fmt: skip
    assert [line.split()[0][:10] for line in lines] == ["run-pass", "run-halluc"]
    assert call("show", "run-pass", "--store", store, "--format", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["claim_precision"] == pytest.approx(56 / 59)
    assert shown["facts_without_evidence"] == 0
    assert call("explain", "run-hallucinating", "immuno_en_01", "--store", store, "--format", "json") == 0
    parts = json.loads(capsys.readouterr().out)["explanation"]
    assert [line["claim_id"] for line in parts["claims"] if not line["supported"]] == [
        "immuno_en_01-c9",
        "immuno_en_01-log",
    ]
    assert {line["gate"]: line["holds"] for line in parts["gates"]}["facts_without_evidence"] is False
    names = "--param", "required_artifacts=answer.md,nowhere.md"
    assert call("rescore", "run-pass", *names, "--store", store) == 0
    capsys.readouterr()
    query = "select distinct artifacts_missing from claim_evidence where run_id = 'run-pass'"
    assert call("sql", query, "--store", store, "--format", "csv") == 0
    assert capsys.readouterr().out.split() == ["artifacts_missing", "1"]
    assert call("profiles", "claim_evidence") == 0
    assert "HallucinationRisk" in capsys.readouterr().out
    wrong = "--param", "required_artifacts=-3"
    assert call("score", *outputs, "-p", "claim_evidence", "-q", str(GOLD), "--store", store, *wrong) == 2


@pytest.mark.parametrize("keep", [False, True])
def test_failing_claims_are_found_again(tmp_path: Path, keep: bool) -> None:
    from oracles.claim_evidence import failing_claims
    from rageval_batch.inputs.sources import sources
    from rageval_batch.profiles.claim_evidence import PROFILE
    from rageval_batch.runs import stored_inputs
    from rageval_batch.runs.job import Job
    from rageval_batch.runs.store import Store
    from rageval_batch.runs.sweep import run

    flat = write_lines(tmp_path / "flat.jsonl", flat_rows())
    halted = SAMPLES / "outputs" / "run-halted.jsonl"
    job = Job(
        profile=PROFILE,
        params=PROFILE.read_params({}),
        outputs=sources([flat, halted]),
        questions=sources([GOLD]),
        keep_inputs=keep,
    )
    commit = run(job, Store(tmp_path / "runs")).commit
    got = stored_inputs.failing_claims(commit, PROFILE, frozenset({"run-hallucinating"}), folder=tmp_path)
    answers = {row["task_id"]: json.dumps(row["output"]) for row in rows_of(RUN)}
    want = [line for task in rows_of(GOLD) for line in failing_claims(task, answers[task["task_id"]])]
    assert len(want) > 5
    assert got == {"run-hallucinating": want}
