"""The scorer of a profile file: inputs as columns, steps over them, score rows out; and one answer taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_objects, text
from rageval_batch.columnar.strings import LARGE_STRING, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.model import Column, EvalSet, Explanation, Params, Profile, Scored, Section
from rageval_batch.profiles.files.fields import (
    Field,
    all_groups,
    by_question,
    chunk_texts,
    field_column,
    group_column,
    output_lists,
    shared,
)
from rageval_batch.profiles.files.imported import imported_column
from rageval_batch.profiles.files.program import (
    CHUNKS,
    FAIL_DETAIL,
    FAIL_REASON,
    OUTPUT,
    SCORE,
    Computed,
    Program,
    failure,
    joined,
    plan_of,
    run_steps,
)
from rageval_batch.profiles.files.row_metrics import RowMetric

MISSING_OUTPUT, EMPTY_OUTPUT = (
    json_objects.REASONS[json_objects.MISSING_OUTPUT],
    json_objects.REASONS[json_objects.EMPTY_OUTPUT],
)
EXPRESSION_FAILED = "expression_failed"
SLICE_ROWS = 4_096  # rows whose retrieved texts are held at once
QUESTION_FIELDS = "question_fields"  # the column of all groups


@dataclass(frozen=True)
class FileScorer:
    """What a profile file says of scoring. Its methods are the functions of the profile; it can be pickled."""

    program: Program
    metrics: tuple[tuple[str, bool], ...]  # its own, and whether higher is better
    groups: tuple[Field, ...] | None = ()  # None: every scalar field of the question
    _: KW_ONLY
    base: Profile | None = None  # the profile that it extends
    own_columns: tuple[Column, ...] = ()

    def prepare(self, eval_set: EvalSet, params: Params) -> Prepared:
        """The fields, groups and chunks of all questions as columns."""
        objects = eval_set.objects
        if self.groups is None:
            groups = {QUESTION_FIELDS: all_groups(objects, sorted(plan_of(self.program).used))}
        else:
            groups = {one.name: group_column(one, objects) for one in self.groups}
        fields = {one.name: field_column(one, objects) for one in self.program.fields}
        # The base reads questions and chunks last, and may let them go.
        own_chunks = [chunk_texts(part) for part in eval_set.chunk_columns(forget=self.base is None)]
        base = None
        if self.base is not None:
            base = self.base.scoring.prepare(eval_set, {one.name: params[one.name] for one in self.base.params})
        return Prepared(
            {name: params[name] for name in self.program.params},
            fields,
            groups,
            chunks=pa.concat_arrays(own_chunks),
            base=base,
        )

    def score(self, prepared: Prepared, batch: pa.RecordBatch) -> Scored:
        """Every column for a batch of answers; a null answer is an empty one."""
        scored = self.base.scoring.score(prepared.base, batch) if self.base is not None else Scored({})
        # Answers to one question together: what they share is worked out once.
        order = np.argsort(batch.column("question").to_numpy(), kind="stable")
        computed = joined(
            [
                run_steps(
                    self.program,
                    prepared.params,
                    self._inputs(prepared, batch, scored, which=order[first : first + SLICE_ROWS]),
                )
                for first in range(0, max(batch.num_rows, 1), SLICE_ROWS)
            ],
            list(dict.fromkeys(step.name for step in self.program.steps)),
            np.argsort(order),
        )
        columns = {
            **scored.columns,
            **{name: computed.column(name).cast(pa.float64(), safe=False) for name in self._numbers()},
            **by_question(prepared.groups, batch.column("question")),
            FAIL_REASON: self._reasons(computed, batch, scored),
        }
        columns[FAIL_DETAIL] = _merge_details(scored.columns.get(FAIL_DETAIL), computed.detail(batch.num_rows))
        return Scored(columns, scored.tallies)

    def missing(self, prepared: Prepared, question: Any) -> dict[str, pa.Array]:
        """Questions without an answer: the score is 0, and so is every metric of which more is better.

        Where answers are lists, what is null for an empty list is null here: the question has nothing to find.
        """
        count = len(question)
        zeros = pa.repeat(pa.scalar(0.0), count)
        columns = self.base.scoring.missing(prepared.base, question) if self.base is not None else {}
        columns |= {name: zeros if higher else pa.nulls(count, pa.float64()) for name, higher in self.metrics}
        columns[SCORE] = zeros
        if self.program.outputs and self.base is None:
            empty = {OUTPUT: pa.repeat(pa.scalar("", LARGE_STRING), count), "question": pa.array(question, pa.int32())}
            batch = pa.record_batch({**empty, CHUNKS: pa.nulls(count, LARGE_STRING)})
            inputs = self._inputs(prepared, batch, Scored({}), which=np.arange(count))
            computed = run_steps(self.program, prepared.params, inputs)
            for name in self._numbers():
                nothing = computed.column(name).is_null()
                columns[name] = pc.if_else(nothing, pa.scalar(None, pa.float64()), columns[name])
        columns[FAIL_REASON] = pa.repeat(pa.scalar(MISSING_OUTPUT, LARGE_STRING), count)
        return {**columns, **by_question(prepared.groups, pa.array(question))}

    def explain(self, prepared: Prepared, batch: pa.RecordBatch) -> Explanation:
        """Every metric with its expression and what it uses, then the values of all that is used."""
        before: tuple[Section, ...] = ()
        scored = Scored({})
        if self.base is not None:
            before = self.base.scoring.explain(prepared.base, batch).sections
            scored = self.base.scoring.score(prepared.base, batch)
        inputs = self._inputs(prepared, batch, scored, which=np.arange(batch.num_rows))
        computed = run_steps(self.program, prepared.params, inputs)
        plan = plan_of(self.program)
        lines = []
        for step in self.program.steps:
            value = computed.column(step.name)[0].as_py()
            how = step.how
            line = {
                "name": step.name,
                "value": value,
                "expression": _how_text(how),
                "uses": ", ".join(plan.uses[step.name]),
            }
            if step.name in computed.failed:
                line["failed"] = failure(self.program, prepared.params, step, table=computed.table)
            elif wrong := [what for found, what in computed.problems() if step.name in found]:
                line["failed"] = wrong[0]
            lines.append(line)
        values = {name: inputs.column(name)[0].as_py() for name in inputs.column_names} | dict(prepared.params)
        used = [{"name": name, "value": value} for name, value in values.items() if name in plan.used]
        return Explanation((*before, Section("metrics", tuple(lines)), Section("inputs", tuple(used))))

    def columns(self, params: Params) -> tuple[Column, ...]:
        """The columns where parameters change those of the profile that is extended."""
        assert self.base is not None and self.base.scoring.columns is not None
        return tuple(replaced(self.base.scoring.columns(params), self.own_columns))

    def failing_claims(self, prepared: Prepared, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """Those of the profile that is extended."""
        assert self.base is not None and self.base.scoring.failing_claims is not None
        return self.base.scoring.failing_claims(prepared.base, batch)

    def _numbers(self) -> Sequence[str]:
        scored = {step.name for step in self.program.steps}
        return [name for name, _ in self.metrics] + ([SCORE] if SCORE in scored else [])

    def _inputs(
        self, prepared: Prepared, batch: pa.RecordBatch, scored: Scored, *, which: npt.NDArray[np.int64]
    ) -> pa.Table:
        """What expressions use of some rows of a batch; retrieved texts are gathered where they are used alone."""
        used = plan_of(self.program).used
        needed = [name for name in (OUTPUT, "question", CHUNKS) if name != CHUNKS or CHUNKS in used]
        rows = batch.select(needed).take(pa.array(which))
        output = rows.column(OUTPUT).fill_null("")
        question = rows.column("question")
        columns = {
            OUTPUT: output,
            **{name: shared(column, question) for name, column in prepared.fields.items() if name in used},
            **{one.name: output_lists(output, one.name) for one in self.program.outputs if one.name in used},
            **{
                name: scored.columns[name].take(pa.array(which))
                if name in scored.columns
                else pa.nulls(len(output), type_)  # parameters may give a column another name
                for name, type_ in self.program.base
                if name in used
            },
        }
        if CHUNKS in used:
            columns[CHUNKS] = _own_chunks(rows.column(CHUNKS), shared(prepared.chunks, question))
        return pa.table(columns)

    def _reasons(self, computed: Computed, batch: pa.RecordBatch, scored: Scored) -> pa.Array:
        """Why an answer fails: what the file says, what the base says, that it is empty, that an expression failed."""
        none = pa.nulls(batch.num_rows, LARGE_STRING)
        own = none
        if any(step.name == FAIL_REASON for step in self.program.steps):
            own = computed.column(FAIL_REASON).cast(LARGE_STRING)
        blank = text.blank(from_arrow(batch.column(OUTPUT).fill_null("")))
        failed = computed.any_failed(batch.num_rows)
        return pc.coalesce(
            own,
            scored.columns.get(FAIL_REASON, none),
            pc.if_else(pa.array(blank), pa.scalar(EMPTY_OUTPUT, LARGE_STRING), none),
            pc.if_else(pa.array(failed), pa.scalar(EXPRESSION_FAILED, LARGE_STRING), none),
        )


@dataclass(frozen=True)
class Prepared:
    """An eval set as columns, one value a question."""

    params: Params
    fields: dict[str, pa.Array]
    groups: dict[str, pa.Array]
    _: KW_ONLY
    chunks: pa.Array
    base: Any = None


def replaced(base: Sequence[Any], own: Sequence[Any]) -> list[Any]:
    """Things with names: those of the base, each in its place, replaced by one of the same name; then the others."""
    names = {one.name: one for one in own}
    first = [names.pop(one.name, one) for one in base]
    return [*first, *names.values()]


def _own_chunks(own: pa.Array, of_question: pa.Array) -> pa.Array:
    """The chunks of each row: its own where it has any list of them, else those of its question."""
    if own.null_count == len(own):
        return of_question
    has_own = own.is_valid().to_numpy(zero_copy_only=False)
    chunks = of_question.dictionary
    both = pa.concat_arrays([chunks, chunk_texts(own).cast(chunks.type)])
    places = np.where(has_own, np.arange(len(own)) + len(chunks), of_question.indices.to_numpy())
    return shared(both, pa.array(places))


def _how_text(how: str | RowMetric) -> str:
    """How a value is computed, for people."""
    if isinstance(how, RowMetric):
        return f"Python function {how.function.__name__}"
    column = imported_column(how)
    return how if column is None else f"imported: the column {column}"


def _merge_details(base: pa.Array | None, own: pa.Array) -> pa.Array:
    """Two details in one; null where both are."""
    if base is None or own.null_count == len(own):
        return own if base is None else base
    both = pc.binary_join_element_wise(base, own, pa.scalar("; ", LARGE_STRING))
    return pc.coalesce(both, base, own)
