"""What the store says of runs, as frozen results: which run is meant, its record, its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from rageval_batch.analysis.repeats import repeat_summary
from rageval_batch.analysis.run_lines import MEANS, PartialAverage, partial_average, partial_mean, statistic
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import StoreError, did_you_mean
from rageval_batch.sql_text import identifier


@dataclass(frozen=True)
class Run:
    """A run that was asked for: its record in the store."""

    record: dict[str, Any]

    @property
    def key(self) -> dict[str, str]:
        """What picks its rows out of a view."""
        return {name: self.record[name] for name in ("run_id", "profile", "eval_set")}


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run: its record, the profile's summary, every metric, failures and what was counted beside."""

    run: Run
    summary: dict[str, float | int | str | None]
    metrics: list[dict[str, Any]]
    fail_reasons: list[dict[str, Any]]
    tallies: list[dict[str, Any]]
    views: dict[str, list[dict[str, Any]]]  # what views of the profile's own say of the run
    groups: list[dict[str, Any]]  # the same run by type, category and whatever else its profile names
    partial: list[PartialAverage]  # the statistics of the summary that leave rows out
    ungrouped: dict[str, int]  # by what it is grouped by, how many questions have no value of it; none where all have

    def as_dict(self) -> dict[str, Any]:
        """One object with everything, unrounded."""
        return {
            **self.run.record,
            **({"pdf_sha256": source} if (source := self.run.record["source_sha256"]) else {}),
            **self.summary,
            "metrics": {row["metric"]: {k: v for k, v in row.items() if k != "metric"} for row in self.metrics},
            "fail_reasons": {row["fail_reason"]: row["n"] for row in self.fail_reasons},
            "tallies": self.tallies,
            **self.views,
            **({"groups": self.groups} if self.groups else {}),
            **({"ungrouped": self.ungrouped} if self.ungrouped else {}),
        }


_MOST_TALLIES = 20
_OF_RUNS = "run_id in (select unnest($run_id)) and profile = $profile and eval_set = $eval_set"


def find_run(session: Session, name: str, profile: str | None = None, *, eval_set: str | None = None) -> Run:
    """The run of that name: of several profiles or eval sets the newest; StoreError where there is none."""
    found = matching_runs(session, profile, eval_set, name=name)
    if found:
        return found[-1]
    known = [row["run_id"] for row in session.rows("select distinct run_id from runs order by 1")]
    if not known:
        raise StoreError(f"The store {session.store.name} has no runs. Score some first with rageval score.")
    if name in known:
        raise StoreError(f"Run '{name}' is there, but not with this profile or eval set. See rageval runs.")
    raise StoreError(did_you_mean("run", name, known))


def matching_runs(
    session: Session, profile: str | None = None, eval_set: str | None = None, *, name: str | None = None
) -> list[Run]:
    """The current runs, oldest first, of a name, profile or eval set (its name, version, or the start of its hash)."""
    query = """
        select * from runs
        where ($name is null or run_id = $name)
          and ($profile is null or profile = $profile)
          and ($eval_set is null or eval_set = $eval_set or split_part(eval_set, '@', 1) = $eval_set
               or starts_with(questions_sha256, $eval_set))
        order by commit, run_id
    """
    rows = session.rows(query, {"name": name, "profile": profile, "eval_set": eval_set})
    return [Run(row) for row in rows]


def summarize(
    session: Session, run: Run, named: Mapping[str, tuple[str, str]], *, views: Sequence[str] = ()
) -> RunSummary:
    """The summary of a run; `named` are the profile's own names for statistics of metrics."""
    return _summarize_all(session, [run], named, views=views)[0]


def _summarize_all(
    session: Session, runs: Sequence[Run], named: Mapping[str, tuple[str, str]], *, views: Sequence[str] = ()
) -> list[RunSummary]:
    """The summaries of runs of one profile and eval set: each view is asked once for all of them."""
    if not runs:
        return []
    of_runs = {**runs[0].key, "run_id": [run.key["run_id"] for run in runs]}
    scores = _by_run(
        session, "select run_id, value as score, stat, n from run_values where $ and metric = 'score'", of_runs
    )
    metrics = _by_run(session, "select * exclude (profile, eval_set) from run_summary where $ order by metric", of_runs)
    fail_reasons = _by_run(
        session, "select run_id, fail_reason, n, share from fail_reasons where $ order by n desc, fail_reason", of_runs
    )
    tallies = _by_run(
        session,
        f"""
        select run_id, kind, got, expected, n from tallies where $
        qualify row_number() over (partition by run_id order by n desc, kind, got, expected) <= {_MOST_TALLIES}
        order by n desc, kind, got, expected
        """,
        of_runs,
    )
    groups = _by_run(
        session,
        "select * exclude (profile, eval_set) from run_groups where $ "
        "order by grouping, try_cast(value as double) nulls last, value",
        of_runs,
    )
    without_group = _ungrouped(session, of_runs)
    known = session.profile(runs[0].key["profile"])
    found = []
    for run in runs:
        name = run.key["run_id"]
        by_name = {row["metric"]: row for row in metrics[name]}
        summary: dict[str, float | int | str | None] = {
            **(scores[name][0] if scores[name] else {}),
            "question_count": run.record["question_count"],
            "answered_count": run.record["answered_count"],
            **{stat: statistic(by_name[metric], how) for stat, (metric, how) in named.items()},
            **repeat_summary(session, run.key, run.record["repeats"]),
        }
        noun = known.row if known else "question"
        averages = [
            partial_average(run.record, stat, by_name[metric]["n_micro"], noun=noun)
            if how == "micro"
            else partial_mean(name, stat, by_name[metric])
            for stat, (metric, how) in named.items()
            if how == "micro" or how in MEANS
        ]
        found.append(
            RunSummary(
                run=run,
                summary=summary,
                partial=[one for one in averages if one is not None],
                metrics=metrics[name],
                fail_reasons=fail_reasons[name],
                tallies=tallies[name],
                views={view: _rows_of(session, view, run) for view in views},
                groups=groups[name],
                ungrouped=without_group[name],
            )
        )
    return found


def _by_run(session: Session, query: str, of_runs: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of a query by their run_id, which they are without; `$` in it stands for the condition on runs."""
    out: dict[str, list[dict[str, Any]]] = {name: [] for name in of_runs["run_id"]}
    for row in session.rows(query.replace("$", _OF_RUNS, 1), of_runs):
        out[row.pop("run_id")].append(row)
    return out


def ungrouped(session: Session, key: Mapping[str, str]) -> dict[str, int]:
    """How many questions of a run have no value of what its profile groups by, and stand in no group; without those of
    which all questions have one, and without lists: a question may stand in several of their groups."""
    return _ungrouped(session, {**key, "run_id": [key["run_id"]]})[key["run_id"]]


def _ungrouped(session: Session, of_runs: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """The same for several runs of one profile and eval set, by their run_id."""
    profile = session.profile(of_runs["profile"])
    if profile is None or not profile.groups:
        return {name: {} for name in of_runs["run_id"]}
    kinds = {name: profile.schema.field(name).type for name in profile.groups}
    lists = [name for name, kind in kinds.items() if pa.types.is_list(kind) or pa.types.is_large_list(kind)]
    found = _by_run(
        session,
        """
        select run_id, g.grouping, any_value(s.n_total) - sum(g.total_tests)::bigint as n
        from run_groups g
        join run_summary s using (run_id, profile, eval_set)
        where $ and s.metric = 'score'
        group by run_id, g.grouping
        order by g.grouping
        """,
        of_runs,
    )
    return {
        name: {row["grouping"]: row["n"] for row in rows if row["grouping"] not in lists and row["n"] > 0}
        for name, rows in found.items()
    }


def partial_scores(session: Session, runs: Sequence[Mapping[str, Any]]) -> list[PartialAverage]:
    """Of runs whose score is a micro average, those of which it leaves rows without an answer out."""
    known = filter(None, map(session.profile, {row["profile"] for row in runs}))
    nouns = {one.profile: one.row for one in known if one.run_stat == "micro"}
    if not nouns:
        return []
    shown = {(row["run_id"], row["profile"], row["eval_set"]) for row in runs}
    rows = session.rows(
        """
        select r.run_id, r.profile, r.eval_set, s.n_micro, r.question_count, r.answered_count, r.repeats
        from run_summary s
        join runs r on r.run_id = s.run_id and r.profile = s.profile and r.eval_set = s.eval_set
        where s.metric = 'score' and list_contains($profiles, s.profile) order by all
        """,
        {"profiles": sorted(nouns)},
    )
    found = (
        partial_average(row, "score", row["n_micro"], noun=nouns[row["profile"]])
        for row in rows
        if (row["run_id"], row["profile"], row["eval_set"]) in shown
    )
    return [one for one in found if one is not None]


def _rows_of(session: Session, view: str, run: Run) -> list[dict[str, Any]]:
    """The rows that a view has of a run."""
    return session.rows(
        f"select * exclude (run_id, eval_set) from {view} where run_id = $run_id and eval_set = $eval_set order by all",
        {name: run.key[name] for name in ("run_id", "eval_set")},
    )


def failed_expressions(session: Session, profile: str, commit: str) -> tuple[int, dict[str, Any] | None]:
    """(how many rows of a commit have a metric of a profile file that could not be computed, the first of them)."""
    found = session.rows(
        f"select run_id, question_id, fail_detail, count(*) over () as n from stored_{profile} where commit = $commit "
        "and regexp_matches(fail_detail, ': (the expression failed|not a finite number|beyond )') "
        "order by run_id, question_id, repeat limit 1",
        {"commit": commit},
    )
    return (int(found[0].pop("n")), found[0]) if found else (0, None)


def summaries(session: Session, commit: str, named: Mapping[str, tuple[str, str]]) -> list[RunSummary]:
    """The summaries of all runs of a commit."""
    rows = session.rows("select * from runs where commit = $commit order by run_id", {"commit": commit})
    return _summarize_all(session, [Run(row) for row in rows], named)


def scored_runs(session: Session, profile: str | None, eval_set: str | None) -> list[dict[str, Any]]:
    """The record of every current run with its score, oldest first."""
    scores = {
        (row["run_id"], row["profile"], row["eval_set"]): row
        for row in session.rows(
            "select run_id, profile, eval_set, value as score, stat, n from run_values where metric = 'score'"
        )
    }
    out = []
    for run in matching_runs(session, profile, eval_set):
        scored = scores[run.record["run_id"], run.record["profile"], run.record["eval_set"]]
        out.append({**run.record, **{name: scored[name] for name in ("score", "stat", "n")}})
    return out


def ranked_runs(
    session: Session, profile: str | None, eval_set: str | None, *, limit: int | None = None
) -> list[dict[str, Any]]:
    """The leaderboard, best first, of each profile and eval set; `limit` is for each of them."""
    query = """
        select * from ranked($wanted)
        where ($profile is null or profile = $profile)
          and ($eval_set is null or eval_set = $eval_set or split_part(eval_set, '@', 1) = $eval_set
               or eval_set in (select eval_set from runs where starts_with(questions_sha256, $eval_set)))
        qualify $limit is null
            or row_number() over (partition by profile, eval_set order by rank, run_id) <= $limit
    """
    filters = {"profile": profile, "eval_set": eval_set, "limit": limit}
    session.keep_table("ranking", query, {**filters, "wanted": []})  # no score rows are read for that
    lacking = session.rows("select distinct run_id from ranking where low is null order by run_id")
    if lacking:
        session.keep_table("ranking", query, {**filters, "wanted": [row["run_id"] for row in lacking]})
        session.keep_intervals()
    return session.rows("from ranking order by profile, eval_set, rank, run_id")


def score_row(
    session: Session, run: Run, question: str, *, repeat: int, keys: Mapping[str, str], row: int | None = None
) -> tuple[dict[str, Any], dict[str, Any], int]:
    """(the score row of one answer, where its input stands, how many rows were picked from).

    `keys` are values of other columns, "" for none. StoreError where they, question and repeat pick no row, or more
    than one and `row`, counted from 1 in the order of the inputs, does not say which.
    """
    profile = run.record["profile"]
    known = [row["column_name"] for row in session.rows(f"describe {profile}")]
    for name in keys:
        if name not in known:
            raise StoreError(did_you_mean(f"column of {profile}", name, known))
    picked = "".join(
        f" and s.{identifier(name)} = $key{k}" if value else f" and coalesce(s.{identifier(name)}::varchar, '') = ''"
        for k, (name, value) in enumerate(keys.items())
    )
    rows = session.rows(
        f"""
        select r.run_id, s.* exclude (run_id, commit), r.eval_set, r.stored_id
        from stored_{profile} s
        join current_runs r on r.commit = s.commit and r.stored_id = s.run_id
        where r.run_id = $run_id and r.profile = $profile and r.eval_set = $eval_set
          and s.question_id = $question and s.repeat = $repeat{picked}
        order by s.input nulls last, s.line
        """,
        {
            **run.key, "question": question, "repeat": repeat,
            **{f"key{k}": value for k, value in enumerate(keys.values()) if value},
        },
    )  # fmt: skip
    if not rows and not keys:
        raise StoreError(f"Run '{run.record['run_id']}' has no question '{question}' with repeat {repeat}.")
    if len(rows) != 1 and not (row and row <= len(rows)):
        selected = "".join(f", {name} {value or 'empty'}" for name, value in keys.items())
        choices = _choices(rows)
        raise StoreError(
            f"Run '{run.record['run_id']}' has {len(rows) or 'no'} rows of question '{question}' with repeat {repeat}"
            f"{selected}.",
            advice=f"Pick one with --key NAME=VALUE{choices}."
            if choices or not rows
            else f"No key tells them apart: pick one with --row, 1 to {len(rows)}.",
        )
    if row and row > len(rows):
        raise StoreError(f"There is one row of question '{question}'.", advice="Leave --row out.")
    found = rows[row - 1 if row else 0]
    place = {name: found[name] for name in ("stored_id", "input", "line")}
    return {name: found[name] for name in known if name in found}, place, len(rows)


def _choices(rows: list[dict[str, Any]]) -> str:
    """Columns whose values tell the rows apart, with some of the values."""
    told = []
    for name in rows[0] if rows else ():
        values = list(dict.fromkeys(row[name] for row in rows if isinstance(row[name], str)))
        if 1 < len(values) <= len(rows) and name not in ("verdict", "verdict_declared", "fail_reason", "target_key"):
            told.append(f"{name} ({', '.join(values[:4])}{', …' if len(values) > 4 else ''})")
    return f"; they differ in {', '.join(told[:4])}" if told else ""
