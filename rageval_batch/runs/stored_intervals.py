"""Intervals of runs that took long to resample, kept beside the index of a store: nobody resamples them again.

They say nothing that the score rows do not say, and can be removed at any time. A damaged file is none.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.runs.store_index import FOLDER

FILE = "intervals.parquet"
INTERVALS = pa.schema(
    [
        *((name, LARGE_STRING) for name in ("commit", "run_id", "definition")),
        ("low", pa.float64()),
        ("high", pa.float64()),
    ]
)


def read_intervals(store: Path) -> pa.Table:
    """The intervals that were kept; `definition` says what they were computed by."""
    with suppress(OSError, pa.ArrowException):
        found = pq.ParquetFile(store / FOLDER / FILE).read()
        if found.schema.equals(INTERVALS):
            return found
    return INTERVALS.empty_table()


def keep_intervals(store: Path, added: pa.Table) -> None:
    """Keep intervals beside those that were kept before; nothing where the store cannot be written."""
    aside = store / FOLDER / f".{FILE}-{secrets.token_hex(3)}"
    try:
        aside.parent.mkdir(exist_ok=True)
        pq.write_table(pa.concat_tables([read_intervals(store), added.cast(INTERVALS)]), aside, compression="zstd")
        os.replace(aside, store / FOLDER / FILE)
    except OSError:
        aside.unlink(missing_ok=True)
