"""`rageval benchmark`: averages worked out by hand, spread over runs, gates, baselines, run modes, hostile configs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rageval_batch.analysis.benchmark import Baseline, Gates, RunResult, check_gates
from rageval_batch.analysis.benchmark_config import read_benchmark
from rageval_batch.analysis.catalog import open_store
from rageval_batch.errors import InputError
from rageval_batch.resources import samples_folder
from support.command import run_command


def answer(number: int) -> dict[str, Any]:
    """An answer that has nothing in common with that of another number."""
    texts = {name: chr(0x4E00 + 40 * number) * 60 for name in ("target_audience", "main_topic", "sub_topic")}
    return {
        **texts, "original_evidence": chr(0x4E00 + 40 * number) * 60, "source_map": [],
        "detailed_description": [chr(0x4E00 + 40 * number) * 9], "predicted_questions": [],
    }  # fmt: skip


def write_dataset(folder: Path, name: str, questions: int, runs: dict[str, int]) -> dict[str, Any]:
    """A dataset of so many questions; each run has the first so many right and none of the others."""
    asked = [
        {"id": f"{name}-{k}", "question": "?", "expected": {"answer_example": answer(k)}} for k in range(questions)
    ]
    (folder / f"{name}.json").write_text(json.dumps(asked), encoding="utf-8")
    (folder / name).mkdir()
    for run, right in runs.items():
        lines = [{"question_id": f"{name}-{k}", "output": json.dumps(answer(k)) if k < right else "no"}
                 for k in range(questions)]  # fmt: skip
        (folder / name / f"{run}.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )
    return {"id": name, "questions": f"{name}.json", "outputs": f"{name}/*.jsonl", "profile": "eval_json_v2"}


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return run_command(capsys, "benchmark", *words)


def test_two_datasets_two_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a [1] folder"
    folder.mkdir()
    small = write_dataset(folder, "small", 2, {"a": 2, "b": 1})
    large = write_dataset(folder, "large", 4, {"a": 2, "b": 4})
    (folder / "document.txt").write_text("text", encoding="utf-8")
    config = {
        "name": "<b>=1\x1b",
        "datasets": [{**small, "weight": 3.0, "pdf": "document.txt"}, {**large, "kind": "x"}],
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    words = [str(folder / "config.json"), "--store", str(tmp_path / "runs")]
    code, out, _ = called(capsys, *words)
    found = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    scores = {
        dataset["id"]: {run: row["score"] for run, row in dataset["runs"].items()} for dataset in found["datasets"]
    }
    full = scores["small"]["a"]
    assert scores == {
        "small": {"a": full, "b": pytest.approx(full / 2)},
        "large": {"a": pytest.approx(full / 2), "b": pytest.approx(full)},
    }
    assert 0 < full <= 1
    a, b = found["runs"]
    assert a["weighted_score"] == pytest.approx(full * (3 * 1 + 0.5) / 4)
    assert b["weighted_score"] == pytest.approx(full * (3 * 0.5 + 1) / 4)
    assert a["question_weighted_score"] == pytest.approx(full * (2 * 1 + 4 * 0.5) / 6)
    assert b["question_weighted_score"] == pytest.approx(full * (2 * 0.5 + 4 * 1) / 6)
    summary = found["summary"]
    assert summary["weighted_score"] == pytest.approx(full * 0.75)
    assert summary["weighted_score_std"] == pytest.approx(full * 0.125)
    assert (summary["weighted_score_min"], summary["weighted_score_max"]) == (b["weighted_score"], a["weighted_score"])
    assert found["total_questions"] == 6
    assert found["datasets"][0]["pdf_sha256"] and found["datasets"][0]["questions_sha256"]
    assert found["datasets"][1]["pdf_sha256"] is None
    manifest = found["run_manifest"]
    assert manifest["status"] == "done" and manifest["error"] is None
    assert manifest["start"] <= manifest["end"] and manifest["elapsed"] >= 0
    with open_store(tmp_path / "runs", functions=False) as session:
        assert session.rows("select count(*) as n from runs") == [{"n": 4}]

    result = tmp_path / "result.json"
    result.write_text(out, encoding="utf-8")
    for options, wanted in (
        (["--baseline", str(result), "--max-drop-vs-baseline", "0", "--min-delta", "0", "--max-regressions", "1"], 0),
        (["--baseline", "a", "--max-drop-vs-baseline", str(full * 0.2)], 1),
    ):
        code, out, err = called(capsys, *words, *options, "--format", "md")
        assert code == wanted, err
        assert "\x1b" not in out and "<b>" not in out and "max\\_" in out
    assert called(capsys, *words, "-o", str(tmp_path / "result.parquet"))[0] == 0
    table = pq.read_table(tmp_path / "result.parquet")
    assert table.num_rows == 4 and set(table.column("dataset").to_pylist()) == {"small", "large"}


def test_a_dataset_that_cannot_be_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_dataset(tmp_path, "good", 2, {"a": 2, "b": 2})
    partly = write_dataset(tmp_path, "partly", 2, {"a": 1})
    bad = {**good, "id": "bad", "outputs": "nothing/*.jsonl"}
    lines = []
    for dataset in (bad, good, partly):
        lines += [
            "[[datasets]]",
            *(f"{name} = {json.dumps(value)}" for name, value in dataset.items()),
        ]
    (tmp_path / "config.toml").write_text("\n".join(lines), encoding="utf-8")
    words = [str(tmp_path / "config.toml"), "--store", str(tmp_path / "runs")]
    code, out, err = called(capsys, *words)
    found = json.loads(out)
    assert (code, found["run_manifest"]["status"], len(found["datasets"])) == (2, "failed", 1)
    assert found["weighted_score"] is None and "Dataset 'bad' could not be scored" in err
    code, out, err = called(capsys, *words, "--run-mode", "best-effort")
    found = json.loads(out)
    assert (code, found["passed"], len(found["datasets"])) == (2, False, 3)
    a, b = found["runs"]
    assert (a["missing"], b["missing"]) == (["bad"], ["bad", "partly"])
    assert a["weighted_score"] == pytest.approx(b["weighted_score"] * 0.75)
    assert "'partly' could not be scored for run 'b'" in found["run_manifest"]["error"]
    assert found["name"] == "config"


def dataset(**entries: Any) -> str:
    """A configuration of one dataset with these entries."""
    return json.dumps({"datasets": [{"id": "a", "questions": "q", "outputs": "o", **entries}]})


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[]", "must hold an object"),
        ("{}", r"config.json, \$: datasets is missing"),
        ('{"datasets": [3]}', r"\$\.datasets\[0\]: Expected a table, got a whole number"),
        ('{"datasets": [{"id": "a"}]}', r"\$\.datasets\[0\]: outputs is missing"),
        ('{"datasets": [{"id": "a", "outputs": "o"}]}', r"\$\.datasets\[0\]: questions is missing"),
        (dataset(outputs=[]), r"\$\.datasets\[0\]\.outputs: must not be an empty list"),
        (dataset(outputs=["o", 3]), r"\$\.datasets\[0\]\.outputs\[1\]: Expected a text, got a whole number"),
        (dataset(weight=-1), r"\$\.datasets\[0\]\.weight: Expected a finite number from 0, got -1"),
        (dataset(weight=math.nan), r"\$\.datasets\[0\]\.weight: Expected a finite number from 0, got nan"),
        (dataset(params=3), r"\$\.datasets\[0\]\.params: Expected a table or null, got a whole number"),
        (dataset(pdf=["x", "y"]), r"\$\.datasets\[0\]\.pdf: Expected a text or null, got a list"),
        (dataset(wieght=2), r"\$\.datasets\[0\]: Unknown key 'wieght'\. Did you mean 'weight'\?"),
        (
            json.dumps({"datasets": [{"id": "a", "questions": "q", "outputs": "o"}] * 2}),
            r"\$\.datasets\[1\]\.id: another dataset has the id 'a'",
        ),
    ],
)
def test_bad_configurations(tmp_path: Path, config: str, says: str) -> None:
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_benchmark(str(tmp_path / "config.json"))


def run(name: str, score: float | None) -> RunResult:
    return RunResult(run_id=name, weighted_score=score, question_weighted_score=score, total_questions=1, missing=())


@pytest.mark.parametrize(
    ("gates", "scores", "baseline", "passed"),
    [
        (Gates(), [0.1], None, []),
        (Gates(max_std_question=0.1), [0.5, 0.7], None, [True]),
        (Gates(max_std_question=0.09), [0.5, 0.7], None, [False]),
        (Gates(max_std_weighted=0.0), [], None, [False]),
        (Gates(max_drop_vs_baseline=0.1), [0.4, 0.6], Baseline("file", 0.6), [True]),
        (Gates(max_drop_vs_baseline=0.1), [0.3, 0.6], Baseline("file", 0.6), [False]),
        (Gates(min_delta=0.1), [0.6], Baseline("file", 0.5), [True]),
        (Gates(min_delta=0.1, max_regressions=1), [0.55, 0.65], Baseline("file", 0.5), [True, True]),
        (Gates(max_regressions=0), [0.5, 0.7], Baseline("r0", 0.5, "r0"), [True]),
        (Gates(min_delta=0.1), [0.5, 0.6], Baseline("r0", 0.5, "r0"), [True]),
        (Gates(max_regressions=0), [0.5], None, [False]),
    ],
)
def test_gates(gates: Gates, scores: list[float], baseline: Baseline | None, passed: list[bool]) -> None:
    found = check_gates(gates, tuple(run(f"r{k}", score) for k, score in enumerate(scores)), baseline)
    assert [gate.passed for gate in found] == passed


@pytest.mark.parametrize(
    "words",
    [
        ["config.json", "--min-delta", "0"],
        ["config.json", "--baseline", "broken.json", "--min-delta", "0"],
        ["config.json", "--baseline", "no-score.json", "--min-delta", "0"],
        ["absent.json"],
        ["config.json", "--format", "parquet"],
    ],
)
def test_bad_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text('{"datasets": [{"id": "a", "questions": "q", "outputs": "o"}]}', encoding="utf-8")
    Path("broken.json").write_text("{", encoding="utf-8")
    Path("no-score.json").write_text('{"summary": {"weighted_score": null}}', encoding="utf-8")
    code, out, err = called(capsys, *words)
    assert (code, out) == (2, "") and "Traceback" not in err


def test_a_folder_of_judgements_is_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `score` takes for judge_protocol, a benchmark takes too: a folder of files, no list of samples."""
    folder = samples_folder() / "judge_protocol"
    table = {"id": "judges", "profile": "judge_protocol", "outputs": str(folder / "folder")}
    (tmp_path / "config.json").write_text(json.dumps({"datasets": [table]}), encoding="utf-8")
    _, out, _ = called(capsys, str(tmp_path / "config.json"), "--store", str(tmp_path / "runs"))
    (found,) = json.loads(out)["datasets"]
    assert (found["status"], found["profile"]) == ("scored", "judge_protocol")
