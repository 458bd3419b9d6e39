"""What looks like a number and is none: page and line references, ordinals, list markers. And cited pages."""

from __future__ import annotations

import re
from typing import NamedTuple

from rageval_batch.columnar.values.normal import MASK, Normal
from rageval_batch.columnar.values.numerals import chinese_int

_N = "(?:[0-9]{1,9}|[零〇一二两三四五六七八九十百千]{1,9})"
_RANGES = "-~–—至到"
_TO = f"[{_RANGES}]"
_AND = r"[ \t]*[-~–—至到、和及与與][ \t]*"
_LATIN_LIST = r"[0-9]{1,9}(?:[ \t]*[-~–—&][ \t]*[0-9]{1,9}){0,20}(?![0-9])"
_DIGIT = re.compile("[0-9]")
_MOST_PAGES = 100  # of a range that names every page in it

_PAGE_HAN = re.compile(rf"第[ \t]*(?P<pages>{_N}(?:{_AND}第?{_N}){{0,20}})[ \t]*[页頁]")
_PAGE_LATIN = re.compile(
    rf"(?<![A-Za-z])(?:pages?[ \t]*|pp?\.[ \t]*|pp?(?=[0-9]))(?P<pages>{_LATIN_LIST})", re.IGNORECASE
)
_PAGE_CYRILLIC = re.compile(
    rf"(?<![А-Яа-яЁё])(?:стр\.?|страниц[а-яё]{{0,3}}|сс?\.)[ \t]*(?P<pages>{_LATIN_LIST})", re.IGNORECASE
)
_PAGE_KANA = re.compile(rf"(?<![0-9])(?P<pages>[0-9]{{1,9}}(?:[ \t]*{_TO}[ \t]*[0-9]{{1,9}}){{0,20}})[ \t]*ページ")
_PAGES = (
    (re.compile("第"), _PAGE_HAN),
    (re.compile("[pP]"), _PAGE_LATIN),
    (re.compile("[сС]"), _PAGE_CYRILLIC),
    (re.compile("ジ"), _PAGE_KANA),
)
_PAGE_PART = re.compile(rf"{_N}|{_TO}")

# 第3条の2, 第120條之1; 第3条の2つ and 第3条の2人 count.
_BRANCH_MARK = re.compile("[条條款项項号號][の之]")
_BRANCH = re.compile(rf"(?<=[条條款项項号號])(?>(?:[の之]{_N})+)(?![0-9つ个個箇人名次件点種年月日天元円%])")
# Sources behind a statement: [1, 2], [1–3; 7]. No source has the number 0, and 1,250 is one figure.
_SOURCE = "[1-9][0-9]{0,2}"
_CITED = re.compile(rf"[\[【][ \t]*{_SOURCE}(?:[ \t]*(?:,(?![0-9]{{3}})|[，;；、&–—~-])[ \t]*{_SOURCE})+[ \t]*[\]】]")

# Looked for one behind the other, each with what must be there.
_REFERENCES = (
    (re.compile("第"), _PAGE_HAN),
    (re.compile("[页頁]"), re.compile(rf"(?<![0-9])[0-9]{{1,9}}[ \t]*{_TO}[ \t]*[0-9]{{1,9}}[ \t]*[页頁]")),
    (re.compile("[pP]"), _PAGE_LATIN),
    (re.compile("[сС]"), _PAGE_CYRILLIC),
    (re.compile("ジ"), _PAGE_KANA),
    (
        re.compile("[行lL]"),
        re.compile(
            rf"(?<![0-9])(?:第[ \t]*)?[0-9]{{1,9}}(?:{_AND}[0-9]{{1,9}}){{0,20}}[ \t]*行(?![为為政业業])"
            rf"|(?<![A-Za-z])lines?[ \t]*{_LATIN_LIST}",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile("第"),
        re.compile(
            rf"第[ \t]*(?:[0-9]+|{_N})(?:(?:{_AND}第?{_N}){{0,20}}(?=[ \t]*[行条條款项項章节節]))?(?:[.][0-9]+)*"
        ),
    ),
    (_BRANCH_MARK, _BRANCH),
    (re.compile("[\\[【]"), _CITED),
)
_REFERENCE_MARK = re.compile("[第页頁pPсСジ行lL条條\\[【]")
PERHAPS_CITED = "[第pPсСジ]"  # without these characters a normal text cites no page
_PAGE_MARK = re.compile(PERHAPS_CITED)
_ORDINAL_MARK = re.compile("[0-9][sSnNrRtT]")
_ORDINAL = re.compile(r"(?<![A-Za-z0-9.,])[0-9]+(?:st|nd|rd|th)(?![A-Za-z])", re.IGNORECASE)

_CHAIN = re.compile(r"(?<![0-9.])[0-9]+(?:\.[0-9]+){2,}")
_SMALL_HAN = "[一二三四五六七八九十]{1,3}"
_MARKER = re.compile(
    rf"(?:\A|(?<=[\n\r。！？!?；;]))[ \t]*(?:[0-9]{{1,2}}(?:[.](?![0-9.,])|[、)])|{_SMALL_HAN}、)(?=[ \t]*[^ \t\n\r])"
    rf"|(?<=[:：])[ \t]*(?:[0-9]{{1,2}}[、)]|{_SMALL_HAN}、)(?=[ \t]*[^ \t\n\r0-9])"
    rf"|\([ \t]*(?:[0-9]{{1,2}}|{_SMALL_HAN})[ \t]*\)|[\[【][ \t]*[0-9]{{1,3}}[ \t]*[\]】]"
)
# Figures at the beginning of a line that 、 joins: 3、4人, 3、7、9号; any other figure before 、 is a marker there.
_JOINED = re.compile(r"[ \t]*(?P<first>[0-9]{1,2})、[ \t]*(?P<second>[0-9]{1,3})(?![0-9.,])(?P<third>、[ \t]*[0-9])?")
_PERHAPS_MARKER = re.compile(r"[0-9一二三四五六七八九十][ \t]*[.、)\]】]")


class Citation(NamedTuple):
    """A page that a text cites, and the raw span of the reference."""

    page: int
    start: int
    end: int


def _masked(m: re.Match[str]) -> str:
    return MASK * (m.end() - m.start())


def without_references(text: str) -> str:
    """A normal text with page and line references and 第 with its number masked."""
    if _REFERENCE_MARK.search(text) is None:
        return text
    for mark, pattern in _REFERENCES:
        if mark.search(text):
            text = pattern.sub(_masked, text)
    return text


def without_markers(text: str) -> str:
    """A normal text without dates with ordinals (5th), list markers and chains such as 1.2.3 masked."""
    if _ORDINAL_MARK.search(text):
        text = _ORDINAL.sub(_masked, text)
    if text.count(".") > 1:
        text = _CHAIN.sub(_masked, text)
    return _MARKER.sub(_without_marker, text) if _PERHAPS_MARKER.search(text) else text


def _without_marker(m: re.Match[str]) -> str:
    """A list marker masked, and what only looks like one as it is."""
    joined = _JOINED.match(m.string, m.start()) if m[0].endswith("、") else None
    if joined and (joined["third"] or int(joined["second"]) == int(joined["first"]) + 1):
        return m[0]
    return _masked(m)


def cited_pages(given: Normal) -> list[Citation]:
    """第N页, p. N, page N, стр. N, Nページ in the order of the text; a page that two forms find is cited once."""
    found: list[Citation] = []
    text = given.text
    if _PAGE_MARK.search(text) is None or (_DIGIT.search(text) is None and "第" not in text):
        return found
    for mark, pattern in _PAGES:
        if mark.search(text) is None:
            continue
        before = len(found)
        for m in pattern.finditer(text):
            span = given.span(*m.span())
            found += [Citation(page, *span) for page in _page_numbers(m["pages"])]
        if len(found) > before:
            text = pattern.sub(_masked, text)
    return sorted(found, key=lambda citation: citation.start)


def _page_numbers(text: str) -> list[int]:
    """The pages of 4, 6-8 and the like."""
    pages: list[int] = []
    ranged = False
    for part in _PAGE_PART.findall(text):
        if part in _RANGES:
            ranged = True
            continue
        page = int(part) if part[0] in "0123456789" else chinese_int(part)
        if page is None:
            continue
        if ranged and pages and pages[-1] < page <= pages[-1] + _MOST_PAGES:
            pages.extend(range(pages[-1] + 1, page))
        pages.append(page)
        ranged = False
    return pages
