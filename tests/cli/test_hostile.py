"""Every command, driven with hostile texts in its words and in its data: nothing reaches a terminal that it acts on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from rageval_batch.cli import COMMANDS, cli
from rageval_batch.report.safe_text import csv_text_cell
from support.command import run_command
from support.hostile import HOSTILE, HOSTILE_WORD, harmless
from support.stores import publish, score_row
from support.terminal import on_terminal

LONG_RUNNING = ("demo", "bench", "view")  # they take no text of others
Call = Callable[..., tuple[int, str, str]]
BASE, WORSE = "".join(HOSTILE), "".join(reversed(HOSTILE))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs and questions of hostile names."""
    folder = tmp_path_factory.mktemp("hostile") / "runs"
    rows = [score_row(name, 1.0, fail_reason=name) for name in HOSTILE]
    worse = [score_row(name, 0.0, fail_reason=name) for name in HOSTILE]
    publish(
        folder, {BASE: rows, WORSE: worse, **dict.fromkeys(HOSTILE, rows)}, eval_set=HOSTILE_WORD[:9], with_summary=True
    )
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: Path) -> Call:
    """(exit code, stdout, stderr) of a command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(store))

    def run(*words: str) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    return run


def command_lines(name: str) -> Iterator[list[str]]:
    """A hostile word for every argument, and for each option that takes a text, one after the other."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    arguments = [HOSTILE_WORD for parameter in command.params if isinstance(parameter, click.Argument)]
    options = [
        parameter for parameter in command.params if isinstance(parameter, click.Option) and not parameter.is_flag
    ]
    needed = [word for option in options if option.required for word in (option.opts[-1], HOSTILE_WORD)]
    yield [name, *arguments, *needed]
    for option in options:
        yield [name, *arguments, *needed, option.opts[-1], HOSTILE_WORD]
    yield [name, HOSTILE_WORD, f"--{HOSTILE_WORD}"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in LONG_RUNNING])
def test_hostile_words_of_a_command_line(call: Call, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A sentence and exit code 2, or a result; never an error of ours, never a raw control character."""
    on_terminal(monkeypatch)
    for words in command_lines(name):
        code, out, err = call(*words)
        assert code in (0, 1, 2), (words, err)
        assert harmless(out) and harmless(err), words


@pytest.mark.parametrize("word", ["x\udcff.jsonl", "\ud800"])
def test_words_that_are_no_text_are_refused(call: Call, word: str) -> None:
    for words in (("score", word), ("show", word), ("sql", word), (word,), ("runs", "--store", word)):
        code, out, err = call(*words)
        assert (code, out) == (2, "") and "is not valid UTF-8 text" in err and harmless(err)


def test_a_hostile_command(call: Call) -> None:
    code, out, err = call(HOSTILE_WORD)
    assert code == 2 and harmless(out) and harmless(err)


LOOKS: tuple[tuple[str, ...], ...] = (
    ("runs",),
    ("leaderboard",),
    ("show", BASE),
    ("explain", BASE, HOSTILE[0]),
    ("explain", BASE, "not there\x1b[31m"),
    ("compare", BASE, WORSE),
    ("compare", BASE, "--all"),
    ("gate", "--all"),
    ("gate", BASE),
    ("monitor", "--metric", "score"),
    ("rescore", BASE, "--param", "json_mode=lenient"),
    ("sql", "select run_id, question_id, fail_reason from scores"),
    ("sql", 'select run_id as "\x1b[31m" from runs'),
    ("sql", "select \x1b[31m from"),
    ("sql", "select error(run_id) from runs order by run_id"),
)


@pytest.mark.parametrize("words", LOOKS, ids=lambda words: words[0])
def test_hostile_data_on_a_terminal(call: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    """In every format that goes to a terminal."""
    on_terminal(monkeypatch)
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    (formats,) = [p.type.choices for p in command.params if p.name == "format" and isinstance(p.type, click.Choice)]
    for format in formats:
        if format not in ("parquet", "xlsx"):
            code, out, err = call(*words, "--format", format)
            assert code in (0, 1, 2), err
            assert harmless(out) and harmless(err), format


def test_hostile_data_comes_back_from_a_pipe(call: Call) -> None:
    """Every name is one cell or one value, whatever it holds; no row is split and no cell is a formula."""
    names = sorted([BASE, WORSE, *HOSTILE])
    _, out, _ = call("leaderboard", "--format", "csv")
    assert sorted(row["run_id"] for row in csv.DictReader(io.StringIO(out, newline=""))) == sorted(
        map(csv_text_cell, names)
    )
    _, out, _ = call("leaderboard", "--format", "tsv")
    read = csv.reader(io.StringIO(out, newline=""), delimiter="\t")
    assert {len(row) for row in read} == {9}
    _, out, _ = call("leaderboard", "--format", "json")
    assert sorted(row["run_id"] for row in json.loads(out)) == names
    _, out, _ = call("leaderboard", "--format", "md")
    assert len(out.splitlines()) == len(names) + 2
    _, out, _ = call("compare", BASE, "--all", "--format", "junit")
    suites = ElementTree.fromstring(out.encode())
    assert len(suites) == len(names) - 1 and all(len(suite) == 2 for suite in suites)
    _, out, _ = call("gate", "--all", "--format", "junit")
    assert len(ElementTree.fromstring(out.encode())) == len(names)
