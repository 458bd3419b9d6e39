"""Which refs of a source map hold: their file and one of their anchors are in the chunks that were retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_batch.columnar import kernels
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.json_values import first_kinds, kinds_without_objects
from rageval_batch.columnar.kernels.json import ARRAY, OBJECT, STRING
from rageval_batch.columnar.strings import Flags, Ints
from rageval_batch.profiles.eval_json_v2.contexts import Contexts

UNGROUNDED = ("file unknown", "no anchor found", "no anchors")


@dataclass(frozen=True)
class Refs:
    """The refs of a batch that count, with the answer each stands in and why it does not hold (-1: it does)."""

    node: Ints
    row: Ints
    why: npt.NDArray[np.int8]


def find_refs(tape: Tape, source_map: Ints, contexts: Contexts, which: Ints, params: Mapping[str, Any]) -> Refs:
    """The refs of source maps within the caps, each looked up in the chunks of its answer."""
    entries, row_of_entry = tape.elements(source_map, params["entry_cap"])
    lists = tape.members(entries, ["refs"])[:, 0].copy()
    refs, entry_of_ref = tape.elements(lists, params["ref_cap"])
    objects = tape.kind[refs] == OBJECT
    refs, row = refs[objects], row_of_entry[entry_of_ref[objects]]
    parts = tape.members(refs, ["file", "anchors"])
    known = _known_files(tape, parts[:, 0].copy(), contexts, which[row])
    anchors, ref_of_anchor = tape.elements(parts[:, 1].copy(), params["anchor_cap"])
    real, inside = _anchors(tape, anchors, contexts, which[row[ref_of_anchor]])
    has_anchor, has_found = (np.zeros(len(refs), np.bool_) for _ in range(2))
    has_anchor[ref_of_anchor[real]] = True
    has_found[ref_of_anchor[inside]] = True
    why = np.where(~known, 0, np.where(has_found, -1, np.where(has_anchor, 1, 2))).astype(np.int8)
    return Refs(refs, row, why)


WANTED_SHAPE = "a list of {refs: [{file, anchors: [text]}]}"


def strange_maps(tape: Tape, source_map: Ints, refs: Refs) -> npt.NDArray[np.int16]:
    """The kind of the first entry of source maps that have entries, but none with a list `refs` of objects; else -1.

    An empty list of refs is of the right shape.
    """
    lists = source_map.copy()
    lists[refs.row] = -1
    out = first_kinds(tape, lists)
    entries, owner = tape.elements(lists)
    inner = tape.members(entries, ["refs"])[:, 0].copy()
    right = (tape.kinds(inner) == ARRAY) & (kinds_without_objects(tape, inner) < 0)
    out[owner[right]] = -1
    return out


def _known_files(tape: Tape, nodes: Ints, contexts: Contexts, which: Ints) -> Flags:
    files = tape.texts(nodes)
    starts, ends = kernels.strip(files.data, files.starts, files.ends)
    known: Flags = kernels.among(
        files.data, starts, ends, which, contexts.paths.data, contexts.paths.offsets, contexts.path_bounds
    )
    is_text: Flags = tape.kinds(nodes) == STRING
    return known & is_text


def _anchors(tape: Tape, nodes: Ints, contexts: Contexts, which: Ints) -> tuple[Flags, Flags]:
    """(is a text that could be looked for, is in the context) of each anchor."""
    texts = tape.texts(nodes)
    starts, ends = kernels.strip(texts.data, texts.starts, texts.ends)
    real = (tape.kind[nodes] == STRING) & (starts < ends)
    hay = contexts.text
    inside = kernels.contains(hay.data, hay.starts[which], hay.ends[which], texts.data, starts, ends)
    return real, inside & real
