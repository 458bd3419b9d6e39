"""Every option and argument of every command, as click's own tree has them, with every hostile value: a result, or a
sentence and exit code 2; never a traceback, an error of ours, or a raw control character.

`make test` tries some of the values of each; all of them are for `make soak`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import click
import pytest

from rageval_batch.cli import COMMANDS, cli
from rageval_batch.view.server import ViewServer
from support.command import run_command
from support.hostile import HOSTILE, HOSTILE_WORD, harmless
from support.terminal import on_terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="devices, pipes and links as POSIX has them")

SECONDS = 300  # after which a call counts as one that does not end
MOST_SAID = 6_000  # characters: a long value is not repeated whole
JUDGES = ("gate", "compare", "monitor", "benchmark", "check")  # whose exit code 1 is a verdict
TRIED = 1  # values of an option that `make test` tries
LONG = ("demo", "bench")  # which take seconds, whatever they are given

# A command line of each command that does something; a value is put in place of one word, or behind all.
LINES = {
    "demo": "demo",
    "score": "score a.jsonl -p include_rate -q q.jsonl -c c.jsonl --store runs",
    "rescore": "rescore a --param w_include=0.5 --store runs",
    "runs": "runs --store runs",
    "show": "show a --store runs",
    "explain": "explain a q1 --store runs",
    "gate": "gate a --gates gates.toml --store runs",
    "monitor": "monitor --metric score --store runs",
    "compare": "compare a b --store runs",
    "leaderboard": "leaderboard --store runs",
    "sql": "sql from_runs --store runs",
    "report": "report -o report.html --store runs",
    "view": "view --no-open --store runs",
    "profiles": "profiles include_rate",
    "functions": "functions numbers",
    "init": "init include_rate new",
    "benchmark": "benchmark benchmark.toml --store runs",
    "subset": "subset q.jsonl --size 2 -o subset.jsonl",
    "check": "check q.jsonl -p include_rate",
    "import-scores": "import-scores scores.jsonl --store runs",
    "drop": "drop a --store runs",
    "prune": "prune --keep-last 5 --store runs",
    "compact": "compact --store runs",
    "fsck": "fsck --store runs",
    "bench": "bench --rows 100 --profile include_rate",
}
ARGUMENTS = {"sql": {"query": "from runs"}}  # of more than one word
PAIRED = ("K=V", "FIELD=PATH", "NAME=PATH")  # what stands for an option whose value is a name and a value
NAMES = {"--param": "normalizer", "--map": "output", "--key": "question_id"}  # that such options know

VALUES = {
    **{f"text {k}": text for k, text in enumerate(HOSTILE)},
    "all at once": HOSTILE_WORD,
    "nothing": "",
    "a megabyte": "x" * (1 << 20),
    "400 digits": "9" * 400,
    "-400 digits": "-" + "9" * 400,
    "5000 digits": "9" * 5_000,
    "above 64 bits": str(2**64),
    "above 32 bits": str(2**31),
    "nan": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "1e400": "1e400",
    "a fraction": "0.5",
    "zero": "0",
    "digits of another script": "٣",
    "half a pair": "x=",
    "no name": "=x",
    "NUL inside": "a\x00b",
    "a lone surrogate": "a\ud800b",
    "a byte that is no text": "a\udcffb",
    "a glob": "[a-z]*?{a,b}",
    "an open class": "[!",
    "quotes": "'\"`$(true)",
    "a URL": "file:///nowhere/\x1b[31m",
    "half a URL": "s3://",
    "a broken URL": "http://[::1",
    "a path above": "../" * 400 + "nowhere",
    "a long path": "x/" * 3_000,
    "a long name": "x" * 300,
    "a module": "os:system",
    "stdin": "-",
    "the end of options": "--",
    "a folder": "folder",
    "an empty folder": "empty",
    "no file": "nowhere/a.jsonl",
    "an empty file": "empty.jsonl",
    "bytes": "bytes.jsonl",
    "a truncated Parquet file": "cut.parquet",
    "a loop of links": "loop.jsonl",
    "a link to nothing": "dangling.jsonl",
    "a locked file": "locked.jsonl",
    "a pipe that nobody writes to": "pipe.jsonl",
    "nothing there": "/dev/null",
    "no end": "/dev/zero",
    "a full disk": "/dev/full",
    "TOML that is none": "broken.toml",
    "Python that is none": "broken.py:PROFILE",
    "Python that leaves": "leaves.py:PROFILE",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that the command lines name, and a store with two runs."""
    folder: Path = tmp_path_factory.mktemp("options")
    questions = [{"id": f"q{k}", "question": "?", "must_include": ["yes"]} for k in range(3)]
    rows = [{"question_id": f"q{k}", "output": "yes"} for k in range(3)]
    scores = [{"run_id": "other", "question_id": f"q{k}", "score": 0.5} for k in range(3)]
    contexts = [{"question_id": "q0", "chunks": [{"source_path": "a", "text": "b"}]}]
    lists: dict[str, list[dict[str, Any]]] = {"q": questions, "a": rows, "b": rows, "scores": scores, "c": contexts}
    for name, given in lists.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    (folder / "gates.toml").write_text('[[gates]]\nname = "g"\nmetric = "score"\nstat = "mean"\nop = ">="\nlimit = 0\n')
    (folder / "benchmark.toml").write_text('[[datasets]]\nid = "d"\nquestions = "q.jsonl"\noutputs = ["a.jsonl"]\n')
    (folder / "broken.toml").write_text("= [")
    (folder / "broken.py").write_text("def")
    (folder / "leaves.py").write_text("raise SystemExit(1)")
    (folder / "folder").mkdir()
    (folder / "folder" / "x\x1b[31m.jsonl").write_text("{")
    (folder / "empty").mkdir()
    (folder / "empty.jsonl").write_text("")
    (folder / "bytes.jsonl").write_bytes(bytes(range(256)) * 16)
    (folder / "cut.parquet").write_bytes(b"PAR1\x15\x04PAR1")
    (folder / "locked.jsonl").write_text("{}")
    (folder / "locked.jsonl").chmod(0)
    before = os.getcwd()
    os.chdir(folder)
    try:
        from rageval_batch.cli import main

        for run in "ab":
            with pytest.raises(SystemExit) as stopped:
                main(f"score {run}.jsonl -p include_rate -q q.jsonl --store runs --keep-inputs --quiet".split())
            assert stopped.value.code == 0
    finally:
        os.chdir(before)
    return folder


def too_long(number: int, frame: FrameType | None) -> None:
    raise AssertionError(f"did not end within {SECONDS} s")


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: a copy of the files, with what cannot be copied."""
    there = tmp_path / "work"
    shutil.copytree(made, there, copy_function=shutil.copy, ignore=shutil.ignore_patterns("locked.jsonl"))
    (there / "locked.jsonl").touch(mode=0)
    (there / "loop.jsonl").symlink_to("again.jsonl")
    (there / "again.jsonl").symlink_to("loop.jsonl")
    (there / "dangling.jsonl").symlink_to("nowhere")
    os.mkfifo(there / "pipe.jsonl")
    monkeypatch.chdir(there)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    serve = ViewServer.run
    monkeypatch.setattr(ViewServer, "run", lambda server: (server.stop(), serve(server)))  # for no time at all
    before = signal.signal(signal.SIGALRM, too_long)
    yield there
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    """Every option and argument that takes a value, with its command."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for parameter in command.params:
            if not (isinstance(parameter, click.Option) and parameter.is_flag):
                yield name, parameter


def line_with(command: str, parameter: click.Parameter, value: str) -> list[str]:
    """The command line in which a parameter has a value."""
    words = LINES[command].split()
    if isinstance(parameter, click.Argument):
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        names = [one.name for one in found.params if isinstance(one, click.Argument)]
        place = 1 + names.index(parameter.name)
        if place < len(words) and not words[place].startswith("-"):
            return [*words[:place], value, *words[place + 1 :]]
        return [*words[:place], value, *words[place:]]
    words = [ARGUMENTS.get(command, {}).get("query", word) if word == "from_runs" else word for word in words]
    for option in parameter.opts:
        if option in words:
            place = words.index(option) + 1
            return [*words[:place], value, *words[place + 1 :]]
    return [*words, parameter.opts[-1], value]


def values_of(parameter: click.Parameter) -> dict[str, str]:
    """What is tried; where a value is a name and a value, also behind a name, be it known or not.

    A pipe to write into is waited for, as every command does: whoever reads from it may come later.
    """
    if parameter.opts[-1] == "--output":
        return {label: value for label, value in VALUES.items() if value != "pipe.jsonl"}
    if parameter.metavar not in PAIRED:
        return VALUES
    name = NAMES.get(parameter.opts[-1], "x")
    return {**VALUES, **{f"{name}= {label}": f"{name}={value}" for label, value in VALUES.items()}}


def check(capsys: pytest.CaptureFixture[str], command: str, parameter: click.Parameter, label: str) -> str | None:
    """What is wrong with the answer of a command to a value; None where nothing is."""
    words = line_with(command, parameter, values_of(parameter)[label])
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        code, out, err = run_command(capsys, *words)
    except AssertionError as error:
        return str(error)
    except BaseException as error:  # what a user would see as a traceback
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    problems = []
    if code not in (0, 2) and not (code == 1 and command in JUDGES):
        problems.append(f"exit code {code}")
    if code == 2 and not err.strip():
        problems.append("no sentence")
    if not harmless(err) or not harmless(out):
        problems.append("raw characters")
    if len(err) > MOST_SAID:
        problems.append(f"{len(err):,} characters are said")
    return f"{', '.join(problems)}: {err[:300]!r}" if problems else None


PARAMETERS = list(parameters())
IDS = [f"{command} {parameter.opts[-1]}" for command, parameter in PARAMETERS]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "demo"])  # which has tests of its own
def test_every_command_has_a_line(folder: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """One that does what it says, so that a hostile value is all that is wrong with it."""
    words = ["from runs" if word == "from_runs" else word for word in LINES[command].split()]
    code, _, err = run_command(capsys, *words)
    assert code == 0, err


@pytest.mark.parametrize(
    ("command", "parameter"),
    [pytest.param(*one, id=name) for one, name in zip(PARAMETERS, IDS, strict=True) if one[0] not in LONG],
)
def test_some_hostile_values(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    parameter: click.Parameter,
) -> None:
    on_terminal(monkeypatch)
    labels = list(values_of(parameter))
    start = zlib.crc32(f"{command} {parameter.opts[-1]}".encode())
    step = len(labels) // TRIED
    tried = [labels[(start + k * step) % len(labels)] for k in range(TRIED)]
    assert {label: found for label in tried if (found := check(capsys, command, parameter, label))} == {}


@pytest.mark.soak
@pytest.mark.parametrize(("command", "parameter"), PARAMETERS, ids=IDS)
def test_all_hostile_values(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    parameter: click.Parameter,
) -> None:
    on_terminal(monkeypatch)
    found = {label: said for label in values_of(parameter) if (said := check(capsys, command, parameter, label))}
    assert found == {}
