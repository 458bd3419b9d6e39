"""What the pages of the viewer say: rows of the store as sections, made by the same functions as the report's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from markupsafe import Markup

from rageval_batch.analysis.answers import ExplainedAnswer, explained_answer
from rageval_batch.analysis.runs import find_run, matching_runs, partial_scores
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import StoreError
from rageval_batch.report.cells import count_text, counts_words, partial_words
from rageval_batch.report.html import figures, sections
from rageval_batch.report.html.asked import question_join, question_texts
from rageval_batch.report.html.blocks import Block, Figure, Section, Words
from rageval_batch.report.html.comparisons import (
    compared_runs,
    comparison_section,
    movers_section,
)
from rageval_batch.report.html.distributions import distributions_section
from rageval_batch.report.html.groups import groups_section
from rageval_batch.report.html.scope import Scope, scopes
from rageval_batch.report.html.sections import Lister
from rageval_batch.report.html.words import results_text
from rageval_batch.sql_text import identifier, quoted
from rageval_batch.view.addresses import Links, address
from rageval_batch.view.paging import View, paged

SET_SECTIONS = {
    "leaderboard": "Leaderboard",
    "distributions": "Distributions",
    "comparison": "Comparison",
    "fail-reasons": "Fail reasons",
    "confusions": "Confusions",
    "groups": "Groups",
    "hardest": "Hardest questions",
    "movers": "Movers",
}
LONG_SECTIONS = frozenset(("comparison", "movers"))  # all runs are tested; inputs are read again
_FACTS = (
    "profile", "eval_set", "created_at", "commit", "question_count", "answered_count", "repeats", "signature",
    "prompt_version", "index_version", "model_id", "adapter_id", "questions_sha256", "params_sha256", "version",
)  # fmt: skip


_SCORE_BINS = 20


@dataclass(frozen=True, kw_only=True)
class Content:
    """A page: where it stands, what it says, and where its cells lead."""

    title: str
    sections: tuple[Section, ...]
    links: Links = field(default_factory=Links)
    crumbs: tuple[tuple[str, str], ...] = ()
    lead: str | None = None  # what stands below the title, as the text of the question that the page is about
    facts: Mapping[str, Any] = field(default_factory=dict)
    tabs: tuple[tuple[str, str, bool], ...] = ()  # name, address, whether it is this one
    actions: tuple[tuple[str, str], ...] = ()


def set_crumbs(profile: str, eval_set: str) -> tuple[tuple[str, str], ...]:
    """Where a page about a profile and eval set stands."""
    return (("Runs", "/"), (f"{profile} · {eval_set}", address("/set", profile=profile, eval_set=eval_set)))


# --- runs -----------------------------------------------------------------------------------------------------------


def runs_content(
    session: Session, text: str | None, profile: str | None, *, view: View, picks: Sequence[str] = ()
) -> tuple[Content, list[str]]:
    """(all runs, filtered and sorted, some of them picked; the profiles that there are)"""
    if not session.has_kept("run_list"):
        session.keep_table(
            "run_list",
            """
            select
                r.run_id, v.n, v.value as score, v.stat, r.answered_count as answered,
                r.profile, r.eval_set, r.model_id, r.adapter_id, r.created_at, r.commit
            from runs r
            left join run_values v
                on v.run_id = r.run_id and v.profile = r.profile and v.eval_set = r.eval_set and v.metric = 'score'
            """,
        )
    profiles = [row["profile"] for row in session.rows("select distinct profile from run_list order by 1")]
    known = session.rows("select count(model_id) as model_id, count(adapter_id) as adapter_id from run_list")[0]
    left_out = ["commit", *(name for name, count in known.items() if not count)]
    where = []
    if profile:
        where.append(f"profile = {quoted(profile)}")
    if text:
        where.append(
            f"contains(lower(concat_ws(' ', run_id, eval_set, model_id, adapter_id, commit)), {quoted(text.lower())})"
        )
    query = f"select * exclude ({', '.join(left_out)})\nfrom run_list"
    query += f"\nwhere {' and '.join(where)}" if where else ""
    table = paged(
        session, "runs-table", "Runs", query=query, view=view, order="created_at desc, profile, run_id, eval_set",
        numbers=("score", "n", "answered", "created_at"),
        note="n: questions that the score is over; every one counts, answered or not."
        f"{''.join(_counts_of(session, profiles))}",
    )  # fmt: skip
    public = (
        "select r.*, l.score, l.stat, l.n\nfrom runs r\n"
        "join leaderboard l on l.run_id = r.run_id and l.profile = r.profile and l.eval_set = r.eval_set\n"
        "order by r.created_at desc, r.profile, r.run_id, r.eval_set"
    )
    names = [address("", run=row["run_id"], profile=row["profile"], eval_set=row["eval_set"]) for row in table.rows]
    plots = _score_bars([(row["score"], _best(session, row["profile"])) for row in table.rows])
    partial = "".join(f" {said}" for said in partial_words(partial_scores(session, table.rows)))
    table = replace(
        table, note=f"{table.note}{partial}", sql=public, picks=names, picked=frozenset(picks), plots=plots,
        plotted="score",
    )  # fmt: skip
    count = session.rows(f"select count(distinct run_id) as n from ({query})")[0]["n"]
    title = results_text(table.total or 0, count)
    return Content(title=title, sections=(Section("runs", "Runs", (table,)),)), profiles


def _counts_of(session: Session, profiles: Sequence[str]) -> Iterator[str]:
    """Of profiles that count other things than questions, what they count."""
    for row in filter(None, map(session.profile, profiles)):
        if said := counts_words(row.profile, row.unit, row.row, counts="those answered"):
            yield f" {said}"


def _scope(session: Session, profile: str, eval_set: str) -> Scope:
    """All runs of a profile and eval set."""
    runs = [run for run in matching_runs(session, profile) if run.record["eval_set"] == eval_set]
    if not runs:
        raise StoreError(f"The store has no run of {profile} with eval set {eval_set}.")
    return scopes(session, runs)[0]


def set_content(
    session: Session, profile: str, eval_set: str, *, name: str, base: str | None, listed: Lister
) -> Content:
    """One section about a profile and eval set, as in the report."""
    scope = _scope(session, profile, eval_set)
    compared_with = None
    if name in LONG_SECTIONS:
        outcome = compared_runs(session, scope, base, drawn_alone=name == "movers")
        compared_with = outcome.results[0].compared.base.name if outcome.results else None
        section = (comparison_section if name == "comparison" else movers_section)(session, outcome, "set")
    elif name in ("distributions", "groups"):
        section = (distributions_section if name == "distributions" else groups_section)(session, scope, "set")
    else:
        made = {
            "leaderboard": sections.leaderboard_section,
            "fail-reasons": sections.fail_reasons_section,
            "confusions": sections.confusions_section,
            "hardest": sections.hardest_section,
        }
        section = made[name](session, scope, "set", listed=listed)
    about = {"profile": profile, "eval_set": eval_set}
    tabs = tuple(
        (SET_SECTIONS[one], address("/set", **about, section=one, base=base), one == name) for one in SET_SECTIONS
    )
    return Content(
        title=f"{profile} · {eval_set}",
        sections=(section,),
        links=Links(profile, eval_set, base=compared_with),
        crumbs=(("Runs", "/"),),
        lead=count_text(len(scope.runs), "run"),
        tabs=tabs,
    )


def gates_content(session: Session, listed: Lister) -> Content:
    """The verdicts of the gates on all runs."""
    runs = matching_runs(session)
    if not runs:
        return Content(title="Gates", sections=(Section("gates", "Gates", (Words("The store has no runs."),)),))
    return Content(
        title="Gates",
        sections=(sections.gates_section(session, scopes(session, runs), runs, listed=listed),),
        links=Links(),
        crumbs=(("Runs", "/"),),
    )


def rejects_content(session: Session, view: View) -> Content:
    """Input rows that could not be used."""
    table = paged(
        session, "rejects-table", "Input rows that could not be used",
        query="select reason, file, line, detail, raw, commit\nfrom rejects", view=view,
        order="file, line, reason, detail, raw, commit",
    )  # fmt: skip
    title = count_text(table.total or 0, "reject")
    block = table if table.total else Words("Every input row was used.")
    return Content(title=title, sections=(Section("rejects", title, (block,)),), crumbs=(("Runs", "/"),))


# --- one run, one question, one answer --------------------------------------------------------------------------------


def _key_columns(session: Session, profile: str) -> tuple[str, ...]:
    """What tells rows of one question and repeat apart, beside the run."""
    row = session.profile(profile)
    keys = row.view_keys if row else ()
    return tuple(name for name in keys if name not in ("run_id", "question_id", "repeat", "weight"))


def _repeat_column(session: Session, profile: str, where: str) -> tuple[str, ...]:
    """The column `repeat`, where any of these rows is more than the first answer to its question."""
    rows = session.rows(f"select max(repeat) as most from {profile} where {where}")
    return ("repeat",) if rows[0]["most"] else ()


def _ties(rows: str, keys: Sequence[str]) -> str:
    """What orders rows of one question, repeat and score."""
    return ", ".join(f"{rows}.{identifier(name)}" for name in (*keys, "fail_reason"))


def run_content(
    session: Session,
    name: str,
    profile: str | None,
    *,
    eval_set: str | None,
    reason: str | None,
    text: str | None,
    view: View,
) -> Content:
    """One run: where it comes from, its metrics, failures and groups, and its answers, worst first."""
    run = find_run(session, name, profile, eval_set=eval_set)
    key = run.key
    scope = Scope(key["profile"], key["eval_set"], (key["run_id"],), every=False)
    keys = _key_columns(session, scope.profile)
    where = f"run_id = {quoted(key['run_id'])} and eval_set = {quoted(scope.eval_set)}"
    if reason:
        where += f" and fail_reason = {quoted(reason)}"
    if text:
        where += f" and contains(lower(question_id), {quoted(text.lower())})"
    names = ("question_id", *_repeat_column(session, scope.profile, where), "score", *keys, "fail_reason")
    asked, join = question_join(session, scope, "a")
    columns = ", ".join((*(f"a.{identifier(name)}" for name in names), *asked))  # the text, which is long, at the end
    rows = f"(\n    from {scope.profile}\n    where {where}\n) a{join}" if join else f"{scope.profile} a\nwhere {where}"
    answers = paged(
        session,
        "answers-table",
        "Answers that match" if reason or text else "Every answer",
        query=f"select {columns}\nfrom {rows}",
        view=view,
        order=f"a.score nulls first, a.question_id, a.repeat, {_ties('a', keys)}",
        numbers=("score",),
    )
    best = _best(session, scope.profile)
    plots = _score_bars([(row["score"], best) for row in answers.rows])
    parts = [
        Section("answers", "Answers", (replace(answers, plots=plots, plotted="score"),)),
        distributions_section(session, scope, "run"),
        sections.fail_reasons_section(session, scope, "run"),
        groups_section(session, scope, "run"),
        sections.confusions_section(session, scope, "run"),
    ]
    value = session.rows(
        f"select value as score, stat, n from run_values where metric = 'score' and run_id = {quoted(key['run_id'])}\n"
        f"  and {scope.of_set}"
    )
    named = _count_names(session, scope.profile)
    known = {name: run.record[name] for name in _FACTS if run.record[name] is not None}
    told = (value[0] if value else {}) | known | dict(run.record["meta"])
    facts = {named.get(name, name): fact for name, fact in told.items()}
    links = Links(scope.profile, scope.eval_set, key["run_id"], keys=keys)
    return Content(
        title=key["run_id"],
        sections=tuple(parts),
        links=links,
        crumbs=set_crumbs(scope.profile, scope.eval_set),
        facts=facts,
    )


def _count_names(session: Session, profile: str) -> dict[str, str]:
    """What the counts of a run are called, where they are not of questions."""
    row = session.profile(profile)
    if row is None or row.unit == row.row == "question":
        return {}
    return {
        "n": f"n {row.unit}s", "question_count": f"{row.row}s expected",
        "answered_count": f"expected {row.row}s given", f"{row.row}s": f"{row.row}s read",
    }  # fmt: skip


def question_content(session: Session, profile: str, eval_set: str, *, question: str, view: View) -> Content:
    """One question in all runs."""
    if session.profile(profile) is None:
        raise StoreError(f"The store has no profile {profile}.")
    keys = _key_columns(session, profile)
    where = f"question_id = {quoted(question)} and eval_set = {quoted(eval_set)}"
    names = ("run_id", "question_id", *_repeat_column(session, profile, where), "score", *keys, "fail_reason")
    shown = ", ".join(f"a.{identifier(name)}" for name in names)
    query = f"select {shown}\nfrom {profile} a\nwhere {where}"
    table = paged(
        session,
        "answers-table",
        "Answers of all runs",
        query=query,
        view=view,
        order=f"a.score nulls last, a.run_id, a.repeat, {_ties('a', keys)}",
        numbers=("score",),
        labels={"question_id": "answer"},
    )
    if not table.rows:
        raise StoreError(f"No run of {profile} has a question '{question}' in {eval_set}.")
    found = session.rows(f"select min(score) as low, max(score) as high, count(*) as n from ({query})")[0]
    of_runs = session.rows(
        "select exact_mean(value) as mean, count(value) as runs from question_values\n"
        f"where metric = 'score' and profile = {quoted(profile)} and {where}"
    )[0]
    blocks: list[Block] = []
    if found["high"] is not None:
        best = max(found["high"], _best(session, profile))
        blocks.append(_score_histogram(session, query, min(0.0, found["low"]), high=best))
        plots = _score_bars([(row["score"], best) for row in table.rows])
        table = replace(table, plots=plots, plotted="score")
    blocks.append(table)
    facts = {
        "mean score of runs": of_runs["mean"], "n runs": of_runs["runs"], "n answers": found["n"],
        "lowest answer": found["low"], "highest answer": found["high"],
    }  # fmt: skip
    return Content(
        title=question,
        sections=(Section("answers", "In all runs", tuple(blocks)),),
        links=Links(profile, eval_set, keys=keys),
        crumbs=set_crumbs(profile, eval_set),
        lead=_question_text(session, profile, eval_set, question=question),
        facts=facts,
    )


def _question_text(session: Session, profile: str, eval_set: str, *, question: str) -> str | None:
    """What was asked; null where that cannot be read any more, or where too much would have to be read for it."""
    return question_texts(session, Scope(profile, eval_set, (), every=False), (question,)).get(question)


def _score_bars(scores: Sequence[tuple[float | None, float]]) -> dict[str, list[Markup]]:
    """A column of bars: each score as a share of the best that there is; negative ones go to the left of zero."""
    shares = [(score, best, None if score is None or best <= 0 else score / best) for score, best in scores]
    least = min([0.0, *(share for *_, share in shares if share is not None)])
    title = "0 to the best" if least >= 0 else f"{least:.4g} of the best to the best"
    bars = [
        Markup("") if share is None else figures.bar(share, 1.0, f"{score:.4g} of {best:g}", least=least)
        for score, best, share in shares
    ]
    return {title: bars}


def _score_histogram(session: Session, query: str, low: float, *, high: float) -> Figure:
    """How many answers have which score."""
    width = (high - low) / _SCORE_BINS or 1.0
    bins = session.rows(
        f"select {low!r} + bin * {width!r} as low, {low!r} + (bin + 1) * {width!r} as high, count(*) as n\n"
        f"from (select least({_SCORE_BINS - 1}, floor((score - {low!r}) / {width!r})) as bin from ({query})\n"
        "    where score is not null)\ngroup by bin order by bin"
    )
    n = sum(one["n"] for one in bins)
    told = f"n = {count_text(n, 'answer')} with a score"
    return Figure(
        "question-scores", "Answers by score", figures.histogram(bins, "score", told, y_name="answers"), told=told
    )


def _best(session: Session, profile: str) -> float:
    row = session.profile(profile)
    return row.score_top if row else 1.0


def has_several_rows(session: Session, name: str, about: Mapping[str, str | None], *, question: str) -> bool:
    """Whether a question has rows that only their keys tell apart, as of several judges."""
    run = find_run(session, name, about["profile"], eval_set=about["eval_set"])
    if not _key_columns(session, run.key["profile"]):
        return False
    rows = session.rows(
        f"select count(*) as n from {run.key['profile']} where run_id = {quoted(run.key['run_id'])}\n"
        f"  and eval_set = {quoted(run.key['eval_set'])} and question_id = {quoted(question)} and repeat = 0"
    )
    return bool(rows[0]["n"] > 1)


def answer_content(
    session: Session,
    name: str,
    about: Mapping[str, str | None],
    *,
    question: str,
    repeat: int,
    keys: Mapping[str, str],
    number: int,
) -> tuple[Content, ExplainedAnswer]:
    """(where an answer stands, the answer taken apart); `number` is that of the row among those with the same keys"""
    run = find_run(session, name, about["profile"], eval_set=about["eval_set"])
    found = explained_answer(session, run, question, repeat=repeat, keys=keys, number=number)
    profile, eval_set = run.key["profile"], run.key["eval_set"]
    there = address("/run", run=run.key["run_id"], profile=profile, eval_set=eval_set)
    everywhere = address("/question", question=question, profile=profile, eval_set=eval_set)
    here = Links(profile, eval_set, run.key["run_id"], keys=tuple(keys))(
        "question_id", {**keys, "question_id": question, "repeat": repeat or None}
    )
    others = tuple(
        (f"Row {k} of {found.alike} with these keys", f"{here}&row={k}")
        for k in range(1, found.alike + 1)
        if k != number
    )
    content = Content(
        title=question,
        sections=(),
        links=Links(profile, eval_set),
        crumbs=(*set_crumbs(profile, eval_set), (run.key["run_id"], there)),
        lead=_question_text(session, profile, eval_set, question=question),
        facts={name: found.row[name] for name in ("score", "fail_reason") if found.row.get(name) is not None},
        actions=(("The same question in all runs", everywhere), *others[:20]),
    )
    return content, found
