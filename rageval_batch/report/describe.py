"""A profile for people: everything it declares."""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

from rageval_batch.model import Param, Profile
from rageval_batch.report.cells import width
from rageval_batch.report.formats import render, titled
from rageval_batch.report.input_fields import FILES, example_lines, input_fields, needs
from rageval_batch.report.safe_text import terminal_text
from rageval_batch.report.screen import PLAIN, Screen

_WIDTH = 80  # of paragraphs where there is no screen


def _allowed(param: Param) -> str:
    if param.choices:
        return ", ".join(param.choices)
    if isinstance(param.default, tuple):
        return "a JSON list of texts, or one text"
    low = "" if param.low is None else f"from {param.low:g}"
    high = "" if param.high is None else f"to {param.high:g}"
    names = "or names" if param.or_names else ""
    return " ".join(part for part in (low, high, names) if part)


def as_dict(profile: Profile) -> dict[str, Any]:
    """The declarations as one object."""
    return {
        "name": profile.name,
        "title": profile.title,
        "doc": profile.doc,
        "example": {name: [json.loads(line) for line in lines] for name, lines in example_lines(profile).items()},
        "inputs": input_fields(profile),
        "params": [
            {"param": p.name, "default": p.default, "allowed": _allowed(p), "what": p.doc} for p in profile.params
        ],
        "columns": [
            {"column": c.name, "type": _type(str(c.type)), "what": c.doc} for c in profile.columns if not c.internal
        ],
        "metrics": [
            {
                "metric": m.name,
                "better": "higher" if m.higher_is_better else "lower",
                "null": _null(m.null_counts_as),
                "scale": _scale(profile.scale(m)),
            }
            for m in profile.metrics
        ],
        "gates": [
            {
                "gate": g.name,
                "rule": f"{g.stat} of {g.metric} {g.op} {g.limit:g}" if g.metric else f"{g.stat} {g.op} {g.limit:g}",
                "level": g.level,
                "failure": g.failure,
            }
            for g in profile.gates
        ],
        "provenance": list(profile.summary.provenance),
    }


def _type(name: str) -> str:
    if name.startswith(("list<", "large_list<")):
        return "list of texts"
    if name.startswith("map<"):
        return "texts by name"
    if name in ("int8", "int64"):
        return "whole number"
    return {"large_string": "text", "double": "number", "int32": "whole number", "bool": "yes/no"}.get(name, name)


def _brief(value: Any) -> str:
    return str(value.get("name", "a table") if isinstance(value, dict) else value)


def _null(counts_as: float | None) -> str:
    return "left out" if counts_as is None else f"counts as {counts_as:g}"


def _scale(scale: float | None) -> str:
    return "count" if scale is None else f"of {scale:g}"


def _wrapped(text: str, format: str, screen: Screen) -> str:
    """A paragraph that fits the screen; Markdown is wrapped by whoever shows it."""
    return text if format == "md" else "\n".join(textwrap.wrap(text, screen.columns or _WIDTH))


_JSON_TOKEN = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^" ])+')


def _wrapped_json(line: str, screen: Screen) -> str:
    """JSON over as many lines as the screen needs, broken between values only."""
    lines = [" "]
    for token in _JSON_TOKEN.findall(line):
        if len(lines[-1]) > 1 and width(lines[-1]) + 1 + width(token) > (screen.columns or _WIDTH):
            lines.append("   ")
        lines[-1] += f" {token}"
    return "\n".join(lines)


def _definition_list(rows: list[dict[str, Any]], screen: Screen) -> str:
    """Nothing cut: the name with its values on a line, what it is below."""
    lines = []
    for row in rows:
        name, *values = [value for key, value in row.items() if key != "what"]
        lines.append(f"{name:<30}  " + "  ".join(_brief(value) for value in values if value is not None))
        if row.get("what"):
            lines += textwrap.wrap(
                row["what"], (screen.columns or _WIDTH) - 4, initial_indent="    ", subsequent_indent="    "
            )
    return "\n".join(terminal_text(line.rstrip()) for line in lines)


def _inputs(profile: Profile, format: str, screen: Screen) -> list[str]:
    """An example that scores full marks, and the fields of every input."""
    promise = "that score full marks" if profile.inputs.example is not None else "of the right form"
    parts = [titled("inputs", format), _wrapped(f"A question and an output {promise}:", format, screen)]
    for name, lines in example_lines(profile).items():
        if format == "md":
            parts.append("\n".join([f"`{name}.jsonl`", "", "```json", *lines, "```"]))
        else:
            parts.append("\n".join([f"{name}.jsonl, a line:", *(_wrapped_json(line, screen) for line in lines)]))
    for name, rows in input_fields(profile).items():
        if rows:
            body = render(rows, list(rows[0]), format) if format == "md" else _definition_list(rows, screen)
            parts += [titled(f"fields of {name}" if name in FILES else f"fields {name}", format), body]
        parts += [_wrapped(f"Needed: {need}.", format, screen) for need in needs(profile).get(name, ())]
    return parts


def describe(profile: Profile, format: str, screen: Screen = PLAIN) -> str:
    """The inputs, then the declarations as tables."""
    whole = as_dict(profile)
    head = f"## {profile.name}" if format == "md" else profile.name
    parts = [f"{head}: {profile.title}", _wrapped(profile.doc, format, screen), *_inputs(profile, format, screen)]
    for name in ("params", "columns", "metrics", "gates"):
        rows = [{k: v if v != "" else None for k, v in row.items()} for row in whole[name]]
        if rows:
            body = render(rows, list(rows[0]), format) if format == "md" else _definition_list(rows, screen)
            parts += [titled(name, format), body]
    if profile.summary.provenance:
        named = ", ".join(profile.summary.provenance)
        parts.append(_wrapped(f"A run's record must name: {named}.", format, screen))
    return "\n\n".join(parts)
