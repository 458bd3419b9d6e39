"""Files read in splits give the rows, lines, errors and columns of the whole files, whatever their bytes."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_batch.errors import InputError
from rageval_batch.inputs import readers, splits
from rageval_batch.inputs.outputs import has_run_column
from rageval_batch.inputs.readers import Block, blocks
from rageval_batch.inputs.sources import Source, source, with_row_limit
from rageval_batch.model.schemas import OUTPUT, QUESTION_ID, RUN_ID

PIECES = [
    b'{"run_id": "a", "question_id": "q1", "output": "x"}',
    b'{"question_id": 2, "output": {"a": [1, null]}, "n": 1.5}',
    b'{"output": "\xc3\xa9\xe2\x80\xa8", "tag": true}',
    b'{"output": "cut',
    b'"}',
    b"null",
    b"[1]",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\r",
    b" \t",
    b"x" * 70,
    b"\n",
    b"\n",
    b"\r\n",
]
LINES = st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join)
CSV_LINES = st.lists(st.sampled_from([piece for piece in PIECES if piece != b"\xff\xfe"]), max_size=24).map(b"".join)
CELL = st.one_of(st.none(), st.sampled_from([b"a", b"\xff", "é".encode(), b""]))


def rows_of(found: Iterable[Block]) -> list[Any]:
    """Every row with all that its readers say of it."""
    out = []
    for block in found:
        errors = {error.row: (error.reason, error.detail) for error in block.row_errors}
        fields = [block.field(names) for names in (RUN_ID, QUESTION_ID, OUTPUT)]
        others: list[dict[str, str]] = [{} for _ in range(len(block))]
        for column in block.others(frozenset({*RUN_ID, *QUESTION_ID, *OUTPUT})):
            for row, text in zip(column.rows.tolist(), column.text.to_pylist(), strict=True):
                others[row][column.name] = text
        for row, line in enumerate(block.lines.tolist()):
            values = [(field.text[row].as_py(), int(field.kind[row])) for field in fields]
            out.append((line, errors.get(row), block.raw(row), values, others[row]))
    return out


def assert_splits_give_the_whole(file: Source) -> int:
    """The rows of all splits are those of the file; how many splits there are. A file that cannot be read whole is
    refused when it is measured, for the same reason."""
    try:
        whole = rows_of(readers.read_blocks(file))
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            rows_of(readers.read_blocks(splits.split_source(file).source))
        return 1
    found = splits.split_source(file)
    parts = [block for part in found.parts for block in readers.read_blocks(found.source, part=part)]
    assert rows_of(parts) == whole
    assert found.has_run == has_run_column(file, readers.read_blocks(file))
    return len(found.parts)


@settings(max_examples=40)
@given(LINES, st.booleans(), st.integers(1, 90), st.integers(1, 200), st.integers(20, 120))
@example(b"\xef\xbb\xbf" + PIECES[0] + b"\n" + PIECES[1], False, 1, 1, 120)
@example(b"x" * 500 + b"\n" + PIECES[0] + b"\n" + b"y" * 500, False, 16, 1, 20)
def test_json_lines(content: bytes, packed: bool, block: int, split: int, longest: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block)
        patch.setattr(splits, "SPLIT_BYTES", split)
        path = Path(folder) / ("a.jsonl.gz" if packed else "a.jsonl")
        path.write_bytes(gzip.compress(content) if packed else content)
        file = with_row_limit(source(path), longest)
        count = assert_splits_give_the_whole(file)
        assert count == 1 or not packed


@given(CSV_LINES, st.sampled_from([".csv", ".tsv", ".csv.gz"]), st.integers(8, 90))
def test_cells(content: bytes, ending: str, block: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block)
        path = Path(folder) / f"a{ending}"
        text = b"question_id,output,n\n" + content
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
        assert assert_splits_give_the_whole(source(path)) == 1


@given(
    st.lists(st.tuples(CELL, CELL, CELL), max_size=12),
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([1, 120, 1 << 20]),
)
@example([(b"q", b"x", b"\xff")], 1, 1, 1)
def test_row_groups(rows: list[tuple[bytes | None, ...]], group: int, block: int, split: int) -> None:
    """Bytes that are not UTF-8 make a row unusable in a field, and in no other column."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_ROWS", block)
        patch.setattr(splits, "SPLIT_BYTES", split)
        names = ("question_id", "output", "blob")
        columns = {name: pa.array([row[k] for row in rows], pa.binary()) for k, name in enumerate(names)}
        path = Path(folder) / "a.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=group)
        count = assert_splits_give_the_whole(source(path))
        assert split > 1 or count == -(-len(rows) // group) or not rows
