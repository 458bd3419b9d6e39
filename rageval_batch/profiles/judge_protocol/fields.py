"""The fields of judges' records, found by the paths of a rubric over whole columns of JSON."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import kernels
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels import record
from rageval_batch.columnar.kernels.json import NULL, OBJECT, STRING
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints
from rageval_batch.profiles.judge_protocol.rubric import EVIDENCE, KEYS, SCORES, Path, RecordForm


def absent(kinds: npt.NDArray[np.int16]) -> Flags:
    """Not there, or null, which is as good."""
    flags: Flags = (kinds < 0) | (kinds == NULL)
    return flags


class Fields:
    """The nodes of every field that judges were asked for; a row without an object has none."""

    def __init__(self, tape: Tape, root: Ints, form: RecordForm) -> None:
        self.tape = tape
        self.form = form
        self._none = np.full(len(root), -1, np.int32)
        self._nodes: dict[Path, Ints] = {(): root}
        self._asked = {name: paths for name, paths in form.paths.items() if form.asks(name)}
        keys_in: dict[Path, dict[str, None]] = {}
        for paths in self._asked.values():
            for path in paths:
                for depth, key in enumerate(path):
                    keys_in.setdefault(path[:depth], {})[key] = None
        for holder in sorted(keys_in, key=len):  # an object before what stands in it
            found = tape.members(self._nodes[holder], list(keys_in[holder]))
            for k, key in enumerate(keys_in[holder]):
                self._nodes[*holder, key] = found[:, k].copy()

    def node(self, name: str) -> Ints:
        """The node of a field that has one path; -1 where it is absent or not asked for."""
        return self._nodes[self.form.path(name)] if name in self._asked else self._none

    def name(self, name: str, optional: bool = False) -> tuple[pa.Array, Flags]:
        """(text of a field, null where a part of it is absent or blank; rows where a part has a wrong type).

        Null is a wrong type, but in an optional field. A whole number is its digits where the rubric gives the path.
        """
        wrong = np.zeros(len(self._none), np.bool_)
        if name not in self._asked:
            return pa.nulls(len(wrong), LARGE_STRING), wrong
        parts = []
        for path in self._asked[name]:
            nodes = self._nodes[path]
            kinds = self.tape.kinds(nodes)
            usable = kinds == STRING
            if name in self.form.named:
                usable |= self.whole_numbers(nodes)[1]
            wrong |= (kinds >= 0) & ~usable & ~((kinds == NULL) & optional)
            texts = self.tape.texts(np.where(usable, nodes, -1).astype(np.int32))
            starts, ends = kernels.strip(texts.data, texts.starts, texts.ends)
            parts.append(texts.to_arrow(starts < ends))
        return (
            parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, pa.scalar("_", LARGE_STRING))
        ), wrong

    def whole_numbers(self, nodes: Ints) -> tuple[npt.NDArray[np.int64], Flags]:
        """(value, is a whole number) of nodes."""
        tape = self.tape
        return record.whole_numbers(tape.data, tape.kind, tape.start, tape.stop, nodes)

    def lacking(self, evidence_required: bool) -> Flags:
        """Rows without the scores, the evidence if it is required, or an object that names should stand in."""
        needed = {path[:-1] for name in KEYS for path in self._asked.get(name, ())} | {self.form.path(SCORES)}
        if evidence_required:
            needed.add(self.form.path(EVIDENCE))
        flags: Flags = np.logical_or.reduce([self._nodes[path] < 0 for path in needed])
        return flags

    def nameless(self) -> Flags:
        """Rows without anything that could say who judged what."""
        first = {path[:1] for name in KEYS for path in self._asked.get(name, ())}
        flags: Flags = np.logical_and.reduce(
            [np.ones(len(self._none), np.bool_), *(absent(self.tape.kinds(self._nodes[path])) for path in first)]
        )
        return flags

    def wrong_holders(self, optional: Collection[str]) -> Flags:
        """Rows where something that fields should stand in is no object; null may hold optional fields alone."""
        wrong = np.zeros(len(self._none), np.bool_)
        for name, paths in self._asked.items():
            for holder in (path[:depth] for path in paths for depth in range(1, len(path))):
                kinds = self.tape.kinds(self._nodes[holder])
                wrong |= (kinds >= 0) & (kinds != OBJECT) & ~((kinds == NULL) & (name in optional))
        return wrong
