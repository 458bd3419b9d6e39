"""Runs by topic, type or whatever else questions are told apart by: a heat map for each grouping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rageval_batch.analysis.runs import ungrouped
from rageval_batch.analysis.session import Session
from rageval_batch.report.cells import count_text
from rageval_batch.report.html.asked import MOST_QUESTIONS, can_read
from rageval_batch.report.html.blocks import Block, Section, Table, Words
from rageval_batch.report.html.scope import Scope, keep_summaries
from rageval_batch.report.html.sections import other_stat, queried, score_words
from rageval_batch.report.html.texts import has_codes, plain_text
from rageval_batch.sql_text import identifier, quoted

_HEAT_RUNS = 10
_MOST_VALUES = 60  # of a grouping
_MOST_FIELDS = 4  # of questions that runs are grouped by
_MOST_NAMES = 20  # of fields that are not
_KINDS = ("topic", "category", "type", "difficulty", "level", "language")  # fields that tell kinds of questions apart


def groups_section(session: Session, scope: Scope, id: str) -> Section:
    """Means of every run, coloured by value: by the groups that the profile names, else by fields of the questions."""
    keep_summaries(session, ("run_groups",))
    found = session.rows(f"select distinct grouping from run_groups where {scope.where} order by grouping")
    sources = [
        (row["grouping"], "run_groups", f"{scope.where} and grouping = {quoted(row['grouping'])}", "total_tests")
        for row in found
    ]
    words: list[Words] = []
    if not sources:
        fields, words = _grouping_fields(session, scope)
        sources = [(name, _grouped_by(name), scope.where, "n") for name in fields]
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
    return Section(f"{id}-groups", "Groups", (*blocks, *words))


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
    note = f"n: questions of the group; the other {of_runs}{which if len(runs) > 1 else ''}. Shades go from the lowest "
    note += "value of this table to the highest."
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


def _grouped_by(name: str) -> str:
    """The rows of runs by a field at the top of the questions."""
    path = '$."' + name.replace('"', '\\"') + '"'
    return f"run_groups_by({quoted(path)})"


def _grouping_fields(session: Session, scope: Scope) -> tuple[list[str], list[Words]]:
    """(the fields at the top of the questions that runs are grouped by, what is to say of the others).

    A field groups questions where they share its values, texts, numbers or yes and no. Those come first that the
    profile names, then those whose names say that they tell kinds of questions apart, then texts.
    """
    if not can_read(session, scope):
        return [], [
            Words(
                f"The profile names no groups, and the fields of more than {MOST_QUESTIONS:,} questions are not looked "
                "through. In SQL, run_groups_by('$.field') groups by any field."
            )
        ]
    rows = session.rows(
        "select name, count(distinct value) as values, count(*) as n, any_value(json_type(value)) as type\nfrom (\n"
        "    select question_id, f.key as name, any_value(f.value) as value\n    from questions, json_each(fields) f\n"
        f"    where {scope.of_set} and json_type(f.value) not in ('ARRAY', 'OBJECT', 'NULL')\n"
        "    group by question_id, f.key\n    having count(distinct f.value) = 1\n)\n"
        "group by name\nhaving values > 1 and values < n\norder by values desc, name"
    )
    if not rows and (lost := _unread(session, scope)):
        return [], [Words(f"The profile names no groups, and the fields of the questions cannot be read. {lost}")]
    fits = [row for row in rows if row["values"] <= min(_MOST_VALUES, row["n"] / 2)]
    profile = session.profile(scope.profile)
    named = [*(profile.question_groups if profile else ()), *_KINDS]
    places = {name: place for place, name in reversed([*enumerate(named)])}
    fits.sort(key=lambda row: (places.get(row["name"].lower(), len(named)), row["type"] != "VARCHAR"))
    fields = [row["name"] for row in fits]
    shown, others = fields[:_MOST_FIELDS], fields[_MOST_FIELDS:]
    many = [f"{plain_text(row['name'])} ({row['values']:,} values)" for row in rows if row not in fits]
    said = []
    if not shown:
        said.append("The profile names no groups, and the questions have no field whose values are few and shared.")
    if others:
        said.append(
            f"Questions are grouped by {count_text(len(others), 'more field')}, not shown here: "
            f"{_first_names([plain_text(name) for name in others])}. SQL shows one: from {_grouped_by(others[0])}"
        )
    if many:
        said.append(
            f"Not grouped by, for more than {_MOST_VALUES} values or fewer than two questions a value: "
            f"{_first_names(many)}."
        )
    return shown, [Words(text) for text in said]


def _unread(session: Session, scope: Scope) -> str | None:
    """Why no question of an eval set can be read; null where some can."""
    if session.rows(f"select count(*) as n from questions where {scope.of_set}")[0]["n"]:
        return None
    start = f"Questions of {scope.eval_set} are not shown: "
    return next((note.removeprefix(start) for note in session.notes if note.startswith(start)), "The store has none.")


def _first_names(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:_MOST_NAMES]) + (f" and {len(names) - _MOST_NAMES:,} more" if names[_MOST_NAMES:] else "")
