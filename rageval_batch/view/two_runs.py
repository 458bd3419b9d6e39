"""The page of a run against a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rageval_batch.analysis.compared_runs import ComparedRuns, find_compared_runs
from rageval_batch.analysis.comparison import Rules, compare
from rageval_batch.analysis.paired_units import MICRO
from rageval_batch.analysis.session import Session
from rageval_batch.report.html import sections
from rageval_batch.report.html.asked import question_join
from rageval_batch.report.html.blocks import Section, Table, Words
from rageval_batch.report.html.comparisons import drawn_comparison, macro_arguments, moved_answers
from rageval_batch.report.html.scope import Scope
from rageval_batch.sql_text import quoted
from rageval_batch.view.addresses import Links, address
from rageval_batch.view.contents import Content, set_crumbs
from rageval_batch.view.paging import View, paged

_COMPARED = ("question_id", "base_score", "cand_score", "delta", "status")
_QUICK_BYTES = 32_000_000  # of inputs that are read again within a second


def compare_content(
    session: Session, base: str, candidate: str, *, about: Mapping[str, str | None], view: View, answers: bool
) -> Content:
    """A run against a run: in words and figures, question by question, by metric, with both answers of what moved.

    Where the inputs are large the answers are read only if they are asked for.
    """
    compared = find_compared_runs(session, base, [candidate], profile=about["profile"], eval_set=about["eval_set"])
    result = compare(session, compared, Rules(), answers=False, keep_pairs=True)[0]
    *drawn, _ = drawn_comparison(session, result, "compare")
    kept = f"from compared\n    where run_id = {quoted(candidate)}"
    asked, join = question_join(session, Scope(compared.profile, compared.base.eval_set, (), every=False), "c")
    questions = paged(
        session, "questions-table", f"Every question{'' if view.sort else ', most moved first'}",
        query=f"select {', '.join((*(f'c.{name}' for name in _COMPARED), *asked))}\n"
        f"from (\n    {kept}\n) c{join}",
        view=view, order="abs(c.delta) desc nulls last, c.question_id, c.base_score, c.cand_score",
        numbers=("base_score", "cand_score", "delta"),
    )  # fmt: skip
    public = questions.sql.replace(kept, f"from regressions({macro_arguments(result)})")
    there = address("/compare", base=base, cand=candidate, **about, answers=1)
    if answers or all(_input_bytes(session, name) <= _QUICK_BYTES for name in (base, candidate)):
        moved = Section("movers", "Answers that moved most", tuple(moved_answers(session, [result])))
        actions: tuple[tuple[str, str], ...] = ()
    else:
        moved = Section(
            "movers", "Answers that moved most", (Words("The inputs are large: to read them takes a while."),)
        )
        actions = (("Show the answers", there),)
    parts = (
        Section("words", "What changed", tuple(drawn)),
        Section("questions", "Questions", (replace(questions, sql=public),)),
        moved,
        Section("metrics", "Metrics", (_metrics_of_both(session, base, candidate, compared=compared),)),
    )
    swap = ("Swap base and candidate", address("/compare", base=candidate, cand=base, **about))
    return Content(
        title=f"{base} → {candidate}", sections=parts, links=Links(compared.profile, compared.base.eval_set),
        crumbs=set_crumbs(compared.profile, compared.base.eval_set),
        facts={
            "stat": compared.stat, "base": result.base_score, "candidate": result.cand_score, "delta": result.delta,
            "p": result.p_value, f"n shared {compared.unit}s": result.shared,
        },
        actions=(swap, *actions),
    )  # fmt: skip


def _metrics_of_both(session: Session, base: str, candidate: str, *, compared: ComparedRuns) -> Table:
    """The values that both runs have of every metric."""
    profile = session.profile(compared.profile)
    micro = compared.run_stat == MICRO
    noun = profile.row if profile and micro else "question"
    counted = "n_micro" if micro else "n_counted"
    return sections.queried(
        session, "metrics-table", "Every metric",
        sql=f"select b.metric, b.value as base, m.{counted} as base_n,\n"
        f"    c.value as cand, o.{counted} as cand_n, c.value - b.value as difference, b.stat\n"
        "from run_values b\njoin run_values c on c.metric = b.metric and c.profile = b.profile\n"
        "join run_summary m on m.run_id = b.run_id and m.profile = b.profile and m.eval_set = b.eval_set\n"
        "    and m.metric = b.metric\n"
        "join run_summary o on o.run_id = c.run_id and o.profile = c.profile and o.eval_set = c.eval_set\n"
        "    and o.metric = c.metric\n"
        f"where b.profile = {quoted(compared.profile)}\n"
        f"  and b.run_id = {quoted(base)} and b.eval_set = {quoted(compared.base.eval_set)}\n"
        f"  and c.run_id = {quoted(candidate)} and c.eval_set = {quoted(compared.candidates[0].eval_set)}\n"
        "order by b.metric",
        labels={"base_n": "n base", "cand_n": "n cand"},
        note=f"n: {noun}s that the value is over. run_delta(base, cand, of_eval_set := …) counts the {compared.unit}s "
        "that rose and fell by each metric.",
    )  # fmt: skip


def _input_bytes(session: Session, name: str) -> int:
    """The size of the inputs that the answers of a run would be read from; none where they are kept in the store."""
    stored = session.stored_name(name)
    sizes = [
        sum(one.get("size") or 0 for one in commit.manifest["inputs"])
        for commit in session.commits
        if stored in commit.manifest["runs"] and not commit.files("kept_outputs")
    ]
    return max(sizes, default=0)
