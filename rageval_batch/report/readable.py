"""Answers as people read them: JSON laid out, escapes as the characters they stand for, and what moved in lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rageval_batch.report.graphemes import cut_place
from rageval_batch.report.safe_text import is_safe

ESCAPES_READ = (
    "Escapes \\uXXXX are shown as the characters that they stand for; --format json has them as they were given."
)
ESCAPES_SHOWN = "Not valid JSON; its escapes \\uXXXX are shown as the characters that they stand for."

_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\\\|\\u[dD][89abAB][0-9a-fA-F]{{2}}{_LOW}|\\u[0-9a-fA-F]{{4}}")  # a backslash itself is none
_BEGIN = re.compile(r"\A\s*[{\[]|[{\[]\s*[\"{\[]")  # of JSON, which other words or a fence may stand before
_MOST_MOVED, _LONGEST = 5, 60  # items of a list that are named, and their characters


def readable(output: str) -> str:
    """A JSON object or array with its parts on lines of their own; any other answer without escapes of JSON in it."""
    value = _decoded(output) if output.lstrip().startswith(("{", "[")) else None
    return without_escapes(output) if value is None else json.dumps(value, ensure_ascii=False, indent=2)


def without_escapes(text: str) -> str:
    """A text with characters for the escapes \\uXXXX of JSON in it, but for those that could not be seen or would end a
    string; what stands before the JSON, and a text without any, as it is."""
    begin = _BEGIN.search(text) if "\\u" in text else None
    return text if begin is None else text[: begin.start()] + _ESCAPE.sub(_character, text[begin.start() :])


def has_shown_escapes(output: str) -> bool:
    """Whether escapes of an answer that is no valid JSON are shown as characters: that must be said."""
    return without_escapes(output) != output and _decoded(output) is None


def _character(escape: re.Match[str]) -> str:
    if escape[0] == "\\\\":
        return escape[0]
    character: str = json.loads(f'"{escape[0]}"')
    return character if not character.isascii() and is_safe(character) else escape[0]


def _decoded(output: str) -> Any:
    try:
        return json.loads(output)
    except (ValueError, RecursionError):
        return None


def moved_words(before: str, after: str) -> str | None:
    """Which items of lists two answers both have at another rank; null where there are none, or no lists."""
    theirs = dict(_lists(_decoded(after)))
    said = []
    for name, ranks in _lists(_decoded(before)):
        new = theirs.get(name, {})
        moved = [(item, rank, new[item]) for item, rank in ranks.items() if new.get(item, rank) != rank]
        if moved:
            words = ", ".join(f"{_short(item)} ({rank} → {now})" for item, rank, now in moved[:_MOST_MOVED])
            more = f" and {len(moved) - _MOST_MOVED:,} more" if len(moved) > _MOST_MOVED else ""
            said.append(f"{f'{_short(name)}: ' if name else ''}{words}{more}")
    return f"In both answers, at another rank: {'; '.join(said)}." if said else None


def _lists(value: Any) -> Iterator[tuple[str, Mapping[str, int]]]:
    """(name, the rank at which each item first stands) of the lists of texts or numbers in an object, or of a list."""
    members = value.items() if isinstance(value, dict) else [("", value)]
    for name, items in members:
        if isinstance(items, list) and all(isinstance(item, str | int | float) for item in items):
            ranks: dict[str, int] = {}
            for rank, item in enumerate(items, start=1):
                ranks.setdefault(item if isinstance(item, str) else json.dumps(item), rank)
            yield name, ranks


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: cut_place(text, _LONGEST - 1)] + "…"
