"""One DuckDB session over a store: queries of users and of our own, and runs and metrics added for one comparison. It
knows no profile: which tables and metrics there are reaches it as rows of a catalog."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, islice
from types import TracebackType
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from rageval_batch.analysis import read_only
from rageval_batch.analysis.catalog_rows import (
    UNKNOWN_PROFILE,
    MetricRow,
    ProfileRow,
    metric_sql,
    metric_table,
    profile_table,
    quoted_name,
    stored_profile,
)
from rageval_batch.analysis.comments import with_comments
from rageval_batch.analysis.result_types import as_texts
from rageval_batch.analysis.session_views import FILE_RUNS, WORD, SessionViews
from rageval_batch.answering import DamageFound, answered
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError, StoreError
from rageval_batch.inputs.run_files import EXPORT_KEY
from rageval_batch.model.schemas import KEYS
from rageval_batch.runs.damage import find_damage
from rageval_batch.runs.database import connect
from rageval_batch.runs.spill import spill_folder
from rageval_batch.runs.store import Commit, Store
from rageval_batch.sql_text import quoted

Answer = TypeVar("Answer")
_TEXT = re.compile(r"'[^']*'")
_NO_TABLE = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")
_GUESS = re.compile(r"\nDid you mean .*|$", re.MULTILINE)
_NUMBER = re.compile(r"(BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*)$")
# Errors of a query itself: no file has to be looked at.
_OF_QUERIES = (
    duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.ConversionException,
    duckdb.OutOfMemoryException, duckdb.InterruptException, duckdb.PermissionException,
)  # fmt: skip
_OF_STREAMS = (duckdb.Error, pa.ArrowException, OSError)  # what DuckDB says through a reader of Arrow's

BATCH_ROWS = 10_000  # of a result that is read batch by batch

# What an exported file of score rows says of their runs: a JSON object in the metadata of the Parquet file.
EXPORTED = (
    "run_id", "profile", "eval_set", "commit", "questions_sha256", "source_sha256", "params_sha256", "run_stat"
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


class Session:
    """Queries over the commits of a store, as they were when it was opened."""

    def __init__(
        self,
        store: Store,
        catalog: Iterable[ProfileRow],
        functions: bool = False,
        *,
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
        self._named = tuple(named)
        self._catalog = _with_stored(tuple(catalog), self.commits, described)
        self._functions = functions
        self._spill = spill_folder(store.staging_folder)
        self._kept: set[str] = set()
        self._locked_to: tuple[Mapping[str, str], bool] | None = None
        self._half_defined = False
        self._connect()

    def _connect(self) -> None:
        self._pinned = [pin for name in self._named if (pin := self._pin(name)) is not None]
        self._connection = connect(self._spill.path)
        self._views = SessionViews(
            self._connection,
            self.store,
            self.commits,
            catalog=self._catalog,
            pinned=self._pinned,
            functions=self._functions,
            spill=self._spill.path,
        )

    @property
    def notes(self) -> list[str]:
        """What queries so far could not read, as sentences."""
        return self._views.notes

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and functions."""
        self._disconnect()
        self._spill.remove()

    def _disconnect(self) -> None:
        self._views.unregister_functions()
        self._connection.close()

    def _listed(self) -> set[str]:
        """The tables and views that a user knows of."""
        return {*self._views.public, *(self._locked_to[0] if self._locked_to is not None else ())}

    # --- queries --------------------------------------------------------------------------------------------------

    def sql(self, query: str, parameters: Any = None) -> pa.Table:
        """The result of a user's query as an Arrow table; InputError for one that DuckDB refuses."""
        query = with_comments(self._checked(query))

        def answer() -> pa.Table:
            self._define(query)
            result = self._connection.sql(query, params=parameters)
            return result.to_arrow_table() if result is not None else pa.table({})

        return self._answered(answer)

    def prepare(self, query: str) -> None:
        """Create what a user's query names, and read the inputs that it is about, which may take longer than the query
        itself; InputError for one that is refused."""
        query = with_comments(self._checked(query))
        self._answered(lambda: self._define(query))

    def _answered(
        self, answer: Callable[[], Answer], refusals: tuple[type[Exception], ...] = (duckdb.Error,)
    ) -> Answer:
        """What a user's query gives; where it finds a damaged commit, what it gives without that. InputError for one
        that DuckDB refuses, by one of these errors."""

        def read() -> Answer:
            with self._reading():
                return answer()

        try:
            return answered(read)
        except refusals as error:
            raise _refused(error, self._listed()) from error

    def _define(self, query: str) -> None:
        """Create what a user's query names. One that was stopped here left views half made and inputs half read: the
        next one begins with a new database, as it does after a damaged commit was found."""
        if self._half_defined:
            self._reopen()
        self._half_defined = True
        self._views.define(query)
        self._half_defined = False

    def _reopen(self) -> None:
        """Begin anew with the same commits, without those that are damaged."""
        known = {commit.id for commit in self.commits}
        self.commits = [commit for commit in self.store.commits() if commit.id in known]
        self._disconnect()
        self._kept.clear()
        self._connect()
        if self._locked_to is not None:
            self._views.create("stored_summary")
            self._lock(*self._locked_to)

    def table(self, query: str, parameters: Any = None, *, metrics: Iterable[str] | None = None) -> pa.Table:
        """The result of a query of our own as an Arrow table: an error of it is ours, not the user's.

        `metrics`: those that the query reads, where it is known: it is planned faster.
        """
        with self._reading():
            self._views.define(query, metrics)
            return self._connection.sql(query, params=parameters).to_arrow_table()

    def interrupt(self) -> None:
        """Stop the query that runs now, from another thread."""
        self._connection.interrupt()

    def rows(self, query: str, parameters: Any = None) -> list[dict[str, Any]]:
        """The result of a query of our own as dictionaries."""
        rows: list[dict[str, Any]] = self.table(query, parameters).to_pylist(maps_as_pydicts="strict")
        return rows

    def reader(self, query: str, *, texts: bool = False) -> pa.RecordBatchReader:
        """The result of a user's query, batch by batch, each computed when it is read.

        Of columns with the same name the later ones get a number; with `texts`, intervals and blobs are as DuckDB
        writes them. InputError for what DuckDB refuses, then or there.
        """
        query = with_comments(self._checked(query))

        def begin() -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
            """The schema and the batches, the first of which has been read: most damage shows there."""
            self._define(query)
            result = self._connection.sql(query)
            if texts and result is not None:
                result = as_texts(result)
            found = result.to_arrow_reader(BATCH_ROWS) if result is not None else pa.table({}).to_reader()
            return found.schema, chain(list(islice(found, 1)), found)

        found, batches = self._answered(begin, _OF_STREAMS)
        names = _unique(found.names)
        schema = pa.schema([field.with_name(name) for field, name in zip(found, names, strict=True)])
        return pa.RecordBatchReader.from_batches(schema, self._renamed(batches, schema))

    def _renamed(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The batches with the names of a schema; what DuckDB finds wrong on the way is an InputError, and a damaged
        commit DamageFound, as earlier batches may have had rows of it."""
        try:
            with self._reading():
                for batch in batches:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except _OF_STREAMS as error:
            raise _refused(error, self._listed()) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """While files are read: an error for which a damaged file is the reason is DamageFound."""
        try:
            yield
        except DamageFound:
            self._half_defined = True
            raise
        except _OF_QUERIES:
            raise
        except RuntimeError as error:
            if "Query interrupted" in str(error):  # what DuckDB makes of a Ctrl-C
                raise KeyboardInterrupt from error
            raise
        except (duckdb.Error, pa.ArrowException, OSError, StoreError) as error:
            if (found := find_damage(self.commits)) is not None:
                self._half_defined = True
                raise found from error
            raise

    def exported_reader(self, query: str) -> pa.RecordBatchReader:
        """The same for a Parquet file: score rows carry what is known of their runs as metadata of its schema, so that
        the file can be compared like them."""
        checked = with_comments(self._checked(query))

        def exported() -> dict[str, str | None]:
            self._define(checked)
            return self._exported(checked)

        about = json.dumps(self._answered(exported), ensure_ascii=False)  # first: one result is open at a time
        found = self.reader(checked)
        return pa.RecordBatchReader.from_batches(found.schema.with_metadata({EXPORT_KEY: about}), found)

    def lock(self, files: Mapping[str, str] | None = None, every_file: bool = False) -> None:
        """From here on queries only read: the store and these files, each a view of its name, or every file."""
        for name in files or {}:
            if name.lower() == "commits" or self._views.is_waiting(name.lower()) or not name.isidentifier():
                raise InputError(f"--file {name}=…: choose a plain name that no view of the store has.")

        def lock() -> None:
            self._define("stored_summary")  # of older commits it is computed by way of a file elsewhere
            self._lock(files or {}, every_file)

        self._answered(lock)

    def _lock(self, files: Mapping[str, str], every_file: bool) -> None:
        read_only.lock(self._connection, (self.store.path, self._spill.path), files, every_file=every_file)
        self._locked_to = (files, every_file)

    def _checked(self, query: str) -> str:
        """A user's query; of a locked session, one query that only reads."""
        return read_only.single_query(query) if self._locked_to is not None else query.rstrip().rstrip(";")

    def _exported(self, query: str) -> dict[str, str | None]:
        """What is the same for all runs whose score rows a query gives: profile, eval set, hashes, run statistic.

        The profile is that of a column `profile`, else the one whose view the query names; nothing without a run_id.
        """
        words = set(WORD.findall(_TEXT.sub("", query.lower())))
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
        self._views.define("runs")
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

    def keep_table(
        self, name: str, query: str, parameters: Any = None, *, metrics: Iterable[str] | None = None
    ) -> None:
        """Keep the result of a query of our own as a table of this session, in place of an earlier one.

        `metrics`: those that the query reads, where it is known.
        """
        with self._reading():
            self._views.define(query, metrics)
            self._connection.execute(f"create or replace temp table {name} as {query}", parameters)
        self._kept.add(name)

    def keep_intervals(self) -> None:
        """Keep the intervals of the table `ranking` in the store, so that they are not resampled again."""
        self._views.keep_intervals()

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
        self._views.insert("metric_catalog", metric_table([metric]))
        if stored:
            self._views.add_metric_branch(column, metric_sql(profile, metric, f"stored_{profile.profile}"))
        return metric

    def add_run(self, run_id: str, eval_set: str, profile: ProfileRow, *, metric: MetricRow, rows: pa.Table) -> None:
        """Let a run that is in no store be seen as one of it, by one metric: score rows with what that needs.

        Its name stands for its commit.
        """
        if profile.run_stat != "micro":
            metric = replace(metric, numerator=None, denominator=None)
        self._views.insert("profile_catalog", profile_table([profile]))
        self._views.insert("metric_catalog", metric_table([metric]))
        record = {
            "run_id": run_id, "stored_id": run_id, "commit": run_id, "profile": profile.profile, "eval_set": eval_set,
            "repeats": len(rows.column("repeat").unique()),
        }  # fmt: skip
        self._views.insert("file_runs", pa.Table.from_pylist([record], schema=FILE_RUNS))
        names = pa.repeat(pa.scalar(run_id, LARGE_STRING), rows.num_rows)
        self._connection.register("compared_file", rows.append_column("commit", names).append_column("run_id", names))
        try:
            self._connection.execute(f"insert into file_rows by name {metric_sql(profile, metric, 'compared_file')}")
        except duckdb.Error as error:
            raise InputError(f"{run_id}: {str(error).strip()}") from error
        finally:
            self._connection.unregister("compared_file")

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
            raise StoreError(f"'{name}': the store {self.store.name} has {what} {prefix}… with run '{stored}'.")
        return {"run_id": name, "stored_id": stored, "commit": found[0]}


def _refused(error: Exception, public: Iterable[str]) -> InputError:
    """What DuckDB says against a user's query; of files, how they are named; of a table that is not there, which of the
    public ones may be meant: DuckDB guesses among those that earlier queries made."""
    if isinstance(error, duckdb.OutOfMemoryException):
        said = str(error).strip().splitlines()[0].rstrip(".")
        return InputError(
            f"SQL: {said}. The query needs more memory than a session has, or the disk has no room to spill to. "
            "Ask for less at a time, or free space where the store is."
        )
    closed = "disabled by configuration" in str(error)
    hint = "\nFor files beside the store: rageval sql --file NAME=PATH, or --allow-files." if closed else ""
    said = read_only.refusal(error)
    if unknown := _NO_TABLE.match(said):
        near = get_close_matches(unknown[1].lower(), sorted(public), n=1)
        guess = f'Did you mean "{near[0]}"?' if near else '"show tables" lists the views.'
        said = _GUESS.sub(lambda _: f"\n{guess}", said, count=1)
    return InputError(f"SQL: {said}{hint}")


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
