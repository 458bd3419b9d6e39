"""Cells of tables as what their field wants: whole numbers, lists, true and false; and what is said of rows."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import rageval_batch
from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import cli
from rageval_batch.errors import InputError
from rageval_batch.inputs.recognise import recognise_encoding
from support.inputs import put
from support.sheets import write_xlsx


def scores_of(table: Path, profile: str, **options: Any) -> list[float]:
    """The scores in the order of the questions' ids."""
    return rageval_batch.score(table, profile=profile, **options).scores["score"].to_list()


def test_whole_numbers_of_a_sheet_stay_whole(tmp_path: Path) -> None:
    """Also in a column with a fraction and a text."""
    rows: list[list[str | float]] = [
        ["id", "reference", "answer"],
        [1, 1250, "1250"],
        [2.5, 2.5, "2.5"],
        ["a", "forty", "forty"],
    ]
    table = write_xlsx(tmp_path / "mix.xlsx", rows)
    found = rageval_batch.score(table, profile="reference").scores
    assert found.select("question_id", "score").rows() == [("1", 1.0), ("2.5", 1.0), ("a", 1.0)]


def test_lists_as_python_prints_them(tmp_path: Path) -> None:
    """What pandas writes into cells is the list, for a field that is a list and for one that may be."""
    content = (
        "id,question,must_include,answer\n1,?,\"['Paris', 'France']\",Paris in France\n2,?,\"['a', 'b']\",only a\n"
    )
    table = put(tmp_path / "t.csv", content)
    assert scores_of(table, "include_rate") == scores_of(table, "include_rate", map={"must_include": "must_include"})
    assert scores_of(table, "include_rate")[0] == 1.0
    content = "id,question,reference,answer\n1,?,\"['Paris', 'paris']\",Paris\n"
    assert scores_of(put(tmp_path / "r.csv", content), "reference") == [1.0]
    questions = put(tmp_path / "q.csv", "id,question,must_include\n1,?,\"['Paris', 'France']\"\n")
    outputs = put(tmp_path / "o.jsonl", [{"id": "1", "output": "Paris in France"}])
    assert scores_of(outputs, "include_rate", questions=questions) == [1.0]


def test_two_questions_under_one_id_are_refused_where_the_text_is_not_scored(tmp_path: Path) -> None:
    """The text says what a question is, also for a profile that does not read it."""
    rows = [
        {"id": "1", "question": "capital?", "reference": "Paris", "answer": "Paris", "run_id": "a"},
        {"id": "1", "question": "Capital of Italy?", "reference": "Paris", "answer": "Paris", "run_id": "b"},
    ]
    with pytest.raises(InputError, match="Question '1' has two values of question"):
        rageval_batch.score(put(tmp_path / "t.jsonl", rows), profile="reference")


def said(tmp_path: Path, table: Path, *options: str) -> str:
    """What the command says on stderr, and the sentence that refuses."""
    command = ["score", str(table), "-p", "include_rate", "--store", str(tmp_path / "store"), *options]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    return result.stderr + str(result.exception or "")


def test_questions_of_rows_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    """They are not in an eval set that is made of the rows."""
    good = '{"id": "1", "question": "?", "must_include": ["a"], "answer": "a"}\n'
    table = put(tmp_path / "t.jsonl", good + good.replace('"1"', '"2"').replace("}", ', "latency": NaN}'))
    assert "WARNING: 1 rows cannot be read; a question that only they have is not in the eval set" in said(
        tmp_path, table
    )


def test_hashes_beside_ids_are_told(tmp_path: Path) -> None:
    """Also where only some rows have no id."""
    rows = [{"id": "1", "question": "a?"}, {"question": "b?"}]
    table = put(tmp_path / "t.jsonl", [{**row, "must_include": ["a"], "answer": "a"} for row in rows])
    assert "Rows without an id: the hash" in said(tmp_path, table)


def test_a_value_of_one_row_is_no_metadata(tmp_path: Path) -> None:
    """A column that is null elsewhere is not constant; it stays with the answers."""
    rows = [{"id": str(k), "question": "?", "must_include": ["a"], "answer": "a", "model": "m"} for k in range(4)]
    rows[2]["err"] = "timeout"
    rageval_batch.score(put(tmp_path / "t.jsonl", rows), profile="include_rate", store=tmp_path / "store")
    with open_store(tmp_path / "store") as session:
        meta = dict(session.table("select meta from runs").to_pylist()[0]["meta"])
    assert meta.get("model") == "m" and "err" not in meta


def test_a_nul_byte_is_damage(tmp_path: Path) -> None:
    """One or two of them make no UTF-16."""
    text = "id,question,must_include,answer\n" + "".join(f'{k},?,"[""a""]",a\n' for k in range(400))
    for place in (5, 40, 1000):
        assert recognise_encoding(text[:place].encode() + b"\0" + text[place:].encode()) == ("", False)
    assert recognise_encoding(text.encode("utf-16-le")) == ("utf-16-le", True)
    assert recognise_encoding("id,答案\n1,是\n".encode("utf-16-be")) == ("utf-16-be", True)


def test_cells_that_are_no_list_are_told_how_to_write_one(tmp_path: Path) -> None:
    """And a map takes a cell as it is, numbers too."""
    table = put(
        tmp_path / "t.csv", "id,question,must_include,answer\n1,?,12,12 of them\n2,?,1e3,1e3\n3,?,Paris,Paris\n"
    )
    assert 'A cell holds a list as ["one", "two"]; --map' in said(tmp_path, table)
    assert scores_of(table, "include_rate", map={"must_include": "must_include"}) == [1.0, 1.0, 1.0]


def test_true_and_false_as_excel_writes_them(tmp_path: Path) -> None:
    """A cell of a field that is true or false."""
    table = put(
        tmp_path / "t.csv",
        'id,question,must_include,require_citation,answer\n1,?,"[""a""]",FALSE,a\n2,?,"[""a""]",TRUE,a\n',
    )
    with_citation = rageval_batch.score(table, profile="include_rate").scores["score"].to_list()
    assert with_citation[0] == 1.0 and with_citation[1] < 1.0


def test_numbers_are_references(tmp_path: Path) -> None:
    """A number is the text that it is written as."""
    rows = [
        {"id": str(k), "question": "?", "reference": value, "answer": str(value)} for k, value in enumerate([1250, 0])
    ]
    assert scores_of(put(tmp_path / "t.jsonl", rows), "reference") == [1.0, 1.0]


def test_nearest_columns_are_told_once(tmp_path: Path) -> None:
    """A column that is near to several names."""
    questions = put(tmp_path / "q.jsonl", [{"id": "1", "question": "?", "must_include": ["a"]}])
    told = said(tmp_path, put(tmp_path / "t.csv", "id,Output\n1,a\n"), "-q", str(questions))
    assert len(re.findall(r"Output \(", told)) == 1


def test_a_guessed_encoding_is_told_before_a_refusal(tmp_path: Path) -> None:
    """It may be the reason."""
    text = "id,вопрос,ответ\n" + "".join(f"{k},столица Франции,Париж\n" for k in range(20))
    told = said(tmp_path, put(tmp_path / "t.csv", text.encode("cp1251")))
    assert "read as cp1251, which is a guess" in told


def test_a_near_miss_of_a_column_names_a_way_out(tmp_path: Path) -> None:
    """It may be meant."""
    rows = [{"id": "1", "question": "?", "must_include": ["a"], "answer": "a", "weights": 2}]
    table = put(tmp_path / "t.jsonl", rows)
    assert "--map weight=weights" in said(tmp_path, table)
    assert scores_of(table, "include_rate", map={"weight": "weights"}) == [1.0]


def extras_in(store: Path) -> dict[str, Any]:
    """The first row of what is kept beside the answers, with the metadata of the run."""
    path = next(store.rglob("extras*.parquet"), None)
    kept = pq.read_table(path).to_pylist()[0] if path else {}
    with open_store(store) as session:
        return {**kept, **dict(session.table("select meta from runs").to_pylist()[0]["meta"])}


def test_columns_that_are_not_read_are_kept(tmp_path: Path) -> None:
    """A second id, answer or list of contexts, and what else a column has of which a path takes a part."""
    rows = [
        {"id": f"q{k}", "task_id": f"t{k}", "output": "a", "response": f"r{k}", "contexts": ["c"], "chunks": [f"d{k}"]}
        for k in range(2)
    ]
    questions = put(tmp_path / "q.jsonl", [{"id": f"q{k}", "question": "?", "must_include": ["a"]} for k in range(2)])
    rageval_batch.score(put(tmp_path / "o.jsonl", rows), questions, profile="include_rate", store=tmp_path / "one")
    kept = extras_in(tmp_path / "one")
    assert kept["task_id"] == "t0" and kept["response"] == "r0" and json.loads(kept["contexts"]) == ["c"]
    assert not {"id", "output", "chunks"} & set(kept)
    nested = [{"id": f"q{k}", "response": {"text": "a", "tokens": 10 + k}, "output": f"o{k}"} for k in range(2)]
    rageval_batch.score(
        put(tmp_path / "o.jsonl", nested),
        questions,
        "include_rate",
        store=tmp_path / "two",
        map={"output": "response.text"},
    )
    kept = extras_in(tmp_path / "two")
    assert json.loads(kept["response"])["tokens"] == 10 and kept["output"] == "o0" and "id" not in kept
