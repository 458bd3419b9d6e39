"""What the running Python says of every code point, as tables for compiled loops: they agree with `str` and `re` by
construction, whatever Unicode version that Python has."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Flags, Ints

SPACE, DIGIT, WORD = 1, 2, 4  # kinds of a character, as bits
_CLASSES = ((SPACE, r"\s+"), (DIGIT, r"\d+"), (WORD, r"\w+"))
_COUNT = 0x110000
_USED = 0x40000  # above stand only marks that select variants, tags and private use: no kind, no script

_BLOCK = 256  # code points that are looked at together

Marks = npt.NDArray[np.uint32]
MOST_LETTERS = 32  # bits of a mark

# Their lower case depends on what stands around them, or is two characters; a table cannot have that.
UNTABLED = "\u03a3\u0130"


def _text(points: npt.NDArray[np.uint32]) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _every() -> str:
    """The code points that any table says something of, as one string."""
    return _text(np.arange(_USED, dtype=np.uint32))


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


@lru_cache(maxsize=1)
def fold_table() -> Ints:
    """NFKC and casefold of every code point; -1 where that is not one character, or depends on what stands before.

    A text whose characters all have one is folded character by character: none begins with one that could be composed
    with its neighbour.
    """
    every = _every()
    blocks = [every[at : at + _BLOCK] for at in range(0, _USED, _BLOCK)]
    # Whole blocks of most ideographs, which stand for themselves, are not looked at character by character.
    changing = "".join(block for block in blocks if not _is_folded(block))
    composed = {
        parts[1]
        for parts in (unicodedata.decomposition(character).split() for character in changing)
        if len(parts) == 2 and not parts[0].startswith("<")
    }
    joins = {chr(int(point, 16)) for point in composed} | set(
        map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)))
    )
    table = np.full(_COUNT, -1, np.int32)
    table[:_USED] = np.arange(_USED)
    for character in changing:
        first = unicodedata.normalize("NFKD", character)[0]
        folded = unicodedata.normalize("NFKC", character).casefold()
        alone = len(folded) == 1 and first not in joins and not unicodedata.combining(first)
        table[ord(character)] = ord(folded) if alone else -1
    table[[ord(character) for character in joins]] = -1
    return table


def _is_folded(block: str) -> bool:
    """Whether characters stand for themselves in NFKC and casefold, and none is combined with what stands before it."""
    folded = unicodedata.normalize("NFKD", block) == block == block.casefold()
    return folded and not any(map(unicodedata.combining, block))


# --- scripts ----------------------------------------------------------------------------------------------------

# Script=Han: ideographs, their repetition marks, numerals and radicals.
HAN = (
    "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufa6d\ufa70-\ufad9\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
# Letters, marks and the length mark of Hiragana and Katakana; the middle dot is punctuation.
KANA = (
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\U0001aff0-\U0001affe\U0001b000-\U0001b167"
)


def members(characters: str) -> Flags:
    """Which code points a character class of `re` has, given what stands between its brackets."""
    flags: Flags = np.zeros(_COUNT, np.bool_)
    for found in re.finditer(f"[{characters}]+", _every()):
        flags[found.start() : found.end()] = True
    return flags


@lru_cache(maxsize=1)
def categories() -> npt.NDArray[np.bytes_]:
    """The first letter of Unicode's general category of every code point below _USED, C above."""
    out = np.full(_COUNT, b"C", "S1")
    out[:_USED] = np.frombuffer("".join(map(unicodedata.category, _every())).encode("ascii"), "S1")[::2]
    return out


@lru_cache(maxsize=1)
def punctuation() -> Flags:
    """Unicode punctuation and the ASCII symbols of `string.punctuation`."""
    flags: Flags = categories() == b"P"
    flags[[ord(character) for character in string.punctuation]] = True
    return flags


# Scripts whose name is more than one word; the others are the first word of the names of their letters.
_LONG_NAMES = (
    "Bassa Vah", "Caucasian Albanian", "Dives Akuru", "Gunjala Gondi", "Hanifi Rohingya",
    "Imperial Aramaic", "Inscriptional Pahlavi", "Inscriptional Parthian", "Kayah Li", "Khitan Small", "Linear A",
    "Linear B", "Masaram Gondi", "Meetei Mayek", "Mende Kikakui", "Meroitic Cursive", "Meroitic Hieroglyphic",
    "New Tai Lue", "Nyiakeng Puachue Hmong", "Ol Chiki", "Old Hungarian", "Old Italic", "Old North Arabian",
    "Old Permic", "Old Persian", "Old Sogdian", "Old South Arabian", "Old Turkic", "Old Uyghur", "Pahawh Hmong",
    "Pau Cin Hau", "Psalter Pahlavi", "Sora Sompeng", "Syloti Nagri", "Tai Le", "Tai Tham", "Tai Viet",
    "Warang Citi", "Zanabazar Square",
)  # fmt: skip
# Letters that no script has to itself, by the first word of their names.
_NO_SCRIPT = frozenset(
    ("MATHEMATICAL", "MODIFIER", "DOUBLE", "SCRIPT", "BLACK", "TURNED", "MICRO", "ALEF", "BET", "GIMEL", "DALET",
     "INFORMATION", "EULER", "PLANCK", "VEDIC", "SQUARE", "VERTICAL", "MASU", "CARON", "IDEOGRAPHIC")
)  # fmt: skip
_SAME_SCRIPT = {
    "Feminine": "Latin", "Masculine": "Latin", "Superscript": "Latin", "Kelvin": "Latin", "Angstrom": "Latin",
    "Roman": "Latin", "Ohm": "Greek", "Phags": "Phags-pa", "Cypro": "Cypro-Minoan", "Old": "Han",
}  # fmt: skip
_LONG_FIRST = {name.split()[0].upper() for name in _LONG_NAMES}
_FIRST_WORD = re.compile("(?:FULLWIDTH |HALFWIDTH )?(([A-Z]+).*)")


def _script_of(name: str) -> str | None:
    """The script of a letter by its name."""
    found = _FIRST_WORD.match(name)
    if found is None or found[2] in _NO_SCRIPT:
        return None
    if found[2] in _LONG_FIRST:
        for script in _LONG_NAMES:
            if found[1].startswith(script.upper()):
                return script
    first = found[2].capitalize()
    return _SAME_SCRIPT.get(first, first)


@lru_cache(maxsize=1)
def scripts() -> tuple[Bytes, tuple[str, ...]]:
    """(the number of the script of every letter, 0 for all else; the names by number). Kana is one script."""
    letters = categories() == b"L"
    kana, han = members(KANA), members(HAN)
    hangul = members("\uac00-\ud7a3")
    names = ["", "Han", "Kana", "Hangul"]
    numbers = np.zeros(_COUNT, np.uint8)
    numbers[letters & han], numbers[letters & kana], numbers[hangul] = 1, 2, 3
    known = {name: number for number, name in enumerate(names)}
    for point in np.flatnonzero(letters & (numbers == 0)).tolist():
        if script := _script_of(unicodedata.name(chr(point), "")):
            numbers[point] = known.setdefault(script, len(known))
    return numbers, tuple(known)
