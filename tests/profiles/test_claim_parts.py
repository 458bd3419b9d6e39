"""The compiled parts of claim_evidence against plain Python: folding, entities, Kana keywords, numbers, words."""

import unicodedata

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles import claim_evidence as oracle
from oracles import text as slow
from rageval_batch.columnar import text
from rageval_batch.columnar.kernels.values import first_in_row, whole_numbers
from rageval_batch.columnar.strings import LARGE_STRING, from_list
from rageval_batch.profiles.claim_evidence.entities import EntityIndex, folded
from rageval_batch.profiles.claim_evidence.support import lexical_support
from support.effort import examples

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
# Characters that meet their neighbours: letters with marks, Jamo, half-width Kana with voice marks, Indic vowels.
MEETING = st.text(
    st.sampled_from("aeＡÅåé\u0301\u0327\u0308\u1100\u1161\u11a8가ｶﾞﾟカ\u3099か\u09c7\u09be\u0dd9\u0dcf\u0344ΐςΣﬁ½İ²Ⅳ㍿"),
    max_size=8,
)


def normal(s: str) -> str:
    return unicodedata.normalize("NFKC", s).casefold()


def test_every_character_folds_as_in_python() -> None:
    characters = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    assert folded(from_list(characters)).to_arrow().to_pylist() == [normal(c) for c in characters]


@given(st.lists(UNICODE | MEETING, max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_texts_fold_as_in_python(texts: list[str]) -> None:
    assert folded(from_list(texts)).to_arrow().to_pylist() == [normal(s) for s in texts]


NAMES = st.text(st.sampled_from("ab6-\u00b2βｂ薬ー한กé\u0301\u0e31 +"), min_size=1, max_size=3)


@given(st.lists(NAMES | UNICODE, max_size=4), st.lists(st.lists(NAMES | UNICODE, max_size=4).map("".join), max_size=3))
@settings(max_examples=examples(300), deadline=None)
@example(["a"], ["\U000e0100a", "a\U000e0100"])
def test_entities_are_found_as_the_oracle_says(entities: list[str], texts: list[str]) -> None:
    index = EntityIndex([entities, []])
    bounds = np.array([0, len(texts), len(texts)], np.int64)
    flags, rows = index.found(np.array([0, 1], np.int32), from_list(texts), bounds)
    wanted = oracle._entities({"expected_entities": entities})
    assert index.names == wanted
    assert rows.tolist() == [0, len(wanted), len(wanted)]
    assert flags.tolist() == [any(oracle._entity_in(name, normal(s)) for s in texts) for name in wanted]


KANA = st.text(
    st.sampled_from("のカーデ\u3099\u309a\u309b\u309d\u309f\u30a0・\u30ff\u31f0ｱﾞｰﾟ｡薬細abcABC._- \uffee\uff65\uffa0"),
    max_size=12,
)


@given(KANA, KANA)
@settings(max_examples=examples(300), deadline=None)
def test_kana_keywords_are_those_of_the_oracle(a: str, b: str) -> None:
    got = text.keyword_lists(pa.array([a, b, ""], LARGE_STRING), kana=True).to_pylist()
    assert got == [slow.keywords(a, kana=True), slow.keywords(b, kana=True), []]
    index = text.KeywordIndex(from_list([a]), "bigram", 2**31, kana=True)
    hits = index.hits(np.zeros(1, np.int32), from_list([b]))
    assert hits.counts.tolist() == [len(set(got[0]) & set(got[1]))]


def test_every_kana_is_in_one_class() -> None:
    texts = [chr(point) * 2 for point in range(0x10000) if not 0xD800 <= point < 0xE000]
    pairs = text.keyword_lists(pa.array(texts, LARGE_STRING), kana=True).to_pylist()
    assert pairs == [slow.keywords(s, kana=True) for s in texts]


@given(st.lists(st.integers(-(2**64), 2**64) | st.sampled_from([2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 10**19])))
def test_whole_numbers_of_64_bits(values: list[int]) -> None:
    column = from_list([str(value) for value in values])
    got, good = whole_numbers(column.data, column.starts, column.ends)
    assert good.tolist() == [-(2**63) <= value < 2**63 for value in values]
    assert got.tolist() == [value if -(2**63) <= value < 2**63 else 0 for value in values]


def test_other_texts_are_no_whole_numbers() -> None:
    column = from_list(["", "-", "1.0", "1e2", "-0", "0", " 1", "1/", "1:", "\uff11", "99999999999999999999"])
    got, good = whole_numbers(column.data, column.starts, column.ends)
    assert good.tolist() == [False] * 4 + [True] * 2 + [False] * 5
    assert not got.any()


def test_words_are_stripped_and_casefolded() -> None:
    column = from_list(["Done", "\u3000done\n", "o\u212a", "pa\u00dfed", "", "done.", "x" * 1000, "d" + " " * 100])
    assert text.word_index(column, ("done", "ok", "passed", "")).tolist() == [0, 0, 1, 2, 3, -1, -1, -1]
    assert text.word_index(from_list([]), ("done",)).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3))))
def test_first_in_row(pairs: list[tuple[int, int]]) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    row, code = (np.array([pair[k] for pair in pairs], np.int32) for k in (0, 1))
    want = [pair[1] >= 0 and pair not in pairs[:k] for k, pair in enumerate(pairs)]
    assert first_in_row(row, code, 4).tolist() == want


def test_support_of_nothing() -> None:
    nothing = from_list([])
    support = lexical_support(from_list(["alpha", ""]), nothing, np.zeros(0, np.int32), threshold=0.5)
    assert support.supported.tolist() == [False, False]
    assert lexical_support(nothing, nothing, np.zeros(0, np.int32), threshold=0.5).supports.tolist() == []
