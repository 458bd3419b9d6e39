"""A line for every run of a commit: its score and the statistics that its profile shows of a run.

They come from the summary that lies in the commit, which takes no session; from one where the commit has no summary of
the present definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.runs.store import Commit
from rageval_batch.runs.summary_plan import SUMMARY

if TYPE_CHECKING:
    from rageval_batch.analysis.session import Session

_COUNTS = ("answered_count", "question_count")
_STAT_NAMES = {"weighted_mean": "weighted mean", "micro": "micro average"}


def stat_name(run_stat: str) -> str:
    """What people call the statistic that makes a run's score of its rows."""
    return _STAT_NAMES.get(run_stat, run_stat)


def statistic(row: Mapping[str, Any], stat: str) -> float | int | None:
    """A statistic of a metric; percent is a hundred times the mean."""
    if stat == "percent":
        return None if row["mean"] is None else 100.0 * row["mean"]
    value: float | int | None = row[stat]
    return value


def summary_of_commit(commit: Commit, definition: str) -> pa.Table | None:
    """What a commit has of its whole runs, a row a metric, with their counts of questions and answers.

    None where it has no summary of that definition, or lies in a pack.
    """
    files = commit.files("summary")
    if commit.packed or commit.dropped or commit.manifest.get("summary") != definition or not files:
        return None
    # A file without a null may say so of its columns: those of one commit then differ.
    rows = pa.concat_tables(pq.read_table(path, partitioning=None).cast(SUMMARY) for path in files)
    rows = rows.filter(pc.and_(pc.equal(rows.column("grouping"), ""), pc.not_equal(rows.column("metric"), "")))
    records = pa.concat_tables(
        pq.read_table(path, columns=["run_id", *_COUNTS], partitioning=None) for path in commit.files("runs")
    )
    names = rows.column("run_id")
    place = pc.index_in(names, records.column("run_id").cast(names.type).combine_chunks())
    for name in _COUNTS:
        rows = rows.append_column(name, records.column(name).take(place))
    return rows


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


def run_lines(summary: pa.Table, named: Mapping[str, tuple[str, str]], run_stat: str) -> list[dict[str, Any]]:
    """A line for every run, best first: score, the statistic that it is, of how many units; the named statistics,
    answers and questions."""
    wanted = {metric for metric, _ in named.values()} | {"score"}
    metric = summary.column("metric")
    rows = summary.filter(pc.is_in(metric, pa.array(sorted(wanted), metric.type)))
    lines: dict[str, dict[str, Any]] = {}
    for row in rows.to_pylist():  # in no order: the names stand in theirs from the start
        line = lines.setdefault(
            row["run_id"],
            {
                "run_id": row["run_id"], "score": None, "stat": stat_name(run_stat), "n": None, **dict.fromkeys(named),
                "answered": row["answered_count"], "questions": row["question_count"],
            },
        )  # fmt: skip
        if row["metric"] == "score":
            line["score"], line["n"] = row["value"], row["n_units"]
        for name, (metric, stat) in named.items():
            if metric == row["metric"]:
                line[name] = statistic(row, stat)
    first = next(iter(named))
    return sorted(
        lines.values(), key=lambda line: (-(line[first] if line[first] is not None else -1e300), line["run_id"])
    )
