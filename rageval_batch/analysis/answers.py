"""One answer of a run: its score row, and the answer read again and taken apart."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rageval_batch.analysis.runs import Run, score_row
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.model import Explanation
from rageval_batch.runs import stored_inputs
from rageval_batch.runs.commit_profile import profile_of


@dataclass(frozen=True, kw_only=True)
class ExplainedAnswer:
    """What the store says of an answer; without the answer itself where the inputs cannot be read any more."""

    row: dict[str, Any]
    output: str | None
    explanation: Explanation | None
    note: str | None  # why there is no answer
    alike: int = 1  # rows that question, repeat and keys do not tell apart


def explained_answer(
    session: Session, run: Run, question: str, *, repeat: int, keys: Mapping[str, str], number: int | None = None
) -> ExplainedAnswer:
    """One answer; StoreError where question, repeat and `keys` do not pick one, nor `number` one of those they do."""
    row, place, alike = score_row(session, run, question, repeat=repeat, keys=keys, row=number)
    commit = next(commit for commit in session.commits if commit.id == run.record["commit"])
    try:
        with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
            output, explanation = stored_inputs.explain(
                commit, profile_of(commit), {**row, **place}, folder=Path(folder)
            )
    except InputError as error:  # the scores are still worth seeing
        return ExplainedAnswer(row=row, output=None, explanation=None, note=str(error), alike=alike)
    return ExplainedAnswer(row=row, output=output, explanation=explanation, note=None, alike=alike)
