"""A profile that is declared outside the package, in one Python file: scored, gated, compared, explained, rescored."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from rageval_batch.analysis.catalog import open_store
from rageval_batch.errors import InputError
from rageval_batch.profiles import registry
from support.command import run_command
from support.inputs import put
from support.places import TESTS
from support.registered import forget_profiles

FILE = TESTS / "support" / "outside_profile.py"
QUESTIONS = [{"id": "a", "words": ["Rome", "Milan"]}, {"id": "b", "words": ["seven"]}]
ANSWERS = {
    "good": {"a": "Rome, then Milan", "b": "seven"},
    "worse": {"a": "rome", "b": "seven"},
    "silent": {"a": "Rome"},
}
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes this process know only the profiles of the package, as a fresh one does."""
    forget_profiles(monkeypatch)
    return lambda: forget_profiles(monkeypatch)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Iterator[Call]:
    """(exit code, stdout, stderr) of a command line."""

    def run(*words: Any) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    yield run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with questions, answers and the profile's file."""
    put(tmp_path / "questions.jsonl", QUESTIONS)
    rows = [
        {"run_id": run, "question_id": question, "output": output}
        for run, answers in ANSWERS.items()
        for question, output in answers.items()
    ]
    put(tmp_path / "outputs.jsonl", rows)
    put(tmp_path / "mine.py", FILE.read_bytes())
    return tmp_path


def score(call: Call, place: Path, *more: Any) -> tuple[int, str, str]:
    words = ("score", place / "outputs.jsonl", "-q", place / "questions.jsonl", "--store", place / "runs", *more)
    return call(*words, "-p", f"{place}/mine.py:PROFILE", "--format", "jsonl")


def averages(said: str) -> dict[str, float]:
    return {line["run_id"]: line["score_avg"] for line in map(json.loads, said.splitlines())}


def test_from_score_to_explain(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    """By hand: good 1 and 1; worse 0 and 1; silent 0.5 and no answer."""
    store, given = ("--store", place / "runs"), ("-p", f"{place}/mine.py:PROFILE")
    code, out, err = score(call, place)
    assert code == 0, err
    assert averages(out) == {"good": 1.0, "worse": 0.5, "silent": 0.25}
    assert "Nothing to do" in score(call, place)[2]

    forgotten()
    code, out, _ = call("gate", "good", "worse", *store, *given, "--format", "json")
    assert code == 1
    assert {one["run_id"]: one["pass_fail"] for one in json.loads(out)} == {"good": "pass", "worse": "fail"}

    forgotten()
    code, out, _ = call("compare", "good", "worse", *store, *given, "--format", "json")
    found = json.loads(out)
    assert (code, found["delta"]) == (1, -0.5)

    forgotten()
    code, out, err = call("explain", "worse", "a", *store, *given, "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert found["explanation"] == {"words": [{"word": "Rome", "found": False}, {"word": "Milan", "found": False}]}
    assert (found["score"], found["hits"], found["output"]) == (0.0, 0, "rome")

    forgotten()
    code, out, err = call("rescore", "--all", *store, *given, "--param", "case=fold", "--format", "jsonl")
    assert code == 0, err
    assert averages(out) == {"good": 1.0, "worse": 0.75, "silent": 0.25}

    forgotten()
    code, out, err = call("check", place / "questions.jsonl", *given)
    assert (code, "ok" in err) == (0, True)
    assert call("show", "good", *store, *given)[0] == 0


def test_a_new_version_scores_again(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    """The same command after the scorer was changed: a new version never returns what an old one scored."""
    store, given = ("--store", place / "runs"), ("-p", f"{place}/mine.py:PROFILE")
    assert score(call, place)[0] == 0
    code, _, err = call("rescore", "--all", *store, *given)
    assert (code, "Nothing to do" in err) == (0, True)
    text = FILE.read_text(encoding="utf-8").replace("version=1", "version=2")
    put(place / "mine.py", text.replace("hits / np.maximum(total, 1)", "hits / np.maximum(2 * total, 1)"))
    code, out, err = call("rescore", "--all", *store, *given, "--format", "jsonl")
    assert (code, averages(out)) == (0, {"good": 0.5, "worse": 0.25, "silent": 0.125}), err
    code, out, err = score(call, place)
    assert (code, "Nothing to do" in err) == (0, False)
    assert averages(out) == {"good": 0.5, "worse": 0.25, "silent": 0.125}
    with open_store(place / "runs", functions=False) as session:
        rows = session.rows("select distinct signature from stored_runs order by 1")
    assert [row["signature"].split("|")[0] for row in rows] == ["profile:has_words/1", "profile:has_words/2"]


def test_a_store_of_a_profile_that_is_not_known(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    """Runs are listed with their scores and can be asked in SQL; what needs the profile says which -p to give."""
    assert score(call, place)[0] == 0
    forgotten()
    store = ("--store", place / "runs")
    code, out, err = call("runs", *store, "--format", "json")
    assert code == 0, err
    assert {run["run_id"]: run["score"] for run in json.loads(out)} == {"good": 1.0, "worse": 0.5, "silent": 0.25}
    code, out, err = call("sql", "select run_id, sum(score) s from scores group by 1 order by 1", *store,
                          "--format", "jsonl")  # fmt: skip
    assert code == 0, err
    assert [json.loads(line)["s"] for line in out.splitlines()] == [2.0, 0.5, 1.0]
    assert call("sql", "select hits from has_words", *store)[0] == 0
    assert call("compare", "good", "worse", *store)[0] == 1
    for words in (("explain", "good", "a"), ("show", "good"), ("gate", "good"), ("rescore", "good", "--param", "a=b")):
        code, _, err = call(*words, *store)
        assert code == 2
        assert f"Give it with -p {place.resolve()}/mine.py:PROFILE" in err
        assert len(err.strip().splitlines()) == 1


def test_a_module_and_an_entry_point(
    call: Call, place: Path, forgotten: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place / "lib" / "my_scorers" / "words.py", FILE.read_bytes())
    put(place / "lib" / "my_scorers" / "__init__.py", "")
    monkeypatch.syspath_prepend(str(place / "lib"))
    try:
        assert registry.get_profile("my_scorers.words:PROFILE").name == "has_words"
        forgotten()
        declared = EntryPoint("has_words", "my_scorers.words:PROFILE", registry.GROUP)
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([declared]))
        assert "has_words" in call("profiles")[1]
        forgotten()
        words = ("score", place / "outputs.jsonl", "-q", place / "questions.jsonl", "--store", place / "runs")
        assert call(*words, "-p", "has_words")[0] == 0
    finally:
        for name in [name for name in sys.modules if name.startswith("my_scorers")]:
            del sys.modules[name]


def test_a_module_of_the_working_directory(
    place: Path, forgotten: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed command has no working directory among the places of modules; none is left behind there."""
    put(place / "near_scorers" / "words.py", FILE.read_bytes())
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one not in ("", str(place))])
    before = list(sys.path)
    try:
        assert registry.get_profile("near_scorers.words:PROFILE").name == "has_words"
        assert sys.path == before
    finally:
        for name in [name for name in sys.modules if name.startswith("near_scorers")]:
            del sys.modules[name]


@pytest.mark.parametrize(
    ("reference", "content", "parts"),
    [
        ("none.py:PROFILE", None, ["none.py", "does not exist"]),
        ("mine.py", FILE.read_text("utf-8"), ["mine.py:NAME", "PROFILE"]),
        ("mine.py:OTHER", FILE.read_text("utf-8"), ["no profile 'OTHER'", "It has PROFILE"]),
        ("mine.py:PROFILE", "PROFILE = 1", ["no profile 'PROFILE'", "declares none"]),
        ("mine.py:PROFILE", "1 +", ["SyntaxError"]),
        ("mine.py:PROFILE", "raise KeyError('x')", ["KeyError"]),
        ("mine.py:PROFILE", FILE.read_text("utf-8").replace('"has_words"', '"include_rate"'), ["known already"]),
        ("mine.py:PROFILE", FILE.read_text("utf-8").replace('"has_words"', '"has words"'), ["DeclarationError"]),
        ("mine.py:PROFILE", FILE.read_text("utf-8").replace('Gate("score_avg", "score"', 'Gate("g", "nothing"'),
         ["unknown metric 'nothing'"]),
        ("no_such_module:PROFILE", None, ["no_such_module", "ModuleNotFoundError", "working directory"]),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: Callable[[], None],
    reference: str, content: str | None, parts: list[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    if content is not None:
        put(tmp_path / "mine.py", content)
    with pytest.raises(InputError) as said:
        registry.get_profile(reference)
    for part in parts:
        assert part in str(said.value)
