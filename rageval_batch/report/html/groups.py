"""Runs by topic, type or whatever else questions are told apart by: a heat map for each grouping."""

from __future__ import annotations

from dataclasses import replace

from rageval_batch.analysis.runs import ungrouped
from rageval_batch.analysis.session import Session
from rageval_batch.report.cells import count_text
from rageval_batch.report.html.asked import can_read
from rageval_batch.report.html.blocks import Block, Section, Table, Words
from rageval_batch.report.html.scope import Scope, keep_summaries
from rageval_batch.report.html.sections import other_stat, queried, score_words
from rageval_batch.report.html.texts import has_codes, plain_text
from rageval_batch.sql_text import identifier, quoted

_HEAT_RUNS = 10
_MOST_VALUES = 60  # of a grouping
_MOST_FIELDS = 4  # of questions that runs are grouped by


def groups_section(session: Session, scope: Scope, id: str) -> Section:
    """Means of every run, coloured by value: by the groups that the profile names, else by fields of the questions."""
    keep_summaries(session, ("run_groups",))
    found = session.rows(f"select distinct grouping from run_groups where {scope.where} order by grouping")
    sources = [
        (row["grouping"], "run_groups", f"{scope.where} and grouping = {quoted(row['grouping'])}", "total_tests")
        for row in found
    ] or [
        (name, f"run_groups_by({quoted(_path(name))})", scope.where, "n") for name in _grouping_fields(session, scope)
    ]
    if not sources:
        words = Words("The profile names no groups, and the questions have no field with a few values to group by.")
        return Section(f"{id}-groups", "Groups", (words,))
    without = ungrouped(session, {"run_id": scope.runs[0], "profile": scope.profile, "eval_set": scope.eval_set})
    mean = "Plain mean" if other_stat(session, scope.profile) else "Mean"
    blocks: list[Block] = []
    for k, (name, view, where, count) in enumerate(sources):
        table = _heat_map(
            session,
            scope,
            f"{id}-groups-{k}",
            title=f"{mean} score by {name}",
            sql=_query(scope, view, where, count=count),
        )
        missing = without.get(name, 0) if found else _without_field(session, scope, table)
        blocks.append(
            replace(table, note=f"{table.note}{score_words(session, scope.profile)}{_ungrouped_words(missing, name)}")
        )
    return Section(f"{id}-groups", "Groups", tuple(blocks))


def _without_field(session: Session, scope: Scope, table: Table) -> int:
    """How many questions stand in no group, because they do not have the field, or several values of it."""
    every = session.rows(f"select count(distinct question_id) as n from questions where {scope.of_set}")[0]["n"]
    grouped: int = sum(row["n"] for row in table.rows)
    return max(0, int(every) - grouped)


def _ungrouped_words(count: int, name: str) -> str:
    """That questions are in none of the groups; nothing where all are."""
    if not count:
        return ""
    has, are = ("has", "is") if count == 1 else ("have", "are")
    return f" {count_text(count, 'question')} {has} no {plain_text(name)} and {are} not here."


def _query(scope: Scope, view: str, where: str, *, count: str) -> str:
    """A row a group, a column a run."""
    runs = scope.runs[:_HEAT_RUNS]
    means = ",\n    ".join(
        f"max(mean) filter (run_id = {quoted(run)}) as {identifier(name)}" for run, name in _columns(scope).items()
    )
    few = "" if len(runs) == len(scope.runs) else f"\n  and run_id in ({', '.join(map(quoted, runs))})"
    return (
        f"select value, max({count}) as n,\n    {means}\nfrom {view}\nwhere {where}{few}\n"
        "group by value\norder by n desc, try_cast(value as double) nulls last, value"
    )


def _heat_map(session: Session, scope: Scope, id: str, *, title: str, sql: str) -> Table:
    runs = scope.runs[:_HEAT_RUNS]
    of_runs = "column is the mean score of the run" if len(runs) == 1 else "columns are mean scores of runs"
    which = f", the best {len(runs)} of {len(scope.runs):,}" if len(runs) < len(scope.runs) else ", best run first"
    note = f"n: questions of the group; the other {of_runs}{which if len(runs) > 1 else ''}."
    names = _columns(scope)
    labels = {name: run if len(runs) > 1 else "mean score" for run, name in names.items()}
    table = queried(session, id, title, sql=sql, most=_MOST_VALUES, note=note, labels=labels)
    found = [line[name] for line in table.rows for name in names.values() if line[name] is not None]
    ends = (min(found), max(found)) if found else (0.0, 1.0)
    return replace(table, heat=dict.fromkeys(names.values(), ends))


def _columns(scope: Scope) -> dict[str, str]:
    """The column of each run that is shown: its name, or a number where a name has what no query can spell."""
    runs = scope.runs[:_HEAT_RUNS]
    return {run: f"run {k}" if has_codes(run) or run in ("value", "n") else run for k, run in enumerate(runs, 1)}


def _path(name: str) -> str:
    """The JSON path of a field of a question."""
    return '$."' + name.replace('"', '\\"') + '"'


def _grouping_fields(session: Session, scope: Scope) -> list[str]:
    """Fields of the questions that have texts or yes and no, a few of them, each shared by questions."""
    if not can_read(session, scope):
        return []
    rows = session.rows(
        "select name, count(distinct value) as n\nfrom (\n"
        "    select question_id, f.key as name, any_value(f.value) as value\n    from questions, json_each(fields) f\n"
        f"    where {scope.of_set} and json_type(f.value) in ('VARCHAR', 'BOOLEAN')\n"
        "    group by question_id, f.key\n    having count(distinct f.value) = 1\n)\n"
        f"group by name\nhaving n between 2 and {_MOST_VALUES} and n <= count(*) / 2\n"
        f"order by n desc, name\nlimit {_MOST_FIELDS}"
    )
    return [row["name"] for row in rows]
