"""The same scorer for notebooks: frames or files in, frames out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

import polars as pl

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.compared_runs import find_compared_runs, open_compared
from rageval_batch.analysis.comparison import RULES, Comparison, Rules
from rageval_batch.analysis.comparison import compare as compare_runs
from rageval_batch.answering import answered
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.model import Profile
from rageval_batch.profiles.registry import given_profile
from rageval_batch.runs.commit_record import Counts
from rageval_batch.runs.job_inputs import given_job, given_sources
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import Outcome
from rageval_batch.runs.sweep import run as run_sweep

_THREADS_OF_A_CORE = 4  # beyond which more of them only take memory


@dataclass(frozen=True)
class Scores:
    """Score rows sorted by run and question, the rows that could not be used, and how they add up."""

    scores: pl.DataFrame
    rejects: pl.DataFrame
    summary: pl.DataFrame
    _: KW_ONLY
    counts: Counts


def score(
    outputs: Any,
    questions: Any = None,
    profile: str | Profile = "",
    *,
    contexts: Any = None,
    params: Mapping[str, Any] | None = None,
    store: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    map: Mapping[str, Any] | None = None,
    preset: str | None = None,
) -> Scores:
    """Score frames (Polars, Arrow, pandas, lists of dicts) or files; with `store`, as a commit there.

    Rows that carry their questions need no `questions`. `profile` is a name, a reference or a declared one. `map` says
    where fields of the outputs stand, `preset` which tool exported them. No result depends on `threads`.
    """
    chosen = given_profile(profile)
    if outputs is None:
        raise InputError("outputs: nothing was given. Give a frame, a list of dicts or files.")
    files = given_sources(outputs, "outputs", chosen.inputs.whole_files)
    with (
        given_job(files, questions, chosen, contexts=contexts, params=params, map=map, preset=preset) as job,
        tempfile.TemporaryDirectory(prefix="rageval-") as folder,
    ):
        place = Store(folder if store is None else store)
        outcome = run_sweep(job, place, threads=_checked_threads(threads))
        return answered(lambda: _scores(place, outcome, chosen))


def _checked_threads(threads: int | None) -> int | None:
    """As many threads as were asked for, and no more than are of use."""
    if threads is None:
        return None
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads: a whole number from 1 on, not {threads!r}.")
    return min(threads, _THREADS_OF_A_CORE * (os.cpu_count() or 1))


def _scores(store: Store, outcome: Outcome, profile: Profile) -> Scores:
    """What a commit has, as frames."""
    with open_store(store.name, functions=False) as session:
        commit = {"commit": outcome.commit.id}
        keys = "select v.* from {} v join runs r on r.run_id = v.run_id and r.eval_set = v.eval_set"
        where = f"where r.commit = $commit and r.profile = '{profile.name}'"
        order = "order by v.run_id, v.question_id, v.repeat"
        return Scores(
            _frame(session.table(f"{keys.format(profile.name)} {where} {order}", commit)),
            _frame(session.table("select * exclude (commit) from rejects where commit = $commit", commit)),
            _frame(session.table(f"{keys.format('run_summary')} {where} order by v.run_id, v.metric", commit)),
            counts=outcome.counts,
        )


def compare(
    base: str,
    cand: str,
    store: str | os.PathLike[str] = "runs",
    *,
    metric: str = "score",
    min_delta: float = 0.0,
    max_regressions: int = 0,
    fail_on: str = RULES,
    strict_hashes: bool = True,
    profile: str | None = None,
    eval_set: str | None = None,
) -> Comparison:
    """A candidate against a base: runs of a store, or files of runs. `.passed`, `.delta`, `.movers`, `.as_dict()`."""

    def compared() -> Comparison:
        with open_compared(store, [base, cand]) as session:
            found = find_compared_runs(
                session, base, [cand], profile=profile, eval_set=eval_set, metric=metric, strict=strict_hashes
            )
            return compare_runs(session, found, Rules(min_delta, max_regressions, fail_on))[0]

    return answered(compared)


def _frame(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
