"""Whole sweeps from files to commits: what lies in the store, what is done again, and what survives a crash."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oracles import eval_json_v2 as oracle
from rageval_batch.bench import synthetic
from rageval_batch.errors import InputError, StoreError
from rageval_batch.inputs import by_question
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.run_metadata import RunMetadata
from rageval_batch.inputs.sources import frame_source, sources
from rageval_batch.profiles.eval_json_v2 import PROFILE
from rageval_batch.resources import samples_folder
from rageval_batch.runs import commit_files, parts, sweep
from rageval_batch.runs.batch import score_batch
from rageval_batch.runs.commit_record import Counts
from rageval_batch.runs.file_system import try_lock
from rageval_batch.runs.job import Job
from rageval_batch.runs.staging import STAGING, Staging, store_error
from rageval_batch.runs.store import Commit, Store, finished_commit
from rageval_batch.runs.sweep import Outcome
from support import inputs
from support.inputs import put
from support.places import TESTS
from support.stores import renamed
from support.writer import job

WRITER = TESTS / "support" / "writer.py"
ROLES = ("scores", "tallies", "rejects", "runs")
QUESTIONS, RUNS = 12, 5
SMALL_BLOCK = 5  # rows of a part


def write_inputs(folder: Path) -> Path:
    """A sweep of five runs over twelve questions in two files, with holes, repeats and every kind of bad row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "QUESTIONS", QUESTIONS)
        files = synthetic.write_sweep(folder, QUESTIONS * RUNS)
    rows = [json.loads(line) for line in files.outputs.read_text(encoding="utf-8").splitlines()]
    del rows[10:13]
    repeated = [{**rows[0], "repeat": 1, "output": None}, {**rows[1], "repeat": 2}]
    bad = [rows[5], {**rows[0], "question_id": "q9"}, {**rows[0], "run_id": None}, {**rows[0], "repeat": "x"}]
    put(folder / "outputs.jsonl", inputs.jsonl([*rows[:30], *repeated]) + b"broken\n\xff\n[]\n\n")
    put(folder / "outputs_more.jsonl", inputs.jsonl([*rows[30:], *bad]))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Inputs of the test's own."""
    return write_inputs(tmp_path)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parts."""
    monkeypatch.setattr(blocks, "BLOCK_ROWS", SMALL_BLOCK)


def tables(commit: Commit, roles: tuple[str, ...] = ROLES) -> dict[str, pa.Table]:
    """The content of a commit by role."""
    found = {}
    for role in roles:
        (path,) = commit.files(role)
        found[role] = pq.read_table(path)
    return found


def rows_of(outcome: Outcome) -> list[dict[str, Any]]:
    """The score rows of a commit."""
    rows: list[dict[str, Any]] = tables(outcome.commit)["scores"].to_pylist()
    return rows


def left_aside(place: Path) -> list[str]:
    """What is left in the staging folder of a store."""
    return sorted(path.name for path in (place / STAGING).iterdir())


# --- the commit -----------------------------------------------------------------------------------------------------


def test_a_commit_is_a_folder_of_parquet_files_and_a_manifest(folder: Path) -> None:
    place = folder / "it's a store"
    outcome = sweep.run(job(folder), Store(place))
    assert outcome.created
    assert outcome.resumed_parts == 0
    assert sorted(path.name for path in outcome.commit.path.iterdir()) == [
        "eval_json_v2.parquet", "manifest.json", "rejects.parquet", "runs.parquet", "summary.parquet",
        "tallies.parquet",
    ]  # fmt: skip
    assert [path.name for path in place.iterdir() if not path.name.startswith(".")] == [outcome.commit.id]
    assert left_aside(place) == []
    (commit,) = Store(place).commits()
    assert commit == outcome.commit
    manifest = json.loads((commit.path / "manifest.json").read_bytes())
    assert manifest == commit.manifest
    assert manifest["commit"] == commit.id
    assert manifest["runs"] == [f"adapter-{k:05d}" for k in range(RUNS)]
    assert manifest["params"] == oracle.PARAMS
    assert [Path(file["path"]).name for file in manifest["inputs"]] == ["outputs.jsonl", "outputs_more.jsonl"]
    assert {file["size"] for file in manifest["inputs"]} == {
        (folder / name).stat().st_size for name in ("outputs.jsonl", "outputs_more.jsonl")
    }


def test_rows_read_are_scored_or_rejected(folder: Path) -> None:
    outcome = sweep.run(job(folder), Store(folder / "store"))
    answers = QUESTIONS * RUNS - 3
    assert outcome.counts == Counts(
        rows_read=answers + 2 + 3 + 4, score_rows=answers + 2 + 3, missing_rows=3, rejected_rows=7
    )
    counts = outcome.counts
    assert counts.rows_read == counts.score_rows - counts.missing_rows + counts.rejected_rows
    assert outcome.commit.manifest["counts"] == vars(counts)
    found = tables(outcome.commit)
    assert found["scores"].num_rows == counts.score_rows
    assert found["rejects"].num_rows == counts.rejected_rows
    reasons = [(Path(row["file"]).name, row["line"], row["reason"]) for row in found["rejects"].to_pylist()]
    assert reasons == [
        ("outputs.jsonl", 33, "malformed_json"), ("outputs.jsonl", 34, "not_utf8"),
        ("outputs.jsonl", 35, "not_object"), ("outputs_more.jsonl", 28, "duplicate"),
        ("outputs_more.jsonl", 29, "unknown_question"), ("outputs_more.jsonl", 30, "null_run_id"),
        ("outputs_more.jsonl", 31, "bad_repeat"),
    ]  # fmt: skip


def test_every_question_of_every_run_has_a_row_in_order(folder: Path) -> None:
    rows = rows_of(sweep.run(job(folder), Store(folder / "store")))
    keys = [(row["run_id"], row["question_id"], row["repeat"]) for row in rows]
    assert keys == sorted(keys)
    wanted = [(f"adapter-{r:05d}", f"q{q:05d}", 0) for r in range(RUNS) for q in range(QUESTIONS)]
    assert set(keys) == {*wanted, ("adapter-00000", "q00000", 1), ("adapter-00000", "q00001", 2)}
    assert len(keys) == len(set(keys))
    missing = [row for row in rows if row["fail_reason"] == "missing_output"]
    assert [(row["run_id"], row["question_id"], row["repeat"]) for row in missing] == wanted[10:13]
    for row in missing:
        assert (row["score"], row["schema_ok"], row["line"], row["input"], row["main_topic"]) == (
            0,
            False,
            None,
            None,
            None,
        )


def test_score_rows_are_those_of_the_oracle(folder: Path) -> None:
    rows = rows_of(sweep.run(job(folder), Store(folder / "store")))
    questions = {row["id"]: row for row in json.loads((folder / "questions.json").read_bytes())}
    contexts = [json.loads(line) for line in (folder / "contexts.jsonl").read_bytes().splitlines()]
    chunks = {row["question_id"]: row["chunks"] for row in contexts}
    lines = [(folder / name).read_bytes().split(b"\n") for name in ("outputs.jsonl", "outputs_more.jsonl")]
    for row in rows:
        name = row["question_id"]
        missing = row["line"] is None
        output = None if missing else json.loads(lines[row["input"]][row["line"] - 1])["output"]
        want = oracle.score(questions[name]["expected"]["answer_example"], chunks[name], output, missing=missing)
        for column, value in want.items():
            exact = value is None or isinstance(value, str)
            assert row[column] == (value if exact else pytest.approx(value, rel=1e-12, abs=0)), (name, column)


def test_a_null_answer_does_not_move_those_behind_it(folder: Path) -> None:
    """No row is rejected here, so the columns go from the reader to the scorer as they are."""
    questions = json.loads((folder / "questions.json").read_bytes())
    outputs = [
        {**question["expected"]["answer_example"], "source_map": question["expected"]["source_map"]}
        for question in questions
    ]
    rows = [
        {"run_id": "r", "question_id": question["id"], "output": None if k % 4 == 1 else json.dumps(output)}
        for k, (question, output) in enumerate(zip(questions, outputs, strict=True))
    ]
    put(folder / "outputs.jsonl", rows)
    (folder / "outputs_more.jsonl").unlink()
    scores = rows_of(sweep.run(job(folder), Store(folder / "store")))
    assert [row["fail_reason"] for row in scores] == ["empty_output" if k % 4 == 1 else None for k in range(QUESTIONS)]
    assert [row["main_topic"] for row in scores] == [None if k % 4 == 1 else 1.0 for k in range(QUESTIONS)]


def test_the_record_of_a_run(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "outputs_more.jsonl").read_bytes().splitlines()]
    put(
        folder / "outputs_more.jsonl",
        [{**row, "model_id": "m7", "seed": 3, "latency": k} for k, row in enumerate(rows)],
    )
    given = RunMetadata(
        {"index_version": "i1"}, {"adapter-00003": {"model_id": "own", "team": "門"}}, {"prompt_version": "p2"}
    )
    outcome = sweep.run(replace(job(folder, soft_threshold=0.5), metadata=given), Store(folder / "store"))
    runs = {row["run_id"]: row for row in tables(outcome.commit)["runs"].to_pylist()}
    assert list(runs) == sorted(runs)
    first, last = runs["adapter-00000"], runs["adapter-00003"]
    assert (first["question_count"], first["answered_count"], first["repeats"]) == (QUESTIONS, 10, 3)
    assert (last["question_count"], last["answered_count"], last["repeats"]) == (QUESTIONS, QUESTIONS, 1)
    assert (first["model_id"], first["index_version"], first["prompt_version"]) == (None, "i1", "p2")
    assert (last["model_id"], dict(last["meta"])) == ("own", {"seed": "3", "team": "門"})
    assert runs["adapter-00004"]["model_id"] == "m7"
    assert first["eval_set"] == first["eval_set_version"]
    assert first["eval_set"].startswith("questions@")
    assert "soft_threshold=0.5" in first["signature"]


def test_contexts_of_a_run_and_of_a_row_replace_the_questions(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "outputs.jsonl").read_bytes().splitlines()[:12]]
    good = [row for row in rows if "source_map" in (row["output"] or "")][:1]
    name = good[0]["question_id"]
    other = [{"source_path": "z", "text": "z"}]
    put(folder / "outputs.jsonl", [
        {**good[0], "run_id": "a"}, {**good[0], "run_id": "b"}, {**good[0], "run_id": "c", "chunks": []},
        {**good[0], "run_id": "b", "repeat": 1, "chunks": json.loads((folder / "contexts.jsonl").read_bytes()
         .splitlines()[int(name[1:])])["chunks"]},
    ])  # fmt: skip
    (folder / "outputs_more.jsonl").unlink()
    with (folder / "contexts.jsonl").open("ab") as out:
        out.write(inputs.jsonl([{"run_id": run, "question_id": name, "chunks": other} for run in "bc"]))
    rows = [row for row in rows_of(sweep.run(job(folder), Store(folder / "store"))) if row["question_id"] == name]
    shown = {(row["run_id"], row["repeat"]): (row["grounding"], row["context_missing"]) for row in rows}
    assert shown == {("a", 0): (1.0, False), ("b", 0): (0.0, False), ("b", 1): (1.0, False), ("c", 0): (0.0, True)}


def test_strange_names_are_kept_as_they_are(tmp_path: Path) -> None:
    names = ["", " ", "\u0000", "a\u0000b", "門", "'; drop", "é", "e\u0301", "\ufeff", "😀", "a", "A"]
    usable = [name for name in names if name]
    example = json.loads((samples_folder() / "eval_json_v2" / "questions.json").read_bytes())[0]["expected"]
    put(tmp_path / "questions.json", json.dumps([{"id": name, "expected": example} for name in usable]))
    put(tmp_path / "outputs.jsonl", [{"run_id": run, "question_id": q, "output": "x"} for run in names for q in usable])
    put(tmp_path / "contexts.jsonl", "")
    outcome = sweep.run(job(tmp_path), Store(tmp_path / "store"))
    keys = [(row["run_id"], row["question_id"]) for row in rows_of(outcome)]
    assert keys == sorted((run, q) for run in usable for q in usable)
    assert outcome.counts.rejected_rows == len(usable)
    assert outcome.commit.manifest["runs"] == sorted(usable)


# --- the same again -------------------------------------------------------------------------------------------------


def test_the_same_command_again_makes_no_commit(folder: Path) -> None:
    first = sweep.run(job(folder), Store(folder / "store"))
    again = sweep.run(job(folder), Store(folder / "store"), threads=1)
    assert not again.created
    assert (again.commit, again.counts) == (first.commit, first.counts)
    backwards = replace(job(folder), outputs=sources(sorted(folder.glob("outputs*"), reverse=True)))
    assert not sweep.run(backwards, Store(folder / "store")).created
    assert len(Store(folder / "store").commits()) == 1
    assert left_aside(folder / "store") == []


def test_a_change_of_anything_makes_a_commit(folder: Path) -> None:
    place = Store(folder / "store")
    sweep.run(job(folder), place)
    plain = job(folder)
    changed = [
        job(folder, soft_threshold=0.5),
        replace(plain, metadata=RunMetadata({"model_id": "m"})),
        replace(plain, contexts=[]),
        replace(plain, outputs=plain.outputs[:1]),
        replace(plain, runs=frozenset({"adapter-00001"})),
        replace(plain, profile=replace(PROFILE, version=PROFILE.version + 1)),
    ]
    for one in changed:
        assert sweep.run(one, place).created
    put(folder / "outputs_more.jsonl", (folder / "outputs_more.jsonl").read_bytes() + b"[]\n")
    assert sweep.run(job(folder), place).created
    commits = [commit.id for commit in place.commits()]
    assert len(commits) == 8
    assert commits == sorted(commits)


def test_only_some_runs_of_the_outputs(folder: Path) -> None:
    outcome = sweep.run(replace(job(folder), runs=frozenset({"adapter-00003"})), Store(folder / "store"))
    assert {row["run_id"] for row in rows_of(outcome)} == {"adapter-00003"}
    assert outcome.counts == Counts(rows_read=QUESTIONS, score_rows=QUESTIONS, missing_rows=0, rejected_rows=0)


def test_a_result_that_was_superseded_is_made_again(folder: Path) -> None:
    place = Store(folder / "store")
    first = sweep.run(job(folder), place)
    assert sweep.run(job(folder, soft_threshold=0.5), place).created
    third = sweep.run(job(folder), place)
    assert third.created
    assert third.commit.id > first.commit.id
    assert not sweep.run(job(folder), place).created
    one, three = tables(first.commit), tables(third.commit)
    assert all(one[role].equals(three[role]) for role in ROLES)


def test_a_later_commit_has_a_greater_name_whatever_the_clock_says(folder: Path) -> None:
    place = Store(folder / "store")
    first = sweep.run(job(folder), place)
    future = renamed(first.commit, "29990101T000000.000000Z-ffffff")
    second = sweep.run(job(folder, soft_threshold=0.5), place)
    assert second.commit.id > future.id
    assert [commit.id for commit in place.commits()] == [future.id, second.commit.id]
    made = datetime.fromisoformat(second.commit.manifest["created_at"])
    assert abs(datetime.now(UTC) - made) < timedelta(hours=1)  # the date is that of the clock, not of the name


@pytest.mark.parametrize(("rows", "threads"), [(16_384, 4), (3, 1), (3, 4), (7, 2)])
def test_threads_and_blocks_change_nothing(
    rows: int, threads: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (*ROLES, "kept_outputs")
    whole = sweep.run(replace(job(folder), keep_inputs=True), Store(folder / "whole"), threads=1)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", rows)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 999)
    parts = sweep.run(replace(job(folder), keep_inputs=True), Store(folder / "parts"), threads=threads)
    assert parts.counts == whole.counts
    one, other = tables(whole.commit, kept), tables(parts.commit, kept)
    for role in kept:
        assert one[role].equals(other[role]), role


def test_formats_give_the_same_scores(folder: Path) -> None:
    rows = [{"run_id": "r", "question_id": f"q{k:05d}", "output": '{"a": 1}'} for k in range(QUESTIONS)]
    found = []
    for kind in ("jsonl", "parquet", "csv", "arrow_stream", "json_zst"):
        path = inputs.write(folder, "answers", kind, rows)
        outcome = sweep.run(replace(job(folder), outputs=sources([path])), Store(folder / f"store-{kind}"))
        found.append(tables(outcome.commit)["scores"].drop_columns(["line"]))
        path.unlink()
    assert all(table.equals(found[0]) for table in found)
    frame = replace(job(folder), outputs=[frame_source(pl.DataFrame(rows), "answers")])
    assert tables(sweep.run(frame, Store(folder / "frame")).commit)["scores"].drop_columns(["line"]).equals(found[0])


# --- kept inputs ----------------------------------------------------------------------------------------------------


def test_kept_inputs_hold_every_distinct_answer_once(folder: Path, small_blocks: None) -> None:
    outcome = sweep.run(replace(job(folder), keep_inputs=True), Store(folder / "store"))
    kept = tables(outcome.commit, ("kept_outputs",))["kept_outputs"].to_pylist()
    answers = [(row["question_id"], row["output"], row["chunks"]) for row in kept]
    assert len(answers) == len(set(answers))
    scored = {(row["run_id"], row["question_id"], row["repeat"]): row for row in rows_of(outcome)}
    lines = [(folder / name).read_bytes().split(b"\n") for name in ("outputs.jsonl", "outputs_more.jsonl")]
    named = []
    for answer in kept:
        for one in answer["given_by"]:
            row = scored[one["run_id"], answer["question_id"], one["repeat"]]
            given = json.loads(lines[row["input"]][row["line"] - 1])
            assert (given["output"], given["question_id"]) == (answer["output"], answer["question_id"])
            named.append((row["run_id"], row["question_id"], row["repeat"]))
    assert sorted(named) == sorted(key for key, row in scored.items() if row["line"] is not None)
    assert len(kept) < len(named)
    for role, name in (("kept_questions", "questions.json"), ("kept_contexts", "contexts.jsonl")):
        (copy,) = outcome.commit.files(role)
        assert copy.read_bytes() == (folder / name).read_bytes()


def test_frames_are_kept_too(folder: Path) -> None:
    questions = json.loads((folder / "questions.json").read_bytes())
    rows = [{"run_id": "r", "question_id": question["id"], "output": "{}"} for question in questions]
    frames = Job(
        profile=PROFILE,
        params=PROFILE.read_params({}),
        outputs=[frame_source(rows, "answers")],
        questions=[frame_source(questions, "asked")],
        keep_inputs=True,
    )
    outcome = sweep.run(frames, Store(folder / "store"))
    assert outcome.counts == Counts(rows_read=QUESTIONS, score_rows=QUESTIONS, missing_rows=0, rejected_rows=0)
    assert len(outcome.commit.files("kept_questions")) == 1
    assert outcome.commit.files("kept_questions")[0].is_file()


# --- interruptions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written_after", [0.0, parts.WRITTEN_AFTER, 1e9])
def test_an_interrupted_sweep_goes_on_where_it_stopped(
    written_after: float, folder: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "WRITTEN_AFTER", written_after)
    whole = sweep.run(job(folder), Store(folder / "whole"))
    place = Store(folder / "store")
    plain, calls = score_batch, 0

    def failing(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise RuntimeError("lights out")
        return plain(*args)

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "score_batch", failing)
        with pytest.raises(RuntimeError, match="lights out"):
            sweep.run(job(folder), place, threads=1)
    assert place.commits() == []
    assert [path for path in place.path.iterdir() if not path.name.startswith(".")] == []
    resumed = sweep.run(job(folder), place, threads=2)
    assert resumed.created
    assert resumed.resumed_parts >= 5
    assert resumed.counts == whole.counts
    one, other = tables(whole.commit), tables(resumed.commit)
    assert all(one[role].equals(other[role]) for role in ROLES)
    assert left_aside(place.path) == []


def test_another_job_does_not_take_up_the_parts_of_an_interrupted_one(
    folder: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*args: Any, **options: Any) -> Any:
        raise RuntimeError("at the end")

    with monkeypatch.context() as patch:
        patch.setattr(commit_files, "write_tallies", failing)
        with pytest.raises(RuntimeError, match="at the end"):
            sweep.run(job(folder), Store(folder / "store"))
    other = sweep.run(job(folder, soft_threshold=0.5), Store(folder / "store"))
    assert other.resumed_parts == 0
    assert len(left_aside(folder / "store")) == 1
    count = 14
    again = sweep.run(job(folder), Store(folder / "store"))
    assert again.created
    assert again.resumed_parts >= count - 1
    assert left_aside(folder / "store") == []


def start(folder: Path, place: Path, what: str, number: int, **params: Any) -> subprocess.Popen[bytes]:
    """A writer in a process of its own."""
    command = [sys.executable, str(WRITER), str(folder), str(place), what, str(number), json.dumps(params)]
    return subprocess.Popen(command, cwd=WRITER.parent.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(
    ("what", "number"),
    [("die_writing", 1), ("die_scoring", 6), ("die_assembling", 1), ("die_before_commit", 1)],
)
def test_a_killed_sweep_loses_nothing_and_shows_nothing(
    what: str, number: int, folder: Path, small_blocks: None
) -> None:
    place = folder / "store"
    before = sweep.run(job(folder, soft_threshold=0.5), Store(place))
    process = start(folder, place, what, number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    assert Store(place).commits() == [before.commit]
    assert [path.name for path in place.iterdir() if not path.name.startswith(".")] == [before.commit.id]
    resumed = sweep.run(job(folder), Store(place))
    assert resumed.created
    assert (resumed.resumed_parts > 0) == (what != "die_writing")
    whole = sweep.run(job(folder), Store(folder / "whole"))
    one, other = tables(whole.commit), tables(resumed.commit)
    assert all(one[role].equals(other[role]) for role in ROLES)
    assert left_aside(place) == []


def test_a_sweep_that_is_killed_in_its_first_moments_writes_its_parts_from_then_on(
    folder: Path, small_blocks: None
) -> None:
    place = folder / "store"
    kept = []
    for _ in range(2):
        process = start(folder, place, "die_in_the_first_moments", 6)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, errors
        kept.append(len(list((place / STAGING).glob("*/done-*"))))
    assert kept == [0, 5]
    resumed = sweep.run(job(folder), Store(place))
    assert resumed.resumed_parts == 5
    whole = sweep.run(job(folder), Store(folder / "whole"))
    one, other = tables(whole.commit), tables(resumed.commit)
    assert all(one[role].equals(other[role]) for role in ROLES)
    assert left_aside(place) == []


@pytest.mark.parametrize(("name", "limit"), [("WRITTEN_AFTER", 0.0), ("MOST_IN_MEMORY", 2_000)])
def test_parts_are_written_when_a_sweep_takes_long_or_they_are_many(
    name: str, limit: float, folder: Path, small_blocks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found again by the number of their marks when the commit is put together; the same rows as from memory."""
    plain, marks = commit_files.write_tallies, list[int]()

    def counting(*args: Any, **options: Any) -> None:
        marks.append(len(list(folder.glob(f"*/{STAGING}/*/done-*"))))
        plain(*args, **options)

    monkeypatch.setattr(commit_files, "write_tallies", counting)
    in_memory = sweep.run(job(folder), Store(folder / "memory"), threads=2)
    monkeypatch.setattr(parts, name, limit)
    written = sweep.run(job(folder), Store(folder / "files"), threads=2)
    assert marks == [0, 14]
    one, other = tables(in_memory.commit), tables(written.commit)
    assert all(one[role].equals(other[role]) for role in ROLES)


def test_parts_in_memory_hold_no_blocks(folder: Path) -> None:
    """A few rows of a large column are copied, so that the column can go."""
    texts = pa.chunked_array([pa.array(["x" * 100] * 10_000)])
    rows = pa.table({"text": texts})
    with Store(folder / "store").staging("0" * 24) as staging:
        kept = parts.Parts(staging)
        for number, some in enumerate((rows, rows.slice(5_000, 10))):
            kept.find(number)
            kept.keep(number, {"scores": some})
        whole, few = kept.of("scores")
    assert isinstance(whole, pa.Table)
    assert isinstance(few, pa.Table)
    assert whole.get_total_buffer_size() == rows.get_total_buffer_size()
    assert few.get_total_buffer_size() < 4_096
    assert few.equals(rows.slice(5_000, 10))


def test_a_sweep_that_is_killed_behind_its_commit_is_finished(folder: Path, small_blocks: None) -> None:
    place = folder / "store"
    process = start(folder, place, "die_after_commit", 1)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    (commit,) = Store(place).commits()
    assert left_aside(place) != []
    again = sweep.run(job(folder), Store(place))
    assert (again.created, again.commit) == (False, commit)
    assert left_aside(place) == []
    whole = sweep.run(job(folder), Store(folder / "whole"))
    one, other = tables(whole.commit), tables(commit)
    assert all(one[role].equals(other[role]) for role in ROLES)


@pytest.mark.parametrize("unlinked", [1, 9, 17, 25])
def test_a_sweep_that_is_killed_while_it_clears_its_folder(unlinked: int, folder: Path, small_blocks: None) -> None:
    """Whatever file is the next to go, the mark of the commit is there until the last, and any later job goes by it."""
    place = folder / "store"
    process = start(folder, place, "die_clearing", unlinked)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    (commit,) = Store(place).commits()
    (name,) = left_aside(place)
    left = {path.name for path in (place / STAGING / name).iterdir()}
    assert {"lock", "published"} < left
    if unlinked == 1:
        assert len(left) > 27  # the last kill is one of a folder that still has parts
        assert not sweep.run(job(folder), Store(place)).created
    else:
        assert sweep.run(job(folder, soft_threshold=0.5), Store(place)).created
    assert left_aside(place) == []
    assert Store(place).commits()[0] == commit


def test_a_sweep_that_is_killed_when_its_folder_is_empty(folder: Path, small_blocks: None) -> None:
    place = folder / "store"
    process = start(folder, place, "die_behind_clearing", 1)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    (name,) = left_aside(place)
    assert list((place / STAGING / name).iterdir()) == []
    assert not sweep.run(job(folder), Store(place)).created  # the folder may be one that a writer is about to lock
    assert left_aside(place) == [name]
    os.utime(place / STAGING / name, (time.time() - 120,) * 2)
    assert sweep.run(job(folder, soft_threshold=0.5), Store(place)).created
    assert left_aside(place) == []


@pytest.mark.parametrize("same", [True, False], ids=["the same job", "another job"])
def test_a_writer_killed_behind_the_commit_of_another_of_its_job(same: bool, folder: Path, small_blocks: None) -> None:
    """What it had done serves nobody: the next writer clears it, whatever its job."""
    place = folder / "store"
    aside = killed_while_scoring(folder, place)
    at_work = try_lock(aside / "lock")
    assert at_work is not None
    assert sweep.run(job(folder), Store(place)).resumed_parts == 0  # in a folder of its own
    other = {} if same else {"soft_threshold": 0.5}
    assert left_aside(place) == [aside.name]
    at_work.release()
    assert sweep.run(job(folder, **other), Store(place)).created is not same
    assert left_aside(place) == []


def test_work_of_a_job_whose_commit_is_no_longer_the_newest_is_kept(folder: Path, small_blocks: None) -> None:
    place = folder / "store"
    for commit in (job(folder), job(folder, soft_threshold=0.5)):
        assert sweep.run(commit, Store(place)).created
    aside = killed_while_scoring(folder, place)
    assert sweep.run(job(folder, soft_threshold=0.6), Store(place)).created
    assert left_aside(place) == [aside.name]
    assert sweep.run(job(folder), Store(place)).resumed_parts > 0
    assert left_aside(place) == []


def killed_while_scoring(folder: Path, place: Path) -> Path:
    """The staging folder that a writer of the job of `folder` leaves."""
    process = start(folder, place, "die_scoring", 6)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors
    (name,) = left_aside(place)
    return place / STAGING / name


def test_several_writers_at_once(folder: Path, small_blocks: None) -> None:
    place = folder / "store"
    thresholds = [0.72, 0.72, 0.5]
    writers = [start(folder, place, "meet", len(thresholds), soft_threshold=value) for value in thresholds]
    results = []
    for process in writers:
        out, errors = process.communicate(timeout=180)
        assert process.returncode == 0, errors
        results.append(json.loads(out))
    commits = {commit.id: commit for commit in Store(place).commits()}
    assert {name for name, _, _ in results} == set(commits)
    assert sum(created for _, created, _ in results) == len(commits)
    for threshold, (name, _, _) in zip(thresholds, results, strict=True):
        whole = sweep.run(job(folder, soft_threshold=threshold), Store(folder / f"alone-{threshold}"))
        one, other = tables(whole.commit), tables(commits[name])
        assert all(one[role].equals(other[role]) for role in ROLES)
    assert left_aside(place) == []


@pytest.fixture(scope="module")
def without_power(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Commit]:
    """Inputs beside a store whose power went just before the commit, and the commit that it would have had."""
    folder = write_inputs(tmp_path_factory.mktemp("power"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_ROWS", SMALL_BLOCK)
        whole = sweep.run(job(folder), Store(folder / "whole"))
        patch.setattr(Store, "seal", _power_loss)
        with pytest.raises(KeyboardInterrupt):
            sweep.run(job(folder), Store(folder / "store"))
    return folder, whole.commit


@pytest.mark.parametrize("torn", ["scores-000001", "rejects-*", "done-000001"])
@pytest.mark.parametrize("tear", ["gone", "empty", "zeros", "half"])
def test_a_part_that_a_power_loss_tore_is_scored_again(
    torn: str, tear: str, without_power: tuple[Path, Commit], small_blocks: None, tmp_path: Path
) -> None:
    """A mark may be on the disk before the bytes that it stands for, and the other way round."""
    folder, whole = without_power
    place = shutil.copytree(folder / "store", tmp_path / "store")
    part = sorted((place / STAGING).glob(f"*/{torn}"))[0]
    content = part.read_bytes()
    left = {"empty": b"", "zeros": bytes(len(content)), "half": content[: len(content) // 2]}
    part.unlink() if tear == "gone" else part.write_bytes(left[tear])
    again = sweep.run(job(folder), Store(place))
    assert again.created
    assert again.resumed_parts > 0
    one, other = tables(whole), tables(again.commit)
    assert all(one[role].equals(other[role]) for role in ROLES)


@pytest.mark.parametrize("mark", [b"", bytes(30), b"\xff\xfe\0", b"..", b"20261118T124809.642601Z-6caca4"])
def test_a_mark_of_a_commit_that_a_power_loss_tore(mark: bytes, folder: Path) -> None:
    """Work is cleared away only where the mark names a commit that is there; whatever it has, writers go on."""
    aside = folder / "store" / STAGING / ("0" * 24)
    put(aside / "scores-000000", "x")
    (aside / "published").write_bytes(mark)
    outcome = sweep.run(job(folder), Store(folder / "store"))
    assert outcome.created and left_aside(folder / "store") == [aside.name]
    (aside / "published").write_text(outcome.commit.id)
    sweep.run(job(folder), Store(folder / "store"))
    assert left_aside(folder / "store") == []


def _power_loss(*args: Any) -> None:
    raise KeyboardInterrupt


def test_two_writers_that_are_slow_to_publish_make_one_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have found that nobody did their job, then both put their commit in place: it must be one."""
    found, finished = threading.Barrier(2, timeout=20), finished_commit

    def slow(*args: Any, **options: Any) -> Commit | None:
        done = finished(*args, **options)
        with suppress(threading.BrokenBarrierError):  # the other waits for its turn
            found.wait(timeout=3)
        return done

    monkeypatch.setattr(sweep, "finished_commit", slow)
    with ThreadPoolExecutor(2) as writers:
        outcomes = list(writers.map(lambda _: sweep.run(job(folder), Store(folder / "store")), range(2)))
    (commit,) = Store(folder / "store").commits()
    assert {outcome.commit.id for outcome in outcomes} == {commit.id}
    assert sorted(outcome.created for outcome in outcomes) == [False, True]


# --- stores that cannot be used -------------------------------------------------------------------------------------


def test_a_store_that_is_a_file(tmp_path: Path) -> None:
    path = put(tmp_path / "store", "")
    with pytest.raises(StoreError, match="is a file, not a store"):
        Store(path)


def test_a_store_that_cannot_be_written(folder: Path) -> None:
    put(folder / "file", "")
    with pytest.raises(StoreError, match="cannot be written"):
        sweep.run(job(folder), Store(folder / "file" / "store"))


@pytest.mark.parametrize(
    ("code", "message"),
    [(errno.ENOSPC, "No space left"), (errno.EACCES, "Name another with --store"), (errno.EIO, "cannot be written")],
)
def test_what_the_file_system_says_becomes_a_sentence(code: int, message: str) -> None:
    assert message in str(store_error("runs", OSError(code, os.strerror(code))))


def test_a_full_disk_while_a_part_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(parts, "WRITTEN_AFTER", 0.0)
        patch.setattr(Staging, "_write", full)
        with pytest.raises(StoreError, match="No space left"):
            sweep.run(job(folder), Store(folder / "store"))
    assert Store(folder / "store").commits() == []
    assert sweep.run(job(folder), Store(folder / "store")).created


def test_a_store_without_commits(tmp_path: Path) -> None:
    assert Store(tmp_path / "none").commits() == []
    with pytest.raises(StoreError, match="has no runs"):
        Store(tmp_path / "none").require()


def test_folders_of_other_people_are_left_alone(folder: Path) -> None:
    place = folder / "store"
    put(place / "notes" / "readme.txt", "mine")
    put(place / "other" / "manifest.json", "[]")
    put(place / "loose.txt", "mine")
    outcome = sweep.run(job(folder), Store(place))
    assert Store(place).require() == [outcome.commit]
    assert (place / "notes" / "readme.txt").read_text() == "mine"


def test_a_store_of_a_newer_version(tmp_path: Path) -> None:
    put(tmp_path / "20250101T000000.000000Z-abc" / "manifest.json", '{"format": 99}')
    with pytest.raises(StoreError, match="newer version"):
        Store(tmp_path).commits()


def test_work_that_was_abandoned_for_a_week_is_removed(folder: Path) -> None:
    root = folder / "store" / STAGING
    old, young, held = ("0" * 24, "1" * 24, "2" * 24)  # names of jobs: others go after a short while
    for name in (old, young, held):
        put(root / name / "lock", "")
        put(root / name / "scores-000000", "x")
    day = 24 * 3600
    lock = try_lock(root / held / "lock")
    assert lock is not None
    for name, age in ((old, 8 * day), (young, 6 * day), (held, 8 * day)):
        os.utime(root / name, (time.time() - age,) * 2)
    sweep.run(job(folder), Store(folder / "store"))
    lock.release()
    assert left_aside(folder / "store") == [young, held]
    assert (root / young / "scores-000000").read_text() == "x"


# --- nothing to score -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no rows"),
        ("\n\n", "no rows"),
        ('{"run_id": "r", "question_id": "q9", "output": "x"}\n', "None of the 1 rows.*line 1: unknown_question.*'q9'"),
        ("broken\n", "None of the 1 rows.*line 1: malformed_json"),
    ],
)
def test_no_usable_row_is_an_error_without_a_commit(content: str, message: str, folder: Path) -> None:
    put(folder / "outputs.jsonl", content)
    (folder / "outputs_more.jsonl").unlink()
    with pytest.raises(InputError, match=message):
        sweep.run(job(folder), Store(folder / "store"))
    assert Store(folder / "store").commits() == []


def test_a_question_that_python_cannot_hold_is_refused_or_scored(folder: Path) -> None:
    questions = json.loads((folder / "questions.json").read_bytes())
    questions[0]["expected"]["answer_example"]["main_topic"] = 12345
    put(folder / "questions.json", json.dumps(questions).replace("12345", "1e400"))
    try:
        became = "scored" if sweep.run(job(folder), Store(folder / "store")).created else "found"
    except InputError:
        became = "refused"
    assert became in ("scored", "refused")


def test_progress_counts_all_rows(folder: Path, small_blocks: None) -> None:
    seen: list[tuple[int, int]] = []
    outcome = sweep.run(job(folder), Store(folder / "store"), lambda *step: seen.append(step))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    size = sum((folder / name).stat().st_size for name in ("outputs.jsonl", "outputs_more.jsonl"))
    assert seen[-1] == (outcome.counts.rows_read, size)


def test_inputs_that_are_gone_afterwards_do_not_matter_to_readers(folder: Path) -> None:
    outcome = sweep.run(job(folder), Store(folder / "store"))
    for path in folder.glob("outputs*"):
        path.unlink()
    moved = shutil.move(folder / "store", folder / "elsewhere")
    (commit,) = Store(moved).commits()
    assert commit.manifest == outcome.commit.manifest
    assert tables(commit)["scores"].num_rows == outcome.counts.score_rows


# --- bounded whatever comes -------------------------------------------------------------------------------------------


def test_more_score_rows_than_allowed_are_refused_before_they_are_made(folder: Path) -> None:
    rows = [{"run_id": f"r{k}", "question_id": "q00000", "output": "{}"} for k in range(9)]
    put(folder / "outputs.jsonl", inputs.jsonl(rows))
    mistaken = replace(job(folder), outputs=sources([folder / "outputs.jsonl"]), max_rows=8 * QUESTIONS)
    place = Store(folder / "store")
    with pytest.raises(
        InputError, match=r"9 runs x 12 questions .* every row has its own run id: is the column right\?"
    ):
        sweep.run(mistaken, place)
    assert place.commits() == []
    assert sweep.run(replace(mistaken, max_rows=9 * QUESTIONS), place).counts.score_rows == 9 * QUESTIONS


def test_names_and_repeats_that_make_too_much_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of a run that is long, for many questions; a number of the repeat that every row has for itself."""
    put(folder / "outputs.jsonl", inputs.jsonl([{"run_id": "x" * 2_000, "question_id": "q00000", "output": "{}"}]))
    long = replace(job(folder), outputs=sources([folder / "outputs.jsonl"]))
    monkeypatch.setattr(by_question, "_MOST_NAME_BYTES", 2_000 * QUESTIONS - 1)
    with pytest.raises(InputError, match=r"The name of a run has 2,000 bytes \(x{40}…\)"):
        sweep.run(long, Store(folder / "store"))
    monkeypatch.undo()
    put(folder / "outputs.jsonl", inputs.jsonl([{"run_id": "x" * 8_193, "question_id": "q00000", "output": "{}"}]))
    with pytest.raises(InputError, match=r"The name of a run has 8,193 bytes"):
        sweep.run(long, Store(folder / "store"))
    rows = [{"run_id": "r", "question_id": "q00000", "repeat": k, "output": "{}"} for k in range(9)]
    put(folder / "outputs.jsonl", inputs.jsonl(rows))
    many = replace(job(folder), outputs=sources([folder / "outputs.jsonl"]), max_rows=9 * QUESTIONS - 1)
    with pytest.raises(InputError, match=r"9 repeats of 1 runs x 12 questions .* is the column repeat right\?"):
        sweep.run(many, Store(folder / "store"))
    assert sweep.run(replace(many, max_rows=9 * QUESTIONS), Store(folder / "store")).created


@pytest.mark.parametrize("size", [10, pytest.param(400_000, marks=pytest.mark.soak)])
def test_long_rejects_and_answers_need_no_more_memory_than_others(size: int, folder: Path) -> None:
    """In the long version, both are more than what a sort may hold."""
    long = "x" * size
    rows = [{"run_id": f"r{k}", "question_id": "q00000", "output": f"{k % 200}{long}"} for k in range(400)]
    rejected = [{"run_id": "r", "question_id": "unknown", "output": long} for _ in range(400)]
    put(folder / "outputs.jsonl", inputs.jsonl([*rows, *rejected]))
    outcome = sweep.run(
        replace(job(folder), outputs=sources([folder / "outputs.jsonl"]), keep_inputs=True), Store(folder / "store")
    )
    assert outcome.counts.rejected_rows == 400
    found = tables(outcome.commit, ("kept_outputs", "rejects"))
    assert found["rejects"].column("line").to_pylist() == list(range(401, 801))
    kept = found["kept_outputs"].select(["output", "given_by"]).to_pylist()
    assert [row["output"] for row in kept] == [f"{k}{long}" for k in range(200)]
    assert [[one["run_id"] for one in row["given_by"]] for row in kept] == [
        sorted((f"r{k}", f"r{k + 200}")) for k in range(200)
    ]
