"""The engine spark against a real cluster on this machine: the same rows, rejects, summaries and counts to the last
bit, whatever the number of partitions and whatever is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rageval_batch.cli import cli
from rageval_batch.cli.demo import SAMPLES
from rageval_batch.engines import session as spark_session
from rageval_batch.engines import spark as engine
from rageval_batch.engines.ranges import plan_ranges
from rageval_batch.engines.session import has_java, quiet_pandas, session
from rageval_batch.inputs.sources import sources
from rageval_batch.profiles.registry import PROFILES
from rageval_batch.resources import samples_folder
from rageval_batch.runs import sweep
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Commit, Store
from rageval_batch.runs.sweep import Outcome
from support.cluster import CONF, Cluster, kill, started
from support.hostile_sweep import write_hostile_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a commit says of itself that is not the same in two commits of the same job, and how its rows are cut into files.
OWN = {"commit", "created_at", "checksums", "manifest_sha256", "files"}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers; skipped, and said so, where there is no Java."""
    if not has_java():
        pytest.skip("the engine spark was not tested: there is no Java")
    with started(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(cluster: Cluster) -> Iterator[SparkSession]:
    """A session of the cluster."""
    with quiet_pandas(), session(cluster.url, CONF) as found:
        yield found


def sample_job(name: str, **more: Any) -> Job:
    """The job of a profile's samples."""
    words = [word.format(samples_folder() / name) for word in SAMPLES[name]]
    options: dict[str, list[str]] = {"": [words[0]], "-q": [], "-c": []}
    for option, value in pairwise(words):
        options.setdefault(option, []).append(value)
    profile = PROFILES[name]
    return Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=sources(options[""], profile.inputs.whole_files),
        questions=sources(options["-q"]),
        contexts=sources(options["-c"]),
        **more,
    )


def hostile_job(folder: Path, rows: int, **more: Any) -> Job:
    """The job of a sweep with all that can be wrong."""
    files = write_hostile_sweep(folder, rows)
    profile = PROFILES["eval_json_v2"]
    return Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=sources([str(files.outputs)]),
        questions=sources([str(files.questions)]),
        contexts=sources([str(files.contexts)]),
        **more,
    )


def tables(commit: Commit) -> dict[str, pa.Table]:
    """The rows of a commit by their role, in the order of its files."""
    out = {}
    for role in commit.manifest["files"]:
        if files := [path for path in commit.files(role) if path.suffix == ".parquet"]:
            out[role] = pa.concat_tables(_nullable(pq.read_table(path, partitioning=None)) for path in files)
    return out


def _nullable(table: pa.Table) -> pa.Table:
    """A file in which no value is null may say so of its columns."""
    return pa.Table.from_arrays(table.columns, schema=pa.schema([one.with_nullable(True) for one in table.schema]))


def assert_same(local: Outcome, other: Outcome) -> None:
    """Two commits of the same job say the same."""
    assert other.created
    one, two = tables(local.commit), tables(other.commit)
    assert sorted(one) == sorted(two)
    for role in one.keys() - {"kept_outputs"}:  # distinct answers are in the order in which they were first met
        assert one[role].equals(two[role]), role
    if "kept_outputs" in one:
        order = [("question_id", "ascending"), ("output", "ascending"), ("chunks", "ascending")]
        assert one["kept_outputs"].sort_by(order).equals(two["kept_outputs"].sort_by(order))
    first, second = local.commit.manifest, other.commit.manifest
    assert {k: v for k, v in first.items() if k not in OWN} == {k: v for k, v in second.items() if k not in OWN}
    assert local.counts == other.counts


def kill_an_executor(cluster: Cluster, parts: Path, killed: list[int]) -> None:
    """SIGKILL to an executor as soon as there is a part of a job."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if any(parts.glob("*/parts/[0-9]*")) and (found := cluster.executors()):
            kill(found[0])
            killed.append(found[0])
            return
        time.sleep(0.01)


@pytest.mark.xdist_group("spark")
def test_a_cluster_gives_the_same_bits(cluster: Cluster, spark: SparkSession, tmp_path: Path) -> None:
    """The samples of every profile; a hostile sweep in several partitions, an executor killed meanwhile; and the same
    job again, whichever engine made the commit."""
    for name in PROFILES:
        local = sweep.run(sample_job(name), Store(tmp_path / "local"))
        assert_same(
            local, engine.run(sample_job(name), Store(tmp_path / "spark"), spark, partitions=1 + (name == "legal_rag"))
        )
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
    for store, engine_again in (("local", True), ("spark", False)):
        place = Store(tmp_path / store)
        again = engine.run(hostile, place, spark) if engine_again else sweep.run(hostile, place)
        assert not again.created
        assert again.counts == local.counts


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


def score_words(folder: Path) -> list[str]:
    samples = samples_folder() / "include_rate"
    words = ["score", str(samples / "outputs"), "-p", "include_rate", "-q", str(samples / "questions.jsonl")]
    return [*words, "--store", str(folder / "runs"), "--engine", "spark"]


def test_without_the_extra_or_java_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        result = CliRunner().invoke(cli, score_words(tmp_path), standalone_mode=False)
        return str(result.exception)

    monkeypatch.setattr(spark_session, "find_spec", lambda name: None if name == "pyspark" else object())
    assert "pip install 'rageval-batch[spark]'" in said()
    monkeypatch.setattr(spark_session, "find_spec", lambda name: object())
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "needs Java 17" in said()
    assert not (tmp_path / "runs").exists()


def test_settings_of_spark_need_the_engine(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, [*score_words(tmp_path)[:-2], "--master", "local[1]"], standalone_mode=False)
    assert "add --engine spark" in str(result.exception)
