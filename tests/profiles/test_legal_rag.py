"""The profile legal_rag: the case file row by row, the slow scorer on made-up answers, and what padding is worth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles import legal_rag as oracle
from rageval_batch.analysis.catalog import open_store
from rageval_batch.cli import main
from rageval_batch.errors import InputError
from rageval_batch.model.schemas import BATCH, EvalSet
from rageval_batch.profiles.legal_rag.questions import weights
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs.batch import missing_rows, score_batch, scorer
from support.cases import Case, scored_and_explained
from support.command import run_command
from support.effort import examples
from support.places import CASES_FOLDER, SAMPLES_FOLDER

CASES = [json.loads(line) for line in (CASES_FOLDER / "legal_rag.jsonl").read_text(encoding="utf-8").splitlines()]
PROFILE = get_profile("legal_rag")
COLUMNS = (
    *("question_type", "weight", "score", "passed", "exact_match", "citation_correctness", "evidence_recall"),
    *("evidence_precision", "citation_provided", "abstained", "correct_abstention", "no_hallucination", "inventions"),
    *("quote_included", "difficulty", "category", "tags", "fail_reason"),
)


def eval_set(questions: list[dict[str, Any]], headers: tuple[dict[str, Any], ...] = ()) -> EvalSet:
    count = len(questions)
    ids = tuple(f"q{k}" for k in range(count))
    return EvalSet(ids, tuple(questions), (None,) * count, weights=(1.0,) * count, headers=headers)


def scored(
    questions: list[dict[str, Any]],
    rows: list[tuple[int, str | None]],
    params: dict[str, Any] | None = None,
    size: int = 10**6,
) -> list[dict[str, Any]]:
    """The score rows of (question, output) pairs, in batches of a size."""
    ready = scorer(PROFILE, PROFILE.read_params(params or {}), eval_set(questions))
    table = [
        dict(zip(BATCH.names, ["r", question, k, 0, k, output, None], strict=True))
        for k, (question, output) in enumerate(rows)
    ]
    batches = [pa.RecordBatch.from_pylist(table[at : at + size], schema=BATCH) for at in range(0, len(table), size)]
    scores = [row for batch in batches for row in score_batch(ready, batch).scores.to_pylist()]
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
    rows = missing_rows(ready, {"r": np.arange(len(cases), dtype=np.int32)}).to_pylist()
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
    *(
        "-",
        "负",
        "约",
        "超过",
        "不足",
        "以上",
        "左右",
        "3-5万元",
        "三到五万元",
        "1元5角",
        "-42000元",
        "约42000元",
        "三",
        "minus ",
    ),
    *("国有", "不承担", "未付", "есть", "нет", "да"),
    *("是", "没有", "是否", "yes", "no", "张局长", "王建国律师", "「都忘了」", "“海云酒楼”", "Mr. Chen", "向"),
    *("不清楚", "记不清", "unknown", "Don’t know", "都忘记了", "具体请了谁吃饭", "...", "…", "收到", "退款", "承诺"),
    *("承诺退回给他", "无法办理", "告知", "甲方", "欠条", "\x00", "😀", "<b>", "';--", "\u202e", "①", "㍿"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
numbers = st.sampled_from([42000, 36800, 8400, 3, 5, 42100, 41999, 0, 1.5, -3, -42000])
amounts = numbers | st.sampled_from(
    ["约42000元", "超过42000元", "不足42000元", "3-5万元", "-42000元", "三", "100到200元"]
)
scalars = st.one_of(texts, amounts, st.booleans(), st.none())
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
            st.lists(st.one_of(amounts, st.builds(lambda n: {"amount": n}, scalars)), max_size=3), scalars
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
                "amount_total": amounts,
                "amount_breakdown": st.lists(st.builds(lambda n: {"amount": n}, amounts), min_size=1, max_size=2),
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


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(questions_, min_size=1, max_size=3), st.lists(output_texts, min_size=1, max_size=12), st.booleans())
def test_as_the_slow_scorer(questions: list[dict[str, Any]], outputs: list[str], loose: bool) -> None:
    params = {"numeric_tolerance": 0.5, "date_tolerance_days": 5, "key_point_recall": 0.3} if loose else {}
    rows: list[tuple[int, str | None]] = [(k, output) for k in range(len(questions)) for output in outputs]
    got = scored(questions, rows, params)
    for row, (question, output) in zip(got, rows, strict=True):
        want = oracle.score(questions[question], output, params=params)
        assert differences(row, want) == {}, (questions[question], output)


# --- what the issue asks to be shown --------------------------------------------------------------------------------

GAP = {
    "type": "conflict_gap",
    "question": "36800元具体用到哪里了？",
    "should_abstain": True,
    "required_quote": "买材料花了9000元...具体的都记不清了",
}
SET = {
    "type": "evidence_set",
    "question": "q",
    "expected": {"key_points": ["承诺三十天内退还剩余款项", "写下欠条并按了手印"]},
    "required_evidence": [
        {"page": 5, "must_include": "三十天内退"},
        {"page": 6, "must_include": "写了欠条"},
        {"page": 7, "must_include": "当面道歉", "is_critical": False},
    ],
}
passages = st.sampled_from(
    [
        {"page": 5, "text": "我答应三十天内退剩下的钱"},
        {"page": 6, "text": "当天我写了欠条"},
        {"page": 7, "text": "他当面道歉"},
        {"page": 2, "text": "天气很好"},
        {"page": 5, "text": "天气很好"},
    ]
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(passages, min_size=1, max_size=4), st.integers(0, 3), st.sampled_from(["", " ", "\n", "\u3000"]))
def test_padding_does_not_pay(evidence: list[dict[str, Any]], which: int, space: str) -> None:
    """A passage ten times is a passage once: same recall, same precision, same score."""
    again = dict(evidence[which % len(evidence)])
    again["text"] = again["text"][:3] + space + again["text"][3:]
    plain, padded = (
        json.dumps({"evidence": given_}, ensure_ascii=False) for given_ in (evidence, [*evidence, *[again] * 10])
    )
    once, often = scored([SET], [(0, plain), (0, padded)])
    assert once == often


def test_another_passage_lowers_precision_alone() -> None:
    good = [{"page": 5, "text": "我答应三十天内退剩下的钱"}, {"page": 6, "text": "当天我写了欠条"}]
    noise = [{"page": page, "text": "天气很好"} for page in range(10, 12)]
    rows = [(0, json.dumps({"evidence": given_}, ensure_ascii=False)) for given_ in (good, good + noise)]
    clean, noisy = scored([SET], rows)  # type: ignore[arg-type]
    assert clean["evidence_recall"] == noisy["evidence_recall"] == 1.0
    assert (clean["evidence_precision"], noisy["evidence_precision"]) == (1.0, 0.5)


def test_an_abstention_that_invents_is_caught_and_one_that_quotes_is_not() -> None:
    quoting = "用途记不清。笔录原话是：买材料花了9000元，还有别的，具体的都记不清了（第3页，61-63行）。"
    inventing = "记不清了，大概请客花了12000元。"
    honest, caught = scored([GAP], [(0, quoting), (0, inventing)])
    assert (honest["abstained"], honest["inventions"], honest["score"]) == (True, 0, 1.0)
    assert (caught["abstained"], caught["inventions"], caught["no_hallucination"]) == (True, 1, 0.0)
    assert caught["correct_abstention"] is True


def test_the_flag_or_a_phrase() -> None:
    outputs = [{"abstained": True, "answer": "见笔录"}, {"abstained": False, "answer": "不清楚"}, {"answer": "见笔录"}]
    rows = scored([GAP], [(0, json.dumps(output, ensure_ascii=False)) for output in outputs])
    assert [row["abstained"] for row in rows] == [True, True, False]


# --- lists, types, weights ------------------------------------------------------------------------------------------


def test_lists_are_extended_by_parameters() -> None:
    question = {**GAP, "required_quote": None}
    outputs: list[tuple[int, str | None]] = [(0, "此事待查"), (0, "不清楚，欧阳会计知道"), (0, "不清楚，三筐")]
    before = scored([question], outputs)
    params = {
        "more_abstention": "待查|无可奉告",
        "more_titles": "会计",
        "more_surnames": "欧阳",
        "more_units": "筐",
    }
    after = scored([question], outputs, params)
    assert [(row["abstained"], row["inventions"]) for row in before] == [(False, 1), (True, 0), (True, 0)]
    assert [(row["abstained"], row["inventions"]) for row in after] == [(True, 0), (True, 1), (True, 1)]


def test_the_type_comes_from_the_question_then_the_file() -> None:
    questions = [{"question": "a"}, {"question": "b", "type": "fact_exact"}]
    header = {"benchmark_type": "conflict_gap"}
    ready = PROFILE.scoring.prepare(eval_set(questions, (header, header)), PROFILE.read_params({}))
    assert [question.type for question in ready.questions] == [2, 0]
    for bad, said in (({"type": "essay"}, "'essay'"), ({}, "no type"), ({"type": ["fact_exact"]}, "unknown type")):
        with pytest.raises(InputError, match=rf"'q1' has .*{said}.*fact_exact, evidence_set, conflict_gap"):
            PROFILE.scoring.prepare(eval_set([questions[1], {"question": "c", **bad}]), PROFILE.read_params({}))


def test_a_weight_may_stand_in_three_places() -> None:
    questions: list[dict[str, Any]] = [{"weight": 2}, {"expected": {"weight": 3}}, {"scoring": {"weight": 0.5}}, {}]
    assert weights(eval_set(questions)) == (2.0, 3.0, 0.5, 1.0)
    for bad in (-1, "x", True, float("inf")):
        with pytest.raises(InputError, match="'q0' has weight"):
            weights(eval_set([{"scoring": {"weight": bad}}]))


def test_questions_of_a_column_of_json_texts() -> None:
    structured = {
        "type": "fact_exact",
        "question": "多少钱？",
        "expected": {"amount_total": 42000},
        "required_evidence": [{"page": 2, "must_include": "42000元"}],
    }
    texts_ = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in structured.items()}
    rows = scored([structured, texts_], [(0, "42000元（第2页）"), (1, "42000元（第2页）")])
    assert rows[0] == rows[1]
    assert rows[0]["score"] == 1.0


def test_scores_do_not_depend_on_the_batch() -> None:
    cases = [case for case in CASES if not case.get("missing") and not case.get("params")]
    questions = [case["question"] for case in cases]
    rows = [(k, case["output"]) for k, case in enumerate(cases)]
    whole = scored(questions, rows)
    for size in (1, 7):
        assert scored(questions, rows, size=size) == whole
    assert scored(questions, rows[::-1]) == whole[::-1]


HOSTILE = [
    None, "", " \u3000\x85", "\x00" * 50, "{" * 3000, '{"answer":' + "[" * 3000 + "]" * 3000 + "}",
    '{"answer":' + "[" * 150 + "]" * 150 + "}", '{"amount":' + "9" * 5000 + "}", '{"amount":1e999999999999}',
    '{"amount":-1e-99999}', '{"amount":1e5000,"count":"' + "9" * 5000 + '"}', "<script>alert(1)</script>",
    "=cmd|'/c calc'!A1", "'; drop table runs; --", "\u202eRTL\u2066", "😀" * 1000,
    '{"answer":"\\ud800"}', '{"a":1,"a":2}',
    "NaN", "null", "[]", '{"amount":NaN}', '{"amount":1,}', "字" * 20_000, '{"citations":{"page":1e400},"evidence":5}',
    '{"evidence":[null,1,"a",{"page":{}},{"page":[1],"text":{"a":1}},{"page":true}],"citations":7}',
    '{"date_range":[1,2],"date":{"a":1},"entity":[],"text":5,"boolean":"maybe","amount_breakdown":[{"amount":"x"},3]}',
]  # fmt: skip
STRANGE: list[dict[str, Any]] = [
    {
        "type": "fact_exact",
        "question": "<b>\x00</b>",
        "expected": {
            "amount_total": 10**5000, "amount_breakdown": [{"amount": None}, "x", 5], "date": "never",
            "date_range": {"start": "2020-08-01", "end": 5}, "count": float("nan"), "text_answer": {"a": [1]},
            "boolean_answer": "yes", "entity": 10**5000,
        },
        "required_evidence": [{"page": 10**5000, "must_include": None}, 7, {"page": float("inf")}],
        "scoring": {"numeric_exact": False, "date_exact": False},
        "metadata": {"tags": "x", "difficulty": 3},
    },
    {
        "type": "evidence_set",
        "expected": {"key_points": ["", None, 5, "要点"], "evidence_count_min": "two"},
        "required_evidence": {"page": 1, "must_include": "要点"},
        "scoring": [],
    },
    {"type": "conflict_gap", "question": None, "required_quote": "…", "additional_quotes": [3, None, "a...b"]},
    {"type": "conflict_gap", "should_abstain": "no", "hallucination_penalty": 7, "expected": "x"},
]  # fmt: skip


LONGER_NUMBER = '{"amount":1e15000,"count":"' + "9" * 5000 + '"}'


@pytest.mark.parametrize(
    "outputs", [HOSTILE, pytest.param([LONGER_NUMBER], marks=pytest.mark.soak)], ids=["short", "longer"]
)
def test_hostile_outputs_and_questions_are_scored(outputs: list[str | None]) -> None:
    rows = [(question, output) for question in range(len(STRANGE)) for output in outputs]
    columns = [name for name in COLUMNS if name not in ("difficulty", "tags")]
    got = scored(STRANGE, rows)
    for row, (question, output) in zip(got, rows, strict=True):
        want = oracle.score(STRANGE[question], output)
        assert differences(row, {name: want[name] for name in columns}) == {}, (question, (output or "")[:80])


# --- from end to end ------------------------------------------------------------------------------------------------

SAMPLES = SAMPLES_FOLDER / "legal_rag"
QUESTION_FILES = [str(SAMPLES / f"{name}.json") for name in ("fact_exact", "evidence_set", "conflict_gap")]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return run_command(capsys, *words)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The packaged samples, scored."""
    folder = str(tmp_path_factory.mktemp("legal") / "runs")
    given_ = [word for file in QUESTION_FILES for word in ("-q", file)]
    with pytest.raises(SystemExit) as stop:
        main(["score", str(SAMPLES / "outputs"), "-p", "legal_rag", *given_, "--store", folder, "-o", f"{folder}.txt"])
    assert stop.value.code == 0
    return folder


def test_samples_are_enough_and_score_as_the_slow_scorer(store: str) -> None:
    questions: dict[str, dict[str, Any]] = {}
    for file in QUESTION_FILES:
        header = json.loads(Path(file).read_text(encoding="utf-8"))
        assert len(header["questions"]) >= 8
        questions |= {q["id"]: {"type": header["benchmark_type"], **q} for q in header["questions"]}
    with open_store(store, functions=False) as session:
        rows = {(row["run_id"], row["question_id"]): row for row in session.rows("from legal_rag")}
        listed = session.sql("from legal_rag").column_names
    assert len(rows) == 2 * len(questions)
    assert listed == [*("run_id", "question_id", "repeat"), *COLUMNS, "eval_set"]
    for path in sorted((SAMPLES / "outputs").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            given_ = json.loads(line)
            output = given_["output"]
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            want = oracle.score(questions[given_["question_id"]], text)
            assert differences(rows[given_["run_id"], given_["question_id"]], want) == {}


def test_summary_by_type_difficulty_category_and_tag(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", "inventing", "--store", store, "--format", "json")
    shown = json.loads(out)
    assert code == 0
    with open_store(store, functions=False) as session:
        rows = session.rows("select * from legal_rag where run_id = 'inventing'")
    assert shown["total_tests"] == len(rows)
    assert shown["passed_tests"] == sum(row["passed"] for row in rows)
    assert shown["pass_rate"] == pytest.approx(shown["passed_tests"] / len(rows))
    assert shown["overall_percentage"] == pytest.approx(100 * sum(row["score"] for row in rows) / len(rows))
    groups = {(line["grouping"], line["value"]): line for line in shown["groups"]}
    for name in ("question_type", "difficulty", "category"):
        mine = [line for (grouping, _), line in groups.items() if grouping == name]
        assert sum(line["total_tests"] for line in mine) == len(rows)
    tagged = [row["score"] for row in rows if "金额" in row["tags"]]
    assert groups["tags", "金额"]["overall_percentage"] == pytest.approx(100 * sum(tagged) / len(tagged))
    code, out, _ = run(capsys, "show", "inventing", "--store", store)
    assert "conflict_gap" in out


def test_explain_says_how_an_ambiguous_value_was_read() -> None:
    question = {"id": "f", "type": "fact_exact", "question": "Сколько и когда?", "expected": {"amount_total": 1250}}
    answer = Case(question, "Итого 1.250 на 03/05/2024, всего 7 человек.")
    by_text = scored_and_explained("legal_rag", answer, {})[1]["values in the text"]
    assert [(one["value"], one["read with"]) for one in by_text] == [
        ("1250", "a comma before decimals, by the letters of the text"),
        ("2024-05-03", "the day first, by the letters of the text"),
        ("7", None),
    ]
    params = {"decimal_mark": "point", "date_order": "mdy"}
    by_parameter = scored_and_explained("legal_rag", answer, params)[1]["values in the text"]
    assert [(one["value"], one["read with"]) for one in by_parameter] == [
        ("1.250", "a point before decimals, by the parameter"),
        ("2024-03-05", "the month first, by the parameter"),
        ("7", None),
    ]


def test_explain_shows_which_value_was_read_where(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    def explained(name: str, question: str) -> dict[str, Any]:
        code, out, _ = run(capsys, "explain", name, question, "--store", store, "--format", "json")
        assert code == 0
        found: dict[str, Any] = json.loads(out)
        return found

    fact = explained("careful", "fact_003")
    (line,) = fact["explanation"]["expected"]
    start, end = map(int, line["characters"].split("–"))
    assert fact["output"][start:end] == line["text"] == "二〇二一年三月十五日"
    assert (line["got"], line["matched"]) == ("2021-03-15", True)
    gap = explained("inventing", "gap_001")
    assert sum(one["invented"] for one in gap["explanation"]["specifics"]) == gap["inventions"]
    assert {one["kind"] for one in gap["explanation"]["values in the text"]} >= {"number", "name"}
    evidence = explained("careful", "evidence_002")["explanation"]
    assert all(one["covered by"] for one in (*evidence["required_evidence"], *evidence["key_points"]))
    without = explained("inventing", "evidence_004")["explanation"]
    assert without["format"][0]["answer"] is None, "an object of evidence alone"
    for question, form in (("fact_002", "table"), ("gap_003", "md")):
        assert run(capsys, "explain", "inventing", question, "--store", store, "--format", form)[0] == 0


def test_an_unknown_type_is_an_input_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = tmp_path / "q.json"
    questions.write_text('{"benchmark_type": "essay", "questions": [{"id": "q7", "question": "?"}]}')
    outputs = tmp_path / "o.jsonl"
    outputs.write_text('{"question_id": "q7", "output": "x"}\n')
    code, _, err = run(capsys, "score", str(outputs), "-p", "legal_rag", "-q", str(questions), "--store", str(tmp_path))
    assert code == 2
    assert "'q7'" in err
    assert '"essay"' in err


def test_missing_and_empty_answers_count_as_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = tmp_path / "thin.jsonl"
    outputs.write_text('{"question_id": "fact_001", "output": null}\n{"question_id": "fact_002", "output": " "}\n')
    store_ = str(tmp_path / "runs")
    run(capsys, "score", str(outputs), "-p", "legal_rag", "-q", QUESTION_FILES[0], "--store", store_)
    with open_store(store_, functions=False) as session:
        rows = session.rows("select fail_reason, count(*) as n, sum(score) as s from legal_rag group by 1 order by 1")
        (tests,) = session.rows("select sum(total_tests) as n from run_groups where grouping = 'question_type'")
    assert [(row["fail_reason"], row["n"], row["s"]) for row in rows] == [
        ("empty_output", 2, 0.0),
        ("missing_output", 8, 0.0),
    ]
    assert tests["n"] == 10
