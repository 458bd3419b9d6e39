"""Numbers in a text, with their units, signs and bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from rageval_batch.columnar.values.fractions import fraction_at
from rageval_batch.columnar.values.lexicon import CURRENCIES, MONEY_BEHIND, MULTIPLYING_UNIT, SAME_UNIT, longest_first
from rageval_batch.columnar.values.normal import THOUSANDS
from rageval_batch.columnar.values.numerals import (
    ARABIC,
    CHINESE,
    DIGITS,
    EXACT,
    HAS_ARABIC,
    POWERS,
    RUN,
    TOKEN,
    arabic,
    run_value,
    scaled,
    with_fraction,
)
from rageval_batch.columnar.values.qualifiers import Figure, Kind, after, before, is_list

_CANDIDATE = re.compile(
    rf"(?P<word>[A-Za-z_]+)(?P<attached>{ARABIC})?|(?P<share>[百佰千仟万萬])分[之の]|(?P<run>[0-9{CHINESE}]|\.(?=[0-9]))"
)
_SHARES = {"百": "%", "佰": "%", "千": "‰", "仟": "‰", "万": "‱", "萬": "‱"}
_FRACTION = re.compile(rf"[点點](?P<digits>[{''.join(DIGITS)}]+)")
_POWERS_BEHIND = "(?:百|千|佰|仟)?(?:万|萬|亿|億|兆)|千|仟|百|佰"
_POINT = re.compile(rf"{_FRACTION.pattern}(?P<power>{_POWERS_BEHIND})?")
_DOT = re.compile(rf"(?P<mark>[.・·])(?P<digits>[{''.join(DIGITS)}]+)(?P<power>{_POWERS_BEHIND})?(?![{CHINESE}])")
_BEFORE_LINE = ("", *"\n\r。！？!?；;")
_CLOCK = ("十", "分", "刻")  # behind 点 and a digit: minutes
_ENDLESS = re.compile(r"[eE][+-]?[0-9]{5,}")  # an exponent of a size that nobody writes
_AND_MORE = re.compile("[多余餘](?P<power>[万萬亿億兆])")  # 二十多万
_JOINED = re.compile(r"[ \t]*[-~–—至到、或和][ \t]*")
# Words behind a figure that multiply it: 3.2 billion, 3,5 млн; letters only beside a currency, as 5 m are metres.
_SCALES = {
    2: "hundreds?",
    3: "thousands?|tsd\\.?|тыс\\.?|тысяч[а-яё]{0,3}",
    5: "lakhs?",
    6: "millions?|millionen|mln|mn|mio\\.?|млн\\.?|миллион[а-яё]{0,3}",
    7: "crores?",
    9: "billions?|milliarden?|milliards?|bln|bn|mrd\\.?|млрд\\.?|миллиард[а-яё]{0,3}",
    12: "trillions?|trn|трлн\\.?|триллион[а-яё]{0,3}",
    15: "quadrillions?|квадриллион[а-яё]{0,3}",
}
_SHORT_SCALES = {"k": 3, "m": 6, "b": 9, "t": 12, "tn": 12}
_NO_LETTER_BEHIND = "(?-i:(?![A-Za-zА-Яа-яЁё_]))"
_SCALE = re.compile(
    rf"[ \t]*(?:{'|'.join(f'(?P<p{power}>{words})' for power, words in _SCALES.items())}){_NO_LETTER_BEHIND}",
    re.IGNORECASE,
)
_SHORT_SCALE = re.compile(
    rf"(?:(?P<letters>tn|[kmbt])|[ \t]+(?P<apart>(?-i:[kKMBT]))(?![-'’0-9])){_NO_LETTER_BEHIND}"
    rf"(?P<money>[ \t]*{MONEY_BEHIND})?",
    re.IGNORECASE,
)
# What multiplies a figure by no one knows what: 401k, 2B. The figure alone is not the value.
_UNREAD_SCALE = re.compile(rf"(?:[kKMBT](?![0-9])|[ \t]*(?i:dozens?|дюжин[а-яё]{{0,2}})){_NO_LETTER_BEHIND}")
_FIRST_OF_SCALE = frozenset(" \ttmbhlcqTMBHLCQтмкТМКkK")
_CURRENCY_SIGN_BEFORE = re.compile(r"[$€£¥￥₽][ \t]?(?:[0-9.,]+[ \t]*[-–~][ \t]*)?\Z")  # $5m, $3-5m
_CURRENCY_REACH = 24  # characters before a figure in which the sign is looked for
_VAGUE = "几幾数數"
_ONE = ("一", "壹")
_MOST_TOKENS = 40  # of a run with Arabic figures; longer ones are no numbers, and looking for the longest that is costs

# 角 and 分 behind 元; by themselves only where they cannot be corners, minutes or marks.
_COIN = f"(?:[0-9]{{1,2}}|[{''.join(DIGITS)}])"
_JIAO = "(?:角(?![度色落形星逐])|毛(?![利重坯巾衣笔]))"
_FEN = "分(?![钟鐘之别別期析配成为為公局店院行部])"
_COINS = re.compile(
    rf"[ \t]*零?(?:(?P<jiao>{_COIN})[ \t]*{_JIAO}(?:[ \t]*零?(?P<fen>{_COIN})[ \t]*{_FEN})?"
    rf"|(?P<only_fen>{_COIN})[ \t]*{_FEN})"
)
_COINS_ALONE = re.compile(
    rf"(?P<jiao>{_COIN})[ \t]*(?:{_JIAO}[ \t]*零?(?P<fen>{_COIN})[ \t]*{_FEN}|[角毛][钱錢]|(?<=[0-9]){_JIAO})"
    rf"|(?P<only_fen>{_COIN})[ \t]*分[钱錢]"
)
# 7分 and 六角 by themselves are coins only as the whole text.
_COINS_WHOLE = re.compile(rf"(?:(?P<jiao>{_COIN})[ \t]*[角毛]|(?P<only_fen>{_COIN})[ \t]*分)(?P<fen>(?!))?")
_LONGEST_COIN = 6  # characters
_HALF = re.compile("半(?![载載夜数數价價径徑途路截真推成])")
_HALVED_UNITS = frozenset({"年", "天", "个", "小时", "公里", "千克", "吨", "岁"})

# Ranges: 3-5万元. A smaller figure without a unit has the magnitude of the second.
_UNTIL = re.compile(r"[ \t]*(?:[-~–至到]|—{1,2}|(?<=[ \t])(?:to|до)(?=[ \t]))[ \t]*", re.IGNORECASE)
_POWER = re.compile(f"[{''.join(POWERS)}]")
_POWERS_LAST = re.compile(
    rf"(?P<powers>(?:[百佰]|[千仟](?!克))?[万萬]?[亿億]?兆?)(?<=[{''.join(POWERS)}])[^0-9{CHINESE}]*\Z"
)
_ARABIC = re.compile(ARABIC)
_FIGURE = re.compile(rf"[0-9.,{THOUSANDS}点點{CHINESE}]+")
_ZERO_IN_FRONT = re.compile("0[0-9]")
_SERIAL_BEFORE = re.compile(r"[0-9]-\Z")
_SERIAL_BEHIND = re.compile("-[0-9]")
NO_NUMERAL_BEHIND = frozenset("统統逐之唯惟专專同划劃单單如第每任某不归歸合其周期拜初")  # 统一到, 周三到
_LONGEST_AFTER = 20  # characters of a word behind a figure
_BLANK_OR_STOP = " \t\n\r。.!！"
_LAST = re.compile(rf"[{_BLANK_OR_STOP}]*\Z")


class Number(NamedTuple):
    """A number, its unit ("" for none), the span of both with sign and bound, and what kind of number it is.

    `article` marks the 一 of 一个. Both ends of a range are numbers; the first of them has the other in `high`.
    """

    value: Decimal
    unit: str
    start: int
    end: int
    article: bool = False
    kind: Kind = Kind.EXACT
    high: Decimal | None = None


class _Found(NamedTuple):
    """A number, where its figure begins, and whether it is a numeral that counts only as the beginning of a range."""

    number: Number
    figure: int
    lone: bool = False


def unit_pattern(units: Iterable[str]) -> re.Pattern[str]:
    """A unit behind a figure, the longest where several begin."""
    return re.compile(rf"[ \t]*(?P<unit>{'|'.join(map(re.escape, longest_first(units)))})")


class NumberReader:
    """Finds numbers, given the units that may follow them."""

    def __init__(self, units: Iterable[str]) -> None:
        self._unit = unit_pattern(units)

    def find(self, text: str) -> list[Number]:
        """The numbers of a normal text in which dates, references and markers are masked."""
        found: list[_Found] = []
        listed = is_list(text)
        whole = (len(text) - len(text.lstrip()), len(text.rstrip(_BLANK_OR_STOP)))
        at = 0
        while (m := _CANDIDATE.search(text, at)) is not None:
            if m["word"]:
                currency = m["attached"] and m["word"].upper() in CURRENCIES
                at = m.end("word") if currency else m.end()
                continue
            number, at = self._share(text, m) if m["share"] else self._at(text, m.start())
            if (coins := _whole_coins(text, m.start(), whole)) is not None:
                number, at = coins, coins.end
            lone = number is None
            number = _lone(text, m.start(), at) if number is None else number
            if number is None or (lone and not _may_count(text, number.end, whole[1])):
                continue
            qualified = _qualified(text, number, found[-1].number if found else None, listed=listed)
            lone = lone and not (qualified.start <= whole[0] and qualified.end >= whole[1])
            if not lone or _UNTIL.match(text, number.end):
                found.append(_Found(qualified, number.start, lone))
                at = qualified.end
        return _ranges(text, _units_shared(text, found))

    def _at(self, text: str, start: int) -> tuple[Number | None, int]:
        """The number that begins here, if any, and where to go on."""
        m = RUN.match(text, start)
        if m is None:  # 千克
            return None, start + 1
        run, end = m[0], m.end()
        ends = _token_ends(run, start) if HAS_ARABIC.search(run) else [end]
        end = ends[-1]
        if endless := _ENDLESS.match(text, end):
            return None, endless.end()
        if (fraction := fraction_at(text, start, end)) is not None:
            number = None if fraction.value is None else self._number(text, start, fraction.end, value=fraction.value)
            return number, fraction.end if number is None else number.end
        if start and text[start - 1] in _VAGUE and text[start] in POWERS:  # 几十, 数百万
            return None, end
        if coins := _COINS_ALONE.match(text, start):
            return Number(_coins(coins), "元", start, end=coins.end()), coins.end()
        if len(ends) == 1 and not HAS_ARABIC.search(run):
            return self._chinese(text, start, end)
        for stop in reversed(ends):
            if (number := self._number(text, start, stop)) is not None:
                return number, number.end
        return None, ends[0]

    def _chinese(self, text: str, start: int, end: int) -> tuple[Number | None, int]:
        if dot := _DOT.match(text, end):
            return self._dotted(text, start, end, dot=dot)
        if point := _POINT.match(text, end):
            number = self._pointed(text, start, end, point=point)
            if number is not None:
                return number, number.end
        number = self._number(text, start, end)
        return number, number.end if number is not None else end

    def _number(self, text: str, start: int, end: int, *, value: Decimal | None = None) -> Number | None:
        """The number that is written from start to end, with what follows of magnitude and unit.

        `value`: what it is worth, where more than a run of figures is written there.
        """
        run, kind = text[start:end], Kind.EXACT
        more = _AND_MORE.match(text, end) if value is None else None
        if more:
            value = run_value(run, True)
            if value is not None:
                value = scaled(value, POWERS[more["power"]])
            end, kind = more.end(), Kind.LOWER
        scale, end = (0, end) if more else figure_scale(text, start, end)
        if not scale and text[end - 1].isdecimal() and _UNREAD_SCALE.match(text, end):
            return None
        unit = self._unit.match(text, end)
        if unit is None and text[end : end + 1] in ("多", "余", "餘"):  # 30余人
            unit = self._unit.match(text, end + 1)
            kind = Kind.LOWER if unit else kind
        if not more and value is None:
            value = run_value(run, unit is not None)
        if value is None:
            return None
        value = scaled(value, scale) if scale else value
        number = _with_unit(value, unit, start, end=end, article=unit is not None and run in _ONE)
        return _with_parts(text, number) if kind is Kind.EXACT else number._replace(kind=kind)

    def _pointed(self, text: str, start: int, end: int, *, point: re.Match[str]) -> Number | None:
        """四点二万, 三点五公里, and 十二点五, whose whole part counts by itself; 十二点五十分 is a time."""
        whole = run_value(text[start:end], True)
        unit = self._unit.match(text, point.end())
        if whole is None or not (point["power"] or unit or _is_decimal(text, start, end, point=point)):
            return None
        value = scaled(with_fraction(whole, point["digits"]), sum(POWERS[c] for c in point["power"] or ""))
        return _with_unit(value, unit, start, end=point.end())

    def _dotted(self, text: str, start: int, end: int, *, dot: re.Match[str]) -> tuple[Number | None, int]:
        """三・五万, 三・五%; by themselves 三・一四 and 三・一一 may be a decimal, a day or a list: no number."""
        whole, unit = run_value(text[start:end], True), self._unit.match(text, dot.end())
        listed = dot["mark"] == "." and text[:start].rstrip(" \t")[-1:] in _BEFORE_LINE  # 三．五万元
        if whole is None or listed or not (dot["power"] or (unit and unit["unit"] in _SHARES.values())):
            return None, dot.end()
        value = scaled(with_fraction(whole, dot["digits"]), sum(POWERS[c] for c in dot["power"] or ""))
        number = _with_unit(value, unit, start, end=dot.end())
        return number, number.end

    def _share(self, text: str, m: re.Match[str]) -> tuple[Number | None, int]:
        """百分之十五 is 15 %, 千分之三 3 ‰."""
        start, at, unit = m.start(), m.end(), _SHARES[m["share"]]
        if text.startswith(("百", "佰"), at):
            return Number(Decimal(100), unit, start, end=at + 1), at + 1
        if (run := RUN.match(text, at)) is None:
            return None, at
        end = _token_ends(run[0], at)[-1] if HAS_ARABIC.search(run[0]) else run.end()
        value = run_value(text[at:end], True)
        if value is not None and "." not in run[0] and (fraction := _FRACTION.match(text, end)):
            value, end = with_fraction(value, fraction["digits"]), fraction.end()
        return (None if value is None else Number(value, unit, start, end=end)), end


def _is_decimal(text: str, start: int, end: int, *, point: re.Match[str]) -> bool:
    """Whether a numeral that counts without a unit goes on behind 点, which is no hour then and no ordinal."""
    clock = text[point.end() : point.end() + 1] in _CLOCK
    return not clock and text[start - 1 : start] != "第" and run_value(text[start:end], False) is not None


def _token_ends(run: str, start: int) -> list[int]:
    """Where each figure and numeral of a run ends, of a long run with Arabic figures only the first."""
    ends, arabic = [], False
    for m in TOKEN.finditer(run):
        ends.append(start + m.end())
        arabic = arabic or HAS_ARABIC.search(m[0]) is not None
        if arabic and len(ends) >= _MOST_TOKENS:
            break
    return ends


def _with_unit(value: Decimal, unit: re.Match[str] | None, start: int, *, end: int, article: bool = False) -> Number:
    if unit is None:
        return Number(value, "", start, end=end, article=article)
    name = unit["unit"]
    if name in MULTIPLYING_UNIT:
        value, name = scaled(value, MULTIPLYING_UNIT[name]), "元"
    return Number(value, SAME_UNIT.get(name, name), start, end=unit.end(), article=article)


def figure_scale(text: str, start: int, end: int) -> tuple[int, int]:
    """(power of ten, end) of the word behind an Arabic figure that multiplies it; (0, the figure's end) without any."""
    if text[end : end + 1] not in _FIRST_OF_SCALE or not text[end - 1].isdecimal():
        return 0, end
    if m := _SCALE.match(text, end):
        return int(str(m.lastgroup)[1:]), m.end()
    m = _SHORT_SCALE.match(text, end)
    if m and (m["money"] or _CURRENCY_SIGN_BEFORE.search(text[max(0, start - _CURRENCY_REACH) : start])):
        group = "letters" if m["letters"] else "apart"
        return _SHORT_SCALES[m[group].lower()], m.end(group)
    return 0, end


def _whole_coins(text: str, start: int, whole: tuple[int, int]) -> Number | None:
    """7分, 约六角: coins that are, with a sign or a bound, the whole text; None for anything else."""
    first, last = whole
    if last - start > _LONGEST_COIN or (m := _COINS_WHOLE.fullmatch(text, start, last)) is None:
        return None
    if start > first and before(text, Figure(start, last, "元", previous_end=0)).start > first:
        return None
    return Number(_coins(m), "元", start, end=last)


def _coins(m: re.Match[str]) -> Decimal:
    """7 角 8 分 as 元."""
    value = Decimal(0)
    for name, power in (("jiao", -1), ("fen", -2), ("only_fen", -2)):
        if written := m[name]:
            value += scaled(Decimal(DIGITS[written] if written in DIGITS else int(written)), power)
    return value


def _with_parts(text: str, number: Number) -> Number:
    """A number with the smaller parts that stand behind its unit: 1元5角, 两年半."""
    if number.unit == "元" and (m := _COINS.match(text, number.end)):
        return number._replace(value=EXACT.add(number.value, _coins(m)), end=m.end(), article=False)
    if number.unit in _HALVED_UNITS and (m := _HALF.match(text, number.end)) and _is_whole(number.value):
        return number._replace(value=EXACT.add(number.value, Decimal("0.5")), end=m.end(), article=False)
    return number


def _is_whole(value: Decimal) -> bool:
    return value == value.to_integral_value()


def _may_count(text: str, end: int, last: int) -> bool:
    """Whether a numeral that ends here may be the whole text or begin a range."""
    return last - end <= _LONGEST_AFTER or _UNTIL.match(text, end) is not None


def _lone(text: str, start: int, end: int) -> Number | None:
    """三, 零点五: no number unless it is the whole text or a range begins with it."""
    if HAS_ARABIC.search(text, start, end) or not RUN.fullmatch(text, start, end):
        return None
    if start and text[start - 1] in _VAGUE:
        return None
    value = run_value(text[start:end], True)
    if value is None:
        return None
    point = _FRACTION.match(text, end)
    if point and (_UNTIL.match(text, point.end()) or _LAST.match(text, point.end())):
        value, end = with_fraction(value, point["digits"]), point.end()
    return Number(value, "", start, end=end)


def _qualified(text: str, number: Number, previous: Number | None, *, listed: bool) -> Number:
    """The number with its sign and kind, given the number before it."""
    behind, negative = (previous.end, previous.value < 0) if previous else (0, False)
    figure = Figure(number.start, number.end, number.unit, previous_end=behind, previous_negative=negative)
    lead = before(text, figure, listed)
    end, kind = after(text, number.end, number.unit)
    kind = next((one for one in (lead.kind, number.kind, kind) if one is not Kind.EXACT), Kind.EXACT)
    if lead.start == number.start and end == number.end:
        return number
    value = number.value.copy_negate() if lead.negative and number.value else number.value
    return number._replace(value=value, start=lead.start, end=end, kind=kind)


def _units_shared(text: str, found: list[_Found]) -> list[_Found]:
    """100-200元: a number without a unit that is joined to the next has that one's."""
    for k in range(len(found) - 2, -1, -1):
        here, behind = found[k].number, found[k + 1].number
        joined = (_JOINED.match(text, here.end), _UNTIL.match(text, here.end)) if here.unit == "" else ()
        if any(m is not None and m.end() == behind.start for m in joined):
            found[k] = found[k]._replace(number=here._replace(unit=behind.unit))
    return found


def _ranges(text: str, found: list[_Found]) -> list[Number]:
    """The numbers with the two ends of each range marked; lone numerals that begin none are left out."""
    numbers = [one.number for one in found]
    counted = [not one.lone for one in found]
    for k in range(len(found) - 1):
        if not counted[k + 1] or numbers[k].kind is Kind.RANGE:
            continue
        low = _low_end(text, found[k], found[k + 1])
        if low is not None:
            counted[k] = True
            numbers[k] = numbers[k]._replace(value=low, kind=Kind.RANGE, high=numbers[k + 1].value)
            numbers[k + 1] = numbers[k + 1]._replace(kind=Kind.RANGE)
    return [number for number, counts in zip(numbers, counted, strict=True) if counts]


def _low_end(text: str, first: _Found, last: _Found) -> Decimal | None:
    """The value of the first of two numbers that are the ends of a range; None where they are none."""
    here, there = first.number, last.number
    until = _UNTIL.match(text, here.end)
    if until is None or until.end() != there.start or here.unit != there.unit:
        return None
    written, written_last = text[first.figure : here.end], text[last.figure : there.end]
    if _ZERO_IN_FRONT.match(written) or _SERIAL_BEFORE.search(text[max(0, here.start - 2) : here.start]):
        return None
    if "-" in until[0] and _SERIAL_BEHIND.match(text, there.end):  # 8-30-001
        return None
    if first.lone:  # 统一到5人, 三 - 5人
        named = text[max(0, first.figure - 1) : first.figure] in NO_NUMERAL_BEHIND
        if named or until[0] != until[0].strip() or not (there.unit or _POWER.search(written_last)):
            return None
    low = _in_magnitude(text, first, last) if there.value > 0 else here.value
    return low if low < there.value else None


def _in_magnitude(text: str, first: _Found, last: _Found) -> Decimal:
    """The 3 of 3-5万 and 3-5 million in their magnitude; as it is with a unit, or where it is not below the 5."""
    value, written = first.number.value, text[first.figure : first.number.end]
    written_last = text[last.figure : last.number.end]
    if not _FIGURE.fullmatch(written):
        return value
    if plain := _ARABIC.match(text, last.figure):
        power, _ = figure_scale(text, last.figure, plain.end())
        if power:
            return scaled(value, power) if abs(value) < arabic(plain[0]) else value
    m = _POWERS_LAST.search(written_last)
    if m is None:
        return value
    for cut in range(len(m["powers"])):
        figure = (written_last[: m.start()] + m["powers"][:cut]).rstrip("多余餘 \t")
        coefficient = run_value(figure, True) if figure else None
        if coefficient is not None and abs(value) < coefficient:
            return scaled(value, sum(POWERS[c] for c in m["powers"][cut:]))
    return value
