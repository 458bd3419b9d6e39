"""The value of a row of a JSON tape, put together again from its nodes, for comparing with a decoder."""

from typing import Any

import numpy as np

from oracles.json_text import decode
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import ARRAY, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE

_WORDS = {TRUE: True, FALSE: False, NULL: None}


def values(tape: Tape) -> list[Any]:
    """The value of every row, None for a row that has none: found through elements, names and texts alone."""
    nodes = np.arange(len(tape.kind), dtype=np.int32)
    texts = tape.texts(np.where(tape.kind >= STRING, nodes, -1).astype(np.int32))  # containers hold each other
    built = [_leaf(int(tape.kind[node]), texts.at(node)) for node in nodes.tolist()]
    for node, owner in zip(*(column.tolist() for column in tape.elements(nodes)), strict=True):
        built[owner].append(built[node])
    members, owners, keys = tape.names(nodes)
    for k, (node, owner) in enumerate(zip(members.tolist(), owners.tolist(), strict=True)):
        built[owner][keys.at(k)] = built[node]
    return [built[node] if node >= 0 else None for node in tape.root.tolist()]


def _leaf(kind: int, text: str) -> Any:
    if kind == OBJECT:
        return {}
    if kind == ARRAY:
        return []
    if kind == STRING:
        return text
    return decode(text) if kind == NUMBER else _WORDS[kind]
