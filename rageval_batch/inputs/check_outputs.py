"""Outputs against what their profile says of an answer: every violation, where it is, what is allowed.

`score` scores such answers all the same, as what they are, and rejects an object or list where a text is wanted;
`check --outputs` says before what is wrong with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rageval_batch.inputs.check import Checked, Found, Violation, path_of, schema_rule
from rageval_batch.inputs.questions import QuestionFile, question_id, read_question_file, shown_json
from rageval_batch.inputs.run_metadata import read_bytes
from rageval_batch.inputs.sources import Source
from rageval_batch.model import Profile
from rageval_batch.model.field_names import FieldNames, misspelt_fields
from rageval_batch.model.schemas import CHUNKS, OUTPUT, QUESTION_ID

_OBJECT = "a JSON object, or the text of one"


def check_outputs(file: Source, profile: Profile) -> Checked:
    """Every violation of a file of outputs, in the order of its rows."""
    read = _read_rows(file, profile)
    found = [
        Violation(file.name, bad.line, None, path=bad.path, found=bad.found, allowed=bad.allowed)
        for bad in read.unreadable
    ]
    for index, row in enumerate(read.questions):
        where, line, name = read.path(read.places[index]), read.lines[index], question_id(row)
        for steps, found_value, allowed in _row_violations(row, profile):
            path = where + path_of(steps)
            found.append(Violation(file.name, line, name, path=path, found=found_value, allowed=allowed))
    count = len(read.questions) + len(read.unreadable)
    return Checked(
        file.name, profile.name, count, violations=tuple(sorted(dict.fromkeys(found), key=lambda one: one.line or 0))
    )


def _read_rows(file: Source, profile: Profile) -> QuestionFile:
    """The rows of a file; a file that is one output by itself is one row."""
    read = read_question_file(file)
    if file.format != "json" or not profile.inputs.whole_files or read.questions:
        return read
    content = read_bytes(file.name, "output").decode("utf-8", "replace")
    return replace(read, questions=[{OUTPUT[0]: content}], lines=[1], places=[0], unreadable=[])


def _row_violations(row: dict[str, Any], profile: Profile) -> Iterator[Found]:
    inputs = profile.inputs
    if inputs.questions_required and question_id(row) is None:
        yield [QUESTION_ID[0]], "nothing", f"an id: {', '.join(QUESTION_ID)}"
    fields = {one.name: row[one.name] for one in inputs.output_fields if one.name in row}
    name = next((name for name in OUTPUT if name in row), None)
    if name is not None:
        yield from _answer_violations(row[name], profile, [name])
    elif fields:
        yield from _object_violations(fields, profile, [])
    else:
        also = f"; or the fields {', '.join(one.name for one in inputs.output_fields)}" if inputs.output_fields else ""
        yield [OUTPUT[0]], "nothing", f"an answer: {', '.join(OUTPUT)}{also}"
    names = (*QUESTION_ID, *OUTPUT, *CHUNKS, *inputs.keys, *(one.name for one in inputs.output_fields))
    known = FieldNames({one: FieldNames() for one in ("run_id", "repeat", *names)})
    for steps, meant in misspelt_fields(known, row):
        yield steps, f"the field {steps[-1]}", f"did you mean {meant}?"


def _answer_violations(answer: Any, profile: Profile, steps: list[str | int]) -> Iterator[Found]:
    format = profile.inputs.outputs
    if format.schema is None:
        if not isinstance(answer, str) and not profile.inputs.output_fields:
            yield steps, shown_json(answer), "a text"
        return
    value = _parsed(answer) if isinstance(answer, str) else answer
    if isinstance(value, dict):
        yield from _object_violations(value, profile, steps)
    elif not (format.text and isinstance(answer, str)):
        yield steps, shown_json(answer), _OBJECT


def _parsed(text: str) -> Any:
    """The JSON value of a text, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _object_violations(answer: dict[str, Any], profile: Profile, steps: list[str | int]) -> Iterator[Found]:
    schema = dict(profile.inputs.outputs.schema or {})
    for inner, *said in schema_rule(schema)(answer):
        yield [*steps, *inner], said[0], said[1]
    for inner, meant in misspelt_fields(FieldNames.of_schema(schema), answer):
        yield [*steps, *inner], f"the field {inner[-1]}", f"did you mean {meant}?"
