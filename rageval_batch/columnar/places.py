"""Equal texts of columns: where they stand in a column that is asked again and again, and which rows are the same."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.kernels.digests import (
    distinct_digests,
    find_digests,
    insert_digests,
    keyed_digests,
    room_for_digests,
)
from rageval_batch.columnar.strings import Ints, from_arrow

_Key = tuple[int, int]
_ADDED_AT_ONCE = 65_536  # texts of a column: to make their digests takes 56 bytes each
_Digests = np.ndarray[tuple[int, int], np.dtype[np.uint64]]


def _new_key() -> _Key:
    return secrets.randbits(64), secrets.randbits(64)


def _digests(key: _Key, columns: Sequence[pa.Array]) -> _Digests:
    texts = [(from_arrow(column), column.is_valid().to_numpy(zero_copy_only=False)) for column in columns]
    return keyed_digests(key, np.zeros(len(columns[0]), np.int32), texts)


def distinct_rows(columns: Sequence[pa.Array]) -> tuple[Ints, Ints]:
    """(the first row of each combination of the texts of columns, in the order of the rows; for each row which of them
    it has). Null is a text of its own."""
    return distinct_digests(_digests(_new_key(), columns))


class TextPlaces:
    """The places of the texts of a column, told apart by a digest whose key nobody can foresee: 24 to 32 bytes each."""

    def __init__(self, texts: pa.Array) -> None:
        self._key = _new_key()
        self._count = 0
        self._slots, self._known = room_for_digests(len(texts))
        for first in range(0, len(texts), _ADDED_AT_ONCE):
            self.add(texts[first : first + _ADDED_AT_ONCE])

    def add(self, texts: pa.Array) -> Ints:
        """Put more texts behind the column; the first place of each of them in all of it."""
        digests = _digests(self._key, [texts])
        first, self._count = self._count, self._count + len(texts)
        if self._count > len(self._known):
            known = self._slots[self._slots >= 0]
            slots, digests_by_place = room_for_digests(self._count)
            insert_digests(slots, digests_by_place, self._known[known], known)
            self._slots, self._known = slots, digests_by_place
        insert_digests(self._slots, self._known, digests, np.arange(first, self._count, dtype=np.int32))
        return find_digests(self._slots, self._known, digests)

    def of(self, texts: pa.Array) -> Ints:
        """The first place of each text; -1 for one that the column does not have. Null is a text of its own."""
        return find_digests(self._slots, self._known, _digests(self._key, [texts]))
