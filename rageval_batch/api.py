"""The same scorer for notebooks: frames or files in, frames out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.compared_runs import find_compared_runs, open_compared
from rageval_batch.analysis.comparison import RULES, Comparison, Rules
from rageval_batch.analysis.comparison import compare as compare_runs
from rageval_batch.inputs.map_check import check_map
from rageval_batch.inputs.one_table import take_questions
from rageval_batch.inputs.presets import read_map, with_map
from rageval_batch.inputs.run_names import with_run_names
from rageval_batch.inputs.sources import Source, frame_source, sources
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs.commit_record import Counts
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import run as run_sweep


@dataclass(frozen=True)
class Scores:
    """Score rows sorted by run and question, the rows that could not be used, and how they add up."""

    scores: pl.DataFrame
    rejects: pl.DataFrame
    summary: pl.DataFrame
    counts: Counts


def score(
    outputs: Any,
    questions: Any = None,
    profile: str = "",
    contexts: Any = None,
    params: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    map: Mapping[str, Any] | None = None,
    preset: str | None = None,
) -> Scores:
    """Score frames (Polars, Arrow, pandas, lists of dicts) or files; with `store`, as a commit there.

    Rows that carry their questions need no `questions`. `map` says where fields of the outputs stand, `preset` which
    tool exported them.
    """
    chosen = get_profile(profile)
    fields = read_map(map or {}, "map")
    files, _ = with_run_names(with_map(_sources(outputs, "outputs", chosen.inputs.whole_files), preset, fields))
    check_map(files, fields, chosen, questions is not None)
    with (
        tempfile.TemporaryDirectory(prefix="rageval-") as taken,
        tempfile.TemporaryDirectory(prefix="rageval-") as folder,
    ):
        question_files = _sources(questions, "questions") if questions is not None else []
        if questions is None and chosen.inputs.questions_required:
            table = take_questions(files, chosen, Path(taken))
            files, question_files = table.outputs, [table.questions]
        job = Job(
            profile=chosen,
            params=chosen.read_params(params or {}),
            outputs=files,
            questions=question_files,
            contexts=_sources(contexts, "contexts") if contexts is not None else [],
        )
        place = Store(folder if store is None else store)
        outcome = run_sweep(job, place, threads=threads)
        with open_store(place.path, functions=False) as session:
            commit = {"commit": outcome.commit.id}
            keys = "select v.* from {} v join runs r on r.run_id = v.run_id and r.eval_set = v.eval_set"
            where = f"where r.commit = $commit and r.profile = '{chosen.name}'"
            order = "order by v.run_id, v.question_id, v.repeat"
            return Scores(
                _frame(session.table(f"{keys.format(chosen.name)} {where} {order}", commit)),
                _frame(session.table("select * exclude (commit) from rejects where commit = $commit", commit)),
                _frame(session.table(f"{keys.format('run_summary')} {where} order by v.run_id, v.metric", commit)),
                outcome.counts,
            )


def compare(
    base: str,
    cand: str,
    store: str | os.PathLike[str] = "runs",
    metric: str = "score",
    min_delta: float = 0.0,
    max_regressions: int = 0,
    fail_on: str = RULES,
    strict_hashes: bool = True,
    profile: str | None = None,
    eval_set: str | None = None,
) -> Comparison:
    """A candidate against a base: runs of a store, or files of runs. `.passed`, `.delta`, `.movers`, `.as_dict()`."""
    with open_compared(store, [base, cand]) as session:
        compared = find_compared_runs(
            session, base, [cand], profile=profile, eval_set=eval_set, metric=metric, strict=strict_hashes
        )
        return compare_runs(session, compared, Rules(min_delta, max_regressions, fail_on))[0]


def _frame(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _sources(given: Any, name: str, whole_json: bool = False) -> list[Source]:
    if isinstance(given, str | os.PathLike):
        return sources([given], whole_json)
    if isinstance(given, Iterable) and all(isinstance(part, str | os.PathLike) for part in _first(given)):
        return sources(given, whole_json)
    return [frame_source(given, name)]


def _first(given: Iterable[Any]) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) and given else [None]
