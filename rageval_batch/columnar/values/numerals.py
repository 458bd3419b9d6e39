"""Numbers as they are written: Arabic with separators, Chinese, financial and mixed, as exact decimals.

A run such as 4万2千 is cut at 亿 and 万 into sections, and a section is read by the places it has: thousands, hundreds,
tens, ones. A run that no rule writes has no value. The library for this, cn2an, refuses separators, 四点二万, 二十多万
and 參, reads words (一些, 张三, 七八个) as numbers and knows neither units nor spans; so the grammar is our own.
"""

from __future__ import annotations

import decimal
import re
from decimal import Decimal

from rageval_batch.columnar.values.normal import THOUSANDS

ZEROS = "零〇○"
_DIGIT_ROWS = (ZEROS, "一壹", "二两兩贰貳", "三叁參叄", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖")
DIGITS = {character: value for value, row in enumerate(_DIGIT_ROWS) for character in row}
POWERS = {"十": 1, "拾": 1, "百": 2, "佰": 2, "千": 3, "仟": 3, "万": 4, "萬": 4, "亿": 8, "億": 8, "兆": 12}
TENS = {"廿": "二十", "卅": "三十"}
CHINESE = "".join(DIGITS) + "".join(POWERS) + "".join(TENS)

# Commas that no grouping explains list: 3,5,100,200 are four figures.
# .5 is a figure at the beginning of a text and behind what cannot end a sentence; 1e5 one where no letters follow.
ARABIC = (
    rf"(?>(?:(?<![0-9],)[0-9]{{1,3}}(?:,[0-9]{{3}})+(?!,?[0-9])|[0-9]+(?:{THOUSANDS}[0-9]+)*)"
    r"(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4}(?![0-9A-Za-z_]|\.[0-9]))?"
    r"|(?:(?<![^ \t\n\r(\[{<>=≤≥≈~:,;、，+*/|\"'“‘「『¥￥$€£−-])|(?<=[为為是约約近于於达達到至负負]))"
    r"\.[0-9]+(?:[eE][+-]?[0-9]{1,4}(?![0-9A-Za-z_]|\.[0-9]))?)"
)
_DIGIT = f"[{''.join(DIGITS)}]"
_POWER = "(?:[十拾百佰万萬亿億]|[千仟](?!克))"  # 千克 is a unit
_TRILLIONS = "兆(?![瓦赫字帕焦欧歐伏位比])"  # 兆瓦 is a unit; 兆 never begins a number, as 兆头
_TENS = f"[{''.join(TENS)}]"
# An Arabic figure stands first, behind a zero or behind a magnitude; a Chinese digit never directly behind one.
RUN = re.compile(
    rf"(?:{ARABIC}|{_DIGIT}|{_POWER}|{_TENS})"
    rf"(?:(?<=[{ZEROS}{''.join(POWERS)}]){ARABIC}|(?<![0-9])(?:{_DIGIT}|{_TENS})"
    rf"|(?<=[0-9])[ \t]+(?:{_POWER}|{_TRILLIONS})|{_POWER}|{_TRILLIONS})*"
)
TOKEN = re.compile(rf"[ \t]*(?:{ARABIC}|[{CHINESE}])")
HAS_ARABIC = re.compile("[0-9]")
_ARABIC = re.compile(ARABIC)

_COEFFICIENT = rf"(?>{ARABIC}|[{''.join(DIGITS)[len(ZEROS) :]}])"
_Z = f"[{ZEROS}]*"
_SECTION = (
    rf"{_Z}(?:(?P<k{{n}}>{_COEFFICIENT})[千仟]{_Z})?(?:(?P<h{{n}}>{_COEFFICIENT})[百佰]{_Z})?"
    rf"(?:(?P<t{{n}}>{_COEFFICIENT})?(?P<ten{{n}}>[十拾]){_Z})?(?P<o{{n}}>{_COEFFICIENT})?"
)
_S0, _S1, _S2, _S3, _S4 = (f"(?P<s{n}>{_SECTION.replace('{n}', n)})" for n in "01234")
_WHOLE = re.compile(
    f"(?:{_S4}(?P<huge>兆))?(?:(?:{_S0}(?P<first>[万萬]))?{_S1}(?P<big>[亿億]))?(?:{_S2}(?P<second>[万萬]))?{_S3}"
)
_BEHIND_POINT = re.compile(rf"\.[0-9]+[^0-9].*[0-9{''.join(DIGITS)}]", re.DOTALL)
_BARE = re.compile("(?P<front>[十拾百佰千仟万萬])(?:(?P<ten_thousand>[万萬])?(?P<big>[亿億])?|兆)")
_ONE_LEFT_OUT = re.compile(f"[千仟]{_COEFFICIENT}[百佰十拾]|[百佰]{_COEFFICIENT}[十拾]")  # 千二百
_POWERS_ONLY = re.compile(f"[{''.join(POWERS)}]+")
_DIGITS_ONLY = re.compile(f"{_DIGIT}+")

EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def arabic(text: str) -> Decimal:
    """The figure 42,000.50 as a decimal."""
    return Decimal(text.replace(",", "").replace(THOUSANDS, ""))


def scaled(value: Decimal, power: int) -> Decimal:
    """The value times a power of ten, exactly."""
    return EXACT.scaleb(value, power)


def with_fraction(whole: Decimal, digits: str) -> Decimal:
    """四 and 二 of 四点二."""
    return Decimal(f"{whole:f}.{''.join(str(DIGITS[c]) for c in digits)}")


def run_value(run: str, before_unit: bool) -> Decimal | None:
    """The number that a run writes; None where it is none, as 一 without a unit, 七八 or 百元."""
    run = run.replace(" ", "").replace("\t", "")
    for mark, written in TENS.items():
        run = run.replace(mark, written)
    if run[-1] in "0123456789" and _ARABIC.fullmatch(run):
        return arabic(run)
    if _DIGITS_ONLY.fullmatch(run):
        return _positional([DIGITS[c] for c in run], before_unit)
    if _POWERS_ONLY.fullmatch(run):
        return _bare(run, before_unit)
    return _structured(run)


def _positional(digits: list[int], before_unit: bool) -> Decimal | None:
    """二〇二〇 is 2020; one digit needs a unit; 七八 and 三五 are guesses, 一一 is a word."""
    if len(digits) == 1 and not before_unit:
        return None
    if len(digits) == 2 and all(digits):
        first, second = digits
        if second == first + 1 or (first, second) == (3, 5) or (first == second and not before_unit):
            return None
    return Decimal("".join(map(str, digits)))


def _bare(run: str, before_unit: bool) -> Decimal | None:
    """十万, 百万元: a magnitude in front counts as one of it; 百元, 千万不要 and 万一 are no numbers."""
    m = _BARE.fullmatch(run)
    if m is None:
        return None
    front = POWERS[m["front"]]
    if len(run) == 1:
        return Decimal(10) if front == 1 and before_unit else None
    if POWERS[run[1]] <= front or not (front == 1 or before_unit):
        return None
    return scaled(Decimal(1), sum(POWERS[c] for c in run))


def _structured(run: str) -> Decimal | None:
    if _ONE_LEFT_OUT.match(run):
        run = f"一{run}"
    m = _WHOLE.fullmatch(run)
    if m is None or _BEHIND_POINT.search(run):
        return None
    huge, total, myriads = Decimal(0), Decimal(0), False
    if m["huge"]:
        value = _section(m, 4)
        if not value or m["first"]:
            return None
        huge = scaled(value, 12)
    if m["big"]:
        if m["first"]:
            value = _section(m, 0)
            if not value:
                return None
            total, myriads = scaled(value, 4), True
        value = _section(m, 1)
        if (
            value is None
            or ((myriads or m["huge"]) and value >= 10_000)
            or (value == 0 and not (myriads and not _has_place(m, 1)))
        ):
            return None
        total, myriads = scaled(EXACT.add(total, value), 8), False
    if m["second"]:
        value = _section(m, 2)
        if not value or ((m["big"] or m["huge"]) and value >= 10_000):
            return None
        total, myriads = EXACT.add(total, scaled(value, 4)), True
    behind = 4 if myriads else 8 if m["big"] else 12 if m["huge"] else None
    value = _last_section(m, behind)
    if value is None or (behind and value >= scaled(Decimal(1), behind)):
        return None
    return EXACT.add(huge, EXACT.add(total, value))


def _has_place(m: re.Match[str], n: int) -> bool:
    return any(m[f"{place}{n}"] for place in ("k", "h", "ten"))


def _coefficient(text: str) -> Decimal:
    return Decimal(DIGITS[text]) if text in DIGITS else arabic(text)


def _places(m: re.Match[str], n: int) -> tuple[Decimal, int | None] | None:
    """(thousands, hundreds and tens of a section, the power of the last that is there); None if one is too large."""
    total, last = Decimal(0), None
    for place, power in (("k", 3), ("h", 2), ("t", 1)):
        written = m[f"{place}{n}"] or ("一" if place == "t" and m[f"ten{n}"] else None)
        if written is None:
            continue
        amount = scaled(_coefficient(written), power)
        if last is not None and amount >= 10**last:
            return None
        total, last = EXACT.add(total, amount), power
    return total, last


def _section(m: re.Match[str], n: int) -> Decimal | None:
    """A section before 万 or 亿."""
    places = _places(m, n)
    if places is None:
        return None
    total, last = places
    if m[f"o{n}"] is None:
        return total
    ones = _coefficient(m[f"o{n}"])
    return None if last is not None and ones >= 10**last else EXACT.add(total, ones)


def _last_section(m: re.Match[str], behind: int | None) -> Decimal | None:
    """What stands last: ones behind a magnitude count a tenth of it (四万二, 一百五), behind a zero as ones."""
    places = _places(m, 3)
    if places is None:
        return None
    total, last = places
    written = m["o3"]
    if written is None:
        return total
    ones = _coefficient(written)
    at = m.start("o3")
    last = behind if last is None else last
    if last is None:  # 零5
        return ones if at and m.string[at - 1] in ZEROS else None
    if m.string[at - 1] not in ZEROS and last > 1 and len(written) == 1:
        return EXACT.add(total, scaled(ones, last - 1))
    return None if ones >= 10**last else EXACT.add(total, ones)


def chinese_int(text: str) -> int | None:
    """The number that Chinese numerals alone write, as before a unit; None where they write none."""
    value = run_value(text, True)
    return None if value is None else int(value)
