"""One DuckDB session over a store: the views of sql/, the scorer's functions, queries. It knows no profile:
which tables and metrics there are reaches it as rows of a catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import InputError, StoreError
from rageval_batch.model.schemas import REJECTS, RUNS, TALLIES
from rageval_batch.resources import sql_definition
from rageval_batch.runs.store import Commit, Store
from rageval_batch.sql_text import parquet_reader, quoted

# In the order in which they build on each other; views of profiles come behind `runs`.
_FIRST = ("exact_sum", "exact_mean", "exact_weighted_mean", "current_runs", "runs")
_REST = (
    "scores", "metrics", "question_values", "run_summary", "fail_reasons", "tallies", "confusions", "rejects",
    "leaderboard", "question_difficulty", "gated", "gate_results", "repeat_scores",
    "change_status", "question_pairs", "run_pair", "regressions", "run_delta", "run_groups",
)  # fmt: skip
_WORD = re.compile(r"\w+")
_LISTING = frozenset(
    ("show", "describe", "pragma", "information_schema", "sqlite_master", "duckdb_views", "duckdb_functions")
)

MEMORY = "512MB"

_GIVEN_VALUES = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("profile", LARGE_STRING),
        ("eval_set", LARGE_STRING),
        ("metric", LARGE_STRING),
        ("question_id", LARGE_STRING),
        ("weight", pa.float64()),
        ("scored", pa.bool_()),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True)
class MetricRow:
    """A metric of the catalog."""

    profile: str
    metric: str
    higher_is_better: bool
    null_counts_as: float | None
    numerator: str | None
    denominator: str | None
    column: str | None = None  # where its values are not in a column of its name
    scale: float | None = 1.0  # from the worst value to the best; null: a count


@dataclass(frozen=True)
class GateRow:
    """A gate of the catalog; one that is waived is skipped where it would fail."""

    profile: str
    gate: str
    metric: str  # empty: of the run itself
    stat: str
    op: str
    limit: float
    level: str
    failure: str
    waived: bool = False
    coverage: bool = False  # about how much there is to judge, not about quality


@dataclass(frozen=True)
class ProfileRow:
    """A profile of the catalog: its table, how runs are scored, its metrics, gates and what a record must name."""

    profile: str
    schema: pa.Schema
    run_stat: str
    score_top: float
    metrics: tuple[MetricRow, ...]
    gates: tuple[GateRow, ...] = ()
    provenance: tuple[str, ...] = ()
    views: tuple[str, ...] = ()  # files of views that build on its own
    groups: tuple[str, ...] = ()  # columns that summaries are broken down by


@lru_cache(maxsize=64)
def _words_of(name: str) -> frozenset[str]:
    """What a definition may build on: the words in it, without those of its comments."""
    lines = [line for line in sql_definition(name).splitlines() if not line.startswith("--")]
    return frozenset(_WORD.findall("\n".join(lines)))


class Session:
    """Queries over the commits of a store, as they were when it was opened."""

    def __init__(
        self, store: Store, catalog: Iterable[ProfileRow], functions: bool = False, named: Iterable[str] = ()
    ) -> None:
        """`named` are the runs that will be asked for; those of the form RUN@COMMIT become visible by that name."""
        self.store = store
        self.commits = store.commits()
        self._pinned = [pin for name in named if (pin := self._pin(name)) is not None]
        self._catalog = tuple(catalog)
        settings: Any = {"memory_limit": MEMORY}
        self._connection = duckdb.connect(config=settings)
        self._registered: list[str] = []
        self._create_base()
        own = [name for row in self._catalog for name in row.views]
        self._waiting = [*_FIRST, *(row.profile for row in self._catalog), *_REST, *own]
        if functions:
            self._create_functions(_FUNCTIONS)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and functions."""
        for name in self._registered:
            self._connection.remove_function(name)
        self._connection.close()

    # --- queries --------------------------------------------------------------------------------------------------

    def sql(self, query: str, parameters: Any = None) -> pa.Table:
        """The result of a query as an Arrow table; InputError for one that DuckDB refuses."""
        self._define(query)
        try:
            result = self._connection.sql(query, params=parameters)
            return result.to_arrow_table() if result is not None else pa.table({})
        except duckdb.Error as error:
            raise InputError(f"SQL: {str(error).strip()}") from error

    def rows(self, query: str, parameters: Any = None) -> list[dict[str, Any]]:
        """The result of a query of our own as dictionaries."""
        rows: list[dict[str, Any]] = self.sql(query, parameters).to_pylist()
        return rows

    def copy_to_parquet(self, query: str, target: Path) -> None:
        """Write the result of a query to a Parquet file without holding it."""
        self._define(query)
        try:
            self._connection.execute(f"copy ({query.rstrip().rstrip(';')}) to {quoted(target)} (format parquet)")
        except duckdb.Error as error:
            raise InputError(f"SQL: {str(error).strip()}") from error

    def gate_places(self) -> dict[tuple[str, str, str], int]:
        """The order in which gates were declared, by profile, gate and level."""
        gates = [gate for row in self._catalog for gate in row.gates]
        return {(gate.profile, gate.gate, gate.level): place for place, gate in enumerate(gates)}

    def keep_table(self, name: str, query: str, parameters: Any = None) -> None:
        """Keep the result of a query of our own as a table of this session, in place of an earlier one."""
        self._define(query)
        try:
            self._connection.execute(f"create or replace temp table {name} as {query}", parameters)
        except duckdb.Error as error:
            raise InputError(f"SQL: {str(error).strip()}") from error

    def add_values(self, values: pa.Table, run_id: str, profile: str, eval_set: str, metric: str) -> None:
        """Let a run that is in no store be seen in question_values: question_id, weight and value of its answers.

        A null counts as the metric says, or not at all.
        """
        self._define("exact_mean")
        self._connection.register("given", values)
        try:
            self._connection.execute(
                "insert into given_values select $run, $profile, $set, $metric, question_id, any_value(weight), "
                "bool_or(value is not null), exact_mean(coalesce(value, c.null_counts_as)) "
                "from given left join metric_catalog c on c.profile = $profile and c.metric = $metric "
                "where coalesce(value, c.null_counts_as) is not null group by question_id",
                {"run": run_id, "profile": profile, "set": eval_set, "metric": metric},
            )
        except duckdb.Error as error:
            raise InputError(f"{run_id}: {str(error).strip()}") from error
        finally:
            self._connection.unregister("given")

    def _define(self, query: str) -> None:
        """Create the views and macros that a query names and what they build on: to bind them all takes long.

        One that asks what there is gets all.
        """
        words = set(_WORD.findall(query.lower()))
        wanted = words if words.isdisjoint(_LISTING) else set(self._waiting)
        for name in reversed(self._waiting):
            if name in wanted:
                wanted |= _words_of(name)
        self._create_functions({name: _OF_VIEWS[name] for name in _OF_VIEWS if name in wanted})
        for name in [name for name in self._waiting if name in wanted]:
            self._connection.execute(sql_definition(name))
            self._waiting.remove(name)

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
        self._register("commits", _commit_table(self.commits))
        self._register("metric_catalog", _metric_table(self._catalog))
        self._register("profile_catalog", _profile_table(self._catalog))
        self._register("given_values", _GIVEN_VALUES.empty_table())
        self._store_view("stored_runs", self._files("runs"), RUNS)
        self._store_view("stored_rejects", self._files("rejects"), REJECTS)
        self._store_view("stored_tallies", self._files("tallies"), TALLIES)
        for row in self._catalog:
            self._store_view(f"stored_{row.profile}", self._files("scores", row.profile), row.schema)
        self._connection.execute("create view stored_scores as " + " union all ".join(map(_common, self._catalog)))
        long = [_long(row, metric) for row in self._catalog for metric in row.metrics]
        self._connection.execute("create view metric_rows as " + " union all ".join(long))
        self._register("gate_catalog", _gate_table(self._catalog))
        stored = [row for row in self._catalog if self._files("scores", row.profile)]
        self._connection.execute("create view gate_values as " + _gated(stored))
        groups = [_group(row, name) for row in self._catalog for name in row.groups]
        self._connection.execute("create view group_rows as " + " union all ".join([_NO_GROUP, *groups]))

    def _register(self, name: str, table: pa.Table) -> None:
        """A small table that stays with the session."""
        self._connection.register("given", table)
        self._connection.execute(f"create table {name} as from given")
        self._connection.unregister("given")

    def _files(self, role: str, profile: str | None = None) -> list[str]:
        commits = [commit for commit in self.commits if profile in (None, commit.manifest["profile"])]
        return [str(path) for commit in commits for path in commit.files(role)]

    def _store_view(self, name: str, files: list[str], schema: pa.Schema) -> None:
        """All files of a role as one view with the commit each row came in; typed and empty without files."""
        if not files:
            empty = pa.schema([*schema, ("commit", LARGE_STRING)]).empty_table()
            self._register(name, empty)
            return
        reading = parquet_reader(files, filename=True, union_by_name=True)
        try:
            self._connection.execute(
                f"create view {name} as select * exclude (filename), "
                f"split_part(replace(filename, '\\', '/'), '/', -2) as commit from {reading}"
            )
        except duckdb.Error as error:
            raise StoreError(f"The store {self.store.path} has a file that cannot be read: {error}") from error

    def _create_functions(self, functions: dict[str, tuple[Callable[..., pa.Array], list[Any], str]]) -> None:
        """Functions of our own, over Arrow columns."""
        for name, (function, arguments, result) in functions.items():
            if name in self._registered:
                continue
            kind: Any = {"type": "arrow", "null_handling": "special"}
            self._connection.create_function(name, function, arguments, result, **kind)
            self._registered.append(name)


def _common(row: ProfileRow) -> str:
    return (
        f"select commit, run_id, '{row.profile}' as profile, question_id, dataset, repeat, weight, score, fail_reason "
        f"from stored_{row.profile}"
    )


def _long(row: ProfileRow, metric: MetricRow) -> str:
    numerator, denominator = (
        f"{name}::double" if name else "null::double" for name in (metric.numerator, metric.denominator)
    )
    return (
        f"select commit, run_id, '{row.profile}' as profile, question_id, repeat, weight, fail_reason, "
        f"'{metric.metric}' as metric, {metric.column or metric.metric}::double as value, "
        f"{numerator} as numerator, {denominator} as denominator "
        f"from stored_{row.profile}"
    )


_OF_VALUES = frozenset(("mean", "sum", "min", "max", "n"))
_RANKED = frozenset(("p50", "p90", "p95"))


def _gated(catalog: Iterable[ProfileRow]) -> str:
    """The values that gates are about: a branch for each metric that a gate uses, nothing in what its gates do not."""
    branches = [_gated_branch("commits", "", "", {}) + " where false"]
    for row in catalog:
        stats: dict[str, set[str]] = {}
        for gate in row.gates:
            stats.setdefault(gate.metric, set()).add(gate.stat)
        metrics = {metric.metric: metric for metric in row.metrics}
        for name, wanted in stats.items():
            if name in metrics:
                branches += _gated_metric(row.profile, metrics[name], wanted)
            elif "usable_share" in wanted:
                usable = {"value": "(fail_reason is null)::int::double", "scored": "true"}
                branches.append(_gated_branch(f"stored_{row.profile}", name, "usable", usable))
    return " union all ".join(branches)


def _gated_metric(profile: str, metric: MetricRow, stats: set[str]) -> list[str]:
    column = metric.column or metric.metric
    value = f"{column}::double"
    if metric.null_counts_as is not None:
        value = f"coalesce({value}, {metric.null_counts_as!r}::double)"
    columns = {"scored": f"{column} is not null"}
    if stats & _OF_VALUES:
        columns["value"] = value
    if stats & _RANKED:
        columns["ranked"] = value
    if "weighted_mean" in stats:
        columns |= {"weighted": value, "weight": "weight"}
    if "micro" in stats and metric.numerator and metric.denominator:
        columns |= {"numerator": f"{metric.numerator}::double", "denominator": f"{metric.denominator}::double"}
    branches = [_gated_branch(f"stored_{profile}", metric.metric, "value", columns)] if stats - {"rate"} else []
    if "rate" in stats:
        rate = {"value": f"({value} <> 0)::int::double", "scored": columns["scored"]}
        branches.append(_gated_branch(f"stored_{profile}", metric.metric, "rate", rate))
    return branches


def _gated_branch(table: str, metric: str, form: str, columns: dict[str, str]) -> str:
    keys = "commit, run_id, question_id" if columns else "commit, '' as run_id, '' as question_id"
    numbers = ("value", "ranked", "weighted", "weight", "numerator", "denominator")
    return (
        f"select {keys}, '{metric}' as metric, '{form}' as form, {columns.get('scored', 'false')} as scored, "
        + ", ".join(f"{columns.get(name, 'null::double')} as {name}" for name in numbers)
        + f", {'weighted' in columns} as has_weights from {table}"
    )


_NO_GROUP = (
    "select ''::varchar as commit, ''::varchar as run_id, ''::varchar as profile, ''::varchar as question_id, "
    "''::varchar as grouping, ''::varchar as value, 0.0::double as score, 0.0::double as passed where false"
)


def _group(row: ProfileRow, name: str) -> str:
    """The answers of a profile by one of its columns; an answer stands under every entry of a list, once."""
    value = f"unnest(list_distinct({name}))" if pa.types.is_list(row.schema.field(name).type) else name
    passed = "passed::double" if "passed" in row.schema.names else "null::double"
    return (
        f"select commit, run_id, '{row.profile}' as profile, question_id, '{name}' as grouping, {value} as value, "
        f"score, {passed} as passed from stored_{row.profile}"
    )


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


def _metric_table(catalog: tuple[ProfileRow, ...]) -> pa.Table:
    schema = pa.schema(
        [
            ("profile", LARGE_STRING),
            ("metric", LARGE_STRING),
            ("higher_is_better", pa.bool_()),
            ("null_counts_as", pa.float64()),
            ("scale", pa.float64()),
        ]
    )
    rows = [{name: getattr(metric, name) for name in schema.names} for row in catalog for metric in row.metrics]
    return pa.Table.from_pylist(rows, schema=schema)


def _gate_table(catalog: tuple[ProfileRow, ...]) -> pa.Table:
    schema = pa.schema(
        [
            ("profile", LARGE_STRING),
            ("gate", LARGE_STRING),
            ("metric", LARGE_STRING),
            ("stat", LARGE_STRING),
            ("op", LARGE_STRING),
            ("limit", pa.float64()),
            ("level", LARGE_STRING),
            ("failure", LARGE_STRING),
            ("waived", pa.bool_()),
            ("coverage", pa.bool_()),
        ]
    )
    return pa.Table.from_pylist([vars(gate) for row in catalog for gate in row.gates], schema=schema)


def _profile_table(catalog: tuple[ProfileRow, ...]) -> pa.Table:
    schema = pa.schema(
        [
            ("profile", LARGE_STRING),
            ("run_stat", LARGE_STRING),
            ("score_top", pa.float64()),
            ("provenance", pa.list_(LARGE_STRING)),
        ]
    )
    return pa.Table.from_pylist([{n: getattr(row, n) for n in schema.names} for row in catalog], schema=schema)


def _whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _of_one(name: str) -> Callable[..., pa.Array]:
    """A function of `text` over one Arrow column, imported when it is first called."""

    def call(column: Any) -> pa.Array:
        from rageval_batch.columnar import text

        return getattr(text, name)(_whole(column))

    return call


def _of_two(name: str) -> Callable[..., pa.Array]:
    """A function of `text` over two Arrow columns, imported when it is first called."""

    def call(a: Any, b: Any) -> pa.Array:
        from rageval_batch.columnar import text

        return getattr(text, name)(_whole(a), _whole(b))

    return call


_FUNCTIONS: dict[str, tuple[Callable[..., pa.Array], list[Any], str]] = {
    "bigram_jaccard": (_of_two("bigram_jaccard"), ["VARCHAR", "VARCHAR"], "DOUBLE"),
    "soft_match": (_of_two("soft_match"), ["VARCHAR", "VARCHAR"], "BOOLEAN"),
    "squash": (_of_one("squash"), ["VARCHAR"], "VARCHAR"),
    "keywords": (_of_one("keyword_lists"), ["VARCHAR"], "VARCHAR[]"),
    "keyword_hits": (_of_two("keyword_hits"), ["VARCHAR", "VARCHAR"], "INTEGER"),
}


def _mean_intervals(column: Any) -> pa.Array:
    import numpy as np

    from rageval_batch.columnar.statistics import bootstrap_interval

    lists = _whole(column).to_pylist()
    found = [vars(bootstrap_interval(np.array(values or [], np.float64))) for values in lists]
    return pa.array(found, pa.struct([("low", pa.float64()), ("high", pa.float64())]))


# Functions that views stand on: they come with the first query that needs them.
_OF_VIEWS: dict[str, tuple[Callable[..., pa.Array], list[Any], str]] = {
    "mean_interval": (_mean_intervals, ["DOUBLE[]"], "STRUCT(low DOUBLE, high DOUBLE)"),
}
