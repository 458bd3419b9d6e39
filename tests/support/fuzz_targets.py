"""What fuzzers drive: each target takes bytes, reads or refuses them, and asserts what holds either way.

A target returns whether the bytes were read.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

from oracles import json_text
from rageval_batch.analysis.catalog import open_store
from rageval_batch.columnar import json_tape
from rageval_batch.columnar.kernels.json import OK
from rageval_batch.columnar.kernels.lines import valid_utf8
from rageval_batch.columnar.values import Reader
from rageval_batch.errors import InputError, RagevalError
from rageval_batch.inputs.readers import TEXT, read_blocks
from rageval_batch.inputs.sources import source
from rageval_batch.profiles.files.build import read_profile
from rageval_batch.profiles.registry import get_profile
from rageval_batch.resources import packaged_profile
from support.stores import publish, simple_run

ROWS = [
    {"run_id": "r", "question_id": f"q{k}", "output": 'al"pha, β', "repeat": k, "extra": {"a": ["1", None, "x"]}}
    for k in range(3)
]


def _xlsx() -> bytes:
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet()
    for row, cells in enumerate((("question_id", "output"), ("q0", "alpha"), ("q1", 2.5))):
        sheet.write_row(row, 0, cells)
    book.close()
    return out.getvalue()


def _eval() -> bytes:
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for k, row in enumerate(ROWS):
            archive.writestr(ZipInfo(f"samples/{k}.json"), json.dumps(row), ZIP_DEFLATED)
    return out.getvalue()


def _columnar() -> dict[str, bytes]:
    parquet, arrow, packed = io.BytesIO(), io.BytesIO(), io.BytesIO()
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, parquet)
    for out, compression in ((arrow, None), (packed, "zstd")):
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(out, table.schema, options=options) as writer:
            writer.write_table(table)
    return {"parquet": parquet.getvalue(), "arrow": arrow.getvalue(), "feather": packed.getvalue()}


LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()
SEEDS: dict[str, bytes] = {
    "jsonl": LINES,
    "json": json.dumps({"version": 1, "questions": ROWS}).encode(),
    "JSON": json.dumps(ROWS, indent=1).encode(),
    "csv": b'sep=;\r\nquestion_id;output\r\nq0;"a ""b"" c"\r\nq1;\xd0\xb4\r\n',
    "tsv": b"question_id\toutput\nq0\talpha\n",
    "run": b"q0 Q0 d1 1 0.5 tag\nq0 Q0 d2 2 0.25 tag\n",
    "qrels": b"q0 0 d1 1\nq1 0 d2 0\n",
    "jsonl.gz": gzip.compress(LINES, mtime=0),
    "xlsx": _xlsx(),
    "eval": _eval(),
    **_columnar(),
}


Target = Callable[[bytes], bool]


def read_file(ending: str, content: bytes) -> bool:
    """A file is read or refused; every row has a line, a raw text, and fields of the length of the block."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{ending}"
        path.write_bytes(content)
        try:
            for block in read_blocks(source(path)):
                for names in (("run_id",), ("question_id", "id"), ("output",), ("repeat",)):
                    field = block.field(names)
                    field.text.validate(full=True)
                    assert len(field.text) == len(field.kind) == len(block) == len(block.lines)
                    assert not (field.text.is_null().to_numpy(zero_copy_only=False) & (field.kind == TEXT)).any()
                for row in range(len(block)):
                    block.raw(row).encode()
                for column in block.others(frozenset({"output"})):
                    assert len(column.rows) == len(column.text) == len(column.kind)
                    column.text.validate(full=True)
        except InputError as error:
            assert str(error).strip()
            return False
    return True


TAPE_SEEDS = [LINES[:-1], *(json.dumps(row).encode() for row in ROWS), b"[1, 2e5, -0.0, true]", b'"\\ud83d\\ude00"']


def parse_tape(content: bytes) -> bool:
    """A text is JSON for the tape where it is for the slow decoder."""
    data, bounds = np.frombuffer(content, np.uint8), np.array([0, len(content)], np.int64)
    if not valid_utf8(data, bounds[:1], bounds[1:])[0]:
        return False
    tape = json_tape.parse(data, bounds[:1], bounds[1:])
    try:
        json_text.decode(content.decode())
        good = True
    except (ValueError, RecursionError):
        good = False
    assert bool(tape.status[0] == OK) == good
    if good:
        tape.texts(np.arange(len(tape.kind), dtype=np.int32)).to_arrow().validate(full=True)
    return good


VALUES = [
    text.encode()
    for text in (
        "On 5 March 2024 they paid $3.2bn (12,5 %), not 1 250,50 €; см. стр. 12 и ст. 5 ГК.",
        "令和6年3月5日 三百二十円以上",
        "от 5 до 7 млн рублей, 05.03.2024",
        "Mr. Иванов И. И. and 王小明; no answer can be given", "03/05/2024 - 04/05/2024",
    )
]  # fmt: skip
READERS = [
    Reader(decimal_mark=mark, date_order=order) for mark, order in (("auto", "auto"), (",", "dmy"), (".", "mdy"))
]


def read_values(content: bytes, reader: Reader) -> bool:
    """Whatever a text says, spans lie in it."""
    text = content.decode("utf-8", "replace")
    reading = reader.read(text)
    for name in ("boolean", "abstention", "sentences", "date_ranges", "ambiguous"):
        getattr(reading, name)
    values: list[Any] = [*reading.dates, *reading.numbers, *reading.names, *reading.citations]
    for found in values:
        assert 0 <= found.start <= found.end <= len(text)
    return True


PROFILE_FILES = [packaged_profile(name).encode() for name in ("reference", "retrieval")]


def load_profile_file(content: bytes) -> bool:
    """A profile file is a profile or is refused with a sentence."""
    try:
        read_profile(content.decode("utf-8", "replace"), "fuzzed.toml", get_profile)
    except RagevalError as error:
        assert str(error).startswith("fuzzed.toml")
        return False
    return True


QUERIES = [
    b"select run_id, score from scores where score > 0.5 order by 1 limit 3",
    b"copy (select * from runs) to 'out.csv'", b"create table t as select 1", b"attach 'x.db'; select 1",
    b"from read_csv('secret.csv')", b"select * from 'secret.csv'", b"explain analyze copy runs to 'out.parquet'",
    b"pivot runs on profile using count(*)", b"set enable_external_access = true", b"install httpfs; load httpfs",
    b"with a as (select 1) select * from a", b"export database 'out'", b"select getenv('HOME')", b"pragma version",
    b"select * from glob('*')", b"call pragma_version()", b"select read_text('secret.csv')", b"show tables",
]  # fmt: skip
SECRET = "a secret that nobody named"


@contextmanager
def guarded_query() -> Iterator[Target]:
    """What asks a locked session: a query gives a result or is refused; no file is written, and none is read but the
    store's, above all not the secret that lies in the current folder."""
    with tempfile.TemporaryDirectory() as folder:
        publish(Path(folder) / "runs", {"a": simple_run(x=0.25), "b": simple_run(x=0.5)})
        beside = Path(folder) / "beside"
        beside.mkdir()
        (beside / "secret.csv").write_text(f"text\n{SECRET}\n")
        with contextlib.chdir(beside), open_store(Path(folder) / "runs") as session:
            session.lock()

            def ask(content: bytes) -> bool:
                before = sorted(Path(folder).rglob("*"))
                good = True
                try:
                    found = session.reader(content.decode("utf-8", "replace")).read_all()
                    assert SECRET not in str(found.slice(0, 50).to_pylist())
                except RagevalError as error:
                    assert str(error).strip() and SECRET not in str(error)
                    good = False
                assert sorted(Path(folder).rglob("*")) == before
                assert session.rows("select count(*) as n from runs") == [{"n": 2}]
                return good

            yield ask
