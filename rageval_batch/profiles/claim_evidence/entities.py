"""Names of things looked for in texts: NFKC, casefolded, whole words where the script has words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import kernels
from rageval_batch.columnar.kernels.entities import ASK, ITSELF, find_words, fold
from rageval_batch.columnar.strings import (
    LARGE_STRING,
    Bytes,
    Flags,
    Ints,
    Offsets,
    Strings,
    bounds_of,
    from_arrow,
    from_list,
)
from rageval_batch.columnar.text import nfkc_casefold

# Blocks of scripts that are written without spaces, and of Hangul, whose particles follow a word directly.
_UNSPACED = (
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF), (0x20000, 0x3FFFF),  # Han
    (0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F), (0x1AFF0, 0x1B16F),  # Kana
    (0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97F), (0xAC00, 0xD7FF), (0xFFA0, 0xFFDC),  # Hangul
    (0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x1780, 0x17FF),  # Thai, Lao, Khmer
    (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F),  # Myanmar
)  # fmt: skip
_WORD_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd"})
_TABLE = 0x20000  # planes 0 and 1; behind them are Han and, from 2F800, characters that are rare enough to ask Python
_SELECTORS = range(0xE0100, 0xE01F0)  # the only marks behind the table
_UNCHANGED = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xAC00, 0xD7A4))  # Han and Hangul syllables


def _letter_or_digit(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "L" or category == "Nd"


@lru_cache(maxsize=1)
def _joins() -> Flags:
    """For each code point, whether it makes one word with a letter or digit beside it."""
    out = np.zeros(_SELECTORS.stop, np.bool_)
    for part in (range(_TABLE), _SELECTORS):
        out[part.start : part.stop] = [unicodedata.category(chr(point)) in _WORD_CATEGORIES for point in part]
    for first, last in _UNSPACED:
        out[first : last + 1] = False
    return out


class _Folding(NamedTuple):
    places: Ints
    pool: Bytes


@lru_cache(maxsize=1)
def _folding() -> _Folding:
    """What NFKC and casefold make of each code point by itself; ASK where that depends on its neighbours.

    It does not where the full decomposition begins with a starter that no composition has in second place.
    """
    points = [point for part in _folded_points() for point in part]
    second = _second_places(points)
    places = np.full(_TABLE, ITSELF, np.int32)
    pool = bytearray()
    for point in points:
        character = chr(point)
        first = unicodedata.normalize("NFKD", character)[0]
        folded = nfkc_casefold(character)
        if unicodedata.combining(first) or first in second:
            places[point] = ASK
        elif folded != character:
            text = folded.encode()
            places[point] = len(pool) if len(text) <= len(character.encode()) else ASK
            if places[point] >= 0:
                pool += bytes([len(text)]) + text
    places[0xD800:0xE000] = ASK
    return _Folding(places, np.frombuffer(bytes(pool) or b"\0", np.uint8))


def _folded_points() -> Iterable[range]:
    """The code points of the table of which something may become another; no surrogates."""
    at = 0x80
    for part in (*_UNCHANGED, range(0xD800, 0xF900), range(_TABLE, _TABLE)):
        yield range(at, part.start)
        at = part.stop


def _second_places(points: Iterable[int]) -> frozenset[str]:
    """Characters that may be joined to the one before: second in a canonical decomposition, or a later Jamo."""
    out = {chr(point) for point in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for point in points:
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            out.add(chr(int(parts[1], 16)))
    return frozenset(out)


def folded(column: Strings) -> Strings:
    """Every string in NFKC, then casefolded, exactly as Python does it; empty gives empty."""
    data, bounds, left = fold(column.data, column.offsets, *_folding())
    done = Strings(data, bounds)
    if not left.any():
        return done
    rest = column.to_arrow().filter(pa.array(left)).to_pylist()
    return from_arrow(pc.replace_with_mask(done.to_arrow(), left, pa.array(map(nfkc_casefold, rest), LARGE_STRING)))


class EntityIndex:
    """The entities that each question expects, ready to be looked for."""

    def __init__(self, expected: Sequence[Sequence[str]]) -> None:
        """Blank entities are none; one that is listed twice counts twice."""
        owner = np.repeat(np.arange(len(expected)), [len(entities) for entities in expected])
        flat = from_list([nfkc_casefold(entity) for entities in expected for entity in entities])
        starts, ends = kernels.strip(flat.data, flat.starts, flat.ends)
        there = starts < ends
        self._words = kernels.cut(flat.data, starts[there], ends[there])
        self.names: list[str] = self._words.to_arrow().to_pylist()
        self._before = np.array([_letter_or_digit(name[0]) for name in self.names], np.bool_)
        self._behind = np.array([_letter_or_digit(name[-1]) for name in self.names], np.bool_)
        self.counts = np.bincount(owner[there], minlength=len(expected)).astype(np.int32)
        self.bounds = bounds_of(self.counts)

    def found(self, question: Ints, texts: Strings, text_bounds: Offsets) -> tuple[Flags, Offsets]:
        """(found, bounds of rows) of the entities of each row's question in the row's texts, each by itself."""
        hay = folded(texts)
        return find_words(
            hay.data, hay.offsets, text_bounds, question, self._words.data, self._words.offsets, self.bounds,
            self._before, self._behind, _joins(),
        )  # fmt: skip
