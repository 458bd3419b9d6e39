"""What goes into a profile, for people: an example that scores full marks, and every field of every input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rageval_batch.inputs.check import file_schema
from rageval_batch.model import Profile
from rageval_batch.model.examples import example_rows
from rageval_batch.model.field_table import Field, fields_of, needs_of
from rageval_batch.model.schemas import OUTPUT
from rageval_batch.report.cells import json_line

FILES = ("questions", "outputs", "contexts")


def example_lines(profile: Profile) -> dict[str, list[str]]:
    """The rows of the example as lines of JSON, by input; an input that it does not need is left out."""
    rows = example_rows(profile)
    inputs = zip(FILES, (rows.questions, rows.outputs, rows.contexts), strict=True)
    return {name: [json_line(row) for row in found] for name, found in inputs if found}


def input_fields(profile: Profile) -> dict[str, list[dict[str, Any]]]:
    """Rows of field, type, default and meaning, by input."""
    schema = file_schema(profile)
    questions = fields_of(schema["properties"]["questions"]["items"])
    header = [field for field in fields_of(profile.inputs.questions.header) if not field.path.startswith("questions")]
    return {
        "questions": [_row(field) for field in questions],
        "around the questions": [_row(field) for field in header],
        "outputs": [*_output_row_fields(profile), *_answer_fields(profile)],
        "contexts": [_row(field) for field in profile.inputs.context_fields],
    }


def needs(profile: Profile) -> dict[str, list[str]]:
    """What rows must have beside their required fields, in words, by input."""
    answer = profile.inputs.outputs.schema
    return {
        "questions": needs_of(profile.inputs.questions.schema),
        "outputs": needs_of(answer) if answer is not None else [],
    }


def _row(field: Field, under: str = "") -> dict[str, Any]:
    default = "required" if field.required else field.default
    names = f"also {', '.join(field.names)}" if field.names else ""
    what = "; ".join(part for part in (field.meaning, names) if part)
    return {"field": f"{under}{field.path}", "type": field.type, "default": default, "what": what}


def _own(names: tuple[str, ...], type_: str, default: str | None, *, what: str) -> dict[str, Any]:
    return _row(Field(names[0], type_, default == "required", default=default, meaning=what, names=names[1:]))


def _output_row_fields(profile: Profile) -> Iterable[dict[str, Any]]:
    """What a row of the outputs has beside the answer."""
    inputs = profile.inputs
    yield _own(("run_id",), "text", None, what="the run; without it the name of the file")
    yield from map(_row, inputs.key_fields)
    yield _own(("repeat",), "whole number", "0", what="which of several answers of a run to a question")
    needed = None if inputs.output_fields else "required"
    yield _own(OUTPUT, _answer_type(profile), needed, what=_answer_meaning(profile))
    yield from map(_row, inputs.retrieved_fields)


def _answer_type(profile: Profile) -> str:
    format = profile.inputs.outputs
    if format.schema is None:
        return "text"
    return "object or text" if format.text else "object"


def _answer_meaning(profile: Profile) -> str:
    what = "the answer" if profile.inputs.outputs.schema is None else "the answer, as an object or its JSON text"
    return f"{what}; its fields may stand in the row" if profile.inputs.output_fields else what


def _answer_fields(profile: Profile) -> list[dict[str, Any]]:
    schema = profile.inputs.outputs.schema
    if schema is not None:
        return [_row(field, "output.") for field in fields_of(schema)]
    return [
        {"field": one.name, "type": "text" if one.is_text else "list", "default": None, "what": "a part of the answer"}
        for one in profile.inputs.output_fields
    ]
