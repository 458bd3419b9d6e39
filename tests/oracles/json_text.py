"""Strict JSON without recursion, and the reasons why a model's raw text is not it."""

import decimal
import json
import math
import re
from dataclasses import dataclass
from typing import Any

from oracles.text import strip

SPACE = re.compile(r"[ \t\n\r]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
PLAIN = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
HEX4 = re.compile(r"[0-9A-Fa-f]{4}")
WORDS = {"true": True, "false": False, "null": None}
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

LANGUAGE_WORD = re.compile(r"[A-Za-z0-9_+.#-]*")


@dataclass(frozen=True)
class HugeNumber:
    """A number that Python's int or float cannot take from text: kept as it was written."""

    raw: str


def decode(text: str) -> Any:
    """The value of a strict JSON text, the last of duplicate keys; ValueError where it is not one."""
    open_containers: list[tuple[dict[str, Any] | list[Any], str]] = []
    pos = _skip(text, 0)
    while True:
        value: Any
        c = text[pos : pos + 1]
        if c == "{":
            value = {}
            pos = _skip(text, pos + 1)
            if text[pos : pos + 1] != "}":
                key, pos = _read_key(text, pos)
                open_containers.append((value, key))
                continue
            pos += 1
        elif c == "[":
            value = []
            pos = _skip(text, pos + 1)
            if text[pos : pos + 1] != "]":
                open_containers.append((value, ""))
                continue
            pos += 1
        else:
            value, pos = _read_scalar(text, pos)
        # A value is complete: put it into its container, which may complete that one, and so on.
        while True:
            pos = _skip(text, pos)
            if not open_containers:
                if pos != len(text):
                    raise ValueError(f"text after the value at {pos}")
                return value
            container, key = open_containers[-1]
            if isinstance(container, dict):
                container[key] = value
            else:
                container.append(value)
            c = text[pos : pos + 1]
            if c == ("}" if isinstance(container, dict) else "]"):
                pos += 1
                open_containers.pop()
                value = container
                continue
            if c != ",":
                raise ValueError(f"comma or closing bracket expected at {pos}")
            pos = _skip(text, pos + 1)
            if isinstance(container, dict):
                key, pos = _read_key(text, pos)
                open_containers[-1] = (container, key)
            break


def _skip(text: str, pos: int) -> int:
    """The position after JSON's own white space."""
    match = SPACE.match(text, pos)
    assert match is not None
    return match.end()


def _read_key(text: str, pos: int) -> tuple[str, int]:
    """A key with its colon, and the position of its value."""
    key, pos = _read_string(text, pos)
    pos = _skip(text, pos)
    if text[pos : pos + 1] != ":":
        raise ValueError(f"colon expected at {pos}")
    return key, _skip(text, pos + 1)


def _read_scalar(text: str, pos: int) -> tuple[Any, int]:
    """A string, number, true, false or null, and the position after it."""
    if text[pos : pos + 1] == '"':
        return _read_string(text, pos)
    for word, value in WORDS.items():
        if text.startswith(word, pos):
            return value, pos + len(word)
    match = NUMBER.match(text, pos)
    if match is None:
        raise ValueError(f"value expected at {pos}")
    return _number(match[0], whole=match[1] is None and match[2] is None), match.end()


def _number(raw: str, whole: bool) -> int | float | HugeNumber:
    """The number of a JSON token, as Python reads it where it can."""
    if whole:
        try:
            return int(raw)
        except ValueError:  # more digits than Python converts
            return HugeNumber(raw)
    number = float(raw)
    return number if math.isfinite(number) else HugeNumber(raw)


def _read_string(text: str, pos: int) -> tuple[str, int]:
    """A string token without escapes and quotes, and the position after it."""
    if text[pos : pos + 1] != '"':
        raise ValueError(f"string expected at {pos}")
    pos += 1
    parts = []
    while True:
        match = PLAIN.match(text, pos)
        assert match is not None
        parts.append(match[0])
        pos = match.end()
        c = text[pos : pos + 1]
        if c == '"':
            return "".join(parts), pos + 1
        if c != "\\":
            raise ValueError(f"unended string, control character or surrogate at {pos}")
        letter = text[pos + 1 : pos + 2]
        if letter == "u":
            part, pos = _read_unicode_escape(text, pos)
        elif letter in ESCAPES:
            part, pos = ESCAPES[letter], pos + 2
        else:
            raise ValueError(f"unknown escape at {pos}")
        parts.append(part)


def _read_unicode_escape(text: str, pos: int) -> tuple[str, int]:
    r"""The character of \uXXXX, or of two of them that are a surrogate pair."""
    first = _hex4(text, pos)
    pos += 6
    if not 0xD800 <= first <= 0xDFFF:
        return chr(first), pos
    if first <= 0xDBFF and text.startswith("\\u", pos):
        second = _hex4(text, pos)
        if 0xDC00 <= second <= 0xDFFF:
            return chr(0x10000 + (first - 0xD800) * 0x400 + (second - 0xDC00)), pos + 6
    raise ValueError(f"lone surrogate before {pos}")


def _hex4(text: str, pos: int) -> int:
    r"""The four hexadecimal digits of the \uXXXX at pos."""
    match = HEX4.match(text, pos + 2)
    if match is None:
        raise ValueError(f"four hexadecimal digits expected at {pos}")
    return int(match[0], 16)


def json_text(value: Any) -> str:
    """What json.dumps(value, ensure_ascii=False) writes, at any depth; huge numbers as they were written."""
    parts: list[str] = []
    # What is still to be written, last first: text, or a value in a one-element list.
    todo: list[str | list[Any]] = [[value]]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        (v,) = item
        if isinstance(v, dict):
            todo.append("}")
            members = list(v.items())
            for i in range(len(members) - 1, -1, -1):
                k, member = members[i]
                todo.append([member])
                todo.append((", " if i else "") + json.dumps(str(k), ensure_ascii=False) + ": ")
            todo.append("{")
        elif isinstance(v, list | tuple):
            todo.append("]")
            for i in range(len(v) - 1, -1, -1):
                todo.append([v[i]])
                if i:
                    todo.append(", ")
            todo.append("[")
        else:
            parts.append(_scalar_text(v))
    return "".join(parts)


def _scalar_text(value: Any) -> str:
    """The JSON text of a value that holds no others."""
    if isinstance(value, HugeNumber):
        return value.raw
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError:  # more digits than Python converts
            return format(decimal.Decimal(value), "f")
    if value is None or isinstance(value, bool | float | str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(str(value), ensure_ascii=False)


def try_decode(text: str) -> tuple[bool, Any]:
    """Whether the text is JSON, and its value."""
    try:
        return True, decode(text)
    except ValueError:
        return False, None


def unfenced(text: str) -> tuple[bool, Any]:
    """Whether the text is JSON between two fences of three or more backticks, and its value."""
    if not text.startswith("```") or not text.endswith("```"):
        return False, None
    inner = text.strip("`").lstrip(" \t")
    word = LANGUAGE_WORD.match(inner)
    assert word is not None
    is_json, value = try_decode(strip(inner[word.end() :]))
    if is_json:
        return True, value
    return try_decode(strip(inner))


def balanced_end(text: str, begin: int) -> int | None:
    """The position after the bracket that balances the one at begin, strings skipped; None where none does."""
    depth = 0
    in_string = False
    escaped = False
    for pos in range(begin, len(text)):
        c = text[pos]
        if in_string:
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                in_string = False
        elif c == '"':
            in_string = True
        elif c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
            if depth == 0:
                return pos + 1
    return None


def classify(text: str | None) -> tuple[str | None, Any]:
    """The first parse reason that holds (None: a JSON object), and the value where one was found."""
    if text is None or not strip(text):
        return "empty_output", None
    text = strip(text)
    is_json, value = try_decode(text)
    if is_json:
        return (None if isinstance(value, dict) else "not_object"), value
    is_json, value = unfenced(text)
    if is_json:
        return "code_fence", value
    begin = text.find("{")
    if begin < 0:
        return "invalid_json", None
    end = balanced_end(text, begin)
    if end is None:
        return "truncated_json", None
    is_json, value = try_decode(text[begin:end])
    if is_json:
        return "extra_text", value
    return "invalid_json", None


def element_word(value: Any) -> str:
    """What a list with this first element is a list of."""
    if value is None or isinstance(value, bool):
        return "nulls" if value is None else "booleans"
    words = ((dict, "objects"), (list, "lists"), (str, "texts"))
    return next((word for kind, word in words if isinstance(value, kind)), "numbers")
