"""Texts of all of Unicode, JSON values and damaged texts, and Arrow columns of every shape, for the property tests."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from oracles.text import WHITE_SPACE
from rageval_batch.columnar.strings import LARGE_STRING

HAN = "門禁管理訪客\u3400\u4dbf\u4e00\u9fff"
HAN_EDGES = "\u33ff\u4dc0\u4dff\ua000"
KANA = "のデータ\u3041\u3096\u3099\u309a\u309d\u309f\u30a1\u30fa\u30fc\u30fe\u30ff\u31f0\u31ff\uff66\uff9f"
KANA_EDGES = "\u3040\u3097\u3098\u309b\u309c\u30a0\u30fb\u3100\u31ef\u3200\uff65\uffa0"
TOKENS = "abZ09._-"
ODD = "\x00\x1c\x1d\x1e\x1f\x7f\u0080\u0301\u0300\u05d0\u0627\u202e\u200b\u200d\u2060\ufeff\uffff😀👩𠀀\U0010ffff"
SPACES = "".join(sorted(WHITE_SPACE))

ANYTHING = st.characters(exclude_categories=["Cs"])
MIXED = st.one_of(
    st.sampled_from(HAN + HAN_EDGES),
    st.sampled_from(KANA + KANA_EDGES),
    st.sampled_from(TOKENS),
    st.sampled_from(ODD),
    st.sampled_from(SPACES),
    ANYTHING,
)


def long_texts(alphabet: str) -> st.SearchStrategy[str]:
    """Texts of more than 64, often more than 1000 characters, with something else at both ends."""
    piece = st.text(st.sampled_from(alphabet), min_size=1, max_size=20)
    few = st.text(st.sampled_from(alphabet), max_size=3)
    return st.builds(lambda head, body, n, tail: head + body * n + tail, few, piece, st.integers(65, 160), few)


def small_texts(alphabet: str, max_size: int = 12) -> st.SearchStrategy[str]:
    """Texts of few different characters, so that they collide."""
    return st.text(st.sampled_from(alphabet), max_size=max_size)


def texts(max_size: int = 25) -> st.SearchStrategy[str]:
    """Any text: mixed, of few characters, with many tokens, or long."""
    return st.one_of(
        st.text(MIXED, max_size=max_size),
        small_texts("ab \u3000甲"),
        small_texts("門禁管\u3000aB.", 20),
        long_texts("ab門禁 の\u0301"),
    )


def related(text: str) -> st.SearchStrategy[str]:
    """A text near another: the same, a part of it, or with a few characters changed."""
    places = st.integers(0, len(text))
    return st.one_of(
        st.just(text),
        st.tuples(places, places).map(lambda ends: text[min(ends) : max(ends)]),
        st.tuples(places, places, st.text(MIXED, max_size=3)).map(
            lambda change: text[: min(change[:2])] + change[2] + text[max(change[:2]) :]
        ),
        st.tuples(places, st.text(MIXED, max_size=2)).map(lambda add: text[: add[0]] + add[1] + text[add[0] + 1 :]),
    )


COMMON_SHAPES = ("plain", "small", "sliced", "chunked", "dictionary")
SHAPES = (*COMMON_SHAPES, "bytes_behind_nulls")


def shaped(values: Sequence[str | None], shape: str) -> pa.Array | pa.ChunkedArray:
    """The same values as an Arrow column of one of SHAPES."""
    if shape == "small":
        return pa.array(values, pa.string())
    if shape == "sliced":
        return pa.array(["x門", None, *values, "y", None], LARGE_STRING).slice(2, len(values))
    if shape == "chunked":
        half = len(values) // 2
        return pa.chunked_array([pa.array(values[:half], LARGE_STRING), pa.array(values[half:], LARGE_STRING)])
    if shape == "dictionary":
        return pa.array(values, LARGE_STRING).dictionary_encode()
    if shape == "bytes_behind_nulls":
        return _with_bytes_behind_nulls(values)
    return pa.array(values, LARGE_STRING)


def _with_bytes_behind_nulls(values: Sequence[str | None]) -> pa.Array:
    """Arrow permits any bytes behind a null."""
    content = [b"hidden" if value is None else value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, content)], dtype=np.int64)
    valid = np.packbits(np.array([value is not None for value in values], np.bool_), bitorder="little")
    buffers = [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(content))]
    return pa.Array.from_buffers(LARGE_STRING, len(values), buffers)


@st.composite
def columns(
    draw: st.DrawFn, values: st.SearchStrategy[str], max_size: int = 6, shapes: Sequence[str] = COMMON_SHAPES
) -> tuple[list[str], pa.Array]:
    """(what a kernel must see, the Arrow column): nulls are seen as empty strings."""
    given = draw(st.lists(st.one_of(values, st.none()), max_size=max_size))
    column = shaped(given, draw(st.sampled_from(shapes)))
    return [value or "" for value in given], column


# --- JSON -----------------------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -0.0, 1e-300, 1.5]),
)
KEYS = st.one_of(st.sampled_from(["a", "b", "refs", "鍵", 'q"', "\\", ""]), st.text(MIXED, max_size=10))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(MIXED, max_size=20), small_texts('\\"/\n\x00ab', 8))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=12,
)


@st.composite
def escaped(draw: st.DrawFn, text: str) -> str:
    """The text as a JSON string in which some characters are written as escapes."""
    parts = []
    for c in text:
        way = draw(st.integers(0, 3))
        if way == 0:
            parts.append(json.dumps(c)[1:-1])
        elif way == 1:
            units = c.encode("utf-16-be")
            parts.append("".join(f"\\u{units[k]:02X}{units[k + 1]:02x}" for k in range(0, len(units), 2)))
        else:
            parts.append(json.dumps(c, ensure_ascii=False)[1:-1])
    return f'"{"".join(parts)}"'


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """The value as JSON text in one of many ways: escapes, white space, indents, keys that occur twice."""
    way = draw(st.integers(0, 4))
    if way == 0:
        return json.dumps(value)
    if way == 1:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if way == 2:
        indent: int | str = draw(st.one_of(st.integers(0, 2), st.just("\t")))
        return json.dumps(value, ensure_ascii=draw(st.booleans()), indent=indent)
    return _written_by_hand(draw, value)


def _written_by_hand(draw: st.DrawFn, value: Any) -> str:
    space = draw(st.sampled_from(["", "", " ", "\n", "\r\n\t "]))
    if isinstance(value, str):
        return draw(escaped(value)) if len(value) < 12 else json.dumps(value)
    if isinstance(value, list):
        return f"{space}[{space}{f'{space},{space}'.join(_written_by_hand(draw, item) for item in value)}{space}]"
    if isinstance(value, dict):
        members = [(key, _written_by_hand(draw, item)) for key, item in value.items()]
        again = [*value, None, None, None][draw(st.integers(0, len(value) + 2))]
        if again is not None:
            members.insert(0, (again, draw(st.sampled_from(["1", "{}", '[{"a":[]}]']))))
        parts = [f"{_written_by_hand(draw, key)}{space}:{space}{text}" for key, text in members]
        return f"{space}{{{space}{','.join(parts)}{space}}}{space}"
    return json.dumps(value)


FRAGMENTS = st.one_of(
    st.sampled_from(list("{}[]\",:\\ \t\n0123456789.-+eEtfnu'/`\x00\x1f\u00a0\ufeff")),
    st.sampled_from(["```", "```json\n", "null", "NaN", "\\u", "\\ud800", "\\udc00", "//", "1e", "Infinity", "\\x"]),
    st.text(MIXED, min_size=1, max_size=2),
)


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """The text after a few deletions, insertions and replacements."""
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        width = draw(st.sampled_from([0, 0, 1, 1, 2, 7]))
        piece = draw(st.one_of(st.just(""), FRAGMENTS))
        text = text[:at] + piece + text[at + width :]
    return text


JSON_TEXTS = VALUES.flatmap(written)
DAMAGED_TEXTS = JSON_TEXTS.flatmap(damaged)
