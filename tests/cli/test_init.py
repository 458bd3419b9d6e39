"""`rageval init`: the folder that it writes runs as it is, for every profile, and nothing is overwritten."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.model.examples import example_rows
from rageval_batch.profiles import registry
from rageval_batch.profiles.registry import PROFILES, get_profile
from support.command import run_command
from support.places import ROOT, TESTS

PACKAGED = sorted(PROFILES)
OUTSIDE = TESTS / "support" / "outside_profile.py"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """(exit code, stdout, stderr) of a command line."""

    def run(*words: Any) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    return run


def forget_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this process know only the profiles of the package, as a fresh one does."""
    monkeypatch.setattr(registry, "PROFILES", {name: PROFILES[name] for name in PACKAGED})
    monkeypatch.setattr(registry, "_REFERENCES", {})


def commands(readme: str) -> list[list[str]]:
    """The commands of a README, without the program's name."""
    block = readme.partition("```sh\n")[2].partition("```")[0]
    return [shlex.split(line)[1:] for line in block.splitlines()]


OWN = """
name = "support_qa"
title = "Support answers"
[fields]
reference = "text"
topic = "text?"
[metrics]
f1 = "token_f1(output, reference)"
[score]
expr = "f1"
[[gates]]
name = "f1"
metric = "f1"
stat = "mean"
op = ">="
limit = 0.6
"""


EXTENDED = """
name = "include_and_topic"
title = "Phrases, by topic"
extends = "include_rate"
[fields]
topic = "text"
[metrics]
long = "length(output)"
"""


@pytest.mark.parametrize("content", [OWN, EXTENDED], ids=["own", "extended"])
def test_a_profile_file_is_copied(content: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.write_text(content, encoding="utf-8")
    test_the_three_commands_run(str(own), tmp_path, call, monkeypatch)
    assert Path("own.toml").read_text(encoding="utf-8") == content  # in the folder itself


@pytest.mark.parametrize("name", [*PACKAGED, f"{OUTSIDE}:PROFILE"])
def test_the_three_commands_run(name: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_profiles(monkeypatch)
    assert call("init", name, tmp_path / "start")[0] == 0
    forget_profiles(monkeypatch)
    monkeypatch.chdir(tmp_path / "start")
    there = {str(path.relative_to(Path.cwd())) for path in Path.cwd().rglob("*") if path.is_file()}
    assert there >= {"questions.jsonl", "outputs.jsonl", "gates.toml", "README.md", ".github/workflows/rageval.yml"}
    three = commands(Path("README.md").read_text(encoding="utf-8"))
    assert [words[0] for words in three] == ["check", "score", "gate"]
    workflow = Path(".github/workflows/rageval.yml").read_text(encoding="utf-8")
    assert all(f"rageval {' '.join(words)}" in workflow for words in three)
    for words in three:
        code, out, err = call(*words)
        assert code == 0, (words, out, err)
    profile = get_profile(three[0][-1])
    with open_store("runs", functions=False) as session:
        (row,) = session.rows("select score, fail_reason from scores")
    assert row == {"score": profile.summary.score_top, "fail_reason": None}
    assert call("check", "--outputs", "outputs.jsonl", "-p", three[0][-1])[0] == 0


def test_the_quickstart_runs_as_it_is_written(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8").partition("## Completion")[0]
    lines = [shlex.split(line[2:], comments=True) for line in page.splitlines() if line.startswith("$ ")]
    assert [words[1] for words in lines] == ["init", "my-eval", "score", "report", "view", "sql"]
    for first, *words in lines:
        if first == "cd":
            monkeypatch.chdir(tmp_path / words[0])
        elif words != ["view"]:  # which serves until it is ended
            code, out, err = call(*words)
            assert code == 0, (words, out, err)


def test_nothing_is_overwritten(tmp_path: Path, call: Call) -> None:
    target = tmp_path / "start"
    target.mkdir()
    (target / "questions.jsonl").write_text("mine", encoding="utf-8")
    code, _, err = call("init", "include_rate", target)
    assert code == 2
    assert "questions.jsonl already" in err
    assert [path.name for path in target.iterdir()] == ["questions.jsonl"]
    assert (target / "questions.jsonl").read_text(encoding="utf-8") == "mine"


def test_the_folder_is_named_like_the_profile(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("init", "legal_rag")[0] == 0
    assert (tmp_path / "legal_rag" / "README.md").exists()
    assert call("init", "legal_rga")[0] == 2


def test_the_description_begins_with_the_inputs(call: Call) -> None:
    for name in PACKAGED:
        code, out, _ = call("profiles", name, "--format", "json")
        assert code == 0
        described = json.loads(out)
        rows = example_rows(PROFILES[name])
        assert described["example"]["questions"] == list(rows.questions)
        assert described["example"]["outputs"] == list(rows.outputs)
        assert {"questions", "outputs", "contexts"} <= set(described["inputs"])
        silent = [row for found in described["inputs"].values() for row in found if not row["what"]]
        assert silent == [] or PROFILES[name].content is not None  # the fields of a profile file have a name and a type
        text = call("profiles", name)[1]
        assert text.index("A question and an output") < text.index("fields of questions") < text.index("columns\n---")
