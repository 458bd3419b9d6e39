"""What was asked: the texts of questions beside their ids, where they can be read without reading too much."""

from __future__ import annotations

from collections.abc import Iterable

from rageval_batch.analysis.session import Session
from rageval_batch.report.html.scope import Scope
from rageval_batch.sql_text import quoted

MOST_QUESTIONS = 50_000  # that are read again for their texts and fields


def can_read(session: Session, scope: Scope) -> bool:
    """Whether the questions of an eval set are few enough to be read again."""
    count = session.rows(f"select max(question_count) as n from runs where {scope.of_set}")[0]["n"]
    return bool(count) and count <= MOST_QUESTIONS


def question_join(session: Session, scope: Scope, rows: str) -> tuple[tuple[str, ...], str]:
    """(the column of the question's text, the join that gives it) for rows of that name; empty where there is none."""
    found = can_read(session, scope) and session.rows(
        f"select count(*) as n from questions where {scope.of_set} and question is not null"
    )
    if not found or not found[0]["n"]:
        return (), ""
    of_set = f"q.profile = {quoted(scope.profile)} and q.eval_set = {quoted(scope.eval_set)}"
    return ("q.question",), f"\nleft join questions q on q.question_id = {rows}.question_id\n    and {of_set}"


def question_texts(session: Session, scope: Scope, ids: Iterable[str]) -> dict[str, str]:
    """The texts of these questions by their ids; without those that cannot be read."""
    if not can_read(session, scope):
        return {}
    wanted = ", ".join(map(quoted, sorted(set(ids)))) or "null"
    rows = session.rows(
        f"select question_id, question from questions where {scope.of_set} and question_id in ({wanted})"
    )
    return {row["question_id"]: row["question"] for row in rows if row["question"] is not None}
