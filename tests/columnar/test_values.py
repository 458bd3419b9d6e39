"""Values in text: the table of writings, every integer in every writing, and the slow readers on made-up text."""

import datetime
import itertools
import json
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import values as oracle
from oracles.reading import mostly_cyrillic
from rageval_batch.columnar.functions.reading import numbers
from rageval_batch.columnar.strings import from_list
from rageval_batch.columnar.text import folded
from rageval_batch.columnar.values import Reader, lexicon, numbers_in
from rageval_batch.columnar.values.words import Phrases
from support.effort import examples
from support.places import CASES_FOLDER, ROOT

TABLE = [json.loads(line) for line in (CASES_FOLDER / "values_table.jsonl").read_text(encoding="utf-8").splitlines()]
READER = Reader()


def test_table() -> None:
    assert len(TABLE) >= 400
    wrong = {}
    for row in TABLE:
        reading = READER.read(row["text"])
        got = {
            "numbers": [(number.value, number.unit, number.kind) for number in reading.numbers],
            "dates": [date.iso for date in reading.dates],
        }
        numbers = [(Decimal(value), unit, *(kind or ["exact"])) for value, unit, *kind in row["numbers"]]
        want = {"numbers": numbers, "dates": row["dates"]}
        if got != want:
            wrong[row["text"]] = got
    assert wrong == {}


def test_the_page_of_numbers_says_what_is_read() -> None:
    """Each text of a row is read by itself, as `numbers` reads it; their numbers stand one behind the other."""
    page = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?`) \| ([-0-9., ]*) ?\|", page, re.MULTILINE)
    assert len(rows) > 30
    for texts, wanted in rows:
        read = numbers(pa.array(re.findall("`(.+?)`", texts), pa.large_string())).flatten().to_pylist()
        assert read == [float(one) for one in wanted.split(",") if one.strip()], texts


# --- every integer in every writing ---------------------------------------------------------------------------------

PLAIN = ("零一二三四五六七八九", "十百千", "万", "亿")
FINANCIAL = ("零壹贰叁肆伍陆柒捌玖", "拾佰仟", "万", "亿")
TRADITIONAL = ("〇壹貳參肆伍陸柒捌玖", "拾佰仟", "萬", "億")
integers = st.one_of(
    st.integers(0, 10**12 - 1),
    st.integers(0, 10**5),
    st.builds(lambda digit, power: digit * 10**power, st.integers(1, 9999), st.integers(0, 8)),
)


def section(number: int, digits: str, powers: str) -> str:
    """A number below 10,000, a zero for every gap inside it."""
    out, gap = "", False
    for power in (3, 2, 1, 0):
        digit = number // 10**power % 10
        if digit == 0:
            gap = out != ""
            continue
        out += (digits[0] if gap else "") + digits[digit] + (powers[power - 1] if power else "")
        gap = False
    return out


def chinese(number: int, script: tuple[str, str, str, str]) -> str:
    digits, powers, ten_thousand, big = script
    if number == 0:
        return digits[0]
    out = ""
    for size, mark in ((10**8, big), (10**4, ten_thousand), (1, "")):
        part = number // size % 10_000
        if part == 0:
            continue
        gap = out != "" and (part < 1000 or number // size // 10_000 % 10_000 == 0)
        out += (digits[0] if gap else "") + section(part, digits, powers) + mark
    return out


def mixed(number: int) -> str:
    """12亿345万6789; a single figure at the end would mean tenths, so that it stands behind a zero."""
    big, middle, rest = number // 10**8, number // 10**4 % 10**4, number % 10**4
    head = (f"{big}亿" if big else "") + (f"{middle}万" if middle else "")
    return head + (f"{'零' if head and rest < 10 else ''}{rest}" if rest or not head else "")


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) for c in text)


@settings(max_examples=examples(400), deadline=None)
@given(integers)
def test_every_integer_is_read_back(number: int) -> None:
    spoken = chinese(number, PLAIN)
    writings = [
        spoken,
        spoken.removeprefix("一") if spoken.startswith("一十") else spoken,
        spoken.replace("二千", "两千").replace("二万", "两万").replace("二亿", "两亿"),
        chinese(number, FINANCIAL),
        chinese(number, TRADITIONAL),
        mixed(number),
        f"{number:,}",
        wide(f"{number:,}"),
        str(number),
        *([f"{Decimal(number).scaleb(-4):f}万", f"{Decimal(number).scaleb(-8):f} 亿"] if number else []),
    ]
    for writing in writings:
        text = f"共计{writing}元整"
        (found,) = READER.read(text).numbers
        assert (found.value, found.unit) == (Decimal(number), "元"), writing
        assert text[found.start : found.end] == f"{writing}元"


# --- every amount in every format ---------------------------------------------------------------------------------

GROUPINGS = ((",", "."), (" ", ","), ("\u00a0", ","), ("\u202f", ","), ("\u2009", "."), (".", ","), ("", "."))
UNITS_BEHIND = {"": "", " рублей": "", "%": "%", "元": "元", " dollars": ""}


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 10**10), st.integers(1, 99), st.sampled_from(["", "-", "−", "minus ", "минус "]))
def test_every_amount_is_read_back(whole: int, cents: int, sign: str) -> None:
    value = Decimal(f"{'-' if sign else ''}{whole}.{cents:02d}")
    for (thousands, mark), unit in itertools.product(GROUPINGS, UNITS_BEHIND):
        text = f"{sign}{f'{whole:,}'.replace(',', thousands)}{mark}{cents:02d}{unit}"
        listed = re.search("[1-9][0-9]{2}(?:[ \u00a0\u202f\u2009][1-9][0-9]{2})+[.,]", text)
        if ((mark == "," and 0 < whole < 1000) or listed) and not mostly_cyrillic(text):
            continue  # 12,34 is two numbers where a point stands before decimals, 100 200 300 is three
        (found,) = READER.read(text).numbers
        assert (found.value, found.unit) == (value, UNITS_BEHIND[unit]), text


SCALE_WORDS = {
    3: ("thousand", "тыс.", "тысяч"),
    6: ("million", "mln", "млн", "миллионов"),
    9: ("billion", "bn", "млрд", "миллиарда"),
    12: ("trillion", "трлн"),
}


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 999), st.integers(0, 9), st.sampled_from(sorted(SCALE_WORDS)), st.sampled_from(["", " "]))
def test_every_scale_is_read_back(whole: int, tenths: int, power: int, gap: str) -> None:
    value = Decimal(f"{whole}.{tenths}").scaleb(power)
    for word, lead in itertools.product(SCALE_WORDS[power], ("", "$", "共")):
        text = f"{lead}{whole}{',' if mostly_cyrillic(word) else '.'}{tenths}{gap}{word}"
        (found,) = READER.read(text).numbers
        assert found.value == value, text


# --- every day in every writing -------------------------------------------------------------------------------------

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
RUSSIAN = [
    "января",
    "февраля",
    "марта",
    "апреля",
    "мая",
    "июня",
    "июля",
    "августа",
    "сентября",
    "октября",
    "ноября",
    "декабря",
]
ERAS = (("令和", 2019, 5, 1), ("平成", 1989, 1, 8), ("昭和", 1926, 12, 25), ("大正", 1912, 7, 30))


def in_era(day: datetime.date) -> str:
    name, first = next((n, y) for n, y, month, start in ERAS if day >= datetime.date(y, month, start))
    count = day.year - first + 1
    return f"{name}{'元' if count == 1 else count}年{day.month}月{day.day}日"


@settings(max_examples=examples(300), deadline=None)
@given(
    st.dates(datetime.date(1913, 1, 1), datetime.date(2099, 12, 31)),
    st.sampled_from(["", "Paid 42 on ", "于", "до "]),
)
def test_every_day_is_read_back(day: datetime.date, lead: str) -> None:
    month, russian = MONTHS[day.month - 1], RUSSIAN[day.month - 1]
    y, m, d = day.year, day.month, day.day
    writings = [
        *(f"{month} {d}, {y}", f"{month} {d} {y}", f"{d} {month} {y}", f"{month[:3]} {d}, {y}", f"{month} {d}th, {y}"),
        *(f"{month.upper()} {d}, {y}", f"{d} {month.lower()}, {y}", f"{d}th of {month}, {y}", f"{d}-{month[:3]}-{y}"),
        *(f"{d} {russian} {y} года", f"{d} {russian} {y} г.", f"{d:02d} {russian} {y}", f"{d:02d}.{m:02d}.{y}"),
        *(f"{d}.{m}.{y}", f"{y}年{m}月{d}日", f"{y}-{m:02d}-{d:02d}", f"{y}/{m}/{d}", in_era(day)),
    ]
    for writing in writings:
        (found,) = READER.read(lead + writing).dates
        assert (found.iso, found.start, found.end) == (day.isoformat(), len(lead), len(lead + writing)), writing
    for order, written in (("dmy", f"{d:02d}/{m:02d}/{y}"), ("mdy", f"{m}-{d}-{y}")):
        (found,) = Reader(date_order=order).read(lead + written).dates
        assert found.iso == day.isoformat(), written
        assert [date.iso for date in oracle.dates(lead + written, order)] == [day.isoformat()]


@pytest.mark.parametrize(
    ("mark", "text", "want"),
    [
        ("auto", "1.250", [1.25]),
        ("comma", "1.250", [1250.0]),
        ("point", "итого 1.250", [1.25]),
        ("auto", "1,250", [1250.0]),
        ("comma", "1,250", [1.25]),
        ("comma", "42,000", [42.0]),
        ("point", "итого 1,250", [1250.0]),
        ("point", "итого 3,5", [3.0, 5.0]),
        ("comma", "total 3,5", [3.5]),
        ("comma", "100 200 300", [100200300.0]),
        ("point", "1.250,5", [1250.5]),
        ("comma", "1,250.5", [1250.5]),
    ],
)
def test_decimal_mark(mark: str, text: str, want: list[float]) -> None:
    assert [float(number.value) for number in Reader(decimal_mark=mark).read(text).numbers] == want
    assert [float(number.value) for number in oracle.numbers(text, mark)] == want


def test_ambiguous_values_say_how_they_were_read() -> None:
    text = "итого 1.250, 42,000 и 03/05/2024, 25/12/2024, 05.03.2024"
    found = READER.read(text).ambiguous
    assert [(text[one.start : one.end], one.read_with, one.by_parameter) for one in found] == [
        ("1.250", "a comma before decimals", False),
        ("42,000", "a point before decimals", False),
        ("03/05/2024", "the day first", False),
    ]
    found = Reader(decimal_mark="point", date_order="mdy").read(text).ambiguous
    assert [(one.read_with, one.by_parameter) for one in found] == [
        ("a point before decimals", True),
        ("a point before decimals", True),
        ("the month first", True),
    ]


def test_numbers_of_a_text() -> None:
    assert numbers_in("") == []
    text = "1,250.5, 1 250,5 and ４２０００; 4.2万, 12 %, 肆万贰仟"
    assert numbers_in(text) == [1250.5, 1250.5, 42000, 42000, 12, 42000]


# --- with sign, unit and bound --------------------------------------------------------------------------------------

SIGNS = ("-", "−", "负", "負", "minus ", "минус ", "-¥", "负人民币")
BOUNDS = [
    *(("约", "", "approximate"), ("大约 ", "", "approximate"), ("", "左右", "approximate"), ("近", "", "approximate")),
    *(("nearly ", "", "approximate"), ("about ", "", "approximate"), ("около ", "", "approximate")),
    *(
        ("超过", "", "lower bound"),
        ("", "以上", "lower bound"),
        ("over ", "", "lower bound"),
        ("более ", "", "lower bound"),
    ),
    *(("不少于", "", "lower bound"), ("не менее ", "", "lower bound"), ("at least ", "", "lower bound")),
    *(
        ("不足", "", "upper bound"),
        ("不到", "", "upper bound"),
        ("", "以下", "upper bound"),
        ("不超过", "", "upper bound"),
    ),
    *(("under ", "", "upper bound"), ("менее ", "", "upper bound"), ("no more than ", "", "upper bound")),
    ("", "", "exact"),
]
UNITS = {"元": "元", " 元": "元", "人": "人", "%": "%", "公斤": "千克", "美元": "美元", "小时": "小时", "": ""}


@settings(max_examples=examples(400), deadline=None)
@given(
    integers,
    st.sampled_from(["", *SIGNS]),
    st.sampled_from(BOUNDS),
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(["", "答：", "He said ", "共计", "收到，", "（"]),
    st.sampled_from(["", "。", "，另议", ")", "；其余不详"]),
)
def test_signs_and_bounds_are_read_back(
    number: int, sign: str, bound: tuple[str, str, str], unit: str, lead: str, tail: str
) -> None:
    before, behind, kind = bound
    value = Decimal(-number if sign else number)
    spoken = [chinese(number, PLAIN), chinese(number, FINANCIAL)] if number > 10 and unit else []
    for writing in [str(number), f"{number:,}", wide(str(number)), mixed(number), *spoken]:
        if before[:1].isascii() and before and writing[0] in PLAIN[0] + PLAIN[1]:
            continue
        text = f"{lead}{before}{sign}{writing}{unit}{behind}{tail}"
        if writing.count(",") == 1 and mostly_cyrillic(text) and not writing.endswith(",000"):
            continue  # there a comma stands before decimals
        (found,) = READER.read(text).numbers
        assert (found.value, found.unit, found.kind) == (value, UNITS[unit], kind), text
        assert text[found.start : found.end] == f"{before}{sign}{writing}{unit}{behind}", text


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(1, 999),
    st.integers(1, 999),
    st.sampled_from(["-", "~", "到", "至", " - ", "–", "—", " to "]),
    st.sampled_from(["", "万", "亿", "百万"]),
    st.sampled_from(["元", "人", "%"]),
)
def test_ranges_are_read_back(a: int, b: int, joiner: str, magnitude: str, unit: str) -> None:
    low, high = sorted([a, b])
    if low == high:
        return
    size = Decimal({"": 1, "万": 10**4, "亿": 10**8, "百万": 10**6}[magnitude])
    for text in (f"{low}{joiner}{high}{magnitude}{unit}", f"{low}{magnitude}{unit}{joiner}{high}{magnitude}{unit}"):
        first, last = READER.read(text).numbers
        assert (first.value, first.high, first.unit, first.kind) == (low * size, high * size, unit, "range"), text
        assert (last.value, last.high, last.unit, last.kind) == (high * size, None, unit, "range"), text
    if joiner in {"到", "至", "-"} and magnitude in {"万", "亿"} and high % 100:  # 一到三百万 is one to three million
        text = f"{chinese(low, PLAIN)}{joiner}{chinese(high, PLAIN)}{magnitude}{unit}"
        assert [number.value for number in READER.read(text).numbers] == [low * size, high * size], text


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 9), st.integers(0, 9), st.sampled_from([PLAIN, FINANCIAL, None]))
def test_yuan_jiao_and_fen_are_read_back(
    yuan: int, jiao: int, fen: int, script: tuple[str, str, str, str] | None
) -> None:
    digits = script[0] if script else "0123456789"
    whole = chinese(yuan, script) if script else str(yuan)
    coins = f"{digits[jiao]}角" if jiao else digits[0] if fen and script else ""
    text = f"{whole}元{coins}{f'{digits[fen]}分' if fen else ''}"
    (found,) = READER.read(text).numbers
    assert (found.value, found.unit) == (Decimal(yuan) + Decimal(jiao) / 10 + Decimal(fen) / 100, "元"), text


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(-(10**7), 10**7), st.integers(-9, 9), st.sampled_from("eE"))
def test_exponents_are_read_back(figure: int, exponent: int, mark: str) -> None:
    (found,) = READER.read(f"共 {figure}{mark}{exponent}元").numbers
    assert (found.value, found.unit) == (Decimal(figure).scaleb(exponent), "元")


# --- the slow readers -----------------------------------------------------------------------------------------------

FRAGMENTS = [
    *"一二三五九十百千万亿零〇两壹贰拾佰萬0125,.，０：:、-~至到年月日号元块人次个%点多余几第页行条T/()（[]。；",
    *'张王向「」“”是否有Ax同起份共总和或…İß㍿①²😀\n\t\x00\u3000\u202e "',
    *("12", "300", "2020", "1,234", "4.2", "42", "４２", "万元", "千克", "分之", "p.", "page", "pp.", "line", "12:30"),
    *("建国", "局长", "律师", "对方", "Mr.", "Chen", "没有", "是否", "yes", "no", "No.", "USD", "st", "to", "..."),
    *(
        "-",
        "−",
        "负",
        "minus ",
        "минус ",
        "约",
        "违约",
        "近",
        "不足",
        "超过",
        "不超过",
        "以上",
        "以下",
        "左右",
        "半",
        "~",
        "+",
    ),
    *(
        "about ",
        "over ",
        "no more than ",
        " or more",
        "более ",
        "не ",
        "около ",
        " to ",
        "以内",
        "角",
        "分",
        "毛",
        "钱",
        ".5",
    ),
    *(
        "1e5",
        "E3",
        "e",
        "1，000",
        "，000",
        "分别",
        "¥",
        "RMB",
        "人民币",
        "廿",
        "卅",
        "点五",
        "责任",
        "自负",
        "为",
        "余额",
        "美元",
    ),
    *(
        "国有",
        "中国有",
        "所有",
        "不",
        "没",
        "未",
        "如",
        "不同意",
        "没收",
        "没收到",
        "能不能",
        "但是",
        "не",
        "да",
        "нет",
    ),
    *("はい", "いいえ", "です", "later than", "- "),
    *(
        "March",
        "march ",
        "Mar.",
        " May ",
        "5th",
        " of ",
        "2024",
        " 2024",
        ", ",
        "марта",
        "мар.",
        " мае ",
        "года",
        " г.",
    ),
    *(
        "05.03.2024",
        "03/05/2024",
        "/2024",
        "令和",
        "平成",
        "元年",
        "から",
        "по ",
        " 000",
        " 250",
        ",5",
        ".250",
        "1 250",
    ),
    *(
        "bn",
        " million",
        "млн",
        " тыс.",
        "тысяч",
        "$",
        "m",
        "k",
        "兆",
        " B",
        "M",
        "T",
        " dollars",
        "Mrd.",
        " dozen",
        "> ",
        "<",
        ">=",
        " до ",
        "超",
        "余り",
        " рублей",
        " руб. ",
        "または",
        "円",
        "стр. ",
        "с. ",
        "ページ",
        "ж",
        "привет",
    ),
    *("任何", "2020-08-30", "8月", "元月", "二〇二〇", "三十", "+08:00", "公里", "一）"),
    *(
        "⁄",
        "1⁄2",
        " 1⁄3",
        "¹⁄₂",
        "³⁄₄",
        "⅟",
        "分の",
        "又",
        "三分之一",
        "条の2",
        "條之",
        "[1, 2]",
        "[1–3;",
        "7]",
        "--",
        "–-",
    ),
    *("・", "·", "三・五", "3、4", "\n3、", "、4", "つ", "_000", "1_000", ",23,456"),
    *("1,00,000", ",00", "1'250", "'000", "’", "½", " ¾", "⅓", "٣", "٬250", "٫5", "参", "拾", "弐", "78,3 ", " 250,5 "),
]


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join) | st.text(max_size=30))
def test_as_the_slow_readers(text: str) -> None:
    reading = READER.read(text)
    boolean = reading.boolean
    got = (
        [tuple(number) for number in reading.numbers],
        [(date.iso, date.start, date.end) for date in reading.dates],
        [(first.iso, last.iso) for first, last in reading.date_ranges],
        None if boolean is None else boolean.value,
        [tuple(name) for name in reading.names],
        [tuple(citation) for citation in reading.citations],
        reading.sentences,
    )
    want = (
        [tuple(number) for number in oracle.numbers(text)],
        [tuple(date) for date in oracle.dates(text)],
        [(first.iso, last.iso) for first, last in oracle.date_ranges(text)],
        oracle.first_boolean(text),
        [tuple(name) for name in oracle.names(text)],
        [tuple(citation) for citation in oracle.page_citations(text)],
        oracle.sentences(text),
    )
    assert got == want


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
def test_values_stand_apart(text: str) -> None:
    """Numbers and dates never share a character of the raw text."""
    reading = READER.read(text)
    spans = sorted([(n.start, n.end) for n in reading.numbers] + [(d.start, d.end) for d in reading.dates])
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def test_spans_point_into_the_raw_text() -> None:
    text = "①甲方于２０２０年８月３０日付㍿４２，０００元，没有收据，王建国律师说「都忘了」（第３页）。"
    reading = READER.read(text)
    boolean = reading.boolean
    assert boolean is not None
    found: list[Any] = [*reading.numbers, *reading.dates, boolean, *reading.names, *reading.citations]
    assert [text[one.start : one.end] for one in found] == [
        *("４２，０００元", "２０２０年８月３０日", "没有", "王建国律师", "「都忘了」", "第３页"),
    ]


@pytest.mark.parametrize(
    ("more", "text", "want"),
    [
        ({"units": ["筐"]}, "三筐", [("3", "筐")]),
        ({"units": ["万箱"]}, "2万箱", [("20000", "")]),
        ({}, "三筐", []),
    ],
)
def test_units_can_be_added(more: dict[str, Any], text: str, want: list[tuple[str, str]]) -> None:
    found = Reader(lexicon(**more)).read(text).numbers
    assert [(str(number.value), number.unit) for number in found] == want


def test_titles_surnames_and_phrases_can_be_added() -> None:
    reader = Reader(lexicon(abstention=["待查"], titles=["会计"], surnames=["欧阳"]))
    assert [name.text for name in reader.read("欧阳修文会计和张会计").names] == ["欧阳修文会计", "张会计"]
    assert reader.read("此事 待查").abstention == "待查"
    assert READER.read("此事待查").abstention is None


HOSTILE = [
    *(
        "- 5 " * 500,
        "约" * 2000 + "3元",
        "三到" * 800 + "五万元",
        "-5\n" * 500,
        "1，000" * 500,
        "负" * 2000 + "5",
        "1e5" * 500,
    ),
    *(
        "minus " * 500 + "5",
        "5元5角" * 500,
        ".5" * 500,
        "3-5万" * 500,
        "约3元" * 500,
        "1，" * 500 + "000",
        "1e9999元",
        "—" * 900,
    ),
    *("9" * 5000 + "元", "九" * 5000 + "元", "4万" * 300, "第1、" * 2000, "1-1" * 2000, "2020年" * 2000),
    *("2020-08-30~" * 1500, "百分之" * 1500, "三点" * 1500, "「" * 2000 + "”\"'" * 500, "张" * 2000 + "局长" * 500),
    *("Mr." * 2000, "零" * 3000 + "5", "1," * 2000, "1.2" * 2000, "万" * 3000, "(一)" * 1000, "\x00" * 100),
    "百分之4.2点五",
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_text_is_read(number: int) -> None:
    reading = READER.read(HOSTILE[number])
    assert [tuple(one) for one in reading.numbers] == [tuple(one) for one in oracle.numbers(HOSTILE[number])]
    assert [(one.iso, one.start, one.end) for one in reading.dates] == [tuple(d) for d in oracle.dates(HOSTILE[number])]


# --- phrases --------------------------------------------------------------------------------------------------------

PHRASES = ("not found", "n/a", "don't know", "無記載", "не  указано", "(?)", "a.b", "ﬁn", "Straße", "x" * 1_990)
spoken = st.lists(
    st.sampled_from(
        (
            *PHRASES,
            *(phrase.upper() for phrase in PHRASES),
            "not\u3000\n found",
            "don’t know",
            "Ｎ／Ａ",
            " ",
            "\x1c",
            "x",
            "記",
        )
    ),
    max_size=4,
).map("".join)


@settings(max_examples=examples(200), deadline=None)
@given(texts=st.lists(spoken, max_size=6))
def test_columns_have_the_phrases_that_their_texts_have(texts: list[str]) -> None:
    for phrases in (Phrases(PHRASES), Phrases(())):
        found = phrases.found(folded(from_list(texts)).to_arrow())
        assert found.tolist() == [phrases.first(text) is not None for text in texts]
