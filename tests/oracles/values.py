"""Values in text (page 50): numbers, dates, booleans, names, sentences, page citations, with raw spans."""

import decimal
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from oracles.daytext import Date, date_ranges, dates, days_in
from oracles.numerals import (
    DIGITS,
    MAGNITUDES,
    NUMERAL,
    Token,
    exact_context,
    run_value,
    token_of,
)
from oracles.reading import (
    HAN,
    Citation,
    fold,
    markers_masked,
    normalised,
    page_citations,
    references_masked,
    sentences,
)

__all__ = [
    "ABSTENTION",
    "Citation",
    "Date",
    "Name",
    "Number",
    "date_ranges",
    "dates",
    "first_boolean",
    "fold",
    "names",
    "numbers",
    "page_citations",
    "sentences",
]

_PACKAGE = Path(__file__).parents[2] / "rageval_batch"
_LISTS = json.loads((_PACKAGE / "data" / "phrases.json").read_text(encoding="utf-8"))
ABSTENTION: list[str] = [phrase for phrases in _LISTS["abstention"].values() for phrase in phrases]
UNITS: list[str] = _LISTS["units"]
TITLES: list[str] = _LISTS["titles"]
SURNAMES: list[str] = _LISTS["surnames"]

# Spellings of one unit; the 万元 family multiplies and is then 元.
SAME_UNIT = {"块": "元", "塊": "元", "圆": "元", "圓": "元", "人民币": "元", "人民幣": "元", "個": "个", "歲": "岁"}
SAME_UNIT |= {"小時": "小时", "分鐘": "分钟", "公斤": "千克", "噸": "吨", "張": "张", "筆": "笔", "％": "%"}
BIG_UNIT = {"万元": 4, "萬元": 4, "亿元": 8, "億元": 8}
EXTRA_UNITS = ["人民币", "人民幣", "‰", "‱"]
CURRENCIES = {"RMB", "CNY", "USD", "HKD", "TWD", "EUR", "JPY", "GBP"}  # a number may follow them without a space
SHARE_UNIT = {"百": "%", "佰": "%", "千": "‰", "仟": "‰", "万": "‱", "萬": "‱"}


class Number(NamedTuple):
    """A number with its unit ("" for none) and the span of both; `article` marks the 一 of 一个."""

    value: Decimal
    unit: str
    start: int
    end: int
    article: bool = False


class Name(NamedTuple):
    """A name, every way of reading it (the nearest surname first), and its span."""

    text: str
    readings: tuple[str, ...]
    start: int
    end: int
    quoted: bool


# --- numbers -------------------------------------------------------------------------------------------------------

_ARABIC = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?")
_UNITS_LONGEST_FIRST = sorted({*UNITS, *EXTRA_UNITS}, key=lambda unit: (-len(unit), unit))
_POINT = re.compile(rf"[点點]([{''.join(DIGITS)}]+)((?:百|千|佰|仟)?(?:万|萬|亿|億)|千|仟|百|佰)?")
_WORD = re.compile("[A-Za-z_]+")
_JOINED = re.compile(r"[ \t]*(?:[-~–—至到、或和])[ \t]*")


def _run(text: str, i: int) -> tuple[list[tuple[str, Token]], list[int]]:
    """The tokens of the longest run at i, and where each ends."""
    tokens: list[tuple[str, Token]] = []
    ends: list[int] = []
    arabic = False
    while i < len(text) and not (arabic and len(tokens) >= 40):
        before = tokens[-1][1] if tokens else None
        c = text[i]
        if c in "0123456789":
            m = _ARABIC.match(text, i)
            if m is None or not (before is None or before == "d0" or str(before)[0] == "m"):
                break
            tokens.append((m[0], Decimal(m[0].replace(",", ""))))
            i, arabic = m.end(), True
        elif c in NUMERAL and not (c in DIGITS and isinstance(before, Decimal)):
            if text.startswith(("千克", "仟克"), i):
                break
            tokens.append((c, token_of(c)))
            i += 1
        elif c in " \t" and isinstance(before, Decimal):
            j = i
            while j < len(text) and text[j] in " \t":
                j += 1
            if j == len(text) or text[j] not in MAGNITUDES or text.startswith("千克", j):
                break
            i = j
            continue
        else:
            break
        ends.append(i)
    return tokens, ends


def _unit(text: str, i: int) -> tuple[str, int]:
    """The longest listed unit at i (white space before it is skipped) and where it ends; "" where there is none."""
    j = i
    while j < len(text) and text[j] in " \t":
        j += 1
    for unit in _UNITS_LONGEST_FIRST:
        if text.startswith(unit, j):
            return unit, j + len(unit)
    return "", i


def _number_at(text: str, i: int) -> tuple[Number | None, int]:
    """The number that begins at i, and where to go on reading."""
    c = text[i]
    if c in SHARE_UNIT and text.startswith("分之", i + 1):
        return _share(text, i)
    tokens, ends = _run(text, i)
    if not tokens:
        return None, i + 1
    arabic = any(isinstance(token, Decimal) for _, token in tokens)
    vague = i > 0 and text[i - 1] in "几幾数數" and c in MAGNITUDES
    if text.startswith("分之", ends[-1]):
        return None, _skip_share(text, ends[-1] + 2)
    if vague:
        return None, ends[-1]
    if not arabic and (point := _POINT.match(text, ends[-1])):
        number = _pointed(text, i, tokens, point)
        if number is not None:
            return number, number.end
    for n in range(len(tokens), 0, -1):
        end = ends[n - 1]
        more = re.compile("[多余餘](万|萬|亿|億)").match(text, end)
        if more:
            value = run_value(tokens[:n], True)
            if value is not None:
                with decimal.localcontext(exact_context(more.end() - i)):
                    value = value.scaleb(MAGNITUDES[more[1]])
            end = more.end()
        at = end + 1 if text[end : end + 1] in {"多", "余", "餘"} and _unit(text, end + 1)[0] else end
        unit, unit_end = _unit(text, at)
        if not more:
            value = run_value(tokens[:n], unit != "")
        if value is not None:
            article = n == 1 and tokens[0][0] in "一壹" and unit != ""
            return _with_unit(value, unit, i, unit_end if unit else end, article), unit_end if unit else end
        if not arabic:
            break
    return None, ends[-1] if not arabic else ends[0]


def _with_unit(value: Decimal, unit: str, start: int, end: int, article: bool = False) -> Number:
    if unit in BIG_UNIT:
        with decimal.localcontext(exact_context(end - start)):
            value, unit = value.scaleb(BIG_UNIT[unit]), "元"
    return Number(value, SAME_UNIT.get(unit, unit), start, end, article)


def _pointed(text: str, i: int, tokens: list[tuple[str, Token]], point: re.Match[str]) -> Number | None:
    """四点二万, 三点五公里: only before a magnitude or a unit (三点五十分 is a time)."""
    whole = run_value(tokens, True)
    unit, end = _unit(text, point.end())
    if whole is None or not (point[2] or unit):
        return None
    with decimal.localcontext(exact_context(point.end() - i)):
        value = Decimal(f"{whole:f}.{''.join(str(DIGITS[c]) for c in point[1])}")
        value = value.scaleb(sum(MAGNITUDES[c] for c in point[2] or ""))
    return _with_unit(value, unit, i, end if unit else point.end())


def _share(text: str, i: int) -> tuple[Number | None, int]:
    """百分之十五 is 15 %, 千分之三 3 ‰, 万分之五 5 ‱."""
    at = i + 3
    if text.startswith(("百", "佰"), at):
        return Number(Decimal(100), SHARE_UNIT[text[i]], i, at + 1), at + 1
    tokens, ends = _run(text, at)
    if not tokens:
        return None, at
    value, end = run_value(tokens, True), ends[-1]
    point = re.compile(rf"[点點]([{''.join(DIGITS)}]+)").match(text, end)
    if value is not None and point and "." not in text[at:end]:
        value, end = Decimal(f"{value:f}.{''.join(str(DIGITS[c]) for c in point[1])}"), point.end()
    return (None if value is None else Number(value, SHARE_UNIT[text[i]], i, end)), end


def _skip_share(text: str, i: int) -> int:
    """Behind the numerator of 三分之一, which is no number here."""
    ends = _run(text, i)[1] if i < len(text) else []
    return ends[-1] if ends else i


def numbers(raw: str) -> list[Number]:
    """Every number in the text, in order; digits of dates, references, ordinals and list markers are none."""
    normal = normalised(raw)
    text = markers_masked(days_in(references_masked(normal.text))[2])
    found: list[Number] = []
    i = 0
    while i < len(text):
        c = text[i]
        if word := _WORD.match(text, i):
            attached = _ARABIC.match(text, word.end())  # V2, A4
            i = attached.end() if attached and word[0].upper() not in CURRENCIES else word.end()
            continue
        if c not in "0123456789" and c not in NUMERAL:
            i += 1
            continue
        number, end = _number_at(text, i)
        if number is not None:
            found.append(number)
        i = max(end, i + 1)
    for k in range(len(found) - 2, -1, -1):
        here, after = found[k], found[k + 1]
        joined = _JOINED.match(text, here.end)
        if not here.unit and joined and joined.end() == after.start:
            found[k] = here._replace(unit=after.unit)  # 100-200元: both are 元
    spans = [normal.span(number.start, number.end) for number in found]
    return [number._replace(start=a, end=b) for number, (a, b) in zip(found, spans, strict=True)]


# --- booleans and names --------------------------------------------------------------------------------------------

TRUE_WORDS = ["是", "有", "yes", "true"]
FALSE_WORDS = ["否", "没有", "沒有", "不是", "no", "false"]
# Longer words around 是 and 有 that answer nothing.
NEUTRAL_WORDS = ["是否", "是不是", "有没有", "有沒有", "有无", "有無", "但是", "可是", "还是", "還是", "于是", "於是"]
NEUTRAL_WORDS += ["只是", "所有", "有限", "有关", "有關"]


def first_boolean(raw: str) -> bool | None:
    """The first boolean word, the longest where several begin; None without any."""
    text = normalised(raw).text.lower()
    words = sorted([*TRUE_WORDS, *FALSE_WORDS, *NEUTRAL_WORDS], key=lambda word: (-len(word), word))
    i = 0
    while i < len(text):
        word = next((w for w in words if text.startswith(w, i) and _whole_word(text, i, w)), None)
        if word is not None and word not in NEUTRAL_WORDS:
            return word in TRUE_WORDS
        i += len(word) if word is not None else 1
    return None


def _whole_word(text: str, i: int, word: str) -> bool:
    if not word.isascii():
        return True
    before, behind = text[i - 1 : i] if i else "", text[i + len(word) :][:1]
    if re.match("[a-z0-9_]", before) or re.match("[a-z0-9_]", behind):
        return False
    return not (word == "no" and re.match(r"\.[ \t]*[0-9]", text[i + 2 : i + 40]))  # No. 5


QUOTES = [("「", "」"), ("『", "』"), ("“", "”"), ('"', '"')]
# Words whose 方, 任, 何, 高 are no surnames.
NO_SURNAMES = ["对方", "對方", "甲方", "乙方", "丙方", "双方", "雙方", "我方", "警方", "任何", "高级", "高級"]
_LATIN_TITLES = [title for title in TITLES if title.isascii()]
_HAN_TITLES = sorted((title for title in TITLES if not title.isascii()), key=lambda title: (-len(title), title))


def names(raw: str) -> list[Name]:
    """Names in quotation marks, with a listed surname and title, or behind Mr./Ms./Mrs./Dr."""
    normal = normalised(raw)
    text = normal.text
    found = [
        Name(raw[a + 1 : b - 1], (raw[a + 1 : b - 1],), a, b, True)
        for a, b in (normal.span(*span) for span in _quoted(text))
        if 2 <= len(raw[a + 1 : b - 1]) <= 12
    ]
    blocked = {k for word in NO_SURNAMES for m in re.finditer(word, text) for k in range(m.start(), m.end())}
    i = 0
    while i < len(text):
        title = next((t for t in _HAN_TITLES if text.startswith(t, i)), None)
        if title is None:
            i += 1
            continue
        starts = [
            j
            for j in range(i - 1, i - 4, -1)
            if j >= 0 and text[j] in SURNAMES and j not in blocked and re.fullmatch(f"[{HAN}]*", text[j:i])
        ]
        if starts:
            end = i + len(title)
            readings = [text[j:end] for j in starts] + [text[j:i] for j in starts if i - j > 1]
            found.append(Name(readings[0], tuple(readings), *normal.span(starts[0], end), False))
        i += len(title)
    for title in _LATIN_TITLES:
        for m in re.finditer(rf"(?<![A-Za-z]){re.escape(title)}[ \t]*([^\W\d_][^\W_]*)", text):
            if m[1][0].isupper():
                found.append(Name(m[1], (m[1],), *normal.span(m.start(), m.end()), False))
    return sorted(found, key=lambda name: (name.start, name.end))


def _quoted(text: str) -> list[tuple[int, int]]:
    """Spans of quotations with their marks; an opening mark closes at the first mark of its kind on the line."""
    spans: list[tuple[int, int]] = []
    for opening, closing in QUOTES:
        start: int | None = None
        for i, c in enumerate(text):
            if c in "\n\r":
                start = None
            elif c == closing and start is not None:
                spans.append((start, i + 1))
                start = None
            elif c == opening:
                start = i
    return spans
