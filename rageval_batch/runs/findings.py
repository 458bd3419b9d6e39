"""What a user should be told about the scores of a commit: parts of the score that could not be computed, a failure
that most answers of a run share, rows that a run lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from rageval_batch.columnar.json_objects import MISSING_OUTPUT, REASONS
from rageval_batch.inputs.protocols import RunCounts
from rageval_batch.model import Profile
from rageval_batch.runs.database import Database
from rageval_batch.sql_text import parquet_reader

MOST = 0.5  # share of the answers of a run from which a common failure is told
_SHOWN = 3  # runs that a message names
_UNANSWERED = (REASONS[MISSING_OUTPUT], "missing")


@dataclass(frozen=True)
class Findings:
    """Sentences about a commit, each once, and those about each of its runs."""

    of_commit: tuple[str, ...]
    of_run: Mapping[str, tuple[str, ...]]


def find(scores: Path, profile: Profile, runs: Mapping[str, RunCounts], *, database: Database) -> Findings:
    """What the score rows of a commit show."""
    said: list[str] = []
    of_run: dict[str, list[str]] = {}
    with database.connected() as connection:
        for sentence, by_run in (*_uncomputed(connection, scores, profile), *_common_failures(connection, scores)):
            said.append(sentence)
            for run, own in by_run.items():
                of_run.setdefault(run, []).append(own)
    lost = {run: counts.rejected for run, counts in runs.items() if counts.lost_rows}
    if lost:
        named = [f"'{run}' {n:,} of {rows:,}" for run, (n, rows) in lost.items()]
        said.append(f"WARNING: {_runs(len(lost))} lost more than 1 % of the rows to rejects: {_listed(named)}.")
    return Findings(tuple(said), {run: tuple(sentences) for run, sentences in of_run.items()})


_Finding = tuple[str, dict[str, str]]  # a sentence about the commit, and one for each run that it is about


def _uncomputed(connection: duckdb.DuckDBPyConnection, scores: Path, profile: Profile) -> list[_Finding]:
    out = []
    for part in profile.scoring.uncomputed:
        found = _counts(connection, scores, f"count(*) filter ({part.where})")
        if found:
            n, rows = (sum(one[k] for one in found.values()) for k in range(2))
            by_run = {run: f"{part.part}: not computed for {n:,} of {rows:,} rows" for run, (n, rows) in found.items()}
            about = f"{n:,} of {rows:,} rows of {_runs(len(found))}"
            out.append((f"WARNING: {part.part}: {about}: {part.why}. {part.give}", by_run))
    return out


def _counts(connection: duckdb.DuckDBPyConnection, scores: Path, count: str) -> dict[str, tuple[int, int]]:
    """(counted rows, all rows) of every run in which any row is counted."""
    query = f"select run_id, {count} as n, count(*) from {parquet_reader([scores])} group by run_id having n > 0"
    return {run: (n, rows) for run, n, rows in connection.execute(f"{query} order by run_id").fetchall()}


def _common_failures(connection: duckdb.DuckDBPyConnection, scores: Path) -> list[_Finding]:
    """Of every failure that most answers of some run share: which runs, and what the first of them has in detail."""
    reader = parquet_reader([scores])
    names = [row[0] for row in connection.execute(f"describe from {reader}").fetchall()]
    detail = "fail_detail" if "fail_detail" in names else "null"
    query = f"""
        with answers as (
            select run_id, fail_reason, {detail} as detail from {reader}
            where fail_reason is null or fail_reason not in {_UNANSWERED}
        )
        select run_id, fail_reason, n, rows, detail from (
            select run_id, fail_reason, count(*) as n, sum(count(*)) over (partition by run_id) as rows,
                   min(detail) as detail
            from answers group by run_id, fail_reason
        ) where fail_reason is not null and n > {MOST} * rows order by run_id"""
    found: dict[str, list[tuple[str, int, int, Any]]] = {}
    for run, reason, n, rows, text in connection.execute(query).fetchall():
        found.setdefault(reason, []).append((run, n, int(rows), text))
    out = []
    for reason, runs in found.items():
        details = Counter(text for *_, text in runs if text)
        example = f" ({details.most_common(1)[0][0]})" if details else ""
        by_run = {run: f"{n:,} of {rows:,} answers: {reason}{example}" for run, n, rows, _ in runs}
        named = _listed([f"'{run}' {n:,} of {rows:,}" for run, n, rows, _ in runs])
        sentence = f"WARNING: most answers of {_runs(len(runs))} fail for one reason, {reason}{example}: {named}."
        out.append((f"{sentence} Look at one with rageval explain.", by_run))
    return out


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
