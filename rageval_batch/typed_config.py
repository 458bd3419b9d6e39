"""Files of settings decoded into declared types: what is wrong in them, with its JSON path."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from rageval_batch.config import read_config
from rageval_batch.errors import InputError, did_you_mean

T = TypeVar("T")

_WITH_PATH = re.compile(r"(?s)(.*?)(?: - at `(\$[^`]*)`)?")
_STEP = re.compile(r"\.([^.\[]+)|\[(?:\d+|\.\.\.)\]")
_TYPE_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "null",
}


class DecodeError(ValueError):
    """A value that is not of its declared type: the JSON path of the part that is wrong, and what is expected there."""


def read_typed_config(path: str, type_: type[T]) -> T:
    """A TOML or JSON file decoded into a msgspec structure; InputError with the file and the JSON path."""
    try:
        return decode(read_config(path), type_)
    except DecodeError as error:
        raise InputError(f"{path}, {error}") from error


def decode(value: Any, type_: type[T]) -> T:
    """A parsed value as a msgspec structure; DecodeError where it does not fit. A number is never read from a text."""
    try:
        return msgspec.convert(value, type_)
    except UnicodeEncodeError as error:  # msgspec cannot name such a part
        raise DecodeError("$: Expected texts of whole characters, got one with a lone surrogate.") from error
    except msgspec.ValidationError as error:
        entry = _wrong_entry(value, str(error), type_)
        raise DecodeError(_sentence(str(error), inspect.type_info(type_), entry)) from error


def _wrong_entry(value: Any, message: str, type_: type[Any]) -> str:
    """The first entry that does not fit in a table of any names: msgspec says [...] in place of its name."""
    if (named := re.search(r"`\$\.([^.\[`]+)\[\.\.\.\]", message)) is None or not isinstance(value[named[1]], dict):
        return "[...]"
    for name, entry in value[named[1]].items():
        try:
            msgspec.convert({**value, named[1]: {name: entry}}, type_)
        except msgspec.ValidationError as error:
            if named[0] in str(error):
                return f".{name}"
    return "[...]"


def _sentence(message: str, type_: inspect.Type, entry: str) -> str:
    """What msgspec says, in words of configuration files and with the names that are allowed; `entry` is its [...]."""
    matched = _WITH_PATH.fullmatch(message)
    assert matched is not None
    problem, path = matched[1], matched[2] or "$"
    options = _types_at(path, type_)
    path = path.replace("[...]", entry, 1)
    if unknown := re.fullmatch(r"(?s)Object contains unknown field `(.*)`", problem):
        tables = (option for option in options if isinstance(option, inspect.StructType))
        known = [field.encode_name for table in tables for field in table.fields]
        return f"{path}: {did_you_mean('key', unknown[1], known)}"
    if choice := re.fullmatch(r"(?s)Invalid enum value (.*)", problem):
        literals = (option for option in options if isinstance(option, inspect.LiteralType))
        allowed = ", ".join(str(value) for literal in literals for value in literal.values)
        return f"{path}: {choice[1]} is not known. Allowed: {allowed}."
    if missing := re.fullmatch(r"Object missing required field `(.*)`", problem):
        return f"{path}: {missing[1]} is missing."
    if expected := re.fullmatch(r"Expected `(array|str)` of length >= 1", problem):
        return f"{path}: must not be {'an empty list' if expected[1] == 'array' else 'empty'}."
    return f"{path}: {re.sub(r'`([^`]*)`', lambda found: _type_words(found[1]), problem)}."


def _type_words(names: str) -> str:
    """`str | array` as "a text or a list"; anything else as it stands."""
    return " or ".join(_TYPE_WORDS.get(name, name) for name in names.split(" | "))


def _types_at(path: str, type_: inspect.Type) -> list[inspect.Type]:
    """The types that the value at a JSON path may have."""
    options = _alternatives(type_)
    for step in _STEP.finditer(path):
        below: list[inspect.Type] = []
        for option in options:
            if step[1] and isinstance(option, inspect.StructType):
                below += [field.type for field in option.fields if field.encode_name == step[1]]
            elif not step[1] and isinstance(option, inspect.ListType):
                below.append(option.item_type)
            elif not step[1] and isinstance(option, inspect.DictType):
                below.append(option.value_type)
        options = [option for found in below for option in _alternatives(found)]
    return options


def _alternatives(type_: inspect.Type) -> list[inspect.Type]:
    return list(type_.types) if isinstance(type_, inspect.UnionType) else [type_]
