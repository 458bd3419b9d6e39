"""Texts of users in HTML: nothing in them is markup, moves the cursor, turns the direction or hides."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# Controls but tab and newline, characters that turn the direction of what follows, separators that break lines
# unseen, and halves of surrogate pairs, which no UTF-8 file can hold.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def _code(found: re.Match[str]) -> str:
    return f"U+{ord(found[0]):04X}"


def cut(text: str, most: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= most else text[: max(1, most - 1)] + "…"


def plain_text(text: str, most: int = 200) -> str:
    """A text for an attribute or a tooltip: cut, unseen characters by their code."""
    return _UNSEEN.sub(lambda found: f"[{_code(found)}]", cut(text, most))


def shown_text(text: str) -> Markup:
    """A text as markup: escaped, unseen characters as small signs with their code."""
    return Markup(_UNSEEN.sub(lambda found: f'<span class="code">{_code(found)}</span>', str(escape(text))))
