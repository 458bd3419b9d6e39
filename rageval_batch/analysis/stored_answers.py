"""The answers of the current runs of a store as rows: read from copies that commits keep, else from the files again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.runs import stored_inputs
from rageval_batch.runs.database import connected
from rageval_batch.runs.store import Commit
from rageval_batch.runs.stored_inputs import WantedAnswers

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

    Of a commit whose inputs cannot be read, the answers are null, and why is added to the notes.
    """
    from rageval_batch.profiles.registry import get_profile

    for commit in commits:
        if commit.id not in runs:
            continue
        read = 0
        try:
            profile = get_profile(commit.manifest["profile"])
            with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
                wanted = WantedAnswers(runs[commit.id], questions)
                for batch in stored_inputs.answers(commit, profile, wanted, folder=Path(folder)):
                    yield _with_commit(batch, commit)
                    read += batch.num_rows
        except InputError as error:
            said = f"Answers of {commit.id} are not shown: {error}"
            notes += [said] if said not in notes else []
            if not read:
                yield from _without_text(commit, WantedAnswers(runs[commit.id], questions))


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
