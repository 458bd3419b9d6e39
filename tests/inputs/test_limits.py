"""Limits on what a file may bring: long rows, many columns, files that grow when they are decompressed."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rageval_batch
from rageval_batch.errors import InputError
from rageval_batch.inputs import sources
from rageval_batch.inputs.readers import blocks, read_blocks
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import run
from support.effort import examples

QUESTIONS = [{"id": f"q{k}", "question": "?", "must_include": ["alpha"]} for k in range(3)]


@settings(max_examples=examples(200))
@given(
    lengths=st.lists(st.integers(0, 60), max_size=12), limit=st.integers(12, 50), block=st.integers(1, 40),
    last=st.sampled_from(["", "\n"]),
)  # fmt: skip
def test_rows_that_are_too_long(lengths: list[int], limit: int, block: int, last: str) -> None:
    """Whatever the size of the buffer: a row is read if it is no longer than the limit, and has its line."""
    lines = [json.dumps({"a": "x" * n}) if n else "" for n in lengths]
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(blocks, "BLOCK_BYTES", block)
        path = Path(folder) / "rows.jsonl"
        path.write_text("\n".join(lines) + last)
        source = sources.with_row_limit(sources.source(path), limit)
        found = {}
        for one in read_blocks(source):
            bad = {error.row: error.reason for error in one.row_errors}
            for row, line in enumerate(one.lines.tolist()):
                found[line] = bad.get(row, one.raw(row))
    expected = {k: line if len(line) <= limit else "too_long" for k, line in enumerate(lines, 1) if line}
    assert found == expected


def test_a_row_that_is_too_long_is_a_reject_with_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    rows = [{"run_id": "r", "question_id": f"q{k}", "output": "alpha" + " beta" * 2_000 * k} for k in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    profile = rageval_batch.PROFILES["include_rate"]
    job = Job(
        profile=profile,
        params=profile.read_params({}),
        outputs=[sources.with_row_limit(sources.source(path), 15_000)],
        questions=[sources.source(tmp_path / "questions.jsonl")],
    )
    outcome = run(job, Store(tmp_path / "runs"))
    assert outcome.reject_reasons == {"too_long": 1}
    with rageval_batch.open_store(tmp_path / "runs") as session:
        (reject,) = session.sql("select line, reason, raw from rejects").to_pylist()
    assert (reject["line"], reject["reason"]) == (3, "too_long")
    assert reject["raw"] == json.dumps(rows[2])[:4_096] + "…"
    assert run(replace(job, outputs=[sources.source(path)]), Store(tmp_path / "runs")).created  # another limit


def test_a_record_of_csv_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    path = tmp_path / "outputs.csv"
    path.write_text('question_id,output\nq0,alpha\nq1,"' + "x" * 5_000)
    source = sources.with_row_limit(sources.source(path), 1_000)
    with pytest.raises(InputError, match=r"line 3 has more than 1,000 bytes, or a quote in it is never closed"):
        list(read_blocks(source))


@pytest.mark.parametrize("ending", ["gz", "zst"])
@pytest.mark.parametrize("kind", ["jsonl", "csv", "json"])
def test_a_file_that_grows_beyond_all_measure(
    ending: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_SMALL", 100_000)
    path = tmp_path / f"outputs.{kind}.{ending}"
    heads = {"jsonl": "", "csv": "question_id,output\n", "json": "["}
    with pa.output_stream(str(path), compression="gzip" if ending == "gz" else "zstd") as out:
        out.write((heads[kind] + '{"question_id": "q0"}').encode() + b" " * 20_000_000)
    assert path.stat().st_size * 300 < 20_000_000
    with pytest.raises(InputError, match="grows to more than 250 times its size"):
        list(read_blocks(sources.source(path)))


def test_more_columns_than_a_table_has(tmp_path: Path) -> None:
    """Of a row with 5,000 other keys the first thousand are kept, whatever the block; the scores are the same."""
    rows = [
        {"run_id": "r", "question_id": f"q{k}", "output": "alpha", **{f"k{n}": n + k for n in range(k, k + 5_000)}}
        for k in range(2)
    ]
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS))
    profile = rageval_batch.PROFILES["include_rate"]
    job = Job(
        profile=profile, params=profile.read_params({}), outputs=[sources.source(path)],
        questions=[sources.source(tmp_path / "questions.jsonl")],
    )  # fmt: skip
    outcome = run(job, Store(tmp_path / "runs"))
    (warning,) = [one for one in outcome.warnings if "columns" in one]
    assert "more than 1,000 columns" in warning
    (extras,) = outcome.commit.files("extras")
    names = set(pq.read_schema(extras).names)
    assert {f"k{n}" for n in range(1, 1_000)} <= names and "k1000" not in names
