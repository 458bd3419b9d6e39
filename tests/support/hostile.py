"""Texts that attack whatever shows them: terminals, spreadsheets, markup, SQL, line formats."""

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\rb",
    "\r=1+1",
    "a\nb",
    "\n=1+1",
    "\u202eabc",
    "\u2066x\u2069",
    "\u2028line",
    "\x00",
    "\x7f",
    "\x85",
    "=1+1",
    "+1",
    "-1",
    "@x",
    "\t=1",
    "＝1+1",
    " =1+1",
    "<script>alert(1)</script>",
    "<b onclick='x'>&amp;",
    "]]>",
    "'; drop table runs; --",
    'a"b',
    "a|b`*_[x](y)~",
    "a,b;c\td",
    "%s{}{0}",
    "\u200b",
    "\ufeff",
    "\U000e0041",
    "🙂",
    "👩‍👧",
    "اللغة",
    "漢字\u3000仮名",
    "ё",
    " ",
    "x" * 300,
)

# One word of a command line with all that it can hold: no NUL.
HOSTILE_WORD = "x=\x1b[31m\x9b31m\r\n\u202e\u2028\x7f<b>'\";--|`*{}%s🙂"

ALLOWED = frozenset("\n\u200c\u200d")


def harmless(text: str) -> bool:
    """Whether a terminal shows a text and does nothing else with it."""
    import unicodedata

    return all(c in ALLOWED or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for c in text)
