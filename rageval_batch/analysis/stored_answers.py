"""The answers of the current runs of a store as rows: read from copies that commits keep, else from the files again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.runs import stored_inputs
from rageval_batch.runs.database import connected
from rageval_batch.runs.store import Commit
from rageval_batch.runs.stored_inputs import LostInput, WantedAnswers

_NAMED_RUNS = 3  # in a note about a file

ANSWERS = pa.schema(
    [
        *((name, LARGE_STRING) for name in ("commit", "profile", "run_id", "question_id")),
        ("repeat", pa.int32()),
        ("output", LARGE_STRING),
        ("input", pa.int32()),
        ("line", pa.int64()),
    ]
)


def read_answers(
    commits: Iterable[Commit], runs: Mapping[str, frozenset[str]], questions: frozenset[str] | None, *, notes: list[str]
) -> Iterator[pa.RecordBatch]:
    """The answers of these runs of each commit, to these questions or to all, block by block.

    Answers whose file cannot be read are null, and which runs they are of and why is added to the notes.
    """
    from rageval_batch.profiles.registry import get_profile

    said: dict[str, None] = {}
    for commit in commits:
        if commit.id not in runs:
            continue
        wanted = WantedAnswers(runs[commit.id], questions)
        read = 0
        lost: list[LostInput] = []
        try:
            profile = get_profile(commit.manifest["profile"])
            with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
                for batch in stored_inputs.answers(commit, profile, wanted, folder=Path(folder), lost=lost):
                    yield _with_commit(batch, commit)
                    read += batch.num_rows
        except InputError as error:
            said[f"Answers of {commit.id} are not shown: {error}"] = None
            if not read:
                yield from _without_text(commit, wanted)
        for one in lost:
            said[f"Answers of {_runs_text(one.runs)} in {commit.id} are not shown: {one.why}"] = None
    notes += [note for note in said if note not in notes]


def _runs_text(runs: Sequence[str]) -> str:
    """The first of some runs, and how many more there are."""
    named = ", ".join(f"'{run}'" for run in runs[:_NAMED_RUNS])
    return named + (f" and {len(runs) - _NAMED_RUNS:,} more" if len(runs) > _NAMED_RUNS else "")


def _without_text(commit: Commit, wanted: WantedAnswers) -> Iterator[pa.RecordBatch]:
    """The keys of answers by their score rows."""
    query, values = wanted.places(commit)
    with connected() as connection:
        for batch in connection.sql(
            f"select *, null::varchar as output from ({query})", params=values
        ).to_arrow_reader():
            yield _with_commit(batch, commit)


def _with_commit(batch: pa.RecordBatch, commit: Commit) -> pa.RecordBatch:
    """The batch with its commit and profile."""
    same = (
        pa.repeat(pa.scalar(text, LARGE_STRING), batch.num_rows) for text in (commit.id, commit.manifest["profile"])
    )
    columns = [*same, *(batch.column(name).cast(ANSWERS.field(name).type) for name in ANSWERS.names[2:])]
    return pa.RecordBatch.from_arrays(columns, schema=ANSWERS)
