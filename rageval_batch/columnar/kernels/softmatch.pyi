from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, Strings

Points = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.uint8]

UNMATCHED: int
EQUAL: int
CONTAINED: int
SIMILAR: int

class Grams(NamedTuple):
    counts: Ints
    grams: Words
    bounds: Offsets

class Points32(NamedTuple):
    points: Points
    offsets: Offsets
    low: Words
    high: Words

class Pairs(NamedTuple):
    how: Codes
    bounds: Offsets

    @property
    def matched(self) -> Flags: ...

class Assignment(NamedTuple):
    e_matched: Ints
    g_matched: Ints
    e_partner: Ints
    g_partner: Ints

def span_points(data: Bytes, starts: Offsets, ends: Offsets, escaped: Bytes) -> Points32: ...
def squashed_points(column: Strings, wide: bool = ...) -> Points32: ...
def plain_points(column: Strings) -> Points32: ...
def grams_of(column: Points32) -> Grams: ...
def match_pairs(
    expected: Points32,
    expected_grams: Grams,
    e_first: Ints,
    e_last: Ints,
    got: Points32,
    g_first: Ints,
    g_last: Ints,
    threshold: float,
    containment_min: int = 1,
    contained_only: bool = False,
    wide: bool = True,
) -> Pairs: ...
def assign(pairs: Pairs, e_counts: Ints, g_counts: Ints, one_to_one: bool) -> Assignment: ...
