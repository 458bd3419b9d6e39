"""Exact JSON over whole string columns: every value becomes a node of a flat table, every bad row a status.

The grammar is RFC 8259 to the letter: no NaN, no trailing commas, no comments, no control characters in strings,
no escaped lone surrogates. Of duplicate keys the last one counts. Nesting has no limit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar.kernels import Points32, lines, span_points
from rageval_batch.columnar.kernels import json as kernel
from rageval_batch.columnar.kernels.json import (
    ARRAY,
    BAD_ESCAPE,
    BAD_NUMBER,
    CONTROL,
    EMPTY,
    ENDS_EARLY,
    OBJECT,
    OK,
    TRAILING,
    UNEXPECTED,
)
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, Strings
from rageval_batch.dataclass import dataclass

PROBLEMS = {
    EMPTY: "nothing there",
    UNEXPECTED: "unexpected character",
    ENDS_EARLY: "ends in the middle of a value",
    TRAILING: "something follows the value",
    BAD_ESCAPE: "bad escape or lone surrogate",
    CONTROL: "raw control character in a string",
    BAD_NUMBER: "bad number",
}


def problem(status: int, error_at: int) -> str:
    """What is wrong with a text that is not JSON, for people."""
    return f"{PROBLEMS[status]} at byte {error_at}"


@dataclass(frozen=True, kw_only=True)
class Tape:
    """All values of a column of JSON texts, in document order; a row that is not JSON has a status and no nodes."""

    data: Bytes
    row: Ints
    behind: Ints  # the node behind all that a node holds: its next sibling, if it has one
    position: Ints
    kind: Bytes
    flags: Bytes
    start: Offsets
    stop: Offsets
    key_start: Offsets
    key_stop: Offsets
    root: Ints
    status: Bytes
    error_at: Offsets

    def members(self, owners: Ints, names: list[str]) -> npt.NDArray[np.int32]:
        """The node of each named member of each object node, -1 where absent; of duplicates the last."""
        if not (owners >= 0).any():
            return np.full((len(owners), len(names)), -1, np.int32)
        encoded = [name.encode() for name in names]
        bounds = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return kernel.members(
            self.data,
            self.behind,
            self.kind,
            self.flags,
            self.key_start,
            self.key_stop,
            owners,
            np.frombuffer(b"".join(encoded), np.uint8),
            bounds,
        )

    def elements(self, owners: Ints, limit: int | None = None) -> tuple[Ints, Ints]:
        """(nodes, index of the owner) of the first `limit` elements of each array node, in order."""
        most = len(self.kind) if limit is None else limit
        return kernel.children(self.behind, self.kind, owners, ARRAY, most)

    def names(self, owners: Ints) -> tuple[Ints, Ints, Strings]:
        """(nodes, index of the owner, key) of every member of each object node, in order, duplicates included."""
        nodes, owner = kernel.children(self.behind, self.kind, owners, OBJECT, len(self.kind))
        escaped = ((self.flags >> 1) & 1).astype(np.uint8)
        return nodes, owner, Strings(*kernel.texts(self.data, self.key_start, self.key_stop, escaped, nodes))

    def member_counts(self, owners: Ints) -> npt.NDArray[np.int64]:
        """How many members each object node has, duplicates included; 0 for any other."""
        _, owner = kernel.children(self.behind, self.kind, owners, OBJECT, len(self.kind))
        return np.bincount(owner, minlength=len(owners))

    def texts(self, nodes: Ints) -> Strings:
        """The text of each node: a string without quotes and escapes, anything else as it stands; -1 is empty."""
        return Strings(*kernel.texts(self.data, self.start, self.stop, self.flags, nodes))

    def points(self, nodes: Ints) -> Points32:
        """The squashed code points of the text of each node, as `texts` would give it; -1 is empty."""
        starts, stops = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        escaped = np.zeros(len(nodes), np.uint8)
        there = nodes >= 0
        starts[there], stops[there] = self.start[nodes[there]], self.stop[nodes[there]]
        escaped[there] = self.flags[nodes[there]] & 1
        return span_points(self.data, starts, stops, escaped)

    def kinds(self, nodes: Ints) -> npt.NDArray[np.int16]:
        """The kind of each node, -1 for node -1."""
        out = np.full(nodes.shape, -1, np.int16)
        there = nodes >= 0
        out[there] = self.kind[nodes[there]]
        return out

    def problem(self, row: int) -> str:
        """What is wrong with a row, for people."""
        return problem(int(self.status[row]), int(self.error_at[row]))


def parse(data: Bytes, starts: Offsets, ends: Offsets) -> Tape:
    """The values of the JSON texts `data[starts[i]:ends[i]]`, which must be UTF-8."""
    size = 1024 + max(64 * len(starts), int((ends - starts).sum()) // 16)  # room that is not used is never touched
    while True:
        columns, overflow = kernel.parse(data, starts, ends, size)
        if not overflow:
            row, behind, position, kind, flags, start, stop, key_start, key_stop, root, status, error_at = columns
            return Tape(
                data=data, row=row, behind=behind, position=position, kind=kind, flags=flags, start=start, stop=stop,
                key_start=key_start, key_stop=key_stop, root=root, status=status, error_at=error_at,
            )  # fmt: skip
        size *= 8


def parse_strings(column: Strings) -> Tape:
    """The values of a column of JSON texts."""
    return parse(column.data, column.starts, column.ends)


def merge(base: Tape, patch: Tape, rows: Ints) -> Tape:
    """`base` with rows that had failed taken from `patch`, whose row k is row `rows[k]` of `base`; same bytes."""
    shift = len(base.row)
    good = patch.status == OK
    root, status, error_at = base.root.copy(), base.status.copy(), base.error_at.copy()
    root[rows[good]] = patch.root[good] + np.int32(shift)
    status[rows[good]] = OK
    error_at[rows[good]] = -1
    return Tape(
        data=base.data,
        row=np.concatenate([base.row, rows[patch.row].astype(np.int32)]),
        behind=np.concatenate([base.behind, patch.behind + np.int32(shift)]),
        position=np.concatenate([base.position, patch.position]),
        kind=np.concatenate([base.kind, patch.kind]),
        flags=np.concatenate([base.flags, patch.flags]),
        start=np.concatenate([base.start, patch.start]),
        stop=np.concatenate([base.stop, patch.stop]),
        key_start=np.concatenate([base.key_start, patch.key_start]),
        key_stop=np.concatenate([base.key_stop, patch.key_stop]),
        root=root,
        status=status,
        error_at=error_at,
    )


def elements_of_array(data: Bytes, start: int) -> tuple[Offsets, Offsets, Offsets, int, bool]:
    """Spans and line numbers of the elements of the array at `start`, the position behind it, and whether it closes."""
    return lines.elements_of_array(data, start, len(data))


def usable(tape: Tape) -> Flags:
    """The rows that are one JSON object."""
    there: Flags = tape.status == OK
    there[there] = tape.kind[tape.root[there]] == OBJECT
    return there
