"""The SQL page: a user's query over the views of the store, its result by pages, as a chart, or as a file."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import KW_ONLY
from decimal import Decimal
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from rageval_batch.analysis.comments import with_comments
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.report.cells import count_text
from rageval_batch.report.html import figures
from rageval_batch.report.html.blocks import Table
from rageval_batch.report.html.texts import plain_text
from rageval_batch.report.writers import row_dicts, write_file
from rageval_batch.view.paging import ROWS, View


@dataclass(frozen=True)
class DescribedView:
    """A view that a query may rely on: what it holds, and its columns with name, type and comment."""

    name: str
    comment: str | None
    columns: tuple[tuple[str, str, str | None], ...]


Views = list[DescribedView]

EXAMPLES = (
    ("Best runs",
     "select run_id, profile, value as score, stat, n\nfrom run_values\nwhere metric = 'score'\n"
     "order by profile, score desc, run_id"),
    ("Best runs with intervals",
     "select rank, run_id, profile, score, stat, low, high, n\nfrom leaderboard\norder by profile, rank"),
    ("Hardest questions",
     "select q.question_id, d.mean, d.runs, d.usual_failure, q.question\nfrom question_difficulty d\n"
     "join questions q using (profile, eval_set, question_id)\norder by d.mean, q.question_id\nlimit 50"),
    ("Why answers fail", "select fail_reason, sum(n) as n\nfrom fail_reasons\ngroup by fail_reason\norder by n desc"),
    ("Runs by topic",
     "select q.topic, s.run_id, avg(s.score) as mean, count(*) as n\nfrom scores s\n"
     "join questions q using (profile, eval_set, question_id)\nwhere q.topic is not null\n"
     "group by all\norder by mean\nlimit 200"),
    ("What was rejected", "select reason, count(*) as n\nfrom rejects\ngroup by reason\norder by n desc"),
    ("All views", "show tables"),
)  # fmt: skip
_FIRST_VIEWS = ("runs", "leaderboard", "run_summary", "scores", "metrics", "questions", "answers")
MOST_BARS = 60
MOST_POINTS = 500
_NUMBERS = (int, float, Decimal)


@dataclass(frozen=True)
class Result:
    """One page of a result, and where the pages beside it are; it is not counted how many rows there are."""

    table: Table
    chart: Markup | None
    _: KW_ONLY
    drawn: str | None  # how much of the result the chart has
    previous: str | None
    next: str | None


def result_page(session: Session, query: str, view: View, *, x: str | None, y: str | None) -> Result:
    """One page of a query's result, and a chart of its first rows where columns were chosen for one."""
    number = max(1, view.number)
    first = (number - 1) * ROWS
    reader = session.reader(query, texts=True)
    names = reader.schema.names
    drawn = x in names and y in names and x != y
    beginning, whole = _slices(reader, (0, MOST_POINTS + 1 if drawn else 0), (first, ROWS + 1))
    shown = min(whole.num_rows, ROWS)
    more = whole.num_rows > ROWS
    chart, told = _chart(beginning.select([x, y]), str(x), str(y)) if drawn else (None, None)
    note = f"Rows {first + 1:,} to {first + shown:,}{', and there are more' if more else ''}." if shown else None
    return Result(
        Table("result", "Result", tuple(names), rows=row_dicts(whole.slice(0, ROWS)), sql=query, note=note),
        chart,
        drawn=told,
        previous=view.at(page=number - 1) if number > 1 else None,
        next=view.at(page=number + 1) if more else None,
    )


def _slices(reader: pa.RecordBatchReader, *wanted: tuple[int, int]) -> list[pa.Table]:
    """The rows of each (first, count); what comes behind them is not computed, what none has is not held."""
    kept: list[list[pa.RecordBatch]] = [[] for _ in wanted]
    end = max(first + count for first, count in wanted)
    seen = 0
    for batch in reader:
        for mine, (first, count) in zip(kept, wanted, strict=True):
            start, stop = max(0, first - seen), min(batch.num_rows, first + count - seen)
            if start < stop:
                mine.append(batch.slice(start, stop - start))
        seen += batch.num_rows
        if seen >= end:
            break
    return [pa.Table.from_batches(mine, reader.schema) for mine in kept]


def _chart(rows: pa.Table, x: str, y: str) -> tuple[Markup | None, str | None]:
    """(bars over names, or a line over numbers; what of the first rows it shows), no chart where y has no numbers."""
    told = f"{plain_text(y)} by {plain_text(x)}"
    first = rows.slice(0, MOST_POINTS)
    whole = [(a, b) for a, b in zip(*(first.column(k).to_pylist() for k in (0, 1)), strict=True)]
    pairs = [(a, float(b)) for a, b in whole if _is_finite(b)]
    if not pairs:
        return None, None
    line = all(_is_finite(a) for a, _ in pairs)
    shown = pairs if line else pairs[:MOST_BARS]
    more = len(shown) < len(pairs) or rows.num_rows > MOST_POINTS
    said = f"The first {len(shown):,} rows; there are more." if more else f"n = {count_text(len(shown), 'row')}."
    if without := len(whole) - len(pairs):
        said += f" Left out: {count_text(without, 'row')} without a number in {plain_text(y)}."
    if line:
        points = [(float(a), b) for a, b in shown]
        return figures.line(points, plain_text(x, 40), plain_text(y, 40), told=told), said
    names = ["null" if a is None else plain_text(str(a), 60) for a, _ in shown]
    return figures.bars(list(zip(names, (b for _, b in shown), strict=True)), told), said


def _is_finite(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool) and math.isfinite(value)


def written_result(session: Session, query: str, format: str) -> str:
    """The whole result in a temporary file, CSV or Parquet, batch by batch; the caller removes it."""
    handle, path = tempfile.mkstemp(prefix="rageval-", suffix=f".{format}")
    os.close(handle)
    try:
        reader = session.exported_reader(query) if format == "parquet" else session.reader(query, texts=True)
        write_file(reader, format, path)
    except BaseException:
        os.unlink(path)
        raise
    return path


def described_views(session: Session) -> Views:
    """The views that a query may rely on, those that are most often needed first."""
    columns: dict[str, list[tuple[str, str, str | None]]] = {}
    for row in session.rows(
        "select table_name, column_name, data_type, comment from duckdb_columns()\n"
        "where schema_name = 'main' and database_name = current_database() order by table_name, column_index"
    ):
        columns.setdefault(row["table_name"], []).append((row["column_name"], row["data_type"], row["comment"]))
    comments = {row["name"]: row["comment"] for row in session.rows(with_comments("show tables"))}
    names = [name for name in _FIRST_VIEWS if name in comments]
    names += [name for name in comments if name not in names]
    return [DescribedView(name, comments[name], tuple(columns.get(name, ()))) for name in names]
