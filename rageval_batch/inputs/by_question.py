"""Rows that answer the questions of an eval set: one answer a run, question and repeat; unanswered ones are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.kernels.lines import mark_first
from rageval_batch.columnar.places import TextPlaces
from rageval_batch.columnar.strings import Bytes, Flags, Ints, as_column
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import eval_sets, readers
from rageval_batch.inputs.check import MAX_ID_BYTES, checked_questions
from rageval_batch.inputs.outputs import Answers, Ingest, Rows, read_keys, read_repeats, read_run_ids
from rageval_batch.inputs.protocols import MAX_ROWS, InputCopyFormat, RunCounts, ScoreWriter
from rageval_batch.inputs.readers import ABSENT, LIST, NUMERIC, Block, Field
from rageval_batch.inputs.readers.blocks import Names, places_of_ids
from rageval_batch.inputs.sources import Source
from rageval_batch.model import BATCH, ByQuestion, EvalSet, OutputField, Params, Profile
from rageval_batch.model.schemas import CHUNKS, KEPT, OUTPUT, QUESTION_ID, REPEAT, RUN_ID

ORDER = ("run_id", "question_id", "repeat")  # of the rows of a commit


@dataclass(frozen=True)
class QuestionRowKeys:
    """Keys of score rows from the question that each row answers."""

    ids: pa.Array
    datasets: pa.Array
    weights: pa.Array

    answer: ClassVar[tuple[str, ...]] = ("question", "output", "chunks")

    def columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """All of KEYS."""
        question = batch.column("question")
        return {
            **{name: batch.column(name) for name in ("run_id", "repeat", "input", "line")},
            "question_id": self.ids.take(question),
            "dataset": self.datasets.take(question),
            "weight": self.weights.take(question),
        }


_LONG_NAME = 1_024  # bytes; a shorter name of a run is never too long
_MOST_NAME_BYTES = 128 << 20  # of the name of a run in all its rows


@dataclass
class _Seen:
    """Which (run, repeat, question) have been met: exact, one bit for each answer a run may have."""

    questions: int
    max_rows: int  # of score rows that the runs may make: every run gets one for every question
    rows: int = 0
    _: KW_ONLY
    runs: set[str] = field(default_factory=set)
    codes: dict[tuple[str, int], int] = field(default_factory=dict)
    bits: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))  # those of a run and repeat are whole bytes

    @property
    def width(self) -> int:
        """Bytes of a run and repeat."""
        return -(-self.questions // 8)

    def first(self, run: pa.Array, repeat: Ints, question: Ints) -> Flags:
        """The rows whose key is met for the first time."""
        coded = run.dictionary_encode()
        keys = coded.indices.to_numpy().astype(np.int64) << 32 | repeat
        distinct, pair = np.unique(keys, return_inverse=True)
        names = coded.dictionary.to_pylist()
        self._check_runs(names, len(run))
        codes = [
            self.codes.setdefault((names[key >> 32], key & 0xFFFFFFFF), len(self.codes)) for key in distinct.tolist()
        ]
        _check_repeats(len(self.codes), len(self.runs), self.questions, max_rows=self.max_rows)
        need = len(self.codes) * self.width
        if need > len(self.bits):
            grown = np.zeros(max(need, 2 * len(self.bits)), np.uint8)
            grown[: len(self.bits)] = self.bits
            self.bits = grown
        return mark_first(self.bits, np.array(codes, np.int64)[pair] * (8 * self.width) + question)

    def answered(self, codes: Sequence[int]) -> Flags:
        """The questions that were met with any of some codes."""
        rows = self.bits[: len(self.codes) * self.width].reshape(len(self.codes), self.width)
        found = np.bitwise_or.reduce(rows[codes], axis=0)
        return np.unpackbits(found, count=self.questions, bitorder="little").view(np.bool_)

    def _check_runs(self, names: list[str], rows: int) -> None:
        """InputError where the runs make too many score rows, before anything is made of them."""
        self.rows += rows
        self.runs.update(names)
        _check_names(names, self.questions)
        _check_rows(len(self.runs), self.rows, self.questions, max_rows=self.max_rows)


def _check_names(names: Collection[str], questions: int) -> None:
    """InputError for the name of a run that is too long to stand in a row for every question."""
    longest = max(names, key=len, default="")
    size = len(longest.encode())
    if size > MAX_ID_BYTES or (size > _LONG_NAME and size * questions > _MOST_NAME_BYTES):
        raise InputError(
            f"The name of a run has {size:,} bytes ({longest[:40]}…), and every question gets a row with it: is the "
            "column run_id right? Give shorter names, or name the run with --run-id."
        )


def _check_rows(runs: int, rows: int, questions: int, *, max_rows: int) -> None:
    if runs * questions <= max_rows:
        return
    reason = f"{rows:,} rows have {runs:,} run ids: is the column right?"
    if runs == rows:
        reason = "every row has its own run id: is the column right?"
    raise InputError(
        f"{runs:,} runs x {questions:,} questions make more than {max_rows:,} score rows: "
        f"{reason} --max-rows N allows more."
    )


def _check_repeats(repeats: int, runs: int, questions: int, *, max_rows: int) -> None:
    """InputError where the repeats of all runs together may make too many score rows."""
    if repeats * questions > max_rows:
        raise InputError(
            f"{repeats:,} repeats of {runs:,} runs x {questions:,} questions may be over "
            f"{max_rows:,} score rows: is the column repeat right? --max-rows N allows more."
        )


Value = TypeVar("Value")


class _ByRun(Mapping[str, Value]):
    """Something of each of some runs, made whenever it is asked for: there may be many runs."""

    def __init__(self, runs: Collection[str], make: Callable[[str], Value]) -> None:
        self._runs = runs
        self._make = make

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __contains__(self, run: object) -> bool:
        return run in self._runs

    def __getitem__(self, run: str) -> Value:
        if run not in self._runs:
            raise KeyError(run)
        return self._make(run)


class QuestionRows:
    """Reads rows with a question of the eval set; remembers which runs have answered what."""

    def __init__(
        self,
        ids: Sequence[str],
        output_fields: tuple[OutputField, ...] = (),
        fields_first: bool = False,
        *,
        max_rows: int = MAX_ROWS,
        texts_only: bool = False,
    ) -> None:
        """`ids`: the questions, in the order of the eval set; `max_rows`: of score rows that all runs may make.

        `texts_only`: a row whose answer is a JSON object or list cannot be used.
        """
        self._texts_only = texts_only
        self._output_fields = output_fields
        self._fields_first = fields_first
        fields = tuple(field.name for field in output_fields)
        self.output_names = (*OUTPUT, *fields)
        self.known = frozenset((*RUN_ID, *REPEAT, *fields))
        self.read: tuple[Names, ...] = (QUESTION_ID, OUTPUT, CHUNKS)
        self._ids = as_column(ids)
        self._places = TextPlaces(self._ids)
        self._seen = _Seen(len(ids), max_rows)

    def output(self, block: Block) -> Field:
        """The field `output`, else an object of the fields that the profile reads from the row itself."""
        return readers.read_output(block, self._output_fields, self._fields_first)

    def has_keys(self, block: Block) -> bool:
        """Whether any row has an id of a question."""
        return bool((block.field(QUESTION_ID).kind != ABSENT).any())

    def has_extras(self, block: Block) -> Flags:
        """All: the fields of an answer are known."""
        return np.ones(len(block), np.bool_)

    def rows(self, source: Source, number: int, block: Block, *, has_run: bool, output: Field) -> Rows:
        """Rows as of BATCH; a file that does not name its runs is one run, called like the file."""
        run_id, bad_run = read_run_ids(block, source, has_run)
        key = block.field(QUESTION_ID)
        question_id, bad_question = read_keys(key, None)
        repeat, bad_repeat = read_repeats(block.field(REPEAT))
        question = places_of_ids(self._places, key)
        if key.doubles is not None:
            known = self._ids.take(as_arrow(np.maximum(question, 0)))
            question_id = pc.if_else(as_arrow(question >= 0), known, question_id)
        batch = pa.RecordBatch.from_arrays(
            [
                run_id, as_arrow(np.maximum(question, 0)), as_arrow(repeat),
                as_arrow(np.full(len(block), number, np.int32)), as_arrow(block.lines),
                output.text, readers.read_own_chunks(block),
            ],
            schema=BATCH,
        )  # fmt: skip
        unusable = (
            ("bad_run_id", bad_run & _is_bad(block.field(RUN_ID))), ("null_run_id", bad_run),
            ("bad_question_id", _is_bad(key)), ("null_question_id", bad_question), ("bad_repeat", bad_repeat),
            ("unknown_question", question < 0),
            ("wrong_shape", (output.kind >= LIST) & self._texts_only),
        )  # fmt: skip
        return Rows(batch, question_id, unusable)

    def first(self, batch: pa.RecordBatch) -> Flags:
        """The rows that are a run's first answer to their question with their repeat."""
        repeat, question = (batch.column(name).to_numpy() for name in ("repeat", "question"))
        return self._seen.first(batch.column("run_id"), repeat, question)

    def answered(self) -> Mapping[str, Flags]:
        """For every run that was read, which questions have an answer in any repeat; flags are made when they are
        asked for."""
        codes: dict[str, list[int]] = {}
        for (run, _), code in self._seen.codes.items():
            codes.setdefault(run, []).append(code)
        return _ByRun(codes, lambda run: self._seen.answered(codes[run]))

    def repeats(self) -> Counter[str]:
        """How many different repeats each run has."""
        return Counter(run for run, _ in self._seen.codes)


def _is_bad(key: Field) -> Flags:
    """Whether each value can be no key."""
    bad: Flags = (key.kind > NUMERIC) | key.not_finite()
    return bad


def question_rows(ids: Sequence[str], declared: ByQuestion, max_rows: int = MAX_ROWS) -> QuestionRows:
    """What reads the rows of a profile, where the eval set has these questions."""
    texts_only = declared.outputs.schema is None and not declared.output_fields
    return QuestionRows(ids, declared.output_fields, declared.fields_first, max_rows=max_rows, texts_only=texts_only)


class LoadedQuestions:
    """The questions of a job with their contexts, and the contexts of single runs."""

    def __init__(
        self,
        eval_set: EvalSet,
        run_contexts: eval_sets.RunContexts | None,
        declared: ByQuestion,
        *,
        unknown: eval_sets.UnknownContexts | None = None,
    ) -> None:
        self.eval_set = eval_set
        self._run_contexts = run_contexts
        self._unknown = unknown or eval_sets.UnknownContexts()
        self._declared = declared
        self._ids = eval_set.id_column()

    def ingest(self, outputs: list[Source], runs: frozenset[str] | None = None, max_rows: int = MAX_ROWS) -> Ingest:
        """Reads the outputs; rows of other runs are passed over; InputError beyond `max_rows` score rows."""
        return Ingest(outputs, question_rows(self.eval_set.ids, self._declared, max_rows), runs)

    def row_reader(self) -> QuestionRows:
        """What reads the rows of a part of the outputs."""
        return question_rows(self.eval_set.ids, self._declared)

    def without_questions(self) -> LoadedQuestions:
        """The same with the ids of the questions alone."""
        ids = self.eval_set.ids
        return LoadedQuestions(
            EvalSet(ids, (), (), weights=()), self._run_contexts, self._declared, unknown=self._unknown
        )

    def placed(self, place: Callable[[Path], str]) -> LoadedQuestions:
        """The same with the contexts of single runs where `place` puts their file."""
        if self._run_contexts is None:
            return self
        contexts = eval_sets.RunContexts(place(Path(self._run_contexts.place)))
        return LoadedQuestions(self.eval_set, contexts, self._declared, unknown=self._unknown)

    def check_rows(self, repeats: Mapping[str, Set[int]], rows: int, max_rows: int) -> None:
        """InputError where so many usable rows of runs with these repeats make too many score rows: one a run and
        question, or more."""
        questions = len(self.eval_set)
        _check_names(repeats.keys(), questions)
        _check_rows(len(repeats), rows, questions, max_rows=max_rows)
        _check_repeats(sum(map(len, repeats.values())), len(repeats), questions, max_rows=max_rows)

    def with_contexts(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows without chunks of their own get those given for their run and question."""
        return batch if self._run_contexts is None else self._run_contexts.joined_to(batch, self._ids)

    def unused(self, runs: Collection[str]) -> list[str]:
        """Contexts that belong to no question, or to none of these runs, in sentences."""
        of_runs = self._run_contexts.of_other_runs(runs) if self._run_contexts is not None else []
        return [*self._unknown.said(), *of_runs]

    def copy_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with the ids of its questions."""
        ids = self._ids.take(batch.column("question"))
        columns = (ids if name == "question_id" else batch.column(name) for name in KEPT.names)
        return pa.RecordBatch.from_arrays(list(columns), schema=KEPT)

    def finish(self, answers: Answers, scores: ScoreWriter) -> dict[str, RunCounts]:
        """Every run has a row for every question: those without an answer are missing."""
        answered, repeats, questions = answers.answered(), answers.repeats(), len(self._ids)
        counts = {run: int(np.count_nonzero(flags)) for run, flags in answered.items()}
        lacking = {run for run, count in counts.items() if count < questions}
        by_id = pc.sort_indices(self._ids).to_numpy().astype(np.int32) if lacking else np.zeros(0, np.int32)
        scores.write(_ByRun(lacking, lambda run: by_id[~answered[run][by_id]]), ORDER)
        return {
            run: RunCounts(question_count=questions, answered_count=count, repeats=repeats[run])
            for run, count in counts.items()
        }


@dataclass(frozen=True)
class ByQuestionInputs:
    """Inputs of a profile that scores answers to questions."""

    profile: Profile
    declared: ByQuestion

    copy_format: ClassVar[InputCopyFormat] = InputCopyFormat(
        schema=KEPT,
        answer=("question_id", "output", "chunks"),
        order=("run_id", "repeat"),
        key=("question_id", "run_id", "repeat"),
    )

    def load(self, questions: list[Source], contexts: list[Source], params: Params, *, folder: Path) -> LoadedQuestions:
        """The questions, checked, with their contexts; contexts of single runs lie in the folder."""
        eval_set = eval_sets.eval_set_of(checked_questions(questions, self.profile))
        if not contexts:
            return LoadedQuestions(eval_set, None, self.declared)
        eval_set, run_contexts, unknown = eval_sets.with_contexts(eval_set, contexts, folder)
        return LoadedQuestions(eval_set, run_contexts, self.declared, unknown=unknown)

    def row_reader(self, ids: Sequence[str]) -> QuestionRows:
        """How blocks become batches of answers."""
        return question_rows(ids, self.declared)

    def row_keys(self, eval_set: EvalSet) -> QuestionRowKeys:
        """Ids, datasets and weights of the questions."""
        return QuestionRowKeys(
            eval_set.id_column(),
            as_column(eval_set.datasets),
            pa.array(self.declared.weights(eval_set), pa.float64()),
        )
