"""Runs whose missing answers count for more than answers that they gave, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from rageval_batch.analysis.runs import Run
from rageval_batch.analysis.session import Session
from rageval_batch.runs.findings import missing_counts_more


def raised_by_missing(session: Session, runs: Sequence[Run]) -> dict[tuple[str, ...], str]:
    """By the key of a run: that its scores go below 0, which a missing answer has. Of other runs nothing."""
    lacking = {tuple(run.key.values()): run.record for run in runs if _lacks_answers(run)}
    if not lacking:
        return {}
    rows = session.rows(
        "select run_id, profile, eval_set, min from run_summary "
        "where metric = 'score' and min < 0 and list_contains($names, run_id)",
        {"names": [run_id for run_id, *_ in lacking]},
    )
    worst = {(row["run_id"], row["profile"], row["eval_set"]): row["min"] for row in rows}
    return {key: f"'{key[0]}': {_said(lacking[key], worst[key])}." for key in lacking if key in worst}


def _lacks_answers(run: Run) -> bool:
    questions = run.record["question_count"]
    return questions is not None and run.record["answered_count"] < questions


def _said(record: dict[str, object], worst: float) -> str:
    questions, answered = record["question_count"], record["answered_count"]
    assert isinstance(questions, int) and isinstance(answered, int)
    return missing_counts_more(questions - answered, questions, worst)
