"""The sections of a page: each asks the store for its rows by SQL that the page shows, and draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from markupsafe import Markup

from rageval_batch.analysis.gates import wanted_levels
from rageval_batch.analysis.runs import Run, partial_scores
from rageval_batch.analysis.session import Session
from rageval_batch.report.cells import count_text, limit_text, partial_words, value_text
from rageval_batch.report.html import figures
from rageval_batch.report.html.asked import question_join
from rageval_batch.report.html.blocks import Block, Section, Table, Words
from rageval_batch.report.html.scope import Scope, keep_summaries
from rageval_batch.report.html.texts import number_text
from rageval_batch.sql_text import quoted

MOST_ROWS = 200  # of a table on a page
_PROVENANCE = (
    "commit", "signature", "questions_sha256", "params_sha256", "source_sha256", "contexts_sha256", "prompt_sha256",
    "prompt_version", "index_version", "model_id", "adapter_id", "version",
)  # fmt: skip


# A query that says of these runs alone what takes long to compute; its rows and their order are those of the whole one.
OfRuns = Callable[[Sequence[str]], str]
Lister = Callable[..., Table]  # what makes a table of a query: `queried`, or one that has pages


def queried(
    session: Session,
    id: str,
    title: str,
    *,
    sql: str,
    most: int = MOST_ROWS,
    of_runs: OfRuns | None = None,
    **more: Any,
) -> Table:
    """A table of the first rows of a query, and how many there are."""
    found = some_rows(session, sql, of_runs, limit=f"limit {most + 1}")
    rows = found.to_pylist()
    total = len(rows)
    if total > most:
        total = count_rows(session, sql, of_runs)
    return Table(id, title, tuple(found.column_names), rows=rows[:most], sql=sql, total=total, **more)


def some_rows(session: Session, sql: str, of_runs: OfRuns | None, *, limit: str) -> pa.Table:
    """Some rows of a query: by `of_runs`, first which runs they are of, then what there is to say of those."""
    if of_runs is None:
        return session.table(f"{sql}\n{limit}")
    names = [row["run_id"] for row in session.rows(f"{of_runs(())}\n{limit}")]
    return session.table(f"{of_runs(names)}\n{limit}")


def count_rows(session: Session, sql: str, of_runs: OfRuns | None) -> int:
    """How many rows a query has."""
    return int(session.rows(f"select count(*) as n from (\n{of_runs(()) if of_runs else sql}\n)")[0]["n"])


def _section(scope_id: str, name: str, title: str, *blocks: Block) -> Section:
    return Section(f"{scope_id}-{name}" if scope_id else name, title, blocks)


# --- of all runs ----------------------------------------------------------------------------------------------------


def picked_runs(scopes: Sequence[Scope]) -> str:
    """The condition that picks the rows of all runs of a page."""
    if all(scope.every for scope in scopes):
        sets = ", ".join(f"({quoted(scope.profile)}, {quoted(scope.eval_set)})" for scope in scopes)
        return f"(profile, eval_set) in ({sets})"
    return "(" + "\n   or ".join(scope.where for scope in scopes) + ")"


def compared_section(session: Session, scopes: Sequence[Scope]) -> Section:
    """What was compared: runs, eval sets, hashes, signatures, versions."""
    where = picked_runs(scopes)
    runs = queried(
        session, "runs", "Runs",
        sql="select run_id, question_count as n, answered_count as answered, profile, eval_set, repeats, created_at\n"
        f"from runs\nwhere {where}\norder by profile, eval_set, run_id",
    )  # fmt: skip
    partial = " ".join(partial_words(partial_scores(session, runs.rows)))
    counted = "every one of them counts, answered or not"
    said = f"Where nothing else is said, {counted}. {partial}" if partial else f"{counted.capitalize()}."
    runs = replace(runs, note=f"n: questions that the eval set lists.{_other_rows(session, scopes)} {said}")
    known = session.rows(
        f"select {', '.join(f'count({name}) as {name}' for name in _PROVENANCE)} from runs where {where}"
    )[0]
    columns = ", ".join(name for name in _PROVENANCE if known[name])
    origin = queried(
        session, "provenance", "Where they come from",
        sql=f"select run_id, {columns}\nfrom runs\nwhere {where}\norder by profile, eval_set, run_id",
        note="Runs with equal hashes were asked the same questions and scored with the same parameters.",
        behind=True,
    )  # fmt: skip
    return _section("", "compared", "What was compared", runs, origin)


def gates_section(
    session: Session, scopes: Sequence[Scope], runs: Sequence[Run], *, listed: Lister = queried
) -> Section:
    """The verdicts of the gates, each run at its level, and every gate that stands behind them."""
    keep_summaries(session, ("gate_results",))
    where = f"{picked_runs(scopes)}\n  and {level_condition(session, runs)}"
    verdicts = listed(
        session, "gates-verdicts", "Verdict of each run",
        sql="select run_id,\n"
        "    case when bool_or(status = 'failed') then 'failed' else 'passed' end as verdict,\n"
        "    count(*) as n, count(*) filter (status = 'failed') as failed,\n"
        "    count(*) filter (status = 'skipped') as skipped,\n"
        f"    profile{_eval_set_column(scopes)},\n"
        "    string_agg(gate, ', ' order by gate) filter (status = 'failed') as failed_gates\n"
        f"from gate_results\nwhere {where}\ngroup by run_id, profile, eval_set\n"
        "order by failed desc, profile, run_id, eval_set",
        note="n: gates of the run.",
        labels={"n": "n gates", "failed_gates": "which failed"},
    )  # fmt: skip
    if not verdicts.rows:
        return _section(
            "",
            "gates",
            "Gates",
            Words("None of these profiles has gates of its own; rageval gate --gates FILE gives some."),
        )
    every = listed(
        session, "gates-all", "Every gate",
        sql="select run_id, gate, n, status, actual, op, \"limit\", question_count, "
        f"{_level_column(session, where)}failure\n"
        f"from gate_results\njoin runs using (run_id, profile, eval_set)\nwhere {where}\n"
        "order by case status when 'failed' then 0 when 'skipped' then 1 else 2 end, profile, run_id, eval_set,\n"
        "    gate, level",
        note="n: questions that the value is over; fewer than all where those without an answer do not count."
        f"{_other_rows(session, scopes)}",
        labels={"question_count": "of all"},
    )  # fmt: skip
    every = replace(every, shown=_gate_numbers(every.rows))
    failed = session.rows(
        f"select count(distinct (run_id, profile, eval_set)) as n from gate_results where {where} and status = 'failed'"
    )[0]["n"]
    gated = verdicts.total or 0
    blocks: list[Block] = [
        Words(
            f"Of n = {count_text(gated, 'result')}, {gated - failed:,} pass their gates, {failed:,} fail.",
            "failed" if failed else "passed",
        )
    ]
    names = {row["profile"] for row in session.rows("select distinct profile from gate_results")}
    if without := [scope.profile for scope in scopes if scope.profile not in names]:
        blocks.append(Words(f"No gates of their own: {', '.join(dict.fromkeys(without))}."))
    return _section("", "gates", "Gates", *blocks, verdicts, every)


def _level_column(session: Session, where: str) -> str:
    """The column of the level that a gate is of, where any is of one."""
    if not session.rows(f"select count(*) as n from gate_results where {where} and level <> ''")[0]["n"]:
        return ""
    return "case level when '' then 'every' else level end as level, "


def _other_rows(session: Session, scopes: Sequence[Scope]) -> str:
    """Which profiles count no questions here, but what they are given in their place; empty where all do."""
    found = [row for name in dict.fromkeys(scope.profile for scope in scopes) if (row := session.profile(name))]
    return "".join(f" Of {row.profile}: {row.row}s." for row in found if row.row != "question")


def _gate_numbers(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Values and limits of gates as the terminal shows them, with the minus sign of other numbers here."""
    actual = [value_text(row["actual"], row["limit"]) for row in rows]
    texts = {"actual": actual, "limit": [limit_text(row["limit"]) for row in rows]}
    return {name: [text.replace("-", "−") for text in column] for name, column in texts.items()}


def _eval_set_column(scopes: Sequence[Scope]) -> str:
    """The eval set as a column more, where the profile does not tell runs apart."""
    return ", eval_set" if len({scope.profile for scope in scopes}) < len(scopes) else ""


def level_condition(session: Session, runs: Sequence[Run]) -> str:
    """Gates that have no level, and those of the level that each run was scored for."""
    levels: dict[str, list[str]] = {}
    for run, level in zip(runs, wanted_levels(session, runs, None), strict=True):
        levels.setdefault(level, []).append(run.record["run_id"])
    if len(levels) == 1:
        return f"level in ('', {quoted(next(iter(levels)))})"
    parts = [
        f"(level = {quoted(level)} and run_id in ({', '.join(map(quoted, names))}))" for level, names in levels.items()
    ]
    return f"(level = '' or {' or '.join(parts)})"


def rejects_section(session: Session, scopes: Sequence[Scope], runs: Sequence[Run]) -> Section:
    """Input rows that could not be used, by reason and one by one."""
    commits = sorted({run.record["commit"] for run in runs})
    everything = all(scope.every for scope in scopes) and len(commits) == len(session.commits)
    where = "" if everything else f"\nwhere commit in ({', '.join(map(quoted, commits))})"
    reasons = queried(
        session, "rejects-reasons", "By reason",
        sql=f"select reason, count(*) as n\nfrom rejects{where}\ngroup by reason\norder by n desc, reason",
    )  # fmt: skip
    if not reasons.rows:
        return _section("", "rejects", "Rejects", Words("Every input row was used: n = 0 rejects."))
    rows = queried(
        session, "rejects-rows", "Row by row",
        sql=f"select file, line, reason, detail, raw\nfrom rejects{where}\norder by file, line, reason, detail, raw",
    )  # fmt: skip
    return _section("", "rejects", "Rejects", reasons, rows)


# --- of one profile and eval set --------------------------------------------------------------------------------------


def leaderboard_section(session: Session, scope: Scope, id: str, *, listed: Lister = queried) -> Section:
    """Runs ranked, with intervals on one scale."""
    sql = (
        f"select rank, run_id, n, score, stat, low, high\nfrom leaderboard\nwhere {scope.where}\norder by rank, run_id"
    )

    profile = session.profile(scope.profile)
    unit = profile.unit if profile else "question"

    def of_runs(names: Sequence[str]) -> str:
        return sql.replace("leaderboard", f"ranked([{', '.join(map(quoted, names))}])", 1)

    table = listed(
        session, f"{id}-leaderboard-table", "Runs by score, with 95 % intervals", sql=sql,
        of_runs=None if session.has_kept("leaderboard") else of_runs,
        labels={"low": "95 % low", "high": "95 % high", **count_labels(session, scope.profile, unit)},
        note=f"n: {unit}s that the score is over. Runs whose intervals overlap widely may "
        f"differ by chance alone; the comparison pairs them {unit} by {unit}.",
    )  # fmt: skip
    ends = [row[name] for row in table.rows for name in ("score", "low", "high") if row[name] is not None]
    scale = (min(ends), max(ends)) if ends else (0.0, 1.0)
    plot = [figures.interval(row["score"], row["low"], row["high"], scale=scale) for row in table.rows]
    return _section(id, "leaderboard", "Leaderboard", _plotted(table, ends_text(scale), plot, behind="score"))


def ends_text(scale: tuple[float, float]) -> str:
    """The heading of a column of figures: what its left and right ends stand for."""
    return f"{number_text(scale[0])} to {number_text(scale[1])}"


def count_labels(session: Session, profile: str, noun: str) -> dict[str, str]:
    """What a column n is called, where a profile counts several kinds of things: questions, samples, judgements."""
    row = session.profile(profile)
    return {"n": f"n {noun}s"} if row is not None and not row.unit == row.row == "question" else {}


def _rows(session: Session, profile: str) -> str:
    """What answers of a profile are called."""
    row = session.profile(profile)
    return "answers" if row is None or row.row == "question" else f"{row.row}s"


def other_stat(session: Session, profile: str) -> str | None:
    """The statistic that the score of a run is, where it is not the plain mean."""
    row = session.profile(profile)
    return row.stat if row and row.stat != "mean" else None


def score_words(session: Session, profile: str) -> str:
    """That the score of a run is no plain mean, beside figures of plain means; nothing where it is one."""
    stat = other_stat(session, profile)
    return f" The score of a run is another number, the {stat}." if stat else ""


def _plotted(table: Table, title: str, plot: Sequence[Markup], *, behind: str | None = None) -> Table:
    """The table with a column of small figures, at the end or behind the column that they draw."""
    return replace(table, plots={title: plot}, plotted=behind)


def fail_reasons_section(session: Session, scope: Scope, id: str, *, listed: Lister = queried) -> Section:
    """How often each run fails in which way; before it, where there are several, how often all of them do."""
    keep_summaries(session, ("fail_reasons",))
    several = len(scope.runs) > 1
    rows = _rows(session, scope.profile)
    labels = count_labels(session, scope.profile, rows.removesuffix("s"))
    table = listed(
        session, f"{id}-fail-reasons-table", f"{rows.capitalize()} with a fail reason",
        sql=f"select {'run_id, ' if several else ''}fail_reason, n, share\nfrom fail_reasons\nwhere {scope.where}\n"
        f"order by n desc, {'run_id, ' if several else ''}fail_reason",
        labels=labels,
        note=f"n: {rows} with that reason; share: of all {rows} of the run, {_share_words(rows)}.",
    )  # fmt: skip
    if not table.rows:
        return _section(id, "fail-reasons", "Fail reasons", Words("No answer has a fail reason."))
    most = max(row["share"] for row in table.rows)
    plot = [figures.bar(row["share"], most, f"{100 * row['share']:.1f} % of {rows}") for row in table.rows]
    by_run = _plotted(table, f"0 to {number_text(most)}", plot)
    if not several:
        return _section(id, "fail-reasons", "Fail reasons", by_run)
    reasons = listed(
        session, f"{id}-fail-reasons-all", "Reasons, all runs together",
        sql="select fail_reason, sum(n)::bigint as n, count(*) as runs, max(share) as share,\n"
        "    first(run_id order by share desc, run_id) as run_id\n"
        f"from fail_reasons\nwhere {scope.where}\ngroup by fail_reason\norder by n desc, fail_reason",
        labels={"runs": "in runs", "share": "largest share", "run_id": "in the run", **labels},
        note=f"n: {rows} with that reason; in runs: of n = {len(scope.runs):,} runs.",
    )  # fmt: skip
    most = max(row["n"] for row in reasons.rows)
    plot = [figures.bar(row["n"], most, f"{row['n']:,} {rows}") for row in reasons.rows]
    return _section(id, "fail-reasons", "Fail reasons", _plotted(reasons, f"0 to {most:,}", plot, behind="n"), by_run)


def _share_words(rows: str) -> str:
    """Which rows of a run a share is of; where an eval set lists them, those are not the number that it lists."""
    if rows == "answers":
        return "those that are missing among them"
    return (
        "the listed ones that are missing and every one that was given, also where it is not listed or one of several "
        f"of a listed one: these may be more than the n {rows} that the eval set lists"
    )


def confusions_section(session: Session, scope: Scope, id: str, *, listed: Lister = queried) -> Section:
    """What was said in place of what."""
    several = len(scope.runs) > 1
    table = listed(
        session, f"{id}-confusions-table", "Wrong answers by what was expected",
        sql=f"select sum(n)::bigint as n, field, expected, got{', count(distinct run_id) as runs' if several else ''}\n"
        f"from confusions\nwhere {scope.where}\ngroup by field, expected, got\norder by n desc, field, expected, got",
        note=f"n: answers{'; runs: how many runs gave it' if several else ''}.",
    )  # fmt: skip
    if not table.rows:
        return _section(id, "confusions", "Confusions", Words("The profile counts no confusions, or there are none."))
    most = max(row["n"] for row in table.rows)
    plot = [figures.bar(row["n"], most, f"{row['n']:,} answers") for row in table.rows]
    return _section(id, "confusions", "Confusions", _plotted(table, f"0 to {most:,}", plot, behind="n"))


def hardest_section(session: Session, scope: Scope, id: str, *, listed: Lister = queried) -> Section:
    """The questions with the lowest means over all runs of the eval set."""
    keep_summaries(session, ("question_difficulty",))
    asked, join = question_join(session, scope, "d")
    table = listed(
        session, f"{id}-hardest-table", "Questions by mean score, hardest first",
        sql="select d.question_id, d.runs as n, d.mean, d.min, d.max, d.failures, "
        f"{', '.join(('d.usual_failure', *asked))}\n"
        f"from question_difficulty d{join}\n"
        f"where d.profile = {quoted(scope.profile)} and d.eval_set = {quoted(scope.eval_set)}\n"
        "order by d.mean, d.question_id",
        most=50,
        labels={"n": "n runs"},
        note="Over all runs of the eval set in the store.",
    )  # fmt: skip
    ends = [row[name] for row in table.rows for name in ("min", "max") if row[name] is not None]
    scale = (min(ends), max(ends)) if ends else (0.0, 1.0)
    plot = [
        Markup("") if row["mean"] is None else figures.span(row["mean"], row["min"], row["max"], scale=scale)
        for row in table.rows
    ]
    return _section(id, "hardest", "Hardest questions", _plotted(table, ends_text(scale), plot, behind="mean"))
