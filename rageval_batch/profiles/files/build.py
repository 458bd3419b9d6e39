"""A profile file as a profile like any other: columns, metrics, gates, questions, scorer and summary."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.errors import DeclarationError, InputError, did_you_mean
from rageval_batch.model import (
    LEVELS,
    OPS,
    RUN_STATS,
    STATS,
    ByQuestion,
    Column,
    Gate,
    Inputs,
    Metric,
    OutputField,
    Param,
    Profile,
    Scoring,
    Summary,
    canonical_json,
)
from rageval_batch.profiles.files.fields import GROUPS, LIST_OF_TEXTS, TYPES, Field, question_format
from rageval_batch.profiles.files.names import check_column_name, check_field_name, check_profile_name
from rageval_batch.profiles.files.program import (
    CHUNKS,
    FAIL_DETAIL,
    FAIL_REASON,
    OUTPUT,
    SCORE,
    Program,
    Step,
    check_types,
    plan_of,
)
from rageval_batch.profiles.files.row_metrics import RowMetric
from rageval_batch.profiles.files.scoring import QUESTION_FIELDS, FileScorer, replaced
from rageval_batch.profiles.files.tables import (
    GateTable,
    MetricTable,
    ParamTable,
    ProfileTables,
    ReasonTable,
    ScoreTable,
    read_tables,
)

Find = Callable[[str], Profile]  # a profile of this package by its name


def read_profile(text: str, where: str, find: Find, *, checked: bool = False) -> Profile:
    """The profile of a file's text; InputError with the place of what is wrong.

    `checked`: its expressions are known to be good, so no database is opened to read them.
    """
    profile = _Builder(read_tables(text, where), where, find).profile(text)
    if not checked:
        check_expressions(profile)
    return profile


def check_expressions(profile: Profile) -> None:
    """InputError for an expression of a profile file that is not allowed, or of a wrong type."""
    scorer: FileScorer = profile.scoring.prepare.__self__  # type: ignore[attr-defined]
    plan_of(scorer.program)
    check_types(scorer.program, {one.name: one.default for one in profile.params if one.name in scorer.program.params})


def declare_profile(
    *, metrics: Mapping[str, str | dict[str, Any] | RowMetric], name: str, find: Find | None = None, **tables: Any
) -> Profile:
    """A profile from the tables of a profile file, given as Python values; a metric may be a `@row_metric` too."""
    from rageval_batch.typed_config import decode

    where = f"profile {name}"
    functions = {key: one for key, one in metrics.items() if isinstance(one, RowMetric)}
    written = {key: one if not isinstance(one, RowMetric) else one.function.__name__ for key, one in metrics.items()}
    content = {**tables, "name": name, "metrics": written}
    try:
        builder = _Builder(decode(content, ProfileTables), where, find or _no_base, functions=functions)
        profile = builder.profile(None)
        check_expressions(profile)
    except (InputError, ValueError) as error:
        raise DeclarationError(str(error)) from error
    sources = {key: one.source for key, one in functions.items()}
    return replace(profile, digest=_sha256(canonical_json([content, sources])))


def _no_base(name: str) -> Profile:
    raise InputError(f"cannot extend '{name}' from Python. Compose its functions instead.")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Builder:
    """Goes from the tables of a file to a profile, checking names on the way."""

    def __init__(
        self, tables: ProfileTables, where: str, find: Find, *, functions: Mapping[str, RowMetric] | None = None
    ) -> None:
        self.tables = tables
        self.where = where
        self.functions = functions or {}
        check_profile_name(tables.name, where)
        self.base = self._extended(find)
        self.base_columns = {column.name: column for column in self.base.columns} if self.base else {}

    def _extended(self, find: Find) -> Profile | None:
        if self.tables.extends is None:
            return None
        try:
            base = find(self.tables.extends)
        except InputError as error:
            raise InputError(f"{self.where}, extends: {error}") from error
        if not base.inputs.questions_required:
            raise InputError(f"{self.where}, extends: rows of {base.name} answer no questions, so it has no extension.")
        if self.tables.name == base.name:
            raise InputError(f"{self.where}, name: an extension of {base.name} needs a name of its own.")
        return base

    def profile(self, text: str | None) -> Profile:
        """All of it; `text` is the file's own."""
        tables, base = self.tables, self.base
        fields, outputs = self._fields("fields", tables.fields), self._fields("outputs", tables.outputs)
        params = self._params()
        steps = self._steps()
        metrics = self._metrics()
        groups = self._groups(fields)
        program = Program(
            self.where, fields, outputs, params=tuple(one.name for one in params), steps=steps,
            base=tuple((name, column.type) for name, column in self.base_columns.items() if name != FAIL_REASON),
        )  # fmt: skip
        self._check_names(program)
        own = [one for one in metrics if one.name != SCORE]
        columns = self._columns(own, groups)
        scorer = FileScorer(
            program, tuple((m.name, m.higher_is_better) for m in metrics), groups, base=base, own_columns=tuple(columns)
        )
        score = self._score_metric()
        digest = _sha256(f"{base.name}/{base.revision}\n{text}" if base and text else text or "")
        try:
            return Profile(
                name=tables.name,
                version=base.version if base else tables.version,
                title=tables.title or tables.name,
                doc=tables.doc or (base.doc if base else tables.title),
                params=(*(base.params if base else ()), *params),
                columns=tuple(replaced(tuple(self.base_columns.values()), columns)),
                metrics=(score, *replaced([one for one in base.metrics if one.name != SCORE] if base else (), own)),
                gates=self._gates({one.name for one in (*(base.metrics if base else ()), *own, score)}),
                inputs=self._inputs(fields, outputs),
                scoring=Scoring(
                    prepare=scorer.prepare,
                    score=scorer.score,
                    explain=scorer.explain,
                    missing=scorer.missing,
                    failing_claims=scorer.failing_claims if base and base.scoring.failing_claims else None,
                    columns=scorer.columns if base and base.scoring.columns else None,
                ),
                summary=self._summary(own, groups),
                content=text,
                digest=digest,
            )
        except DeclarationError as error:
            raise InputError(f"{self.where}: {error}.") from error

    # --- what expressions use -----------------------------------------------------------------------------------

    def _fields(self, table: str, given: Mapping[str, str]) -> tuple[Field, ...]:
        found = []
        for name, written in given.items():
            place = f"{self.where}, {table}.{name}"
            check_field_name(name, place)
            type_, optional = written.removesuffix("?"), written.endswith("?")
            allowed = ["list"] if table == "outputs" else list(TYPES)
            if type_ not in allowed:
                raise InputError(f"{place}: {did_you_mean('type', type_, allowed)}")
            found.append(Field(name, type_, optional))
        return tuple(found)

    def _params(self) -> tuple[Param, ...]:
        found = []
        for name, given in self.tables.params.items():
            place = f"{self.where}, params.{name}"
            check_column_name(name, place)
            table = given if isinstance(given, ParamTable) else ParamTable(default=given)
            default = tuple(table.default) if isinstance(table.default, list) else table.default
            param = Param(name, default, table.doc, low=table.low, high=table.high, choices=tuple(table.choices))
            try:
                param.read(default)
            except InputError as error:
                raise InputError(f"{place}: {error}") from error
            found.append(param)
        return tuple(found)

    def _steps(self) -> tuple[Step, ...]:
        tables = self.tables
        steps = []
        for name, text in tables.let.items():
            check_field_name(name, f"{self.where}, let.{name}")
            steps.append(Step(name, text, f"let.{name}", is_value=True))
        for name, given in tables.metrics.items():
            check_column_name(name, f"{self.where}, metrics.{name}")
            text = given.expr if isinstance(given, MetricTable) else given
            steps.append(Step(name, self.functions.get(name, text), f"metrics.{name}"))
        if tables.score is not None:
            text = tables.score.expr if isinstance(tables.score, ScoreTable) else tables.score
            steps.append(Step(SCORE, text, "score.expr"))
        elif self.base is None:
            raise InputError(f'{self.where}: [score] is missing. Write the table [score] with expr = "…".')
        if tables.fail_reason is not None:
            reason = tables.fail_reason
            text = reason.expr if isinstance(reason, ReasonTable) else reason
            steps.append(Step(FAIL_REASON, text, "fail_reason.expr"))
        return tuple(steps)

    def _check_names(self, program: Program) -> None:
        """Fields, parameters and metrics stand side by side in expressions: each name is there once."""
        tables = self.tables
        seen: dict[str, str] = {OUTPUT: "the answer", CHUNKS: "the retrieved texts"}
        seen |= {name.lower(): f"a column of {tables.extends}" for name in self.base_columns}
        if self.base is not None:
            seen |= {one.name.lower(): f"a parameter of {tables.extends}" for one in self.base.params}
        for table, names in (
            ("fields", tables.fields), ("outputs", tables.outputs), ("params", tables.params),
            ("let", tables.let), ("metrics", tables.metrics),
        ):  # fmt: skip
            for name in names:
                if name.lower() in seen and not (table == "metrics" and name in self.base_columns):
                    taken = f"'{name}' is {seen[name.lower()]} already. Give it another name."
                    raise InputError(f"{self.where}, {table}.{name}: {taken}")
                seen[name.lower()] = f"one of [{table}]"

    # --- what becomes of it -------------------------------------------------------------------------------------

    def _metrics(self) -> list[Metric]:
        return [self._metric(name, given) for name, given in self.tables.metrics.items()]

    def _metric(self, name: str, given: str | MetricTable) -> Metric:
        if (function := self.functions.get(name)) is not None:
            return Metric(name, function.doc, higher_is_better=function.higher_is_better, scale=function.scale)
        if isinstance(given, str):
            return Metric(name, given)
        return Metric(
            name, given.doc or given.expr, higher_is_better=given.higher_is_better, scale=given.scale or None,
            null_counts_as=given.null_counts_as,
        )  # fmt: skip

    def _score_metric(self) -> Metric:
        if self.tables.score is None:
            assert self.base is not None
            return next(one for one in self.base.metrics if one.name == SCORE)
        return Metric(SCORE, f"0 to {self._top():g}", null_counts_as=0.0)

    def _top(self) -> float:
        top = self.tables.score.top if isinstance(self.tables.score, ScoreTable) else 1.0
        if not 0 < top < float("inf"):
            raise InputError(f"{self.where}, score.top: {top:g} cannot be the best score. Give a number above 0.")
        return top

    def _groups(self, fields: Sequence[Field]) -> tuple[Field, ...] | None:
        if self.tables.groups == "*":
            return None
        known = {one.name: one for one in fields if one.type in ("text", "number", "boolean", "list")}
        for name in self.tables.groups:
            if name not in known:
                raise InputError(f"{self.where}, groups: {did_you_mean('field', name, list(known))}")
            check_column_name(name, f"{self.where}, groups")
        return tuple(known[name] for name in dict.fromkeys(self.tables.groups))

    def _columns(self, own: Sequence[Metric], groups: Sequence[Field] | None) -> list[Column]:
        """The columns of the file itself."""
        score = Column(SCORE, pa.float64(), self._expression(SCORE) or "as the profile that is extended has it")
        columns = [score, *(Column(one.name, pa.float64(), self._expression(one.name)) for one in own)]
        if groups is None:
            columns.append(Column(QUESTION_FIELDS, GROUPS, "texts, numbers and booleans of the question, by name"))
        else:
            columns += [
                Column(one.name, LIST_OF_TEXTS if one.type == "list" else LARGE_STRING, "of the question")
                for one in groups
            ]
        columns.append(
            Column(FAIL_REASON, LARGE_STRING, "missing_output, empty_output, expression_failed, or what the file says")
        )
        columns.append(Column(FAIL_DETAIL, LARGE_STRING, "the expressions that failed on this row"))
        return columns

    def _expression(self, name: str) -> str:
        if name == SCORE:
            score = self.tables.score
            return score.doc or score.expr if isinstance(score, ScoreTable) else score or ""
        return self._metric(name, self.tables.metrics[name]).doc

    def _gates(self, known: set[str]) -> tuple[Gate, ...]:
        own = [self._gate(f"{self.where}, gates[{k}]", table, known) for k, table in enumerate(self.tables.gates)]
        keys = [(gate.name, gate.level) for gate in own]
        for key in keys:
            if keys.count(key) > 1:
                raise InputError(f"{self.where}, gates: '{key[0]}' is there twice. Give each its own name or level.")
        replaced = {gate.name for gate in own}
        return (*(one for one in (self.base.gates if self.base else ()) if one.name not in replaced), *own)

    def _gate(self, where: str, table: GateTable, known: set[str]) -> Gate:
        op = "==" if table.op == "=" else table.op
        choices = (("stat", table.stat, STATS), ("op", op, OPS), ("level", table.level, ("", *LEVELS)))
        for key, value, allowed in choices:
            if value not in allowed:
                raise InputError(f"{where}.{key}: '{value}' is not known. Allowed: {', '.join(filter(None, allowed))}.")
        if table.stat not in RUN_STATS and table.metric not in known:
            raise InputError(f"{where}.metric: {did_you_mean('metric', table.metric, sorted(known))}")
        try:
            return Gate(
                table.name, table.metric, table.stat, op=op, limit=table.limit, failure=table.failure, level=table.level
            )
        except DeclarationError as error:
            raise InputError(f"{where}: {error}.") from error

    def _inputs(self, fields: Sequence[Field], outputs: Sequence[Field]) -> Inputs:
        if self.base is None:
            names = (*(one.name for one in outputs), *self.tables.output_members)
            return ByQuestion(
                questions=question_format(fields, self._any_of(fields)),
                output_fields=tuple(OutputField(name) for name in dict.fromkeys(names)),
                fields_first=bool(names),
            )
        if outputs or self.tables.output_members:
            raise InputError(f"{self.where}, outputs: outputs are those of {self.base.name}. Leave the table out.")
        questions = question_format(fields, self._any_of(fields), self.base.inputs.questions)
        return replace(self.base.inputs, questions=questions)

    def _any_of(self, fields: Sequence[Field]) -> list[str]:
        known = [one.name for one in fields]
        for name in self.tables.any_of:
            if name not in known:
                raise InputError(f"{self.where}, any_of: {did_you_mean('field', name, known)}")
        return self.tables.any_of

    def _summary(self, own: Sequence[Metric], groups: Sequence[Field] | None) -> Summary:
        named = (QUESTION_FIELDS,) if groups is None else tuple(one.name for one in groups)
        stats = {f"{one.name}_avg": (one.name, "mean") for one in own}
        base = self.base
        if base is not None:
            top = base.summary.score_top if self.tables.score is None else self._top()
            joined = {**base.summary.stats, **stats}
            first = base.summary.headline[:1]
            return replace(
                base.summary, stats=joined, score_top=top, headline=self._headline({**dict.fromkeys(first), **stats}),
                groups=tuple(dict.fromkeys((*base.summary.groups, *named))),
            )  # fmt: skip
        stats = {"score_avg": (SCORE, "mean"), **stats}
        if self.tables.run_stat == "weighted_mean":
            stats = {"weighted_score": (SCORE, "weighted_mean"), **stats}
        return Summary(
            stats=stats, headline=self._headline(stats), run_stat=self.tables.run_stat, score_top=self._top(),
            groups=named,
        )  # fmt: skip

    def _headline(self, stats: Mapping[str, Any]) -> tuple[str, ...]:
        """The first of the names, and the means of the metrics that the file names, else of its first three."""
        first = next(iter(stats))
        if self.tables.headline is None:
            return tuple(stats)[:4]
        for name in self.tables.headline:
            if name not in self.tables.metrics:
                raise InputError(f"{self.where}, headline: {did_you_mean('metric', name, list(self.tables.metrics))}")
        return (first, *(f"{name}_avg" for name in dict.fromkeys(self.tables.headline)))
