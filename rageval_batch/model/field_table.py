"""The fields of a JSON Schema as rows for people: name, type, default, meaning.

`title` of a property is its meaning, `default` its default; `description` says what is allowed, as errors quote it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, replace
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.model.field_names import SAME_FIELD

_TYPE_NAMES = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "true or false",
    "array": "list",
    "object": "object",
    "null": "null",
}
OTHER_PLACE = "x-other-place"  # annotation of a schema whose fields are those of another one, where they may stand too
_CONDITIONS = {"const", "minItems", "contains"}
_PARTS = ("allOf", "anyOf", "oneOf", "then", "else", "if")


@dataclass(frozen=True)
class Field:
    """A field: its path (`claims[].text`), type, whether it must be there, its default as JSON, its meaning."""

    path: str
    type: str
    required: bool
    _: KW_ONLY
    default: str | None
    meaning: str
    names: tuple[str, ...] = ()  # other names that it may have


def fields_of(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """Every field of a schema, those of its alternatives and conditions too, each once; names of one field together."""
    found: dict[str, Field] = {}
    for one in _walk(schema, ""):
        known = found.get(one.path)
        if known is None:
            found[one.path] = one
        else:
            said = one if known.type == "" else known
            found[one.path] = replace(said, required=one.required or known.required)
    return tuple(_merge_names(found.values()))


def _walk(schema: Mapping[str, Any], path: str, always: bool = True) -> Iterator[Field]:
    """The fields of an object, and of those below it; `always`: not under a condition or among alternatives."""
    if schema.get(OTHER_PLACE):
        return
    one_of = _one_of_names(schema)
    required = {*(schema.get("required", ()) if always else ()), *one_of}
    yield from (Field(_inner(path, name), "", True, default=None, meaning="") for name in one_of)
    for name, rules in schema.get("properties", {}).items():
        if set(rules) <= _CONDITIONS:  # on a field that is declared elsewhere
            continue
        default = json.dumps(rules["default"], ensure_ascii=False) if "default" in rules else None
        yield Field(
            _inner(path, name), _type(rules), name in required, default=default, meaning=str(rules.get("title", ""))
        )
        yield from _walk(rules, _inner(path, name))
    if isinstance(schema.get("items"), dict):
        yield from _walk(schema["items"], f"{path}[]")
    for keyword in _PARTS:
        part = schema.get(keyword, ())
        for alternative in part if isinstance(part, list) else [part] if part else []:
            yield from _walk(alternative, path, always and keyword == "allOf")


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _one_of_names(schema: Mapping[str, Any]) -> list[str]:
    """The names of which one must be there where they are names of one field."""
    names = [name for part in schema.get("anyOf", ()) for name in part.get("required", ())]
    return names if any(set(names) <= set(same) for same in SAME_FIELD) else []


def needs_of(schema: Mapping[str, Any]) -> list[str]:
    """What an object must have beside its required fields: one or more of several, in words."""
    own = [str(schema["description"])] if "anyOf" in schema and not _one_of_names(schema) else []
    return [*own, *(need for part in schema.get("allOf", ()) for need in needs_of(part))]


def _type(rules: Mapping[str, Any]) -> str:
    if "enum" in rules:
        return " | ".join(str(value) for value in rules["enum"])
    given = rules.get("type", ())
    names = [given] if isinstance(given, str) else list(given)
    return " or ".join(_type_name(name, rules) for name in names) or "any"


def _type_name(name: str, rules: Mapping[str, Any]) -> str:
    items = rules.get("items")
    if name == "array" and isinstance(items, dict) and "type" in items:
        return f"list of ({_type(items)})" if isinstance(items["type"], list) else f"list of {_type(items)}s"
    return _TYPE_NAMES[name]


def _merge_names(fields: Any) -> Iterator[Field]:
    """Fields with those that are other names of one taken together; below it, only those of the first."""
    fields = list(fields)
    top_level = [field.path for field in fields if "." not in field.path and "[" not in field.path]
    others: dict[str, str] = {}  # another name -> the first
    for same in SAME_FIELD:
        there = [name for name in top_level if name in same]
        others.update(dict.fromkeys(there[1:], there[0] if there else ""))
    for field in fields:
        top = field.path.partition(".")[0].partition("[")[0]
        if top in others:
            continue
        names = tuple(name for name, first in others.items() if first == field.path)
        required = field.required or any(one.required for one in fields if one.path in names)
        yield replace(field, names=names, required=required)
