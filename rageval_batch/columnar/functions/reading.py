"""What a text says: numbers, keywords that other texts support, its script, JSON."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import characters, json_tape, kernels
from rageval_batch.columnar.functions.columns import SharedLists
from rageval_batch.columnar.kernels.boundaries import main_script
from rageval_batch.columnar.kernels.json import OK
from rageval_batch.columnar.kernels.keywords import keyword_codes
from rageval_batch.columnar.kernels.overlap import codes_among
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, from_arrow
from rageval_batch.columnar.values.windows import find_windows, window_numbers

# --- numbers ----------------------------------------------------------------------------------------------------


class _Numbers(NamedTuple):
    """The numbers of texts by their place among the distinct ones: text t has `codes[bounds[t]:bounds[t + 1]]`."""

    codes: npt.NDArray[np.int64]
    bounds: Offsets


class _Distinct:
    """Numbers in the order in which they are met."""

    def __init__(self) -> None:
        self._places: dict[Decimal, int] = {}

    def read(self, texts: pa.Array) -> _Numbers:
        """The numbers of texts: of each distinct text every distinct stretch that holds some is read once."""
        coded_texts = texts.fill_null("").dictionary_encode()
        windows = find_windows(from_arrow(coded_texts.dictionary))
        coded = windows.texts.to_arrow().dictionary_encode()
        placed = pa.array(coded.indices.to_numpy().astype(np.int64) << 16 | windows.flags).dictionary_encode()
        distinct = placed.dictionary.to_numpy()
        written = coded.dictionary.take(pa.array(distinct >> 16)).to_pylist()
        found = [self._coded(window_numbers(*one)) for one in zip(written, (distinct & 0xFFFF).tolist(), strict=True)]
        by_window = pa.array(found, pa.large_list(pa.int64())).take(placed.indices)
        ends = _bounds(pc.list_value_length(by_window))
        by_text = pa.LargeListArray.from_arrays(pa.array(ends[windows.bounds]), by_window.flatten())
        lists = by_text.take(coded_texts.indices)
        return _Numbers(lists.flatten().to_numpy(zero_copy_only=False), _bounds(pc.list_value_length(lists)))

    def _coded(self, values: Iterable[Decimal]) -> list[int]:
        return [self._places.setdefault(value, len(self._places)) for value in values]

    def __len__(self) -> int:
        return len(self._places)

    def as_doubles(self) -> npt.NDArray[np.float64]:
        """The numbers by their places."""
        return np.array([float(value) for value in self._places], np.float64)


def _bounds(counts: pa.Array) -> Offsets:
    return np.concatenate([[0], np.cumsum(counts.to_numpy(zero_copy_only=False))]).astype(np.int64)


def numbers(s: pa.Array) -> pa.Array:
    """The numbers of each text."""
    distinct = _Distinct()
    found = distinct.read(s)
    return pa.LargeListArray.from_arrays(pa.array(found.bounds), pa.array(distinct.as_doubles()[found.codes]))


def numbers_supported(s: pa.Array, texts: SharedLists) -> pa.Array:
    """Numbers that some text has over all numbers of the text; only what has numbers is looked up."""
    distinct = _Distinct()
    mine = distinct.read(s)
    counts = np.diff(mine.bounds)
    rows = np.flatnonzero(counts)
    lists = texts.of_rows(rows)
    theirs = distinct.read(lists.distinct.values)
    supported = np.zeros(len(counts), np.int64)
    supported[rows] = codes_among(
        mine.codes, mine.bounds[np.append(rows, len(counts))], theirs.codes, theirs.bounds[lists.distinct.bounds],
        lists.codes, len(distinct),
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
    ends = _bounds(pc.list_value_length(of_texts))[texts.distinct.bounds]
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
