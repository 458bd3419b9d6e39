"""The slow scorer of page 50 and its readers of values, against hand-made tables."""

import json
from decimal import Decimal
from typing import Any

import pytest

from oracles.legal_rag import question_type, score
from oracles.text import keywords, soft_match, squash
from oracles.values import (
    date_ranges,
    dates,
    first_boolean,
    names,
    numbers,
    page_citations,
    sentences,
)
from support.places import CASES_FOLDER


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES_FOLDER / name).read_text(encoding="utf-8").splitlines()]


TABLE = lines("values_table.jsonl")
ROWS = lines("legal_rag.jsonl")
COLUMNS = {
    *("question_type", "weight", "score", "passed", "exact_match", "citation_correctness", "evidence_recall"),
    *("evidence_precision", "citation_provided", "abstained", "correct_abstention", "no_hallucination", "inventions"),
    *("quote_included", "difficulty", "category", "tags", "fail_reason"),
}


@pytest.mark.parametrize("row", TABLE, ids=[row["text"] for row in TABLE])
def test_values_table(row: dict[str, Any]) -> None:
    text = row["text"]
    want = [(Decimal(value), unit, *(kind or ["exact"])) for value, unit, *kind in row["numbers"]]
    assert [(n.value, n.unit, n.kind) for n in numbers(text)] == want
    assert [date.iso for date in dates(text)] == row["dates"]


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_cases(row: dict[str, Any]) -> None:
    got = score(row["question"], row["output"], missing=row.get("missing", False), params=row.get("params"))
    assert set(got) == COLUMNS
    for column, want in row["want"].items():
        if isinstance(want, float) and got[column] is not None:
            assert got[column] == pytest.approx(want, abs=1e-9), column
        else:
            assert got[column] == want, column


def test_tables_are_large_enough() -> None:
    assert len(TABLE) >= 400
    assert len(ROWS) >= 70
    assert len({row["name"] for row in ROWS}) == len(ROWS)
    assert all({"score", "fail_reason"} <= set(row["want"]) for row in ROWS)


def test_spans_point_into_the_raw_text() -> None:
    text = "①甲方于２０２０年８月３０日付㍿４２，０００元，王建国律师说「都忘了」。"
    assert [text[n.start : n.end] for n in numbers(text)] == ["４２，０００元"]
    assert [text[d.start : d.end] for d in dates(text)] == ["２０２０年８月３０日"]
    assert [text[n.start : n.end] for n in names(text)] == ["王建国律师", "「都忘了」"]


def test_sentences_end_at_marks_and_newlines() -> None:
    text = "一。二！三？四!五?六；七;八\n九 3.5"
    assert [text[a:b] for a, b in sentences(text)] == [*"一二三四五六七八", "九 3.5"]


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("第4页", [4]),
        ("第 12 頁", [12]),
        ("第四页", [4]),
        ("第4-6页", [4, 5, 6]),
        ("第4、6页", [4, 6]),
        ("p. 4", [4]),
        ("P.4", [4]),
        ("pp. 4-5", [4, 5]),
        ("page 12", [12]),
        ("Pages 3 & 5", [3, 5]),
        ("（第2页）和p. 9", [2, 9]),
        ("第1-999999999页", [1, 999999999]),
        ("共4页", []),
        ("stop 4", []),
        ("105-107行", []),
    ],
)
def test_page_citations(text: str, pages: list[int]) -> None:
    assert [citation.page for citation in page_citations(text)] == pages


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("2020年8月1日至30日", ("2020-08-01", "2020-08-30")),
        ("从2020-08-01到2020-08-30", ("2020-08-01", "2020-08-30")),
        ("2020年12月30日—2021年1月2日", ("2020-12-30", "2021-01-02")),
        ("二〇二〇年八月一日至九月三日", ("2020-08-01", "2020-09-03")),
        ("2020年2月1日至30日", None),
        ("2020年8月1日，2020年8月30日", None),
    ],
)
def test_date_ranges(text: str, ends: tuple[str, str] | None) -> None:
    assert [(a.iso, b.iso) for a, b in date_ranges(text)] == ([ends] if ends else [])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("是", True),
        ("否", False),
        ("有", True),
        ("没有", False),
        ("沒有", False),
        ("不是", False),
        ("YES", True),
        ("no", False),
        ("True", True),
        ("false", False),
        ("是否付款？没有", False),
        ("有没有？有", True),
        ("某某有限公司没有付款", False),
        ("No. 5: yes", True),
        ("nothing known", None),
        ("国有企业不承担责任", False),
        ("国有企业", None),
        ("中国有规定", True),
        ("不清楚", None),
        ("不同意", False),
        ("能不能付款", None),
        ("如不付款，有责任", True),
        ("没收到", False),
        ("没收", None),
        ("未付款", False),
        ("但是否付款", None),
        ("да", True),
        ("нет", False),
        ("неда", None),
        ("はい、そうです", True),
        ("してはいけない", None),
        ("いいえ", False),
        ("no later than May", None),
        ("", None),
    ],
)
def test_first_boolean(text: str, want: bool | None) -> None:
    assert first_boolean(text) is want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("张局长", ["张局长"]),
        ("王建国律师", ["王建国律师"]),
        ("向张局长付款", ["张局长"]),
        ("欧阳律师", []),
        ("张三", []),
        ("对方律师", []),
        ("任何律师", []),
        ("「海云酒楼」", ["海云酒楼"]),
        ("『甲』", []),
        ("“乙公司”", ["乙公司"]),
        ('"ABC"', ["ABC"]),
        ("「一二三四五六七八九十一二」", ["一二三四五六七八九十一二"]),
        ("「一二三四五六七八九十一二三」", []),
        ("「没有结束", []),
        ("Mr. Chen", ["Chen"]),
        ("Mrs.Ōta and Dr. Who", ["Ōta", "Who"]),
        ("Mr. nobody", []),
    ],
)
def test_names(text: str, want: list[str]) -> None:
    assert [name.text for name in names(text)] == want


def test_question_type_comes_from_the_question_then_the_file() -> None:
    assert question_type({"id": "a", "type": "evidence_set"}, {"benchmark_type": "fact_exact"}) == "evidence_set"
    assert question_type({"id": "a"}, {"benchmark_type": "fact_exact"}) == "fact_exact"
    with pytest.raises(ValueError, match=r"'q7'.*'essay'"):
        question_type({"id": "q7", "type": "essay"}, {"benchmark_type": "fact_exact"})
    with pytest.raises(ValueError, match="'q8'"):
        question_type({"id": "q8"}, {})


def test_text_primitives() -> None:
    assert squash("餐 飲\u3000服\n務\x85部") == "餐飲服務部"
    assert not soft_match("餐飲服務部", "餐飲服務處")
    assert soft_match("餐飲", "餐飲服務處")
    assert not soft_match("", "餐飲")
    assert keywords("門禁V-Pass手冊 v-pass ab") == ["v-pass", "門禁", "手冊"]


HOSTILE = [
    "\ud800",
    "\x00" * 50,
    "{" * 5000,
    '{"answer":' + "[" * 5000 + "]" * 5000 + "}",
    '{"answer":' + "[" * 150 + "]" * 150 + "}",
    '{"amount":' + "9" * 5000 + "}",
    '{"amount":1e999999999999}',
    '{"amount":-1e-99999}',
    '{"amount":1e5000,"count":"' + "9" * 5000 + '"}',
    "9" * 5000 + "元",
    "九" * 5000 + "元",
    "4万" * 300,
    "第1、" * 3000,
    "1-1" * 3000,
    "2020年" * 3000,
    "2020-08-30~" * 2000,
    "百分之" * 2000,
    "点" * 2000 + "三点" * 2000,
    "「" * 3000 + "”\"'" * 1000,
    "张" * 3000 + "局长" * 1000,
    "Mr." * 3000,
    '{"evidence":[null,1,"a",{"page":{}},{"page":[1],"text":{"a":1}},{"page":true}],"citations":7}',
    '{"date_range":[1,2],"date":{"a":1},"entity":[],"text":5,"boolean":"maybe","amount_breakdown":[{"amount":"x"},3]}',
    '{"answer":"\\ud800"}',
    '{"a":1,"a":2}',
    "NaN",
    "null",
    "[]",
    "字" * 50_000,
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "type": "fact_exact",
        "question": "\ud800 ?",
        "expected": {
            "amount_total": 10**5000,
            "amount_breakdown": [{"amount": None}, "x", 5],
            "date": "never",
            "date_range": {"start": "2020-08-01", "end": 5},
            "count": float("nan"),
            "text_answer": {"a": [1]},
            "boolean_answer": "yes",
            "entity": 10**5000,
        },
        "required_evidence": [{"page": 10**5000, "must_include": None}, 7, {"page": float("inf")}],
        "weight": 10**5000,
        "scoring": {"numeric_exact": False, "date_exact": False},
        "metadata": {"tags": "x"},
    },
    {
        "type": "evidence_set",
        "expected": {"key_points": ["", None, 5, "要点"], "evidence_count_min": "two"},
        "required_evidence": {"page": 1, "must_include": "要点"},
        "scoring": [],
    },
    {"type": "conflict_gap", "question": None, "required_quote": "…", "additional_quotes": [3, None, "a...b"]},
    {"type": "conflict_gap", "should_abstain": "no", "hallucination_penalty": 7, "expected": "x"},
]


LONGER_NUMBER = '{"amount":1e15000,"count":"' + "9" * 5000 + '"}'


@pytest.mark.parametrize(
    "output", [*HOSTILE, pytest.param(LONGER_NUMBER, marks=pytest.mark.soak)], ids=[*range(len(HOSTILE)), "longer"]
)
def test_hostile_input_is_scored(output: str) -> None:
    for question in QUESTIONS:
        got = score(question, output)
        assert 0 <= got["score"] <= 1
        assert set(got) == COLUMNS


def test_long_integers_stay_exact() -> None:
    digits = "7" * 5000
    question = {"type": "fact_exact", "expected": {"amount_total": digits}, "scoring": {"citation_required": False}}
    assert score(question, '{"amount":' + digits + "}")["exact_match"] == 1.0
    assert score(question, '{"amount":' + digits[:-1] + "8}")["exact_match"] == 0.0
