"""Profile eval_json_v2 over whole batches: the case files, and random eval sets and answers against the oracle."""

import json
import random
from collections import Counter
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import eval_json_v2 as oracle
from rageval_batch.bench import synthetic
from rageval_batch.errors import InputError
from rageval_batch.model.schemas import EvalSet
from rageval_batch.profiles.eval_json_v2 import PROFILE
from rageval_batch.profiles.eval_json_v2.declaration import FIELDS, LISTS
from rageval_batch.runs.batch import Scorer, missing_rows, score_batch, scorer
from support.effort import examples
from support.eval_json_v2 import COLUMNS, Questions, batch_of, differences, ready, rows_of
from support.places import CASES_FOLDER, SAMPLES_FOLDER
from support.strategies import MIXED, damaged, related, small_texts, written

UNPARSABLE = {"code_fence", "truncated_json", "extra_text", "invalid_json"}


def lines(name: str) -> list[dict[str, Any]]:
    """The objects of a case file."""
    with (CASES_FOLDER / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# --- the case files -------------------------------------------------------------------------------------------------


def check_cases(cases: list[dict[str, Any]]) -> None:
    """Cases of one parameter set as one batch: equal questions are one question, and rows stand in a mixed order."""
    texts = [json.dumps([case["expected"], case["chunks"]]) for case in cases]
    distinct = list(dict.fromkeys(texts))
    made = ready([tuple(json.loads(text)) for text in distinct], cases[0].get("params"))
    where = [distinct.index(text) for text in texts]
    answered = [k for k, case in enumerate(cases) if not case.get("missing")]
    random.Random(5).shuffle(answered)
    rows = rows_of(made, batch_of([(where[k], cases[k]["output"], None) for k in answered]))
    missing = [k for k, case in enumerate(cases) if case.get("missing")]
    rows += missing_rows(made, {"run": np.array([where[k] for k in missing], np.int32)}).to_pylist()
    for k, row in zip(answered + missing, rows, strict=True):
        name = cases[k].get("name", k)
        want = cases[k]["want"]
        if want.get("fail_reason") == "unparsable":
            assert row["fail_reason"] in UNPARSABLE, name
            want = {column: value for column, value in want.items() if column != "fail_reason"}
        assert differences(row, want) == {}, name


def by_params() -> list[list[dict[str, Any]]]:
    """The cases, those of the same parameters together."""

    def key(case: dict[str, Any]) -> str:
        return json.dumps(case.get("params"), sort_keys=True)

    return [list(group) for _, group in groupby(sorted(lines("eval_json_v2.jsonl"), key=key), key)]


@pytest.mark.parametrize("cases", by_params(), ids=lambda cases: json.dumps(cases[0].get("params")))
def test_cases(cases: list[dict[str, Any]]) -> None:
    check_cases(cases)


def test_vectors() -> None:
    cases = lines("eval_json_v2_vectors.jsonl")
    assert len(cases) == 120
    check_cases(cases)


def test_the_defaults_are_those_of_the_oracle() -> None:
    assert PROFILE.read_params({}) == oracle.PARAMS


# --- random eval sets -----------------------------------------------------------------------------------------------

PHRASES = st.one_of(
    small_texts("門禁管理 ", 9),
    small_texts("abc", 6),
    st.lists(st.sampled_from(["V-Pass", "訪客登記", "manifest.json", "22:00", "ab", "\n\t", "\u3000"]), max_size=8).map(
        " ".join
    ),
    st.text(MIXED, max_size=15),
    st.sampled_from(["餐飲服務部", "餐飲服務處", "ＡＢＣ", "ABC", "abc", "ｶﾞ", "ガ", ""]),
)
ODD = st.one_of(st.none(), st.booleans(), st.integers(-9, 10**12), st.floats(-1e9, 1e9), st.just({"a": [1, "門"]}))
ITEMS = st.lists(st.one_of(PHRASES, PHRASES, PHRASES, ODD), max_size=5)
EXPECTED = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.one_of(PHRASES, PHRASES, PHRASES, ODD) for name in (*FIELDS[:3], "original_evidence")},
        **{name: st.one_of(ITEMS, ITEMS, ITEMS, ODD, PHRASES) for name in LISTS},
    },
)
PATHS = st.sampled_from(["a.md", " a.md\u3000", "b/門禁.docx", "", "A.md"])
CHUNK = st.fixed_dictionaries(
    {}, optional={"source_path": st.one_of(PATHS, PATHS, ODD), "text": st.one_of(PHRASES, PHRASES, ODD)}
)
CHUNKS = st.one_of(st.none(), st.lists(CHUNK, max_size=4))


@st.composite
def source_maps(draw: st.DrawFn, chunks: Any) -> list[Any]:
    """Entries that often cite what is in the chunks."""
    texts = [chunk["text"] for chunk in chunks or [] if isinstance(chunk.get("text"), str)]
    quoted = st.sampled_from(texts).flatmap(related) if texts else PHRASES
    anchors = st.one_of(st.lists(st.one_of(quoted, quoted, PHRASES, ODD), max_size=4), ODD)
    ref = st.fixed_dictionaries({}, optional={"file": st.one_of(PATHS, PATHS, ODD), "anchors": anchors})
    entry = st.fixed_dictionaries({}, optional={"refs": st.one_of(st.lists(st.one_of(ref, ref, ODD), max_size=4), ODD)})
    return draw(st.lists(st.one_of(entry, entry, entry, ODD), max_size=4))


@st.composite
def answers(draw: st.DrawFn, expected: Any, chunks: Any) -> str | None:
    """An answer near what was expected; now and then without a field, of another type, amid other text or broken."""
    kind = draw(st.integers(0, 19))
    if kind == 0:
        return draw(st.sampled_from([None, "", "\u3000\n", "{}", "[]", "null", "sorry"]))
    near = {name: value if isinstance(value, str) else "" for name, value in expected.items()}
    answer: dict[str, Any] = {
        name: draw(st.one_of(related(near.get(name, "")), PHRASES)) for name in (*FIELDS[:3], "original_evidence")
    }
    for name in ("detailed_description", "predicted_questions"):
        items = expected.get(name)
        some = [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
        item = st.one_of(st.sampled_from(some).flatmap(related), PHRASES, ODD) if some else st.one_of(PHRASES, ODD)
        answer[name] = draw(st.lists(item, max_size=6))
    answer["source_map"] = draw(source_maps(chunks))
    if kind == 1:
        for name in draw(st.sets(st.sampled_from(FIELDS), min_size=1, max_size=3)):
            answer[name] = draw(ODD)
    if kind == 2:
        for name in draw(st.sets(st.sampled_from(FIELDS), min_size=1, max_size=3)):
            del answer[name]
    text = draw(written(answer))
    if kind == 3:
        return f"```json\n{text}\n```"
    if kind == 4:
        return f"Here it is: {text} {draw(st.sampled_from(['', 'Done.', '{}']))}"
    return draw(damaged(text)) if kind == 5 else text


PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "json_mode": st.sampled_from(["strict", "lenient"]),
        "soft_threshold": st.sampled_from([0.0, 0.5, 0.6, 0.72, 1.0]),
        "containment_min": st.integers(1, 4),
        "unicode_form": st.sampled_from(["none", "nfkc", "nfkc_casefold"]),
        "list_match": st.sampled_from(["one_to_one", "independent"]),
        "list_matcher": st.sampled_from(["bigram_jaccard", "indel"]),
        "indel_threshold": st.sampled_from([0.0, 0.4, 0.5, 0.68, 0.8, 1.0]),
        "keywords": st.sampled_from(["bigram", "bigram", "jieba"]),
        **{name: st.integers(0, 3) for name in ("description_cap", "questions_cap", "keyword_cap")},
        **{name: st.integers(0, 3) for name in ("entry_cap", "ref_cap", "anchor_cap")},
        **{name: st.sampled_from([1, 3, 40]) for name in ("full_hits", "full_length")},
        **{f"w_{name}": st.sampled_from([0.0, 0.3, -0.5, 1.5]) for name in ("main_topic", "grounding", "sub_topic")},
    },
)


@st.composite
def sweeps(draw: st.DrawFn) -> tuple[list[tuple[Any, Any]], list[tuple[int, str | None, Any]]]:
    """(questions, rows): questions with and without chunks, rows that share them, some with chunks of their own."""
    questions = draw(st.lists(st.tuples(EXPECTED, CHUNKS), min_size=1, max_size=3))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        q = draw(st.integers(0, len(questions) - 1))
        own = draw(st.one_of(st.none(), st.none(), CHUNKS))
        chunks = questions[q][1] if own is None else own
        rows.append((q, draw(answers(questions[q][0], chunks)), own))
    return questions, rows + rows[:1]


@settings(max_examples=examples(150))
@given(sweeps(), st.one_of(st.just({}), PARAMS))
def test_any_sweep_is_scored_as_the_oracle_does(
    sweep: tuple[list[tuple[Any, Any]], list[tuple[int, str | None, Any]]], params: dict[str, Any]
) -> None:
    questions, rows = sweep
    for got, (q, output, own) in zip(rows_of(ready(questions, params), batch_of(rows)), rows, strict=True):
        expected, chunks = questions[q]
        want = oracle.score(expected, chunks if own is None else own, output, params=params)
        assert set(want) == set(got)
        assert differences(got, want) == {}, (expected, own, output)


@given(st.lists(st.tuples(EXPECTED, CHUNKS), min_size=1, max_size=3), st.data())
def test_missing_rows_are_as_the_oracle_says(questions: list[tuple[Any, Any]], data: st.DataObject) -> None:
    holes = data.draw(st.lists(st.integers(0, len(questions) - 1), max_size=4))
    rows = missing_rows(ready(questions), {"r": np.array(holes, np.int32)}).select(COLUMNS).to_pylist()
    assert rows == [oracle.score(*questions[q], None, missing=True) for q in holes]


# --- batches --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def synthetic_sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Questions, Scorer, pa.RecordBatch]:
    """Questions, a lenient scorer of them and 240 answers to 40 questions, all kinds of damage among them."""
    files = synthetic.write_sweep(tmp_path_factory.mktemp("sweep"), 240)
    questions = json.loads(files.questions.read_text(encoding="utf-8"))
    contexts = [json.loads(line) for line in files.contexts.read_text(encoding="utf-8").splitlines()]
    outputs = [json.loads(line) for line in files.outputs.read_text(encoding="utf-8").splitlines()]
    chunks = {row["question_id"]: row["chunks"] for row in contexts[::2]}
    pairs = [(question["expected"]["answer_example"], chunks.get(question["id"])) for question in questions[:40]]
    rows = [
        (
            k % 40,
            text if k % 17 else f"```\n{text}\n```",
            [{"source_path": "x", "text": "門禁"}] if k % 11 == 0 else None,
        )
        for k, text in enumerate(row["output"] for row in outputs[:240])
    ]
    return pairs, ready(pairs, {"json_mode": "lenient"}), batch_of(rows)


def test_a_synthetic_sweep_is_scored_as_the_oracle_does(
    synthetic_sweep: tuple[Questions, Scorer, pa.RecordBatch],
) -> None:
    questions, made, batch = synthetic_sweep
    examples, chunks = zip(*questions, strict=True)
    rows = rows_of(made, batch)
    assert len({row["fail_reason"] for row in rows}) > 3
    for got, row in zip(rows, batch.to_pylist(), strict=True):
        q = row["question"]
        own = chunks[q] if row["chunks"] is None else json.loads(row["chunks"])
        assert differences(got, oracle.score(examples[q], own, row["output"], params={"json_mode": "lenient"})) == {}


@settings(max_examples=examples(25))
@given(st.data())
def test_split_and_order_of_batches_change_nothing(
    synthetic_sweep: tuple[Questions, Scorer, pa.RecordBatch], data: st.DataObject
) -> None:
    _, made, batch = synthetic_sweep
    whole = score_batch(made, batch)
    order = data.draw(st.permutations(range(batch.num_rows)))
    cuts = sorted(data.draw(st.sets(st.integers(1, batch.num_rows - 1), max_size=6)))
    mixed = batch.take(pa.array(order))
    parts = [
        score_batch(made, mixed.slice(first, last - first))
        for first, last in zip([0, *cuts], [*cuts, batch.num_rows], strict=True)
    ]
    together = pa.Table.from_batches([part.scores for part in parts])
    assert together.equals(pa.Table.from_batches([whole.scores]).take(pa.array(order)))
    assert tallied([part.tallies for part in parts]) == tallied([whole.tallies])


def tallied(tables: list[pa.Table]) -> dict[tuple[Any, ...], int]:
    """Tallies of several batches added up."""
    out: dict[tuple[Any, ...], int] = {}
    for row in (row for table in tables for row in table.to_pylist()):
        key = (row["run_id"], row["kind"], row["got"], row["expected"])
        out[key] = out.get(key, 0) + row["n"]
    return out


def test_an_empty_batch_has_no_rows() -> None:
    made = ready([({}, None)])
    assert rows_of(made, batch_of([])) == []
    assert missing_rows(made, {"r": np.zeros(0, np.int32)}).num_rows == 0


# --- single rules ---------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "target_audience": "客服",
    "main_topic": "門禁",
    "sub_topic": "登記",
    "detailed_description": ["甲乙丙"],
    "original_evidence": "alpha bravo",
    "source_map": [{"refs": [{"file": "a.md", "anchors": ["alpha"]}]}],
    "predicted_questions": ["如何登記"],
}
CITED = [{"source_path": "a.md", "text": "alpha"}]
OTHERS = [{"source_path": "b.md", "text": "beta"}]


def test_chunks_of_a_row_replace_those_of_its_question() -> None:
    output = json.dumps(GOOD)
    made = ready([(GOOD, CITED), (GOOD, None)])
    rows = rows_of(
        made,
        batch_of([(0, output, None), (0, output, OTHERS), (0, output, []), (1, output, None), (1, output, CITED)]),
    )
    assert [(row["grounding"], row["context_missing"]) for row in rows] == [
        (1.0, False), (0.0, False), (0.0, True), (0.0, True), (1.0, False),
    ]  # fmt: skip


def test_a_chunk_that_is_no_object_has_no_part_in_the_text() -> None:
    answer = {**GOOD, "source_map": [{"refs": [{"file": "a.md", "anchors": ["alpha\nbeta"]}]}]}
    chunks = [*CITED, None, 5, *OTHERS]
    (row,) = rows_of(ready([(GOOD, chunks)]), batch_of([(0, json.dumps(answer), None)]))
    assert differences(row, oracle.score(GOOD, chunks, json.dumps(answer))) == {}


@pytest.mark.parametrize(
    "element",
    ["1E2", "1e400", "9" * 5000, "[1E2, 1e400]", f'{{"k":1E2,"n":{"9" * 5000}}}'],
)
def test_list_elements_count_as_their_json_text(element: str) -> None:
    output = json.dumps(GOOD).replace(json.dumps(GOOD["detailed_description"]), f"[{element}]")
    for item in ("100.0", "1e400", "9" * 5000, "[100.0, 1e400]"):
        expected = {**GOOD, "detailed_description": [item]}
        params = {"soft_threshold": 1.0}
        (row,) = rows_of(ready([(expected, CITED)], params), batch_of([(0, output, None)]))
        assert differences(row, oracle.score(expected, CITED, output, params=params)) == {}


def test_hostile_answers_stand_beside_good_ones() -> None:
    deep = "[" * 20_000 + "]" * 20_000
    outputs = [
        json.dumps(GOOD), deep, "{" * 20_000, "\x00", "`" * 20_000, '"' + "\\" * 20_001,
        json.dumps(GOOD).replace("[{", f"[{deep}, {{"), json.dumps({**GOOD, "main_topic": "字" * 100_000}), None,
    ]  # fmt: skip
    for mode in ("strict", "lenient"):
        rows = rows_of(ready([(GOOD, CITED)], {"json_mode": mode}), batch_of([(0, text, None) for text in outputs]))
        for row, text in zip(rows, outputs, strict=True):
            assert differences(row, oracle.score(GOOD, CITED, text, params={"json_mode": mode})) == {}


def test_confusions_and_ungrounded_refs_are_tallied() -> None:
    wrong = {
        **GOOD,
        "main_topic": "清潔" * 100,
        "source_map": [{"refs": [{"file": "z"}, {"file": "a.md"}, {"file": "a.md", "anchors": ["none", " "]}]}],
    }
    batch = batch_of([(0, json.dumps(wrong), None), (0, "broken", None), (0, json.dumps(GOOD), None)] * 2)
    counted = tallied([score_batch(ready([(GOOD, CITED)]), batch).tallies])
    assert counted == {
        ("run0", "main_topic", ("清潔" * 100)[:120], "門禁"): 2,
        ("run0", "ungrounded", "file unknown", None): 2,
        ("run0", "ungrounded", "no anchors", None): 2,
        ("run0", "ungrounded", "no anchor found", None): 2,
    }


@pytest.mark.parametrize("way", ["nested", "flat", "reference"])
def test_an_example_is_found_in_every_form(way: str) -> None:
    expected: Any = {"answer_example": GOOD}
    question = {
        "nested": {"id": "q", "expected": expected},
        "flat": {"id": "q", "expected": GOOD},
        "reference": {"id": "q", "reference": expected},
    }[way]
    made = scorer(PROFILE, PROFILE.read_params({}), EvalSet(("q",), (question,), (None,), weights=(1.0,)))
    assert (
        rows_of(made, batch_of([(0, json.dumps(GOOD), CITED)]))[0]["score"]
        == oracle.score(GOOD, CITED, json.dumps(GOOD))["score"]
    )


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"soft_treshold": 1}, "Did you mean 'soft_threshold'"),
        ({"soft_threshold": "high"}, "is not a number"),
        ({"soft_threshold": 1.5}, "at most 1"),
        ({"soft_threshold": "nan"}, "is not a number"),
        ({"full_hits": 0}, "at least 1"),
        ({"full_hits": 1.5}, "whole number"),
        ({"containment_min": 0}, "at least 1"),
        ({"json_mode": "loose"}, "strict, lenient"),
        ({"entry_cap": True}, "whole number"),
    ],
)
def test_bad_parameters_are_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PROFILE.read_params(given_)


# --- explanations ---------------------------------------------------------------------------------------------------


def explained(made: Scorer, row: tuple[int, str | None, Any]) -> dict[str, list[dict[str, Any]]]:
    """The sections of the explanation of one answer."""
    return {part.name: list(part.lines) for part in PROFILE.scoring.explain(made.prepared, batch_of([row])).sections}


def shares(lines_: list[dict[str, Any]]) -> tuple[float, float]:
    """(recall, precision) as the lines of a list say."""
    found = []
    for name in ("expected_item", "got_item"):
        there = {line[name] for line in lines_ if line[name] is not None}
        matched = {line[name] for line in lines_ if line["matched"]}
        assert there == set(range(1, len(there) + 1))
        found.append((len(matched), len(there)))
    both_empty = float(not found[0][1] and not found[1][1])
    recall, precision = (hits / count if count else both_empty for hits, count in found)
    return recall, precision


@settings(max_examples=examples(150))
@given(sweeps(), st.one_of(st.just({}), PARAMS))
def test_explanations_show_what_the_score_used(
    sweep: tuple[list[tuple[Any, Any]], list[tuple[int, str | None, Any]]], params: dict[str, Any]
) -> None:
    """Every item of both sides is shown, and the shown matches are those that were counted."""
    questions, rows = sweep
    made = ready(questions, params)
    for scored, row in zip(rows_of(made, batch_of(rows)), rows, strict=True):
        sections = explained(made, row)
        assert ("classes" in sections) is scored["schema_ok"]
        if not scored["schema_ok"]:
            continue
        for line in sections["classes"]:
            assert float(line["matched"]) == scored[line["field"]]
        for name in LISTS:
            assert shares(sections[name]) == (scored[f"{name}_recall"], scored[f"{name}_precision"])
            for line in sections[name]:
                assert line["matched"] is (line["by"] is not None)
        held = [line["held"] for line in sections["source_map"]]
        assert (sum(held), len(held)) == (scored["grounding_ok_refs"], scored["grounding_total_refs"])
        hits = [line["found"] for line in sections["original_evidence"]]
        assert (sum(hits), len(hits)) == (scored["evidence_hits"], scored["evidence_keywords"])


def lists_explained(expected: list[str], got: list[str], **params: Any) -> list[tuple[Any, ...]]:
    """(expected item, got item, by) of the lines about two lists."""
    made = ready([({**GOOD, "detailed_description": expected}, CITED)], params)
    sections = explained(made, (0, json.dumps({**GOOD, "detailed_description": got}), None))
    return [(line["expected_item"], line["got_item"], line["by"]) for line in sections["detailed_description"]]


def test_lists_are_explained_item_by_item() -> None:
    assert lists_explained([], ["甲乙丙"]) == [(None, 1, None)]
    assert lists_explained([], []) == []
    assert lists_explained(["甲乙丙"], ["甲乙丙", "甲乙丙", "子丑"]) == [
        (1, 1, "equal"), (None, 2, None), (None, 3, None),
    ]  # fmt: skip
    assert lists_explained(["甲乙丙"], ["甲乙丙", "甲乙丙丁", "子丑"], list_match="independent") == [
        (1, 1, "equal"), (1, 2, "containment"), (None, 3, None),
    ]  # fmt: skip
    assert lists_explained(["甲乙丙", "乙丙丁"], ["甲乙丙丁"], list_match="independent") == [
        (1, 1, "containment"), (2, 1, "containment"),
    ]  # fmt: skip


def test_short_containment_is_marked() -> None:
    assert lists_explained(["甲乙丙", "子丑寅", "天地玄"], ["甲", "子 丑", "天地玄黃"]) == [
        (1, 1, "containment of 1 character"), (2, 2, "containment of 2 characters"), (3, 3, "containment"),
    ]  # fmt: skip
    assert lists_explained(["甲乙丙丁戊"], ["甲乙丙丁己"], soft_threshold=0.6) == [(1, 1, "bigram_jaccard")]
    assert lists_explained(["甲乙丙丁戊"], ["甲乙丙丁己"], list_matcher="indel") == [(1, 1, "indel")]
    answer = {**GOOD, "target_audience": "客", "main_topic": "門 禁", "sub_topic": "登記處"}
    by = [line["by"] for line in explained(ready([(GOOD, CITED)]), (0, json.dumps(answer), None))["classes"]]
    assert by == ["containment of 1 character", "equal", "containment of 2 characters"]


def test_a_constant_answer_of_frequent_characters_does_not_pay_with_containment_min() -> None:
    """With the seed's rule single characters are worth points on every question; from two characters on, nothing."""
    path = SAMPLES_FOLDER / "eval_json_v2" / "questions.json"
    examples = [question["expected"]["answer_example"] for question in json.loads(path.read_bytes())]
    frequent = [
        Counter("".join(map(str, (example[name] for example in examples)))).most_common(1)[0][0] for name in FIELDS[:3]
    ]
    items = Counter(item for example in examples for text in example["detailed_description"] for item in set(text))
    answer = {
        **dict(zip(FIELDS[:3], frequent, strict=True)), "original_evidence": "", "source_map": [],
        **{name: [character for character, _ in items.most_common(8)] for name in LISTS},
    }  # fmt: skip
    batch = batch_of([(q, json.dumps(answer), None) for q in range(len(examples))])
    questions = [(example, None) for example in examples]
    means = [
        float(np.mean([row["score"] for row in rows_of(ready(questions, {"containment_min": least}), batch)]))
        for least in (1, 2)
    ]
    assert means[0] > 15
    assert means[1] == 0
