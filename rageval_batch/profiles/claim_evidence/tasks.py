"""Gold tasks: what their fields are, and how ids, grades and pairs are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from rageval_batch.columnar import kernels
from rageval_batch.columnar.strings import from_list, is_text
from rageval_batch.model.schemas import QUESTION


def id_of(given: Any) -> str | None:
    """An id of a task: a text that is not blank, or a whole number of 64 bits as its digits."""
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63:
        return str(given)
    return given if is_text(given) and len(kernels.squash(from_list([given])).data) else None


def grades(items: list[Any]) -> dict[str, float]:
    """The grade of each id, of repeated ones the last."""
    return {name: float(item["grade"]) for item in items if (name := id_of(item["id"])) is not None}


def contradicting(items: list[Any]) -> frozenset[tuple[str, str]]:
    """The unordered pairs that are said to contradict each other."""
    out = set()
    for item in items:
        if item["contradiction"]:
            a, b = id_of(item["a"]), id_of(item["b"])
            if a is not None and b is not None:
                out.add((min(a, b), max(a, b)))
    return frozenset(out)


def contradictory_gold(task: dict[str, Any]) -> Iterator[tuple[list[str | int], str]]:
    """Gold that says two things: an id with two grades, a pair that contradicts and does not."""
    graded: dict[Any, Any] = {}
    for index, item in _objects(task, "gold_ranking"):
        grade = item.get("grade")
        if graded.setdefault(id_of(item.get("id")), grade) != grade:
            yield ["gold_ranking", index, "grade"], "one grade for an id"
    said: dict[tuple[str, ...], Any] = {}
    for index, item in _objects(task, "gold_contradictions"):
        pair, verdict = tuple(sorted(str(id_of(item.get(name))) for name in ("a", "b"))), item.get("contradiction")
        if said.setdefault(pair, verdict) != verdict:
            yield ["gold_contradictions", index, "contradiction"], "one verdict for a pair"


def _objects(task: dict[str, Any], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a list of a task with their places; the schema says what else is wrong with it."""
    items = task.get(name)
    return ((k, item) for k, item in enumerate(items if isinstance(items, list) else ()) if isinstance(item, dict))


_MOST = sys.float_info.max  # JSON has whole numbers that no float holds
_TEXT: dict[str, Any] = {"type": "string", "pattern": "\\S", "description": "a text that is not blank"}
_NAME: dict[str, Any] = {
    "type": ["string", "integer"],
    "pattern": "\\S",
    "minimum": -(2**63),
    "maximum": 2**63 - 1,
    "description": "a text that is not blank, or a whole number of 64 bits",
}
TASK_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "category": {"type": ["string", "number"], "title": "what kind of task it is"},
        **{name: {"type": "string", "title": "what was asked"} for name in QUESTION},
        "expected_entities": {
            "type": "array", "items": _TEXT, "default": [], "title": "names that the answer and its claims must have",
        },
        "min_citations": {
            "type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0,
            "title": "different pieces of evidence that must be cited",
        },
        "notes": {"title": "for people; not scored"},
        "gold_ranking": {
            "type": "array",
            "title": "the documents and how much each is worth",
            "items": {
                "type": "object",
                "required": ["id", "grade"],
                "properties": {
                    "id": {**_NAME, "title": "of a document"},
                    "grade": {"type": "number", "minimum": 0, "maximum": _MOST, "title": "0: worth nothing"},
                },
            },
        },
        "gold_contradictions": {
            "type": "array",
            "title": "pairs of documents and whether they contradict each other",
            "items": {
                "type": "object",
                "required": ["a", "b", "contradiction"],
                "properties": {
                    "a": {**_NAME, "title": "one document"},
                    "b": {**_NAME, "title": "the other"},
                    "contradiction": {"type": "boolean", "title": "whether they do"},
                },
            },
        },
    },
}  # fmt: skip
