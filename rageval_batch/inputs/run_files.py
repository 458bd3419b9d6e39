"""Runs that lie in a file in place of a store: a Parquet of score rows, or the JSON run of other harnesses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.json_numbers import number_text, written_float, written_int
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs.sources import unreadable
from rageval_batch.model.schemas import QUESTION_ID

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".json", ".parquet")
EXPORT_KEY = "rageval"  # in the metadata of an exported Parquet file: a JSON object with what is known of the run
_CONSTANT = ("run_id", "profile", "eval_set", "questions_sha256", "source_sha256", "pdf_sha256", "params_sha256")
_KEYS = ("question_id", "repeat", "weight", "fail_reason")


@dataclass(frozen=True)
class WantedRows:
    """What is read of a run file: the columns of a metric and of the units that runs of a profile are paired by."""

    profile: str
    metric: str
    columns: tuple[str, ...]
    _: KW_ONLY
    unit_key: tuple[str, ...] = ("question_id",)
    restored: Callable[[pa.Table], pa.Table] | None = None  # rows of the profile's view with all columns it is made of

    @property
    def by_question(self) -> bool:
        """Whether a question has one row a repeat."""
        return self.unit_key == ("question_id",)


@dataclass(frozen=True)
class RunFile:
    """One run of a file, opened: what the file says of the run, and which numbers its rows have."""

    path: str
    about: dict[str, str | None]
    score: float | None  # of the whole run, where the file has it
    _: KW_ONLY
    numbers: tuple[str, ...]
    results: tuple[dict[str, Any], ...] | None  # of a JSON run

    def rows(self, wanted: WantedRows) -> pa.Table:
        """The keys of its rows and the columns that are wanted; InputError with what it lacks.

        A number that is not finite is null.
        """
        return _checked(self, wanted, self._frame(wanted))

    def _frame(self, wanted: WantedRows) -> pl.DataFrame:
        import polars as pl

        if self.results is not None:
            rows = [
                _json_row(self.path, number, entry, metric=wanted.metric) for number, entry in enumerate(self.results)
            ]
            kinds = {"question_id": pl.String, "repeat": pl.Int64, "weight": pl.Float64, wanted.metric: pl.Float64}
            return pl.DataFrame(rows, kinds, orient="row")
        try:
            frame = pl.read_parquet(self.path, glob=False, hive_partitioning=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise unreadable(self.path, error) from error
        if wanted.restored is not None:
            try:
                restored = pl.from_arrow(wanted.restored(frame.to_arrow()))
            except (KeyError, pl.exceptions.ColumnNotFoundError) as error:
                raise InputError(f"{self.path} has not all columns of {wanted.profile}. {_EXPORT}") from error
            assert isinstance(restored, pl.DataFrame)
            frame = restored
        return frame


_EXPORT = "Write it with rageval sql \"from PROFILE where run_id = '…'\" --format parquet -o FILE."


def is_run_file(name: str) -> bool:
    """Whether a name is that of a file that could be a run."""
    return name.lower().endswith(ENDINGS) and Path(name).is_file()


def open_run_file(path: str) -> RunFile:
    """What a run file is about; InputError where it is none."""
    return _open_json(path) if path.lower().endswith(".json") else _open_parquet(path)


# --- JSON: {"summary": {…}, "results": [{"id", "metrics": {"score"}}]} ----------------------------------------------


def _open_json(path: str) -> RunFile:
    try:
        content = json.loads(
            Path(path).read_bytes().decode("utf-8-sig"), parse_float=written_float, parse_int=written_int
        )
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}.") from error
    results = content.get("results") if isinstance(content, dict) else None
    summary = content.get("summary") if isinstance(content, dict) else None
    if not isinstance(results, list) or not isinstance(summary, dict):
        raise InputError(f"{path} is no run: it needs an object `summary` and a list `results`.")
    metrics = [entry.get("metrics") for entry in results if isinstance(entry, dict)]
    numbers = dict.fromkeys(name for found in metrics if isinstance(found, dict) for name in found)
    about = {name: _text(summary.get(name)) for name in _CONSTANT}
    return RunFile(
        path,
        _about(about),
        _weighted_score(path, summary.get("weighted_score")),
        numbers=tuple(numbers),
        results=tuple(results),
    )


def _weighted_score(path: str, value: Any) -> float | None:
    """The score of the whole run; null where the summary has none, which Python writes as NaN too."""
    found = _finite_or_none(value)
    if value is not None and not _is_nan(value) and (found is None or isinstance(value, bool)):
        shown = number_text(value) if isinstance(value, int | float) else repr(value)
        raise InputError(
            f"{path}: summary.weighted_score is {shown[:80]}, not a finite number. Correct it or leave it out."
        )
    return found


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _json_row(path: str, number: int, entry: Any, *, metric: str) -> tuple[str, int, float | None, float | None]:
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
    question = found if isinstance(found, str) else number_text(found)
    try:
        question.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: the id {found!a} is no valid text.") from None
    return question, repeat, _finite_or_none(weight), _finite_or_none(value)


def _finite_or_none(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


# --- Parquet of score rows ------------------------------------------------------------------------------------------


def _open_parquet(path: str) -> RunFile:
    import polars as pl

    try:
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = lazy.collect_schema()
        found = {
            name: lazy.select(pl.col(name).cast(pl.String).unique()).collect()[name].to_list()
            for name in _CONSTANT
            if name in schema
        }
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from error
    for name, values in found.items():
        if len(values) > 1:
            raise InputError(f"{path} has {len(values)} different {name}: it must be one run. {_EXPORT}")
    if not any(name in schema for name in QUESTION_ID):
        raise InputError(f"{path} has no column {' or '.join(QUESTION_ID)}. Give a Parquet of score rows.")
    keys = {*_KEYS, *QUESTION_ID, *_CONSTANT}
    numbers = (name for name, kind in schema.items() if name not in keys and _is_number(kind))
    said = {name: _text(value) for name, value in _export_metadata(path).items()}
    about = said | {name: _text(values[0]) for name, values in found.items() if values}
    return RunFile(path, _about(about), None, numbers=tuple(numbers), results=None)


def _is_number(kind: pl.DataType) -> bool:
    import polars as pl

    return kind.is_numeric() or kind == pl.Boolean


def _export_metadata(path: str) -> dict[str, Any]:
    """What `rageval sql` wrote beside the rows; nothing where another program made the file."""
    try:
        found = json.loads((pq.read_metadata(path).metadata or {}).get(EXPORT_KEY.encode(), b"{}"))
    except (OSError, ValueError, pa.ArrowException):
        return {}
    return found if isinstance(found, dict) else {}


# --- both -----------------------------------------------------------------------------------------------------------


def _about(found: dict[str, str | None]) -> dict[str, str | None]:
    """What the file says of the run; a document has two names."""
    return {**found, "source_sha256": found.get("source_sha256") or found.get("pdf_sha256")}


def _checked(file: RunFile, wanted: WantedRows, frame: pl.DataFrame) -> pa.Table:
    """Keys and columns of the rows; weights are all there or none is."""
    import polars as pl

    path, columns = file.path, [name for name in wanted.columns if name not in _KEYS]
    for name in columns:
        kind = frame.schema.get(name)
        if kind is None or not (name in wanted.unit_key or _is_number(kind)):
            known = ", ".join(file.numbers) or "none"
            raise InputError(f"{path} has no column of numbers '{name}'. It has: {known}.")
    id_column = next(name for name in QUESTION_ID if name in frame.columns)
    frame = frame.with_columns(pl.col(id_column).alias("question_id"))
    if "repeat" not in frame.columns:
        frame = frame.with_columns(repeat=pl.lit(0))
    frame = frame.with_columns(pl.lit(None).alias(name) for name in _KEYS if name not in frame.columns)
    try:
        rows = frame.select(
            *(
                pl.col(name).cast(kind)
                for name, kind in zip(_KEYS, (pl.String, pl.Int32, pl.Float64, pl.String), strict=True)
            ),
            *(_finite_column(frame.schema[name], name) for name in columns),
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} is no run: {error}.") from error
    if wanted.by_question and rows["question_id"].null_count():
        raise InputError(f"{path} has a row without {id_column}.")
    doubled = rows.filter(rows.select("question_id", "repeat").is_duplicated())
    if wanted.by_question and len(doubled):
        raise InputError(f"{path} has question '{doubled['question_id'][0]}' more than once.")
    if bool((rows["weight"] < 0).any()):
        raise InputError(f"{path} has a negative weight. A weight is a finite number from 0.")
    rows = rows.with_columns(pl.when(pl.col("weight").is_finite()).then("weight").alias("weight"))
    if rows["weight"].null_count() < len(rows):
        rows = rows.with_columns(pl.col("weight").fill_null(1.0))
    return rows.to_arrow()


def _finite_column(kind: pl.DataType, name: str) -> pl.Expr:
    """A column as it is; of floats, what is not finite is null."""
    import polars as pl

    column = pl.col(name)
    return pl.when(column.is_finite()).then(column).alias(name) if kind.is_float() else column
