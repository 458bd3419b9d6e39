"""Blocks of rows: JSON and columnar ones say the same of the same rows; a JSON document is read once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pytest

from rageval_batch.errors import InputError
from rageval_batch.inputs import subset
from rageval_batch.inputs.questions import read_question_file
from rageval_batch.inputs.readers import LIST, NUMERIC, TEXT, Block, read_blocks, read_document, read_output
from rageval_batch.inputs.sources import Source, frame_source, source
from rageval_batch.model.schemas import OutputField

ROWS: list[dict[str, Any]] = [
    {"run_id": "a", "question_id": "q1", "output": "x", "model": "m", "n": 7, "list": ["p", "q"]},
    {"run_id": "b", "question_id": "q2", "output": None, "model": "m", "n": 8, "list": ["p"]},
]


def blocks_of_both_kinds(folder: Path) -> list[Block]:
    """The same rows from a JSONL file and from a frame."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in ROWS))
    return [block for file in (source(path), frame_source(ROWS, "rows")) for block in read_blocks(file)]


def test_both_kinds_of_block_say_the_same(tmp_path: Path) -> None:
    from_json, from_columns = blocks_of_both_kinds(tmp_path)
    assert len(from_json) == len(from_columns) == 2
    assert from_json.lines.tolist() == from_columns.lines.tolist() == [1, 2]
    assert from_json.row_errors == from_columns.row_errors == []
    for names in (("run_id",), ("question_id", "id"), ("output",), ("list",), ("n",), ("absent",)):
        mine, other = from_json.field(names), from_columns.field(names)
        assert mine.text.to_pylist() == other.text.to_pylist() and np.array_equal(mine.kind, other.kind), names
    known = frozenset({"run_id", "question_id", "output"})
    for block in (from_json, from_columns):
        others = {one.name: one for one in block.others(known)}
        found = {name: (one.rows.tolist(), one.text.to_pylist(), one.kind.tolist()) for name, one in others.items()}
        assert found.pop("list")[2] == [LIST, LIST] and len(others["list"].short().rows) == 0
        assert found == {"model": ([0, 1], ["m", "m"], [TEXT] * 2), "n": ([0, 1], ["7", "8"], [NUMERIC] * 2)}
        assert [json.loads(block.raw(row)) for row in range(2)] == ROWS
        answers = read_output(block, (OutputField("model", is_text=True), OutputField("n")))
        assert [answers.text[0].as_py(), json.loads(answers.text[1].as_py())] == ["x", {"model": "m", "n": 8}]
    assert from_json.names == frozenset() and from_columns.names == frozenset(ROWS[0])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The name of every source whose bytes are opened."""
    names: list[str] = []
    real = Source.open

    def noted(self: Source) -> BinaryIO:
        names.append(self.path.name)
        return real(self)

    monkeypatch.setattr(Source, "open", noted)
    return names


QUESTIONS = [{"id": f"q{k}", "question": "?"} for k in range(3)]


@pytest.mark.parametrize("content", [QUESTIONS, {"version": 3, "questions": QUESTIONS, "none": None}])
def test_a_question_file_in_json_is_read_once(content: Any, tmp_path: Path, opened: list[str]) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps(content, indent=1))
    file = source(path)
    opened.clear()  # its first bytes show the encoding
    read = read_question_file(file)
    assert opened == ["q.json"]
    assert list(read.questions) == QUESTIONS and not read.unreadable
    assert read.header == ({} if isinstance(content, list) else {"version": 3})
    assert read.path(1) == ("$[1]" if isinstance(content, list) else "$.questions[1]")


def test_the_header_of_a_subset(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"version": 3, "questions": QUESTIONS, "none": None}))
    chosen = subset.chosen_questions(source(path), size=2, seed=0, fields=())
    subset.write_subset(source(path), tmp_path / "s.json", chosen)
    written = json.loads((tmp_path / "s.json").read_text())
    assert (written["version"], written["none"], len(written["questions"])) == (3, None, 2)


def test_of_two_arrays_of_questions_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text('{"questions": [{"id": "old"}], "questions": [{"id": "q"}], "version": 1}')
    read = read_question_file(source(path))
    assert (list(read.questions), read.header) == ([{"id": "q"}], {"version": 1})


def test_a_broken_compressed_document_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "q.json.gz"
    path.write_bytes(gzip.compress(json.dumps(QUESTIONS * 50).encode())[:40])
    with pytest.raises(InputError, match=r"q\.json\.gz"):
        read_question_file(source(path))


def test_a_document_that_is_no_array_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"answers": []}')
    with pytest.raises(InputError, match="neither a JSON array nor an object with an array `questions`"):
        list(read_document(source(path)).blocks())


def test_an_unreadable_cell_is_a_row_error() -> None:
    table = pa.table({"output": pa.array([b"good", b"\xff"]), "run_id": ["a", "b"]})
    (block,) = read_blocks(frame_source(table, "cells"))
    assert [(error.row, error.reason) for error in block.row_errors] == [(1, "not_utf8")]
    assert block.field(("output",)).text.to_pylist() == ["good", None]
    assert block.raw(1) == '{"output": "\\\\xff", "run_id": "b"}'
