"""The fields of questions and outputs that expressions use: their JSON Schema, and their values as columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_tape
from rageval_batch.columnar.json_numbers import value_text
from rageval_batch.columnar.kernels.json import ARRAY, OBJECT, STRING
from rageval_batch.columnar.strings import LARGE_STRING, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.model import QuestionFormat
from rageval_batch.model.field_names import schema_of_first
from rageval_batch.model.schemas import EXPECTED, QUESTION, QUESTION_ID, first_of

LIST_OF_TEXTS = pa.list_(LARGE_STRING)
TYPES: dict[str, pa.DataType] = {
    "text": LARGE_STRING,
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "list": LIST_OF_TEXTS,
    "text|list": LIST_OF_TEXTS,
    "graded": pa.list_(pa.struct([("id", LARGE_STRING), ("grade", pa.float64())])),
    "json": LARGE_STRING,
}
_ITEM: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_FILLED = r"\S"  # an answer of nothing would have the full mark against a blank text
_SCHEMAS: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "list": {"type": "array", "items": _ITEM},
    "text|list": {
        "type": ["string", "array"],
        "items": _ITEM,
        "pattern": _FILLED,
        "contains": {"pattern": _FILLED},
        "description": "a text or a list of texts, not blank",
    },
    "graded": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": ["string", "number"]}, "grade": {"type": "number"}},
        },
    },
    "json": {},
}
_RELEVANT = {"properties": {"grade": {"exclusiveMinimum": 0}}}  # an id without a grade has grade 1
_A_GRADE = (
    "something to find: an id with a grade above 0 (`rageval subset FILE --tested -o NEW` leaves out questions "
    "without one)"
)
_LONGEST_GROUP = 100  # code points; a longer text is no name of a group
_NO_GROUP = frozenset((*QUESTION_ID, *QUESTION, *EXPECTED, "weight", "fail_reason"))


@dataclass(frozen=True)
class Field:
    """A field of a question or an output row."""

    name: str
    type: str  # one of TYPES
    optional: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it may have in a file, its own first."""
        same = next((names for names in (EXPECTED, QUESTION) if self.name in names), (self.name,))
        return (self.name, *(name for name in same if name != self.name))


def question_format(
    fields: Sequence[Field], any_of: Sequence[str] = (), base: QuestionFormat | None = None
) -> QuestionFormat:
    """What a question with these fields looks like, beside what it is for a profile that is extended.

    `any_of`: fields of which it needs at least one; a list among them must not be empty.
    """
    single = [field for field in fields if len(field.names) == 1]
    several = [field for field in fields if len(field.names) > 1]
    schema: dict[str, Any] = {
        "type": "object",
        "required": [field.name for field in single if not field.optional],
        "properties": {field.name: _SCHEMAS[field.type] for field in single},
    }
    parts = [
        schema_of_first(field.names, _SCHEMAS[field.type], f"the field {' or '.join(field.names)}")
        for field in several
        if not field.optional
    ]
    for field in several:
        if field.optional:
            schema["properties"] |= dict.fromkeys(field.names, _SCHEMAS[field.type])
    for field in single:
        if field.name in any_of and field.type == "graded":
            schema["properties"][field.name] = {**_SCHEMAS["graded"], "contains": _RELEVANT, "description": _A_GRADE}
    if any_of:
        filled = [{"required": [name], "properties": {name: {"minItems": 1}}} for name in any_of]
        parts.append({"anyOf": filled, "description": f"something to test, not empty: {' or '.join(any_of)}"})
    if base is not None:
        return QuestionFormat(
            schema={"allOf": [dict(base.schema), schema, *parts]}, header=base.header, problems=base.problems,
            key=base.key, strata=base.strata,
        )  # fmt: skip
    marks = tuple(dict.fromkeys((*(field.name for field in fields if not field.optional), *any_of)))
    return QuestionFormat(schema={**schema, "allOf": parts} if parts else schema, marks=marks)


def field_column(field: Field, questions: Sequence[dict[str, Any]]) -> pa.Array:
    """The values of a field, one a question; null where a question has none."""
    return pa.array(
        [_typed_value(field.type, first_of(question, field.names)) for question in questions], TYPES[field.type]
    )


def _typed_value(type_: str, value: Any) -> Any:
    if value is None or type_ in ("text", "number", "boolean"):
        return value
    if type_ == "json":
        return json.dumps(value, ensure_ascii=False)
    if type_ == "graded":
        return [{"id": value_text(item["id"]), "grade": float(item.get("grade", 1))} for item in value]
    return [None if item is None else value_text(item) for item in (value if isinstance(value, list) else [value])]


def group_column(field: Field, questions: Sequence[dict[str, Any]]) -> pa.Array:
    """The names of the groups that questions are in by a field: texts, or lists of them."""
    values = [first_of(question, field.names) for question in questions]
    if field.type == "list":
        return pa.array([_typed_value("list", value) for value in values], LIST_OF_TEXTS)
    return pa.array([None if value is None else value_text(value) for value in values], LARGE_STRING)


def all_groups(questions: Sequence[dict[str, Any]], used: Sequence[str]) -> pa.Array:
    """Every text, number and boolean of each question by its name, but for what it asks and what expressions use."""
    apart = _NO_GROUP.union(used)
    rows = [
        [
            (name, text)
            for name, value in sorted(question.items())
            if name not in apart
            and isinstance(value, str | int | float)
            and len(text := value_text(value)) <= _LONGEST_GROUP
        ]
        for question in questions
    ]
    return pa.array(rows, GROUPS)


GROUPS = pa.map_(LARGE_STRING, LARGE_STRING)


def chunk_texts(chunks: pa.Array) -> pa.Array:
    """The texts of JSON lists of chunks, `{text, …}` or plain texts; null where there is none."""
    tape = json_tape.parse_strings(from_arrow(chunks))
    nodes, owners = tape.elements(tape.root.copy())
    parts = tape.members(nodes, ["text"])[:, 0] if len(nodes) else np.zeros(0, np.int32)
    nodes = np.where(tape.kind[nodes] == OBJECT, parts, nodes).astype(np.int32)
    texts = tape.kinds(nodes) == STRING
    nodes, owners = np.ascontiguousarray(nodes[texts]), owners[texts]
    return _lists(tape.texts(nodes).to_arrow(), owners, len(chunks))


def output_lists(output: pa.Array, name: str) -> pa.Array:
    """The items of a list in JSON objects as texts; null where an object has no such list."""
    tape = json_tape.parse_strings(from_arrow(output))
    node = np.ascontiguousarray(tape.members(tape.root.copy(), [name])[:, 0])
    there = tape.kinds(node) == ARRAY
    nodes, owners = tape.elements(node)
    return _lists(tape.texts(nodes).to_arrow(), owners, len(output), there=there)


def _lists(texts: pa.Array, owners: Any, count: int, *, there: Any = None) -> pa.Array:
    """Texts as lists by their owners, in order; null where an owner has none, or is not there."""
    sizes = np.bincount(owners, minlength=count)
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(bounds), texts)
    return pc.if_else(pa.array(sizes > 0 if there is None else there), lists, pa.scalar(None, lists.type))


def by_question(columns: Mapping[str, pa.Array], question: pa.Array) -> dict[str, pa.Array]:
    """Columns of questions as columns of rows."""
    return {name: column.take(question) for name, column in columns.items()}


def shared(column: pa.Array, which: pa.Array) -> pa.DictionaryArray:
    """Values of a column as rows have them, `column.take(which)`: what several rows have is held once."""
    used, codes = np.unique(which.to_numpy(), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), column.take(pa.array(used)))
