"""Tables of more columns than are kept: columns behind those are read only where somebody asks for them by name, and
everything that a block says is what it says where all columns are read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.inputs import readers
from rageval_batch.inputs.readers import ColumnLimit, blocks, columns
from rageval_batch.inputs.sources import Source, frame_source, source
from rageval_batch.model.schemas import OUTPUT, QUESTION_ID, RUN_ID, OutputField
from support.effort import examples

KEPT = 4
KNOWN = frozenset({"run_id", "question_id", "output", "answer_json"})
FORMATS = ("parquet", "csv", "arrow", "frame")
NAMES = ("a", "a.b", "c", "d", "e.f", "g", "h", "run_id", "question_id", "output", "answer_json")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blocks, columns):
        monkeypatch.setattr(module, "MOST_COLUMNS", KEPT)


def _written(table: pa.Table, folder: Path, format: str) -> Source:
    path = folder / f"table.{format}"
    if format == "frame":
        return frame_source(table, "frame")
    if format == "parquet":
        pq.write_table(table, path, row_group_size=3)
    elif format == "arrow":
        with pa.ipc.new_file(path, table.schema) as out:
            out.write_table(table, max_chunksize=3)
    else:
        with path.open("w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(table.column_names)
            writer.writerows([["" if cell is None else cell for cell in row.values()] for row in table.to_pylist()])
    return source(str(path))


def _all_that_is_said(file: Source) -> list[Any]:
    """What the blocks of a file say of their fields and other columns; rows are numbered through."""
    limit = ColumnLimit()
    said: list[Any] = []
    for block in readers.read_blocks(file):
        fields = [block.field(names) for names in (RUN_ID, QUESTION_ID, OUTPUT, ("answer_json",))]
        said += [(field.text.to_pylist(), field.kind.tolist()) for field in fields]
        value = block.value(OutputField("answer_json"))
        said.append(None if value is None else value.to_pylist())
        said += [block.lines.tolist(), sorted(block.names), [block.has(name) for name in NAMES]]
        for rows in (None, np.arange(len(block)) % 2 == 0):
            found = block.others(KNOWN, rows=rows, limit=limit)
            said += [(one.name, one.rows.tolist(), one.text.to_pylist(), one.kind.tolist()) for one in found]
        said.append((list(limit.names), len(limit.left_out)))
    return said


cell = st.one_of(st.none(), st.sampled_from(["", "x", "yy", "é", "1", '["u"]', "a\nb"]))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    names = draw(st.permutations(NAMES).map(lambda found: found[: draw(st.integers(KEPT + 3, len(NAMES)))]))
    rows = draw(st.integers(1, 8))
    made = {}
    for name in names:
        empty = draw(st.booleans())
        cells = [None if empty and name not in KNOWN else draw(cell) for _ in range(rows)]
        made[name] = pa.array(cells, draw(st.sampled_from([pa.string(), pa.large_string()])))
    return pa.table(made)


@pytest.mark.parametrize("format", FORMATS)
def test_blocks_say_what_they_say_with_all_columns(
    format: str, tmp_path_factory: pytest.TempPathFactory, few: None
) -> None:
    folder = tmp_path_factory.mktemp("wide")

    @settings(max_examples=examples(60))
    @given(tables())
    def check(table: pa.Table) -> None:
        file = _written(table, folder, format)
        wide = _all_that_is_said(file)
        with pytest.MonkeyPatch.context() as patch:
            for module in ("columns", "parquet", "csv"):
                every = f"rageval_batch.inputs.readers.{module}.first_columns"
                patch.setattr(every, lambda names, *_: frozenset(names))
            assert wide == _all_that_is_said(file)

    check()


@pytest.mark.parametrize("format", ["parquet", "arrow", "frame"])
def test_nested_columns_are_read_on_demand_too(format: str, tmp_path: Path, few: None) -> None:
    """Structs, lists and maps are several columns of a Parquet file each."""
    rows = 7
    table = pa.table(
        {
            "a": [{"x": k, "y": [str(k)]} for k in range(rows)],
            "a.b": ["dotted"] * rows,
            "m": pa.array([[("k", k)] for k in range(rows)], pa.map_(pa.string(), pa.int64())),
            **{f"c{k}": [f"{k}-{row}" for row in range(rows)] for k in range(6)},
            "late": [{"x": [{"z": row}]} for row in range(rows)],
            "output": ["o"] * rows,
        }
    )
    file = _written(table, tmp_path, format)
    late: list[str | None] = []
    for block in readers.read_blocks(file):
        assert block.field(OUTPUT).text.to_pylist() == ["o"] * len(block)
        late += block.field(("late",)).text.to_pylist()
        kept = block.others(frozenset(["output"]), limit=ColumnLimit())
        assert [one.name for one in kept] == ["a", "a.b", "m", "c0"]
    assert late == [f'{{"x":[{{"z":{row}}}]}}' for row in range(rows)]


def test_columns_that_nobody_asks_for_are_not_read(tmp_path: Path, few: None) -> None:
    """Of a Parquet file pages behind the first columns may be damaged."""
    rows = 5
    made = {"output": ["o"] * rows, **{f"c{k}": [f"{k} {row}" for row in range(rows)] for k in range(8)}}
    pq.write_table(pa.table(made), tmp_path / "wide.parquet")
    metadata = pq.read_metadata(tmp_path / "wide.parquet")
    content = bytearray((tmp_path / "wide.parquet").read_bytes())
    for number in range(1 + KEPT, metadata.num_columns):
        chunk = metadata.row_group(0).column(number)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        content[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    (tmp_path / "wide.parquet").write_bytes(content)
    file, limit = source(str(tmp_path / "wide.parquet")), ColumnLimit()
    (block,) = readers.read_blocks(file)
    assert [one.name for one in block.others(KNOWN, limit=limit)] == ["c0", "c1", "c2", "c3"]
    assert list(limit.left_out) == ["c4", "c5", "c6", "c7"]


def _others(found: Sequence[readers.Column]) -> list[str]:
    return [one.name for one in found]


def test_a_column_that_another_file_has_first_is_found_behind_the_limit(tmp_path: Path, few: None) -> None:
    """Names that are kept already are read wherever they stand."""
    for name, order in {"one": range(8), "two": range(7, -1, -1)}.items():
        made = {f"c{k}": [f"{k}"] for k in order}
        pq.write_table(pa.table({"output": ["o"], **made}), tmp_path / f"{name}.parquet")
    limit = ColumnLimit()
    for name in ("one", "two"):
        (block,) = readers.read_blocks(source(str(tmp_path / f"{name}.parquet")))
        assert sorted(_others(block.others(KNOWN, limit=limit))) == ["c0", "c1", "c2", "c3"]
