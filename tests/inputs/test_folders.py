"""Folders as inputs: a store among the outputs is no part of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_batch.inputs.folders import url_in_commit, visible_files
from support.command import run_command
from support.inputs import put


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of outputs, the current one."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "questions" / "q.jsonl", [{"id": "q1", "question": "?", "must_include": ["a"]}])
    (tmp_path / "outputs" / "more").mkdir(parents=True)
    put(tmp_path / "outputs" / "a.jsonl", [{"id": "q1", "output": "a"}])
    put(tmp_path / "outputs" / "more" / "b.jsonl", [{"id": "q1", "output": "b"}])
    monkeypatch.chdir(tmp_path / "outputs")
    return tmp_path / "outputs"


def test_a_folder_with_its_store_is_scored_again_as_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("score", ".", "-p", "include_rate", "-q", "../questions/q.jsonl", "--keep-inputs")
    code, _, err = run_command(capsys, *words)
    assert code == 0, err
    (commit,) = (folder / "runs").glob("*Z-*")
    code, _, err = run_command(capsys, *words)
    assert (code, "Nothing to do" in err) == (0, True), err
    commit.rename(folder / "runs" / "renamed")  # which is damage; its manifest still says what it is
    code, _, err = run_command(capsys, *words)
    assert (code, "2 rows read" in err) == (0, True), err
    code, _, err = run_command(capsys, "score", "runs", *words[2:])
    assert (code, "commits of a store are passed over" in err) == (2, True), err


def test_a_glob_passes_over_commits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But for one that the user spells out."""
    options = ("-p", "include_rate", "-q", "../questions/q.jsonl", "--keep-inputs")
    for glob in ("**/*", "./**/*.jsonl", f"{folder}/**/*", "../outputs/**/*", "**"):
        code, _, err = run_command(capsys, "score", glob, *options, "--store", f"runs/{len(glob)}")
        assert (code, err.partition(" = ")[0]) == (0, "2 rows read"), (glob, err)
    code, _, err = run_command(capsys, "score", "runs/**/*.parquet", *options)
    assert (code, "commits of a store are passed over" in err) == (2, True), err
    (commit,) = (folder / "runs" / "4").glob("*Z-*")
    code, _, err = run_command(capsys, "score", f"{commit}/kept_out*.parquet", *options, "--store", "runs/again")
    assert (code, err.partition(" = ")[0]) == (0, "2 rows read"), err


def test_only_commits_are_passed_over(folder: Path) -> None:
    put(folder / "more" / "manifest.json", '{"format": 1, "commit": "of another program"}')
    put(folder / "more" / ".hidden.jsonl", "")
    (folder / "20261118T104208.681929Z-f76143").mkdir()
    put(folder / "20261118T104208.681929Z-f76143" / "runs.parquet", "")
    found = sorted(path.relative_to(folder).as_posix() for path in visible_files(folder))
    assert found == ["a.jsonl", "more/b.jsonl", "more/manifest.json"]
    url = "s3://bucket/runs/20261118T104208.681929Z-f76143"
    assert url_in_commit(f"{url}/runs.parquet", "s3://bucket")
    assert not url_in_commit(f"{url}/runs.parquet", url) and not url_in_commit("s3://bucket/a.jsonl", "s3://bucket")
