"""-o never writes what the command reads, nor into a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import run_command
from support.inputs import put


def test_inputs_and_commits_are_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = put(Path("o.jsonl"), [{"id": "q1", "output": "a"}])
    questions = put(Path("q.jsonl"), [{"id": "q1", "question": "?", "must_include": ["a"]}])
    Path("link.jsonl").symlink_to(outputs)
    before = outputs.read_bytes(), questions.read_bytes()
    score = ("score", "o.jsonl", "-p", "include_rate", "-q", "q.jsonl")
    for words in (
        (*score, "-o", "o.jsonl"), (*score, "-o", "./q.jsonl"), (*score, "-o", "link.jsonl"),
        ("score", ".", *score[2:], "-o", "o.jsonl"), ("score", "[o]*.jsonl", *score[2:], "-o", tmp_path / "o.jsonl"),
        (*score, "--store", "runs", "--run-meta", "o.jsonl", "-o", "o.jsonl"),
    ):  # fmt: skip
        code, _, err = run_command(capsys, *words)
        assert (code, "is an input of this command" in err) == (2, True), (words, err)
    assert (outputs.read_bytes(), questions.read_bytes()) == before and not Path("runs").exists()
    assert run_command(capsys, *score, "-o", "new.jsonl")[0] == 0
    assert run_command(capsys, *score, "-o", "new.jsonl")[0] == 0
    (commit,) = Path("runs").glob("*Z-*")
    for folder in (commit, Path("runs/.staging/job")):
        code, _, err = run_command(capsys, "sql", "from runs", "-o", folder / "x.parquet")
        assert (code, "which is never changed" in err) == (2, True), err
    code, _, err = run_command(capsys, "sql", "from t", "--file", "t=o.jsonl", "-o", "o.jsonl")
    assert (code, "is an input of this command" in err) == (2, True), err
    assert outputs.read_bytes() == before[0]
