"""Numbers of JSON that are ids or phrases: each is the text it is written as, whichever side it stands on."""

import json
import math
import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rageval_batch
from rageval_batch.analysis.catalog import open_store
from rageval_batch.columnar.json_numbers import number_text, written_float, written_int, written_json
from rageval_batch.model import canonical_json
from support.command import run_command
from support.inputs import put

LITERALS = (
    "1E2", "0.10", "-0", "1e2", "1.50", "1.5", "100.0", "100", "1e22", "1e16", "123456789012345678.0", "1e-7",
    "0.00001", "1.0E+2", "12345678901234567890", "-0.0",
)  # fmt: skip


QUESTION = '{"id":#,"question":"?","must_include":["a"]}'
ANSWER = '{"run_id":"r","question_id":#,"output":"a"}'


def lines(template: str, *texts: str) -> str:
    """A line for each text, which stands for # in it."""
    return "\n".join(template.replace("#", text) for text in texts)


def scored(folder: Path, profile: str, questions: str, outputs: str) -> list[dict[str, Any]]:
    """The score rows of question and output files with these contents."""
    given, asked = put(folder / "o.jsonl", outputs), put(folder / "q.jsonl", questions)
    result = rageval_batch.score(given, asked, profile=profile)
    return result.scores.sort("question_id").to_dicts()


@pytest.mark.parametrize("literal", LITERALS)
def test_the_same_number_is_the_same_id(tmp_path: Path, literal: str) -> None:
    (row,) = scored(tmp_path, "include_rate", lines(QUESTION, literal), lines(ANSWER, literal))
    assert (row["question_id"], row["score"]) == (literal, 1.0)


def test_two_writings_of_a_number_are_two_ids(tmp_path: Path) -> None:
    first, second = scored(tmp_path, "include_rate", lines(QUESTION, "1.1", "1.10"), lines(ANSWER, "1.10"))
    assert (first["question_id"], first["fail_reason"]) == ("1.1", "missing_output")
    assert (second["question_id"], second["score"]) == ("1.10", 1.0)


def test_numbers_of_contexts_mapped_fields_and_tables_are_ids_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Contexts of a question and of a run, `--map`, and rows that carry their questions."""
    questions = put(tmp_path / "q.jsonl", '{"id":1.10,"question":"?","reference":"alpha beta"}')
    contexts = put(
        tmp_path / "c.jsonl",
        '{"question_id":1.10,"source_path":"f","text":"alpha"}\n'
        '{"question_id":1.10,"run_id":2.0,"source_path":"f","text":"alpha beta"}',
    )
    outputs = put(
        tmp_path / "o.jsonl",
        '{"run_id":1.0,"doc":{"no":1.10},"output":"alpha beta"}\n'
        '{"run_id":2.0,"doc":{"no":1.10},"output":"alpha beta"}',
    )
    store = tmp_path / "runs"
    mapped = ("--map", "question_id=doc.no", "--store", store)
    code, _, said = run_command(capsys, "score", outputs, "-p", "reference", "-q", questions, "-c", contexts, *mapped)
    assert code == 0 and "WARNING" not in said
    with open_store(store) as session:
        rows = session.rows("select run_id, question_id, grounded_share from reference order by all")
    assert [tuple(row.values()) for row in rows] == [("1.0", "1.10", 0.5), ("2.0", "1.10", 1.0)]
    table = put(tmp_path / "t.jsonl", '{"id":1.10,"question":"?","must_include":[1.50],"output":"costs 1.50"}')
    (row,) = rageval_batch.score(table, profile="include_rate").scores.to_dicts()
    assert (row["question_id"], row["score"]) == ("1.10", 1.0)


def test_a_subset_and_a_json_run_have_ids_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = put(tmp_path / "q.jsonl", lines(QUESTION, *LITERALS))
    code, _, _ = run_command(capsys, "subset", questions, "--size", len(LITERALS), "-o", tmp_path / "sub.jsonl")
    assert code == 0 and (tmp_path / "sub.jsonl").read_text().split() == questions.read_text().split()
    assert run_command(capsys, "check", questions, "-p", "include_rate")[0] == 0
    outputs = put(tmp_path / "o.jsonl", lines(ANSWER, *LITERALS))
    store = tmp_path / "runs"
    assert run_command(capsys, "score", outputs, "-p", "include_rate", "-q", questions, "--store", store)[0] == 0
    results = lines('{"id":#,"metrics":{"score":0.5}}', *LITERALS).replace("\n", ",")
    base = put(tmp_path / "base.json", f'{{"summary":{{"weighted_score":0.5}},"results":[{results}]}}')
    words = ("--no-strict-hashes", "--format", "json", "--store", store)
    code, out, _ = run_command(capsys, "compare", base, "r", *words)
    assert code == 0 and json.loads(out)["improvements"] == len(LITERALS)


def test_metadata_of_a_run_is_found_by_a_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = put(tmp_path / "q.jsonl", '{"id":1,"question":"?","must_include":["a"]}')
    outputs = put(tmp_path / "o.jsonl", '{"run_id":1.10,"question_id":1,"output":"a"}')
    meta = put(tmp_path / "m.jsonl", '{"run_id":1.10,"rate":1e-4}')
    store = tmp_path / "runs"
    words = ("-p", "include_rate", "-q", questions, "--run-meta", meta, "--store", store)
    assert run_command(capsys, "score", outputs, *words)[0] == 0
    with open_store(store, functions=False) as session:
        assert session.rows("select run_id, meta['rate'] as rate from runs") == [{"run_id": "1.10", "rate": "1e-4"}]


def test_retrieved_ids_meet_gold_ids(tmp_path: Path) -> None:
    questions = '{"id":"1","gold_ids":[1.10,7]}\n{"id":"2","gold":[{"id":1e2,"grade":1}]}\n{"id":"3","gold_ids":[1.1]}'
    outputs = (
        '{"run_id":"r","question_id":"1","retrieved_ids":[1.10,7]}\n'
        '{"run_id":"r","question_id":"2","retrieved_ids":[1e2]}\n'
        '{"run_id":"r","question_id":"3","retrieved_ids":[1.10]}'
    )
    assert [row["score"] for row in scored(tmp_path, "retrieval", questions, outputs)] == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("literal", ["1e2", "1.50", "12345678901234567890.5", "-0", "0.10"])
def test_a_phrase_that_is_a_number_is_its_json_text(tmp_path: Path, literal: str) -> None:
    """Required, in a group and forbidden; `explain` shows the same text."""
    questions = """\
{"id":"all","question":"?","must_include":[#]}
{"id":"any","question":"?","must_include_any":[[#]]}
{"id":"not","question":"?","must_include":["it"],"must_not_include":[#]}"""
    outputs = lines(ANSWER.replace('"a"', f'"it is {literal} here"'), '"all"', '"any"', '"not"')
    rows = scored(tmp_path, "include_rate", lines(questions, literal), outputs)
    assert [(row["include_rate"], row["exclude_hits"]) for row in rows] == [(1.0, 0), (1.0, 0), (1.0, 1)]


def test_an_expected_amount_is_read_as_a_decimal(tmp_path: Path) -> None:
    question = (
        '{"id":"#","type":"fact_exact","question":"how much","expected":{"amount_total":12345678901234567.89},'
        '"scoring":{"citation_required":false}}'
    )
    asked = lines(question, "right", "wrong").replace("\n", ",")
    document = '{"benchmark_type":"fact_exact","description":"d","document":"d","questions":[#]}'
    questions = put(tmp_path / "q.json", lines(document, asked))
    outputs = put(
        tmp_path / "o.jsonl",
        [
            {"run_id": "r", "question_id": "right", "output": "12345678901234567.89元"},
            {"run_id": "r", "question_id": "wrong", "output": "12345678901234567.88元"},
        ],
    )
    rows = rageval_batch.score(outputs, questions, profile="legal_rag", params={"numeric_tolerance": 0.0}).scores
    assert rows.sort("question_id")["exact_match"].to_list() == [1.0, 0.0]


# --- columns of numbers ---------------------------------------------------------------------------------------------


def _asked(ids: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"id": ids, "question": ["?"] * len(ids), "must_include": [["a"]] * len(ids)})


def _answered(ids: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"run_id": ["r"] * len(ids), "question_id": ids, "output": ["a"] * len(ids)})


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ([1, 2], [1.0, 2.0]),  # a column of whole numbers in which one was missing
        ([1.0, 2.5], [1.0, 2.5]),
        (["1.0", "2.5"], [1.0, 2.5]),
        ([1e-7, 1e22], [1e-7, 1e22]),
        (["1", "1.0"], [1.0, 2.5]),  # both are there: the whole number first
    ],
)
def test_a_double_of_a_column_is_the_question_that_is_written_so(asked: list[Any], answered: list[Any]) -> None:
    """It has no text of its own: 1.0 is the question 1, else the question 1.0."""
    frame = _answered(answered).with_columns(note=pl.Series([f"of {value}" for value in answered]))
    result = rageval_batch.score(frame, _asked(asked), profile="include_rate")
    rows = {row["question_id"]: row["score"] for row in result.scores.to_dicts()}
    if asked == ["1", "1.0"]:
        assert rows == {"1": 1.0, "1.0": 0.0}
    else:
        assert rows == {str(value): 1.0 for value in asked}


def test_contexts_of_doubles_are_those_of_their_questions() -> None:
    contexts = pl.DataFrame({"question_id": [1.0, 2.5], "text": ["alpha", "alpha"], "run_id": [None, "r"]})
    asked = pl.DataFrame({"id": ["1.0", "2.5"], "question": ["?", "?"], "reference": ["alpha", "alpha"]})
    answered = _answered([1.0, 2.5]).with_columns(output=pl.lit("alpha"))
    result = rageval_batch.score(answered, asked, contexts=contexts, profile="reference")
    assert result.scores["grounded_share"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_id_that_is_not_finite_is_a_bad_id(value: float) -> None:
    result = rageval_batch.score(_answered([1.0, value]), _asked([1]), profile="include_rate")
    assert result.rejects["reason"].to_list() == ["bad_question_id"]
    frame = _answered([1.0, 2.0]).with_columns(run_id=pl.Series([1.0, value]))
    assert rageval_batch.score(frame, _asked([1, 2]), profile="include_rate").rejects["reason"].to_list() == [
        "bad_run_id"
    ]
    texts = _answered(["1", "nan"])
    assert len(rageval_batch.score(texts, _asked(["1", "nan"]), profile="include_rate").rejects) == 0


def test_columns_of_an_answer_stand_beside_the_question_it_was_found_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is kept of an answer has the id of its question, not another writing of it."""
    questions = put(tmp_path / "q.jsonl", lines(QUESTION, "1.0", "2.5"))
    table = pa.table({"run_id": ["r", "r"], "question_id": [1.0, 2.5], "output": ["a", "a"], "latency": [3, 4]})
    pq.write_table(table, tmp_path / "o.parquet")
    store = tmp_path / "runs"
    words = ("-p", "include_rate", "-q", questions, "--store", store)
    assert run_command(capsys, "score", tmp_path / "o.parquet", *words)[0] == 0
    with open_store(store, functions=False) as session:
        rows = session.rows("select question_id, latency from answer_columns order by all")
    assert [tuple(row.values()) for row in rows] == [("1.0", 3), ("2.5", 4)]


# --- numbers that remember their text -------------------------------------------------------------------------------


@pytest.mark.parametrize("literal", LITERALS)
def test_a_written_number_is_its_value_and_its_text(literal: str) -> None:
    value = json.loads(literal, parse_float=written_float, parse_int=written_int)
    assert value == json.loads(literal) and number_text(value) == literal
    assert number_text(pickle.loads(pickle.dumps(value))) == literal


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_written_json_of_plain_values_is_canonical(value: Any) -> None:
    assert written_json(value) == canonical_json(value)
