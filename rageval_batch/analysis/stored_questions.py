"""The questions of the eval sets of a store as rows: read from copies that commits keep, else from the files again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError
from rageval_batch.inputs.questions import question_id, read_question_file
from rageval_batch.inputs.subset import stratum
from rageval_batch.model.schemas import QUESTION, first_of
from rageval_batch.runs.store import Commit
from rageval_batch.runs.stored_inputs import question_files

QUESTIONS = pa.schema(
    [(name, LARGE_STRING) for name in ("profile", "eval_set", "question_id", "question", "category", "topic", "fields")]
)
_NAMED = ("category", "topic")


def read_questions(commits: Iterable[Commit], declared: Mapping[str, Sequence[str]]) -> tuple[pa.Table, list[str]]:
    """(the questions of the newest commit of every profile and eval set, why some cannot be had).

    `declared` are the fields that each profile groups questions by, dotted: where its category and topic may be.
    """
    newest = {(c.manifest["profile"], c.manifest["questions"]["version"]): c for c in commits}
    rows: list[dict[str, Any]] = []
    notes = []
    for (profile, eval_set), commit in newest.items():
        try:
            files = [read_question_file(file) for file in question_files(commit)]
        except InputError as error:
            notes.append(f"Questions of {eval_set} are not shown: {error}")
            continue
        key = {"profile": profile, "eval_set": eval_set}
        for file in files:
            rows += [key | _row(question, declared.get(profile, ())) for question in file.questions]
    return pa.Table.from_pylist(rows, schema=QUESTIONS), notes


def _row(question: dict[str, Any], declared: Sequence[str]) -> dict[str, Any]:
    text = first_of(question, QUESTION)
    return {
        "question_id": question_id(question),
        "question": text if isinstance(text, str) else None,
        **{name: _field_value(question, name, declared) for name in _NAMED},
        "fields": json.dumps(question, ensure_ascii=False),
    }


def _field_value(question: dict[str, Any], name: str, declared: Sequence[str]) -> str | None:
    """The value of a field of this name at the top, else of the first declared field that ends so."""
    fields = (name, *(field for field in declared if field.rpartition(".")[2].endswith(name)))
    return next((value for field in fields for value in stratum(question, (field,)) if value), None)
