"""The JSON tape against a slow decoder: random values written in many ways, and all sorts of damage."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import text as slow
from oracles.json_text import decode, json_text, try_decode
from rageval_batch.columnar import json_tape
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels import json as kernel
from rageval_batch.columnar.kernels.json import ARRAY, OBJECT, OK
from rageval_batch.columnar.strings import Strings, from_arrow, from_list
from support import tapes
from support.strategies import DAMAGED_TEXTS, JSON_TEXTS, KEYS, MIXED, VALUES, shaped, small_texts, written


def parsed(texts: list[str]) -> Tape:
    """The tape of a column that lies amid other bytes."""
    return json_tape.parse_strings(from_arrow(shaped(texts, "sliced")))


def check_narrow(column: Strings) -> None:
    """Without wide registers every column of the tape is the same."""
    size = 64 + len(column.data)
    wide, narrow = (kernel.parse(column.data, column.starts, column.ends, size, wide=wide) for wide in (True, False))
    assert [one.tolist() for one in wide[0]] == [one.tolist() for one in narrow[0]]


def check(texts: list[str]) -> None:
    """Every row is JSON exactly if the decoder says so, and has the decoder's value."""
    tape = parsed(texts)
    check_narrow(from_arrow(shaped(texts, "sliced")))
    got = tapes.values(tape)
    for row, text in enumerate(texts):
        good, want = try_decode(text)
        assert (tape.status[row] == OK) == good, (text, tape.problem(row) if tape.status[row] else "")
        if good:
            assert json_text(got[row]) == json_text(want), text
            assert tape.error_at[row] == -1
        else:
            assert tape.root[row] == -1
            assert 0 <= tape.error_at[row] <= len(text.encode())
            assert str(int(tape.error_at[row])) in tape.problem(row)
    assert set(tape.row.tolist()) == {row for row, text in enumerate(texts) if try_decode(text)[0]}


@given(st.lists(JSON_TEXTS, max_size=4))
def test_json_is_read_as_it_is(texts: list[str]) -> None:
    check(texts)


ESCAPES = st.one_of(
    st.sampled_from(["\\u8a34", "\\u8A34", "\\uFFFF", "\\u0800", "\\ud83d\\ude00"]),
    st.integers(0, 0xFFFF).map(lambda unit: f"\\u{unit:04x}"),  # small ones and halves of pairs among them
    st.sampled_from(
        ["\\n", "\\\\", "x", "門", "\\u12g4", "\\u:000", "\\u`abc", "\\u@000", "\\u/000", "\\U1234", "\\", "\\u1"]
    ),
)


@given(st.lists(st.tuples(ESCAPES, st.integers(1, 24)), max_size=8), st.booleans())
def test_escapes_that_stand_together_are_read_as_one_by_one(pieces: list[tuple[str, int]], closed: bool) -> None:
    written_ = "".join(piece * count for piece, count in pieces)
    check([f'["{written_}"' + "]" * closed, f'{{"{written_}": "{written_}"}}', f'"{written_}'])


@given(st.lists(DAMAGED_TEXTS, max_size=6))
def test_damaged_json_is_told_from_json(texts: list[str]) -> None:
    check(texts)


@given(st.lists(st.one_of(small_texts('{}[]",:01-.eE \\un', 10), small_texts('{"a":[1,]}', 9)), max_size=8))
def test_short_texts_of_json_characters(texts: list[str]) -> None:
    check(texts)


@pytest.mark.parametrize("special", ['\\"', "\\\\", "\\u6587", "\\n", '"', "\\", "\x1f", "\x00", "\x7f", "文"])
def test_long_strings_with_something_special_at_every_place(special: str) -> None:
    """Strings are passed over sixteen and eight bytes at a time."""
    check(
        [f'"{"a" * before}{special}{"b" * behind}"' for before in range(36) for behind in (0, 1, 7, 8, 15, 16, 17, 33)]
    )


@pytest.mark.parametrize("dense", ["\\n", '\\"', "\\\\", "\\u6587", '","', '", "', '":"', "\x01", '"\n,\n"'])
def test_texts_full_of_marks(dense: str) -> None:
    """The marks of 64 bytes are listed some at a time."""
    check(
        [f'[{"1," * before}"{dense * count}"]' for before in range(3) for count in (0, 1, 7, 8, 9, 16, 17, 31, 33, 70)]
    )


@given(st.lists(st.text(st.sampled_from("-+.0123456789eE"), min_size=1, max_size=8), max_size=10))
def test_numbers(texts: list[str]) -> None:
    check(texts)


@given(st.lists(st.one_of(st.text(MIXED, max_size=30), small_texts('\\"u0dD8cC/bfnrt\x00\x1f 鍵', 30)), max_size=5))
def test_strings_with_anything_between_the_quotes(texts: list[str]) -> None:
    check([f'"{text}"' for text in texts])


LITERALS = ["true", "false", "null", "tru", "nul", "falsy", "True", "truefalse", "nulll", "NaN", "-Infinity", "[true,"]


@pytest.mark.parametrize("text", [*LITERALS, "", " ", "\ufeff{}", "{}\u00a0", "\x0b1", "1\x00", "{} {}", "[1]//", '"'])
def test_single_texts(text: str) -> None:
    check([text, "e", text, "1"])


@given(st.lists(JSON_TEXTS, min_size=1, max_size=3).map("".join), st.data())
def test_rows_end_where_they_end(text: str, data: st.DataObject) -> None:
    """Whatever follows a row in the bytes belongs to the next one."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    check([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)])


# --- looking things up ----------------------------------------------------------------------------------------------


def node_values(tape: Tape) -> list[Any]:
    """The value of every node, from its own bytes."""
    data = tape.data.tobytes()
    quoted = tape.kind == 2
    starts, stops = np.where(quoted, tape.start - 1, tape.start), np.where(quoted, tape.stop + 1, tape.stop)
    return [decode(data[a:b].decode()) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


@given(st.lists(DAMAGED_TEXTS, max_size=4), st.lists(KEYS, min_size=1, max_size=5, unique=True), st.data())
def test_members_are_the_last_of_their_name(texts: list[str], names: list[str], data: st.DataObject) -> None:
    tape = parsed(texts)
    values = node_values(tape)
    owners = data.draw(st.lists(st.integers(-1, len(values) - 1), max_size=8, unique=True))
    found = tape.members(np.array(owners, np.int32), names)
    assert found.shape == (len(owners), len(names))
    for k, owner in enumerate(owners):
        value = values[owner] if owner >= 0 else {}
        if not isinstance(value, dict):
            value = {}
        for n, name in enumerate(names):
            node = int(found[k, n])
            assert (node >= 0) == (name in value)
            if node >= 0:
                assert json_text(values[node]) == json_text(value[name])


@given(st.lists(JSON_TEXTS, max_size=4), st.sampled_from([None, 0, 1, 3]), st.data())
def test_elements_and_names_are_in_order(texts: list[str], limit: int | None, data: st.DataObject) -> None:
    tape = parsed(texts)
    values = node_values(tape)
    owners = np.array(data.draw(st.lists(st.integers(-1, len(values) - 1), max_size=8, unique=True)), np.int32)
    nodes, owner = tape.elements(owners, limit)
    for k, node in enumerate(owners.tolist()):
        items = values[node] if node >= 0 and tape.kind[node] == ARRAY else []
        assert [json_text(values[n]) for n in nodes[owner == k].tolist()] == [json_text(item) for item in items[:limit]]
    members, owner, keys = tape.names(owners)
    for k, node in enumerate(owners.tolist()):
        items = values[node] if node >= 0 and tape.kind[node] == OBJECT else {}
        mine = np.flatnonzero(owner == k).tolist()
        assert list(dict.fromkeys(keys.at(m) for m in mine)) == list(items)
        assert {keys.at(m): json_text(values[members[m]]) for m in mine} == {
            key: json_text(item) for key, item in items.items()
        }


@given(st.lists(JSON_TEXTS, max_size=4), st.data())
def test_texts_points_and_kinds_of_nodes(texts: list[str], data: st.DataObject) -> None:
    tape = parsed(texts)
    values = node_values(tape)
    chosen = data.draw(st.lists(st.integers(-1, len(values) - 1), max_size=12))
    nodes = np.array(chosen, np.int32)
    found, points, kinds = tape.texts(nodes), tape.points(nodes), tape.kinds(nodes)
    for k, node in enumerate(chosen):
        if node < 0:
            assert (found.at(k), kinds[k]) == ("", -1)
        elif isinstance(values[node], str):
            assert found.at(k) == values[node]
        else:
            assert json_text(decode(found.at(k))) == json_text(values[node])
        run = points.points[points.offsets[k] : points.offsets[k + 1]].tolist()
        assert "".join(map(chr, run)) == slow.squash(found.at(k))


@given(VALUES.flatmap(written))
def test_every_key_can_be_looked_up_by_its_plain_name(text: str) -> None:
    tape = parsed([text])
    value = decode(text)
    names = list(value) if isinstance(value, dict) else ["a"]
    if names:
        found = tape.members(tape.root, names)
        assert (found >= 0).all() == isinstance(value, dict)


@given(st.lists(st.tuples(DAMAGED_TEXTS, JSON_TEXTS), min_size=1, max_size=3))
def test_merge_takes_the_mended_rows(pairs: list[tuple[str, str]]) -> None:
    """Rows that failed are taken from another stretch of the same bytes, all others stay."""
    column = from_list([text for pair in pairs for text in pair])
    starts, ends = column.starts, column.ends
    base = json_tape.parse(column.data, starts[::2].copy(), ends[::2].copy())
    failed = np.flatnonzero(base.status != OK).astype(np.int32)
    patch = json_tape.parse(column.data, starts[1::2][failed], ends[1::2][failed])
    merged = json_tape.merge(base, patch, failed)
    got = tapes.values(merged)
    for row, (first, second) in enumerate(pairs):
        good, want = try_decode(first)
        if not good:
            good, want = try_decode(second)
        assert (merged.status[row] == OK) == good
        assert (merged.root[row] >= 0) == good
        if good:
            assert json_text(got[row]) == json_text(want)
            assert merged.row[merged.root[row]] == row


@given(st.lists(st.one_of(DAMAGED_TEXTS, JSON_TEXTS), max_size=5))
def test_usable_rows_are_objects(texts: list[str]) -> None:
    assert json_tape.usable(parsed(texts)).tolist() == [isinstance(try_decode(text)[1], dict) for text in texts]


# --- size -----------------------------------------------------------------------------------------------------------

DEEP = 100_000


@pytest.mark.parametrize(("head", "core", "tail"), [("[", "1", "]"), ('{"a":', "null", "}"), ('[{"a":', "[]", "}]")])
def test_deep_nesting(head: str, core: str, tail: str) -> None:
    times = DEEP // len(tail)
    text = head * times + core + tail * times
    tape = parsed([text, text[:-1], text + tail[-1], text.replace(core, "", 1), "7"])
    assert (tape.status == OK).tolist() == [True, False, False, head == "[", True]
    nodes = np.flatnonzero(tape.row == 0)
    assert len(nodes) == DEEP + 1
    assert (tape.behind[nodes] == nodes[-1] + 1).all()  # each holds all that follow
    assert json_text(tapes.values(tape)[0]) == json_text(decode(text))


def test_brackets_that_never_close() -> None:
    assert (parsed(["[" * DEEP, "{" * DEEP, "]" * DEEP, '{"a":' * DEEP]).status == OK).tolist() == [False] * 4


@pytest.mark.parametrize("count", [1023, 1086, 1087, 1088, 1089, 8704, 100_000])
def test_more_values_than_were_reckoned_with(count: int) -> None:
    numbers = list(range(count))
    tape = parsed([json.dumps(numbers)])
    assert tapes.values(tape) == [numbers]
    assert tape.position.tolist() == [0, *numbers]


def test_many_values_in_one_of_many_rows() -> None:
    rows: list[Any] = [{"a": [k]} for k in range(50)]
    rows[20] = {"many": [[k] for k in range(20_000)]}
    texts = [json.dumps(row) for row in rows] + ["[1,", ""]
    assert tapes.values(parsed(texts)) == [*rows, None, None]


def test_no_rows_and_no_values() -> None:
    for texts in ([], [""], ["", "{"]):
        tape = parsed(texts)
        assert len(tape.kind) == 0
        assert tape.members(tape.root, ["a"]).tolist() == [[-1]] * len(texts)
        assert [len(part) for part in tape.elements(tape.root)] == [0, 0]
        assert [len(part) for part in tape.names(tape.root)] == [0, 0, 0]
        assert len(tape.texts(tape.root)) == len(texts)


# --- arrays of rows -------------------------------------------------------------------------------------------------


@given(st.lists(VALUES, max_size=6).flatmap(written), st.sampled_from(["", " \n", "{\n"]))
def test_elements_of_an_array(text: str, before: str) -> None:
    text = text.strip()
    content = (before + text + " ]tail").encode()
    data = np.frombuffer(content, np.uint8)
    starts, stops, lines, behind, closed = json_tape.elements_of_array(data, len(before))
    found = [content[a:b].decode() for a, b in zip(starts, stops, strict=True)]
    assert [json_text(decode(part)) for part in found] == [json_text(item) for item in decode(text)]
    assert closed
    assert behind == len((before + text).encode())
    assert lines.tolist() == [1 + content[len(before) : start].count(b"\n") for start in starts.tolist()]


def test_elements_of_a_long_array() -> None:
    content = json.dumps([{"k": k, "t": '],[\\"{'} for k in range(5000)], indent=1).encode()
    starts, stops, lines, behind, closed = json_tape.elements_of_array(np.frombuffer(content, np.uint8), 0)
    assert [json.loads(content[a:b])["k"] for a, b in zip(starts, stops, strict=True)] == list(range(5000))
    assert lines.tolist() == [2 + 4 * k for k in range(5000)]
    assert (behind, closed) == (len(content), True)


@given(st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_elements_of_an_array_that_breaks_off(items: list[Any], data: st.DataObject) -> None:
    """All elements that are whole are found; what is left of the next one is not JSON or is a shorter number."""
    text = json.dumps(items)
    content = text[: data.draw(st.integers(1, len(text) - 1))].encode()
    starts, stops, _, behind, closed = json_tape.elements_of_array(np.frombuffer(content, np.uint8), 0)
    assert (behind, closed) == (len(content), False)
    found = [content[a:b].decode() for a, b in zip(starts, stops, strict=True)]
    assert len(found) <= len(items)
    assert [json_text(decode(part)) for part in found[:-1]] == [json_text(item) for item in items[: len(found)][:-1]]
