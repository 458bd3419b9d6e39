"""The slow scorer of page 40 against cases worked out by hand."""

import json
from typing import Any

import pytest

from oracles.json_text import classify
from oracles.judge_protocol import (
    COLUMNS,
    DEFAULT_RUBRIC,
    FLAGS,
    WARNINGS,
    alpha_ordinal,
    fold,
    kappa,
    quote_length,
    rubric_problems,
    score_run,
    self_preference,
    summary,
    variant_drift,
)
from support.places import CASES_FOLDER

CASES = [json.loads(line) for line in (CASES_FOLDER / "judge_protocol.jsonl").read_text(encoding="utf-8").splitlines()]
Q = DEFAULT_RUBRIC["dimensions"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    rows = score_run(case["records"], case.get("samples"), case.get("targets"), case.get("rubric"))
    got = [{name: row[name] for name in want} for row, want in zip(rows, case["want"], strict=True)]
    assert got == [{**want, "score": _close(want["score"])} for want in case["want"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_every_row_keeps_the_contract(case: dict[str, Any]) -> None:
    rubric = case.get("rubric", DEFAULT_RUBRIC)
    for row in score_run(case["records"], case.get("samples"), case.get("targets"), rubric):
        assert set(row) == {*COLUMNS, *rubric["dimensions"]}
        assert row["flags"] == [flag for flag in FLAGS if flag in row["flags"]]
        assert row["warnings"] == [name for name in WARNINGS if name in row["warnings"]]
        assert row["valid"] == (not row["flags"]) == (row["score"] is not None) == (row["fail_reason"] is None)


def _close(score: float | None) -> Any:
    return None if score is None else pytest.approx(score, abs=1e-12)


def judged(judge: str, target: str, scores: tuple[int, int, int, int], **more: Any) -> dict[str, Any]:
    """A valid record of the page's rubric."""
    overall = sum(scores)
    verdict = "FAIL" if overall <= 3 else "PASS" if overall >= 7 else "PARTIAL"
    record = {
        "meta": {
            "judge_model": judge,
            "target_model": target,
            "question_id": more.get("question_id", "Q1"),
            "prompt_variant": more.get("prompt_variant", "A"),
            "output_id": more.get("output_id", "o1"),
            "method": "self_judge" if fold(judge) == fold(target) else "cross_judge",
        },
        "scores": {**dict(zip(Q, scores, strict=True)), "overall_score": overall},
        "verdict": verdict,
        "flags": [],
        "evidence": [{"dimension": name, "quote": "x", "reason": "y"} for name in Q],
    }
    return {"run_id": "r", "output": json.dumps(record), "repeat": more.get("repeat", 0)}


def test_kappa_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: (0.7 - 0.5) / (1 - 0.5)
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert kappa(pairs) == pytest.approx(0.4, abs=1e-12)
    assert kappa([("PASS", "FAIL"), ("FAIL", "PASS")]) == -1.0
    assert kappa([("PASS", "PASS"), ("PASS", "PASS")]) is None
    assert kappa([]) is None


def test_alpha_by_hand() -> None:
    # Krippendorff's own example of four observers and twelve units: 0.815 ordinal.
    table = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[int(row[i]) for row in table if row[i] != "."] for i in range(12)]
    assert alpha_ordinal(units) == pytest.approx(0.815, abs=5e-4)
    # n = 4 values: 0 twice, 8 twice. All distances are 2 squared; two of two units disagree: 1 - 3 x 16 / 32
    assert alpha_ordinal([[0, 8], [8, 0]]) == -0.5
    assert alpha_ordinal([[0, 0], [8, 8]]) == 1.0
    assert alpha_ordinal([[5, 5], [5, 5]]) is None
    assert alpha_ordinal([[5], [3]]) is None
    assert alpha_ordinal([]) is None


def test_self_preference_by_hand() -> None:
    rows = score_run(
        [
            judged("m", "m", (2, 2, 2, 2)),
            judged("M ", "m", (2, 2, 1, 1), question_id="Q2"),
            judged("k", "m", (1, 1, 1, 1)),
            judged("j", "m", (2, 1, 1, 1)),
            judged("m", "k", (2, 2, 2, 2)),
        ]
    )
    # m by itself: (1 + 0.75) / 2; by others: (0.5 + 0.625) / 2. Nobody has heard k on k.
    found = {model: line["self_preference"] for model, line in self_preference(rows).items()}
    assert found == {"k": None, "m": pytest.approx(0.875 - 0.5625)}


def test_variant_drift_by_hand() -> None:
    records = [
        judged("j", "m", (2, 2, 2, 2)),
        judged("j", "m", (1, 1, 1, 1), prompt_variant="B"),
        judged("j", "m", (1, 1, 1, 1), question_id="Q2"),
        judged("j", "m", (2, 1, 1, 1), question_id="Q2", prompt_variant="B"),
        judged("j", "m", (2, 2, 1, 1), question_id="Q2", prompt_variant="B", output_id="o2"),
        judged("j", "m", (0, 0, 0, 0), question_id="Q3", prompt_variant="B"),
        judged("m", "m", (0, 0, 0, 0)),
        judged("m", "m", (2, 2, 2, 2), prompt_variant="B"),
    ]
    rows = score_run(records)
    # Q1: 0.5 - 1; Q2: (0.625 + 0.75) / 2 - 0.5; Q3 has no base; self-judging stays out.
    assert variant_drift(rows) == {"B": {"mean": pytest.approx((-0.5 + 0.1875) / 2), "n": 2}}
    assert variant_drift(rows, "B") == {"A": {"mean": pytest.approx((0.5 - 0.1875) / 2), "n": 2}}
    assert variant_drift(rows, "Z") == {"A": {"mean": None, "n": 0}, "B": {"mean": None, "n": 0}}


def test_summary_by_hand() -> None:
    records = [
        judged("j", "m", (2, 2, 2, 2)),
        judged("j", "m", (2, 2, 2, 2)),
        judged("j", "m", (1, 1, 1, 0), question_id="Q2"),
        judged("k", "m", (2, 2, 2, 1)),
        judged("m", "m", (2, 2, 2, 2)),
        {"run_id": "r", "output": "I refuse to", "judge_model": "k"},
    ]
    samples = [{"question_id": q, "prompt_variant": "A", "target_model": "m", "output_id": "o1"} for q in ("Q1", "Q2")]
    got = summary(score_run(records, samples), samples)
    # Three judges, two samples: k and m lack Q2.
    assert (got["judgements"], got["valid"], got["invalid"], got["missing"], got["duplicates"]) == (6, 5, 1, 2, 1)
    assert got["answered_share"] == pytest.approx(4 / 6)
    cross = [line for line in got["means"] if line["method"] == "cross_judge"]
    assert [(line["judge_model"], line["n"], line["score"]) for line in cross] == [("j", 2, 0.6875), ("k", 1, 0.875)]
    assert (cross[0]["overall"], cross[0]["COMPLETENESS"], cross[0]["pass_share"], cross[0]["fail_share"]) == (
        5.5,
        1.0,
        0.5,
        0.5,
    )
    rates = {(line["judge_model"], line["flag"]): line["rate"] for line in got["invalid_rates"]}
    assert rates["j", "any"] == 0.0
    assert rates["k", "any"] == pytest.approx(2 / 3)
    assert rates["k", "JUDGE_REFUSAL_OR_EVASION"] == pytest.approx(1 / 3)
    assert rates["m", "INCOMPLETE_COVERAGE"] == 0.5
    # One sample has two cross judges, and both say PASS.
    assert got["kappa"] == [{"judge_a": "j", "judge_b": "k", "n": 1, "kappa": None}]
    # Two values, 8 and 7, in one unit: all there is to disagree about is disagreed about.
    assert (got["alpha"], got["alpha_units"]) == (0.0, 1)
    assert summary(score_run(records))["answered_share"] is None
    assert summary([])["means"] == []


def test_extra_refusal_phrase() -> None:
    record = {"run_id": "r", "output": "Das bewerte ich nicht."}
    assert score_run([record])[0]["flags"] == ["UNPARSABLE_OUTPUT"]
    row = score_run([record], refusal_phrases=["BEWERTE ICH NICHT"])[0]
    assert row["flags"] == ["UNPARSABLE_OUTPUT", "JUDGE_REFUSAL_OR_EVASION"]


@pytest.mark.parametrize(
    ("quote", "length"),
    [("", 0), ("，。！", 0), ("第3条", 3), ("well-known fact", 2), ("JSON格式ok", 4), ("ひらがな", 1), ("не ок", 2)],
)
def test_quote_length(quote: str, length: int) -> None:
    assert quote_length(quote) == length


def test_rubric_problems() -> None:
    assert rubric_problems(DEFAULT_RUBRIC) == []
    bad = {
        **DEFAULT_RUBRIC,
        "dimensions": ["A", "A", "score"],
        "verdict": {"fail_max": 7, "pass_min": 7, "pass_nonzero": ["B"]},
        "scale": 2,
    }
    assert len(rubric_problems(bad)) == 5
    assert rubric_problems({}) == []
    assert rubric_problems({"dimensions": ["A"], "scale_top": True})


@pytest.mark.parametrize(
    "output",
    [
        "\ud800",
        "\x00",
        "{" * 50_000,
        '{"meta":' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"scores":{"COMPLETENESS":' + "9" * 5000 + ',"overall_score":-' + "9" * 5000 + "}}",
        '{"meta":{"method":[]},"verdict":{},"scores":{"COMPLETENESS":{}},"evidence":[[],{}],"flags":[[]]}',
        b"\xff\xfe{}",
        b"{}",
        {"meta": 1},
        {1: {2}},
        5,
        True,
        "无" * 1_000_000,
    ],
    ids=lambda output: repr(output)[:20],
)
def test_hostile_output_never_raises(output: Any) -> None:
    columns = {"judge_model": "\ud800", "output_id": "\x00", "question_id": 3, "repeat": "x", "method": "\udfff"}
    rows = score_run([{"run_id": "r", "output": output}, {"run_id": None, "output": output, **columns}], [{}], {})
    assert [row["valid"] for row in rows] == [False, False]
    summary(rows)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "empty_output"),
        ("\u2003\n", "empty_output"),
        ("```json\n{}\n```", "code_fence"),
        ("```\n[1]\n```", "code_fence"),
        ("```json\n{}", "extra_text"),
        ('{"a": "}', "truncated_json"),
        ('{"a": [1}', "truncated_json"),
        ("x {} y", "extra_text"),
        ("{} {}", "extra_text"),
        ("{'a': 1}", "invalid_json"),
        ('{"a": 01}', "invalid_json"),
        ('{"a": Infinity}', "invalid_json"),
        ('{"a": "\\ud800"}', "invalid_json"),
        ('{"a": 1} // why', "extra_text"),
        ("null", "not_object"),
        ('"{}"', "not_object"),
        ('{"a": "\\ud83d\\ude00", "a": 1e999}', None),
    ],
)
def test_classify(text: str | None, reason: str | None) -> None:
    assert classify(text)[0] == reason
