"""Texts as they are read: NFKC with spans, sentences, page and line references, list markers."""

import re
import unicodedata
from typing import NamedTuple

from oracles.numerals import small_chinese
from oracles.text import squash

SENTENCE_END = "。！？!?；;\n\r"
MASK = "\x00"
HAN = "\u4e00-\u9fff\u3400-\u4dbf"
THOUSANDS = "٬"  # what separates thousands whatever the language of the text
FRACTIONS = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅕": "0.2", "⅖": "0.4", "⅗": "0.6", "⅘": "0.8", "⅒": "0.1"}
FRACTIONS |= {"⅛": "0.125", "⅜": "0.375", "⅝": "0.625", "⅞": "0.875", "⅓": f"0.{'3' * 28}", "⅔": f"0.{'6' * 27}7"}
FRACTIONS |= {"⅙": f"0.1{'6' * 26}7", "⅚": f"0.8{'3' * 27}", "⅑": f"0.{'1' * 28}"}
FRACTIONS |= {"⅐": "0.1428571428571428571428571429"}


class Normal(NamedTuple):
    """NFKC text and, per character of it, the index in the raw text."""

    text: str
    at: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The raw span of a non-empty normalised span."""
        return self.at[start], self.at[end - 1] + 1


def normalised(raw: str) -> Normal:
    """NFKC character by character, digits of every script as 0 to 9; signs such as ① and ² (category No) stand for no
    number and become blanks, ½ is 0.5, and 2½ and 2 ½ are 2.5."""
    out: list[str] = []
    at: list[int] = []
    thousands = _thousands(raw)
    apostrophes = _apostrophes(raw) | _underscores(raw)
    raised = _raised(raw)
    for i, c in enumerate(raw):
        category = unicodedata.category(c)
        form = MASK if category == "No" else unicodedata.normalize("NFKC", c)
        if category == "Nd":
            form = str(unicodedata.digit(c))
        elif c in FRACTIONS:
            form = FRACTIONS[c][_behind_digit(raw, i) :]
        elif i in raised:
            form = raised[i]
        elif c == "⅟":
            form = "1⁄"
        elif c == " " and raw[i + 1 : i + 2] in FRACTIONS and i and unicodedata.category(raw[i - 1]) == "Nd":
            form = ""
        elif i in apostrophes:
            form = THOUSANDS
        elif c in "壱弐٫":
            form = {"壱": "壹", "弐": "貳", "٫": "."}[c]
        elif c == "参" and _is_three(raw, i):
            form = "參"
        if c == "，" and not _wide_digits_around(raw, i) and i not in thousands:
            form = "，"  # it separates clauses
        out.append(form)
        at += [i] * len(form)
    return Normal("".join(out), at)


def _behind_digit(raw: str, i: int) -> bool:
    """Whether a digit stands before this place, perhaps with one blank between them."""
    lead = raw[:i].removesuffix(" ")
    return lead != "" and unicodedata.category(lead[-1]) == "Nd"


def _is_three(raw: str, i: int) -> bool:
    """Whether 参 is a numeral: 参拾万円, 弐拾参."""
    if raw[:i].endswith("拾") or raw[i + 1 : i + 2] in tuple("拾十百佰万萬亿億"):
        return True
    return raw[i + 1 : i + 2] in ("千", "仟") and raw[i + 2 : i + 3] != "克"


def _apostrophes(raw: str) -> set[int]:
    """Where apostrophes separate thousands: 1'250'000."""
    found: set[int] = set()
    for m in re.finditer("[0-9]+(?:['’][0-9]+)+", raw):
        first, *groups = re.split("['’]", m[0])
        fits = first[0] != "0" and len(first) <= 3 and all(len(group) == 3 for group in groups)
        if fits and raw[m.start() - 1 : m.start()] not in (".", ","):
            found |= {m.start() + k for k, c in enumerate(m[0]) if c in "'’"}
    return found


def _underscores(raw: str) -> set[int]:
    """Where underscores separate thousands: 1_250_000."""
    found: set[int] = set()
    for m in re.finditer("[0-9A-Za-z_]+", raw):
        first, *groups = m[0].split("_")
        sound = re.fullmatch("[1-9][0-9]{0,2}", first) and all(re.fullmatch("[0-9]{3}", group) for group in groups)
        if groups and sound and raw[m.start() - 1 : m.start()] not in (".", ","):
            found |= {m.start() + k for k, c in enumerate(m[0]) if c == "_"}
    return found


def _raised(raw: str) -> dict[int, str]:
    """What raised and lowered digits around ⁄ are: ¹⁄₂ is 1⁄2 behind one blank."""
    forms: dict[int, str] = {}
    for m in re.finditer("[⁰¹²³⁴⁵⁶⁷⁸⁹]+⁄[₀₁₂₃₄₅₆₇₈₉]+", raw):
        for k in range(m.start(), m.end()):
            forms[k] = unicodedata.normalize("NFKC", raw[k])
        forms[m.start()] = f" {forms[m.start()]}"
        if raw[m.start() - 1 : m.start()] == " ":
            forms[m.start() - 1] = ""
    return forms


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
    listing = any("\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" for c in text)
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
            tenths = not (listing or bracketed or decimal_mark != "auto")
            pairs = not (comma or listing or bracketed)
            out[i:end] = _one_or_several(groups, marks, comma, tenths, pairs)
        i = end
    return "".join(out)


def _one_or_several(groups: list[str], marks: list[str], comma: bool, tenths: bool, pairs: bool) -> str:
    """A run of groups as one figure, else its parts between blanks; a blank inside 1 250,5 is none of those."""
    parts: list[str] = []
    while True:
        unified = _unified(groups, marks, comma, tenths, pairs)
        if unified is not None and not (parts and marks[-1] == " "):
            parts.append(unified)
            break
        if " " not in marks:
            parts.append(_as_written(groups, marks))
            break
        k, head = _longest_head(groups, marks, comma, tenths, pairs)
        parts.append(head)
        groups, marks = groups[k + 1 :], marks[k + 1 :]
    return " ".join(parts)


def _longest_head(groups: list[str], marks: list[str], comma: bool, tenths: bool, pairs: bool) -> tuple[int, str]:
    """The longest head before a blank that is one figure, and that blank; else all before the first blank."""
    first = marks.index(" ")
    last = first + 1  # a figure with blanks has groups of three behind the first, but for its decimals
    while last < len(marks) and len(groups[last]) == 3:
        last += 1
    for k in range(min(last, len(marks) - 1), first - 1, -1):
        if marks[k] != " " or (k > first and marks[k - 1] == " "):  # 8 800 555 35 35
            continue
        head = _unified(groups[: k + 1], marks[:k], comma, tenths, pairs)
        if head is not None:
            return k, head
    return first, _as_written(groups[: first + 1], marks[:first])


def _as_written(groups: list[str], marks: list[str]) -> str:
    return "".join(one for both in zip(["", *marks], groups, strict=True) for one in both)


def _groups(text: str, i: int) -> tuple[list[str], list[str], int]:
    """Groups of digits at i, the single separators between them, and where they end."""
    groups, marks = [""], []
    while i < len(text):
        if text[i] in "0123456789":
            groups[-1] += text[i]
        elif text[i] in f" .,{THOUSANDS}" and text[i + 1 : i + 2] and text[i + 1] in "0123456789":
            groups.append("")
            marks.append(text[i])
        else:
            break
        i += 1
    return groups, marks, i


def _unified(groups: list[str], marks: list[str], comma: bool, tenths: bool, pairs: bool) -> str | None:
    """The figure in the format with a decimal point; None where it stays as it is."""
    if not marks:
        return None
    sound = groups[0][0] != "0" and len(groups[0]) <= 3  # as the first of thousands
    if THOUSANDS in marks:
        if set(marks[:-1]) == {THOUSANDS} and marks[-1] in ".,":  # 1'250,5
            return f"{THOUSANDS.join(groups[:-1])}.{groups[-1]}"
        return None
    end = len(groups) - (marks[-1] == ".")
    fits = (
        end >= 3 and set(marks[: end - 1]) == {","} and [len(group) for group in groups[1:end]] == [2] * (end - 2) + [3]
    )
    zeros = any(group[0] == "0" for group in groups[1:end])  # no list has 00
    if (pairs or zeros) and fits and groups[0][0] != "0" and len(groups[0]) <= 2:  # 1,00,000
        return THOUSANDS.join(groups[:end]) + "".join(f".{group}" for group in groups[end:])
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
    r"(?:\A|(?<=[\n\r。！？!?；;]))[ \t]*(?:[0-9]{1,2}(?:[.](?![0-9.,])|[、)])|[一二三四五六七八九十]{1,3}、)"
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
    text = masked(text, [_PAGE_HAN, _PAGE_RANGE, _PAGE_LATIN, _PAGE_RU, _PAGE_JA, _LINES, _ORDINAL])
    return mask_spans(text, [*_branches(text), *_sources(text)])


def _branches(text: str) -> list[tuple[int, int]]:
    """Where の2 of 第3条の2 stands, unless it counts things (第3条の2つ)."""
    found: list[tuple[int, int]] = []
    for m in re.finditer(f"(?:[の之]{_N})+", text):
        owner, behind = text[m.start() - 1 : m.start()], text[m.end() : m.end() + 1]
        counted = behind and behind in "0123456789つ个個箇人名次件点種年月日天元円%"
        if owner and owner in "条條款项項号號" and not counted:
            found.append(m.span())
    return found


def _sources(text: str) -> list[tuple[int, int]]:
    """Where lists of numbered sources stand: [1, 2], [1–3; 7]."""
    found: list[tuple[int, int]] = []
    for m in re.finditer(r"[\[【]([^\[\]【】]*)[\]】]", text):
        parts = re.split("([,，;；、&–—~-])", m[1])
        names = [part.strip(" \t") for part in parts[::2]]
        groups = any(
            mark == "," and re.match("[0-9]{3}", behind) for mark, behind in zip(parts[1::2], parts[2::2], strict=True)
        )
        if len(names) > 1 and not groups and all(re.fullmatch("[1-9][0-9]{0,2}", name) for name in names):
            found.append(m.span())
    return found


def markers_masked(text: str) -> str:
    """A normalised text without its ordinals (5th), list markers and dotted chains such as 1.2.3."""
    text = masked(text, [_ORDINAL_LATIN, _CHAIN])
    return mask_spans(text, [m.span() for m in _MARKER.finditer(text) if not _joins_figures(text, m)])


def _joins_figures(text: str, m: re.Match[str]) -> bool:
    """Whether 、 behind what looks like a list marker joins figures: 3、4人, 3、7、9号."""
    first, mark, _ = m[0].strip(" \t").partition("、")
    behind = re.compile("[ \t]*([0-9]+)").match(text, m.end())
    if not mark or not first.isdecimal() or behind is None or len(behind[1]) > 3:
        return False
    if text[behind.end() : behind.end() + 1] in (".", ","):
        return False
    third = re.compile("、[ \t]*[0-9]").match(text, behind.end())
    return third is not None or int(behind[1]) == int(first) + 1
