"""What a user maps must be there: a field that nothing reads, or a path that no row has, would leave the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.inputs import readers
from rageval_batch.inputs.presets import ROWS
from rageval_batch.inputs.readers import ABSENT
from rageval_batch.inputs.reading import JOINED, RUN_OF_FILE
from rageval_batch.inputs.sources import Source
from rageval_batch.model import Profile
from rageval_batch.model.schemas import CHUNKS, FILE, OUTPUT, QUESTION, QUESTION_ID, REPEAT, RUN_ID

_OF_A_ROW = tuple(names[0] for names in (QUESTION_ID, OUTPUT, QUESTION, CHUNKS, RUN_ID, REPEAT))
_SHOWN_COLUMNS = 20


def check_map(
    files: Sequence[Source], fields: Mapping[str, tuple[str, ...]], profile: Profile, *, has_questions: bool
) -> None:
    """InputError for a mapped field that the profile does not read, and for one whose paths no row has.

    Files are read only until every field has been found, which is usually in their first rows.
    """
    if fields:
        _check_fields(fields, profile, has_questions)
        _check_paths(files, {field: paths for field, paths in fields.items() if field != ROWS})


def _check_fields(fields: Mapping[str, tuple[str, ...]], profile: Profile, has_questions: bool) -> None:
    inputs = profile.inputs
    of_answers = (*_OF_A_ROW, ROWS, *inputs.keys, *(one.name for one in inputs.output_fields), *FILE)
    of_questions: tuple[str, ...] = ()
    if inputs.questions_required:
        from rageval_batch.inputs.one_table import fields_of  # which needs Polars, as most maps do not

        of_questions = tuple(dict.fromkeys(name for names in fields_of(profile).values() for name in names))
    for field in fields:
        if field in of_answers:
            continue
        if field not in of_questions:
            known = [*of_answers[: -len(FILE)], *(name for name in of_questions if name not in of_answers)]
            raise InputError(f"--map {field}: {did_you_mean('field', field, known)}")
        if has_questions:
            raise InputError(
                f"--map {field}={fields[field][0]}: {field} is read from the questions that -q names, not from the "
                "outputs. Leave out one of the two."
            )


def _check_paths(files: Sequence[Source], fields: Mapping[str, tuple[str, ...]]) -> None:
    """A field with several paths needs one that is there; a joined name needs all its parts."""
    missing = {
        field: [{part for part in path.split(JOINED) if part != RUN_OF_FILE} for path in paths]
        for field, paths in fields.items()
    }
    columns: dict[str, None] = {}
    has_rows = False
    for file in files:
        for block in readers.read_blocks(file):
            has_rows = has_rows or len(block) > len(block.row_errors)
            for field, paths in list(missing.items()):
                for parts in paths:
                    parts -= {part for part in parts if bool((block.field_at(part).kind != ABSENT).any())}
                if not all(paths):
                    del missing[field]
            if not missing:
                return
            columns.update(dict.fromkeys(column.name for column in block.others(frozenset())))
    if not has_rows:
        return
    field, paths = next(iter(missing.items()))
    path = sorted(paths[0])[0]
    near = get_close_matches(path, columns, n=1, cutoff=0.6)
    names = list(columns)
    shown = ", ".join(names[:_SHOWN_COLUMNS]) + (", …" if len(names) > _SHOWN_COLUMNS else "")
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise InputError(f"--map {field}={fields[field][0]}: no row has {path}.{hint} Columns: {shown}.")
