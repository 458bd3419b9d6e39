"""From scored parts to the Parquet files of a commit: one external sort, bounded in memory."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.inputs.protocols import KeptFormat
from rageval_batch.resources import sql_definition
from rageval_batch.sql_text import identifier, parquet_reader, quoted

ROW_GROUP = 32_768  # small enough that one run of a sweep is cheap to read, large enough to compress
MEMORY = "128MB"  # a larger sweep spills to disk, so that its peak is that of a small one
RECONCILE_MEMORY = "384MB"  # comparing the records of a job with each other needs more of them at once


def write_parquet(batches: Iterator[pa.RecordBatch], schema: pa.Schema, query: str, target: Path) -> None:
    """Write what a query makes of all `rows` as one Parquet file."""
    first = next(batches, None)
    if first is None:
        pq.write_table(schema.empty_table(), target)
        return
    reader = pa.RecordBatchReader.from_batches(schema, chain([first], batches))
    with duckdb.connect(config=_settings(target.parent, MEMORY)) as connection:
        connection.register("rows", reader)
        _copy(connection, query, target)


def _settings(folder: Path, memory: str) -> dict[str, Any]:
    return {"memory_limit": memory, "temp_directory": str(folder.parent / "sort")}


def _copy(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    options = f"format parquet, compression zstd, compression_level 1, row_group_size {ROW_GROUP}"
    try:
        connection.execute(f"copy ({query}) to {quoted(target)} ({options})")
    except duckdb.IOException as error:
        full = "No space left" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error).splitlines()[0]) from error


def copy_runs(stored: Path, runs: list[str], target: Path) -> None:
    """Write the rows that some runs have in a Parquet file."""
    names = ", ".join(map(quoted, runs))
    with duckdb.connect(config=_settings(target.parent, MEMORY)) as connection:
        _copy(connection, f"from {parquet_reader([stored])} where run_id in ({names})", target)


def write_kept(batches: Iterator[pa.RecordBatch], format: KeptFormat, target: Path) -> None:
    """Write each distinct answer once, with the list of the rows that gave it."""
    answer = ", ".join(map(identifier, format.answer))
    given = ", ".join(f"{identifier(name)}: {identifier(name)}" for name in format.given_by)
    order = ", ".join(map(identifier, format.order))
    query = f"select {answer}, list({{{given}}} order by {order}) as given_by from rows group by all order by {answer}"
    write_parquet(batches, format.schema, query, target)


def write_reconciled(
    parts: list[Path],
    schema: pa.Schema,
    listed: pa.Table,
    *,
    reconcile: str,
    log: str,
    order: Sequence[str],
    target: Path,
) -> list[dict[str, Any]]:
    """Write what the macro `reconcile` makes of all score rows of the parts; the rows of the macro `log` about them."""
    from pyarrow import dataset

    with duckdb.connect(config=_settings(target.parent, RECONCILE_MEMORY)) as connection:
        connection.register("rows", dataset.dataset([str(path) for path in parts], schema=schema, format="ipc"))
        connection.register("listed", listed)
        connection.execute(sql_definition(reconcile))
        _copy(connection, f"from {reconcile}() order by {', '.join(order)}", target)
        connection.execute(f"create view stored as from {parquet_reader([target])}")
        connection.execute(sql_definition(log))
        rows: list[dict[str, Any]] = connection.sql(f"from {log}()").to_arrow_table().to_pylist()
        return rows


def read_parts(paths: list[Path]) -> Iterator[pa.RecordBatch]:
    """The batches of Arrow files, one file at a time."""
    for path in paths:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k)


def schema_of_part(path: Path) -> pa.Schema:
    """The schema of an Arrow file, with what it says of its columns."""
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def write_part(path: Path, batches: list[pa.RecordBatch], schema: pa.Schema) -> None:
    """One Arrow file, lightly compressed."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
