"""What explain prints is what the score counted: for all profiles, questions, answers and parameters.

Questions and answers are those of the case files, mixed: an answer meets its own question or another, whole or damaged.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_batch.profiles.registry import get_profile
from support.cases import OTHER_VALUES, PROFILES, Case, Row, cases, scored_and_explained
from support.effort import examples
from support.strategies import damaged

Sections = dict[str, list[Row]]
OWN_PARAMS = ("rubric",)  # a case that comes with one makes no sense with another


def count(lines: list[Row], column: str, value: Any = True) -> int:
    return sum(line[column] == value for line in lines)


def eval_json_v2(row: Row, said: Sections, params: Row) -> None:
    if not row["schema_ok"]:
        assert [line["reason"] for line in said["format"]] == [row["fail_reason"]]
        assert set(said) == {"format"}
        return
    assert {line["field"]: float(line["matched"]) for line in said["classes"]} == {
        name: row[name] for name in ("target_audience", "main_topic", "sub_topic")
    }
    for name in ("detailed_description", "predicted_questions"):
        expected = {line["expected_item"]: False for line in said[name] if line["expected_item"]}
        got = {line["got_item"]: False for line in said[name] if line["got_item"]}
        for line in said[name]:
            if line["matched"]:
                expected[line["expected_item"]] = got[line["got_item"]] = True
        both_empty = float(not expected and not got)
        recall = sum(expected.values()) / len(expected) if expected else both_empty
        precision = sum(got.values()) / len(got) if got else both_empty
        assert (row[f"{name}_recall"], row[f"{name}_precision"]) == (recall, precision)
    keywords, refs = said["original_evidence"], said["source_map"]
    assert (row["evidence_keywords"], row["evidence_hits"]) == (len(keywords), count(keywords, "found"))
    assert (row["grounding_total_refs"], row["grounding_ok_refs"]) == (len(refs), count(refs, "held"))


def include_rate(row: Row, said: Sections, params: Row) -> None:
    assert ("format" in said) == (row["fail_reason"] is not None)
    assert (row["include_total"], row["include_hits"]) == (len(said["required"]), count(said["required"], "hit"))
    assert all((line["phrase"] is not None) == line["hit"] for line in said["required"])
    assert row["exclude_hits"] == count(said["forbidden"], "found")
    (citation,) = said["citation"]
    assert (row["require_citation"], row["citation_ok"]) == (citation["required"], citation["ok"])
    assert row["citation_ok"] == (not citation["required"] or citation["found"] is not None)


def claim_evidence(row: Row, said: Sections, params: Row) -> None:
    if not row["answered"]:
        assert [line["reason"] for line in said["format"]] == [row["fail_reason"]]
        return
    gates = [line for line in said["gates"] if line["holds"] is not None]
    assert row["score"] == (count(gates, "holds") / len(gates) if gates else 0.0)
    claims = [line for line in said.get("claims", []) if line["type"] != "log"]
    assert row["claim_count"] == len(claims)
    if claims:
        bare = [line for line in claims if line["evidence"] == 0]
        assert row["claim_precision_num"] == count(claims, "supported")
        assert (row["unsupported_claim_rate_num"], row["facts_without_evidence"]) == (
            len(bare), count(bare, "type", "fact"),
        )  # fmt: skip
        assert row["support_labelled"] == count(claims, "said by", "label")
    for line in claims:
        words = [line["keywords found"], line["not found"]]
        assert "" not in words, "no keywords are null, which a table shows by a dash"
        found, lacking = (len((one or "").split()) for one in words)
        if line["said by"] == "words":
            assert line["supported"] == (found / (found + lacking) >= params["support_threshold"] - 1e-9)
    evidence = said.get("evidence", [])
    assert (row["citation_precision_num"] or 0, row["citation_precision_den"] or 0) == (
        count(evidence, "supports"), len(evidence),
    )  # fmt: skip
    entities = said.get("entities", [])
    assert (row["entity_recall_num"] or 0, row["entity_recall_den"] or 0) == (count(entities, "found"), len(entities))
    if stages := said.get("stages"):
        assert (row["pipeline_completion_num"], row["pipeline_completion_den"]) == (count(stages, "done"), len(stages))
    _ranking(row, said.get("ranking", []), params["ndcg_k"])
    if row["contradiction_recall"] is not None:
        pairs = said["contradictions"]
        assert row["contradiction_recall_num"] == count(pairs, "right")
        assert row["contradiction_precision_den"] == count(pairs, "said")


def _ranking(row: Row, lines: list[Row], depth: int) -> None:
    """NDCG and average precision once more, of the ranks and grades that are shown."""
    if row["map"] is None or not math.isfinite(sum(line["grade"] or 0.0 for line in lines)):
        return
    ranked = [line["grade"] or 0.0 for line in lines if line["rank"] is not None]
    ideal = sorted((line["grade"] for line in lines if line["grade"] is not None), reverse=True)

    def gain(grades: list[float]) -> float:
        return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:depth], start=1))

    assert row[f"ndcg_{depth}"] == pytest.approx(gain(ranked) / gain(ideal))
    right = [rank for rank, grade in enumerate(ranked, start=1) if grade > 0]
    precision = sum(place / rank for place, rank in enumerate(right, start=1))
    assert row["map"] == pytest.approx(precision / sum(grade > 0 for grade in ideal))


def legal_rag(row: Row, said: Sections, params: Row) -> None:
    if row["fail_reason"] is not None:
        assert [line["reason"] for line in said["format"]] == [row["fail_reason"]]
        return
    if row["question_type"] == "fact_exact":
        assert row["exact_match"] == float(all(line["matched"] for line in said["expected"]))
    if row["question_type"] == "conflict_gap":
        (abstention,) = said["abstention"]
        assert row["abstained"] == abstention["abstained"]
        assert row["inventions"] == count(said["specifics"], "invented")
        quotes = said["quotes"]
        assert row["quote_included"] == (not quotes or any(line["found in"] is not None for line in quotes))
        return
    required, items = said["required_evidence"], said["items"]
    critical = [line for line in required if line["critical"]]
    if row["critical_count"] is not None:
        assert (row["critical_cited"], row["critical_count"]) == (_covered(critical), len(critical))
    if row["question_type"] == "evidence_set":
        key = critical if required else said["key_points"]
        assert (row["key_covered"], row["key_count"]) == (_covered(key), len(key))
        assert (row["relevant_items"], row["retrieved_items"]) == (count(items, "covers something"), len(items))


def _covered(lines: list[Row]) -> int:
    return sum(line["covered by"] is not None for line in lines)


def judge_protocol(row: Row, said: Sections, params: Row) -> None:
    assert row["flags"] == list(dict.fromkeys(line["flag"] for line in said["rules broken"]))
    assert row["valid"] == (not said["rules broken"])
    assert all(row[line["score"]] == line["value"] for line in said["scores"])
    assert row["warnings"] == [line["warning"] for line in said["warnings"]]
    evidence = said["evidence"]
    assert ("quote_long" in row["warnings"]) == any(line["too long"] for line in evidence)
    assert all(line["too long"] == (line["length"] > 60) for line in evidence)
    if row["evidence_count"] is not None:
        assert row["evidence_count"] == len(evidence)
    if row["quotes_found"] is not None:
        assert row["quotes_found"] == count(evidence, "in the target's text")


CHECKS: dict[str, Callable[[Row, Sections, Row], None]] = {
    "claim_evidence": claim_evidence,
    "eval_json_v2": eval_json_v2,
    "include_rate": include_rate,
    "judge_protocol": judge_protocol,
    "legal_rag": legal_rag,
}


def agree(name: str, case: Case, params: Row) -> None:
    """The explanation of an answer and its score row say the same."""
    row, said = scored_and_explained(name, case, params)
    CHECKS[name](row, said, get_profile(name).read_params(params))


@st.composite
def mixed(draw: st.DrawFn, name: str) -> tuple[Case, Row]:
    """An answer to its own question or another's, as it is or damaged, and parameters of which some are not default."""
    case = draw(st.sampled_from(cases(name)))
    if draw(st.booleans()):
        case = replace(case, question=draw(st.sampled_from(cases(name))).question)
    if case.output is not None and draw(st.integers(0, 3)) == 0:
        case = replace(case, output=draw(damaged(case.output)))
    free = [param for param in OTHER_VALUES[name] if param not in OWN_PARAMS or not case.params]
    chosen = draw(st.lists(st.sampled_from(free), unique=True, max_size=4))
    return case, {**{param: OTHER_VALUES[name][param] for param in chosen}, **case.params}


@pytest.mark.parametrize("name", PROFILES)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_explain_prints_what_the_score_counted(name: str, data: st.DataObject) -> None:
    case, params = data.draw(mixed(name))
    agree(name, case, params)


@pytest.mark.parametrize("name", PROFILES)
def test_every_case_is_explained_as_it_is_scored(name: str) -> None:
    for case in cases(name):
        agree(name, case, case.params)


def test_every_profile_is_checked() -> None:
    from rageval_batch.profiles.registry import PROFILES as REGISTERED

    packages = {name for name, profile in REGISTERED.items() if profile.content is None}  # files: test_profile_files.py
    assert set(CHECKS) == set(PROFILES) == packages


def test_both_of_two_equal_items_are_shown() -> None:
    case = next(case for case in cases("eval_json_v2") if case.output and '"甲乙丙"' in case.output and not case.params)
    assert case.output is not None
    twice = replace(case, output=case.output.replace('["甲乙丙"]', '["甲乙丙", "甲乙丙"]'))
    row, said = scored_and_explained("eval_json_v2", twice, {})
    assert row["detailed_description_precision"] == 0.5
    assert [(line["got_item"], line["matched"]) for line in said["detailed_description"]] == [(1, True), (2, False)]
