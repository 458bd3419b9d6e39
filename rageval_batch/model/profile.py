"""What a profile is: frozen declarations of parameters, columns, metrics and gates, and two pure functions."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import is_text
from rageval_batch.config import read_config
from rageval_batch.errors import DeclarationError, InputError, did_you_mean
from rageval_batch.model.schemas import EvalSet, OutputField

METRIC_STATS = ("mean", "weighted_mean", "micro", "min", "max", "sum", "rate", "p50", "p90", "p95", "n")
SCORE_STATS = ("mean", "weighted_mean", "micro")  # how a run's score comes from its rows
RUN_STATS = ("answered_share", "usable_share", "missing_provenance")  # of a run's record and rows, of no metric
COVERAGE_STATS = (*RUN_STATS, "n")  # they say how much there is to judge, not how good it is
STATS = (*METRIC_STATS, *RUN_STATS)
OPS = (">=", "<=", "==", ">", "<")
LEVELS = ("initial", "target")

Params = Mapping[str, Any]
Value = str | int | float | tuple[str, ...] | dict[str, Any]  # of a parameter

_JSON_LIST = re.compile(r'\s*\[\s*(?:"|\]\s*$)')  # a text that begins in another way is no list


@dataclass(frozen=True)
class Param:
    """A named setting of a profile; its type is that of its default. A tuple is a list of texts.

    A table is given as a TOML or JSON file, or as a table of a file of parameters.
    """

    name: str
    default: Value
    doc: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    problem: Callable[[str], str | None] | None = None  # of a list: what is wrong with one of its texts
    problems: Callable[[dict[str, Any]], list[str]] | None = None  # what is wrong with a table
    or_names: bool = False  # in place of the number, names: a list, or a text with commas between them

    def read(self, given: Any) -> Value:
        """The value of what the user gave, as text or already typed; InputError with what is allowed."""
        if isinstance(self.default, dict):
            return self._table(given)
        if self.or_names and (names := _names(given)) is not None:
            return self._listed(names)
        value = self._listed(given) if isinstance(self.default, tuple) else self._typed(given)
        if self.choices and value not in self.choices:
            raise InputError(f"Parameter {self.name}={given} is not known. Allowed: {', '.join(self.choices)}.")
        if isinstance(value, str | tuple):
            return value
        if self.low is not None and value < self.low:
            raise InputError(f"Parameter {self.name}={given} is too small. Give a number of at least {self.low:g}.")
        if self.high is not None and value > self.high:
            raise InputError(f"Parameter {self.name}={given} is too large. Give a number of at most {self.high:g}.")
        return value

    def _table(self, given: Any) -> dict[str, Any]:
        value: dict[str, Any] = given if isinstance(given, dict) else read_config(str(given))
        if self.problems is not None and (found := self.problems(value)):
            where = f"{self.name}={given}" if not isinstance(given, dict) else self.name
            raise InputError(f"Parameter {where} cannot be used: {'; '.join(found)}.")
        return value

    def _listed(self, given: Any) -> tuple[str, ...]:
        """A list of texts: a list, its JSON, or one text that stands for itself."""
        if isinstance(given, str) and _JSON_LIST.match(given):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"Parameter {self.name}={given} is not a JSON list: {error}. In JSON, write \\\\ for a backslash."
                ) from None
        texts = (given,) if isinstance(given, str) else given
        if not isinstance(texts, list | tuple) or not all(map(is_text, texts)):
            raise InputError(f"Parameter {self.name}={given!r} is not a list of texts.")
        for item in texts:
            if self.problem and (wrong := self.problem(item)):
                raise InputError(f"Parameter {self.name}: '{item}' {wrong}.")
        return tuple(texts)

    def _typed(self, given: Any) -> str | int | float:
        if isinstance(self.default, str):
            return str(given)
        wanted = "a whole number" if isinstance(self.default, int) else "a number"
        try:
            value = float(given)
            if isinstance(given, bool) or not math.isfinite(value):
                raise ValueError
            if isinstance(self.default, int):
                if value != int(value):
                    raise ValueError
                return int(value)
        except (TypeError, ValueError):
            raise InputError(f"Parameter {self.name}={given} is not {wanted}.") from None
        return value


def _names(given: Any) -> Any:
    """What was given in place of a number: a list or its JSON as it is, another text cut at its commas; else None."""
    if isinstance(given, list | tuple) or (isinstance(given, str) and _JSON_LIST.match(given)):
        return given
    if not isinstance(given, str):
        return None
    with suppress(ValueError):
        float(given)
        return None
    return tuple(name for part in given.split(",") if (name := part.strip())) or None


@dataclass(frozen=True)
class Column:
    """A column of the profile's score rows."""

    name: str
    type: pa.DataType
    doc: str


@dataclass(frozen=True)
class Metric:
    """A numeric or boolean column that runs are measured by."""

    name: str
    doc: str
    higher_is_better: bool = True
    null_counts_as: float | None = None  # None: a null is left out of the mean; a number: it counts as that
    numerator: str | None = None
    denominator: str | None = None
    column: str | None = None  # the column that has its value, where that is not called like the metric
    scale: float | None = 1.0  # from the worst value to the best, in its unit; None: a count, which has no best or
    # worst. Of the metric `score` it is the profile's score_top
    coverage: bool = False  # it says how much there is to judge, not how good that is


@dataclass(frozen=True)
class Gate:
    """A limit that a run must keep: data, compared in SQL.

    `rate` is the share of values that are not 0, `n` how many questions have a value of their own. Without a metric:
    `answered_share` of the questions have an output, `usable_share` of the answers have no fail_reason, and
    `missing_provenance` is how many names of the profile's `provenance` the run's record lacks.
    """

    name: str
    metric: str
    stat: str
    op: str
    limit: float
    failure: str = "QualityGateFailure"
    level: str = ""  # one of LEVELS, or empty: every level

    def __post_init__(self) -> None:
        if self.stat not in STATS or self.op not in OPS:
            raise DeclarationError(f"gate {self.name}: {self.stat} {self.op} is not a known statistic and operator")
        if self.level not in ("", *LEVELS) or not math.isfinite(self.limit):
            raise DeclarationError(f"gate {self.name}: level '{self.level}' or limit {self.limit} is not usable")
        if (self.stat in RUN_STATS) != (self.metric == ""):
            raise DeclarationError(f"gate {self.name}: {self.stat} of metric '{self.metric}' does not exist")


@dataclass(frozen=True)
class Scored:
    """What a profile says of a batch: one value a row and column, and what it counted on the way."""

    columns: dict[str, pa.Array]
    tallies: pa.Table | None = None  # row (int32, of the batch), kind, got, expected, n


@dataclass(frozen=True)
class Section:
    """A part of an explanation: lines that have the same columns."""

    name: str
    lines: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Explanation:
    """One answer taken apart: expected and got side by side, and why."""

    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Records:
    """For rows that say themselves what they are about: no question list is needed, none is rejected for its key."""

    keys: tuple[str, ...]  # text columns of the outputs that reach the batch, null where a row has none
    carried: tuple[Column, ...]  # columns that scoring makes for `settle`, which takes them off
    reconcile: (
        str  # table macro of sql/ over `rows` (all score rows of a job) and `listed`: the rows as they are stored
    )
    log: str  # table macro of sql/ over `rows` and `stored`: run_id, question_count, answered_count, meta
    listed: Callable[[Params], tuple[str, ...]]  # columns of the list (-q) of what should be there
    read_list: Callable[[pa.Table], pa.Table]  # the list as `settle` wants it
    texts: tuple[str, str]  # columns of the texts (-c) that rows are about: key and text
    order: tuple[str, ...]  # how the rows of a commit are sorted
    whole_files: bool = False  # a .json file of outputs is one output; its name stands in the column `file`
    archive: tuple[str, str] | None = None  # columns that say whether a row is valid, and if not, why


@dataclass(frozen=True)
class Profile:
    """A scoring system: what it reads, what it computes, what a run must reach."""

    name: str
    title: str
    doc: str
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    metrics: tuple[Metric, ...]
    gates: tuple[Gate, ...]
    run_stat: str  # one of SCORE_STATS: how a run's value of a metric comes from its rows
    score_top: float  # the best score a row can have
    prepare: Callable[[EvalSet, Params], Any]
    score: Callable[[Any, pa.RecordBatch], Scored]
    explain: Callable[[Any, pa.RecordBatch], Explanation]
    missing_columns: Callable[[Any, Any], dict[str, pa.Array]]  # of rows that have no output; all others are null
    summary: Mapping[str, tuple[str, str]]  # name in a run's summary -> (metric, statistic)
    headline: tuple[str, ...]  # the names of the summary that a line for a run shows
    tallies: Mapping[str, str]  # kind of tally -> what it says
    provenance: tuple[str, ...] = ()  # what a run's record must name
    failing: Callable[[Any, pa.RecordBatch], list[dict[str, Any]]] | None = None  # claims of a batch that do not hold:
    # dictionaries with `row` (of the batch), `claim_id`, `text`, `reason`; a gate's summary lists them
    output_fields: tuple[OutputField, ...] = ()  # of an answer that stands in the row itself
    columns_for: Callable[[Params], tuple[Column, ...]] | None = None  # where parameters change the columns
    records: Records | None = None
    views: tuple[str, ...] = ()  # views of sql/ that only this profile has, in the order in which they build
    shown_views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # those that `show` has, and their columns
    weights: Callable[[EvalSet], tuple[float, ...]] = lambda eval_set: eval_set.weights
    groups: tuple[str, ...] = ()  # columns (texts or lists of texts) by which a run's summary is broken down
    question_schema: Mapping[str, Any] = field(default_factory=dict)  # JSON Schema of one question
    header_schema: Mapping[str, Any] = field(default_factory=dict)  # JSON Schema of what stands around the questions
    question_problems: Callable[[dict[str, Any]], Iterator[tuple[list[str | int], str]]] | None = None  # what no schema
    # can say of a question that keeps its schema: (steps to a value that cannot be scored, what is allowed)
    question_key: tuple[str, ...] = ()  # fields that together are unique in a question file; none: the id alone
    question_marks: tuple[str, ...] = ()  # dotted keys of a question or its file that only this profile has
    unit: str = "question"  # what runs are paired by in a comparison; its value is the mean of its rows
    unit_key: tuple[str, ...] = ("question_id",)  # the columns that say which unit a row is of
    counted: str | None = None  # column that is null on rows whose other columns must not enter a run's means
    restored: Callable[[pa.Table], pa.Table] | None = None  # rows of the profile's view with the columns that metrics
    # and units need and the view leaves out

    def __post_init__(self) -> None:
        known = {column.name for column in self.columns} | {"weight"}
        for metric in self.metrics:
            for name in (metric.column or metric.name, metric.numerator, metric.denominator):
                if name is not None and name not in known:
                    raise DeclarationError(f"profile {self.name}: metric column '{name}' is not declared")
        measured = {metric.name for metric in self.metrics}
        for gate in self.gates:
            if gate.metric and gate.metric not in measured:
                raise DeclarationError(f"profile {self.name}: gate '{gate.name}' needs unknown metric '{gate.metric}'")
        for name, (metric_name, _) in self.summary.items():
            if metric_name not in measured:
                raise DeclarationError(f"profile {self.name}: summary '{name}' needs unknown metric '{metric_name}'")
        if not set(self.headline) <= set(self.summary):
            raise DeclarationError(f"profile {self.name}: the headline names what the summary does not have")
        if not set(self.groups) <= known:
            raise DeclarationError(f"profile {self.name}: the summary is broken down by a column it does not have")
        if not set(self.unit_key) - {"question_id"} <= known or (self.counted or "score") not in known:
            raise DeclarationError(f"profile {self.name}: runs are paired or counted by a column it does not have")
        parts = next((bool(m.numerator and m.denominator) for m in self.metrics if m.name == "score"), False)
        if self.run_stat not in SCORE_STATS or (self.run_stat == "micro" and not parts):
            raise DeclarationError(f"profile {self.name}: a run's score cannot be the {self.run_stat} of its rows")
        if not {"score", "fail_reason"} <= known:
            raise DeclarationError(f"profile {self.name}: the columns score and fail_reason must be declared")

    def scale(self, metric: Metric) -> float | None:
        """From the worst value of a metric to the best; None for a count."""
        return self.score_top if metric.name == "score" else metric.scale

    def is_coverage(self, gate: Gate) -> bool:
        """Whether a gate is about how much there is to judge, or about the run's record, and not about quality."""
        return gate.stat in COVERAGE_STATS or any(m.coverage for m in self.metrics if m.name == gate.metric)

    @property
    def schema(self) -> pa.Schema:
        """The profile's own columns of a score row."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    def schema_for(self, params: Params) -> pa.Schema:
        """The profile's own columns of a score row, with these parameters."""
        columns = self.columns if self.columns_for is None else self.columns_for(params)
        carried = self.records.carried if self.records else ()
        return pa.schema([(column.name, column.type) for column in (*columns, *carried)])

    def with_question_fields(self, names: tuple[str, ...]) -> Profile:
        """The profile for questions that need these fields alone, which together are unique."""
        properties = {name: self.question_schema["properties"][name] for name in names}
        schema = {**self.question_schema, "required": list(names), "properties": properties}
        return replace(self, question_schema=schema, question_key=names)

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
        changed = [f"{name}={_brief(value)}" for name, value in values]
        return ",".join(changed) or "default"


def _brief(value: Any) -> Any:
    """A parameter on one line: a table by the start of its hash, a list as JSON."""
    if isinstance(value, dict):
        return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]
    return canonical_json(value) if isinstance(value, tuple) else value


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and characters as they are: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def params_sha256(params: Params) -> str:
    """The hash of the canonical JSON of all parameters."""
    return hashlib.sha256(canonical_json(dict(params)).encode()).hexdigest()
