"""Rows whose fields stand elsewhere than under their names: paths into nested values, other columns, joined names."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import LARGE_STRING, Flags, Offsets
from rageval_batch.inputs.readers.blocks import (
    NONE_TAKEN,
    NOTHING,
    TEXT,
    Block,
    Column,
    ColumnLimit,
    Field,
    Names,
    RowError,
    Taken,
    absent_field,
)
from rageval_batch.inputs.reading import JOINED, RUN_OF_FILE, Reading, steps_of
from rageval_batch.model.schemas import QUESTION, QUESTION_ID, OutputField

_ID_LENGTH = 16  # hex digits of a question's hash


class MappedBlock:
    """A block in which some fields are found by paths; all others are those of the block."""

    def __init__(self, block: Block, reading: Reading, run: str) -> None:
        """`run`: the name of the file's run, which a joined name may begin with."""
        self._block, self._reading, self._run = block, reading, run
        self._read: dict[str, Field] = {}  # by path

    @property
    def lines(self) -> Offsets:
        return self._block.lines

    @property
    def row_errors(self) -> list[RowError]:
        return self._block.row_errors

    @property
    def names(self) -> frozenset[str]:
        return self._block.names

    def __len__(self) -> int:
        return len(self._block)

    def field(self, names: tuple[str, ...]) -> Field:
        if names[0] in self._reading.fields:
            return self._first_there([self._at(path) for path in self._reading.fields[names[0]]])
        found = self._block.field(names)
        if names == QUESTION_ID and self._reading.id_from_question:
            return self._first_there([found, question_hashes(self.field(QUESTION))])
        return found

    def field_at(self, path: str) -> Field:
        return self._block.field_at(path)

    def used_names(self) -> set[str]:
        """The names of rows that paths are, or begin with, and those that are left out."""
        parts = {part for paths in self._reading.fields.values() for path in paths for part in path.split(JOINED)}
        first = {str(steps_of(part)[0]) for part in parts if part != RUN_OF_FILE}
        return parts | first | set(self._reading.left_out)

    def has(self, name: str) -> bool:
        return self._block.has(name)

    def others(
        self,
        known: frozenset[str],
        *,
        read: tuple[Names, ...] = (),
        rows: Flags | None = None,
        limit: ColumnLimit | None = None,
        taken: Taken = NONE_TAKEN,
    ) -> list[Column]:
        """Where a map says where a field stands, none of its names is read, but what is read for a row is no column of
        that row."""
        if not known:  # all that there is
            return self._block.others(known, read=read, rows=rows, limit=limit)
        return self._block.others(
            known | frozenset(self._reading.left_out),
            read=tuple(names for names in read if names[0] not in self._reading.fields),
            rows=rows,
            limit=limit,
            taken=self._taken(),
        )

    def _taken(self) -> Taken:
        """The rows in which a column as it is, or with others, is a mapped field: that of the first path with a value.

        A column of which a path takes a part has more to say.
        """
        out: dict[str, Flags] = {}
        for paths in self._reading.fields.values():
            left = np.ones(len(self), np.bool_)
            for path in paths:
                mine = left & (self._at(path).kind > NOTHING)
                left &= ~mine
                for part in path.split(JOINED):
                    if part == RUN_OF_FILE:
                        continue
                    steps = steps_of(part)
                    for name in {part, str(steps[0])} if len(steps) == 1 else {part}:
                        out[name] = out[name] | mine if name in out else mine
        return out

    def raw(self, row: int) -> str:
        return self._block.raw(row)

    def whole_rows(self) -> pa.Array | None:
        return self._block.whole_rows()

    def value(self, field: OutputField) -> pa.Array | None:
        if field.name not in self._reading.fields:
            return self._block.value(field)
        values = [self._block.value_at(path, field) for path in self._reading.fields[field.name]]
        there = [value for value in values if value is not None]
        return pc.coalesce(*there) if there else None

    def value_at(self, path: str, field: OutputField) -> pa.Array | None:
        return self._block.value_at(path, field)

    def _at(self, path: str) -> Field:
        """The field at a path, or the texts of several paths with / between them."""
        if path not in self._read:
            self._read[path] = self._joined(path)
        return self._read[path]

    def _joined(self, path: str) -> Field:
        parts = [self._part(part) for part in path.split(JOINED)]
        if len(parts) == 1:
            return parts[0]
        text = pc.binary_join_element_wise(*(part.text for part in parts), pa.scalar("/", LARGE_STRING))
        lacking = np.logical_or.reduce([part.kind <= NOTHING for part in parts])
        kind = np.where(lacking, np.minimum.reduce([part.kind for part in parts]), TEXT).astype(np.int8)
        return Field(pc.if_else(pa.array(lacking), pa.scalar(None, LARGE_STRING), text), kind)

    def _part(self, part: str) -> Field:
        if part == RUN_OF_FILE:
            text = pa.repeat(pa.scalar(self._run, LARGE_STRING), len(self))
            return Field(text, np.full(len(self), TEXT, np.int8))
        return self._block.field_at(part)

    def _first_there(self, fields: list[Field]) -> Field:
        """For each row the first field that has a value."""
        text, kind = absent_field(len(self)).text, absent_field(len(self)).kind
        doubles = None
        for field in fields:
            empty = kind <= NOTHING
            better: Flags = empty & (field.kind > kind)
            text = pc.if_else(pa.array(better), field.text, text)
            kind = np.where(better, field.kind, kind).astype(np.int8)
            if field.doubles is not None:
                others = pa.nulls(len(self), pa.float64()) if doubles is None else doubles
                doubles = pc.if_else(pa.array(better), field.doubles, others)
        return Field(text, kind, doubles)


def question_hashes(questions: Field) -> Field:
    """Ids of questions by their text: equal texts, white space at their ends aside, have equal ids."""
    coded = questions.text.dictionary_encode()
    ids = [
        None if text is None or not text.strip() else hashlib.sha256(text.strip().encode()).hexdigest()[:_ID_LENGTH]
        for text in coded.dictionary.to_pylist()
    ]
    text = pa.array(ids, LARGE_STRING).take(coded.indices)
    there = text.is_valid().to_numpy(zero_copy_only=False)
    return Field(text, np.where(there, TEXT, np.minimum(questions.kind, NOTHING)).astype(np.int8))
