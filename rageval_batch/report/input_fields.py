"""What goes into a profile, for people: an example that scores full marks, and every field of every input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rageval_batch.inputs.check import file_schema
from rageval_batch.model import ByQuestion, Profile, SelfKeyed
from rageval_batch.model.examples import example_rows
from rageval_batch.model.field_table import Field, fields_of, needs_of
from rageval_batch.model.schemas import CHUNK_TEXT, CHUNKS, OUTPUT, QUESTION_ID, SOURCE_PATH
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
        "contexts": _context_fields(profile),
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
    if isinstance(inputs, ByQuestion):
        yield _own(QUESTION_ID, "text or number", "required", what="the question that is answered")
    else:
        for name in inputs.keys:
            yield _own((name,), "text", None, what="as in the record, over which it wins")
    yield _own(("repeat",), "whole number", "0", what="which of several answers of a run to a question")
    needed = None if inputs.output_fields else "required"
    yield _own(OUTPUT, _answer_type(profile), needed, what=_answer_meaning(profile))
    if isinstance(inputs, ByQuestion):
        yield _own(CHUNKS, "list", None, what="what was retrieved for this answer, in place of the contexts")


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


def _context_fields(profile: Profile) -> list[dict[str, Any]]:
    inputs = profile.inputs
    if isinstance(inputs, SelfKeyed):
        key, text = inputs.texts
        return [
            _own((key,), "text", "required", what="what a judgement is about"),
            _own((text,), "text", "required", what="its text, in which quotes are looked for"),
        ]
    return [
        _own(QUESTION_ID, "text or number", "required", what="the question that it was retrieved for"),
        _own(("run_id",), "text", None, what="the run that retrieved it; without it every run"),
        _own(SOURCE_PATH, "text", None, what="where it comes from"),
        _own(CHUNK_TEXT, "text", "required", what="the chunk"),
        _own(("chunk_id",), "text", None, what="its id"),
        _own(
            CHUNKS[:1],
            "list of objects",
            None,
            what="in place of the fields above, all chunks of a question in one row",
        ),
    ]
