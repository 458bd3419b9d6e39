"""Signs, bounds and approximations around a figure, and ranges (page 50), one character after the other."""

import re
from decimal import Decimal

from oracles.reading import HAN

EXACT, ABOUT, LOWER, UPPER, RANGE = "exact", "approximate", "lower bound", "upper bound", "range"

_BEFORE = {
    ABOUT: """
        约 約 大约 大約 大概 大致 近 将近 將近 接近 几乎 幾乎 差不多 ≈ ~ about around approximately approx.
        approx roughly nearly almost circa close_to около примерно приблизительно почти порядка
    """,
    LOWER: """
        超过 超過 超出 超 逾 多于 多於 大于 大於 高于 高於 至少 最少 起码 不少于 不少於 不低于 不低於 不小于
        不小於 不止 ≥ over more_than above at_least > >= exceeding in_excess_of greater_than upwards_of no_less_than
        not_less_than no_fewer_than not_fewer_than not_under not_below более более_чем больше больше_чем свыше
        не_менее не_менее_чем не_меньше не_меньше_чем как_минимум
    """,
    UPPER: """
        不足 不到 不满 不滿 未满 未滿 未満 不及 少于 少於 小于 小於 低于 低於 至多 最多 不超过 不超過 未超过
        未超過 没有超过 沒有超過 没超过 沒超過 不多于 不多於 不高于 不高於 不大于 不大於 ≤ under less_than
        fewer_than below at_most < <= up_to no_more_than not_more_than not_over not_above not_exceeding
        no_greater_than менее менее_чем меньше меньше_чем не_более не_более_чем не_больше не_больше_чем не_свыше
        как_максимум до
    """,
}
BEFORE = {word.replace("_", " "): kind for kind, words in _BEFORE.items() for word in words.split()}
# 合约, 违约, 附近, 最近 and the ~ between two numbers.
OTHER_WORDS = {
    "约": "合契签簽违違预預公条條履节節制婚租相失解续續守毁毀缔締邀要特盟和立践踐废廢",
    "近": "附最靠邻鄰远遠亲親新就临臨晚",
    "~": "~0123456789\x00元块塊圆圓%个個人名次天日月年岁歲万萬亿億千百十",
}
OTHER_WORDS[">"] = OTHER_WORDS["<"] = OTHER_WORDS[">="] = OTHER_WORDS["<="] = (  # tags, arrows
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\"'/-=<>"
)
BETWEEN_NUMBERS = ("~", "до", ">", "<", ">=", "<=")
OTHER_WORDS["約"] = OTHER_WORDS["约"]
CURRENCY = ["人民币", "人民幣", "¥", "￥", "$", "€", "£"]
LETTERS = ["rmb", "cny", "usd", "hkd", "twd", "eur", "jpy", "gbp"]
REACH = 40  # how far before a figure anything is looked for


def _letter(c: str) -> bool:
    return re.fullmatch("[A-Za-zА-Яа-яЁё]", c) is not None


def _without_currency(head: str) -> str:
    """The text without blanks and one currency at its end."""
    bare = head.rstrip(" \t")
    for sign in CURRENCY:
        if bare.endswith(sign):
            return bare[: -len(sign)].rstrip(" \t")
    for name in LETTERS:
        rest = bare[: -len(name)]
        if bare.lower().endswith(name) and not re.search(r"[A-Za-z]\Z", rest):
            return rest.rstrip(" \t")
    return bare


def before(
    text: str, start: int, end: int, unit: str, previous_end: int, below_zero: bool = False
) -> tuple[int, bool, str]:
    """(where sign and bound of the figure from start to end begin, whether it is negative, its kind).

    `below_zero`: whether the number before it is.
    """
    begin = max(previous_end, start - REACH)
    head = text[begin:start]
    sign = _sign(text, begin, start, end, unit, previous_end, below_zero)
    if sign is not None:
        start, head = sign, text[begin:sign]
    word = _bound_word(head)
    if word is None:
        return start, sign is not None, EXACT
    rest = _without_currency(head)[: -len(word)]
    if word in BETWEEN_NUMBERS and _behind_number(rest, begin, previous_end):
        return start, sign is not None, EXACT
    return begin + len(rest), sign is not None, BEFORE[word]


def _bound_word(head: str) -> str | None:
    """The word of a bound or an approximation that ends the text, perhaps before a currency."""
    bare = _without_currency(head)
    words = [word for word in BEFORE if bare.lower().endswith(word)]
    if not words:
        return None
    word = max(words, key=len)
    rest = bare[: -len(word)]
    if _letter(word[0]) and _letter(rest[-1:]):
        return None
    if word == ">" and rest[-1:] in ("", "\n", "\r") and head[len(bare) :][:1] in (" ", "\t"):  # a quoted line
        return None
    return None if rest[-1:] and rest[-1] in OTHER_WORDS.get(word, "") else word


def _behind_number(lead: str, begin: int, previous_end: int) -> bool:
    """Whether the number before ends where the lead begins, and the lead is blank."""
    return previous_end > 0 and begin == previous_end and lead.strip(" \t") == ""


def _sign(text: str, begin: int, start: int, end: int, unit: str, previous_end: int, below_zero: bool) -> int | None:
    """Where the sign of a figure stands; None where there is none."""
    for at in range(begin, start):
        between = text[at + 1 : start]
        plain = _without_currency(between) == ""
        lead = text[begin:at]
        if text[at] in "-−负負":
            tight = text[at] != "-" or not re.search("[ \t]", between)
            if plain and tight:
                if _second_of_range(lead, previous_end, below_zero):
                    return at
                return at if _counts(text, text[at], lead, begin, end, unit, previous_end) else None
        for word in ("minus", "минус"):
            between = text[at + 5 : start]
            if text[at : at + 5].lower() == word and re.match("[ \t]", between) and _without_currency(between) == "":
                if _letter(lead[-1:]) or _behind_number(lead, begin, previous_end):
                    return None
                return None if re.search(r"\d[ \t]*\Z", lead) else at
    return None


def _second_of_range(lead: str, previous_end: int, below_zero: bool) -> bool:
    """Whether a sign stands behind the dash of a range: -3–-1; with two hyphens only where the first is negative."""
    return previous_end > 0 and (lead in ("–", "—", "——", "...") or (lead == "-" and below_zero))


def _counts(text: str, mark: str, lead: str, begin: int, end: int, unit: str, previous_end: int) -> bool:
    if _behind_number(lead, begin, previous_end):
        return False
    last, solid = lead[-1:], lead.rstrip(" \t")[-1:]
    if mark in "负負":
        liable = re.compile("[^，。,;；、\n]{0,8}(责任|責任|债务|債務|义务|義務)").match(text, end)
        return not (last and last in "胜勝自肩担擔背抱辜重正欺应應须須各需均要") and not liable
    if solid == "" or solid in "\n\r":
        entries = [line for line in text.split("\n") if re.match(r"[ \t]*-[^\s-]", line)]
        return mark != "-" or len(entries) < 2
    if _bound_word(lead) is not None:
        return True
    if last in " \t":
        people = unit in ("人", "名", "次", "个", "套", "件", "台", "张", "笔", "岁") and re.match(f"[{HAN}]", solid)
        return not (solid.isdigit() or (mark == "-" and people))
    if (
        last in "\n\r([{<>=≤≥≈~:,;、，。!?！？；\"'“‘「『【《|/*+¥￥$€£"
        or last in "为為是于於到至达達得计計额額值润潤损損差温溫はがもをにでとへ"
    ):
        return True
    if not re.match(f"[{HAN}]", last) or last in "元块塊圆圓个個人名次天日月年岁歲万萬亿億千百十":
        return False
    return mark == "−" or unit in ("元", "美元", "%", "‰", "‱")


_MEASURES = ["", "月", "小时", "小時", "星期", "工作日", "百分点", "人", "周", "週", "家", "位", "份", "条", "條", "项"]
_MEASURES += ["項", "倍", "户", "戶", "米", "亩", "畝"]
_AFTER = [
    (ABOUT, "左右(?![两兩侧側边邊手])|上下(?![车車楼樓班学學级級])"),
    (LOWER, r"(?:[及或]|または)?以上(?!述)|超(?![0-9\u4e00-\u9fff\u3400-\u4dbf])|余り|有[余餘]|[开開]外|\+(?![0-9])"),
    (UPPER, "(?:[及或]|または)?以下(?![列简簡])|未満"),
    (ABOUT, "[ \t]+or[ \t]+so(?![a-z])"),
    (LOWER, "[ \t]+(or|and)[ \t]+(more|above|over)(?![a-z])|[ \t]+(и|или)[ \t]+(более|больше)(?![а-яё])"),
    (UPPER, "[ \t]+(or|and)[ \t]+(less|fewer|below|under)(?![a-z])|[ \t]+(и|или)[ \t]+(менее|меньше)(?![а-яё])"),
]


def after(text: str, end: int, unit: str) -> tuple[int, str]:
    """(where the number ends with the bound behind it, its kind)."""
    starts = [end + len(measure) for measure in _MEASURES if text.startswith(measure, end)]
    if (money := money_end(text, end)) is not None:
        starts += [money, money + 1] if re.match("(?i)руб\\.", text[money - 3 : money + 1]) else [money]
    for start in starts:
        for kind, words in _AFTER:
            if m := re.compile(words, re.IGNORECASE).match(text, start):
                return m.end(), kind
    following = text[end + 1 : end + 2]
    if text[end : end + 1] in {"多", "余", "餘"}:
        if unit == "" and not re.match(f"[{HAN}]", following):
            return end + 1, LOWER
        more = ("元", "美元", "年", "月", "天", "个", "小时", "分钟", "岁", "公里", "千克", "克", "吨")
        other_word = following and following in "付给給收退算交扣花用拿出少次种種处處个個项項额額款下留"
        if unit in more and not other_word:
            return end + 1, LOWER
    for start in (end, money or end):
        within = text[start : start + 2] in {"以内", "以內", "之内", "之內"}
        if within and unit not in ("年", "月", "日", "天", "小时", "分钟"):
            return start + 2, UPPER
    return end, EXACT


def range_joiner(text: str, i: int) -> int | None:
    """Where the number behind a joiner of ranges would begin; None without a joiner."""
    m = re.compile(r"[ \t]*(?:[-~–至到]|——|—|(?<=[ \t])(?:to|до)(?=[ \t]))[ \t]*", re.IGNORECASE).match(text, i)
    return m.end() if m else None


def shared_magnitude(written: str) -> list[tuple[str, int]]:
    """(figure, power of ten) of every way to cut the magnitude off a number: 5百万元 as 5 and 10^6, 5百 and 10^4."""
    powers = {"百": 2, "佰": 2, "千": 3, "仟": 3, "万": 4, "萬": 4, "亿": 8, "億": 8, "兆": 12}
    numerals = "0123456789零〇○一壹二两兩贰貳三叁參叄四肆五伍六陆陸七柒八捌九玖十拾廿卅" + "".join(powers)
    end = len(written)
    while end and written[end - 1] not in numerals:
        end -= 1
    if written[end - 1 : end] in {"千", "仟"} and written[end : end + 1] == "克":
        return []
    begin, places = end, []
    for group in ("兆", "亿億", "万萬", "百佰千仟"):
        if begin and written[begin - 1] in group:
            begin -= 1
            places.append(powers[written[begin]])
    ways = []
    for cut in range(begin, end):
        figure = written[:cut].rstrip("多余餘 \t")
        ways.append((figure, sum(powers[c] for c in written[cut:end])))
    return ways


def signed(value: Decimal, negative: bool) -> Decimal:
    return value.copy_negate() if negative and value else value


SCALES = {
    2: ["hundred", "hundreds"],
    3: ["thousand", "thousands", "tsd", "tsd.", "тыс", "тыс."],
    5: ["lakh", "lakhs"],
    6: ["million", "millions", "millionen", "mln", "mn", "mio", "mio.", "млн", "млн."],
    7: ["crore", "crores"],
    9: [
        *("billion", "billions", "milliard", "milliards", "milliarde", "milliarden", "bln", "bn", "mrd", "mrd."),
        *("млрд", "млрд."),
    ],
    12: ["trillion", "trillions", "trn", "трлн", "трлн."],
    15: ["quadrillion", "quadrillions"],
}
STEMS = {
    3: "тысяч",
    6: "миллион",
    9: "миллиард",
    12: "триллион",
    15: "квадриллион",
}  # with an ending of at most three letters
SHORT = {"k": 3, "m": 6, "b": 9, "t": 12, "tn": 12}
_MONEY = """
    dollar dollars us_dollar us_dollars euro euros pound pounds yen yuan ruble rubles rouble roubles rupee rupees руб
    евро rmb cny usd hkd twd eur jpy gbp
"""
MONEY_WORDS = _MONEY.split()


def money_end(text: str, end: int) -> int | None:
    """Where the currency behind, perhaps after blanks, ends: a sign, 美元, dollars, рублей, USD; None without any."""
    at = end
    while text[at : at + 1] in {" ", "\t"}:
        at += 1
    for sign in ("美元", "日元", "欧元", "港元", "元", "円", *"$€£¥₽"):
        if text.startswith(sign, at):
            stop = at + len(sign)
            return None if re.match("[A-Za-zА-Яа-яЁё_]", text[stop : stop + 1]) else stop
    word = re.compile("(?i:us[ \t]+(?=dollar))?[A-Za-zА-Яа-яЁё_]*").match(text, at)
    assert word is not None
    name = re.sub("[ \t]+", "_", word[0].lower())
    known = name in MONEY_WORDS or re.fullmatch("рубл[а-яё]{1,3}|доллар[а-яё]{0,3}", name)
    return word.end() if known else None


def unread_scale(text: str, end: int) -> bool:
    """Whether a figure is multiplied by what is not read: 401k, 2B, 3 dozen."""
    word = re.compile("[A-Za-zА-Яа-яЁё_]*").match(text, end)
    if word and word[0] in {"k", "K", "M", "B", "T"}:
        return not re.match("[0-9]", text[end + 1 : end + 2])
    return (
        re.compile("[ \t]*(dozens?|дюжин[а-яё]{0,2})(?![A-Za-zА-Яа-яЁё_])", re.IGNORECASE).match(text, end) is not None
    )


def scale_word(text: str, start: int, end: int) -> tuple[int, int]:
    """(power, end) of the word that multiplies the figure from start to end: 3.2 billion, 3,5 млн, $5m."""
    at = end
    while text[at : at + 1] in {" ", "\t"}:
        at += 1
    stop = at
    while stop < len(text) and (_letter(text[stop]) or text[stop] == "_"):
        stop += 1
    word = text[at:stop].lower()
    dotted = re.match(r"\.(?![A-Za-zА-Яа-яЁё_])", text[stop : stop + 2])
    for power, words in SCALES.items():
        stem = STEMS.get(power)
        if dotted and f"{word}." in words:
            return power, stop + 1
        if word in words:
            return power, stop
        if stem and re.fullmatch(f"{stem}[а-яё]{{0,3}}", word):
            return power, stop
    money = re.search(r"[$€£¥￥₽][ \t]?([0-9.,]+[ \t]*[-–~][ \t]*)?\Z", text[max(0, start - 24) : start])
    apart = at > end and text[at:stop] in {"k", "K", "M", "B", "T"} and not re.match("[-'’0-9]", text[stop : stop + 1])
    if ((at == end and word in SHORT) or apart) and (money or money_end(text, stop) is not None):
        return SHORT[word], stop
    return 0, end
