"""The profile include_rate: its cases, the oracle beside it, hostile input, and the command line from end to end."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval_batch
from oracles import include_rate as oracle
from rageval_batch.errors import InputError
from rageval_batch.model.schemas import BATCH, EvalSet
from rageval_batch.profiles.include_rate import PROFILE
from rageval_batch.resources import samples_folder
from rageval_batch.runs import batch
from support.command import run_command
from support.effort import examples
from support.places import CASES_FOLDER

CASES = [
    json.loads(line) for line in (CASES_FOLDER / "include_rate.jsonl").read_text(encoding="utf-8").split("\n") if line
]
SAMPLES = samples_folder() / "include_rate"
KEYS = ("run_id", "question_id", "dataset", "repeat", "input", "line")
PAGE_COLUMNS = [
    "run_id", "question_id", "repeat", "weight", "score", "include_hits", "include_total", "include_rate",
    "exclude_hits", "safe_ok", "require_citation", "citation_ok", "citation_penalty", "fail_reason",
]  # fmt: skip


def made_ready(questions: list[dict[str, Any]], params: dict[str, Any] | None = None) -> batch.Scorer:
    weights = [float(w) if (w := q.get("weight")) is not None else 1.0 for q in questions]
    ids = tuple(f"q{k}" for k in range(len(questions)))
    named = tuple({"question": "?", **q, "id": name} for q, name in zip(questions, ids, strict=True))
    eval_set = EvalSet(ids, named, (None,) * len(ids), weights=tuple(weights))
    return batch.scorer(PROFILE, PROFILE.read_params(params or {}), eval_set)


def batch_of(answers: list[tuple[int, str | None]]) -> pa.RecordBatch:
    rows = [
        {"run_id": "r", "question": question, "repeat": 0, "input": 0, "line": k, "output": output, "chunks": None}
        for k, (question, output) in enumerate(answers)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=BATCH)


def scored(ready: batch.Scorer, answers: list[tuple[int, str | None]]) -> list[dict[str, Any]]:
    """The score rows without their keys."""
    rows = batch.score_batch(ready, batch_of(answers)).scores.to_pylist()
    return [{name: value for name, value in row.items() if name not in KEYS} for row in rows]


# --- cases and the oracle -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    ready = made_ready([case["question"]], case.get("params"))
    if case.get("missing"):
        row = batch.missing_rows(ready, {"r": pa.array([0], pa.int32()).to_numpy()}).to_pylist()[0]
    else:
        row = scored(ready, [(0, case["output"])])[0]
    for name, want in case["want"].items():
        assert type(row[name]) is type(want), name
        assert row[name] == (pytest.approx(want, rel=0, abs=1e-12) if isinstance(want, float) else want), name


PIECES = (
    "более 5", "свыше  5", ">5", "1 250", "1250", "1\u00a0250,5", "1250.5", "рост", "Рост", "отчёт", "отчет", "стр. 4",
    "(стр 4", "[4]", "第4页", "4ページ", "page 4", "1,250", "3.2 billion", "$3.2bn", "over 5", "minus 5", "−5",
    "12 %", "12.5", "BER", "Dubber", "СТР.٤", "p. 4", " ", "", ",", "5", "ＡＢ", "ab", "字", "Σ", "İ", "\x1c", "😀",
    "\x00", "<b>", "'; drop",
)  # fmt: skip
PHRASES = st.one_of(st.lists(st.sampled_from(PIECES), max_size=3).map("".join), st.text(max_size=4))
ENTRIES = st.one_of(PHRASES, st.integers(-20, 2000), st.floats(-9, 9, allow_nan=False))
QUESTIONS = st.fixed_dictionaries(
    {},
    optional={
        "must_include": st.lists(ENTRIES, max_size=4),
        "must_include_any": st.lists(st.one_of(ENTRIES, st.lists(ENTRIES, max_size=3)), max_size=3),
        "must_not_include": st.lists(ENTRIES, max_size=3),
        "require_citation": st.booleans(),
        "weight": st.one_of(st.none(), st.integers(0, 9), st.floats(0, 1e300)),
    },
)
ANSWERS = st.one_of(st.none(), st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join), st.text(max_size=9))
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "normalizer": st.sampled_from(["ru_numeric", "en_numeric", "none", "nfkc_casefold"]),
        "citation_style": st.sampled_from(["patterns", "any"]),
        "phrase_match": st.sampled_from(["substring", "word"]),
        "citation_patterns": st.lists(st.sampled_from([r"\bp\.\s*\d+", *oracle.PARAMS["citation_patterns"]])),
        "w_include": st.floats(0, 1),
        "w_safe": st.floats(0, 1),
        "citation_penalty": st.floats(0, 1),
    },
)


@settings(max_examples=examples(300), deadline=None)
@given(
    questions=st.lists(QUESTIONS, min_size=1, max_size=4),
    answers=st.lists(st.tuples(st.integers(0, 3), ANSWERS), max_size=12),
    params=PARAMS,
)
def test_rows_are_those_of_the_oracle(
    questions: list[dict[str, Any]], answers: list[tuple[int, str | None]], params: dict[str, Any]
) -> None:
    answers = [(which % len(questions), output) for which, output in answers]
    got = scored(made_ready(questions, params), answers)
    assert got == [oracle.score(questions[which], output, params=params) for which, output in answers]


def test_rows_do_not_depend_on_the_batch_they_came_in() -> None:
    questions = [case["question"] for case in CASES if "params" not in case]
    answers = [(k % len(questions), case["output"]) for k, case in enumerate(CASES * 3)]
    ready = made_ready(questions)
    whole = scored(ready, answers)
    assert [row for k in range(0, len(answers), 7) for row in scored(ready, answers[k : k + 7])] == whole
    assert scored(ready, answers[::-1]) == whole[::-1]
    assert scored(ready, []) == []


# --- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "want"),
    [
        (r"стр\.\s*\d", (r"стр\.\s*\d",)),
        ('["a", "b"]', ("a", "b")),
        (' [ "\\\\d" ] ', (r"\d",)),
        ("[]", ()),
        (r"[Сс]тр", ("[Сс]тр",)),
        ("[0-9]", ("[0-9]",)),
        (["a", "b"], ("a", "b")),
        (("a",), ("a",)),
        ([], ()),
        ("", ("",)),
    ],
)
def test_patterns_as_lists_json_or_one_text(given_: Any, want: tuple[str, ...]) -> None:
    assert PROFILE.read_params({"citation_patterns": given_})["citation_patterns"] == want


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        (r'["стр\.\s*\d"]', "JSON"),
        ('["a", 5]', "list of texts"),
        ('["a"', "JSON"),
        ("[1]", "list of texts"),
        (" [true]", "list of texts"),
        (5, "list of texts"),
        (None, "list of texts"),
        ({"a": 1}, "list of texts"),
        ([["a"]], "list of texts"),
        (["\ud800"], "list of texts"),
        ("(стр", "'(стр' is not a regular expression"),
        (["ok", "a{5,1}"], "'a{5,1}' is not a regular expression"),
        ("a(?i)b", "regular expression"),
        ("a{99999999999999999999}", "regular expression"),
    ],
)
def test_bad_patterns_are_one_sentence(given_: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        PROFILE.read_params({"citation_patterns": given_})
    assert said in str(error.value)
    assert "citation_patterns" in str(error.value)
    str(error.value).encode()


def test_a_list_of_patterns_in_the_signature() -> None:
    changed = PROFILE.read_params({"citation_patterns": ["с\\d", "b"], "w_safe": 0.5})
    assert PROFILE.signature(changed) == 'citation_patterns=["с\\\\d","b"],w_safe=0.5'
    assert PROFILE.signature(PROFILE.read_params({})) == "default"


# --- explain ------------------------------------------------------------------------------------------------------


def explained(question: dict[str, Any], output: str | None, **params: Any) -> dict[str, Any]:
    ready = made_ready([{"must_include": ["другой"]}, question], params)
    return {part.name: part.lines for part in PROFILE.scoring.explain(ready.prepared, batch_of([(1, output)])).sections}


def test_explanation() -> None:
    question = {
        "must_include": ["Рост", "убыток"],
        "must_include_any": [["нет", "более 1 000", ""], []],
        "must_not_include": ["??", "ДОХОД"],
        "require_citation": True,
    }
    found = explained(question, "Рост дохода свыше 1\u00a0000 (Стр. 7)")
    assert [(line["any of"], line["hit"], line["phrase"], line["compared as"]) for line in found["required"]] == [
        ("Рост", True, "Рост", "рост"),
        ("убыток", False, None, None),
        ("нет | более 1 000 | ", True, "более 1 000", ">1000"),
        ("", False, None, None),
    ]
    assert [(line["phrase"], line["found"]) for line in found["forbidden"]] == [("??", False), ("ДОХОД", True)]
    assert found["citation"][0]["found"] == "(Стр. 7"
    assert "format" not in found


def test_explanation_of_nothing() -> None:
    found = explained({}, None)
    assert found["format"][0]["reason"] == "empty_output"
    assert found["required"] == found["forbidden"] == ()
    pattern = oracle.PARAMS["citation_patterns"][0]
    assert found["citation"] == ({"required": False, "ok": True, "found": None, "patterns": pattern},)
    (citation,) = explained({}, "x", citation_patterns=[])["citation"]
    assert citation["patterns"] is None


# --- the command line, from end to end ----------------------------------------------------------------------------


def rageval(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    return run_command(capsys, *words)


def test_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "runs"
    call = ["score", SAMPLES / "outputs", "-p", "include_rate", "-q", SAMPLES / "questions.jsonl", "--store", store]
    code, out, _ = rageval(capsys, *call, "--source", SAMPLES / "source.txt")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["better", "baseline", "regressed"]

    questions = [json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    for run in ("baseline", "better", "regressed"):
        lines = (SAMPLES / "outputs" / f"{run}.jsonl").read_text(encoding="utf-8").splitlines()
        answers = {row["question_id"]: row["output"] for row in map(json.loads, lines)}
        want = [oracle.score(q, answers.get(q["id"]), missing=q["id"] not in answers) for q in questions]
        _, out, _ = rageval(capsys, "show", run, "--store", store, "--format", "json")
        shown = json.loads(out)
        assert shown["weighted_score"] == pytest.approx(oracle.weighted_score(want), rel=0, abs=1e-12)
        assert shown["question_count"] == len(questions)
        assert shown["answered_count"] == len(answers)
        assert shown["pdf_sha256"] == shown["source_sha256"] is not None
        query = f"from include_rate where run_id = '{run}' order by question_id"
        _, out, _ = rageval(capsys, "sql", query, "--store", store, "--format", "jsonl")
        rows = {row["question_id"]: row for row in map(json.loads, out.splitlines())}
        assert list(rows[questions[0]["id"]])[: len(PAGE_COLUMNS)] == PAGE_COLUMNS
        for question, row in zip(questions, want, strict=True):
            assert {name: rows[question["id"]][name] for name in row} == row

    _, out, _ = rageval(capsys, "runs", "--store", store, "--format", "jsonl")
    best = max(map(json.loads, out.splitlines()), key=lambda row: float(row["score"]))
    assert best["run_id"] == "better"
    code, out, _ = rageval(capsys, "explain", "regressed", "r01", "--store", store, "--format", "json")
    assert json.loads(out)["explanation"]["forbidden"][0] == {
        "phrase": "10 950", "compared as": "10950", "found": True,
    }  # fmt: skip
    for form in ("table", "md"):
        assert rageval(capsys, "explain", "regressed", "r01", "--store", store, "--format", form)[0] == 0
        assert rageval(capsys, "profiles", "include_rate", "--format", form)[0] == 0

    words = ["rescore", "better", "--store", store, "--format", "json"]
    _, out, _ = rageval(capsys, *words, "--param", r"citation_patterns=[Сс]траница\s\d", "--param", "w_safe=0")
    again = json.loads(out)
    assert again["citation_rate"] < 0.9
    assert r"citation_patterns=[\"[Сс]траница" in json.dumps(again["signature"], ensure_ascii=False)


def test_parameters_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    params = tmp_path / "params.toml"
    call = [
        "score", SAMPLES / "outputs" / "better.jsonl", "-p", "include_rate", "-q", SAMPLES / "questions.jsonl",
        "--store", tmp_path / "runs", "--format", "json", "--params", params,
    ]  # fmt: skip
    params.write_text("citation_patterns = ['nowhere', 'стр\\. \\d']\n", encoding="utf-8")
    assert json.loads(rageval(capsys, *call)[1])["citation_rate"] == 1.0
    params.write_text("citation_patterns = 'nowhere'\n", encoding="utf-8")
    found = json.loads(rageval(capsys, *call)[1])
    assert found["citation_rate"] < 1.0
    assert "pdf_sha256" not in found
    params.write_text("citation_patterns = ['(']\n", encoding="utf-8")
    code, out, err = rageval(capsys, *call)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "q7", "question": "?", "must_include": ["a"], "weight": -1}', "'q7'"),
        ('{"id": "q7", "question": "?", "must_include": ["a"], "weight": 1e999}', "line 1"),
        ('{"id": "q7", "question": "?", "must_include": ["a"], "weight": 1' + "0" * 400 + "}", "'q7'"),
        ('{"id": "q7", "question": "?", "must_include": ["a"], "weight": "2"}', "'q7'"),
        ('{"id": "q7", "question": "?", "must_include": "рост"}', "'q7'"),
        ('{"id": "q7", "must_include": ["a"]}', "'q7'"),
        ('{"question": "?", "must_include": ["a"]}', "line 1"),
        ('{"id": "q7", "question": "\\ud800"}', "line 1"),
    ],
)
def test_a_bad_question_ends_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    (tmp_path / "questions.jsonl").write_text(line + "\n", encoding="utf-8")
    (tmp_path / "run.jsonl").write_text('{"question_id": "q7", "output": "a"}\n', encoding="utf-8")
    store = tmp_path / "runs"
    call = ["score", tmp_path / "run.jsonl", "-p", "include_rate", "-q", tmp_path / "questions.jsonl"]
    code, out, err = rageval(capsys, *call, "--store", store)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


HOSTILE = [
    "<script>alert(1)</script>", "'; drop table runs; --", "=cmd|' /C calc'!A0", "\x00\x01\x1b[2J", "\u202eabc\u202c",
    "👨‍👩‍👧‍👦 5 000", "ﷺ" * 50, "(" * 900 + "стр." * 900, "1 " * 5000 + "более " * 500, "\u0308" * 3000,
    " \t\n", "", None, "Σ" * 500 + " İ", "более", "\x1c более \x1f 5", "1,2,3, 4 , 5", "字" * 1000, "{}",
    "null", "более ",
]  # fmt: skip


def test_hostile_answers_through_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    phrases = [text for text in HOSTILE if text is not None]
    question = {
        "id": "q", "question": "?", "must_include": phrases, "must_include_any": [phrases, []],
        "must_not_include": phrases, "require_citation": True, "weight": 1e300,
    }  # fmt: skip
    other = {"id": "z", "question": "?", "must_not_include": ["zzz"], "weight": 0}
    (tmp_path / "questions.jsonl").write_text(f"{json.dumps(question)}\n{json.dumps(other)}\n", encoding="utf-8")
    outputs = [{"run_id": "r", "question_id": "q", "repeat": k, "output": text} for k, text in enumerate(HOSTILE)]
    lines = [json.dumps(row) for row in outputs]
    lines += [lines[0], '{"run_id": "r", "question_id": "q", "repeat": 99, "output": "\\ud800"}']
    (tmp_path / "run.jsonl").write_text("\n".join(lines), encoding="utf-8")
    store = tmp_path / "runs"
    call = ["score", tmp_path / "run.jsonl", "-p", "include_rate", "-q", tmp_path / "questions.jsonl"]
    code, out, err = rageval(capsys, *call, "--store", store, "--format", "json")
    assert code == 0
    assert "23 rows read = 22 score rows - 1 missing output + 2 rejected" in err
    want = [oracle.score(question, text) for text in HOSTILE]
    keyed = [{**row, "question_id": "q"} for row in want] + [{"question_id": "z", "score": 0.0, "weight": 0.0}]
    assert json.loads(out)["weighted_score"] == pytest.approx(oracle.weighted_score(keyed), rel=0, abs=1e-12)
    query = "select * exclude (run_id, question_id, repeat, eval_set) from include_rate where question_id = 'q'"
    _, out, _ = rageval(capsys, "sql", f"{query} order by repeat", "--store", store, "--format", "jsonl")
    assert [json.loads(line) for line in out.splitlines()] == want
    for repeat in (0, 3, 4, 12):
        assert rageval(capsys, "explain", "r", "q", "--repeat", str(repeat), "--store", store)[0] == 0


def test_weights_that_sum_to_nothing_give_no_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "questions.jsonl").write_text(
        '{"id": 1, "question": "?", "must_not_include": ["b"], "weight": 0}\n', encoding="utf-8"
    )
    (tmp_path / "run.jsonl").write_text('{"question_id": "1", "output": "a"}\n', encoding="utf-8")
    call = ["score", tmp_path / "run.jsonl", "-p", "include_rate", "-q", tmp_path / "questions.jsonl"]
    _, out, _ = rageval(capsys, *call, "--store", tmp_path / "runs", "--format", "json")
    found = json.loads(out)
    assert found["weighted_score"] is None
    assert found["score_avg"] == 1.0
    assert rageval(capsys, "runs", "--store", tmp_path / "runs")[0] == 0


def test_questions_of_a_csv_file(tmp_path: Path) -> None:
    with (tmp_path / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "must_include", "must_include_any", "require_citation", "weight"])
        writer.writerow(["001", "5", '["рост"]', '[["a", "b"], "c"]', "true", "2.5"])
        writer.writerow(["002", "true", "", '["c"]', "", ""])
    outputs = [{"run_id": "r", "question_id": "001", "output": "Рост, c"}]
    rows = rageval_batch.score(outputs, tmp_path / "questions.csv", profile="include_rate").scores.to_dicts()
    assert [(row["question_id"], row["weight"], row["include_hits"], row["citation_ok"]) for row in rows] == [
        ("001", 2.5, 2, False),
        ("002", 1.0, None, None),
    ]


def test_frames(tmp_path: Path) -> None:
    questions = [
        {"id": "a", "question": "?", "must_not_include": ["no"]},
        {"id": "b", "question": "?", "must_include_any": [["x", "y"], "z", 5]},
    ]
    outputs = [{"run_id": "r", "question_id": name, "output": "Y 5"} for name in "ab"]
    found = rageval_batch.score(outputs, questions, profile="include_rate", params={"citation_patterns": ["a"]})
    assert found.scores["include_hits"].to_list() == [0, 2]
    assert found.scores["include_total"].to_list() == [0, 3]


def test_every_metric_says_what_it_is_worth() -> None:
    assert {metric.name: (metric.higher_is_better, metric.null_counts_as) for metric in PROFILE.metrics} == {
        "score": (True, 0.0),
        "include_rate": (True, 0.0),
        "safe_ok": (True, 0.0),
        "citation_ok": (True, 0.0),
        "exclude_hits": (False, None),
        "citation_penalty": (False, None),
    }
