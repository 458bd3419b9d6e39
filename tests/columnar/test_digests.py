"""Keyed digests of rows and their tables, against SipHash and NH by their papers, and dictionaries."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from oracles.siphash import row_message, siphash128
from rageval_batch.columnar.kernels.digests import (
    distinct_digests,
    find_digests,
    insert_digests,
    keyed_digests,
    room_for_digests,
)
from rageval_batch.columnar.strings import LARGE_STRING, from_arrow

WORDS = st.integers(0, 2**64 - 1)
TEXTS = (
    st.none()
    | st.text(max_size=30)
    | st.builds(lambda part, n: part * n, st.text(min_size=1, max_size=9), st.integers(0, 500))
)
FEW = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=200)


def test_the_oracle_has_the_digest_of_the_reference_implementation() -> None:
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    first, second = siphash128(key, b"")
    found = first.to_bytes(8, "little") + second.to_bytes(8, "little")
    assert found.hex() == "a3817f04ba25a8e66df67214c7550293"


@given(
    st.tuples(WORDS, WORDS),
    st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), TEXTS, TEXTS), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_digests_are_those_of_the_oracle(
    key: tuple[int, int], rows: list[tuple[int, str | None, str | None]], skipped: int
) -> None:
    rows = rows[min(skipped, len(rows) - 1) :]
    numbers = np.array([row[0] for row in rows], np.int32)
    arrays = [pa.array([row[k] for row in rows], LARGE_STRING) for k in (1, 2)]
    columns = [(from_arrow(array), array.is_valid().to_numpy(zero_copy_only=False)) for array in arrays]
    found = keyed_digests(key, numbers, columns)
    assert found.tolist() == [list(siphash128(key, row_message(key, row[0], row[1:]))) for row in rows]


@given(FEW)
def test_distinct_digests_are_numbered_in_the_order_of_rows(rows: list[tuple[int, int]]) -> None:
    digests = np.array(rows, np.uint64).reshape(-1, 2)
    first, spread = distinct_digests(digests)
    known: dict[tuple[int, int], int] = {}
    wanted = [known.setdefault(row, len(known)) for row in rows]
    assert spread.tolist() == wanted
    assert first.tolist() == [rows.index(row) for row in known]


@given(FEW, FEW)
def test_a_table_finds_what_was_put_in_and_keeps_the_first_number(
    inside: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    slots, known = room_for_digests(len(inside))
    numbers = np.arange(len(inside), dtype=np.int32)
    insert_digests(slots, known, np.array(inside, np.uint64).reshape(-1, 2), numbers)
    found = find_digests(slots, known, np.array(asked, np.uint64).reshape(-1, 2))
    assert found.tolist() == [inside.index(row) if row in inside else -1 for row in asked]
