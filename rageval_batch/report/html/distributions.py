"""The distribution of every metric for every run, as small histograms on one scale a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rageval_batch.analysis.session import Session
from rageval_batch.report.html import figures
from rageval_batch.report.html.blocks import Card, Cards, Section, Strip, Words
from rageval_batch.report.html.scope import Scope, keep_summaries
from rageval_batch.report.html.sections import count_labels, other_stat, queried, score_words
from rageval_batch.report.html.texts import number_text, plain_text
from rageval_batch.sql_text import quoted

BINS = 24
_BEST, _WORST = 6, 4


def drawn_runs(scope: Scope) -> tuple[str, ...]:
    """The runs that figures have room for: all, or the best and the worst."""
    if len(scope.runs) <= _BEST + _WORST:
        return scope.runs
    return (*scope.runs[:_BEST], *scope.runs[-_WORST:])


def distributions_section(session: Session, scope: Scope, id: str) -> Section:
    """A card for each metric with a histogram for each run, and the summary of all runs behind them."""
    keep_summaries(session, ("run_summary",))
    drawn = drawn_runs(scope)
    which = "" if len(drawn) == len(scope.runs) else " Of the runs above; the SQL without their names gives all."
    table = queried(
        session, f"{id}-distributions-table", "Summary of every metric",
        sql="select metric, run_id, mean, n_counted as n, n_scored, std, min, p50, p90, p95, max\n"
        f"from run_summary\nwhere {scope.some(drawn).where}\norder by metric, run_id",
        behind=True,
        labels=count_labels(session, scope.profile, "question"),
        note="n: questions that the mean is over; those without an answer count as the metric says. "
        f"n scored: with a value of their own.{which}",
    )  # fmt: skip
    summary = session.rows(f"select * from run_summary where {scope.some(drawn).where}")
    by_metric: dict[str, dict[str, dict[str, Any]]] = {}
    for row in summary:
        by_metric.setdefault(row["metric"], {})[row["run_id"]] = row
    if not by_metric:
        return Section(f"{id}-distributions", "Distributions", (Words("There are no values."),))
    left = len(scope.runs) - len(drawn)
    said = f"The best {_BEST} and the worst {_WORST} of n = {len(scope.runs):,} runs. " if left else ""
    words = Words(
        f"{said}Each strip is a histogram of a run's answers, those without a value of their own where the mean counts "
        f"them; the line is the plain mean, n the questions it is over.{score_words(session, scope.profile)}"
    )
    cards = _cards(session, scope.some(drawn), by_metric)
    return Section(f"{id}-distributions", "Distributions", (words, Cards("Metrics", cards), table))


def _cards(session: Session, scope: Scope, summary: dict[str, dict[str, dict[str, Any]]]) -> tuple[Card, ...]:
    profile = session.profile(scope.profile)
    declared = {metric.metric: metric for metric in profile.metrics} if profile else {}
    order = [name for name in declared if name in summary] + sorted(set(summary) - set(declared))
    scales = {name: _scale(declared[name].scale if name in declared else None, summary[name]) for name in order}
    counts = _counts(session, scope, scales)
    labels = count_labels(session, scope.profile, "question")
    plain = "; plain means" if other_stat(session, scope.profile) else ""
    cards = []
    for name in order:
        better = "higher is better" if name not in declared or declared[name].higher_is_better else "lower is better"
        strips = tuple(
            _strip(run, counts.get((name, run), [0] * BINS), summary[name].get(run), scale=scales[name])
            for run in scope.runs
        )
        low, high = scales[name]
        cards.append(Card(name, f"{better}{plain}", low, high=high, strips=strips, counted=labels.get("n", "n")))
    return tuple(cards)


def _scale(best: float | None, rows: dict[str, dict[str, Any]]) -> tuple[float, float]:
    """From the worst value to the best that a metric can have, or that it has where it has no such ends."""
    ends = [row[name] for row in rows.values() for name in ("min", "max") if row[name] is not None]
    low, high = min([0.0, *ends]), max([best if best is not None else 0.0, *ends])
    return low, high if high > low else low + 1.0


def _counts(session: Session, scope: Scope, scales: dict[str, tuple[float, float]]) -> dict[tuple[str, str], list[int]]:
    """Answers by metric, run and bin, as means count them; the database does it."""
    runs = ", ".join(map(quoted, scope.runs))
    ends = ", ".join(f"({quoted(name)}, {low!r}::double, {high!r}::double)" for name, (low, high) in scales.items())
    rows = session.rows(
        f"""
        with ends(metric, low, high) as (values {ends})
        select
            m.metric, m.run_id,
            greatest(0, least({BINS - 1}, coalesce(try_cast(floor(
                {BINS} * (m.value - e.low) / nullif(e.high - e.low, 0)) as integer), 0))) as bin,
            count(*) as n
        from metric_values m
        join ends e on e.metric = m.metric
        where m.profile = {quoted(scope.profile)} and m.eval_set = {quoted(scope.eval_set)}
          and m.run_id in ({runs}) and m.value is not null
        group by all
        """
    )
    out: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        out.setdefault((row["metric"], row["run_id"]), [0] * BINS)[row["bin"]] = row["n"]
    return out


def _strip(run: str, counts: Sequence[int], summary: dict[str, Any] | None, *, scale: tuple[float, float]) -> Strip:
    mean, n = (summary["mean"], summary["n_counted"]) if summary else (None, 0)
    told = f"{plain_text(run)}: mean {number_text(mean)}, n = {n:,}"
    if summary and (without := n - summary["n_scored"]) > 0:
        told += f", {without:,} of them without a value of their own"
    return Strip(run, figures.strip(counts, mean, scale, told=told), mean, n=n)
