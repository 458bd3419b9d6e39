"""Files into Arrow batches of answers and a table of rejects: no row is lost, none is counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.kernels.lines import mark_first
from rageval_batch.columnar.kernels.spaces import strip
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, from_arrow
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.readers import ABSENT, NOTHING, NUMERIC, TEXT, Block, Field
from rageval_batch.inputs.sources import Source
from rageval_batch.model.schemas import (
    BATCH,
    CHUNKS,
    FILE,
    OUTPUT,
    QUESTION_ID,
    RECORDS,
    REJECTS,
    REPEAT,
    RUN_ID,
    EvalSet,
    OutputField,
)

_KNOWN = frozenset({*RUN_ID, *REPEAT, *QUESTION_ID, *OUTPUT, *CHUNKS})


@dataclass(frozen=True)
class Ingested:
    """One block of a file: the answers that can be scored, the rows that cannot, and how many were read."""

    batch: pa.RecordBatch
    rejects: pa.Table
    rows: int


@dataclass
class _Seen:
    """Which (run, repeat, question) have been met: exact, one byte for each answer a run may have."""

    questions: int
    codes: dict[tuple[str, int], int] = field(default_factory=dict)
    flags: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def first(self, run: pa.Array, repeat: Ints, question: Ints) -> Flags:
        """The rows whose key is met for the first time."""
        coded = run.dictionary_encode()
        keys = coded.indices.to_numpy().astype(np.int64) << 32 | repeat
        distinct, pair = np.unique(keys, return_inverse=True)
        names = coded.dictionary.to_pylist()
        codes = [
            self.codes.setdefault((names[key >> 32], key & 0xFFFFFFFF), len(self.codes)) for key in distinct.tolist()
        ]
        need = len(self.codes) * self.questions
        if need > len(self.flags):
            grown = np.zeros(max(need, 2 * len(self.flags)), np.bool_)
            grown[: len(self.flags)] = self.flags
            self.flags = grown
        return mark_first(self.flags, np.array(codes, np.int64)[pair] * self.questions + question)

    def answered(self) -> dict[str, Flags]:
        """For every run, which questions have an answer in any repeat."""
        out: dict[str, Flags] = {}
        for (run, _), code in self.codes.items():
            mine = self.flags[code * self.questions : (code + 1) * self.questions]
            out[run] = out[run] | mine if run in out else mine.copy()
        return out


class Ingest:
    """Reads output files one block at a time and remembers what only the whole input can tell."""

    def __init__(
        self,
        sources: list[Source],
        eval_set: EvalSet,
        runs: frozenset[str] | None = None,
        output_fields: tuple[OutputField, ...] = (),
    ) -> None:
        self._fields = output_fields
        self._known = _KNOWN.union(wanted.name for wanted in output_fields)
        self._sources = sources
        self._ids = pa.array(eval_set.ids, LARGE_STRING)
        self._only = runs
        self._seen = _Seen(len(eval_set))
        self._meta: dict[str, dict[str, str | None]] = {}

    def blocks(self) -> Iterator[Ingested]:
        """All files, in the order of their paths."""
        for number, source in enumerate(self._sources):
            has_run: bool | None = None
            has_output = False
            for block in readers.read_blocks(source):
                run = block.field(RUN_ID)
                has_run = _has_run_column(block, run) if has_run is None else has_run
                output = readers.read_output(block, self._fields)
                has_output = has_output or bool((output.kind != ABSENT).any())
                yield self._ingested(source, number, block, run, output, bool(has_run))
            if has_run is not None and not has_output:
                names = [*OUTPUT, *(wanted.name for wanted in self._fields)]
                raise InputError(f"{source.name} has no answers: no row has a field {' or '.join(names)}.")

    def answered(self) -> dict[str, Flags]:
        """For every run that was read, which questions have an answer."""
        return self._seen.answered()

    def repeats(self) -> Counter[str]:
        """How many different repeats each run has."""
        return Counter(run for run, _ in self._seen.codes)

    def metadata(self) -> dict[str, dict[str, str]]:
        """For every run, the fields that had one and the same value in all its rows."""
        return {
            run: {name: value for name, value in fields.items() if value is not None}
            for run, fields in self._meta.items()
        }

    def _ingested(
        self, source: Source, number: int, block: Block, run: Field, output: Field, has_run: bool
    ) -> Ingested:
        reason = np.full(len(block), -1, np.int8)
        details: dict[int, str] = {}
        for row_error in block.row_errors:
            reason[row_error.row] = _REASON[row_error.reason]
            details[row_error.row] = row_error.detail
        run_id, bad_run = _keys(run, None if has_run else source.stem)
        question_id, bad_question = _keys(block.field(QUESTION_ID), None)
        repeat, bad_repeat = _repeats(block.field(REPEAT))
        question = pc.index_in(question_id, self._ids)
        unknown = question.is_null().to_numpy(zero_copy_only=False)
        for name, bad in (
            ("null_run_id", bad_run), ("null_question_id", bad_question),
            ("bad_repeat", bad_repeat), ("unknown_question", unknown),
        ):  # fmt: skip
            reason[bad & (reason < 0)] = _REASON[name]
        if self._only is not None:
            mine = pc.is_in(run_id, pa.array(sorted(self._only), LARGE_STRING)).to_numpy(zero_copy_only=False)
            reason[~mine] = _SKIPPED
        good = np.flatnonzero(reason == -1)
        codes = question.fill_null(0).to_numpy()
        reason[good[~self._seen.first(run_id.take(pa.array(good)), repeat[good], codes[good])]] = _REASON["duplicate"]

        kept = np.flatnonzero(reason == -1)
        self._note_metadata(block, run_id, reason == -1)
        batch = pa.RecordBatch.from_arrays(
            [
                run_id, pa.array(codes, pa.int32()), pa.array(repeat),
                pa.array(np.full(len(block), number, np.int32)), pa.array(block.lines),
                output.text, readers.read_chunks(block),
            ],
            schema=BATCH,
        )  # fmt: skip
        if len(kept) < len(block):
            batch = batch.take(pa.array(kept))
        rejects = self._rejects(source, block, reason, details, run_id, question_id)
        return Ingested(batch, rejects, len(kept) + rejects.num_rows)

    def _rejects(
        self, source: Source, block: Block, reason: Any, details: dict[int, str], run: pa.Array, question: pa.Array
    ) -> pa.Table:
        rows = np.flatnonzero(reason >= 0).tolist()
        names = [_REJECTED[reason[row]] for row in rows]
        return pa.table(
            {
                "file": pa.repeat(pa.scalar(source.name, LARGE_STRING), len(rows)),
                "line": block.lines[rows] if rows else np.zeros(0, np.int64),
                "reason": names,
                "detail": [
                    details.get(row) or _detail(name, run[row].as_py(), question[row].as_py())
                    for name, row in zip(names, rows, strict=True)
                ],
                "raw": [block.raw(row) for row in rows],
            },
            schema=REJECTS,
        )

    def _note_metadata(self, block: Block, run_id: pa.Array, good: Flags) -> None:
        """Fields with one value in a run are its metadata; one with two values is none, from then on."""
        for name, rows, text in block.others(self._known):
            mine = good[rows]
            if not mine.any():
                continue
            chosen = pa.array(np.flatnonzero(mine))
            frame = pl.DataFrame(
                {"run": pl.from_arrow(run_id.take(pa.array(rows[mine]))), "value": pl.from_arrow(text.take(chosen))}
            )
            found = frame.group_by("run").agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
            for run, low, high in found.iter_rows():
                fields = self._meta.setdefault(run, {})
                value = low if low == high else None
                fields[name] = value if fields.get(name, value) == value else None


class RecordIngest(Ingest):
    """Rows that say themselves what they are about: none is rejected for its key, what it lacks is null."""

    def __init__(self, sources: list[Source], keys: tuple[str, ...], runs: frozenset[str] | None = None) -> None:
        super().__init__(sources, EvalSet((), (), (), ()), runs)
        self._keys = keys
        self._known = _KNOWN | {*keys, *FILE}
        self.schema = records_schema(keys)

    def _ingested(
        self, source: Source, number: int, block: Block, run: Field, output: Field, has_run: bool
    ) -> Ingested:
        reason = np.full(len(block), -1, np.int8)
        details: dict[int, str] = {}
        for row_error in block.row_errors:
            reason[row_error.row] = _REASON[row_error.reason]
            details[row_error.row] = row_error.detail
        batch = self.record_batch(source, number, block)
        run_id = batch.column("run_id")
        if self._only is not None:
            mine = pc.is_in(run_id, pa.array(sorted(self._only), LARGE_STRING)).to_numpy(zero_copy_only=False)
            reason[~mine] = _SKIPPED
        kept = np.flatnonzero(reason == -1)
        self._note_metadata(block, run_id, reason == -1)
        rejects = self._rejects(source, block, reason, details, run_id, run_id)
        if len(kept) < len(block):
            batch = batch.take(pa.array(kept))
        return Ingested(batch, rejects, len(kept) + rejects.num_rows)

    def record_batch(self, source: Source, number: int, block: Block) -> pa.RecordBatch:
        """The rows of a block with their keys; a run without a name is called like its file."""
        run_id, _ = _keys(block.field(RUN_ID), source.stem)
        repeat, bad = _repeats(block.field(REPEAT))
        columns = [
            pc.fill_null(run_id, pa.scalar(source.stem, LARGE_STRING)),
            pa.array(np.where(bad, 0, repeat).astype(np.int32)),
            pa.array(np.full(len(block), number, np.int32)),
            pa.array(block.lines),
            block.field(OUTPUT).text,
            *(_filled(block.field(_NAMES_OF.get(name, (name,)))) for name in (*FILE, *self._keys)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


_NAMES_OF = {QUESTION_ID[0]: QUESTION_ID}


def records_schema(keys: tuple[str, ...]) -> pa.Schema:
    """The columns of a batch of records."""
    return pa.schema([*RECORDS, *((name, LARGE_STRING) for name in keys)])


def _filled(found: Field) -> pa.Array:
    """A text or number as text, null where it is absent, of another kind, or nothing but white space."""
    named = pc.if_else(
        pa.array((found.kind == TEXT) | (found.kind == NUMERIC)), found.text, pa.scalar(None, LARGE_STRING)
    )
    texts = from_arrow(named)
    starts, ends = strip(texts.data, texts.starts, texts.ends)
    return pc.if_else(pa.array(starts < ends), named, pa.scalar(None, LARGE_STRING))


_REJECTED = (
    "malformed_json",
    "malformed_csv",
    "not_object",
    "not_utf8",
    "null_run_id",
    "null_question_id",
    "bad_repeat",
    "unknown_question",
    "duplicate",
)
_REASON = {name: code for code, name in enumerate(_REJECTED)}
_SKIPPED = np.int8(-2)


def _detail(reason: str, run: str | None, question: str | None) -> str:
    return {
        "null_run_id": "no run_id",
        "null_question_id": f"no {' or '.join(QUESTION_ID)}",
        "bad_repeat": "repeat is not a whole number from 0",
        "unknown_question": f"question '{question}' is not in the eval set",
        "duplicate": f"run '{run}' has an earlier answer to question '{question}' with this repeat",
    }[reason]


def _has_run_column(block: Block, run: Field) -> bool | None:
    """A columnar file has the column or not; of JSON rows the first usable one decides, None where there is none."""
    if block.names:
        return not block.names.isdisjoint(RUN_ID)
    bad = {row_error.row for row_error in block.row_errors}
    first = next((row for row in range(len(block)) if row not in bad), None)
    return None if first is None else bool(run.kind[first] != ABSENT)


def _keys(found: Field, default: str | None) -> tuple[pa.Array, Flags]:
    """(text, unusable) of a key: a string or number that is not empty; `default` where the field is absent."""
    text = found.text
    usable = ((found.kind == TEXT) | (found.kind == NUMERIC)) & (
        pc.fill_null(pc.greater(pc.binary_length(text), 0), False).to_numpy(zero_copy_only=False)
    )
    if default is not None and (absent := found.kind == ABSENT).any():
        text = pc.if_else(pa.array(absent), pa.scalar(default, LARGE_STRING), text)
        usable = usable | absent
    return pc.if_else(pa.array(usable), text, pa.scalar(None, LARGE_STRING)), ~usable


def _repeats(found: Field) -> tuple[Ints, Flags]:
    """(repeat, unusable): whole numbers from 0, written as such; absent, null and empty are 0."""
    if (found.kind <= NOTHING).all():
        return np.zeros(len(found.kind), np.int32), np.zeros(len(found.kind), np.bool_)
    text = pc.fill_null(found.text, "")
    whole = pc.match_substring_regex(text, r"^\d{1,9}$").to_numpy(zero_copy_only=False)
    none = (found.kind <= NOTHING) | pc.equal(text, "").to_numpy(zero_copy_only=False)
    number = pc.if_else(pa.array(whole), text, pa.scalar("0", LARGE_STRING)).cast(pa.int32()).to_numpy()
    return number, ~(whole | none) | (found.kind > NUMERIC)
