"""What the two kinds of inputs have in common: how they are loaded, read, keyed, finished and kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from rageval_batch.columnar.strings import Ints
from rageval_batch.dataclass import dataclass
from rageval_batch.inputs.outputs import Answers, Ingest, InputCounts, RowReader
from rageval_batch.inputs.sources import Source
from rageval_batch.model import EvalSet, Params

UNSAID_LOSS = 0.01  # share of its rows that a run may lose to rejects before it is marked
MAX_ROWS = 100_000_000  # score rows that a job makes unless it is told otherwise


class RowKeys(Protocol):
    """The keys of score rows. It can be pickled, as all of a scorer."""

    @property
    def answer(self) -> tuple[str, ...]:
        """Columns of a batch that a score follows from, so that equal ones are scored once; none: every row is."""

    def columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The columns of KEYS that the batch decides; any other is among the columns that the profile scores."""


@dataclass(frozen=True, kw_only=True)
class InputCopyFormat:
    """How a store keeps a copy of outputs: each distinct answer once, with a list `given_by` of who gave it."""

    schema: pa.Schema  # of the rows that are kept
    answer: tuple[str, ...]  # columns of an answer; all others stand in `given_by`
    order: tuple[str, ...]  # of the entries of `given_by`
    places: tuple[str, ...] = ()  # columns that say where a row stood, which it has no more when it is read again
    key: tuple[str, ...]  # columns of a score row by which its answer is found again

    @property
    def given_by(self) -> tuple[str, ...]:
        """Columns of an entry of `given_by`."""
        return tuple(name for name in self.schema.names if name not in self.answer)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCounts:
    """What became of a run: questions it should answer (None: nobody said), those it answers, and its metadata."""

    question_count: int | None
    answered_count: int
    repeats: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    rejected: tuple[int, int] = (0, 0)  # rows that were rejected, and all rows that were read

    @property
    def lost_rows(self) -> bool:
        """Whether more rows were rejected than a run may lose without a word."""
        rejected, rows = self.rejected
        return rejected > rows * UNSAID_LOSS

    def with_input(self, run: str, counts: InputCounts) -> RunCounts:
        """The same with what the rows of the input told of the run."""
        metadata = {**self.metadata, **counts.metadata_of(run)}
        return replace(self, metadata=metadata, rejected=counts.of_run(run))

    @property
    def missing(self) -> int:
        """How many answers the run lacks."""
        return max((self.question_count or self.answered_count) - self.answered_count, 0)


class ScoreWriter(Protocol):
    """The scored rows of a job on their way into its commit."""

    def write(self, missing: Mapping[str, Ints], order: Sequence[str]) -> None:
        """Write all rows in order, with those of questions that some runs left unanswered: their indexes, by id."""

    def reconcile(self, listed: pa.Table, macro: str, log: str, *, order: Sequence[str]) -> list[dict[str, Any]]:
        """Write what a macro of sql/ makes of all rows and a list, in order; the rows of the macro `log` about them."""


class LoadedInputs(Protocol):
    """The questions and contexts of a job, read."""

    @property
    def eval_set(self) -> EvalSet:
        """What the scorer is prepared for."""

    def ingest(self, outputs: list[Source], runs: frozenset[str] | None = None, max_rows: int = MAX_ROWS) -> Ingest:
        """Reads the outputs; rows of other runs are passed over; InputError where more than `max_rows` score rows would
        be made of them."""

    def row_reader(self) -> RowReader:
        """What reads the rows of a part of the outputs."""

    def without_questions(self) -> LoadedInputs:
        """The same without the questions themselves, which only preparing a scorer needs: little to send."""

    def placed(self, place: Callable[[Path], str]) -> LoadedInputs:
        """The same with what lies in files of this machine where `place` puts each: it returns a path or URL."""

    def check_rows(self, repeats: Mapping[str, Set[int]], rows: int, max_rows: int) -> None:
        """InputError where so many usable rows of runs with these repeats make too many score rows."""

    def with_contexts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in which every row has the contexts that were given for it."""

    def unused(self, runs: Collection[str]) -> list[str]:
        """What was given and belongs to nothing that is scored, `runs` being all that are, in sentences."""

    def copy_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as a store keeps it."""

    def finish(self, answers: Answers, scores: ScoreWriter) -> dict[str, RunCounts]:
        """Write the score rows of all answers; what became of each run."""


class InputKind(Protocol):
    """One kind of inputs, as a profile declares it."""

    @property
    def copy_format(self) -> InputCopyFormat:
        """How a store keeps a copy of its outputs."""

    def load(self, questions: list[Source], contexts: list[Source], params: Params, *, folder: Path) -> LoadedInputs:
        """Read questions and contexts; what is too much for memory lies in the folder."""

    def row_reader(self, ids: Sequence[str]) -> RowReader:
        """How blocks become batches, where the eval set has these questions."""

    def row_keys(self, eval_set: EvalSet) -> RowKeys:
        """The keys of score rows."""
