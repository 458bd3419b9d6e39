"""The slow scorers against hand-computed cases, the packaged vectors and hostile input."""

import json
from typing import Any

import pytest

from oracles import json_text, text
from oracles.eval_json_v2 import score
from support.eval_json_v2 import differences
from support.places import CASES_FOLDER

UNPARSABLE = {"code_fence", "truncated_json", "extra_text", "invalid_json"}
FIELDS = {
    "target_audience": "a",
    "main_topic": "b",
    "sub_topic": "c",
    "detailed_description": [],
    "original_evidence": "d",
    "source_map": [],
    "predicted_questions": [],
}


def lines(name: str) -> list[dict[str, Any]]:
    """The objects of a case file."""
    with (CASES_FOLDER / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("case", lines("eval_json_v2.jsonl"), ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    row = score(
        case["expected"],
        case["chunks"],
        case["output"],
        missing=case.get("missing", False),
        params=case.get("params"),
    )
    assert differences(row, case["want"]) == {}


@pytest.mark.parametrize("case", lines("eval_json_v2_vectors.jsonl"))
def test_vector(case: dict[str, Any]) -> None:
    row = score(case["expected"], case["chunks"], case["output"])
    if row["fail_reason"] in UNPARSABLE:
        row["fail_reason"] = "unparsable"
    assert differences(row, case["want"]) == {}


def test_case_names_are_distinct() -> None:
    names = [case["name"] for case in lines("eval_json_v2.jsonl")]
    assert len(names) == len(set(names))


def test_white_space_is_unicodes_and_not_pythons() -> None:
    assert len(text.WHITE_SPACE) == 25
    assert text.squash("a\u3000\u00a0\u0085\u2028b\u200b\ufeff\u001c") == "ab\u200b\ufeff\u001c"
    assert text.strip("\u001f\u2003") == "\u001f"
    assert text.collapse("\u3000a \t\n b\u00a0") == "a b"


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        ("餐飲服務部", "餐飲服務處", 3 / 5),
        ("", "", 0.0),
        ("a", "a", 0.0),
        ("ab", "ab", 1.0),
        ("aaaa", "aa", 1.0),
        ("𠀀𠀁𠀂", "𠀀𠀁𠀃", 1 / 3),
    ],
)
def test_bigram_jaccard(a: str, b: str, want: float) -> None:
    assert text.bigram_jaccard(a, b) == want


@pytest.mark.parametrize(
    ("e", "g", "want"),
    [
        ("餐飲服務部", "餐飲服務處", False),
        ("部", "餐飲服務部", True),
        ("部", "處", False),
        ("", "部", False),
        (" \u3000", " \u3000", False),
        ("餐 飲", "餐\u3000飲", True),
    ],
)
def test_soft_match(e: str, g: str, want: bool) -> None:
    assert text.soft_match(e, g) is want
    assert text.soft_match(g, e) is want


def test_keywords() -> None:
    assert text.keywords("門禁管理 V-Pass ab 門禁 v-pass 一") == ["v-pass", "門禁", "禁管", "管理"]
    assert text.keywords("細胞のデータ") == ["細胞"]
    assert text.keywords("細胞のデータ・ベース", kana=True) == ["細胞", "のデ", "デー", "ータ", "ベー", "ース"]
    assert text.keywords("門禁管理", "jieba") == ["門禁", "管理"]
    assert text.keyword_hits("門禁管理", "管理") == 1
    assert text.keyword_hits("門禁管理", "管理", cap=2) == 0


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "nul",
        "NaN",
        "-Infinity",
        "01",
        "+1",
        "1.",
        ".5",
        "-",
        "1e",
        "[1,]",
        '{"a":1,}',
        "[1 2]",
        "{a:1}",
        "{'a':1}",
        '{"a" 1}',
        '"a',
        '"\t"',
        '"\\x"',
        '"\\u12"',
        '"\\u 123"',
        '"\\u+123"',
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\ud800\\u0041"',
        '{"\\ud800":1}',
        '"\ud800"',
        "[1]//x",
        "{} {}",
        "\ufeff{}",
        "\u00a0{}",
        "[\u30001]",
        "１",
    ],
)
def test_not_json(bad: str) -> None:
    with pytest.raises(ValueError):
        json_text.decode(bad)


@pytest.mark.parametrize(
    "good",
    [
        "0",
        "-0",
        "1.50",
        "1E2",
        "1e-400",
        ' {"a" : [1 , true,null, "\\u00e9\\ud83d\\ude00\\/\\u0000"] ,"b":{} , "a":2}\n',
        "[[], {}, [[]], false]",
        '"\u007f\u2028"',
    ],
)
def test_json_as_python_reads_and_writes_it(good: str) -> None:
    value = json_text.decode(good)
    assert value == json.loads(good)
    assert json_text.json_text(value) == json.dumps(json.loads(good), ensure_ascii=False)


def test_huge_numbers_keep_their_text() -> None:
    digits = "9" * 5000
    assert json_text.json_text(json_text.decode(f"[{digits}, 1E400, -1e999]")) == f"[{digits}, 1E400, -1e999]"
    assert json_text.json_text(10**5000) == "1" + "0" * 5000


def test_language_word_and_fences() -> None:
    assert json_text.classify("```json\n{}\n```") == ("code_fence", {})
    assert json_text.classify("````\n[1]````") == ("code_fence", [1])
    assert json_text.classify("```true```") == ("code_fence", True)
    assert json_text.classify("``````") == ("invalid_json", None)
    assert json_text.classify("```json\n{}") == ("extra_text", {})
    assert json_text.classify('```json\n{"a":\n```') == ("truncated_json", None)


DEEP = 20_000
HOSTILE = [
    "[" * DEEP,
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    "{" * DEEP,
    "\ud800",
    '{"a": "\ud800"}',
    "\x00",
    '{"a": "\x00"}',
    "9" * 5000,
    "`" * DEEP,
    '"' + "\\" * DEEP,
    json.dumps(FIELDS)[:-1] + ', "x": ' + "9" * 5000 + "}",
    json.dumps(FIELDS).replace('"detailed_description": []', f'"detailed_description": [{"9" * 5000}, 1e400]'),
    json.dumps(FIELDS).replace('"detailed_description": []', f'"detailed_description": [{"[" * DEEP + "]" * DEEP}]'),
    json.dumps(FIELDS).replace('"source_map": []', f'"source_map": [{"[" * DEEP + "]" * DEEP}]'),
    json.dumps({**FIELDS, "main_topic": "字" * 100_000}),
]


@pytest.mark.parametrize("mode", ["strict", "lenient"])
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_output_gives_a_row(number: int, mode: str) -> None:
    numbers: list[Any] = [10**5000, float("inf"), None, {}]
    expected = {**FIELDS, "main_topic": "\ud800x\x00", "detailed_description": numbers}
    chunks = [None, 5, {"source_path": 1, "text": None}, {"source_path": "\ud800", "text": "\ud800"}]
    row = score(expected, chunks, HOSTILE[number], params={"json_mode": mode})
    assert 0.0 <= row["score"] <= 100.0


def test_hostile_expectation_gives_a_row() -> None:
    output = json.dumps(FIELDS)
    hostile: list[dict[str, Any] | None] = [
        None,
        {},
        dict.fromkeys(FIELDS),
        {name: [[{"a": None}], 5] for name in FIELDS},
    ]
    for expected in hostile:
        assert score(expected, None, output)["schema_ok"] is True
