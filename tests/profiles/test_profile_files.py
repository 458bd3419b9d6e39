"""Profiles as TOML files: scored, gated, compared, explained, rescored, with the file and without it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rageval_batch
from rageval_batch.analysis.catalog import open_store
from rageval_batch.errors import InputError
from rageval_batch.model import BATCH, EvalSet, Profile
from rageval_batch.profiles import registry
from rageval_batch.profiles.files.build import check_expressions
from rageval_batch.profiles.registry import profile_of_text
from support.command import run_command
from support.inputs import put
from support.registered import forget_profiles

# A stranger's file of twelve lines.
STRANGER = """\
name = "support_qa"
title = "Support answers"
groups = ["topic"]
fields = { reference = "text", topic = "text?" }
params = { least_f1 = 0.5 }
gates = [{ name = "f1", metric = "f1", stat = "mean", op = ">=", limit = 0.6 }]
score = "0.8 * f1 + 0.2 * cites::double"
fail_reason = "case when refused(output) then 'refused' end"
[metrics]
f1 = "token_f1(output, reference)"
cites = "regexp_matches(output, '\\\\[\\\\d+\\\\]')"
enough = "f1 >= least_f1"
"""
QUESTIONS = [
    {"id": "a", "reference": "red car", "topic": "cars"},
    {"id": "b", "reference": "seven", "topic": "numbers"},
]
# By hand: "red car" against "a red car [1]" has the words red car 1: precision 2/3, recall 1, f1 0.8.
ANSWERS = {"good": {"a": "a red car [1]", "b": "seven"}, "poor": {"a": "Sorry, this is not mentioned."}}
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes this process know only the profiles of the package, as a fresh one does."""
    forget_profiles(monkeypatch)
    return lambda: forget_profiles(monkeypatch)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Iterator[Call]:
    """(exit code, stdout, stderr) of a command line."""

    def run(*words: Any) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    yield run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with questions, answers and the profile's file."""
    put(tmp_path / "questions.jsonl", QUESTIONS)
    rows = [
        {"run_id": run, "question_id": question, "output": output}
        for run, answers in ANSWERS.items()
        for question, output in answers.items()
    ]
    put(tmp_path / "outputs.jsonl", rows)
    put(tmp_path / "mine.toml", STRANGER)
    return tmp_path


def score(call: Call, place: Path, *more: Any) -> tuple[int, str, str]:
    words = ("score", place / "outputs.jsonl", "-q", place / "questions.jsonl", "--store", place / "runs", *more)
    return call(*words, "-p", place / "mine.toml", "--format", "jsonl")


def averages(said: str, name: str = "score_avg") -> dict[str, float]:
    return {line["run_id"]: round(line[name], 9) for line in map(json.loads, said.splitlines())}


@pytest.mark.parametrize("with_file", [True, False])
def test_from_score_to_explain(call: Call, place: Path, forgotten: Callable[[], None], with_file: bool) -> None:
    """By hand: good (0.84 + 0.8) / 2, poor 0 and no answer. The same where the file is gone."""
    code, out, err = score(call, place)
    assert code == 0, err
    assert averages(out) == {"good": 0.82, "poor": 0.0}
    assert averages(out, "enough_avg") == {"good": 1.0, "poor": 0.0}
    assert "Nothing to do" in score(call, place)[2]
    store, given = ["--store", place / "runs"], ["-p", place / "mine.toml"]
    if not with_file:
        (place / "mine.toml").unlink()
        given = []

    forgotten()
    code, out, err = call("gate", "good", "poor", *store, *given, "--format", "json")
    assert code == 1, err
    assert {one["run_id"]: one["pass_fail"] for one in json.loads(out)} == {"good": "pass", "poor": "fail"}

    forgotten()
    code, out, _ = call("compare", "good", "poor", *store, *given, "--format", "json")
    assert (code, round(json.loads(out)["delta"], 9)) == (1, -0.82)

    forgotten()
    code, out, err = call("show", "good", *store, *given, "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert {(one["grouping"], one["value"]) for one in found["groups"]} == {("topic", "cars"), ("topic", "numbers")}
    assert found["metrics"]["cites"]["mean"] == 0.5

    forgotten()
    code, out, err = call("explain", "good", "a", *store, *given, "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert found["note"] is None
    lines = {line["name"]: line for line in found["explanation"]["metrics"]}
    assert round(lines["f1"]["value"], 9) == 0.8
    assert lines["f1"]["expression"] == "token_f1(output, reference)"
    assert lines["f1"]["uses"] == "output, reference"
    assert lines["cites"]["value"] is True
    inputs = {line["name"]: line["value"] for line in found["explanation"]["inputs"]}
    assert inputs == {"output": "a red car [1]", "reference": "red car", "least_f1": 0.5}

    forgotten()
    code, out, err = call("rescore", "--all", *store, *given, "--param", "least_f1=0.9", "--format", "jsonl")
    assert code == 0, err
    assert averages(out, "enough_avg") == {"good": 0.5, "poor": 0.0}

    forgotten()
    code, out, err = call("sql", "select run_id, question_id, f1, enough, fail_reason from support_qa order by all",
                          *store, "--format", "jsonl")  # fmt: skip
    assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["run_id"], row["question_id"], row["fail_reason"]) for row in rows] == [
        ("good", "a", None), ("good", "b", None), ("poor", "a", "refused"), ("poor", "b", "missing_output"),
    ]  # fmt: skip
    assert [row["enough"] for row in rows] == [0.0, 1.0, 0.0, 0.0]
    assert call("leaderboard", *store)[0] == 0
    assert call("runs", *store)[0] == 0


def test_the_content_is_part_of_identity_and_signature(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    assert score(call, place)[0] == 0
    put(place / "mine.toml", STRANGER.replace("0.8 * f1 + 0.2", "0.5 * f1 + 0.5"))
    forgotten()
    code, out, err = score(call, place)
    assert (code, "Nothing to do" in err) == (0, False)
    assert averages(out) == {"good": 0.7, "poor": 0.0}
    with open_store(place / "runs", functions=False) as session:
        rows = session.rows("select distinct signature, params_sha256 from stored_runs order by 1")
        assert len({row["params_sha256"] for row in rows}) == 1
        assert len({row["signature"] for row in rows}) == 2
        oldest = session.commits[0]
    assert (oldest.path / "profile.toml").read_text("utf-8") == STRANGER

    forgotten()
    code, out, _ = call("explain", f"good@{oldest.id}", "b", "--store", place / "runs", "--format", "json")
    lines = {line["name"]: line for line in json.loads(out)["explanation"]["metrics"]}
    assert (code, lines["score"]["value"]) == (0, 0.8), "an older commit is explained by its own file"

    forgotten()
    code, _, err = call("compare", f"good@{oldest.id}", "good", "--store", place / "runs")
    assert (code, "profile_version" in err) == (2, True)
    assert call("compare", f"good@{oldest.id}", "good", "--store", place / "runs", "--no-strict-hashes")[0] in (0, 1)

    forgotten()
    put(place / "gates.toml", '[[gate]]\nname = "mine"\nmetric = "cites"\nop = ">="\nlimit = 0.9\n')
    code, out, err = call(
        "gate", "good", "--store", place / "runs", "--gates", place / "gates.toml", "--format", "json"
    )
    assert (code, [one["name"] for one in json.loads(out)["failing_gates"]]) == (1, ["mine"]), err

    forgotten()
    code, out, err = call("rescore", f"good@{oldest.id}", "--store", place / "runs", "-p", place / "mine.toml",
                          "--format", "json")  # fmt: skip
    assert code == 0, err
    assert round(json.loads(out)["score_avg"], 9) == 0.7, "a file that is given is the one that scores"


def test_expressions_that_fail_are_said(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    put(place / "mine.toml", STRANGER + 'length = "left(output, 1)::int"\n')
    code, _, err = score(call, place)
    assert code == 0
    assert "3 rows have an expression without a value, the first run " in err
    put(place / "mine.toml", STRANGER)
    forgotten()
    assert "expression without a value" not in score(call, place)[2]


def test_two_stores_with_two_files_of_one_name(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    assert score(call, place)[0] == 0
    other = place / "other"
    put(other / "mine.toml", STRANGER.replace("limit = 0.6", "limit = 0.95"))
    forgotten()
    words = ("score", place / "outputs.jsonl", "-q", place / "questions.jsonl", "--store", other / "runs")
    assert call(*words, "-p", other / "mine.toml")[0] == 0
    forgotten()
    assert call("gate", "good", "--store", place / "runs")[0] == 0
    assert call("gate", "good", "--store", other / "runs")[0] == 1
    assert call("gate", "good", "--store", place / "runs")[0] == 0


# --- what may not be written ----------------------------------------------------------------------------------------


def text_with(expression: str, **tables: str) -> str:
    written = "\n".join(f"{name} = {value}" for name, value in tables.items())
    return f"""name = "mine"
{written}
score = "m"
[fields]
reference = "text"
words = "list?"
[metrics]
first = "len(output)"
m = {json.dumps(expression, ensure_ascii=False)}
last = "1"
"""


HOSTILE = [
    ("(select 1)", "a subquery"),
    ("(select count(*) from read_csv('/etc/passwd'))", "a subquery"),
    ("exists(from 'x.parquet')", "a subquery"),
    ("1 in (select 1)", "a subquery"),
    ("array(select 1)[1]", "subquery"),
    ("1); drop table answers; select (1", "Expected one"),
    ("1; select 2", "Expected one"),
    ("1), (2", "more than one expression"),
    ("1) as x, (2", "more than one expression"),
    ("1) from answers where (true", "more than one expression"),
    ("1) from 'x.csv' order by (1", "more than one expression"),
    ("1) union all select (2", "more than one expression"),
    ("1) limit (1", "more than one expression"),
    ("1) where (true", "more than one expression"),
    ("1) qualify (true", "more than one expression"),
    ("1) group by (1", "more than one expression"),
    ("1) using sample (10", "Expected one"),
    ("1 -- the rest\n) from answers --", "Expected one"),
    ("1 /* the rest", "Expected one"),
    ("'never closed", "Expected one"),
    ('"never closed', "Expected one"),
    ("$$never closed", "Expected one"),
    ("", "no expression"),
    ("   ", "no expression"),
    ("-- only a comment", "type"),
    ("select 1", "a subquery"),
    ("attach 'x.db'", "Unknown type 'attach'"),
    ("copy answers to 'x'", "Expected one"),
    ("set threads = 1", "Expected one"),
    ("pragma version", "Expected one"),
    ("install httpfs", "Expected one"),
    ("read_text('/etc/passwd')", "the function read_text of DuckDB is not allowed"),
    ("read_blob('/etc/passwd')", "is not allowed"),
    ("getenv('HOME')", "Unknown function 'getenv'"),
    ("current_setting('threads')::int", "the function current_setting of DuckDB is not allowed"),
    ("getvariable('x')", "is not allowed"),
    ("nextval('s')", "is not allowed"),
    ("random()", "the function random of DuckDB is not allowed"),
    ("gen_random_uuid()::varchar = output", "is not allowed"),
    ("now() > '2020-01-01'", "is not allowed"),
    ("current_date > '2020-01-01'", "Unknown"),
    ("age(date '2020-01-01') > interval 1 day", "the function age of DuckDB is not allowed"),
    ("pg_typeof(output) = 'x'", "is not allowed"),
    ("duckdb_settings()", "is not allowed"),
    ("sleep_ms(100)", "is not allowed"),
    ("write_log('x')", "is not allowed"),
    ("json_serialize_sql('select 1') = ''", "is not allowed"),
    ("levenshtein(output, reference)", "levenshtein_similarity"),
    ("main.len(output)", "named with a schema"),
    ("system.main.len(output)", "named with a schema"),
    ("sum(len(output))", "sum is an aggregate"),
    ("count(*)", "count_star is an aggregate"),
    ("max(first)", "max is an aggregate"),
    ("count(*) over ()", "a window function"),
    ("row_number() over ()", "a window function"),
    ("len(output) filter (where true)", "aggregate"),
    ("len(distinct output)", "aggregate"),
    ("*", "a *"),
    ("columns('.*')", "a *"),
    ("answers.*", "a *"),
    ("$1", "a placeholder"),
    ("?", "a placeholder"),
    ("#1", "a column by its number"),
    ("output collate nocase = 'x'", "a collation"),
    ("output::regclass", "Unknown type 'regclass'"),
    ("output::timestamptz > '2020-01-01'", "Unknown type"),
    ("rowid", "Unknown name 'rowid'"),
    ("filename", "Unknown name 'filename'"),
    ("answers.output", "Unknown name 'answers.output'"),
    ("main.answers.output", "Unknown name"),
    ("information_schema.tables", "Unknown name"),
    ("оutput = 'x'", "Unknown name 'оutput'"),  # the first letter is Cyrillic
    ('"row number" > 1', "Unknown name 'row number'"),
    ("run_id = 'x'", "Unknown name 'run_id'"),
    ("refrence = output", "Did you mean 'reference'?"),
    ("tokn_f1(output, reference)", "Did you mean 'token_f1'?"),
    ("token_f1(output, 5)", "token_f1(s, refs) does not take these arguments. It takes s: a text; refs: a text or"),
    ("recall_at(chunks, chunks)", "k: a whole number"),
    ("contains(output, chunks)::int", "contains(s, part) does not take these arguments"),
    ("m + 1", "'m' is used in its own expression"),
    ("last + 1", "'last' comes later"),
    ("output", "type VARCHAR. Expected a number or true/false"),
    ("[1, 2]", "Expected a number"),
    ("{'a': 1}", "Expected a number"),
    ("null", "Expected a number"),
    ("len(output, 2, 3)", "No function matches"),
    ("(" * 3000 + "1" + ")" * 3000, "nested too deep"),
    ("+".join(["1"] * 3000), "nested too deep, or too long"),
    ("sin(1)", "the function sin of DuckDB is not allowed"),
    ("not " * 900 + "true", ""),
]


@pytest.mark.parametrize(("expression", "part"), HOSTILE, ids=[one[0][:40] for one in HOSTILE])
def test_what_is_no_expression_over_one_row_is_refused(expression: str, part: str) -> None:
    if not part:  # deep, and harmless: it may be run or refused, and no more than that
        try:
            profile_of_text(text_with(expression), "mine.toml")
        except InputError as error:
            assert "mine.toml, metrics.m" in str(error)
        return
    with pytest.raises(InputError) as said:
        profile_of_text(text_with(expression), "mine.toml")
    assert str(said.value).startswith("mine.toml")
    assert part in str(said.value)
    assert "metrics.m" in str(said.value)


@pytest.mark.parametrize(
    "expression",
    [
        "1 -- a comment",
        "1 /* a comment */ + 1",
        "'it''s; -- no comment' = output",
        "1) + (2",
        "list_sum(list_transform(words, lambda w: len(w)))",
        "len([w for w in words if w <> ''])",
        "case when output like 'a%' then 1 else 0.5 end",
        "coalesce(try_cast(output as double), 0)",
        "(output::json->>'$.a')::int between 1 and 3",
        "words[1] in ('a', 'b') and not words is null",
        "token_f1(output, [reference, 'x'])",
        "contains(output, reference)",
        "OUTPUT = Reference",
        "first > 3",
        "output\u200b = 'x'",  # a space for DuckDB, without width for people
        "date_diff('day', date '2020-01-01', output::date)",
    ],
)
def test_what_is_allowed(expression: str) -> None:
    profile_of_text(text_with(expression), "mine.toml")


MISTAKES = [
    ('name = "x"', ["[score] is missing"]),
    ("name = ", ["not TOML"]),
    ('nam = "x"', ["Unknown key 'nam'", "Did you mean 'name'?"]),
    ('name = "x"\nscore = 1', ["$.score"]),
    ('name = "has space"\nscore = "1"', ["name: 'has space'"]),
    ('name = "Upper"\nscore = "1"', ["lower-case"]),
    ('name = "runs"\nscore = "1"', ["'runs' is a view"]),
    ('name = "select"\nscore = "1"', ["a word of SQL"]),
    ('name = "x"\nscore = "1"\nfields.weight = "number"', ["fields.weight", "key column"]),
    ('name = "x"\nscore = "1"\nfields.question_id = "text"', ["key column"]),
    ('name = "x"\nscore = "1"\nmetrics.run_id = "1"', ["metrics.run_id", "key column"]),
    ('name = "x"\nscore = "1"\nmetrics.score = "1"', ["metrics.score"]),
    ('name = "x"\nscore = "1"\nmetrics.order = "1"', ["a word of SQL"]),
    ('name = "x"\nscore = "1"\nmetrics."a b" = "1"', ["'a b' is no name"]),
    ('name = "x"\nscore = "1"\nparams.output = 1', ["params.output", "the answer already"]),
    ('name = "x"\nscore = "1"\nparams.a = 1\nmetrics.A = "1"', ["one of [params] already"]),
    ('name = "x"\nscore = "1"\nparams.a = true', ["$.params"]),
    ('name = "x"\nscore = "1"\nparams.a = nan', ["params.a", "not a number"]),
    ('name = "x"\nscore = "1"\nparams.a = { default = 2, high = 1 }', ["params.a", "too large"]),
    ('name = "x"\nscore = "1"\nfields.a = "txt"', ["fields.a", "Did you mean 'text'?"]),
    ('name = "x"\nscore = "1"\noutputs.a = "number"', ["outputs.a", "list"]),
    ('name = "x"\nscore = "1"\ngroups = ["topic"]', ["groups", "Unknown field 'topic'"]),
    ('name = "x"\nscore = "1"\nany_of = ["a"]', ["any_of", "Unknown field 'a'"]),
    ('name = "x"\nscore = "1"\nheadline = ["a"]', ["headline", "Unknown metric 'a'"]),
    ('name = "x"\nscore = { expr = "1", top = 0 }', ["score.top"]),
    ('name = "x"\nscore = "1"\nfail_reason = "1"', ["fail_reason.expr", "Expected a text"]),
    ('name = "x"\nscore = "1"\nextends = "eval_json"', ["extends", "Did you mean 'eval_json_v2'?"]),
    ('name = "x"\nscore = "1"\nextends = "judge_protocol"', ["judge_protocol", "answer no questions"]),
    ('name = "x"\nscore = "1"\n[[gates]]\nname = "g"\nmetric = "f"\nop = ">="\nlimit = 1',
     ["gates[0].metric", "Unknown metric 'f'"]),
    ('name = "x"\nscore = "1"\n[[gates]]\nname = "g"\nmetric = "score"\nop = "=>"\nlimit = 1', ["gates[0].op", "'=>'"]),
    ('name = "x"\nscore = "1"\n[[gates]]\nname = "g"\nmetric = "score"\nop = ">"\nlimit = inf', ["gates[0]"]),
    ('name = "x"\nscore = "1"\n[[gates]]\nname = "g"\nop = ">"\nlimit = 1\nstat = "meen"', ["gates[0].stat"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "parts"), MISTAKES, ids=[one[0][-40:] for one in MISTAKES])
def test_every_mistake_is_named_with_its_place(text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as said:
        profile_of_text(text, "mine.toml")
    for part in ["mine.toml", *parts]:
        assert part in str(said.value)


def test_a_name_of_a_built_in_profile_is_taken(place: Path, forgotten: Callable[[], None]) -> None:
    put(place / "mine.toml", STRANGER.replace("support_qa", "include_rate"))
    with pytest.raises(InputError, match="known already"):
        registry.get_profile(str(place / "mine.toml"))


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [("none.toml", None, "Cannot read"), ("bytes.toml", b"name = '\xff'", "not UTF-8")],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, part: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=part):
        registry.get_profile(str(tmp_path / name))


# --- what is computed -----------------------------------------------------------------------------------------------


def scored(
    text: str, answers: Sequence[str | None], questions: Sequence[dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """The columns of a file's profile for answers, each to a question of its own."""
    profile = profile_of_text(text, "mine.toml")
    objects = questions or [{"reference": "x"}] * len(answers)
    ids = tuple(f"q{k}" for k in range(len(objects)))
    eval_set = EvalSet(ids, tuple(objects), (None,) * len(objects), weights=(1.0,) * len(objects))
    prepared = profile.scoring.prepare(eval_set, profile.read_params({}))
    rows: list[dict[str, Any]] = pa.table(profile.scoring.score(prepared, batch(answers)).columns).to_pylist()
    return rows


def batch(answers: Sequence[str | None]) -> pa.RecordBatch:
    rows = [
        {"run_id": "r", "question": k, "repeat": 0, "input": 0, "line": k, "output": output, "chunks": None}
        for k, output in enumerate(answers)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=BATCH)


def test_an_expression_that_fails_on_a_row_is_null_there_and_says_so() -> None:
    rows = scored(text_with("output::double"), ["1.5", "no number", "", None, "2"])
    assert [row["m"] for row in rows] == [1.5, None, None, None, 2.0]
    assert [row["fail_detail"] for row in rows] == [None, *["m: the expression failed"] * 3, None]
    assert [row["fail_reason"] for row in rows] == [None, "expression_failed", "empty_output", "empty_output", None]
    assert [row["first"] for row in rows] == [3.0, 9.0, 0.0, 0.0, 1.0], "the other metrics go on"


def test_what_is_no_finite_number_is_null_and_says_so() -> None:
    text = text_with("case output when 'a' then 'nan' when 'b' then '-inf' else '1' end::double")
    rows = scored(text, ["a", "b", "c"])
    assert [row["m"] for row in rows] == [None, None, 1.0]
    assert [row["fail_detail"] for row in rows] == ["m: not a finite number"] * 2 + [None]


def test_a_failing_row_does_not_depend_on_its_batch() -> None:
    answers = [str(k) if k % 3 else f"x{k}" for k in range(50)]
    whole = scored(text_with("output::double"), answers)
    alone = [scored(text_with("output::double"), [answer])[0] for answer in answers[:9]]
    assert whole[:9] == alone


def test_the_order_of_details_is_that_of_the_metrics() -> None:
    text = 'name = "mine"\nscore = "1"\nmetrics.a = "output::int"\nmetrics.b = "right(output, 2)::int"\n'
    answers = ["x1"] + ["11"] * 5_000 + ["1x", "xx"]
    rows = scored(text, answers)
    failed = "the expression failed"
    assert rows[0]["fail_detail"] == f"a: {failed}; b: {failed}"
    assert [row["fail_detail"] for row in rows[-2:]] == [f"a: {failed}; b: {failed}"] * 2
    assert {row["fail_detail"] for row in rows[1:-2]} == {None}


def test_rows_keep_their_order() -> None:
    answers: list[str | None] = [str(k) for k in range(10_000)]
    assert [row["m"] for row in scored(text_with("output::double"), answers)] == list(range(10_000))


def test_answers_to_the_same_questions_in_any_order() -> None:
    """A call alone, which goes past DuckDB, gives what it gives inside an expression; so does a value of the question
    alone, which is worked out once for each question and may fail there."""
    text = """
name = "mine"
score = "direct"
[fields]
reference = "text|list"
n = "text"
[let]
gold = "list_transform(reference, lambda one: lower(one))"
[metrics]
direct = "token_f1(output, gold)"
within = "coalesce(token_f1(output, gold), null)"
number = "numbers_supported(output, chunks)"
number_within = "coalesce(numbers_supported(output, chunks), null)"
hits = "recall_at(gold, reference, 2)"
hits_within = "0 + recall_at(gold, reference, 2)"
of_question = "n::double"
again = "direct"
"""
    profile = profile_of_text(text, "mine.toml")
    objects = (
        {"reference": ["red car", "a bus"], "n": "1"},
        {"reference": "BUS 5", "n": "x"},
        {"reference": [], "n": "3"},
    )
    chunks = {"a": json.dumps(["it has 5"]), "b": json.dumps([{"text": "12"}])}
    eval_set = EvalSet(("a", "b", "c"), objects, (None,) * 3, weights=(1.0,) * 3, chunks=chunks)
    prepared = profile.scoring.prepare(eval_set, profile.read_params({}))
    answers = ["bus", "red 5", None, "the bus 12", "car 5 12"]
    rows = [
        {
            "run_id": f"r{k}",
            "question": (k * 2) % 3,
            "repeat": 0,
            "input": 0,
            "line": k,
            "chunks": own,
            "output": answer,
        }
        for k, (answer, own) in enumerate(itertools.product(answers, (None, json.dumps(["5"]), None)))
    ]
    score = profile.scoring.score
    together = score(prepared, pa.RecordBatch.from_pylist(rows, schema=BATCH)).columns
    for k, row in enumerate(rows):
        alone = score(prepared, pa.RecordBatch.from_pylist([row], schema=BATCH)).columns
        assert {name: column[k].as_py() for name, column in together.items()} == {
            name: column[0].as_py() for name, column in alone.items()
        }
    for one, other in (("direct", "within"), ("number", "number_within"), ("hits", "hits_within"), ("direct", "again")):
        assert together[one].equals(together[other]), one
    assert set(together["of_question"].to_pylist()) == {1.0, None, 3.0}
    failed = [row["question"] == 1 for row in rows]
    assert [detail is not None and "of_question" in detail for detail in together["fail_detail"].to_pylist()] == failed


def test_fields_params_values_and_chunks() -> None:
    text = """
name = "mine"
score = "m"
[fields]
n = "number?"
yes = "boolean?"
items = "list?"
either = "text|list?"
anything = "json?"
"größe" = "text?"
[params]
k = 2
name_of = "it's"
several = ["a", "b"]
[let]
lengths = "list_transform(items, lambda item: len(item))"
[metrics]
a = "n * k"
b = "yes"
c = "list_sum(lengths)"
d = "len(either)"
e = "(anything->>'$.x[1]')::double"
f = "name_of = output"
g = "list_contains(several, output)"
h = "größe = 'L'"
m = "a + 1"
"""
    questions: list[dict[str, Any]] = [
        {"n": 1.5, "yes": True, "items": ["ab", 7, None], "either": "one", "anything": {"x": [1, 2]}, "größe": "L"},
        {"either": ["one", "two"]},
    ]
    first, second = scored(text, ["it's", "b"], questions)
    assert [first[name] for name in "abcdefghm"] == [3.0, 1.0, 3.0, 1.0, 2.0, 1.0, 0.0, 1.0, 4.0]
    assert [second[name] for name in "abcdefghm"] == [None, None, None, 2.0, None, 0.0, 1.0, None, None]


def test_chunks_are_the_rows_own_else_those_of_the_question() -> None:
    text = 'name = "mine"\nscore = "coalesce(len(chunks), -1)"\nmetrics.first = "chunks[1] = \'own\'"'
    profile = profile_of_text(text, "mine.toml")
    eval_set = EvalSet(
        ("a", "b"),
        ({}, {}),
        (None, None),
        weights=(1.0, 1.0),
        chunks={"a": '[{"source_path": "p", "text": "x"}, {"text": "y"}]'},
    )
    prepared = profile.scoring.prepare(eval_set, {})
    rows = [
        {"run_id": "r", "question": q, "repeat": k, "input": 0, "line": k, "output": "o", "chunks": chunks}
        for k, (q, chunks) in enumerate([(0, None), (0, '["own"]'), (1, None), (1, "[]"), (0, "[]"), (1, '["own", 7]')])
    ]
    found = pa.table(profile.scoring.score(prepared, pa.RecordBatch.from_pylist(rows, schema=BATCH)).columns)
    assert found.column("score").to_pylist() == [2.0, 1.0, -1.0, -1.0, -1.0, 1.0]
    assert found.column("first").to_pylist() == [0.0, 1.0, None, None, None, 1.0]


def test_a_missing_answer_is_zero_where_more_is_better_and_nothing_where_less_is(tmp_path: Path) -> None:
    text = 'name = "mine_missing"\nscore = "1"\nmetrics.a = "1"\nmetrics.b = { expr = "1", higher_is_better = false }\n'
    put(tmp_path / "mine.toml", text)
    rows = [{"run_id": "r", "question_id": "a", "output": "x"}]
    found = rageval_batch.score(rows, [{"id": "a"}, {"id": "b"}], profile=str(tmp_path / "mine.toml")).scores.to_dicts()
    assert [(row["score"], row["a"], row["b"], row["fail_reason"]) for row in found] == [
        (1.0, 1.0, 1.0, None), (0.0, 0.0, None, "missing_output"),
    ]  # fmt: skip


def test_a_question_without_a_required_field_is_refused(call: Call, place: Path, forgotten: Callable[[], None]) -> None:
    put(place / "questions.jsonl", [{"id": "a"}, {"id": "b", "reference": 7}])
    code, _, err = score(call, place)
    assert code == 2
    assert "reference" in err


@pytest.mark.parametrize("name", ["reference", "retrieval"])
def test_packaged_files_are_good(name: str) -> None:
    profile: Profile = registry.get_profile(name)
    check_expressions(profile)
    assert profile.content is not None


# --- values that sums cannot hold ---------------------------------------------------------------------------------

LARGE = 'name = "large"\nfields = { reference = "text" }\nscore = "1"\n[metrics]\nm = "try_cast(output as TYPE)"\n'


def large_store(call: Call, place: Path, outputs: Sequence[str], type_: str = "double") -> Path:
    """A store with a run `a` whose metric m is what the outputs say."""
    put(place / "q.jsonl", [{"id": f"q{k}", "reference": "x"} for k, _ in enumerate(outputs)])
    rows = [{"run_id": "a", "question_id": f"q{k}", "output": output} for k, output in enumerate(outputs)]
    put(place / "o.jsonl", rows)
    put(place / "large.toml", LARGE.replace("TYPE", type_))
    store = place / "large_runs"
    code, _, err = call(
        "score", place / "o.jsonl", "-q", place / "q.jsonl", "-p", place / "large.toml", "--store", store
    )
    assert code == 0, err
    return store


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    ("type_", "outputs"),
    [
        ("double", ["1e20", "5"]),
        ("double", ["-1.1e12", "5"]),
        ("bigint", ["9007199254740993", "5"]),
        ("hugeint", ["170141183460469231731687303715884105727", "5"]),
    ],
)
def test_a_value_beyond_what_sums_hold_is_null(call: Call, place: Path, type_: str, outputs: list[str]) -> None:
    """It is null with a detail, the mean is that of the others, and every command can read the store."""
    store = large_store(call, place, outputs, type_)
    code, out, err = call(
        "sql", "select m, fail_detail from large order by question_id", "--store", store, "--format", "json"
    )
    assert code == 0, err
    assert json.loads(out) == [
        {
            "m": None,
            "fail_detail": "m: beyond 1,000,000,000,000, more than sums hold: it counts as null",
        },
        {"m": 5.0, "fail_detail": None},
    ]
    code, out, err = call("explain", "a", "q0", "--store", store)
    assert code == 0 and "more than sums hold" in out, err


@pytest.mark.usefixtures("forgotten")
def test_large_values_have_all_statistics(call: Call, place: Path) -> None:
    """By hand: 1e12 and 0 have the mean 5e11 and deviate by that; their squares alone would not fit."""
    store = large_store(call, place, ["1e12", "0"])
    query = "select mean, std, max from run_summary where metric = 'm'"
    code, out, err = call("sql", query, "--store", store, "--format", "json")
    assert code == 0, err
    assert json.loads(out) == [{"mean": 5e11, "std": 5e11, "max": 1e12}]


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("outputs", [["1e20", "5"], ["9e19", "9e19"]])
def test_a_store_that_has_larger_values_can_be_read(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch, outputs: list[str]
) -> None:
    """Statistics that overflow are null, the others stand."""
    monkeypatch.setattr("rageval_batch.profiles.files.program.LARGEST", float("inf"))
    store = large_store(call, place, outputs)
    for words in (["runs"], ["leaderboard"], ["show", "a"], ["gate", "a"], ["explain", "a", "q0"],
                  ["compare", "a", "a", "--metric", "m"], ["compare", "a", "a"]):  # fmt: skip
        code, _, err = call(*words, "--store", store)
        assert code in (0, 1, 2), err
        assert "Traceback" not in err
    query = "select mean, std, max, n_scored from run_summary where metric = 'm'"
    code, out, err = call("sql", query, "--store", store, "--format", "json")
    assert code == 0, err
    assert json.loads(out) == [{"mean": None, "std": None, "max": float(outputs[0]), "n_scored": 2}]


@pytest.mark.usefixtures("forgotten")
def test_metrics_may_be_called_like_parameters_of_macros(call: Call, place: Path) -> None:
    """SQL of ours names the columns of score rows by their table, so that no parameter of a macro is taken for them."""
    names = (
        "base",
        "cand",
        "base_set",
        "candidates",
        "of_profile",
        "of_metric",
        "stat",
        "x",
        "w",
        "top",
        "totals",
        "wanted",
    )
    metrics = "".join(f'{name} = "0.5"\n' for name in names)
    put(place / "mine.toml", f'name = "names"\nfields = {{ reference = "text" }}\nscore = "1"\n[metrics]\n{metrics}')
    code, _, err = score(call, place)
    assert code == 0, err
    for words in (["compare", "good", "poor"], ["compare", "good", "poor", "--metric", "base"], ["show", "good"],
                  ["explain", "good", "a"], ["leaderboard"], ["sql", "from regressions('good', 'poor')"]):  # fmt: skip
        code, _, err = call(*words, "--store", place / "runs")
        assert code in (0, 1), err


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (
            '[metrics]\nx = "1"\nm = { expr = "1", higher = true }',
            r"\$.metrics.m: Unknown key 'higher'.*higher_is_better",
        ),
        ('[metrics]\nx = "1"\nm = 5', r"\$.metrics.m: Expected"),
        ('[metrics]\nm = { doc = "d" }', r"\$.metrics.m: expr is missing"),
        ('[metrics]\nm = "1"\n[params]\nlim = { defualt = 1 }', r"\$.params.lim: .*default"),
    ],
)
def test_a_wrong_key_is_named_with_its_entry(table: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        profile_of_text(f'name = "keys"\nscore = "1"\n{table}\n', "keys.toml")
