"""Limits on what a file may bring: long rows, many columns, files that grow when they are decompressed."""

from __future__ import annotations

import gzip
import hashlib
import json
import struct
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

import rageval_batch
from rageval_batch.errors import InputError
from rageval_batch.inputs import sources
from rageval_batch.inputs.readers import JsonDocument, blocks, json_documents, parquet, read_blocks, sheets
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import run
from support.effort import examples
from support.sheets import write_xlsx

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


def _found(file: sources.Source) -> dict[int, str]:
    """The reason or the raw text of each row by its line."""
    found = {}
    for one in read_blocks(file):
        bad = {error.row: error.reason for error in one.row_errors}
        assert len(one.field(("output",)).text) == len(one)
        for row, line in enumerate(one.lines.tolist()):
            assert line not in found
            found[line] = bad.get(row, one.raw(row))
    return found


SPACE = st.text(" \n\t", max_size=3)
ELEMENT = st.recursive(
    st.sampled_from(['1', 'null', '"x"', '"a,]}"', '"\\\\"', '"\\""', '"é"']),
    lambda below: st.lists(below, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
    | below.map(lambda part: f'{{"output": {part}}}'),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=examples(200))
@given(
    elements=st.lists(st.tuples(SPACE, ELEMENT | st.integers(0, 60).map(lambda n: f'{{"a": "{"x" * n}"}}'), SPACE)),
    limit=st.integers(12, 50), block=st.integers(1, 40), around=st.tuples(SPACE, SPACE),
    spoilt=st.sampled_from(["", "", "]", ",", "}", "x"]),
)  # fmt: skip
def test_an_array_is_read_in_pieces(
    elements: list[tuple[str, str, str]], limit: int, block: int, around: tuple[str, str], spoilt: str
) -> None:
    """Whatever the size of the buffer, rows, lines and errors are those of the file that is read whole."""
    inside = ",".join(before + element + behind for before, element, behind in elements)
    content = f"{around[0]}[{inside}{spoilt}]{around[1]}".encode()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_bytes(content)
        file = sources.with_row_limit(sources.source(path), limit)
        whole = JsonDocument(file.name, content, longest=limit)
        try:
            expected: object = [
                (line, bad.get(row, one.raw(row)))
                for one in whole.blocks()
                for bad in [{error.row: error.reason for error in one.row_errors}]
                for row, line in enumerate(one.lines.tolist())
            ]
        except InputError as error:
            expected = str(error)
        patch.setattr(blocks, "BLOCK_BYTES", block)
        patch.setattr(json_documents, "HEAD", len(around[0]) + 1)
        found: object
        try:
            found = [
                (line, bad.get(row, one.raw(row)))
                for one in read_blocks(file)
                for bad in [{error.row: error.reason for error in one.row_errors}]
                for row, line in enumerate(one.lines.tolist())
            ]
        except InputError as error:
            found = str(error)
    assert found == expected


def test_a_record_of_csv_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    path = tmp_path / "outputs.csv"
    path.write_text('question_id,output\nq0,alpha\nq1,"' + "x" * 5_000)
    source = sources.with_row_limit(sources.source(path), 1_000)
    with pytest.raises(InputError, match=r"line 3 has more than 1,000 bytes, or a quote in it is never closed"):
        list(read_blocks(source))
    path.write_text('question_id,output\nq0,al"pha\nq1,' + "x" * 5_000 + "\n")  # read record by record
    with pytest.raises(InputError, match=r"line 3 has more than 1,000 bytes, or a quote in it is never closed"):
        list(read_blocks(sources.with_row_limit(sources.source(path), 1_000)))


@pytest.mark.parametrize("last", ["\n", "", "\nq2,beta", "\r\nq2,beta\n\nq2,gamma\n"])
def test_a_long_record_of_csv_without_quotes_is_a_reject(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it is, its end is known: what stands before and behind it is read."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    monkeypatch.setattr("rageval_batch.inputs.readers.csv.HEAD", 16)
    path = tmp_path / "outputs.csv"
    path.write_text("question_id,output\nq0,alpha\nq1," + "x" * 9_000 + last)
    rows = _found(sources.with_row_limit(sources.source(path), 1_000))
    behind = [text.partition(",")[2] for text in last.split() if text]
    assert list(rows) == list(range(2, 4 + len(behind))) and rows[3] == "too_long"
    assert [json.loads(rows[line])["output"] for line in rows if line != 3] == ["alpha", *behind]
    path.write_text("question_id," + "x" * 9_000 + "\nq0,alpha\n")
    with pytest.raises(InputError, match="line 1 has more than 1,000 bytes"):
        list(read_blocks(sources.with_row_limit(sources.source(path), 1_000)))


LONG = [
    {"question_id": "q0", "output": "alpha"}, {"question_id": "q1", "output": "x" * 5_000},
    {"question_id": "q2", "output": "beta"},
]  # fmt: skip


def _write_rows(path: Path) -> Path:
    """Three rows, of which the second is long, in the format of the path."""
    table = pa.Table.from_pylist(LONG)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    elif path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".xlsx":
        write_xlsx(path, [list(LONG[0]), *(list(row.values()) for row in LONG)])
    elif path.suffix == ".eval":
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for k, row in enumerate(LONG):
                archive.writestr(f"samples/{k}.json", json.dumps(row))
    else:
        path.write_text(json.dumps(LONG, indent=1))
    return path


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "xlsx", "eval", "json"])
def test_a_long_row_of_every_format(ending: str, tmp_path: Path) -> None:
    """The row is a reject with its beginning; those before and behind it are read, and have their lines."""
    file = sources.source(_write_rows(tmp_path / f"rows.{ending}"))
    plain, found = _found(file), _found(sources.with_row_limit(file, 1_000))
    lines = list(plain)
    assert len(lines) == 3 and list(found) == lines
    assert "too_long" not in plain.values()
    assert found == {**plain, lines[1]: "too_long"}


def test_files_as_rows_that_are_too_long(tmp_path: Path) -> None:
    for k, row in enumerate(LONG):
        (tmp_path / f"{k}.json").write_text(json.dumps(row))
    (file,) = sources.sources([tmp_path], whole_json=True)
    (block,) = read_blocks(sources.with_row_limit(file, 1_000))
    assert [error.row for error in block.row_errors] == [1]
    assert block.raw(1) == json.dumps(LONG[1])[:4_096] + "…"
    assert block.field(("output",)).text.to_pylist() == [json.dumps(LONG[0]), None, json.dumps(LONG[2])]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_values_that_rows_share_are_not_made_for_all_at_once(ending: str, tmp_path: Path) -> None:
    """A text of 300 kB that stands in 400 rows is read some rows at a time; a longer one is rejected."""
    texts = pa.array(["x" * 300_000, "y" * 400_000])
    table = pa.table(
        {"output": pa.DictionaryArray.from_arrays(pa.array([0] * 399 + [1], pa.int32()), texts)}
    )  # fmt: skip
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    assert path.stat().st_size < 1_000_000
    sizes = []
    for block in read_blocks(sources.with_row_limit(sources.source(path), 350_000)):
        sizes.append(len(block))
        reasons = [error.reason for error in block.row_errors]
        assert reasons or block.field(("output",)).text.unique().to_pylist() == ["x" * 300_000]
    assert sum(sizes) == 400 and max(sizes) <= 4 * blocks.BLOCK_BYTES // 300_000 + 1 and reasons == ["too_long"]


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


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_zeros_behind_a_gzip_stream_are_no_part_of_it(kind: str, tmp_path: Path) -> None:
    """As `gzip` reads it; several streams in a row are one file, and other bytes behind them are an error."""
    rows = {"jsonl": '{"question_id": "q0"}\n', "csv": "question_id,output\nq0,alpha\n"}[kind].encode()
    path = tmp_path / f"outputs.{kind}.gz"
    for padding in (b"", bytes(1), bytes(7), bytes(20_000)):
        path.write_bytes(gzip.compress(rows) + padding)
        assert sum(map(len, read_blocks(sources.source(path)))) == 1
        assert sources.content_hash([sources.source(path)]).sha256 == hashlib.sha256(rows).hexdigest()
    path.write_bytes(gzip.compress(rows) + gzip.compress(b"\n") + bytes(512) + gzip.compress(rows) + bytes(512))
    assert sum(map(len, read_blocks(sources.source(path)))) == (2 if kind == "jsonl" else 3)
    for damaged in (gzip.compress(rows) + b"garbage", gzip.compress(rows)[:-9], gzip.compress(rows)[:14] + b"x" * 30):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"^Cannot read .*outputs"):
            list(read_blocks(sources.source(path)))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "xlsx", "eval"])
def test_a_file_with_its_own_compression_that_grows(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused by what the file says to hold, before anything of that size is made."""
    monkeypatch.setattr(sources, "_SMALL", 100_000)
    path = tmp_path / f"outputs.{ending}"
    table = pa.table({"question_id": ["q0"], "output": [" " * 20_000_000]})
    if ending == "parquet":
        pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    elif ending == "arrow":
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema, options=options) as writer:
            writer.write_table(table)
    else:
        name = {"xlsx": "xl/worksheets/sheet1.xml", "eval": "samples/0.json"}[ending]
        with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr(name, " " * 20_000_000)
    assert path.stat().st_size * 300 < 20_000_000
    with pytest.raises(InputError, match="grows to more than 250 times its size"):
        list(read_blocks(sources.source(path)))


def test_an_arrow_file_whose_offsets_lead_out_of_it(tmp_path: Path) -> None:
    """Refused before its texts are read from somewhere else in memory."""
    path = tmp_path / "rows.arrow"
    table = pa.table({"question_id": ["q0", "q1", "q2"], "output": ["alpha", "alpha", "alpha"]})
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    good, bad = struct.pack("<4i", 0, 5, 10, 15), struct.pack("<4i", 0, 5, 2_000_000_000, 15)
    assert path.read_bytes().count(good) == 1
    path.write_bytes(path.read_bytes().replace(good, bad))
    with pytest.raises(InputError, match=r"rows\.arrow: column output is no valid Arrow data .*Write the file anew"):
        list(read_blocks(sources.source(path)))


def test_a_sheet_with_a_cell_far_out(tmp_path: Path) -> None:
    """Two cells that span all rows and columns of a sheet are refused, not a table of 17 thousand million cells."""
    path = tmp_path / "outputs.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "question_id")
        sheet.write(1_048_575, 16_383, "far out")
    with pytest.raises(InputError, match=r"cells as far as row 1,048,576 and column 16,384, a table of 17,179,869,184"):
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


def test_a_question_id_that_is_too_long() -> None:
    """Every answer has a row with it: 64 answers of 1 MB each would be made of a file of one such question."""
    ids = ["a" * 8_192, "é" * 4_097]
    with pytest.raises(InputError, match=r"an id of 8,194 bytes.* at most 8,192 bytes") as caught:
        rageval_batch.score([], [{**QUESTIONS[0], "id": one} for one in ids], profile="include_rate")
    assert len(str(caught.value)) < 1_000
    rows = [{"question_id": ids[0], "output": "alpha"}]
    assert len(rageval_batch.score(rows, [{**QUESTIONS[0], "id": ids[0]}], profile="include_rate").scores) == 1


def _limited(path: Path, longest: int) -> list[int]:
    """The rows of each block of a file."""
    return [len(block) for block in read_blocks(sources.with_row_limit(sources.source(path), longest))]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_page_of_parquet_is_read_whole_and_so_limited(version: str, tmp_path: Path) -> None:
    """Of 64 texts of 100 kB, in one page or in one each, the pages that are too large are refused by their headers."""
    table = pa.table(
        {"question_id": [f"q{k}" for k in range(64)], "output": ["x" * 100_000 + str(k) for k in range(64)]}
    )
    path = tmp_path / "rows.parquet"
    named = {"use_dictionary": False, "data_page_version": version}
    pq.write_table(table, path, data_page_size=1 << 30, **named)
    with pytest.raises(InputError, match=r"column output has a page of 6,\d+,\d+ bytes.* 1,600,000 are allowed"):
        _limited(path, 200_000)
    assert sum(_limited(path, 1_000_000)) == 64
    pq.write_table(table, path, write_batch_size=1, **named)
    assert sum(_limited(path, 200_000)) == 64


@pytest.mark.parametrize("nested", [False, True])
def test_rows_of_parquet_are_read_as_many_at_once_as_fit(
    nested: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the widest page, or the longest of a dictionary of lists; batches are held to 100 kB here."""
    texts = [f"{k}" * (10_000 if k == 900 else 1) for k in range(1_000)]
    column = pa.array([[text, texts[900]] for text in texts] if nested else texts)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"output": column}), path, use_dictionary=nested, write_batch_size=10, data_page_size=10)
    monkeypatch.setattr(parquet, "COLUMN_BYTES", 100_000)
    asked: list[int] = []
    whole = pq.ParquetFile.iter_batches

    def noted(file: pq.ParquetFile, batch_size: int, **named: object) -> object:
        asked.append(batch_size)
        return whole(file, batch_size=batch_size, **named)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    rows = [text for block in read_blocks(sources.source(path)) for text in block.field(("output",)).text.to_pylist()]
    assert rows == ([json.dumps([text, texts[900]]).replace(" ", "") for text in texts] if nested else texts)
    assert 1 <= asked[0] <= (2 if nested else 70)


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_a_compressed_batch_of_arrow_is_limited(new: Callable[..., Any], tmp_path: Path) -> None:
    """One batch of everything is refused before it is made; without compression it is mapped, and read."""
    table = pa.table(
        {"question_id": [f"q{k}" for k in range(64)], "output": ["x" * 100_000 + str(k) for k in range(64)]}
    )
    path = tmp_path / "rows.arrow"
    for compression, rows in (("zstd", None), ("lz4", 8), (None, None)):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.OSFile(str(path), "wb") as out, new(out, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=rows)
        if compression == "zstd":
            with pytest.raises(InputError, match=r"has a batch of 6,\d+,\d+ bytes.* 1,600,000 are allowed"):
                _limited(path, 200_000)
        else:
            assert sum(_limited(path, 200_000)) == 64


def test_texts_that_cells_of_a_sheet_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of 30 kB in 100 cells is 3 MB where it is held; by what the cells refer to, not by what the file has."""
    path = tmp_path / "outputs.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["question_id", "output"])
        for k in range(1, 101):
            sheet.write_row(k, 0, [f"q{k}", "x" * 30_000])
    for block in (1_000, blocks.BLOCK_BYTES):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
        monkeypatch.setattr(sheets, "_MOST_BYTES", 2_900_000)
        with pytest.raises(InputError, match=r"sheet1.xml has 3,0\d\d,\d+ bytes, and a sheet is held whole"):
            list(read_blocks(sources.source(path)))
        monkeypatch.setattr(sheets, "_MOST_BYTES", 3_100_000)
        assert sum(len(one) for one in read_blocks(sources.source(path))) == 100


def test_columns_of_a_sheet_have_one_type_in_all_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rows of a block: numbers of a column that has texts elsewhere are texts."""
    rows = [[f"q{k}", k if k < 7 else "x", k if k else 0.5, None if k < 5 else k] for k in range(9)]
    path = write_xlsx(tmp_path / "outputs.xlsx", [["question_id", "a", "b", "c"], *rows])

    def read() -> list[tuple[str, list[str | None], list[int]]]:
        found: dict[str, tuple[list[str | None], list[int]]] = {}
        for block in read_blocks(sources.source(path)):
            for name in ("question_id", "a", "b", "c"):
                field = block.field((name,))
                texts, kinds = found.setdefault(name, ([], []))
                texts += field.text.to_pylist()
                kinds += field.kind.tolist()
        return [(name, *both) for name, both in found.items()]

    whole = read()
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    assert read() == whole
    assert whole[1][1] == [*map(str, range(7)), "x", "x"] and len(set(whole[1][2])) == 1
