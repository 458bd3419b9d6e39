"""judge_protocol from files to rows: against the oracle, row by row of the case file, and whatever is thrown at it."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import rageval_batch
from oracles import judge_protocol as oracle
from rageval_batch.columnar.kernels import record
from rageval_batch.columnar.strings import from_list
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.judge_protocol.rubric import rubric_problems
from rageval_batch.profiles.registry import get_profile
from rageval_batch.resources import samples_folder
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import Outcome, run
from support.effort import examples
from support.places import CASES_FOLDER

Row = dict[str, Any]
PROFILE = get_profile("judge_protocol")
SAMPLES = samples_folder() / "judge_protocol"
CASES = [json.loads(line) for line in (CASES_FOLDER / "judge_protocol.jsonl").read_text(encoding="utf-8").splitlines()]
Q = oracle.DEFAULT_RUBRIC["dimensions"]


def jsonl(path: Path, rows: Iterable[Row]) -> Path:
    """A file with these rows."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def job(
    folder: Path, records: list[Row], samples: list[Row] | None = None, targets: dict[str, str] | None = None,
    **params: Any,
) -> Job:  # fmt: skip
    """The job of scoring these records."""
    texts = [{"output_id": key, "text": text} for key, text in (targets or {}).items()]
    return Job(
        profile=PROFILE,
        params=PROFILE.read_params(params),
        outputs=sources([jsonl(folder / "records.jsonl", records)]),
        questions=sources([jsonl(folder / "samples.jsonl", samples)]) if samples else [],
        contexts=sources([jsonl(folder / "texts.jsonl", texts)]) if texts else [],
    )


def stored(outcome: Outcome, rubric: Row) -> list[Row]:
    """The rows of a commit with the oracle's columns, as they were read, then those that are missing."""
    names = [*oracle.COLUMNS, *rubric["dimensions"]]
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    order = "input nulls last, line, run_id, judge_model, question_id, prompt_variant, target_model, output_id"
    with duckdb.connect() as connection:
        path = str(outcome.commit.files("scores")[0])
        rows = connection.sql(f"select {listed} from read_parquet($path) order by {order}", params={"path": path})
        found: list[Row] = rows.to_arrow_table().to_pylist()
        return found


def scored(folder: Path, records: list[Row], rubric: Row | None = None, **given: Any) -> list[Row]:
    """Rows of the pipeline for records, from a file to the store."""
    folder.mkdir(exist_ok=True)
    if rubric is not None:
        given["rubric"] = rubric
    return stored(run(job(folder, records, **given), Store(folder / "store")), rubric or oracle.DEFAULT_RUBRIC)


def same(got: list[Row], want: list[Row]) -> None:
    """Equal but for the last bits of scores, and for the order in which missing rows stand."""
    key = lambda row: [str(row[name]) for name in oracle.COLUMNS[:6]]  # noqa: E731
    for rows in (got, want):
        missing = sorted((row for row in rows if row["fail_reason"] == "missing"), key=key)
        rows[:] = [row for row in rows if row["fail_reason"] != "missing"] + missing
    for a, b in itertools.zip_longest(got, want):
        assert a == {**b, "score": None if b["score"] is None else pytest.approx(b["score"], abs=1e-12)}


# --- the case file --------------------------------------------------------------------------------------------------


def by_setting() -> dict[str, list[Row]]:
    """Cases that can be scored together: those without list and texts, by rubric; each other one alone."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for number, case in enumerate(CASES):
        alone = case.get("samples") or case.get("targets")
        groups[f"case {number}" if alone else f"rubric {case.get('rubric', {}).get('name')}"].append(case)
    return groups


@pytest.mark.parametrize("cases", by_setting().values(), ids=list(by_setting()))
def test_cases(cases: list[Row], tmp_path: Path) -> None:
    """Every case of the file through the whole pipeline, all columns as the oracle has them."""
    twice = "a sample listed twice is missing once"  # an input error on the command line, tested below
    samples = cases[0].get("samples")
    if cases[0]["name"] == twice:
        samples = oracle.distinct_samples(samples)
    many = len(cases) > 1
    tagged = [
        {**given, "run_id": f"{number:03d}/{given['run_id']}" if many else given["run_id"]}
        for number, case in enumerate(cases)
        for given in case["records"]
    ]
    rubric = cases[0].get("rubric")
    got = scored(tmp_path, tagged, rubric, samples=samples, targets=cases[0].get("targets"))
    same(got, oracle.score_run(tagged, samples, cases[0].get("targets"), rubric))
    if not many:
        same([{**row, **want} for row, want in zip(got, cases[0]["want"], strict=True)], got)


# --- against the oracle -----------------------------------------------------------------------------------------------

NAMES = ["m", "M", " m", "ｍ", "n", "k", "", " \u2003", "\0", "'; drop", "<b>", "=1+1", "\u202eevil", "😀"]
ODD: list[Any] = [None, True, 2.0, "2", 2, -1, 3, 10**12, [], {}, [1], "PASS", "x", "I refuse to", "", 1e400]


def record_of(draw: st.DrawFn) -> Row:
    """A judgement that may be right."""
    scores = {name: draw(st.integers(0, 2)) for name in Q}
    overall = sum(scores.values()) + draw(st.sampled_from([0, 0, 0, 1]))
    quote = draw(st.sampled_from(["第一段", "made up", "", "字" * 61, "a b " * 31, "第 一\n段"]))
    return {
        "meta": {
            "judge_model": draw(st.sampled_from(NAMES[:6])),
            "target_model": draw(st.sampled_from(NAMES[:6])),
            "question_id": draw(st.sampled_from(["Q1", "Q2"])),
            "prompt_variant": draw(st.sampled_from(["A", "B"])),
            "output_id": draw(st.sampled_from(["o1", "o2"])),
            "method": draw(st.sampled_from(["cross_judge", "cross_judge", "self_judge"])),
        },
        "scores": {**scores, "overall_score": overall},
        "verdict": draw(st.sampled_from(["PASS", "PARTIAL", "FAIL"])),
        "flags": draw(st.sampled_from([[], ["x", "y"]])),
        "evidence": [{"dimension": name, "quote": quote, "reason": "r"} for name in Q],
    }


@st.composite
def outputs(draw: st.DrawFn) -> Any:
    """What a judge may have written: right, changed in places, or broken as text."""
    return written(draw, record_of(draw))


def written(draw: st.DrawFn, whole: Row) -> Any:
    """A record as a judge may have written it: as it is, changed in places, or broken as text."""
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2, 3]))):
        holder: Any = whole
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(holder[key], dict | list) and draw(st.booleans()):
                holder = holder[key]
                continue
            change = draw(st.sampled_from(["set", "drop", "add", "null"]))
            if change in {"set", "null"}:
                holder[key] = None if change == "null" else draw(st.sampled_from(ODD))
            elif change == "drop":
                del holder[key]
            elif isinstance(holder, dict):
                holder[draw(st.sampled_from(["notes", "EXTRA", "timestamp", "scores", "meta"]))] = draw(
                    st.sampled_from(ODD)
                )
            break
    text = json.dumps(whole, ensure_ascii=draw(st.booleans())).replace("Infinity", "1e400")
    shape = draw(st.sampled_from(["as it is"] * 8 + ["fence", "cut", "before", "twice", "space", "object", "other"]))
    match shape:
        case "fence":
            return f"```json\n{text}\n```"
        case "cut":
            return text[: draw(st.integers(0, len(text)))]
        case "before":
            return f"抱歉，我无法 {text}"
        case "twice":  # a key again: the last counts
            return text[:-1] + ', "scores": {"COMPLETENESS": "x", "COMPLETENESS": 1, "X": "y", "X": 2}}'
        case "space":
            return f"\u3000{text}\n"
        case "object":
            return json.loads(text) if "1e400" not in text else text
        case "other":
            said = '{"a": "не могу оценить"}'
            return draw(st.sampled_from(["", None, "[]", "{}", "null", "5", "I CAN'T judge", said]))
    return text


@st.composite
def records(draw: st.DrawFn) -> Row:
    """A row of a file: an output, and perhaps the columns that win over its meta."""
    row: Row = {"run_id": draw(st.sampled_from(["r1", "r2"])), "output": draw(outputs())}
    for name in oracle.ASKED:
        if draw(st.integers(0, 5)) == 0:
            usual = {"question_id": "Q1", "prompt_variant": "A", "output_id": "o1", "method": "cross_judge"}
            row[name] = draw(st.sampled_from([*NAMES, usual.get(name, "m")]))
    if draw(st.integers(0, 3)) == 0:
        row["repeat"] = draw(st.integers(0, 1))
    return row


LISTED = [
    dict(zip(oracle.SAMPLE, values, strict=True))
    for values in itertools.product(["Q1", "Q2"], ["A", "B"], ["m", "n"], ["o1"])
]


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(records(), min_size=1, max_size=40), st.booleans(), st.booleans())
def test_against_the_oracle(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], listed: bool, known: bool
) -> None:
    """Any records, with and without a list of samples and the targets' texts: every column is the oracle's."""
    samples = LISTED if listed else None
    targets = {"o1": "开头。第一\u3000段在此。", "o2": ""} if known else None
    got = scored(tmp_path_factory.mktemp("any"), rows, samples=samples, targets=targets)
    same(got, oracle.score_run(rows, samples, targets))


# --- other forms of records -------------------------------------------------------------------------------------------

PLACES = ("meta.{}", "{}", "run.who.{}")


@st.composite
def rubrics(draw: st.DrawFn) -> Row:
    """A rubric with a table [record] of any kind."""
    scores = draw(st.sampled_from(["scores", ".", "result.marks"]))
    record: Row = {
        name: draw(st.sampled_from(PLACES)).format(name) for name in oracle.TEXTS if draw(st.booleans())
    }  # fmt: skip
    if draw(st.booleans()):
        record["prompt_variant"] = ["variant", draw(st.sampled_from(["run.trigger", "trigger"]))]
    record["scores"] = scores
    inside = [] if scores == "." else [f"{scores}.sum"]
    record["overall_score"] = draw(st.sampled_from(["total", *inside]))
    record["evidence"] = draw(st.sampled_from(["evidence", "result.because"]))
    record["evidence_form"] = draw(st.sampled_from(oracle.FORMS))
    record["quote"] = draw(st.sampled_from(["quote", "text"]))
    wanted = ("method", "verdict", "flags", "evidence", "overall_score", "reason", "dimension", "notes", *oracle.SAMPLE)
    record["not_asked"] = [name for name in (*wanted, "judge_model") if draw(st.integers(0, 3)) == 0]
    rubric: Row = {"dimensions": ["a", "b"], "scale_bottom": draw(st.integers(0, 1)), "scale_top": 2, "record": record}
    rubric["evidence_required"] = "evidence" not in record["not_asked"] and draw(st.booleans())
    if "verdict" not in record["not_asked"] or draw(st.booleans()):
        rubric["verdict"] = {"fail_max": 1, "pass_min": 3, "pass_nonzero": ["a"]}
    return rubric


def place(whole: Row, path: str, value: Any) -> None:
    """Put a value where a path says."""
    *holders, last = path.split(".")
    for key in holders:
        whole = whole.setdefault(key, {})
    whole[last] = value


def record_in_form(draw: st.DrawFn, rubric: Row) -> Row:
    """A judgement that may be right, in the form of the rubric; of what is not asked for, some is there."""
    form, given = oracle.Form(rubric), record_of(draw)
    whole: Row = {}
    itself = oracle.fold(given["meta"]["judge_model"]) == oracle.fold(given["meta"]["target_model"])
    given["meta"]["method"] = "self_judge" if itself else "cross_judge"
    scores = {name: draw(st.integers(rubric["scale_bottom"], 2)) for name in rubric["dimensions"]}
    quote = given["evidence"][0]["quote"]
    evidence: dict[str, Any] = {
        "objects": [{"dimension": name, form.entry["quote"]: quote, "reason": "r"} for name in scores],
        "map": {name: draw(st.sampled_from([quote, quote, [quote, "x"]])) for name in scores},
        "texts": [quote],
    }
    values = {**given["meta"], **{name: given[name] for name in ("verdict", "flags")}}
    values |= {"overall_score": sum(scores.values()), "evidence": evidence[form.evidence_form]}
    for name, score in scores.items():
        place(whole, form.score_path(name), score)
    for name, value in values.items():
        if form.asks(name) or draw(st.integers(0, 3)) == 0:
            for path in form.paths[name]:
                place(whole, path, value)
    return whole


@st.composite
def formed_runs(draw: st.DrawFn) -> tuple[Row, list[Row]]:
    """(a rubric, rows of records in its form)."""
    rubric = draw(rubrics())
    rows: list[Row] = []
    for _ in range(draw(st.integers(1, 20))):
        rows.append({"run_id": "r", "output": written(draw, record_in_form(draw, rubric))})
        if draw(st.integers(0, 5)) == 0:
            rows[-1][draw(st.sampled_from(["judge_model", "output_id", "method"]))] = draw(st.sampled_from(NAMES))
        if draw(st.integers(0, 3)) == 0:
            rows[-1]["repeat"] = draw(st.integers(0, 1))
    return rubric, rows


@settings(max_examples=examples(20), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(formed_runs(), st.booleans())
def test_any_form_against_the_oracle(
    tmp_path_factory: pytest.TempPathFactory, given_run: tuple[Row, list[Row]], listed: bool
) -> None:
    """Fields at any path, asked for or not, evidence in every form: every column is the oracle's."""
    rubric, rows = given_run
    without = rubric["record"]["not_asked"]
    samples = LISTED if listed and set(without).isdisjoint(oracle.SAMPLE[:3]) else None
    targets = {"o1": "开头。第一\u3000段在此。", "o2": ""}
    assert oracle.rubric_problems(rubric) == rubric_problems(rubric, frozenset()) == []
    got = scored(tmp_path_factory.mktemp("any"), rows, rubric, samples=samples, targets=targets)
    same(got, oracle.score_run(rows, samples, targets, rubric))


def test_same_rows_for_any_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of seven rows on one thread give what one block on four gives."""
    rows = [row for case in CASES if not case.get("rubric") for row in case["records"]]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = stored(run(job(tmp_path / "a", rows, LISTED), Store(tmp_path / "s1"), threads=4), oracle.DEFAULT_RUBRIC)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    split = stored(run(job(tmp_path / "b", rows, LISTED), Store(tmp_path / "s2"), threads=1), oracle.DEFAULT_RUBRIC)
    assert len(whole) > len(rows) and whole == split


# --- flags, alone and together ----------------------------------------------------------------------------------------


def good(**meta: Any) -> Row:
    """A valid record, with these fields of meta."""
    said = {
        "judge_model": "j", "target_model": "m", "question_id": "Q1", "prompt_variant": "A", "output_id": "o1",
        "method": "cross_judge",
    }  # fmt: skip
    return {
        "meta": {**said, **meta},
        "scores": {**dict.fromkeys(Q, 2), "overall_score": 8},
        "verdict": "PASS",
        "flags": [],
        "evidence": [{"dimension": name, "quote": "x", "reason": "y"} for name in Q],
    }


def test_a_low_score_is_never_invalid(tmp_path: Path) -> None:
    """All 81 ways to score: each is valid, and its verdict follows the limits."""
    ways = list(itertools.product(range(3), repeat=4))
    rows = []
    for number, scores in enumerate(ways):
        whole = good(output_id=f"o{number}")
        whole["scores"] = {**dict(zip(Q, scores, strict=True)), "overall_score": sum(scores)}
        rows.append({"run_id": "r", "output": json.dumps(whole)})
    for scores, row in zip(ways, scored(tmp_path, rows), strict=True):
        overall = sum(scores)
        passed = overall >= 7 and scores[0] and scores[1]
        assert row["valid"] and row["score"] == overall / 8
        assert row["verdict"] == ("FAIL" if overall <= 3 else "PASS" if passed else "PARTIAL")


def test_seven_with_a_zero_cannot_be(tmp_path: Path) -> None:
    """With one dimension 0 the sum is 6 at most: an overall_score of 7 is caught wherever the zero stands."""
    rows = []
    for name in Q:
        whole = good(output_id=name)
        whole["scores"] = {**dict.fromkeys(Q, 2), name: 0, "overall_score": 7}
        rows.append({"run_id": "r", "output": json.dumps(whole)})
    for row in scored(tmp_path, rows):
        assert row["flags"] == ["INTERNAL_INCONSISTENCY"] and row["score"] is None
        assert (row["overall_score"], row["overall_recomputed"], row["verdict"]) == (7, 6, "PARTIAL")


# --- rubric, list, texts, phrases -------------------------------------------------------------------------------------


def test_rubric_problems_are_the_oracles() -> None:
    """The same rubrics are refused, and names that SQL would take for another column."""
    good_rubric = oracle.DEFAULT_RUBRIC
    bad: list[Row] = [
        {**good_rubric, "dimensions": []}, {**good_rubric, "dimensions": ["A", "A"]},
        {**good_rubric, "scale_top": True}, {**good_rubric, "scale_top": 0}, {**good_rubric, "scale": 2},
        {**good_rubric, "evidence_required": 1}, {**good_rubric, "verdict": 3},
        {**good_rubric, "verdict": {"fail_max": 7, "pass_min": 7}},
        {**good_rubric, "verdict": {"fail_max": 3, "pass_min": 9}},
        {**good_rubric, "verdict": {"fail_max": 3, "pass_min": 7, "pass_nonzero": ["B"]}},
        {**good_rubric, "dimensions": [*Q[:3], "score"]},
    ]  # fmt: skip
    taken = frozenset(name.lower() for name in oracle.COLUMNS)
    partial: list[Row] = [{}, {"dimensions": ["A"]}, {"scale_top": 5}, {"record": {"overall_score": "total"}}]
    for rubric in [good_rubric, *partial]:
        assert rubric_problems(rubric, taken) == oracle.rubric_problems(rubric) == []
    for rubric in bad:
        assert bool(rubric_problems(rubric, taken)) and bool(oracle.rubric_problems(rubric)), rubric
        with pytest.raises(InputError, match="rubric"):
            PROFILE.read_params({"rubric": rubric})
    for names in (["Score", "B"], ["tone", "TONE"], ["commit", "B"], ["points", "B"], ["a\0b", "B"]):
        with pytest.raises(InputError, match="dimension"):
            PROFILE.read_params(
                {"rubric": {**good_rubric, "dimensions": names, "verdict": {"fail_max": 1, "pass_min": 2}}}
            )


def test_hostile_dimension_names(tmp_path: Path) -> None:
    """A dimension may be called anything: it is a column, never SQL."""
    names = ['a"; drop table rows; --', "名 前", "<b>", "'", "{}", "😀"]
    rubric = {"dimensions": names, "scale_top": 1, "evidence_required": False,
              "verdict": {"fail_max": 1, "pass_min": 5, "pass_nonzero": [names[0]]}}  # fmt: skip
    whole = good()
    whole["scores"] = {**dict.fromkeys(names, 1), "overall_score": 6}
    row = scored(tmp_path, [{"run_id": "r", "output": json.dumps(whole)}] * 2, rubric)[1]
    assert row["valid"] and row["warnings"] == ["duplicate"] and [row[name] for name in names] == [1] * 6


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([{"question_id": "Q1", "prompt_variant": "A", "target_model": "m"}], r"\$\[0\].output_id"),
        ([LISTED[0], {**LISTED[0], "target_model": " M"}], "twice"),
        ([{**LISTED[0], "prompt_variant": " "}], r"\$\[0\].prompt_variant"),
        ([{**LISTED[0], "output_id": ["o1"]}], r"\$\[0\].output_id"),
    ],
)
def test_a_bad_sample_is_an_error(samples: list[Row], said: str, tmp_path: Path) -> None:
    """Dropping a sample would shrink the share that must be answered."""
    with pytest.raises(InputError, match=said):
        scored(tmp_path, [{"output": json.dumps(good())}], samples=samples)


def test_one_output_with_two_texts_is_an_error(tmp_path: Path) -> None:
    """Which text a quote must stand in has to be known."""
    given = job(tmp_path, [{"output": json.dumps(good())}], targets={"o1": "a"})
    jsonl(tmp_path / "texts.jsonl", [{"output_id": "o1", "text": "a"}, {"output_id": "o1", "text": "b"}])
    with pytest.raises(InputError, match="another text"):
        run(given, Store(tmp_path / "store"))


def test_more_refusal_phrases(tmp_path: Path) -> None:
    """The packaged phrases are the oracle's, and a parameter adds to them."""
    rows = [{"run_id": "r", "output": f"… {phrase.upper()} …"} for phrase in oracle.REFUSAL_PHRASES]
    rows += [{"run_id": "r", "output": "Das bewerte ich nicht."}, {"run_id": "r", "output": "Nein danke."}]
    got = scored(tmp_path, rows, refusal_phrases='["BEWERTE ICH NICHT", "", "nein"]')
    assert all(row["flags"] == ["UNPARSABLE_OUTPUT", "JUDGE_REFUSAL_OR_EVASION"] for row in got)
    (tmp_path / "b").mkdir()
    assert [row["flags"] for row in scored(tmp_path / "b", rows)][-2:] == [["UNPARSABLE_OUTPUT"]] * 2


# --- hostile texts ----------------------------------------------------------------------------------------------------


def test_hostile_outputs(tmp_path: Path) -> None:
    """Nothing that a judge writes stops the run or is lost."""
    texts = [
        "\0", "{" * 50_000, '{"meta":' + "[" * 50_000 + "]" * 50_000 + "}", "无" * 300_000, "<script>", "=cmd()",
        '{"scores":{"COMPLETENESS":' + "9" * 5000 + ',"overall_score":-' + "9" * 5000 + "}}",
        '{"meta":{"method":[]},"verdict":{},"scores":{"COMPLETENESS":{}},"evidence":[[],{}],"flags":[[]]}',
        json.dumps({**good(judge_model="a\0b", output_id="\u202e"), "notes": "\u0000"}), "\ufeff{}",
        "'; drop table rows; --",
    ]  # fmt: skip
    rows: list[Row] = [{"run_id": "r", "output": text} for text in texts]
    rows += [{"output": None}, {"run_id": None, "output": 5, "repeat": "x", "judge_model": {}, "question_id": True}]
    got = scored(tmp_path, rows)
    assert len(got) == len(rows)
    # A run without a name is called like its file.
    named = [
        {**row, "run_id": row.get("run_id") or "records", "judge_model": None, "question_id": None} for row in rows
    ]
    same(got, oracle.score_run(named))


def test_rows_that_are_no_rows_are_rejected_and_counted(tmp_path: Path) -> None:
    """A line that is no object is no judgement; all others are, whatever they lack."""
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"output": "x"}\n[]\n{"output": \n\xff\n\n{"id": 3, "run_id": "", "output": "y"}\n')
    small = Job(profile=PROFILE, params=PROFILE.read_params({}), outputs=sources([path]))
    outcome = run(small, Store(tmp_path / "store"))
    counts = outcome.counts
    assert (counts.rows_read, counts.score_rows, counts.missing_rows, counts.rejected_rows) == (5, 2, 0, 3)
    assert [(row["run_id"], row["question_id"]) for row in stored(outcome, oracle.DEFAULT_RUBRIC)] == [
        ("records", None), ("records", "3")
    ]  # fmt: skip


# --- kernels ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"])), min_size=1), st.integers(-1, 5))
def test_lengths(texts: list[str], few: int) -> None:
    """Han characters and words, as the slow count has them; texts of few bytes are not looked at."""
    got = record.lengths(from_list(texts), few)
    want = [oracle.quote_length(text) if len(text.encode()) > few else 0 for text in texts]
    assert got.tolist() == want


@given(st.lists(st.text(st.sampled_from("ab\0é"), max_size=20), min_size=1))
def test_digests_tell_texts_apart(texts: list[str]) -> None:
    """Equal texts, and only they, have equal digests."""
    column = from_list(texts)
    pairs = list(zip(*(half.tolist() for half in record.digests(column.data, column.offsets)), strict=True))
    for a, b in itertools.combinations(range(len(texts)), 2):
        assert (pairs[a] == pairs[b]) == (texts[a] == texts[b])
    assert len(np.unique([half for pair in pairs for half in pair])) >= len(set(texts))


def test_lines_that_are_the_records_are_judgements(tmp_path: Path) -> None:
    """A flat archive as lines of records gives what the same records in a field `output` give."""
    folder = samples_folder() / "judge_protocol"
    rows = [json.loads(line) for line in (folder / "flat_judgements.jsonl").read_text(encoding="utf-8").splitlines()]
    records = [row["output"] if isinstance(row["output"], dict) else json.loads(row["output"]) for row in rows]
    (tmp_path / "records.jsonl").write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    params = {"rubric": str(folder / "rubric_flat.toml")}
    bare, held = (
        rageval_batch.score(str(path), None, "judge_protocol", params=params).scores
        for path in (tmp_path / "records.jsonl", folder / "flat_judgements.jsonl")
    )
    columns = ["judge_model", "question_id", "prompt_variant", "target_model", "valid", "score", "method"]
    assert bare["valid"].all()
    assert bare.select(columns).sort(columns).equals(held.select(columns).sort(columns))
