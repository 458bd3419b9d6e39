"""Where texts stand in a column that is asked again and again: a table is made once, not for every question."""

from __future__ import annotations

import secrets

import numpy as np
import pyarrow as pa

from rageval_batch.columnar.kernels.digests import find_digests, insert_digests, keyed_digests, room_for_digests
from rageval_batch.columnar.strings import Ints, from_arrow


class TextPlaces:
    """The places of the texts of a column, told apart by a digest whose key nobody can foresee."""

    def __init__(self, texts: pa.Array) -> None:
        self._key = (secrets.randbits(64), secrets.randbits(64))
        self._keys, self._values = room_for_digests(len(texts))
        insert_digests(self._keys, self._values, self._digests(texts), np.arange(len(texts), dtype=np.int32))

    def _digests(self, texts: pa.Array) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
        there = texts.is_valid().to_numpy(zero_copy_only=False)
        return keyed_digests(self._key, np.zeros(len(texts), np.int32), [(from_arrow(texts), there)])

    def of(self, texts: pa.Array) -> Ints:
        """The first place of each text; -1 for one that the column does not have. Null is a text of its own."""
        return find_digests(self._keys, self._values, self._digests(texts))
