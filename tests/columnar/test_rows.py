"""The reader of rows that are JSON objects, against a slow reader by the json module."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles.json_text import HugeNumber, decode, json_text
from oracles.rows import Row, read_row
from rageval_batch.columnar.kernels import json as json_kernel
from rageval_batch.columnar.kernels.json import ARRAY, FALSE, NULL, NUMBER, OBJECT, OK, STRING, TRUE
from rageval_batch.columnar.kernels.rows import ROOM, ReadRows, read_rows
from rageval_batch.columnar.strings import Bytes, Offsets, Strings
from rageval_batch.model.schemas import FIELDS
from support.effort import examples
from support.strategies import DAMAGED_TEXTS, JSON_TEXTS, damaged, escaped

GROUPS = (("run_id", "run"), ("question_id", "id", "鍵"), ("output",), ("😀", 'q"\\'))
COPIED = 2
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
    found = read_rows(data, starts, ends, GROUPS, COPIED, np.empty(len(data) + ROOM, np.uint8))
    same_by_every_processor(found, data, starts, ends=ends)
    order = np.arange(len(texts), dtype=np.int32)
    fields = [
        Strings(*json_kernel.texts(data, field.starts, field.stops, field.flags, order)).to_arrow().to_pylist()
        for field in found.fields
    ]
    copied = Strings(*found.copied).to_arrow().to_pylist()
    null = (found.fields[COPIED].kinds == NULL).tolist()
    assert copied == ["" if none else text for text, none in zip(fields[COPIED], null, strict=True)]
    return found, fields


def same_by_every_processor(found: ReadRows, data: Bytes, starts: Offsets, *, ends: Offsets) -> None:
    """What is read 64 bytes at once, where this processor can, is what any other reads."""
    other = read_rows(data, starts, ends, GROUPS, COPIED, np.empty(len(data) + ROOM, np.uint8), False)
    for mine, its in zip(flat(found), flat(other), strict=True):
        np.testing.assert_array_equal(mine, its)


def flat(found: ReadRows) -> list[Any]:
    return [*found[1:-1], *found.copied, *(column for field in found.fields for column in field)]


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


ESCAPES = ["\\n", "\\\\", '\\"', "\\/", "\\t", "\\r", "\\b", "\\f", "\\u9580", "\\ud83d\\ude00"]
BAD = ["\\x", "\\u12", "\\ud800", "\\udc00", "\\ud83dx", "\\ud83d\\u0041", "\n", "\x00", "\x1f", '"', "\\"]


@pytest.mark.parametrize("piece", [*ESCAPES, *BAD, "門", "\x7f", "\\\\" * 40, '\\"' * 40, "\\u9580" * 12])
def test_escapes_at_every_place_of_a_stride(piece: str) -> None:
    """An escape, a sequence of them or what is none: before, across and behind the bounds of 64 and 128 bytes."""
    check([f'{{"output":"{"x" * width}{piece}{"y" * 70}"}}' for width in range(140)])


@settings(max_examples=examples(200))
@given(
    st.lists(st.sampled_from([*ESCAPES, "x", "門", "😀", "a longer stretch of plain text ", "x" * 64]), max_size=60),
    st.sampled_from(["", *BAD]),
    st.integers(0, 60),
)
def test_strings_are_copied_without_their_escapes(pieces: list[str], bad: str, place: int) -> None:
    text = "".join([*pieces[:place], bad, *pieces[place:]])
    check([f'{{"run":"r","output":"{text}"}}', f'{{"output":"{text}","run_id":"{text}"}}', f'{{"output":"{text}'])


def test_a_string_that_does_not_close_ends_with_its_row() -> None:
    """The bytes of the next row are no part of it, though they lie in the same stride."""
    check(['{"output":"abc', '"}', '{"output":"abc"}', '{"output":"' + "z" * 200, '{"output":"\\', '{"output":"\\u12'])


def test_of_several_answers_the_one_that_counts_is_copied() -> None:
    data = [
        '{"run":"a\\n","run_id":"b","run":"c\\n"}', '{"output":"a\\n","output":[1],"output":"b"}',
        '{"output":"long \\u9580 text","output":null}', '{"output":"x","output":{"output":"y"}}',
        '{"output":true,"output":"a\\"b"}', '{"output":1.5}', '{"output":"a","output":"b"} x', '{"output":"b"}',
    ]  # fmt: skip
    check(data)


def test_more_members_than_are_kept_in_mind() -> None:
    check(["{" + ",".join(f'"{NAMES[k % len(NAMES)]}":"{k}"' for k in range(count)) + "}" for count in range(40)])
