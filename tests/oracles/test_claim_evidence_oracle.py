"""The oracle of profile claim_evidence against cases worked out by hand, the run gates, and hostile input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oracles.claim_evidence import COLUMNS, failing_claims, gates, nothing_to_judge, pass_fail, score
from support.places import CASES_FOLDER

CASES = [json.loads(line) for line in (CASES_FOLDER / "claim_evidence.jsonl").read_text("utf-8").split("\n") if line]


def as_text(output: Any) -> str | None:
    return output if output is None or isinstance(output, str) else json.dumps(output, ensure_ascii=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    got = score(case["task"], as_text(case["output"]), missing=case.get("missing", False), params=case.get("params"))
    assert list(got) == COLUMNS
    for column, want in case["want"].items():
        if isinstance(want, float):
            assert got[column] == pytest.approx(want, abs=1e-12), column
        else:
            assert got[column] == want and type(got[column]) is type(want), (column, got[column], want)


def test_case_names_are_distinct_and_wants_complete() -> None:
    assert len({case["name"] for case in CASES}) == len(CASES) >= 60
    for case in CASES:
        assert {"score", "fail_reason"} <= set(case["want"]) <= set(COLUMNS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_row_is_consistent(case: dict[str, Any]) -> None:
    got = score(case["task"], as_text(case["output"]), missing=case.get("missing", False), params=case.get("params"))
    assert 0 <= got["score"] <= 1
    for column in COLUMNS:
        if column.endswith("_num"):
            name, num, den = column[:-4], got[column], got[column[:-4] + "_den"]
            assert (got[name] is None) == (num is None) == (den is None)
            assert not den or got[name] == num / den
    if got["fail_reason"] is None:
        assert got["claim_count"] == got["support_labelled"] + got["support_lexical"]


def evidence(evidence_id: str, supports: bool = True) -> dict[str, Any]:
    return {"evidence_id": evidence_id, "supports": supports}


def row(claims: list[tuple[bool, int]], **fields: Any) -> dict[str, Any]:
    """A score row of claims given as (labelled supported, number of supporting citations)."""
    output = {
        "claims": [
            {
                "claim_id": f"c{i}",
                "text": "x",
                "supported": supported,
                "evidence": [evidence(f"e{j}") for j in range(n)],
            }
            for i, (supported, n) in enumerate(claims)
        ],
        **fields,
    }
    return score({"task_id": "t"}, json.dumps(output))


def statuses(rows: list[dict[str, Any]], level: str = "initial") -> dict[str, str]:
    return {result["gate"]: result["status"] for result in gates(rows, level)}


def test_gates_are_micro_over_units_not_means_of_rows() -> None:
    # 17 of 18 claims are supported (0.944) although the mean of the rows is (16/16 + 1/2) / 2 = 0.75.
    rows = [row([(True, 1)] * 16), row([(True, 1), (False, 1)])]
    results = {result["gate"]: result for result in gates(rows)}
    assert results["claim_precision"]["actual"] == pytest.approx(17 / 18)
    assert results["claim_precision"]["status"] == "passed"
    assert results["claim_precision"]["n"] == 2
    assert pass_fail(list(results.values())) == "pass"


def test_gate_levels() -> None:
    rows = [row([(True, 1)] * 17 + [(False, 1)] * 3)]  # claim_precision 0.85
    assert statuses(rows)["claim_precision"] == "passed"
    assert statuses(rows, "target")["claim_precision"] == "failed"
    rows = [
        score({}, json.dumps({"claims": [{"supported": True, "evidence": [evidence("e", i > 0) for i in range(10)]}]}))
    ]
    assert statuses(rows)["citation_precision"] == "passed"
    assert statuses(rows, "target")["citation_precision"] == "failed"


def test_gates_with_nothing_to_apply_to_are_skipped() -> None:
    assert statuses([row([(True, 1)])]) == {
        "provenance_rate": "passed",
        "facts_without_evidence": "passed",
        "pipeline_completion": "skipped",
        "artifact_contract": "skipped",
        "claim_precision": "passed",
        "citation_precision": "passed",
        "unsupported_claim_rate": "passed",
        "answered_share": "passed",
    }


def test_one_row_closes_the_gates_of_every_row() -> None:
    done, ten = {"expected": 3, "completed": 3}, [f"f{i}" for i in range(10)]
    good = row([(True, 1)] * 20, stages=done, artifacts=ten)
    assert pass_fail(gates([good] * 30)) == "pass"
    bad = row([(True, 1)], stages={"expected": 3, "completed": 2}, artifacts=ten[:9])
    failed = [result for result in gates([good] * 30 + [bad]) if result["status"] == "failed"]
    assert [(result["gate"], result["actual"], result["failure"]) for result in failed] == [
        ("pipeline_completion", 2 / 3, "SystemError"),
        ("artifact_contract", 1, "ContractViolation"),
    ]
    bare = row([(True, 0)])
    failed = [result for result in gates([good] * 30 + [bare]) if result["status"] == "failed"]
    assert [(result["gate"], result["actual"], result["failure"]) for result in failed] == [
        ("facts_without_evidence", 1, "HallucinationRisk")
    ]


def test_a_missing_row_fails_completion_and_answered_share() -> None:
    rows = [row([(True, 1)], stages={"expected": 1, "completed": 1}), score({}, None, missing=True)]
    failed = {result["gate"]: result["actual"] for result in gates(rows) if result["status"] == "failed"}
    assert failed == {"pipeline_completion": 0.0, "answered_share": 0.5}


def test_coverage_alone_is_nothing_to_judge() -> None:
    results = gates([score({"task_id": "t"}, '{"answer": "I do not know."}')])
    assert {result["gate"]: result["status"] for result in results if result["status"] != "skipped"} == {
        "answered_share": "passed"
    }
    assert nothing_to_judge(results) and pass_fail(results) == "fail"


def test_a_run_with_no_applicable_gate_fails() -> None:
    results = gates([])
    assert {result["status"] for result in results} == {"skipped"}
    assert pass_fail(results) == "fail"


def test_failing_claims_name_the_first_reason() -> None:
    output = {
        "claims": [
            {"claim_id": "ok", "text": "alpha beta", "evidence": [{"evidence_id": "e1", "text": "alpha beta"}]},
            {"claim_id": "bare", "text": "alpha", "supported": True},
            {"claim_id": "label", "text": "alpha", "supported": False, "evidence": [{"text": "alpha"}]},
            {"claim_id": 4, "text": "alpha beta gamma", "evidence": [{"text": "alpha"}]},
            {"text": "薬", "evidence": [{"text": "毒"}]},
            {"claim_id": "log", "text": "searched", "type": "log"},
        ]
    }
    assert failing_claims({"task_id": "t"}, json.dumps(output)) == [
        {"task_id": "t", "claim_id": "bare", "text": "alpha", "reason": "no_evidence"},
        {"task_id": "t", "claim_id": "label", "text": "alpha", "reason": "labelled_unsupported"},
        {"task_id": "t", "claim_id": "4", "text": "alpha beta gamma", "reason": "low_overlap"},
        {"task_id": "t", "claim_id": None, "text": "薬", "reason": "not_in_evidence"},
    ]
    assert failing_claims({"task_id": "t"}, "no JSON") == []


FIELDS = ["answer", "sentences", "claims", "stages", "artifacts", "ranking", "contradictions"]
ODD: list[Any] = [None, True, -1, 1.5, "", "\x00", "x" * 100_000, [], {}, [None], [[]], [{}], [1e308, "a"], {"a": {}}]
INNER = ["text", "evidence", "evidence_ids", "evidence_id", "type", "supported", "name", "status", "error", "a", "b"]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_odd_values_never_raise(odd: Any) -> None:
    gold = ["expected_entities", "min_citations", "gold_ranking", "gold_contradictions", "category", "task_id"]
    for field in FIELDS:
        output = json.dumps({field: odd})
        assert score(dict.fromkeys(gold, odd), output).keys() == set(COLUMNS)
        assert isinstance(failing_claims({}, output), list)
    item = dict.fromkeys(INNER, odd)
    nested = {field: [item, {**item, "evidence": [item]}] for field in FIELDS[1:]}
    assert score({"gold_ranking": [{"id": odd, "grade": odd}]}, json.dumps(nested)).keys() == set(COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800",
        '{"answer": "\ud800"}',
        '{"answer": "\x00"}',
        '{"answer": "\\u0000"}',
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"claims": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"claims": ' + '{"a": ' * 50_000,
        '{"ranking": [' + "9" * 5000 + "]}",
        '{"stages": {"expected": ' + "9" * 5000 + ', "completed": 1}}',
        '{"answer": "' + "CD73" * 100_000 + '"}',
        "`" * 10_000 + "{",
        "\\" * 10_001 + '"{',
    ],
    ids=lambda text: repr(text)[:30],
)
def test_hostile_texts_never_raise(text: str) -> None:
    got = score({"task_id": "t", "expected_entities": ["CD73", "\udfff"], "min_citations": 10**5000}, text)
    assert got.keys() == set(COLUMNS)
    assert 0 <= got["score"] <= 1
