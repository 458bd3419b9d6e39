"""The profile legal_rag: the case file row by row, the slow scorer on made-up answers, and what padding is worth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles import legal_rag as oracle
from rageval_batch.profiles import get_profile
from rageval_batch.scoring import missing_rows, score_batch, scorer
from rageval_batch.tables import BATCH, EvalSet

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "legal_rag.jsonl").read_text(encoding="utf-8").splitlines()
]
PROFILE = get_profile("legal_rag")
COLUMNS = (
    *("question_type", "weight", "score", "passed", "exact_match", "citation_correctness", "evidence_recall"),
    *("evidence_precision", "citation_provided", "abstained", "correct_abstention", "no_hallucination", "inventions"),
    *("quote_included", "difficulty", "category", "tags", "fail_reason"),
)


def eval_set(questions: list[dict[str, Any]], headers: tuple[dict[str, Any], ...] = ()) -> EvalSet:
    count = len(questions)
    ids = tuple(f"q{k}" for k in range(count))
    return EvalSet(ids, tuple(questions), (None,) * count, (1.0,) * count, headers=headers)


def scored(
    questions: list[dict[str, Any]], rows: list[tuple[int, str | None]], params: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The score rows of (question, output) pairs, as one batch."""
    ready = scorer(PROFILE, PROFILE.read_params(params or {}), eval_set(questions))
    table = [
        dict(zip(BATCH.names, ["r", question, k, 0, k, output, None], strict=True))
        for k, (question, output) in enumerate(rows)
    ]
    scores = score_batch(ready, pa.RecordBatch.from_pylist(table, schema=BATCH)).scores.to_pylist()
    return [{name: row[name] for name in COLUMNS} for row in scores]


def differences(got: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    """The columns that are not what is wanted, with both values."""
    out = {}
    for name, value in want.items():
        same = got[name] == value
        if isinstance(value, float) and isinstance(got[name], float):
            same = abs(got[name] - value) <= 1e-12
        if not same or isinstance(got[name], bool) != isinstance(value, bool):
            out[name] = (got[name], value)
    return out


def test_cases() -> None:
    """All cases with the same parameters are one batch, so that rows of all types stand beside each other."""
    wrong: dict[str, Any] = {}
    groups: dict[str, list[dict[str, Any]]] = {}
    for case in CASES:
        if not case.get("missing"):
            groups.setdefault(json.dumps(case.get("params"), sort_keys=True), []).append(case)
    for cases in groups.values():
        rows = scored(
            [case["question"] for case in cases],
            [(k, c["output"]) for k, c in enumerate(cases)],
            cases[0].get("params"),
        )
        wrong |= {c["name"]: d for c, row in zip(cases, rows, strict=True) if (d := differences(row, c["want"]))}
    assert wrong == {}


def test_missing_rows() -> None:
    cases = [case for case in CASES if case.get("missing")]
    assert cases
    questions = [case["question"] for case in cases]
    ready = scorer(PROFILE, PROFILE.read_params({}), eval_set(questions))
    rows = missing_rows(ready, "r", np.arange(len(cases), dtype=np.int32)).to_pylist()
    assert [differences(row, case["want"]) for row, case in zip(rows, cases, strict=True)] == [{}] * len(cases)


# --- the slow scorer on made-up answers -----------------------------------------------------------------------------

PIECES = [
    *(
        "42000元",
        "四万二千元",
        "4.2万",
        "36800",
        "８４００元",
        "3人",
        "五名",
        "一个",
        "15%",
        "共",
        "总",
        "合计",
        "：",
        "¥",
    ),
    *("2020年8月30日", "2020-08-30", "二〇二〇年八月三十日", "2020年8月", "8月30日", "2021/1/2", "至", "到"),
    *(
        "第2页",
        "（第4页）",
        "p. 3",
        "page 5",
        "第3-4页",
        "105-107行",
        "1. ",
        "（一）",
        "。",
        "；",
        "\n",
        " ",
        "\u3000",
        "，",
    ),
    *("是", "没有", "是否", "yes", "no", "张局长", "王建国律师", "「都忘了」", "“海云酒楼”", "Mr. Chen", "向"),
    *("不清楚", "记不清", "unknown", "Don’t know", "都忘记了", "具体请了谁吃饭", "...", "…", "收到", "退款", "承诺"),
    *("承诺退回给他", "无法办理", "告知", "甲方", "欠条", "\x00", "😀", "<b>", "';--", "\u202e", "①", "㍿"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
numbers = st.sampled_from([42000, 36800, 8400, 3, 5, 42100, 41999, 0, 1.5, -3])
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
pages = st.sampled_from([1, 2, 3, 4, 2.0, "2", "第2页", "p. 3", "附件", None, True, "", [2], 2.5])
labels = st.sampled_from([None, "qa_pair", "QA_PAIR", "answer", "question", 5])
days = st.sampled_from(["2020-08-30", "2020-09-15", "2021-01-02", "2020-08", "2020年8月30日"])
evidence_text = st.one_of(
    texts, st.sampled_from(["收到42000元", "承诺退回给他", "无法办理 承诺退款", "收 到42000元", ""])
)


def objects(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


items = st.one_of(
    objects({}, {"page": pages, "text": evidence_text, "quote": evidence_text, "section": labels, "speaker": labels}),
    evidence_text,
    st.none(),
)
answers = objects(
    {},
    {
        "answer": st.one_of(texts, scalars, st.just(["42000元", 3]), st.just({"a": "不清楚"})),
        "amount": scalars,
        "amount_total": scalars,
        "amount_breakdown": st.one_of(
            st.lists(st.one_of(numbers, st.builds(lambda n: {"amount": n}, scalars)), max_size=3), scalars
        ),
        "date": st.one_of(days, scalars),
        "date_range": st.one_of(objects({}, {"start": days, "end": days}), texts, st.just("2020年8月1日至30日")),
        "count": scalars,
        "text": scalars,
        "boolean": scalars,
        "entity": scalars,
        "evidence": st.one_of(st.lists(items, max_size=4), items),
        "citations": st.one_of(st.lists(items, max_size=4), items),
        "citation": items,
        "abstained": scalars,
    },
)
output_texts = st.one_of(texts, texts, answers.map(lambda value: json.dumps(value, ensure_ascii=False)))
required_items = objects(
    {},
    {
        "page": pages,
        "must_include": evidence_text,
        "section": labels,
        "speaker": labels,
        "is_critical": st.sampled_from([True, False, None]),
    },
)
settings_ = {
    "numeric_exact": st.booleans(),
    "date_exact": st.booleans(),
    "citation_required": st.booleans(),
    "evidence_count_min": st.integers(0, 3),
    "evidence_recall_min": st.sampled_from([0.5, 0.8, 1]),
    "evidence_precision_min": st.sampled_from([0.3, 0.7, 1]),
    "should_abstain": st.booleans(),
    "hallucination_penalty": st.sampled_from(["high", "medium", "low", "extreme", None]),
    "required_quote": st.sampled_from(["具体请了谁吃饭...都忘记了", "收到…退款", "...", "都忘了"]),
    "additional_quotes": st.lists(texts, max_size=2),
    "weight": st.sampled_from([1, 0.5, 2]),
    "key_points": st.lists(evidence_text, max_size=3),
}
questions_ = objects(
    {"type": st.sampled_from(["fact_exact", "evidence_set", "conflict_gap"]), "question": texts},
    {
        "expected": objects(
            {},
            {
                "amount_total": numbers,
                "amount_breakdown": st.lists(st.builds(lambda n: {"amount": n}, numbers), min_size=1, max_size=2),
                "date": days,
                "date_range": objects({}, {"start": days, "end": days}),
                "count": st.sampled_from([3, 5, 1]),
                "text_answer": texts,
                "boolean_answer": st.booleans(),
                "entity": st.sampled_from(["海云酒楼", "张局长", "甲方", "　", "ＡＢＣ"]),
                "key_points": st.lists(evidence_text, max_size=3),
            },
        ),
        "required_evidence": st.lists(required_items, max_size=3),
        "scoring": objects({}, settings_),
        **settings_,
        "metadata": objects({}, {"difficulty": st.just("easy"), "tags": st.lists(st.just("金额"), max_size=2)}),
    },
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(questions_, min_size=1, max_size=3), st.lists(output_texts, min_size=1, max_size=12), st.booleans())
def test_as_the_slow_scorer(questions: list[dict[str, Any]], outputs: list[str], loose: bool) -> None:
    params = {"numeric_tolerance": 0.5, "date_tolerance_days": 5, "key_point_recall": 0.3} if loose else {}
    rows: list[tuple[int, str | None]] = [(k, output) for k in range(len(questions)) for output in outputs]
    got = scored(questions, rows, params)
    for row, (question, output) in zip(got, rows, strict=True):
        want = oracle.score(questions[question], output, params=params)
        assert differences(row, want) == {}, (questions[question], output)
