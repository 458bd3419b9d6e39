"""Explanations that show items as they were written: a scorer compares them without white space, and knows them so."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rageval_batch.model import Explanation, Section

_COMPARED = ("expected", "got")  # columns of items, of the question and of the answer


def with_written_items(explanation: Explanation, question: Any, output: str | None) -> Explanation:
    """The same explanation, in which items have the white space that they have in the question and in the answer.

    An item that stands in neither, or in an answer that is no JSON object, is shown as it was compared.
    """
    written = {
        column: {_key(text): text for text in _texts(source)}
        for column, source in zip(_COMPARED, (question, _decoded(output)), strict=True)
    }
    return Explanation(tuple(_section(section, written) for section in explanation.sections))


def _section(section: Section, written: Mapping[str, Mapping[str, str]]) -> Section:
    lines = tuple(
        {name: _item(value, written[name]) if name in written else value for name, value in line.items()}
        for line in section.lines
    )
    return replace(section, lines=lines)


def _item(value: Any, written: Mapping[str, str]) -> Any:
    return written.get(_key(value), value) if isinstance(value, str) and value == "".join(value.split()) else value


def _key(text: str) -> str:
    """What a text has in common with what it is compared as, whichever Unicode form that has."""
    return "".join(unicodedata.normalize("NFKC", text).split())


def _decoded(output: str | None) -> Any:
    """The object in an answer, which may stand between other words; null where there is none."""
    text = output or ""
    try:
        return json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None


def _texts(value: Any) -> Iterator[str]:
    """All texts of an object; the first of those that are compared alike comes last."""
    waiting = [value]
    found = []
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return iter(found)
