"""The scorer's functions over Arrow columns: null stays null, everything else is as the oracle says."""

import marshal
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import text as slow
from rageval_batch.columnar import text
from rageval_batch.columnar.strings import LARGE_STRING, from_list
from support.effort import examples
from support.strategies import MIXED, related, shaped, small_texts, texts

FLAT = ("plain", "small", "sliced")
MAYBE = st.one_of(texts(), st.none())


@st.composite
def twins(draw: st.DrawFn) -> tuple[list[str | None], list[str | None], str]:
    """Two columns of one length whose rows are often alike, and a shape."""
    left = draw(st.lists(MAYBE, max_size=5))
    right = [draw(st.one_of(related(value or ""), MAYBE)) for value in left]
    return left, right, draw(st.sampled_from(FLAT))


@given(st.lists(MAYBE, max_size=5), st.sampled_from(FLAT))
def test_squash_and_keywords_of_a_column(values: list[str | None], shape: str) -> None:
    column = shaped(values, shape)
    assert text.squash(column).to_pylist() == [None if v is None else slow.squash(v) for v in values]
    assert text.keyword_lists(column).to_pylist() == [None if v is None else slow.keywords(v) for v in values]


@given(twins(), st.sampled_from([0.0, 0.5, 0.72, 1.0]), st.sampled_from([0, 1, 30]))
def test_functions_of_two_columns(pair: tuple[list[str | None], list[str | None], str], limit: float, cap: int) -> None:
    a, b = shaped(pair[0], pair[2]), shaped(pair[1], pair[2])
    both = [None if x is None or y is None else (x, y) for x, y in zip(pair[0], pair[1], strict=True)]
    matched, hits = text.soft_match(a, b, limit).to_pylist(), text.keyword_hits(a, b, cap).to_pylist()
    assert matched == [None if row is None else slow.soft_match(*row, limit) for row in both]
    assert hits == [None if row is None else slow.keyword_hits(*row, cap) for row in both]


def test_functions_of_empty_columns() -> None:
    none = pa.array([], LARGE_STRING)
    assert [len(text.squash(none)), len(text.keyword_lists(none)), len(text.keyword_hits(none, none))] == [0, 0, 0]
    assert len(text.soft_match(none, none)) == 0


@given(st.lists(st.one_of(st.text(MIXED, max_size=12), small_texts("ﬁＡａß①ｶﾞ")), max_size=5))
def test_unicode_forms(values: list[str]) -> None:
    for form in text.UNICODE_FORMS:
        got = text.unicode_form(from_list(values), form).to_arrow().to_pylist()
        assert got == [slow.unicode_form(value, form) for value in values]


def test_a_normal_form_is_worked_out_once_a_distinct_string() -> None:
    calls: list[str] = []

    def noted(value: str) -> str:
        calls.append(value)
        return unicodedata.normalize("NFKC", value)

    column = text.map_distinct(from_list(["Ａ", "b", "Ａ", "", "b"]), noted)
    assert column.to_arrow().to_pylist() == ["A", "b", "A", "", "b"]
    assert sorted(calls) == ["", "b", "Ａ"]


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                ["門禁管理", "訪客須出示證件", "V-Pass", "餐飲服務部", "逾期合約資料", "的", " ", "數據庫"]
            ),
            max_size=6,
        ).map("".join),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0, 1, 30]),
)
def test_keywords_by_words(values: list[str], cap: int) -> None:
    index = text.KeywordIndex(from_list(values), "jieba", cap)
    wanted = [slow.keywords(value, "jieba")[:cap] for value in values]
    assert index.counts.tolist() == [len(words) for words in wanted]
    which = np.arange(len(values), dtype=np.int32)[::-1].copy()
    got = index.hits(which, from_list(values))
    assert got.counts.tolist() == [
        slow.keyword_hits(values[q], value, cap, "jieba") for q, value in zip(which.tolist(), values, strict=True)
    ]


def test_words_are_loaded_in_silence() -> None:
    program = "from rageval_batch.columnar.text import word_keywords; print(len(word_keywords('門禁管理')))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize("mode", text.KEYWORD_MODES)
def test_keywords_shown_are_those_that_count(mode: str) -> None:
    index = text.KeywordIndex(from_list(["門禁 管理 V-Pass", "訪客"]), mode, 30)
    hits = index.hits(np.array([1, 0], np.int32), from_list(["", "v-pass 的管理"]))
    assert hits.counts.tolist() == [0, 2]
    assert index.hit_keywords(0, hits, 1) == [("v-pass", True), ("門禁", False), ("管理", True)]
    assert index.hit_keywords(1, hits, 0) == [("訪客", False)]


def test_word_boundaries_come_from_the_dictionary_of_the_package(tmp_path: Path) -> None:
    """jieba would believe a file in the folder of temporary files, whoever wrote it, and write one there."""
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from rageval_batch.columnar.text import _segmenter\n"
        "print('/'.join(_segmenter().cut('訪客登記流程', HMM=False)), len(_segmenter().FREQ))"
    )
    said = []
    for content in (None, marshal.dumps(({"客登": 10**9}, 10**9))):
        if content is not None:
            (tmp_path / "jieba.cache").write_bytes(content)
        environment = {**os.environ, "TMPDIR": str(tmp_path), "TEMP": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", program, *sys.path], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout)
        assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if content is None else [content])
    assert said[0] == said[1]
