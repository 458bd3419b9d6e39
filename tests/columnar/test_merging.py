"""Two rising columns side by side, against sets."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.columnar.kernels.merging import merged_places
from rageval_batch.columnar.strings import from_list
from support.effort import examples

NAMES = st.lists(st.text("ab\0é🙂", max_size=4), max_size=12)


def places(left: list[str], right: list[str], ended: tuple[bool, bool]) -> list[tuple[int, int]] | None:
    first, second = from_list(left), from_list(right)
    found = merged_places(first.data, first.offsets, ended[0], second.data, second.offsets, ended[1])
    return None if found is None else list(zip(*(part.tolist() for part in found), strict=True))


@settings(max_examples=examples(200), deadline=None)
@given(NAMES, NAMES)
def test_rising_names_are_merged(left: list[str], right: list[str]) -> None:
    ours, theirs = (sorted(set(names), key=str.encode) for names in (left, right))
    both = sorted({*ours, *theirs}, key=str.encode)
    want = [tuple(names.index(name) if name in names else -1 for names in (ours, theirs)) for name in both]
    assert places(ours, theirs, (True, True)) == want


@settings(max_examples=examples(200), deadline=None)
@given(NAMES, NAMES, st.sampled_from([(False, False), (False, True), (True, False)]))
def test_places_end_with_a_column_that_may_go_on(left: list[str], right: list[str], ended: tuple[bool, bool]) -> None:
    ours, theirs = (sorted(set(names), key=str.encode) for names in (left, right))
    whole, found = places(ours, theirs, (True, True)), places(ours, theirs, ended)
    assert whole is not None and found is not None
    assert found == whole[: len(found)]
    used = [max((pair[side] for pair in found), default=-1) + 1 for side in range(2)]
    assert any(not over and count == len(names) for over, count, names in zip(ended, used, (ours, theirs), strict=True))


@settings(max_examples=examples(200), deadline=None)
@given(NAMES, st.booleans())
def test_names_that_do_not_rise_are_not_merged(names: list[str], swapped: bool) -> None:
    rising = names == sorted(set(names), key=str.encode)
    pair = (names, ["a", "b"]) if swapped else (["a", "b"], names)
    assert (places(*pair, (True, True)) is not None) == rising
