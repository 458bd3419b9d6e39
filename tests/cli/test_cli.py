"""The command line from end to end, as a user calls it: output, messages, exit codes."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest

from oracles import eval_json_v2 as oracle
from rageval_batch.bench import floor
from rageval_batch.bench.against import compared
from rageval_batch.bench.sweeps import SWEEPS
from rageval_batch.cli.bench import bench
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.report.cells import width
from rageval_batch.resources import samples_folder
from rageval_batch.runs.store import Store
from support.command import run_command
from support.places import SAMPLES_FOLDER
from support.terminal import on_terminal

SAMPLES = samples_folder() / "eval_json_v2"
QUESTIONS = SAMPLES / "questions.json"
INPUTS = ["-p", "eval_json_v2", "-q", str(QUESTIONS), "-c", str(SAMPLES / "contexts.jsonl")]


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def rageval(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> Said:
        return Said(*run_command(capsys, *words))

    return call


@pytest.fixture
def scored(rageval: Call) -> Call:
    """The same, with the samples scored into the store `runs`."""
    said = rageval("score", SAMPLES / "outputs", *INPUTS, "--prompt", SAMPLES / "prompt.md")
    assert said.code == 0
    return rageval


def oracle_average(run: str) -> float:
    """The mean score of a sample run, row by row."""
    questions = {row["id"]: row["expected"]["answer_example"] for row in json.loads(QUESTIONS.read_bytes())}
    contexts = [json.loads(line) for line in (SAMPLES / "contexts.jsonl").read_text(encoding="utf-8").splitlines()]
    chunks = {row["question_id"]: row["chunks"] for row in contexts}
    lines = (SAMPLES / "outputs" / f"{run}.jsonl").read_text(encoding="utf-8").splitlines()
    scores = [
        oracle.score(questions[row["question_id"]], chunks[row["question_id"]], row["output"])["score"]
        for row in map(json.loads, lines)
    ]
    return float(sum(scores)) / len(questions)


def one_sentence(said: Said, *parts: str) -> None:
    """Exit code 2, nothing on stdout, one short message with these parts and no traceback."""
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("rageval: ")
    assert "Traceback" not in said.err
    assert len(said.err.strip().splitlines()) == 1
    for part in parts:
        assert part in said.err


def test_score_prints_a_line_a_run(rageval: Call) -> None:
    """Data on stdout, messages on stderr, the count identity among them."""
    said = rageval("score", SAMPLES / "outputs", *INPUTS)
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == [
        "adapter-good",
        "adapter-gaps",
        "adapter-format",
        "adapter-weak",
    ]
    assert "122 rows read = 128 score rows - 6 missing outputs + 0 rejected" in said.err
    again = rageval("score", SAMPLES / "outputs", *INPUTS)
    assert again.code == 0
    assert "Nothing to do" in again.err
    assert again.out == said.out


def test_score_as_json_is_one_object_for_one_run(rageval: Call) -> None:
    """An object for one run, an array for several, unrounded."""
    one = rageval("score", SAMPLES / "outputs" / "adapter-good.jsonl", *INPUTS, "--format", "json")
    record = json.loads(one.out)
    assert record["run_id"] == "adapter-good"
    assert record["eval_score_avg"] == pytest.approx(oracle_average("adapter-good"), abs=1e-9)
    assert record["question_count"] == record["answered_count"] == 32
    assert set(record["metrics"]) >= {"score", "schema_ok", "grounding", "main_topic"}
    several = rageval("score", SAMPLES / "outputs", *INPUTS, "--format", "json")
    assert len(json.loads(several.out)) == 4


def test_many_runs_are_summed_up_on_a_terminal(rageval: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of many runs shows the best and the worst, and says so; a pipe, and who wants no messages, gets all."""
    row = json.loads((SAMPLES / "outputs" / "adapter-good.jsonl").read_text(encoding="utf-8").splitlines()[0])
    lines = [json.dumps({**row, "run_id": f"run-{k:03d}"}) for k in range(60)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    names = [f"run-{k:03d}" for k in range(60)]
    for words in ((), ("--quiet",), ("--format", "md")):
        piped = rageval("score", "many.jsonl", *INPUTS, *words)
        assert piped.code == 0 and "are shown" not in piped.err
        assert [name for name in names if name in piped.out] == names
    with monkeypatch.context() as patched:
        on_terminal(patched, 200)
        said = rageval("score", "many.jsonl", *INPUTS)
        assert said.code == 0 and len(said.out.splitlines()) == 13
        assert "60 runs; the best and worst 6 are shown" in said.err
        quiet = rageval("score", "many.jsonl", *INPUTS, "--quiet")
        assert quiet.err == "" and len(quiet.out.splitlines()) == 61


def test_of_the_runs_of_several_commits_the_first_and_the_last_are_shown(
    rageval: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rescore` reports the commits one after the other, the runs of each best first; ties stand by name."""
    question = {"id": "q", "question": "?", "must_include": ["yes", "no"]}
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n")
    for commit, count in enumerate((4, 15)):
        rows = [
            {"run_id": f"c{commit}-{k:02}", "question_id": "q", "output": ("", "yes", "yes no")[k % 3]}
            for k in range(count)
        ]
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
        assert rageval("score", "a.jsonl", "-q", "q.jsonl", "-p", "include_rate", "--keep-inputs").code == 0
    on_terminal(monkeypatch, 200)
    said = rageval("rescore", "--all", "--param", "w_include=0.5")
    first = ["c0-02", "c0-01", "c0-00", "c0-03", "c1-02", "c1-05"]
    last = ["c1-13", "c1-00", "c1-03", "c1-06", "c1-09", "c1-12"]
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == [*first, *last], said.out
    assert "19 runs; the best and worst 6 are shown" in said.err


def test_strict_fails_after_committing(rageval: Call, tmp_path: Path) -> None:
    """--strict: exit 2, but what could be scored is committed and the rest is kept as rejects."""
    good = (SAMPLES / "outputs" / "adapter-good.jsonl").read_text(encoding="utf-8")
    (tmp_path / "run.jsonl").write_text(good + "not json\n", encoding="utf-8")
    assert rageval("score", "run.jsonl", *INPUTS, "--strict").code == 2
    rejects = rageval("sql", "select line, reason, raw from rejects", "--format", "json")
    assert json.loads(rejects.out) == [{"line": 33, "reason": "malformed_json", "raw": "not json"}]
    assert rageval("show", "adapter-good").code == 0


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["score", "nofile.jsonl", *INPUTS], ["nofile.jsonl"]),
        (["score", "*.nothing", *INPUTS], ["*.nothing"]),
        (["score", str(QUESTIONS), "-p", "eval_json", "-q", str(QUESTIONS)], ["Did you mean 'eval_json_v2'"]),
        (["score", str(SAMPLES / "outputs"), *INPUTS, "--param", "soft_treshold=1"], ["'soft_threshold'"]),
        (
            ["score", str(SAMPLES / "outputs"), *INPUTS, "--param", "soft_threshold=2"],
            ["soft_threshold=2", "at most 1"],
        ),
        (["score", str(SAMPLES / "outputs"), *INPUTS, "--param", "json_mode=loose"], ["strict, lenient"]),
        (["score", str(SAMPLES / "outputs"), *INPUTS, "--param", "json_mode"], ["name=value"]),
        (["score", str(SAMPLES / "outputs"), *INPUTS, "--params", "none.toml"], ["none.toml"]),
        (["score", str(SAMPLES / "prompt.md"), *INPUTS], [".jsonl"]),
        (["score", str(SAMPLES / "outputs"), *INPUTS, "--store", str(QUESTIONS)], ["is a file"]),
        (["score", str(SAMPLES / "outputs"), *INPUTS, "--store", str(QUESTIONS / "below")], ["cannot be written"]),
        (["runs", "--store", "nowhere"], ["nowhere"]),
        (["show", "nobody", "--store", "nowhere"], ["nowhere"]),
        (["rescore", "--store", "nowhere"], ["--all"]),
        (["profiles", "eval"], ["Available"]),
        (["subset", str(QUESTIONS), "--size", "1000", "-o", "x.json"], ["32 questions"]),
        (["bench", "--rows", "1"], ["at least 100"]),
        (["sql", "select 1", "--format", "parquet", "--store", "nowhere"], ["-o FILE.parquet"]),
    ],
)
def test_bad_input_gets_one_sentence(rageval: Call, words: list[str], parts: list[str]) -> None:
    """What is wrong, where, and what to do."""
    one_sentence(rageval(*words), *parts)


@pytest.mark.parametrize("words", [["score"], ["score", "x", "--flag"], ["nocommand"], ["show"]])
def test_bad_usage_is_exit_2(rageval: Call, words: list[str]) -> None:
    """Usage errors are click's, with exit code 2."""
    said = rageval(*words)
    assert said.code == 2
    assert "Error:" in said.err


EXPECTED = json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))[0]["expected"]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ([{"expected": EXPECTED}], ["line 1", "an id"]),
        ([{"id": "a", "expected": {}}], ["'a'", "answer_example"]),
        ([{"id": "a", "expected": EXPECTED}] * 2, ["'a'", "an id of its own"]),
        ([{"id": "a", "expected": EXPECTED, "weight": -1}], ["'a'", "weight"]),
        ('[{"id": "a", "weight": 1e999}]', ["not finite"]),
        ([], ["at least 1"]),
        ("{", ["one JSON value"]),
        ('{"a": 1}', ["a list `questions`"]),
        ("", ["one JSON value"]),
    ],
)
def test_bad_questions_are_errors(rageval: Call, tmp_path: Path, content: Any, parts: list[str]) -> None:
    """A bad question would shrink every denominator, so nothing is scored."""
    (tmp_path / "q.json").write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    one_sentence(rageval("score", SAMPLES / "outputs", "-p", "eval_json_v2", "-q", "q.json"), "q.json", *parts)
    assert not list(tmp_path.glob("runs/2*"))


def test_no_usable_row_makes_no_commit(rageval: Call, tmp_path: Path) -> None:
    """Nothing usable: exit 2 and no commit."""
    (tmp_path / "run.jsonl").write_text('{"run_id": "r", "question_id": "nope", "output": ""}\n', encoding="utf-8")
    one_sentence(rageval("score", "run.jsonl", *INPUTS), "run.jsonl, line 1", "unknown_question")
    assert not list(tmp_path.glob("runs/2*"))


def test_a_full_disk_is_said_and_gone_on_from(rageval: Call, tmp_path: Path) -> None:
    """No space left: one sentence; with space, the same command goes on."""
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); import signal; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from rageval_batch.cli import main; main(sys.argv[1:])"
    )
    words = ["score", str(SAMPLES / "outputs"), *INPUTS]
    done = subprocess.run(
        [sys.executable, "-c", limited, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "The store runs cannot be written" in done.stderr
    assert rageval(*words).code == 0


def test_show_and_runs(scored: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run's record has provenance, signature and summary; an older result has its commit's name."""
    record = json.loads(scored("show", "adapter-good", "--format", "json").out)
    assert record["prompt_version"] == "2.3.1"
    assert record["eval_set_version"].startswith("questions@")
    for name in ("prompt_sha256", "index_version", "model_id", "adapter_id", "params_sha256", "signature"):
        assert record[name]
    assert record["fail_reasons"] == {}
    assert record["context_missing_count"] == 0
    gaps = json.loads(scored("show", "adapter-gaps", "--format", "json").out)
    assert gaps["fail_reasons"] == {"missing_output": 6}
    assert gaps["answered_count"] == 26
    with monkeypatch.context() as patched:
        on_terminal(patched)
        assert all(width(line) <= 80 for line in scored("show", "adapter-weak").out.splitlines())
        assert all(width(line) <= 80 for line in scored("runs").out.splitlines())
    assert "| metric |" in scored("show", "adapter-weak", "--format", "md").out
    listed = json.loads(scored("runs", "--format", "json").out)
    assert {row["run_id"] for row in listed} == {"adapter-good", "adapter-weak", "adapter-format", "adapter-gaps"}
    one_sentence(scored("show", "adapter-god"), "Did you mean 'adapter-good'")


def test_rescore_is_a_new_commit_and_the_old_stays(scored: Call, tmp_path: Path) -> None:
    """The same inputs with other parameters; RUN@COMMIT shows the older numbers; asking twice changes nothing."""
    before = json.loads(scored("show", "adapter-format", "--format", "json").out)
    assert scored("rescore", "adapter-format", "--param", "json_mode=lenient").code == 0
    after = json.loads(scored("show", "adapter-format", "--format", "json").out)
    assert after["eval_score_avg"] > before["eval_score_avg"]
    assert after["repair_rate"] == 4 / 32
    assert after["params_sha256"] != before["params_sha256"]
    assert after["model_id"] == before["model_id"]
    older = json.loads(scored("show", f"adapter-format@{before['commit']}", "--format", "json").out)
    assert older["eval_score_avg"] == before["eval_score_avg"]
    assert "Nothing to do" in scored("rescore", "adapter-format", "--param", "json_mode=lenient").err
    assert len(list(tmp_path.glob("runs/2*"))) == 2


def test_rescore_needs_its_inputs_or_a_copy(rageval: Call, tmp_path: Path) -> None:
    """Changed inputs are said; kept inputs are used, and give the same scores."""
    shutil.copytree(SAMPLES, tmp_path / "mine")
    words = ["mine/outputs", "-p", "eval_json_v2", "-q", "mine/questions.json", "-c", "mine/contexts.jsonl"]
    assert rageval("score", *words, "--store", "plain").code == 0
    assert rageval("score", *words, "--store", "kept", "--keep-inputs").code == 0
    whole = rageval("rescore", "--all", "--param", "json_mode=lenient", "--store", "plain", "--format", "csv")
    with (tmp_path / "mine" / "outputs" / "adapter-good.jsonl").open("a", encoding="utf-8") as out:
        out.write("\n")
    one_sentence(
        rageval("rescore", "--all", "--param", "soft_threshold=0.5", "--store", "plain"),
        "adapter-good.jsonl",
        "changed",
    )
    shutil.rmtree(tmp_path / "mine")
    one_sentence(rageval("rescore", "--all", "--param", "soft_threshold=0.5", "--store", "plain"), "gone")
    kept = rageval("rescore", "--all", "--param", "json_mode=lenient", "--store", "kept", "--format", "csv")
    assert kept.code == 0
    assert kept.out == whole.out
    explained = json.loads(rageval("explain", "adapter-weak", "tc-03", "--store", "kept", "--format", "json").out)
    assert explained["note"] is None
    assert explained["explanation"]["classes"][0]["matched"] is False
    gone = json.loads(rageval("explain", "adapter-weak", "tc-03", "--store", "plain", "--format", "json").out)
    assert "gone" in gone["note"]
    assert gone["score"] == explained["score"]


def test_rows_that_no_key_tells_apart_are_picked_by_their_number(rageval: Call) -> None:
    folder = SAMPLES_FOLDER / "judge_protocol"
    questions = ("-q", folder / "samples.jsonl", "-c", folder / "targets.jsonl")
    rageval("score", folder / "judgements.jsonl", "-p", "judge_protocol", *questions)
    keys = ("--key", "judge_model=cedar-32b", "--key", "prompt_variant=A", "--key", "target_model=dune-3b")
    one_sentence(
        rageval("explain", "spring-judging", "Q2", *keys), "No key tells them apart: pick one with --row, 1 to 2."
    )
    assert "INTERNAL_INCONSISTENCY" in rageval("explain", "spring-judging", "Q2", *keys, "--row", "2").out
    one_sentence(rageval("explain", "spring-judging", "Q2", *keys, "--row", "3"), "2 rows")
    assert "INCOMPLETE_COVERAGE" in rageval("explain", "spring-judging", "Q3", *keys, "--key", "output_id=").out


def test_explain_agrees_with_the_score(scored: Call) -> None:
    """Matched items, hits and refs of the explanation are those of the score row."""
    for question in ("tc-01", "tc-03", "sc-02", "en-05"):
        said = json.loads(scored("explain", "adapter-weak", question, "--format", "json").out)
        parts = said["explanation"]
        for line in parts["classes"]:
            assert said[line["field"]] == float(line["matched"])
        for name in ("detailed_description", "predicted_questions"):
            wanted = [line for line in parts[name] if line["expected"] is not None]
            assert said[f"{name}_recall"] == pytest.approx(sum(line["matched"] for line in wanted) / len(wanted))
        assert said["evidence_hits"] == sum(line["found"] for line in parts["original_evidence"])
        assert said["evidence_keywords"] == len(parts["original_evidence"])
        assert said["grounding_ok_refs"] == sum(line["held"] for line in parts["source_map"])
    broken = scored("explain", "adapter-format", "sc-09")
    assert "not_object" in broken.out
    assert "has no answer" in scored("explain", "adapter-gaps", "tc-03").out
    one_sentence(scored("explain", "adapter-weak", "nope"), "nope")


def test_sql_in_every_format(scored: Call, tmp_path: Path) -> None:
    """The same rows as table, csv, json, jsonl, md and Parquet."""
    query = "select run_id, score from leaderboard order by rank"
    rows = json.loads(scored("sql", query, "--format", "json").out)
    assert rows[0]["run_id"] == "adapter-good"
    assert [json.loads(line) for line in scored("sql", query, "--format", "jsonl").out.splitlines()] == rows
    read = list(csv.DictReader(io.StringIO(scored("sql", query, "--format", "csv").out)))
    assert [(row["run_id"], float(row["score"])) for row in read] == [(row["run_id"], row["score"]) for row in rows]
    assert scored("sql", query, "--format", "parquet", "-o", "out.parquet").code == 0
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == rows
    assert scored("sql", query, "--format", "md").out.count("\n") == 6
    assert scored("sql", query, "-o", "out.txt").out == ""
    assert "adapter-good" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert scored("sql", "selec 1").code == 2


def test_hostile_texts_stay_inside_their_cells(rageval: Call, tmp_path: Path) -> None:
    """Control characters, formulas, pipes and markup cannot break a table, a CSV or a Markdown cell."""
    run = "=1+1|<b>\u202e\x1b[31m\nx"
    row = {"run_id": run, "question_id": "tc-01", "output": "\x00<script>'; drop table runs; --"}
    (tmp_path / "run.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert rageval("score", "run.jsonl", *INPUTS).code == 0
    shown = rageval("runs").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown.splitlines()) == 2
    read = list(csv.reader(io.StringIO(rageval("runs", "--format", "csv").out)))
    assert read[1][0] == "'" + run
    marked = rageval("runs", "--format", "md").out
    assert "<b>" not in marked
    assert marked.count("\n") == 3
    assert json.loads(rageval("runs", "--format", "json").out)[0]["run_id"] == run
    assert rageval("show", run).code == 0
    assert rageval("explain", run, "tc-01").code == 0


def test_stdin(rageval: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """- is JSONL on stdin; without run_id the run is called stdin."""
    content = b'{"question_id": "tc-01", "output": "x"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    said = rageval("score", "-", *INPUTS, "--format", "json")
    assert json.loads(said.out)["run_id"] == "stdin"


def test_subset_is_stratified_and_stable(rageval: Call, tmp_path: Path) -> None:
    """The same questions whatever the order of the file; every stratum that can be, is there."""
    assert rageval("subset", QUESTIONS, "--size", "14", "-o", "a.json").code == 0
    rows = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    (tmp_path / "turned.jsonl").write_text("\n".join(json.dumps(row) for row in reversed(rows)), encoding="utf-8")
    said = rageval("subset", "turned.jsonl", "--size", "14", "-o", "b.jsonl")
    assert said.code == 0
    assert len(said.out.splitlines()) == 2
    first = [row["id"] for row in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))]
    second = [json.loads(line)["id"] for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    assert first == list(reversed(second))
    assert first == [row["id"] for row in rows if row["id"] in first]

    def stratum(row: dict[str, Any]) -> tuple[str, str]:
        example = row["expected"]["answer_example"]
        return example["target_audience"], example["main_topic"]

    assert {stratum(row) for row in rows if row["id"] in first} == {stratum(row) for row in rows}
    other = rageval("subset", QUESTIONS, "--size", "14", "--seed", "1", "-o", "c.json")
    assert other.code == 0
    assert (tmp_path / "a.json").read_bytes() != (tmp_path / "c.json").read_bytes()


def test_a_subset_is_stratified_over_the_fields_of_its_profile_or_those_given(rageval: Call, tmp_path: Path) -> None:
    gold = SAMPLES_FOLDER / "claim_evidence" / "gold.jsonl"
    rows = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    categories = {row["category"] for row in rows}
    for words in ((), ("--by", "category")):
        assert rageval("subset", gold, "--size", str(len(categories)), "-o", "c.jsonl", *words).code == 0
        chosen = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {row["category"] for row in chosen} == categories
    said = rageval("subset", gold, "--size", "3", "--by", "categori", "-o", "d.jsonl")
    assert said.code == 2 and "Did you mean 'category'?" in said.err and not (tmp_path / "d.jsonl").exists()


def test_profiles(rageval: Call) -> None:
    """All profiles in a list; one with all its parameters."""
    assert "eval_json_v2" in rageval("profiles").out
    described = json.loads(rageval("profiles", "eval_json_v2", "--format", "json").out)
    assert {row["param"] for row in described["params"]} >= {"soft_threshold", "list_matcher", "w_grounding"}
    assert all(width(line) <= 80 for line in rageval("profiles", "eval_json_v2").out.splitlines())


def test_bench(rageval: Call, tmp_path: Path) -> None:
    """The measurements and their ratios, not their size; beside those of an earlier file."""
    before = tmp_path / "before.json"
    rageval("bench", "--rows", "2000", "--json", "-o", before)
    (measured,) = json.loads(before.read_bytes())["profiles"]
    stages = {line["stage"]: line for line in measured["stages"]}
    assert set(stages) == {"read", "decode", "score", "write", "whole sweep", "floor: DuckDB", "oracle"}
    assert stages["whole sweep"]["rows"] == 2000
    assert measured["times_the_oracle"] > 0
    assert measured["cpu_over_floor"] > 0
    assert measured["peak_mib"] > 0
    again = compared([measured], [measured])
    assert [line["stage"] for line in again] == list(stages)
    assert {line["times"] for line in again} == {1.0}
    before.write_text('{"profiles": [{}]}')
    said = rageval("bench", "--rows", "100", "--against", before)
    assert (said.code, "no measurement" in said.err) == (2, True)


def test_bench_compares_two_runs_with_a_raw_join(rageval: Call) -> None:
    (measured,) = json.loads(rageval("bench", "--rows", "100", "--compared", "300", "--json").out)["profiles"]
    cpu = {line["stage"]: line["cpu_s"] for line in measured["stages"] if line["rows"] == 300}
    assert measured["compare_over_raw_join"] == cpu["$ compare of two runs"] / cpu["$ raw join of two runs: DuckDB"]


def test_bench_compares_command_with_command(rageval: Call) -> None:
    """The floor of `score` is a whole process too; that of the sweep stays the one of a process which has started."""
    (measured,) = json.loads(rageval("bench", "--rows", "500", "--commands", "--json").out)["profiles"]
    cost = {line["stage"]: line for line in measured["stages"]}
    floor, score = cost["$ floor: DuckDB"], cost["$ score"]
    assert floor["cpu_s"] > cost["floor: DuckDB"]["cpu_s"]  # which has nothing to import
    assert measured["command_over_floor"] == pytest.approx(score["cpu_s"] / floor["cpu_s"])
    assert measured["command_wall_over_floor"] == pytest.approx(score["wall_s"] / floor["wall_s"])
    assert measured["cpu_over_floor"] == pytest.approx(cost["whole sweep"]["cpu_s"] / cost["floor: DuckDB"]["cpu_s"])


def test_the_floor_imports_nothing_of_ours(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"run_id": "a", "question_id": "q", "output": "{}"}\n')
    words = [str(rows), "output", '{"a": "VARCHAR"}']
    code = f"import runpy, sys; sys.argv[1:] = {words!r}; "
    code += f"runpy.run_path({floor.__file__!r}, run_name='__main__'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert "duckdb" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.startswith(("rageval_batch", "pyarrow"))]


def test_bench_of_functions(rageval: Call) -> None:
    """A line a function, and the public implementations on a sample of the same rows."""
    said = rageval("bench", "--profile", "reference", "--rows", "200", "--format", "json")
    lines = json.loads(said.out)["profiles"][0]["functions"]
    ours = {line["function"] for line in lines if line["implementation"] == "rageval"}
    public = {(line["function"], line["implementation"]) for line in lines if line["implementation"] != "rageval"}
    assert {"token_f1", "rouge_l", "chrf", "numbers_supported", "all of the profile"} <= ours
    assert public == {("token_f1", "SQuAD v1.1 rules"), ("rouge_l", "rouge-score"), ("chrf", "sacreBLEU")}
    assert all(line["rows"] == 200 and line["rows_per_s"] > 0 for line in lines)


def test_every_profile_has_a_sweep_to_measure(tmp_path: Path) -> None:
    """`bench` knows every packaged profile, and the answers of its sweeps mostly differ."""
    (choice,) = (option.type for option in bench.params if option.name == "profile")
    assert isinstance(choice, click.Choice)
    assert set(choice.choices) == {*SWEEPS, "all"} == {*PROFILES, "all"}
    for name, kind in SWEEPS.items():
        files = kind.write(tmp_path, 120, 7)
        answers = {json.dumps(json.loads(line)[kind.answer]) for line in files.outputs.read_text("utf-8").splitlines()}
        assert len(answers) > 60, name


def test_module_is_the_command() -> None:
    """`python -m rageval_batch` is `rageval`."""
    done = subprocess.run(
        [sys.executable, "-m", "rageval_batch", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("rageval")


def test_a_commit_is_told_though_its_lines_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = samples_folder() / "include_rate"
    words = ["score", samples / "outputs", "-p", "include_rate", "-q", samples / "questions.jsonl"]
    code, _, err = run_command(capsys, *words, "--store", tmp_path / "runs", "-o", tmp_path / "none" / "x.csv")
    assert code == 2 and "Cannot write" in err
    (commit,) = Store(tmp_path / "runs").commits()
    assert f"Committed {commit.id}" in err
