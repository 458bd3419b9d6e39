"""The tables that pass between the parts: Arrow schemas, an eval set, and the column names users bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.json_arrays import joined_arrays
from rageval_batch.columnar.strings import LARGE_STRING, Ints, as_column, bounds_by_owner
from rageval_batch.dataclass import dataclass

_CHUNKED_AT_ONCE = 1_024  # questions whose chunks are put together

# What users call a column, by the table it stands in; the first name is ours and wins where several are there.
QUESTION_ID = ("question_id", "id", "task_id")
OUTPUT = ("output", "response", "actual_output")
CHUNKS = ("chunks", "contexts", "retrieved_contexts", "retrieval_context")
QUESTION = ("question", "query", "user_input", "input")
EXPECTED = ("expected", "reference", "expected_output")
# More names that tables of other tools have for an answer and for what it should be.
OUTPUT_NAMES = (*OUTPUT, "answer", "prediction", "completion", "generated_answer", "model_output", "outputs")
EXPECTED_NAMES = (*EXPECTED, "ground_truth", "expected_answer", "gold", "target", "targets", "ideal")
RUN_ID = ("run_id",)
REPEAT = ("repeat",)
SOURCE_PATH = ("source_path", "source", "file")
FILE = ("file",)
CHUNK_TEXT = ("text", "content", "page_content")
FIELDS = (RUN_ID, QUESTION_ID, REPEAT, OUTPUT, CHUNKS, SOURCE_PATH, CHUNK_TEXT)  # what readers look for in a row

BATCH = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("question", pa.int32()),  # index into the eval set
        ("repeat", pa.int32()),
        ("input", pa.int32()),  # index of the file the row came from
        ("line", pa.int64()),
        ("output", LARGE_STRING),
        ("chunks", LARGE_STRING),  # JSON array of the chunks retrieved for this very row; null: those of the question
    ]
)

# What rows that name themselves what they are about have in a batch, before their own keys.
RECORDS = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("repeat", pa.int32()),
        ("input", pa.int32()),
        ("line", pa.int64()),
        ("output", LARGE_STRING),
        ("file", LARGE_STRING),
    ]
)

KEPT = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("question_id", LARGE_STRING),
        ("repeat", pa.int32()),
        ("output", LARGE_STRING),
        ("chunks", LARGE_STRING),
    ]
)

REJECTS = pa.schema(
    [
        ("file", LARGE_STRING),
        ("line", pa.int64()),
        ("reason", LARGE_STRING),
        ("detail", LARGE_STRING),
        ("raw", LARGE_STRING),
    ]
)

TALLIES = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("kind", LARGE_STRING),
        ("got", LARGE_STRING),
        ("expected", LARGE_STRING),
        ("n", pa.int64()),
    ]
)

KEYS = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("question_id", LARGE_STRING),
        ("dataset", LARGE_STRING),
        ("repeat", pa.int32()),
        ("weight", pa.float64()),
        ("input", pa.int32()),
        ("line", pa.int64()),
    ]
)


PROVENANCE = ("prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id", "eval_set_version")

REJECTED_ROWS, RUN_WARNINGS = "rejected_rows", "warnings"  # metadata of a run that scoring itself finds

RUNS = pa.schema(
    [
        ("run_id", LARGE_STRING),
        ("profile", LARGE_STRING),
        ("eval_set", LARGE_STRING),
        ("questions_sha256", LARGE_STRING),
        ("source_sha256", LARGE_STRING),
        ("contexts_sha256", LARGE_STRING),
        ("params_sha256", LARGE_STRING),
        ("signature", LARGE_STRING),
        ("version", LARGE_STRING),
        ("question_count", pa.int64()),
        ("answered_count", pa.int64()),
        ("repeats", pa.int64()),
        *((name, LARGE_STRING) for name in PROVENANCE),
        ("meta", pa.map_(LARGE_STRING, LARGE_STRING)),
    ]
)


@dataclass(frozen=True)
class OutputField:
    """A field of the answer that may stand in the row itself, where the row has no `output`."""

    name: str
    is_text: bool = False  # else a cell of a columnar file with the text of a JSON list or object is that


class QuestionChunks:
    """The retrieved chunks of questions as they were read: fragments of JSON arrays, in the order of the questions.

    Arrays are put together for some questions at a time: chunks may be the largest of all inputs.
    """

    def __init__(self, fragments: pa.ChunkedArray, question: Ints, count: int) -> None:
        """`question`: the index of each fragment's question; `count`: of questions."""
        if (question[1:] < question[:-1]).any():
            order = np.argsort(question, kind="stable")
            question = question[order]
            fragments = pa.chunked_array([fragments.combine_chunks().take(as_arrow(order))])
        self._fragments = fragments
        self._question = question
        self._bounds = bounds_by_owner(question, count)
        self._prepared_once = False
        self._forgotten = 0  # fragments

    def prepare_once(self) -> None:
        """Say that only one profile will read the chunks: see `between`."""
        self._prepared_once = True

    def between(self, first: int, last: int, *, forget: bool = False) -> pa.Array:
        """The JSON array of each of some questions; null where it has no fragment.

        `forget`: questions are asked for once, in their order, so that fragments that are read can be let go.
        """
        start, stop = self._bounds[first], self._bounds[last]
        if start < self._forgotten:
            raise ValueError("The chunks of these questions were read and let go.")
        fragments = self._fragments.slice(start - self._forgotten, stop - start).combine_chunks()
        if forget and self._prepared_once:
            self._fragments, self._forgotten = self._fragments.slice(stop - self._forgotten), stop
        arrays = joined_arrays(as_arrow(self._question[start:stop] - np.int32(first)), fragments, last - first)
        there = np.diff(self._bounds[first : last + 1]) > 0
        return pc.if_else(as_arrow(there), arrays, pa.scalar(None, LARGE_STRING))


@runtime_checkable
class HeldQuestions(Protocol):
    """Questions that take much memory, and may be let go once they were read."""

    def prepare_once(self) -> None:
        """Say that only one profile will read them."""

    def once(self) -> Iterator[dict[str, Any]]:
        """Every question; behind the last they are let go where that was said."""


def say_prepared_once(questions: Sequence[dict[str, Any]]) -> None:
    """Say that only one profile will read some questions, which may be a plain list."""
    if isinstance(questions, HeldQuestions):
        questions.prepare_once()


def read_once(questions: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every question, for a reader that asks for none again: they may be let go behind the last."""
    return questions.once() if isinstance(questions, HeldQuestions) else iter(questions)


@dataclass(frozen=True)
class EvalSet:
    """The questions of one eval set: what every run must answer, in the order of the file."""

    ids: Sequence[str]
    objects: Sequence[dict[str, Any]]  # may be decoded whenever they are asked for
    datasets: Sequence[str | None]
    _: KW_ONLY
    weights: Sequence[float]
    chunks: Mapping[str, str] = field(default_factory=dict)  # question id -> JSON array of its chunks
    contexts: QuestionChunks | None = None  # in place of `chunks`
    headers: Sequence[dict[str, Any]] = ()  # what each question's file says beside its questions

    def __len__(self) -> int:
        return len(self.ids)

    def id_column(self) -> pa.Array:
        """The ids of all questions."""
        return as_column(self.ids)

    def prepare_once(self) -> None:
        """Say that only one profile will read questions and chunks: one that reads them once may let them go."""
        say_prepared_once(self.objects)
        if self.contexts is not None:
            self.contexts.prepare_once()

    def objects_once(self) -> Iterator[dict[str, Any]]:
        """Every question, for a reader that asks for none again: they may be let go behind the last."""
        return read_once(self.objects)

    def chunk_columns(self, *, forget: bool = False) -> Iterator[pa.Array]:
        """The chunks of every question, of some questions at a time, at least one column; null where a question has
        none. `forget`: nobody will ask for them again."""
        for first in range(0, max(len(self), 1), _CHUNKED_AT_ONCE):
            last = min(first + _CHUNKED_AT_ONCE, len(self))
            if self.contexts is not None:
                yield self.contexts.between(first, last, forget=forget)
            else:
                yield pa.array([self.chunks.get(name) for name in self.ids[first:last]], LARGE_STRING)

    def header(self, index: int) -> dict[str, Any]:
        """What the file of a question says beside its questions."""
        return self.headers[index] if self.headers else {}


def value_at(row: Any, path: str) -> Any:
    """The value at a dotted path of a question, None where there is none; `expected` stands for all of its names."""
    for key in path.split("."):
        row = first_of(row, EXPECTED if key == EXPECTED[0] else (key,)) if isinstance(row, dict) else None
    return row


def first_of(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The value under the first of the names that the row has, else None."""
    for name in names:
        if name in row:
            return row[name]
    return None
