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
    if "，" not in raw:  # without one, the search below takes long on thousands of digits
        return found
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


# --- figures with separators ---------------------------------------------------------------------------------------


def mostly_cyrillic(text: str) -> bool:
    """Whether more letters are Cyrillic than Latin, Han or Kana."""
    cyrillic = sum("А" <= c <= "я" or c in "Ёё" for c in text)
    other = sum(
        "A" <= c <= "Z" or "a" <= c <= "z" or "\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" for c in text
    )
    return cyrillic > other


def figures_unified(text: str, decimal_mark: str = "auto") -> str:
    """1 250,5 and 1.250,5 as 1,250.5: every figure with separators in the format with a decimal point."""
    comma = decimal_mark == "comma" or (decimal_mark == "auto" and mostly_cyrillic(text))
    listing = decimal_mark != "auto" or any("\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" for c in text)
    out = list(text)
    i = 0
    while i < len(text):
        if text[i] not in "0123456789":
            i += 1
            continue
        groups, marks, end = _groups(text, i)
        lead = text[:i]
        money = lead[-3:] in ("RMB", "CNY", "USD", "HKD", "TWD", "EUR", "JPY", "GBP")
        named = re.search(r"[A-Za-z_.,]\Z", lead) and not money
        # 42,000 is round in every language
        even = decimal_mark == "auto" and re.fullmatch("[1-9][0-9]{0,2},000", text[i:end])
        if not named and not even:
            bracketed = lead[-1:] == "[" and text[end : end + 1] == "]"
            unified = _unified(groups, marks, comma, not (listing or bracketed))
            if unified is not None:
                out[i:end] = unified
        i = end
    return "".join(out)


def _groups(text: str, i: int) -> tuple[list[str], list[str], int]:
    """Groups of digits at i, the single separators between them, and where they end."""
    groups, marks = [""], []
    while i < len(text):
        if text[i] in "0123456789":
            groups[-1] += text[i]
        elif text[i] in " .," and text[i + 1 : i + 2] and text[i + 1] in "0123456789":
            groups.append("")
            marks.append(text[i])
        else:
            break
        i += 1
    return groups, marks, i


def _unified(groups: list[str], marks: list[str], comma: bool, tenths: bool) -> str | None:
    """The figure in the format with a decimal point; None where it stays as it is."""
    if not marks:
        return None
    sound = groups[0][0] != "0" and len(groups[0]) <= 3  # as the first of thousands
    whole, tail = groups, ""
    spaced = marks[0] == " "
    if spaced:
        if marks[-1] in ".,":
            whole, tail, marks = groups[:-1], f".{groups[-1]}", marks[:-1]
        fits = sound and set(marks) == {" "} and all(len(group) == 3 for group in whole[1:])
        listed = len(whole[0]) == 3 and all(group[0] != "0" for group in whole)
        return ",".join(whole) + tail if fits and (comma or not listed) else None
    if marks[-1] == "," and set(marks[:-1]) == {"."}:  # 1.250,5
        fits = sound and all(len(group) == 3 for group in groups[1:-1])
        return ",".join(groups[:-1]) + f".{groups[-1]}" if fits else None
    if marks == [","] and (comma or groups[0] == "0" or (tenths and len(groups[1]) != 3)):
        return ".".join(groups)
    address = [len(group) for group in groups] == [3, 3, 3, 3]
    if (
        (comma or (len(groups) > 2 and not address))
        and set(marks) == {"."}
        and sound
        and all(len(group) == 3 for group in groups[1:])
    ):
        return ",".join(groups)
    return None


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
_PAGE_RU = re.compile(
    r"(?<![А-Яа-яЁё])(?:стр|стр\.|страниц[а-яё]{0,3}|с\.|сс\.)[ \t]*"
    r"([0-9]{1,9}(?:[ \t]*[-~–—&][ \t]*[0-9]{1,9}){0,20})(?![0-9])",
    re.IGNORECASE,
)
_PAGE_JA = re.compile(r"(?<![0-9])([0-9]{1,9}(?:[ \t]*[-~–—至到][ \t]*[0-9]{1,9}){0,20})[ \t]*ページ")
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
    """第N页, p. N, page N, стр. N, Nページ in order; a range of at most a hundred pages names every page in it."""
    normal = normalised(raw)
    found: list[Citation] = []
    patterns = [_PAGE_HAN, _PAGE_LATIN, _PAGE_RU, _PAGE_JA]
    for k, pattern in enumerate(patterns):
        for m in pattern.finditer(masked(normal.text, patterns[:k])):
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
    """A normalised text without its page and line references and what stands behind 第."""
    return masked(text, [_PAGE_HAN, _PAGE_RANGE, _PAGE_LATIN, _PAGE_RU, _PAGE_JA, _LINES, _ORDINAL])


def markers_masked(text: str) -> str:
    """A normalised text without its ordinals (5th), list markers and dotted chains such as 1.2.3."""
    return masked(text, [_ORDINAL_LATIN, _CHAIN, _MARKER])
