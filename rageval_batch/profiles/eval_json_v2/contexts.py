"""Retrieved chunks of questions or of single answers: the paths that may be cited and the text that may be quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_tape, kernels
from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import OBJECT, STRING
from rageval_batch.columnar.strings import (
    Flags,
    Ints,
    Offsets,
    Strings,
    bounds_by_owner,
    bounds_of,
    from_arrow,
)
from rageval_batch.dataclass import dataclass
from rageval_batch.model.schemas import CHUNK_TEXT, SOURCE_PATH


@dataclass(frozen=True)
class Contexts:
    """Numbered sets of chunks: stripped source paths of each set, and its texts joined by newlines."""

    paths: Strings
    path_bounds: Offsets
    text: Strings
    _: KW_ONLY
    present: Flags

    def with_rows(self, question: Ints, chunks: pa.Array) -> tuple[Contexts, Ints]:
        """(contexts, index of each row's set): a row with chunks of its own has those in place of its question's."""
        if chunks.null_count == len(chunks):
            return self, question
        own = read_contexts(chunks)
        has_own = chunks.is_valid().to_numpy(zero_copy_only=False)
        rows = np.arange(len(question)) + len(self.present)
        return joined_contexts([self, own]), np.where(has_own, rows, question).astype(np.int32)


def joined_contexts(parts: Sequence[Contexts]) -> Contexts:
    """The sets of several contexts, one behind the other."""
    return Contexts(
        _joined_strings([part.paths for part in parts]),
        bounds_of(np.concatenate([np.diff(part.path_bounds) for part in parts])),
        _joined_strings([part.text for part in parts]),
        present=np.concatenate([part.present for part in parts]),
    )


def _joined_strings(parts: Sequence[Strings]) -> Strings:
    return from_arrow(pa.concat_arrays([part.to_arrow() for part in parts]))


def read_contexts(column: pa.Array) -> Contexts:
    """Sets of chunks from JSON arrays of `{source_path, text}`, also under names that other tools have for these, or of
    plain texts; null or empty: nothing present."""
    tape = json_tape.parse_strings(from_arrow(column))
    chunks, owners = tape.elements(tape.root.copy())
    known = (tape.kind[chunks] == OBJECT) | (tape.kind[chunks] == STRING)
    chunks, owners = chunks[known], owners[known]
    path_nodes = _first_texts(tape, chunks, SOURCE_PATH)
    text_nodes = _first_texts(tape, chunks, CHUNK_TEXT)
    text_nodes = np.where(tape.kind[chunks] == STRING, chunks, text_nodes).astype(np.int32)
    cited = path_nodes >= 0
    paths = tape.texts(path_nodes[cited])
    starts, ends = kernels.strip(paths.data, paths.starts, paths.ends)
    present = np.bincount(owners, minlength=len(column)) > 0
    return Contexts(
        kernels.cut(paths.data, starts, ends),
        bounds_by_owner(owners[cited], len(column)),
        _join_lines(tape.texts(text_nodes), bounds_by_owner(owners, len(column))),
        present=present,
    )


def _first_texts(tape: Tape, owners: Ints, names: tuple[str, ...]) -> Ints:
    """The node of the first of several members that is a text, -1 where none is."""
    parts = tape.members(owners, list(names))
    out = np.full(len(owners), -1, np.int32)
    for k in reversed(range(len(names))):
        node = np.ascontiguousarray(parts[:, k], np.int32)
        out = np.where(tape.kinds(node) == STRING, node, out).astype(np.int32)
    return out


def _join_lines(texts: Strings, bounds: Offsets) -> Strings:
    lists = pa.LargeListArray.from_arrays(as_arrow(bounds), texts.to_arrow())
    return from_arrow(pc.binary_join(lists, pa.scalar("\n", pa.large_string())))
