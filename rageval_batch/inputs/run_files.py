"""Runs that lie in a file in place of a store: a Parquet of score rows, or the JSON run of other harnesses."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from rageval_batch.errors import InputError
from rageval_batch.inputs.sources import unreadable
from rageval_batch.model.schemas import QUESTION_ID

ENDINGS = (".json", ".parquet")
_CONSTANT = ("run_id", "profile", "questions_sha256", "source_sha256", "pdf_sha256", "params_sha256")


@dataclass(frozen=True)
class RunFile:
    """One run of a file: question_id, weight and value of its answers, and what the file says of the run."""

    path: str
    values: pa.Table
    about: dict[str, str | None]
    score: float | None  # of the whole run, where the file has it


def is_run_file(name: str) -> bool:
    """Whether a name is that of a file that could be a run."""
    return name.lower().endswith(ENDINGS) and Path(name).is_file()


def read_run_file(path: str, metric: str) -> RunFile:
    """The values of a metric in a run file; InputError with what the file lacks."""
    return _read_json(path, metric) if path.lower().endswith(".json") else _read_parquet(path, metric)


# --- JSON: {"summary": {…}, "results": [{"id", "metrics": {"score"}}]} ----------------------------------------------


def _read_json(path: str, metric: str) -> RunFile:
    try:
        content = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    results = content.get("results") if isinstance(content, dict) else None
    summary = content.get("summary") if isinstance(content, dict) else None
    if not isinstance(results, list) or not isinstance(summary, dict):
        raise InputError(f"{path} is no run: it needs an object `summary` and a list `results`.")
    rows = [_json_row(path, number, entry, metric) for number, entry in enumerate(results)]
    about = {name: _text(summary.get(name)) for name in _CONSTANT}
    score = _finite(summary.get("weighted_score")) if metric == "score" else None
    return RunFile(path, _values(path, pl.DataFrame(rows, _ROW, orient="row")), _about(about), score)


_ROW = {"question_id": pl.String, "repeat": pl.Int64, "weight": pl.Float64, "value": pl.Float64}


def _json_row(path: str, number: int, entry: Any, metric: str) -> tuple[str, int, float | None, float | None]:
    where = f"{path}, results[{number}]"
    metrics = entry.get("metrics") if isinstance(entry, dict) else None
    if not isinstance(metrics, dict):
        raise InputError(f"{where}: a result needs `id` and an object `metrics`.")
    found = next((entry[name] for name in QUESTION_ID if name in entry), None)
    if isinstance(found, bool) or not isinstance(found, str | int | float) or found == "":
        raise InputError(f"{where}: this result has no id.")
    value, weight, repeat = metrics.get(metric), entry.get("weight"), entry.get("repeat", 0)
    for name, number_ in ((metric, value), ("weight", weight)):
        if number_ is not None and not isinstance(number_, int | float):
            raise InputError(f"{where}: {name} is {number_!r}, not a number.")
    if isinstance(repeat, bool) or not isinstance(repeat, int):
        raise InputError(f"{where}: repeat is {repeat!r}, not a whole number.")
    question = found if isinstance(found, str) else json.dumps(found)
    try:
        question.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: the id {found!a} is no valid text.") from None
    return question, repeat, _finite(weight), _finite(value)


def _finite(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# --- Parquet of score rows ------------------------------------------------------------------------------------------


def _read_parquet(path: str, metric: str) -> RunFile:
    try:
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = lazy.collect_schema()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from error
    question = next((name for name in QUESTION_ID if name in schema), None)
    if question is None:
        raise InputError(f"{path} has no column {' or '.join(QUESTION_ID)}. Give a Parquet of score rows.")
    if metric not in schema or not (schema[metric].is_numeric() or schema[metric] == pl.Boolean):
        numeric = [name for name, kind in schema.items() if kind.is_numeric() or kind == pl.Boolean]
        raise InputError(f"{path} has no column of numbers '{metric}'. It has: {', '.join(numeric) or 'none'}.")
    columns = [
        pl.col(question).cast(pl.String).alias("question_id"),
        (pl.col("repeat").cast(pl.Int64) if "repeat" in schema else pl.lit(0, pl.Int64)).alias("repeat"),
        (pl.col("weight").cast(pl.Float64) if "weight" in schema else pl.lit(None, pl.Float64)).alias("weight"),
        pl.col(metric).cast(pl.Float64).alias("value"),
    ]
    constant = [name for name in _CONSTANT if name in schema]
    try:
        rows = lazy.select(columns).collect()
        found = {
            name: lazy.select(pl.col(name).cast(pl.String).unique()).collect()[name].to_list() for name in constant
        }
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from error
    for name, values in found.items():
        if len(values) > 1:
            raise InputError(
                f"{path} has {len(values)} different {name}: it must be one run. "
                f"Write one with rageval sql \"from PROFILE where run_id = '…'\" --format parquet -o FILE."
            )
    if rows["question_id"].null_count():
        raise InputError(f"{path} has a row without {question}.")
    return RunFile(path, _values(path, rows), _about({n: _text(v[0] if v else None) for n, v in found.items()}), None)


# --- both -----------------------------------------------------------------------------------------------------------


def _about(found: dict[str, str | None]) -> dict[str, str | None]:
    """What the file says of the run; a document has two names."""
    return {**found, "source_sha256": found.get("source_sha256") or found.get("pdf_sha256")}


def _values(path: str, rows: pl.DataFrame) -> pa.Table:
    """The rows, null where a value is not finite; weights are all there or none is."""
    doubled = rows.filter(rows.select("question_id", "repeat").is_duplicated())
    if len(doubled):
        raise InputError(f"{path} has question '{doubled['question_id'][0]}' more than once.")
    if bool((rows["weight"] < 0).any()):
        raise InputError(f"{path} has a negative weight. A weight is a finite number from 0.")
    if rows["weight"].null_count() < len(rows):
        rows = rows.with_columns(pl.col("weight").fill_null(1.0))
    value = pl.when(pl.col("value").is_finite()).then("value").alias("value")
    return rows.select("question_id", "weight", value).to_arrow()
