"""The reader of rows that are JSON objects, against a slow reader by the json module."""

import json
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles.json_text import HugeNumber, decode, json_text
from oracles.rows import Row, read_row
from rageval_batch.columnar.kernels import json as json_kernel
from rageval_batch.columnar.kernels.json import ARRAY, FALSE, NULL, NUMBER, OBJECT, OK, STRING, TRUE
from rageval_batch.columnar.kernels.rows import ReadRows, read_rows
from rageval_batch.columnar.strings import Strings
from rageval_batch.model.schemas import FIELDS
from support.effort import examples
from support.strategies import DAMAGED_TEXTS, JSON_TEXTS, damaged, escaped

GROUPS = (("run_id", "run"), ("question_id", "id", "鍵"), ("output",), ("😀", 'q"\\'))
NAMES = [name for group in GROUPS for name in group]
KINDS: dict[type, int] = {
    dict: OBJECT,
    list: ARRAY,
    str: STRING,
    int: NUMBER,
    float: NUMBER,
    HugeNumber: NUMBER,
    type(None): NULL,
}


@st.composite
def rows(draw: st.DrawFn) -> str:
    """An object with some of the names, each perhaps several times and with escapes, amid other members."""
    names = draw(st.lists(st.one_of(st.sampled_from(NAMES), st.sampled_from(["", "ru", "run_id_", "x"])), max_size=7))
    space = draw(st.sampled_from(["", " ", "\t\n"]))
    members = [f"{draw(escaped(name))}{space}:{space}{draw(JSON_TEXTS)}" for name in names]
    return f"{space}{{{space}{','.join(members)}{space}}}{space}"


def read(texts: list[str]) -> tuple[ReadRows, list[list[str]]]:
    """What the kernel finds in rows that lie amid other bytes, and the text of each field of each row."""
    content = [text.encode() for text in texts]
    data = np.frombuffer(b'{"run":1}' + b'"\n'.join(content) + b'"}', np.uint8)
    ends = np.cumsum([len(text) + 2 for text in content], dtype=np.int64) + 7
    starts = ends - np.array([len(text) for text in content], np.int64)
    found = read_rows(data, starts, ends, GROUPS)
    order = np.arange(len(texts), dtype=np.int32)
    fields = [
        Strings(*json_kernel.texts(data, field.starts, field.stops, field.flags, order)).to_arrow().to_pylist()
        for field in found.fields
    ]
    return found, fields


def check(texts: list[str]) -> None:
    """Every row is told from what is none, and every field has the value of the slow reader."""
    found, fields = read(texts)
    wanted = [read_row(text) for text in texts]
    assert (found.status == OK).tolist() == [row.is_json for row in wanted]
    assert found.usable.tolist() == [row.members is not None for row in wanted]
    assert found.having.tolist() == [sum(row.has(name) for row in wanted) for name in NAMES]
    assert found.members == sum(len(row.members or ()) for row in wanted)
    for r, (text, row) in enumerate(zip(texts, wanted, strict=True)):
        assert (found.error_at[r] == -1) if row.is_json else (0 <= found.error_at[r] <= len(text.encode()))
        for g, names in enumerate(GROUPS):
            check_field(int(found.fields[g].kinds[r]), fields[g][r], row, names)


def check_field(kind: int, text: str, row: Row, names: tuple[str, ...]) -> None:
    wanted = row.value(names)
    if wanted is None:
        assert (kind, text) == (-1, "")
        return
    (value,) = wanted
    assert kind == ((TRUE if value else FALSE) if isinstance(value, bool) else KINDS[type(value)])
    assert (text if kind == STRING else json_text(decode(text))) == (value if kind == STRING else json_text(value))


def test_no_name_stands_for_two_fields() -> None:
    names = [name for group in FIELDS for name in group]
    assert len(set(names)) == len(names)


@settings(max_examples=examples(100))
@given(st.lists(st.one_of(rows(), rows(), rows().flatmap(damaged), JSON_TEXTS, DAMAGED_TEXTS), max_size=5))
@example([])
@example(["", " ", "{}", "[]", "null", '"run"', "{", '{"run"}'])
@example(['{"id":1,"question_id":2,"id":3,"question_id":4}', '{"id":1,"id":{"id":2}}', '{"鍵":null,"id":"x"}'])
@example([r'{"\u0072un":"\ud83d\ude00","\ud83d\uDE00":1}', r'{"run":"\ud83d"}', r'{"\udc00":1}', r'{"run":"\u00"}'])
@example(['{"run":1e999,"id":-0.0,"output":' + "9" * 5_000 + "}"])
def test_rows_are_read_as_the_slow_reader_does(texts: list[str]) -> None:
    check(texts)


def nested(depth: int, inside: Any) -> str:
    """A value in that many lists and objects."""
    return '[{"run":' * depth + json.dumps(inside) + "}]" * depth


def test_deep_and_long_rows_between_short_ones() -> None:
    many = json.dumps({f"run{k}": k for k in range(3_000)} | {"run": list(range(5_000))})
    deep = f'{{"output":{nested(150, "x")},"id":7}}'
    check(['{"run":1}', many, deep, '{"id":2}', deep[:-9], many, many[:-1], '{"output":"' + "門" * 3_000 + '"}'])


def test_rows_deeper_than_python_recurses() -> None:
    found, fields = read([f'{{"output":{nested(60_000, 1)},"run":"r"}}', '{"run":"s"}'])
    assert found.usable.tolist() == [True, True]
    assert found.members == 3
    assert fields[0] == ["r", "s"]
    assert len(fields[2][0]) == len(nested(60_000, 1))
