"""Booleans, names and phrases in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.computed_once import computed_once
from rageval_batch.columnar.strings import Flags
from rageval_batch.columnar.values.lexicon import (
    CONDITIONS,
    CONNECTIVES,
    FALSE_WORDS,
    NEGATIONS,
    NEUTRAL_WORDS,
    NO_SURNAMES,
    NOT_OF_THE_STATE,
    TRUE_WORDS,
    longest_first,
)
from rageval_batch.columnar.values.normal import HAN, WHITE_SPACE, Normal, phrase_key, squash

_ELLIPSIS = re.compile(r"…+|\.{3,}")


_KANA = "ぁ-んァ-ヶー"


def _boolean_word(word: str) -> str:
    if word in {"国有", "國有"}:
        return f"(?<![{NOT_OF_THE_STATE}]){word}"
    if word == "はい":
        return f"(?<![{_KANA}{HAN}])はい(?=です|でし|そう|[^{_KANA}{HAN}]|\\Z)"
    if not _SPELLED.match(word):
        return word
    other = r"(?!\.?[ \t]*[0-9])(?![ \t]+(?:more|less|fewer|later|earlier|greater)[ \t]+than)" if word == "no" else ""
    return rf"(?<![a-zа-яё0-9_]){word}(?![a-zа-яё0-9_]){other}"  # No. 5, № 5, no later than


_SPELLED = re.compile("[a-zа-яё]")
_FIRST = "".join(sorted({word[0] for word in (*TRUE_WORDS, *FALSE_WORDS, *NEUTRAL_WORDS)}))
_FIRST_OF_CONNECTIVES = "".join(sorted({word[0] for word in CONNECTIVES}))
_BOOLEAN = re.compile(
    rf"(?P<either>(?P<verb>[{HAN}])[不没沒](?P=verb))"  # 是不是, 能不能
    rf"|(?=[{_FIRST_OF_CONNECTIVES}])(?:{'|'.join(f'{word}(?!否)' for word in CONNECTIVES)})"
    rf"|(?=[{_FIRST}])(?:{'|'.join(map(_boolean_word, longest_first((*TRUE_WORDS, *FALSE_WORDS, *NEUTRAL_WORDS))))})"
    rf"|(?P<negation>{''.join(f'(?<!{word})' for word in CONDITIONS)}[{NEGATIONS}])"
)
_TRUE, _FALSE = frozenset(TRUE_WORDS), frozenset(FALSE_WORDS)


class Boolean(NamedTuple):
    """A boolean and the span of the word that says it."""

    value: bool
    start: int
    end: int


def first_boolean(given: Normal) -> Boolean | None:
    """The first boolean word of a text, the longest where several begin; None without any."""
    for m in _BOOLEAN.finditer(given.text.lower()):
        if m[0] in _TRUE or m[0] in _FALSE or m["negation"]:
            end = min(m.end(), len(given.text))  # lower case may be longer, as of İ
            return Boolean(m[0] in _TRUE, *given.span(min(m.start(), end - 1), end))
    return None


class Name(NamedTuple):
    """A name, all ways of reading it, its span, and whether it stands in quotation marks."""

    text: str
    readings: tuple[str, ...]
    start: int
    end: int
    quoted: bool


_MARKS = (("「", "」"), ("『", "』"), ("“", "”"), ('"', '"'))
_QUOTED = tuple(re.compile(f"{opening}[^{opening}{closing}\n\r]*{closing}") for opening, closing in _MARKS)
_NO_SURNAME = re.compile("|".join(NO_SURNAMES))
_SHORTEST, _LONGEST = 2, 12  # characters of a name in quotation marks
_PERHAPS_QUOTED = "|".join(
    f"[{opening}][^{opening}{closing}\n\r]{{{_SHORTEST},{_LONGEST}}}[{closing}]"
    for opening, closing in (*_MARKS[:-1], ('"＂', '"＂'))
)
_GIVEN_NAME = 2  # characters at most
_OTHER_IN_TEXTS = "參壹貳"  # what the normal form has for 参, 壱 and 弐


class NameReader:
    """Finds names in quotation marks and with titles."""

    def __init__(self, titles: Iterable[str], surnames: Iterable[str]) -> None:
        titles = longest_first(titles)
        han = [title for title in titles if not title.isascii()]
        self._title = re.compile("|".join(map(re.escape, han)))
        self._perhaps = re.compile("|".join(('[「『“"]', *map(re.escape, titles))))
        self._latin = [
            (title, re.compile(rf"(?<![A-Za-z]){re.escape(title)}[ \t]*(?P<name>[^\W\d_][^\W_]*)"))
            for title in titles
            if title.isascii()
        ]
        self._surnames = frozenset(surnames)
        self._widest = max(map(len, self._surnames))
        # For RE2: a text whose letters, Han and Kana are in NFKC, and that it does not match, has no names.
        spelled = dict.fromkeys(max(_runs_of_letters(title), key=len, default="") for title in titles)
        self.perhaps_named = "|".join((_PERHAPS_QUOTED, *spelled))
        self._perhaps_titled = re.compile("|".join(spelled))

    def find(self, given: Normal) -> list[Name]:
        """The names of a text in its order."""
        if self._perhaps.search(given.text) is None:
            return []
        found = [*self._quoted(given), *self._titled(given), *self._with_latin_title(given)]
        return sorted(found, key=lambda name: (name.start, name.end))

    def find_in_raw(self, raw: str) -> list[Name] | None:
        """The names of a text whose letters, Han and Kana are in NFKC; None where a title may stand there, which is
        looked for in the normal text."""
        if self._perhaps_titled.search(raw) is not None:
            return None
        found = self._quoted(Normal(raw, raw.replace("＂", '"')))
        return sorted(found, key=lambda name: (name.start, name.end))

    def _quoted(self, given: Normal) -> Iterable[Name]:
        for pattern in _QUOTED:
            for m in pattern.finditer(given.text):
                start, end = given.span(*m.span())
                inner = given.raw[start + 1 : end - 1]
                if _SHORTEST <= len(inner) <= _LONGEST:
                    yield Name(inner, (inner,), start, end=end, quoted=True)

    def _titled(self, given: Normal) -> Iterable[Name]:
        text = given.text
        blocked: set[int] | None = None
        for m in self._title.finditer(text):
            at, end = m.span()
            if blocked is None:
                blocked = {k for word in _NO_SURNAME.finditer(text) for k in range(*word.span())}
            starts = [start for start in self._starts(text, at) if start not in blocked]
            if starts:  # the nearest surname first; and the person without the title
                readings = [text[start:end] for start in starts] + [text[s:at] for s in starts if at - s > 1]
                yield Name(readings[0], tuple(readings), *given.span(starts[0], end), quoted=False)

    def _starts(self, text: str, title: int) -> list[int]:
        """Where a surname with at most two Han characters after it could begin, the nearest first."""
        before = re.search(f"[{HAN}]*\\Z", text[max(0, title - self._widest - _GIVEN_NAME) : title])
        reach = len(before[0]) if before else 0
        return [
            title - back
            for back in range(1, reach + 1)
            if any(
                text[title - back : title - back + wide] in self._surnames
                for wide in range(max(1, back - _GIVEN_NAME), min(back, self._widest) + 1)
            )
        ]

    def _with_latin_title(self, given: Normal) -> Iterable[Name]:
        for title, pattern in self._latin:
            if title not in given.text:
                continue
            for m in pattern.finditer(given.text):
                if m["name"][0].isupper():
                    yield Name(m["name"], (m["name"],), *given.span(*m.span()), quoted=False)


def _runs_of_letters(title: str) -> list[str]:
    """What of a title a text has as it is, whatever its normal form makes of signs and numerals."""
    return "".join(letter if letter.isalpha() and letter not in _OTHER_IN_TEXTS else " " for letter in title).split()


_LONGEST_PATTERN = 2_000  # characters: RE2 refuses those that are very long


class Phrases:
    """A list of phrases that may stand in a text in any spelling of white space, case and width."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = tuple(dict.fromkeys(map(phrase_key, phrases)))

    def found(self, folded: pa.Array) -> Flags:
        """Which texts in NFKC and casefold have any of the phrases."""
        out: Flags = np.zeros(len(folded), np.bool_)
        for pattern in self._patterns:
            out |= pc.match_substring_regex(folded, pattern).to_numpy(zero_copy_only=False)
        return out

    @computed_once
    def _patterns(self) -> list[str]:
        """The phrases in any spelling of white space and apostrophes, for RE2."""
        patterns = [""]
        for phrase in self._phrases:
            spelled = re.escape(phrase).replace("\\ ", f"[{WHITE_SPACE}]+").replace("'", "['’]")
            if patterns[-1] and len(patterns[-1]) + len(spelled) > _LONGEST_PATTERN:
                patterns.append("")
            patterns[-1] += f"{'|' if patterns[-1] else ''}{spelled}"
        return patterns if self._phrases else []

    def first(self, text: str) -> str | None:
        """The first listed phrase that the text has, in plain spelling."""
        spelled = phrase_key(text)
        return next((phrase for phrase in self._phrases if phrase in spelled), None)


def quote_parts(quote: str) -> tuple[str, ...]:
    """The squashed parts of a quote between its ellipses; none where it says nothing."""
    return tuple(part for part in map(squash, _ELLIPSIS.split(quote)) if part)


def holds_parts(squashed: str, parts: Iterable[str]) -> bool:
    """Whether the parts stand in a squashed text, one behind the other."""
    at = 0
    for part in parts:
        found = squashed.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
