"""What people see: endings that choose formats, colours, --quiet, completion, rules in words, one score everywhere."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from click.shell_completion import ShellComplete

from rageval_batch.cli import cli, main
from support.command import run_command
from support.gated_stores import add_commit
from support.gated_stores import score_row as gated_row
from support.places import SAMPLES_FOLDER
from support.stores import publish, score_row, simple_run
from support.terminal import on_terminal
from support.viewing import viewing

Call = Callable[..., tuple[int, str, str]]
LONG = "adapter-with-a-long-name-that-nobody-may-cut-in-two"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two profiles: one with gates, one without."""
    folder = tmp_path_factory.mktemp("terminal") / "runs"
    questions = {f"q{k:02}": 1.0 for k in range(14)}
    worse = {name: 0.0 if k < 13 else 1.0 for k, name in enumerate(questions)}
    publish(
        folder, {"base": simple_run(**questions), LONG: simple_run(**worse)}, profile="include_rate", with_summary=True
    )
    add_commit(folder, {"gated": [gated_row("q", 99.0, schema_ok=True)]}, model_id=None, prompt_sha256=None)
    return folder


@pytest.fixture
def call(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """(exit code, stdout, stderr) of a command on that store, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEVAL_STORE", str(store))

    def run(*words: str) -> tuple[int, str, str]:
        return run_command(capsys, *words)

    return run


def test_narrow_lists_of_runs_keep_what_tells_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of one name have the eval set beside it, however narrow the screen is; others do not need it."""
    for name in ("first@1", "second@2"):
        publish(tmp_path, {"run-of-two": simple_run(a=1.0)}, eval_set=name, questions_sha256=name[-1] * 64)
    for command, columns in (("runs", 40), ("leaderboard", 50)):
        on_terminal(monkeypatch, columns)
        _, out, _ = run_command(capsys, command, "--store", str(tmp_path))
        assert "first@1" in out and "second@2" in out and "eval_set" not in out.partition("Not shown")[2], command
        _, out, _ = run_command(capsys, command, "--store", str(tmp_path), "--eval-set", "first@1")
        assert "eval_set" in out.partition("Not shown")[2], command


COMMANDS: dict[str, tuple[str, ...]] = {
    "runs": ("runs",),
    "leaderboard": ("leaderboard", "-p", "include_rate"),
    "show": ("show", "base"),
    "compare": ("compare", "base", LONG),
    "gate": ("gate", "gated"),
    "sql": ("sql", "select run_id, n from leaderboard"),
    "profiles": ("profiles",),
    "monitor": ("monitor", "--metric", "score", "-p", "include_rate"),
    "check": ("check", str(SAMPLES_FOLDER / "include_rate" / "questions.jsonl")),
}
READ: dict[str, Callable[[Path], Any]] = {
    "csv": lambda path: list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))),
    "tsv": lambda path: list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""), delimiter="\t")),
    "json": lambda path: json.loads(path.read_text(encoding="utf-8")),
    "jsonl": lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line],
    "parquet": lambda path: pq.read_table(path).to_pylist(),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_has_the_format_of_its_ending(call: Call, tmp_path: Path, name: str) -> None:
    for ending in ("csv", "tsv", "json", "jsonl", "md", "parquet", "xlsx", "html"):
        target = tmp_path / f"x.{ending}"
        code, out, err = call(*COMMANDS[name], "-o", str(target))
        assert code in (0, 1) and out == "", err
        if ending in READ:
            assert READ[ending](target) is not None
        elif ending == "xlsx":
            assert target.read_bytes()[:2] == b"PK"
        else:
            assert target.read_text(encoding="utf-8").startswith(("|", "#") if ending == "md" else "<!doctype html>")


def test_format_wins_over_the_ending(call: Call, tmp_path: Path) -> None:
    assert call("runs", "--format", "json", "-o", "x.csv")[0] == 0
    assert len(json.loads((tmp_path / "x.csv").read_text(encoding="utf-8"))) == 3


@pytest.mark.parametrize("name", ["compare", "gate"])
def test_xml_is_junit(call: Call, tmp_path: Path, name: str) -> None:
    assert call(*COMMANDS[name], "-o", "x.xml")[0] == 1
    assert ElementTree.fromstring((tmp_path / "x.xml").read_bytes()).tag == "testsuites"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("runs", "-o", "x.xml"), ["does not write .xml", "csv"]),
        (("explain", "base", "q00", "-o", "x.csv"), ["does not write .csv", "table, json, md"]),
        (("runs", "--format", "xlsx"), ["-o FILE.xlsx"]),
        (("profiles", "include_rate", "-o", "x.parquet"), ["table, json or md"]),
        (("runs", "-o", "none/x.csv"), ["Cannot write none/x.csv"]),
    ],
)
def test_what_cannot_be_written_is_said(call: Call, words: tuple[str, ...], parts: list[str]) -> None:
    code, out, err = call(*words)
    assert (code, out) == (2, "") and len(err.splitlines()) == 1
    assert all(part in err for part in parts)


def test_a_terminal_shows_ids_whole_and_a_pipe_every_digit(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in 60 columns nor in 200 is an id cut; what does not fit is turned."""
    _, piped, _ = call("leaderboard")
    assert repr(1 / 14) in piped and "…" not in piped and LONG in piped
    for columns in (60, 200):
        with monkeypatch.context() as patched:
            on_terminal(patched, columns)
            _, out, _ = call("runs")
            assert LONG in out and "…" not in out
            assert out.count("commit") == (3 if columns == 60 else 1), "where nothing fits, a line a column"
            _, out, _ = call("compare", "base", LONG)
            assert LONG in out


def test_colour_only_on_a_terminal_that_wants_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("compare", "base", LONG)
    assert "\x1b" not in call(*words)[1]
    with monkeypatch.context() as patched:
        on_terminal(patched, colour=True)
        assert "\x1b[31mFAILED" in call(*words)[1]
        assert "\x1b[31mfailed" in call("gate", "gated")[1]
        assert "\x1b" not in call(*words, "--format", "json")[1]
        patched.setenv("NO_COLOR", "1")
        assert "\x1b" not in call(*words)[1]


@pytest.mark.parametrize("words", [("--quiet", "gate", "gated"), ("gate", "gated", "--quiet")])
def test_quiet_leaves_results_and_errors(call: Call, words: tuple[str, ...]) -> None:
    code, out, err = call(*words)
    assert code == 1 and "gated" in out and err == ""
    assert "Did you mean" in call("show", "gatd", "--quiet")[2]


def test_a_misspelt_command_is_told_the_nearest(call: Call) -> None:
    code, out, err = call("scor")
    assert (code, out) == (2, "") and "Unknown command 'scor'. Did you mean 'score'?" in err


def test_a_report_is_html(call: Call, tmp_path: Path) -> None:
    code, out, err = call("report", "-o", str(tmp_path / "report.pdf"))
    assert (code, out) == (2, "") and "Give -o FILE.html." in err
    assert not (tmp_path / "report.pdf").exists()


def test_every_command_can_be_quiet() -> None:
    for name in cli.list_commands(None):  # type: ignore[arg-type]
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None and [p.name for p in command.params].count("quiet") == 1


def completions(*words: str) -> list[str]:
    """What a shell offers for the last word."""
    return [item.value for item in ShellComplete(cli, {}, "rageval", "_C").get_completions(list(words[:-1]), words[-1])]


def test_shells_complete_names(call: Call) -> None:
    assert completions("sco") == ["score"]
    assert completions("runs", "-p", "inc") == ["include_rate"]
    assert completions("show", "ad") == completions("report", "ad") == completions("report", "--base", "ad") == [LONG]
    assert completions("compare", "base", "g") == ["gated"]
    assert completions("runs", "--eval-set", "q") == ["q@1", "questions@0123"]
    assert completions("compare", "-p", "include_rate", "--metric", "safe") == ["safe_ok"]
    assert "claim_precision" in completions("monitor", "--metric", "claim")
    assert completions("show", "--store", "nowhere", "") == []


def test_compare_says_its_rule_and_how_many_more(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        on_terminal(patched, 400)
        _, out, _ = call("compare", "base", LONG)
        assert "13 regressions, at most 0 allowed: q00" in out and "q11 … and 1 more" in out
    code, out, _ = call("compare", "base", LONG)
    assert code == 1
    assert "Fails on a worse score and on any regression; allow some with --max-regressions." in out
    assert "must be at least 0" in out and "least 0;" not in out.replace("at least 0;", "")
    assert "13 regressions, at most 0 allowed: q00" in out and "q11, q12" in out
    assert "moved most (10 of 13)" in out
    _, out, _ = call("compare", "base", LONG, "--max-regressions", "20", "--min-delta", "-1")
    assert "Fails on a delta below -1 (--min-delta) and on more than 20 regressions (--max-regressions)." in out
    assert "shows (--fail-on significant)" in call("compare", "base", LONG, "--fail-on", "significant")[1]
    assert "weighted mean of score" in out, "a weighted mean is called one"


def test_several_candidates_lose_nothing_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Repeats and lists are there for a few candidates; where something is left out, the notes say so."""
    folder = tmp_path / "runs"
    questions = [f"q{k:03}" for k in range(60)]

    def run(score: float) -> list[dict[str, Any]]:
        return [score_row(q, score, repeat=r) for q in questions for r in (0, 1)]

    publish(folder, {"base": run(1.0), **{f"c{k:02}": run(k / 100) for k in range(11)}})

    def compared(*candidates: str) -> list[dict[str, Any]]:
        with pytest.raises(SystemExit):
            main(["compare", "base", *candidates, "--store", str(folder), "--format", "json"])
        found = json.loads(capsys.readouterr().out)
        return found if isinstance(found, list) else [found]

    for found in (compared("c00"), compared("c00", "c01")):
        for result in found:
            assert result["candidate_repeats"] and result["base_repeats"]
    assert "regressed lists the first 50 of 60; 10 are left out." in found[0]["notes"]
    many = compared(*(f"c{k:02}" for k in range(11)))
    assert all(any("at most 10 candidates" in note for note in result["notes"]) for result in many)
    with pytest.raises(SystemExit):
        main(["compare", "base", "c00", "c01", "--store", str(folder)])
    assert "lists the first" not in capsys.readouterr().out  # the lists are not shown there


def test_gate_all_skips_a_profile_without_gates(call: Call) -> None:
    code, out, err = call("gate", "--all")
    assert code == 1 and "gated" in out and "base" not in out
    assert "2 runs of include_rate are skipped: it has no gates." in err
    assert call("gate", "--all", "-p", "include_rate")[0] == 2
    assert call("gate", "base")[0] == 2


def test_missing_provenance_names_its_option(call: Call) -> None:
    _, out, _ = call("gate", "gated")
    assert "Give prompt_sha256 with --prompt FILE; model_id with --meta model_id=…." in out
    _, out, _ = call("show", "gated")
    assert re.search(r"model_id +– \(give it with --meta model_id=…\)", out)
    assert "contexts_sha256   – (give it with -c FILE)" in out


def test_one_score_and_n_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of judgements: score, show, runs, leaderboard and compare have the same number of the same units."""
    folder = SAMPLES_FOLDER / "judge_protocol"
    store = ["--store", str(tmp_path / "runs")]

    def answer(*words: str) -> Any:
        with pytest.raises(SystemExit):
            main([*words, *store])
        return capsys.readouterr().out

    words = [str(folder / "judgements.jsonl"), "-p", "judge_protocol", "-q", str(folder / "samples.jsonl")]
    scored = answer("score", *words, "-c", str(folder / "targets.jsonl"), "--format", "csv")
    line = next(csv.DictReader(io.StringIO(scored)))
    run = line["run_id"]
    found = {(float(line["score"]), line["stat"], int(line["n"]))}
    found |= {
        (row["score"], row["stat"], row["n"])
        for row in (
            *json.loads(answer("leaderboard", "--format", "json")),
            *json.loads(answer("runs", "--format", "json")),
            json.loads(answer("show", run, "--format", "json")),
        )
    }
    assert len(found) == 1 and found.pop()[1] == "micro average"
    assert json.loads(answer("compare", run, run, "--format", "json"))["base"] == float(line["score"])


def test_counts_that_are_not_of_questions_say_of_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """19 samples, 54 judgements, 52 given: whoever sees the numbers sees what they are of."""
    folder, store = SAMPLES_FOLDER / "judge_protocol", ["--store", str(tmp_path / "runs")]
    words = [str(folder / "judgements.jsonl"), "-p", "judge_protocol", "-q", str(folder / "samples.jsonl")]
    for command, counts in (
        (["score", *words, "-c", str(folder / "targets.jsonl")], "; answered and questions count judgements"),
        (["runs"], ""), (["leaderboard"], ""),
        (["show", "spring-judging"], "; question_count and answered_count count judgements"),
    ):  # fmt: skip
        code, _, err = run_command(capsys, *command, *store)
        assert code == 0 and f"judge_protocol: n counts samples{counts}." in err
        assert "n counts" not in run_command(capsys, *command, *store, "--quiet")[2]


def test_one_row_is_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "a", "question": "?", "must_include": ["x"]}', encoding="utf-8")
    (tmp_path / "o.jsonl").write_text('{"id": "a", "output": "x"}', encoding="utf-8")
    words = [str(tmp_path / "o.jsonl"), "-p", "include_rate", "-q", str(tmp_path / "q.jsonl")]
    _, _, err = run_command(capsys, "score", *words, "--store", str(tmp_path / "runs"))
    assert "1 row read = 1 score row - 0 missing outputs + 0 rejected" in err


def test_averages_that_leave_questions_out_say_over_how_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A micro average has no parts of a missing answer: whoever sees it sees over how many questions it is."""
    folder, store = SAMPLES_FOLDER / "claim_evidence", ["--store", str(tmp_path / "runs")]
    lines = (folder / "outputs" / "run-pass.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "some.jsonl").write_text("".join(lines[:2]))
    words = ["-p", "claim_evidence", "-q", str(folder / "gold.jsonl"), *store]
    _, _, err = run_command(capsys, "score", folder / "outputs" / "run-pass.jsonl", *words)
    assert " over " not in err
    _, _, err = run_command(capsys, "score", tmp_path / "some.jsonl", "--run-id", "some", *words)
    assert "some: provenance_rate, claim_precision over 2 of 14 questions; others, those without an answer" in err
    assert "over 2 of 14 questions; others" in run_command(capsys, "show", "some", *store)[1]
    assert "over " not in run_command(capsys, "show", "run-pass", *store)[1]
    query = "select n_micro, n_total from run_summary where run_id = 'some' and metric = 'claim_precision'"
    assert run_command(capsys, "sql", query, "--format", "csv", *store)[1] == "n_micro,n_total\n2,14\n"


def test_scores_that_leave_judgements_out_say_over_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the score of a run is a micro average: in every list of runs."""
    folder, store = SAMPLES_FOLDER / "judge_protocol", ["--store", str(tmp_path / "runs")]
    lines = (folder / "judgements.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "some.jsonl").write_text("".join(lines[:20]))
    words = ["-p", "judge_protocol", "-q", str(folder / "samples.jsonl"), "-c", str(folder / "targets.jsonl")]
    _, _, err = run_command(capsys, "score", tmp_path / "some.jsonl", *words, *store)
    said = "over 10 of 36 judgements; others, those without an answer among them, count neither for the run"
    assert f"spring-judging: cross_score_avg {said}" in err
    for command in (["runs"], ["leaderboard"]):
        assert f"spring-judging: score {said}" in run_command(capsys, *command, *store)[2]
    report = tmp_path / "report.html"
    assert run_command(capsys, "report", "-o", report, *store)[0] == 0
    assert f"score {said}" in report.read_text()
    with viewing(tmp_path / "runs") as client:
        assert f"score {said}" in client.get("/")
