"""Gold tasks: what their fields are, and how ids, grades and pairs are read."""

from __future__ import annotations

import sys
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
        "category": {"type": ["string", "number"]},
        **{name: {"type": "string"} for name in QUESTION},
        "expected_entities": {"type": "array", "items": _TEXT},
        "min_citations": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        "notes": {},
        "gold_ranking": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "grade"],
                "properties": {"id": _NAME, "grade": {"type": "number", "minimum": 0, "maximum": _MOST}},
            },
        },
        "gold_contradictions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["a", "b", "contradiction"],
                "properties": {"a": _NAME, "b": _NAME, "contradiction": {"type": "boolean"}},
            },
        },
    },
}
