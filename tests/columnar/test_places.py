"""Places of texts in a column, against a list."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rageval_batch.columnar.places import TextPlaces
from rageval_batch.columnar.strings import LARGE_STRING

TEXTS = st.lists(st.none() | st.text("ab\0é", max_size=3), max_size=40)


@given(TEXTS, TEXTS)
def test_a_text_is_found_at_its_first_place(texts: list[str | None], asked: list[str | None]) -> None:
    found = TextPlaces(pa.array(texts, LARGE_STRING)).of(pa.array(asked, LARGE_STRING))
    assert found.tolist() == [texts.index(text) if text in texts else -1 for text in asked]
