"""An explanation laid out: which lines are good or bad, which items are pairs, and where they stand in the text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.model import Explanation, Section
from rageval_batch.report.graphemes import cut_place

PAIR_COLOURS = 8
MOST_TEXT = 60_000  # characters of an answer on a page
MOST_MARKS = 400
_MOST_SPACED = 200  # characters of a mark that is found wherever white space stands between them
_LETTER = r"[0-9A-Za-z\u00c0-\u024f\u0400-\u04ff]"  # of scripts that part words by spaces
_AROUND, _MOST_STRETCHES = 200, 20  # characters beside what is marked further behind; how many of such stretches
# Columns that hold what stands in the answer, in the order in which they are looked for.
_QUOTED = ("text", "phrase", "quote", "keyword", "got", "entity", "item")
# Columns of yes and no where yes is bad, and the sections where what is found should not be.
_BAD_IF_TRUE = frozenset(("invented", "too long"))
_BAD_IF_FOUND = frozenset(("forbidden",))
# Yes and no that are no verdicts on a line.
_NEUTRAL = frozenset(("critical", "has a page", "required", "should abstain", "abstained", "flag", "said", "value"))


@dataclass(frozen=True)
class Line:
    """A line of an explanation: its values, whether it is good or bad, and the colour of its pair."""

    values: Mapping[str, Any]
    verdict: str | None  # good, bad
    pair: int | None


@dataclass(frozen=True)
class MarkedSection:
    """A section of an explanation."""

    name: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Span:
    """A part of an answer and the class that it is marked with; or how many characters are not shown in its place."""

    text: str
    mark: str | None
    left_out: int = 0


def marked_sections(explanation: Explanation) -> list[MarkedSection]:
    """All sections, lines with their verdicts; matched items of both sides get a number, which is their colour."""
    out = []
    pair = 0
    for section in explanation.sections:
        lines = []
        for values in section.lines:
            verdict = _verdict(section, values)
            paired = verdict == "good" and values.get("expected") is not None and values.get("got") is not None
            lines.append(Line(values, verdict, pair if paired else None))
            pair += paired
        columns = tuple(section.lines[0]) if section.lines else ()
        out.append(MarkedSection(section.name, columns, tuple(lines)))
    return out


def _verdict(section: Section, values: Mapping[str, Any]) -> str | None:
    """What the first yes or no of a line says of it; where a line says what covers it, nothing is bad."""
    for name, value in values.items():
        if isinstance(value, bool) and name not in _NEUTRAL:
            good = value != (name in _BAD_IF_TRUE or section.name in _BAD_IF_FOUND)
            return "good" if good else "bad"
        if name in ("covered by", "found in"):
            return "bad" if value is None else "good"
    return None


def marked_answer(output: str, sections: Sequence[MarkedSection]) -> list[Span]:
    """The answer in spans: items, keywords and quotes of the explanation are marked where they stand in it.

    Of a very long answer these are its beginning, and stretches around the first places of marks that it lacks.
    """
    marks = _marks(sections)
    head = cut_place(output, MOST_TEXT)
    spans = _marked(output[:head], marks)
    end = head
    for start, stop in _later_places(output, head, marks):
        spans += [Span("", None, start - end), *_marked(output[start:stop], marks)]
        end = stop
    spans.append(Span("", None, len(output) - end))
    return [span for span in spans if span.text or span.left_out]


def _marks(sections: Sequence[MarkedSection]) -> dict[str, str]:
    """What stands in the answer, and the class that it is marked with."""
    marks: dict[str, str] = {}
    for section in sections:
        for line in section.lines:
            found = next((line.values[name] for name in _QUOTED if isinstance(line.values.get(name), str)), None)
            if not found or not found.strip() or line.verdict is None or len(marks) >= MOST_MARKS:
                continue
            mark = line.verdict if line.pair is None else f"pair{line.pair % PAIR_COLOURS}"
            if line.verdict == "good" or found not in marks:
                marks.setdefault(found, mark)
    return marks


def _marked(text: str, marks: Mapping[str, str]) -> list[Span]:
    """The text in spans; where marks overlap, the longest is taken. White space may stand elsewhere in the text."""
    longest_first = sorted(marks, key=len, reverse=True)
    found = [pattern for one in longest_first if (pattern := _pattern(one, text))]
    if not found:
        return [Span(text, None)]
    by_key = {_key(one): mark for one, mark in marks.items()}
    spans = []
    end = 0
    for match in re.finditer("|".join(found), text, re.IGNORECASE):
        spans += [Span(text[end : match.start()], None), Span(match[0], by_key.get(_key(match[0]), "good"))]
        end = match.end()
    spans.append(Span(text[end:], None))
    return spans


def _key(text: str) -> str:
    return "".join(text.split()).casefold()


def _pattern(mark: str, text: str) -> str | None:
    """What finds a mark in the text: as whole words, else within words; null where it is not there.

    Explanations have items without their white space, as they are compared.
    """
    short = "".join(mark.split())
    body = r"\s*".join(map(re.escape, short)) if len(short) <= _MOST_SPACED else re.escape(mark)
    whole = (rf"(?<!{_LETTER})" if re.match(_LETTER, short) else "") + body
    whole += rf"(?!{_LETTER})" if re.match(_LETTER, short[-1]) else ""
    return next((one for one in (whole, body) if re.search(one, text, re.IGNORECASE)), None)


def _later_places(output: str, head: int, marks: Mapping[str, str]) -> list[tuple[int, int]]:
    """(start, end) of the stretches behind the head that hold the first place of a mark that is not in the head."""
    lower = output.lower()
    if len(lower) != len(output):  # letters whose lower case is two: places would not be the same
        lower = output
    found: list[tuple[int, int]] = []
    for one in marks:
        at = lower.find(one.lower())
        if at >= head:
            start, stop = max(head, at - _AROUND), min(len(output), at + min(len(one), MOST_TEXT) + _AROUND)
            found.append((cut_place(output, start), cut_place(output, stop)))
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        elif len(merged) < _MOST_STRETCHES:
            merged.append((start, stop))
    return merged
