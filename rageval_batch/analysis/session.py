"""One DuckDB session over a store: the views of sql/, the library of functions, queries. It knows no profile:
which tables and metrics there are reaches it as rows of a catalog."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa

from rageval_batch.analysis import read_only
from rageval_batch.analysis.catalog_rows import (
    METRIC_COLUMNS,
    UNKNOWN_PROFILE,
    MetricRow,
    ProfileRow,
    gate_table,
    metric_sql,
    metric_table,
    profile_table,
    quoted_name,
    stored_profile,
    wide_sql,
)
from rageval_batch.analysis.comments import INTERNAL, PUBLIC, comment_on, public_views, with_comments
from rageval_batch.analysis.sql_functions import VIEW_FUNCTIONS, Function
from rageval_batch.analysis.stored_answers import ANSWERS, read_answers
from rageval_batch.analysis.stored_questions import QUESTIONS, read_questions
from rageval_batch.analysis.stored_tables import StoredTables
from rageval_batch.columnar.functions import FUNCTIONS, register_functions
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError, StoreError
from rageval_batch.inputs.run_files import EXPORT_KEY
from rageval_batch.model.schemas import KEYS
from rageval_batch.resources import sql_definition, sql_names
from rageval_batch.runs.database import connect, spill_folder
from rageval_batch.runs.store import Commit, Store
from rageval_batch.sql_text import quoted

_WORD = re.compile(r"\w+")
_USE = re.compile(r"(?:\b(?:from|join)\s+(\w+))|(?:\b(\w+)\s*\()")  # a table that is read, or a function that is called
_TEXT = re.compile(r"'[^']*'")
_NUMBER = re.compile(r"(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*)$")
_LISTING = frozenset(
    (
        "show",
        "describe",
        "pragma",
        "information_schema",
        "sqlite_master",
        "duckdb_views",
        "duckdb_functions",
        "duckdb_tables",
        "duckdb_columns",
    )
)

# Tables of what inputs hold, which is read when a query names them.
_READ_WHEN_ASKED = {"stored_questions": QUESTIONS, "stored_answers": ANSWERS}
_ABOUT_QUESTIONS = frozenset(("questions", "run_groups_by", "stored_questions"))
_ABOUT_ANSWERS = frozenset(("answers", "stored_answers"))

# Errors of a query itself: no file has to be looked at.
_OF_QUERIES = (
    duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.ConversionException,
    duckdb.OutOfMemoryException, duckdb.InterruptException, duckdb.PermissionException,
)  # fmt: skip

BATCH_ROWS = 10_000  # of a result that is read batch by batch

# What an exported file of score rows says of their runs: a JSON object in the metadata of the Parquet file.
EXPORTED = (
    "run_id", "profile", "eval_set", "commit", "questions_sha256", "source_sha256", "params_sha256", "run_stat"
)  # fmt: skip

_GIVEN_ROWS = pa.schema(
    [
        *((n, LARGE_STRING) for n in ("commit", "run_id", "profile", "question_id", "unit", "fail_reason", "metric")),
        ("by_question", pa.bool_()),
        ("repeat", pa.int32()),
        *((name, pa.float64()) for name in ("weight", "value", "numerator", "denominator")),
    ]
)
_GIVEN_RUNS = pa.schema(
    [*((name, LARGE_STRING) for name in ("run_id", "stored_id", "commit", "profile", "eval_set")),
     ("repeats", pa.int64())]
)  # fmt: skip


def _with_stored(
    catalog: tuple[ProfileRow, ...], commits: list[Commit], described: Callable[[Commit], ProfileRow | None]
) -> tuple[ProfileRow, ...]:
    """The catalog, and the profiles of the store that it does not have, as their newest commits describe them."""
    newest = {commit.manifest["profile"]: commit for commit in commits}
    for row in catalog:
        newest.pop(row.profile, None)
    found = (described(commit) for commit in newest.values())
    return (*catalog, *(row for row in found if row is not None))


@lru_cache(maxsize=64)
def _uses(statement: str) -> frozenset[str]:
    """What a view or macro may build on: the tables that it reads and the functions that it calls."""
    lines = [line for line in statement.splitlines() if not line.startswith("--")]
    return frozenset(table or function for table, function in _USE.findall("\n".join(lines)))


class Session:
    """Queries over the commits of a store, as they were when it was opened."""

    def __init__(
        self,
        store: Store,
        catalog: Iterable[ProfileRow],
        functions: bool = False,
        named: Iterable[str] = (),
        described: Callable[[Commit], ProfileRow | None] = stored_profile,
        commits: list[Commit] | None = None,
    ) -> None:
        """`named` are the runs that will be asked for; those of the form RUN@COMMIT become visible by that name.

        `described`: what a commit says of a profile that the catalog does not have. `commits`: those of the store,
        where they have been read.
        """
        self.store = store
        self.commits = store.commits() if commits is None else commits
        self._pinned = [pin for name in named if (pin := self._pin(name)) is not None]
        self._catalog = _with_stored(tuple(catalog), self.commits, described)
        self._spill = spill_folder(store.staging_folder)
        self._connection = connect(self._spill)
        self._registered: list[str] = []
        self._kept: set[str] = set()
        self._locked = False
        self._connection.execute(f"create schema {INTERNAL}")
        self._connection.execute(f"set search_path = '{INTERNAL},{PUBLIC}'")  # what is made goes to the first
        self._create_base()
        self._stored = StoredTables(self._connection, store, self.commits, self._catalog)
        self._metric_branches = [
            metric_sql(row, metric, f"stored_{row.profile}")
            for row in self._catalog if self._stored.commits_of(row.profile)
            for metric in row.metrics
        ]  # fmt: skip
        self._wide = {row.profile: row for row in self._catalog}
        self._waiting = {name for name, folder in sql_names().items() if folder is None or folder in self._wide}
        self._waiting |= {*self._wide, *self._stored.names, "metric_rows", *_READ_WHEN_ASKED}
        self._public = (public_views() - {"commits"} | set(self._wide)) & self._waiting
        self._commented = self._questions_read = self._answers_read = False
        self.notes: list[str] = []  # what queries could not have
        self._functions = set(FUNCTIONS) if functions else set()  # that no query has named yet

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and functions."""
        for name in self._registered:
            self._connection.remove_function(name)
        self._connection.close()
        shutil.rmtree(self._spill, ignore_errors=True)

    # --- queries --------------------------------------------------------------------------------------------------

    def sql(self, query: str, parameters: Any = None) -> pa.Table:
        """The result of a user's query as an Arrow table; InputError for one that DuckDB refuses."""
        query = with_comments(self._checked(query))
        try:
            with self._reading():
                self._define(query)
                result = self._connection.sql(query, params=parameters)
                return result.to_arrow_table() if result is not None else pa.table({})
        except duckdb.Error as error:
            raise _refused(error) from error

    def table(self, query: str, parameters: Any = None) -> pa.Table:
        """The result of a query of our own as an Arrow table: an error of it is ours, not the user's."""
        with self._reading():
            self._define(query)
            return self._connection.sql(query, params=parameters).to_arrow_table()

    def interrupt(self) -> None:
        """Stop the query that runs now, from another thread."""
        self._connection.interrupt()

    def rows(self, query: str, parameters: Any = None) -> list[dict[str, Any]]:
        """The result of a query of our own as dictionaries."""
        rows: list[dict[str, Any]] = self.table(query, parameters).to_pylist()
        return rows

    def reader(self, query: str) -> pa.RecordBatchReader:
        """The result of a user's query, batch by batch, each computed when it is read.

        Of columns with the same name the later ones get a number. InputError for what DuckDB refuses, then or there.
        """
        query = with_comments(self._checked(query))
        try:
            with self._reading():
                self._define(query)
                result = self._connection.sql(query)
                found = result.to_arrow_reader(BATCH_ROWS) if result is not None else pa.table({}).to_reader()
        except duckdb.Error as error:
            raise _refused(error) from error
        names = _unique(found.schema.names)
        schema = pa.schema([field.with_name(name) for field, name in zip(found.schema, names, strict=True)])
        return pa.RecordBatchReader.from_batches(schema, self._renamed(found, schema))

    def _renamed(self, batches: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The batches with the names of a schema; what DuckDB finds wrong on the way is an InputError."""
        try:
            with self._reading():
                for batch in batches:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise _refused(error) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """While files are read: an error for which a damaged file may be the reason is a StoreError that names it."""
        try:
            yield
        except _OF_QUERIES:
            raise
        except RuntimeError as error:
            if "Query interrupted" in str(error):  # what DuckDB makes of a Ctrl-C
                raise KeyboardInterrupt from error
            raise
        except (duckdb.Error, pa.ArrowException, OSError, StoreError) as error:
            for commit in {commit.path: commit for commit in self.commits}.values():
                for _, problem in commit.damaged_files():
                    name = commit.path.name
                    raise StoreError(
                        f"Commit {name} of {self.store.path} is damaged: {problem}. Restore it from a copy, or "
                        f"leave it out: rageval drop {name} --store {self.store.path}"
                    ) from error
            raise

    def exported_reader(self, query: str) -> pa.RecordBatchReader:
        """The same for a Parquet file: score rows carry what is known of their runs as metadata of its schema, so that
        the file can be compared like them."""
        checked = with_comments(self._checked(query))
        self._define(checked)
        about = json.dumps(self._exported(checked), ensure_ascii=False)  # first: one result is open at a time
        found = self.reader(checked)
        return pa.RecordBatchReader.from_batches(found.schema.with_metadata({EXPORT_KEY: about}), found)

    def lock(self, files: Mapping[str, str] | None = None, every_file: bool = False) -> None:
        """From here on queries only read: the store and these files, each a view of its name, or every file."""
        for name in files or {}:
            if name.lower() in self._waiting | {"commits"} or not name.isidentifier():
                raise InputError(f"--file {name}=…: choose a plain name that no view of the store has.")
        self._create("stored_summary")  # of older commits it is computed by way of a file elsewhere
        read_only.lock(self._connection, (self.store.path, self._spill), files or {}, every_file)
        self._locked = True

    def _checked(self, query: str) -> str:
        """A user's query; of a locked session, one query that only reads."""
        return read_only.single_query(query) if self._locked else query.rstrip().rstrip(";")

    def _exported(self, query: str) -> dict[str, str | None]:
        """What is the same for all runs whose score rows a query gives: profile, eval set, hashes, run statistic.

        The profile is that of a column `profile`, else the one whose view the query names; nothing without a run_id.
        """
        words = set(_WORD.findall(_TEXT.sub("", query.lower())))
        named = [row.profile for row in self._catalog if row.profile in words]
        try:
            columns = {row[0] for row in self._connection.execute(f"describe (\n{query}\n)").fetchall()}
        except duckdb.Error:  # one that cannot stand in brackets, such as explain
            return {}
        if "run_id" not in columns or not ("profile" in columns or len(named) == 1):
            return {}
        keys = [name for name in ("run_id", "profile", "eval_set") if name in columns]
        profile = "" if "profile" in columns else f" and r.profile = {quoted(named[0])}"
        fields = ", ".join(f"r.{name}" for name in EXPORTED if name != "run_stat")
        self._define("runs")
        found = self._connection.execute(
            f"select {fields}, p.run_stat from (select distinct {', '.join(keys)} from (\n{query}\n)) f "
            f"join runs r on {' and '.join(f'r.{name} = f.{name}' for name in keys)}{profile} "
            "join profile_catalog p on p.profile = r.profile"
        ).fetchall()
        return {
            name: next(iter(values)) for name, *column in zip(EXPORTED, *found, strict=True)
            if len(values := set(column)) == 1
        }  # fmt: skip

    def gate_places(self) -> dict[tuple[str, str, str], int]:
        """The order in which gates were declared, by profile, gate and level."""
        gates = [gate for row in self._catalog for gate in row.gates]
        return {(gate.profile, gate.gate, gate.level): place for place, gate in enumerate(gates)}

    def keep_table(self, name: str, query: str, parameters: Any = None) -> None:
        """Keep the result of a query of our own as a table of this session, in place of an earlier one."""
        with self._reading():
            self._define(query)
            self._connection.execute(f"create or replace temp table {name} as {query}", parameters)
        self._kept.add(name)

    def has_kept(self, name: str) -> bool:
        """Whether a result was kept under that name."""
        return name in self._kept

    def profile(self, name: str) -> ProfileRow | None:
        """What the catalog says of a profile; null where it does not know it."""
        return next((row for row in (*self._catalog, UNKNOWN_PROFILE) if row.profile == name), None)

    def number_columns(self, profile: str) -> list[str]:
        """The columns of a profile's score rows, keys aside, that are numbers or booleans."""
        keys = {*KEYS.names, "commit"}
        rows = self.rows(f"describe stored_{profile}")
        return [
            row["column_name"] for row in rows
            if row["column_name"] not in keys and _NUMBER.match(row["column_type"])
        ]  # fmt: skip

    def add_metric(self, profile: ProfileRow, column: str, stored: bool = True) -> MetricRow:
        """Measure runs by a column that is no metric, higher being better: for this session only.

        Where the profile says which rows count, the others have no value. `stored`: the store has that column.
        """
        named = f"s.{quoted_name(column)}"
        value = f"(case when {profile.counted} is not null then {named} end)" if profile.counted else named
        reads = (column, profile.counted) if profile.counted else (column,)
        metric = MetricRow(profile=profile.profile, metric=column, column=value, scale=None, reads=reads)
        if profile.run_stat == "micro":
            metric = replace(metric, numerator=value, denominator=f"(case when {value} is not null then 1 end)")
        self._insert("metric_catalog", metric_table([metric]))
        if stored:
            self._metric_branches.append(metric_sql(profile, metric, f"stored_{profile.profile}"))
            self._waiting.add("metric_rows")
            self._define("metric_rows")
        return metric

    def add_run(self, run_id: str, eval_set: str, profile: ProfileRow, metric: MetricRow, rows: pa.Table) -> None:
        """Let a run that is in no store be seen as one of it, by one metric: score rows with what that needs.

        Its name stands for its commit.
        """
        if profile.run_stat != "micro":
            metric = replace(metric, numerator=None, denominator=None)
        self._insert("profile_catalog", profile_table([profile]))
        self._insert("metric_catalog", metric_table([metric]))
        record = {
            "run_id": run_id, "stored_id": run_id, "commit": run_id, "profile": profile.profile, "eval_set": eval_set,
            "repeats": len(rows.column("repeat").unique()),
        }  # fmt: skip
        self._insert("given_runs", pa.Table.from_pylist([record], schema=_GIVEN_RUNS))
        names = pa.repeat(pa.scalar(run_id, LARGE_STRING), rows.num_rows)
        self._connection.register("given_file", rows.append_column("commit", names).append_column("run_id", names))
        try:
            self._connection.execute(f"insert into given_rows by name {metric_sql(profile, metric, 'given_file')}")
        except duckdb.Error as error:
            raise InputError(f"{run_id}: {str(error).strip()}") from error
        finally:
            self._connection.unregister("given_file")

    def _insert(self, table: str, rows: pa.Table) -> None:
        """Rows into a small table of the session, those that it does not have yet."""
        self._connection.register("given", rows)
        self._connection.execute(f"insert into {table} by name select * from given except select * from {table}")
        self._connection.unregister("given")

    def _define(self, query: str) -> None:
        """Create the views, macros and functions that a query names and what they build on: all of them takes long.

        One that asks what there is gets all.
        """
        words = set(_WORD.findall(query.lower()))
        listing = not words.isdisjoint(_LISTING)
        named = self._functions if listing else self._functions & words
        self._registered += register_functions(self._connection, sorted(named))
        self._functions -= named
        if not listing:
            for name in sorted(words):
                self._create(name)
        elif not self._commented:
            for name in sorted(self._waiting):
                self._create(name)
            self._comment()
            self._commented = True
        if not self._questions_read and not words.isdisjoint(_ABOUT_QUESTIONS):
            self._read_questions()
        if not self._answers_read and not words.isdisjoint(_ABOUT_ANSWERS):
            self._read_answers()

    def _create(self, name: str) -> None:
        """Create a view or macro of sql/, and before it what it builds on, once."""
        if name in VIEW_FUNCTIONS:
            self._create_functions({name: VIEW_FUNCTIONS[name]})
        if name not in self._waiting:
            return
        self._waiting.remove(name)
        if name in self._stored.names:
            for used in self._stored.needs(name):
                self._create(used)
            self._stored.create(name)
            return
        if name in _READ_WHEN_ASKED:
            self._register(name, _READ_WHEN_ASKED[name].empty_table())
            return
        statement = self._statement(name)
        for used in sorted(_uses(statement)):
            self._create(used)
        if name in self._public:
            statement = statement.replace(f"create view {name} as", f"create view {PUBLIC}.{name} as", 1)
        self._connection.execute(statement)

    def _read_questions(self) -> None:
        """Read the question files of the store: only where a query is about questions, once."""
        self._questions_read = True
        questions, notes = read_questions(self.commits, {row.profile: row.question_groups for row in self._catalog})
        self._insert("stored_questions", questions)
        self.notes += notes

    def _read_answers(self) -> None:
        """Read the answers of all current runs: only where a query is about answers, once."""
        self._answers_read = True
        self._create("current_runs")
        query = "select commit, list(stored_id) from current_runs where stored_id is not null group by commit"
        runs = {commit: frozenset(names) for commit, names in self._connection.execute(query).fetchall()}
        batches = read_answers(self.commits, runs, self.notes)
        self._connection.register("given", pa.RecordBatchReader.from_batches(ANSWERS, batches))
        self._connection.execute("insert into stored_answers from given")
        self._connection.unregister("given")

    def _comment(self) -> None:
        """Say of every public view and column what it is."""
        query = f"""
            select table_name, list(column_name) from duckdb_columns()
            where schema_name = '{PUBLIC}' and not internal group by all
        """
        for name, columns in self._connection.execute(query).fetchall():
            if name in self._public or name == "commits":
                comment_on(self._connection, name, self._wide.get(name), columns)

    def _statement(self, name: str) -> str:
        """What creates a view or macro: a file of sql/, or what follows from the catalog."""
        if name in self._wide:
            return wide_sql(self._wide[name])
        if name == "metric_rows":  # all metrics as rows of one view: those of the store and of files
            branches = [*self._metric_branches, f"select {METRIC_COLUMNS} from given_rows"]
            return "create or replace view metric_rows as " + " union all ".join(branches)
        return sql_definition(name)

    def stored_name(self, run_id: str) -> str:
        """What a run is called in the files of its commit: RUN for RUN@COMMIT."""
        return next((pin["stored_id"] for pin in self._pinned if pin["run_id"] == run_id), run_id)

    # --- what the views stand on ------------------------------------------------------------------------------------

    def _pin(self, name: str) -> dict[str, str] | None:
        """What RUN@COMMIT stands for; a run's own name may have an @ in it and wins. The commit may be shortened."""
        if "@" not in name or any(name in commit.manifest["runs"] for commit in self.commits):
            return None
        stored, _, prefix = name.rpartition("@")
        found = [c.id for c in self.commits if c.id.startswith(prefix) and stored in c.manifest["runs"]]
        if len(found) != 1:
            what = "no commit" if not found else f"{len(found)} commits"
            raise StoreError(f"'{name}': the store {self.store.path} has {what} {prefix}… with run '{stored}'.")
        return {"run_id": name, "stored_id": stored, "commit": found[0]}

    def _create_base(self) -> None:
        pinned = pa.schema([("run_id", LARGE_STRING), ("stored_id", LARGE_STRING), ("commit", LARGE_STRING)])
        self._register("pinned", pa.Table.from_pylist(self._pinned, schema=pinned))
        self._register(f"{PUBLIC}.commits", _commit_table(self.commits))
        self._register("metric_catalog", metric_table([metric for row in self._catalog for metric in row.metrics]))
        self._register("profile_catalog", profile_table(self._catalog))
        self._register("given_rows", _GIVEN_ROWS.empty_table())
        self._register("given_runs", _GIVEN_RUNS.empty_table())
        self._register("gate_catalog", gate_table(self._catalog))

    def _register(self, name: str, table: pa.Table) -> None:
        """A small table that stays with the session."""
        self._connection.register("given", table)
        self._connection.execute(f"create table {name} as from given")
        self._connection.unregister("given")

    def _create_functions(self, functions: dict[str, Function]) -> None:
        """Functions of our own, over Arrow columns."""
        for name, (function, arguments, result) in functions.items():
            if name in self._registered:
                continue
            kind: Any = {"type": "arrow", "null_handling": "special"}
            self._connection.create_function(name, function, arguments, result, **kind)
            self._registered.append(name)


def _refused(error: Exception) -> InputError:
    """What DuckDB says against a user's query; of files, how they are named."""
    closed = "disabled by configuration" in str(error)
    hint = "\nName a file to read with --file NAME=PATH, or give --allow-files." if closed else ""
    return InputError(f"SQL: {str(error).strip()}{hint}")


def _unique(names: list[str]) -> list[str]:
    """The names, those that were there before with a number."""
    seen: dict[str, None] = {}
    for name in names:
        number, unique = 0, name
        while unique in seen:
            number += 1
            unique = f"{name}_{number}"
        seen[unique] = None
    return list(seen)


def _commit_table(commits: list[Commit]) -> pa.Table:
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
