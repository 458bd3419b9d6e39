"""Every compiled loop over text against its slow oracle or an obvious expression, over all of Unicode."""

import itertools
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import json_text as slow_json
from oracles import text as slow
from rageval_batch.columnar import kernels
from rageval_batch.columnar.kernels.buffers import first_zero_bytes, popcounts
from rageval_batch.columnar.kernels.keywords import NO_CAP
from rageval_batch.columnar.kernels.lines import is_valid_utf8, mark_first, split_lines, valid_utf8
from rageval_batch.columnar.strings import LARGE_STRING, Strings, from_arrow, from_list
from support.strategies import (
    HAN,
    HAN_EDGES,
    KANA,
    KANA_EDGES,
    MIXED,
    SHAPES,
    SPACES,
    TOKENS,
    columns,
    escaped,
    long_texts,
    related,
    shaped,
    small_texts,
    texts,
)


def listed(column: Strings) -> list[str]:
    """All strings of a column."""
    return [column.at(k) for k in range(len(column))]


def cut(column: Strings, starts: Any, ends: Any) -> list[str]:
    """The spans of a column's bytes as strings."""
    return listed(kernels.cut(column.data, starts, ends))


def spans(parts: list[bytes]) -> tuple[Any, Any, Any]:
    """(data, starts, ends) of byte strings that lie one behind the other."""
    bounds = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), bounds[:-1], bounds[1:]


# --- columns and words ----------------------------------------------------------------------------------------------


@given(columns(texts(), shapes=SHAPES))
def test_strings_are_the_arrow_column(given_: tuple[list[str], pa.Array]) -> None:
    values, column = given_
    strings = from_arrow(column)
    assert listed(strings) == values
    assert strings.to_arrow().to_pylist() == values
    valid = column.is_valid().to_numpy(zero_copy_only=False) if len(column) else np.zeros(0, np.bool_)
    assert strings.to_arrow(valid).to_pylist() == column.to_pylist()


@pytest.mark.parametrize("shape", SHAPES)
def test_nulls_are_empty_strings_in_every_shape(shape: str) -> None:
    values = ["門禁", None, "", "abc", None, "\x00"]
    assert listed(from_arrow(shaped(values, shape))) == ["門禁", "", "", "abc", "", "\x00"]
    assert len(from_arrow(shaped([], shape))) == 0
    assert listed(from_arrow(shaped([None, None], shape))) == ["", ""]


def test_columns_without_chunks_are_empty() -> None:
    assert len(from_arrow(pa.chunked_array([], LARGE_STRING))) == 0
    assert listed(from_list(["a", "", "𠀀"])) == ["a", "", "𠀀"]


@given(st.lists(st.integers(0, 2**64 - 1)))
@example([0, 2**64 - 1])
def test_ones_are_the_bits_of_a_word(words: list[int]) -> None:
    assert popcounts(np.array(words, np.uint64)).tolist() == [word.bit_count() for word in words]


@given(st.lists(st.sampled_from([0, 1, 2, 127, 128, 129, 255]), min_size=8, max_size=8).map(bytes))
def test_the_first_zero_byte_of_a_word_is_found(content: bytes) -> None:
    words = np.array([int.from_bytes(content, "little")], np.uint64)
    assert first_zero_bytes(words).tolist() == [content.find(0)]


# --- white space ----------------------------------------------------------------------------------------------------


@given(columns(texts()))
def test_squash(given_: tuple[list[str], pa.Array]) -> None:
    values, column = given_
    assert listed(kernels.squash(from_arrow(column))) == [slow.squash(value) for value in values]


@given(columns(st.one_of(texts(), small_texts(SPACES + "a門\x1c\u200b"))))
def test_strip_and_cut(given_: tuple[list[str], pa.Array]) -> None:
    values, column = given_
    strings = from_arrow(column)
    starts, ends = kernels.strip(strings.data, strings.starts, strings.ends)
    assert cut(strings, starts, ends) == [slow.strip(value) for value in values]
    assert cut(strings, strings.starts, strings.ends) == values


def test_every_code_point_is_white_space_or_not() -> None:
    values = [f"a{chr(point)}b" for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    squashed = kernels.squash(from_list(values)).to_arrow()
    kept = np.asarray(pa.compute.equal(squashed, pa.array(values, LARGE_STRING)))
    assert {value[1] for value, same in zip(values, kept.tolist(), strict=True) if not same} == slow.WHITE_SPACE


def test_every_white_space_at_both_ends_is_stripped() -> None:
    column = from_list([f"{space}{space}x{space}" for space in SPACES] + [SPACES, f"{SPACES}\x1f{SPACES}"])
    starts, ends = kernels.strip(column.data, column.starts, column.ends)
    assert cut(column, starts, ends) == ["x"] * len(SPACES) + ["", "\x1f"]


@given(columns(st.one_of(texts(), small_texts(SPACES + "ab門"))), st.integers(0, 60))
def test_collapsed_length(given_: tuple[list[str], pa.Array], enough: int) -> None:
    values, column = given_
    strings = from_arrow(column)
    lengths = kernels.collapsed_length(strings.data, strings.starts, strings.ends, enough)
    assert lengths.tolist() == [min(enough, len(slow.collapse(value))) for value in values]
    whole = kernels.collapsed_length(strings.data, strings.starts, strings.ends, 10**9)
    assert whole.tolist() == [len(slow.collapse(value)) for value in values]


# --- code points and bigrams ----------------------------------------------------------------------------------------


def runs(points: kernels.Points32) -> list[str]:
    """The strings of a column of code points."""
    return [
        "".join(map(chr, points.points[points.offsets[k] : points.offsets[k + 1]].tolist()))
        for k in range(len(points.offsets) - 1)
    ]


@given(columns(texts()))
def test_points_are_code_points(given_: tuple[list[str], pa.Array]) -> None:
    values, column = given_
    strings = from_arrow(column)
    assert runs(kernels.plain_points(strings)) == values
    for wide in (True, False):
        assert runs(kernels.squashed_points(strings, wide=wide)) == [slow.squash(value) for value in values]


@pytest.mark.parametrize(
    "one", ["a", "é", "門", "😀", " ", "\u3000", "\u2003", "\u2026", "\u200b", "\x85", "\u205f", "\u1680"]
)
def test_squashed_points_around_the_64_bytes_of_one_step(one: str) -> None:
    values = [
        f"{'門b' * before}{one}{'c' * behind}" for before in range(20) for behind in (0, 1, 2, 30, 61, 62, 63, 64)
    ]
    wide, narrow = (kernels.squashed_points(from_list(values), wide=wide) for wide in (True, False))
    assert runs(wide) == [slow.squash(value) for value in values]
    assert [column.tolist() for column in wide] == [column.tolist() for column in narrow]


@given(st.lists(st.one_of(st.text(MIXED, max_size=12), small_texts('\\"/\b\n ', 9)), max_size=5), st.data())
def test_span_points_of_escaped_and_plain_spans(values: list[str], data: st.DataObject) -> None:
    flags, parts = [], []
    for value in values:
        plain = data.draw(st.booleans())
        flags.append(0 if plain else 1)
        parts.append(value.encode() if plain else data.draw(escaped(value))[1:-1].encode())
    content, starts, ends = spans(parts)
    points = kernels.span_points(content, starts, ends, np.array(flags, np.uint8))
    assert runs(points) == [slow.squash(value) for value in values]
    expected = kernels.squashed_points(from_list(values))
    assert points.low.tolist() == expected.low.tolist()
    assert points.high.tolist() == expected.high.tolist()


@given(texts().flatmap(lambda text: st.tuples(st.just(text), related(text))))
def test_signatures_never_hide_a_shared_bigram(pair: tuple[str, str]) -> None:
    points = kernels.plain_points(from_list([*pair, ""]))
    signs = [int(low) | int(high) << 64 for low, high in zip(points.low, points.high, strict=True)]
    pairs = [slow.bigrams(text) for text in (*pair, "")]
    assert signs[2] == 0
    for sign, grams in zip(signs, pairs, strict=True):
        assert (sign == 0) == (not grams)
        assert sign.bit_count() <= len(grams)
    if pairs[0] <= pairs[1]:
        assert signs[0] & ~signs[1] == 0
    assert (signs[0] & ~signs[1]).bit_count() <= len(pairs[0] - pairs[1])


@given(columns(st.one_of(texts(), long_texts("ab甲"))))
def test_grams_are_the_distinct_pairs_which_are_kept_where_a_text_is_long_or_repeats_one(
    given_: tuple[list[str], pa.Array],
) -> None:
    values, column = given_
    counts, grams, bounds = kernels.grams_of(kernels.plain_points(from_arrow(column)))
    wanted = [sorted({ord(a) << 32 | ord(b) for a, b in itertools.pairwise(value)}) for value in values]
    assert counts.tolist() == [len(pairs) for pairs in wanted]
    found = [grams[bounds[k] : bounds[k + 1]].tolist() for k in range(len(values))]
    kept = [len(value) > 128 or len(pairs) < len(value) - 1 for value, pairs in zip(values, wanted, strict=True)]
    assert found == [pairs if is_kept else [] for pairs, is_kept in zip(wanted, kept, strict=True)]


# --- the soft match -------------------------------------------------------------------------------------------------

THRESHOLDS = st.one_of(st.sampled_from([0.0, 1.0, 0.72, 0.5, 0.6, 1 / 3, 2 / 3, 0.75]), st.floats(0, 1))
MATCHED = st.one_of(
    small_texts("ab"),
    small_texts("甲乙 ", 8),
    small_texts("abcdefgh", 30),
    texts(),
    long_texts("ab甲"),
)


@st.composite
def matched_columns(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Two columns whose items are often alike."""
    expected = draw(st.lists(MATCHED, max_size=4))
    near = st.sampled_from(expected).flatmap(related) if expected else MATCHED
    return expected, draw(st.lists(st.one_of(near, near, MATCHED), max_size=4))


def ranges(count: int) -> st.SearchStrategy[tuple[int, int]]:
    """A range of items of a column, often all of them."""
    bound = st.integers(0, count)
    return st.one_of(st.just((0, count)), st.tuples(bound, bound).map(lambda ends: (min(ends), max(ends))))


def matched(
    columns_: tuple[list[str], list[str]],
    rows: list[tuple[Any, Any]],
    threshold: float,
    contained: bool,
    containment_min: int = 1,
) -> list[list[int]]:
    """How the pairs of every row match, as the kernel has it."""
    expected, got = (kernels.squashed_points(from_list(values)) for values in columns_)
    e_first, e_last, g_first, g_last = np.array([[*e, *g] for e, g in rows], np.int32).reshape(-1, 4).T.copy()
    grams = kernels.grams_of(expected)
    given_ = (expected, grams, e_first, e_last, got, g_first, g_last, threshold, containment_min, contained)
    pairs = kernels.match_pairs(*given_)
    assert kernels.match_pairs(*given_, wide=False).how.tolist() == pairs.how.tolist()
    return [pairs.how[pairs.bounds[r] : pairs.bounds[r + 1]].tolist() for r in range(len(rows))]


def slowly_matched(e: str, g: str, threshold: float, contained: bool, containment_min: int) -> int:
    """How two texts match; perhaps by containment alone."""
    e, g = slow.squash(e), slow.squash(g)
    if slow.contained(e, g, containment_min):
        return kernels.EQUAL if e == g else kernels.CONTAINED
    similar = bool(slow.bigrams(e) and slow.bigrams(g)) and slow.bigram_jaccard(e, g) >= threshold
    return kernels.SIMILAR if similar and not contained else kernels.UNMATCHED


@given(matched_columns(), THRESHOLDS, st.booleans(), st.integers(1, 4), st.data())
def test_match_pairs(
    pair: tuple[list[str], list[str]], threshold: float, contained: bool, least: int, data: st.DataObject
) -> None:
    expected, got = pair
    rows = data.draw(st.lists(st.tuples(ranges(len(expected)), ranges(len(got))), max_size=3))
    assert matched(pair, rows, threshold, contained, least) == [
        [slowly_matched(e, g, threshold, contained, least) for e in expected[slice(*er)] for g in got[slice(*gr)]]
        for er, gr in rows
    ]


@st.composite
def scattered(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts around the 64 characters up to which places are compared, which differ at some places."""
    alphabet = draw(st.sampled_from(["ab", "abcdefghij", HAN]))
    text_ = draw(st.text(st.sampled_from(alphabet), min_size=2, max_size=70))
    near = list(text_)
    for place in draw(st.lists(st.integers(0, len(text_) - 1), max_size=12)):
        near[place] = draw(st.sampled_from([*alphabet, "", "x", "甲乙"]))
    ends = st.sampled_from(["", "", "c", "xyz"])
    return text_, draw(ends) + "".join(near) + draw(ends)


@given(scattered(), THRESHOLDS)
def test_match_of_texts_that_differ_at_some_places(pair: tuple[str, str], threshold: float) -> None:
    e, g = pair
    whole = [((0, 1), (0, 1))]
    assert matched(([e], [g]), whole, threshold, False) == [[slowly_matched(e, g, threshold, False, 1)]]
    assert matched(([g], [e]), whole, threshold, False) == [[slowly_matched(g, e, threshold, False, 1)]]


@pytest.mark.parametrize(
    ("e", "g", "threshold", "want"),
    [
        ("餐飲服務部", "餐飲服務處", 0.6, True),
        ("餐飲服務部", "餐飲服務處", 0.61, False),
        ("ab", "cd", 0.0, True),
        ("a", "b", 0.0, False),
        ("a", "bc", 0.0, False),
        ("", "a", 0.0, False),
        ("abab", "baba", 1.0, True),
        ("abcb", "bcba", 1.0, False),
        ("a", "xxax", 1.0, True),
    ],
)
def test_match_at_the_limits(e: str, g: str, threshold: float, want: bool) -> None:
    for one, two in ((e, g), (g, e)):
        assert (matched(([one], [two]), [((0, 1), (0, 1))], threshold, False) != [[kernels.UNMATCHED]]) is want


def test_thresholds_are_met_exactly() -> None:
    """Every share k/n that 40 bigrams can have is met by itself as the limit, and missed by the next one up."""
    base = "".join(chr(0x4E00 + k) for k in range(41))
    for changed in range(1, 40):
        other = base[:-changed] + "".join(chr(0x5E00 + k) for k in range(changed))
        share = slow.bigram_jaccard(base, other)
        above = float(np.nextafter(share, 2.0))
        assert matched(([base], [other]), [((0, 1), (0, 1))], share, False) == [[kernels.SIMILAR]]
        assert matched(([base], [other]), [((0, 1), (0, 1))], above, False) == [[kernels.UNMATCHED]]


def slowly_assigned(matrix: list[list[int]], wide: int, one_to_one: bool) -> tuple[list[int], list[int]]:
    """(partner of every expected item, partner of every got item) of one row, -1 where there is none."""
    if not one_to_one:
        columns = [[row[g] for row in matrix] for g in range(wide)]
        return [_first(row) for row in matrix], [_first(column) for column in columns]
    partners: dict[int, int] = {}
    for e, row in enumerate(matrix):
        free = [g for g, how in enumerate(row) if how and g not in partners.values()]
        if free:
            partners[e] = free[0]
    back = {g: e for e, g in partners.items()}
    return [partners.get(e, -1) for e in range(len(matrix))], [back.get(g, -1) for g in range(wide)]


def _first(line: list[int]) -> int:
    return next((k for k, how in enumerate(line) if how), -1)


@st.composite
def matrices(draw: st.DrawFn) -> list[list[int]]:
    """A matrix of matches, expected x got."""
    high, wide = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    how = st.sampled_from([kernels.UNMATCHED, kernels.UNMATCHED, kernels.EQUAL, kernels.CONTAINED, kernels.SIMILAR])
    return [draw(st.lists(how, min_size=wide, max_size=wide)) for _ in range(high)]


@given(st.lists(matrices(), max_size=4), st.booleans())
def test_assign(rows: list[list[list[int]]], one_to_one: bool) -> None:
    flat = [how for matrix in rows for row in matrix for how in row]
    widths = [len(matrix[0]) if matrix else 3 for matrix in rows]
    e_counts, g_counts = np.array([len(matrix) for matrix in rows], np.int32), np.array(widths, np.int32)
    bounds = np.cumsum([0, *(e_counts * g_counts)], dtype=np.int64)
    got = kernels.assign(kernels.Pairs(np.array(flat, np.uint8), bounds), e_counts, g_counts, one_to_one)
    want = [slowly_assigned(matrix, wide, one_to_one) for matrix, wide in zip(rows, widths, strict=True)]
    assert got.e_partner.tolist() == [partner for e, _ in want for partner in e]
    assert got.g_partner.tolist() == [partner for _, g in want for partner in g]
    assert got.e_matched.tolist() == [sum(partner >= 0 for partner in e) for e, _ in want]
    assert got.g_matched.tolist() == [sum(partner >= 0 for partner in g) for _, g in want]


# --- keywords -------------------------------------------------------------------------------------------------------

WORDY = st.one_of(
    texts(),
    st.text(st.sampled_from(HAN + HAN_EDGES + KANA + KANA_EDGES + TOKENS + " \u3000・。😀"), max_size=30),
    small_texts("門禁の-aB", 25),
    st.lists(
        st.sampled_from(["V-Pass", "v-pass", "abc", "ab", "a_b.c", "ABC", "門禁管理", "禁管", "の"]), max_size=9
    ).map(" ".join),
    st.lists(st.text(st.sampled_from("abcAB1.-_"), min_size=3, max_size=4), min_size=40, max_size=60).map(" ".join),
)
CAPS = st.sampled_from([0, 1, 2, 3, 30, NO_CAP])


def keyword_lists(column: Strings, cap: int, kana: bool) -> list[list[str]]:
    """The keywords of every text as the kernel has them."""
    found = kernels.keywords(column, cap, kana)
    words = listed(kernels.keyword_texts(found))
    assert found.counts().tolist() == np.diff(found.bounds).tolist()
    return [words[found.bounds[k] : found.bounds[k + 1]] for k in range(len(column))]


@given(columns(WORDY), CAPS)
def test_keywords(given_: tuple[list[str], pa.Array], cap: int) -> None:
    values, column = given_
    assert keyword_lists(from_arrow(column), cap, False) == [slow.keywords(value)[:cap] for value in values]


@given(columns(WORDY), CAPS)
def test_keywords_with_kana(given_: tuple[list[str], pa.Array], cap: int) -> None:
    values, column = given_
    assert keyword_lists(from_arrow(column), cap, True) == [slow.keywords(value, kana=True)[:cap] for value in values]


def test_pairs_of_han_come_before_pairs_of_kana() -> None:
    assert keyword_lists(from_list(["のデ細胞のデータabc"]), 30, True) == [["abc", "細胞", "のデ", "デー", "ータ"]]
    assert keyword_lists(from_list(["のデ細胞"]), 1, True) == [["細胞"]]


@pytest.mark.parametrize("kana", [False, True])
def test_every_code_point_is_in_a_run_or_not(kana: bool) -> None:
    points = [point for point in range(0x80, 0x110000) if not 0xD800 <= point <= 0xDFFF]
    counts = kernels.keywords(from_list([chr(point) * 2 for point in points]), NO_CAP, kana).counts()
    paired = {point for point, count in zip(points, counts.tolist(), strict=True) if count}
    han = {*range(0x4E00, 0xA000), *range(0x3400, 0x4DC0)}
    letters = {c for c in map(chr, points) if slow.KANA_RUN.fullmatch(c)}
    assert paired ^ (han | {ord(c) for c in letters} if kana else han) == set()


@given(st.lists(WORDY, min_size=1, max_size=4), st.data(), CAPS, st.booleans())
def test_keyword_hits(expected: list[str], data: st.DataObject, cap: int, kana: bool) -> None:
    which = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=5))
    got = [data.draw(st.one_of(related(expected[q]), WORDY)) for q in which]
    tables = kernels.keyword_tables(kernels.keywords(from_list(expected), cap, kana))
    hits = kernels.keyword_hits(tables, np.array(which, np.int32), from_list(got), kana)
    wanted = [slow.keywords(text, kana=kana)[:cap] for text in expected]
    found = [set(slow.keywords(text, kana=kana)) for text in got]
    assert hits.counts.tolist() == [sum(word in found[k] for word in wanted[q]) for k, q in enumerate(which)]
    assert hits.last_row.tolist() == [
        max((k for k, asked in enumerate(which) if asked == q and word in found[k]), default=-1)
        for q, words in enumerate(wanted)
        for word in words
    ]


@given(st.integers(20, 60), st.lists(st.integers(0, 59), max_size=50), st.randoms(use_true_random=False))
def test_keyword_hits_of_texts_that_quote_some_words(count: int, broken: list[int], drawn: random.Random) -> None:
    """More keywords that have moved than are searched one by one."""
    words = [f"{HAN[k % len(HAN)]}{HAN[k // len(HAN) + 3]} Word-{k}" for k in range(count)]
    moved = [word.upper() if k not in broken else f"{word[0]}-{word}." for k, word in enumerate(words)]
    drawn.shuffle(moved)
    texts_ = ["。".join(words), " ".join(moved)]
    hits = kernels.keyword_hits(
        kernels.keyword_tables(kernels.keywords(from_list(texts_[:1]))), np.zeros(1, np.int32), from_list(texts_[1:])
    )
    assert hits.counts.tolist() == [len({*slow.keywords(texts_[0])} & {*slow.keywords(texts_[1])})]


def test_tokens_of_a_large_text_are_all_told_apart() -> None:
    words = [f"tok{k:x}" for k in range(20_000)]
    column = from_list([" ".join(words + words), " ".join(words[::2]).upper()])
    found = kernels.keywords(column)
    assert found.counts().tolist() == [20_000, 10_000]
    hits = kernels.keyword_hits(kernels.keyword_tables(found), np.array([0, 1], np.int32), column)
    assert hits.counts.tolist() == [20_000, 10_000]
    swapped = kernels.keyword_hits(kernels.keyword_tables(found), np.array([1, 0], np.int32), column)
    assert swapped.counts.tolist() == [10_000, 10_000]


def test_keywords_of_nothing() -> None:
    assert keyword_lists(from_list([]), 5, True) == []
    assert keyword_lists(from_list(["", "ab", "門", "の", "..."]), 5, True) == [[], [], [], [], []]


# --- search ---------------------------------------------------------------------------------------------------------


@st.composite
def hays(draw: st.DrawFn) -> tuple[str, str]:
    """(hay, needle) that often holds."""
    hay = draw(st.one_of(texts(), small_texts("ab", 40), small_texts("門禁", 20)))
    return hay, draw(st.one_of(related(hay), texts(6), small_texts("ab", 5)))


@given(st.lists(hays(), max_size=5))
def test_contains(pairs: list[tuple[str, str]]) -> None:
    hay, needle = (from_list([pair[k] for pair in pairs]) for k in range(2))
    found = kernels.contains(hay.data, hay.starts, hay.ends, needle.data, needle.starts, needle.ends)
    assert found.tolist() == [bool(n) and n in h for h, n in pairs]


@given(st.lists(st.lists(small_texts("ab門", 3), max_size=4), max_size=4), st.data())
def test_among(sets: list[list[str]], data: st.DataObject) -> None:
    values = data.draw(st.lists(small_texts("ab門", 3), max_size=6))
    which = [data.draw(st.integers(-1, len(sets) - 1)) for _ in values]
    column, members = from_list(values), from_list([member for members in sets for member in members])
    bounds = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    found = kernels.among(
        column.data, column.starts, column.ends, np.array(which, np.int32), members.data, members.offsets, bounds
    )
    assert found.tolist() == [q >= 0 and value in sets[q] for value, q in zip(values, which, strict=True)]


# --- broken answers -------------------------------------------------------------------------------------------------

FENCED = st.builds(
    lambda head, word, body, tail: head + word + body + tail,
    st.sampled_from(["", "`", "``", "```", "````", "x```"]),
    st.sampled_from(["", "json", " json", "\tc++\n", "C#", "json\u3000", "\n", "f77.x-y_z ", "語"]),
    st.one_of(small_texts('{}[]"`1 \n', 8), st.text(MIXED, max_size=4)),
    st.sampled_from(["", "`", "``", "```", "`````", "``` "]),
)


@given(st.lists(FENCED, max_size=5))
def test_fenced(values: list[str]) -> None:
    column = from_list(values)
    inner, behind, stops = (bounds.tolist() for bounds in kernels.fenced(column.data, column.starts, column.ends))
    data = column.data.tobytes()
    for k, value in enumerate(values):
        body = value.strip("`")
        if not (value.startswith("```") and value.endswith("```") and body):
            assert (inner[k], behind[k], stops[k]) == (-1, -1, -1)
            continue
        word = slow_json.LANGUAGE_WORD.match(body.lstrip(" \t"))
        assert word is not None
        assert data[inner[k] : stops[k]].decode() == body
        assert data[behind[k] : stops[k]].decode() == body.lstrip(" \t")[word.end() :]


@given(st.lists(st.one_of(small_texts('{}[]"\\a', 20), st.text(MIXED, max_size=9), small_texts('{"', 6)), max_size=5))
def test_first_object(values: list[str]) -> None:
    column = from_list(values)
    starts, ends = kernels.first_object(column.data, column.starts, column.ends)
    data = column.data.tobytes()
    for k, value in enumerate(values):
        begin = value.find("{")
        end = slow_json.balanced_end(value, begin) if begin >= 0 else None
        assert (starts[k] >= 0, ends[k] >= 0) == (begin >= 0, end is not None)
        if begin >= 0:
            assert data[starts[k] : column.ends[k]].decode() == value[begin:]
        if end is not None:
            assert data[starts[k] : ends[k]].decode() == value[begin:end]


# --- lines, bytes and keys ------------------------------------------------------------------------------------------

BYTES = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.sampled_from([10, 13, 32, 9, 0x41, 0x7B, 0xC2, 0x85, 0xA0, 0xE2, 0x80, 0x8A, 0xA8, 0xE3]), max_size=40
    ).map(bytes),
    st.lists(st.one_of(texts(10), st.sampled_from(SPACES)), max_size=6).map(lambda parts: "\n".join(parts).encode()),
)


def is_blank(line: bytes) -> bool:
    """Whether bytes are nothing but White_Space; bytes that are not UTF-8 are something."""
    return slow.strip(line.decode("utf-8", "surrogateescape")) == ""


@given(BYTES, st.integers(1, 10**6))
@example(b"\xe2\x80A\n{}", 1)
@example(b"\n\n\n", 1)
@example(b"a\nb", 1)
@example(b"\r\n \t\r\n\xc2\x85\n\xe3\x80\x80\n", 1)
def test_split_lines(content: bytes, first: int) -> None:
    starts, ends, lines, following = split_lines(np.frombuffer(content, np.uint8), first)
    parts = content.removesuffix(b"\n").split(b"\n") if content else []
    wanted = [(line, part.removesuffix(b"\r")) for line, part in enumerate(parts, first) if not is_blank(part)]
    assert [(int(n), content[s:e]) for s, e, n in zip(starts, ends, lines, strict=True)] == wanted
    assert following == first + len(parts)


def is_utf8(content: bytes) -> bool:
    """Whether Python can decode it."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


CORNERS = st.sampled_from([0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF])
HIGH_CORNERS = st.sampled_from([0xF0, 0xF1, 0xF4, 0xF5, 0xFF, 0xE1, 0x41])


@given(
    st.lists(
        st.one_of(
            st.lists(st.one_of(CORNERS, HIGH_CORNERS), max_size=6).map(bytes),
            st.text(MIXED, max_size=6).map(str.encode),
            st.tuples(st.text(MIXED, max_size=4).map(str.encode), st.integers(0, 16)).map(lambda p: p[0][: p[1]]),
        ),
        max_size=5,
    )
)
def test_valid_utf8(parts: list[bytes]) -> None:
    assert valid_utf8(*spans(parts)).tolist() == [is_utf8(part) for part in parts]


def test_valid_utf8_of_all_short_sequences() -> None:
    """Every pair of bytes, and every triple and quadruple whose bytes lie at the corners of the rules."""
    corners = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5]
    parts = [bytes(pair) for pair in itertools.product(range(256), repeat=2)]
    parts += [bytes(quad) for size in (3, 4) for quad in itertools.product(corners, repeat=size)]
    assert valid_utf8(*spans(parts)).tolist() == [is_utf8(part) for part in parts]


def whole(content: bytes) -> bool:
    """What the kernel says of bytes that end where their buffer does."""
    return is_valid_utf8(np.frombuffer(content, np.uint8))


def test_utf8_of_whole_blocks_at_every_bound() -> None:
    """Characters of each width, and what is none, before, across and behind the bounds of 64 bytes and at the end."""
    pieces = ["é", "門", "😀", "\u07ff\u0800", "\ud7ff\ue000", "\uffff\U00010000", "\U0010ffff"]
    broken = ["c0af", "c3", "e98f", "f09f98", "eda080", "e080af", "f08080af", "f4908080", "80", "bf", "f5808080", "ff"]
    for piece in [*(text.encode() for text in pieces), *map(bytes.fromhex, broken)]:
        for width in range(134):
            for tail in (b"", b"a", b"a" * 70, "門".encode() * 30):
                content = b"a" * width + piece + tail
                assert whole(content) == is_utf8(content), (piece, width, tail)


def test_utf8_of_all_short_sequences_amid_a_block() -> None:
    corners = [
        0x7F,
        0x80,
        0x8F,
        0x90,
        0x9F,
        0xA0,
        0xBF,
        0xC1,
        0xC2,
        0xDF,
        0xE0,
        0xE1,
        0xED,
        0xEF,
        0xF0,
        0xF1,
        0xF4,
        0xF5,
    ]
    for size in (2, 3, 4):
        for quad in itertools.product(corners, repeat=size):
            assert whole(b"a" * 62 + bytes(quad) + b"a") == is_utf8(bytes(quad)), quad


@given(st.lists(st.one_of(st.text(max_size=90).map(str.encode), st.binary(max_size=3)), max_size=8))
def test_utf8_of_any_bytes(parts: list[bytes]) -> None:
    content = b"".join(parts)
    assert whole(content) == is_utf8(content)


@given(st.lists(st.integers(0, 19), max_size=12), st.sets(st.integers(0, 19)))
def test_mark_first(keys: list[int], before: set[int]) -> None:
    seen = np.packbits([key in before for key in range(20)], bitorder="little")
    first = mark_first(seen, np.array(keys, np.int64))
    assert first.tolist() == [key not in before and key not in keys[:k] for k, key in enumerate(keys)]
    assert set(np.flatnonzero(np.unpackbits(seen, bitorder="little")).tolist()) == before | set(keys)
