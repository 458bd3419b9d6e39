"""Paths into rows, encodings that are recognised, and columns that are kept: each against a slow, obvious account."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import read_blocks
from rageval_batch.inputs.readers.mapped import MappedBlock
from rageval_batch.inputs.reading import Reading, steps_of
from rageval_batch.inputs.recognise import recognise_delimiter, recognise_encoding
from rageval_batch.inputs.run_names import with_run_names
from rageval_batch.inputs.sources import frame_source, source
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs.job import Job
from rageval_batch.runs.store import Store
from rageval_batch.runs.sweep import run
from support.effort import examples
from support.inputs import put


def walked(row: Any, steps: tuple[str | int, ...]) -> Any:
    """The value at the end of steps; None where they lead nowhere."""
    for step in steps:
        if isinstance(step, str):
            row = row.get(step) if isinstance(row, dict) else None
        else:
            row = row[step] if isinstance(row, list) and -len(row) <= step < len(row) else None
    return row


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab я", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
STEPS = st.lists(st.sampled_from(["a", "b", "c", 0, 1, -1, -2]), min_size=1, max_size=3)


def path_of(steps: list[str | int]) -> str:
    parts = (f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps)
    return "".join(parts).removeprefix(".")


@settings(max_examples=examples(80))
@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), min_size=1, max_size=5), STEPS)
def test_paths_into_json_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], steps: list[str | int]
) -> None:
    """A field at a path is what one finds by walking there."""
    file = source(put(tmp_path_factory.mktemp("paths") / "rows.jsonl", rows))
    steps = ["a", *steps]
    (block,) = read_blocks(file)
    found = block.field_at(path_of(steps))
    wanted = [walked(row, tuple(steps)) for row in rows]
    texts = [
        None if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in wanted
    ]
    assert [one and one.replace(" ", "") for one in found.text.to_pylist()] == [
        one and one.replace(" ", "") for one in texts
    ]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("doc.id", ["7", "8"]), ("doc.tags[0]", ["x", "z"]), ("doc.tags[-1]", ["y", "z"]),
        ("doc.tags[5]", [None, None]),
        ("a.b", ["dotted", None]), ("held.text", ["in a cell", None]), ("nowhere.x", [None, None]),
    ],
)  # fmt: skip
def test_paths_into_columns(path: str, wanted: list[str | None]) -> None:
    """Structs, lists, texts that hold JSON, and names with dots."""
    rows = [
        {"doc": {"id": 7, "tags": ["x", "y"]}, "a.b": "dotted", "held": '{"text": "in a cell"}'},
        {"doc": {"id": 8, "tags": ["z"]}, "a.b": None, "held": "no JSON"},
    ]
    (block,) = read_blocks(frame_source(pa.Table.from_pylist(rows), "rows"))
    assert block.field_at(path).text.to_pylist() == wanted


def test_a_name_of_several_paths(tmp_path: Path) -> None:
    """Joined by a stroke; null where one part is not there."""
    rows = [{"p": {"id": "m"}, "k": 0}, {"k": 1}]
    file = source(put(tmp_path / "o.jsonl", rows))
    (inner,) = read_blocks(file)
    block = MappedBlock(inner, Reading(fields={"run_id": ("{run} + p.id + k",)}), "o")
    assert block.field(("run_id",)).text.to_pylist() == ["o/m/0", None]


@pytest.mark.parametrize(
    ("path", "steps"),
    [("a.b[0].c", ("a", "b", 0, "c")), ('a["x.y"][-1]', ("a", "x.y", -1)), ("Model Answer", ("Model Answer",))],
)
def test_steps(path: str, steps: tuple[str | int, ...]) -> None:
    assert steps_of(path) == steps


@pytest.mark.parametrize("path", ["", "a..b", "a[", "a[x]", "[]"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(InputError, match="path"):
        steps_of(path)


def test_a_reading_is_kept_and_found_again() -> None:
    reading = Reading(encoding="cp1251", fields={"output": ("a", "b[0]")}, rows=("x.y",), id_from_question=True)
    assert Reading.from_dict(json.loads(json.dumps(reading.as_dict()))) == reading
    assert Reading().as_dict() == {}


# --- encodings and delimiters ---------------------------------------------------------------------------------------

TEXTS = {
    "cp1252": ["Le café est fermé à midi", "¿Dónde está el niño?", "Der Käufer trägt die Kosten für die Übergabe"],
    "cp1251": ["Столица Франции — Париж", "Москва", "ответ: 42 рубля", "НДС не облагается", "нет данных"],
    "gb18030": ["北京是中国的首都", "根据合同第三条", "四万二千元", "你好，世界", "没有相关记录"],
    "cp932": ["東京は日本の首都です", "カタカナのテスト", "契約書の第三条による", "大阪", "検索結果なし"],
    "utf-16": ["Capital is Paris", "Париж", "東京"],
}


HELD_OUT = {  # texts on which no weight was set
    "cp1252": [
        "Où est la bibliothèque de l'université ?", "Die Prüfung wird für März geplant", "El año pasado ganó más",
        "Não há informação disponível", "Smörgåsbord på svenska är gott", "Il perché è più chiaro così",
    ],
    "cp1251": [
        "Срок поставки составляет тридцать дней", "Нет ответа", "Санкт-Петербург", "ООО «Ромашка»", "см. стр. 12",
        "Київ є столицею України",
    ],
    "gb18030": ["该协议自签字之日起生效", "广州市天河区", "不知道", "第十二页", "答案：正确", "本公司不承担任何责任"],
    "cp932": [
        "この質問には答えられません", "横浜市", "サーバーのエラー", "資料に記載がない",
        "はい、そうです", "第十二条の規定",
    ],
}  # fmt: skip
ENGLISH = "The quick brown fox jumps over the lazy dog and the report says nothing of it. " * 3


@pytest.mark.parametrize(
    "around", ["{}", "question_id,output\n1,{}\n", f"id,output\n1,{ENGLISH}{{}}\n2,{ENGLISH}{{}}\n"]
)
@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in HELD_OUT.items() for text in texts])
def test_encodings_of_other_texts(encoding: str, text: str, around: str) -> None:
    """Alone, in a cell, and amid English."""
    content = around.replace("{}", text).encode(encoding)
    assert recognise_encoding(content) == (encoding, True)


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_encodings_of_short_texts(encoding: str, text: str) -> None:
    """One cell is enough."""
    assert recognise_encoding(f"question_id,output\n1,{text}\n".encode(encoding))[0] == encoding


@pytest.mark.parametrize("text", ["plain", "Größe 門 я", "門" * 50])
def test_utf8_is_no_guess(text: str) -> None:
    content = text.encode()
    assert recognise_encoding(content) == ("", False)
    assert recognise_encoding(content + "門".encode()[:1])[0] == ""  # cut in the middle of a character
    assert recognise_encoding(content + b"\xff") == ("", False)  # a damaged byte makes no other encoding


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a,b\n1,2\n", ","), ("a;b\n1,5;2,5\n", ";"), ("a\tb, c\n1\t2\n", "\t"), ("id|output\n1|a, b; c\n", "|"),
        ("question_id,output\n1,a;b;c\n", ","), ("alone\n1\n", ","), ("", ","),
    ],
)  # fmt: skip
def test_delimiters(content: str, delimiter: str) -> None:
    assert recognise_delimiter(content.encode(), "", cut=False) == delimiter


# --- names of runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["A/o.jsonl", "B/o.jsonl"], ["A", "B"]),
        (["x/A/out/o.jsonl", "x/B/out/o.jsonl"], ["A", "B"]),
        (["o.jsonl", "B/o.jsonl"], ["B", "o"]),
        (["A/o.jsonl", "A/p.jsonl", "B/o.jsonl"], ["A", "p", "B"]),
        (["A.jsonl", "A/o.jsonl", "B/o.jsonl"], ["A", "A/o", "B/o"]),
        (["x/A/o.jsonl", "x/B/o.jsonl", "y/A/o.jsonl"], ["x/A", "x/B", "y/A"]),
        (["o.jsonl", "o.csv"], ["o.csv", "o.jsonl"]),
    ],
)
def test_names_of_runs_are_distinct(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in paths:
        put(Path(path), "a,b\n")
    files, _ = with_run_names([source(path) for path in sorted(paths)])
    assert sorted(file.run for file in files) == sorted(names)


# --- other columns --------------------------------------------------------------------------------------------------

QUESTIONS = [{"id": str(k), "question": "?", "must_include": ["a"]} for k in range(3)]


def extras_of(folder: Path, outputs: Path, keep_inputs: bool = False) -> tuple[dict[str, list[Any]], Any]:
    """(columns of the kept extras, the commit)"""
    profile = get_profile("include_rate")
    files, _ = with_run_names([source(outputs)])
    job = Job(
        profile=profile, params=profile.read_params({}), outputs=files,
        questions=[source(put(folder / "q.jsonl", QUESTIONS))], keep_inputs=keep_inputs,
    )  # fmt: skip
    commit = run(job, Store(folder / "runs")).commit
    table = pq.read_table(commit.files("extras")[0], partitioning=None)
    columns = {name: table.column(name).to_pylist() for name in table.column_names[5:]}
    return columns, commit


def test_other_columns_are_kept_with_their_types(tmp_path: Path) -> None:
    """Whole numbers, numbers, booleans, texts, JSON of what is nested; mixed ones are texts; constant ones metadata."""
    rows = [
        {
            "question_id": "0",
            "output": "a",
            "n": 1,
            "ms": 2,
            "ok": True,
            "t": "x",
            "u": {"in": 3},
            "mix": 1,
            "model": "m",
        },
        {"question_id": "1", "output": "a", "n": -4, "ms": 2.5, "ok": False, "t": "007", "mix": "one", "model": "m"},
        {"question_id": "2", "output": "a", "ms": 1e3, "ok": None, "u": [1], "big": 12345678901234567890, "model": "m"},
    ]
    found, _ = extras_of(tmp_path, put(tmp_path / "o.jsonl", rows))
    assert found == {
        "n": [1, -4, None], "ms": [2.0, 2.5, 1000.0], "ok": [True, False, None], "t": ["x", "007", None],
        "u": ['{"in": 3}', None, "[1]"], "mix": ["1", "one", None], "big": [None, None, "12345678901234567890"],
    }  # fmt: skip


def test_cells_of_csv_get_types(tmp_path: Path) -> None:
    """What looks like a number in every row is one; a code with a zero before it is not; a blank is nothing."""
    content = "question_id,output,ms,code,cost\n0,a,3,007,0.5\n1,a,4,008,\n2,a,5,9,1e-3\n"
    found, _ = extras_of(tmp_path, put(tmp_path / "o.csv", content))
    assert found == {"ms": [3, 4, 5], "code": ["007", "008", "9"], "cost": [0.5, None, 0.001]}


def test_rescoring_a_kept_copy_keeps_them(tmp_path: Path) -> None:
    from rageval_batch.runs.stored_inputs import job_of

    rows = [{"question_id": str(k), "output": "a", "ms": k} for k in range(3)]
    found, commit = extras_of(tmp_path, put(tmp_path / "o.jsonl", rows), keep_inputs=True)
    profile = get_profile("include_rate")
    again = job_of(commit, profile, profile.read_params({"w_safe": 0.1}), runs=frozenset({"o"}), folder=tmp_path)
    rescored = run(again, Store(tmp_path / "runs")).commit
    assert rescored.id != commit.id
    table = pq.read_table(rescored.files("extras")[0], partitioning=None)
    assert table.column("ms").to_pylist() == found["ms"] == [0, 1, 2]
