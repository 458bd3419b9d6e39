"""Files of every format into answers and rejects: the same rows from all of them, none lost and none counted twice."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.text import strip
from rageval_batch.errors import InputError
from rageval_batch.inputs import eval_sets, sources
from rageval_batch.inputs.by_question import QuestionRows
from rageval_batch.inputs.outputs import Ingest
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.sources import Source
from rageval_batch.model import schemas
from rageval_batch.model.schemas import BATCH, REJECTS, EvalSet
from support import inputs
from support.effort import examples
from support.inputs import Rows, plain_set, put
from support.strategies import DAMAGED_TEXTS, MIXED

QUESTIONS = plain_set("q1", "q2", "q3", "七")


@dataclass(frozen=True)
class Read:
    """All that ingesting gave."""

    rows: list[dict[str, Any]]
    rejects: list[dict[str, Any]]
    count: int
    metadata: dict[str, dict[str, str]]
    answered: dict[str, list[bool]]
    repeats: dict[str, int]

    @property
    def keys(self) -> list[tuple[str, str, int, str | None]]:
        """(run, question, repeat, output) of every answer."""
        return [(row["run_id"], QUESTIONS.ids[row["question"]], row["repeat"], row["output"]) for row in self.rows]

    @property
    def reasons(self) -> list[tuple[int, str]]:
        """(line, reason) of every reject."""
        return [(reject["line"], reject["reason"]) for reject in self.rejects]


def read(files: list[Source], eval_set: EvalSet = QUESTIONS, runs: frozenset[str] | None = None) -> Read:
    """Ingest files; the count identity holds for every block."""
    rows = QuestionRows(eval_set.ids)
    ingest = Ingest(files, rows, runs)
    blocks = list(ingest.blocks())
    for block in blocks:
        assert block.batch.schema == BATCH
        assert block.rejects.schema == REJECTS
        assert block.rows == block.batch.num_rows + block.rejects.num_rows
    return Read(
        [row for block in blocks for row in block.batch.to_pylist()],
        [row for block in blocks for row in block.rejects.to_pylist()],
        sum(block.rows for block in blocks),
        {run: ingest.counts.metadata_of(run) for run in ingest.counts.values},
        {run: flags.tolist() for run, flags in rows.answered().items()},
        dict(rows.repeats()),
    )


def read_paths(*paths: Path | str) -> Read:
    """Ingest what names stand for."""
    return read(sources.sources(paths))


SIZES = [(7, 1), (40, 2), (301, 3)]
CSV_SIZES = [(4096, 1), (512, 2)]  # Arrow wants at least one record in a block


def in_blocks(monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]) -> None:
    """Make blocks of so many bytes and rows."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size[0])
    monkeypatch.setattr(blocks, "BLOCK_ROWS", size[1])


# --- formats --------------------------------------------------------------------------------------------------------

ROWS: list[dict[str, Any]] = [
    {"run_id": "r1", "question_id": "q1", "repeat": 0, "output": '{"a": "門禁 \\"x\\""}', "model_id": "m"},
    {"run_id": "r1", "question_id": "七", "repeat": 0, "output": "line\none, \ttwo", "model_id": "m"},
    {"run_id": "r2", "question_id": "q1", "repeat": 0, "output": "😀\u3000𠀀", "model_id": "m"},
    {"run_id": "r2", "question_id": "q1", "repeat": 2, "output": "'quoted' \"twice\"", "model_id": "n"},
    {"run_id": "r2", "question_id": "q3", "repeat": 0, "output": " , ", "model_id": "n"},
]
KEYS = [(row["run_id"], row["question_id"], row["repeat"], row["output"]) for row in ROWS]


def check_rows(found: Read) -> None:
    """All of ROWS, no reject."""
    assert found.keys == KEYS
    assert found.rejects == []
    assert found.count == len(ROWS)
    assert found.metadata == {"r1": {"model_id": "m"}, "r2": {}}
    assert found.answered == {"r1": [True, False, False, True], "r2": [True, False, True, False]}
    assert found.repeats == {"r1": 1, "r2": 2}
    assert [row["chunks"] for row in found.rows] == [None] * len(ROWS)
    assert {row["input"] for row in found.rows} == {0}


@pytest.mark.parametrize("kind", inputs.WRITERS)
def test_every_format_gives_the_same_answers(kind: str, tmp_path: Path) -> None:
    found = read_paths(inputs.write(tmp_path, "outputs", kind, ROWS))
    check_rows(found)
    if kind not in ("json", "json_gz", "json_zst", "json_object", "json_indented"):
        first = 2 if kind.startswith("csv") else 1
        assert [row["line"] for row in found.rows] == list(range(first, first + len(ROWS)))
    if kind == "json_indented":
        assert [row["line"] for row in found.rows] == [2 + 7 * k for k in range(len(ROWS))]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [kind for kind in inputs.WRITERS if not kind.startswith("csv")])
def test_small_blocks_change_nothing(
    kind: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = inputs.write(tmp_path, "outputs", kind, ROWS * 3)
    whole = read_paths(path)
    in_blocks(monkeypatch, size)
    assert read_paths(path) == whole
    assert len(whole.rejects) == 2 * len(ROWS)


@pytest.mark.parametrize("size", CSV_SIZES)
def test_small_blocks_of_csv_change_nothing(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = inputs.write(tmp_path, "outputs", "csv", ROWS * 30)
    whole = read_paths(path)
    in_blocks(monkeypatch, size)
    assert read_paths(path) == whole


FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
    "arrow": lambda: pa.Table.from_pylist(ROWS),
    "batch": lambda: pa.RecordBatch.from_pylist(ROWS),
    "pandas": lambda: pd.DataFrame(ROWS),
    "list": lambda: ROWS,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("size", [(8 << 20, 16_384), (7, 1)])
def test_frames_give_the_same_answers(kind: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch, size)
    check_rows(read([sources.frame_source(FRAMES[kind](), "outputs")]))


def test_frames_of_one_content_have_one_hash() -> None:
    hashes = {sources.content_hash([sources.frame_source(make(), kind)]).sha256 for kind, make in FRAMES.items()}
    assert len(hashes) == 1
    assert {sources.frame_source(make(), kind).with_hash().sha256 for kind, make in FRAMES.items()} == hashes


def test_no_frame_is_refused() -> None:
    with pytest.raises(InputError, match="outputs: int is no frame"):
        sources.frame_source(5, "outputs")


def test_folders_and_globs(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    inputs.write(tmp_path, "one", "jsonl", ROWS[:2])
    inputs.write(tmp_path / "deep" / "er", "two", "parquet", ROWS[2:])
    put(tmp_path / ".hidden" / "three.jsonl", ROWS)
    put(tmp_path / "notes.txt", "nothing")
    globs = [str(tmp_path / "*.jsonl"), str(tmp_path / "**" / "tw?.parquet")]
    for names in ([str(tmp_path)], globs, [str(tmp_path / "one.jsonl"), str(tmp_path / "deep")]):
        found = read(sources.sources(names))
        assert sorted(found.keys) == sorted(KEYS)
        assert found.rejects == []


@pytest.mark.parametrize("whole_json", [False, True])
def test_a_file_that_is_written_in_two_ways_is_taken_once(
    whole_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the shortest, whatever the order; a link to it is another."""
    (tmp_path / "x").mkdir()
    for name in ("a.jsonl", "x/b.json"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "link.jsonl").symlink_to("a.jsonl")
    monkeypatch.chdir(tmp_path)
    names = ["a.jsonl", "x/../a.jsonl", str(tmp_path / "a.jsonl"), "link.jsonl", "x/b.json", "x/../x/b.json"]
    for several in (names, names[::-1]):
        found = sources.sources(several, whole_json)
        assert [(file.name, file.members) for file in found] == [
            ("a.jsonl", ()), ("link.jsonl", ()), ("x", ("b.json",)) if whole_json else ("x/b.json", ()),
        ]  # fmt: skip


def test_files_are_taken_once_and_in_the_order_of_their_paths(tmp_path: Path) -> None:
    paths = [put(tmp_path / f"{name}.jsonl", ROWS) for name in ("b", "a", "c")]
    names = [file.name for file in sources.sources([*paths, tmp_path, str(tmp_path / "*.jsonl")])]
    assert names == sorted(map(str, paths))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.jsonl", "no file"),
        ("no*.jsonl", "No file matches"),
        ("empty", "has no file that can be read"),
        ("a.txt", "Cannot tell the format"),
        ("a.parquet.gz", "Decompress it first"),
    ],
)
def test_files_that_cannot_be_meant(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    put(tmp_path / "a.txt", "")
    put(tmp_path / "a.parquet.gz", "")
    with pytest.raises(InputError, match=message):
        sources.sources([str(tmp_path / name)])


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", ".jsonl.gz", ".jsonl.zst", ".csv.gz", ".json.gz"])
def test_damaged_files_are_named(ending: str, tmp_path: Path) -> None:
    path = put(tmp_path / f"bad{ending}", b"\x01garbage that is no file of that kind at all, but long enough")
    with pytest.raises(InputError, match=f"bad{ending}"):
        read_paths(path)


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".json", ".csv", ".jsonl.gz"])
def test_empty_files_are_named_or_have_no_rows(ending: str, tmp_path: Path) -> None:
    path = put(tmp_path / f"void{ending}", b"")
    try:
        found = read_paths(path)
    except InputError as error:
        assert f"void{ending}" in str(error)
    else:
        assert (found.rows, found.rejects, found.count) == ([], [], 0)


def test_a_compressed_file_that_breaks_off_is_named(tmp_path: Path) -> None:
    path = inputs.write(tmp_path, "cut", "jsonl_gz", ROWS * 500)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cut"):
        read_paths(path)


def test_hashes_are_of_the_decompressed_content(tmp_path: Path) -> None:
    plain, packed, other = (inputs.write(tmp_path, "q", kind, ROWS) for kind in ("jsonl", "jsonl_gz", "json"))
    digests = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in (plain, packed, other)}
    assert sources.content_hash(sources.sources([plain])).sha256 == digests[plain]
    assert sources.content_hash(sources.sources([packed])).sha256 == digests[plain]
    joined = "\n".join(sorted([digests[plain], digests[other]])).encode()
    assert sources.content_hash(sources.sources([other, packed])).sha256 == hashlib.sha256(joined).hexdigest()
    assert sources.source(packed).with_hash().sha256 == digests[packed]
    sha1 = hashlib.sha1(plain.read_bytes()).hexdigest()
    assert eval_sets.identity(sources.sources([packed])) == eval_sets.Identity("q", f"q@{sha1[:12]}", digests[plain])


# --- rejects --------------------------------------------------------------------------------------------------------

GOOD = {"run_id": "r", "question_id": "q1", "output": "x"}


def row(**changes: Any) -> str:
    """A good row with fields changed; `...` leaves one out."""
    changed = {**GOOD, **changes}
    return json.dumps({name: value for name, value in changed.items() if value is not ...}, ensure_ascii=False)


REJECTED: list[tuple[str | bytes, str, str]] = [
    ('{"run_id": "r", "question_id": "q2", "output": "x', "malformed_json", "ends in the middle of a value"),
    ('{"run_id": "r", "question_id": "q2", "output": "x"} {}', "malformed_json", "something follows the value"),
    ("nonsense", "malformed_json", "unexpected character at byte 0"),
    ('{"run_id": "r", "question_id": "q2", "output": "\\ud83d"}', "malformed_json", "lone surrogate"),
    ('{"run_id": "r", "question_id": "q2", "output": "\x00"}', "malformed_json", "raw control character"),
    ('{"run_id": "r", "question_id": "q2", "output": NaN}', "malformed_json", "unexpected character"),
    ('{"run_id": "r", "question_id": "q2",}', "malformed_json", "unexpected character"),
    ("[1, 2]", "not_object", "no object"),
    ('"text"', "not_object", "no object"),
    ("null", "not_object", "no object"),
    (b'{"run_id": "r", "question_id": "q2", "output": "\xff\xfe"}', "not_utf8", "not UTF-8"),
    (b'{"run_id": "r", "question_id": "q2", "output": "\xed\xa0\x80"}', "not_utf8", "not UTF-8"),
    (b"\xc3", "not_utf8", "not UTF-8"),
    (row(run_id=None), "null_run_id", "no run_id"),
    (row(run_id=...), "null_run_id", "no run_id"),
    (row(run_id=""), "null_run_id", "no run_id"),
    (row(run_id=["r"]), "bad_run_id", "a text or number is wanted"),
    (row(run_id=True), "bad_run_id", "a text or number is wanted"),
    (row(question_id=None), "null_question_id", "question_id"),
    (row(question_id=...), "null_question_id", "question_id"),
    (row(question_id=""), "null_question_id", "question_id"),
    (row(question_id={"id": "q1"}), "bad_question_id", "a text or number is wanted"),
    (row(question_id=["q1"]), "bad_question_id", "a list"),
    (row(question_id=False), "bad_question_id", "false"),
    (row(repeat=-1), "bad_repeat", "whole number"),
    (row(repeat=1.5), "bad_repeat", "whole number"),
    (row(repeat="x"), "bad_repeat", "whole number"),
    (row(repeat=True), "bad_repeat", "whole number"),
    (row(repeat=[1]), "bad_repeat", "whole number"),
    (row(repeat=10**12), "bad_repeat", "whole number"),
    (row(question_id="q9"), "unknown_question", "'q9'"),
    (row(question_id="Q1"), "unknown_question", "'Q1'"),
    (row(question_id="q1\u0000"), "unknown_question", "q1\0"),
    (row(), "duplicate", "'r'"),
    (row(repeat=0, output="other"), "duplicate", "'q1'"),
    (row(repeat=None), "duplicate", "'q1'"),
]


def as_bytes(line: str | bytes) -> bytes:
    """A line as it stands in the file."""
    return line if isinstance(line, bytes) else line.encode()


@pytest.mark.parametrize("size", [(8 << 20, 16_384), *SIZES])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\n\n \t\r\n"])
def test_rejects_say_file_line_reason_detail_and_raw_text(
    newline: bytes, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, size)
    content = newline.join([row().encode(), *(as_bytes(line) for line, _, _ in REJECTED), row(repeat=7).encode()])
    path = put(tmp_path / "outputs.jsonl", content)
    found = read_paths(path)
    step = newline.count(b"\n")
    assert found.keys == [("r", "q1", 0, "x"), ("r", "q1", 7, "x")]
    assert [row["line"] for row in found.rows] == [1, 1 + step * (len(REJECTED) + 1)]
    assert found.count == len(REJECTED) + 2
    assert len(found.rejects) == len(REJECTED)
    for k, (reject, (line, reason, detail)) in enumerate(zip(found.rejects, REJECTED, strict=True), 1):
        raw = as_bytes(line).decode("utf-8", "backslashreplace")
        assert (reject["file"], reject["line"]) == (str(path), 1 + step * k)
        assert (reject["reason"], reject["raw"]) == (reason, raw)
        assert newline != b"\n" or detail in reject["detail"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_line_that_breaks_off_is_said_to_whatever_ends_it(newline: str, tmp_path: Path) -> None:
    found = read_paths(put(tmp_path / "outputs.jsonl", newline.join([row(), row()[:-2], ""])))
    assert [reject["detail"].partition(" at byte")[0] for reject in found.rejects] == ["ends in the middle of a value"]


def test_rejects_of_a_json_array(tmp_path: Path) -> None:
    lines = [as_bytes(line) for line, _, _ in REJECTED if as_bytes(line).count(b'"') % 2 == 0]
    lines = [line for line in lines if line.count(b"{") == line.count(b"}")]
    path = put(tmp_path / "outputs.json", b"[\n" + b",\n".join([row().encode(), *lines]) + b"\n]\n")
    found = read_paths(path)
    assert found.keys == [("r", "q1", 0, "x")]
    wanted = {as_bytes(line): reason for line, reason, _ in REJECTED}
    assert [(reject["line"], reject["reason"]) for reject in found.rejects] == [
        (3 + k, wanted[line]) for k, line in enumerate(lines)
    ]
    assert found.count == 1 + len(lines)


def test_rejects_of_columnar_files(tmp_path: Path) -> None:
    rows: Rows = [
        {"run_id": "r", "question_id": "q1", "repeat": 0, "output": b"x"},
        {"run_id": None, "question_id": "q1", "repeat": 0, "output": b"x"},
        {"run_id": "", "question_id": "q1", "repeat": 0, "output": b"x"},
        {"run_id": "r", "question_id": None, "repeat": 0, "output": b"x"},
        {"run_id": "r", "question_id": "q1", "repeat": -3, "output": b"x"},
        {"run_id": "r", "question_id": "q9", "repeat": 0, "output": b"x"},
        {"run_id": "r", "question_id": "q1", "repeat": 0, "output": b"y"},
        {"run_id": "r", "question_id": "q2", "repeat": 0, "output": b"\xff"},
        {"run_id": "r", "question_id": "q2", "repeat": None, "output": "門".encode()},
    ]
    for kind in ("parquet", "arrow_file", "arrow_stream"):
        path = inputs.write(tmp_path, "outputs", kind, rows)
        found = read_paths(path)
        assert found.keys == [("r", "q1", 0, "x"), ("r", "q2", 0, "門")]
        assert found.reasons == [
            (2, "null_run_id"), (3, "null_run_id"), (4, "null_question_id"), (5, "bad_repeat"),
            (6, "unknown_question"), (7, "duplicate"), (8, "not_utf8"),
        ]  # fmt: skip
        assert json.loads(found.rejects[4]["raw"]) == {
            "run_id": "r", "question_id": "q9", "repeat": 0, "output": "x"
        }  # fmt: skip
        assert json.loads(found.rejects[6]["raw"])["output"] == "\\xff"
        assert {reject["file"] for reject in found.rejects} == {str(path)}


CSV = b'run_id,question_id,output\r\nr,q1,x\r\nr,q2\r\n,q2,x\r\nr,q2,"a\nb"\r\nr,q3,x,y\r\nr,q3,\xff\r\nr,q3,\r\n'


@pytest.mark.parametrize("size", [(8 << 20, 16_384), (8 << 20, 1)])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_rejects_of_csv(size: tuple[int, int], mark: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch, size)
    found = read_paths(put(tmp_path / "outputs.csv", mark + CSV))
    assert found.keys == [("r", "q1", 0, "x"), ("r", "q2", 0, "a\nb"), ("r", "q3", 0, "")]
    assert [row["line"] for row in found.rows] == [2, 5, 8]
    assert sorted(found.reasons) == [(3, "malformed_csv"), (4, "null_run_id"), (6, "malformed_csv"), (7, "not_utf8")]
    assert found.count == 7
    raw = {reject["line"]: reject["raw"] for reject in found.rejects}
    assert (raw[3], raw[6]) == ("r,q2", "r,q3,x,y")


@pytest.mark.parametrize("size", [(90, 1), (150, 2), (400, 16_384), (1000, 7)])
def test_lines_of_csv_in_small_blocks(size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [f"r{k},q1,{'x' * (k % 9)}" if k % 5 else f"r{k},q1" for k in range(1, 120)]
    path = put(tmp_path / "outputs.csv", "run_id,question_id,output\n" + "\n".join(records) + "\n")
    in_blocks(monkeypatch, size)
    found = read_paths(path)
    lines = {row["run_id"]: row["line"] for row in found.rows}
    assert lines == {f"r{k}": k + 1 for k in range(1, 120) if k % 5}
    assert sorted(found.reasons) == [(k + 1, "malformed_csv") for k in range(1, 120) if k % 5 == 0]


def test_blank_lines_and_the_byte_order_mark_are_no_rows(tmp_path: Path) -> None:
    content = "\ufeff\n \t\r\n" + row() + "\r\n\u3000\u2003\n\n" + row(repeat=1) + "\n\x0b\n\x1f\n"
    found = read_paths(put(tmp_path / "outputs.jsonl", content))
    assert [(row["line"], row["repeat"]) for row in found.rows] == [(3, 0), (6, 1)]
    assert found.reasons == [(8, "malformed_json")]
    assert found.count == 3


@pytest.mark.parametrize("content", ["", "\n", "\ufeff", "\ufeff\n ", "\r\n\r\n"])
@pytest.mark.parametrize("size", [(8 << 20, 16_384), (1, 1)])
def test_files_without_rows_beside_a_good_one(
    content: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, size)
    found = read_paths(put(tmp_path / "a.jsonl", content), put(tmp_path / "b.jsonl", row() + "\n"))
    assert found.keys == [("r", "q1", 0, "x")]
    assert found.count == 1


@pytest.mark.parametrize("content", ["oops\n[]\n", "a", "\ufeff{", "[]"])
def test_a_file_of_nothing_but_bad_lines_is_rejected_line_by_line(content: str, tmp_path: Path) -> None:
    found = read_paths(put(tmp_path / "good.jsonl", row()), put(tmp_path / "bad.jsonl", content))
    assert found.keys == [("r", "q1", 0, "x")]
    assert [line for line, _ in found.reasons] == list(range(1, 1 + len(content.split())))


def test_a_line_whose_bytes_begin_like_a_space_is_rejected(tmp_path: Path) -> None:
    found = read_paths(put(tmp_path / "outputs.jsonl", row().encode() + b"\n\xe2\x80A\n"))
    assert found.reasons == [(2, "not_utf8")]


@pytest.mark.parametrize("bad", [b"a\xff", b"\xf0", b"\xe4\xb8", b"\xed\xa0\x80"])
@pytest.mark.parametrize("column", ["run_id", "question_id", "output"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_columns_that_call_bytes_text(format: str, kind: pa.DataType, column: str, bad: bytes, tmp_path: Path) -> None:
    """Readers take the bytes of a text as they come; kernels that trust them would read beyond their end."""
    columns = {"run_id": [b"r", b"r"], "question_id": [b"q1", b"q2"], "output": [b"x", b"y"]}
    columns[column][0] = bad
    written = {name: _as_text(cells) for name, cells in columns.items()}
    if pa.types.is_dictionary(kind):
        written[column] = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), written[column])
    else:
        written[column] = _as_text(columns[column], kind)
    found = read_paths(_write_table(pa.table(written), tmp_path / f"outputs.{format}"))
    assert found.keys == [("r", "q2", 0, "y")]
    assert found.reasons == [(1, "not_utf8")]


def _write_table(table: pa.Table, path: Path) -> Path:
    """A table as a file of the format that its ending says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as out:
            out.write_table(table)
    return path


def test_bytes_in_a_list_of_an_arrow_file_are_an_error_that_names_the_column(tmp_path: Path) -> None:
    texts = _as_text([b"a", b"\xff"])
    chunks = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), texts)
    table = pa.table({"run_id": ["r", "r"], "question_id": ["q1", "q2"], "output": ["x", "y"], "chunks": chunks})
    with pytest.raises(InputError, match=r"outputs\.arrow: column chunks is no valid Arrow data .*UTF8"):
        read_paths(_write_table(table, tmp_path / "outputs.arrow"))


def _as_text(cells: list[bytes], kind: pa.DataType | None = None) -> pa.Array:
    """An array that says it is text, whatever its bytes are."""
    is_large = kind == pa.large_string()
    return pa.array(cells, pa.large_binary() if is_large else pa.binary()).view(kind or pa.string())


def test_a_file_without_any_answer_field_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "outputs.jsonl", [{"run_id": "r", "question_id": "q1", "text": "x"}])
    with pytest.raises(InputError, match=r"outputs\.jsonl has no answers.*output or response or actual_output"):
        read_paths(path)


@settings(max_examples=examples(60))
@given(
    lines=st.lists(
        st.one_of(
            st.sampled_from([as_bytes(line) for line, _, _ in REJECTED]),
            st.builds(lambda q, n, t: row(question_id=q, repeat=n, output=t).encode(), st.sampled_from(["q1", "q2"]),
                      st.integers(0, 2), st.text(MIXED, max_size=9)),
            DAMAGED_TEXTS.map(lambda text: text.replace("\n", " ").encode()),
            st.sampled_from([b"", b" ", b"\xe3\x80\x80", b"\r"]),
        ),
        max_size=12,
    ),
    size=st.sampled_from(SIZES),
)  # fmt: skip
def test_no_line_is_lost_in_blocks_of_any_size(
    lines: list[bytes], size: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    head = row(question_id="q3").encode()
    path = put(tmp_path_factory.mktemp("lines") / "outputs.jsonl", b"\n".join([head, *lines]))
    whole = read_paths(path)
    with pytest.MonkeyPatch.context() as patch:
        in_blocks(patch, size)
        assert read_paths(path) == whole
    there = [k for k, line in enumerate([head, *lines], 1) if strip(line.decode("utf-8", "surrogateescape"))]
    assert sorted([row["line"] for row in whole.rows] + [line for line, _ in whole.reasons]) == there
    assert whole.count == len(there)


# --- keys -----------------------------------------------------------------------------------------------------------


def test_of_duplicates_the_first_by_path_and_line_counts(tmp_path: Path) -> None:
    later = put(tmp_path / "b.jsonl", [{**GOOD, "output": "b1"}, {**GOOD, "question_id": "q2", "output": "b2"}])
    first = put(tmp_path / "a.jsonl", [{**GOOD, "output": "a1"}, {**GOOD, "output": "a2"}])
    for order in ((later, first), (first, later)):
        found = read_paths(*order)
        assert found.keys == [("r", "q1", 0, "a1"), ("r", "q2", 0, "b2")]
        assert [(reject["file"], reject["line"]) for reject in found.rejects] == [(str(first), 2), (str(later), 1)]
        assert [(row["input"], row["line"]) for row in found.rows] == [(0, 1), (1, 2)]


def test_a_bad_row_does_not_make_the_next_one_a_duplicate(tmp_path: Path) -> None:
    found = read_paths(put(tmp_path / "a.jsonl", [{**GOOD, "repeat": "?"}, GOOD, {**GOOD, "run_id": None}, GOOD]))
    assert [row["line"] for row in found.rows] == [2]
    assert found.reasons == [(1, "bad_repeat"), (3, "null_run_id"), (4, "duplicate")]


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "csv", "arrow_file"])
def test_without_a_run_column_the_stem_is_the_run(kind: str, tmp_path: Path) -> None:
    path = inputs.write(tmp_path, "adapter.v2", kind, [{"id": "q1", "response": "x"}, {"id": "q2", "response": "y"}])
    assert read_paths(path).keys == [("adapter.v2", "q1", 0, "x"), ("adapter.v2", "q2", 0, "y")]


@pytest.mark.parametrize("name", ["run.jsonl.gz", "run.jsonl.zst"])
def test_the_stem_has_no_compression_in_it(name: str, tmp_path: Path) -> None:
    kind = name.removeprefix("run.").replace(".", "_")
    assert read_paths(inputs.write(tmp_path, "run", kind, [{"id": "q1", "output": "x"}])).keys == [
        ("run", "q1", 0, "x")
    ]


@pytest.mark.parametrize("size", [(8 << 20, 16_384), *SIZES])
def test_of_json_rows_the_first_usable_one_decides_whether_there_are_runs(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, size)
    named, unnamed = {"run_id": "r", "id": "q1", "output": "x"}, {"id": "q2", "output": "y"}
    first = read_paths(put(tmp_path / "a.jsonl", inputs.jsonl([named, unnamed])))
    assert (first.keys, first.reasons) == ([("r", "q1", 0, "x")], [(2, "null_run_id")])
    second = read_paths(put(tmp_path / "b.jsonl", inputs.jsonl([unnamed, named, {**named, "run_id": None}])))
    assert (second.keys, second.reasons) == ([("b", "q2", 0, "y"), ("r", "q1", 0, "x")], [(3, "null_run_id")])
    broken = b"broken\n[]\n" + inputs.jsonl([named, unnamed])
    third = read_paths(put(tmp_path / "c.jsonl", broken))
    assert (third.keys, third.reasons[2:]) == ([("r", "q1", 0, "x")], [(4, "null_run_id")])


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "csv", "arrow_file", "frame"])
def test_numbers_are_ids_too(kind: str, tmp_path: Path) -> None:
    rows = [{"run_id": 7, "task_id": k, "output": "x"} for k in (1, 20, 3)]
    file = (
        sources.frame_source(pd.DataFrame(rows), "f")
        if kind == "frame"
        else sources.source(inputs.write(tmp_path, "outputs", kind, rows))
    )
    found = read([file], plain_set("1", "20", "300"))
    assert [(row["run_id"], row["question"]) for row in found.rows] == [("7", 0), ("7", 1)]
    assert found.reasons == [(4 if kind == "csv" else 1 if kind == "json" else 3, "unknown_question")]


def test_our_own_name_wins_among_several(tmp_path: Path) -> None:
    rows = [{"task_id": "q3", "id": "q2", "question_id": "q1", "response": "no", "output": "yes", "run_id": "r"}]
    for kind in ("jsonl", "parquet", "csv"):
        assert read_paths(inputs.write(tmp_path, "outputs", kind, rows)).keys == [("r", "q1", 0, "yes")]


def test_only_the_runs_asked_for_are_read(tmp_path: Path) -> None:
    lines = [row(run_id=run, question_id=q) for run in "abc" for q in ("q1", "q1", "q9")]
    found = read(sources.sources([put(tmp_path / "outputs.jsonl", "\n".join(lines))]), runs=frozenset("b"))
    assert found.keys == [("b", "q1", 0, "x")]
    assert found.reasons == [(5, "duplicate"), (6, "unknown_question")]
    assert found.count == 3


# --- outputs, chunks and metadata -----------------------------------------------------------------------------------


def test_anything_but_a_string_counts_as_its_json_text(tmp_path: Path) -> None:
    values: list[Any] = [{"a": [1, "門"]}, ["x"], 5, 1.5, True, None, "", "\u0000", "{}"]
    rows = [{"run_id": str(k), "question_id": "q1", "output": value} for k, value in enumerate(values)]
    rows.append({"run_id": "none", "question_id": "q1"})
    found = read_paths(put(tmp_path / "outputs.jsonl", inputs.jsonl(rows)))
    assert [row["output"] for row in found.rows] == [
        '{"a": [1, "門"]}', '["x"]', "5", "1.5", "true", None, "", "\x00", "{}", None,
    ]  # fmt: skip


def test_nested_columns_count_as_their_json_text(tmp_path: Path) -> None:
    values: list[Any] = [{"a": [1, 2], "b": {"門": 'x\n"\\'}, "c": None}, None, {"a": [], "b": {"門": None}, "c": 1.5}]
    rows: Rows = [{"run_id": str(k), "question_id": "q1", "output": value} for k, value in enumerate(values)]
    for kind in ("parquet", "arrow_file"):
        found = read_paths(inputs.write(tmp_path, "outputs", kind, rows))
        texts = [row["output"] for row in found.rows]
        assert [None if text is None else json.loads(text) for text in texts] == values
    for k, row_ in enumerate(rows):
        row_["output"] = [f"item {k}", None]
    found = read_paths(inputs.write(tmp_path, "outputs", "parquet", rows))
    assert [json.loads(row["output"]) for row in found.rows] == [[f"item {k}", None] for k in range(3)]


def test_dictionary_and_view_columns_are_text(tmp_path: Path) -> None:
    table = pa.table(
        {
            "run_id": pa.array(["a", "b"]).dictionary_encode(),
            "question_id": pa.array(["q1", "q1"], pa.string_view()),
            "output": pa.array(["x", None], pa.large_string()).dictionary_encode(),
        }
    )
    assert read([sources.frame_source(table, "frame")]).keys == [("a", "q1", 0, "x"), ("b", "q1", 0, None)]


def test_chunks_in_the_row_itself(tmp_path: Path) -> None:
    chunks = [{"source_path": "a", "text": "門"}]
    rows: Rows = [{**GOOD, "repeat": k, "chunks": given_} for k, given_ in enumerate([chunks, None, []])]
    for kind in ("jsonl", "json", "parquet"):
        found = read_paths(inputs.write(tmp_path, "outputs", kind, rows))
        texts = [row["chunks"] for row in found.rows]
        assert [None if text is None else json.loads(text) for text in texts] == [chunks, None, []]


@pytest.mark.parametrize("size", [(8 << 20, 16_384), (40, 1)])
@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "arrow_file"])
def test_constant_columns_are_metadata(
    kind: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, size)
    rows = [
        {
            "run_id": run, "question_id": q, "output": "x", "model_id": f"m-{run}", "seed": 5, "fast": True,
            "latency": 0.5 * k, "nested": {"a": 1}, "note": None, "long": "y" * 2000,
            "some": "s" if q == "q1" else None,
        }
        for k, (run, q) in enumerate((run, q) for run in "ab" for q in ("q1", "q2", "q3"))
    ]  # fmt: skip
    rows.append({**rows[0], "question_id": "q9", "model_id": "of a rejected row"})
    assert read_paths(inputs.write(tmp_path, "outputs", kind, rows)).metadata == {
        run: {"model_id": f"m-{run}", "seed": "5", "fast": "true"} for run in "ab"
    }


# --- questions ------------------------------------------------------------------------------------------------------

ASKED: list[dict[str, Any]] = [
    {"id": "q1", "question": "一?", "dataset": "d", "weight": 2.5, "expected": {"answer_example": {"main_topic": "x"}}},
    {"id": "q2", "question": "b", "dataset": "d", "weight": 0.0, "expected": {"answer_example": {"main_topic": "y"}}},
]


@pytest.mark.parametrize("kind", [kind for kind in inputs.WRITERS if not kind.startswith("csv")])
def test_questions_of_every_format(kind: str, tmp_path: Path) -> None:
    found = eval_sets.read_questions(sources.sources([inputs.write(tmp_path, "questions", kind, ASKED)]))
    assert list(found.ids) == ["q1", "q2"]
    assert list(found.objects) == ASKED
    assert list(found.datasets) == ["d", "d"]
    assert list(found.weights) == [2.5, 0.0]


def test_questions_of_frames_and_csv(tmp_path: Path) -> None:
    rows = [{"task_id": k, "expected": "text", "dataset": None} for k in (1, 2)]
    for frame in (pl.DataFrame(rows), pd.DataFrame(rows), pa.Table.from_pylist(rows)):
        found = eval_sets.read_questions([sources.frame_source(frame, "frame")])
        assert (list(found.ids), list(found.datasets), list(found.weights)) == (["1", "2"], [None, None], [1.0, 1.0])
    flat = [{"id": "q1", "expected": "a,b"}, {"id": "q2", "expected": "c"}]
    table = eval_sets.read_questions(sources.sources([inputs.write(tmp_path, "questions", "csv", flat)]))
    assert list(table.ids) == ["q1", "q2"]
    assert [question["expected"] for question in table.objects] == ["a,b", "c"]


def test_questions_of_several_files(tmp_path: Path) -> None:
    paths = [put(tmp_path / f"{k}.jsonl", [question]) for k, question in enumerate(ASKED)]
    assert list(eval_sets.read_questions(sources.sources(reversed(paths))).ids) == ["q1", "q2"]


BAD_QUESTIONS: list[tuple[str, str, str]] = [
    ('{"id": "q1"}\n{"id": \n', r"bad\.jsonl, line 2", "malformed_json"),
    ('{"id": "q1"}\n\n[]\n', r"bad\.jsonl, line 3", "not_object"),
    ('{"id": "q1"}\n{"id": null}\n', r"bad\.jsonl, line 2", "no id"),
    ('{"question": "?"}\n', r"bad\.jsonl, line 1", "no id"),
    ('{"id": ""}\n', r"bad\.jsonl, line 1", "no id"),
    ('{"id": true}\n', r"bad\.jsonl, line 1", "no id"),
    ('{"id": ["q"]}\n', r"bad\.jsonl, line 1", "no id"),
    ('{"id": "q1"}\n{"id": "q2"}\n{"id": "q1"}\n', r"bad\.jsonl, line 3", r"twice, first at .*bad\.jsonl, line 1"),
    ('{"id": 1}\n{"task_id": "1"}\n', r"bad\.jsonl, line 2", "twice"),
    ('{"id": "q1", "weight": -1}\n', r"bad\.jsonl, line 1", "weight -1"),
    ('{"id": "q1", "weight": "2"}\n', r"bad\.jsonl, line 1", "weight '2'"),
    ('{"id": "q1", "weight": true}\n', r"bad\.jsonl, line 1", "weight True"),
    ('{"id": "q1", "weight": 1e999}\n', r"bad\.jsonl, line 1", "not finite"),
    ('{"id": "q1", "x": "\\ud800"}\n', r"bad\.jsonl, line 1", "malformed_json"),
    ("\n\n", r"bad\.jsonl", "no question"),
    ("", r"bad\.jsonl", "no question"),
]


@pytest.mark.parametrize(("content", "where", "what"), BAD_QUESTIONS)
def test_a_bad_question_is_an_error_that_names_its_place(content: str, where: str, what: str, tmp_path: Path) -> None:
    path = put(tmp_path / "bad.jsonl", content)
    with pytest.raises(InputError, match=f"{where}.*{what}"):
        eval_sets.read_questions(sources.sources([path]))


def test_bytes_that_are_not_utf8_in_a_question(tmp_path: Path) -> None:
    for content in (b'{"id": "q1", "x": "\xff"}', b'{"id": "q1"}\n\xe2\x80A\n'):
        with pytest.raises(InputError, match="not_utf8"):
            eval_sets.read_questions(sources.sources([put(tmp_path / "bad.jsonl", content)]))


def test_a_doubled_question_names_both_files(tmp_path: Path) -> None:
    paths = [put(tmp_path / f"{name}.jsonl", ASKED[:1]) for name in "ab"]
    with pytest.raises(
        InputError, match=r"b\.jsonl, line 1: question 'q1' is there twice, first at .*a\.jsonl, line 1"
    ):
        eval_sets.read_questions(sources.sources(paths))


@pytest.mark.parametrize("content", ["5", "{}", '{"questions": {}}', '{"questions": [', "not json", '["a"]', "[]"])
def test_a_json_file_without_questions_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="bad"):
        eval_sets.read_questions(sources.sources([put(tmp_path / "bad.json", content)]))


@pytest.mark.parametrize("wrap", ["{}", '{{"version": 3, "questions": {}}}'])
def test_a_json_file_of_questions_that_breaks_off_is_refused(wrap: str, tmp_path: Path) -> None:
    """Wherever it breaks off: a question that is not read would shrink every denominator."""
    text = wrap.format(json.dumps(ASKED, indent=1))
    accepted = []
    for cut in range(len(text) - 1):
        path = put(tmp_path / "bad.json", text[:cut])
        try:
            eval_sets.read_questions(sources.sources([path]))
        except InputError:
            continue
        accepted.append(text[max(0, cut - 12) : cut])
    assert accepted == []


@pytest.mark.parametrize("tail", ['[{"id": "q9"}]', ', {"id": "q9"}', "x", "]"])
def test_what_follows_the_array_of_a_json_file_is_not_passed_over(tail: str, tmp_path: Path) -> None:
    path = put(tmp_path / "bad.json", json.dumps(ASKED) + "\n" + tail)
    with pytest.raises(InputError, match="bad"):
        eval_sets.read_questions(sources.sources([path]))


# --- contexts -------------------------------------------------------------------------------------------------------

A, B, C = ({"source_path": f"{name}.md", "text": f'{name}\n門"\\\u0000\u2028'} for name in "abc")


def with_contexts(tmp_path: Path, *paths: Path) -> tuple[dict[str, Any], Callable[[str, str], Any]]:
    """(chunks of each question, chunks of a run and question) of context files."""
    folder = tmp_path / "staging"
    folder.mkdir(exist_ok=True)
    found, of_runs, _ = eval_sets.with_contexts(QUESTIONS, sources.sources(paths), folder)

    def own(run: str, question: str) -> Any:
        if of_runs is None:
            return None
        keys = [pa.array([value, "nobody"], pa.large_string()) for value in (run, question)]
        first, second = of_runs.chunks_for(*keys).to_pylist()
        assert second is None
        return None if first is None else json.loads(first)

    texts = [text for part in found.chunk_columns() for text in part.to_pylist()]
    return {name: json.loads(text) for name, text in zip(found.ids, texts, strict=True) if text is not None}, own


def test_contexts_that_are_read_once_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "_CHUNKED_AT_ONCE", 1)
    path = tmp_path / "contexts.jsonl"
    path.write_text("".join(json.dumps({"question_id": name, "chunks": [A]}) + "\n" for name in ("q2", "q1")))
    found, *_ = eval_sets.with_contexts(QUESTIONS, sources.sources([path]), tmp_path)
    assert found.contexts is not None
    texts = [part.to_pylist() for part in found.chunk_columns(forget=True)]
    assert [part.to_pylist() for part in found.chunk_columns()] == texts  # others may read them too
    found.contexts.prepare_once()
    assert [part.to_pylist() for part in found.chunk_columns()] == texts
    assert [part.to_pylist() for part in found.chunk_columns(forget=True)] == texts
    with pytest.raises(ValueError, match="let go"):
        list(found.chunk_columns())


@pytest.mark.parametrize("at_once", [1, 1_024])
def test_contexts_in_another_order_than_the_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """In several files and parts: those of a question stand in the order in which they were read."""
    monkeypatch.setattr(schemas, "_CHUNKED_AT_ONCE", at_once)
    first: list[dict[str, Any]] = [
        {"question_id": "q2", "chunks": [C]},
        {"question_id": "q1", "chunks": []},
        {"question_id": "q2", **A},
    ]
    second: list[dict[str, Any]] = [{"question_id": "q1", "chunks": [B, A]}, {"question_id": "q2", "chunks": [B]}]
    paths = [inputs.write(tmp_path, name, "jsonl", rows) for name, rows in (("one", first), ("two", second))]
    chunks, _ = with_contexts(tmp_path, *paths)
    assert chunks == {"q1": [B, A], "q2": [C, A, B]}


@pytest.mark.parametrize("kind", ["jsonl", "json", "json_indented", "parquet", "arrow_file", "jsonl_gz"])
def test_contexts_of_questions_as_lists(kind: str, tmp_path: Path) -> None:
    rows = [
        {"question_id": "q1", "chunks": [A, B]},
        {"question_id": "q2", "chunks": [C]},
        {"question_id": "q9", "chunks": [A]},
    ]
    chunks, own = with_contexts(tmp_path, inputs.write(tmp_path, "contexts", kind, rows))
    assert chunks == {"q1": [A, B], "q2": [C]}
    assert own("r", "q1") is None


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "arrow_file", "csv"])
def test_contexts_of_questions_as_rows(kind: str, tmp_path: Path) -> None:
    rows = [{"question_id": q, **chunk} for q, chunk in (("q1", A), ("q2", C), ("q1", B))]
    if kind == "csv":
        rows = [{**row_, "text": row_["text"].replace("\x00", "")} for row_ in rows]
    chunks, _ = with_contexts(tmp_path, inputs.write(tmp_path, "contexts", kind, rows))
    plain = [{name: row_[name] for name in ("source_path", "text")} for row_ in rows]
    assert chunks == {"q1": [plain[0], plain[2]], "q2": [plain[1]]}


@pytest.mark.parametrize("size", [(8 << 20, 16_384), (7, 1)])
def test_contexts_of_several_files_and_forms_are_put_together(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_blocks(monkeypatch, size)
    paths = [
        put(tmp_path / "a.jsonl", [{"id": "q1", "chunks": [A]}, {"id": "q3", "chunks": []}, {"id": "q1", **B}]),
        put(
            tmp_path / "b.jsonl", [{"task_id": "q1", "contexts": ["plain text", C]}, {"id": "q2", "content": "no path"}]
        ),
    ]
    chunks, _ = with_contexts(tmp_path, *paths)
    assert chunks == {"q1": [A, B, "plain text", C], "q2": [{"source_path": None, "text": "no path"}], "q3": []}


@pytest.mark.parametrize("size", [(8 << 20, 16_384), (7, 1)])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_contexts_of_runs(kind: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_blocks(monkeypatch, size)
    rows: Rows = [
        {"run_id": None, "question_id": "q1", "chunks": [A]},
        {"run_id": "r1", "question_id": "q1", "chunks": [B]},
        {"run_id": "r2", "question_id": "q1", "chunks": [C]},
        {"run_id": "r1", "question_id": "q1", "chunks": [A]},
        {"run_id": "r1", "question_id": "q2", "chunks": [C, C]},
        {"run_id": "r1", "question_id": "q9", "chunks": [C]},
    ]
    chunks, own = with_contexts(tmp_path, inputs.write(tmp_path, "contexts", kind, rows))
    assert chunks == {"q1": [A]}
    assert [own(*key) for key in (("r1", "q1"), ("r2", "q1"), ("r1", "q2"), ("r2", "q2"), ("r1", "q9"))] == [
        [B, A], [C], [C, C], None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"question_id": "q1", "chunks": []}\n{"question_id": \n', "line 2.*malformed_json"),
        ('{"question_id": "q1", "chunks": []}\n[]\n', "line 2.*not_object"),
        ('\n{"chunks": []}\n', "line 2.*without question_id"),
        ('{"question_id": null, "chunks": []}\n', "line 1.*without question_id"),
        ('{"question_id": "q1"}\n', "line 1.*needs `chunks`"),
        ('{"question_id": "q1", "chunks": "text"}\n', "line 1.*needs `chunks`"),
        ('{"question_id": "q1", "source_path": "a.md", "text": 5}\n', "line 1.*needs `chunks`"),
        ('{"question_id": "q1", "text": "\\ud800"}\n', "line 1.*malformed_json"),
    ],
)
def test_a_bad_context_is_an_error_that_names_its_place(content: str, where: str, tmp_path: Path) -> None:
    path = put(tmp_path / "contexts.jsonl", content)
    with pytest.raises(InputError, match=rf"contexts\.jsonl, {where}"):
        with_contexts(tmp_path, path)


def test_contexts_are_read_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    chunks, own = with_contexts(
        tmp_path, put(tmp_path / "contexts.jsonl", [{"run_id": "r", "id": "q1", "chunks": [A]}])
    )
    assert (chunks, own("r", "q1")) == ({}, [A])
    assert capfd.readouterr() == ("", "")


def test_a_parquet_file_of_outputs_is_closed_again(tmp_path: Path) -> None:
    path = tmp_path / "outputs.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    check_rows(read_paths(path))
    path.unlink()
    with pytest.raises(InputError, match="no file"):
        read_paths(path)
