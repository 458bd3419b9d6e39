"""A job from what a notebook gives: frames, files and mappings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from rageval_batch.errors import InputError
from rageval_batch.inputs.map_check import check_map
from rageval_batch.inputs.one_table import take_questions
from rageval_batch.inputs.presets import read_map, with_map
from rageval_batch.inputs.run_names import with_run_names
from rageval_batch.inputs.sources import Source, frame_source, sources
from rageval_batch.model import Profile
from rageval_batch.runs.job import Job


def given_sources(given: Any, name: str, whole_json: bool = False) -> list[Source]:
    """Files by their names, or a frame, which is called by a name."""
    if given is None:
        return []
    if isinstance(given, str | os.PathLike):
        return sources([given], whole_json)
    if isinstance(given, Iterable) and all(isinstance(part, str | os.PathLike) for part in _first(given)):
        return sources(given, whole_json)
    return [_checked(frame_source(given, name))]


def _checked(frame: Source) -> Source:
    """A frame that a caller gave, whose buffers are valid: compiled loops would read beyond the end of others."""
    assert frame.table is not None
    for column, cells in zip(frame.table.column_names, frame.table.columns, strict=True):
        try:
            cells.validate(full=True)
        except pa.ArrowInvalid as error:
            said = str(error).partition("\n")[0].rstrip(".")
            raise InputError(
                f"{frame.name}: column {column} is no valid Arrow data ({said}). Make it of valid text."
            ) from error
    return frame


def _first(given: Iterable[Any]) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) and given else [None]


@contextmanager
def given_job(
    outputs: Sequence[Source],
    questions: Any,
    profile: Profile,
    *,
    contexts: Any = None,
    params: Mapping[str, Any] | None = None,
    map: Mapping[str, Any] | None = None,
    preset: str | None = None,
) -> Iterator[Job]:
    """The job of scoring outputs; questions that are taken from their rows lie in a file as long as it is used."""
    fields = read_map(map or {}, "map")
    if params is not None and not (isinstance(params, Mapping) and all(isinstance(name, str) for name in params)):
        raise InputError(f"params: {params!r} is no mapping of names to values. Give a dict, as {{'name': value}}.")
    files, _ = with_run_names(with_map(list(outputs), preset, fields))
    check_map(files, fields, profile, has_questions=questions is not None)
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
        question_files = given_sources(questions, "questions")
        if questions is None and profile.inputs.questions_required:
            table = take_questions(files, profile, Path(folder))
            files, question_files = table.outputs, [table.questions]
        yield Job(
            profile=profile,
            params=profile.read_params(params or {}),
            outputs=files,
            questions=question_files,
            contexts=given_sources(contexts, "contexts"),
        )
