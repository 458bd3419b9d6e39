"""Two answers side by side: what differs is marked, and shown of long texts; no character is cut in two."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.report.cells import truncate
from rageval_batch.report.differences import Pieces, beginning, marked_differences, stretches
from rageval_batch.report.graphemes import cut_place
from rageval_batch.report.html.texts import cut

MOST = 1_500
SMALL = st.text(alphabet="ab 字词é.\n", max_size=40)
# What is one character to people and several code points to machines: marks, joined emoji, tones, flags, tags, keycaps,
# Hangul in parts, Devanagari below each other, Thai, a line end of two; and the same parts torn apart.
CLUSTERS = (
    "e\u0301", "n\u0303\u0323", "👩\u200d👧", "👍🏽", "🇩🇪", "🏴\U000e0067\U000e007f", "1\ufe0f\u20e3",
    "\u1100\u1161\u11a8", "क्ष", "गा", "กำ", "سَ", "\r\n", "ガ", "ｶﾞ", "❤\ufe0f\u200d🔥", "字", "가", "각",
)  # fmt: skip
CHARACTERS = st.lists(st.sampled_from((*CLUSTERS, " ", "a", "wort")), max_size=120).map("".join)
TORN = "".join(CLUSTERS) + "a \n"
LONG = {
    "words": "The quick brown fox jumps over a lazy dog. ",
    "han": "預授權金額為三千元，退房時退還。",
    "arabic": "الإجابة العربية صحيحة ومفصلة جدا. ",
    "hebrew": "תשובה ארוכה בעברית, עם סימנים. ",
    "marks": "e\u0301le\u0301ment n\u0303andu\u0301 ",
    "emoji": "👩\u200d👧 👍🏽 🇩🇪 ❤\ufe0f\u200d🔥",
    "hindi": "क्षत्रिय हिन्दी में उत्तर। ",
    "one line without spaces": "x",
}


def text_of(pieces: Pieces) -> str:
    return "".join(piece.text for piece in pieces)


def length(pieces: Pieces) -> int:
    return sum(len(piece.text) + piece.left_out for piece in pieces)


def changed(pieces: Pieces) -> list[str]:
    return [piece.text for piece in pieces if piece.changed and piece.text]


def ends(text: str) -> set[int]:
    """Where characters begin and end, by another library."""
    return {0, len(text)} | {found.start() for found in regex.finditer(r"\X", text)}


def assert_whole_characters(pieces: Pieces, text: str) -> None:
    allowed, at = ends(text), 0
    for piece in pieces:
        assert at in allowed
        if piece.text:
            assert text[at : at + len(piece.text)] == piece.text
        at += len(piece.text) + piece.left_out
    assert at == len(text)


@given(SMALL, SMALL)
def test_pieces_are_the_texts_and_what_is_unmarked_is_shared(before: str, after: str) -> None:
    left, right = marked_differences(before, after, MOST)
    assert (text_of(left), text_of(right)) == (before, after)
    same = ["".join(piece.text for piece in side if not piece.changed) for side in (left, right)]
    assert "".join(same[0].split()) == "".join(same[1].split())
    marked = [*changed(left), *changed(right)]
    assert bool(marked) == (before != after)
    assert all(text == text.strip() for text in marked) or not any(text.strip() for text in marked)


def test_only_what_differs_is_marked() -> None:
    left, right = marked_differences("預授權金額為三千", "預授權金額為兩千", MOST)
    assert (changed(left), changed(right)) == (["三"], ["兩"])
    assert changed(marked_differences("word " * 2_000, "word " * 2_000, MOST)[0]) == []


def test_words_in_a_row_are_one_difference_and_indentation_is_none() -> None:
    left, right = marked_differences("It was 3 million.", "It is not said.", MOST)
    assert (changed(left), changed(right)) == (["was 3 million"], ["is not said"])
    left, right = marked_differences('{\n  "a": 1\n}', '{\n  "a": 1,\n  "b": [\n    2\n  ]\n}', MOST)
    assert (changed(left), changed(right)) == ([], [",", '"b": [', "2", "]"])


def test_a_mark_stays_with_its_letter() -> None:
    left, right = marked_differences("un ete\u0301 chaud", "un ete chaud", MOST)
    assert (changed(left), changed(right)) == (["ete\u0301"], ["ete"])
    left, right = marked_differences("a 👩\u200d👧 b", "a 👩\u200d👦 b", MOST)
    assert (changed(left), changed(right)) == (["👩\u200d👧"], ["👩\u200d👦"])


@pytest.mark.parametrize("name", LONG)
def test_a_difference_at_the_end_of_a_long_text_is_shown(name: str) -> None:
    base = (LONG[name] * 100_000)[:100_000]
    base = base[: cut_place(base, 100_000 - 5)].rstrip()
    before, after = f"{base} 三", f"{base} 四千"
    left, right = marked_differences(before, after, MOST)
    assert changed(left)[-1].endswith("三") and changed(right)[-1].endswith("四千")
    for side, text in ((left, before), (right, after)):
        assert len(text_of(side)) <= MOST and side[0].left_out > 90_000
        assert_whole_characters(side, text)


def test_the_first_difference_of_a_long_text_is_near_the_top() -> None:
    base = "\n".join(f'  "line {k}": "the same in both",' for k in range(300))
    left, _ = marked_differences(base + "\n  three", base + "\n  four", MOST)
    shown = text_of(left)
    assert len(shown[: shown.index("three")].splitlines()) <= 10, "a box on a page has sixteen lines"
    short = base[:900]
    assert text_of(marked_differences(f"{short} three", f"{short} four", MOST)[0]) == f"{short} three"


def test_what_is_left_out_between_lines_stands_on_a_line_of_its_own() -> None:
    lines = [f'  "line {k}": "the same in both",' for k in range(300)]
    other = [*lines[:20], "  four", *lines[20:200], "  five", *lines[200:]]
    left, _ = marked_differences("\n".join(lines), "\n".join(other), MOST)
    places = [k for k, piece in enumerate(left) if piece.left_out]
    assert len(places) == 3
    assert all(left[k - 1].text.endswith("\n") for k in places if k)
    assert all(left[k + 1].text.startswith("\n") for k in places if k + 1 < len(left))


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("place", [0, 20_000, 99_000])
def test_what_only_one_text_has_is_shown_in_both_at_the_same_place(name: str, place: int) -> None:
    base = (LONG[name] * 100_000)[:100_000]
    at = cut_place(base, place)
    after = f"{base[:at]} NEW {base[at:]}"
    left, right = marked_differences(base, after, MOST)
    assert len(text_of(left)) <= MOST and len(text_of(right)) <= MOST
    assert any("NEW" in text for text in changed(right))
    assert_whole_characters(left, base)
    assert_whole_characters(right, after)
    around = [piece.text for piece in right if piece.text and not piece.changed]
    assert around and all(text.strip() in text_of(left) for text in around)


def test_differences_far_from_each_other_are_all_shown() -> None:
    words = [f"word{k}" for k in range(40_000)]
    other = list(words)
    for k in (3, 20_000, 39_998):
        other[k] = f"other{k}"
    left, right = marked_differences(" ".join(words), " ".join(other), MOST)
    assert changed(left) == ["word3", "word20000", "word39998"]
    assert changed(right) == ["other3", "other20000", "other39998"]
    assert [bool(piece.left_out) for piece in left].count(True) == 2
    assert len(text_of(left)) <= MOST


def test_texts_that_share_nothing_are_cut_at_their_beginnings() -> None:
    left, right = marked_differences("字" * 100_000, "x " * 50_000, MOST)
    for side, first in ((left, "字"), (right, "x")):
        assert text_of(side).startswith(first) and 500 <= len(text_of(side)) <= MOST and length(side) == 100_000


def test_equal_texts_show_their_beginning() -> None:
    left, right = marked_differences("same " * 30_000, "same " * 30_000, MOST)
    assert left == right == beginning("same " * 30_000, MOST)
    assert len(left[0].text) == MOST and left[1].left_out == 150_000 - MOST


@given(
    CHARACTERS,
    CHARACTERS,
    st.integers(10, 300),
)
def test_long_texts_are_cut_between_characters(before: str, after: str, most: int) -> None:
    for side, text in zip(marked_differences(before, after, most), (before, after), strict=True):
        assert length(side) == len(text) and len(text_of(side)) <= most
        assert_whole_characters(side, text)
    if before != after:
        left, right = marked_differences(before, after, most)
        assert changed(left) or changed(right)


@given(SMALL, SMALL, st.integers(10, 60), st.integers(5, 60))
def test_fewer_characters_of_what_is_cut_already(before: str, after: str, most: int, fewer: int) -> None:
    first = marked_differences(before * 9, after * 9, most)
    for side, text in zip(stretches(*first, fewer), (before * 9, after * 9), strict=True):
        assert length(side) == len(text) and len(text_of(side)) <= fewer


@given(st.text(alphabet=TORN, max_size=40), st.integers(-1, 45))
@settings(max_examples=200)
def test_a_place_to_cut_is_one_for_other_libraries_too(text: str, at: int) -> None:
    place = cut_place(text, at)
    assert place in ends(text) and place <= max(0, at)
    if text.isascii() and "\r" not in text:
        assert place == max(0, min(at, len(text)))


def test_heaps_of_marks_are_cut_and_halves_of_pairs_are_not() -> None:
    assert cut_place("e" + "\u0301" * 1_000, 500) == 500
    assert cut_place("ab\ud83d\ude00", 3) == 2
    assert cut_place("ab" + "\u0301" * 100 + "\ud83d\ude00", 103) == 102


def test_names_and_cells_are_cut_between_characters() -> None:
    family = "👩\u200d👩\u200d👧\u200d👧"
    assert cut(f"abcdefgh{family}xyz", 12) == "abcdefgh…"
    assert truncate(f"abcdefgh{family}xyz", 12) == "abcdefgh…"
    assert cut(unicodedata.normalize("NFD", "é" * 50), 12).rstrip("…") == unicodedata.normalize("NFD", "é" * 5)
    assert cut(family * 3, 4) == "👩…", "what is one character and too long is cut all the same"
