"""Memory does not grow with the input: each command in a process of its own, held to a peak. Nor does it, or CPU time,
with the number of commits. Long: for `make soak`.

Importing and opening a session takes about 150 MiB; what a bound leaves above that is for blocks and for DuckDB's own
limits, not for rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from rageval_batch.bench import sweeps, synthetic
from support.stores import publish, simple_run

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read as Linux tells them"),
]

# A process counts the peak of the one that started it as its own until then: a small one stands between.
LAUNCHER = """
import json, os, subprocess, sys
done = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = done.stderr.read().decode()
_, status, usage = os.wait4(done.pid, 0)
cpu = usage.ru_utime + usage.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_maxrss // 1024, cpu, said]))
"""


BYTES_OF_RUN = 3_000  # that a run may cost until it is committed, two answers included


def usage(*words: object) -> tuple[int, int, float, str]:
    """(exit code, peak in MiB, CPU seconds, stderr) of a command."""
    command = [sys.executable, "-S", "-c", LAUNCHER, sys.executable, "-m", "rageval_batch", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, peak, cpu, said = json.loads(done.stdout)
    print(f"{' '.join(map(str, words))[:100]}: exit {code}, peak {peak} MiB, {cpu:.2f} CPU s")
    return code, peak, cpu, said


def measured(*words: object) -> tuple[int, int, str]:
    """(exit code, peak in MiB, stderr) of a command."""
    code, peak, _, said = usage(*words)
    return code, peak, said


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def questions(folder: Path, count: int) -> Path:
    return write_lines(
        folder / "questions.jsonl", ({"id": f"q{k}", "question": "?", "must_include": ["alpha"]} for k in range(count))
    )


def answers(runs: int, questions: int, text: Callable[[int], str] = str) -> Iterable[dict[str, Any]]:
    for k in range(runs * questions):
        yield {"run_id": f"r{k // questions}", "question_id": f"q{k % questions}", "output": f"alpha {text(k)}"}


def score(folder: Path, outputs: Path, *words: object) -> tuple[int, int, str]:
    named = ["-p", "include_rate", "-q", folder / "questions.jsonl", "--store", folder / "runs"]
    return measured("score", outputs, *named, *words)


def test_a_store_of_600_000_rows(tmp_path: Path) -> None:
    """The sweep, a small one into the same store, and what reads all of it."""
    questions(tmp_path, 1_000)
    outputs = write_lines(tmp_path / "outputs.jsonl", answers(600, 1_000))
    code, peak, said = score(tmp_path, outputs)
    assert code == 0 and peak < 450, said
    small = write_lines(tmp_path / "small.jsonl", [{"run_id": "new", "question_id": "q0", "output": "alpha"}])
    code, peak, said = score(tmp_path, small)
    assert code == 0 and peak < 300 and "cannot be shown" not in said, said
    for words in (["runs"], ["leaderboard"], ["compare", "r0", "r1"]):
        code, peak, said = measured(*words, "--store", tmp_path / "runs")
        assert code in (0, 1) and peak < 600, said


def test_100_000_rejects(tmp_path: Path) -> None:
    """What scoring full outputs against some of the questions gives."""
    questions(tmp_path, 100)
    outputs = write_lines(tmp_path / "outputs.jsonl", answers(100, 1_100, lambda k: "x" * 200))
    code, peak, said = score(tmp_path, outputs)
    assert code == 0 and "100,000 rejected" in said and peak < 400, said


def test_200_000_kept_inputs(tmp_path: Path) -> None:
    questions(tmp_path, 1_000)
    outputs = write_lines(tmp_path / "outputs.jsonl", answers(200, 1_000, lambda k: f"{k} " * 50))
    code, peak, said = score(tmp_path, outputs, "--keep-inputs")
    assert code == 0 and peak < 450, said


def test_a_run_id_of_a_megabyte(tmp_path: Path) -> None:
    """It is refused before rows with it are made."""
    questions(tmp_path, 50)
    rows = [{**row, "run_id": "x" * 10**6} for row in answers(1, 50)]
    code, peak, said = score(tmp_path, write_lines(tmp_path / "outputs.jsonl", rows))
    assert code == 2 and "The name of a run has 1,000,000 bytes" in said and peak < 500, said


# Bytes that a question takes at most, beside 350 MiB and 1.5 times the bytes of questions and contexts.
BYTES_OF_QUESTION = {
    "claim_evidence": 4_096,
    "eval_json_v2": 2_048,
    "include_rate": 307,
    "judge_protocol": 4_096,
    "legal_rag": 4_096,
    "reference": 2_048,
    "retrieval": 2_048,
}


def many_questions(profile: str, folder: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> sweeps.Sweep:
    """So many questions of a profile or a few more, and some answers."""
    folder.mkdir()
    write = sweeps.SWEEPS[profile].write
    if profile == "eval_json_v2":
        monkeypatch.setattr(synthetic, "QUESTIONS", count)
        return write(folder, count, 7)
    if profile == "reference":
        files = write(folder, 20_000, 7)
        for path, name in ((files.questions, "id"), (files.contexts, "question_id")):
            assert path is not None
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            write_lines(path, ({**rows[k % len(rows)], name: f"q{k:05d}"} for k in range(count)))
        return files
    monkeypatch.setattr(sweeps, "COPIES", 1)
    with write(folder, 1, 7).questions.open("rb") as lines:
        of_samples = sum(1 for _ in lines)
    monkeypatch.setattr(sweeps, "COPIES", -(-count // of_samples))
    return write(folder, 20_000, 7)


@pytest.mark.parametrize("profile", sorted(BYTES_OF_QUESTION))
def test_many_questions(profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held in memory, not more of them than is promised; four times as many take about four times the CPU time."""
    taken = []
    for count in (25_000, 100_000):
        files = many_questions(profile, tmp_path / str(count), count, monkeypatch)
        contexts = ["-c", files.contexts] if files.contexts is not None else []
        words = ["score", files.outputs, "-q", files.questions, *contexts, "-p", profile]
        code, peak, cpu, said = usage(*words, "--store", tmp_path / f"store-{count}")
        size = sum(path.stat().st_size for path in (files.questions, files.contexts) if path is not None)
        bound = 350 + (1.5 * size + count * BYTES_OF_QUESTION[profile]) / (1 << 20)
        assert code == 0 and peak < bound, (peak, bound, said)
        taken.append(cpu)
    assert taken[1] < 6 * taken[0]


def test_questions_with_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contexts, which are most of the bytes here, are held once."""
    monkeypatch.setattr(synthetic, "QUESTIONS", 30_000)
    files = synthetic.write_sweep(tmp_path, 30_000)
    words = ["score", files.outputs, "-q", files.questions, "-c", files.contexts, "-p", "eval_json_v2"]
    code, peak, said = measured(*words, "--store", tmp_path / "runs")
    size = (files.questions.stat().st_size + files.contexts.stat().st_size) >> 20
    assert code == 0 and peak < 200 + 2 * size, said


def test_1_000_000_questions_of_which_few_are_answered(tmp_path: Path) -> None:
    """Rows of the others are made some at a time."""
    questions(tmp_path, 1_000_000)
    code, peak, said = score(tmp_path, write_lines(tmp_path / "outputs.jsonl", answers(1, 1_000)))
    assert code == 0 and "999,000 missing outputs" in said and peak < 400, said


def test_ever_more_runs(tmp_path: Path) -> None:
    """A run costs little more than its names, its counts and its record until it is committed, and the lines of
    all runs are written as they are made."""
    questions(tmp_path, 2)
    peaks = []
    for runs in (5_000, 50_000):
        rows = ({**row, "run_id": f"run {k}"} for k, row in enumerate(answers(runs // 2, 2)))
        code, peak, said = score(tmp_path, write_lines(tmp_path / f"outputs-{runs}.jsonl", rows))
        assert code == 0, said
        peaks.append(peak)
    assert peaks[1] < 300 and peaks[1] - peaks[0] < 45_000 * BYTES_OF_RUN >> 20


def test_ever_more_rows(tmp_path: Path) -> None:
    """The same answers by six times as many runs: a peak that is nearly the same, though every run has tallies. What is
    held until parts are written, and scores that are reused, have bounds, which 400,000 rows reach."""
    files = synthetic.write_sweep(tmp_path, 20_000)
    words = ["-q", files.questions, "-c", files.contexts, "-p", "eval_json_v2", "--store", tmp_path / "runs"]
    peaks = []
    for copies in (20, 120):
        grown = tmp_path / f"outputs-{copies}.jsonl"
        with grown.open("wb") as out:
            for copy in range(copies):
                with files.outputs.open("rb") as lines:
                    out.writelines(line.replace(b"adapter", b"copy-%03d" % copy, 1) for line in lines)
        code, peak, said = measured("score", grown, *words)
        assert code == 0, said
        peaks.append(peak)
        grown.unlink()
    assert peaks[1] < 1.15 * peaks[0]


def test_one_repeat_a_row_is_refused(tmp_path: Path) -> None:
    questions(tmp_path, 20_000)
    rows = ({**row, "repeat": k} for k, row in enumerate(answers(1, 20_000)))
    code, peak, said = score(tmp_path, write_lines(tmp_path / "outputs.jsonl", rows))
    assert code == 2 and "is the column repeat right?" in said and peak < 400, said


def test_confusions(tmp_path: Path) -> None:
    files = synthetic.write_sweep(tmp_path, 50_000)
    words = ["score", files.outputs, "-q", files.questions, "-c", files.contexts, "-p", "eval_json_v2"]
    code, peak, said = measured(*words, "--store", tmp_path / "runs")
    assert code == 0 and peak < 450, said
    query = "select a.run_id, count(*) from confusions a join confusions b using (run_id) group by all"
    code, peak, said = measured("sql", query, "--store", tmp_path / "runs")
    assert code == 0 and peak < 450, said


def test_3_000_000_rows_of_a_query(tmp_path: Path) -> None:
    questions(tmp_path, 1)
    assert score(tmp_path, write_lines(tmp_path / "outputs.jsonl", answers(1, 1)))[0] == 0
    query = "select i, md5(i::varchar) as a, md5((i + 1)::varchar) as b, i / 7 as c from range(3000000) t(i)"
    for name in ("out.csv", "out.tsv", "out.jsonl", "out.json", "out.parquet", "out.md", "out.html"):
        code, peak, said = measured("sql", query, "-o", tmp_path / name, "--store", tmp_path / "runs")
        assert code == 0 and peak < 350, said
    with (tmp_path / "out.csv").open("rb") as lines:
        assert sum(1 for _ in lines) == 3_000_001


def test_one_run_id_a_row_is_refused(tmp_path: Path) -> None:
    """Runs times questions beyond the limit, with the reason, before it is made."""
    questions(tmp_path, 20_000)
    rows = ({**row, "run_id": f"run {k}"} for k, row in enumerate(answers(1, 20_000)))
    code, peak, said = score(tmp_path, write_lines(tmp_path / "outputs.jsonl", rows))
    assert code == 2 and "is the column right?" in said and peak < 400, said
    assert not list((tmp_path / "runs").glob("2*"))


def test_a_row_of_a_gibibyte(tmp_path: Path) -> None:
    """A line, and an element of an array: each is one reject."""
    questions(tmp_path, 3)
    row = '{"run_id": "r", "question_id": "q0", "output": "a"}'
    head = '{"run_id": "r", "question_id": "q1", "output": "'
    for name, (opened, between, closed) in {"o.jsonl": ("", "\n", "\n"), "o.json": ("[", ",\n", "]")}.items():
        with (tmp_path / name).open("w") as out:
            out.write(opened + row + between + head)
            for _ in range(1_024):
                out.write("x" * (1 << 20))
            out.write('"}' + between + row.replace("q0", "q2") + closed)
        code, peak, said = score(tmp_path, tmp_path / name)
        assert code == 0 and "too_long 1" in said and peak < 550, said
        (tmp_path / name).unlink()


def test_texts_that_rows_share(tmp_path: Path) -> None:
    """A text of 1 MB in 1,500 rows of a Parquet file."""
    questions(tmp_path, 3)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1_500, pa.int32()), pa.array(["x" * 10**6]))
    runs = pa.array([f"r{k}" for k in range(1_500)])
    pq.write_table(pa.table({"run_id": runs, "question_id": ["q0"] * 1_500, "output": text}), tmp_path / "o.parquet")
    code, peak, said = score(tmp_path, tmp_path / "o.parquet")
    assert code == 0 and peak < 500, said


def test_rows_of_a_million_keys(tmp_path: Path) -> None:
    """Ten times the keys take about ten times the CPU time, not a hundred times."""
    questions(tmp_path, 2)
    taken = []
    for count in (100_000, 1_000_000):
        row = {"run_id": "r", "question_id": "q0", "output": "alpha", **{f"key {k}": k for k in range(count)}}
        outputs = write_lines(tmp_path / f"{count}.jsonl", [row, *answers(1, 1)])
        code, peak, cpu, said = usage(
            "score", outputs, "-p", "include_rate", "-q", tmp_path / "questions.jsonl", "--store", tmp_path / str(count)
        )
        assert code == 0 and peak < 600 and "2 rows read" in said
        taken.append(cpu)
    assert taken[1] < 15 * taken[0]


@pytest.mark.parametrize("format", ["parquet", "csv", "arrow"])
def test_20_000_columns(tmp_path: Path, format: str) -> None:
    """The first thousand are kept; of the others nothing is made."""
    rows = 300
    questions(tmp_path, rows)
    keys = {"run_id": ["r"] * rows, "question_id": [f"q{k}" for k in range(rows)], "output": ["alpha"] * rows}
    table = pa.table(keys | {f"column {k}": [f"{k} {row}" for row in range(rows)] for k in range(20_000)})
    path = tmp_path / f"outputs.{format}"
    if format == "parquet":
        pq.write_table(table, path)
    elif format == "csv":
        csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as out:
            out.write_table(table)
    code, peak, said = score(tmp_path, path)
    assert code == 0 and "more than 1,000 columns" in said and peak < 450, said


def test_20_000_files_of_one_row(tmp_path: Path) -> None:
    questions(tmp_path, 1)
    taken = []
    for count in (2_000, 20_000):
        folder = tmp_path / f"{count} files"
        folder.mkdir()
        for number in range(count):
            write_lines(folder / f"run {number}.jsonl", [{"question_id": "q0", "output": f"alpha {number}"}])
        code, peak, cpu, said = usage(
            "score", folder, "-p", "include_rate", "-q", tmp_path / "questions.jsonl", "--store", tmp_path / str(count)
        )
        assert code == 0 and peak < 600 and f"{count:,} rows read" in said
        taken.append(cpu)
    assert taken[1] < 15 * taken[0]


def test_3_000_commits_take_at_most_twice_of_what_30_take(tmp_path: Path) -> None:
    """Of the second call on: the first of `runs` writes the index, the first of `leaderboard` computes intervals."""
    questions(tmp_path, 2)
    outputs = write_lines(tmp_path / "new.jsonl", answers(1, 2))
    scored = ["score", outputs, "-p", "include_rate", "-q", tmp_path / "questions.jsonl", "--store"]
    taken: dict[int, list[tuple[int, float]]] = {}
    for count in (30, 3_000):
        store = tmp_path / str(count)
        for number in range(count):
            publish(store, {f"run {number}": simple_run(**{f"q{k}": k / 40 for k in range(40)})})
        commands = (["runs", "--store", store], ["leaderboard", "--store", store], [*scored, store])
        for words in commands[:2]:
            assert usage(*words)[0] == 0
        found = [usage(*words) for words in commands]
        assert [code for code, *_ in found] == [0, 0, 0]
        taken[count] = [(peak, cpu) for _, peak, cpu, _ in found]
    for few, many in zip(taken[30], taken[3_000], strict=True):
        assert many[0] <= 2 * few[0] and many[1] <= 2 * few[1], taken
