"""The Python API: frames of every kind in, the same frames out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import rageval_batch
from rageval_batch.errors import InputError
from rageval_batch.resources import samples_folder

SAMPLES = samples_folder() / "eval_json_v2"
OUTPUTS = [
    json.loads(line)
    for name in ("good", "weak", "format")
    for line in (SAMPLES / "outputs" / f"adapter-{name}.jsonl").read_text(encoding="utf-8").splitlines()
]
QUESTIONS = json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))


def scored(outputs: Any, questions: Any) -> pl.DataFrame:
    """Score rows without the name of the eval set, which says where the questions came from."""
    return rageval_batch.score(outputs, questions, profile="eval_json_v2").scores.drop("eval_set")


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.Table.from_pylist, list])
def test_frames_give_what_files_give(kind: Any) -> None:
    """Polars, pandas, Arrow and plain lists are scored like the files they were read from."""
    names = [SAMPLES / "outputs" / f"adapter-{name}.jsonl" for name in ("good", "weak", "format")]
    assert_frame_equal(scored(kind(OUTPUTS), kind(QUESTIONS)), scored(names, SAMPLES / "questions.json"))


def test_rejects_and_counts() -> None:
    """What could not be used is there too, and everything adds up."""
    outputs = [*OUTPUTS, OUTPUTS[0], {"run_id": "adapter-good", "question_id": "nope", "output": "x"}]
    result = rageval_batch.score(pl.DataFrame(outputs), pl.DataFrame(QUESTIONS), profile="eval_json_v2")
    assert result.rejects["reason"].to_list() == ["duplicate", "unknown_question"]
    counts = result.counts
    assert counts.rows_read == counts.score_rows - counts.missing_rows + counts.rejected_rows == len(outputs)
    assert set(result.summary["run_id"]) == {"adapter-good", "adapter-weak", "adapter-format"}


def test_a_lazy_frame_and_a_wrong_one() -> None:
    """A lazy frame is collected; something else is refused in one sentence."""
    lazy = pl.DataFrame(OUTPUTS).lazy()
    assert len(scored(lazy, QUESTIONS)) == 96
    with pytest.raises(InputError, match="no frame"):
        rageval_batch.score(42, QUESTIONS, profile="eval_json_v2")


def test_public_names() -> None:
    """What the package promises is there, and nothing else."""
    assert set(rageval_batch.__all__) <= set(dir(rageval_batch)) | {
        "PROFILES", "compare", "declare_profile", "open_store", "row_metric", "score",
    }  # fmt: skip
    assert "eval_json_v2" in rageval_batch.PROFILES
    with pytest.raises(AttributeError, match="nothing"):
        _ = rageval_batch.nothing


def test_numbers_beyond_64_bits_in_a_list_of_dicts() -> None:
    """Arrow has no such integer: the column is one of JSON texts."""
    from rageval_batch.inputs.sources import frame_source

    table = frame_source([{"a": 2**64}, {"a": 1}], "outputs").table
    assert table is not None and table.to_pylist() == [{"a": "18446744073709551616"}, {"a": "1"}]


@pytest.mark.parametrize("frame", ["outputs", "questions"])
def test_a_frame_that_is_no_valid_arrow_data_is_refused(frame: str) -> None:
    """Of the outputs, and of the questions."""
    bad = pa.LargeStringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 4_000_000, 5], np.int64)), pa.py_buffer(b"alpha")
    )
    good = {
        "outputs": pa.table({"run_id": ["r"] * 2, "question_id": ["q", "p"], "output": ["alpha"] * 2}),
        "questions": pa.table({"id": ["q", "p"], "question": ["?"] * 2, "must_include": [["alpha"]] * 2}),
    }
    column = {"outputs": "output", "questions": "question"}[frame]
    tables = {**good, frame: good[frame].set_column(good[frame].schema.get_field_index(column), column, bad)}
    with pytest.raises(InputError, match=f"{frame}: column {column} is no valid Arrow data .*Make it of valid text"):
        rageval_batch.score(tables["outputs"], tables["questions"], "include_rate")
    assert len(rageval_batch.score(good["outputs"], good["questions"], "include_rate").scores) == 2


@pytest.mark.parametrize("cell", ["a\ud800", ["a\ud800"], {"b": ["a\ud800"]}, {"a\ud800": 1}])
@pytest.mark.parametrize("column", ["run_id", "output", "unused"])
def test_a_half_of_a_surrogate_pair_is_refused_by_the_name_of_its_column(column: str, cell: object) -> None:
    """In lists of dicts and in pandas frames of objects, as a text or inside a value."""
    rows = [{"run_id": "r", "question_id": "q", "output": "alpha", column: cell}]
    objects = {name: pd.Series([value], dtype=object) for name, value in rows[0].items()}
    for frame in (rows, pd.DataFrame(objects)):
        with pytest.raises(InputError, match=rf"outputs: column '{column}' has '\\ud800', half of a surrogate pair"):
            rageval_batch.score(frame, rows, "include_rate")


def test_a_column_name_with_a_half_of_a_surrogate_pair_is_refused() -> None:
    rows = [{"question_id": "q", "output": "alpha", "a\ud800": "b"}]
    with pytest.raises(InputError, match=r"outputs: column 'a\\ud800' has '\\ud800', half of a surrogate pair"):
        rageval_batch.score(rows, rows, "include_rate")


def test_a_pandas_column_of_several_types_is_refused_by_its_name() -> None:
    rows = pd.DataFrame({"question_id": ["q", "p"], "output": ["alpha", 1]})
    with pytest.raises(InputError, match=r"outputs: .* column output .* Make all cells of the column of one type"):
        rageval_batch.score(rows, rows, "include_rate")


def test_a_profile_that_is_declared_in_a_notebook_is_scored_with(tmp_path: Path) -> None:
    """Again and changed too, as cells are run again; a name that is taken is refused."""
    outputs = [{"run_id": "r", "question_id": name, "output": text} for name, text in (("a", "red fox"), ("b", "blue"))]
    questions = [{"question_id": name, "reference": "red fox"} for name in ("a", "b")]
    declared: Any = {"fields": {"reference": "text"}, "metrics": {"f": "token_f1(output, reference)"}}
    profile = rageval_batch.declare_profile(name="in_memory", score="f", **declared)
    try:
        for _ in range(2):
            found = rageval_batch.score(outputs, questions, profile=profile, store=tmp_path / "runs")
            assert found.scores["score"].to_list() == [1.0, 0.0]
        changed = rageval_batch.declare_profile(name="in_memory", score="1 - f", **declared)
        found = rageval_batch.score(outputs, questions, profile=changed, store=tmp_path / "runs")
        assert found.scores["score"].to_list() == [0.0, 1.0]
        shown = rageval_batch.open_store(tmp_path / "runs").sql("select sum(score) as total from in_memory")
        assert shown.to_pylist() == [{"total": 1.0}]
    finally:
        rageval_batch.PROFILES.pop("in_memory", None)
    named = rageval_batch.PROFILES["include_rate"]
    assert rageval_batch.score(OUTPUTS[:1], QUESTIONS, rageval_batch.PROFILES["eval_json_v2"]).counts.rows_read == 1
    with pytest.raises(InputError, match="A profile 'include_rate' of this package is known already"):
        rageval_batch.score(outputs, questions, profile=replace(named, title="mine"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"profile": 5}, "profile: a int is none. Give a name, a reference or a Profile."),
        ({"profile": None}, "profile: a NoneType is none."),
        ({"threads": -1}, "threads: a whole number from 1 on, not -1."),
        ({"threads": "2"}, "threads: a whole number from 1 on, not '2'."),
        ({"threads": 1.5}, "threads: a whole number from 1 on, not 1.5."),
        ({"params": 5}, "params: 5 is no mapping of names to values."),
        ({"params": {1: 2}}, "params: {1: 2} is no mapping of names to values."),
        ({"outputs": None}, "outputs: nothing was given."),
        ({"outputs": [1]}, "outputs: list of other things is no frame."),
        ({"outputs": pd.Series(["x"])}, "outputs: Series is no frame."),
        (
            {"outputs": pd.DataFrame([["r", "q", "q"]], columns=["run_id", "output", "output"])},
            "two columns are called",
        ),
    ],
)
def test_wrong_arguments_are_one_sentence(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as found:
        rageval_batch.score(**{"outputs": OUTPUTS, "questions": QUESTIONS, "profile": "eval_json_v2", **given})
    assert said in str(found.value)


def test_any_number_of_threads_gives_the_same() -> None:
    found = rageval_batch.score(OUTPUTS, QUESTIONS, profile="eval_json_v2", threads=10**9)
    assert_frame_equal(found.scores.drop("eval_set"), scored(OUTPUTS, QUESTIONS))
