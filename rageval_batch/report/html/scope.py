"""Which runs a page is about: of one profile and eval set, all or some; and the SQL that picks their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY

from rageval_batch.analysis.runs import Run
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.sql_text import quoted

# Views that sections read again and again: a session of a page computes each of them once.
SUMMARIES = ("run_summary", "fail_reasons", "run_groups", "question_difficulty", "gate_results")


@dataclass(frozen=True)
class Scope:
    """The runs of one profile and eval set, best first; `every`: they are all that there are."""

    profile: str
    eval_set: str
    runs: tuple[str, ...]
    _: KW_ONLY
    every: bool

    @property
    def where(self) -> str:
        """The condition that picks the rows of these runs out of a view."""
        picked = f"{self.of_set}"
        return picked if self.every else f"{picked} and run_id in ({', '.join(map(quoted, self.runs))})"

    @property
    def of_set(self) -> str:
        """The condition that picks the rows of all runs of the profile and eval set."""
        return f"profile = {quoted(self.profile)} and eval_set = {quoted(self.eval_set)}"

    def some(self, runs: Sequence[str]) -> Scope:
        """The same for a few of the runs."""
        return Scope(self.profile, self.eval_set, tuple(runs), every=self.every and len(runs) == len(self.runs))


def scopes(session: Session, runs: Sequence[Run]) -> list[Scope]:
    """The runs by profile and eval set, newest eval sets last, best runs first."""
    wanted: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        wanted.setdefault((run.record["profile"], run.record["eval_set"]), set()).add(run.record["run_id"])
    ranked: dict[tuple[str, str], list[str]] = {}
    for row in session.rows(
        "select run_id, profile, eval_set from run_values where metric = 'score' order by value desc nulls last, run_id"
    ):
        ranked.setdefault((row["profile"], row["eval_set"]), []).append(row["run_id"])
    return [
        Scope(*key, tuple(run for run in ranked[key] if run in names), every=len(names) == len(ranked[key]))
        for key, names in wanted.items()
    ]


def keep_summaries(session: Session, names: Sequence[str] = SUMMARIES) -> None:
    """Let the session read some views from tables of the same names, made once."""
    for name in names:
        if not session.has_kept(name):
            session.keep_table(name, f"select * from main.{name}")
