"""Texts as they are read: NFKC with spans, sentences, page and line references, list markers."""

import re
import unicodedata
from typing import NamedTuple

from oracles.numerals import small_chinese
from oracles.text import squash

SENTENCE_END = "。！？!?；;\n\r"
MASK = "\x00"
HAN = "\u4e00-\u9fff\u3400-\u4dbf"


class Normal(NamedTuple):
    """NFKC text and, per character of it, the index in the raw text."""

    text: str
    at: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The raw span of a non-empty normalised span."""
        return self.at[start], self.at[end - 1] + 1


def normalised(raw: str) -> Normal:
    """NFKC character by character; signs such as ① ² ½ (category No) stand for no number and become blanks."""
    out: list[str] = []
    at: list[int] = []
    thousands = _thousands(raw)
    for i, c in enumerate(raw):
        form = MASK if unicodedata.category(c) == "No" else unicodedata.normalize("NFKC", c)
        if c == "，" and not _wide_digits_around(raw, i) and i not in thousands:
            form = "，"  # it separates clauses
        out.append(form)
        at += [i] * len(form)
    return Normal("".join(out), at)


def _wide_digits_around(raw: str, i: int) -> bool:
    return 0 < i < len(raw) - 1 and "０" <= raw[i - 1] <= "９" and "０" <= raw[i + 1] <= "９"


def _thousands(raw: str) -> set[int]:
    """Where full-width commas separate thousands between narrow digits: 1，000 and 42，500, not 100，200，300."""
    found: set[int] = set()
    raw = "".join("," if c == "，" and _wide_digits_around(raw, i) else c for i, c in enumerate(raw))
    for m in re.finditer("[0-9]+(?:，[0-9]+)+", raw):
        first, *groups = m[0].split("，")
        fits = first[0] != "0" and len(first) <= 3 and all(len(group) == 3 for group in groups)
        clear = len(first) < 3 or any(group[0] == "0" for group in groups)
        lead = raw[: m.start()]
        named = re.search("[A-Za-z第０-９.．,，:：/]\\Z|[0-9][-~]\\Z", lead) and not lead.endswith(
            ("RMB", "CNY", "USD")
        )
        cited = lead.endswith(("第 ", "p. ", "page ", "pages ", "No. "))
        listed = re.search("分[别別][^，。；\n]{0,4}\\Z", lead)
        if fits and clear and not (named or cited or listed):
            found |= {m.start() + k for k, c in enumerate(m[0]) if c == "，"}
    return found


def fold(s: str) -> str:
    """NFKC, squash and casefold: how entities are compared."""
    return squash(unicodedata.normalize("NFKC", s)).casefold()


# --- sentences -----------------------------------------------------------------------------------------------------


def sentences(raw: str) -> list[tuple[int, int]]:
    """Spans between sentence ends, without those that are blank."""
    spans: list[tuple[int, int]] = []
    start = 0
    for i in range(len(raw) + 1):
        if i == len(raw) or raw[i] in SENTENCE_END:
            if squash(raw[start:i]):
                spans.append((start, i))
            start = i + 1
    return spans


# --- references and list markers -----------------------------------------------------------------------------------

_N = r"(?:[0-9]{1,9}|[零〇一二两三四五六七八九十百千]{1,9})"
_JOIN = r"[ \t]*[-~–—至到、和及与與][ \t]*"
_PAGE_HAN = re.compile(rf"第[ \t]*({_N}(?:{_JOIN}第?{_N}){{0,20}})[ \t]*[页頁]")
_PAGE_RANGE = re.compile(r"(?<![0-9])[0-9]{1,9}[ \t]*[-~–—至到][ \t]*[0-9]{1,9}[ \t]*[页頁]")
_PAGE_LATIN = re.compile(
    r"(?<![A-Za-z])(?:pages?[ \t]*|pp?\.[ \t]*|pp?(?=[0-9]))"
    r"([0-9]{1,9}(?:[ \t]*[-~–—&][ \t]*[0-9]{1,9}){0,20})(?![0-9])",
    re.IGNORECASE,
)
_LINES = re.compile(
    rf"(?<![0-9])(?:第[ \t]*)?[0-9]{{1,9}}(?:{_JOIN}[0-9]{{1,9}}){{0,20}}[ \t]*行(?![为為政业業])"
    r"|(?<![A-Za-z])lines?[ \t]*[0-9]{1,9}(?:[ \t]*[-~–—&][ \t]*[0-9]{1,9}){0,20}(?![0-9])",
    re.IGNORECASE,
)
_ORDINAL = re.compile(
    rf"第[ \t]*(?:[0-9]+|{_N})(?:(?:{_JOIN}第?{_N}){{0,20}}(?=[ \t]*[行条條款项項章节節]))?(?:[.][0-9]+)*"
)
_ORDINAL_LATIN = re.compile(r"(?<![A-Za-z0-9.,])[0-9]+(?:st|nd|rd|th)(?![A-Za-z])", re.IGNORECASE)
_MARKER = re.compile(
    r"(?:\A|(?<=[\n\r。！？!?；;]))[ \t]*(?:[0-9]{1,2}(?:[.](?![0-9])|[、)])|[一二三四五六七八九十]{1,3}、)"
    r"(?=[ \t]*[^ \t\n\r])"
    r"|(?<=[:：])[ \t]*(?:[0-9]{1,2}[、)]|[一二三四五六七八九十]{1,3}、)(?=[ \t]*[^ \t\n\r0-9])"
    r"|\([ \t]*(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})[ \t]*\)|[\[【][ \t]*[0-9]{1,3}[ \t]*[\]】]"
)
_CHAIN = re.compile(r"(?<![0-9.])[0-9]+(?:\.[0-9]+){2,}")


def masked(text: str, patterns: list[re.Pattern[str]]) -> str:
    """The text with every match masked, one pattern behind the other."""
    for pattern in patterns:
        text = pattern.sub(lambda m: MASK * len(m[0]), text)
    return text


def mask_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with the characters of the spans masked."""
    chars = list(text)
    for start, end in spans:
        chars[start:end] = MASK * (end - start)
    return "".join(chars)


class Citation(NamedTuple):
    """A page that the text cites, and the span of the reference."""

    page: int
    start: int
    end: int


def page_citations(raw: str) -> list[Citation]:
    """第N页, p. N, page N in order; a range of at most a hundred pages names every page in it."""
    normal = normalised(raw)
    found: list[Citation] = []
    for pattern in (_PAGE_HAN, _PAGE_LATIN):
        for m in pattern.finditer(normal.text):
            start, end = normal.span(m.start(), m.end())
            found += [Citation(page, start, end) for page in _pages(m[1])]
    return sorted(found, key=lambda c: c.start)


def _pages(listed: str) -> list[int]:
    pages: list[int] = []
    ranged = False
    for part in re.findall(rf"{_N}|[-~–—至到]", listed):
        if part in "-~–—至到":
            ranged = True
            continue
        page = int(part) if part[0] in "0123456789" else small_chinese(part)
        if page is None:
            continue
        if ranged and pages and pages[-1] < page <= pages[-1] + 100:
            pages += range(pages[-1] + 1, page)
        pages.append(page)
        ranged = False
    return pages


def references_masked(text: str) -> str:
    """A normalised text without its page and line references and its ordinals."""
    return masked(text, [_PAGE_HAN, _PAGE_RANGE, _PAGE_LATIN, _LINES, _ORDINAL, _ORDINAL_LATIN])


def markers_masked(text: str) -> str:
    """A normalised text without its list markers and dotted chains such as 1.2.3."""
    return masked(text, [_CHAIN, _MARKER])
