"""judge_protocol from the command line: flags, inputs, rubrics, archives; views against oracle and other packages."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from test_judge_protocol import Q, formed_runs, good, jsonl

from oracles import judge_protocol as oracle
from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.runs import find_run, summarize
from rageval_batch.analysis.session import Session
from rageval_batch.api import score
from rageval_batch.profiles.registry import get_profile
from rageval_batch.resources import samples_folder
from rageval_batch.runs.archive import Names
from rageval_batch.runs.file_system import try_lock
from support.command import run_command
from support.effort import examples

Row = dict[str, Any]
Call = Callable[..., tuple[int, str, str]]
SAMPLES = samples_folder() / "judge_protocol"
JUDGEMENTS = SAMPLES / "judgements.jsonl"
LISTED = ["-q", SAMPLES / "samples.jsonl", "-c", SAMPLES / "targets.jsonl"]


@pytest.fixture
def rageval(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    return call


def rows_of(path: Path) -> list[Row]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def asked(rageval: Call, query: str) -> list[Row]:
    """The rows of a query."""
    code, out, err = rageval("sql", query, "--format", "json")
    assert code == 0, err
    rows: list[Row] = json.loads(out)
    return rows


# --- flags ------------------------------------------------------------------------------------------------------------


def spoiled(flags: tuple[str, ...]) -> Row:
    """A row for which exactly these flags hold. A refusal has no scores, so something else holds too."""
    whole = good(output_id="+".join(flags) or "none")
    row: Row = {"run_id": "r"}
    if flags == (oracle.UNPARSABLE, oracle.REFUSAL):
        return {**row, "output": "I must decline.", "output_id": whole["meta"]["output_id"]}
    if oracle.REFUSAL in flags:
        whole["scores"] = {**dict.fromkeys(Q, 9), "overall_score": 36}
        whole["notes"] = "我无法对这个输出打分"
    elif oracle.VIOLATION in flags:
        whole["verdict"] = "GOOD"
    if oracle.UNPARSABLE in flags:
        whole["meta"]["timestamp"] = 20250303
    if oracle.COVERAGE in flags:
        del whole["meta"]["prompt_variant"]
    if oracle.INCONSISTENT in flags:
        row["question_id"] = "another"
    return {**row, "output": json.dumps(whole, ensure_ascii=False)}


def test_every_flag_alone_and_together(rageval: Call, tmp_path: Path) -> None:
    """Each combination that can be, from the command line: those flags, in their order, and no others."""
    kinds = [kind for n in range(6) for kind in itertools.combinations(oracle.FLAGS, n)]
    possible = [
        kind for kind in kinds
        if oracle.REFUSAL not in kind or oracle.VIOLATION in kind or kind == (oracle.UNPARSABLE, oracle.REFUSAL)
    ]  # fmt: skip
    assert len(possible) == 25
    jsonl(tmp_path / "all.jsonl", map(spoiled, possible))
    assert rageval("score", "all.jsonl", "-p", "judge_protocol")[0] == 0
    got = {row["output_id"]: row["flags"] for row in asked(rageval, "select output_id, flags from judge_protocol")}
    assert got == {"+".join(kind) or "none": list(kind) for kind in possible}


def test_the_samples(rageval: Call) -> None:
    """The packaged samples: what their notes say, row by row as the oracle has them."""
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", *LISTED)
    assert code == 0 and "55 rows read = 57 score rows - 2 missing outputs + 0 rejected" in err
    rows = asked(rageval, "select * exclude (eval_set) from judge_protocol")
    targets = {row["output_id"]: row["text"] for row in rows_of(SAMPLES / "targets.jsonl")}
    want = oracle.score_run(rows_of(JUDGEMENTS), rows_of(SAMPLES / "samples.jsonl"), targets)
    key = lambda row: json.dumps({name: row[name] for name in row if name != "score"}, sort_keys=True)  # noqa: E731
    assert sorted(map(key, rows)) == sorted(map(key, want))
    assert {flag for row in rows for flag in row["flags"]} == set(oracle.FLAGS)
    assert {name for row in rows for name in row["warnings"]} == set(oracle.WARNINGS)
    code, out, _ = rageval("show", "spring-judging")
    assert code == 0 and "judge_summary" in out and "judge_variant_drift" in out and "cedar-32b" in out
    shown = json.loads(rageval("show", "spring-judging", "--format", "json")[1])
    assert shown["answered_share"] == pytest.approx(52 / 54) and shown["question_count"] == 54
    assert shown["meta"]["judges"] == "atlas-70b, birch-8b, cedar-32b" and shown["meta"]["judgements"] == "55"
    assert (shown["meta"]["first_judged"], shown["meta"]["last_judged"]) == ("2025-03-03", "2025-03-05")
    assert [row["alpha"] for row in shown["judge_agreement"]][-1] == pytest.approx(0.9024, abs=1e-4)


def test_the_gate_is_on_the_list(rageval: Call, tmp_path: Path) -> None:
    """All of this profile's gates are on coverage, so a whole run passes by them; without a list nothing is judged."""
    whole = jsonl(tmp_path / "whole.jsonl", [{"output": json.dumps(good())}])
    hole = jsonl(tmp_path / "hole.jsonl", [{"output": json.dumps(good(output_id="o2"))}])
    samples = jsonl(tmp_path / "s.jsonl", [dict(zip(oracle.SAMPLE, ("Q1", "A", "m", "o1"), strict=True))])
    for name in (whole, hole):
        assert rageval("score", name, "-p", "judge_protocol", "-q", samples)[0] == 0
    assert rageval("score", whole, "-p", "judge_protocol", "--store", "unlisted")[0] == 0
    assert rageval("gate", "whole")[0] == 0
    code, out, _ = rageval("gate", "hole", "--format", "json")
    assert code == 1 and [gate["name"] for gate in json.loads(out)["failing_gates"]] == ["answered_share"]
    code, out, _ = rageval("gate", "whole", "--store", "unlisted", "--format", "json")
    assert code == 1 and [gate["name"] for gate in json.loads(out)["skipped_gates"]] == ["answered_share"]
    assert [gate["failure"] for gate in json.loads(out)["failing_gates"]] == ["nothing to judge"]


def test_runs_of_judges_are_compared_by_sample(rageval: Call, tmp_path: Path) -> None:
    """Judgements of one sample are averaged before runs are compared; a changed answer is worth one sample."""
    for name, scores in (("a", (2, 2)), ("b", (2, 1))):
        rows = []
        for question, judge, repeat in itertools.product(("Q1", "Q2"), ("j", "k"), (0, 1)):
            given = good(question_id=question, judge_model=judge)
            value = scores[question == "Q2"]
            given["scores"] = {**dict.fromkeys(Q, value), "overall_score": 4 * value}
            rows.append({"output": json.dumps(given), "repeat": repeat})
        jsonl(tmp_path / f"{name}.jsonl", rows)
        assert rageval("score", f"{name}.jsonl", "-p", "judge_protocol")[0] == 0
    moved = asked(rageval, "from regressions('a', 'b') order by question_id")
    assert [(row["question_id"], row["base_score"], row["cand_score"]) for row in moved] == [
        ("Q1", 1.0, 1.0),
        ("Q2", 1.0, 0.5),
    ]
    assert rageval("compare", "a", "b")[0] == 1


def test_a_rubric_by_file_alone(rageval: Call, tmp_path: Path) -> None:
    """Five dimensions from 0 to 4 beside the page's four in one store; a bad file is an error."""
    names = ["CORRECTNESS", "GROUNDING", "TONE", "CONCISENESS", "SAFETY"]
    whole = good()
    whole["scores"] = {**dict.fromkeys(names, 4), "TONE": 0, "overall_score": 16}
    del whole["evidence"]
    jsonl(tmp_path / "five.jsonl", [{"output": json.dumps(whole)}])
    rubric = SAMPLES / "rubric_five.toml"
    assert rageval("score", "five.jsonl", "-p", "judge_protocol", "--param", f"rubric={rubric}")[0] == 0
    assert asked(rageval, "select verdict, score, TONE from judge_protocol") == [
        {"verdict": "PASS", "score": 0.8, "TONE": 0}
    ]
    assert rageval("score", JUDGEMENTS, "-p", "judge_protocol")[0] == 0
    lines = asked(rageval, "select run_id, TONE, COMPLETENESS from judge_summary order by all limit 2")
    assert lines[0] == {"run_id": "five", "TONE": 0.0, "COMPLETENESS": None}
    assert lines[1]["TONE"] is None and lines[1]["COMPLETENESS"] is not None
    assert rageval("show", "five")[0] == 0
    (tmp_path / "bad.toml").write_text('dimensions = ["score"]\nscale_top = 2\n')
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--param", "rubric=bad.toml")
    assert code == 2 and "rubric=bad.toml" in err and "another column" in err
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--param", "rubric=none.toml")
    assert code == 2 and "none.toml" in err
    # The same inputs with another rubric: every judgement breaks it.
    assert rageval("rescore", "judgements", "spring-judging", "--param", f"rubric={rubric}")[0] == 2
    assert rageval("rescore", "spring-judging", "--param", f"rubric={rubric}")[0] == 0
    assert asked(rageval, "select bool_or(valid) as any from judge_protocol where run_id = 'spring-judging'") == [
        {"any": False}
    ]


FLAT = {
    ("birch-8b", "ATLAS-70B", "plain_implicit"): 8.0,
    ("birch-8b", "ATLAS-70B", "strict_explicit"): 7.0,
    ("cedar-32b", "ATLAS-70B", "plain_implicit"): 8.5,
    ("cedar-32b", "ATLAS-70B", "strict_explicit"): 7.5,
    ("atlas-70b", "birch-8b", "plain_implicit"): 6.0,
    ("atlas-70b", "birch-8b", "strict_explicit"): 6.0,
    ("cedar-32b", "birch-8b", "plain_implicit"): 6.0,
    ("cedar-32b", "birch-8b", "strict_explicit"): 6.0,
    ("atlas-70b", "cedar-32b", "plain_implicit"): 7.0,
    ("atlas-70b", "cedar-32b", "strict_explicit"): 6.0,
    ("birch-8b", "cedar-32b", "plain_implicit"): 6.0,
    ("birch-8b", "cedar-32b", "strict_explicit"): 5.0,
}  # mean totals of the packaged flat archive, worked out by hand


@pytest.mark.parametrize("kind", ["lines", "folder"])
def test_a_flat_archive(kind: str, rageval: Call, tmp_path: Path) -> None:
    """Records without meta, verdict, flags and output_id: all valid, with their means, as lines and as files."""
    archive = SAMPLES / "flat_judgements.jsonl"
    if kind == "folder":
        (tmp_path / "bicycle-judging").mkdir()
        for number, row in enumerate(rows_of(archive)):
            (tmp_path / "bicycle-judging" / f"{number:02}.json").write_text(row["output"], encoding="utf-8")
        archive = Path("bicycle-judging")
    rubric = f"rubric={SAMPLES / 'rubric_flat.toml'}"
    assert rageval("score", archive, "-p", "judge_protocol", "--param", rubric, "--archive", "out")[0] == 0
    assert asked(rageval, "select valid, count(*)::int as n from judge_protocol group by valid") == [
        {"valid": True, "n": 36}
    ]
    lines = asked(rageval, "from judge_summary")
    assert {(r["judge_model"], r["target_model"], r["prompt_variant"]): r["overall"] for r in lines} == FLAT
    assert {row["n"] for row in lines} == {2} and len(asked(rageval, "from judge_self_summary")) == 6
    shown = json.loads(rageval("show", "bicycle-judging", "--format", "json")[1])
    assert shown["cross_score_avg"] == pytest.approx(158 / 240, abs=1e-12) and shown["repeats"] == 1
    key = [
        "--key",
        "judge_model=birch-8b",
        "--key",
        "prompt_variant=strict_explicit",
        "--key",
        "target_model=atlas-70b",
    ]
    code, out, err = rageval("explain", "bicycle-judging", "R1", *key)
    assert code == 0 and "Wait for the beep" in out, err
    # Without the table [record] it is the form of the page that is asked for.
    plain = tmp_path / "plain.toml"
    plain.write_text((SAMPLES / "rubric_flat.toml").read_text(encoding="utf-8").partition("[record]")[0])
    assert rageval("rescore", "bicycle-judging", "--param", f"rubric={plain}")[0] == 0
    assert asked(rageval, "select distinct flags[1] as flag from judge_protocol") == [{"flag": "UNPARSABLE_OUTPUT"}]


GOOD = 'dimensions = ["a", "b"]\nscale_top = 2\n'
LIMITS = "[verdict]\nfail_max = 1\npass_min = 3\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("dimensions = 3\n", "$.dimensions"),
        ('dimensions = ["a", 3]\n', "$.dimensions"),
        (GOOD + "scale_bottom = 2\n" + LIMITS, "$.scale_bottom"),
        (GOOD + "scale_bottom = 0.5\n" + LIMITS, "$.scale_bottom"),
        (GOOD + "verdict = 3\n", "$.verdict: Expected a table"),
        (GOOD + '[verdict]\nfail_max = "1"\npass_min = 3\n', "$.verdict.fail_max: Expected a whole number, got a text"),
        (GOOD + "record = 3\n" + LIMITS, "$.record: Expected a table"),
        (GOOD + LIMITS + "[record]\njudge = 'x'\n", "$.record: Unknown key 'judge'. Did you mean 'judge_model'?"),
        (GOOD + LIMITS + "[record]\njudge_model = 3\n", "$.record.judge_model"),
        (GOOD + LIMITS + "[record]\njudge_model = ''\n", "$.record.judge_model"),
        (GOOD + LIMITS + "[record]\njudge_model = 'a..b'\n", "$.record.judge_model"),
        (GOOD + LIMITS + "[record]\nprompt_variant = []\n", "$.record.prompt_variant"),
        (GOOD + LIMITS + "[record]\nprompt_variant = ['a', 1]\n", "$.record.prompt_variant"),
        (GOOD + LIMITS + "[record]\nscores = ['a', 'b']\n", "$.record.scores"),
        (GOOD + LIMITS + "[record]\noverall_score = '.'\n", "$.record.overall_score"),
        (GOOD + LIMITS + "[record]\noverall_score = 'scores.a'\n", "dimension 'a' stands where"),
        (GOOD + LIMITS + "[record]\nquote = []\n", "$.record.quote"),
        (
            GOOD + LIMITS + "[record]\nevidence_form = 'list'\n",
            "evidence_form: 'list' is not known. Allowed: map, objects",
        ),
        (GOOD + LIMITS + "[record]\nnot_asked = 'flags'\n", "$.record.not_asked"),
        (GOOD + LIMITS + "[record]\nnot_asked = ['scores']\n", "$.record.not_asked"),
        (GOOD + "evidence_required = true\n" + LIMITS + "[record]\nnot_asked = ['evidence']\n", "$.evidence_required"),
        ("[record\n", "cannot be read"),
    ],
)
def test_a_bad_rubric_is_one_sentence(content: str, said: str, rageval: Call, tmp_path: Path) -> None:
    """What is wrong is named by its path in the file, and nothing is scored."""
    (tmp_path / "bad.toml").write_text(content)
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--param", "rubric=bad.toml")
    assert code == 2 and said in err and "bad.toml" in err and len(err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_names_that_no_column_can_hold(rageval: Call, tmp_path: Path) -> None:
    """A JSON file can spell half a character: a sentence, no traceback."""
    (tmp_path / "bad.json").write_text(r'{"dimensions": ["\ud800"], "scale_top": 2}')
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--param", "rubric=bad.json")
    assert code == 2 and "$.dimensions" in err


def test_questions_are_needed_elsewhere(rageval: Call) -> None:
    """Only a profile of records does without -q, and only it has an archive."""
    code, _, err = rageval("score", JUDGEMENTS, "-p", "eval_json_v2")
    assert code == 2 and "-q" in err
    code, _, err = rageval("score", JUDGEMENTS, "-p", "eval_json_v2", "-q", JUDGEMENTS, "--archive", "a")
    assert code == 2 and "no archive" in err


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_a_folder_of_files(rageval: Call, tmp_path: Path) -> None:
    """A file is an output and keeps its name; what is in it may be anything."""
    folder = tmp_path / "batch-7"
    (folder / "deep").mkdir(parents=True)
    files = {
        "a.json": json.dumps(good()).encode(),
        "c.json": b'{"meta": "\xff\xfe',
        "d.json": b"[]",
        "deep/b.JSON": b"",
        "e.json": ("\ufeff" + json.dumps(good(output_id="o2"))).encode(),
        "x\ny.json": b"\xff i must decline",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "notes.txt").write_text("no judgement")
    os.symlink(folder / "nowhere", folder / "broken.json")
    assert rageval("score", "batch-7", "-p", "judge_protocol", "--archive", "out")[0] == 0
    got = {row["file"]: row for row in asked(rageval, "from judge_protocol")}
    want = oracle.score_run([{"run_id": "batch-7", "file": name, "output": files[name]} for name in sorted(files)])
    assert got == {row["file"]: {**row, "eval_set": "none"} for row in want}
    index = {row["file"]: row for row in pq.read_table(tmp_path / "out" / "index.parquet").to_pylist()}
    assert {name: (tmp_path / "out" / row["path"]).read_bytes() for name, row in index.items()} == files
    # By name and by glob it is the same; a file that changed is said to have.
    assert rageval("score", *sorted(folder.glob("?.json")), "-p", "judge_protocol", "--store", "s2")[0] == 0
    assert rageval("explain", "batch-7", "Q1", "--key", "file=a.json")[0] == 0
    assert rageval("rescore", "batch-7", "--param", "base_variant=B")[0] == 0
    (folder / "d.json").write_bytes(b"{}")
    code, _, err = rageval("rescore", "batch-7", "--param", "base_variant=C")
    assert code == 2 and "has changed" in err
    (folder / "d.json").unlink()
    code, _, err = rageval("rescore", "batch-7", "--param", "base_variant=C")
    assert code == 2 and "lost 1 of its files" in err


def test_parquet_is_the_same_as_jsonl(rageval: Call, tmp_path: Path) -> None:
    """Columns or lines, the rows are one."""
    table = pa.Table.from_pylist(
        [{**row, "output": row["output"] if isinstance(row["output"], str) else None} for row in rows_of(JUDGEMENTS)]
    )
    pq.write_table(table, tmp_path / "judgements.parquet")
    for name, store in ((JUDGEMENTS, "a"), (tmp_path / "judgements.parquet", "b")):
        assert rageval("score", name, "-p", "judge_protocol", *LISTED, "--store", store)[0] == 0
    query = "select * from judge_protocol order by all"
    a, b = (rageval("sql", query, "--store", store, "--format", "jsonl")[1] for store in "ab")
    assert a == b and len(a.splitlines()) == 57


def test_kept_inputs_do_without_the_files(rageval: Call, tmp_path: Path) -> None:
    """--keep-inputs: rescore and explain when the file is gone; duplicates stay those that came second."""
    path = jsonl(tmp_path / "gone.jsonl", rows_of(JUDGEMENTS))
    assert rageval("score", path, "-p", "judge_protocol", *LISTED, "--keep-inputs")[0] == 0
    before = asked(rageval, "from judge_protocol order by all")
    path.unlink()
    key = ["--key", "judge_model=atlas-70b", "--key", "output_id=birch-8b_Q3_A"]
    code, out, err = rageval("explain", "spring-judging", "Q3", *key)
    assert code == 0 and "overall_score is not the sum of the dimensions" in out, err
    assert rageval("rescore", "spring-judging", "--param", "base_variant=B")[0] == 0
    assert asked(rageval, "from judge_protocol order by all") == before
    assert asked(rageval, "select base_variant, prompt_variant from judge_variant_drift") == [
        {"base_variant": "B", "prompt_variant": "A"}
    ]


def test_explain_picks_one(rageval: Call) -> None:
    """A question has many judgements: what tells them apart is said."""
    assert rageval("score", JUDGEMENTS, "-p", "judge_protocol", *LISTED)[0] == 0
    code, _, err = rageval("explain", "spring-judging", "Q1")
    assert code == 2 and "judge_model (atlas-70b, birch-8b, cedar-32b)" in err
    code, _, err = rageval("explain", "spring-judging", "Q1", "--key", "judge=x")
    assert code == 2 and "Did you mean 'judge_" in err
    row = asked(rageval, "from judge_protocol where fail_reason = 'missing' limit 1")[0]
    keys = [f"--key={name}={row[name]}" for name in ("judge_model", "output_id")]
    code, out, _ = rageval("explain", "spring-judging", row["question_id"], *keys)
    assert code == 0 and "missing" in out


# --- views ------------------------------------------------------------------------------------------------------------


SPELLINGS = (str, str.upper, str.title, lambda name: f" {name}\u3000", lambda name: name.replace("j", "ｊ"))


def random_runs(runs: int) -> list[Row]:
    """Runs of random judgements with gaps, invalid ones, duplicates, repeats, self-judging and names spelled anyhow."""
    chosen = random.Random(7)
    records = []
    for number in range(runs):
        judges = [f"j{k}" for k in range(chosen.randint(2, 5))]
        for judge, target, question, variant, output, repeat in itertools.product(
            judges, ["m", "M", judges[0]], ["Q1", "Q2", "Q3"], ["A", "B", "C"], ["o1", "o2"], [0, 1]
        ):
            if chosen.random() < 0.6:
                continue
            scores = [chosen.choice([0, 1, 2, 2]) for _ in Q] if number else [2] * 4
            whole = good(judge_model=chosen.choice(SPELLINGS)(judge), target_model=target, question_id=question,
                         prompt_variant=variant, output_id=output,
                         method="self_judge" if judge == target else "cross_judge")  # fmt: skip
            whole["scores"] = {**dict(zip(Q, scores, strict=True)), "overall_score": sum(scores)}
            text = json.dumps(whole)[: -1 if chosen.random() < 0.05 else None]
            record = {"run_id": f"r{number}", "output": text, "repeat": repeat}
            records += [record] * chosen.choice([1] * 9 + [2])
    return records


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Session, dict[str, list[Row]]]]:
    """A store of random runs, and the oracle's rows of each."""
    records = random_runs(6)
    store = tmp_path_factory.mktemp("views") / "runs"
    score(jsonl(store.parent / "random.jsonl", records), profile="judge_protocol", store=store)
    runs = {run: oracle.score_run([r for r in records if r["run_id"] == run]) for run in {r["run_id"] for r in records}}
    with open_store(store) as session:
        yield session, runs


def close(value: Any) -> Any:
    """The same but for rounding."""
    return pytest.approx(value, abs=1e-12) if isinstance(value, float) else value


def closely(line: Row) -> Row:
    """A line with its numbers the same but for rounding."""
    return {name: close(value) for name, value in line.items()}


def map_ordered(rows: Iterable[Row]) -> list[Row]:
    """Rows by their texts and whole numbers."""
    return sorted(rows, key=lambda row: [str(value) for value in row.values() if not isinstance(value, float)])


def assert_views_are_the_oracles(
    session: Session, run: str, rows: list[Row], rubric: Row | None = None, samples: list[Row] | None = None
) -> None:
    """Every view of a run: means, invalid rates, agreement, self-preference, drift, repeats, the log and the score."""
    want, log = oracle.summary(rows, samples), oracle.run_log(rows)
    dimensions = (rubric or oracle.DEFAULT_RUBRIC)["dimensions"]

    def asked_for(columns: str, view: str) -> list[Row]:
        return map_ordered(session.rows(f"select {columns} from {view} where run_id = $1", [run]))

    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in dimensions)
    means = (
        f"judge_model, target_model, prompt_variant, n, score, overall, {quoted}, pass_share, partial_share, fail_share"
    )
    for view, method in (("judge_summary", "cross_judge"), ("judge_self_summary", "self_judge")):
        lines = [{k: v for k, v in line.items() if k != "method"} for line in want["means"] if line["method"] == method]
        assert asked_for(means, view) == [closely(line) for line in map_ordered(lines)]
    rates = [row for row in asked_for("judge_model, flag, n, rows, rate", "judge_invalid") if row["judge_model"]]
    assert rates == [closely(line) for line in map_ordered(want["invalid_rates"])]
    agreed = asked_for("judge_a, judge_b, n, kappa, alpha", "judge_agreement")
    pairs = [{k: v for k, v in row.items() if k != "alpha"} for row in agreed if row["judge_a"] is not None]
    assert pairs == [closely(pair) for pair in map_ordered(want["kappa"])]
    whole = [(row["n"], row["alpha"]) for row in agreed if row["judge_a"] is None]
    assert whole == ([(want["alpha_units"], close(want["alpha"]))] if oracle.counted(rows, "cross_judge") else [])
    preferences = asked_for("model, n_self, n_others, by_itself, by_others, self_preference", "judge_self_preference")
    assert preferences == [closely({"model": model, **line}) for model, line in sorted(want["self_preference"].items())]
    drift = asked_for("prompt_variant, n, mean_change, low, high", "judge_variant_drift")
    assert {r["prompt_variant"]: {"mean": r["mean_change"], "n": r["n"]} for r in drift} == {
        variant: closely(line) for variant, line in want["variant_drift"].items()
    }
    assert all(r["n"] == 0 or r["low"] - 1e-12 <= r["mean_change"] <= r["high"] + 1e-12 for r in drift)
    repeats = {r["repeat"]: r["score"] for r in asked_for("repeat, score", "repeat_scores") if r["score"] is not None}
    assert repeats == {number: close(value) for number, value in oracle.repeat_scores(rows).items()}
    found = find_run(session, run)
    assert found.record["repeats"] == log["repeats"]
    told = dict(found.record["meta"])
    assert (told.get("judges"), told["samples"], told["judgements"]) == (
        log["judges"], str(log["samples"]), str(log["judgements"])
    )  # fmt: skip
    shown = summarize(session, found, get_profile("judge_protocol").summary.stats).summary
    assert shown["cross_score_avg"] == close(log["score"])
    assert shown["answered_share"] == close(want["answered_share"])
    several = log["repeats"] > 1
    assert ("score_std_over_repeats" in shown) == several
    assert not several or shown["score_std_over_repeats"] == close(log["score_std_over_repeats"])


def test_views_are_the_oracles(views: tuple[Session, dict[str, list[Row]]]) -> None:
    """Means, invalid rates, agreement, self-preference, drift, repeats and the log of every run."""
    session, runs = views
    for run, rows in runs.items():
        assert_views_are_the_oracles(session, run, rows)


@st.composite
def judgements(draw: st.DrawFn) -> Row:
    """A judgement among few names, so that judges, repeats, duplicates and self-judging meet on one sample."""
    judge, target = draw(st.sampled_from("jkm")), draw(st.sampled_from("mk"))
    spelled = [draw(st.sampled_from(SPELLINGS))(name) for name in (judge, target)]
    whole = good(judge_model=spelled[0], target_model=spelled[1], question_id=draw(st.sampled_from(["Q1", "Q2"])),
                 prompt_variant=draw(st.sampled_from("AB")), output_id=draw(st.sampled_from(["o1", "o1", "o2"])),
                 method="self_judge" if judge == target else "cross_judge")  # fmt: skip
    scores = [draw(st.sampled_from([0, 1, 2, 2])) for _ in Q]
    broken = draw(st.sampled_from([0] * 8 + [1]))  # a sum that is not the sum
    whole["scores"] = {**dict(zip(Q, scores, strict=True)), "overall_score": sum(scores) + broken}
    cut = draw(st.sampled_from([None] * 9 + [-1]))
    return {"run_id": "r", "output": json.dumps(whole)[:cut], "repeat": draw(st.sampled_from([0, 0, 1, 2]))}


@settings(max_examples=examples(12), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(judgements(), min_size=1, max_size=25), st.booleans())
def test_views_of_any_run(tmp_path_factory: pytest.TempPathFactory, records: list[Row], listed: bool) -> None:
    """Unequal numbers of judges and repeats, self-judging, invalid ones and duplicates: every view is the oracle's."""
    folder = tmp_path_factory.mktemp("any")
    samples = [
        dict(zip(oracle.SAMPLE, values, strict=True)) for values in itertools.product(["Q1", "Q2"], "A", "MK", ["o1"])
    ]
    path = jsonl(folder / "any.jsonl", records)
    listing = jsonl(folder / "samples.jsonl", samples) if listed else None
    score(path, listing, profile="judge_protocol", store=folder / "runs")
    rows = oracle.score_run(records, samples if listed else None)
    with open_store(folder / "runs") as session:
        assert_views_are_the_oracles(session, "r", rows, samples=samples if listed else None)


@settings(max_examples=examples(10), deadline=None, phases=[Phase.explicit, Phase.generate])
@given(formed_runs())
def test_views_of_any_form(tmp_path_factory: pytest.TempPathFactory, formed: tuple[Row, list[Row]]) -> None:
    """Where a rubric does not ask for a judge, a target, a question or a verdict, views do without."""
    rubric, records = formed
    folder = tmp_path_factory.mktemp("form")
    path = jsonl(folder / "any.jsonl", records)
    score(path, profile="judge_protocol", store=folder / "runs", params={"rubric": rubric})
    with open_store(folder / "runs") as session:
        assert_views_are_the_oracles(session, "r", oracle.score_run(records, rubric=rubric), rubric)


def test_agreement_is_that_of_other_packages(views: tuple[Session, dict[str, list[Row]]]) -> None:
    """kappa is scikit-learn's and alpha the krippendorff package's, on random data with gaps."""
    session, runs = views
    tested = 0
    for run, rows in runs.items():
        units = list(oracle.agreement_units(rows).values())
        judges = sorted({judge for unit in units for judge in unit})
        for row in session.rows("from judge_agreement where run_id = $1 and judge_a is not null", [run]):
            both = [unit for unit in units if row["judge_a"] in unit and row["judge_b"] in unit]
            said = [[unit[row[side]]["verdict"] for unit in both] for side in ("judge_a", "judge_b")]
            if row["kappa"] is not None:
                assert row["kappa"] == pytest.approx(cohen_kappa_score(*said), abs=1e-12)
                tested += 1
            else:
                assert not both or len(set(said[0] + said[1])) == 1
        table = np.array(
            [[unit[j]["overall_recomputed"] if j in unit else np.nan for unit in units] for j in judges], float
        )
        alpha = session.rows("select alpha from judge_agreement where run_id = $1 and judge_a is null", [run])[0][
            "alpha"
        ]
        if len(np.unique(table[~np.isnan(table)])) > 1:
            assert alpha == pytest.approx(krippendorff.alpha(table, level_of_measurement="ordinal"), abs=1e-9)
        else:
            assert alpha is None
    assert tested > 10


def test_one_name_one_judge(rageval: Call, tmp_path: Path) -> None:
    """GPT-5 and gpt-5 are one judge, called as it was first written, by file and line; repeats are counted as such."""
    rows = [
        {"output": json.dumps(good(judge_model=judge, question_id=question, target_model=target)), "repeat": repeat}
        for judge, target, question, repeat in [
            ("GPT-5", "Mini", "Q1", 0),
            ("gpt-5", "mini", "Q2", 0),
            ("ｇｐｔ-5 ", "MINI", "Q1", 1),
            ("other", "Mini", "Q1", 0),
        ]
    ]
    own = good(judge_model="mini", target_model="Mini", method="self_judge")
    rows += [{"output": json.dumps(own), "repeat": repeat} for repeat in range(4)]
    jsonl(tmp_path / "a.jsonl", rows)
    assert rageval("score", "a.jsonl", "-p", "judge_protocol")[0] == 0
    assert asked(rageval, "select judge_model, target_model, n from judge_summary order by 1") == [
        {"judge_model": "GPT-5", "target_model": "Mini", "n": 3},
        {"judge_model": "other", "target_model": "Mini", "n": 1},
    ]
    assert asked(rageval, "select judge_a, judge_b, n from judge_agreement where judge_a is not null") == [
        {"judge_a": "GPT-5", "judge_b": "other", "n": 1}
    ]
    assert asked(rageval, "select judge_model, rows from judge_invalid where flag = 'any' order by 1") == [
        {"judge_model": "GPT-5", "rows": 3}, {"judge_model": "mini", "rows": 4}, {"judge_model": "other", "rows": 1},
    ]  # fmt: skip
    assert asked(rageval, "select model, n_self, n_others from judge_self_preference") == [
        {"model": "Mini", "n_self": 4, "n_others": 4}
    ]
    # Two repeats of cross-judging; the four of self-judging and the rows of a question are none.
    shown = json.loads(rageval("show", "a", "--format", "json")[1])
    assert (shown["repeats"], shown["meta"]["judges"], shown["meta"]["samples"]) == (2, "GPT-5, mini, other", "2")
    # The rows themselves stay as they were written.
    assert {row["judge_model"] for row in asked(rageval, "from judge_protocol")} >= {"GPT-5", "gpt-5"}


def test_main_numbers_are_of_cross_judging(views: tuple[Session, dict[str, list[Row]]]) -> None:
    """The run's score has neither self-judging nor duplicates in it, and is over judgements, to rank too."""
    session, runs = views
    assert get_profile("judge_protocol").summary.run_stat == "micro"
    for run, rows in runs.items():
        counted = oracle.counted(rows, "cross_judge")
        want = oracle.mean([row["score"] for row in counted])
        pooled = session.rows("select micro from run_summary where run_id = $1 and metric = 'score'", [run])
        assert pooled == [{"micro": close(want)}]
        assert session.rows("select score from leaderboard where run_id = $1", [run]) == [{"score": close(want)}]


# --- archive ----------------------------------------------------------------------------------------------------------

HOSTILE = [
    "../../etc/passwd", "/etc/passwd", "a\0b.json", "CON", "nul.json", "...", ".hidden", "", "name.json", "NAME.json",
    "Name.JSON", "x" * 300 + ".json", "é.json", "e\u0301.json", "\u202egpj.json", "a/b\\c.json", "strasse.json",
    "straße.json", "名.json", "~1.json", "a~3.json", " ", "-rf", "$(rm)", "index.parquet", "valid", "a.json\n",
    "Ａ.json", "a.json",
]  # fmt: skip


def test_archive_is_whole_disjoint_and_exact(rageval: Call, tmp_path: Path) -> None:
    """Every judgement once, byte for byte, under a name that can do no harm, whatever was asked for."""
    rows: list[Row] = [
        {"output": json.dumps(good(output_id=str(k))) if k % 2 else f"not json {k}\0\r\n", "file": name}
        for k, name in enumerate(HOSTILE)
    ]
    rows += [
        {"output": None},
        {"output": {"a": [1.50, "é"]}},
        {"output": json.dumps(good(judge_model="../x", output_id="\0"))},
    ]
    path = jsonl(tmp_path / "hostile.jsonl", rows)
    samples = jsonl(tmp_path / "s.jsonl", [dict(zip(oracle.SAMPLE, ("Q9", "A", "m", "o"), strict=True))])
    before = set(tmp_path.rglob("*"))
    assert rageval("score", path, "-p", "judge_protocol", "-q", samples, "--archive", "new/out")[0] == 0
    out = tmp_path / "new" / "out"
    assert {part.parts[len(tmp_path.parts)] for part in set(tmp_path.rglob("*")) - before} == {"new", "runs"}
    index = pq.read_table(out / "index.parquet").to_pylist()
    missing = [row for row in index if row["path"] is None]
    kept = [row for row in index if row["path"] is not None]
    assert len(kept) == len(rows) and [row["fail_reason"] for row in missing] == ["missing"] * len(missing) != []
    files = {file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    del files["index.parquet"]
    assert set(files) == {row["path"] for row in kept}
    assert len({oracle.fold(Path(name).name) for name in files}) == len(files)
    for row in kept:
        given = rows[row["line"] - 1]["output"]
        text = json.dumps(given, ensure_ascii=False) if isinstance(given, dict) else given or ""
        assert files[row["path"]] == text.encode()
        assert (row["bytes"], row["sha256"]) == (len(text.encode()), hashlib.sha256(text.encode()).hexdigest())
        place = "valid" if row["valid"] else f"invalid/{row['flags'][0]}"
        assert str(Path(row["path"]).parent) == place
        assert len(Path(row["path"]).name.encode()) < 200 and not Path(row["path"]).name.startswith((".", "-"))
    assert {row["file"]: row["path"] for row in kept}["name.json"].endswith("/name.json")
    # Again: nothing to do. Another commit, or a folder of somebody's: refused, and nothing is touched.
    code, _, err = rageval("score", path, "-p", "judge_protocol", "-q", samples, "--archive", "new/out")
    assert code == 0 and "already" in err
    code, _, err = rageval("score", path, "-p", "judge_protocol", "--archive", "new/out")
    assert code == 2 and "another commit" in err
    code, _, err = rageval("score", path, "-p", "judge_protocol", "--archive", ".")
    assert code == 2 and "no archive" in err


def test_an_archive_that_another_process_writes(rageval: Call, tmp_path: Path) -> None:
    """Two writers of one archive never meet."""
    lock = try_lock(tmp_path / ".out.partial.lock")
    assert lock is not None
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--archive", "out")
    assert code == 2 and "is being written by another process" in err
    lock.release()
    (tmp_path / "out").mkdir()  # an empty folder is taken
    assert rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--archive", "out")[0] == 0
    assert (tmp_path / "out" / "index.parquet").is_file()


@pytest.mark.parametrize("link", ["out", ".out.partial", ".out.partial.lock", ".out.partial/valid"])
@pytest.mark.parametrize("to", ["a folder", "a file", "nothing"])
def test_an_archive_follows_no_link(link: str, to: str, rageval: Call, tmp_path: Path) -> None:
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a file").write_text("content")
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / to)
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--archive", "out")
    if link.endswith("valid"):  # left of an archive that was interrupted, and removed
        assert code == 0 and not (tmp_path / "out" / "valid").is_symlink()
    else:
        assert code == 2 and "is a link" in err
    assert not list((tmp_path / "a folder").iterdir()) and not (tmp_path / "nothing").exists()
    assert (tmp_path / "a file").read_text() == "content"


def test_an_archive_that_was_interrupted(rageval: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader sees an archive whole or not at all; what an interruption left is used again and gone."""
    with monkeypatch.context() as patched:
        patched.setattr(Names, "take", lambda self, wanted, number: (_ for _ in ()).throw(KeyboardInterrupt))
        assert rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--archive", "out")[0] == 130
    assert not (tmp_path / "out").exists()
    mine = tmp_path / ".out.partial" / "mine.txt"
    mine.write_text("not of an archive")
    code, _, err = rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--archive", "out")
    assert code == 2 and "mine.txt" in err and mine.exists()
    mine.unlink()
    assert rageval("score", JUDGEMENTS, "-p", "judge_protocol", "--archive", "out")[0] == 0
    assert sorted(part.name for part in tmp_path.iterdir()) == ["out", "runs"]
    assert pq.read_table(tmp_path / "out" / "index.parquet").num_rows == 55
