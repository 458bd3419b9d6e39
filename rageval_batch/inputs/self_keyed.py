"""Rows that say themselves what they are about: what is missing or double shows when all have been read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.kernels.spaces import strip
from rageval_batch.columnar.strings import LARGE_STRING, Flags, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.inputs import eval_sets
from rageval_batch.inputs.check import checked_questions
from rageval_batch.inputs.outputs import KNOWN_FIELDS, Answers, Ingest, Rows, read_repeats, read_run_ids
from rageval_batch.inputs.protocols import MAX_ROWS, InputCopyFormat, RunCounts, ScoreWriter
from rageval_batch.inputs.readers import ABSENT, NUMERIC, STRUCT, TEXT, Block, Field
from rageval_batch.inputs.readers.blocks import Names
from rageval_batch.inputs.sources import Source
from rageval_batch.model import EvalSet, Params, Profile, SelfKeyed
from rageval_batch.model.schemas import FILE, OUTPUT, QUESTION_ID, RECORDS, REPEAT


@dataclass(frozen=True)
class OwnRowKeys:
    """Keys of score rows from the rows themselves; the profile scores their question_id."""

    answer: ClassVar[tuple[str, ...]] = ()

    def columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """All of KEYS but question_id."""
        return {
            **{name: batch.column(name) for name in ("run_id", "repeat", "input", "line")},
            "dataset": pa.nulls(batch.num_rows, LARGE_STRING),
            "weight": pa.repeat(pa.scalar(1.0), batch.num_rows),
        }


class OwnRows:
    """Reads rows with their keys: none is rejected for one, what a row lacks is null."""

    output_names: tuple[str, ...] = OUTPUT
    read: tuple[Names, ...] = ()

    def __init__(self, keys: tuple[str, ...]) -> None:
        """`keys`: text columns that reach the batch."""
        self.known = KNOWN_FIELDS | {*keys, *FILE}
        self._keys = keys
        self._schema = batch_schema(keys)

    def output(self, block: Block) -> Field:
        """The field `output`; a row of JSON without it is the record itself."""
        output = block.field(OUTPUT)
        whole = block.whole_rows() if (absent := output.kind == ABSENT).any() else None
        if whole is None:
            return output
        kind = np.where(absent, STRUCT, output.kind).astype(np.int8)
        return Field(pc.if_else(pa.array(absent), whole, output.text), kind)

    def has_keys(self, block: Block) -> bool:
        """True: what a row lacks shows in its score."""
        return True

    def has_extras(self, block: Block) -> Flags:
        """The rows whose record stands in a column; else all that a row has is its record."""
        beside: Flags = block.field(OUTPUT).kind != ABSENT
        return beside

    def rows(self, source: Source, number: int, block: Block, *, has_run: bool, output: Field) -> Rows:
        """Rows with their keys; a run without a name is called like its file."""
        run_id, _ = read_run_ids(block, source, has_run=False)
        run_id = pc.fill_null(run_id, pa.scalar(source.run, LARGE_STRING))
        repeat, bad = read_repeats(block.field(REPEAT))
        beside = pa.array(block.field(OUTPUT).kind != ABSENT)  # a row that is the record has no columns beside it
        columns = [
            run_id,
            pa.array(np.where(bad, 0, repeat).astype(np.int32)),
            pa.array(np.full(len(block), number, np.int32)),
            pa.array(block.lines),
            output.text,
            *(_filled(block.field(_NAMES_OF.get(name, (name,))), beside) for name in (*FILE, *self._keys)),
        ]
        return Rows(pa.RecordBatch.from_arrays(columns, schema=self._schema), run_id)

    def first(self, batch: pa.RecordBatch) -> Flags:
        """All: what is double shows when the rows are reconciled."""
        return np.ones(batch.num_rows, np.bool_)

    def answered(self) -> dict[str, Flags]:
        """Nothing: what is missing shows when the rows are reconciled."""
        return {}

    def repeats(self) -> dict[str, int]:
        """Nothing: repeats show when the rows are reconciled."""
        return {}


_NAMES_OF = {QUESTION_ID[0]: QUESTION_ID}


def batch_schema(keys: tuple[str, ...]) -> pa.Schema:
    """The columns of a batch of rows with these keys."""
    return pa.schema([*RECORDS, *((name, LARGE_STRING) for name in keys)])


def _filled(found: Field, beside: pa.Array) -> pa.Array:
    """A text or number as text, null where it is absent, of another kind, blank, or not beside an output."""
    named = pc.if_else(
        pc.and_(pa.array((found.kind == TEXT) | (found.kind == NUMERIC)), beside),
        found.text,
        pa.scalar(None, LARGE_STRING),
    )
    texts = from_arrow(named)
    starts, ends = strip(texts.data, texts.starts, texts.ends)
    return pc.if_else(pa.array(starts < ends), named, pa.scalar(None, LARGE_STRING))


class LoadedList:
    """The list of what should be there, and the texts that rows are about; `empty`: files that should have had some."""

    def __init__(
        self, declared: SelfKeyed, expected_rows: pa.Table, texts: dict[str, str], *, empty: Sequence[str] = ()
    ) -> None:
        self.eval_set = EvalSet((), (), (), weights=(), chunks=texts)
        self._declared = declared
        self._expected_rows = expected_rows
        self._empty = empty

    def ingest(self, outputs: list[Source], runs: frozenset[str] | None = None, max_rows: int = MAX_ROWS) -> Ingest:
        """Reads the outputs; rows of other runs are passed over. A row makes one score row, so there is no limit."""
        return Ingest(outputs, self.row_reader(), runs)

    def row_reader(self) -> OwnRows:
        """What reads the rows of a part of the outputs."""
        return OwnRows(self._declared.keys)

    def unused(self, runs: Collection[str]) -> list[str]:
        """A sentence for each empty file of texts; a list that no answer has is reconciled with the answers."""
        return [f"WARNING: {name} is empty: it has no contexts." for name in self._empty]

    def without_questions(self) -> LoadedList:
        """The same without the texts."""
        return LoadedList(self._declared, self._expected_rows, {}, empty=self._empty)

    def placed(self, place: Callable[[Path], str]) -> LoadedList:
        """The same: it has no files."""
        return self

    def check_rows(self, repeats: Mapping[str, Set[int]], rows: int, max_rows: int) -> None:
        """A row makes one score row, so there is no limit."""

    def with_contexts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as it is: the texts are part of the eval set."""
        return batch

    def copy_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as it is."""
        return batch

    def finish(self, answers: Answers, scores: ScoreWriter) -> dict[str, RunCounts]:
        """The rows are compared with each other and with the list by a macro of the profile."""
        declared = self._declared
        log = scores.reconcile(self._expected_rows, declared.reconcile, declared.log, order=declared.order)
        return {
            row["run_id"]: RunCounts(
                question_count=row["question_count"],
                answered_count=row["answered_count"],
                repeats=row["repeats"],
                metadata=dict(row["meta"] or []),
            )
            for row in log
        }


@dataclass(frozen=True)
class SelfKeyedInputs:
    """Inputs of a profile whose rows name themselves what they are about."""

    profile: Profile
    declared: SelfKeyed

    @cached_property
    def copy_format(self) -> InputCopyFormat:
        """All of a row but its text stands in `given_by`."""
        return InputCopyFormat(
            schema=batch_schema(self.declared.keys),
            answer=("output",),
            order=("input", "line"),
            places=("input", "line"),
            key=("input", "line"),
        )

    def load(self, questions: list[Source], contexts: list[Source], params: Params, *, folder: Path) -> LoadedList:
        """The list, checked, and the texts; InputError where one key has two texts."""
        names = self.declared.list_columns(params)
        checked_questions(questions, self.profile, self.declared.questions.with_fields(names))
        listed = self.declared.read_list(eval_sets.read_rows(questions, names, "sample"))
        texts = eval_sets.read_texts(contexts, self.declared.texts)
        return LoadedList(self.declared, listed, texts, empty=() if texts else [file.name for file in contexts])

    def row_reader(self, ids: Sequence[str]) -> OwnRows:
        """How blocks become batches."""
        return OwnRows(self.declared.keys)

    def row_keys(self, eval_set: EvalSet) -> OwnRowKeys:
        """The rows' own."""
        return OwnRowKeys()
