"""Question files against the JSON Schemas of the profiles: every violation, where it is, what is allowed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from rageval_batch import jsontape, readers
from rageval_batch.errors import InputError
from rageval_batch.kernels.json import OK
from rageval_batch.profile import Profile
from rageval_batch.sources import Source
from rageval_batch.tables import QUESTION_ID

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SHOWN = 80  # characters of a value that was found
_LOOKED_AT = 200  # questions that decide what a file is


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a question file."""

    file: str
    line: int | None
    path: str
    found: str
    allowed: str


@dataclass(frozen=True)
class Checked:
    """A file, the profile it was held against, how many questions it has, and what is wrong."""

    file: str
    profile: str
    questions: int
    violations: tuple[Violation, ...]


@dataclass(frozen=True)
class _Document:
    """A question file: its header, the questions that can be read, and where each stands."""

    file: Source
    header: dict[str, Any]
    questions: list[Any]
    lines: list[int]
    places: list[int]  # the index of each in the file
    whole: bool  # the questions stand under `questions` of an object
    violations: list[Violation]  # of what cannot be read

    @property
    def count(self) -> int:
        """How many questions there are, those that cannot be read too."""
        return len(self.questions) + sum(one.path != "$" for one in self.violations)

    def path(self, steps: Sequence[str | int]) -> tuple[str, int | None]:
        """(JSON path, line) of a place in the document as it is validated."""
        if len(steps) > 1 and steps[0] == "questions" and isinstance(steps[1], int):
            index, rest = steps[1], steps[2:]
            start = f"$.questions[{self.places[index]}]" if self.whole else f"$[{self.places[index]}]"
            return start + _steps(rest), self.lines[index]
        return "$" + _steps(steps), None


def _steps(steps: Iterable[str | int]) -> str:
    def one(step: str | int) -> str:
        if isinstance(step, int):
            return f"[{step}]"
        return f".{step}" if step.replace("_", "a").isalnum() else f"[{json.dumps(step, ensure_ascii=False)}]"

    return "".join(map(one, steps))


# --- schemas --------------------------------------------------------------------------------------------------------


def file_schema(profile: Profile) -> dict[str, Any]:
    """The JSON Schema of a question file of a profile: an object with `questions`, as lists of questions are read."""
    question = {
        "type": "object",
        "properties": {
            **{name: {"type": ["string", "number"], "minLength": 1} for name in QUESTION_ID},
            "weight": {
                "type": "number", "minimum": 0, "maximum": 1.7976931348623157e308,
                "description": "a finite number from 0",
            },
        },
        "anyOf": [{"required": [name]} for name in QUESTION_ID],
        "description": f"an id: {', '.join(QUESTION_ID)}",
        "allOf": [dict(profile.question_schema)],
    }  # fmt: skip
    return {
        "$schema": DRAFT,
        "title": f"Questions of the profile {profile.name}",
        "type": "object",
        "required": ["questions"],
        "properties": {"questions": {"type": "array", "minItems": 1, "items": question}},
        "allOf": [dict(profile.header_schema)],
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
        return ", ".join(_json(one) for one in (value if keyword == "enum" else [value]))
    if "description" in schema:
        return str(schema["description"])
    words = {
        "minimum": "a number from {}",
        "maximum": "a number up to {}",
        "exclusiveMinimum": "a number above {}",
        "minItems": "at least {} of them",
        "minLength": "a text of at least {} characters",
        "pattern": "a text like {}",
    }
    return words.get(keyword, f"{keyword} {{}}").format(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _found(value: Any) -> str:
    text = _json(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


# --- reading --------------------------------------------------------------------------------------------------------


def _read(file: Source) -> _Document:
    """A file as far as it can be read; what cannot is a violation."""
    document = _Document(file, {}, [], [], [], False, [])
    if file.format == "json":
        header, whole = _header(file, document.violations)
        document = _Document(file, header, [], [], [], whole, document.violations)
    if document.violations:
        return document
    place = 0
    for block in readers.read_blocks(file):
        bad = {trouble.row: trouble for trouble in block.troubles}
        for row, line in enumerate(block.lines.tolist()):
            value, problem = (None, bad[row].detail) if row in bad else _value(file, block.raw(row))
            if problem is None:
                document.questions.append(value)
                document.lines.append(line)
                document.places.append(place)
            else:
                path = f"$.questions[{place}]" if document.whole else f"$[{place}]"
                found = f"{problem}: {block.raw(row)[:_SHOWN]}"
                document.violations.append(Violation(file.name, line, path, found, "a JSON object"))
            place += 1
    return document


def _value(file: Source, raw: str) -> tuple[Any, str | None]:
    """(question, None), or (None, what is wrong with it)."""
    try:
        value = _without_nulls(json.loads(raw))
    except (ValueError, RecursionError) as error:
        return None, str(error)
    return value if file.format in ("json", "jsonl") else {k: _cell(part) for k, part in value.items()}, None


def _cell(value: Any) -> Any:
    """A cell of a columnar file, which may hold an object or list as its JSON text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return _without_nulls(json.loads(value))
    return value


def _without_nulls(value: Any) -> Any:
    """Null members are absent: so the scorers read them, and so columnar files write what a row does not have."""
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def _header(file: Source, violations: list[Violation]) -> tuple[dict[str, Any], bool]:
    """(what stands around the questions, whether there is an object around them) of a JSON file."""
    with file.open() as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    data = np.frombuffer(content, np.uint8)
    bounds = np.array([0, len(content)], np.int64)
    tape = jsontape.parse(data, bounds[:1], bounds[1:])
    if tape.status[0] != OK:
        line = 1 + content[: max(0, int(tape.error_at[0]))].count(b"\n")
        violations.append(Violation(file.name, line, "$", tape.problem(0), "one JSON value"))
        return {}, False
    try:
        return _without_nulls(readers.json_array(file)[2]), content.lstrip()[:1] == b"{"
    except InputError:
        allowed = "a list of questions, or an object with a list `questions`"
        violations.append(Violation(file.name, 1, "$", _found(json.loads(content)), allowed))
        return {}, False


# --- checking -------------------------------------------------------------------------------------------------------


def check_file(file: Source, profiles: Sequence[Profile]) -> Checked:
    """Every violation of a question file; of several profiles the one that the file's shape shows."""
    document = _read(file)
    profile = profiles[0] if len(profiles) == 1 else _profile_of(document, profiles)
    found = dict.fromkeys([*document.violations, *_violations(document, profile), *_doubles(document, profile)])
    ordered = sorted(found, key=lambda one: one.line or 0)
    return Checked(file.name, profile.name if profile else "", document.count, tuple(ordered))


def _profile_of(document: _Document, profiles: Sequence[Profile]) -> Profile | None:
    """The profile whose marks occur most often; None where nothing can be read; InputError if it is not clear."""
    if not document.questions:
        return None
    rows = [{**document.header, **q} for q in document.questions[:_LOOKED_AT] if isinstance(q, dict)]
    counts = [(sum(_has(row, mark) for row in rows for mark in one.question_marks), one) for one in profiles]
    best = max(count for count, _ in counts)
    likely = [one for count, one in counts if count == best]
    if best == 0 or len(likely) > 1:
        names = ", ".join(one.name for one in profiles)
        raise InputError(f"{document.file.name}: cannot tell which profile its questions are for. Give -p: {names}.")
    return likely[0]


def _has(row: Any, mark: str) -> bool:
    for name in mark.split("."):
        if not isinstance(row, dict) or name not in row:
            return False
        row = row[name]
    return True


def _violations(document: _Document, profile: Profile | None) -> Iterator[Violation]:
    if profile is None or (document.violations and not document.questions):
        return
    from jsonschema import Draft202012Validator

    whole = {**document.header, "questions": document.questions}
    for error in Draft202012Validator(file_schema(profile)).iter_errors(whole):
        steps = list(error.absolute_path)
        if error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    path, line = document.path([*steps, name])
                    yield Violation(document.file.name, line, path, "nothing", _wanted(error.schema, name))
            continue
        path, line = document.path(steps)
        allowed = _allowed(error.validator, error.validator_value, error.schema)
        yield Violation(document.file.name, line, path, _found(error.instance), allowed)


def _wanted(schema: Mapping[str, Any], name: str) -> str:
    """What a required member would have to be."""
    rules = schema.get("properties", {}).get(name, {})
    keyword = next((key for key in ("enum", "description", "type") if key in rules), None)
    if keyword is None:
        return "it is required"
    return _allowed(keyword, rules[keyword], rules)


def _doubles(document: _Document, profile: Profile | None) -> Iterator[Violation]:
    """Ids, or keys of several fields, that are there twice: no schema can say that."""
    seen: dict[str, int] = {}
    for index, question in enumerate(document.questions):
        name, found = _key(question, profile.question_key if profile else ())
        if found is None:
            continue
        if found in seen:
            path, line = document.path(["questions", index, *name])
            first = document.path(["questions", seen[found]])[0]
            yield Violation(document.file.name, line, path, f"{found[:_SHOWN]}, as in {first}", "an id of its own")
        seen.setdefault(found, index)


def _key(question: Any, fields: tuple[str, ...]) -> tuple[list[str], str | None]:
    """(where the key stands if in one field, the key as JSON text); None where there is none that can be compared."""
    if not isinstance(question, dict):
        return [], None
    if fields:
        return [], _json([question.get(name) for name in fields])
    name = next((name for name in QUESTION_ID if name in question), None)
    if name is None or isinstance(question[name], bool | dict | list):
        return [], None
    return [name], _json(question[name])
