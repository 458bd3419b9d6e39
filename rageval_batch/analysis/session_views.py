"""The tables, views, macros and functions of a session: each is created when a query first names it, because creating
all of them takes long."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.analysis.answer_filter import NO_ANSWERS, SYNTAX_TREE, answer_filter
from rageval_batch.analysis.catalog_rows import (
    METRIC_COLUMNS,
    ProfileRow,
    gate_table,
    metric_sql,
    metric_table,
    profile_table,
    wide_sql,
)
from rageval_batch.analysis.comments import INTERNAL, PUBLIC, comment_on, public_views
from rageval_batch.analysis.sql_functions import VIEW_FUNCTIONS
from rageval_batch.analysis.stored_answers import ANSWERS, read_answers
from rageval_batch.analysis.stored_questions import QUESTIONS, read_questions
from rageval_batch.analysis.stored_tables import StoredTables
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.resources import sql_definition, sql_names
from rageval_batch.runs.database import create_table
from rageval_batch.runs.store import Commit, Store
from rageval_batch.sql_text import parquet_reader, quoted

WORD = re.compile(r"\w+")
_USE = re.compile(r"(?:\b(?:from|join)\s+(\w+))|(?:\b(\w+)\s*\()")  # a table that is read, or a function that is called
_LISTING = frozenset(
    (
        "show",
        "pragma",
        "information_schema",
        "sqlite_master",
        "duckdb_views",
        "duckdb_functions",
        "duckdb_tables",
        "duckdb_columns",
    )
)
_DESCRIBES_ALL = frozenset(("describe", "desc", "tables"))  # and no view, which is then the only one that is needed

# Tables of what stored inputs hold: filled when a query names one of the words below.
_INPUT_TABLES = frozenset(("stored_questions", "stored_answers"))
_ABOUT_QUESTIONS = frozenset(("questions", "run_groups_by", "stored_questions"))
_ABOUT_ANSWERS = frozenset(("answers", "stored_answers"))
_REPEATED = ["commit", "profile", "run_id", "question_id"]  # columns of answers with few values

# Of all metrics these views read the score alone. A query over nothing else is planned many times faster when
# `metric_rows` has no other metrics.
_METRIC_ROWS = "metric_rows"
_OF_SCORES = frozenset(
    ("question_difficulty", "ranked", "regressions", "repeat_scores", "run_groups_by", "score_deltas")
)
_SCORE = frozenset(("score",))

_PINNED = pa.schema([(name, LARGE_STRING) for name in ("run_id", "stored_id", "commit")])
_FILE_ROWS = pa.schema(
    [
        *((n, LARGE_STRING) for n in ("commit", "run_id", "profile", "question_id", "unit", "fail_reason", "metric")),
        ("by_question", pa.bool_()),
        ("repeat", pa.int32()),
        *((name, pa.float64()) for name in ("weight", "value", "numerator", "denominator")),
    ]
)
FILE_RUNS = pa.schema(
    [*((name, LARGE_STRING) for name in ("run_id", "stored_id", "commit", "profile", "eval_set")),
     ("repeats", pa.int64())]
)  # fmt: skip


@lru_cache(maxsize=64)
def _uses(statement: str) -> frozenset[str]:
    """What a view or macro may build on: the tables that it reads and the functions that it calls."""
    lines = [line for line in statement.splitlines() if not line.startswith("--")]
    return frozenset(table or function for table, function in _USE.findall("\n".join(lines)))


@lru_cache(maxsize=256)
def _reads_all_metrics(name: str) -> bool:
    """Whether a view or macro reads `metric_rows`, itself or by what it builds on, and not only the scores in it."""
    if name == _METRIC_ROWS:
        return True
    if name in _OF_SCORES or name not in sql_names():
        return False
    return any(_reads_all_metrics(used) for used in _uses(sql_definition(name)) if used != name)


class SessionViews:
    """What queries of a session can name, beside the tables that the session itself keeps."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        store: Store,
        commits: list[Commit],
        *,
        catalog: tuple[ProfileRow, ...],
        pinned: list[dict[str, str]],
        functions: bool,
        spill: Path,
    ) -> None:
        """`pinned`: the runs of RUN@COMMIT names. `functions`: whether queries may call the library of functions.
        `spill`: a folder for what takes too much room in memory."""
        self._connection = connection
        self._commits = commits
        self._catalog = catalog
        self.notes: list[str] = []  # what queries could not read
        self._registered: list[str] = []
        self._functions: set[str] = set()  # that no query has named yet
        if functions:
            from rageval_batch.columnar.functions import FUNCTIONS  # readers of values, which take long to compile

            self._functions = set(FUNCTIONS)
        connection.execute(f"create schema {INTERNAL}")
        connection.execute(f"set search_path = '{INTERNAL},{PUBLIC}'")  # new tables and views go to the first
        self._create_base_tables(pinned)
        self._stored = StoredTables(connection, store, commits, catalog=catalog)
        self._metric_branches = [
            (metric.metric, metric_sql(row, metric, f"stored_{row.profile}"))
            for row in catalog if self._stored.commits_of(row.profile)
            for metric in row.metrics
        ]  # fmt: skip
        self._every_metric = frozenset(metric for metric, _ in self._metric_branches)
        self._metrics_seen: frozenset[str] = frozenset()  # those that `metric_rows` has
        self._wide = {row.profile: row for row in catalog}
        self._waiting = {name for name, folder in sql_names().items() if folder is None or folder in self._wide}
        self._waiting |= {*self._wide, *self._stored.names, _METRIC_ROWS, *_INPUT_TABLES}
        self._public = (public_views() - {"commits"} | set(self._wide)) & self._waiting
        self._commented = self._questions_read = False
        self._spill = spill
        self._answers_read = NO_ANSWERS
        self._answers_file: Path | None = None

    @property
    def public(self) -> frozenset[str]:
        """The tables and views that a user may rely on."""
        return frozenset({*self._public, "commits"})

    def is_waiting(self, name: str) -> bool:
        """Whether a table, view or macro of that name would be created for a query."""
        return name in self._waiting

    def unregister_functions(self) -> None:
        """Take the functions of this session from its connection."""
        for name in self._registered:
            self._connection.remove_function(name)

    def define(self, query: str, metrics: Iterable[str] | None = None) -> None:
        """Create the views, macros and functions that a query names and what they build on.

        For a query that lists tables, views or functions, such as `show tables`, all of them are created. `metrics`:
        those that the query reads, where that is known and its views do not say it.
        """
        words = set(WORD.findall(query.lower()))
        listing = not words.isdisjoint(_LISTING) or words <= _DESCRIBES_ALL
        named = self._functions if listing else self._functions & words
        if named:
            from rageval_batch.columnar.functions import register_functions

            self._registered += register_functions(self._connection, sorted(named))
            self._functions -= named
        if not listing:
            for name in sorted(words):
                self.create(name)
        elif not self._commented:
            for name in sorted(self._waiting):
                self.create(name)
            self._comment()
            self._commented = True
        if _METRIC_ROWS not in self._waiting:
            all_of_them = any(map(_reads_all_metrics, words))
            self._show_metrics(_SCORE if not all_of_them else self._every_metric if metrics is None else metrics)
        if not self._questions_read and not words.isdisjoint(_ABOUT_QUESTIONS):
            self._read_questions()
        if not words.isdisjoint(_ABOUT_ANSWERS):
            self._read_answers(query)

    def create(self, name: str) -> None:
        """Create a table, view or macro, and before it what it builds on, once; any other name does nothing."""
        if name in VIEW_FUNCTIONS:
            self._create_function(name)
        if name not in self._waiting:
            return
        self._waiting.remove(name)
        if name in self._stored.names:
            for used in self._stored.needs(name):
                self.create(used)
            self._stored.create(name)
            return
        if name == "stored_questions":
            create_table(self._connection, name, QUESTIONS.empty_table())
            return
        if name == "stored_answers":
            create_table(self._connection, "no_answers", ANSWERS.empty_table())
            self._connection.execute(_stored_answers("from no_answers"))
            return
        statement = self._statement(name)
        for used in sorted(_uses(statement)):
            self.create(used)
        if name in self._public:
            statement = statement.replace(f"create view {name} as", f"create view {PUBLIC}.{name} as", 1)
        self._connection.execute(statement)

    def insert(self, table: str, rows: pa.Table) -> None:
        """Put those rows into a small table of the session that it does not have yet."""
        self._connection.register("new_rows", rows)
        self._connection.execute(f"insert into {table} by name select * from new_rows except select * from {table}")
        self._connection.unregister("new_rows")

    def add_metric_branch(self, metric: str, query: str) -> None:
        """Let `metric_rows` have the rows of one more metric."""
        self._metric_branches.append((metric, query))
        self._every_metric |= {metric}
        self._metrics_seen -= {metric}  # of another profile

    def keep_intervals(self) -> None:
        """Keep the intervals of the table `ranking` in the store, so that they are not resampled again."""
        self.define("interval_definitions stored_intervals current_runs")
        self._stored.keep_intervals()

    def _statement(self, name: str) -> str:
        """What creates a view or macro: a file of sql/, or what follows from the catalog."""
        if name in self._wide:
            return wide_sql(self._wide[name])
        return self._metric_rows(self._metrics_seen) if name == _METRIC_ROWS else sql_definition(name)

    def _metric_rows(self, metrics: frozenset[str]) -> str:
        """What creates the view of metrics as rows: these metrics of the store, and what was read from files."""
        branches = [query for metric, query in self._metric_branches if metric in metrics]
        branches.append(f"select {METRIC_COLUMNS} from file_rows")
        return f"create or replace view {_METRIC_ROWS} as {' union all '.join(branches)}"

    def _show_metrics(self, metrics: Iterable[str]) -> None:
        """Let `metric_rows` have these metrics of the store, beside those that it has.

        At first it has none: DuckDB plans a view anew for each view that is created over it.
        """
        if missing := frozenset(metrics) - self._metrics_seen:
            for used in self._stored.needs("stored_scores"):
                self.create(used)
            self._metrics_seen |= missing
            self._connection.execute(self._metric_rows(self._metrics_seen))

    def _create_base_tables(self, pinned: list[dict[str, str]]) -> None:
        """The small tables that views read: commits, catalogs, and runs that are compared from files."""
        metrics = [metric for row in self._catalog for metric in row.metrics]
        tables: Mapping[str, pa.Table] = {
            "pinned": pa.Table.from_pylist(pinned, schema=_PINNED),
            f"{PUBLIC}.commits": _commit_table(self._commits),
            "metric_catalog": metric_table(metrics),
            "profile_catalog": profile_table(self._catalog),
            "file_rows": _FILE_ROWS.empty_table(),
            "file_runs": FILE_RUNS.empty_table(),
            "gate_catalog": gate_table(self._catalog),
        }
        for name, table in tables.items():
            create_table(self._connection, name, table)

    def _create_function(self, name: str) -> None:
        """Register a function of ours over Arrow columns that views call, once."""
        if name in self._registered:
            return
        function, arguments, result = VIEW_FUNCTIONS[name]
        kind: Any = {"type": "arrow", "null_handling": "special"}
        self._connection.create_function(name, function, arguments, result, **kind)
        self._registered.append(name)

    def _read_questions(self) -> None:
        """Read the question files of the store: only where a query is about questions, once."""
        self._questions_read = True
        questions, notes = read_questions(self._commits, {row.profile: row.question_groups for row in self._catalog})
        self.insert("stored_questions", questions)
        self.notes += notes

    def _read_answers(self, query: str) -> None:
        """Read the answers of current runs that a query can be about, if they are not there; in place of others.

        They lie in a file: in memory they would take as much room as all inputs together.
        """
        ((tree,),) = self._connection.execute(SYNTAX_TREE, [query]).fetchall()
        wanted = answer_filter(tree)
        if self._answers_read.covers(wanted):
            return
        self.create("current_runs")
        runs: dict[str, frozenset[str]] = {}
        if wanted.runs is None or wanted.runs:
            named = "" if wanted.runs is None else f" and run_id in ({', '.join(map(quoted, sorted(wanted.runs)))})"
            found = (
                f"select commit, list(stored_id) from current_runs where stored_id is not null{named} group by commit"
            )
            runs = {commit: frozenset(names) for commit, names in self._connection.execute(found).fetchall()}
        target = self._spill / f"answers-{secrets.token_hex(8)}.parquet"
        with pq.ParquetWriter(target, ANSWERS, compression="lz4", use_dictionary=_REPEATED) as writer:
            for batch in read_answers(self._commits, runs, wanted.questions, notes=self.notes):
                writer.write_batch(batch)
        self._connection.execute(_stored_answers(f"from {parquet_reader([target])}"))
        self._answers_read = wanted
        if self._answers_file is not None:
            self._answers_file.unlink(missing_ok=True)
        self._answers_file = target

    def _comment(self) -> None:
        """Say of every public view and column what it is."""
        query = f"""
            select table_name, list(column_name) from duckdb_columns()
            where schema_name = '{PUBLIC}' and not internal group by all
        """
        for name, columns in self._connection.execute(query).fetchall():
            if name in self._public or name == "commits":
                comment_on(self._connection, name, self._wide.get(name), columns=columns)


def _stored_answers(rows: str) -> str:
    """What creates the view of answers that were read."""
    return f"create or replace view {INTERNAL}.stored_answers as {rows}"


def _commit_table(commits: list[Commit]) -> pa.Table:
    """The public table `commits`: a row for each commit of the store."""
    schema = pa.schema(
        [
            ("commit", LARGE_STRING),
            ("created_at", pa.timestamp("us", "UTC")),
            ("profile", LARGE_STRING),
            ("eval_set", LARGE_STRING),
            ("rows_read", pa.int64()),
            ("score_rows", pa.int64()),
            ("missing_rows", pa.int64()),
            ("rejected_rows", pa.int64()),
        ]
    )
    rows = [
        {
            "commit": commit.id,
            "created_at": datetime.fromisoformat(commit.manifest["created_at"]),
            "profile": commit.manifest["profile"],
            "eval_set": commit.manifest["questions"]["version"],
            **commit.manifest["counts"],
        }
        for commit in commits
    ]
    return pa.Table.from_pylist(rows, schema=schema)
