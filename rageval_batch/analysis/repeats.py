"""What several repeats of the same questions say of a run: how much its score moves, and how often one of k passes."""

from __future__ import annotations

from fractions import Fraction

from rageval_batch.analysis.session import Session
from rageval_batch.columnar.statistics import pass_at_k, population_std

_OF_RUN = "run_id = $run_id and profile = $profile and eval_set = $eval_set"
_OUTCOMES = f"""
    with outcomes as (
        select
            m.question_id,
            case
                when bool_and(s.fail_reason is not distinct from 'missing_output') then $repeats::bigint
                else count(*)
            end as repeats,
            count(*) filter (m.value = 1) as passed
        from metrics m
        join scores s
            on s.run_id = m.run_id and s.profile = m.profile and s.eval_set = m.eval_set
            and s.question_id = m.question_id and s.repeat = m.repeat
        where m.{_OF_RUN.replace(" and ", " and m.")} and m.metric = $metric
        group by m.question_id
    )
    select repeats, passed, count(*) as questions from outcomes group by all
"""


def repeat_summary(session: Session, key: dict[str, str], repeats: int) -> dict[str, float | int | None]:
    """The std of a run's score over its repeats, and pass@k where its profile has `passed`; nothing without repeats."""
    if repeats < 2:
        return {}
    rows = session.rows(f"select score from repeat_scores where {_OF_RUN} and score is not null order by repeat", key)
    std = population_std([row["score"] for row in rows])
    return {"score_std_over_repeats": std, **pass_rates(session, key, repeats)}


def pass_rates(
    session: Session, key: dict[str, str], repeats: int, *, metric: str = "passed"
) -> dict[str, float | int | None]:
    """pass@1 … pass@repeats: the mean over questions with at least k repeats; an unanswered one has them all."""
    groups = session.rows(_OUTCOMES, {**key, "metric": metric, "repeats": repeats})
    out: dict[str, float | int | None] = {}
    for k in range(1, repeats + 1):
        enough = [group for group in groups if group["repeats"] >= k]
        if questions := sum(group["questions"] for group in enough):
            passed = sum(
                (group["questions"] * pass_at_k(group["repeats"], group["passed"], k) for group in enough), Fraction(0)
            )
            out[f"pass@{k}"] = float(passed / questions)
    return out
