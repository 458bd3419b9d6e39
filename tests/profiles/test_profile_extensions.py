"""Profiles that extend a built-in one, and profiles declared in Python with functions of one row."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import rageval_batch
from rageval_batch import declare_profile, row_metric
from rageval_batch.errors import DeclarationError, InputError
from rageval_batch.profiles import registry
from rageval_batch.profiles.registry import get_profile, profile_of_text
from rageval_batch.runs.batch import score_batch, scorer
from support.cases import Case, batch_of, cases, score_rows
from support.inputs import put

STRICTER = """
name = "include_strict"
extends = "include_rate"
[fields]
topic = "text?"
[params]
longest = 5
[metrics]
short = "len(output) <= longest"
include_rate = "include_rate * short::double"
[score]
expr = "score * include_rate"
[[gates]]
name = "short"
metric = "short"
op = ">="
limit = 1
"""
QUESTIONS = [
    {"id": "a", "question": "?", "must_include": ["Rome"], "topic": "cities"},
    {"id": "b", "question": "?", "must_include": ["seven"]},
]
ROWS = [
    {"run_id": "r", "question_id": "a", "output": "Rome"},
    {"run_id": "r", "question_id": "b", "output": "it is seven"},
    {"run_id": "s", "question_id": "a", "output": "Rome"},
]


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROFILES", "_REFERENCES", "_KEPT"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


def test_derived_metrics_are_added_and_replace_those_of_the_base(tmp_path: Path) -> None:
    """By hand: the base gives 1 for both answers; the second is longer than 5."""
    put(tmp_path / "strict.toml", STRICTER)
    found = rageval_batch.score(ROWS, QUESTIONS, profile=str(tmp_path / "strict.toml"), store=tmp_path / "runs")
    rows = {(row["run_id"], row["question_id"]): row for row in found.scores.to_dicts()}
    wanted = {("r", "a"): (1.0, 1.0, 1.0), ("r", "b"): (0.0, 0.0, 0.0), ("s", "b"): (0.0, 0.0, 0.0)}
    for key, values in wanted.items():
        assert tuple(rows[key][name] for name in ("score", "short", "include_rate")) == values
    assert rows["r", "b"]["include_hits"] == 1, "columns of the base are there as they are"
    assert rows["s", "b"]["fail_reason"] == "missing_output"
    (tmp_path / "strict.toml").unlink()
    with rageval_batch.open_store(tmp_path / "runs") as session:
        gates = session.rows("select run_id, gate, actual, status from gate_results order by all")
    assert [(row["run_id"], row["gate"], row["actual"], row["status"]) for row in gates] == [
        ("r", "short", 0.5, "failed"), ("s", "short", 0.5, "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize("base", ["eval_json_v2", "include_rate", "claim_evidence", "legal_rag"])
def test_an_extension_leaves_the_columns_of_its_base_as_they_are(base: str) -> None:
    """And of every profile: its explanation, its gates, its metrics come with it."""
    text = f'name = "more"\nextends = "{base}"\nmetrics.twice = "2 * score"\n'
    extension, own = profile_of_text(text, "more.toml"), get_profile(base)
    answers = [Case(one.question, one.output, chunks=one.chunks) for one in cases(base) if not one.params][:40]
    more, before = score_rows(extension, answers, {}), score_rows(own, answers, {})
    for now, then in zip(more, before, strict=True):
        assert now["twice"] == (None if then["score"] is None else 2 * then["score"])
        then.pop("fail_reason" if then["fail_reason"] is None else "score")
        assert {name: now[name] for name in then if name != "fail_detail"} == {
            name: value for name, value in then.items() if name != "fail_detail"
        }
    assert {one.name for one in extension.metrics} == {one.name for one in own.metrics} | {"twice"}
    assert extension.gates == own.gates
    case = answers[0]
    ready = extension.scoring.prepare(*_eval_set(case, extension))
    explained = extension.scoring.explain(ready, batch_of(extension, [case]))
    assert [part.name for part in explained.sections][-2:] == ["metrics", "inputs"]


def _eval_set(case: Case, profile: Any) -> tuple[Any, Any]:
    from rageval_batch.model import EvalSet

    chunks = {"q": json.dumps(case.chunks)} if case.chunks is not None else {}
    return EvalSet(("q",), (case.question,), (None,), weights=(1.0,), chunks=chunks), profile.read_params({})


def test_an_extension_of_a_packaged_file(tmp_path: Path) -> None:
    text = (
        'name = "brief"\nextends = "reference"\nscore = "token_f1 * brief::int"\nmetrics.brief = "len(output) < 10"\n'
    )
    put(tmp_path / "brief.toml", text)
    questions = [{"id": "a", "reference": "Rome", "category": "x"}, {"id": "b", "reference": "it is seven"}]
    found = rageval_batch.score(ROWS[:2], questions, profile=str(tmp_path / "brief.toml")).scores.to_dicts()
    assert [(row["score"], row["token_f1"], row["brief"]) for row in found] == [(1.0, 1.0, 1.0), (0.0, 1.0, 0.0)]
    assert found[0]["question_fields"] == [("category", "x")] or found[0]["question_fields"] == {"category": "x"}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('extends = "include_rate"\nname = "include_rate"', "a name of its own"),
        ('extends = "include_rate"\nname = "x"\nparams.w_safe = 1', "a parameter of include_rate already"),
        ('extends = "include_rate"\nname = "x"\nfields.safe_ok = "text"', "a column of include_rate already"),
        ('extends = "include_rate"\nname = "x"\nmetrics.m = "safe_okk"', "Did you mean 'safe_ok'?"),
        ('extends = "include_rate"\nname = "x"\noutputs.ids = "list"', "Leave the table out"),
    ],
)
def test_what_an_extension_may_not_do(text: str, part: str) -> None:
    with pytest.raises(InputError) as said:
        profile_of_text(text, "more.toml")
    assert part in str(said.value)


# --- functions of one row -------------------------------------------------------------------------------------------


@row_metric
def vowels(output: str, least: int) -> float | None:
    """Share of vowels, null for an empty answer."""
    if output == "broken":
        raise ValueError("no vowels here")
    found = sum(letter in "aeiou" for letter in output)
    return found / len(output) if output and found >= least else None


@row_metric(higher_is_better=False, scale=None)
def same(f1: float, chunks: list[str] | None) -> bool:
    """Whether the metric before it is 1."""
    return f1 == 1 and chunks is None


PYTHON = declare_profile(
    name="python_metrics",
    title="Metrics in Python",
    fields={"reference": "text"},
    params={"least": 1},
    metrics={"f1": "token_f1(output, reference)", "vowels": vowels, "same": same, "more": "vowels + f1"},
    score="coalesce(vowels, 0)",
    gates=[{"name": "f1", "metric": "f1", "op": ">=", "limit": 0.5}],
)


def test_a_function_of_one_row_is_a_metric_like_any_other() -> None:
    answers = [Case({"reference": "aero"}, output) for output in ("aero", "xyz", "broken", None)]
    rows = score_rows(PYTHON, answers, {})
    assert [row["vowels"] for row in rows] == [0.75, None, None, None]
    assert [row["same"] for row in rows] == [1.0, 0.0, 0.0, 0.0]
    assert [row["more"] for row in rows] == [1.75, None, None, None]
    assert [row["fail_detail"] for row in rows] == [None, None, "vowels: the expression failed", None]
    metrics = {one.name: one for one in PYTHON.metrics}
    assert metrics["vowels"].doc == "Share of vowels, null for an empty answer."
    assert (metrics["same"].higher_is_better, metrics["same"].scale) == (False, None)
    case = answers[2]
    ready = PYTHON.scoring.prepare(*_eval_set(case, PYTHON))
    lines = PYTHON.scoring.explain(ready, batch_of(PYTHON, [case])).sections[0].lines
    (line,) = [line for line in lines if line["name"] == "vowels"]
    assert (line["expression"], line["failed"]) == ("Python function vowels", "ValueError: no vowels here")


def test_a_change_of_its_code_is_another_revision() -> None:
    @row_metric
    def vowels(output: str) -> float:
        return 1.0

    again = declare_profile(name="python_metrics", metrics={"vowels": vowels}, score="vowels")

    @row_metric  # type: ignore[no-redef]
    def vowels(output: str) -> float:
        return 0.0

    other = declare_profile(name="python_metrics", metrics={"vowels": vowels}, score="vowels")
    assert again.revision != other.revision


def test_its_scorer_can_be_pickled() -> None:
    case = Case({"reference": "aero"}, "aero")
    eval_set, params = _eval_set(case, PYTHON)
    sent = pickle.loads(pickle.dumps(scorer(PYTHON, params, eval_set)))
    assert score_batch(sent, batch_of(PYTHON, [case])).scores.column("score").to_pylist() == [0.75]


@pytest.mark.parametrize(
    ("tables", "part"),
    [
        ({"metrics": {"v": vowels}, "score": "v"}, "Unknown name 'least'"),
        ({"metrics": {"v": "1 +"}, "score": "v"}, "metrics.v"),
        ({"metrics": {}, "score": "1", "nothing": 1}, "nothing"),
    ],
)
def test_a_declaration_that_contradicts_itself(tables: dict[str, Any], part: str) -> None:
    with pytest.raises(DeclarationError) as said:
        declare_profile(name="mine", **tables)
    assert part in str(said.value)


def test_parameters_must_have_plain_names() -> None:
    def takes_anything(*values: Any) -> float:
        return 1.0

    with pytest.raises(DeclarationError, match="plain names"):
        row_metric(takes_anything)


def test_a_module_with_a_declared_profile_is_used_by_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(
        tmp_path / "mine.py",
        """
from rageval_batch import declare_profile, row_metric

@row_metric
def shouted(output):
    return output.isupper()

PROFILE = declare_profile(name="shouting", metrics={"shouted": shouted}, score="shouted")
""",
    )
    found = rageval_batch.score(
        [{"run_id": "r", "question_id": "a", "output": "LOUD"}], [{"id": "a"}], profile=f"{tmp_path}/mine.py:PROFILE"
    )
    assert found.scores["score"].to_list() == [1.0]
