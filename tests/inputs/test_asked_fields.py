"""Fields that earlier blocks of a file were asked for are read in one pass: as the tape of a block has them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.columnar.kernels.rows import MOST_GROUPS
from rageval_batch.inputs.readers.json_rows import AskedFields, JsonBlock
from rageval_batch.model.schemas import FIELDS
from support.effort import examples

NAMES = ("run_id", "output", "file", "method", "judge_model", "other", "id")
ASKED = (("file",), ("method",), ("judge_model", "model"), ("absent",), ("id",))
VALUES = st.sampled_from(['"a"', '"\\u00e9\\n"', "1.50", "null", "true", "[1, {}]", '{"a": "b"}', '""', '"🙂"'])
KEYS = st.sampled_from([*map(json.dumps, NAMES), '"\\u006dethod"', '"model"'])
ROWS = st.lists(
    st.lists(st.tuples(KEYS, VALUES), max_size=6).map(
        lambda members: "{" + ", ".join(f"{key}: {value}" for key, value in members) + "}"
    )
    | st.sampled_from(["[]", "{", '{"method": "\\ud800"}', "5"]),
    max_size=6,
)


def block(rows: list[str], asked: AskedFields | None = None) -> JsonBlock:
    sizes = np.array([len(row.encode()) for row in rows], np.int64)
    ends = np.cumsum(sizes, dtype=np.int64)
    data = np.frombuffer("".join(rows).encode(), np.uint8)
    return JsonBlock(data, ends - sizes, ends, lines=np.arange(1, len(rows) + 1), asked=asked)


def told(rows: JsonBlock) -> list[Any]:
    """All that a block says of its rows."""
    fields = [rows.field(names) for names in (*FIELDS, *ASKED)]
    known = frozenset(("run_id", "output", "method"))
    return [
        [(field.text.to_pylist(), field.kind.tolist()) for field in fields],
        [rows.has(name) for name in (*NAMES, "model", "absent")],
        [(column.name, column.rows.tolist(), column.text.to_pylist()) for column in rows.others(known)],
        rows.row_errors,
    ]


@settings(max_examples=examples(150), deadline=None)
@given(ROWS, ROWS)
def test_asked_fields_are_those_of_the_tape(first: list[str], second: list[str]) -> None:
    asked = AskedFields()
    for rows in (first, second, first):
        assert told(block(rows, asked)) == told(block(rows))
    assert asked.groups == (*FIELDS, ("method",), ("judge_model", "model"), ("absent",))


def test_no_more_fields_than_there_is_room_for() -> None:
    asked = AskedFields()
    rows = ['{"f3": 1, "f19": "x"}']
    for _ in range(2):
        mine = block(rows, asked)
        found = [mine.field((f"f{k}",)).text.to_pylist() for k in range(20)]
        assert [k for k, texts in enumerate(found) if texts != [None]] == [3, 19]
    assert len(asked.groups) == MOST_GROUPS
