"""Fields of gold tasks read with patience: a value of another type is as if absent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from rageval_batch import jsontape, kernels
from rageval_batch.kernels.json import OK
from rageval_batch.strings import from_list, is_text


def value(task: Mapping[str, Any], name: str) -> Any:
    """A field of a task; where that is a text, as in a CSV file, the JSON value in it."""
    found = task.get(name)
    if not isinstance(found, str):
        return found
    if jsontape.parse_strings(from_list([found])).status[0] != OK:
        return None
    try:
        return json.loads(found)
    except (ValueError, RecursionError):  # more than Python can hold
        return None


def listed(task: Mapping[str, Any], name: str) -> list[Any]:
    """A field that is a list; empty where it is none."""
    found = value(task, name)
    return found if isinstance(found, list) else []


def texts(items: list[Any]) -> list[str]:
    """The items that are texts."""
    return [item for item in items if is_text(item)]


def number(given: Any, default: float) -> float:
    """A finite number, else the default."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return default
    try:
        return float(given) if math.isfinite(given) else default
    except OverflowError:
        return default


def id_of(given: Any) -> str | None:
    """An id of a task: a text that is not blank, or a whole number of 64 bits as its digits."""
    if isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63:
        return str(given)
    return given if is_text(given) and len(kernels.squash(from_list([given])).data) else None


def grades(items: list[Any]) -> dict[str, float]:
    """The grade of each id, of repeated ones the last; no or a negative grade is 0."""
    out = {}
    for item in items:
        if isinstance(item, dict) and (name := id_of(item.get("id"))) is not None:
            out[name] = max(0.0, number(item.get("grade"), 0.0))
    return out


def contradicting(items: list[Any]) -> frozenset[tuple[str, str]]:
    """The unordered pairs that are said to contradict each other."""
    out = set()
    for item in items:
        if isinstance(item, dict) and item.get("contradiction") is True:
            a, b = id_of(item.get("a")), id_of(item.get("b"))
            if a is not None and b is not None:
                out.add((min(a, b), max(a, b)))
    return frozenset(out)
