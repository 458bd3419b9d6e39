"""Values in text (page 50): numbers, dates, booleans, names, sentences, page citations, with raw spans."""

import decimal
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from oracles import daytext
from oracles.bounds import (
    EXACT,
    LOWER,
    RANGE,
    after,
    before,
    range_joiner,
    scale_word,
    shared_magnitude,
    signed,
    unread_scale,
)
from oracles.daytext import Date, days_in
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
    Normal,
    figures_unified,
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
    """A number with its unit ("" for none), its span and kind; `article` marks the 一 of 一个.

    The low end of a range has the other one in `high`.
    """

    value: Decimal
    unit: str
    start: int
    end: int
    article: bool = False
    kind: str = EXACT
    high: Decimal | None = None


class Name(NamedTuple):
    """A name, every way of reading it (the nearest surname first), and its span."""

    text: str
    readings: tuple[str, ...]
    start: int
    end: int
    quoted: bool


FORMATS = ("auto", "auto")  # the decimal mark and the order of dates where a caller names none


def dates(raw: str, date_order: str | None = None) -> list[Date]:
    """Every date in the text, in order."""
    return daytext.dates(raw, date_order or FORMATS[1])


def date_ranges(raw: str) -> list[tuple[Date, Date]]:
    """Pairs of dates joined by 至, 到, ~, a dash or `to`."""
    return daytext.date_ranges(raw, FORMATS[1])


# --- numbers -------------------------------------------------------------------------------------------------------

_DIGITS_AND_COMMAS = re.compile("[0-9]+(?:,[0-9]+)*")
_DIGITS = re.compile("[0-9]+(?:٬[0-9]+)*")
_DECIMALS = re.compile(r"\.[0-9]+")
_TENTHS = re.compile(r"\.[0-9]+")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{1,4}(?![0-9A-Za-z_]|\.[0-9])")
_BEFORE_POINT = " \t\n\r([{<>=≤≥≈~:,;、，+*/|\"'“‘「『¥￥$€£−-为為是约約近于於达達到至负負"
_UNITS_LONGEST_FIRST = sorted({*UNITS, *EXTRA_UNITS}, key=lambda unit: (-len(unit), unit))
_POINT = re.compile(rf"[点點]([{''.join(DIGITS)}]+)((?:百|千|佰|仟)?(?:万|萬|亿|億|兆)|千|仟|百|佰)?")
_WORD = re.compile("[A-Za-z_]+")
_JOINED = re.compile(r"[ \t]*(?:[-~–—至到、或和])[ \t]*")


def _figure_end(text: str, i: int) -> int | None:
    """Where the Arabic figure at i ends: 42,000.5, .5, 1e5."""
    end = None
    if m := _DIGITS_AND_COMMAS.match(text, i):
        first, *groups = m[0].split(",")
        inside = re.search("[0-9],\\Z", text[max(0, i - 2) : i]) is not None  # of commas that list
        if not (groups and len(first) <= 3 and all(len(group) == 3 for group in groups)) or inside:
            m = _DIGITS.match(text, i)
            assert m is not None
        decimals = _DECIMALS.match(text, m.end())
        end = decimals.end() if decimals else m.end()
    elif (i == 0 or text[i - 1] in _BEFORE_POINT) and (m := _TENTHS.match(text, i)):
        end = m.end()
    if end is None:
        return None
    exponent = _EXPONENT.match(text, end)
    return exponent.end() if exponent else end


def _run(text: str, i: int) -> tuple[list[tuple[str, Token]], list[int]]:
    """The tokens of the longest run at i, and where each ends."""
    tokens: list[tuple[str, Token]] = []
    ends: list[int] = []
    arabic = False
    while i < len(text) and not (arabic and len(tokens) >= 40):
        before = tokens[-1][1] if tokens else None
        c = text[i]
        if c in "0123456789" or (c == "." and before is None):
            end = _figure_end(text, i)
            if end is None or not (before is None or before == "d0" or str(before)[0] == "m"):
                break
            tokens.append((text[i:end], Decimal(text[i:end].replace(",", "").replace("٬", ""))))
            i, arabic = end, True
        elif c in NUMERAL and not (c not in MAGNITUDES and isinstance(before, Decimal)):
            if c == "兆" and (before is None or _is_mega(text, i)):
                break
            if text.startswith(("千克", "仟克"), i):
                break
            tokens.append((c, token_of(c)))
            i += 1
        elif c in " \t" and isinstance(before, Decimal):
            j = i
            while j < len(text) and text[j] in " \t":
                j += 1
            if j == len(text) or text[j] not in MAGNITUDES or text.startswith("千克", j) or _is_mega(text, j):
                break
            i = j
            continue
        else:
            break
        ends.append(i)
    return tokens, ends


def _is_mega(text: str, i: int) -> bool:
    """Whether the 兆 at i is a part of a unit: 兆瓦, 兆赫."""
    return text[i] == "兆" and re.match("[瓦赫字帕焦欧歐伏位比]", text[i + 1 : i + 2]) is not None


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
    if c in SHARE_UNIT and text.startswith(("分之", "分の"), i + 1):
        return _share(text, i)
    tokens, ends = _run(text, i)
    if not tokens:
        return None, i + 1
    arabic = any(isinstance(token, Decimal) for _, token in tokens)
    vague = i > 0 and text[i - 1] in "几幾数數" and c in MAGNITUDES
    if endless := re.compile(r"[eE][+-]?[0-9]{5,}").match(text, ends[-1]):
        return None, endless.end()
    if fraction := _fraction(text, i, tokens, ends[-1]):
        value, end = fraction
        number = None if value is None else _fraction_number(text, i, value, end)
        return number, number.end if number else end
    if vague:
        return None, ends[-1]
    if coins := _coins_alone(text, i):
        return coins, coins.end
    if not arabic and (dotted := _dotted(text, i, tokens, ends[-1])):
        return dotted
    if not arabic and (point := _POINT.match(text, ends[-1])):
        number = _pointed(text, i, tokens, point)
        if number is not None:
            return number, number.end
    for n in range(len(tokens), 0, -1):
        end, kind = ends[n - 1], EXACT
        more = re.compile("[多余餘](万|萬|亿|億|兆)").match(text, end)
        if more:
            value = run_value(tokens[:n], True)
            if value is not None:
                with decimal.localcontext(exact_context(more.end() - i)):
                    value = value.scaleb(MAGNITUDES[more[1]])
            end, kind = more.end(), LOWER
        power = 0
        if not more and text[end - 1] in "0123456789":
            power, end = scale_word(text, i, end)
            if not power and unread_scale(text, end):
                if not arabic:
                    break
                continue
        at = end + 1 if text[end : end + 1] in {"多", "余", "餘"} and _unit(text, end + 1)[0] else end
        unit, unit_end = _unit(text, at)
        kind = LOWER if at > end else kind
        if not more:
            value = run_value(tokens[:n], unit != "")
        if value is not None:
            with decimal.localcontext(exact_context(end - i)):
                value = value.scaleb(power) if power else value
            article = n == 1 and tokens[0][0] in "一壹" and unit != ""
            number = _with_unit(value, unit, i, unit_end if unit else end, article)._replace(kind=kind)
            number = _with_parts(text, number) if kind == EXACT else number
            return number, number.end
        if not arabic:
            break
    return None, ends[-1] if not arabic else ends[0]


def _with_unit(value: Decimal, unit: str, start: int, end: int, article: bool = False) -> Number:
    if unit in BIG_UNIT:
        with decimal.localcontext(exact_context(end - start)):
            value, unit = value.scaleb(BIG_UNIT[unit]), "元"
    return Number(value, SAME_UNIT.get(unit, unit), start, end=end, article=article)


_COIN = f"[0-9]{{1,2}}|[{''.join(DIGITS)}]"
_JIAO = "角(?![度色落形星逐])|毛(?![利重坯巾衣笔])"
_FEN = "分(?![钟鐘之别別期析配成为為公局店院行部])"


def _coin(text: str, i: int, mark: str) -> tuple[Decimal, int] | None:
    """How many 角 or 分 stand at i, and where they end."""
    m = re.compile(f"({_COIN})[ \t]*(?:{mark})").match(text, i)
    return (Decimal(DIGITS[m[1]] if m[1] in DIGITS else int(m[1])), m.end()) if m else None


def _after_zero(text: str, i: int) -> int:
    m = re.compile("[ \t]*零?").match(text, i)
    return m.end() if m else i


def _jiao_and_fen(text: str, i: int) -> tuple[Decimal, int] | None:
    """The 元 that 5角3分, 5角 or 3分 at i are, and where they end."""
    at = _after_zero(text, i)
    starts = [at] if at == i or text[at - 1] != "零" else [at, at - 1]
    for start in starts:
        if jiao := _coin(text, start, _JIAO):
            fen = next((f for s in (_after_zero(text, jiao[1]),) if (f := _coin(text, s, _FEN))), None)
            return jiao[0] / 10 + (fen[0] / 100 if fen else 0), fen[1] if fen else jiao[1]
        if fen := _coin(text, start, _FEN):
            return fen[0] / 100, fen[1]
    return None


def _coins_alone(text: str, i: int) -> Number | None:
    """5角3分, 5角钱, 5分钱 and 5角, which has no 元 before it; 三角 is a triangle."""
    if jiao := _coin(text, i, _JIAO):
        fen = _coin(text, _after_zero(text, jiao[1]), _FEN)
        if fen:
            return Number(jiao[0] / 10 + fen[0] / 100, "元", i, end=fen[1])
    if (jiao := _coin(text, i, "[角毛][钱錢]")) or re.compile(f"[0-9]{{1,2}}(?:{_JIAO})").match(text, i):
        jiao = jiao or _coin(text, i, _JIAO)
        assert jiao is not None
        return Number(jiao[0] / 10, "元", i, end=jiao[1])
    if fen := _coin(text, i, "分[钱錢]"):
        return Number(fen[0] / 100, "元", i, end=fen[1])
    return None


def _coins_as_whole(text: str, i: int, first: int, last: int) -> Number | None:
    """7分, 六角, 约7分: the whole text is one coin, perhaps with a sign or a bound before it."""
    for mark, size in (("[角毛]", 10), ("分", 100)):
        coin = _coin(text[:last], i, mark)
        if coin and coin[1] == last and last - i <= 6 and before(text, i, last, "元", 0)[0] <= first:
            return Number(coin[0] / size, "元", i, end=last)
    return None


def _with_parts(text: str, number: Number) -> Number:
    """1元5角, 两年半."""
    with decimal.localcontext(exact_context(number.end - number.start)):
        if number.unit == "元" and (coins := _jiao_and_fen(text, number.end)):
            return number._replace(value=number.value + coins[0], end=coins[1], article=False)
        half = re.compile("半(?![载載夜数數价價径徑途路截真推成])").match(text, number.end)
        parted = number.unit in ("年", "天", "个", "小时", "公里", "千克", "吨", "岁")
        if half and parted and number.value == number.value.to_integral_value():
            return number._replace(value=number.value + Decimal("0.5"), end=half.end(), article=False)
    return number


def _pointed(text: str, i: int, tokens: list[tuple[str, Token]], point: re.Match[str]) -> Number | None:
    """四点二万, 三点五公里, and 十二点五 (two numerals before 点); 十二点五十分 is a time, 第十二点 an ordinal."""
    whole = run_value(tokens, True)
    unit, end = _unit(text, point.end())
    time = text[point.end() : point.end() + 1] in ("十", "分", "刻")
    ordinal = i > 0 and text[i - 1] == "第"
    alone = not time and not ordinal and run_value(tokens, False) is not None
    if whole is None or not (point[2] or unit or alone):
        return None
    with decimal.localcontext(exact_context(point.end() - i)):
        value = Decimal(f"{whole:f}.{''.join(str(DIGITS[c]) for c in point[1])}")
        value = value.scaleb(sum(MAGNITUDES[c] for c in point[2] or ""))
    return _with_unit(value, unit, i, end if unit else point.end())


def _share(text: str, i: int) -> tuple[Number | None, int]:
    """百分之十五 is 15 %, 千分之三 3 ‰, 万分之五 5 ‱."""
    at = i + 3
    if text.startswith(("百", "佰"), at):
        return Number(Decimal(100), SHARE_UNIT[text[i]], i, end=at + 1), at + 1
    tokens, ends = _run(text, at)
    if not tokens:
        return None, at
    value, end = run_value(tokens, True), ends[-1]
    point = re.compile(rf"[点點]([{''.join(DIGITS)}]+)").match(text, end)
    if value is not None and point and "." not in text[at:end]:
        value, end = Decimal(f"{value:f}.{''.join(str(DIGITS[c]) for c in point[1])}"), point.end()
    return (None if value is None else Number(value, SHARE_UNIT[text[i]], i, end=end)), end


def _divided(above: Decimal, below: Decimal) -> Decimal | None:
    with decimal.localcontext(decimal.Context(prec=28, traps=[])):
        return above / below if below else None


def _fraction(text: str, i: int, tokens: list[tuple[str, Token]], end: int) -> tuple[Decimal | None, int] | None:
    """(value, end) of 1⁄2, 3 1⁄2, 三分之一, 3分の1 and 一又二分之一 at i, whose first figure has these tokens."""
    for pattern in ("([0-9,٬]+) ([0-9]{1,9})⁄([0-9]{1,9})(?![0-9⁄])", "()([0-9]{1,9})⁄([0-9]{1,9})(?![0-9⁄])"):
        m = re.compile(pattern).match(text, i)
        if m is None or text[i - 1 : i] == "⁄" or (m[1] and m.end(1) != end):
            continue
        sizes = [len(group) for group in re.split("[,٬]", m[1])]
        if m[1] and (max(sizes) > 9 or (len(sizes) > 1 and (sizes[0] > 3 or set(sizes[1:]) != {3}))):
            continue
        if len({c for c in m[1] if c in ",٬"}) > 1:
            continue
        above, below = int(m[2]), int(m[3])
        if above >= below and (m[1] or len(m[2]) > 1):
            return None, m.end()  # 31⁄2
        value = _divided(Decimal(above), Decimal(below))
        with decimal.localcontext(exact_context(60)):
            return (None if value is None else value + int(re.sub("[,٬]", "", m[1]) or "0")), m.end()
    if text[end : end + 1] == "又":
        below_tokens, below_ends = _run(text, end + 1)
        part = _fraction_of_parts(text, below_tokens, below_ends[-1]) if below_tokens else None
        if part is None:
            return None
        whole = run_value(tokens, True)
        if whole is None or part[0] is None or part[0] >= 1:
            return None, part[1]
        with decimal.localcontext(exact_context(len(text) + 10_000)):
            return whole + part[0], part[1]
    return _fraction_of_parts(text, tokens, end)


def _fraction_of_parts(text: str, tokens: list[tuple[str, Token]], end: int) -> tuple[Decimal | None, int] | None:
    if text[end : end + 2] not in ("分之", "分の"):
        return None
    above, ends = _run(text, end + 2) if end + 2 < len(text) else ([], [])
    if not above:
        return (None, end + 2) if text[end + 1] == "之" else None
    values = run_value(above, True), run_value(tokens, True)
    return (None if values[0] is None or values[1] is None else _divided(values[0], values[1])), ends[-1]


def _fraction_number(text: str, i: int, value: Decimal, end: int) -> Number | None:
    """A fraction with the magnitude and the unit behind it."""
    power = 0
    if text[end - 1] in "0123456789":
        power, end = scale_word(text, i, end)
        if not power and unread_scale(text, end):
            return None
    kind, at = EXACT, end
    if not _unit(text, end)[0] and text[end : end + 1] in {"多", "余", "餘"} and _unit(text, end + 1)[0]:
        kind, at = LOWER, end + 1
    unit, unit_end = _unit(text, at)
    with decimal.localcontext(exact_context(len(text) + 60)):
        value = value.scaleb(power) if power else value
    number = _with_unit(value, unit, i, unit_end if unit else end)._replace(kind=kind)
    return _with_parts(text, number) if kind == EXACT else number


def _dotted(text: str, i: int, tokens: list[tuple[str, Token]], end: int) -> tuple[Number | None, int] | None:
    """三・五万 and 三・五%, with where to go on; 三・一四 and what looks like a list marker are no numbers."""
    if text[end : end + 1] not in (".", "・", "·"):
        return None
    at = end + 1
    while at < len(text) and text[at] in DIGITS:
        at += 1
    digits, powers = text[end + 1 : at], at
    for power in ("百", "千", "佰", "仟", ""):
        rest = text[at + len(power) : at + len(power) + 1]
        if text.startswith(power, at) and (rest in tuple("万萬亿億兆") or (power and rest not in tuple(NUMERAL))):
            powers = at + len(power) + (rest in tuple("万萬亿億兆"))
            break
    if not digits or text[powers : powers + 1] in tuple(NUMERAL):
        return None
    unit, unit_end = _unit(text, powers)
    whole = run_value(tokens, True)
    lead = text[:i].rstrip(" \t")
    marker = text[end] == "." and (lead == "" or lead[-1] in "\n\r。！？!?；;")
    if whole is None or marker or (powers == at and unit not in ("%", "‰", "‱")):
        return None, powers
    with decimal.localcontext(exact_context(len(text) + 60)):
        value = Decimal(f"{whole:f}.{''.join(str(DIGITS[c]) for c in digits)}")
        value = value.scaleb(sum(MAGNITUDES[c] for c in text[at:powers]))
    number = _with_unit(value, unit, i, unit_end if unit else powers)
    return number, number.end


def numbers(raw: str, decimal_mark: str | None = None) -> list[Number]:
    """Every number in the text, in order; digits of dates, references, ordinals and list markers are none."""
    normal = normalised(raw)
    rest = days_in(references_masked(normal.text), FORMATS[1])[2]
    text = markers_masked(figures_unified(rest, decimal_mark or FORMATS[0]))
    found: list[tuple[Number, int, bool]] = []  # with where the figure begins, and whether it is a lone numeral
    first = len(text) - len(text.lstrip())
    last = len(text.rstrip(" \t\n\r。.!！"))
    i = 0
    while i < len(text):
        c = text[i]
        if word := _WORD.match(text, i):
            attached = _figure_end(text, word.end())  # V2, A4
            i = attached if attached and word[0].upper() not in CURRENCIES else word.end()
            continue
        if c not in "0123456789." and c not in NUMERAL:
            i += 1
            continue
        number, end = _number_at(text, i)
        if coins := _coins_as_whole(text, i, first, last):
            number, end = coins, coins.end
        lone = number is None
        number = _lone(text, i, end) if number is None else number
        i = max(end, i + 1)
        if number is None:
            continue
        qualified = _qualified(text, number, found[-1][0] if found else None)
        lone = lone and not (qualified.start <= first and qualified.end >= last)
        if not lone or range_joiner(text, number.end) is not None:
            found.append((qualified, number.start, lone))
            i = qualified.end
    for k in range(len(found) - 2, -1, -1):
        here, after_ = found[k][0], found[k + 1][0]
        joined = _JOINED.match(text, here.end)
        if not here.unit and (
            (joined and joined.end() == after_.start) or range_joiner(text, here.end) == after_.start
        ):
            found[k] = (here._replace(unit=after_.unit), *found[k][1:])  # 100-200元: both are 元
    return _placed(normal, _ranges(text, found))


def _placed(normal: Normal, found: list[Number]) -> list[Number]:
    spans = [normal.span(number.start, number.end) for number in found]
    return [number._replace(start=a, end=b) for number, (a, b) in zip(found, spans, strict=True)]


def _lone(text: str, i: int, end: int) -> Number | None:
    """三, 零点五: a number only as the whole text or at the beginning of a range."""
    tokens, ends = _run(text, i)
    if not tokens or ends[-1] != end or any(isinstance(token, Decimal) for _, token in tokens):
        return None
    value = run_value(tokens, True)
    if value is None or (i > 0 and text[i - 1] in "几幾数數"):
        return None
    point = re.compile(rf"[点點]([{''.join(DIGITS)}]+)").match(text, end)
    if point and (range_joiner(text, point.end()) is not None or not text[point.end() :].strip(" \t\n\r。.!！")):
        value, end = Decimal(f"{value:f}.{''.join(str(DIGITS[c]) for c in point[1])}"), point.end()
    return Number(value, "", i, end=end)


def _qualified(text: str, number: Number, previous: Number | None) -> Number:
    start, negative, kind = before(
        text, number.start, number.end, number.unit, previous.end if previous else 0,
        below_zero=previous is not None and previous.value < 0,
    )  # fmt: skip
    end, kind_after = after(text, number.end, number.unit)
    kinds = [one for one in (kind, number.kind, kind_after) if one != EXACT]
    return number._replace(
        value=signed(number.value, negative), start=start, end=end, kind=kinds[0] if kinds else EXACT
    )


def _ranges(text: str, found: list[tuple[Number, int, bool]]) -> list[Number]:
    """Both ends of a range are marked; a lone numeral that begins none is no number."""
    out: list[Number] = []
    taken = False  # as the high end of the range before
    for k, (here, figure, lone) in enumerate(found):
        low: Decimal | None = None
        if k + 1 < len(found) and not taken and not found[k + 1][2]:
            low = _low_end(text, here, figure, lone, found[k + 1])
        if low is not None:
            out.append(here._replace(value=low, kind=RANGE, high=found[k + 1][0].value))
        elif taken:
            out.append(here._replace(kind=RANGE))
        elif not lone:
            out.append(here)
        taken = low is not None
    return out


def _low_end(text: str, here: Number, figure: int, lone: bool, after_: tuple[Number, int, bool]) -> Decimal | None:
    there, there_figure, _ = after_
    if range_joiner(text, here.end) != there.start or here.unit != there.unit:
        return None
    joiner = text[here.end : there.start]
    written, written_last = text[figure : here.end], text[there_figure : there.end]
    if re.match("0[0-9]", written) or re.search(r"[0-9]-\Z", text[: here.start]):
        return None
    if "-" in joiner and re.match("-[0-9]", text[there.end :]):
        return None
    if lone:
        named = figure > 0 and text[figure - 1] in "统統逐之唯惟专專同划劃单單如第每任某不归歸合其周期拜初"
        if named or joiner != joiner.strip() or not (there.unit or any(c in MAGNITUDES for c in written_last)):
            return None
    low = here.value
    if there.value > 0 and re.fullmatch(f"[0-9.,٬点點{NUMERAL}]+", written):
        figure_end = _figure_end(text, there_figure)
        power = scale_word(text, there_figure, figure_end)[0] if figure_end else 0
        if power and figure_end:
            if abs(low) < Decimal(text[there_figure:figure_end].replace(",", "").replace("٬", "")):
                with decimal.localcontext(exact_context(len(text))):
                    low = low.scaleb(power)
            return low if low < there.value else None
        for part, power in shared_magnitude(written_last):
            tokens, ends = _run(part, 0) if part else ([], [])
            most = run_value(tokens, True) if tokens and ends[-1] == len(part) else None
            if most is not None and abs(low) < most:
                with decimal.localcontext(exact_context(len(text))):
                    low = low.scaleb(power)
                break
    return low if low < there.value else None


# --- booleans and names --------------------------------------------------------------------------------------------

TRUE_WORDS = ["是", "有", "yes", "true", "да", "はい"]
FALSE_WORDS = [
    "否",
    "没有",
    "沒有",
    "不是",
    "并非",
    "並非",
    "no",
    "false",
    "нет",
    "いいえ",
    "不同意",
    "不足以",
    "不等于",
]
FALSE_WORDS += [
    "不等於",
    "不到庭",
    "不到场",
    "不到場",
    "不安排",
    "没收到",
    "沒收到",
    "没收取",
    "沒收取",
    "没收款",
    "沒收款",
]
# Longer words around 是, 有, 否, 不, 没 and 未 that answer nothing.
NEUTRAL_WORDS = """
    是否 有没有 有沒有 有无 有無 有否 能否 可否 应否 應否 会否 會否 与否 與否 否则 否則 要不是 是非 实事求是
    持有 拥有 擁有 享有 占有 佔有 具有 含有 带有 帶有 设有 設有 附有 载有 載有 有效期
    否认 否認 否定 否决 否決
    實事求是 国有 國有 所有 公有 私有 共有 现有 現有 原有 特有 固有 专有 專有 自有 既有 只有 唯有 如有 若有 有限
    有关 有關 有期 有时 有時 有些 有偿 有償 有价证券 有價證券 有形 有机 有機 不仅 不僅 不但 不只 不止 不光 不单 不單
    不过 不過 不管 不论 不論 不如 不然 不久 不断 不斷 不时 不時 不少 不足 不到 不满 不滿 不及 不超过 不超過 不低于
    不低於 不高于 不高於 不多于 不多於 不大于 不大於 不小于 不小於 不等 不同 不动产 不動產 不可抗力 不可分 不当得利
    不當得利 不正当 不正當 不法 不良 不利 不便 不幸 不慎 不料 不妨 不得不 不能不 不可不 不会不 不會不 不得已 不定期
    不特定 不锈钢 不銹鋼 不服 不安 不日 不禁 不由 不愧 不惜 不知 不清楚 不清 不详 不詳 不明 不确定 不確定 不记得
    不記得 不好说 不好說 不一定 差不多 对不起 對不起 了不起 来不及 來不及 要不 动不动 動不動 记不清 記不清 记不得
    記不得 说不清 說不清 没收 沒收 没错 沒錯 没问题 沒問題 没关系 沒關係 没落 沒落 没入 沒入 淹没 淹沒 沉没 沉沒
    埋没 埋沒 出没 出沒 吞没 吞沒 隐没 隱沒 没准 沒準 没提及 沒提及 没说明 沒說明 没记录 沒記錄 未成年 未来 未來
    未必 未经 未經 未婚 未知 未满 未滿 未満 未超过 未超過 未详 未詳 未定 未提及 未提到 未说明 未說明 未记载 未記載
    未载明 未載明 未明确 未明確 未遂 未到期
"""
CONNECTIVES = "但是 可是 还是 還是 于是 於是 只是 若是 要是 凡是 而是 或是 总是 總是 倒是 尤其是 特别是 特別是"


def first_boolean(raw: str) -> bool | None:
    """The first boolean word, the longest where several begin, a negated verb as no; None without any."""
    text = normalised(raw).text.lower()
    neutral, connectives = NEUTRAL_WORDS.split(), CONNECTIVES.split()
    words = sorted([*TRUE_WORDS, *FALSE_WORDS, *neutral], key=lambda word: (-len(word), word))
    i = 0
    while i < len(text):
        if re.match(f"([{HAN}])[不没沒]\\1", text[i : i + 3]):  # 能不能
            i += 3
            continue
        connective = next((w for w in connectives if text.startswith(w, i) and text[i + len(w) :][:1] != "否"), None)
        if connective:
            i += len(connective)
            continue
        word = next((w for w in words if text.startswith(w, i) and _whole_word(text, i, w)), None)
        if word is not None and word not in neutral:
            return word in TRUE_WORDS
        if word is None and text[i] in "不没沒未" and not text[:i].endswith(("如", "若", "倘", "如果", "要是", "除非")):
            return False
        i += len(word) if word is not None else 1
    return None


def _whole_word(text: str, i: int, word: str) -> bool:
    before_, behind = text[i - 1 : i] if i else "", text[i + len(word) :]
    if word in ("国有", "國有"):
        return not (before_ and before_ in "中我美法英德俄日韩韓泰外全各本两兩该該他它")  # 中国有
    if word == "はい":
        japanese = f"[ぁ-んァ-ヶー{HAN}]"
        return not re.match(japanese, before_) and not re.match(f"(?!です|でし|そう){japanese}", behind)
    if not re.match("[a-zа-яё]", word):
        return True
    if re.match("[a-zа-яё0-9_]", before_) or re.match("[a-zа-яё0-9_]", behind):
        return False
    number = re.match(r"\.?[ \t]*[0-9]|[ \t]+(more|less|fewer|later|earlier|greater)[ \t]+than", behind)
    return not (word == "no" and number)  # No. 5, no later than


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
        Name(raw[a + 1 : b - 1], (raw[a + 1 : b - 1],), a, end=b, quoted=True)
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
            found.append(Name(readings[0], tuple(readings), *normal.span(starts[0], end), quoted=False))
        i += len(title)
    for title in _LATIN_TITLES:
        for m in re.finditer(rf"(?<![A-Za-z]){re.escape(title)}[ \t]*([^\W\d_][^\W_]*)", text):
            if m[1][0].isupper():
                found.append(Name(m[1], (m[1],), *normal.span(m.start(), m.end()), quoted=False))
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
