"""An explanation laid out: which lines are good or bad, which items are pairs, and where they stand in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any

from rageval_batch.dataclass import dataclass
from rageval_batch.model import Explanation, Section
from rageval_batch.report.graphemes import cut_place

PAIR_COLOURS = 8
MOST_TEXT = 60_000  # characters of an answer on a page
MOST_MARKS = 400
_MOST_SPACED = 200  # characters of a mark that is found wherever white space stands between them
_LETTER = r"[0-9A-Za-z\u00c0-\u024f\u0400-\u04ff]"  # of scripts that part words by spaces
_MEMBER = re.compile(r"[\s,{]*(?=\")")  # what stands before the name of a member of a JSON object
_COLON = re.compile(r"\s*:\s*")
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
    _: KW_ONLY
    member: str | None = None  # of the answer, in which it was looked for; null: in the whole answer


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
        members = section.members or (None,) * len(section.lines)
        for values, member in zip(section.lines, members, strict=True):
            verdict = _verdict(section, values)
            paired = verdict == "good" and values.get("expected") is not None and values.get("got") is not None
            lines.append(Line(values, verdict, pair if paired else None, member=member))
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
    """The answer in spans: items, keywords and quotes of the explanation are marked where they stand in it, those of a
    member only there.

    Of a very long answer these are its beginning, and stretches around the first places of marks that it lacks.
    """
    parts = _parts(output, sections)
    head = cut_place(output, MOST_TEXT)
    spans = _marked_between(output, parts, 0, end=head)
    end = head
    for start, stop in _later_places(output, head, parts):
        spans += [Span("", None, start - end), *_marked_between(output, parts, start, end=stop)]
        end = stop
    spans.append(Span("", None, len(output) - end))
    return [span for span in spans if span.text or span.left_out]


@dataclass(frozen=True)
class _Part:
    """A part of an answer, and what is marked in it: texts with their classes."""

    start: int
    end: int
    marks: Mapping[str, str]


def _parts(output: str, sections: Sequence[MarkedSection]) -> list[_Part]:
    """The whole answer in parts: members of their own marks, and what is between them."""
    every = _marks(sections)
    everywhere = every.pop(None, {})
    found = []
    end = 0
    for name, start, stop in _members(output) if every else ():
        if name in every:
            found += [_Part(end, start, everywhere), _Part(start, stop, {**everywhere, **every[name]})]
            end = stop
    return [*found, _Part(end, len(output), everywhere)]


def _members(text: str) -> list[tuple[str, int, int]]:
    """(name, start and end of the value) of the members of the first JSON object in a text, as far as it is one."""
    found = []
    reader = json.JSONDecoder(strict=False)
    at = text.find("{")
    try:
        while at >= 0 and (before := _MEMBER.match(text, at)):
            name, at = reader.raw_decode(text, before.end())
            if (colon := _COLON.match(text, at)) is None:
                break
            _, at = reader.raw_decode(text, colon.end())
            found.append((name, colon.end(), at))
    except (ValueError, RecursionError):  # it breaks off here
        pass
    return found


def _marks(sections: Sequence[MarkedSection]) -> dict[str | None, dict[str, str]]:
    """What stands in the members of the answer, and the class that it is marked with."""
    marks: dict[str | None, dict[str, str]] = {}
    count = 0
    for section in sections:
        for line in section.lines:
            found = next((line.values[name] for name in _QUOTED if isinstance(line.values.get(name), str)), None)
            if not found or not found.strip() or line.verdict is None or count >= MOST_MARKS:
                continue
            mark = line.verdict if line.pair is None else f"pair{line.pair % PAIR_COLOURS}"
            mine = marks.setdefault(line.member, {})
            count += found not in mine
            mine.setdefault(found, mark)
    return marks


def _marked_between(output: str, parts: Sequence[_Part], start: int, *, end: int) -> list[Span]:
    """The spans from one place of the answer to another."""
    spans = []
    for part in parts:
        first, last = max(start, part.start), min(end, part.end)
        if first < last:
            spans += _marked(output[first:last], part.marks)
    return spans


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


def _later_places(output: str, head: int, parts: Sequence[_Part]) -> list[tuple[int, int]]:
    """(start, end) of the stretches behind the head that hold the first place of a mark that is not in the head."""
    lower = output.lower()
    if len(lower) != len(output):  # letters whose lower case is two: places would not be the same
        lower = output
    found: list[tuple[int, int]] = []
    for one in {mark for part in parts for mark in part.marks}:
        places = (lower.find(one.lower(), part.start, part.end) for part in parts if one in part.marks)
        at = min((place for place in places if place >= 0), default=-1)
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
