"""Inputs that do not stay as they are, have no end, or are no files: a sentence, nothing lost, nothing made up."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from rageval_batch.inputs.outputs import Ingest, Ingested
from rageval_batch.runs.store import Store
from support.command import run_command

QUESTIONS, OUTPUTS, CONTEXTS = "q.jsonl", "a.jsonl", "c.jsonl"
SCORE = ["score", OUTPUTS, "-q", QUESTIONS, "-p", "include_rate"]


def lines(*ids: str) -> str:
    return "".join(json.dumps({"question_id": name, "output": "yes"}) + "\n" for name in ids)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with questions and answers."""
    monkeypatch.chdir(tmp_path)
    asked = [{"id": name, "question": "?", "must_include": ["yes"]} for name in ("q1", "q2")]
    (tmp_path / QUESTIONS).write_text("".join(json.dumps(question) + "\n" for question in asked))
    (tmp_path / OUTPUTS).write_text(lines("q1"))
    (tmp_path / CONTEXTS).write_text(json.dumps({"question_id": "q1", "chunks": []}) + "\n")
    return tmp_path


def grows(path: Path) -> None:
    with path.open("a") as file:
        file.write(lines("q2"))


def is_cut(path: Path) -> None:
    os.truncate(path, 5)


def is_replaced(path: Path) -> None:
    path.with_suffix(".new").write_text(lines("q2"))
    os.replace(path.with_suffix(".new"), path)


def is_removed(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("change", [grows, is_cut, is_replaced, is_removed])
@pytest.mark.parametrize("name", [OUTPUTS, QUESTIONS])
def test_a_file_that_changes_while_it_is_read_is_not_committed(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    name: str,
) -> None:
    """What was scored would be neither the file that the record names nor the one that is there."""
    blocks = Ingest.blocks

    def changing(ingest: Ingest) -> Iterator[Ingested]:
        yield from blocks(ingest)
        change(folder / name)

    with monkeypatch.context() as patched:
        patched.setattr(Ingest, "blocks", changing)
        code, out, err = run_command(capsys, *SCORE)
    assert (code, out) == (2, "") and f"{name} has changed while it was read. Nothing was committed." in err
    assert Store(folder / "runs").commits() == []
    (folder / OUTPUTS).write_text(lines("q1", "q2"))
    (folder / QUESTIONS).write_text(json.dumps({"id": "q1", "question": "?", "must_include": ["yes"]}) + "\n")
    code, _, err = run_command(capsys, *SCORE)
    assert code == 0 and "2 rows read = 1 score row - 0 missing outputs + 1 rejected" in err


def test_a_file_that_is_only_touched_is_committed(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = Ingest.blocks

    def touching(ingest: Ingest) -> Iterator[Ingested]:
        yield from blocks(ingest)
        os.utime(folder / OUTPUTS, (1, 1))

    monkeypatch.setattr(Ingest, "blocks", touching)
    assert run_command(capsys, *SCORE)[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="devices and pipes as POSIX has them")
@pytest.mark.parametrize("option", ["outputs", "-q", "-c"])
def test_what_may_have_no_end_is_no_file(capsys: pytest.CaptureFixture[str], folder: Path, option: str) -> None:
    (folder / "endless.jsonl").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.jsonl")
    for name in ("endless.jsonl", "pipe.jsonl"):
        words = [*SCORE, "-c", CONTEXTS]
        words[{"outputs": 1, "-q": 3, "-c": 7}[option]] = name
        code, out, err = run_command(capsys, *words)
        assert (code, out) == (2, "") and f"{name} is a pipe or device. Write what it gives into a file" in err


def test_stdin_without_an_end_leaves_room_on_the_disk(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless:
        @property
        def buffer(self) -> Endless:
            return self

        def read(self, size: int) -> bytes:
            return b"y\n" * (size // 2)

    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=16 << 20))
    monkeypatch.setattr(sys, "stdin", Endless())
    code, out, err = run_command(capsys, "score", "-", *SCORE[2:])
    assert (code, out) == (2, "") and "stdin has more than" in err and "Write it into a file" in err
    assert list(temporary.iterdir()) == [] and not Store(folder / "runs").exists()


def test_a_query_without_an_end(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_command(capsys, *SCORE)[0] == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 1 " * (2 << 20)))
    code, out, err = run_command(capsys, "sql")
    assert (code, out) == (2, "") and "it is no query" in err


@pytest.mark.parametrize("words", [["score", ""], ["runs", "--store", ""], ["check", "", "-p", "include_rate"]])
def test_an_empty_name_is_not_the_current_folder(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    code, out, err = run_command(capsys, *words, *SCORE[2:] if words[0] == "score" else [])
    assert (code, out) == (2, "") and "is empty. Is a variable of the shell not set?" in err


def test_a_bomb_in_every_place(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """300 MB of zeros in 300 KB."""
    with gzip.open(folder / "bomb.jsonl.gz", "wb") as out:
        for _ in range(300):
            out.write(bytes(1_000_000))
    for place in (1, 3, 7):
        words = [*SCORE, "-c", CONTEXTS]
        words[place] = "bomb.jsonl.gz"
        code, _, err = run_command(capsys, *words)
        assert code == 2 and "bomb.jsonl.gz" in err
    assert not list((folder / "runs").glob("2*"))
