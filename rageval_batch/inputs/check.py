"""Questions against the JSON Schema and the rules of their profile: every violation, where it is, what is allowed.

`check` lists the violations, `score` refuses questions that have any: both ask here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, NamedTuple

from rageval_batch.columnar.json_numbers import plain_numbers
from rageval_batch.columnar.places import TextPlaces
from rageval_batch.columnar.strings import as_column
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs.questions import QuestionFile, question_id, read_question_file, shortened, shown_json
from rageval_batch.inputs.sources import Source
from rageval_batch.model import Profile, QuestionFormat
from rageval_batch.model.field_names import FieldNames, misspelt_fields
from rageval_batch.model.schemas import QUESTION_ID, value_at

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_LOOKED_AT = 200  # questions that decide what a file is
_CHECKED_AT_ONCE = 1_024  # questions that are decoded at a time
MAX_ID_BYTES = 8 << 10  # of a question or run: every answer has a row with both, and thousands of them are held at once
_LISTED = 5  # violations that an error has in full


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a question file."""

    file: str
    line: int | None
    question: str | None  # its id
    _: KW_ONLY
    path: str
    found: str
    allowed: str


@dataclass(frozen=True)
class Checked:
    """A file, the profile it was held against, how many questions it has, and what is wrong."""

    file: str
    profile: str
    questions: int
    _: KW_ONLY
    violations: tuple[Violation, ...]


# --- schemas --------------------------------------------------------------------------------------------------------


def file_schema(profile: Profile) -> dict[str, Any]:
    """The JSON Schema of a question file of a profile: an object with `questions`, as lists of questions are read."""
    return {"$schema": DRAFT, "title": f"Questions of the profile {profile.name}", **_schema(profile.inputs.questions)}


def question_fields(profile: Profile) -> FieldNames:
    """The names that a question of a profile may have."""
    return FieldNames.of_schema(_schema(profile.inputs.questions)["properties"]["questions"]["items"])


def _schema(format: QuestionFormat) -> dict[str, Any]:
    question = {
        "type": "object",
        "properties": {
            **{name: {"type": ["string", "number"], "minLength": 1, "title": "its id"} for name in QUESTION_ID},
            "weight": {
                "type": "number", "minimum": 0, "maximum": 1.7976931348623157e308, "default": 1,
                "description": "a finite number from 0", "title": "of the question in weighted means",
            },
            "dataset": {"title": "what the question is from; kept with its scores"},
        },
        "anyOf": [{"required": [name]} for name in QUESTION_ID],
        "description": f"an id: {', '.join(QUESTION_ID)}",
        "allOf": [dict(format.schema)],
    }  # fmt: skip
    return {
        "type": "object",
        "required": ["questions"],
        "properties": {"questions": {"type": "array", "minItems": 1, "items": question}},
        "allOf": [dict(format.header)],
    }


_TYPE_NAMES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def _allowed(keyword: str, value: Any, schema: Mapping[str, Any]) -> str:
    """What a rule of a schema allows, in words."""
    if keyword == "type":
        return " or ".join(_TYPE_NAMES[name] for name in ([value] if isinstance(value, str) else value))
    if keyword in ("enum", "const"):
        return ", ".join(json.dumps(one, ensure_ascii=False) for one in (value if keyword == "enum" else [value]))
    if "description" in schema:
        return str(schema["description"])
    words = {
        "minimum": "a number from {}",
        "maximum": "a number up to {}",
        "exclusiveMinimum": "a number above {}",
        "minItems": "at least {} of them",
        "minLength": "a text that is not empty",
        "pattern": "a text like {}",
    }
    return words.get(keyword, f"{keyword} {{}}").format(value)


# --- checking -------------------------------------------------------------------------------------------------------


def check_file(file: Source, profiles: Sequence[Profile]) -> Checked:
    """Every violation of a question file; of several profiles the one that the file's shape shows."""
    read = read_question_file(file)
    profile = profiles[0] if len(profiles) == 1 else profile_of(read, profiles)
    count = len(read.questions) + sum(one.path != "$" for one in read.unreadable)
    format = profile.inputs.questions if profile else None
    return Checked(file.name, profile.name if profile else "", count, violations=violations(read, format))


def checked_questions(
    files: Sequence[Source], profile: Profile, format: QuestionFormat | None = None
) -> list[QuestionFile]:
    """The questions of files that have no violation; InputError with the first violations where they have any.

    `format`: in place of the profile's own.
    """
    read = [read_question_file(file) for file in files]
    found = [(file, one) for file in read for one in violations(file, format or profile.inputs.questions)]
    if found:
        raise InputError(refusal([one for _, one in found], found[0][0].source, profile))
    return read


def refusal(found: list[Violation], first: Source | None, profile: Profile) -> str:
    """What is wrong with questions that cannot be scored: one sentence, or a line for each of the first violations.

    `first`: a question file of which `check` lists more; None where there is none.
    """
    said = [_sentence(one) for one in found[:_LISTED]]
    if len(found) == 1:
        return f"{said[0]}. Nothing was scored."
    lines = [f"{len(found):,} violations in the questions of {profile.name}. Nothing was scored.", *said]
    if len(found) > _LISTED:
        lines.append(f"… and {len(found) - _LISTED:,} more.")
    if first is not None and first.table is None:
        lines.append(f"`rageval check {first.name} -p {profile.name}` lists all of them.")
    return "\n  ".join(lines)


def _sentence(one: Violation) -> str:
    line = "" if one.line is None else f", line {one.line}"
    question = "" if one.question is None else f", question '{shortened(one.question)}'"
    return f"{one.file}{line}{question}: {one.path} is {one.found}; allowed: {one.allowed}"


def profile_of(read: QuestionFile, profiles: Sequence[Profile]) -> Profile | None:
    """The profile whose marks occur most often; None where nothing can be read; InputError if it is not clear."""
    if not read.questions:
        return None
    rows = [{**read.header, **q} for q in read.questions[:_LOOKED_AT]]
    counts = [
        (sum(value_at(row, mark) is not None for row in rows for mark in one.inputs.questions.marks), one)
        for one in profiles
    ]
    best = max(count for count, _ in counts)
    likely = [one for count, one in counts if count == best]
    if best == 0 or len(likely) > 1:
        names = ", ".join(one.name for one in profiles)
        raise InputError(f"{read.source.name}: cannot tell which profile its questions are for. Give -p: {names}.")
    return likely[0]


def violations(read: QuestionFile, format: QuestionFormat | None) -> tuple[Violation, ...]:
    """Every violation of a file that was read, in the order of its questions; without a format what cannot be read."""
    name = read.source.name
    found = [
        Violation(name, bad.line, None, path=bad.path, found=bad.found, allowed=bad.allowed) for bad in read.unreadable
    ]
    if format is not None and (read.questions or not read.unreadable):
        rules = [_schema_rule(format), _own_rule(format), _spelling_rule(format), _unique_rule(read, format)]
        for first in range(0, max(len(read.questions), 1), _CHECKED_AT_ONCE):
            part = Part(read.header, read.questions[first : first + _CHECKED_AT_ONCE], first)
            found += [_violation(read, violation) for rule in rules for violation in rule(part)]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.line or 0))


class Part(NamedTuple):
    """Some questions of a file: what stands around them, they themselves, the index of the first."""

    header: dict[str, Any]
    questions: Sequence[dict[str, Any]]
    first: int


Found = tuple[list[str | int], str, str]  # steps from the whole file, what was found, what is allowed
Rule = Callable[[Part], Iterator[Found]]  # indexes of questions are those of the whole file


def _violation(read: QuestionFile, violation: Found) -> Violation:
    steps, found, allowed = violation
    if len(steps) > 1 and steps[0] == "questions" and isinstance(steps[1], int):
        index = steps[1]
        path = read.path(read.places[index]) + path_of(steps[2:])
        name = question_id(read.questions[index])
        return Violation(read.source.name, read.lines[index], name, path=path, found=found, allowed=allowed)
    return Violation(read.source.name, None, None, path="$" + path_of(steps), found=found, allowed=allowed)


def path_of(steps: Iterable[str | int]) -> str:
    """Steps into a JSON value as the end of a JSON path."""

    def one(step: str | int) -> str:
        if isinstance(step, int):
            return f"[{step}]"
        return f".{step}" if step.replace("_", "a").isalnum() else f"[{json.dumps(step, ensure_ascii=False)}]"

    return "".join(map(one, steps))


def _schema_rule(format: QuestionFormat) -> Rule:
    violations_of = schema_rule(_schema(format))

    def rule(part: Part) -> Iterator[Found]:
        for steps, found, allowed in violations_of({**part.header, "questions": part.questions}):
            if len(steps) > 1 and isinstance(steps[1], int):
                steps[1] += part.first
            yield steps, found, allowed

    return rule


def schema_rule(schema: dict[str, Any]) -> Callable[[Any], Iterator[Found]]:
    """What breaks a JSON Schema, in words, as a function of the value."""
    from jsonschema_rs import Draft202012Validator, ValidationErrorKind

    validator = Draft202012Validator(schema, validate_formats=True)

    def errors(value: Any) -> Iterator[Any]:
        try:
            return validator.iter_errors(value)
        except ValueError:  # it takes no classes of numbers but Python's own; few files have others
            return validator.iter_errors(plain_numbers(value))

    def violations_of(value: Any) -> Iterator[Found]:
        for error in errors(value):
            steps, rules, keyword = error.instance_path, _at(schema, error.schema_path[:-1]), str(error.schema_path[-1])
            if isinstance(error.kind, ValidationErrorKind.Required):
                missing = error.kind.property
                yield [*steps, missing], "nothing", _allowed_member(rules, missing)
            else:
                yield list(steps), _found_value(keyword, _at(value, steps)), _allowed(keyword, rules[keyword], rules)

    return violations_of


def _at(value: Any, steps: Iterable[str | int]) -> Any:
    """The part of a JSON value that some steps lead to."""
    for step in steps:
        value = value[step]
    return value


def _found_value(keyword: str, value: Any) -> str:
    """A value that breaks a rule; where a rule about its members is broken, their names."""
    if keyword in ("anyOf", "oneOf", "not") and isinstance(value, dict) and value:
        return f"only {', '.join(value)}"
    return shown_json(value)


def _allowed_member(schema: Mapping[str, Any], name: str) -> str:
    """What a required member would have to be."""
    rules = schema.get("properties", {}).get(name, {})
    keyword = next((key for key in ("enum", "description", "type") if key in rules), None)
    if keyword is None:
        return "it is required"
    return _allowed(keyword, rules[keyword], rules)


def _own_rule(format: QuestionFormat) -> Rule:
    """What breaks the rules of the profile that no schema can say."""

    def rule(part: Part) -> Iterator[Found]:
        for index, question in enumerate(part.questions if format.problems else (), part.first):
            for steps, allowed in format.problems(question) if format.problems else ():
                yield ["questions", index, *steps], shown_json(_at(question, steps)), allowed

    return rule


def _spelling_rule(format: QuestionFormat) -> Rule:
    """Names that nobody reads, one slip away from a name that is read and not there."""
    names = FieldNames.of_schema(_schema(format)["properties"]["questions"]["items"])
    header = FieldNames.of_schema(format.header)

    def rule(part: Part) -> Iterator[Found]:
        for index, question in enumerate(part.questions, part.first):
            for steps, meant in misspelt_fields(names, question):
                yield ["questions", index, *steps], f"the field {steps[-1]}", f"did you mean {meant}?"
        for steps, meant in misspelt_fields(header, {**part.header, "questions": []}):
            yield list(steps), f"the field {steps[-1]}", f"did you mean {meant}?"

    return rule


def _unique_rule(read: QuestionFile, format: QuestionFormat) -> Rule:
    """Ids, or keys of several fields, that are there twice; ids that are too long to stand in every score row."""
    places = TextPlaces(as_column(()))

    def rule(part: Part) -> Iterator[Found]:
        found = [_question_key(question, format.key) for question in part.questions]
        first_places = places.add(as_column([key if isinstance(key, str) else json.dumps(key) for _, key in found]))
        for index, ((steps, key), place) in enumerate(zip(found, first_places.tolist(), strict=True), part.first):
            if key is None:
                continue
            if isinstance(key, str) and len(key) * 4 > MAX_ID_BYTES and (size := len(key.encode())) > MAX_ID_BYTES:
                yield ["questions", index, *steps], f"an id of {size:,} bytes", f"at most {MAX_ID_BYTES:,} bytes"
            if place < index:
                first = read.path(read.places[place])
                yield ["questions", index, *steps], f"{shown_json(key)}, as in {first}", "an id of its own"

    return rule


def _question_key(question: dict[str, Any], fields: tuple[str, ...]) -> tuple[list[str], Any]:
    """(where the key stands if in one field, the key); None where there is none that can be compared."""
    if fields:
        values = tuple(question.get(name) for name in fields)
        return [], values if all(isinstance(value, str) for value in values) else None
    key = question_id(question)
    return [] if key is None else [next(name for name in QUESTION_ID if name in question)], key
