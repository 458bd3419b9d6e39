"""`rageval compare` and `leaderboard` from end to end: files of runs, exit codes, formats, hostile names."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pyarrow.parquet as pq
import pytest

from rageval_batch.errors import InputError
from rageval_batch.inputs.run_files import WantedRows, open_run_file
from support.command import run_command
from support.stores import HOSTILE, publish, score_row, simple_run

FIELDS = [
    "base",
    "candidate",
    "delta",
    "changed",
    "improvements",
    "regressions",
    "min_delta",
    "max_regressions",
    "passed",
]
HASHES = {"pdf_sha256": "p" * 64, "questions_sha256": "q" * 64}


def json_run(path: Path, score: float | None, results: dict[str, Any], **summary: Any) -> str:
    """A JSON run file of the old form."""
    content = {
        "summary": {"weighted_score": score, **HASHES, **summary},
        "results": [{"id": name, "metrics": {"score": value}} for name, value in results.items()],
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def called(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command."""
    return run_command(capsys, *words)


def test_digits_of_a_failing_delta_are_all_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe, Markdown and JUnit; a delta that fails never reads as one that passes."""
    publish(tmp_path, {"base": simple_run(a=0.5, b=0.5), "cand": simple_run(a=0.499999, b=0.5)})
    for format in ("table", "md", "junit"):
        code, out, _ = called(capsys, "compare", "base", "cand", "--store", str(tmp_path), "--format", format)
        found = re.search(r"the delta is (\S+) and must be at least 0", out.replace("\\", ""))
        assert code == 1 and found is not None and float(found[1]) == 0.4999995 - 0.5, format
    code, out, _ = called(
        capsys, "compare", "base", "cand", "--store", str(tmp_path), "--fail-on", "significant", "--format", "junit"
    )
    assert "-0.0000" not in out


def test_without_weights_there_is_no_delta_and_the_reason_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {name: [score_row("a", value, weight=0.0)] for name, value in (("base", 0.5), ("cand", 0.7))}
    publish(tmp_path, runs, profile="include_rate")
    code, out, _ = called(capsys, "compare", "base", "cand", "--store", str(tmp_path))
    assert code == 1
    assert "there is no delta: 'base' and 'cand' have no score, as no question has a value and a weight above 0" in out
    code, out, _ = called(capsys, "leaderboard", "--store", str(tmp_path), "--format", "json")
    assert [row["rank"] for row in json.loads(out)] == [None, None], "a run without a score has no rank"


def test_question_ids_are_cut_for_people_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe, a file and JUnit have all that are listed; Markdown, which fits into a comment, the first and a count."""
    both = {f"q{k:02}": 0.5 for k in range(15)}
    base = both | {f"b{k:02}": 0.5 for k in range(14)}
    publish(tmp_path, {"base": simple_run(**base), "cand": simple_run(**dict.fromkeys(both, 0.25))})
    worse, alone = ", ".join(both), ", ".join(name for name in base if name not in both)
    command = ("compare", "base", "cand", "--store", str(tmp_path), "--no-strict-hashes")
    for target in ("c.txt", "c.xml", None):
        code, out, _ = called(capsys, *command, *(() if target is None else ("-o", str(tmp_path / target))))
        text = " ".join((out if target is None else (tmp_path / target).read_text(encoding="utf-8")).split())
        assert code == 1 and worse in text and "more" not in text, target
        assert target == "c.xml" or alone in text
    _, out, _ = called(capsys, *command, "--format", "md")
    assert "q11 … and 3 more" in out and "b11 … and 2 more" in out and "q12" not in out.partition("moved most")[0]


def test_several_candidates_have_their_n_and_metrics_their_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {
        name: [score_row(q, value, repeat=k, main_topic=n) for q in "ab" for k in range(2)]
        for name, value, n in (("base", 0.5, 3), ("one", 0.7, 4), ("two", 0.6, 5))
    }
    publish(tmp_path, rows)
    _, out, _ = called(capsys, "compare", "base", "one", "two", "--store", str(tmp_path))
    assert re.search(r"candidate +score +delta .* worse +n +passed", out) and re.search(r"one .* 2  yes", out)
    _, out, _ = called(capsys, "compare", "base", "one", "--metric", "main_topic", "--store", str(tmp_path))
    assert re.search(r"question_id +base_main_topic +cand_main_topic +delta", out)
    assert "score_std_over_repeats" not in out, "that is said of another number"


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ({}, "no question with a value of score in both"),
        ({"q1": None, "q2": None}, "no question with a value of score in both"),
        ({"other": 1.0}, "no question with a value of score in both"),
        ({"q1": 1e308, "q2": -1e308}, "too large to be summed"),
    ],
)
def test_scores_of_whole_runs_alone_pass_no_candidate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], results: dict[str, Any], said: str
) -> None:
    base = json_run(tmp_path / "base.json", 0.5, {"q1": 0.5, "q2": -1e300})
    cand = json_run(tmp_path / "cand.json", 0.75, results)
    code, out, err = called(capsys, "compare", base, cand, "--store", str(tmp_path / "none"))
    assert (code, out) == (2, "") and said in err


@pytest.mark.parametrize("written", ["1e999", "-Infinity", '"0.5"', "true", "[]"])
def test_a_score_of_a_whole_run_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str
) -> None:
    base = json_run(tmp_path / "base.json", 0.5, {"q1": 0.5})
    (tmp_path / "cand.json").write_text((tmp_path / "base.json").read_text().replace("0.5", written, 1), "utf-8")
    code, out, err = called(capsys, "compare", base, str(tmp_path / "cand.json"), "--store", str(tmp_path / "none"))
    assert (code, out) == (2, "") and "summary.weighted_score" in err


def test_json_runs_print_one_object_on_the_first_line(tmp_path: Path) -> None:
    base = json_run(tmp_path / "base.json", 0.5, {"q1": 0.5, "q2": 0.5})
    cand = json_run(tmp_path / "cand.json", 0.75, {"q1": 1.0, "q2": 0.5})
    command = [sys.executable, "-m", "rageval_batch", "compare", "--base", base, "--cand", cand, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    found = json.loads(done.stdout.splitlines()[0])
    assert list(found)[: len(FIELDS)] == FIELDS
    assert [found[name] for name in FIELDS] == [0.5, 0.75, 0.25, 1, 1, 0, 0.0, 0, True]


@pytest.mark.parametrize(
    ("scores", "cand_score", "options", "code"),
    [
        ({"q1": 1.0, "q2": 0.5}, 0.75, [], 0),
        ({"q1": 1.0, "q2": 0.25}, 0.625, [], 1),
        ({"q1": 1.0, "q2": 0.25}, 0.625, ["--max-regressions", "1"], 0),
        ({"q1": 1.0, "q2": 0.25}, 0.625, ["--max-regressions", "1", "--min-delta", "0.125"], 0),
        ({"q1": 1.0, "q2": 0.25}, 0.625, ["--max-regressions", "1", "--min-delta", "0.13"], 1),
        ({"q1": 0.5, "q2": 0.5}, 0.4, [], 1),
        ({"q1": 1.0, "q2": 0.25}, 0.625, ["--fail-on", "significant"], 0),
    ],
)
def test_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scores: Any, cand_score: float, options: list[str], code: int
) -> None:
    base = json_run(tmp_path / "base.json", 0.5, {"q1": 0.5, "q2": 0.5})
    cand = json_run(tmp_path / "cand.json", cand_score, scores)
    assert called(capsys, "compare", base, cand, "--store", str(tmp_path / "none"), *options)[0] == code


@pytest.mark.parametrize(
    ("summary", "code"),
    [({"questions_sha256": "x"}, 2), ({"pdf_sha256": None}, 2), ({"params_sha256": "y"}, 0)],
)
def test_mismatch(tmp_path: Path, capsys: pytest.CaptureFixture[str], summary: Any, code: int) -> None:
    base = json_run(tmp_path / "base.json", 0.5, {"q1": 0.5})
    cand = json_run(tmp_path / "cand.json", 0.5, {"q1": 0.5}, **summary)
    words = ["compare", base, cand, "--store", str(tmp_path / "none"), "--format", "json"]
    got, out, err = called(capsys, *words)
    found = json.loads(out.splitlines()[0])
    assert got == code
    if code == 2:
        assert found["error"] == "hash_mismatch" and "cannot be compared" in err
        wanted = {**HASHES, **summary}
        assert (found["base_pdf_sha256"], found["cand_pdf_sha256"]) == ("p" * 64, wanted["pdf_sha256"])
        assert (found["base_questions_sha256"], found["cand_questions_sha256"]) == (
            "q" * 64, wanted["questions_sha256"],
        )  # fmt: skip
        assert "base_params_sha256" not in found
        got, out, _ = called(capsys, *words, "--no-strict-hashes")
        assert got == 0 and "Compared all the same" in json.loads(out)["notes"][0]


def test_parquet_sides_and_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "runs")
    publish(Path(store), {"a": simple_run(x=1.0, y=0.5), "b": simple_run(x=0.5, y=1.0)})
    file = str(tmp_path / "scores.parquet")
    query = (
        "select e.*, r.questions_sha256, r.params_sha256 from eval_json_v2 e join runs r on r.run_id = e.run_id "
        "where e.run_id = 'a'"
    )
    assert called(capsys, "sql", query, "--store", store, "--format", "parquet", "-o", file)[0] == 0
    code, out, _ = called(capsys, "compare", "b", file, "--store", store, "--format", "json")
    found = json.loads(out)
    assert (code, found["improvements"], found["regressions"], found["profile"]) == (1, 1, 1, "eval_json_v2")
    code, out, _ = called(capsys, "compare", file, file, "--store", store, "--format", "json")
    assert (code, json.loads(out)["ties"]) == (0, 2)
    assert called(capsys, "compare", file, file, "--metric", "repaired")[0] == 0
    pl.read_parquet(file).write_parquet(plain := str(tmp_path / "plain.parquet"))
    code, _, err = called(capsys, "compare", plain, plain, "--metric", "repaired")
    assert code == 2 and "add -p PROFILE" in err
    assert called(capsys, "compare", plain, plain, "--metric", "repaired", "-p", "eval_json_v2")[0] == 0
    code, out, _ = called(capsys, "compare", plain, plain)
    assert code == 0 and "no profile is named, rows count by their weight" in out


def test_every_format_with_hostile_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "runs")
    base, *candidates = (f"{k}{''.join(HOSTILE[k::3])}" for k in range(3))
    runs = {
        run: [score_row(q, float(k + j)) for j, q in enumerate(HOSTILE)] for k, run in enumerate([base, *candidates])
    }
    runs[candidates[0]] = [score_row(q, 0.0) for q in HOSTILE]
    publish(Path(store), runs, with_summary=True)

    def output(form: str, *names: str) -> str:
        target = tmp_path / f"out.{form}"
        code, out, _ = called(
            capsys, "compare", base, *names, "--store", store, "--format", form, "-o", str(target)
        )  # fmt: skip
        assert code == 1 and out == ""
        return "" if form == "parquet" else target.read_text(encoding="utf-8")

    for names in (candidates[:1], candidates):
        for form in ("table", "md"):
            text = output(form, *names)
            assert "\x1b" not in text and "\x01" not in text and "\u202e" not in text
            assert "<b>" not in text or form == "table"
        suites = ElementTree.fromstring(output("junit", *names))
        assert len(suites) == len(names) and suites.get("failures") != "0"
        rows = list(csv.reader(io.StringIO(output("csv", *names))))
        assert len(rows) == len(names) + 1 and rows[1][1] == names[0]
        found = json.loads(output("json", *names))
        listed = found if isinstance(found, list) else [found]
        assert [result["candidate_run"] for result in listed] == list(names)
        assert sorted(listed[0]["regressed"]) == sorted(HOSTILE[1:])
        output("parquet", *names)
        assert pq.read_table(tmp_path / "out.parquet").column("candidate_run").to_pylist() == list(names)
    code, out, _ = called(capsys, "compare", base, "--all", "--store", store, "--format", "json")
    assert code == 1 and len(json.loads(out)) == len(candidates)
    code, out, _ = called(capsys, "leaderboard", "--store", store)
    assert code == 0 and "\x1b" not in out
    code, out, _ = called(capsys, "leaderboard", "--store", store, "--format", "csv")
    assert code == 0 and {row[1].removeprefix("'") for row in csv.reader(io.StringIO(out))} == {
        "run_id",
        base,
        *candidates,
    }
    code, out, _ = called(capsys, "leaderboard", "--store", store, "--format", "json", "-n", "2")
    assert [row["rank"] for row in json.loads(out)] == [1, 2]


@pytest.mark.parametrize(
    "words",
    [
        ["compare"],
        ["compare", "a"],
        ["compare", "a", "\udcff.json"],
        ["compare", "a", "b"],
        ["compare", "a", "b", "--format", "parquet"],
        ["leaderboard"],
    ],
)
def test_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    code, out, err = called(capsys, *words, "--store", str(tmp_path))
    assert (code, out) == (2, "") and len(err.splitlines()) <= 2 and "Traceback" not in err


# --- files of runs --------------------------------------------------------------------------------------------------


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a run file, by score."""
    rows: list[dict[str, Any]] = open_run_file(str(file)).rows(WantedRows("", "score", ("score",))).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[1]", "is no run"),
        ('{"summary": {}}', "is no run"),
        ('{"summary": {}, "results": [3]}', r"results\[0\]: a result needs"),
        ('{"summary": {}, "results": [{"metrics": {}}]}', "has no id"),
        ('{"summary": {}, "results": [{"id": "a", "metrics": {"score": "high"}}]}', "score is 'high', not a number"),
        ('{"summary": {}, "results": [{"id": "a", "metrics": {}, "weight": -1}]}', "negative weight"),
        ('{"summary": {}, "results": [{"id": 1, "metrics": {}}, {"id": "1", "metrics": {}}]}', "'1' more than once"),
        ('{"summary": {}, "results": [{"id": "\\ud800", "metrics": {}}]}', "no valid text"),
        ('{"summary": {}, "results": [{"id": "a", "metrics": {}, "repeat": 0.5}]}', "repeat is 0.5"),
    ],
)
def test_bad_json_runs(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        rows_of(file)


def test_odd_json_runs(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    results = [
        '{"id": "a", "metrics": {"score": NaN}}', '{"id": 7, "metrics": {"score": 1}, "weight": 2}',
        '{"task_id": "b", "metrics": {"score": true}}',
        '{"id": "", "question_id": "\\u0000", "metrics": {"score": 1e400}}',
    ]  # fmt: skip
    file.write_text(
        '{"summary": {"weighted_score": NaN}, "results": [' + ",".join(results) + "]}", encoding="utf-8-sig"
    )
    assert open_run_file(str(file)).score is None
    rows = rows_of(file)
    assert [(row["question_id"], row["weight"], row["score"]) for row in rows] == [
        ("a", 1.0, None), ("7", 2.0, 1.0), ("b", 1.0, 1.0), ("\0", 1.0, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"score": [1.0]}, "no column question_id"),
        ({"id": ["a"]}, "no column of numbers 'score'"),
        ({"id": ["a"], "score": ["x"]}, "no column of numbers 'score'. It has: none"),
        ({"id": ["a", "b"], "score": [1.0, 1.0], "run_id": ["r", "s"]}, "2 different run_id"),
        ({"id": [None], "score": [1.0]}, "a row without id"),
        ({"id": ["a", "a"], "score": [1.0, 2.0]}, "'a' more than once"),
    ],
)
def test_bad_parquet_runs(tmp_path: Path, columns: dict[str, Any], says: str) -> None:
    file = tmp_path / "run.parquet"
    pl.DataFrame(columns).write_parquet(file)
    with pytest.raises(InputError, match=says):
        rows_of(file)
    file.write_bytes(b"no parquet")
    with pytest.raises(InputError, match="Cannot read"):
        rows_of(file)
