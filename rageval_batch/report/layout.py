"""Rows as aligned text for a screen: no header and no id is ever cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from itertools import chain, islice, zip_longest
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.report.cells import format_value, padded, truncate, width
from rageval_batch.report.safe_text import terminal_text
from rageval_batch.report.screen import PLAIN, Screen

OptionalColumns = Sequence[str | tuple[str, ...]]  # columns that may go, the first of them first; some only together
Tones = Mapping[str, Callable[[object], str | None]]  # by column: the tone of a value

# A name that is cut names nothing: these columns are shown whole.
NAMES = frozenset(
    ("run_id", "question_id", "run", "question", "base_run", "candidate_run", "candidate", "task_id", "claim_id",
     "commit", "unit", "path", "profile", "metric", "gate", "dataset", "column", "param")
)  # fmt: skip
# In a table these go on in the next line of their column: lists of gates, and what a view or column is.
_FLOWING = {"failed": ", ", "comment": " "}
# Half a hash, option, eval set or answer is of no use either: in pairs, these go on in the next line.
_WRAPPED = frozenset(
    ("signature", "params_sha256", "questions_sha256", "contexts_sha256", "source_sha256", "prompt_sha256",
     "prompt_version", "index_version", "model_id", "adapter_id", "eval_set", "answer", *_FLOWING)
)  # fmt: skip
_LEAST_TEXT = 24  # columns that a text keeps before the table is turned
_LEAST_PAIRED = 8  # and beside its name in a pair
_SHORT = 60  # columns up to which a text in a pair goes on in the next line: what is longer is cut
_WIDEST_PADDED = 200  # in a pipe, longer texts stand out of their column in place of padding all others
_SAMPLE = 1_000  # rows that decide the widths of a long table
_GAP = "  "


@dataclass(frozen=True)
class _Columns:
    """How rows are laid out: which columns, how wide, and those that had no room."""

    names: list[str]
    widths: list[int]
    numeric: list[bool]
    _: KW_ONLY
    dropped: list[str]


def table(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    screen: Screen = PLAIN,
    *,
    optional: OptionalColumns = (),
    tones: Tones | None = None,
) -> str:
    """Aligned columns. On a screen that is too narrow long texts are cut first; then columns that are `optional` go,
    the first of them first, and are named below; then every row stands by itself, a line a column."""
    return "\n".join(table_lines(rows, columns, screen, optional=optional, tones=tones))


def table_lines(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str],
    screen: Screen = PLAIN,
    *,
    optional: OptionalColumns = (),
    tones: Tones | None = None,
) -> Iterator[str]:
    """The lines of a table; the first rows decide the widths, so that no long result is held whole."""
    if not columns:
        return
    left = iter(rows)
    sample = list(islice(left, _SAMPLE))
    layout = _laid_out(sample, columns, screen, optional=optional)
    if layout is None:
        yield from _vertical(chain(sample, left), columns, screen, tones=tones or {})
        return
    yield _line([terminal_text(name) for name in layout.names], layout, [None] * len(layout.names), screen=screen)
    for row in chain(sample, left):
        cells = [format_value(row.get(name), screen.exact) for name in layout.names]
        below: list[list[str]] = []
        if not screen.exact:
            cells, below = _cut_cells(cells, layout)
        tone = [_tone(tones, name, row) for name in layout.names]
        yield _line(cells, layout, tone, screen=screen)
        for more in below:
            yield _line(more, layout, tone, screen=screen)
    if layout.dropped:
        yield prose(
            f"Not shown for want of room: {', '.join(layout.dropped)}. A wider screen or -o FILE shows all.", screen
        )


def prose(text: str, screen: Screen) -> str:
    """A paragraph in lines that end between words, as wide as the screen; in a pipe or file, one line."""
    if screen.columns is None:
        return text
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(f"{lines[-1]} {word}") > screen.columns:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _cut_cells(cells: Sequence[str], layout: _Columns) -> tuple[list[str], list[list[str]]]:
    """(the cells of a row, each with no more than its column has room for; the lines in which some of them go on)"""
    lines = [
        _flowing(cell, room, _FLOWING[name]) if name in _FLOWING else [truncate(cell, room)]
        for name, cell, room in zip(layout.names, cells, layout.widths, strict=True)
    ]
    first, *rest = zip_longest(*lines, fillvalue="")
    return list(first), [list(line) for line in rest]


def _flowing(text: str, room: int, between: str) -> list[str]:
    """The items of a text in lines of at most that width; an item that is longer is cut."""
    lines: list[str] = []
    mark = between.rstrip()
    for item in text.split(between):
        if lines and width(f"{lines[-1]}{between}{item}{mark}") <= room:
            lines[-1] += f"{between}{item}"
        else:
            lines[-1:] = [f"{line}{mark}" for line in lines[-1:]]
            lines.append(truncate(item, room))
    return lines


def _tone(tones: Tones | None, name: str, row: Mapping[str, Any]) -> str | None:
    return tones[name](row.get(name)) if tones and name in tones else None


def _line(cells: Sequence[str], layout: _Columns, tones: Sequence[str | None], *, screen: Screen) -> str:
    parts = []
    for k, cell in enumerate(cells):
        last = k == len(cells) - 1 and not layout.numeric[k]
        shown = cell if last else padded(cell, layout.widths[k], layout.numeric[k])
        parts.append(screen.paint(shown, tones[k]))
    return _GAP.join(parts).rstrip()


def _laid_out(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], screen: Screen, *, optional: OptionalColumns
) -> _Columns | None:
    """Names, widths and kinds of the columns that fit; null where a row does not fit on a line."""
    natural = {
        name: max([width(terminal_text(name)), *(width(format_value(row.get(name), screen.exact)) for row in rows)])
        for name in columns
    }
    numeric = {name: _is_numeric(rows, name) for name in columns}
    if screen.columns is None:
        widths = [min(natural[name], max(_WIDEST_PADDED, width(terminal_text(name)))) for name in columns]
        return _Columns(list(columns), widths, [numeric[name] for name in columns], dropped=[])
    least = {
        name: room if numeric[name] or name in NAMES else max(width(terminal_text(name)), min(room, _LEAST_TEXT))
        for name, room in natural.items()
    }
    shown, dropped = list(columns), []
    going = [(one,) if isinstance(one, str) else one for one in optional]
    while _whole_width([least[name] for name in shown]) > screen.columns:
        if not going:
            return None
        gone = [name for name in going.pop(0) if name in shown]
        dropped += gone
        shown = [name for name in shown if name not in gone]
    widths = [natural[name] for name in shown]
    while _whole_width(widths) > screen.columns:
        widest = max((k for k, name in enumerate(shown) if widths[k] > least[name]), key=lambda k: widths[k])
        widths[widest] -= 1
    return _Columns(shown, widths, [numeric[name] for name in shown], dropped=dropped)


def _whole_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _is_numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [row.get(name) for row in rows]
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in values if value is not None]
    return bool(numbers) and all(numbers)


def _vertical(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], screen: Screen, *, tones: Tones
) -> Iterator[str]:
    """Every row by itself: a line a column, a blank line between rows."""
    for k, row in enumerate(rows):
        if k:
            yield ""
        yield from pair_lines({name: row.get(name) for name in columns}, screen, tones)


def pair_lines(values: Mapping[str, Any], screen: Screen = PLAIN, tones: Tones | None = None) -> Iterator[str]:
    """A line a name with its value; on a screen, short texts go on in the next line, and long ones are cut."""
    room = max((width(terminal_text(name)) for name in values), default=0)
    for name, value in values.items():
        lines = [format_value(value, screen.exact)]
        if screen.columns is not None and name not in NAMES and isinstance(value, str | dict | list | tuple):
            left = max(_LEAST_PAIRED, screen.columns - room - len(_GAP))
            whole = name in _WRAPPED or width(lines[0]) <= _SHORT
            lines = list(_wrapped(lines[0], left)) if whole else [truncate(lines[0], left)]
        for number, line in enumerate(lines):
            label = "" if number else terminal_text(name)
            yield padded(label, room) + _GAP + screen.paint(line, _tone(tones, name, values))


def _wrapped(text: str, room: int) -> Iterator[str]:
    """A text in lines of at most that width; an empty text is one empty line."""
    line = ""
    for character in text:
        if line and width(line + character) > room:
            yield line
            line = ""
        line += character
    yield line
