"""The compiled normaliser and the page citations against Python's own `str` and `re`, over all of Unicode."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import include_rate as oracle
from rageval_batch.columnar import characters, text
from rageval_batch.columnar.strings import from_arrow, from_list
from support.effort import examples

EVERY = [chr(point) for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
HAN_AND_PRIVATE = re.compile("[\u3400-\u9fff\uac00-\ud7ff\ue000-\uf8ff\U00020000-\U0010ffff]")
LETTERED = [c for c in EVERY if not HAN_AND_PRIVATE.match(c)]  # where case, digits and white space are
PIECES = [
    "более", "Более", "БОЛЕЕ", "болеё", "свыше", "СВЫШЕ", "менее", "МЕНЁЕ", "болеет", "не", "_", "Ё", "ё", "Е\u0308",
    " ", "  ", "\t", "\n", "\u00a0", "\u202f", "\u2009", "\u3000", "\u0085", "\u001c", "\u001f", "\u200b", "\u2060",
    "0", "1", "25", "٣", "９", "𝟙", "²", "½", "Ⅷ", ",", ",,", ".", ">", "<", "%", "-", "−", "(", "стр", "СТР.", "ᲃтр",
    "Σ", "ΑΣ", "ΑΣΑ", "ς", "İ", "I", "ı", "K", "Å", "ẞ", "Ⱥ", "ǅ", "\u0307", "\u0345", "\x00", "😀", "\u202e", "字",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join)


def normalized(texts: list[str], normalizer: str) -> list[str]:
    return list(text.normalized(from_list(texts), normalizer).to_arrow().to_pylist())


def same_in_every_line(around: str, inside: list[str]) -> None:
    lines = ["|".join(around.format(c) for c in inside[k : k + 4096]) for k in range(0, len(inside), 4096)]
    assert normalized(lines, "ru_numeric") == [oracle.ru_numeric(line) for line in lines]


def test_every_character_as_python_has_it() -> None:
    same_in_every_line("1{0}2{0}более 5", EVERY)


@pytest.mark.parametrize(
    "around", ["{}", "1{}", ",{}1", "1,{}", "более{}5", "более {}", "мене{} 5", "1 {} 2", "Α{}Σ", "{}Σ", "Σ{}Α"]
)
def test_characters_with_case_in_every_place(around: str) -> None:
    same_in_every_line(around, LETTERED)


def test_lower_case_never_grows_by_more_than_half() -> None:
    table = characters.lower_table()
    points = np.array([ord(c) for c in EVERY])
    width = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    lower = table[points]
    lower_width = 1 + (lower >= 0x80) + (lower >= 0x800) + (lower >= 0x10000)
    assert (2 * lower_width <= 3 * width).all()


def test_characters_outside_the_table_are_all_that_need_more_than_a_table() -> None:
    assert {c for c in EVERY if len(c.lower()) != 1 or f"a{c}".lower() != f"a{c.lower()}"} == set(characters.UNTABLED)


@pytest.mark.parametrize("normalizer", text.NORMALIZERS)
@settings(max_examples=examples(150), deadline=None)
@given(texts=st.lists(TEXTS, max_size=6))
def test_normalizers(normalizer: str, texts: list[str]) -> None:
    assert normalized(texts, normalizer) == [oracle.NORMALIZERS[normalizer](each) for each in texts]


@settings(max_examples=examples(100), deadline=None)
@given(texts=st.lists(TEXTS, max_size=6))
def test_blank(texts: list[str]) -> None:
    assert text.blank(from_list(texts)).tolist() == [each.strip() == "" for each in texts]


def test_a_column_cut_out_of_another_one() -> None:
    whole = from_list(["ΑΣ 1", "Более 1 000,5", "  ", "İ"]).to_arrow()
    part = from_arrow(whole.slice(1, 3))
    assert text.ru_numeric(part).to_arrow().to_pylist() == [">1000.5", "", "i\u0307"]


# --- citations ------------------------------------------------------------------------------------------------------

DEFAULT = oracle.PARAMS["citation_patterns"][0]
PATTERNS = [
    [DEFAULT],
    [r"(?i)стр\.?\s*\d+"],
    [r"(?i)k\.?\s*\d+", r"(?i)Σς\.?\s*\d+"],
    [r"(?i)İi\.?\s*\d+"],
    [r"(?i)_1\.?\s*\d+"],
    [r"(?i)" + "с" * 33 + r"\.?\s*\d+"],
    [r"стр\.?\s*\d+"],
    [r"\[\d+\]", r"^\s", DEFAULT],
    [r""],
    [],
]


@pytest.mark.parametrize("word", ["стр", "page", "Σkſß", "İiIı", "字", "_5²"])
def test_letters_without_case_as_re_has_them(word: str) -> None:
    marks = characters.letter_marks(word)
    every = "".join(EVERY)
    for i, letter in enumerate(word):
        found = {ord(c) for c in re.findall(f"(?i){letter}", every)}
        assert set(np.flatnonzero(marks >> i & 1).tolist()) == found


@pytest.mark.parametrize("patterns", PATTERNS)
@settings(max_examples=examples(60), deadline=None)
@given(texts=st.lists(TEXTS, max_size=6))
def test_patterns(patterns: list[str], texts: list[str]) -> None:
    wanted = [any(re.search(pattern, each) for pattern in patterns) for each in texts]
    assert text.PatternSet(patterns).found(from_list(texts)).tolist() == wanted


@pytest.mark.parametrize("around", ["стр{}5", "стр.{}5", "стр{}", "ст{} 5", "(стр. {}"])
def test_characters_in_a_citation(around: str) -> None:
    texts = [around.format(c) for c in LETTERED]
    pattern = re.compile(DEFAULT)
    found = text.PatternSet([DEFAULT]).found(from_list(texts))
    assert found.tolist() == [pattern.search(each) is not None for each in texts]
