"""What a profile is: identity, parameters, columns, metrics and gates as data, and the pure functions of its scorer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import pyarrow as pa

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import DeclarationError, InputError, did_you_mean
from rageval_batch.model.gate import COVERAGE_STATS, SCORE_STATS, Gate
from rageval_batch.model.inputs import ByQuestion, Inputs
from rageval_batch.model.metric import Column, Metric
from rageval_batch.model.params import Param, Params, brief_value
from rageval_batch.model.schemas import EvalSet

REVISION_LENGTH = 12  # characters of the hash of a profile file that name its revision


@dataclass(frozen=True)
class Scored:
    """What a profile says of a batch: one value a row and column, and what it counted on the way."""

    columns: dict[str, pa.Array]
    tallies: pa.Table | None = None  # row (int32, of the batch), kind, got, expected, n


@dataclass(frozen=True)
class Section:
    """A part of an explanation: lines that have the same columns.

    `members`: of an answer that is a JSON object, the member in which each line was looked for; empty: they were looked
    for in the whole answer.
    """

    name: str
    lines: tuple[dict[str, Any], ...]
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One answer taken apart: expected and got side by side, and why."""

    sections: tuple[Section, ...]


def no_missing_columns(prepared: Any, question: Any) -> dict[str, pa.Array]:
    """Nothing but nulls for rows that have no output."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Uncomputed:
    """A part of the score that is 0 because the inputs lack what it is computed from, and what would mend that."""

    part: str
    where: str  # SQL condition over the columns of a score row
    why: str
    give: str  # a sentence


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """The scorer: functions of modules, so that it can be pickled. `prepare` works an eval set out once; each of the
    others takes what it returned."""

    prepare: Callable[[EvalSet, Params], Any]
    score: Callable[[Any, pa.RecordBatch], Scored]
    explain: Callable[[Any, pa.RecordBatch], Explanation]  # of a batch with one answer
    missing: Callable[[Any, Any], dict[str, pa.Array]] = no_missing_columns  # of questions (their indexes) without an
    # output; columns that it leaves out are null
    failing_claims: Callable[[Any, pa.RecordBatch], list[dict[str, Any]]] | None = None  # claims of a batch that do not
    # hold: dictionaries with `row` (of the batch), `claim_id`, `text`, `reason`; a gate's summary lists them
    columns: Callable[[Params], tuple[Column, ...]] | None = None  # where parameters change the columns
    uncomputed: tuple[Uncomputed, ...] = ()  # what `score` tells where it happens


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What runs are paired by in a comparison; the value of a unit is the mean of its rows."""

    name: str = "question"
    row: str = "question"  # what the counts of a run (question_count, answered_count) are of
    key: tuple[str, ...] = ("question_id",)  # the columns that say which unit a row is of
    counted: str | None = None  # column that is null on rows whose other columns must not enter a run's means
    restored: Callable[[pa.Table], pa.Table] | None = None  # rows of the profile's view with the columns that metrics
    # and units need and the view leaves out


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How rows become the result of a run."""

    stats: Mapping[str, tuple[str, str]]  # name in a run's summary -> (metric, statistic)
    headline: tuple[str, ...]  # the names of `stats` that a line for a run shows
    run_stat: str = "mean"  # one of SCORE_STATS: how a run's value of a metric comes from its rows
    score_top: float = 1.0  # the best score a row can have
    groups: tuple[str, ...] = ()  # columns (texts or lists of texts) by which a run's summary is broken down
    provenance: tuple[str, ...] = ()  # what a run's record must name
    unit: Unit = Unit()


@dataclass(frozen=True, kw_only=True)
class Views:
    """The profile's own view, which follows from its columns, and what `show` has of its views in sql/NAME/."""

    keys: tuple[str, ...] = ("run_id", "question_id", "repeat")  # the first columns of its own view
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # views that `show` has, and their columns


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A scoring system: what it reads, what it computes, what a run must reach."""

    name: str
    version: int  # counts up whenever a score changes: results of different versions are different results
    title: str
    doc: str
    params: tuple[Param, ...] = ()
    columns: tuple[Column, ...]
    metrics: tuple[Metric, ...]
    gates: tuple[Gate, ...] = ()
    inputs: Inputs = field(default_factory=ByQuestion)
    scoring: Scoring
    summary: Summary
    views: Views = Views()
    content: str | None = None  # of a profile file: its text, which alone gives the profile back; a store keeps it
    digest: str = ""  # SHA-256 of all that a profile file or a declaration by text computes; a change is a new revision

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or not self.name.isascii():
            raise DeclarationError(f"profile {self.name!r}: a name is ASCII letters, digits and _, as it names a view")
        if self.version < 1:
            raise DeclarationError(f"profile {self.name}: versions count from 1")
        known = {column.name for column in self.columns} | {"weight"}
        for metric in self.metrics:
            for name in (metric.column or metric.name, metric.numerator, metric.denominator):
                if name is not None and name not in known:
                    raise DeclarationError(f"profile {self.name}: metric column '{name}' is not declared")
        measured = {metric.name for metric in self.metrics}
        for gate in self.gates:
            if gate.metric and gate.metric not in measured:
                raise DeclarationError(f"profile {self.name}: gate '{gate.name}' needs unknown metric '{gate.metric}'")
        for name, (metric_name, _) in self.summary.stats.items():
            if metric_name not in measured:
                raise DeclarationError(f"profile {self.name}: summary '{name}' needs unknown metric '{metric_name}'")
        if not set(self.summary.headline) <= set(self.summary.stats):
            raise DeclarationError(f"profile {self.name}: the headline names what the summary does not have")
        if not set(self.summary.groups) <= known:
            raise DeclarationError(f"profile {self.name}: the summary is broken down by a column it does not have")
        unit, run_stat = self.summary.unit, self.summary.run_stat
        if not set(unit.key) - {"question_id"} <= known or (unit.counted or "score") not in known:
            raise DeclarationError(f"profile {self.name}: runs are paired or counted by a column it does not have")
        parts = next((bool(m.numerator and m.denominator) for m in self.metrics if m.name == "score"), False)
        if run_stat not in SCORE_STATS or (run_stat == "micro" and not parts):
            raise DeclarationError(f"profile {self.name}: a run's score cannot be the {run_stat} of its rows")
        if not {"score", "fail_reason"} <= known:
            raise DeclarationError(f"profile {self.name}: the columns score and fail_reason must be declared")
        if "score" not in measured:
            raise DeclarationError(f"profile {self.name}: the metric score must be declared")

    def scale(self, metric: Metric) -> float | None:
        """From the worst value of a metric to the best; None for a count."""
        return self.summary.score_top if metric.name == "score" else metric.scale

    def is_coverage(self, gate: Gate) -> bool:
        """Whether a gate is about how much there is to judge, or about the run's record, and not about quality."""
        return gate.stat in COVERAGE_STATS or any(m.coverage for m in self.metrics if m.name == gate.metric)

    @property
    def revision(self) -> int | str:
        """What results must have in common to be of the same profile: its version, of a file the hash of its text."""
        return self.digest[:REVISION_LENGTH] or self.version

    @property
    def schema(self) -> pa.Schema:
        """The profile's own columns of a score row."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def schema_for(self, params: Params) -> pa.Schema:
        """The profile's own columns of a score row as it is scored, with these parameters."""
        columns = self.columns if self.scoring.columns is None else self.scoring.columns(params)
        return pa.schema([(column.name, column.type) for column in (*columns, *self.inputs.carried)])

    def has_param(self, name: str) -> bool:
        """Whether a parameter of that name is declared."""
        return any(param.name == name for param in self.params)

    def read_params(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, defaults filled in and checked; InputError for an unknown one."""
        known = {param.name: param for param in self.params}
        for name in given:
            if name not in known:
                raise InputError(did_you_mean(f"parameter of {self.name}", name, list(known)))
        return {name: param.read(given.get(name, param.default)) for name, param in known.items()}

    def signature(self, params: Params) -> str:
        """The parameters that are not at their defaults, readable; 'default' where all are."""
        values = [(p.name, params[p.name]) for p in self.params if params[p.name] != p.default]
        changed = [f"{name}={brief_value(value)}" for name, value in values]
        return ",".join(changed) or "default"
