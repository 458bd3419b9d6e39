"""The engine spark against a real cluster on this machine: the same rows, rejects, summaries and counts to the last
bit, whatever the number of partitions and whatever is killed."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import rageval_batch
from rageval_batch.engines import spark as engine
from rageval_batch.engines.ranges import plan_ranges
from rageval_batch.inputs.sources import sources
from rageval_batch.locations import Folder
from rageval_batch.profiles.registry import PROFILES, get_profile
from rageval_batch.resources import samples_folder
from rageval_batch.runs import sweep
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from support import outside_profile
from support.cluster import Cluster, kill
from support.engines import assert_same, hostile_job, sample_job, tables
from support.s3 import BUCKET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")
ON_S3 = "include_rate"  # the profile whose samples and store lie behind a URL
DIVIDED = "reference"  # the profile whose samples are scored in many partitions; soak: those of all


def kill_an_executor(cluster: Cluster, parts: Path, killed: list[int]) -> None:
    """SIGKILL to an executor as soon as there is a part of a job."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if any(parts.glob("*/parts/[0-9]*")) and (found := cluster.executors()):
            kill(found[0])
            killed.append(found[0])
            return
        time.sleep(0.01)


def put_samples(url: str) -> None:
    """A copy of the samples of a profile behind a URL."""
    folder = samples_folder() / ON_S3
    for path in folder.rglob("*"):
        if path.is_file():
            Folder(url).upload(path, path.relative_to(folder).as_posix())


@pytest.mark.usefixtures("s3_environment")
def test_a_cluster_gives_the_same_bits(cluster: Cluster, spark: SparkSession, tmp_path: Path) -> None:
    """The samples of every profile, one of them from and to S3; a hostile sweep in several partitions, an executor
    killed meanwhile; and the same job again, whichever engine made the commit."""
    url = f"s3a://{BUCKET}/samples"
    put_samples(url)
    for name in PROFILES:
        job, store = sample_job(name), Store(tmp_path / "spark")
        if name == ON_S3:
            job = sample_job(name, lambda path: path.replace(str(samples_folder() / ON_S3), url))
            store = Store(f"s3://{BUCKET}/runs")
            assert all(file.url for file in (*job.outputs, *job.questions))
        local = sweep.run(job, Store(tmp_path / "local"))
        assert_same(local, engine.run(job, store, spark, partitions=1 + (name == "legal_rag")))
        for partitions in (7, 200) if name == DIVIDED else ():
            assert_same(local, engine.run(job, Store(tmp_path / f"in-{partitions}"), spark, partitions=partitions))
    there = [entry for entry in Folder(f"s3://{BUCKET}/runs").entries(recursive=True) if not entry.is_folder]
    names = {entry.name.partition("/")[0] for entry in there}
    assert names == {Store(f"s3://{BUCKET}/runs").commits()[0].id}  # nothing is left of the work
    hostile = hostile_job(tmp_path / "hostile", 3_000, keep_inputs=True)
    local = sweep.run(hostile, Store(tmp_path / "local"))
    reasons = local.reject_reasons
    assert {"duplicate", "malformed_json", "not_utf8", "not_object", "unknown_question", "null_run_id"} <= set(reasons)
    killed: list[int] = []
    killer = threading.Thread(target=kill_an_executor, args=(cluster, tmp_path / "spark" / ".staging", killed))
    killer.start()
    other = engine.run(hostile, Store(tmp_path / "spark"), spark, partitions=7)
    killer.join()
    assert killed
    assert len(other.commit.files("scores")) > 5
    assert_same(local, other)
    assert not list((tmp_path / "spark" / ".staging").iterdir())
    for store_name, engine_again in (("local", True), ("spark", False)):
        place = Store(tmp_path / store_name)
        again = engine.run(hostile, place, spark) if engine_again else sweep.run(hostile, place)
        assert not again.created
        assert again.counts == local.counts


FAILS_ONCE = """
import os

def score(prepared, batch):
    try:
        os.close(os.open({mark!r}, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return _score(prepared, batch)
    raise RuntimeError("the first try of the first task")

import dataclasses
_score = PROFILE.scoring.score
PROFILE = dataclasses.replace(PROFILE, scoring=dataclasses.replace(PROFILE.scoring, score=score))
"""


def wide_rows() -> list[list[dict[str, Any]]]:
    """The rows of files with more columns than are kept: which of them are the first can only all files tell."""

    def row(question: str, **more: Any) -> dict[str, Any]:
        return {"run_id": "r", "question_id": question, "output": "alpha beta", **more}

    def numbered(low: int, high: int) -> dict[str, int]:
        return {f"c{k:04d}": k for k in range(low, high)}

    return [
        [row("q0", shared=1, **numbered(0, 600)), row("q1", text="x")],
        [row("q2", **numbered(3000, 4100), shared=2), row("q3", **numbered(590, 700))],
        [row("q0", **numbered(5000, 5010)), row("q4", shared="last", **numbered(600, 610))],
    ]


def test_a_profile_of_a_file_that_executors_lack(spark: SparkSession, tmp_path: Path) -> None:
    """Sent as it is, in a job whose first task fails once; and of more columns than are kept, the same are kept."""
    declared = tmp_path / "mine" / "words.py"
    declared.parent.mkdir()
    source = Path(outside_profile.__file__).read_text(encoding="utf-8").replace('"has_words"', '"own_words"')
    mark = tmp_path / "failed-once"
    declared.write_text(source + FAILS_ONCE.format(mark=str(mark)), encoding="utf-8")
    profile = get_profile(f"{declared}:PROFILE")
    declared.rename(tmp_path / "moved.py")
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    for number, rows in enumerate(wide_rows()):
        (outputs / f"{number}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(f'{{"id": "q{k}", "words": ["alpha", "gamma"]}}\n' for k in range(6)))
    job = Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=sources([outputs]),
        questions=sources([questions]),
        contexts=[],
    )
    other = engine.run(job, Store(tmp_path / "spark"), spark)
    assert mark.exists()
    local = sweep.run(job, Store(tmp_path / "local"))
    assert_same(local, other)
    names = tables(local.commit)["extras"].column_names
    assert {"shared", "c0599", "c3000"} <= set(names)
    assert not {"c4099", "c0600", "c5000"} & set(names)
    assert "others are not ('c0600', 'c0601', 'c0602', …)" in local.warnings[-1]


TOML = """
name = "own_f1"
[fields]
reference = "text"
[metrics]
f1 = "token_f1(output, reference)"
[score]
expr = "f1"
"""


def test_a_data_frame_and_a_profile_file(spark: SparkSession, tmp_path: Path) -> None:
    """A frame whose rows are partly unusable gives what the same rows give in memory, whatever their order."""
    rows: list[dict[str, Any]] = [
        {"run_id": run, "question_id": f"q{k}", "output": f"{text} {k}", "latency": k / 4}
        for run in ("a", "b é\u2028", "c")
        for k, text in enumerate(("one", "two", "three"))
    ]
    rows += [
        {**rows[0], "output": "another answer"},
        {**rows[1], "run_id": None},
        {**rows[2], "question_id": "nobody asked"},
        {**rows[3], "question_id": None},
        {**rows[4], "output": None, "run_id": "d"},
    ]
    declared = tmp_path / "own.toml"
    declared.write_text(TOML)
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(f'{{"id": "q{k}", "reference": "two {k}"}}\n' for k in range(4)))
    frame = spark.createDataFrame(rows[::-1], "run_id string, question_id string, output string, latency double")
    profile = get_profile(str(declared)).name
    declared.unlink()
    other = engine.score(frame, str(questions), profile, store=tmp_path / "spark", partitions=3)
    assert other.reject_reasons == {"duplicate": 1, "null_question_id": 1, "null_run_id": 1, "unknown_question": 1}
    texts = {json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode(): row for row in rows}
    ordered = pa.Table.from_pylist([row for _, row in sorted(texts.items())])
    rageval_batch.score(ordered, str(questions), profile, store=tmp_path / "local")
    one, two = tables(Store(tmp_path / "local").commits()[0]), tables(other.commit)
    for role in ("scores", "rejects", "tallies", "summary", "extras"):
        assert one[role].equals(two[role]), role
    again = engine.score(frame.orderBy("latency"), str(questions), profile, store=tmp_path / "spark")
    assert not again.created
    assert not list((tmp_path / "spark" / ".staging").iterdir())


@pytest.mark.soak
@pytest.mark.parametrize("partitions", [1, 7, 200])
@pytest.mark.parametrize("name", [*PROFILES, "own.toml", "own.py:PROFILE"])
def test_samples_of_every_profile_in_any_number_of_partitions(
    spark: SparkSession, tmp_path: Path, name: str, partitions: int
) -> None:
    """Bit for bit, also with a profile file and with a module that executors do not have."""
    if name in PROFILES:
        job = sample_job(name)
    else:
        (tmp_path / "own.toml").write_text(TOML)
        (tmp_path / "own.py").write_text(Path(outside_profile.__file__).read_text(encoding="utf-8"))
        profile = get_profile(str(tmp_path / name))
        questions: list[dict[str, Any]] = [
            {"id": f"q{k}", "reference": f"two {k}", "words": ["two", str(k)]} for k in range(40)
        ]
        fields = ("id", "reference") if name == "own.toml" else ("id", "words")
        files: dict[str, list[dict[str, Any]]] = {}
        files["questions"] = [{field: one[field] for field in fields} for one in questions]
        files["outputs"] = [
            {"run_id": f"r{k % 9}", "question_id": f"q{k % 41}", "output": f"two {k % 7}", "repeat": k % 2}
            for k in range(300)
        ]
        for file, rows in files.items():
            (tmp_path / f"{file}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        job = Job(
            profile=profile,
            params=profile.read_params({}),
            outputs=sources([tmp_path / "outputs.jsonl"]),
            questions=sources([tmp_path / "questions.jsonl"]),
            contexts=[],
        )
    local = sweep.run(job, Store(tmp_path / "local"))
    assert_same(local, engine.run(job, Store(tmp_path / "spark"), spark, partitions=partitions))


@pytest.mark.soak
def test_a_large_hostile_sweep(spark: SparkSession, tmp_path: Path) -> None:
    """200,000 rows in 1, 7 and 200 partitions: score rows, rejects, tallies, summaries, runs, other columns and kept
    answers, bit for bit."""
    job = hostile_job(tmp_path / "hostile", 200_000, keep_inputs=True)
    local = sweep.run(job, Store(tmp_path / "local"))
    for partitions in (1, 7, 200):
        assert_same(local, engine.run(job, Store(tmp_path / f"spark-{partitions}"), spark, partitions=partitions))


def test_large_runs_are_divided_by_questions() -> None:
    ids = [f"q{number}" for number in range(10)]
    ranges = plan_ranges({"b": 1000, "a": 10, "c": 20, "d": 5}, ids, 10)
    rows = [(run, question) for run in "abcd" for question in ids]
    found = ranges.of_rows(pa.array([run for run, _ in rows]), pa.array([question for _, question in rows])).tolist()
    assert found == sorted(found)
    assert set(found) == set(range(ranges.count))
    for partition in range(ranges.count):
        pieces = ranges.pieces_of(partition)
        mine = [(piece.run, question) for piece in pieces for question in sorted(ids)[piece.low : piece.high]]
        assert mine == [row for row, at in zip(rows, found, strict=True) if at == partition]
    grouped = [(set(partitions), runs) for partitions, runs in ranges.groups()]
    assert [run for _, runs in grouped for run in runs] == ["a", "b", "c", "d"]
