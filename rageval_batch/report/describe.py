"""A profile for people: everything it declares."""

from __future__ import annotations

import textwrap
from typing import Any

from rageval_batch.profile import Param, Profile
from rageval_batch.report.formats import render, screen_width


def _allowed(param: Param) -> str:
    if param.choices:
        return ", ".join(param.choices)
    low = "" if param.low is None else f"from {param.low:g}"
    high = "" if param.high is None else f"to {param.high:g}"
    return " ".join(part for part in (low, high) if part)


def as_dict(profile: Profile) -> dict[str, Any]:
    """The declarations as one object."""
    return {
        "name": profile.name,
        "title": profile.title,
        "doc": profile.doc,
        "params": [
            {"param": p.name, "default": p.default, "allowed": _allowed(p), "what": p.doc} for p in profile.params
        ],
        "columns": [{"column": c.name, "type": _type(str(c.type)), "what": c.doc} for c in profile.columns],
        "metrics": [
            {"metric": m.name, "better": "higher" if m.higher_is_better else "lower", "null": _null(m.null_counts_as)}
            for m in profile.metrics
        ],
        "gates": [
            {
                "gate": g.name,
                "rule": f"{g.stat} of {g.metric} {g.op} {g.limit:g}",
                "level": g.level,
                "failure": g.failure,
            }
            for g in profile.gates
        ],
        "provenance": list(profile.provenance),
    }


def _type(name: str) -> str:
    if name.startswith("list<"):
        return "texts"
    return {"large_string": "text", "double": "number", "int32": "whole number", "bool": "yes/no"}.get(name, name)


def _null(counts_as: float | None) -> str:
    return "left out" if counts_as is None else f"counts as {counts_as:g}"


def describe(profile: Profile, form: str) -> str:
    """The declarations as tables."""
    whole = as_dict(profile)
    head = f"## {profile.name}" if form == "md" else profile.name
    parts = [f"{head}: {profile.title}", "\n".join(textwrap.wrap(profile.doc, screen_width()))]
    for name in ("params", "columns", "metrics", "gates"):
        rows = [{k: v if v != "" else None for k, v in row.items()} for row in whole[name]]
        if rows:
            parts += [
                f"### {name}" if form == "md" else f"{name}\n{'-' * len(name)}",
                render(rows, list(rows[0]), form),
            ]
    if profile.provenance:
        parts.append("A run's record must name: " + ", ".join(profile.provenance) + ".")
    return "\n\n".join(parts)
