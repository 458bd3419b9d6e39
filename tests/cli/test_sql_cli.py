"""`rageval sql`: it only reads, from where it may; results stream; without a query it is a shell or reads a pipe."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.comments import columns_query
from rageval_batch.analysis.read_only import single_query
from rageval_batch.cli.sql_shell import NameCompleter, run_shell
from rageval_batch.errors import InputError
from rageval_batch.view.addresses import address
from support.command import run_command
from support.stores import publish, simple_run
from support.terminal import on_terminal
from support.viewing import viewing

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, below a folder whose name has the characters of patterns and of SQL."""
    folder = tmp_path_factory.mktemp("sql") / "st'o[r]e*?"
    publish(folder, {"a": simple_run(x=1.0, y=0.5), "b": simple_run(x=0.5, y=1.0)})
    return folder


@pytest.fixture
def call(store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """(exit code, stdout, stderr) of `rageval sql` in a folder with a secret in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("word\nhidden\n", encoding="utf-8")

    def run(*words: str) -> tuple[int, str, str]:
        return run_command(capsys, "sql", *words, "--store", str(store))

    return run


READING = (
    "select 1", "from runs;", "with a as (select 1 as x) from a", "show tables", "describe runs", "summarize runs",
    "values (1)", "explain select 1", "explain analyze select 1", "explain (format json) select 1",
    "pivot (select 1 as a, 2 as b) on a using sum(b)", "-- a comment\nselect 1", "table runs",
)  # fmt: skip
MORE = (
    "copy (select 1) to 'out.csv'", "copy runs to 'out.parquet'", "attach 'x.db'", "attach ':memory:' as z",
    "detach memory", "install httpfs", "load httpfs", "set threads = 1", "reset threads", "pragma memory_limit='9GB'",
    "export database 'out'", "import database 'out'", "create table t as select 1", "create view v as select 1",
    "create secret (type s3)", "insert into commits select * from commits", "delete from commits", "drop view runs",
    "update commits set profile = 'x'", "call pragma_version()", "use memory", "checkpoint", "vacuum", "begin",
    "update extensions",
    "prepare p as copy (select 1) to 'out.csv'", "execute p", "explain analyze copy (select 1) to 'out.csv'",
    "explain /* */ analyze copy (select 1) to 'out.csv'", "explain (analyze) copy (select 1) to 'out.csv'",
    "copy (pivot (select 1 as a, 2 as b) on a using sum(b)) to 'out.csv'",
    "create table t as pivot (select 1 as a, 2 as b) on a using sum(b)", "select 1; copy (select 1) to 'out.csv'",
    "select 1; select 2", "", ";", "-- nothing",
)  # fmt: skip
FILES = (
    "from 'secret.csv'", "from read_csv('secret.csv')", "from read_text('secret.csv')", "from read_blob('secret.csv')",
    "from glob('*')", "from read_text('/etc/hostname')", "from sniff_csv('secret.csv')",
    "from query('from ''secret.csv''')", "from read_parquet('http://127.0.0.1:9/x.parquet')",
    "select * from read_text((select 'secret.csv'))",
)  # fmt: skip


@pytest.mark.parametrize("query", READING)
def test_queries_are_taken(query: str) -> None:
    assert single_query(query)


@pytest.mark.parametrize("query", MORE)
def test_what_does_more_than_read_is_refused(query: str) -> None:
    with pytest.raises(InputError):
        single_query(query)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("install httpfs", "install"), ("-- x\nLOAD httpfs", "load"), ("reset threads", "reset"),
        ("analyze", "analyze"), ("explain (analyze) delete from commits", "delete"), ("update extensions", "update"),
    ],
)  # fmt: skip
def test_refusals_name_the_word_of_the_user(query: str, word: str) -> None:
    with pytest.raises(InputError, match=f"Queries only read, and '{word}' does more"):
        single_query(query)


@pytest.mark.parametrize("query", [f"select {'1 + ' * 3000} 1", f"select {'(' * 1500}1{')' * 1500}"])
def test_a_query_that_is_nested_deeply_gets_advice_that_can_be_followed(call: Call, query: str) -> None:
    code, out, err = call(query)
    assert (code, out) == (2, "") and "nested deeper than 1000 levels" in err and "SET" not in err


TYPES = (
    "select interval 1 day as i, '\\xAA'::blob as b, [interval 2 month] as l, {'a': '\\xAA'::blob} as s, "
    "map {'k': interval 1 hour} as m, array_value(interval 1 day) as r, null::blob as n"
)
WRITTEN = {"i": "1 day", "b": r"\xAA", "l": ["2 months"], "s": {"a": r"\xAA"}, "m": {"k": "01:00:00"}, "r": ["1 day"]}


def test_intervals_and_blobs_are_written_as_duckdb_does(call: Call, store: Path) -> None:
    """The same in every text, and on the SQL page of the viewer."""
    assert json.loads(call(TYPES, "--format", "json")[1]) == [WRITTEN | {"n": None}]
    (cells,) = list(csv.reader(io.StringIO(call(TYPES, "--format", "csv")[1])))[1:]
    assert cells[:2] == ["1 day", r"\xAA"] and json.loads(cells[2]) == ["2 months"]
    for format in ("table", "md", "html"):
        _, out, _ = call(TYPES, "--format", format)
        assert all(text in out.replace("\\\\", "\\") for text in ("1 day", r"\xAA", "2 months", "01:00:00")), format
    with viewing(store) as client:
        page = client.get(address("/sql", q=TYPES))
    assert all(text in unescape(page) for text in (">1 day<", r">\xAA<", "2 months", "01:00:00"))


def test_the_refusal_is_one_sentence_and_nothing_is_written(call: Call, tmp_path: Path) -> None:
    code, out, err = call("copy (select 1) to 'out.csv'")
    assert (code, out) == (2, "") and len(err.splitlines()) == 1 and "-o FILE" in err
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_files_are_closed(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither files nor the net nor variables of the program; settings stay; the views still read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("word\nhidden\n", encoding="utf-8")
    with open_store(store) as session:
        session.lock()
        beyond = f"from read_text('{str(store).replace(chr(39), chr(39) * 2)}/../../secret.csv')"
        for query in (*FILES, beyond, "from monkeypatch", "from session"):
            with pytest.raises(InputError, match="SQL"):
                session.reader(query).read_all()
        assert session.sql("select count(*) as n from scores").to_pylist() == [{"n": 4}]
        assert session.sql("select count(*) as n from leaderboard").to_pylist() == [{"n": 2}]
        assert session.sql("select bigram_jaccard('ab', 'ab') as j").to_pylist() == [{"j": 1.0}]
        for setting in ("enable_external_access = true", "lock_configuration = false", "allowed_directories = ['/']"):
            with pytest.raises(Exception, match=r"locked|configuration"):
                session._connection.execute(f"set {setting}")


def test_named_files_are_views(call: Call, tmp_path: Path) -> None:
    (tmp_path / "no'tes[1]*.csv").write_text("run_id,note\na,good\n", encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"run_id": "b", "k": [1]}\n', encoding="utf-8")
    query = "select run_id, note, k from runs left join notes using (run_id) left join k using (run_id) order by 1"
    words = (query, "--file", "notes=no'tes[1]*.csv", "--file", "k=rows.jsonl", "--format", "json")
    code, out, err = call(*words)
    assert code == 0, err
    assert json.loads(out) == [{"run_id": "a", "note": "good", "k": None}, {"run_id": "b", "note": None, "k": [1]}]
    assert call("from 'secret.csv'", *words[1:])[0] == 2
    assert "hidden" in call("from 'secret.csv'", "--allow-files")[1]
    assert call("copy (select 1) to 'out.csv'", "--allow-files")[0] == 2
    assert "--file NAME=PATH" in call("from read_csv('secret.csv')")[2]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("scores=secret.csv", "no view of the store has"),
        ("a b=secret.csv", "plain name"),
        ("x=none.csv", "no such file"),
        ("x=secret.txt", "no such file"),
        ("x", "name=value"),
    ],
)
def test_bad_files(call: Call, file: str, says: str) -> None:
    code, out, err = call("select 1", "--file", file)
    assert (code, out) == (2, "") and says in err


def test_a_long_result_streams_and_a_late_error_leaves_no_file(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("select range as n, 'x,' || range as t from range(50000)", "--format", "csv")
    rows = list(csv.reader(io.StringIO(out)))
    assert code == 0 and len(rows) == 50_001 and rows[-1] == ["49999", "x,49999"]
    assert call("select range as n from range(50000)", "-o", "n.parquet")[0] == 0
    assert pq.read_table(tmp_path / "n.parquet").num_rows == 50_000
    late = "select if(range = 40000, error('too late'), range) as n from range(50000)"
    for target in ("late.csv", "late.parquet", "late.xlsx"):
        code, _, err = call(late, "-o", target)
        assert code == 2 and "too late" in err and not (tmp_path / target).exists()


def test_a_screen_shows_the_first_rows_and_says_how_many_more(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select range as n from range(1000)"
    assert len(call(query)[1].splitlines()) == 1_001
    on_terminal(monkeypatch)
    _, out, err = call(query)
    assert len(out.splitlines()) == 201 and "1,000 rows: 800 more than are shown" in err


def test_columns_of_the_same_name_are_all_there(call: Call) -> None:
    for format, wanted in (("json", '[{"a": 1, "a_1": 2, "a_2": 3}]'), ("csv", "a,a_1,a_2\n1,2,3")):
        assert call("select 1 as a, 2 as a, 3 as a", "--format", format)[1].strip() == wanted


def test_a_pipe_gives_the_query(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 7 as n;\n"))
    assert json.loads(call("--format", "json")[1]) == [{"n": 7}]
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert "Give a query" in call()[2]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("leaderbord", 'Did you mean "leaderboard"?'),
        ("commit", 'Did you mean "commits"?'),
        ("priced", 'Did you mean "prices"?'),
        ("nope", '"show tables" lists the views.'),
        ("file_row", 'Did you mean "fail_reasons"?'),
        ("dropped_run", '"show tables" lists the views.'),
    ],
)
def test_names_that_are_suggested_are_listed(store: Path, tmp_path: Path, name: str, said: str) -> None:
    """And not tables of ours that other views are made of."""
    (tmp_path / "prices.csv").write_text("x\n1\n", encoding="utf-8")
    with open_store(store) as session:
        session.lock({"prices": str(tmp_path / "prices.csv")})
        with pytest.raises(InputError) as refused:
            session.sql(f"from {name} limit 1")
    assert str(refused.value).splitlines() == [f"SQL: Catalog Error: Table with name {name} does not exist!", said]


# --- the shell ------------------------------------------------------------------------------------------------------


def test_the_shell_reads_queries_of_several_lines_and_goes_on_after_a_mistake(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    asked: list[str] = []

    def execute(query: str) -> None:
        asked.append(query)
        if "wrong" in query:
            raise InputError("SQL: wrong\x1b[31m")

    typed = [
        "from runs",
        "limit 1;",
        ".tables",
        "",
        ".schema runs",
        ".schema no",
        "wrong;",
        ".what",
        "select 1;",
        ".quit",
    ]
    with open_store(store) as session, create_pipe_input() as keys:
        keys.send_text("".join(f"{line}\r" for line in typed))
        run_shell(session, execute, keys, screen=DummyOutput())
    assert asked == ["from runs\nlimit 1;", "show tables", columns_query("runs"), "wrong;", "select 1;"]
    out, err = capsys.readouterr()
    assert ".schema NAME" in out and "wrong\\x1b[31m" in err and "There is no view no; .tables lists them." in err
    history = (tmp_path / "rageval" / "sql_history").read_text(encoding="utf-8")
    assert "+limit 1;" in history


def test_the_shell_ends_with_the_input_and_needs_no_place_for_its_history(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    asked: list[str] = []
    with open_store(store) as session, create_pipe_input() as keys:
        keys.send_text("half a query\x03select 1;\r\x04")
        run_shell(session, asked.append, keys, screen=DummyOutput())
    assert asked == ["select 1;"]


def test_the_shell_completes_views_and_columns(store: Path) -> None:
    with open_store(store) as session:
        session.lock()
        completer = NameCompleter(session)

        def offered(text: str, behind: str = "") -> list[str]:
            document = Document(text + behind, len(text))
            return [found.text for found in completer.get_completions(document, CompleteEvent())]

        assert offered("from leader") == ["leaderboard"]
        assert "prompt_sha256" in offered("select prom", " from runs")
        assert offered("select prom") == []
        assert offered(".ta") == [".tables"]
        assert offered(".schema run_s") == ["run_summary"]
        assert "where" in offered("from runs wh")


@pytest.mark.parametrize("format", ["csv", "tsv", "json", "jsonl", "md", "html", "table"])
@pytest.mark.parametrize("value", ["'infinity'::timestamp", "'290000-01-01'::date", "['infinity'::timestamp]"])
def test_times_that_python_has_not_are_one_sentence(value: str, format: str, call: Call) -> None:
    code, _, err = call(f"select {value} as t", "--format", format)
    assert code == 2
    assert "Cast it to text in the query" in err
    code, out, _ = call(f"select ({value})::varchar as t", "--format", format)
    assert code == 0
    assert "infinity" in out or "290000" in out


def test_types_that_parquet_has_not_are_one_sentence(call: Call, tmp_path: Path) -> None:
    code, _, err = call("select interval 1 day as i", "-o", str(tmp_path / "out.parquet"))
    assert code == 2
    assert "has no type in Parquet" in err
    assert not (tmp_path / "out.parquet").exists()
