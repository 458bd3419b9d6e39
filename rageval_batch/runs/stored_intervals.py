"""Intervals of runs that took long to resample, kept beside the index of a store: nobody resamples them again.

They say nothing that the score rows do not say, and can be removed at any time. The file is a Parquet file behind its
SHA-256: a damaged one is none.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.runs.store_index import FOLDER

FILE = "intervals"
_DIGEST = 32  # bytes
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
        content = (store / FOLDER / FILE).read_bytes()
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            return INTERVALS.empty_table()
        found = pq.read_table(pa.BufferReader(content[_DIGEST:]))
        if found.schema.equals(INTERVALS):
            return found
    return INTERVALS.empty_table()


def keep_intervals(store: Path, added: pa.Table) -> None:
    """Keep intervals beside those that were kept before; nothing where the store cannot be written."""
    aside = store / FOLDER / f".{FILE}-{secrets.token_hex(3)}"
    try:
        aside.parent.mkdir(exist_ok=True)
        kept = pa.BufferOutputStream()
        pq.write_table(pa.concat_tables([read_intervals(store), added.cast(INTERVALS)]), kept, compression="zstd")
        content = kept.getvalue()
        aside.write_bytes(hashlib.sha256(content).digest() + content.to_pybytes())
        os.replace(aside, store / FOLDER / FILE)
    except OSError:
        aside.unlink(missing_ok=True)
