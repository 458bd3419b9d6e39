"""The functions over Arrow columns that views stand on; those for users are the library in columnar/functions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from rageval_batch.analysis.catalog_rows import ProfileRow
from rageval_batch.columnar import statistics
from rageval_batch.columnar.strings import Floats
from rageval_batch.resources import sql_definition

Function = tuple[Callable[..., pa.Array], list[Any], str]  # of columns, the types of its arguments, that of its result


def _whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mean_intervals(column: Any, resamples: Any) -> pa.Array:
    """Bootstrap intervals of weighted means; values are sorted first, so that their order changes nothing."""
    lists, counts = _whole(column), _whole(resamples).to_pylist()
    offsets = lists.offsets.to_numpy().tolist()
    values, weights = (lists.values.field(name).to_numpy(zero_copy_only=False) for name in ("value", "weight"))

    def sample(rows: Sequence[int], number: int) -> tuple[Floats, Floats]:
        mine = slice(offsets[rows[number]], offsets[rows[number] + 1])
        order = np.lexsort((weights[mine], values[mine]))
        return values[mine][order], weights[mine][order]

    found: dict[int, Any] = {}
    for resampled in set(counts):
        rows = [row for row, count in enumerate(counts) if count == resampled]
        sizes = [offsets[row + 1] - offsets[row] for row in rows]
        intervals = statistics.bootstrap_intervals(
            partial(sample, rows), sizes, resamples=resampled, threads=os.cpu_count() or 1
        )
        found.update(zip(rows, map(vars, intervals), strict=True))
    return pa.array(
        [found[row] for row in range(len(lists))], pa.struct([("low", pa.float64()), ("high", pa.float64())])
    )


# Functions that views stand on: they come with the first query that needs them.
VIEW_FUNCTIONS: dict[str, Function] = {
    "mean_interval": (
        _mean_intervals,
        ["STRUCT(value DOUBLE, weight DOUBLE)[]", "INTEGER"],
        "STRUCT(low DOUBLE, high DOUBLE)",
    ),
}


def interval_definition(row: ProfileRow) -> str:
    """The hash of all that the interval of a run's score depends on beside its rows."""
    sampling = f"{statistics.SEED} {statistics.BLOCKS} {statistics.LEVEL}"
    parts = (row.summary_plan.definition, sampling, *map(sql_definition, ("ranked", "unit_values", "metric_values")))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
