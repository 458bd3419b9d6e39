"""Values of options that nobody should give: a short sentence and exit code 2, or what they say; never exit 70."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.command import run_command

LONG = "x" * 100_000


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a question and an answer of `include_rate`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(json.dumps({"question_id": "q", "output": "yes"}) + "\n")
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "question": "?", "must_include": ["yes"]}) + "\n")
    return tmp_path


def score(*more: str) -> list[str]:
    return ["score", "a.jsonl", "-q", "q.jsonl", "-p", "include_rate", *more]


@pytest.mark.parametrize(
    "words",
    [
        ["prune", "--older-than", LONG],
        ["prune", "--keep-last", LONG],
        ["drop", LONG],
        ["show", LONG],
        ["profiles", LONG],
        ["sql", f"from {LONG}"],
        score("--param", f"normalizer={LONG}"),
        score("--param", f"{LONG}=1"),
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_a_long_word_is_not_repeated_whole(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert run_command(capsys, *score())[0] == 0
    code, out, err = run_command(capsys, *words)
    assert (code, out) == (2, "") and 20 < len(err) < 5000


@pytest.mark.parametrize("age", ["999999w", "999999d"])
def test_an_age_before_the_calendar_prunes_nothing(capsys: pytest.CaptureFixture[str], age: str) -> None:
    assert run_command(capsys, *score())[0] == 0
    code, _, err = run_command(capsys, "prune", "--older-than", age)
    assert code == 0 and "0 commits pruned" in err


@pytest.mark.parametrize("store", ["a:b/runs", "ab:/runs", "s3:/x", "x://y", "file:runs"])
def test_a_folder_that_looks_like_a_url(capsys: pytest.CaptureFixture[str], folder: Path, store: str) -> None:
    """Arrow takes a relative path with a colon for a URL."""
    code, _, err = run_command(capsys, *score("--store", store))
    assert code == 0, err
    code, out, _ = run_command(capsys, "runs", "--store", store, "--format", "json")
    assert code == 0 and [row["run_id"] for row in json.loads(out)] == ["a"]
    assert list((folder / store).glob("*/manifest.json"))


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--encoding", "base64", "There is no encoding 'base64'"),
        ("--encoding", "rot13", "There is no encoding"),
        ("--map", f"output=a[{'9' * 20}]", "is no path"),
        ("--params", "/dev/zero", "no file of settings"),
        ("-p", "leaves.py:profile", "cannot be loaded as a profile: SystemExit"),
    ],
)
def test_values_with_a_sentence(
    capsys: pytest.CaptureFixture[str], folder: Path, option: str, value: str, says: str
) -> None:
    if value.startswith("/dev/") and not Path(value).exists():
        pytest.skip("a system without it")
    (folder / "leaves.py").write_text("raise SystemExit(1)\n")
    code, out, err = run_command(capsys, *score(option, value))
    assert (code, out) == (2, "") and says in err


def test_a_file_that_may_not_be_looked_at(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of a folder of another user, in which the one who runs the tests could look as root."""
    (folder / "outputs").mkdir()
    (folder / "outputs" / "locked.jsonl").write_text("")
    look = os.stat

    def refusing(path: object, **how: bool) -> os.stat_result:
        if str(path).endswith("locked.jsonl"):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", refusing)
    code, _, err = run_command(capsys, "score", "outputs", "-q", "q.jsonl", "-p", "include_rate")
    assert code == 2 and "locked.jsonl: Permission denied. Check the path." in err
