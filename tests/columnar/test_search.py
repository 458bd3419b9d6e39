"""Substrings in columns against Python's `in`."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.columnar import kernels
from rageval_batch.columnar.strings import from_list

FEW = st.text(alphabet="aаб 1,字", max_size=40)
NEEDLES = st.one_of(st.text(alphabet="aаб 1,字", max_size=4), FEW)


@settings(max_examples=300, deadline=None)
@given(pairs=st.lists(st.tuples(FEW, NEEDLES), max_size=8))
def test_contains(pairs: list[tuple[str, str]]) -> None:
    hay, needle = (from_list([pair[k] for pair in pairs]) for k in range(2))
    found = kernels.contains(hay.data, hay.starts, hay.ends, needle.data, needle.starts, needle.ends)
    assert found.tolist() == [n != "" and n in h for h, n in pairs]


@settings(max_examples=200, deadline=None)
@given(
    hays=st.lists(FEW, max_size=5),
    sets=st.lists(st.lists(st.lists(NEEDLES, max_size=3), max_size=3), min_size=1, max_size=3),
)
def test_group_hits(hays: list[str], sets: list[list[list[str]]]) -> None:
    which = np.arange(len(hays), dtype=np.int32) % np.int32(len(sets))
    groups = [group for each in sets for group in each]
    hay, needle = from_list(hays), from_list([text for group in groups for text in group])
    counts, first = kernels.group_hits(
        hay.data, hay.starts, hay.ends, which,
        np.cumsum([0, *map(len, sets)]), np.cumsum([0, *map(len, groups)]), needle.data, needle.offsets,
    )  # fmt: skip
    hits = [
        [next((n for n in group if n and n in h), None) for group in sets[w]] for h, w in zip(hays, which, strict=True)
    ]
    assert counts.tolist() == [sum(hit is not None for hit in row) for row in hits]
    assert [needle.at(k) if k >= 0 else None for k in first.tolist()] == [hit for row in hits for hit in row]


def test_a_needle_at_every_place_of_a_long_text() -> None:
    needles = ["о", "рост", "字", "??", "a b"]
    hays = ["x" * before + needle + "y" * after for needle in needles for before in range(18) for after in range(18)]
    wanted = [needle for needle in needles for _ in range(18 * 18)]
    hay, needle = from_list(hays), from_list(wanted)
    starts, ends = needle.starts, needle.ends
    assert kernels.contains(hay.data, hay.starts, hay.ends, needle.data, starts, ends).all()
    other = from_list([text[:-1] + "z" for text in wanted])
    assert not kernels.contains(hay.data, hay.starts, hay.ends, other.data, other.starts, other.ends).any()
