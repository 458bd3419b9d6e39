"""The library of functions: each against its oracle, its hand-computed cases, and the same by every door."""

import json
import math
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import functions as slow
from oracles.functions import ORACLES
from rageval_batch import functions
from rageval_batch.columnar import characters
from rageval_batch.columnar.functions import FUNCTIONS, Function, register_functions, sql_result
from rageval_batch.columnar.functions.phrases import folded
from rageval_batch.columnar.kernels import grams
from rageval_batch.columnar.strings import LARGE_STRING, from_arrow
from rageval_batch.report.functions import describe_function, function_list
from rageval_batch.report.screen import Screen
from support.effort import examples
from support.places import CASES_FOLDER, ROOT
from support.strategies import DAMAGED_TEXTS, JSON_TEXTS, related, shaped, small_texts, texts

CASES = [
    json.loads(line) for line in (CASES_FOLDER / "functions.jsonl").read_text(encoding="utf-8").split("\n") if line
]
SHAPES = ("plain", "small", "sliced", "chunked", "dictionary")

# --- values -----------------------------------------------------------------------------------------------------

WORDY = st.lists(
    st.sampled_from(
        ["the", "a", "An", "x", "X.", "y", "cat", "Cat,", "東京", "タワー", "서울", "ＡＢ", "ΟΔΟΣ", "İx", "\u0301", "→",
         "\x1c", "\x00", "don't", "a-b", "😀", "Straße", "٣"]
    ),
    max_size=9,
).flatmap(lambda found: st.sampled_from([" ", "", "\u3000", "\n "]).map(lambda gap: gap.join(found)))  # fmt: skip
LETTERS = small_texts("aZéяЖωشאनไ서漢字のカｶＡ1 .,😀", 15)
FIGURES = st.lists(
    st.sampled_from(["5", "1,250.5", "４２", "万元", "第3页", "x", "12 %", "四万", "или", "-", "2020年", "和", "0.5"]),
    max_size=5,
).map(" ".join)
REFUSALS = st.sampled_from(["I don’t\nKNOW", "不\u3000清楚", "не  указано", "unknown", "ＵＮＫＮＯＷＮ", "it is"])
TEXTS = st.one_of(texts(), WORDY, LETTERS, FIGURES, REFUSALS)
IDS = st.lists(st.one_of(st.sampled_from("abcdé"), st.none()), max_size=7)
SOURCES: dict[str, st.SearchStrategy[Any]] = {
    "numbers": FIGURES,
    "numbers_supported": FIGURES,
    "script": LETTERS,
    "strict_json": st.one_of(JSON_TEXTS, DAMAGED_TEXTS),
    "refused": st.one_of(REFUSALS, TEXTS),
}


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The values, and null."""
    return st.one_of(values, values, values, st.none())


@st.composite
def calls(draw: st.DrawFn, function: Function) -> tuple[list[list[Any]], list[str]]:
    """(rows of arguments, how each column is given); lists stand in no column beside texts."""
    plain = SOURCES.get(function.name, TEXTS)
    as_lists = draw(st.booleans())

    def value(kind: str, near: str) -> Any:
        near_texts = st.one_of(related(near), plain)
        if kind == "text":
            return draw(maybe(near_texts))
        if function.module == "retrieval" and kind == "list":
            return draw(maybe(IDS))
        if kind == "groups":
            phrases = st.lists(maybe(near_texts), max_size=3)
            return draw(maybe(st.lists(maybe(phrases if as_lists else near_texts), max_size=3)))
        if kind in ("refs", "list"):
            return draw(maybe(st.lists(maybe(near_texts), max_size=3) if as_lists else near_texts))
        if kind == "numbers":
            return draw(maybe(st.lists(st.one_of(st.integers(-1, 3).map(float), st.none()), max_size=6)))
        return draw(maybe(st.integers(-1, 6)))

    rows = []
    for _ in range(draw(st.integers(0, 4))):
        first = value(function.arguments[0].type, "")
        near = first if isinstance(first, str) else ""
        rows.append([first, *(value(argument.type, near) for argument in function.arguments[1:])])
    return rows, [draw(st.sampled_from(SHAPES)) for _ in function.arguments]


def column(values: list[Any], kind: str, shape: str) -> Any:
    """Values as an Arrow column; texts in one of many shapes."""
    if kind in ("integer", "number"):
        return pa.array(values, pa.int64())
    if kind == "numbers":
        return pa.array(values, pa.list_(pa.float64()))
    if all(value is None or isinstance(value, str) for value in values) and kind != "groups":
        return shaped(values, shape)
    if kind == "groups" and any(isinstance(one, list) for value in values for one in value or ()):
        return pa.array(values, pa.list_(pa.list_(pa.string())))
    return pa.array(values, pa.list_(pa.string()) if shape == "small" else pa.large_list(LARGE_STRING))


def same(got: Any, want: Any) -> bool:
    """Equal, floats to the last digits."""
    if isinstance(want, float):
        return isinstance(got, float) and math.isclose(got, want, rel_tol=0, abs_tol=1e-12)
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(same, got, want))
    return type(got) is type(want) and bool(got == want)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_columns_of_nothing(name: str) -> None:
    """No rows, and columns of Arrow's type null."""
    function = FUNCTIONS[name]
    for rows in (0, 2):
        got = function.call(*[pa.nulls(rows)] * len(function.arguments))
        assert got.type == function.result and got.null_count == len(got) == rows


# --- oracles and cases ------------------------------------------------------------------------------------------


def test_every_function_has_an_oracle_and_a_case() -> None:
    named = {case["function"] for case in CASES}
    assert set(FUNCTIONS) == set(ORACLES)
    assert set(FUNCTIONS) - named <= {"squash", "keywords", "keyword_hits"}  # theirs are in those of eval_json_v2
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=examples(150))
@given(data=st.data())
def test_function_is_as_its_oracle(name: str, data: st.DataObject) -> None:
    function = FUNCTIONS[name]
    rows, shapes = data.draw(calls(function))
    columns = [
        column([row[k] for row in rows], argument.type, shapes[k]) for k, argument in enumerate(function.arguments)
    ]
    got = function.call(*columns)
    assert got.type == function.result
    wrong = [
        (row, found, want)
        for row, found in zip(rows, got.to_pylist(), strict=True)
        if not same(found, want := ORACLES[name](*row))
    ]
    assert not wrong


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    function = FUNCTIONS[case["function"]]
    columns = [
        column([value], argument.type, "plain")
        for value, argument in zip(case["arguments"], function.arguments, strict=True)
    ]
    (got,) = function.call(*columns).to_pylist()
    assert same(got, case["want"]), got
    assert same(ORACLES[case["function"]](*case["arguments"]), case["want"])


@pytest.mark.parametrize("name", [one.name for one in FUNCTIONS.values() if one.arguments[-1].type in ("refs", "list")])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_rows_that_share_lists_are_as_rows_with_their_own(name: str, data: st.DataObject) -> None:
    """A dictionary of lists is read once; rows come in any order, and a list may be of no row."""
    function = FUNCTIONS[name]
    rows, _ = data.draw(calls(function))
    which = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=9)) if rows else []
    firsts = [column([rows[k][n] for k in which], one.type, "plain") for n, one in enumerate(function.arguments[:-1])]
    lists = column([row[-1] for row in rows], function.arguments[-1].type, "plain")
    coded = pa.DictionaryArray.from_arrays(pa.array(which, pa.int32()), lists)
    assert function.call(*firsts, coded).equals(function.call(*firsts, coded.dictionary_decode()))


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(TEXTS, st.integers(0, 4)), max_size=6), st.lists(TEXTS, min_size=5, max_size=5))
def test_ngrams_in_a_tree_are_as_those_of_one_length_after_the_other(pairs: list[Any], references: list[str]) -> None:
    column = from_arrow(pa.array([*(s for s, _ in pairs), *references], LARGE_STRING))
    points, bounds = grams.code_points(column.data, column.offsets, characters.kind_table(), characters.SPACE)
    left = np.arange(len(pairs), dtype=np.int64)
    right = np.array([len(pairs) + k for _, k in pairs], np.int64)
    in_turn = grams.shared_grams_in_turn(points, bounds, left, right, 6)
    assert (grams.shared_grams(points, bounds, left, right, np.argsort(right), 6) == in_turn).all()


def test_tables_of_characters_say_what_python_says() -> None:
    """Nothing above the range that is looked at has a kind, a lower case or a script."""
    assert not any(c.isalnum() or c.isspace() or c.lower() != c for c in map(chr, range(0x40000, 0x110000)))
    numbers, names = characters.scripts()
    assert len(names) < 256
    for letter, script in (("é", "Latin"), ("漢", "Han"), ("ｶ", "Kana"), ("ー", "Kana"), ("Ω", "Greek"), ("5", "")):
        assert names[numbers[ord(letter)]] == script


COMPOSING = st.text(
    st.one_of(
        st.sampled_from("eéÉ\u0301\u0327\u0345ﬁＡ①ßİΣςｶﾞが\u3099각ᄀ\u1161\u11a8\u0dcf\u0dd9½Å가\u0f71\u0f80㌔"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=8,
)


@settings(max_examples=examples(500))
@given(st.lists(COMPOSING, max_size=4))
def test_folded_is_nfkc_and_casefold(values: list[str]) -> None:
    """Characters that are composed with their neighbours, become several or none, and all others."""
    assert folded(pa.array(values, LARGE_STRING)).to_arrow().to_pylist() == [slow.folded(text) for text in values]


def test_every_character_is_folded_as_python_does() -> None:
    values = [f"a{chr(point)}b{chr(point)}" for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    assert folded(pa.array(values, LARGE_STRING)).to_arrow().to_pylist() == [slow.folded(text) for text in values]


@pytest.mark.parametrize("name", ["token_f1", "rouge_2", "rouge_l", "chrf"])
def test_huge_texts(name: str) -> None:
    """Longer than any word of bits and than the first tables, on either side."""
    long, short = "ab c東d " * 3000, "c 東 ab zz " * 150
    got = FUNCTIONS[name].call(pa.array([long, short, "x"]), pa.array([short, long, long]))
    lengths = ORACLES[name](short[:1500], long[:1500])
    assert 0 <= lengths <= 1 and all(0 <= value <= 1 for value in got.to_pylist())
    part = FUNCTIONS[name].call(pa.array([short[:1500]]), pa.array([long[:1500]]))
    assert same(part.to_pylist()[0], lengths)


def test_many_rows_are_sliced_without_a_trace() -> None:
    """More rows than are worked on together."""
    rows = 40_000
    got = functions.token_f1([f"w{k} x" for k in range(rows)], [[f"w{k}"] for k in range(rows)])
    assert got.to_pylist() == [2 / 3] * rows


# --- SQL --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        names = register_functions(connection)
        yield connection
        for name in names:
            connection.remove_function(name)


def value(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    """The one value of a query."""
    ((found,),) = connection.execute(f"select {query}").fetchall()
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_example(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    """What the list of functions shows is true, and the type of the result is the declared one."""
    function = FUNCTIONS[name]
    assert same(value(connection, function.example.sql), function.example.value)
    assert value(connection, f"typeof({function.example.sql})") == sql_result(function)


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("token_f1('x y', 'x y')", 1.0),
        ("token_f1('x y', ['z', null, 'x y'])", 1.0),
        ("token_f1(null, ['x'])", None),
        ("token_f1('x', null)", None),
        ("token_f1('x', null::varchar)", None),
        ("token_f1('x', null::varchar[])", None),
        ("token_f1('x', [])", None),
        ("contains('Dubber', 'ber')", False),
        ("'Dubber'.contains('dubber')", True),
        ("contains(['Dubber'], 'Dubber')", True),
        ("contains([1, 2], 3)", False),
        ("contains(null, 'x')", None),
        ("contains_any('red car', 'car')", True),
        ("contains_any('red car', null::varchar)", None),
        ("include_rate('да', ['да', 'нет'])", 0.5),
        ("numbers_supported('7', null::varchar[])", None),
        ("strict_json('{\"a\": {\"b\": 2}}')->'$.a.b'", "2"),
        ("recall_at(['a'], 'a', 1)", 1.0),
        ("ndcg_at(['x', 'a'], ['a'], null, 2)", math.log(2) / math.log(3)),
        ("1 - numbers_supported('7 and 8', ['8'])", 0.5),
    ],
)
def test_sql(query: str, want: Any, connection: duckdb.DuckDBPyConnection) -> None:
    assert same(value(connection, query), want)


def test_sql_refuses_other_types(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.BinderException, match="token_f1"):
        value(connection, "token_f1('x', 5)")


def test_sql_over_columns_keeps_rows_together(connection: duckdb.DuckDBPyConnection) -> None:
    """Several chunks, constants beside columns, nulls in between, more than one thread."""
    rows = connection.execute(
        """
        select i, token_f1(s, 'w ' || i) as mine, token_f1('w 7', s) as constant, contains(s, i::varchar) as found
        from (select i, case when i % 5 > 0 then 'w ' || i end as s from range(10000) t(i)) order by i
        """
    ).fetchall()
    for i, mine, constant, found in rows:
        if i % 5 == 0:
            assert (mine, constant, found) == (None, None, None)
        else:
            assert (mine, constant, found) == (1.0, 1.0 if i == 7 else 0.5, True)


def test_functions_can_be_registered_twice(connection: duckdb.DuckDBPyConnection) -> None:
    """Each connection has its own."""
    with duckdb.connect() as other:
        names = register_functions(other)
        assert value(other, "token_f1('x', 'x')") == value(connection, "token_f1('x', 'x')") == 1.0
        for name in names:
            other.remove_function(name)


# --- Polars and Python ------------------------------------------------------------------------------------------

FRAME = pl.DataFrame(
    {
        "s": ["the red car", None, "x 5"],
        "text": ["red car", "b", "y"],
        "list": [["red"], ["q", None], []],
        "ids": [["a", "b"], ["c"], None],
        "group": ["1", "1", "2"],
    }
)


def test_polars_expressions() -> None:
    s = pl.col("s")
    got = FRAME.select(
        f1=s.rageval.token_f1(pl.col("text")),  # type: ignore[attr-defined]
        lists=s.rageval.token_f1("list"),  # type: ignore[attr-defined]
        literal=s.rageval.contains(pl.lit("red")),  # type: ignore[attr-defined]
        cut=pl.col("ids").rageval.recall_at("ids", 1),  # type: ignore[attr-defined]
        words=s.rageval.words(),  # type: ignore[attr-defined]
        numbers=s.rageval.numbers(),  # type: ignore[attr-defined]
    )
    assert got.to_dict(as_series=False) == {
        "f1": [1.0, None, 0.0],
        "lists": [2 / 3, None, None],
        "literal": [True, None, False],
        "cut": [0.5, 1.0, None],
        "words": [["red", "car"], None, ["x", "5"]],
        "numbers": [[], None, [5.0]],
    }


def test_polars_lazily_in_groups_and_without_rows() -> None:
    f1 = pl.col("s").rageval.token_f1(pl.col("text"))  # type: ignore[attr-defined]
    lazy = FRAME.lazy().select(f1)
    assert lazy.collect_schema() == {"s": pl.Float64()}
    assert lazy.collect()["s"].to_list() == [1.0, None, 0.0]
    assert lazy.collect(engine="streaming")["s"].to_list() == [1.0, None, 0.0]
    assert FRAME.group_by("group").agg(f1.mean()).sort("group")["s"].to_list() == [1.0, 0.0]
    found = pl.col("s").rageval.contains(pl.lit("x"))  # type: ignore[attr-defined]
    assert FRAME.clear().select(found).to_dict(as_series=False) == {"s": []}


def test_polars_has_every_function() -> None:
    namespace = pl.col("s").rageval  # type: ignore[attr-defined]
    assert all(callable(getattr(namespace, name)) for name in FUNCTIONS)
    with pytest.raises(TypeError, match=r"token_f1\(s, refs\) takes 2 columns; 1 were given"):
        namespace.token_f1()


def test_python_takes_arrays_series_lists_and_scalars() -> None:
    want = [1.0, None, 0.0]
    assert functions.token_f1(FRAME["s"], FRAME["text"]).to_pylist() == want
    assert functions.token_f1(FRAME["s"].to_arrow(), pa.chunked_array([FRAME["text"].to_arrow()])).to_pylist() == want
    assert functions.token_f1(FRAME["s"].to_pandas(), FRAME["text"].to_list()).to_pylist() == want
    assert functions.contains("red car", "car").to_pylist() == [True]
    assert functions.recall_at([["a"], ["b"]], [["a"], ["a"]], 1).to_pylist() == [1.0, 0.0]
    assert functions.recall_at([[1, 2]], [[2]], 2).to_pylist() == [1.0]
    with pytest.raises(TypeError, match="refs is of type refs; a column of struct"):
        functions.token_f1(["a"], [{"a": 1}])
    with pytest.raises(ValueError, match="columns of one length"):
        functions.token_f1(["a", "b"], ["a"])
    with pytest.raises(AttributeError, match="token_f2"):
        functions.__getattr__("token_f2")


# --- the list ---------------------------------------------------------------------------------------------------


def test_the_page_of_functions_is_generated() -> None:
    """`rageval functions --format md -o docs/functions.md` writes it."""
    assert (ROOT / "docs" / "functions.md").read_text(encoding="utf-8") == function_list("md") + "\n"


def test_the_list_of_functions() -> None:
    assert [row["function"].partition("(")[0] for row in json.loads(function_list("json"))] == list(FUNCTIONS)
    for name in FUNCTIONS:
        for format in ("table", "json", "md"):
            assert name in describe_function(name, format)


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_no_example_is_cut(columns: int) -> None:
    shown = function_list("table", Screen(columns))
    assert all(function.example.sql in shown for function in FUNCTIONS.values()) and "…" not in shown
    assert shown.startswith("example") == (columns == 120), "in columns where there is room"
