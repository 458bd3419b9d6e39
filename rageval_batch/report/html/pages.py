"""Blocks as HTML by templates that escape everything; the style sheet and the script that report and viewer share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from rageval_batch.report.cells import json_line, width
from rageval_batch.report.html.blocks import Answers, Block, Cards, Figure, Table, Tiles, Words
from rageval_batch.report.html.texts import (
    attribute_value,
    cut,
    has_codes,
    language,
    number_text,
    plain_text,
    shown_name,
    shown_sql,
    shown_text,
)

_TEMPLATES = Path(__file__).parent / "templates"
_HASH = 12  # characters of a hash that are shown
_HEAT_STEPS = 9
_SHORT, _MIDDLE, _TEXT = 18, 34, 60  # widths of cells that are short, of middle length, and not long; wide letters two
_COUNTS = frozenset(
    ("n", "n answers", "answered", "question_count", "answered_count", "runs", "failures", "rows", "improvements",
     "regressions", "ties")
)  # fmt: skip
_IDS = frozenset(("run_id", "question_id", "candidate", "eval_set", "commit"))
_WHOLE = 20  # times the length of a cell that an id may have to be copied whole
STATUSES = frozenset(("passed", "failed", "skipped", "improvement", "regression", "tie"))
_STATUS_COLUMNS = frozenset(("status", "verdict"))  # others may hold these words too, as a metric is called "passed"


@lru_cache(maxsize=4)
def environment(*folders: Path) -> jinja2.Environment:
    """The templates of reports, after those of other folders."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, _TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["text"] = shown_text
    env.filters["plain"] = plain_text
    env.filters["value"] = number_text
    env.filters["cut"] = cut
    env.filters["name"] = shown_name
    env.filters["whole"] = attribute_value
    env.filters["sql"] = shown_sql
    env.globals.update(
        kind_of=kind_of, is_number=is_number, numeric_columns=numeric_columns,
        whole_columns=whole_columns,
        exact=exact, heat=heat_step, format_value=format_value, grouped=grouped, cell_class=cell_class,
        language=language, statuses=STATUSES, status_columns=_STATUS_COLUMNS, len=len,
    )  # fmt: skip
    return env


def asset(name: str) -> str:
    """The style sheet, the script or the icon."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def kind_of(block: Block) -> str:
    """The name of the macro that draws a block."""
    kinds: dict[type, str] = {
        Table: "table", Figure: "figure", Tiles: "tiles", Cards: "cards", Words: "words", Answers: "answers",
    }  # fmt: skip
    return kinds[type(block)]


def grouped(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks, figures that follow each other together with the words before them: they stand side by side."""
    out: list[list[Block]] = []
    for block in blocks:
        if out and isinstance(block, Figure) and isinstance(out[-1][-1], Figure | Words):
            out[-1].append(block)
        else:
            out.append([block])
    return out


def is_number(value: Any) -> bool:
    """Whether a value is a number, not a yes or no."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def numeric_columns(columns: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """The columns that are set to the right: all values that are not null are numbers."""
    found = {name: [row[name] for row in rows if row.get(name) is not None] for name in columns}
    return {name for name, values in found.items() if values and all(map(is_number, values))}


def whole_columns(columns: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """The columns of floats that are counts or grades: all are whole numbers, and not only 0 and 1, as shares are."""
    found = {name: [row[name] for row in rows if row.get(name) is not None] for name in columns}
    return {
        name for name, values in found.items()
        if values and all(isinstance(value, float) and value.is_integer() for value in values)
        and any(abs(value) > 1 for value in values)
    }  # fmt: skip


def format_value(column: str, value: Any, most: int) -> str:
    """A cell for people: rounded numbers with separators, short hashes, texts of at most so many characters."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    value = _plain_number(value)
    if isinstance(value, int):
        return f"{value:,}" if _is_grouped(column, value) else str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, dict | list | tuple):
        return cut(json_line(value), most)
    text = str(value)
    return text[:_HASH] + "…" if column.endswith("_sha256") and len(text) > _HASH else cut(text, most)


def _plain_number(value: Any) -> Any:
    """A decimal, as sums of whole numbers are in SQL, as the whole number or float that it is; else the value."""
    if not isinstance(value, Decimal):
        return value
    return int(value) if value == value.to_integral_value() else float(value)


def _is_grouped(column: str, value: int) -> bool:
    """Whether thousands are set apart: of counts always, of other numbers, which may be years, where they are large."""
    is_count = column in _COUNTS or column.startswith(("n_", "n ")) or column.endswith("_n")
    return abs(value) >= 10_000 or (abs(value) >= 1_000 and is_count)


def cell_class(value: Any, said: str, numeric: bool) -> str:
    """How a cell is set: columns of numbers to the right; short and middle texts on one line where there is room."""
    if numeric:
        return "num"
    if isinstance(value, datetime):
        return "when"
    size = width(said)
    if "\n" in said or size > _TEXT:
        return "long"
    if has_codes(said):  # they are wider than the characters that they stand for
        return "text"
    return "short" if size <= _SHORT else "middle" if size <= _MIDDLE else "text"


def exact(column: str, value: Any, most: int) -> str | None:
    """What a cell stands for where that is more than it shows, for CSV and sorting: whole numbers, hashes, times, ids,
    and texts with characters that are shown by their code."""
    if isinstance(value, bool) or value is None:
        return None
    value = _plain_number(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else number_text(value).replace("−", "-")
    if isinstance(value, int):
        return str(value) if _is_grouped(column, value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if not isinstance(value, str):
        return None
    altered = format_value(column, value, most) != value or value != value.strip() or has_codes(value)
    enough = _WHOLE * most if column in _IDS else most
    return value if altered and len(value) <= enough else None


def heat_step(value: Any, ends: tuple[float, float]) -> str | None:
    """The class of a cell of a heat map, h0 for the lowest value; none where there is no value."""
    if not is_number(value) or not math.isfinite(value):
        return None
    low, high = ends
    return f"h{_HEAT_STEPS // 2 if high <= low else round((value - low) / (high - low) * (_HEAT_STEPS - 1))}"


Link = Callable[[str, Mapping[str, Any]], str | None]  # column and row of a table -> where the cell leads


def no_link(column: str, row: Mapping[str, Any]) -> str | None:
    """Cells of a file lead nowhere."""
    return None


def page(template: str, folders: Sequence[Path] = (), **values: Any) -> Markup:
    """A whole page."""
    return Markup(environment(*folders).get_template(template).render(**values))
