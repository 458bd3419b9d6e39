"""English texts with every figure in plain decimals, so that phrases with numbers can be compared as texts."""

from __future__ import annotations

import re
import unicodedata

from rageval_batch.columnar.values.figures import point_format
from rageval_batch.columnar.values.normal import FRACTION_SIGNS, WHITE_SPACE
from rageval_batch.columnar.values.numbers import figure_scale
from rageval_batch.columnar.values.numerals import EXACT, arabic

_CURRENCY = "[$€£¥]?"
_MINUS = re.compile(rf"−[ \t]?(?={_CURRENCY}[0-9])|\bminus[ \t]+(?={_CURRENCY}[0-9])")
_COMPARISON = re.compile(
    rf"\b(?:(?P<more>more than|greater than|over|above)|less than|fewer than|under|below)[ \t]+(?=-?{_CURRENCY}[0-9])"
)
_FIGURE = re.compile(
    r"(?<![0-9a-z_.,])(?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*(?:\u066c[0-9]+)*)(?:\.[0-9]+)?(?![0-9_]|[.,][0-9])"
)
# Words, no zeros: 3200000 would be found in 3200000000.
_SCALES = {
    2: " hundred", 3: " thousand", 5: " lakh", 6: " million", 7: " crore", 9: " billion", 12: " trillion",
    15: " quadrillion",
}  # fmt: skip
_SPACES = re.compile(f"[{WHITE_SPACE}]+")
# Signs of fractions while figures are read, so that 5½ is not taken for 51: no text has lone surrogates.
_MARKS = {ord(sign): chr(0xDC00 + place) for place, sign in enumerate(FRACTION_SIGNS)}
_FRACTION = re.compile(f"(?P<behind_figure>(?<=[0-9]) ?)?(?P<mark>[{''.join(_MARKS.values())}])")
_BEFORE_PERCENT = re.compile("(?<=[0-9]) (?=%)")


def en_numeric(text: str) -> str:
    """Lower case, comparison words before figures as signs, figures in plain decimals, one space for white space.

    1,250.50, 1 250.5 and 1250.5 are one text, and so are $3.2bn and $3.2 billion, 12 % and 12%, minus 5 and −5, 5½ and
    5 1⁄2.
    """
    text = _SPACES.sub(" ", unicodedata.normalize("NFKC", text.translate(_MARKS)).lower()).strip()
    text = _MINUS.sub("-", text)
    text = _COMPARISON.sub(lambda m: ">" if m["more"] else "<", text)
    text = _FRACTION.sub(_as_figures, _plain_figures(point_format(text, "point")))
    return _BEFORE_PERCENT.sub("", text)


def _as_figures(m: re.Match[str]) -> str:
    """½ as 1⁄2, with one blank between it and a figure before it."""
    sign = FRACTION_SIGNS[ord(m["mark"]) - 0xDC00]
    return f"{'' if m['behind_figure'] is None else ' '}{unicodedata.normalize('NFKC', sign)}"


def _plain_figures(text: str) -> str:
    """A text with each figure in plain decimals and one word for its scale; codes such as 007 and 1.2.3 stay."""
    pieces: list[str] = []
    at = 0
    while (m := _FIGURE.search(text, at)) is not None:
        power, end = figure_scale(text, m.start(), m.end())
        pieces += [text[at : m.start()], f"{EXACT.normalize(arabic(m[0])):f}", _SCALES.get(power, "")]
        at = end
    return "".join([*pieces, text[at:]])
