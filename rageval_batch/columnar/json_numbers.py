"""Numbers of JSON that remember how they are written: 1.10 and 1.1 are one value and two ids or phrases.

Only a number that Python would write otherwise is of a class of its own; all others are plain `int` and `float`.
"""

from __future__ import annotations

import json
from typing import Any


class WrittenFloat(float):
    """A float with the text that it was read from."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # what pickle makes a new one of
        return (self.text,)


class WrittenInt(int):
    """A whole number with the text that it was read from: -0."""

    text: str

    def __new__(cls, text: str) -> WrittenInt:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.text,)


def written_float(text: str) -> float:
    """What `parse_float` of a JSON decoder gives for a number's text."""
    value = float(text)
    return value if repr(value) == text else WrittenFloat(text)


def written_int(text: str) -> int:
    """The same for `parse_int`."""
    return WrittenInt(text) if text == "-0" else int(text)


def number_text(value: float) -> str:
    """A number as it was written."""
    return value.text if isinstance(value, WrittenFloat | WrittenInt) else json.dumps(value)


def value_text(value: Any) -> str:
    """A text as it is, a number as it was written, anything else as its JSON."""
    if isinstance(value, str):
        return value
    return number_text(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def plain_numbers(value: Any) -> Any:
    """A JSON value with numbers of Python's own classes."""
    if isinstance(value, dict):
        return {name: plain_numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain_numbers(member) for member in value]
    if isinstance(value, WrittenFloat):
        return float(value)
    return int(value) if isinstance(value, WrittenInt) else value


def written_json(value: Any) -> str:
    """The canonical JSON of a value, with numbers as they were written."""
    if isinstance(value, dict):
        members = (f"{json.dumps(name, ensure_ascii=False)}:{written_json(value[name])}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written_json, value)) + "]"
    if isinstance(value, WrittenFloat | WrittenInt):
        return value.text
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
