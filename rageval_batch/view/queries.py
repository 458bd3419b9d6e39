"""The SQL page: a user's query over the views of the store, its result by pages, as a chart, or as a file."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup

from rageval_batch.analysis.session import Session
from rageval_batch.errors import InputError
from rageval_batch.report.formats import pieces
from rageval_batch.report.html import figures
from rageval_batch.report.html.blocks import Table
from rageval_batch.report.html.texts import plain_text
from rageval_batch.resources import sql_names
from rageval_batch.view.paging import ROWS, View

VIEWS = (
    "runs", "leaderboard", "run_summary", "run_groups", "scores", "metrics", "gate_results", "fail_reasons",
    "question_difficulty", "confusions", "tallies", "repeat_scores", "rejects", "commits",
)  # fmt: skip
MOST_BARS = 60
MOST_POINTS = 500
_BATCH = 10_000
_NUMBERS = (int, float)


@dataclass(frozen=True)
class Result:
    """One page of a result, and where the pages beside it are; it is not counted how many rows there are."""

    table: Table
    chart: Markup | None
    previous: str | None
    next: str | None


def result_page(session: Session, query: str, view: View, x: str | None, y: str | None) -> Result:
    """One page of a query's result, and a chart of its first rows where columns were chosen for one."""
    found = session.result(query)
    number = max(1, view.number)
    first = (number - 1) * ROWS
    drawn = x in found.columns and y in found.columns and x != y and number == 1
    whole = _rows(found.limit(MOST_POINTS if drawn else ROWS + 1, first))
    rows = whole.slice(0, ROWS + 1)
    shown = min(rows.num_rows, ROWS)
    more = rows.num_rows > ROWS
    note = f"Rows {first + 1:,} to {first + shown:,}{', and there are more' if more else ''}." if shown else None
    chart = _chart(whole.select([x, y]), str(x), str(y)) if drawn else None
    return Result(
        Table("result", "Result", tuple(rows.column_names), rows.slice(0, ROWS).to_pylist(), query, note=note),
        chart,
        view.at(page=number - 1) if number > 1 else None,
        view.at(page=number + 1) if more else None,
    )


def _rows(found: duckdb.DuckDBPyRelation) -> pa.Table:
    try:
        return found.to_arrow_table()
    except duckdb.InterruptException as error:
        raise InputError("The query took too long and was stopped. Ask for less, or use rageval sql.") from error
    except duckdb.Error as error:
        raise InputError(f"SQL: {str(error).strip()}") from error


def _chart(rows: pa.Table, x: str, y: str) -> Markup | None:
    """Bars over names, a line over numbers; nothing where y has no numbers."""
    pairs = [(a, float(b)) for a, b in zip(*(rows.column(k).to_pylist() for k in (0, 1)), strict=True) if _finite(b)]
    told = f"{plain_text(y)} by {plain_text(x)}"
    if not pairs:
        return None
    if all(_finite(a) for a, _ in pairs):
        return figures.line([(float(a), b) for a, b in pairs], plain_text(x, 40), plain_text(y, 40), told)
    return figures.columns([(plain_text(str(a), 60), b) for a, b in pairs[:MOST_BARS]], plain_text(y, 40), told)


def _finite(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool) and math.isfinite(value)


def written_result(session: Session, query: str, format: str) -> str:
    """The whole result in a temporary file, CSV or Parquet; batch by batch, so that it need not fit into memory."""
    found = session.result(query)
    handle, path = tempfile.mkstemp(prefix="rageval-", suffix=f".{format}")
    os.close(handle)
    try:
        reader = found.to_arrow_reader(_BATCH)
        if format == "parquet":
            with pq.ParquetWriter(path, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
        else:
            _write_csv(reader, path)
    except duckdb.Error as error:
        os.unlink(path)
        raise InputError(f"SQL: {str(error).strip()}") from error
    return path


def _write_csv(reader: pa.RecordBatchReader, path: str) -> None:
    rows = (row for batch in reader for row in batch.to_pylist())
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(pieces(rows, reader.schema.names, "csv"))
        file.write("\n")


def described_views(session: Session) -> list[tuple[str, list[tuple[str, str]]]]:
    """The views that a query may rely on, with their columns and types: those of all stores, then those of profiles."""
    stored = sorted({commit.manifest["profile"] for commit in session.commits})
    own = [name for name, folder in sql_names().items() if folder in stored]
    found = []
    for name in (*VIEWS, *stored, *own):
        try:
            rows = session.rows(f"describe {name}")
        except duckdb.Error:  # a macro, or a profile whose columns no view can have
            continue
        found.append((name, [(row["column_name"], row["column_type"].lower()) for row in rows]))
    return found
