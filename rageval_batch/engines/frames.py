"""A Spark data frame as an input: its rows in Parquet files, in an order that does not depend on how it is divided."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from rageval_batch.inputs.sources import Source
from rageval_batch.inputs.splits import frame_parts
from rageval_batch.locations import Folder, child, size_of
from rageval_batch.runs.staging import STAGING
from rageval_batch.runs.store import Store

NAME = "outputs"
_PIECES = 5  # numbers that the hash of a row is cut into, each small enough to be summed exactly


@contextmanager
def frame_files(frame: DataFrame, store: Store) -> Iterator[Source]:
    """The rows of a data frame as a source, sorted by their JSON text; the files are removed at the end."""
    name = f"{STAGING}/frame-{secrets.token_hex(8)}"
    url = child(store.name, name) if store.remote else ""
    folder = store.path.resolve() / name
    target = url or folder.as_uri()
    text = sql.to_json(sql.struct(*(sql.col(f"`{name}`") for name in frame.columns)), {"ignoreNullFields": "false"})
    try:
        frame.orderBy(text).write.parquet(target)
        source = Source(NAME, folder, "frame", compression=None, stem=NAME, url=url)
        size = sum(size_of(part) for part in frame_parts(source))
        yield replace(source, size=size, sha256=_digest(frame.sparkSession.read.parquet(target)))
    finally:
        if url:
            Folder(url).remove_folder("")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _digest(frame: DataFrame) -> str:
    """A hash of the rows in whatever order: of the sums of the hashes of their JSON texts."""
    text = sql.to_json(sql.struct(*(sql.col(f"`{name}`") for name in frame.columns)), {"ignoreNullFields": "false"})
    digest = sql.sha2(text, 256)
    pieces = [
        sql.sum(sql.conv(sql.substring(digest, 1 + 12 * k, 12), 16, 10).cast("decimal(38, 0)")) for k in range(_PIECES)
    ]
    row = frame.agg(sql.count("*"), *pieces).collect()[0]
    return hashlib.sha256(f"{frame.schema.simpleString()} {tuple(map(str, row))}".encode()).hexdigest()
