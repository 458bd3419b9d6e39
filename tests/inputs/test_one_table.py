"""One table with questions and answers: scored as with a question file, for every profile that has questions."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import rageval_batch
from rageval_batch.cli import cli
from rageval_batch.errors import InputError
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.registry import get_profile
from support.inputs import put
from support.places import SAMPLES_FOLDER

QUESTIONS = {
    "include_rate": ("include_rate/questions.jsonl", "include_rate/outputs"),
    "eval_json_v2": ("eval_json_v2/questions.json", "eval_json_v2/outputs"),
    "claim_evidence": ("claim_evidence/gold.jsonl", "claim_evidence/outputs"),
    "legal_rag": ("legal_rag/fact_exact.json", "legal_rag/outputs"),
}


def questions_of(path: Path) -> dict[str, dict[str, Any]]:
    """Questions by id; the type of their file stands in each."""
    text = path.read_text(encoding="utf-8")
    content = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    found = content["questions"] if isinstance(content, dict) else content
    kind = {"type": content["benchmark_type"]} if isinstance(content, dict) else {}
    return {str(one.get("id", one.get("task_id"))): {**kind, **one} for one in found}


def joined(profile: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(questions, rows that have the fields of their question beside the answer of the first sample run)"""
    question_path, output_path = (SAMPLES_FOLDER / path for path in QUESTIONS[profile])
    questions = questions_of(question_path)
    known = set(get_profile(profile).inputs.questions.schema.get("properties", {}))
    rows = []
    for line in Path(sources([output_path])[0].name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        question = questions.get(str(row.get("question_id", row.get("task_id"))))
        if question is not None:
            rows.append(
                {
                    **{
                        name: value
                        for name, value in question.items()
                        if name in known | {"weight", "question", "expected"}
                    },
                    **row,
                }
            )
    asked = {str(row.get("question_id", row.get("task_id"))) for row in rows}
    return [question for name, question in questions.items() if name in asked], rows


@pytest.mark.parametrize("profile", QUESTIONS)
def test_one_table_is_scored_as_with_questions(profile: str, tmp_path: Path) -> None:
    """The same scores, whoever brings the questions."""
    questions, rows = joined(profile)
    assert questions and rows
    apart = rageval_batch.score(
        put(tmp_path / "o.jsonl", rows), put(tmp_path / "q.jsonl", questions), profile=profile
    ).scores
    together = rageval_batch.score(put(tmp_path / "o.jsonl", rows), profile=profile).scores
    names = [name for name in apart.columns if name != "eval_set"]
    assert together.select(names).equals(apart.select(names))


def test_equal_questions_are_one_eval_set(tmp_path: Path) -> None:
    """Tables of two runs, in another order and format, can be compared; explain and rescore find them again."""
    rows = [
        {"question": f"Question {k}?", "must_include": [f"w{k}"], "answer": f"w{k * (k % 2)}", "latency_ms": k}
        for k in range(4)
    ]
    cells = [{**row, "must_include": json.dumps(row["must_include"])} for row in rows[::-1]]
    pl.DataFrame(cells).write_csv(tmp_path / "b.csv", separator=";")
    put(tmp_path / "a.jsonl", rows)
    store = ["--store", str(tmp_path / "runs")]
    for name in ("a.jsonl", "b.csv"):
        scored = CliRunner().invoke(cli, ["score", str(tmp_path / name), "-p", "include_rate", *store])
        assert scored.exit_code == 0, scored.output
    compared = CliRunner().invoke(cli, ["compare", "a", "b", "--format", "json", *store], standalone_mode=False)
    assert compared.return_value == 0, compared.output
    found = json.loads(compared.stdout)
    assert found["delta"] == 0 and found["passed"]
    with rageval_batch.open_store(tmp_path / "runs") as session:
        (question,) = session.rows("select min(question_id) as id from scores where run_id = 'a'")
    assert CliRunner().invoke(cli, ["explain", "b", question["id"], *store]).exit_code == 0
    rescored = CliRunner().invoke(cli, ["rescore", "--all", "--param", "w_safe=0.1", *store])
    assert rescored.exit_code == 0 and rescored.output.count("Committed") == 2


def test_a_frame_without_questions_or_ids() -> None:
    """The same for frames; a map puts a reference where phrases are wanted."""
    frame = pl.DataFrame({"q": ["A?", "B?"], "gold": ["a", "b"], "said": ["an a", "nothing"]})
    found = rageval_batch.score(
        frame, profile="include_rate", map={"question": "q", "must_include": "gold", "output": "said"}
    )
    assert sorted(found.scores["score"].to_list()) == pytest.approx([0.3, 1.0])


def test_rows_without_questions_are_refused() -> None:
    with pytest.raises(InputError, match=r"add -q FILE.*Columns: id, output"):
        rageval_batch.score(pl.DataFrame({"id": ["1"], "output": ["a"]}), profile="include_rate")


def test_chunks_under_the_names_of_other_tools(tmp_path: Path) -> None:
    """source and content are what source_path and text are."""
    question = json.loads((SAMPLES_FOLDER / "eval_json_v2/questions.json").read_text(encoding="utf-8"))[0]
    refs = [{"refs": [{"file": "a.md", "anchors": ["alpha"]}]}]
    for names in (("source_path", "text"), ("source", "content"), ("file", "page_content")):
        chunk = dict(zip(names, ("a.md", "alpha beta"), strict=True))
        output = {**question["expected"]["answer_example"], "source_map": refs}
        path = put(tmp_path / f"{names[0]}.jsonl", [{**question, "output": output, "contexts": [chunk]}])
        assert rageval_batch.score(path, profile="eval_json_v2").scores["grounding"].to_list() == [1.0], names


def test_contexts_of_the_rows_are_used(tmp_path: Path) -> None:
    """As a list of texts, of objects, as a list that Python prints, or as one text: none is missing."""
    question = json.loads((SAMPLES_FOLDER / "eval_json_v2/questions.json").read_text(encoding="utf-8"))[0]
    chunks: list[Any] = [["a text"], [{"text": "a", "source": "b"}], "['a', \"it's\"]", "one text"]
    for k, given in enumerate(chunks):
        row = {**question, "output": question["expected"]["answer_example"], "contexts": given}
        found = rageval_batch.score(put(tmp_path / f"o{k}.jsonl", [row]), profile="eval_json_v2").scores
        assert found["context_missing"].to_list() == [False], given


@pytest.mark.parametrize(
    "name", ["prediction", "completion", "model_output", "generated", "predicted_answer", "output"]
)
def test_two_columns_that_can_be_the_answer_are_refused(name: str, tmp_path: Path) -> None:
    """Neither is chosen in silence: one of them may be the reference; --map decides."""
    rows = [
        {"id": str(k), "question": f"{k}?", "answer": "Paris", name: "Lyon", "must_include": ["Paris"]} for k in (1, 2)
    ]
    table = put(tmp_path / "t.jsonl", rows)
    with pytest.raises(InputError, match=f"answer.*differ.*--map output=.*{name}") as refused:
        rageval_batch.score(table, profile="include_rate")
    assert "t.jsonl, line 1" in str(refused.value)
    scored = rageval_batch.score(table, profile="include_rate", map={"output": name}).scores
    assert scored["score"].to_list() == [0.3, 0.3]
    scored = rageval_batch.score(table, profile="include_rate", map={"output": "answer"}).scores
    assert scored["score"].to_list() == [1.0, 1.0]


def test_equal_answer_columns_and_columns_that_a_map_takes_are_no_choice(tmp_path: Path) -> None:
    """Where both say the same nothing is chosen; a column that is the reference by a map is no answer."""
    rows = [{"id": "1", "question": "?", "answer": "Paris", "prediction": "Paris", "must_include": ["Paris"]}]
    assert rageval_batch.score(put(tmp_path / "same.jsonl", rows), profile="include_rate").scores[
        "score"
    ].to_list() == [1]
    rows = [{"id": "1", "question": "?", "answer": "Paris", "prediction": "Lyon"}]
    scored = rageval_batch.score(
        put(tmp_path / "gold.jsonl", rows), profile="include_rate", map={"must_include": "answer"}
    ).scores
    assert scored["score"].to_list() == [0.3]


MAPPED = {"question": "q", "must_include": "gold", "output": "pred"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"must_not_include": "badd"}, "no row has badd. Did you mean 'bad'"),
        ({"must_not_includ": "bad"}, "Did you mean 'must_not_include'"),
        ({"run_id": "{run} + n + missing"}, "no row has missing"),
        ({"output": ["nowhere", "neither.nor"]}, "no row has nowhere"),
        ({"question_idd": "q"}, "Did you mean 'question_id'"),
    ],
)
def test_a_map_of_nothing_is_refused(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    """A misspelt field or path would leave a part of the score out."""
    rows = [{"q": "c", "gold": "Paris", "pred": "Paris or Lyon", "bad": ["Lyon"], "n": 1}]
    table = put(tmp_path / "m.jsonl", rows)
    scored = rageval_batch.score(table, profile="include_rate", map={**MAPPED, "must_not_include": "bad"}).scores
    assert scored["score"].to_list() == [0.7]
    with pytest.raises(InputError, match=re.escape(said)):
        rageval_batch.score(table, profile="include_rate", map={**MAPPED, **more})


def test_a_path_that_some_row_has_is_enough(tmp_path: Path) -> None:
    """Later rows and other paths of a list count; so do values that are null."""
    rows = [{"q": "a", "gold": "x", "pred": "x"}, {"q": "b", "gold": "y", "pred": "y", "bad": None}]
    table = put(tmp_path / "m.jsonl", rows)
    more = {"must_not_include": "bad", "output": ["other", "pred"]}
    scored = rageval_batch.score(table, profile="include_rate", map={**MAPPED, **more}).scores
    assert scored["score"].to_list() == [1.0, 1.0]


def test_maps_that_cannot_count_are_refused(tmp_path: Path) -> None:
    """A field that is given twice, and a field of questions beside a question file."""
    table = put(tmp_path / "m.jsonl", [{"id": "1", "gold": "Paris", "pred": "Paris"}])
    questions = put(tmp_path / "q.jsonl", [{"id": "1", "must_include": ["Paris"]}])
    command = ["score", str(table), "-p", "include_rate", "--store", str(tmp_path / "s"), "-q", str(questions)]
    for options, said in (
        (["--map", "output=pred", "--map", "output=gold"], "--map output is given twice"),
        (["--map", "output=pred", "--map", "must_include=gold"], "is read from the questions that -q names"),
    ):
        result = CliRunner().invoke(cli, [*command, *options], standalone_mode=False)
        assert isinstance(result.exception, InputError) and said in str(result.exception)


@pytest.mark.parametrize("output", [{"text": "Lyon", "expected": "Paris"}, ["Paris"]])
@pytest.mark.parametrize(
    ("profile", "asked"), [("include_rate", {"must_include": ["Paris"]}), ("reference", {"reference": "Paris"})]
)
def test_an_object_or_list_is_no_text(output: Any, profile: str, asked: dict[str, Any], tmp_path: Path) -> None:
    """Its JSON text has keys and brackets that nobody answered: the row is rejected, and its question is missing."""
    questions = put(tmp_path / "q.jsonl", [{"id": name, "question": name, **asked} for name in ("a", "b", "c")])
    rows = [{"id": "a", "output": output}, {"id": "b", "output": "Paris"}, {"id": "c", "output": 12}]
    found = rageval_batch.score(put(tmp_path / "o.jsonl", rows), questions, profile=profile)
    assert found.rejects.select("line", "reason").rows() == [(1, "wrong_shape")]
    assert "--map output=PATH" in found.rejects["detail"][0]
    reasons = dict(found.scores.select("question_id", "fail_reason").rows())
    assert reasons["a"] == "missing_output" and reasons["b"] != "missing_output" and reasons["c"] != "missing_output"


def test_profiles_of_json_take_objects(tmp_path: Path) -> None:
    """Where a profile says that an answer is an object, one is scored as its JSON text."""
    questions, rows = joined("eval_json_v2")
    asked = put(tmp_path / "q.jsonl", questions)
    texts = [{**row, "output": '{"main_topic": "x"}'} for row in rows]
    objects = [{**row, "output": {"main_topic": "x"}} for row in rows]
    found = [
        rageval_batch.score(put(tmp_path / "o.jsonl", given), asked, profile="eval_json_v2")
        for given in (texts, objects)
    ]
    assert not len(found[1].rejects)
    assert found[0].scores.equals(found[1].scores)
