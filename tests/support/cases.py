"""The hand-computed cases of every profile as questions and answers that any test can score, explain or mix."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.model import BATCH, EvalSet, Explanation, Profile
from rageval_batch.model.schemas import RECORDS
from rageval_batch.profiles.registry import get_profile
from support.places import CASES_FOLDER

PROFILES = ("claim_evidence", "eval_json_v2", "include_rate", "judge_protocol", "legal_rag")
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """An answer to a question; of a judgement, the keys beside it and the texts that may be quoted."""

    question: Row
    output: str | None
    params: Row = field(default_factory=dict)
    chunks: Any = None  # of the question
    keys: Row = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)


@cache
def cases(profile: str) -> tuple[Case, ...]:
    """The cases of a profile that have an answer."""
    lines = (CASES_FOLDER / f"{profile}.jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(case for line in lines if line for case in _of_line(profile, json.loads(line)))


def _of_line(profile: str, line: Row) -> list[Case]:
    params = line.get("params") or {}
    if profile == "judge_protocol":
        params = {"rubric": line["rubric"]} if line.get("rubric") else {}
        return [
            Case({}, _text(record["output"]), params, keys=record, targets=line.get("targets") or {})
            for record in line["records"]
        ]
    if line.get("missing"):
        return []
    output = _text(line["output"])
    if profile == "eval_json_v2":
        question = {"expected": {"answer_example": line["expected"]}}
        return [Case(question, output, params, line["chunks"])]
    return [Case(line["task" if profile == "claim_evidence" else "question"], output, params)]


def _text(output: Any) -> str | None:
    return output if output is None or isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def prepared(profile: Profile, answers: Sequence[Case], params: Row) -> Any:
    """The profile made ready for the questions of answers, one each."""
    ids = tuple(f"q{k}" for k in range(len(answers)))
    chunks = {
        name: json.dumps(case.chunks, ensure_ascii=False)
        for name, case in zip(ids, answers, strict=True)
        if case.chunks is not None
    }
    chunks |= {key: text for case in answers for key, text in case.targets.items()}
    count = len(answers)
    eval_set = EvalSet(
        ids, tuple(case.question for case in answers), (None,) * count, weights=(1.0,) * count, chunks=chunks
    )
    return profile.scoring.prepare(eval_set, profile.read_params(params))


def batch_of(profile: Profile, answers: Sequence[Case]) -> pa.RecordBatch:
    """A batch with each answer to its own question."""
    rows = [
        {**case.keys, "run_id": "r", "question": k, "repeat": 0, "input": 0, "line": k, "output": case.output}
        for k, case in enumerate(answers)
    ]
    keys = profile.inputs.keys
    schema = pa.schema([*RECORDS, *((name, LARGE_STRING) for name in keys)]) if keys else BATCH
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def score_rows(profile: Profile, answers: Sequence[Case], params: Row) -> list[Row]:
    """The profile's own columns for answers."""
    scored = profile.scoring.score(prepared(profile, answers, params), batch_of(profile, answers))
    rows: list[Row] = pa.table(scored.columns).to_pylist()
    return rows


def scored_and_explained(name: str, case: Case, params: Row) -> tuple[Row, dict[str, list[Row]]]:
    """(score row, sections of the explanation) of one answer."""
    profile = get_profile(name)
    ready, batch = prepared(profile, [case], params), batch_of(profile, [case])
    row = pa.table(profile.scoring.score(ready, batch).columns).to_pylist()[0]
    explanation: Explanation = profile.scoring.explain(ready, batch)
    return row, {section.name: list(section.lines) for section in explanation.sections}


# Values other than the defaults that the cases of a profile tell apart.
OTHER_VALUES: dict[str, dict[str, Any]] = {
    "claim_evidence": {"support_threshold": 0.9, "required_artifacts": 2, "ndcg_k": 1, "level": "target"},
    "eval_json_v2": {
        "json_mode": "lenient", "soft_threshold": 0.3, "containment_min": 3, "unicode_form": "nfkc_casefold",
        "list_match": "independent", "list_matcher": "indel", "indel_threshold": 0.3, "description_cap": 1,
        "questions_cap": 0, "keywords": "jieba", "keyword_cap": 2, "full_hits": 2, "full_length": 5, "entry_cap": 0,
        "ref_cap": 0, "anchor_cap": 0, "w_target_audience": 0.05, "w_main_topic": 0.05, "w_sub_topic": 0.05,
        "w_detailed_description": 0.1, "w_original_evidence": 0.1, "w_predicted_questions": 0.05, "w_grounding": 0.05,
    },
    "include_rate": {
        "normalizer": "none", "citation_patterns": ["nowhere"], "w_include": 0.5, "w_safe": 0.5,
        "citation_penalty": 0.4, "citation_style": "any", "phrase_match": "word",
    },
    "judge_protocol": {
        "rubric": {"dimensions": ["TONE"], "scale_top": 5, "verdict": {"fail_max": 1, "pass_min": 4}},
        "refusal_phrases": ["{"], "base_variant": "B",
    },
    "legal_rag": {
        "numeric_tolerance": 0.5, "date_tolerance_days": 400, "key_point_recall": 0.1, "pass_score": 0.95,
        "decimal_mark": "comma", "date_order": "dmy",
        "more_abstention": "元", "more_units": "箱", "more_titles": "团座", "more_surnames": "猫",
    },
}  # fmt: skip
