"""What a block of rows is: its lines, its fields and its raw text, whatever the format of the file."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.kernels.json import ARRAY
from rageval_batch.columnar.nested import held_kinds
from rageval_batch.columnar.places import TextPlaces
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets
from rageval_batch.dataclass import dataclass
from rageval_batch.model.schemas import CHUNKS, OUTPUT, OutputField

BLOCK_BYTES = 12 << 20
BLOCK_ROWS = 16_384
MOST_COLUMNS = 1_000  # that are no fields; a table of more is no table that anybody asks
KEPT_OF_LONG = 4_096  # bytes of a row that is too long
METADATA_BYTES = 1_024  # a longer value is not run metadata

# Kinds of a field's value; ABSENT: the row has no such field.
ABSENT, NOTHING, TEXT, NUMERIC, BOOLEAN, LIST, STRUCT = range(-1, 6)


@dataclass(frozen=True)
class Field:
    """One field of all rows of a block: its text (JSON text where it is not a string) and its kind."""

    text: pa.Array
    kind: np.ndarray[tuple[int], np.dtype[np.int8]]
    doubles: pa.Array | None = None  # the values that come of a column of doubles, which have no text of their own

    def not_finite(self) -> Flags:
        """The rows whose value is a double that is NaN or infinite."""
        if self.doubles is None:
            return np.zeros(len(self.kind), np.bool_)
        odd: Flags = pc.invert(pc.fill_null(pc.is_finite(self.doubles), True)).to_numpy(zero_copy_only=False)
        return odd


def places_of_ids(places: TextPlaces, ids: Field) -> Ints:
    """The place of each id among those of an eval set, -1 for one that it does not have.

    A double of a column has no text of its own: 1.0 is the question 1, else the question 1.0.
    """
    found = places.of(ids.text)
    if ids.doubles is None or (found >= 0).all():
        return found
    values = ids.doubles.dictionary_encode()
    written = pa.array([json.dumps(value) for value in values.dictionary.to_pylist()], LARGE_STRING)
    others = places.of(written.take(values.indices))
    doubled = values.is_valid().to_numpy(zero_copy_only=False)
    return np.where((found < 0) & doubled, others, found).astype(np.int32)


def absent_field(rows: int) -> Field:
    """A field that no row has."""
    return Field(pa.nulls(rows, LARGE_STRING), np.full(rows, ABSENT, np.int8))


@dataclass(frozen=True)
class Column:
    """A field of some rows that nothing here knows: its name, the rows that have it, their texts and kinds."""

    name: str
    rows: Ints
    text: pa.Array
    _: KW_ONLY
    kind: np.ndarray[tuple[int], np.dtype[np.int8]]

    def short(self) -> Column:
        """The scalar values that are short enough for metadata of a run."""
        fits = pc.less_equal(pc.binary_length(self.text), METADATA_BYTES).to_numpy(zero_copy_only=False)
        kept = fits & (self.kind < LIST)
        if kept.all():
            return self
        return Column(self.name, self.rows[kept], self.text.filter(pa.array(kept)), kind=self.kind[kept])


class ColumnLimit:
    """Lets in the first so many names, in the order in which rows have them, and notes the first of the others.

    `names`: those that are in already. What the limits of the parts of an input have noted, taken in the order of the
    parts, is what the limit of the whole input notes, as long as parts note twice as many `others`.
    """

    def __init__(self, names: Iterable[str] = (), others: int = MOST_COLUMNS) -> None:
        self._others = others
        self.names: dict[str, None] = dict.fromkeys(names)  # in their order
        self.left_out: dict[str, None] = {}

    def may_take(self, name: str) -> bool:
        """Whether a name is one of the first, or can still become one."""
        return name in self.names or len(self.names) < MOST_COLUMNS

    def take(self, name: str) -> bool:
        """Whether a name is one of the first."""
        if self.may_take(name):
            self.names[name] = None
            return True
        if len(self.left_out) < self._others:
            self.left_out[name] = None
        return False

    @property
    def is_full(self) -> bool:
        """Whether no more of the others are noted."""
        return len(self.left_out) == self._others


@dataclass(frozen=True)
class RowError:
    """A row that cannot be read: its index in the block, the reason, and the detail for people."""

    row: int
    reason: str
    detail: str


def too_long_error(row: int, longest: int) -> RowError:
    """The error of a row of more bytes than allowed."""
    detail = f"more than {longest:,} bytes, of which the first are kept; see --max-row-bytes"
    return RowError(row, "too_long", detail)


def cut_long(row: bytes) -> str:
    """What is kept of a row that is too long."""
    return row[:KEPT_OF_LONG].decode("utf-8", "backslashreplace") + "…"


Taken = Mapping[str, Flags]  # for a name the rows in which it is known
NONE_TAKEN: Taken = {}
Names = tuple[str, ...]  # of one field: the first that a row has is read


class Block(Protocol):
    """Some rows of a file, of bounded size."""

    @property
    def lines(self) -> Offsets:
        """The line of each row in its file, from 1."""

    @property
    def row_errors(self) -> list[RowError]:
        """The rows that cannot be read; all their fields are null."""

    @property
    def names(self) -> frozenset[str]:
        """The column names of a columnar file; empty for JSON, where each row has its own."""

    def __len__(self) -> int:
        """The number of rows, unreadable ones included."""

    def field(self, names: tuple[str, ...]) -> Field:
        """The first of several names that is present; null and ABSENT where none is."""

    def field_at(self, path: str) -> Field:
        """The field at a path; a name that is written just like the path comes first."""

    def has(self, name: str) -> bool:
        """Whether any row has a field of that name, be it null."""

    def others(
        self,
        known: frozenset[str],
        *,
        read: tuple[Names, ...] = (),
        rows: Flags | None = None,
        limit: ColumnLimit | None = None,
        taken: Taken = NONE_TAKEN,
    ) -> list[Column]:
        """Every field that is not known, where the chosen `rows` have a value; objects and lists as JSON text.

        `read`: names of fields; that of them which is read from a row is known there, the others are not. `taken`: the
        rows in which a name is known. Those that the limit lets in; without one, the first of the block. Where rows are
        chosen, every column of a columnar file is among them, so that columns stand in the same order in all blocks.
        """

    def raw(self, row: int) -> str:
        """The row as it stands in the file; bytes that are not UTF-8 as \\xNN."""

    def whole_rows(self) -> pa.Array | None:
        """Each row as its JSON text, null where it cannot be read; None for a columnar file."""

    def value(self, field: OutputField) -> pa.Array | None:
        """A field of each row as JSON text, null where a row lacks it; None where no row can have it."""

    def value_at(self, path: str, field: OutputField) -> pa.Array | None:
        """The same for a value at a path that stands for a field."""


def read_output(block: Block, fields: tuple[OutputField, ...], fields_first: bool = False) -> Field:
    """The answer of each row: its `output`, else a JSON object of those of the fields that it has.

    `fields_first`: the object is the answer wherever a row has any of the fields.
    """
    output = block.field(OUTPUT)
    lacks = (output.kind <= NOTHING) | fields_first
    if not fields or not lacks.any():
        return output
    named = [(field.name, value) for field in fields if (value := block.value(field)) is not None]
    if not named:
        return output
    empty, comma = pa.scalar("", LARGE_STRING), pa.scalar(",", LARGE_STRING)
    members = [
        pc.binary_join_element_wise(pa.scalar(f"{json.dumps(name)}:", LARGE_STRING), value, comma, empty)
        for name, value in named
    ]
    # Nulls are filled by hand: where all is null, Arrow's own null_handling="skip" leaves the row out.
    inner = pc.binary_join_element_wise(*(part.fill_null("") for part in members), empty)
    built = lacks & (pc.binary_length(inner).to_numpy() > 0)
    whole = pc.binary_join_element_wise(
        pa.scalar("{", LARGE_STRING), pc.utf8_rtrim(inner, characters=","), pa.scalar("}", LARGE_STRING), empty
    )
    return Field(pc.if_else(as_arrow(built), whole, output.text), np.where(built, STRUCT, output.kind).astype(np.int8))


def read_chunks(block: Block) -> pa.Array:
    """The chunks of each row: a list, or a text that holds a JSON list (a cell of CSV); null where there is none."""
    chunks = block.field(CHUNKS)
    is_list = chunks.kind == LIST
    if (texts := chunks.kind == TEXT).any():
        is_list |= texts & (held_kinds(chunks.text) == ARRAY)
    if is_list.all():
        return chunks.text
    return pc.if_else(as_arrow(is_list), chunks.text, pa.scalar(None, LARGE_STRING))


def read_own_chunks(block: Block) -> pa.Array:
    """The chunks of output rows: as of `read_chunks`; a list as Python prints it counts too (pandas writes such cells),
    and any other text that is not blank is the one chunk."""
    chunks, lists = block.field(CHUNKS), read_chunks(block)
    other = (chunks.kind == TEXT) & lists.is_null().to_numpy(zero_copy_only=False)
    if not other.any():
        return lists
    coded = chunks.text.filter(as_arrow(other)).dictionary_encode()
    texts = pa.array([_as_list(text) for text in coded.dictionary.to_pylist()], LARGE_STRING).take(coded.indices)
    return pc.replace_with_mask(lists, as_arrow(other), texts)


def _as_list(text: str) -> str | None:
    """A JSON list of the texts that a cell stands for; None for a blank cell."""
    if not text.strip():
        return None
    if text.lstrip().startswith("["):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            found = ast.literal_eval(text.strip())
            return json.dumps(found, ensure_ascii=False, default=str)
    return json.dumps([text], ensure_ascii=False)
