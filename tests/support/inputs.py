"""Input files of every format for the tests of reading and of whole sweeps."""

import csv
import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from rageval_batch.model.schemas import EvalSet

Rows = list[dict[str, Any]]


def jsonl(rows: Iterable[Any]) -> bytes:
    """One JSON text a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def put(path: Path, content: bytes | str | Iterable[Any]) -> Path:
    """A file with bytes, text, or JSON lines of rows."""
    if isinstance(content, str):
        content = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else jsonl(content))
    return path


def _gzip(path: Path, content: bytes) -> None:
    with gzip.open(path, "wb") as out:
        out.write(content)


def _zstd(path: Path, content: bytes) -> None:
    with pa.output_stream(str(path), compression="zstd") as out:
        out.write(content)


def csv_bytes(rows: Rows) -> bytes:
    """CSV with a header of all names."""
    import io

    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def _arrow_file(path: Path, rows: Rows) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table, max_chunksize=2)


def _arrow_stream(path: Path, rows: Rows) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=2)


# Format -> (ending of the name, how it is written).
WRITERS: dict[str, tuple[str, Callable[[Path, Rows], Any]]] = {
    "jsonl": (".jsonl", lambda path, rows: path.write_bytes(jsonl(rows))),
    "ndjson": (".ndjson", lambda path, rows: path.write_bytes(jsonl(rows))),
    "json": (".json", lambda path, rows: path.write_text(json.dumps(rows))),
    "json_indented": (".json", lambda path, rows: path.write_text(json.dumps(rows, indent=2, ensure_ascii=False))),
    "json_object": (".json", lambda path, rows: path.write_text(json.dumps({"version": 1, "questions": rows}))),
    "parquet": (".parquet", lambda path, rows: pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=2)),
    "csv": (".csv", lambda path, rows: path.write_bytes(csv_bytes(rows))),
    "arrow_file": (".arrow", _arrow_file),
    "arrow_stream": (".arrow", _arrow_stream),
    "feather": (".feather", lambda path, rows: feather.write_feather(pa.Table.from_pylist(rows), str(path))),
    "jsonl_gz": (".jsonl.gz", lambda path, rows: _gzip(path, jsonl(rows))),
    "jsonl_zst": (".jsonl.zst", lambda path, rows: _zstd(path, jsonl(rows))),
    "json_gz": (".json.gz", lambda path, rows: _gzip(path, json.dumps(rows).encode())),
    "json_zst": (".json.zst", lambda path, rows: _zstd(path, json.dumps(rows).encode())),
    "csv_gz": (".csv.gz", lambda path, rows: _gzip(path, csv_bytes(rows))),
    "csv_zst": (".csv.zst", lambda path, rows: _zstd(path, csv_bytes(rows))),
}


def write(folder: Path, stem: str, kind: str, rows: Rows) -> Path:
    """Rows as a file of a kind of WRITERS."""
    ending, writer = WRITERS[kind]
    path = folder / (stem + ending)
    writer(path, rows)
    return path


def plain_set(*ids: str) -> EvalSet:
    """An eval set of which only the ids matter."""
    return EvalSet(ids, tuple({"id": name} for name in ids), (None,) * len(ids), weights=(1.0,) * len(ids))
