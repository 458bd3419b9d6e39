"""Stores and inputs behind URLs: the same commits, rows and answers as in a folder; half a commit is never seen."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import polars as pl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from fsspec.implementations.memory import MemoryFileSystem

from rageval_batch.answering import DamageFound
from rageval_batch.cli import cli
from rageval_batch.errors import DamagedCommit, InputError, StoreError
from rageval_batch.inputs import readers
from rageval_batch.inputs.sources import sources
from rageval_batch.locations import MANIFEST, Folder, child, is_url, plain_name
from rageval_batch.resources import samples_folder
from rageval_batch.runs import packs, sweep, upkeep
from rageval_batch.runs.store import Store
from support.engines import assert_same, sample_job, tables
from support.s3 import BUCKET

PROFILE = "include_rate"
EXPORTS = Path(__file__).parent.parent / "exports"
pytestmark = [pytest.mark.usefixtures("s3_environment"), pytest.mark.xdist_group("s3")]


class Recorded(MemoryFileSystem):  # type: ignore[misc]
    """Files in memory behind `recorded://`; it remembers what was written in which order, and fails when it is told."""

    protocol = "recorded"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    written: ClassVar[list[str]] = []
    fails_at: str | None = None

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        name: str = super()._strip_protocol(path.replace("recorded://", "memory://"))
        return name

    def _open(self, path: str, mode: str = "rb", *more: Any, **options: Any) -> Any:
        if "w" in mode:
            if self.fails_at is not None and path.endswith(self.fails_at):
                raise OSError(5, "the line was cut")
            self.written.append(path.rpartition("/")[2])
        return super()._open(path, mode, *more, **options)


fsspec.register_implementation("recorded", Recorded, clobber=True)


@pytest.fixture
def recorded() -> Iterator[str]:
    """The URL of a store whose writes are remembered."""
    Recorded.written.clear()
    yield "recorded://here/runs"
    Recorded.fails_at = None
    Recorded.store.clear()


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """The URL of a store of this test's own."""
    return f"s3a://{BUCKET}/{request.node.name}/runs"


def shown(*words: str) -> str:
    """What a command prints; it must be good."""
    result = CliRunner().invoke(cli, list(words), standalone_mode=False, catch_exceptions=False)
    return result.stdout


def test_commands_say_the_same_as_of_a_folder(url: str, tmp_path: Path) -> None:
    local = sweep.run(sample_job(PROFILE), Store(tmp_path / "runs"))
    assert_same(local, sweep.run(sample_job(PROFILE), Store(url)))
    assert not sweep.run(sample_job(PROFILE), Store(url)).created
    for words in (
        ["sql", "select run_id, round(avg(score), 9) a, count(*) n from include_rate group by 1 order by 1"],
        ["compare", "baseline", "better", "--format", "csv"],
        ["sql", "select run_id, score, low, high, n from leaderboard order by run_id"],
    ):
        assert shown(*words, "--store", url) == shown(*words, "--store", str(tmp_path / "runs"))


def test_a_list_of_runs_fetches_no_score_rows(url: str) -> None:
    commit = sweep.run(sample_job(PROFILE), Store(url)).commit
    for path in commit.path.iterdir():
        path.unlink()
    assert "baseline" in shown("runs", "--store", url)
    fetched = {path.name for path in commit.path.iterdir()}
    assert {"runs.parquet", "summary.parquet"} <= fetched <= {"runs.parquet", "summary.parquet", MANIFEST}


def test_the_manifest_is_written_last_and_makes_a_commit(recorded: str) -> None:
    Recorded.fails_at = "summary.parquet"
    with pytest.raises(StoreError, match=r"recorded://here/runs cannot be written: .*the line was cut"):
        sweep.run(sample_job(PROFILE), Store(recorded))
    assert Folder(recorded).entries()  # something was written
    assert Store(recorded).commits() == []
    assert upkeep.check_store(Store(recorded)).problems == []
    Recorded.fails_at = None
    Recorded.written.clear()
    done = sweep.run(sample_job(PROFILE), Store(recorded))
    assert done.resumed_parts
    assert Recorded.written[-1] == MANIFEST
    assert len(Recorded.written) == len(set(Recorded.written)) > 5
    assert [commit.id for commit in Store(recorded).commits()] == [done.commit.id]


def test_a_commit_is_put_away_manifest_first(url: str) -> None:
    store = Store(url)
    first = sweep.run(sample_job(PROFILE), store).commit
    second = sweep.run(sample_job(PROFILE, keep_inputs=True), store).commit
    assert upkeep.drop(store, ["better"]) == {first.id: ["better"], second.id: ["better"]}
    assert "better" not in store.commits()[-1].manifest["runs"]
    pruned = upkeep.prune(store, None, 1, at_once=True)
    assert pruned.removed == [first.id]
    assert store.folder_names() == [second.id, *(name for name in store.folder_names() if name > second.id)]
    assert [commit.id for commit in Store(url).commits()] == [second.id]


def test_small_commits_are_put_together(url: str) -> None:
    store = Store(url)
    for keep_inputs in (False, True):
        sweep.run(sample_job(PROFILE, keep_inputs=keep_inputs), store)
    before = [tables(commit)["scores"] for commit in store.commits()]
    pack = packs.compact(store).pack
    assert pack is not None
    commits = Store(url).commits()
    assert {commit.path.name for commit in commits} == {pack}
    assert [commit.manifest["counts"]["score_rows"] for commit in commits] == [rows.num_rows for rows in before]
    assert shown("runs", "--store", url)


def test_what_is_damaged_there_is_said(url: str) -> None:
    commit = sweep.run(sample_job(PROFILE), Store(url)).commit
    folder = Folder(url)
    content = folder.read(f"{commit.id}/summary.parquet")
    assert content is not None
    folder.write(f"{commit.id}/summary.parquet", content[:-1] + b"\0")  # as long as before
    assert [row["file"] for row in upkeep.check_store(Store(url)).problems] == ["summary.parquet"]
    (commit.path / "summary.parquet").unlink()
    with pytest.raises(DamageFound, match=r"Commit .* is damaged: summary.parquet does not have its checksum"):
        Store(url).commits()[0].files("summary")
    with pytest.warns(DamagedCommit, match="summary.parquet does not have its checksum"):
        assert Store(url).commits() == []
    folder.write(f"{commit.id}/summary.parquet", content[:-1])
    with pytest.warns(DamagedCommit, match="summary.parquet has"):
        assert Store(url).commits() == []
    folder.remove(f"{commit.id}/summary.parquet")
    with pytest.warns(DamagedCommit, match="summary.parquet is missing"):
        assert Store(url).commits() == []


def test_the_copies_do_not_grow_without_end(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = sweep.run(sample_job(PROFILE), Store(url)).commit
    scores = commit.files("scores")[0]
    long_ago = time.time() - 7_200
    os.utime(scores, (long_ago, long_ago))
    monkeypatch.setenv("RAGEVAL_CACHE_GB", "0")
    (commit.path / "rejects.parquet").unlink()
    assert Store(url).commits()[0].files("rejects")[0].exists()
    assert not scores.exists()  # nobody had asked for it for long
    assert (commit.path / "runs.parquet").exists()  # somebody may be reading it
    assert pq.read_table(Store(url).commits()[0].files("scores")[0]).num_rows == commit.manifest["counts"]["score_rows"]


def test_files_of_every_format_behind_a_url(url: str, tmp_path: Path) -> None:
    """They have the rows, lines and hashes that they have as files of a folder."""
    frame = pl.DataFrame({"question_id": ["q1", "q2"], "output": ["ä", None], "n": [1, 2]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "b.arrow")
    frame.write_csv(tmp_path / "c.csv")
    frame.write_excel(tmp_path / "d.xlsx")
    frame.write_ndjson(tmp_path / "e.jsonl")
    (tmp_path / "f.json").write_text(json.dumps(frame.to_dicts()))
    (tmp_path / "g.csv.gz").write_bytes(gzip.compress((tmp_path / "c.csv").read_bytes()))
    shutil.copyfile(next(EXPORTS.glob("inspect-*.eval")), tmp_path / "h.eval")
    for path in tmp_path.iterdir():
        Folder(url).upload(path, path.name)
    here, there = sources([tmp_path]), sources([url])
    assert [file.stem for file in there] == list("abcdefgh")
    for one, other in zip(here, there, strict=True):
        assert one.with_hash().sha256 == other.with_hash().sha256
        pairs = zip(readers.read_blocks(one), readers.read_blocks(other), strict=True)
        for mine, its in pairs:
            assert mine.lines.tolist() == its.lines.tolist()
            assert [mine.raw(k) for k in range(len(mine))] == [its.raw(k) for k in range(len(its))]
    whole_here, whole_there = sources([tmp_path / "f.json"], whole_json=True), sources([url], whole_json=True)
    assert whole_there[0].members == ("f.json",)
    assert whole_here[0].with_hash().sha256 == whole_there[0].with_hash().sha256


def test_outputs_behind_a_url(url: str, tmp_path: Path) -> None:
    """Folders, globs and single files, of whatever name; they are found again by their URLs."""
    inputs = url.replace("/runs", "/in put#1%")
    folder = Folder(inputs.replace("#", "%23").replace("1%", "1%25"))
    place = folder.url
    sample = samples_folder() / PROFILE
    for path in (sample / "outputs").iterdir():
        folder.upload(path, f"deep/{path.name}")
    folder.write(".hidden/x.jsonl", b"{}")
    found = sources([place])
    assert [file.stem for file in found] == sorted(path.stem for path in (sample / "outputs").iterdir())
    assert [file.name for file in sources([child(place, "**/*.jsonl")])] == [file.name for file in found]
    assert [file.name for file in sources([f"{place}/deep/b*.jsonl"])] == [
        file.name for file in found if file.stem.startswith("b")
    ]
    for file, path in zip(found, sorted((sample / "outputs").iterdir()), strict=True):
        assert file.with_hash().sha256 == sources([path])[0].with_hash().sha256
    folder.upload(sample / "questions.jsonl", "questions.jsonl")
    words = ["score", f"{place}/deep", "-p", PROFILE, "-q", f"{place}/questions.jsonl", "--store", str(tmp_path / "s")]
    assert "baseline" in shown(*words)
    kept = Store(tmp_path / "s").commits()[0].manifest["inputs"]
    assert [one["path"] for one in kept] == [file.name for file in found]
    assert "baseline" in shown("rescore", "--all", "--param", "phrase_match=word", "--store", str(tmp_path / "s"))


def test_paths_and_urls() -> None:
    assert plain_name("file:///a%20b/c") == plain_name("file:/a b/c") == "/a b/c"
    assert plain_name("C:\\runs") == "C:\\runs"
    assert is_url("s3://bucket/x")
    assert not any(map(is_url, ("runs", "a:b", "C://x", "file:///x", "./s3:/x")))
    assert child("s3://b/x/?region=eu", "a?b") == "s3://b/x/a%3Fb?region=eu"
    with pytest.raises(InputError, match="names the machine host"):
        plain_name("file://host/x")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (f"s3://{BUCKET}/nothing/here.jsonl", "There is no file or folder"),
        (f"s3://{BUCKET}/nothing/*.jsonl", "No file matches"),
        ("s3://no-such-bucket/x.jsonl", "no-such-bucket"),
        ("hdfs://host:1/x.jsonl", "Cannot open hdfs://host:1"),
        ("what://host/x.jsonl", "Cannot open what://host"),
    ],
)
def test_urls_that_are_no_inputs(given: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        sources([given])


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    store = Store((tmp_path / "a b").as_uri())
    sweep.run(sample_job(PROFILE, lambda path: Path(path).as_uri()), store)
    assert len(Store(tmp_path / "a b").commits()) == 1
    manifest = json.loads((tmp_path / "a b" / store.commits()[0].id / MANIFEST).read_text())
    assert all(Path(one["path"]).exists() for one in manifest["inputs"])
