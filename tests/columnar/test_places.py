"""Places of texts in a column, against a list."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rageval_batch.columnar.places import TextPlaces, distinct_rows
from rageval_batch.columnar.strings import LARGE_STRING

TEXTS = st.lists(st.none() | st.text("ab\0é", max_size=3), max_size=40)


@given(TEXTS, TEXTS)
def test_a_text_is_found_at_its_first_place(texts: list[str | None], asked: list[str | None]) -> None:
    found = TextPlaces(pa.array(texts, LARGE_STRING)).of(pa.array(asked, LARGE_STRING))
    assert found.tolist() == [texts.index(text) if text in texts else -1 for text in asked]


@given(st.lists(st.tuples(*[st.none() | st.text("ab\0é", max_size=2)] * 2), max_size=40))
def test_rows_of_equal_texts_are_one(rows: list[tuple[str | None, str | None]]) -> None:
    columns = [pa.array([row[k] for row in rows], LARGE_STRING) for k in range(2)]
    first, which = distinct_rows(columns)
    distinct = list(dict.fromkeys(rows))
    assert [rows[k] for k in first.tolist()] == distinct
    assert which.tolist() == [distinct.index(row) for row in rows]


@given(st.lists(TEXTS, max_size=6))
def test_texts_of_a_growing_column_are_found_at_their_first_places(parts: list[list[str | None]]) -> None:
    places, before = TextPlaces(pa.array([], LARGE_STRING)), list[str | None]()
    for part in parts:
        before += part
        assert places.add(pa.array(part, LARGE_STRING)).tolist() == [before.index(text) for text in part]
