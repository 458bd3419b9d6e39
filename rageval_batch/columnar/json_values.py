"""Values of JSON documents read with patience, over whole columns: ids, texts, counts; another value is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import kernels
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import FALSE, NUMBER, OBJECT, STRING, TRUE
from rageval_batch.columnar.kernels.values import first_in_row, whole_numbers
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Strings
from rageval_batch.columnar.text import word_index

MOST = 2**31 - 1  # of a count


def objects(tape: Tape, lists: Ints) -> tuple[Ints, Ints]:
    """(nodes, index of the list) of the elements of each array that are objects."""
    nodes, owner = tape.elements(lists)
    kept = tape.kind[nodes] == OBJECT
    return nodes[kept], owner[kept]


ELEMENT_WORDS = ("objects", "lists", "texts", "numbers", "booleans", "booleans", "nulls")  # by the kind of a node


def first_kinds(tape: Tape, lists: Ints) -> npt.NDArray[np.int16]:
    """The kind of the first element of each array; -1 where there is none."""
    out = np.full(len(lists), -1, np.int16)
    nodes, owner = tape.elements(lists, 1)
    out[owner] = tape.kind[nodes]
    return out


def kinds_without_objects(tape: Tape, lists: Ints) -> npt.NDArray[np.int16]:
    """The kind of the first element of each array that has elements and no object among them; else -1."""
    out = first_kinds(tape, lists)
    _, owner = objects(tape, lists)
    out[owner] = -1
    return out


def members(tape: Tape, owners: Ints, *names: str) -> tuple[Ints, ...]:
    """The nodes of each named member, -1 where an object has none, one array a name."""
    found = tape.members(owners, list(names))
    return tuple(np.ascontiguousarray(found[:, k]) for k in range(len(names)))


def text_nodes(tape: Tape, nodes: Ints) -> Ints:
    """The nodes that are strings, -1 for the others."""
    return np.where(tape.kinds(nodes) == STRING, nodes, -1).astype(np.int32)


def filled_texts(tape: Tape, nodes: Ints) -> pa.Array:
    """Strings that are not blank; null for anything else."""
    texts = tape.texts(text_nodes(tape, nodes))
    return texts.to_arrow(filled(texts))


def filled(texts: Strings) -> Flags:
    """Which texts are not blank."""
    starts, ends = kernels.strip(texts.data, texts.starts, texts.ends)
    there: Flags = starts < ends
    return there


def ids(tape: Tape, nodes: Ints) -> pa.Array:
    """Strings that are not blank, and whole numbers of 64 bits as their digits; null for anything else."""
    kinds = tape.kinds(nodes)
    numbers = kinds == NUMBER
    texts = tape.texts(np.where((kinds == STRING) | numbers, nodes, -1).astype(np.int32))
    valid = filled(texts)
    if not numbers.any():
        return texts.to_arrow(valid)
    _, whole = whole_numbers(texts.data, texts.starts, texts.ends)
    out = texts.to_arrow(valid & (whole | ~numbers))
    negative_zero = pc.and_(pa.array(numbers), pc.equal(out, pa.scalar("-0", LARGE_STRING)))
    return pc.if_else(pc.fill_null(negative_zero, False), pa.scalar("0", LARGE_STRING), out)


def counts(tape: Tape, nodes: Ints) -> tuple[npt.NDArray[np.int64], Flags]:
    """(value, is one) of whole numbers from 0 to MOST, however they are written (3, 3.0); 0 for anything else."""
    numbers = tape.kinds(nodes) == NUMBER
    texts = tape.texts(np.where(numbers, nodes, -1).astype(np.int32))
    values, whole = whole_numbers(texts.data, texts.starts, texts.ends)
    if (decimal := numbers & ~whole).any():
        import polars as pl

        written = pl.Series(texts.to_arrow().filter(pa.array(decimal))).cast(pl.Float64, strict=False).to_numpy()
        fits = (written >= 0) & (written <= MOST) & (written == np.floor(written))
        values[decimal] = np.where(fits, written, 0)
        whole[decimal] = fits
    good = whole & (values >= 0) & (values <= MOST)
    return np.where(good, values, 0), good


def words(tape: Tape, nodes: Ints, known: Sequence[str]) -> Ints:
    """The place of each string among known words, case and white space around it aside; a non-string is as blank."""
    return word_index(tape.texts(text_nodes(tape, nodes)), known)


def labels(tape: Tape, nodes: Ints) -> npt.NDArray[np.int8]:
    """1 for true, 0 for false, -1 for anything else."""
    kinds = tape.kinds(nodes)
    return np.where(kinds == TRUE, 1, np.where(kinds == FALSE, 0, -1)).astype(np.int8)


class Coded(NamedTuple):
    """Texts as numbers: the place of each among the distinct ones, -1 for null."""

    codes: Ints
    distinct: pa.Array


def coded(texts: pa.Array) -> Coded:
    """Equal texts get equal numbers."""
    found = texts.dictionary_encode()
    return Coded(found.indices.fill_null(-1).to_numpy().astype(np.int32), found.dictionary)


def new_in_row(row: Ints, found: Coded) -> Flags:
    """Which texts their row did not have before; null never is new. Rows must stand together."""
    return first_in_row(row, found.codes, len(found.distinct))
