"""A line for every run of a commit: its score and the statistics that its profile shows of a run.

They come from the summary that lies in the commit, which takes no session; from one where the commit has no summary of
the present definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.dataclass import dataclass
from rageval_batch.runs.store import Commit
from rageval_batch.runs.summary_plan import SUMMARY

if TYPE_CHECKING:
    from rageval_batch.analysis.session import Session

_READ = ("run_id", "metric", "grouping", "value", "n_units")  # of a summary, beside the statistics that are named
_COUNTS = ("answered_count", "question_count")
MEANS = ("mean", "weighted_mean", "percent")  # statistics of a metric that leave questions without a value out
_STAT_NAMES = {"weighted_mean": "weighted mean", "micro": "micro average"}


@dataclass(frozen=True)
class PartialAverage:
    """An average of a run that is over n of its rows: those without an answer have no parts of a micro average, others
    may have no value of a metric."""

    run_id: str
    name: str
    n: int
    _: KW_ONLY
    rows: int
    noun: str  # what a row is: a question, a judgement
    is_micro: bool = True


def stat_name(run_stat: str) -> str:
    """What people call the statistic that makes a run's score of its rows."""
    return _STAT_NAMES.get(run_stat, run_stat)


def statistic(row: Mapping[str, Any], stat: str) -> float | int | None:
    """A statistic of a metric; percent is a hundred times the mean."""
    if stat == "percent":
        return None if row["mean"] is None else 100.0 * row["mean"]
    value: float | int | None = row[stat]
    return value


def _columns(path: Path, names: list[str]) -> pa.Table:
    """Columns of a file, without the data sets that pyarrow's own call imports."""
    with pq.ParquetFile(path) as file:
        return file.read(names)


def summary_of_commit(commit: Commit, definition: str, named: Mapping[str, tuple[str, str]]) -> pa.Table | None:
    """What lines of the runs of a commit are made of: a row a run and metric, with the counts of questions and answers.

    `named`: the statistics of the lines. None where it has no summary of that definition, or lies in a pack.
    """
    files = commit.files("summary")
    if commit.packed or commit.dropped or commit.manifest.get("summary") != definition or not files:
        return None
    rows = pa.concat_tables(part for path in files for part in _of_whole_runs(path, named))
    records = pa.concat_tables(_columns(path, ["run_id", *_COUNTS]) for path in commit.files("runs"))
    names = rows.column("run_id")
    place = pc.index_in(names, records.column("run_id").cast(names.type).combine_chunks())
    for name in _COUNTS:
        rows = rows.append_column(name, records.column(name).take(place))
    return rows


def _of_whole_runs(path: Path, named: Mapping[str, tuple[str, str]]) -> Iterator[pa.Table]:
    """The same of a file, a row group at a time: there may be many runs, metrics and groups."""
    metrics = pa.array(sorted(_metrics(named)), LARGE_STRING)
    stats = {"mean" if stat == "percent" else stat for _, stat in named.values()}
    stats |= {"n_counted", "n_total"} | ({"n_parts"} if "micro" in stats else set())
    read = pa.schema([SUMMARY.field(name) for name in (*_READ, *sorted(stats - set(_READ)))])
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            # A file without a null may say so of its columns: those of one commit then differ.
            rows = file.read_row_group(number, read.names).select(read.names).cast(read)
            whole = pc.equal(rows.column("grouping"), "")
            yield rows.filter(pc.and_(whole, pc.is_in(rows.column("metric"), metrics)))


def summary_from_session(session: Session, commit: str) -> pa.Table:
    """The same from the views."""
    return session.table(
        """
        select s.*, r.answered_count, r.question_count
        from runs r join stored_summary s on s.commit = r.commit and s.run_id = r.run_id
        where r.commit = $commit and s.grouping = '' and s.metric <> ''
        """,
        {"commit": commit},
    )


def _metrics(named: Mapping[str, tuple[str, str]]) -> set[str]:
    return {"score", *(metric for metric, _ in named.values())}


def run_lines(summary: pa.Table, named: Mapping[str, tuple[str, str]], run_stat: str) -> pa.Table:
    """A line for every run, best first: score, the statistic that it is, of how many units; the named statistics,
    answers and questions. Columns, as there may be more runs than anybody looks at."""
    runs = summary.column("run_id").unique()
    of_metric = {name: _of_runs(summary, name, runs) for name in _metrics(named)}
    counts = summary.take(pc.index_in(runs, summary.column("run_id")))
    lines = pa.table(
        {
            "run_id": runs,
            "score": of_metric["score"].column("value"),
            "stat": pa.repeat(pa.scalar(stat_name(run_stat), LARGE_STRING), len(runs)),
            "n": of_metric["score"].column("n_units"),
            **{name: _statistics(of_metric[metric], stat) for name, (metric, stat) in named.items()},
            "answered": counts.column("answered_count"),
            "questions": counts.column("question_count"),
        }
    )
    first = next(iter(named))
    order = pc.sort_indices(lines, [(first, "descending"), ("run_id", "ascending")])
    return lines.take(order)


def partial_averages(summary: pa.Table, named: Mapping[str, tuple[str, str]], noun: str) -> list[PartialAverage]:
    """The averages of lines that leave rows out: micro averages those without an answer, others those without a value.
    `noun`: what a row of a micro average is."""
    found: list[PartialAverage] = []
    columns = ["run_id", "n_parts", *_COUNTS]
    for name, (metric, stat) in named.items():
        rows = summary.filter(pc.equal(summary.column("metric"), metric))
        if stat == "micro":
            records = rows.select(columns).to_pylist()
            found += [one for row in records if (one := partial_average(row, name, row["n_parts"], noun=noun))]
        elif stat in MEANS:
            partial = rows.filter(pc.less(rows.column("n_counted"), rows.column("n_total")))
            records = partial.select(["run_id", "n_counted", "n_total"]).to_pylist()
            found += [one for row in records if (one := partial_mean(row["run_id"], name, row))]
    return found


def partial_mean(run: str, name: str, row: Mapping[str, Any]) -> PartialAverage | None:
    """A mean of questions, by its row of a summary; None where it is over all of them."""
    n, total = row["n_counted"], row["n_total"]
    return PartialAverage(run, name, n, rows=total, noun="question", is_micro=False) if n < total else None


def partial_average(record: Mapping[str, Any], name: str, n: int, *, noun: str) -> PartialAverage | None:
    """A micro average over n rows of a run by its record; None where all have an answer, or it is over all of them."""
    answered, rows = record["answered_count"], record["question_count"]
    if answered is None or rows is None or answered >= rows or n >= rows:
        return None
    return PartialAverage(record["run_id"], name, n, rows=rows, noun=noun)


def _of_runs(summary: pa.Table, metric: str, runs: pa.Array) -> pa.Table:
    """The row of a metric of each run; nulls where it has none."""
    rows = summary.filter(pc.equal(summary.column("metric"), metric))
    return rows.take(pc.index_in(runs, rows.column("run_id")))


def _statistics(rows: pa.Table, stat: str) -> pa.ChunkedArray:
    """`statistic` of every row."""
    return pc.multiply(rows.column("mean"), 100.0) if stat == "percent" else rows.column(stat)
