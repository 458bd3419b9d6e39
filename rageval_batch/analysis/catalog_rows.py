"""What a session learns of the profiles: rows of a catalog, and the SQL and tables that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields as dataclass_fields

import pyarrow as pa
import pyarrow.parquet as pq

from rageval_batch.analysis.run_lines import stat_name
from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.dataclass import dataclass
from rageval_batch.model.schemas import KEYS
from rageval_batch.runs.damage import reading
from rageval_batch.runs.store import Commit
from rageval_batch.runs.summary_plan import SummarizedMetric, SummaryPlan
from rageval_batch.sql_text import PACKED_COMMIT, quoted

METRIC_COLUMNS = (
    "commit, run_id, profile, question_id, unit, by_question, repeat, weight, fail_reason, metric, value, numerator, "
    "denominator"
)


@dataclass(frozen=True, kw_only=True)
class MetricRow:
    """A metric of the catalog."""

    profile: str
    metric: str
    higher_is_better: bool = True
    null_counts_as: float | None = None
    numerator: str | None = None
    denominator: str | None = None
    column: str | None = None  # where its values are not in a column of its name
    scale: float | None = 1.0  # from the worst value to the best; null: a count
    reads: tuple[str, ...] = ()  # of one whose values are expressions: the columns that they need

    def needs(self, run_stat: str) -> tuple[str, ...]:
        """The columns that a run's value is made of, by the statistic that makes it."""
        parts = (self.numerator, self.denominator) if run_stat == "micro" else ()
        return self.reads or tuple(name for name in (self.column or self.metric, *parts) if name)


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A profile of the catalog: its table, how runs are scored, its metrics, gates and what a record must name."""

    profile: str
    schema: pa.Schema
    run_stat: str
    score_top: float
    metrics: tuple[MetricRow, ...]
    gates: tuple[GateRow, ...] = ()
    provenance: tuple[str, ...] = ()
    view_keys: tuple[str, ...] = ("run_id", "question_id", "repeat")  # the first columns of its own view
    internal: tuple[str, ...] = ()  # columns that its own view leaves out
    groups: tuple[str, ...] = ()  # columns that summaries are broken down by
    unit: str = "question"  # what runs are paired by
    row: str = "question"  # what the counts of a run are of
    unit_key: tuple[str, ...] = ("question_id",)  # the columns that say which unit a row is of
    counted: str | None = None  # null on rows whose columns, other than metrics, must not enter means
    title: str = ""
    docs: tuple[tuple[str, str], ...] = ()  # what its columns are
    question_groups: tuple[str, ...] = ()  # dotted fields that its questions are grouped by
    restored: Callable[[pa.Table], pa.Table] | None = None  # rows of the view with all columns that metrics need

    @property
    def stat(self) -> str:
        """What people call the statistic that makes a run's score of its rows."""
        return stat_name(self.run_stat)

    @property
    def by_question(self) -> bool:
        """Whether the units are the questions."""
        return self.unit_key == ("question_id",)

    @property
    def summary_plan(self) -> SummaryPlan:
        """What summaries of its score rows are made of."""
        return SummaryPlan(
            run_stat=self.run_stat,
            unit_key=self.unit_key,
            metrics=tuple(
                SummarizedMetric(
                    name=metric.metric,
                    column=metric.column or metric.metric,
                    null_counts_as=metric.null_counts_as,
                    numerator=metric.numerator,
                    denominator=metric.denominator,
                )
                for metric in self.metrics
            ),
            groups=self.groups,
        )

    @property
    def unit_sql(self) -> str:
        """The name of a row's unit: its question, else the JSON list of its key."""
        return "question_id" if self.by_question else f"to_json([{', '.join(self.unit_key)}])::varchar"


# Of runs in files that name no profile.
UNKNOWN_PROFILE = ProfileRow(
    profile="",
    schema=pa.schema([]),
    run_stat="weighted_mean",
    score_top=1.0,
    metrics=(MetricRow(profile="", metric="score"),),
)


def stored_profile(commit: Commit) -> ProfileRow | None:
    """What a commit says of its profile, for one that nobody here knows: its runs are listed, scored and compared.

    None where its name or columns are such that no view can have them.
    """
    name, declared = commit.manifest["profile"], commit.manifest.get("declaration") or {}
    with reading([commit]):
        stored = pq.read_schema(commit.files("scores")[0])
    schema = pa.schema([column for column in stored if column.name != PACKED_COMMIT])
    if not name.isidentifier() or not all(column.isidentifier() for column in schema.names):
        return None
    fields = [one.name for one in dataclass_fields(MetricRow) if one.name not in ("profile", "metric", "reads")]
    metrics = [
        MetricRow(profile=name, metric=metric["name"], **{field: metric[field] for field in fields})
        for metric in declared.get("metrics", [])
    ]
    known = {*schema.names, "weight", None}
    usable = [one for one in metrics if {one.column or one.metric, one.numerator, one.denominator} <= known]
    return ProfileRow(
        profile=name,
        schema=schema,
        run_stat=declared.get("run_stat", "mean"),
        score_top=declared.get("score_top", 1.0),
        metrics=tuple(usable) or (MetricRow(profile=name, metric="score"),),
    )


# --- SQL over the score rows ----------------------------------------------------------------------------------------


def common_sql(row: ProfileRow) -> str:
    return (
        f"select commit, run_id, '{row.profile}' as profile, question_id, dataset, repeat, weight, score, fail_reason "
        f"from stored_{row.profile}"
    )


def wide_sql(row: ProfileRow) -> str:
    """The profile's own view. Grain: score row of the current result of each run; its columns as it declares them."""
    first = ", ".join(f"{'r' if name == 'run_id' else 's'}.{quoted_name(name)}" for name in row.view_keys)
    apart = {*KEYS.names, "commit", *row.view_keys, *row.internal}
    left_out = ", ".join(quoted_name(name) for name in sorted(apart))
    return (
        f"create view {row.profile} as select {first}, s.* exclude ({left_out}), r.eval_set "
        f"from stored_{row.profile} s join current_runs r on r.commit = s.commit and r.stored_id = s.run_id"
    )


def metric_sql(row: ProfileRow, metric: MetricRow, table: str) -> str:
    """The rows of a metric in a table of score rows."""
    value, numerator, denominator = (
        "null::double" if name is None else f"{name if metric.reads else f's.{quoted_name(name)}'}::double"
        for name in (metric.column or metric.metric, metric.numerator, metric.denominator)
    )
    return (
        f"select s.commit, s.run_id, '{row.profile}' as profile, s.question_id, {row.unit_sql} as unit, "
        f"{row.by_question} as by_question, s.repeat, s.weight, s.fail_reason, {quoted(metric.metric)} as metric, "
        f"{value} as value, {numerator} as numerator, {denominator} as denominator from {table} s"
    )


def quoted_name(name: str) -> str:
    """A name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


# --- tables ---------------------------------------------------------------------------------------------------------


def metric_table(metrics: Iterable[MetricRow]) -> pa.Table:
    schema = pa.schema(
        [
            ("profile", LARGE_STRING),
            ("metric", LARGE_STRING),
            ("higher_is_better", pa.bool_()),
            ("null_counts_as", pa.float64()),
            ("scale", pa.float64()),
        ]
    )
    rows = [{name: getattr(metric, name) for name in schema.names} for metric in metrics]
    return pa.Table.from_pylist(rows, schema=schema)


def gate_table(catalog: tuple[ProfileRow, ...]) -> pa.Table:
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


def profile_table(catalog: Iterable[ProfileRow]) -> pa.Table:
    schema = pa.schema(
        [
            ("profile", LARGE_STRING),
            ("run_stat", LARGE_STRING),
            ("stat", LARGE_STRING),
            ("score_top", pa.float64()),
            ("provenance", pa.list_(LARGE_STRING)),
        ]
    )
    return pa.Table.from_pylist([{n: getattr(row, n) for n in schema.names} for row in catalog], schema=schema)
