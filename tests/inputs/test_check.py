"""`rageval check`: every violation with its path, what was found and what is allowed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rageval_batch.cli import main
from rageval_batch.errors import InputError
from rageval_batch.inputs.check import Checked, check_file, file_schema
from rageval_batch.inputs.eval_sets import read_questions
from rageval_batch.inputs.sources import source, sources
from rageval_batch.profiles.registry import PROFILES
from support.command import run_command
from support.effort import examples
from support.places import SAMPLES_FOLDER

ALL = list(PROFILES.values())
LEGAL = [PROFILES["legal_rag"]]
QUESTION_FILES = {
    *("questions.json", "questions.jsonl", "questions_policy.jsonl", "gold.jsonl", "samples.jsonl"),
    *("fact_exact.json", "evidence_set.json", "conflict_gap.json"),
}
GOOD: dict[str, Any] = {
    "id": "a",
    "type": "fact_exact",
    "question": "多少钱？",
    "expected": {"amount_total": 42000},
    "required_evidence": [{"page": 2, "must_include": "42000元"}],
    "metadata": {"difficulty": "easy", "tags": ["金额"]},
}


def checked(tmp_path: Path, content: Any, name: str = "q.json") -> Checked:
    """A file of that content, held against legal_rag."""
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return check_file(source(path), LEGAL)


def lines(result: Checked) -> list[tuple[str, str, str]]:
    return [(one.path, one.found, one.allowed) for one in result.violations]


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_schemas_are_schemas(profile: Any) -> None:
    Draft202012Validator.check_schema(file_schema(profile))
    assert profile.inputs.questions.marks
    assert profile.inputs.questions.schema


def test_packaged_samples_are_good_and_known_by_their_shape() -> None:
    for profile in ALL:
        files = [file for file in sources([SAMPLES_FOLDER / profile.name]) if file.path.name in QUESTION_FILES]
        assert files
        for file in files:
            result = check_file(file, ALL)
            assert (result.profile, result.violations) == (profile.name, ())
            assert profile.inputs.questions.key or result.questions == len(read_questions([file]))


BAD: dict[str, Any] = {
    "benchmark_type": "fact_exakt",
    "description": 3,
    "questions": [
        {**GOOD, "expected": {"amount_total": "many", "date": "2020年8月30日", "date_range": {}}},
        {**GOOD, "question": " ", "required_evidence": [{"page": None, "must_include": 5}, 7]},
        5,
        {"type": "evidence_set", "question": "x", "scoring": {"evidence_recall_min": 80, "weight": -1}},
        {"id": "c", "type": "fact_exact", "question": "x", "hallucination_penalty": "extreme"},
        {"id": "d", "type": "essay", "question": "x"},
    ],
}


def test_every_violation_is_named(tmp_path: Path) -> None:
    result = checked(tmp_path, BAD)
    found = {path: (found, allowed) for path, found, allowed in lines(result)}
    assert found["$.benchmark_type"] == ('"fact_exakt"', '"fact_exact", "evidence_set", "conflict_gap"')
    assert found["$.description"] == ("3", "a text")
    assert found["$.questions[0].expected.amount_total"] == (
        '"many"',
        "a number, or a text with one number or range in it",
    )
    assert found["$.questions[0].expected.date"] == ('"2020年8月30日"', "a date YYYY-MM-DD")
    assert found["$.questions[0].expected.date_range.start"] == ("nothing", "a date YYYY-MM-DD")
    assert found["$.questions[0].expected.date_range.end"] == ("nothing", "a date YYYY-MM-DD")
    assert found["$.questions[1].id"] == ('"a", as in $.questions[0]', "an id of its own")
    assert found["$.questions[1].question"] == ('" "', "a text that is not blank")
    assert found["$.questions[1].required_evidence[0].page"] == ("nothing", "a whole number or a text")
    assert found["$.questions[1].required_evidence[0].must_include"] == ("5", "a text")
    assert found["$.questions[1].required_evidence[1]"] == ("7", "an object")
    assert found["$.questions[2]"] == ("not_object, the line is JSON, but no object: 5", "a JSON object")
    assert found["$.questions[3].scoring.evidence_recall_min"] == ("80", "a number up to 1")
    assert found["$.questions[3].scoring.weight"] == ("-1", "a number from 0")
    assert found["$.questions[4].hallucination_penalty"] == ('"extreme"', '"high", "medium", "low"')
    assert found["$.questions[4].expected"][0] == "nothing"
    assert found["$.questions[5].type"] == ('"essay"', '"fact_exact", "evidence_set", "conflict_gap"')
    at_three = [allowed for path, _, allowed in lines(result) if path == "$.questions[3]"]
    assert sorted(at_three) == ["an id: question_id, id, task_id", "required_evidence or expected.key_points"]
    assert len(result.violations) == 19
    assert result.questions == 6


def test_the_type_of_the_file_holds_for_its_questions(tmp_path: Path) -> None:
    plain = {name: value for name, value in GOOD.items() if name not in ("type", "expected")}
    assert lines(checked(tmp_path, {"benchmark_type": "conflict_gap", "questions": [plain]})) == []
    ((path, found, _),) = lines(checked(tmp_path, {"benchmark_type": "fact_exact", "questions": [plain]}))
    assert (path, found) == ("$.questions[0].expected", "nothing")
    ((path, found, _),) = lines(checked(tmp_path, [plain]))
    assert (path, found) == ("$[0].type", "nothing")


def test_lines_of_jsonl_and_rows_of_parquet(tmp_path: Path) -> None:
    bad = {**GOOD, "id": "b", "expected": {"count": 1.5}}
    text = "\n".join([json.dumps(GOOD), "", "{broken", json.dumps(bad)])
    result = checked(tmp_path, text, "q.jsonl")
    assert [(one.line, one.path) for one in result.violations] == [(3, "$[1]"), (4, "$[2].expected.count")]
    assert result.questions == 3
    rows = [GOOD, {**GOOD, "id": "b", "type": "essay"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "q.parquet")
    found = check_file(source(tmp_path / "q.parquet"), ALL).violations
    assert [(one.line, one.path) for one in found] == [(2, "$[1].type")]
    texts = [{name: part if isinstance(part, str) else json.dumps(part) for name, part in row.items()} for row in rows]
    pq.write_table(pa.Table.from_pylist(texts), tmp_path / "texts.parquet")
    assert [one.path for one in check_file(source(tmp_path / "texts.parquet"), ALL).violations] == ["$[1].type"]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("", "$"),
        ("{", "$"),
        ("[1, 2", "$"),
        ("5", "$"),
        ('{"questions": 5}', "$"),
        ('{"a": []}', "$"),
        ('[{"id": "a"}] x', "$"),
        ("[]", "$.questions"),
        ('{"questions": []}', "$.questions"),
        ("[" * 3000 + "]" * 3000, "$[0]"),
        ('[{"id": "\\ud800"}]', "$"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: str, path: str) -> None:
    found = checked(tmp_path, content).violations
    assert found[0].path == path
    assert found[0].found
    assert found[0].allowed


def test_a_key_of_several_fields(tmp_path: Path) -> None:
    format = replace(LEGAL[0].inputs.questions, key=("id", "question"))
    keyed = replace(LEGAL[0], inputs=replace(LEGAL[0].inputs, questions=format))
    rows = [GOOD, {**GOOD, "question": "还有呢？"}, GOOD]
    (tmp_path / "q.json").write_text(json.dumps(rows), encoding="utf-8")
    (found,) = check_file(source(tmp_path / "q.json"), [keyed]).violations
    assert (found.path, found.found) == ("$[2]", '["a", "多少钱？"], as in $[0]')


def test_a_shape_that_no_profile_has(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('[{"id": "a", "question": "?"}]')
    with pytest.raises(InputError, match=r"cannot tell which profile.*-p"):
        check_file(source(tmp_path / "q.json"), ALL)


hostile = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*GOOD, "date_range", "scoring", "<b>", "a b", "\u202e", ""]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(hostile, max_size=3), st.sampled_from(list(GOOD)), hostile)
def test_anything_is_checked(tmp_path_factory: pytest.TempPathFactory, items: list[Any], key: str, value: Any) -> None:
    folder = tmp_path_factory.mktemp("check")
    result = checked(folder, [*items, {**GOOD, key: value}])
    assert result.questions == len(items) + 1
    assert all(one.path.startswith("$") and one.found and one.allowed for one in result.violations)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return run_command(capsys, *words)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = str(SAMPLES_FOLDER / "legal_rag" / "fact_exact.json")
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(BAD, ensure_ascii=False), encoding="utf-8")
    code, out, err = run(capsys, "check", good)
    assert (code, out) == (0, "")
    assert "10 questions of legal_rag: ok" in err
    code, out, err = run(capsys, "check", good, str(bad))
    assert code == 2
    assert "$.questions[1].required_evidence[0].must_include" in out
    assert "19 violations" in err
    code, out, _ = run(capsys, "check", str(bad), "-p", "legal_rag", "--format", "json")
    assert (code, len(json.loads(out))) == (2, 19)
    code, out, _ = run(capsys, "check", "--schema", "-p", "legal_rag")
    assert code == 0
    Draft202012Validator(json.loads(out)).validate(json.loads(Path(good).read_text(encoding="utf-8")))
    for words in ((), ("--schema",), (str(tmp_path / "none.json"),), (good, "-p", "legal_rga")):
        code, _, err = run(capsys, "check", *words)
        assert code == 2
        assert err.startswith("rageval: ")


def test_check_takes_an_encoding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What score reads with --encoding, check does too."""
    path = tmp_path / "questions.jsonl"
    path.write_bytes('{"id": "q", "question": "Wo?", "must_include": ["Köln"]}\n'.encode("cp1252"))
    for words, code in ((["--encoding", "cp1252"], 0), ([], 2)):
        with pytest.raises(SystemExit) as stop:
            main(["check", str(path), "-p", "include_rate", *words])
        assert stop.value.code == code, capsys.readouterr()
