"""Every file of a commit has the same bits for every batch size, number of threads and order of files and rows."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from rageval_batch.bench import sweeps, synthetic
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.reading import Reading
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import run

OWN_PROFILE = """
name = "same_bits"
title = "A profile of one's own"
groups = ["topic"]

[fields]
reference = "text"
topic = "text?"

[metrics]
f1 = "token_f1(output, reference)"
figures = "len(numbers(output))"

[score]
expr = "f1 / (1 + figures)"

[fail_reason]
expr = "case when refused(output) then 'refused' end"
"""
OWN = "same_bits.toml"
Batches = tuple[int, int, bool]  # rows of a batch, threads, files in the reverse order
SOAK: list[Batches] = [(1, 4, False), (7, 1, True), (100, 3, False), (blocks.BLOCK_ROWS, 4, True)]
PROFILES = (*sweeps.SWEEPS, OWN)
BY_PLACE = ("extras.parquet", "kept_outputs.parquet", "rejects.parquet")  # their rows stand in the order of places
SAMPLE = ("run_id", "judge_model", "target_model", "question_id", "prompt_variant", "output_id")
PLACES = ("input", "line", "file")  # where a row came from: of another order of rows these differ
# Answers that say one thing in several spellings, so that what is shown of it could depend on what was read before.
SPELLINGS = (
    "42,000元，张三律师说的",
    "４２０００元。",
    "四万二千元，Mr. Smith and mr. smith, Mr. SMITH",
    "4.2万，“Ａｂ”“ab”",
)


@dataclass(frozen=True)
class Sweep:
    """The inputs of a job: rows of its files, each a line."""

    profile: str
    files: tuple[list[str], ...]
    questions: Path
    contexts: Path | None


def made(name: str, folder: Path, rows: int, seed: int) -> Sweep:
    """A small sweep of a profile in two files: damaged answers, extra columns, lines that are none, duplicates."""
    kind = "reference" if name == OWN else name
    files = sweeps.SWEEPS[kind].write(folder, rows, seed)
    drawn = random.Random(seed)
    lines = []
    for number, line in enumerate(files.outputs.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        latency = drawn.choice([number / 7, None, "slow"])
        if number % 40 < 10:  # so that some batches have no other columns
            row |= {"latency": latency, "adapter": row.get("run_id", "a")[:3]}
        if kind == "legal_rag" and drawn.random() < 0.4:
            row["output"] = drawn.choice(SPELLINGS)
        lines.append(json.dumps(row, ensure_ascii=False))
    half = len(lines) // 2
    bad = ["broken", "[]", lines[0].replace('"question_id": "', '"question_id": "another ')]
    profile = name
    if name == OWN:
        (folder / OWN).write_text(OWN_PROFILE, encoding="utf-8")
        profile = str(folder / OWN)
    return Sweep(
        profile, ([*lines[:half], *bad, lines[half]], [*lines[half:], lines[0]]), files.questions, files.contexts
    )


def put(folder: Path, files: Sequence[Sequence[str]]) -> Path:
    """A folder of input files with these lines."""
    folder.mkdir()
    for number, lines in enumerate(files):
        (folder / f"{number}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def committed(
    sweep: Sweep, folder: Path, threads: int, backwards: bool = False, reading: Reading | None = None
) -> dict[str, pa.Table]:
    """The tables of the commit that the sweep makes of the files of a folder, in a store of its own."""
    profile = get_profile(sweep.profile)
    paths = sorted(folder.glob("*.*"), reverse=backwards)
    job = Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=[replace(file, reading=reading or file.reading) for file in sources(paths)],
        questions=sources([sweep.questions]),
        contexts=sources([sweep.contexts]) if sweep.contexts else [],
    )
    with TemporaryDirectory(dir=folder) as store:
        outcome = run(replace(job, keep_inputs=True), Store(store), threads=threads)
        found = {path.name: pq.read_table(path) for path in outcome.commit.path.glob("*.parquet")}
    return found | {"counts": pa.table({name: [count] for name, count in vars(outcome.counts).items()})}


def assert_equal(found: dict[str, pa.Table], wanted: dict[str, pa.Table], what: str) -> None:
    assert sorted(found) == sorted(wanted), what
    for name, table in wanted.items():
        assert found[name].schema.equals(table.schema, check_metadata=True), (what, name)
        for column in table.column_names:
            assert found[name][column].equals(table[column]), (what, name, column)


def without_places(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables without what says where a row came from."""
    kept = {name: table for name, table in tables.items() if name not in BY_PLACE}
    return {
        name: table.drop_columns([column for column in PLACES if column in table.column_names])
        for name, table in kept.items()
    }


def rows_anywhere(table: pa.Table) -> list[str]:
    """The rows of a table in an order of their own, without their places."""
    columns = [column for column in table.column_names if column not in PLACES]
    return sorted(json.dumps(row, default=str) for row in _without_places(table.select(columns).to_pylist()))


def _without_places(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((_without_places(part) for part in value), key=str)
    if isinstance(value, dict):
        return {name: _without_places(part) for name, part in value.items() if name not in PLACES}
    return value


def one_a_key(lines: Sequence[str], key: Sequence[str]) -> list[str]:
    """Each line once, and of those with all columns of a key one a key: of several the first by place is another."""
    found: dict[Any, str] = {}
    for line in lines:
        row = json.loads(line) if line.startswith("{") else {}
        if all(name in row for name in key):
            found.setdefault(tuple(row[name] for name in key) or line, line)
    return list(found.values())


def check(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, rows: int, seed: int, batches: Sequence[Batches]
) -> None:
    monkeypatch.setattr(sweeps, "COPIES", 1)
    monkeypatch.setattr(synthetic, "QUESTIONS", 7)
    sweep = made(name, folder, rows, seed)
    drawn = random.Random(seed)
    whole = put(folder / "whole", sweep.files)
    wanted = committed(sweep, whole, 1)
    assert wanted["tallies.parquet"].num_rows or name not in ("legal_rag", "claim_evidence")
    for block, threads, backwards in batches:
        with monkeypatch.context() as smaller:
            smaller.setattr(blocks, "BLOCK_ROWS", block)
            found = committed(sweep, whole, threads, backwards)
        assert_equal(found, wanted, f"{block} rows a batch, {threads} threads")
    once = one_a_key([*sweep.files[0], *sweep.files[1]], SAMPLE if name == "judge_protocol" else ())
    plain = committed(sweep, put(folder / "once", [once]), 1)
    drawn.shuffle(once)
    cut = drawn.randrange(1, len(once))
    with monkeypatch.context() as smaller:
        smaller.setattr(blocks, "BLOCK_ROWS", 7)
        shuffled = committed(sweep, put(folder / "shuffled", [once[:cut], once[cut:]]), 2)
    assert_equal(without_places(shuffled), without_places(plain), "shuffled rows")
    for table in set(BY_PLACE) & set(plain):
        assert rows_anywhere(shuffled[table]) == rows_anywhere(plain[table]), table


@pytest.mark.parametrize("name", PROFILES)
def test_batches_threads_and_order_change_no_bit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, tmp_path, monkeypatch, rows=18, seed=3, batches=[(1, 4, True)])


# Columns beside the answers: under another name of a field that is read, in rejected rows alone or first, of several
# types, null at first.
MIXED_ROWS: tuple[dict[str, Any], ...] = (
    {"run_id": "r", "id": "a", "output": "x", "b": 1},
    {"run_id": "r", "id": "a", "output": "again", "late": "text", "b": "one", "z": 1},
    {"run_id": "r", "question_id": "b", "id": "other", "response": "y", "a": None, "b": 2.5},
    {"run_id": "r", "question_id": "nowhere", "output": "z", "b": {}, "rejected": True},
    {"run_id": "r", "task_id": "c", "id": None, "output": "x", "late": True},
    {"run_id": "r", "task_id": "c", "id": "c", "output": None, "response": "y", "late": 3, "a": 7, "z": False},
    {"run_id": "r", "id": "d", "output": "x", "contexts": ["one"], "retrieved_contexts": ["two"], "chunks": ["three"]},
    {"run_id": "s", "task_id": "d", "question_id": "d", "response": "x", "actual_output": "y", "a": "word"},
)


MIXED_COLUMNS: dict[str, list[Any]] = {
    "run_id": ["r"] * 6,
    "late": [None, None, "2", None, "3", None],
    "id": ["a", "b", "c", "nowhere", "c", "d"],
    "a": [None, "1", None, "word", None, "2"],
    "output": ["x"] * 6,
    "b": ["1", "2", "3", "4", "", None],
    "response": [None, "y", "z", None, None, None],
    "empty": [None] * 5 + [""],
}


def four_questions(folder: Path) -> Path:
    path = folder / "questions.jsonl"
    lines = (f'{{"id":"{name}","question":"?","must_include":["x"]}}\n' for name in "abcd")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("format_", ["jsonl", "csv", "parquet"])
def test_columns_beside_the_answers_are_the_same_for_every_batch(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = four_questions(tmp_path)
    folder = put(tmp_path / "outputs", [[json.dumps(row) for row in MIXED_ROWS]])
    if format_ != "jsonl":
        (folder / "0.jsonl").unlink()
        table = pa.table(MIXED_COLUMNS)
        pq.write_table(table, folder / "0.parquet") if format_ == "parquet" else csv.write_csv(table, folder / "0.csv")
    sweep = Sweep("include_rate", ([],), questions, None)
    wanted = committed(sweep, folder, 1)
    assert {"a", "b", "late"} <= set(wanted["extras.parquet"].column_names)
    for size in (1, 2, 3, 5):
        monkeypatch.setattr(blocks, "BLOCK_ROWS", size)
        assert_equal(committed(sweep, folder, 2), wanted, f"{size} rows a batch")
    if format_ == "jsonl":
        kept = {row["line"]: row for row in wanted["extras.parquet"].to_pylist()}
        assert [kept[line]["id"] for line in (1, 3, 6, 7)] == [None, "other", None, None]
        assert [kept[line]["response"] for line in (3, 8)] == [None, None]
        assert kept[8]["task_id"] == "d"
        assert "rejected" not in wanted["extras.parquet"].column_names


# Fields that stand under several paths: what is read for a row is no column of it, whatever other rows have.
MAPPED_ROWS: tuple[dict[str, Any], ...] = (
    {"name": "r", "id": "a", "text": "x", "say": {"text": "y"}, "part": 1},
    {"name": "r", "id": "b", "say": {"text": "y", "more": 2}, "text": None, "last": "not read"},
    {"name": "r", "id": "c", "last": "read", "say": 5, "part": 2},
    {"name": "r", "id": "d", "last": "read", "say.text": "x", "say": {"text": "y"}},
    {"name": "s", "id": "a", "text": "x", "last": "not read", "part": 3, "output": "beside"},
    {"name": "s", "id": "b", "text": "x", "kind": "k", "part": None},
)


def test_columns_beside_mapped_answers_are_the_same_for_every_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path / "outputs", [[json.dumps(row) for row in MAPPED_ROWS]])
    sweep = Sweep("include_rate", ([],), four_questions(tmp_path), None)
    fields = {"output": ("text", "say.text", "last"), "run_id": ("name + part", "name")}
    reading = Reading(fields=fields)
    wanted = committed(sweep, folder, 1, reading=reading)
    for size in (1, 2, 5):
        monkeypatch.setattr(blocks, "BLOCK_ROWS", size)
        assert_equal(committed(sweep, folder, 2, reading=reading), wanted, f"{size} rows a batch")
    kept = {row["line"]: row for row in wanted["extras.parquet"].to_pylist()}
    assert [kept[line]["last"] for line in range(1, 6)] == [None, "not read", None, "read", "not read"]
    assert 6 not in kept  # it has what is metadata of its run, and no more
    assert [kept[line]["say"] for line in (1, 2, 3)] == ['{"text": "y"}', '{"text": "y", "more": 2}', "5"]
    assert not {"text", "say.text", "name", "part"} & set(wanted["extras.parquet"].column_names)


def test_rows_in_files_of_their_own_are_scored_and_kept_as_those_of_one_file(tmp_path: Path) -> None:
    questions = four_questions(tmp_path)
    lines = [*map(json.dumps, MIXED_ROWS), "broken", "[]"]
    sweep = Sweep("include_rate", ([],), questions, None)
    wanted = committed(sweep, put(tmp_path / "one", [lines]), 1)
    found = committed(sweep, put(tmp_path / "many", [[line] for line in lines]), 2)
    assert_equal(without_places(found), without_places(wanted), "files of one row")
    for name in BY_PLACE:
        assert rows_anywhere(found[name]) == rows_anywhere(wanted[name]), name
        assert found[name].schema.equals(wanted[name].schema, check_metadata=True), name
    assert found["rejects.parquet"]["file"].to_pylist() == sorted(found["rejects.parquet"]["file"].to_pylist())
    assert wanted["rejects.parquet"].num_rows > 3


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", PROFILES)
def test_batches_threads_and_order_change_no_bit_of_larger_sweeps(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, tmp_path, monkeypatch, rows=600, seed=seed, batches=SOAK)
