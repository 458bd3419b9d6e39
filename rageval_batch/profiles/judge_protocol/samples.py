"""Samples: the list of those that should have been judged, and the rows of a view as they are paired by sample."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.model import Params
from rageval_batch.profiles.judge_protocol.record import folded
from rageval_batch.profiles.judge_protocol.rubric import SAMPLE, rubric_of


def list_columns(params: Params) -> tuple[str, ...]:
    """What a sample of the list needs: the parts of a sample that the rubric asks for."""
    record = rubric_of(params["rubric"]).record
    return tuple(name for name in SAMPLE if record.asks(name))


def read_list(samples: pa.Table) -> pa.Table:
    """The sample list with target names for comparing; InputError for a sample that is listed twice.

    What the rubric does not ask for is null.
    """
    named = [name for name in SAMPLE if name in samples.column_names]
    for name in SAMPLE:
        if name not in named:
            samples = samples.append_column(name, pa.nulls(samples.num_rows, LARGE_STRING))
    keys = folded(samples.column("target_model").combine_chunks().cast(LARGE_STRING))
    listed = samples.append_column("target_key", keys)
    frame = pl.from_arrow(listed)
    assert isinstance(frame, pl.DataFrame)
    again = frame.filter(~pl.struct("question_id", "prompt_variant", "target_key", "output_id").is_first_distinct())
    if len(again):
        row = again.row(0, named=True)
        sample = ", ".join(f"{name} '{row[name]}'" for name in named)
        raise InputError(f"{row['where']}: the sample of {sample} is there twice. List each once.")
    return listed


def restored(rows: pa.Table) -> pa.Table:
    """Rows of the view judge_protocol with target_key, weight and the counted scores: they follow from its columns."""
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    once = pl.col("valid") & ~pl.col("warnings").list.contains("duplicate")
    scores = {
        "cross": pl.when(once & (pl.col("method") == "cross_judge")).then("score"),
        "self": pl.when(once & (pl.col("method") == "self_judge")).then("score"),
    }
    columns = [
        column
        for name, score in scores.items()
        for column in (score.alias(f"{name}_score"), score.is_not_null().replace_strict(
            {True: 1, False: None}, return_dtype=pl.Int8).alias(f"{name}_counted"))
    ]  # fmt: skip
    keys = folded(rows.column("target_model").combine_chunks().cast(LARGE_STRING))
    named = pl.Series("target_key", pl.from_arrow(keys))
    return frame.with_columns(*columns, named, weight=pl.lit(1.0)).to_arrow()
