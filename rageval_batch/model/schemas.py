"""The tables that pass between the parts: Arrow schemas, an eval set, and the column names users bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import LARGE_STRING

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


class TextsByKey(Mapping[str, str]):
    """Texts that lie in a column and have keys of their own."""

    def __init__(self, keys: pa.Array, texts: pa.Array) -> None:
        self._keys, self._texts = keys, texts

    def __getitem__(self, key: str) -> str:
        text: str = self._texts[self._places[key]].as_py()
        return text

    @cached_property
    def _places(self) -> dict[str, int]:
        return {key: place for place, key in enumerate(self._keys.to_pylist())}

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys.to_pylist())

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, keys: pa.Array) -> pa.Array:
        """The text of each of these keys; null where there is none."""
        return self._texts if keys.equals(self._keys) else self._texts.take(pc.index_in(keys, self._keys))


@dataclass(frozen=True)
class EvalSet:
    """The questions of one eval set: what every run must answer, in the order of the file."""

    ids: tuple[str, ...]
    objects: Sequence[dict[str, Any]]  # may be decoded whenever they are asked for
    datasets: Sequence[str | None]
    _: KW_ONLY
    weights: Sequence[float]
    chunks: Mapping[str, str] = field(default_factory=dict)  # question id -> JSON array of its chunks
    headers: tuple[dict[str, Any], ...] = ()  # what each question's file says beside its questions

    def __len__(self) -> int:
        return len(self.ids)

    def chunk_column(self) -> pa.Array:
        """The chunks of every question; null where it has none."""
        if isinstance(self.chunks, TextsByKey):
            return self.chunks.of(pa.array(self.ids, LARGE_STRING))
        return pa.array([self.chunks.get(name) for name in self.ids], LARGE_STRING)

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
