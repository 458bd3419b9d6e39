"""Texts of users in HTML: nothing in them is markup, moves the cursor, turns the direction or hides."""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup, escape

from rageval_batch.report.cells import format_value
from rageval_batch.report.graphemes import cut_place
from rageval_batch.report.safe_text import is_safe, visible_name

_KEPT = frozenset("\n\t")
_LONG_NAME = 18
_BETWEEN_NAMES = " · "
_NO_REFERENCE = frozenset((*range(0x80, 0xA0), *range(0xD800, 0xE000)))
_JSON = re.compile(r"""\s*(?:\{|\[\s*["{\[])""")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_LETTERS = {
    "zh": re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"),
    "ja": re.compile("[\u3041-\u30fa\uff66-\uff9f]"),
    "ko": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0600-\u06ff\u0750-\u077f]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
}
_LATIN_SHARE = 4  # times as many Latin letters as others let a text be English: names of fields and files
_LITERAL = re.compile(r"""(?<!\w)'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*""")


def number_text(value: float | None) -> str:
    """A number for people, with a minus sign in place of a hyphen."""
    return format_value(value).replace("-", "−")


def cut(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis; a name of nothing but spaces in quotation marks, to be seen."""
    text = visible_name(text)
    return text if len(text) <= most else text[: cut_place(text, max(1, most - 1)) or 1] + "…"


def has_codes(text: str) -> bool:
    """Whether characters of the text are shown by their code."""
    return not text.isprintable() and not all(c in _KEPT or is_safe(c) for c in text)


def _with_codes(text: str, form: str) -> str:
    """The text with the code of every character that cannot be shown as it is."""
    if text.isprintable():
        return text
    return "".join(c if c in _KEPT or is_safe(c) else form.format(ord(c)) for c in text)


def plain_text(text: str, most: int = 200) -> str:
    """A text for an attribute or a tooltip: cut, unseen characters by their code."""
    return _with_codes(cut(text, most), "[U+{:04X}]")


def shown_text(text: str) -> Markup:
    """A text as markup: escaped, unseen characters as small signs with their code."""
    return Markup(_with_codes(str(escape(text)), '<span class="code">U+{:04X}</span>'))


def shown_name(text: str) -> Markup:
    """A name as markup, or several between dots; a long one may be broken behind its underscores, which browsers do
    not break at."""
    return Markup(_BETWEEN_NAMES).join(_breakable(name) for name in text.split(_BETWEEN_NAMES))


def _breakable(name: str) -> Markup:
    shown = shown_text(name)
    return Markup(str(shown).replace("_", "_<wbr>")) if len(name) > _LONG_NAME and " " not in name else shown


def attribute_value(text: str) -> Markup:
    """A text that a script reads from an attribute as it is; NUL, which HTML cannot hold, by its code."""
    escaped = str(escape(text)).replace("\0", "U+0000").replace("\r", "&#13;")
    if escaped.isprintable():
        return Markup(escaped)
    # References to C1 controls mean other characters, and a half of a surrogate pair is none.
    return Markup("".join(c if is_safe(c) or ord(c) in _NO_REFERENCE else f"&#{ord(c)};" for c in escaped))


def shown_sql(query: str) -> str:
    """A query in which literals spell what cannot be shown by its code: the same query for the database."""
    return query if query.isprintable() else _LITERAL.sub(lambda found: _spelled(found[0]), query)


def _spelled(token: str) -> str:
    """A literal of SQL as pieces that can be shown, and the codes between them; other tokens as they are."""
    if token[0] != "'" or not has_codes(token):
        return token
    parts, piece = [], ""
    for c in token[1:-1]:
        if c in _KEPT or is_safe(c):
            piece += c
            continue
        parts += [f"'{piece}'"] if piece else []
        parts.append(f"chr({ord(c)})")
        piece = ""
    parts += [f"'{piece}'"] if piece else []
    return f"({' || '.join(parts)})"


def direction(text: str) -> str:
    """How the lines of a text run: as each begins; of JSON from left to right, whatever its strings are written in."""
    return "ltr" if _JSON.match(text) else "auto"


def language(text: str) -> str | None:
    """The language that glyphs and voices of a text are chosen by, as far as its letters tell; null where they are
    mostly Latin. Han letters are Chinese, of one script or the other, where no kana stand beside them."""
    if text.isascii():
        return None
    counts = {name: len(letters.findall(text)) for name, letters in _LETTERS.items()}
    if counts["ja"]:
        counts["ja"] += counts.pop("zh")
    name = max(counts, key=lambda one: counts[one])
    if counts[name] * _LATIN_SHARE <= len(_LATIN.findall(text)):
        return None
    return _script_of_chinese(text) if name == "zh" else name


def _script_of_chinese(text: str) -> str:
    """Which letters a Chinese text is written in, by the sets of characters of Taiwan and of China; zh where both have
    as many of them."""
    letters = set(_LETTERS["zh"].findall(text))
    traditional, simplified = (sum(map(_has(codec), letters)) for codec in ("big5", "gb2312"))
    return "zh" if traditional == simplified else "zh-Hant" if traditional > simplified else "zh-Hans"


def _has(codec: str) -> Callable[[str], bool]:
    return lambda letter: bool(letter.encode(codec, "ignore"))
