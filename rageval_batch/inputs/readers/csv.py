"""CSV rows: every cell is text; a record of the wrong width is a row error, not the end of the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from rageval_batch.columnar.strings import Offsets
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import RowError
from rageval_batch.inputs.readers.columns import ColumnBlock, column_blocks
from rageval_batch.inputs.sources import Source


def read_csv(source: Source) -> Iterator[ColumnBlock]:
    """The records of a CSV file; those of the wrong width come last, in a block of their own."""
    bad_records: list[Any] = []

    def skip(record: Any) -> str:
        bad_records.append(record)
        return "skip"

    names = _header(source)
    with source.open() as stream:
        reader = arrow_csv.open_csv(
            stream,
            arrow_csv.ReadOptions(use_threads=False, block_size=blocks.BLOCK_BYTES),
            arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_binary()), strings_can_be_null=False),
        )
        line = 2  # records are counted as lines: the header is the first
        for batch in reader:  # Arrow reads ahead: it has met every bad record before the last of this batch
            lines = _numbers_without(line, batch.num_rows, {record.number for record in bad_records})
            yield from column_blocks([batch], lines)
            line = int(lines[-1]) + 1 if len(lines) else line
    if bad_records:
        yield _bad_record_block(bad_records)


def _header(source: Source) -> list[str]:
    with source.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
        return next(csv.reader(text), [])


def _numbers_without(first: int, count: int, taken: set[int]) -> Offsets:
    """`count` numbers from `first` on, without those that are taken."""
    numbers: list[int] = []
    while len(numbers) < count:
        if first not in taken:
            numbers.append(first)
        first += 1
    return np.array(numbers, np.int64)


def _bad_record_block(records: list[Any]) -> ColumnBlock:
    return ColumnBlock(
        lines=np.array([record.number for record in records], np.int64),
        columns={},
        row_errors=[
            RowError(
                k, "malformed_csv", f"{record.actual_columns} cells where the header has {record.expected_columns}"
            )
            for k, record in enumerate(records)
        ],
        raw_rows=[str(record.text) for record in records],
    )
