"""Texts as values are read in them: NFKC with a way back to the raw text, squashing, sentences."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

from rageval_batch.columnar.computed_once import computed_once
from rageval_batch.dataclass import dataclass

MASK = "\x00"  # stands where a character says nothing about a value
HAN = "\u4e00-\u9fff\u3400-\u4dbf"

# Unicode's White_Space property; Python's own classes also have U+001C to U+001F.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACES = re.compile(f"[{WHITE_SPACE}]+")
_BETWEEN_DIGITS = re.compile("[0-9０-９]，[0-9０-９]")
_WIDE_COMMA = re.compile("(?<=[０-９])，(?=[０-９])")
# 1，000 and 42，500; 100，200，300 is a list, and so is what follows 分别, a page, a day or a letter.
_WIDE_THOUSANDS = re.compile(
    r"(?:(?<![0-9A-Za-z第０-９.．,，:：/])(?<![0-9][-~])(?<!第 )(?<!p\. )(?<!page )(?<!pages )(?<!No\. )"
    r"|(?<=RMB)|(?<=CNY)|(?<=USD))"
    r"(?:[1-9][0-9]{0,2}(?=(?:，[0-9]{3})*，0)|[1-9][0-9]?)(?:，[0-9]{3})+(?![0-9])(?!，[0-9])"
)
_EACH = re.compile("(?:分别|分別)[^，。；\n]{0,4}\\Z")
_EACH_REACH = 6  # characters in which 分别 and what may follow it have room
THOUSANDS = (
    "\u066c"  # between digits it separates thousands in every language: what 1'250 and 1,00,000 are written with
)
_APOSTROPHES = re.compile(r"(?<![0-9.,])(?<![0-9]['’])[1-9][0-9]{0,2}(?:['’][0-9]{3})+(?!['’]?[0-9])")  # 1'250'000
_UNDERSCORES = re.compile(r"(?<![0-9A-Za-z_.,])[1-9][0-9]{0,2}(?:_[0-9]{3})+(?![0-9A-Za-z_])")  # 1_250_000
_THREE = re.compile("参(?=[拾十百佰万萬亿億]|[千仟](?!克))|(?<=拾)参")  # 参拾万円, 弐拾参; 参加 is no number
FRACTION_SIGNS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_MIXED_NUMBER = re.compile(rf"(?<=\d)(?P<gap> ?)(?P<sign>[{FRACTION_SIGNS}])")  # 2½, 2 ½
# What such signs and the blank before them are replaced with, one for one: no text has lone surrogates.
_NO_GAP, _DECIMALS = "\udc00", {sign: chr(0xDC01 + place) for place, sign in enumerate(FRACTION_SIGNS)}
_SUPERSCRIPTS, _SUBSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"
_RAISED = re.compile(f"(?P<gap> ?)(?P<above>[{_SUPERSCRIPTS}]+)(?P<rest>⁄[{_SUBSCRIPTS}]+)")  # 3¹⁄₂
_LOWERED = str.maketrans(_SUPERSCRIPTS + _SUBSCRIPTS, "0123456789" * 2)
_AFTER_GAP = {str(digit): chr(0xDC20 + digit) for digit in range(10)}  # a digit with a blank before it
_NOTABLE = re.compile(f"[，参_'’⁄{FRACTION_SIGNS}]")
_SENTENCE = re.compile("[^。！？!?；;\n\r]+")


class _Forms(dict[int, str]):
    """NFKC of single characters, worked out when first met; digits of every script are those of ASCII; signs such as
    ① and ² stand for no number."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        category = unicodedata.category(character)
        if category == "Nd":
            form = str(unicodedata.decimal(character))
        else:
            form = MASK if category == "No" else unicodedata.normalize("NFKC", character)
        self[point] = form
        return form


def _fraction(sign: str) -> str:
    """½ as 0.5; a third has 28 digits."""
    numerator, denominator = unicodedata.normalize("NFKC", sign).split("\u2044")
    return str(Decimal(numerator) / Decimal(denominator))


_FORMS = _Forms(
    {ord("，"): "，"}  # it separates clauses, and thousands only between wide digits
    | {ord("壱"): "壹", ord("弐"): "貳", ord("٫"): "."}
    | {ord(sign): _fraction(sign) for sign in FRACTION_SIGNS}
    | {ord(_NO_GAP): "", ord("⅟"): "1⁄"}
    | {ord(mark): f" {digit}" for digit, mark in _AFTER_GAP.items()}
    | {ord(mark): _fraction(sign).removeprefix("0") for sign, mark in _DECIMALS.items()}
)


@dataclass(frozen=True)
class Normal:
    """A text in NFKC, character by character, that can point into the raw one."""

    raw: str
    text: str

    @property
    def in_place(self) -> bool:
        """Whether every character stands where the raw one does."""
        return len(self.raw) == len(self.text)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The raw span of a span of the normal text that is not empty."""
        if self.in_place:
            return start, end
        return self._origins[start], self._origins[end - 1] + 1

    @computed_once
    def _origins(self) -> list[int]:
        """For every character of the normal text the index of the raw one it came from."""
        return [at for at, character in enumerate(_marked(self.raw)) for _ in _FORMS[ord(character)]]


def _marked(raw: str) -> str:
    """The text with characters replaced, one for one, whose neighbours say what they are: separators of thousands, 参,
    fractions behind a figure and raised digits of fractions."""
    notable = set(_NOTABLE.findall(raw))
    if not notable:
        return raw
    if not notable.isdisjoint("'’"):
        raw = _APOSTROPHES.sub(lambda m: m[0].replace("'", THOUSANDS).replace("’", THOUSANDS), raw)
    if "参" in notable:
        raw = _THREE.sub("參", raw)
    if "_" in notable:
        raw = _UNDERSCORES.sub(lambda m: m[0].replace("_", THOUSANDS), raw)
    if not notable.isdisjoint(FRACTION_SIGNS):
        raw = _MIXED_NUMBER.sub(lambda m: _NO_GAP * len(m["gap"]) + _DECIMALS[m["sign"]], raw)
    if "⁄" in notable:
        raw = _RAISED.sub(_on_the_line, raw)
    return _narrow_commas(raw) if "，" in notable and _BETWEEN_DIGITS.search(raw) else raw


def _on_the_line(m: re.Match[str]) -> str:
    """¹⁄₂ as 1⁄2 with a blank before it."""
    above, rest = m["above"].translate(_LOWERED), m["rest"].translate(_LOWERED)
    return f"{_NO_GAP * len(m['gap'])}{_AFTER_GAP[above[0]]}{above[1:]}{rest}"


def _narrow_commas(raw: str) -> str:
    """The text with the full-width commas that separate thousands narrow."""

    def narrow(m: re.Match[str]) -> str:
        listed = _EACH.search(raw, max(0, m.start() - _EACH_REACH), m.start())
        return m[0] if listed else m[0].replace("，", ",")

    return _WIDE_THOUSANDS.sub(narrow, _WIDE_COMMA.sub(",", raw))


def normal(raw: str) -> Normal:
    """A text made ready for reading."""
    quiet = raw.isascii() and "'" not in raw and "_" not in raw  # no character of it is replaced
    return Normal(raw, raw if quiet else _marked(raw).translate(_FORMS))


def squash(text: str) -> str:
    """The text without White_Space."""
    return _SPACES.sub("", text)


def fold(text: str) -> str:
    """NFKC, squash and casefold: how entities and labels are compared."""
    return squash(unicodedata.normalize("NFKC", text)).casefold()


def phrase_key(text: str) -> str:
    """How phrases are looked up: NFKC, casefold, one kind of apostrophe, white space runs as one space."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))


def sentences(raw: str) -> list[tuple[int, int]]:
    """Spans of the raw text between sentence ends, those that are blank left out."""
    return [m.span() for m in _SENTENCE.finditer(raw) if squash(m[0])]
