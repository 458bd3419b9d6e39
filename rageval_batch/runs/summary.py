"""The summary of score rows: every statistic of every run and metric, of the whole run and by group.

It is written with a commit and read in place of its rows. The statistics are defined by the macros of sql/jobs; here
the metrics of a profile are put into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.dataclass import dataclass
from rageval_batch.resources import sql_definition
from rageval_batch.runs.database import Database
from rageval_batch.runs.run_statistics import statistics_of_runs
from rageval_batch.runs.score_runs import OtherRows
from rageval_batch.runs.summary_plan import FAIL_REASON, MACROS, OF_RUN, SUMMARY, SummarizedMetric, SummaryPlan
from rageval_batch.sql_text import COMMIT_OF_FILE, identifier, parquet_reader, quoted

if TYPE_CHECKING:
    import duckdb

_ROW_GROUP = 32_768
_MOST_VALUES = 16_000_000  # values that the percentiles of one statement hold at a time
# So few values stand in rows, one metric below the other. A statement with the metrics side by side is faster with many
# rows, but to plan one of 16 metrics takes 0.15 s, five times as long as all work on a thousand answers.
_MOST_STACKED = 100_000


@dataclass(frozen=True, kw_only=True)
class ScoreRows:
    """Score rows to summarize: a query that gives them with their `commit`, their columns and number."""

    query: str
    schema: pa.Schema
    count: int

    @classmethod
    def of_files(cls, paths: Sequence[Path]) -> ScoreRows:
        """The rows of Parquet files that have the same columns; their commit is the folder that they lie in."""
        count = sum(pq.read_metadata(path).num_rows for path in paths)
        query = f"select * exclude (filename), {COMMIT_OF_FILE} as commit from {parquet_reader(paths, filename=True)}"
        return cls(query=query, schema=pq.read_schema(paths[0]), count=count)

    def of_runs(self, runs: pa.Table) -> ScoreRows:
        """The rows of runs that follow each other."""
        names = runs.column("run_id")
        if not len(names):
            return self
        first, last = (quoted(names[k].as_py()) for k in (0, -1))
        return replace(self, query=f"from ({self.query}) where run_id between {first} and {last}")


def write_summary(
    plan: SummaryPlan, rows: ScoreRows, runs: pa.Table, *, target: Path, database: Database, with_commit: bool = False
) -> None:
    """Write the summary of score rows as a Parquet file with the columns of SUMMARY, and their `commit` if asked for.

    `runs` are the records of their runs: commit, run_id, repeats.
    """
    with database.connected() as connection:
        for name in MACROS:
            connection.execute(sql_definition(name))
        connection.execute(f"create view score_rows as {rows.query}")
        connection.register("run_records", runs)
        _Summarizer(connection, plan, rows.schema, count=rows.count).fill()
        columns = ", ".join(identifier(name) for name in (*(["commit"] if with_commit else []), *SUMMARY.names))
        order = "commit, run_id, metric, grouping, group_value"
        connection.execute(
            f"copy (select {columns} from summary order by {order}) to {quoted(target)} "
            f"(format parquet, compression zstd, row_group_size {_ROW_GROUP})"
        )


def write_commit_summary(
    plan: SummaryPlan, scores: Sequence[Path], runs: pa.Table, *, target: Path, database: Database
) -> str | None:
    """Write the summary of the score files of one folder; a sentence, and no file, where it cannot be made.

    It can be made of the rows at any time. `runs` are the records of all their runs: run_id, repeats. Compiled loops
    make it where they can, else DuckDB: the same bits.
    """
    if _write_by_loops(plan, scores, runs, target=target):
        return None
    import duckdb

    folder = pa.repeat(pa.scalar(scores[0].parent.name, LARGE_STRING), runs.num_rows)
    named = runs.append_column("commit", folder).sort_by("run_id")
    try:
        _write_divided(plan, ScoreRows.of_files(scores), named, target=target, database=database)
    except (duckdb.Error, MemoryError) as error:
        why = (str(error) or "not enough memory").splitlines()[0].rstrip(".")
        return f"WARNING: the commit has no summary ({why}); commands compute it from the score rows, each time anew."
    return None


class SummaryFile:
    """The file of a summary whose rows come in their order."""

    def __init__(self, target: Path) -> None:
        self._writer = pq.ParquetWriter(target, SUMMARY, compression="zstd", store_schema=False)
        self._waiting = SUMMARY.empty_table()

    def add(self, made: pa.Table) -> None:
        """Write more rows, whole row groups of them."""
        waiting = pa.concat_tables([self._waiting, made])
        whole = waiting.num_rows // _ROW_GROUP * _ROW_GROUP
        if whole:
            self._writer.write_table(waiting.slice(0, whole), _ROW_GROUP)
            waiting = waiting.slice(whole).combine_chunks()
        self._waiting = waiting

    def close(self) -> None:
        """Write what is left."""
        if self._waiting.num_rows:
            self._writer.write_table(self._waiting, _ROW_GROUP)
        self._writer.close()


def _write_by_loops(plan: SummaryPlan, scores: Sequence[Path], runs: pa.Table, *, target: Path) -> bool:
    """Write the summary by compiled loops, some runs at a time; False, and no file, where they do not take the rows."""
    repeats = dict(zip(runs.column("run_id").to_pylist(), runs.column("repeats").to_pylist(), strict=True))
    try:
        with closing(SummaryFile(target)) as file:
            for made in statistics_of_runs(plan, scores, repeats):
                file.add(made)
    except OtherRows:
        target.unlink(missing_ok=True)
        return False
    return True


def _write_divided(plan: SummaryPlan, rows: ScoreRows, runs: pa.Table, *, target: Path, database: Database) -> None:
    """Write the summary of runs, which are sorted; where the memory does not do for all of them, of half at a time.

    A run is summed alone, so that the bits do not depend on it. An error of DuckDB, and no file, where one run is too
    large.
    """
    import duckdb

    try:
        write_summary(plan, rows.of_runs(runs), runs, target=target, database=database)
        return
    except (duckdb.Error, MemoryError):
        target.unlink(missing_ok=True)
        if runs.num_rows < 2:
            raise
    half = runs.num_rows // 2
    parts = [target.with_name(f"{target.name}.{k}") for k in range(2)]
    try:
        for part, mine in zip(parts, (runs.slice(0, half), runs.slice(half)), strict=True):
            _write_divided(plan, rows, mine, target=part, database=database)
        made = pa.concat_tables(pq.read_table(part, partitioning=None) for part in parts)
        pq.write_table(made, target, compression="zstd", store_schema=False, row_group_size=_ROW_GROUP)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class _MetricColumns:
    """A metric as expressions over score rows; the columns of the k-th end in k, so that many stand side by side."""

    name: str  # SQL
    value: str  # null where there is none
    worth: str  # what a null counts as: a number, null, or the column of that name
    numerator: str | None = None
    denominator: str | None = None

    def of_answer(self, k: int) -> dict[str, str]:
        """The columns of an answer that stands alone."""
        value = f"coalesce({self.value}::double, {self.worth}::double)"
        columns = {
            f"value_{k}": value,
            f"scored_{k}": self.value,
            f"nonzero_{k}": f"({value} <> 0)::int::double",
        }
        if self.denominator:
            columns[f"numerator_{k}"] = f"{self.numerator}::double::decimal(38, 18)"
            columns[f"denominator_{k}"] = f"{self.denominator}::double::decimal(38, 18)"
            columns[f"parts_{k}"] = f"({self.denominator} is not null)::bigint"
        return columns

    def of_question(self, k: int) -> list[str]:
        """The columns of a question, or another unit, from those of its answers."""
        columns = [f"exact_mean(value_{k}) as value_{k}", f"any_value(scored_{k}) as scored_{k}",
                   f"exact_mean(nonzero_{k}) as nonzero_{k}"]  # fmt: skip
        if self.denominator:
            columns += [f"sum({name}_{k}) as {name}_{k}" for name in ("numerator", "denominator", "parts")]
        return columns

    def totals(self, k: int) -> list[str]:
        """The aggregates of a run that need no others. Those of the same weights are computed once for all metrics."""
        weight = "weight"
        if self.worth in ("null", "worth"):
            weight = f"case when {self.worth} is not null or value_{k} is not null then weight end"
        found = [f"metric_totals(value_{k}, scored_{k}, nonzero_{k}, {weight}) as totals_{k}"]
        if self.denominator:
            found.append(f"metric_parts(numerator_{k}, denominator_{k}, parts_{k}, repeats) as parts_{k}")
        return found

    def row(self, k: int, run_stat: str) -> str:
        """The row of the summary."""
        parts = f"t.parts_{k}" if self.denominator else "{numerator: null, denominator: null, n_parts: 0}"
        return f"summary_row({self.name}, t.totals_{k}, {parts}, p.spread_{k}, {quoted(run_stat)})"

    def stacked(self) -> str:
        """The columns of an answer as an entry of a list that holds the same of every metric."""
        empty = {f"{name}_0": "null" for name in ("numerator", "denominator", "parts")}
        columns = {"metric": self.name, "worth": f"{self.worth}::double", **empty, **self.of_answer(0)}
        columns["scored_0"] = f"case when {self.value} is not null then true end"  # one type for all metrics
        return f"{{{', '.join(f'{name}: {value}' for name, value in columns.items())}}}"


# Any metric of rows that stand one below the other: what differs between metrics is in their columns.
_STACKED = _MetricColumns(
    name="t.metric", value="value_0", worth="worth", numerator="numerator_0", denominator="denominator_0"
)


@dataclass(frozen=True)
class _Group:
    """A name by which rows are broken down, and what a row stands under: every entry of a list, once."""

    name: str
    value: str


class _Summarizer:
    """Fills the table `summary` of a connection that has the views score_rows and run_records."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, plan: SummaryPlan, schema: pa.Schema, *, count: int
    ) -> None:
        self._connection = connection
        self._plan = plan
        self._schema = schema
        self._metrics = [
            *(self._metric_columns(metric) for metric in plan.metrics),
            _MetricColumns(name=quoted(OF_RUN), value="(s.fail_reason is null)", worth="0.0"),
        ]
        self._at_once = max(1, _MOST_VALUES // max(count, 1))
        self._stacks = count * len(self._metrics) <= _MOST_STACKED
        (self._least_repeats, self._most_repeats) = connection.execute(
            "select coalesce(min(repeats), 1), coalesce(max(repeats), 1) from run_records"
        ).fetchall()[0]

    @property
    def _keys(self) -> tuple[str, ...]:
        """What a row of the summary is of, apart from its metric where the metrics stand side by side."""
        return ("commit", "run_id", "group_value", *(["metric"] if self._stacks else []))

    def fill(self) -> None:
        """All passes over the rows."""
        declared = ", ".join(f"{identifier(field.name)} {_SQL_TYPES[field.type]}" for field in SUMMARY)
        self._connection.execute(f"create table summary (commit varchar, {declared})")
        if self._plan.by_question:
            self._passes("summary", "s.question_id")
        else:
            self._by_units()
        for group in self._groups():
            self._passes("summary", "s.question_id", group)
        self._connection.execute(_FAIL_REASONS)

    def _by_units(self) -> None:
        """The statistics over questions, with the run's value over units."""
        for table in ("by_question", "by_unit"):
            self._connection.execute(f"create temp table {table} as from summary")
        self._passes("by_question", "s.question_id")
        unit = f"to_json([{', '.join(map(self._column, self._plan.unit_key))}])::varchar"
        self._passes("by_unit", unit)
        self._connection.execute(
            "insert into summary by name select q.* replace (u.value as value, u.n_units as n_units) "
            "from by_question q join by_unit u "
            "on u.commit = q.commit and u.run_id = q.run_id and u.metric = q.metric"
        )

    def _passes(self, table: str, part: str, group: _Group | None = None) -> None:
        """Statements for some metrics at a time, so that what they hold is bounded."""
        for start in range(0, len(self._metrics), self._at_once):
            metrics = self._metrics[start : start + self._at_once]
            self._connection.execute(f"insert into {table} by name {self._statement(metrics, part, group)}")

    def _statement(self, metrics: Sequence[_MetricColumns], part: str, group: _Group | None) -> str:
        """The statistics of some metrics over the questions, or other parts, of each run and value of a group."""
        answers = self._answers(metrics, part, group)
        if self._stacks:
            metrics = [_STACKED]
        spreads = (f"metric_spread(q.value_{k}, q.weight, t.totals_{k}) as spread_{k}" for k, _ in enumerate(metrics))
        totals = (column for k, metric in enumerate(metrics) for column in metric.totals(k))
        rows = (metric.row(k, self._plan.run_stat) for k, metric in enumerate(metrics))
        keys = self._keys
        same = " and ".join(f"t.{name} = {{0}}.{name}" for name in keys)
        return f"""
            with answers as not materialized ({answers}),
            questions as not materialized ({self._questions(metrics)}),
            totals as materialized (
                select {", ".join(keys)}, {", ".join(totals)} from questions group by {", ".join(keys)}
            ),
            spreads as not materialized (
                select {", ".join(f"t.{name}" for name in keys)}, {", ".join(spreads)}
                from questions q
                join totals t on {same.format("q")}
                group by {", ".join(f"t.{name}" for name in keys)}
            )
            select
                t.commit, t.run_id, {quoted(group.name if group else "")} as grouping, t.group_value,
                unnest([{", ".join(rows)}], max_depth := 2)
            from totals t
            join spreads p on {same.format("p")}
        """

    def _answers(self, metrics: Sequence[_MetricColumns], part: str, group: _Group | None) -> str:
        """The metrics of every answer, in every group that it stands in: side by side, or a row each."""
        if self._stacks:
            columns = f"[{', '.join(metric.stacked() for metric in metrics)}] as stack"
        else:
            of_answer = (column for k, metric in enumerate(metrics) for column in metric.of_answer(k).items())
            columns = ", ".join(f"{value} as {name}" for name, value in of_answer)
        repeats, joined = "1", ""
        if self._most_repeats > 1:
            repeats = "r.repeats"
            joined = "join run_records r on r.commit = s.commit and r.run_id = s.run_id"
        value = group.value if group else "''"
        rows = (
            f"select s.commit, s.run_id, {value} as group_value, {part} as part, s.weight, "
            f"{repeats} as repeats, {columns} from score_rows s {joined}"
        )
        if group:
            rows = f"from ({rows}) where group_value is not null"
        return f"select * exclude (stack), unnest(stack, max_depth := 2) from ({rows})" if self._stacks else rows

    def _questions(self, metrics: Sequence[_MetricColumns]) -> str:
        """The metrics of every question: rows that stand alone pass as they are, the others count as their mean."""
        keys = ", ".join(self._keys)
        grouped = [column for k, metric in enumerate(metrics) for column in metric.of_question(k)]
        if self._stacks:
            grouped.append("any_value(worth) as worth")
        several = (
            f"select {keys}, any_value(weight) as weight, any_value(repeats) as repeats, {', '.join(grouped)} "
            f"from answers {{}} group by {keys}, part"
        )
        if not self._plan.by_question or self._least_repeats > 1:
            return several.format("")
        if self._most_repeats == 1:
            return "from answers"
        return (
            f"select * exclude (part) from answers where repeats = 1 union all by name "
            f"{several.format('where repeats > 1')}"
        )

    def _groups(self) -> Iterator[_Group]:
        """What the rows are broken down by, as far as they have it. A column of maps is many: each of its keys."""
        for name in self._plan.groups:
            if name not in self._schema.names:
                continue
            type_, column = self._schema.field(name).type, f"s.{identifier(name)}"
            if pa.types.is_map(type_):
                keys = f"select distinct unnest(map_keys({column})) as key from score_rows s order by key"
                for (key,) in self._connection.execute(keys).fetchall():
                    yield _Group(key, f"map_extract_value({column}, {quoted(key)})")
            elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
                yield _Group(name, f"unnest(list_distinct({column}))::varchar")
            else:
                yield _Group(name, f"{column}::varchar")

    def _metric_columns(self, metric: SummarizedMetric) -> _MetricColumns:
        worth = "null" if metric.null_counts_as is None else repr(metric.null_counts_as)
        is_ratio = metric.numerator and metric.denominator
        return _MetricColumns(
            name=quoted(metric.name),
            value=self._column(metric.column),
            worth=worth,
            numerator=self._column(metric.numerator) if is_ratio else None,
            denominator=self._column(metric.denominator) if is_ratio else None,
        )

    def _column(self, name: str | None) -> str:
        """A column of the rows; null where they do not have it, because it came later or depends on parameters."""
        return f"s.{identifier(name)}" if name is not None and name in self._schema.names else "null"


_SQL_TYPES = {LARGE_STRING: "varchar", pa.int64(): "bigint", pa.float64(): "double"}

_FAIL_REASONS = f"""
    insert into summary by name
    select
        s.commit, s.run_id, {quoted(OF_RUN)} as metric, {quoted(FAIL_REASON)} as grouping, s.fail_reason as group_value,
        count(*) as n_total, any_value(t.n) as n_counted
    from score_rows s
    join (select commit, run_id, count(*) as n from score_rows group by commit, run_id) t
        on t.commit = s.commit and t.run_id = s.run_id
    where s.fail_reason is not null
    group by s.commit, s.run_id, s.fail_reason
"""
