"""The oracle of include_rate against hand-computed cases and hostile rows."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from oracles import include_rate
from support.places import CASES_FOLDER

CASES = [
    json.loads(line) for line in (CASES_FOLDER / "include_rate.jsonl").read_text(encoding="utf-8").split("\n") if line
]
COLUMNS = {
    "weight": float,
    "score": float,
    "include_hits": int,
    "include_total": int,
    "include_rate": float,
    "exclude_hits": int,
    "safe_ok": float,
    "require_citation": bool,
    "citation_ok": bool,
    "citation_penalty": float,
    "fail_reason": str,
}
NASTY = ["\ud800", "\x00", "более\ud800", "5\x00 5", "( " * 5000, "1 " * 5000, "\u0308" * 5000, "стр." * 5000]


def same(got: object, want: object) -> bool:
    """Equal, with floats to the last digits that a hand computes."""
    if isinstance(want, float):
        return isinstance(got, float) and math.isclose(got, want, rel_tol=0, abs_tol=1e-12)
    return type(got) is type(want) and got == want


def test_case_names_are_unique() -> None:
    names = [case["name"] for case in CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    got = include_rate.score(
        case["question"], case["output"], missing=case.get("missing", False), params=case.get("params")
    )
    assert list(got) == list(COLUMNS)
    assert {"score", "fail_reason"} <= case["want"].keys() <= got.keys()
    assert all(value is None or type(value) is COLUMNS[name] for name, value in got.items())
    assert include_rate.question_error(case["question"]) is None
    wrong = {name: (got[name], want) for name, want in case["want"].items() if not same(got[name], want)}
    assert not wrong


@pytest.mark.parametrize("normalizer", include_rate.NORMALIZERS)
@pytest.mark.parametrize("output", NASTY)
def test_hostile_text(output: str, normalizer: str) -> None:
    nested: list[Any] = []
    for _ in range(5000):
        nested = [nested]
    question = {
        "must_include": [*NASTY, None, True, {}, nested, 10**5000, float("nan")],
        "must_include_any": [NASTY, nested, None, 10**5000],
        "must_not_include": [None, nested, *NASTY],
        "require_citation": True,
    }
    row = include_rate.score(question, output, params={"normalizer": normalizer})
    assert row["include_total"] == len(NASTY) + 6 + 4
    assert 0.0 <= row["score"] <= 1.0


@pytest.mark.parametrize("field", ["must_include", "must_include_any", "must_not_include"])
@pytest.mark.parametrize("value", ["text", 5, {"a": 1}, True])
def test_a_field_that_is_no_list_is_an_input_error(field: str, value: object) -> None:
    question = {"id": "q7", "question": "?", field: value}
    assert "q7" in (include_rate.question_error(question) or "")
    assert include_rate.score(question, "text 5")["score"] == 1.0


@pytest.mark.parametrize("weight", [-1, -1e-9, math.inf, -math.inf, math.nan, 10**400, "2", True, []])
def test_a_bad_weight_is_an_input_error_that_names_the_question(weight: object) -> None:
    question = {"id": "q7", "question": "?", "weight": weight}
    assert "q7" in (include_rate.question_error(question) or "")
    assert include_rate.score(question, "text")["weight"] is None


@pytest.mark.parametrize("question", [{}, {"id": None}, {"id": ""}, {"id": "q"}, {"id": "q", "question": None}])
def test_id_and_question_are_required(question: dict[str, Any]) -> None:
    assert include_rate.question_error(question) is not None


@pytest.mark.parametrize(
    ("rows", "want"),
    [
        ([], None),
        ([(1.0, 0.0), (0.5, 0.0)], None),
        ([(1.0, 1.0), (0.5, 3.0)], 0.625),
        ([(1.0, 0.0), (0.25, 2.0)], 0.25),
        ([(1.0, 1e308), (0.0, 1e308)], 0.5),
    ],
)
def test_weighted_score(rows: list[tuple[float, float]], want: float | None) -> None:
    assert include_rate.weighted_score([{"score": s, "weight": w} for s, w in rows]) == want


def test_repeats_of_a_question_count_once() -> None:
    rows = [
        {"question_id": "a", "score": 1.0, "weight": 1.0},
        {"question_id": "a", "score": 0.5, "weight": 1.0},
        {"question_id": "b", "score": 0.25, "weight": 1.0},
    ]
    assert include_rate.weighted_score(rows) == 0.5
