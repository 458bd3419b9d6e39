"""What a text says: numbers, keywords that other texts support, its script, JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import characters, json_tape, kernels
from rageval_batch.columnar.functions.columns import Lists, SharedLists
from rageval_batch.columnar.kernels.boundaries import main_script
from rageval_batch.columnar.kernels.json import OK
from rageval_batch.columnar.kernels.keywords import keyword_codes
from rageval_batch.columnar.kernels.overlap import codes_among
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, bounds_of, from_arrow
from rageval_batch.columnar.values.plain_windows import packed, plain_numbers, unpacked
from rageval_batch.columnar.values.windows import find_windows, window_numbers

# --- numbers ----------------------------------------------------------------------------------------------------


_FIRST_LARGE = 1 << 62  # greater than all that `packed` gives


class _Numbers(NamedTuple):
    """The numbers of texts, equal ones as equal integers: text t has `packed[bounds[t]:bounds[t + 1]]`."""

    packed: npt.NDArray[np.int64]
    bounds: Offsets


class _NumberColumns:
    """Numbers of columns of texts as integers, the same in all of its columns."""

    def __init__(self) -> None:
        self._large: dict[Decimal, int] = {}  # those that have no room in an integer, by their places

    def read(self, texts: pa.Array) -> _Numbers:
        """The numbers of texts without nulls; of stretches that are not plain each distinct one is read once."""
        windows = find_windows(from_arrow(texts))
        numbers, bounds, plain = plain_numbers(windows.texts, windows.flags)
        other = np.flatnonzero(~plain)
        if len(other):
            coded = windows.texts.to_arrow().take(pa.array(other)).dictionary_encode()
            placed = pa.array(
                coded.indices.to_numpy().astype(np.int64) << 16 | windows.flags[other]
            ).dictionary_encode()
            distinct = placed.dictionary.to_numpy()
            written = coded.dictionary.take(pa.array(distinct >> 16)).to_pylist()
            read = [window_numbers(*one) for one in zip(written, (distinct & 0xFFFF).tolist(), strict=True)]
            which = np.arange(len(plain))
            which[other] = len(plain) + placed.indices.to_numpy()
            ends = bounds[-1] + np.cumsum([len(one) for one in read])
            numbers = np.append(numbers, np.array([self._packed(value) for one in read for value in one], np.int64))
            places, counts = Lists(pa.nulls(0), np.append(bounds, ends)).places(which)
            numbers, bounds = numbers[places], bounds_of(counts)
        return _Numbers(numbers, bounds[windows.bounds])

    def _packed(self, value: Decimal) -> int:
        number = packed(value)
        return _FIRST_LARGE + self._large.setdefault(value, len(self._large)) if number is None else number

    def as_doubles(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Numbers that were read as the doubles nearest to them."""
        coded = pa.array(numbers).dictionary_encode()
        large = tuple(self._large)
        values = (large[n - _FIRST_LARGE] if n >= _FIRST_LARGE else unpacked(n) for n in coded.dictionary.to_pylist())
        distinct = np.array([float(value) for value in values], np.float64)
        doubles: npt.NDArray[np.float64] = distinct[coded.indices.to_numpy()]
        return doubles


def numbers(s: pa.Array) -> pa.Array:
    """The numbers of each text, without those that are too large for a double."""
    columns = _NumberColumns()
    found = columns.read(s.fill_null(""))
    doubles = columns.as_doubles(found.packed)
    finite = np.isfinite(doubles)
    bounds = np.append(0, np.cumsum(finite))[found.bounds]
    return pa.LargeListArray.from_arrays(pa.array(bounds), pa.array(doubles[finite]))


def numbers_supported(s: pa.Array, texts: SharedLists) -> pa.Array:
    """Numbers that some text has over all numbers of the text; only what has numbers is looked up."""
    columns = _NumberColumns()
    mine = columns.read(s.fill_null(""))
    counts = np.diff(mine.bounds)
    rows = np.flatnonzero(counts)
    lists = texts.of_rows(rows)
    coded_texts = lists.distinct.values.dictionary_encode()  # several lists may have a text
    theirs = columns.read(coded_texts.dictionary)
    places, found = Lists(pa.nulls(0), theirs.bounds).places(coded_texts.indices.to_numpy())
    bounds = bounds_of(found)[lists.distinct.bounds]
    coded = pa.array(np.append(mine.packed, theirs.packed)).dictionary_encode()
    codes = coded.indices.to_numpy().astype(np.int64)
    supported = np.zeros(len(counts), np.int64)
    supported[rows] = codes_among(
        codes[: len(mine.packed)], mine.bounds[np.append(rows, len(counts))], codes[len(mine.packed) :][places], bounds,
        lists.codes, len(coded.dictionary),
    )  # fmt: skip
    return _share(supported, counts, texts)


def _share(part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64], texts: SharedLists) -> pa.Array:
    """part / whole; null where the whole is 0 or there are no texts."""
    defined: Flags = (whole > 0) & (texts.counts() > 0)
    return pa.array(np.divide(part, whole, out=np.zeros(len(whole)), where=defined), mask=~defined)


# --- keywords ---------------------------------------------------------------------------------------------------


def grounded_share(s: pa.Array, texts: SharedLists) -> pa.Array:
    """Keywords that some text has over all keywords of the text."""
    found = kernels.keywords(from_arrow(s))
    coded = texts.distinct.values.dictionary_encode()
    mine, codes, bounds, known = keyword_codes(found, from_arrow(coded.dictionary))
    of_texts = pa.LargeListArray.from_arrays(pa.array(bounds), pa.array(codes)).take(coded.indices)
    ends = bounds_of(pc.list_value_length(of_texts).to_numpy(zero_copy_only=False))[texts.distinct.bounds]
    hits = codes_among(mine, found.bounds, of_texts.flatten().to_numpy(), ends, texts.codes, known)
    return _share(hits, found.counts(), texts)


# --- script and JSON --------------------------------------------------------------------------------------------


def script(s: pa.Array) -> pa.Array:
    """The main script of each text."""
    table, names = characters.scripts()
    column = from_arrow(s)
    found: Ints = main_script(
        column.data, column.offsets, table, len(names), names.index("Han"), names.index("Kana")
    ).astype(np.int32)
    return pa.array(names, LARGE_STRING).take(pa.array(found, mask=found == 0))


def strict_json(s: pa.Array) -> pa.Array:
    """The text where it is one JSON value."""
    tape = json_tape.parse_strings(from_arrow(s))
    return pc.if_else(pa.array(tape.status == OK), s, pa.scalar(None, LARGE_STRING))
