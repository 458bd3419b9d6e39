"""Questions that cannot be scored: `score`, `benchmark`, `rescore` and the Python API refuse what `check` refuses."""

import copy
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rageval_batch import api
from rageval_batch.errors import InputError
from rageval_batch.inputs.check import Part, _schema_rule, check_file, checked_questions, file_schema
from rageval_batch.inputs.sources import source
from rageval_batch.model.field_names import is_slip
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.runs.store import Store
from support.command import run_command
from support.effort import examples
from support.inputs import put
from support.places import CASES_FOLDER

EXAMPLE: dict[str, Any] = {
    "target_audience": "客服",
    "main_topic": "門禁",
    "sub_topic": "登記",
    "detailed_description": ["甲乙丙"],
    "original_evidence": "alpha bravo",
    "predicted_questions": [],
}
GOOD: dict[str, dict[str, Any]] = {
    "include_rate": {"id": "q1", "question": "Capital of France?", "must_include": ["Paris"]},
    "eval_json_v2": {"id": "q1", "question": "?", "expected": {"answer_example": EXAMPLE, "source_map": []}},
    "claim_evidence": {
        "task_id": "q1",
        "category": "survey",
        "query": "?",
        "expected_entities": ["CD73"],
        "min_citations": 1,
        "gold_ranking": [{"id": "a", "grade": 3}],
        "gold_contradictions": [{"a": "a", "b": "b", "contradiction": True}],
    },
    "legal_rag": {
        "id": "q1",
        "type": "fact_exact",
        "question": "多少钱？",
        "expected": {"amount_total": 42000},
        "required_evidence": [{"page": 2, "must_include": "42000元"}],
    },
    "judge_protocol": {"question_id": "q1", "prompt_variant": "A", "target_model": "m", "output_id": "o1"},
}


def changed(question: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A question with values put at dotted places; ... takes one away."""
    out = copy.deepcopy(question)
    for place, value in changes.items():
        *steps, last = (int(step) if step.isdigit() else step for step in place.split("."))
        at: Any = out
        for step in steps:
            at = at[step]
        if value is ...:
            del at[last]
        else:
            at[last] = value
    return out


# profile, what is changed in the good question, the path of the violation, what is said of it
BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("include_rate", {"must_include": ...}, "$[0]", "one or more of must_include, must_include_any"),
    ("include_rate", {"must_include": []}, "$[0]", "something to test"),
    ("include_rate", {"must_include": [], "require_citation": False}, "$[0]", "something to test"),
    ("include_rate", {"must_include": ..., "must_not_include": ["", " "]}, "$[0]", "something to test"),
    ("include_rate", {"must_include": ..., "must_includes": ["Paris"]}, "$[0].must_includes",
     "did you mean must_include?"),
    ("include_rate", {"must_include": ..., "mustInclude": ["Paris"]}, "$[0].mustInclude", "did you mean must_include?"),
    ("include_rate", {"require_citatoin": True}, "$[0].require_citatoin", "did you mean require_citation?"),
    ("include_rate", {"must_include": "Paris"}, "$[0].must_include", "a list"),
    ("include_rate", {"must_include": [["Paris"]]}, "$[0].must_include[0]", "a text or a number"),
    ("include_rate", {"must_include": [None]}, "$[0].must_include[0]", "a text or a number"),
    ("include_rate", {"must_include_any": "Paris"}, "$[0].must_include_any", "a list"),
    ("include_rate", {"must_include_any": [{"any": ["Paris"]}]}, "$[0].must_include_any[0]", "a list or a text"),
    ("include_rate", {"must_include_any": [[["Paris"]]]}, "$[0].must_include_any[0][0]", "a text or a number"),
    ("include_rate", {"must_not_include": True}, "$[0].must_not_include", "a list"),
    ("include_rate", {"require_citation": "false"}, "$[0].require_citation", "true or false"),
    ("include_rate", {"weight": "2"}, "$[0].weight", "a number"),
    ("include_rate", {"weight": -1}, "$[0].weight", "a finite number from 0"),
    ("include_rate", {"wieght": 2}, "$[0].wieght", "did you mean weight?"),
    ("include_rate", {"question": ...}, "$[0]", "the question's text"),
    ("include_rate", {"id": ...}, "$[0]", "an id: question_id, id, task_id"),
    ("eval_json_v2", {"expected": {"answer_example": {}}}, "$[0].expected.answer_example.main_topic", "not blank"),
    ("eval_json_v2", {"expected": {}}, "$[0].expected.answer_example", "an object with target_audience"),
    ("eval_json_v2", {"expected": ...}, "$[0]", "expected.answer_example"),
    ("eval_json_v2", {"expected": "text"}, "$[0].expected", "an object"),
    ("eval_json_v2", {"expected.answer_example.sub_topic": ...}, "$[0].expected.answer_example.sub_topic", "not blank"),
    ("eval_json_v2", {"expected.answer_example.sub_topic": None}, "$[0].expected.answer_example.sub_topic",
     "not blank"),
    ("eval_json_v2", {"expected.answer_example.sub_topic": " "}, "$[0].expected.answer_example.sub_topic", "not blank"),
    ("eval_json_v2", {"expected.answer_example.main_topic": 5}, "$[0].expected.answer_example.main_topic", "a text"),
    ("eval_json_v2", {"expected.answer_example.detailed_description": "甲"},
     "$[0].expected.answer_example.detailed_description", "a list"),
    ("eval_json_v2", {"expected.answer_example.predicted_questions": [5]},
     "$[0].expected.answer_example.predicted_questions[0]", "a text"),
    ("eval_json_v2", {"expected.source_map": {}}, "$[0].expected.source_map", "a list"),
    ("eval_json_v2", {"expected.answer_example.sub_topic": ..., "expected.answer_example.subtopic": "登記"},
     "$[0].expected.answer_example.subtopic", "did you mean sub_topic?"),
    ("claim_evidence", {"expected_entities": "CD73"}, "$[0].expected_entities", "a list"),
    ("claim_evidence", {"expected_entities": [73]}, "$[0].expected_entities[0]", "a text"),
    ("claim_evidence", {"expected_entities": [" "]}, "$[0].expected_entities[0]", "not blank"),
    ("claim_evidence", {"expected_entities": ..., "expected_entitys": ["CD73"]}, "$[0].expected_entitys",
     "did you mean expected_entities?"),
    ("claim_evidence", {"min_citations": "3"}, "$[0].min_citations", "a whole number"),
    ("claim_evidence", {"min_citations": 1.5}, "$[0].min_citations", "a whole number"),
    ("claim_evidence", {"min_citations": -1}, "$[0].min_citations", "a number from 0"),
    ("claim_evidence", {"min_citations": 10**400}, "$[0].min_citations", "a number up to"),
    ("claim_evidence", {"gold_ranking.0.grade": 10**400}, "$[0].gold_ranking[0].grade", "a number up to"),
    ("claim_evidence", {"gold_ranking.0.grade": "3"}, "$[0].gold_ranking[0].grade", "a number"),
    ("claim_evidence", {"gold_ranking.0.grade": -2}, "$[0].gold_ranking[0].grade", "a number from 0"),
    ("claim_evidence", {"gold_ranking.0.id": 1.5}, "$[0].gold_ranking[0].id", "a text or a whole number"),
    ("claim_evidence", {"gold_ranking": {"a": 3}}, "$[0].gold_ranking", "a list"),
    ("claim_evidence", {"gold_ranking": ["a"]}, "$[0].gold_ranking[0]", "an object"),
    ("claim_evidence", {"gold_contradictions": [["a", "b"]]}, "$[0].gold_contradictions[0]", "an object"),
    ("claim_evidence", {"gold_contradictions.0.contradiction": "true"}, "$[0].gold_contradictions[0].contradiction",
     "true or false"),
    ("claim_evidence", {"gold_contradictions.0.b": ...}, "$[0].gold_contradictions[0].b", "64 bits"),
    ("legal_rag", {"expected": {"amount": 42000}}, "$[0].expected.amount", "did you mean amount_total?"),
    ("legal_rag", {"expected": {"amount": 42000}}, "$[0].expected", "one or more of amount_total"),
    ("legal_rag", {"expected": {"amount_totl": 42000}}, "$[0].expected.amount_totl", "did you mean amount_total?"),
    ("legal_rag", {"expected.boolean": True}, "$[0].expected.boolean", "did you mean boolean_answer?"),
    ("legal_rag", {"expected": {}}, "$[0].expected", "one or more of amount_total"),
    ("legal_rag", {"expected": {"amount_total": "很多"}}, "$[0].expected.amount_total", "one number"),
    ("legal_rag", {"expected": {"amount_total": True}}, "$[0].expected.amount_total", "a number or a text"),
    ("legal_rag", {"expected": {"amount_breakdown": []}}, "$[0].expected.amount_breakdown", "at least 1"),
    ("legal_rag", {"expected": {"amount_breakdown": [{"amount": "?"}]}}, "$[0].expected.amount_breakdown[0].amount",
     "one number"),
    ("legal_rag", {"expected": {"date": "2020-02-31"}}, "$[0].expected.date", "a date YYYY-MM-DD"),
    ("legal_rag", {"expected": {"date": "bald"}}, "$[0].expected.date", "a date YYYY-MM-DD"),
    ("legal_rag", {"expected": {"date_range": {"start": "2020-02-01", "end": "2020-01-01"}}},
     "$[0].expected.date_range", "a start that is not after the end"),
    ("legal_rag", {"should_abstain": True, "scoring": {"should_abstain": False}}, "$[0].scoring.should_abstain",
     "one value of should_abstain"),
    ("claim_evidence", {"gold_ranking": [{"id": "a", "grade": 1}, {"id": "a", "grade": 2}]},
     "$[0].gold_ranking[1].grade", "one grade for an id"),
    ("claim_evidence",
     {"gold_contradictions": [
         {"a": "x", "b": "y", "contradiction": True}, {"a": "y", "b": "x", "contradiction": False},
     ]},
     "$[0].gold_contradictions[1].contradiction", "one verdict for a pair"),
    ("legal_rag", {"expected": {"date_range": {"start": "2020-01-01"}}}, "$[0].expected.date_range.end",
     "a date YYYY-MM-DD"),
    ("legal_rag", {"expected": {"count": "several"}}, "$[0].expected.count", "one number"),
    ("legal_rag", {"expected": {"text_answer": ["a"]}}, "$[0].expected.text_answer", "a text"),
    ("legal_rag", {"expected": {"boolean_answer": "yes"}}, "$[0].expected.boolean_answer", "true or false"),
    ("legal_rag", {"expected": {"entity": ""}}, "$[0].expected.entity", "not blank"),
    ("legal_rag", {"type": "conflict_gap", "should_abstain": "false"}, "$[0].should_abstain", "true or false"),
    ("legal_rag", {"type": "conflict_gap", "scoring": {"should_abstain": "false"}}, "$[0].scoring.should_abstain",
     "true or false"),
    ("legal_rag", {"type": "conflict_gap", "hallucination_penalty": "extreme"}, "$[0].hallucination_penalty", '"high"'),
    ("legal_rag", {"type": "conflict_gap", "should_abstian": False}, "$[0].should_abstian",
     "did you mean should_abstain?"),
    ("legal_rag", {"type": "evidence_set", "evidence_recall_min": 80}, "$[0].evidence_recall_min", "up to 1"),
    ("legal_rag", {"type": "evidence_set", "scoring": {"evidence_precision_min": -0.1}},
     "$[0].scoring.evidence_precision_min", "from 0"),
    ("legal_rag", {"type": "evidence_set", "required_evidence": []}, "$[0]", "required_evidence or"),
    ("legal_rag", {"type": "evidence_set", "required_evidence": ..., "expected": {"key_points": []}}, "$[0]",
     "required_evidence or"),
    ("legal_rag", {"required_evidence": "42000元"}, "$[0].required_evidence", "a list"),
    ("legal_rag", {"required_evidence.0.is_critical": "no"}, "$[0].required_evidence[0].is_critical", "true or false"),
    ("legal_rag", {"required_evidence.0.is_citical": False}, "$[0].required_evidence[0].is_citical",
     "did you mean is_critical?"),
    ("legal_rag", {"type": "fact_exakt"}, "$[0].type", '"fact_exact"'),
    ("legal_rag", {"type": ...}, "$[0].type", '"fact_exact"'),
    ("legal_rag", {"scoring": {"weight": "2"}}, "$[0].scoring.weight", "a number"),
    ("judge_protocol", {"output_id": ...}, "$[0].output_id", "not blank"),
    ("judge_protocol", {"target_model": " "}, "$[0].target_model", "not blank"),
    ("judge_protocol", {"prompt_variant": 3}, "$[0].prompt_variant", "a text"),
    ("judge_protocol", {"prompt_variant": ..., "promptVariant": "A"}, "$[0].promptVariant",
     "did you mean prompt_variant?"),
]  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str, str]:
    return run_command(capsys, *words)


def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str, content: Any, name: str) -> str:
    """What `score` says of questions that it refuses; it commits nothing."""
    questions = put(tmp_path / name, content)
    outputs = put(tmp_path / "run.jsonl", [{"question_id": "q1", "output": "42000元"}])
    store = tmp_path / "store"
    code, out, err = run(capsys, "score", outputs, "-p", profile, "-q", questions, "--store", store)
    assert (code, out) == (2, "")
    assert Store(store).commits() == []
    return err


@pytest.mark.parametrize(("profile", "changes", "path", "said"), BAD)
def test_score_refuses_what_check_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], profile: str, changes: dict[str, Any], path: str, said: str
) -> None:
    question = changed(GOOD[profile], changes)
    err = refused(tmp_path, capsys, profile, [question], "q.jsonl")
    assert "q.jsonl, line 1" in err
    assert "question 'q1'" in err or "id" in changes
    code, out, _ = run(capsys, "check", tmp_path / "q.jsonl", "-p", profile, "--format", "json")
    assert code == 2
    found = json.loads(out)
    assert [one for one in found if one["path"] == path and said in one["allowed"]], found
    for one in found[:5]:
        assert f"{one['path']} is {one['found']}; allowed: {one['allowed']}" in err


@pytest.mark.parametrize("reference", ["", " \u3000\n", [""], ["", " "], []])
def test_a_blank_reference_tests_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str | list[str]
) -> None:
    """Scored, an answer that says nothing would have the full mark; a blank cell of a CSV file is refused as well."""
    err = refused(tmp_path, capsys, "reference", [{"id": "q1", "reference": reference}], "q.jsonl")
    assert "q.jsonl, line 1, question 'q1': $[0].reference is " in err
    assert "; allowed: a text or a list of texts, not blank." in err
    found = check_file(source(tmp_path / "q.jsonl"), [PROFILES["reference"]]).violations
    assert {one.path for one in found} == {"$[0].reference"}
    good = [{"id": k, "reference": text} for k, text in enumerate(["a", "?", ["", "a"], [0], [False]])]
    assert check_file(source(put(tmp_path / "good.jsonl", good)), [PROFILES["reference"]]).violations == ()


@pytest.mark.parametrize("profile", GOOD)
def test_good_questions_have_no_violation(tmp_path: Path, profile: str) -> None:
    extra = {"owner": "me", "data": {"a": [1]}, "questionnaire": 5, "county": "x", "notes_of_mine": None}
    questions = put(tmp_path / "q.jsonl", [{**GOOD[profile], **extra}])
    assert check_file(source(questions), [PROFILES[profile]]).violations == ()


def test_a_question_that_tests_nothing_is_named_with_the_known_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file as ragas writes it: scored, every answer would have 1.0."""
    rows = [{"id": "q1", "user_input": "Capital of France?", "reference": "Paris", "response": "Lyon"}]
    err = refused(tmp_path, capsys, "include_rate", rows, "ragas.jsonl")
    assert err == (
        f"rageval: {tmp_path}/ragas.jsonl, line 1, question 'q1': $[0] is only id, user_input, reference, response; "
        "allowed: something to test, not empty or blank: one or more of must_include, must_include_any, "
        "must_not_include, require_citation. Nothing was scored.\n"
    )


def test_many_violations_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**GOOD["include_rate"], "id": f"q{k}", "must_include": "Paris"} for k in range(1234)]
    err = refused(tmp_path, capsys, "include_rate", rows, "q.jsonl")
    assert err.startswith("rageval: 1,234 violations in the questions of include_rate. Nothing was scored.\n")
    assert err.count("\n") == 8
    assert "… and 1,229 more." in err
    assert f"rageval check {tmp_path / 'q.jsonl'} -p include_rate" in err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.jsonl", '{"id": "q1", "question": "?", "must_include": ["a"], "must_include": ["b"]}', "stands twice"),
        ("q.jsonl", '{"id": "q1", "question": "?", "must_include": [1e999]}', "not finite"),
        ("q.jsonl", "", "at least 1"),
        ("q.jsonl", "\n\n", "at least 1"),
        ("q.json", "[]", "at least 1"),
        ("q.json", '{"questions": []}', "at least 1"),
        ("q.jsonl", "null\n", "a JSON object"),
        ("q.json", "[null]", "a JSON object"),
        ("q.json", "null", "a list of questions"),
        ("q.json", "", "one JSON value"),
    ],
)
def test_files_without_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, said: str
) -> None:
    assert said in refused(tmp_path, capsys, "include_rate", content, name)


def test_ids_that_are_there_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = GOOD["include_rate"]
    err = refused(tmp_path, capsys, "include_rate", [{**good, "id": 1}, {**good, "id": "1"}], "q.jsonl")
    assert '$[1].id is "1", as in $[0]; allowed: an id of its own' in err
    sample = GOOD["judge_protocol"]
    err = refused(tmp_path, capsys, "judge_protocol", [sample, sample], "s.jsonl")
    assert "as in $[0]; allowed: an id of its own" in err


def test_the_header_of_a_file_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = changed(GOOD["legal_rag"], {"type": ...})
    document = json.dumps({"benchmark_typ": "fact_exact", "questions": [question]})
    assert "did you mean benchmark_type?" in refused(tmp_path, capsys, "legal_rag", document, "q.json")
    document = json.dumps({"benchmark_type": "essay", "questions": [question]})
    assert '"essay"; allowed: "fact_exact"' in refused(tmp_path, capsys, "legal_rag", document, "q.json")


def test_frames_are_checked_too() -> None:
    outputs = [{"run_id": "r", "question_id": "q1", "output": "Lyon"}]
    with pytest.raises(InputError, match=r"questions, line 1, question 'q1': .*something to test"):
        api.score(outputs, pl.DataFrame({"id": ["q1"], "question": ["?"]}), "include_rate")
    bad = [{**GOOD["legal_rag"], "id": f"q{k}", "expected": {"amount_totl": 1}} for k in range(9)]
    with pytest.raises(InputError, match="did you mean amount_total") as error:
        api.score(outputs, bad, "legal_rag")
    assert "rageval check" not in str(error.value)  # there is no file to name
    good = api.score(outputs, [GOOD["include_rate"]], "include_rate").scores
    assert good["score"].to_list() == [0.3]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_lists_and_objects_may_be_texts_in_a_columnar_file(tmp_path: Path, ending: str) -> None:
    cells = {"id": ["q1", "q2"], "question": ["[1]", "?"], "must_include": ['["Paris", 5]', None]}
    frame = pl.DataFrame({**cells, "must_include_any": [None, '[["a", "b"], "c"]']})
    getattr(frame, f"write_{ending}")(tmp_path / f"q.{ending}")
    outputs = [{"run_id": "r", "question_id": name, "output": "5 in Paris, b"} for name in ("q1", "q2")]
    scores = api.score(outputs, tmp_path / f"q.{ending}", "include_rate").scores
    assert scores.select("include_hits", "include_total").rows() == [(2, 2), (1, 2)]


def test_a_benchmark_refuses_bad_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "q.jsonl", [changed(GOOD["include_rate"], {"must_include": "Paris"})])
    put(tmp_path / "run.jsonl", [{"question_id": "q1", "output": "Lyon"}])
    config = {"datasets": [{"id": "d", "questions": "q.jsonl", "outputs": "run.jsonl"}]}
    put(tmp_path / "benchmark.json", json.dumps(config))
    code, _, err = run(capsys, "benchmark", tmp_path / "benchmark.json", "--store", tmp_path / "store")
    assert code == 2
    assert '$[0].must_include is "Paris"; allowed: a list' in err


def test_a_rescore_refuses_bad_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the questions were scored by a version that let them pass."""
    bad = changed(GOOD["include_rate"], {"must_include": ..., "must_includes": ["Paris"]})
    questions = put(tmp_path / "q.jsonl", [bad])
    outputs = put(tmp_path / "run.jsonl", [{"question_id": "q1", "output": "Lyon"}])
    store = tmp_path / "store"
    with monkeypatch.context() as patch:
        patch.setattr("rageval_batch.inputs.check.violations", lambda read, profile: ())
        code, _, _ = run(capsys, "score", outputs, "-p", "include_rate", "-q", questions, "--store", store)
        assert code == 0
    code, _, err = run(capsys, "rescore", "run", "--param", "w_include=0.5", "--store", store)
    assert (code, len(Store(store).commits())) == (2, 1)
    assert "did you mean must_include?" in err


@pytest.mark.parametrize("profile", ["include_rate", "eval_json_v2", "claim_evidence", "legal_rag"])
def test_the_questions_of_all_cases_are_good(tmp_path: Path, profile: str) -> None:
    names = [profile, "eval_json_v2_vectors"] if profile == "eval_json_v2" else [profile]
    texts = "".join((CASES_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8") for name in names)
    for case in map(json.loads, texts.strip().split("\n")):
        given_ = case.get("question") or case.get("task") or {"expected": {"answer_example": case["expected"]}}
        header = case.get("header", {})
        document = {**header, "questions": [{"question": "?", **given_, "id": "q"}]}
        file = put(tmp_path / "q.json", json.dumps(document))
        assert check_file(source(file), [PROFILES[profile]]).violations == (), case.get("name")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", " ", "a", "\u3000", "2020-02-30", "2020-02-29", "fact_exact", "high"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "a", "start", "page"]), inner),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=examples(300))
@given(st.data())
def test_violations_of_a_schema_are_those_of_the_reference_validator(data: st.DataObject) -> None:
    profile = PROFILES[data.draw(st.sampled_from(list(GOOD)))]
    questions = []
    for _ in range(data.draw(st.integers(1, 2))):
        question = copy.deepcopy(GOOD[profile.name])
        for _ in range(data.draw(st.integers(0, 2))):
            at: Any = question
            while isinstance(at, dict | list) and at:
                key = data.draw(st.sampled_from(list(at) if isinstance(at, dict) else list(range(len(at)))))
                if data.draw(st.booleans()) or not isinstance(at[key], dict | list) or not at[key]:
                    at[key] = data.draw(VALUES)
                    break
                at = at[key]
        questions.append(question)
    got = {tuple(steps) for steps, _, _ in _schema_rule(profile.inputs.questions)(Part({}, questions, 0))}
    want: set[tuple[str | int, ...]] = set()
    checker = Draft202012Validator.FORMAT_CHECKER
    for error in Draft202012Validator(file_schema(profile), format_checker=checker).iter_errors(
        {"questions": questions}
    ):
        steps = tuple(error.absolute_path)
        if error.validator == "required":
            want |= {(*steps, name) for name in error.validator_value if name not in error.instance}
        else:
            want.add(steps)
    assert got == want


@pytest.mark.parametrize(
    ("written", "meant", "slip"),
    [
        ("must_includes", "must_include", True),
        ("must_inlcude", "must_include", True),
        ("MustInclude", "must_include", True),
        ("amount_totl", "amount_total", True),
        ("expected_entitys", "expected_entities", True),
        ("wieght", "weight", True),
        ("weights", "weight", True),
        ("dates", "date", True),
        ("dtae", "date", True),
        ("data", "date", False),
        ("court", "count", False),
        ("account", "count", False),
        ("county", "count", False),
        ("identity", "entity", False),
        ("question_type", "question", False),
        ("sub_topic", "main_topic", False),
        ("qid", "id", False),
        ("text", "text_answer", False),
    ],
)
def test_slips(written: str, meant: str, slip: bool) -> None:
    assert is_slip(written, meant) is slip


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ('{"id": "a", "id": "b"}', '$[0] is an object in which the name "id" stands twice'),
        ('{"id": "a", "weight": 1e400}', "$[0] is a value with 1e400, a number that is not finite"),
    ],
)
def test_what_is_wrong_is_one_sentence(question: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(question, encoding="utf-8")
    with pytest.raises(InputError) as stop:
        checked_questions([source(path)], PROFILES["include_rate"])
    assert said in str(stop.value)
