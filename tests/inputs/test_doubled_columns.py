"""A column that a table has twice is an error, whatever the format and whatever the table is given as."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import read_blocks
from rageval_batch.inputs.readers.columns import check_names
from rageval_batch.inputs.sources import frame_source, source
from rageval_batch.inputs.splits import split_source
from support.command import run_command
from support.inputs import put

SAMPLES = Path(__file__).parents[2] / "data_samples/eval_json_v2/questions.json"


def write_table(path: Path, names: list[str]) -> Path:
    """A row `q1` under the first name and other texts under the others, in the format of the ending."""
    cells = ["q1", *(f"text {k}" for k in range(1, len(names)))]
    table = pa.Table.from_arrays([pa.array([cell]) for cell in cells], names=names)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([names, cells])
    else:
        new = pa.ipc.new_stream if path.suffix == ".feather" else pa.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "feather"])
def test_a_doubled_column_is_an_error(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = put(tmp_path / "o.jsonl", [{"id": "q1", "output": "a"}])
    questions = put(tmp_path / "q.jsonl", [{"id": "q1", "question": "?", "must_include": ["a"]}])
    doubled = {
        name: write_table(tmp_path / f"{name}.{ending}", columns)
        for name, columns in {
            "outputs": ["question_id", "output", "output"],
            "questions": ["id", "must_include", "must_include"],
            "contexts": ["id", "chunks", "chunks"],
            "scores": ["id", "score", "score"],
        }.items()
    }
    score = ("score", "--store", tmp_path / "runs", "-p")
    for column, words in {
        "output": (*score, "include_rate", doubled["outputs"], "-q", questions),
        "must_include": (*score, "include_rate", outputs, "-q", doubled["questions"]),
        "chunks": (*score, "eval_json_v2", outputs, "-q", SAMPLES, "--contexts", doubled["contexts"]),
        "score": ("import-scores", doubled["scores"], "--store", tmp_path / "runs"),
    }.items():
        code, _, err = run_command(capsys, *words)
        assert (code, f".{ending} has two columns '{column}'. Rename" in err) == (2, True), err
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*Z-*"))


def test_a_doubled_column_of_a_frame_or_of_row_groups_is_an_error(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["id", "output", "output"])
    with pytest.raises(InputError, match="frame has two columns 'output'"):
        list(read_blocks(frame_source(table, "frame")))
    with pytest.raises(InputError, match="two columns 'output'"):
        split_source(source(write_table(tmp_path / "o.parquet", ["id", "output", "output"])))


def test_a_nameless_column_does_not_hide_one_that_is_called_like_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_table(tmp_path / "o.csv", ["id", "output", "", "column 3"])
    code, _, err = run_command(capsys, "check", file, "-p", "include_rate")
    assert (code, "two columns 'column 3'" in err) == (2, True), err


class Name(str):
    """A name that counts how often it is compared with others."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)


def test_names_of_wide_tables_are_not_compared_each_with_each() -> None:
    names = [Name(f"column of number {k}") for k in range(2_000)]
    check_names(frame_source([{}], "wide"), names)
    assert Name.compared < len(names)
