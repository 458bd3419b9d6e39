"""Folders whose names look like Hive partitions (`score=99/`) change nothing that is read or shown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_batch.cli import main
from rageval_batch.resources import samples_folder
from rageval_batch.sql_text import parquet_reader
from support.command import run_command
from support.places import ROOT
from support.stores import publish, simple_run

PACKAGE = ROOT / "rageval_batch"
PARTITIONS = Path("score=99") / "run_id=other" / "commit=x" / "weight=3" / "question_id=q" / "output=o" / "input=7"
HIDDEN = ("commit", "created_at", "elapsed", "line", "input")


class Calls:
    """Runs commands with a store and inputs of one folder; what they print."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        shutil.copytree(samples_folder(), folder / "samples")

    def __call__(self, *words: str) -> tuple[int, Any]:
        filled = [word.replace("{}", str(self.folder / "samples")) for word in words]
        with pytest.raises(SystemExit) as left:
            main([*filled, "--store", str(self.folder / "runs"), "--format", "json"])
        said = self.capsys.readouterr()
        assert said.out, said.err
        return int(left.value.code or 0), _comparable(json.loads(said.out))


def _comparable(value: Any) -> Any:
    """What a command printed, without what differs from one commit to the next."""
    if isinstance(value, dict):
        return {name: _comparable(part) for name, part in value.items() if name not in HIDDEN}
    if isinstance(value, list):
        return [_comparable(part) for part in value]
    return value


def as_parquet(samples: Path) -> None:
    """The outputs and contexts of eval_json_v2 as Parquet: these are read by columns."""
    for path in sorted((samples / "eval_json_v2").rglob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
        path.unlink()


SCORED: tuple[tuple[str, ...], ...] = (
    ("score", "{}/eval_json_v2/outputs", "-p", "eval_json_v2", "-q", "{}/eval_json_v2/questions.json",
     "-c", "{}/eval_json_v2/contexts.parquet", "--prompt", "{}/eval_json_v2/prompt.md"),
    ("score", "{}/include_rate/outputs", "-p", "include_rate", "-q", "{}/include_rate/questions.jsonl"),
    ("score", "{}/judge_protocol/folder", "-p", "judge_protocol", "-q", "{}/judge_protocol/samples.jsonl"),
)  # fmt: skip
SHOWN: tuple[tuple[str, ...], ...] = (
    ("runs",),
    ("leaderboard",),
    ("gate", "--all", "-p", "eval_json_v2", "--allow-missing-provenance"),
    ("show", "adapter-weak"),
    ("compare", "baseline", "better"),
    ("explain", "adapter-weak", "tc-03"),
    ("explain", "baseline", "r01"),
    ("explain", "folder", "Q1", "--key", "judge_model=birch-8b", "--key", "output_id=dune-3b_Q1_A"),
    ("sql", "from scores order by all"),
    ("sql", "select run_id, kind, got, expected, n from tallies order by all"),
    ("rescore", "--all", "-p", "eval_json_v2", "--param", "soft_threshold=0.5"),
    ("rescore", "--all", "-p", "judge_protocol", "--param", "refusal_phrases=never"),
    ("sql", "from scores order by all"),
)


@pytest.mark.parametrize(
    "keep", [pytest.param(False, id="read again", marks=pytest.mark.soak), pytest.param(True, id="kept")]
)
def test_nothing_depends_on_the_names_of_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: bool
) -> None:
    """A store and inputs below score=99/run_id=other/… give what they give below plain folders."""
    plain, odd = Calls(tmp_path / "plain", capsys), Calls(tmp_path / PARTITIONS, capsys)
    for calls in (plain, odd):
        as_parquet(calls.folder / "samples")
    kept = ("--keep-inputs",) if keep else ()
    for words in SCORED:
        assert odd(*words, *kept) == plain(*words, *kept), words
    for words in SHOWN:
        want, got = plain(*words), odd(*words)
        assert want[0] in (0, 1), words
        assert json.dumps(got).replace(str(odd.folder), "") == json.dumps(want).replace(str(plain.folder), ""), words


def test_an_archive_below_such_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = Calls(tmp_path / "valid=false" / "input=5", capsys)
    words = ("score", "{}/judge_protocol/judgements.jsonl", "-p", "judge_protocol")
    assert calls(*words, "--archive", str(calls.folder / "out"))[0] == 0
    index = pq.read_table(calls.folder / "out" / "index.parquet", partitioning=None).to_pylist()
    assert {row["valid"] for row in index} == {True, False}
    assert {row["input"] for row in index} == {0}


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_named_file_below_such_folders(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sql --file` shows what the file has: no column of a folder's name, in place of one of its own or beside them."""
    folder = tmp_path / PARTITIONS
    folder.mkdir(parents=True)
    row = {"run_id": "mine", "score": 0.5, "k": 1}
    path = folder / f"notes.{ending}"
    texts = {"csv": ",".join(row) + "\n" + ",".join(map(str, row.values())), "jsonl": json.dumps(row)}
    pq.write_table(pa.Table.from_pylist([row]), path) if ending == "parquet" else path.write_text(texts[ending])
    publish(folder / "runs", {"r": simple_run(a=1.0)})
    words = ["sql", "from notes", "--file", f"notes={path}", "--store", folder / "runs", "--format", "json"]
    code, out, err = run_command(capsys, *words)
    assert (code, json.loads(out)) == (0, [row]), err


# Names that DuckDB takes for patterns, each with another name that it is the pattern of.
PATTERNS = (("f[1]", "f1"), ("f?", "f1"), ("f*", "f1"), ("f[!a]", "f1"), ("**", "f1"), ("f[[]1]", "f[1]"))


@pytest.mark.parametrize(("name", "other"), PATTERNS)
@pytest.mark.parametrize("every_file", [False, True])
def test_a_named_file_beside_one_that_its_name_is_a_pattern_of(
    name: str, other: str, every_file: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sql --file` reads the file that is named, whose name or folder may have any characters."""
    publish(tmp_path / "runs", {"r": simple_run(a=1.0)})
    for value, place in ((1, name), (100, other)):
        (tmp_path / place).mkdir()
        (tmp_path / f"{place}.csv").write_text(f"v\n{value}\n", encoding="utf-8")
        (tmp_path / place / "x.jsonl").write_text(json.dumps({"v": value}) + "\n", encoding="utf-8")
        pq.write_table(pa.table({"v": [value]}), tmp_path / f"{place}.parquet")
    more = ["--allow-files"] if every_file else []
    for file in (f"{name}.csv", f"{name}.parquet", f"{name}/x.jsonl"):
        words = ["sql", "from x", "--file", f"x={tmp_path / file}", "--store", tmp_path / "runs", "--format", "json"]
        code, out, err = run_command(capsys, *words, *more)
        assert (code, json.loads(out or "null")) == (0, [{"v": 1}]), err


@pytest.mark.parametrize(("name", "other"), PATTERNS)
def test_a_store_beside_a_copy_that_its_name_is_a_pattern_of(
    name: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commits of a copy have the same names; this one has other values."""
    publish(tmp_path / name, {"r": simple_run(a=1.0), "s": simple_run(a=0.5)}, with_summary=True)
    shutil.copytree(tmp_path / name, tmp_path / other)
    copied = [path for path in (tmp_path / other).rglob("*.parquet") if path.parent.name != ".index"]
    assert copied
    for path in copied:
        table = pq.read_table(path, partitioning=None)
        for k, field in enumerate(table.schema):
            if pa.types.is_floating(field.type):
                table = table.set_column(k, field, pa.array([99.0] * len(table), field.type))
        pq.write_table(table, path)
    for query in (
        "select run_id, score from scores order by run_id",
        "select run_id, score from leaderboard order by 1",
    ):
        code, out, err = run_command(capsys, "sql", query, "--store", tmp_path / name, "--format", "json")
        assert (code, [row["score"] for row in json.loads(out)]) == (0, [1.0, 0.5]), err


def test_every_reader_of_parquet_in_sql_is_built_by_one_function() -> None:
    """A `read_parquet` written elsewhere would detect partitions again."""
    found = [path for path in PACKAGE.rglob("*.py") if "read_parquet(" in path.read_text(encoding="utf-8")]
    # A function of that name, on Polars; and a process of its own that is measured.
    allowed = {"sql_text.py", "run_files.py", "raw_join.py"}
    assert {path.name for path in found} <= allowed
    measured = (PACKAGE / "bench" / "raw_join.py").read_text(encoding="utf-8")
    assert measured.count("read_parquet(") == measured.count("read_parquet($path, hive_partitioning = false)")
    views = [path for path in (PACKAGE.parent / "sql").rglob("*.sql") if "read_parquet" in path.read_text("utf-8")]
    assert not views


def test_the_reader_quotes_paths() -> None:
    assert parquet_reader([Path("a'b.parquet")]) == "read_parquet(['a''b.parquet'], hive_partitioning = false)"
    assert "['a[*][[]b][?].parquet']" in parquet_reader(["a*[b]?.parquet"])
    assert "filename = true, union_by_name = true" in parquet_reader(["x"], filename=True, union_by_name=True)


@pytest.mark.parametrize("name", ["~/runs", "~runs", "~"])
def test_a_folder_called_like_the_home_of_a_user(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shells expand such a name; what a command is given is the name of a folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    samples = samples_folder() / "include_rate"
    mixed = [line for path in sorted((samples / "outputs").iterdir()) for line in path.read_text("utf-8").splitlines()]
    Path("mixed.jsonl").write_text("\n".join(sorted(mixed, key=hash)), encoding="utf-8")  # which DuckDB sorts
    words = ["mixed.jsonl", "-p", "include_rate", "-q", str(samples / "questions.jsonl"), "--store", name]
    for line in (["score", *words], ["leaderboard", "--store", name], ["sql", "from scores", "--store", name]):
        with pytest.raises(SystemExit) as left:
            main(line)
        assert left.value.code == 0, capsys.readouterr().err
    assert not (tmp_path / "home").exists()
    assert Path(tmp_path, name).is_dir()
