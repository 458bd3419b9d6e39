"""What stands around a figure and changes what it says: signs, bounds, approximations."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from rageval_batch.columnar.values.lexicon import (
    BETWEEN_NUMBERS,
    COUNTED_UNITS,
    CURRENCIES,
    EXCEEDED_UNITS,
    MEASURES,
    MONEY_BEHIND,
    NO_APPROXIMATION,
    NO_SIGN_BEFORE,
    SIGNED_UNITS,
    TIME_UNITS,
    WORDS_AFTER,
    WORDS_BEFORE,
    longest_first,
)
from rageval_batch.columnar.values.normal import HAN


class Kind(StrEnum):
    """What a number says of its value: that it is this one, about this, at least, at most, or an end of a range."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    LOWER = "lower bound"
    UPPER = "upper bound"
    RANGE = "range"


class Before(NamedTuple):
    """What stands directly before a figure: where that begins, whether it says minus, and the kind it makes."""

    start: int
    negative: bool
    kind: Kind


_LOOK_BACK = 40  # characters in which a sign, a currency and a word have room
_CURRENCY = rf"(?:[¥￥$€£]|人民币|人民幣|(?-i:(?<![A-Za-z]))(?:{'|'.join(sorted(CURRENCIES))}))"
_CURRENCY_BEFORE = re.compile(rf"[ \t]*{_CURRENCY}[ \t]*\Z|[ \t]+\Z", re.IGNORECASE)
_SIGN = re.compile(
    rf"(?:(?P<minus>-{_CURRENCY}?|−[ \t]*(?:{_CURRENCY}[ \t]*)?)"
    rf"|(?P<word>(?-i:(?<![A-Za-zА-Яа-яЁё]))(?:minus|минус)[ \t]+(?:{_CURRENCY}[ \t]*)?)"
    rf"|(?P<negative>[负負][ \t]*(?:{_CURRENCY}[ \t]*)?))\Z",
    re.IGNORECASE,
)
_LIABILITY = re.compile("[^，。,;；、\n]{0,8}(?:责任|責任|债务|債務|义务|義務)")  # 被告负30%的责任
_NOUNS_OF_VALUE = "计計额額值润潤损損差温溫"  # 合计-5, 金额-5
_COPULAS = frozenset(f"为為是于於到至达達得{_NOUNS_OF_VALUE}")
_PARTICLES = frozenset("はがもをにでとへ")  # 気温は-5度
_BEFORE_SIGN = frozenset("\n\r([{<>=≤≥≈~:,;、，。!?！？；\"'“‘「『【《|/*+¥￥$€£")
_UNIT_ENDS = frozenset("元块塊圆圓%‰‱个個人名次天日月年岁歲万萬亿億千百十")  # a hyphen behind these joins
_DASHES = frozenset({"-", "–", "—", "——", "..."})  # between two numbers, before the sign of the second
LOOKED_AT_BEFORE = _COPULAS | _PARTICLES | _BEFORE_SIGN | _UNIT_ENDS  # a sign
_LIST_ENTRY = re.compile(r"^[ \t]*-(?=[^\s-])", re.MULTILINE)
_HAN = re.compile(f"[{HAN}]")
_LETTER = re.compile("[A-Za-zА-Яа-яЁё]")

_KINDS_BEFORE = {word: Kind(kind) for kind, words in WORDS_BEFORE.items() for word in words}
_WORDS_BEFORE = tuple(longest_first(_KINDS_BEFORE))
_LAST_BEFORE = frozenset("-−负負 \t¥￥$€£币幣") | {word[-1] for word in _WORDS_BEFORE}  # and letters
_AFTER = re.compile(
    f"(?:{MEASURES}|[ \t]*{MONEY_BEHIND})?"
    f"(?:{'|'.join(f'(?P<{Kind(kind).name}>{words})' for kind, words in WORDS_AFTER.items())})",
    re.IGNORECASE,
)
_MORE = "[多余餘]"
_MORE_BEHIND_UNIT = re.compile(f"{_MORE}(?![付给給收退算交扣花用拿出少次种種处處个個项項额額款下留])")
_MORE_BEHIND_FIGURE = re.compile(f"{_MORE}(?![{HAN}])")
_WITHIN = re.compile(f"(?:[ \t]*{MONEY_BEHIND})?[以之][内內]", re.IGNORECASE)
_FIRST_OF_MONEY = "$€£¥₽元円美日欧港deupyrchtjgDEUPYRCHTJGрдеРДЕ"
_FIRST_AFTER = frozenset(f"多余餘以之及或有开開左上未超ま+ \t{_FIRST_OF_MONEY}") | {
    measure[0] for measure in MEASURES.split("|")
}


def is_list(text: str) -> bool:
    """Whether hyphens at the beginnings of several lines mark the entries of a list: no signs then."""
    return "-" in text and len(_LIST_ENTRY.findall(text)) > 1


class Figure(NamedTuple):
    """A figure in a text: where it begins and ends, its unit, where the number before it ends and whether that is below
    nothing."""

    start: int
    end: int
    unit: str
    previous_end: int
    previous_negative: bool = False


def before(text: str, figure: Figure, listed: bool = False) -> Before:
    """Sign and bound before a figure; `listed` as `is_list` says."""
    start = figure.start
    last = text[start - 1 : start] if start else ""
    if last not in _LAST_BEFORE and _LETTER.match(last) is None:
        return Before(start, False, Kind.EXACT)
    head = text[max(figure.previous_end, start - _LOOK_BACK) : start]
    sign = _SIGN.search(head)
    negative = sign is not None and _is_sign(head, sign, text, figure=figure, listed=listed)
    if negative and sign is not None:
        start, head = start - len(head) + sign.start(), head[: sign.start()]
    word = _word_before(head)
    if word is None or (word[2] in BETWEEN_NUMBERS and _is_adjacent(head[: word[0]], figure)):  # 3~5
        return Before(start, negative, Kind.EXACT)
    return Before(start - len(head) + word[0], negative, word[1])


def _is_adjacent(lead: str, figure: Figure) -> bool:
    """Whether there is nothing between the number before and what follows the lead."""
    return figure.previous_end > 0 and figure.start - figure.previous_end <= _LOOK_BACK and not lead.strip(" \t")


def _is_sign(head: str, sign: re.Match[str], text: str, *, figure: Figure, listed: bool) -> bool:
    """Whether what looks like a sign is none of a hyphen, a bullet, a subtraction or a 负 of another word."""
    lead = head[: sign.start()]
    if _is_adjacent(lead, figure):  # 5 - 3, 5元-3元, 5 minus 3
        return False
    previous, solid = lead[-1:], lead.rstrip(" \t")[-1:]
    if sign["negative"]:
        return previous not in NO_SIGN_BEFORE and _LIABILITY.match(text, figure.end) is None
    if sign["word"]:
        return not solid.isdigit()
    hyphen = sign["minus"][0] == "-"
    if solid in ("", "\n", "\r"):
        return not (hyphen and listed)
    if _word_before(lead) is not None:
        return True
    if previous in " \t":
        counted = hyphen and figure.unit in COUNTED_UNITS and _HAN.match(solid) is not None
        return not (solid.isdigit() or counted)
    if previous in _BEFORE_SIGN or previous in _COPULAS or previous in _PARTICLES:
        return True
    if lead in _DASHES and figure.previous_end:  # -3–-1; 3--5 is from 3 to 5
        return lead != "-" or figure.previous_negative
    if _HAN.match(previous) is None or previous in _UNIT_ENDS:
        return False
    return not hyphen or figure.unit in SIGNED_UNITS


def _word_before(head: str) -> tuple[int, Kind, str] | None:
    """Where the word of a bound or an approximation at the end of a text begins, its kind, and the word."""
    skipped = _CURRENCY_BEFORE.search(head)
    blank_behind = skipped is not None and skipped[0][0] in " \t"
    head = head[: skipped.start()] if skipped else head
    folded = head.lower()  # it may be longer, as of İ
    if not folded.endswith(_WORDS_BEFORE):
        return None
    word = next(word for word in _WORDS_BEFORE if folded.endswith(word))
    previous = head[: -len(word)][-1:]
    if _LETTER.match(word) and _LETTER.match(previous):
        return None
    if previous and previous in NO_APPROXIMATION.get(word, ""):
        return None
    if word == ">" and previous in ("", "\n", "\r") and blank_behind:  # a quoted line
        return None
    return len(head) - len(word), _KINDS_BEFORE[word], word


def after(text: str, end: int, unit: str) -> tuple[int, Kind]:
    """Where a number with what stands behind it ends, and the kind that makes it."""
    if text[end : end + 1] not in _FIRST_AFTER:
        return end, Kind.EXACT
    if m := _AFTER.match(text, end):
        return m.end(), Kind[str(m.lastgroup)]
    more = _MORE_BEHIND_FIGURE if unit == "" else _MORE_BEHIND_UNIT if unit in EXCEEDED_UNITS else None
    if more and (m := more.match(text, end)):
        return m.end(), Kind.LOWER
    if unit not in TIME_UNITS and (m := _WITHIN.match(text, end)):
        return m.end(), Kind.UPPER
    return end, Kind.EXACT
