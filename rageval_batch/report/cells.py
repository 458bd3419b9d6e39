"""Single values and their width on a screen."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rageval_batch.report.graphemes import cut_place
from rageval_batch.report.safe_text import json_text, terminal_text, visible_name

if TYPE_CHECKING:
    from rageval_batch.analysis.run_lines import PartialAverage

_SHOWN_PARTIAL = 3  # sentences about averages that leave questions out
_WIDE = frozenset("WF")
_INVISIBLE = frozenset(("Mn", "Me", "Cf"))


def width(text: str) -> int:
    """Columns that a text takes on a terminal: two for wide characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in _INVISIBLE else 2 if unicodedata.east_asian_width(c) in _WIDE else 1
        for c in text
    )


def truncate(text: str, room: int) -> str:
    """The text, cut with an ellipsis to at most `room` columns."""
    if width(text) <= room:
        return text
    end, used = 0, 1
    for c in text:
        used += width(c)
        if used > room:
            break
        end += 1
    return text[: cut_place(text, end)] + "…"


def padded(text: str, room: int, right: bool = False) -> str:
    """The text filled with spaces to `room` columns."""
    gap = " " * max(0, room - width(text))
    return gap + text if right else text + gap


def format_value(value: Any, exact: bool = False) -> str:
    """A value for people on one line, rounded; `exact`: to the last digit."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value) if exact and math.isfinite(value) else _number(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat(" ") if exact else value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, dict | list | tuple):
        return terminal_text(_json(to_jsonable(value)))
    return terminal_text(visible_name(str(value)))


def _number(value: float) -> str:
    """Four or two decimals; as many digits as it takes that a number other than 0 does not read as 0."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else str(value)
    if not value:
        return "0.0000"
    rounded = f"{value:.4f}" if abs(value) <= 1 else f"{value:.2f}"
    return rounded if float(rounded) else f"{value:.2g}"


def limit_text(limit: float) -> str:
    """A limit with all its digits, and no more."""
    short = f"{limit:.12g}"
    return short if float(short) == limit else repr(limit)


def value_text(value: float | None, limit: float, exact: bool = False) -> str:
    """A value beside a limit: it has as many digits as it takes that it does not read as a limit that it is not."""
    if value is not None and float(value).is_integer():
        return limit_text(value)
    text = format_value(value, exact)
    return text if value is None or value == limit or float(text) != limit else repr(value)


def count_text(number: int, noun: str) -> str:
    """A number of things: 1 run, 2 runs."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def partial_words(averages: Sequence[PartialAverage]) -> list[str]:
    """Of averages that leave rows out, for want of an answer or a value: which, and over how many rows they are; a
    sentence for each number, with the first of several runs."""
    found: dict[tuple[int, int, str, bool], list[PartialAverage]] = {}
    for one in averages:
        found.setdefault((one.n, one.rows, one.noun, one.is_micro), []).append(one)
    said = []
    others = {True: "others, those without an answer among them,", False: "others have no value and"}
    for (n, rows, noun, is_micro), those in list(found.items())[:_SHOWN_PARTIAL]:
        runs, names = list(dict.fromkeys(o.run_id for o in those)), list(dict.fromkeys(o.name for o in those))
        more = f" and {len(runs) - 1:,} more" if len(runs) > 1 else ""
        said.append(
            f"{visible_name(runs[0])}{more}: {', '.join(names)} over {n:,} of {count_text(rows, noun)}; "
            f"{others[is_micro]} count neither for the run nor against it."
        )
    if len(found) > _SHOWN_PARTIAL:
        said.append("And other runs: the view run_summary has n_counted and n_micro of all.")
    return said


def counts_words(profile: str, unit: str, row: str, *, counts: str | None) -> str | None:
    """What the numbers of a profile count; null where that is questions. `counts`: how those are called that are of
    rows, which are not what a score is over; null where none is shown."""
    if unit == row == "question":
        return None
    return f"{profile}: n counts {unit}s{f'; {counts} count {row}s' if counts else ''}."


def to_jsonable(value: Any) -> Any:
    """A value as JSON can hold it, unrounded; a decimal with a fraction stays one, which `json_line` writes."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, Decimal):
        return int(value) if value.as_tuple().exponent == 0 else value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {str(name): to_jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(part, tuple) and len(part) == 2 for part in value):  # an Arrow map
            return {str(name): to_jsonable(part) for name, part in value}
        return [to_jsonable(part) for part in value]
    return value


def json_line(value: Any) -> str:
    """One JSON value on one line."""
    return json_text(_json(to_jsonable(value)))


def _json(value: Any) -> str:
    """What `to_jsonable` gives as JSON; decimals have the digits that they have, which `json` alone cannot write."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except TypeError:
        if isinstance(value, Decimal):
            return f"{value:f}"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{_json(name)}: {_json(part)}" for name, part in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(_json, value)) + "]"
        raise
