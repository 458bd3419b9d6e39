"""From scored parts to the Parquet files of a commit: one external sort, bounded in memory."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import Ints
from rageval_batch.inputs.protocols import InputCopyFormat
from rageval_batch.model.schemas import TALLIES
from rageval_batch.resources import sql_definition
from rageval_batch.runs import tallies
from rageval_batch.runs.database import Database
from rageval_batch.runs.parts import Part, read_parts, table_of_part
from rageval_batch.sql_text import identifier, parquet_reader, quoted

if TYPE_CHECKING:
    import duckdb

ROW_GROUP = 32_768  # small enough that one run of a sweep is cheap to read, large enough to compress
_SAMPLED = 2_048  # rows by which the encodings of columns are chosen
_FEW = 256  # distinct values of those
_WRITTEN_AT_ONCE = 8_192  # values; after so many a page may end
MEMORY = "128MB"  # a larger sweep spills to disk, so that its peak is that of a small one
KEPT_MEMORY = "256MB"  # for the keys and hashes of answers that are kept
RECONCILE_MEMORY = "384MB"  # comparing the records of a job with each other needs more of them at once


def write_sorted(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, order: Sequence[str], *, target: Path, database: Database
) -> None:
    """Write rows as one Parquet file, sorted by some columns."""
    query = f"from rows order by {', '.join(order)}"
    _write(batches, schema, query, target=target, database=database)


def write_tallies(parts: Sequence[Part], *, target: Path, database: Database) -> None:
    """Write the tallies of parts as one Parquet file, those of the same kind added up and all sorted: some runs at a
    time, without a database, or, where the runs are scattered over the parts, by a sort that spills."""
    chunks = tallies.sorted_by_run(parts)
    if chunks is None:
        query = "select run_id, kind, got, expected, sum(n)::bigint as n from rows group by all order by all"
        _write(read_parts(parts), TALLIES, query, target=target, database=database)
        return
    write_in_order(_row_groups(chunks, TALLIES), TALLIES, target)


def _row_groups(chunks: Iterator[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in tables of whole row groups, but for the last; an empty one without rows."""
    waiting, is_first = schema.empty_table(), True
    for rows in chunks:
        waiting = pa.concat_tables([waiting, rows])
        whole = waiting.num_rows // ROW_GROUP * ROW_GROUP
        if whole:
            yield waiting.slice(0, whole)
            waiting, is_first = waiting.slice(whole), False
    if waiting.num_rows or is_first:
        yield waiting


def _write(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, query: str, *, target: Path, database: Database
) -> None:
    """Write what a query makes of all `rows` as one Parquet file."""
    first = next(batches, None)
    if first is None:
        pq.write_table(schema.empty_table(), target)
        return
    reader = pa.RecordBatchReader.from_batches(schema, chain([first], batches))
    with database.connected(MEMORY) as connection:
        connection.register("rows", reader)
        _copy(connection, query, target)


def write_in_order(chunks: Iterator[pa.Table], schema: pa.Schema, target: Path) -> None:
    """Write rows that come in their order as one Parquet file; texts may be codes."""
    first = next(chunks, schema.empty_table())
    with pq.ParquetWriter(target, first.schema, **_encodings(first)) as writer:
        for rows in chain([first], chunks):
            if rows.num_rows < 2 * ROW_GROUP:
                writer.write_table(rows, max(rows.num_rows, 1))
            else:
                for start in range(0, rows.num_rows, ROW_GROUP):
                    writer.write_table(_coded_anew(rows.slice(start, ROW_GROUP)), ROW_GROUP)


def _coded_anew(rows: pa.Table) -> pa.Table:
    """Rows whose codes are those of their own texts: a row group has all texts that its codes could name."""
    for k, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            own = rows.column(k).combine_chunks().dictionary_decode().dictionary_encode()
            rows = rows.set_column(k, field, own)
    return rows


def _encodings(rows: pa.Table) -> dict[str, Any]:
    """Options of a writer, by the first rows that it gets.

    Numbers that repeat are written as codes; those are small and packed, so that Snappy leaves about as much of them as
    Zstandard does, in a fifth of the time. Other integers are mostly places, which rise by little. Floats have no least
    and greatest value: a row group has rows of all kinds, so that these would exclude none.
    """
    kinds: dict[str, list[str]] = {"text": [], "flag": [], "few": [], "place": [], "other": []}
    for field, column in zip(rows.schema, rows.slice(0, _SAMPLED).columns, strict=True):
        kinds[_kind(field.type, column)].append(field.name)
    strong = [name for kind in ("text", "place", "other") for name in kinds[kind]]
    return {
        "compression": dict.fromkeys(rows.column_names, "snappy") | dict.fromkeys(strong, "zstd"),
        "compression_level": dict.fromkeys(strong, 1),
        "use_dictionary": [*kinds["text"], *kinds["few"]],
        "column_encoding": dict.fromkeys(kinds["place"], "DELTA_BINARY_PACKED"),
        "write_statistics": [field.name for field in rows.schema if not pa.types.is_floating(field.type)],
        "write_batch_size": _WRITTEN_AT_ONCE,
        "store_schema": False,
    }


def _kind(type_: pa.DataType, sample: pa.ChunkedArray) -> str:
    """The kind of a column that decides how it is written."""
    if pa.types.is_boolean(type_):
        return "flag"
    if pa.types.is_dictionary(type_):
        return "text"
    distinct = len(sample.unique())
    if pa.types.is_large_string(type_):
        return "text" if 4 * distinct <= 3 * len(sample) + 1 else "other"
    if distinct <= _FEW:
        return "few"
    return "place" if pa.types.is_integer(type_) else "other"


def _copy(connection: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    import duckdb

    options = f"format parquet, compression zstd, compression_level 1, row_group_size {ROW_GROUP}"
    try:
        connection.execute(f"copy ({query}) to {quoted(target)} ({options})")
    except duckdb.IOException as error:
        full = "No space left" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error).splitlines()[0]) from error


def copy_rows(query: str, target: Path, database: Database) -> None:
    """Write what a query gives, in its order."""
    with database.connected(MEMORY) as connection:
        _copy(connection, query, target)


def copy_runs(stored: str, runs: list[str], *, target: Path, database: Database) -> None:
    """Write the rows that some runs have in what a query gives."""
    names = ", ".join(map(quoted, runs))
    copy_rows(f"from ({stored}) where run_id in ({names})", target, database)


def write_rejects(parts: Sequence[Part], schema: pa.Schema, target: Path) -> None:
    """Write the rejected rows of parts as one Parquet file, a part at a time: they stand in the order of files and
    lines."""
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for part in parts:
            rows = pa.Table.from_batches(list(read_parts([part])), schema)
            writer.write_table(rows, ROW_GROUP)


def write_input_copy(parts: Sequence[Part], format: InputCopyFormat, *, target: Path, database: Database) -> None:
    """Write each distinct answer once, at its first place, with the list of the rows that gave it.

    Answers may be long: they are told apart by their SHA-256, so that only that and the keys are sorted.
    """
    answer_schema = pa.schema([format.schema.field(name) for name in format.answer])
    given = pa.struct([format.schema.field(name) for name in format.given_by])
    schema = pa.schema([*answer_schema, ("given_by", pa.list_(given))])
    placed = pa.schema([("place", pa.int64()), *format.schema])
    with database.connected(KEPT_MEMORY) as connection:
        connection.register("rows", pa.RecordBatchReader.from_batches(placed, _with_places(parts, placed)))
        keys = ", ".join(map(identifier, format.given_by))
        connection.execute(
            f"create temp table places as select place, {_digest(format.answer)} as digest, {keys} from rows"
        )
        connection.execute("create temp table firsts as select digest, min(place) as first from places group by digest")
        order = ", ".join(map(identifier, format.order))
        rows = connection.sql(
            f"select first, {keys} from places join firsts using (digest) order by first, {order}, place"
        )
        givers = _Givers(rows.to_arrow_reader(ROW_GROUP), given)
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for batch in _with_places(parts, placed):
                start = batch.column("place")[0].as_py() if batch.num_rows else 0
                firsts, lists = givers.until(start + batch.num_rows)
                kept = batch.take(pa.array(firsts - start)).select(format.answer)
                if kept.num_rows:
                    writer.write_table(pa.Table.from_arrays([*kept.columns, lists], schema=schema), ROW_GROUP)


def _digest(names: Sequence[str]) -> str:
    """The hash of some texts, in which a null differs from every text."""
    parts = (
        f"coalesce(strlen({name})::varchar, 'null') || ':' || coalesce({name}, '')" for name in map(identifier, names)
    )
    return f"unhex(sha256({' || '.join(parts)}))"


def _with_places(parts: Sequence[Part], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of parts with their places, counted from 0."""
    start = 0
    for batch in read_parts(parts):
        places = pa.array(np.arange(start, start + batch.num_rows))
        yield pa.RecordBatch.from_arrays([places, *(batch.column(name) for name in schema.names[1:])], schema=schema)
        start += batch.num_rows


class _Givers:
    """Who gave each distinct answer, in the order of their first places."""

    def __init__(self, reader: pa.RecordBatchReader, given: pa.StructType) -> None:
        self._reader = reader
        self._given = given
        self._rows = reader.schema.empty_table()

    def until(self, place: int) -> tuple[Ints, pa.ListArray]:
        """(the first places before a place, the list of those who gave each) of answers not asked for yet."""
        pieces = [self._rows]
        while not pieces[-1].num_rows or pieces[-1].column("first")[-1].as_py() < place:
            batch = next(self._reader, None)
            if batch is None:
                break
            pieces.append(pa.Table.from_batches([batch]))
        rows = pa.concat_tables(pieces)
        firsts = rows.column("first").to_numpy()
        count = int(np.searchsorted(firsts, place))
        self._rows = rows.slice(count)
        distinct, starts = np.unique(firsts[:count], return_index=True)
        mine = rows.slice(0, count).drop_columns("first").combine_chunks()
        columns = [
            mine.column(field.name).cast(field.type).combine_chunks() if count else pa.array([], field.type)
            for field in self._given
        ]
        values = pa.StructArray.from_arrays(columns, fields=list(self._given))
        offsets = pa.array(np.append(starts, count).astype(np.int32))
        return distinct, pa.ListArray.from_arrays(offsets, values)


def write_reconciled(
    parts: Sequence[Part],
    schema: pa.Schema,
    listed: pa.Table,
    *,
    reconcile: str,
    log: str,
    order: Sequence[str],
    target: Path,
    database: Database,
) -> list[dict[str, Any]]:
    """Write what the macro `reconcile` makes of all score rows of the parts; the rows of the macro `log` about them."""
    with database.connected(RECONCILE_MEMORY) as connection:
        connection.register("rows", _scanned_again(parts, schema))
        connection.register("listed", listed)
        connection.execute(sql_definition(reconcile))
        _copy(connection, f"from {reconcile}() order by {', '.join(order)}", target)
        connection.execute(f"create view stored as from {parquet_reader([target])}")
        connection.execute(sql_definition(log))
        rows: list[dict[str, Any]] = connection.sql(f"from {log}()").to_arrow_table().to_pylist()
        return rows


def _scanned_again(parts: Sequence[Part], schema: pa.Schema) -> Any:
    """Parts as a data set that a query may read several times: the columns that it asks for, a part at a time."""
    from pyarrow import dataset

    files = [str(part) for part in parts if isinstance(part, Path)]
    if files:
        return dataset.dataset(files, schema=schema, format="ipc")
    return dataset.dataset([table_of_part(part) for part in parts], schema=schema)
