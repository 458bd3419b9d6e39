"""Record batches as files: every value comes back, whatever it holds, and a failure leaves what was there."""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_batch.errors import InputError
from rageval_batch.report.cells import format_value, json_line, limit_text, value_text
from rageval_batch.report.formats import chosen_format, html_lines, markdown_lines
from rageval_batch.report.safe_text import csv_text_cell
from rageval_batch.report.writers import csv_text, row_dicts, text_chunks, to_arrow, write_file
from support.hostile import HOSTILE

TABLE = pa.table(
    {
        "text": ["=1+1", "a\rb", 'q",\n'],
        "number": [0.1, float("nan"), None],
        "whole": [1, 2**53 + 1, None],
        "yes": [True, None, False],
        "at": pa.array([datetime(2026, 1, 2, 3, 4, 5, 6, UTC), None, None], pa.timestamp("us", "UTC")),
        "day": [date(2026, 1, 2), None, None],
        "exact": [Decimal("1.50"), None, None],
        "list": [["a", "=b"], [], None],
        "map": pa.array([[("k", "v")], [], None], pa.map_(pa.string(), pa.string())),
    }
)


def reader() -> pa.RecordBatchReader:
    """The rows of the table in batches of one."""
    return pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=1))


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_csv(format: str, separator: str) -> None:
    text = "".join(text_chunks(reader(), format))
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    assert rows[0] == TABLE.column_names
    assert rows[1] == [
        "'=1+1",
        "0.1",
        "1",
        "true",
        "2026-01-02T03:04:05.000006+00:00",
        "2026-01-02",
        "1.50",
        '["a", "=b"]',
        '{"k": "v"}',
    ]
    assert rows[2][:4] == ["a\rb", "NaN", str(2**53 + 1), ""]
    assert rows[3][0] == 'q",\n' and len(rows) == 4


@given(st.lists(st.text(max_size=6) | st.sampled_from(HOSTILE), min_size=1))
def test_every_text_is_one_cell_of_a_csv(texts: list[str]) -> None:
    """The same as the rule for one cell; no text ends its row or begins a formula."""
    rows = [{"a": text, "b": k} for k, text in enumerate(texts)]
    read = list(csv.reader(io.StringIO(csv_text(rows, ("a", "b")), newline="")))[1:]
    assert read == [[csv_text_cell(text), str(k)] for k, text in enumerate(texts)]


def test_json_and_json_lines() -> None:
    rows = json.loads("".join(text_chunks(reader(), "json")))
    assert [json.loads(line) for line in "".join(text_chunks(reader(), "jsonl")).splitlines()] == rows
    assert [row["text"] for row in rows] == ["=1+1", "a\rb", 'q",\n']
    assert rows[1]["number"] is None
    empty = TABLE.slice(0, 0)
    assert "".join(text_chunks(empty.to_reader(), "json")) == "[]\n"
    assert "".join(text_chunks(empty.to_reader(), "jsonl")) == ""


def test_numbers_that_are_not_finite_are_not_missing() -> None:
    """But in JSON, which has none of them."""
    values = [math.inf, -math.inf, math.nan, None]
    rows = [{"x": value} for value in values]
    assert csv_text(rows, ["x"]).splitlines() == ["x", "inf", "-inf", "NaN"]
    assert [format_value(value) for value in values] == ["inf", "-inf", "NaN", "–"]
    assert [json.loads(json_line(value)) for value in values] == [None] * 4
    assert list(markdown_lines(rows, ["x"]))[2:] == ["| inf |", "| -inf |", "| NaN |", "| – |"]


def test_a_text_that_is_a_number_is_no_formula() -> None:
    texts = ["-1", "+1.5", "-2e-3", "-", "-1+1", "+a", "-1\n", "=1"]
    cells = [row[0] for row in csv.reader(io.StringIO(csv_text([{"x": text} for text in texts], ["x"]), newline=""))]
    assert cells[1:] == ["-1", "+1.5", "-2e-3", "'-", "'-1+1", "'+a", "'-1\n", "'=1"]


@pytest.mark.parametrize(
    ("value", "said"),
    [(-5e-7, "-5e-07"), (0.00004, "4e-05"), (-0.0, "0.0000"), (0.0, "0.0000"), (0.5, "0.5000"), (12.345, "12.35")],
)
def test_a_number_does_not_read_as_zero(value: float, said: str) -> None:
    assert format_value(value) == said


@pytest.mark.parametrize(
    ("value", "limit", "exact", "said"),
    [
        (0.49999999, 0.5, False, "0.49999999"),
        (0.49999999, 0.5, True, "0.49999999"),
        (0.4, 0.5, False, "0.4000"),
        (0.5, 0.5, False, "0.5000"),
        (3.0, 2.0, False, "3"),
        (None, 0.5, False, "–"),
    ],
)
def test_a_value_does_not_read_as_a_limit_that_it_is_not(
    value: float | None, limit: float, exact: bool, said: str
) -> None:
    assert value_text(value, limit, exact) == said
    assert float(limit_text(0.1 + 0.2)) == 0.1 + 0.2 and limit_text(0.5) == "0.5"


def test_excel_has_all_digits_of_a_double(tmp_path: Path) -> None:
    numbers = [0.1 + 0.2, 1e-300, 1 / 3, 5e-324, 123456789.123456789]
    write_file(to_arrow([{"x": value} for value in numbers], ["x"]).to_reader(), "xlsx", str(tmp_path / "x.xlsx"))
    assert [float(row[0]) for row in sheet(tmp_path / "x.xlsx")[1:]] == numbers


def test_parquet(tmp_path: Path) -> None:
    write_file(reader(), "parquet", str(tmp_path / "x.parquet"))
    assert pq.read_table(tmp_path / "x.parquet").drop_columns("number").equals(TABLE.drop_columns("number"))


def sheet(path: Path) -> list[list[str]]:
    """The cells of the first sheet of an Excel file, as they are written."""
    names = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    with zipfile.ZipFile(path) as book:
        root = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    assert not root.findall(".//m:f", names), "a formula"
    return [["".join(cell.itertext()) for cell in row.findall("m:c", names)] for row in root.findall(".//m:row", names)]


def test_excel(tmp_path: Path) -> None:
    write_file(reader(), "xlsx", str(tmp_path / "x.xlsx"))
    rows = sheet(tmp_path / "x.xlsx")
    assert rows[0] == TABLE.column_names
    assert rows[1][:4] == ["=1+1", "0.1", "1", "1"]
    assert rows[2][1:3] == ["NaN", str(2**53 + 1)], "a number that Excel would round is a text"
    hostile = to_arrow([{"a": text} for text in HOSTILE], ["a"])
    write_file(hostile.to_reader(), "xlsx", str(tmp_path / "h.xlsx"))
    assert len(sheet(tmp_path / "h.xlsx")) == len(HOSTILE) + 1


@pytest.mark.parametrize(("format", "says"), [("xlsx", "32,768 characters is too long"), ("csv", "wrong")])
def test_a_failure_leaves_what_was_there(tmp_path: Path, format: str, says: str) -> None:
    target = tmp_path / "x"
    target.write_text("before", encoding="utf-8")

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": ["x" * 32_768]})
        raise InputError("wrong")

    with pytest.raises(InputError, match=says):
        write_file(pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string()}), batches()), format, str(target))
    assert target.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Cannot write"):
        write_file(reader(), "csv", str(tmp_path / "none" / "x.csv"))


def test_values_of_several_types_become_text() -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": "x\udcff"}, {"a": "one", "b": None}, {"a": [1, "two"], "b": "y"}]
    found = to_arrow(rows, ("a", "b"))
    assert found.column("a").to_pylist() == ["1", "one", '[1, "two"]']
    assert found.column("b").to_pylist() == ["x\\udcff", None, "y"]


def test_a_page_of_html_holds_every_digit_and_no_markup_of_others() -> None:
    page = "\n".join(html_lines([{"<b>": "<script>", "x": 1 / 3}], ("<b>", "x")))
    assert "<script>" not in page and "<b>" not in page and repr(1 / 3) in page


@pytest.mark.parametrize(
    ("given_format", "target", "format"),
    [
        (None, None, "table"),
        (None, "x.txt", "table"),
        (None, "x", "table"),
        (None, "x.CSV", "csv"),
        (None, "a.b/x", "table"),
        (None, "x.jsonl", "jsonl"),
        (None, "x.md", "md"),
        ("json", "x.csv", "json"),
        (None, "x.xml", "junit"),
    ],
)
def test_the_format_is_that_of_the_ending_unless_given(
    given_format: str | None, target: str | None, format: str
) -> None:
    assert chosen_format(given_format, target, ("table", "json", "jsonl", "csv", "md", "junit")) == format


def test_an_ending_that_a_command_does_not_write() -> None:
    with pytest.raises(
        InputError, match=r"x\.unknown: no format has the ending \.unknown\. Known: \.json, \.txt; --form"
    ):
        chosen_format(None, "x.unknown", ("table", "json"))
    assert chosen_format("json", "x.unknown", ("table", "json")) == "json"
    with pytest.raises(InputError, match=r"does not write \.xlsx files\. It writes: table, json;"):
        chosen_format(None, "x.xlsx", ("table", "json"))


NUMBERS = "17014118346046923173168730371588410572", "12345678901234567890.123456789", "0.10", "1e-320"


def test_numbers_are_written_with_all_their_digits() -> None:
    """Whole numbers of any size are numbers of JSON, and decimals have the digits that they have."""
    whole, long, short, small = NUMBERS
    table = pa.table(
        {
            "whole": pa.array([Decimal(whole), None], pa.decimal128(38, 0)),
            "long": pa.array([Decimal(long), Decimal(0)], pa.decimal128(38, 9)),
            "nested": pa.array([[{"n": Decimal(short)}], []], pa.list_(pa.struct({"n": pa.decimal128(4, 2)}))),
            "small": pa.array([float(small), None]),
        }
    )
    (line, second) = "".join(text_chunks(table.to_reader(), "jsonl")).splitlines()
    assert line == f'{{"whole": {whole}, "long": {long}, "nested": [{{"n": {short}}}], "small": {small}}}'
    assert second == '{"whole": null, "long": 0.000000000, "nested": [], "small": null}'
    rows = row_dicts(table)
    assert list(markdown_lines(rows, table.column_names))[2] == (
        f'| {whole} | {long} | \\[{{"n": {short}}}\\] | {small} |'
    )
    assert "".join(text_chunks(table.to_reader(), "csv")).splitlines()[1] == (
        f'{whole},{long},"[{{""n"": {short}}}]",{small}'
    )


def test_an_empty_map_is_an_object_as_others_are() -> None:
    metadata = pa.array([[], [("a", "b")], None], pa.map_(pa.string(), pa.string()))
    table = pa.table({"meta": metadata})
    assert "".join(text_chunks(table.to_reader(), "jsonl")).splitlines() == [
        '{"meta": {}}', '{"meta": {"a": "b"}}', '{"meta": null}',
    ]  # fmt: skip
    assert "".join(text_chunks(table.to_reader(), "csv")).splitlines() == ["meta", "{}", '"{""a"": ""b""}"', ""]
    lists = pa.table({"m": pa.array([[([1], 2)]], pa.map_(pa.list_(pa.int64()), pa.int64()))})
    assert "".join(text_chunks(lists.to_reader(), "jsonl")) == '{"m": {"[1]": 2}}\n'


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_names_of_columns_are_cells_as_others_are(format: str, separator: str) -> None:
    names = ["a\r=1", "b\nc", "=d", 'e"f', f"g{separator}h", "==", "plain", "\rk", ""]
    table = pa.table([pa.array([1])] * len(names), names=names)
    text = "".join(text_chunks(table.to_reader(), format))
    head, row = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    assert head == [csv_text_cell(name) for name in names] and row == ["1"] * len(names)
    assert '"a\r=1"' in text


def test_metadata_of_runs_is_a_map_in_columns() -> None:
    table = to_arrow([{"meta": {}}, {"meta": {"a": "b"}}, {"meta": None}], ["meta"])
    assert table.schema.field("meta").type == pa.map_(pa.string(), pa.string())
    assert table["meta"].to_pylist() == [[], [("a", "b")], None]
