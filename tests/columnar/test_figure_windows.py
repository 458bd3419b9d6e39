"""Numbers of columns, by the stretches that hold them, against the reader of whole texts."""

import random
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_batch.bench.functions import made_up_texts
from rageval_batch.columnar.strings import from_arrow, from_list
from rageval_batch.columnar.values import numbers_in
from rageval_batch.columnar.values.plain_windows import packed, plain_numbers, unpacked
from rageval_batch.columnar.values.windows import Windows, find_windows, padded, window_numbers
from support.effort import examples
from support.figures import FIGURES, GAPS, INERT, SIGNS, WORDS, made_up

pieces = st.one_of(*map(st.sampled_from, (INERT, FIGURES, SIGNS, WORDS, GAPS)))
texts = st.lists(pieces, max_size=25).map("".join)


def plain_lists(stretches: list[str], flags: list[int]) -> list[list[Decimal] | None]:
    """The numbers of each stretch by compiled code, None where it leaves them to the reader."""
    numbers, bounds, plain = plain_numbers(from_list(stretches), np.array(flags, np.uint16))
    values = [unpacked(number) for number in numbers.tolist()]
    lists = [values[a:b] for a, b in pairwise(bounds.tolist())]
    return [found if is_plain else None for found, is_plain in zip(lists, plain.tolist(), strict=True)]


def column_numbers(written: list[str]) -> list[list[Decimal]]:
    windows = find_windows(from_list(written))
    stretches, flags = windows.texts.to_arrow().to_pylist(), windows.flags.tolist()
    found = [
        window_numbers(stretch, flag) if plain is None else plain
        for stretch, flag, plain in zip(stretches, flags, plain_lists(stretches, flags), strict=True)
    ]
    bounds = windows.bounds.tolist()
    return [[v for one in found[a:b] for v in one] for a, b in pairwise(bounds)]


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


PLAIN_PIECES = (
    *INERT, *FIGURES, *"三五十百千万亿兆零0123456789元人%、。，は同时克半角分多号日到约$\nゝ月年, ", "of", "and",
    "марта", "до", "более", "и", "рублей", ", ", "until", "to", "p", "page", "стр", "минус", "March", "million", "m",
    "тыс", "以上", "RMB", "dozen", "公里",
)  # fmt: skip


@settings(max_examples=examples(600), deadline=None)
@given(
    st.lists(st.sampled_from(PLAIN_PIECES), min_size=1, max_size=9).map("".join),
    st.integers(0, 2),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from([(False, False), (True, False), (False, True), (True, True)]),
)
@example("五元78,3", 0, 0, True, (False, False))
@example("3、x", 0, 0, False, (True, False))
def test_plain_stretches_say_what_the_reader_reads(
    text: str, left: int, right: int, decimal_comma: bool, edges: tuple[bool, bool]
) -> None:
    at_start, at_end = edges
    flags = 2048 | decimal_comma | at_start << 1 | at_end << 2 | (not at_start) * left << 4 | (not at_end) * right << 7
    (plain,) = plain_lists([text], [flags])
    before, behind = padded(text, flags)
    assert plain is None or plain == numbers_in(f"{before}{text}{behind}")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", ()),
        (" 30 of 1,250.50 and ", ("30", "1250.50")),
        ("は三百、", ("300",)),
        ("千二百三十四万五千六百七十八", ("12345678",)),
        ("三万亿", ("3000000000000",)),
        (" 30 of March 1,250,000.5 and ", None),
        (" March 1250 ", ("1250",)),
        ("1,250", ("1250",)),
        ("123456789012345678901", None),
        ("三日", ("3",)),
        ("一定", ()),
        (" March, 1,250 ", None),
        (" 3 million ", None),
        ("第3", None),
        ("-3", None),
        ("3年", None),
        ("3.", None),
    ],
)
def test_what_is_plain(text: str, numbers: tuple[str, ...] | None) -> None:
    (found,) = plain_lists([text], [0])
    assert found == (None if numbers is None else [Decimal(number) for number in numbers])


@settings(max_examples=examples(300), deadline=None)
@given(
    st.text("零〇一二两三五七八九十拾百千万亿萬", min_size=1, max_size=12), st.sampled_from(["", "元", "公里", "は"])
)
def test_numerals(run: str, behind: str) -> None:
    (found,) = plain_lists([f"{run}{behind}"], [0])
    assert found is None or found == numbers_in(f"門{run}{behind}\x00")


@settings(max_examples=examples(200), deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False) | st.integers(-(10**16), 10**16).map(Decimal))
@example(Decimal("1E+127"))
@example(Decimal("-0.00"))
def test_packed_numbers_are_the_same_numbers(value: Decimal) -> None:
    number = packed(value)
    assert number is None or (unpacked(number) == value and packed(unpacked(number)) == number)
