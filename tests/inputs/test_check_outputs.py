"""`check --outputs`: what is wrong with answers, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.inputs.check_outputs import check_outputs
from rageval_batch.inputs.sources import source
from rageval_batch.model.examples import example_rows
from rageval_batch.profiles.registry import get_profile
from support.command import run_command
from support.inputs import put
from support.places import SAMPLES_FOLDER


def violations(folder: Path, profile: str, rows: list[Any]) -> list[tuple[int | None, str, str, str]]:
    file = put(folder / "outputs.jsonl", rows)
    found = check_outputs(source(str(file)), get_profile(profile)).violations
    return [(one.line, one.path, one.found, one.allowed) for one in found]


def good(profile: str) -> dict[str, Any]:
    return dict(example_rows(get_profile(profile)).outputs[0])


@pytest.mark.parametrize(
    ("profile", "change", "path", "found", "allowed"),
    [
        ("include_rate", {"output": None}, ".output", "nothing", "an answer: output, response, actual_output"),
        ("include_rate", {"output": 5}, ".output", "5", "a text"),
        ("include_rate", {"question_id": None}, ".question_id", "nothing", "an id: question_id, id, task_id"),
        ("include_rate", {"output": "no object at all"}, "", "", ""),
        ("eval_json_v2", {"output": "plain"}, ".output", '"plain"', "a JSON object, or the text of one"),
        ("eval_json_v2", {"output": [1]}, ".output", "[1]", "a JSON object, or the text of one"),
        ("legal_rag", {"output": "plain text is an answer"}, "", "", ""),
        ("legal_rag", {"output": {"amount": True}}, ".output.amount", "true", "a number or a text"),
        ("claim_evidence", {"output": {"claims": ["a text"]}}, ".output.claims[0]", '"a text"', "an object"),
        ("claim_evidence", {"output": None, "answer": "x", "claims": [5]}, ".claims[0]", "5", "an object"),
        ("judge_protocol", {"output": {"meta": {}}}, ".output.scores", "nothing", "an object"),
    ],
)
def test_violations(profile: str, change: dict[str, Any], path: str, found: str, allowed: str, tmp_path: Path) -> None:
    got = violations(tmp_path, profile, [good(profile), {**good(profile), **change}])
    assert got == ([(2, f"$[1]{path}", found, allowed)] if path else [])


def test_a_field_that_is_absent_or_misspelt(tmp_path: Path) -> None:
    row = good("eval_json_v2")
    answer = {name: value for name, value in row["output"].items() if name != "sub_topic"}
    got = violations(tmp_path, "eval_json_v2", [{**row, "output": json.dumps({**answer, "sub_topics": "x"})}])
    assert (1, "$[0].output.sub_topic", "nothing", "a text") in got
    assert (1, "$[0].output.sub_topics", "the field sub_topics", "did you mean sub_topic?") in got
    named = {"question_id": "q1", "ouput": "text"}
    assert (1, "$[0].ouput", "the field ouput", "did you mean output?") in violations(tmp_path, "include_rate", [named])


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"question_id": "q1", "output": "x"}\n{"question_id"\n[1]\n', encoding="utf-8")
    found = check_outputs(source(str(path)), get_profile("include_rate"))
    assert (found.questions, [one.line for one in found.violations]) == (3, [2, 3])


def test_the_samples_of_good_runs_are_ok() -> None:
    for name, profile in (
        ("include_rate/outputs/better.jsonl", "include_rate"),
        ("eval_json_v2/outputs/adapter-good.jsonl", "eval_json_v2"),
        ("claim_evidence/outputs/run-pass.jsonl", "claim_evidence"),
        ("legal_rag/outputs/careful.jsonl", "legal_rag"),
    ):
        checked = check_outputs(source(str(SAMPLES_FOLDER / name)), get_profile(profile))
        assert (checked.questions > 0, checked.violations) == (True, ()), name


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*words: Any) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    file = put(tmp_path / "outputs.jsonl", [{"question_id": "q1", "output": 5}])
    code, out, err = call("check", "--outputs", file, "-p", "include_rate", "--format", "jsonl")
    assert code == 2
    assert json.loads(out)["path"] == "$[0].output"
    assert "1 outputs of include_rate: 1 violations" in err
    code, _, err = call("check", "--outputs", file)
    assert code == 2
    assert "-p PROFILE" in err
