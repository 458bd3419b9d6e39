"""Chinese and mixed numerals: a run of digits and magnitudes to a decimal."""

import decimal
from decimal import Decimal

DIGITS = {c: i for i, row in enumerate(["零〇○", "一壹", "二两兩贰貳", "三叁參叄", "四肆", "五伍"]) for c in row}
DIGITS |= {c: i for i, row in enumerate(["六陆陸", "七柒", "八捌", "九玖"], 6) for c in row}
MAGNITUDES = {"十": 1, "拾": 1, "百": 2, "佰": 2, "千": 3, "仟": 3, "万": 4, "萬": 4, "亿": 8, "億": 8, "兆": 12}
TENS = {"廿": 2, "卅": 3}
NUMERAL = "".join(DIGITS) + "".join(MAGNITUDES) + "".join(TENS)


Token = Decimal | str  # a Decimal is an Arabic coefficient, "d…" a Chinese digit, "m…" a magnitude, "t…" tens


def token_of(c: str) -> Token:
    if c in TENS:
        return f"t{TENS[c]}"
    return f"d{DIGITS[c]}" if c in DIGITS else f"m{MAGNITUDES[c]}"


def _spelled_out(tokens: list[tuple[str, Token]]) -> list[tuple[str, Token]]:
    """廿 as 二十."""
    out: list[tuple[str, Token]] = []
    for text, token in tokens:
        out += [("二", f"d{TENS[text]}"), ("十", "m1")] if text in TENS else [(text, token)]
    return out


def exact_context(digits: int) -> decimal.Context:
    """A context in which nothing of that many digits is rounded."""
    return decimal.Context(prec=digits + 60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def run_value(tokens: list[tuple[str, Token]], before_unit: bool) -> Decimal | None:
    """The number that a run of tokens writes; None where it is none."""
    tokens = _spelled_out(tokens)
    kinds = [token for _, token in tokens]
    with decimal.localcontext(exact_context(sum(len(text) for text, _ in tokens))):
        if len(kinds) == 1 and isinstance(kinds[0], Decimal):
            return kinds[0]
        if all(isinstance(kind, str) and kind[0] == "d" for kind in kinds):
            return _positional([int(str(kind)[1:]) for kind in kinds], before_unit)
        if all(isinstance(kind, str) and kind[0] == "m" for kind in kinds):
            return _bare_magnitudes([int(str(kind)[1:]) for kind in kinds], before_unit)
        return _structured(tokens)


def _positional(digits: list[int], before_unit: bool) -> Decimal | None:
    if len(digits) == 1:
        return Decimal(digits[0]) if before_unit else None
    if len(digits) == 2 and 0 not in digits:
        about = digits[1] == digits[0] + 1 or digits == [3, 5]  # 七八个, 三五天
        if about or (digits[0] == digits[1] and not before_unit):  # 一一说明
            return None
    return Decimal("".join(map(str, digits)))


def _bare_magnitudes(powers: list[int], before_unit: bool) -> Decimal | None:
    """十 is ten; 百万元, 千万元 are numbers, 百元, 千万不要 and 万一 are not."""
    ten = powers[0] == 1
    if powers == [1]:
        return Decimal(10) if before_unit else None
    rest = powers[1:]
    if rest not in ([4], [8], [4, 8], [12]) or rest[0] <= powers[0] or not (ten or before_unit):
        return None
    return Decimal(1).scaleb(sum(powers))


def _structured(tokens: list[tuple[str, Token]]) -> Decimal | None:
    """Coefficients and magnitudes: 四万二千, 4万2千, 一亿零五百万, 四万二 (42000), 一百零五."""
    first, second, third = [token for _, token in [*tokens, ("", ""), ("", "")]][:3]
    counted = isinstance(second, Decimal) or (second[:1] == "d" and second != "d0")
    if counted and (first, third) in (("m3", "m2"), ("m3", "m1"), ("m2", "m1")):  # 千二百
        tokens = [("一", "d1"), *tokens]
    huge = Decimal(0)  # what stands before 兆
    total = Decimal(0)  # what stands before the last 万 or 亿
    section = Decimal(0)  # what stands behind it
    coefficient: Decimal | None = None
    written = ""  # the coefficient as it stands in the text
    small, zero, closed = 4, False, False
    seen: set[int] = set()  # which of 万 (since 亿) and 亿 there were
    last: int | None = None  # the magnitude directly before
    for text, token in tokens:
        if isinstance(token, Decimal) or token[0] == "d":
            if coefficient is not None or closed:
                return None
            if token == "d0":
                zero = True
                last = last if last is not None else 0
                continue
            if "." in text and "e" in text.lower() and len(tokens) > 1:
                return None
            coefficient, written = (token, text) if isinstance(token, Decimal) else (Decimal(token[1:]), text)
            closed = "." in text
            continue
        power = int(token[1:])
        if power < 4:
            if coefficient is None:
                if power != 1 or (last is not None and last < 2 and not zero):
                    return None
                coefficient, written = Decimal(1), "一"
            amount = coefficient.scaleb(power)
            if power >= small or (small < 4 and amount >= Decimal(1).scaleb(small)):
                return None
            section, small = section + amount, power
        else:
            if coefficient is not None:
                if small < 4 and coefficient >= Decimal(1).scaleb(small):
                    return None
                section += coefficient
            joins = last == 4 and power == 8  # 万亿
            if power in seen or (section == 0 and not joins) or (seen and section >= 10000):
                return None
            if power == 12:
                if seen:
                    return None
                huge, seen = section.scaleb(12), {12}
            elif power == 8:
                if seen == {4, 12}:
                    return None
                total, seen = (total + section).scaleb(8), {8} | (seen & {12})  # another 万 may follow, another 亿 not
            else:
                total, seen = total + section.scaleb(4), seen | {4}
            section, small = Decimal(0), 4
        coefficient, zero, last = None, False, power
    if coefficient is not None:
        if last is None:
            return None
        short = not zero and last > 1 and len(written) == 1
        if short:
            coefficient = coefficient.scaleb(last - 1)
        elif last and coefficient >= Decimal(1).scaleb(last):
            return None
        section += coefficient
    if seen and section >= Decimal(1).scaleb(min(seen)):
        return None
    return huge + total + section


def small_chinese(s: str) -> int | None:
    """The number that Chinese numerals alone write; None where they write none."""
    value = run_value([(c, token_of(c)) for c in s], True)
    return None if value is None else int(value)
