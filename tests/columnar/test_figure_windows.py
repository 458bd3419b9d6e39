"""Numbers of columns, by the stretches that hold them, against the reader of whole texts."""

import random
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_batch.bench.functions import made_up_texts
from rageval_batch.columnar.strings import from_arrow, from_list
from rageval_batch.columnar.values import numbers_in
from rageval_batch.columnar.values.windows import Windows, find_windows, window_numbers
from support.effort import examples

INERT = (
    "contract", "Выручка", "договор", "the", "за", "門禁", "流程", "メートル", "です", "の", "柜台", "компании",
    "x", "Café", "東京", "人员", "服务", "ワー", "ü", "😀", "a_b", "xя", "İ", "公司", "额", "最", "合", "自",
)  # fmt: skip
FIGURES = (
    "5", "30", "2", "12", "42", "1200", "2020", "2024", "1,250", "1,250.50", "78,3", "0,5", ".5", "1.250",
    "1.250,5", "42,000", "007", "1.2.3", "1 250", "100 200 300", "1e5", "1e99999", "三", "三百", "三三", "十",
    "百", "千", "万", "二〇二〇", "七八", "四万二", "4万2千", "亿", "廿", "零", "十五", "肆", "3", "1，000",
    "42，500", "１２", "１，２３４", "²", "½", "①", "㍘", "Ⅷ", "08", "19", "31",
)  # fmt: skip
SIGNS = (
    "-", "−", "–", "—", "——", "~", "+", "±", "/", ":", "：", ".", ",", "，", "、", "。", "；", ";", "!", "？",
    "(", ")", "（", "）", "[", "]", "【", "】", "$", "€", "¥", "￥", "₽", "%", "％", "‰", "№", "#", "*", "=",
    "<", ">", "≥", "≈", "&", "|", '"', "'", "“", "”", "「", "』", "«", "»", "\n", "\r", "\t", " ", "  ",
    "\u00a0", "\u3000", "\x00", "\u2009", "_", "…", "・", "々",
)  # fmt: skip
WORDS = (
    "March", "march", "Mar.", "may", "May", "Sept", "марта", "май", "мар.", "янв", "of", "to", "until", "до",
    "по", "с", "с.", "сс.", "стр.", "страница", "p.", "pp.", "p", "page", "pages", "line", "lines", "No.", "no",
    "less than", "more than", "about", "approx.", "over", "up to", "at least", "около", "не менее чем", "более",
    
    "2M dollars", "兆", "Mrd.", "dozen", " B", "рублей", "[3,5]", "12,5", "1.250.000", "千二百",
    "минус", "minus", "RMB", "USD", "RMB ", "million", "billion", "bn", "m", "k", "тыс.", "тысячами", "млн",
    "миллиарда", "тысячелетие", "st", "th", "nd", "or more", "or so", "and above", "и более", "года", "г.", "T",
    "Z", "e", "E5", "第", "页", "行", "行政", "条", "款", "ページ", "年", "月", "日", "号", "元", "元年",
    "元月", "万元", "亿元", "角", "分", "毛", "分钱", "半", "点", "分之", "百分之", "多", "余", "几", "数",
    "人", "个", "个月", "小时", "岁", "美元", "人民币", "以上", "以下", "左右", "以内", "上下", "有余", "负",
    "自负", "担负", "责任", "的责任", "债务", "约", "合约", "近", "附近", "超过", "不超过", "至", "到", "或",
    "和", "及", "起", "同年", "から", "令和", "平成", "民国", "昭和", "分别", "分别为", "为", "是", "计",
    "合计", "统", "周", "千克", "公斤", "块", "天", "名", "次", "百分点", "工作日", "未満", "开外", "前",
    "lines ", "年半", "月份",
)  # fmt: skip
GAPS = ("", "", " ", " ", "")
pieces = st.one_of(*map(st.sampled_from, (INERT, FIGURES, SIGNS, WORDS, GAPS)))
texts = st.lists(pieces, max_size=25).map("".join)


def column_numbers(written: list[str]) -> list[list[Decimal]]:
    windows = find_windows(from_list(written))
    found = [
        window_numbers(*one) for one in zip(windows.texts.to_arrow().to_pylist(), windows.flags.tolist(), strict=True)
    ]
    bounds = windows.bounds.tolist()
    return [[v for one in found[a:b] for v in one] for a, b in pairwise(bounds)]


def made_up(drawn: random.Random) -> str:
    """A text in which figures stand near what may change them, more or less densely."""
    groups = (INERT, FIGURES, SIGNS, WORDS, GAPS)
    weights = drawn.choice(((8, 3, 2, 3, 6), (3, 4, 4, 4, 4), (20, 3, 1, 1, 20), (1, 5, 5, 3, 3)))
    return "".join(drawn.choice(drawn.choices(groups, weights)[0]) for _ in range(drawn.randrange(40)))


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(texts, max_size=8))
@example(["三", "约三。", "三点五", "7分", " 六角 "])
@example(["- 5\n- 6 x", "x\n-5", "x\n-5\n-6"])
@example(["x 5."])
@example(["x\n5."])
@example(["5 марта 2024 года 1,250 abc"])
@example(["令和元年 1,250 абвг"])
@example(["被告负30%的主要赔偿责任"])
@example(["分别约1，000，x"])
def test_the_stretches_say_what_the_texts_say(written: list[str]) -> None:
    assert column_numbers(written) == [numbers_in(text) for text in written]


@pytest.mark.parametrize("seed", range(4))
def test_dense_texts(seed: int) -> None:
    drawn = random.Random(seed)
    written = [made_up(drawn) for _ in range(examples(500))]
    for text, found in zip(written, column_numbers(written), strict=True):
        assert found == numbers_in(text), text


@settings(max_examples=examples(300), deadline=None)
@given(
    st.from_regex(r"[0-9]{1,7}([.,][0-9]{1,4}){0,3}%?", fullmatch=True),
    st.sampled_from(["dollars", "процента", "証書"]),
)
def test_figures_by_themselves(figure: str, word: str) -> None:
    text = f"{word} {figure} {word}"
    assert column_numbers([text]) == [numbers_in(text)]


def windows_of(text: str) -> list[str]:
    windows: Windows = find_windows(from_list([text]))
    return [str(one) for one in windows.texts.to_arrow().to_pylist()]


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("", []),
        ("no figures", []),
        ("a notice of 30 days", ["30"]),
        ("rent of 1,250.50 dollars", ["1,250.50"]),
        ("рост на 78,3 процента", ["78,3"]),
        ("约4件证件42，清洁", ["4件", "42"]),
        ("due on March 5, 2024 again", ["March 5, 2024"]),
        ("from 3 to 5 men", [" 3 to 5 "]),
        ("1 men", ["1"]),
        ("room ５ in", ["room ５ in"]),  # wide digits: the whole text
    ],
)
def test_windows(text: str, windows: list[str]) -> None:
    found = windows_of(text)
    assert [one.strip() for one in found] == [one.strip() for one in windows]


def test_most_figures_stand_alone() -> None:
    """What makes the functions fast: few distinct stretches, and no text that must be read as a whole."""
    answers = made_up_texts(400, 3).answers
    windows = find_windows(from_arrow(answers))
    written = windows.texts.to_arrow().to_pylist()
    assert max(map(len, written)) < 100
    assert len(set(written)) < len(written) / 3
