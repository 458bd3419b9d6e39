"""Whole columns read by their stretches, against the reader of single texts."""

import pickle
import random

import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_batch.columnar.strings import from_list
from rageval_batch.columnar.values import Reader, lexicon
from rageval_batch.columnar.values.columns import ColumnReader
from support.effort import examples
from support.figures import FIGURES, GAPS, INERT, SIGNS, WORDS, made_up

MORE_UNITS = ("箱", "kg", "m x", "ц")
READERS = [
    ColumnReader(reader)
    for reader in (
        Reader(),
        Reader(decimal_mark="comma", date_order="dmy"),
        Reader(lexicon((), MORE_UNITS)),
    )
]
PARTS = ("numbers", "dates", "date_ranges", "citations", "names", "boolean", "sentences", "abstention", "ambiguous")
sparse = st.lists(
    st.one_of(*map(st.sampled_from, (INERT, INERT, FIGURES, SIGNS, WORDS, GAPS, (*MORE_UNITS, "kgs", "рубликов")))),
    max_size=25,
).map("".join)


def assert_same(columns: ColumnReader, written: list[str]) -> None:
    for text, found in zip(written, columns.read(from_list(written)), strict=True):
        expected = columns.reader.read(text)
        assert found.raw == text
        for part in PARTS:
            assert getattr(found, part) == getattr(expected, part), (part, text)


@pytest.mark.parametrize("columns", READERS, ids=["packaged lists", "comma and day first", "more units"])
@settings(max_examples=examples(150), deadline=None)
@given(written=st.lists(sparse, max_size=8))
@example(written=["", "三", "约三。", "7分", "x\n-5\n-6", "令和元年3月", "room ５ in", "第4页、第5页"])
@example(written=["Выручкане менее чем 2", "договор 5 рубликов или более", "門3kgs門", "上个月第2页，5月3日至7日付清"])
def test_columns_say_what_the_texts_say(columns: ColumnReader, written: list[str]) -> None:
    assert_same(columns, written)


@pytest.mark.parametrize("columns", READERS, ids=["packaged lists", "comma and day first", "more units"])
def test_dense_texts(columns: ColumnReader) -> None:
    drawn = random.Random(8)
    assert_same(columns, [made_up(drawn) for _ in range(examples(250))])


NAMED = (
    "張局長",
    "参議",
    "拾参議員",
    "王建国律师",
    "Mr.",
    "Mr．",
    "Dr. ",
    "Ng",
    "“",
    "”",
    "「a b",
    "c」",
    '"',
    "＂",
    "『",
    "』",
    "。",
    "ﾐ",
)


@settings(max_examples=examples(300), deadline=None)
@given(
    written=st.lists(
        st.lists(st.one_of(st.sampled_from(NAMED), st.sampled_from((*INERT, *FIGURES))), max_size=9).map("".join),
        max_size=8,
    )
)
def test_texts_with_names_are_among_those_that_may_have_some(written: list[str]) -> None:
    columns = ColumnReader(Reader(lexicon(titles=("參議", "參議員", "(ret.)"))))
    found = columns.read(from_list(written))
    perhaps = pc.match_substring_regex(found.texts.to_arrow(), columns.reader.names.perhaps_named).to_pylist()
    for reading, may, whole in zip(found, perhaps, found.whole.tolist(), strict=True):
        assert may or whole or not reading.names, reading.raw


def test_a_stretch_is_read_once_and_the_reader_pickles() -> None:
    columns: ColumnReader = pickle.loads(pickle.dumps(READERS[0]))
    texts = [f"{'門' * k}付42,000元門" for k in range(1, 50)]
    found = columns.read(from_list(texts))
    assert [[(number.unit, number.start) for number in one.numbers] for one in found] == [
        [("元", k + 1)] for k in range(1, 50)
    ]
    again = columns.read(from_list(texts[:1]))
    assert len({id(stretch) for one in (*found, *again) for stretch, _ in one.stretches}) == 1
