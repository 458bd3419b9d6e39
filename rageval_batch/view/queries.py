"""The SQL page: a user's query over the views of the store, its result by pages, as a chart, or as a file."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from markupsafe import Markup

from rageval_batch.analysis.session import Session
from rageval_batch.report.html import figures
from rageval_batch.report.html.blocks import Table
from rageval_batch.report.html.texts import plain_text
from rageval_batch.report.writers import write_file
from rageval_batch.resources import sql_names
from rageval_batch.view.paging import ROWS, View

Views = list[tuple[str, list[tuple[str, str]]]]  # name of a view, its columns with their types

VIEWS = (
    "runs", "leaderboard", "run_summary", "run_groups", "scores", "metrics", "gate_results", "fail_reasons",
    "question_difficulty", "confusions", "tallies", "repeat_scores", "rejects", "commits",
)  # fmt: skip
MOST_BARS = 60
MOST_POINTS = 500
_NUMBERS = (int, float)


@dataclass(frozen=True)
class Result:
    """One page of a result, and where the pages beside it are; it is not counted how many rows there are."""

    table: Table
    chart: Markup | None
    previous: str | None
    next: str | None


def result_page(session: Session, query: str, view: View, x: str | None, y: str | None) -> Result:
    """One page of a query's result, and with the first page a chart where columns were chosen for one."""
    number = max(1, view.number)
    first = (number - 1) * ROWS
    reader = session.reader(query)
    names = reader.schema.names
    drawn = x in names and y in names and x != y and number == 1
    whole = _slice(reader, first, MOST_POINTS if drawn else ROWS + 1)
    shown = min(whole.num_rows, ROWS)
    more = whole.num_rows > ROWS
    note = f"Rows {first + 1:,} to {first + shown:,}{', and there are more' if more else ''}." if shown else None
    return Result(
        Table("result", "Result", tuple(names), whole.slice(0, ROWS).to_pylist(), query, note=note),
        _chart(whole.select([x, y]), str(x), str(y)) if drawn else None,
        view.at(page=number - 1) if number > 1 else None,
        view.at(page=number + 1) if more else None,
    )


def _slice(reader: pa.RecordBatchReader, first: int, count: int) -> pa.Table:
    """So many rows from the first on; what comes behind them is not computed, what comes before is not held."""
    kept = []
    for batch in reader:
        mine = batch.slice(first, count)
        first, count = max(0, first - batch.num_rows), count - mine.num_rows
        if mine.num_rows:
            kept.append(mine)
        if not count:
            break
    return pa.Table.from_batches(kept, reader.schema)


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
    """The whole result in a temporary file, CSV or Parquet, batch by batch; the caller removes it."""
    handle, path = tempfile.mkstemp(prefix="rageval-", suffix=f".{format}")
    os.close(handle)
    try:
        reader = session.exported_reader(query) if format == "parquet" else session.reader(query)
        write_file(reader, format, path)
    except BaseException:
        os.unlink(path)
        raise
    return path


def described_views(session: Session) -> Views:
    """The views that a query may rely on, with their columns and types: those of all stores, then those of profiles."""
    stored = sorted({commit.manifest["profile"] for commit in session.commits})
    own = [name for name, folder in sql_names().items() if folder in stored]
    found = []
    for name in (*VIEWS, *stored, *own):
        try:
            schema = session.table(f"from {name} limit 0").schema
        except duckdb.Error:  # a macro, or a profile whose columns no view can have
            continue
        found.append((name, [(field.name, str(field.type)) for field in schema]))
    return found
