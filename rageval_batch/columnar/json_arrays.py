"""JSON arrays put together from the texts of their members."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.strings import LARGE_STRING, bounds_of


def joined_arrays(key: pa.Array, fragments: pa.Array, keys: int) -> pa.Array:
    """One JSON array for each key from 0 on, of its fragments in their order: a fragment is one member or several with
    commas between them. An empty fragment adds nothing; a key without others has the empty array."""
    comma, before, after, nothing = (pa.scalar(text, LARGE_STRING) for text in (",", "[", "]", ""))
    told = pc.not_equal(fragments, nothing)
    if not pc.all(told).as_py():
        key, fragments = key.filter(told), fragments.filter(told)
    number = key.to_numpy()
    counts = np.bincount(number, minlength=keys)
    if (number[1:] < number[:-1]).any():
        fragments = fragments.take(as_arrow(np.argsort(number, kind="stable")))
    if (counts != 1).any():
        offsets = as_arrow(bounds_of(counts))
        fragments = pc.binary_join(pa.LargeListArray.from_arrays(offsets, fragments), comma)
    return pc.binary_join_element_wise(before, fragments, after, nothing)
