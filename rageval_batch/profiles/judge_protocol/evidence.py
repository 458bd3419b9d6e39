"""What judges quote for their scores: entries of a list of objects, a map of dimensions, or a list of texts."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import kernels
from rageval_batch.columnar.kernels import record
from rageval_batch.columnar.kernels.json import ARRAY, NULL, OBJECT, STRING
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Strings
from rageval_batch.dataclass import dataclass
from rageval_batch.profiles.judge_protocol.fields import Fields
from rageval_batch.profiles.judge_protocol.rubric import EVIDENCE

QUOTE_LIMIT = 60  # Han characters and words together


@dataclass(frozen=True)
class Evidence:
    """The complete entries of a batch: which row each stands in, and its parts."""

    row: Ints
    dimension: pa.Array  # null where the form of evidence does not say
    quote: Strings
    _: KW_ONLY
    long: Flags  # longer than QUOTE_LIMIT
    found: Flags
    checked: Flags  # of each row: its target's text is known


@dataclass(frozen=True)
class _Entries:
    """Entries as nodes: which row each stands in, the node of its quote, and its dimension."""

    row: Ints
    quote: Ints
    dimension: pa.Array
    _: KW_ONLY
    wrong: Ints  # rows with an entry of a wrong type


def entries_of(
    fields: Fields, target_ids: pa.Array, targets: Strings, *, output_id: pa.Array
) -> tuple[Evidence, Flags]:
    """(complete entries, rows with an entry of a wrong type)."""
    entries = {"objects": _objects, "map": _map, "texts": _texts}[fields.form.evidence_form](fields)
    wrong = np.zeros(len(output_id), np.bool_)
    wrong[entries.wrong] = True
    quote = fields.tape.texts(entries.quote)
    target = pc.index_in(output_id, target_ids).fill_null(-1).to_numpy()
    which = target[entries.row]
    there = which >= 0
    found = np.zeros(len(which), np.bool_)
    if there.any():
        squashed = kernels.squash(quote)
        found[there] = kernels.contains(
            targets.data, targets.starts[which[there]], targets.ends[which[there]],
            squashed.data, squashed.starts[there], squashed.ends[there],
        )  # fmt: skip
    long: Flags = record.lengths(quote, QUOTE_LIMIT) > QUOTE_LIMIT  # so many bytes or fewer need no counting
    return Evidence(entries.row, entries.dimension, quote, long=long, found=found, checked=target >= 0), wrong


def _objects(fields: Fields) -> _Entries:
    """A list of objects with a dimension, a quote and a reason, those of them that are asked for."""
    tape, form = fields.tape, fields.form
    nodes, row = tape.elements(fields.node(EVIDENCE))
    parts = tape.members(nodes, [form.entry[part] for part in form.entry_parts])
    kinds = tape.kinds(parts)
    odd = (tape.kind[nodes] != OBJECT) | np.logical_or.reduce((kinds >= 0) & (kinds != STRING), axis=1)
    complete = np.logical_and.reduce(kinds == STRING, axis=1)
    part = {name: parts[complete, k] for k, name in enumerate(form.entry_parts)}
    dimension = pa.nulls(int(complete.sum()), LARGE_STRING)
    if "dimension" in part:
        dimension = tape.texts(part["dimension"]).to_arrow()
    return _Entries(row[complete], part["quote"], dimension, wrong=row[odd])


def _map(fields: Fields) -> _Entries:
    """An object that has for each dimension a quote, a list of quotes, or null for none; the last of duplicate keys."""
    tape = fields.tape
    found, owner, keys = tape.names(fields.node(EVIDENCE))
    frame = pl.DataFrame({"row": owner, "key": pl.from_arrow(keys.to_arrow()), "node": found})
    frame = frame.unique(["row", "key"], keep="last", maintain_order=True)
    row, node, key = frame["row"].to_numpy(), frame["node"].to_numpy(), frame["key"].to_arrow().cast(LARGE_STRING)
    kinds = tape.kinds(node)
    inner, of = tape.elements(node)
    quoted = tape.kind[inner] == STRING
    quote = np.concatenate([node[kinds == STRING], inner[quoted]])
    which = np.concatenate([np.flatnonzero(kinds == STRING), of[quoted]])
    order = np.argsort(quote, kind="stable")  # as they stand in the record
    which = which[order]
    odd = np.concatenate([row[~np.isin(kinds, (STRING, ARRAY, NULL))], row[of[~quoted]]])
    return _Entries(row[which], quote[order], key.take(pa.array(which)), wrong=odd)


def _texts(fields: Fields) -> _Entries:
    """A list of quotes that do not say which dimension they are for."""
    nodes, row = fields.tape.elements(fields.node(EVIDENCE))
    quoted = fields.tape.kind[nodes] == STRING
    return _Entries(row[quoted], nodes[quoted], pa.nulls(int(quoted.sum()), LARGE_STRING), wrong=row[~quoted])
