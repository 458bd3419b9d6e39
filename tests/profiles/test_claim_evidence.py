"""claim_evidence over columns: case by case, and against its slow oracle on made-up, hostile and sample answers."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles import claim_evidence as oracle
from oracles.text import squash
from rageval_batch.api import Scores
from rageval_batch.api import score as score_files
from rageval_batch.errors import InputError
from rageval_batch.model.schemas import BATCH, EvalSet
from rageval_batch.profiles.claim_evidence import PROFILE
from rageval_batch.profiles.claim_evidence.declaration import GATES
from rageval_batch.profiles.claim_evidence.rankings import GradedIds
from rageval_batch.resources import samples_folder
from rageval_batch.runs.batch import missing_rows, score_batch, scorer
from support.effort import examples
from support.places import CASES_FOLDER

CASES = [json.loads(line) for line in (CASES_FOLDER / "claim_evidence.jsonl").read_text("utf-8").split("\n") if line]
SAMPLES = samples_folder() / "claim_evidence"
OWN = [name for name in oracle.COLUMNS if name != "question_id"]

Row = dict[str, Any]
Answer = tuple[Row, str | None]


def as_text(output: Any) -> str | None:
    return output if output is None or isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def batch_of(outputs: list[str | None]) -> pa.RecordBatch:
    """One answer to each question in turn."""
    rows = [
        {"run_id": "r", "question": k, "repeat": 0, "input": 0, "line": k, "output": output, "chunks": None}
        for k, output in enumerate(outputs)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=BATCH)


def eval_set(tasks: list[Row]) -> EvalSet:
    return EvalSet(
        tuple(f"t{k}" for k in range(len(tasks))), tuple(tasks), (None,) * len(tasks), weights=(1.0,) * len(tasks)
    )


def fast(answers: list[Answer], params: Row | None = None) -> list[Row]:
    """The score rows of answers, each to a task of its own."""
    ready = scorer(PROFILE, PROFILE.read_params(params or {}), eval_set([task for task, _ in answers]))
    rows: list[Row] = score_batch(ready, batch_of([output for _, output in answers])).scores.to_pylist()
    gain = f"ndcg_{(params or {}).get('ndcg_k', 10)}"
    return [{"ndcg_10": row[gain], **row} for row in rows]  # the oracle has one name for the gain over any K


def differences(got: Row, want: Row) -> dict[str, tuple[Any, Any]]:
    """The columns that are not what is wanted: (got, want)."""
    found = {}
    for name, wanted in want.items():
        value = got[name]
        if isinstance(wanted, float) and isinstance(value, float):
            same = abs(value - wanted) <= 1e-12
        else:
            same = value == wanted and type(value) is type(wanted)
        if not same:
            found[name] = (value, wanted)
    return found


def assert_as_oracle(answers: list[Answer], params: Row | None = None) -> None:
    for got, (task, output) in zip(fast(answers, params), answers, strict=True):
        want = oracle.score(task, output, params=params)
        assert differences(got, {name: want[name] for name in OWN}) == {}, (task, output)


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    """The row of every case, those with the same parameters scored together."""
    found: dict[str, Row] = {}
    for missing, params in {(case.get("missing", False), json.dumps(case.get("params", {}))) for case in CASES}:
        mine = [
            case
            for case in CASES
            if (case.get("missing", False), json.dumps(case.get("params", {}))) == (missing, params)
        ]
        answers = [(case["task"], as_text(case["output"])) for case in mine]
        if missing:
            ready = scorer(PROFILE, PROFILE.read_params(json.loads(params)), eval_set([task for task, _ in answers]))
            got = missing_rows(ready, {"r": np.arange(len(mine), dtype=np.int32)}).to_pylist()
        else:
            got = fast(answers, json.loads(params))
        found.update(zip([case["name"] for case in mine], got, strict=True))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], rows: dict[str, Row]) -> None:
    want = {name: value for name, value in case["want"].items() if name != "question_id"}
    assert differences(rows[case["name"]], want) == {}


# --- made-up answers ------------------------------------------------------------------------------------------------

PIECES = [
    *(
        "adenosine",
        "Adenosine.",
        "CD73",
        "ＣＤ７３",
        "IL-6",
        "il-65",
        "5",
        "²",
        "β",
        "ß",
        "ﬁ",
        "é",
        "e\u0301",
        "\u0300",
    ),
    *("薬", "細胞", "の", "データ", "ﾃﾞｰﾀ", "ー", "・", "한", "ก", "ຂ", "\U00020000", "\U000e0100", "😀", "İ"),
    *(" ", "\u3000", "\n", "\x00", "-", "_", "/", "。", "<b>", "'; drop table runs; --", "=1+1", "\u202e"),
]
Any_ = st.SearchStrategy[Any]
ODD: Any_ = st.sampled_from(
    [None, True, False, -1, 0, 7, 1.5, 1e300, "", " ", "x", [], {}, [None], [[]], [{}], 2**31, -(2**63)]
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
IDS: Any_ = st.sampled_from(
    ["a", "b", "c", "d", " a", "", " ", 1, "1", 0, -5, 2**63, -(2**63), 1.0, True, None, [], "é", "e\u0301"]
)
WORDS: Any_ = st.sampled_from(
    ["done", " OK\u3000", "o\u212a", "\u017fuccess", "pa\u00dfed", "True", "failed", "", None, True, False, 1]
)


def fields(**strategies: Any_) -> st.SearchStrategy[Row]:
    """Objects with any of the fields, now and then one of another type."""
    return st.fixed_dictionaries({}, optional={name: values | ODD for name, values in strategies.items()})


def lists(items: Any_) -> st.SearchStrategy[list[Any]]:
    return st.lists(items | ODD if items is not ODD else items, max_size=5)


ITEMS = fields(evidence_id=IDS, text=TEXTS, supports=st.booleans())
TYPES = st.sampled_from(["fact", "Fact ", "log", "LOG", "\u2003log", "hypothesis", "", "l\u00f3g"])
CLAIMS = fields(claim_id=IDS, text=TEXTS, type=TYPES, evidence=lists(ITEMS), supported=st.booleans())
PAIRS = fields(a=IDS, b=IDS, contradiction=st.booleans())
NAMES = st.sampled_from(["rank", "fetch", "", " ", "expected", "#1"])
STAGES = (
    fields(
        expected=st.integers(0, 5) | st.sampled_from([3.0, 1e2, 2.5, 1e300]),
        completed=st.integers(0, 9) | st.sampled_from([2.0, -0.0, -1.0]),
    )
    | fields(expected=lists(NAMES), completed=lists(NAMES))
    | fields(expected=lists(NAMES), completed=st.integers(0, 5))
    | st.dictionaries(NAMES, WORDS | ODD, max_size=4)
    | lists(fields(name=IDS, status=WORDS, error=TEXTS))
)
OUTPUTS = fields(
    answer=TEXTS,
    sentences=lists(fields(text=TEXTS, evidence_ids=lists(IDS))),
    claims=lists(CLAIMS),
    stages=STAGES,
    artifacts=lists(st.sampled_from(["report.md", "claims.jsonl", "x", " ", "Report.md"])),
    ranking=lists(IDS),
    contradictions=lists(PAIRS),
)
# Tasks that the check of questions lets pass; the others never reach the scorer.
GOLD_IDS: Any_ = st.sampled_from(["a", "b", "c", "d", " a", 1, "1", 0, -5, 2**63 - 1, -(2**63), "é", "e\u0301"])
GRADES = st.sampled_from([0, 1, 2, 3, 0.5, 1e308])
ENTITIES = TEXTS.filter(squash) | st.sampled_from(["CD73", "IL-6", "adenosine", "データ", "É"])
TASKS: st.SearchStrategy[Row] = st.fixed_dictionaries(
    {},
    optional={
        "expected_entities": st.lists(ENTITIES, max_size=5),
        "min_citations": st.integers(0, 4),
        "category": st.sampled_from(["survey", ""]),
        "gold_ranking": st.lists(st.fixed_dictionaries({"id": GOLD_IDS, "grade": GRADES}), max_size=5),
        "gold_contradictions": st.lists(
            st.fixed_dictionaries({"a": GOLD_IDS, "b": GOLD_IDS, "contradiction": st.booleans()}), max_size=5
        ),
    },
)
RAW = st.sampled_from(
    [None, "", " \u3000", "{", "[]", "5", "```json\n{}\n```", 'see {"answer": "a"}', '{"answer": "\\ud800"}']
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "support_threshold": st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]),
        "required_artifacts": st.sampled_from([0, 2, ["report.md", "x"], ["report.md", "report.md", " "]]),
        "ndcg_k": st.sampled_from([1, 2, 5, 100]),
        "level": st.sampled_from(["initial", "target"]),
    },
)
ANSWERS = st.lists(st.tuples(TASKS, st.builds(json.dumps, OUTPUTS, ensure_ascii=st.booleans()) | RAW), max_size=6)


@given(ANSWERS, PARAMS)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_made_up_answers_score_as_the_oracle_says(answers: list[Answer], params: Row) -> None:
    assert_as_oracle(answers, params)


@given(ANSWERS, st.integers(0, 6))
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_row_does_not_depend_on_its_batch(answers: list[Answer], cut: int) -> None:
    ready = scorer(PROFILE, PROFILE.read_params({}), eval_set([task for task, _ in answers]))
    whole = batch_of([output for _, output in answers])
    parts = [score_batch(ready, whole.slice(*part)).scores for part in ((cut,), (0, cut))]
    assert (
        pa.Table.from_batches(parts).sort_by("line").equals(pa.Table.from_batches([score_batch(ready, whole).scores]))
    )


@given(ANSWERS, PARAMS)
@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_failing_claims_as_the_oracle_says(answers: list[Answer], params: Row) -> None:
    tasks = [{**task, "task_id": f"t{k}"} for k, (task, _) in enumerate(answers)]
    prepared = PROFILE.scoring.prepare(eval_set(tasks), PROFILE.read_params(params))
    assert PROFILE.scoring.failing_claims is not None
    got = PROFILE.scoring.failing_claims(prepared, batch_of([output for _, output in answers]))
    want = [
        line
        for task, (_, output) in zip(tasks, answers, strict=True)
        for line in oracle.failing_claims(task, output, params)
    ]
    assert [{"task_id": f"t{line.pop('row')}", **line} for line in got] == want


@given(ANSWERS)
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_answer_can_be_explained(answers: list[Answer]) -> None:
    prepared = PROFILE.scoring.prepare(eval_set([task for task, _ in answers]), PROFILE.read_params({}))
    batch = batch_of([output for _, output in answers])
    for k in range(len(answers)):
        for section in PROFILE.scoring.explain(prepared, batch.slice(k, 1)).sections:
            assert section.lines
            assert len({tuple(line) for line in section.lines}) == 1


def test_log_claims_have_no_verdict_and_entities_are_said_to_be_of_the_answer() -> None:
    """A claim of type log counts nowhere; an entity was not looked for among the ids of evidence."""
    fact = {"text": "LDL falls", "evidence": [{"evidence_id": "ldl-01", "text": "LDL falls"}]}
    output = json.dumps({"answer": "LDL falls", "claims": [fact, {"text": "Ranked 5 papers", "type": "log"}]})
    prepared = PROFILE.scoring.prepare(eval_set([{"expected_entities": ["LDL"]}]), PROFILE.read_params({}))
    found = {part.name: part for part in PROFILE.scoring.explain(prepared, batch_of([output])).sections}
    assert [(line["supported"], line["said by"]) for line in found["claims"].lines] == [(True, "words"), (None, None)]
    assert found["entities"].lines == ({"entity": "ldl", "found": True},) and found["entities"].members == ("answer",)


DEEP = 20_000


@pytest.mark.parametrize(
    "output",
    [
        '{"answer": "a", "answer": 5}',
        '{"claims": [], "claims": [{"text": "薬", "evidence": [{"text": " 薬\\n"}], "evidence": []}]}',
        '{"stages": {"a": "no", "b": true, "a": true}}',
        '{"stages": {"a": true, "b": "no", "a": "no", " ": 1, " ": 2}}',
        '{"stages": {"expected": 3, "expected": "x", "completed": 1}}',
        '{"stages": {"expected": 2147483647, "completed": 2147483647}}',
        '{"stages": {"expected": 2147483648, "completed": 1}}',
        '{"stages": {"expected": 2147483647.0, "completed": 2147483648.0}}',
        '{"stages": {"expected": 4.0, "completed": 1e999}}',
        '{"stages": {"expected": 0.4e1, "completed": 30E-1}}',
        '{"stages": {"expected": -0, "completed": 1}, "ranking": [-0, "0", 0]}',
        '{"\\u0061nswer": "CD73", "\\u0063laims": [{"t\\u0065xt": "IL-6"}]}',
        '{"answer": "a\\u0000b CD73\\u0000"}',
        '{"claims": ' + "[" * DEEP + "]" * DEEP + "}",
        '{"claims": ' + '{"a": ' * DEEP,
        '{"ranking": [' + "9" * 5000 + ", 1e999, 9223372036854775807, 9223372036854775808, -9223372036854775809]}",
        '{"answer": "' + "CD73" * 50_000 + '"}',
        json.dumps({"claims": [{"text": "薬" * 5000, "evidence": [{"text": "薬" * 5000}] * 40}]}),
        json.dumps({"claims": [{"text": " ".join(f"word{k}" for k in range(3000)), "evidence": [{"text": "word1"}]}]}),
    ],
    ids=lambda output: output[:40],
)
def test_hostile_answer(output: str) -> None:
    task = {
        "expected_entities": ["CD73", "IL-6", "b"],
        "min_citations": 2**31 - 1,
        "gold_ranking": [{"id": 0, "grade": 1}, {"id": 2**63 - 1, "grade": 2}],
    }
    assert_as_oracle([(task, output), ({}, None), (task, output)])


def test_gold_fields_of_a_csv_are_the_json_in_its_cells(tmp_path: Path) -> None:
    gold, outputs = tmp_path / "gold.csv", tmp_path / "r.jsonl"
    gold.write_text(
        'task_id,expected_entities,min_citations,gold_ranking\nt,"[""CD73""]",2,"[{""id"": ""a"", ""grade"": 1}]"\n',
        encoding="utf-8",
    )
    outputs.write_text('{"task_id": "t", "output": {"answer": "CD73", "ranking": ["a"]}}', encoding="utf-8")
    got = score_files(outputs, gold, "claim_evidence").scores.to_dicts()[0]
    assert (got["entity_recall"], got["citations_ok"], got["ndcg_10"]) == (1.0, False, 1.0)


# --- rankings -------------------------------------------------------------------------------------------------------


def test_ndcg_and_map_are_those_of_trec_eval() -> None:
    import pytrec_eval

    random_ = random.Random(5)
    tasks, outputs, judged, ranked = [], [], {}, {}
    for k in range(300):
        ids = [f"d{n}" for n in range(random_.randint(1, 40))]
        grades = {name: random_.randint(0, 3) for name in random_.sample(ids, random_.randint(1, len(ids)))}
        order = random_.sample(ids, random_.randint(1, len(ids)))
        tasks.append({"gold_ranking": [{"id": name, "grade": grade} for name, grade in grades.items()]})
        outputs.append(json.dumps({"ranking": order}))
        judged[str(k)] = grades
        ranked[str(k)] = {name: float(-rank) for rank, name in enumerate(order)}
    trec = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "map"}).evaluate(ranked)
    compared = 0
    for k, row in enumerate(fast(list(zip(tasks, outputs, strict=True)))):
        if not any(judged[str(k)].values()):
            assert row["ndcg_10"] is None and row["map"] is None
            continue
        assert row["ndcg_10"] == pytest.approx(trec[str(k)]["ndcg_cut_10"], abs=1e-9)
        assert row["map"] == pytest.approx(trec[str(k)]["map"], abs=1e-9)
        compared += 1
    assert compared > 250


def test_a_perfect_ranking_is_worth_exactly_one() -> None:
    random_ = random.Random(3)
    graded = [{str(n): random_.choice([0.1, 0.3, 0.7, 1, 3]) for n in range(30)} for _ in range(200)]
    outputs = [json.dumps({"ranking": sorted(grades, key=grades.__getitem__, reverse=True)}) for grades in graded]
    tasks = [{"gold_ranking": [{"id": n, "grade": g} for n, g in grades.items()]} for grades in graded]
    assert {row["ndcg_10"] for row in fast(list(zip(tasks, outputs, strict=True)))} == {1.0}
    assert not GradedIds([], 10).applies.size


# --- whole runs -----------------------------------------------------------------------------------------------------


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def scored() -> Scores:
    return score_files(SAMPLES / "outputs", SAMPLES / "gold.jsonl", "claim_evidence")


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Row]]:
    """The oracle's rows of every sample run."""
    tasks = {task["task_id"]: task for task in read_lines(SAMPLES / "gold.jsonl")}
    out = {}
    for path in sorted((SAMPLES / "outputs").iterdir()):
        answers = {row["task_id"]: as_text(row["output"]) for row in read_lines(path)}
        out[path.stem] = [
            oracle.score(task, answers.get(name), missing=name not in answers) for name, task in sorted(tasks.items())
        ]
    return out


def test_samples_score_as_the_oracle_says(scored: Scores, expected: dict[str, list[Row]]) -> None:
    for run, rows in expected.items():
        got = scored.scores.filter(pl.col("run_id") == run).sort("question_id").to_dicts()
        assert [differences(a, b) for a, b in zip(got, rows, strict=True)] == [{}] * len(rows)


def test_view_has_the_columns_of_the_page(scored: Scores) -> None:
    keys = ["run_id", "question_id", "repeat"]
    columns = [name for name in oracle.COLUMNS if name != "question_id"]
    assert [name for name in scored.scores.columns if name not in ("answered", "eval_set")] == keys + columns


@pytest.mark.parametrize("level", ["initial", "target"])
def test_gates_are_those_of_the_page(level: str, scored: Scores, expected: dict[str, list[Row]]) -> None:
    declared = {gate.name: gate for gate in GATES if gate.level == level}
    for run, rows in expected.items():
        results = oracle.gates(rows, level)
        assert [result["gate"] for result in results] == list(declared)
        for result in results:
            gate = declared[result["gate"]]
            found = scored.summary.filter((pl.col("run_id") == run) & (pl.col("metric") == gate.metric)).to_dicts()[0]
            assert found[gate.stat] == pytest.approx(result["actual"], abs=1e-12), (run, gate.name)
            assert (gate.limit, gate.op.replace("==", "=")) == (result["limit"], result["op"])
            assert result["failure"] in (None, gate.failure)


def test_parameters_are_read_as_a_count_or_as_names() -> None:
    read = PROFILE.read_params
    assert read({"required_artifacts": "3"})["required_artifacts"] == 3
    assert read({"required_artifacts": "a.md, b.md,"})["required_artifacts"] == ("a.md", "b.md")
    assert read({"required_artifacts": ["a,b.md"]})["required_artifacts"] == ("a,b.md",)
    for bad in ("-1", "1.5", "nan", ",", "", True, None, [1], 2**40):
        with pytest.raises(InputError):
            read({"required_artifacts": bad})
    with pytest.raises(InputError):
        read({"support_threshold": "1.5"})


def test_the_gain_is_called_by_the_ranks_that_count() -> None:
    """A gain over five ranks never stands in the column of ten."""
    names = PROFILE.schema_for(PROFILE.read_params({"ndcg_k": 5})).names
    assert "ndcg_5" in names and "ndcg_10" not in names
    assert "ndcg_10" in PROFILE.schema_for(PROFILE.read_params({})).names
