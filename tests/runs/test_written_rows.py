"""Rows that are watched while they are written tell what their file tells."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_batch.cli import main
from rageval_batch.profiles.registry import get_profile
from rageval_batch.resources import samples_folder
from rageval_batch.runs.sorted_rows import SortedChunk
from rageval_batch.runs.store import Store
from rageval_batch.runs.written_rows import WrittenRows

PROFILE = get_profile("include_rate")
FOLDER = samples_folder() / "include_rate"


def scored(store: Path, outputs: Path) -> tuple[dict[str, bytes], list[str]]:
    """The files of the commit, and its warnings."""
    words = ["score", str(outputs), "-p", "include_rate", "-q", str(FOLDER / "questions.jsonl"), "--quiet"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--store", str(store)])
    assert stop.value.code == 0
    (commit,) = Store(store).commits()
    names = [path.name for path in commit.path.iterdir() if path.suffix == ".parquet"]
    return {name: (commit.path / name).read_bytes() for name in names}, commit.manifest["warnings"]


def write_answers(path: Path, answer: str) -> None:
    """Answers of three runs; two of them leave questions unanswered."""
    rows = [
        {"run_id": f"run-{k}", "question_id": name, "output": answer} for k in range(3) for name in question_ids()[k:]
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def question_ids() -> list[str]:
    lines = (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize("answer", ["an answer", ""], ids=["nothing to tell", "a reason that all share"])
def test_a_commit_is_the_same_as_of_the_file_read_again(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = tmp_path / "outputs.jsonl"
    write_answers(outputs, answer)
    watched, told = scored(tmp_path / "watched", outputs)
    monkeypatch.setattr(WrittenRows, "watch", lambda _, chunks: (chunk.rows for chunk in chunks))
    assert (watched, told) == scored(tmp_path / "read", outputs)
    assert bool(told) == (answer == "")


def test_rows_that_the_loops_do_not_take_leave_no_summary(tmp_path: Path) -> None:
    """Values that are not finite are for SQL; the rows go on all the same."""
    schema = pa.schema(
        [
            ("run_id", pa.large_string()),
            ("weight", pa.float64()),
            ("fail_reason", pa.large_string()),
            ("score", pa.float64()),
        ]
    )
    tables = [
        pa.table([[run], [weight], [None], [1.0]], schema)
        for run, weight in (("a", 1.0), ("b", float("inf")), ("c", 1.0))
    ]
    written = WrittenRows(PROFILE, schema, tmp_path / "summary.parquet", repeats=dict)
    assert list(written.watch(SortedChunk(rows, True) for rows in tables)) == tables
    assert not written.has_summary
    assert not (tmp_path / "summary.parquet").exists()
    written = WrittenRows(PROFILE, schema, tmp_path / "summary.parquet", repeats=dict)
    list(written.watch(SortedChunk(rows, True) for rows in tables[::2]))
    assert written.has_summary
    assert set(pq.read_table(tmp_path / "summary.parquet").column("run_id").to_pylist()) == {"a", "c"}
