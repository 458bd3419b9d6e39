"""What the running Python says of every code point, as tables for compiled loops: they agree with `str` and `re` by
construction, whatever Unicode version that Python has."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Flags, Ints

SPACE, DIGIT, WORD = 1, 2, 4  # kinds of a character, as bits
_CLASSES = ((SPACE, r"\s+"), (DIGIT, r"\d+"), (WORD, r"\w+"))
_COUNT = 0x110000

Marks = npt.NDArray[np.uint32]
MOST_LETTERS = 32  # bits of a mark

# Their lower case depends on what stands around them, or is two characters; a table cannot have that.
UNTABLED = "\u03a3\u0130"


def _text(points: npt.NDArray[np.uint32]) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _every() -> str:
    """All code points as one string."""
    return _text(np.arange(_COUNT, dtype=np.uint32))


@lru_cache(maxsize=1)
def lower_table() -> Ints:
    """The lower case of every code point; those of UNTABLED stand for themselves."""
    points = np.arange(_COUNT, dtype=np.uint32)
    own = [ord(character) for character in UNTABLED]
    points[own] = ord("-")
    lowered = np.frombuffer(_text(points).lower().encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int32)
    lowered[own] = own
    return lowered


@lru_cache(maxsize=1)
def kind_table() -> Bytes:
    r"""SPACE, DIGIT and WORD of every code point: `\s`, `\d` and `\w` of `re`."""
    kinds = np.zeros(_COUNT, np.uint8)
    text = _every()
    for kind, pattern in _CLASSES:
        for found in re.finditer(pattern, text):
            kinds[found.start() : found.end()] |= kind
    return kinds


@lru_cache(maxsize=1)
def letter_table() -> Flags:
    """Which code points are letters or digits: `isalnum` of `str`."""
    return np.fromiter((chr(point).isalnum() for point in range(_COUNT)), np.bool_, _COUNT)


@lru_cache(maxsize=16)
def letter_marks(word: str) -> Marks:
    """Bit i of a code point's mark: `re` takes it for letter i of the word when case does not count; MOST_LETTERS."""
    marks = np.zeros(_COUNT, np.uint32)
    for near in re.findall(f"(?i)[{re.escape(word)}]", _every()):
        for i, letter in enumerate(word):
            if re.fullmatch(f"(?i){re.escape(letter)}", near):
                marks[ord(near)] |= 1 << i
    return marks
