"""CSV: whatever is written as CSV is read as Python's reader reads it; what is no record is a row error or an error."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks, read_blocks
from rageval_batch.inputs.sources import source
from support.effort import examples
from support.inputs import put

CELLS = st.text(st.sampled_from('ab ,;"\n\tя門'), max_size=6)


def read(path: Path) -> tuple[list[list[Any]], list[tuple[int, str]]]:
    """(line and cells of every row, line and reason of every row error)"""
    rows, errors = [], []
    for block in read_blocks(source(path)):
        bad = {error.row for error in block.row_errors}
        errors += [(int(block.lines[error.row]), error.reason) for error in block.row_errors]
        columns = [block.field((name,)).text.to_pylist() for name in ("question_id", "output")]
        rows += [
            [int(line), *cells]
            for k, (line, *cells) in enumerate(zip(block.lines, *columns, strict=True))
            if k not in bad
        ]
    return sorted(rows), sorted(errors)


def written(records: list[list[str]], delimiter: str, ends: str) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=ends)
    writer.writerow(["question_id", "output"])
    writer.writerows(records)
    return out.getvalue()


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([16, 64, 8 << 20]),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str]], delimiter: str, ends: str, size: int
) -> None:
    """Any cells, with any delimiter, in blocks of any size."""
    path = tmp_path_factory.mktemp("csv") / "o.csv"
    given_records = [["x" + a, b] for a, b in records]  # a record of blank cells may be a blank line
    path.write_bytes(written(given_records, delimiter, ends).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        rows, errors = read(path)
    assert errors == []
    wanted = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), delimiter=delimiter))[1:]
    assert rows == [[k, *cells] for k, cells in enumerate(wanted, start=2)]


@pytest.mark.parametrize("size", [16, 8 << 20])
def test_quotes_inside_cells_do_not_swallow_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A cell that does not begin with a quote may have some."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    path = put(tmp_path / "o.csv", 'question_id,output\n1,a 5" pipe\n2,"b, c"\n3,6" and 7"\n4,d\n')
    assert read(path) == ([[2, "1", 'a 5" pipe'], [3, "2", "b, c"], [4, "3", '6" and 7"'], [5, "4", "d"]], [])


def test_a_quote_that_is_closed_in_the_wrong_place_is_a_reject(tmp_path: Path) -> None:
    """The record is told with its raw text; the others are read."""
    path = put(tmp_path / "o.csv", 'question_id,output\n1,"a" b\n2,c\n')
    assert read(path) == ([[3, "2", "c"]], [(2, "malformed_csv")])


@pytest.mark.parametrize("content", ['question_id,output\n1,"a\n2,b\n', 'question_id,output\n1,5" x\n2,"b\n3,c\n'])
@pytest.mark.parametrize("size", [16, 8 << 20])
def test_a_quote_that_is_never_closed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, size: int
) -> None:
    """No row disappears in a cell."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    line = 1 + content[: re.search(r',"', content).start()].count("\n")  # type: ignore[union-attr]
    with pytest.raises(InputError, match=f"line {line} is never closed"):
        read(put(tmp_path / "o.csv", content))


def test_a_record_of_the_wrong_width_with_bytes_that_are_no_text_is_a_reject(tmp_path: Path) -> None:
    """Arrow drops such a record, as it cannot show it; all others are read as before."""
    rows = [f"q{k},ä alpha".encode() for k in range(300)]
    path = put(tmp_path / "outputs.csv", b"\n".join([b"question_id,output", *rows, b"q1,x,y\xff", b"q2,\xff", b"q3,z"]))
    found: dict[int, str] = {}
    for block in read_blocks(source(path)):
        bad = {error.row: error.reason for error in block.row_errors}
        found |= {line: bad.get(row) or block.raw(row) for row, line in enumerate(block.lines.tolist())}
    assert len(found) == 303 and [found[302], found[303]] == ["malformed_csv", "not_utf8"]
    assert found[304] == '{"question_id": "q3", "output": "z"}'


def test_columns_without_a_name_are_called_by_their_place(tmp_path: Path) -> None:
    path = put(tmp_path / "o.csv", ",question_id,output,\n0,1,a,\n")
    (block,) = read_blocks(source(path))
    assert block.names == {"column 1", "question_id", "output", "column 4"}


# --- what old systems and Excel write -------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("said", ["", "sep=;", "SEP=|", "sep=,"])
@pytest.mark.parametrize("quoted", ["be;ta", 'be"ta', "bêta"])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_ends_of_lines_and_a_line_that_names_the_delimiter(
    end: str, said: str, quoted: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
    delimiter = said[4:] or ","
    cell = '"' + quoted.replace('"', '""') + '"'
    records = [["question_id", "output"], ["q0", "alpha"], ["q1", cell], ["q2", "a", "b"], ["q3", "x"]]
    lines = [*([said] if said else []), *(delimiter.join(record) for record in records)]
    path = tmp_path / "outputs.csv"
    path.write_bytes("".join(line + end for line in lines).encode())
    found: dict[int, object] = {}
    for block_ in read_blocks(source(path)):
        bad = {error.row for error in block_.row_errors}
        texts = block_.field(("output",)).text.to_pylist()
        found |= {line: "bad" if k in bad else texts[k] for k, line in enumerate(block_.lines.tolist())}
    first = 3 if said else 2
    assert found == dict(enumerate(["alpha", quoted, "bad", "x"], first))
