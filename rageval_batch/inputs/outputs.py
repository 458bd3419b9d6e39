"""Files into Arrow batches of rows and a table of rejects: no row is lost, none is counted twice.

What a row is about is the business of its `RowReader`: by question, or self-keyed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.extras import KEYS, extras_of
from rageval_batch.inputs.readers import ABSENT, NOTHING, NUMERIC, TEXT, Block, Column, ColumnLimit, Field
from rageval_batch.inputs.readers.blocks import MOST_COLUMNS, Names
from rageval_batch.inputs.sources import Source
from rageval_batch.model.schemas import CHUNKS, OUTPUT, OUTPUT_NAMES, QUESTION_ID, REJECTS, REPEAT, RUN_ID

KNOWN_FIELDS = frozenset({*RUN_ID, *REPEAT, *QUESTION_ID, *OUTPUT, *CHUNKS})


@dataclass(frozen=True)
class Rows:
    """All rows of a block as a batch, those that cannot be used among them, and why they cannot."""

    batch: pa.RecordBatch
    question_id: pa.Array
    unusable: tuple[tuple[str, Flags], ...] = ()  # reason of a reject, and the rows that have it; the first counts


class Answers(Protocol):
    """Which questions were answered, as far as that is known before the rows are reconciled."""

    def answered(self) -> Mapping[str, Flags]:
        """For every run that was read, which questions have an answer in any repeat; empty where there is no list."""

    def repeats(self) -> Mapping[str, int]:
        """How many different repeats each run has; empty where there is no list."""


class RowReader(Answers, Protocol):
    """How the rows of a block say what they are about. It remembers what only all rows together can tell."""

    output_names: tuple[str, ...]  # fields that an answer may stand in
    known: frozenset[str]  # names of fields that are no columns beside the answers
    read: tuple[Names, ...]  # fields of several names: what stands under another than the one that is read is kept

    def output(self, block: Block) -> Field:
        """The answer of each row of a block; ABSENT where it has none."""

    def has_keys(self, block: Block) -> bool:
        """Whether any row says what it is about."""

    def has_extras(self, block: Block) -> Flags:
        """The rows whose other fields stand beside the answer, and are no part of it."""

    def rows(self, source: Source, number: int, block: Block, *, has_run: bool, output: Field) -> Rows:
        """The rows of a block of the file with that number; `has_run`: the file names its runs itself."""

    def first(self, batch: pa.RecordBatch) -> Flags:
        """The rows of a batch that are no second answer of a run to the same thing."""


@dataclass(frozen=True)
class Ingested:
    """One block of a file: the rows that can be scored, those that cannot, and how many were read."""

    batch: pa.RecordBatch
    rejects: pa.Table
    rows: int
    _: KW_ONLY
    extras: pa.RecordBatch | None = None  # what else the rows say, where they do


@dataclass
class InputCounts:
    """What only all rows together can tell: how many were rejected and why, and which columns are constant in a run.

    Counts of parts of an input add up to those of the whole.
    """

    reasons: Counter[str] = field(default_factory=Counter)  # how many rows were rejected, by reason
    rejected: Counter[str] = field(default_factory=Counter)  # by run, where it is known
    rows: Counter[str] = field(default_factory=Counter)  # rows of a run that were read, rejected ones among them
    _: KW_ONLY
    filled: Counter[tuple[str, str]] = field(default_factory=Counter)  # rows of a run with a short value of a column
    values: dict[str, dict[str, str | None]] = field(default_factory=dict)  # by run and column; None: they differ
    left_out: set[str] = field(default_factory=set)  # columns beyond those that are kept

    def metadata_of(self, run: str) -> dict[str, str]:
        """The fields that had one and the same value in all rows of a run."""
        fields = self.values.get(run, {})
        return {name: value for name, value in fields.items() if value is not None and self._in_all_rows(run, name)}

    def notes(self) -> list[str]:
        """What a user should know about the columns of the rows."""
        left_out = sorted(self.left_out)
        if not left_out:
            return []
        shown = ", ".join(f"'{name[:_SHOWN_NAME]}'" for name in left_out[:3])
        return [
            f"WARNING: rows have more than {MOST_COLUMNS:,} columns that are no fields. The first {MOST_COLUMNS:,} are "
            f"kept with the answers, others are not ({shown}, …). Scores do not depend on them."
        ]

    def constant(self) -> frozenset[str]:
        """Columns that have one value in all rows of each of the runs that have them: their metadata."""
        changing = {
            name
            for run, fields in self.values.items()
            for name, value in fields.items()
            if value is None or not self._in_all_rows(run, name)
        }
        return frozenset(name for fields in self.values.values() for name in fields if name not in changing)

    def of_run(self, run: str) -> tuple[int, int]:
        """(rows of a run that were rejected, all its rows)"""
        return self.rejected[run], self.rows[run]

    def add(self, other: InputCounts, kept: ColumnLimit) -> None:
        """Count the rows of another part of the same input too; of its columns those that are kept."""
        for mine, more in (
            (self.reasons, other.reasons),
            (self.rejected, other.rejected),
            (self.rows, other.rows),
        ):
            mine.update(more)
        self.filled.update({key: count for key, count in other.filled.items() if key[1] in kept.names})
        self.left_out.update(kept.left_out)
        for run, fields in other.values.items():
            for name, value in fields.items():
                if name in kept.names:
                    self._note_value(run, name, value)

    def add_rows(self, run_id: pa.Array, is_read: Flags, is_rejected: Flags) -> None:
        """Count the rows of each run, and those that are rejected."""
        for counter, rows in ((self.rows, is_read), (self.rejected, is_rejected)):
            if rows.any():
                counted = run_id if rows.all() else run_id.filter(as_arrow(rows))
                for found in counted.value_counts().to_pylist():
                    counter[found["values"]] += found["counts"]

    def add_values(self, others: list[Column], run_id: pa.Array) -> None:
        """Fields with one value in a run are its metadata; one with two values is none, from then on."""
        for column in others:
            name, short = column.name, column.short()
            if len(short.rows) < len(column.rows):
                long = np.setdiff1d(column.rows, short.rows)
                for run in run_id.take(as_arrow(long)).unique().to_pylist():
                    self._note_value(run, name, None)
            values = pa.table({"run": run_id.take(as_arrow(short.rows)), "value": short.text})
            found = values.group_by("run").aggregate([("value", "min"), ("value", "max"), ([], "count_all")])
            for run, low, high, count in zip(*(column.to_pylist() for column in found.columns), strict=True):
                self.filled[run, name] += count
                self._note_value(run, name, low if low == high else None)

    def _note_value(self, run: str, name: str, value: str | None) -> None:
        fields = self.values.setdefault(run, {})
        fields[name] = value if fields.get(name, value) == value else None

    def _in_all_rows(self, run: str, name: str) -> bool:
        """Whether every row of a run that is scored has a short value of a column."""
        return self.filled[run, name] >= self.rows[run] - self.rejected[run]


@dataclass
class FileColumns:
    """What the rows of one file have: whether they name their runs, an answer, what they are about; and all columns
    that were seen before that was known."""

    has_run: bool | None = None  # None: no row could be used yet
    has_output: bool = False
    has_keys: bool = False
    _: KW_ONLY
    seen: dict[str, None] = field(default_factory=dict)

    def note(self, source: Source, reader: RowReader, block: Block) -> Field:
        """Look at a block; the answers of its rows."""
        self.has_run = _has_run_column(source, block) if self.has_run is None else self.has_run
        output = reader.output(block)
        self.has_output = self.has_output or bool((output.kind != ABSENT).any())
        self.has_keys = self.has_keys or reader.has_keys(block)
        if not (self.has_output and self.has_keys):
            self.seen.update(dict.fromkeys(column.name for column in block.others(frozenset())))
        return output

    def add(self, later: FileColumns) -> None:
        """The columns of a later part of the same file too."""
        self.has_run = later.has_run if self.has_run is None else self.has_run
        self.has_output, self.has_keys = self.has_output or later.has_output, self.has_keys or later.has_keys
        self.seen.update(later.seen)

    def check(self, source: Source, reader: RowReader) -> None:
        """InputError where no row of the whole file has an answer, or says what it is about."""
        if self.has_run is not None and not self.has_output:
            names = reader.output_names
            told = columns_seen(self.seen, (*names, *OUTPUT_NAMES))
            raise InputError(f"{source.name} has no answers: no row has a field {' or '.join(names)}.{told}")
        if self.has_run is not None and not self.has_keys:
            told = columns_seen(self.seen, QUESTION_ID)
            raise InputError(f"{source.name}: no row has a field {' or '.join(QUESTION_ID)}.{told}")


class Ingest:
    """Reads output files one block at a time and remembers what only the whole input can tell."""

    def __init__(
        self,
        sources: list[Source],
        reader: RowReader,
        runs: frozenset[str] | None = None,
        *,
        second_answers: Offsets | None = None,
        columns: ColumnLimit | None = None,
    ) -> None:
        """`runs`: rows of other runs are passed over. `second_answers`: which of the usable rows are duplicates,
        counted from 0, where that is known and not for the reader to find out. `columns`: which of those that are no
        fields are kept."""
        self._sources = sources
        self.reader = reader
        self._only = runs
        self._second_answers = second_answers
        self._usable = 0  # rows so far that can be used, duplicates among them
        self.columns = columns or ColumnLimit()  # that are no fields of the rows
        self.counts = InputCounts()

    def blocks(self) -> Iterator[Ingested]:
        """All files, in the order of their paths."""
        for number, source in enumerate(self._sources):
            columns = FileColumns()
            yield from self.file_blocks(number, readers.read_blocks(source), columns)
            columns.check(source, self.reader)

    def file_blocks(self, number: int, blocks: Iterable[Block], columns: FileColumns) -> Iterator[Ingested]:
        """Blocks of the file with that number, all or some; `columns` is what was known of it before, and learns."""
        source = self._sources[number]
        for block in blocks:
            output = columns.note(source, self.reader, block)
            yield self._ingested(
                source, block, self.reader.rows(source, number, block, has_run=bool(columns.has_run), output=output)
            )

    def _first(self, batch: pa.RecordBatch) -> Flags:
        if self._second_answers is None:
            return self.reader.first(batch)
        place = np.arange(self._usable, self._usable + batch.num_rows)  # several rows may stand in one line
        self._usable += batch.num_rows
        return np.isin(place, self._second_answers, invert=True)

    def _ingested(self, source: Source, block: Block, rows: Rows) -> Ingested:
        reason = np.full(len(block), -1, np.int8)
        details: dict[int, str] = {}
        for row_error in block.row_errors:
            reason[row_error.row] = _REASON[row_error.reason]
            details[row_error.row] = row_error.detail
        for name, bad in rows.unusable:
            reason[bad & (reason < 0)] = _REASON[name]
        run_id = rows.batch.column("run_id")
        if self._only is not None:
            mine = pc.is_in(run_id, pa.array(sorted(self._only), LARGE_STRING)).to_numpy(zero_copy_only=False)
            reason[~mine] = _SKIPPED
        batch, kept = _chosen(rows.batch, np.flatnonzero(reason == -1))
        reason[kept[~self._first(batch)]] = _REASON["duplicate"]
        batch, kept = _chosen(rows.batch, np.flatnonzero(reason == -1))
        others = block.others(self.reader.known, read=self.reader.read, rows=reason == -1, limit=self.columns)
        self.counts.left_out.update(self.columns.left_out)
        self.counts.add_values(others, run_id)
        rejects = _rejects(source, block, reason, details=details, found=rows)
        named = pc.fill_null(run_id, pa.scalar(source.run, LARGE_STRING))  # a row without a run counts for its file
        self.counts.add_rows(named, reason != _SKIPPED, reason >= 0)
        self.counts.reasons.update(rejects.column("reason").to_pylist())
        extras = None
        if others and len(kept):
            beside = np.flatnonzero(self.reader.has_extras(block)[kept])  # if none, the order of columns is noted
            keys = _extra_keys(batch.take(as_arrow(beside)), rows.question_id.take(as_arrow(kept[beside])))
            extras = extras_of(keys, others, kept[beside], size=len(block), typeless=source.format == "csv")
        return Ingested(batch, rejects, len(kept) + rejects.num_rows, extras=extras)


_SHOWN_COLUMNS = 20
_SHOWN_NAME = 60  # characters of the name of a column


def columns_seen(seen: Iterable[str], wanted: Iterable[str]) -> str:
    """The columns of a file that were found, those nearest to what is wanted, and how to say which one is meant."""
    from difflib import get_close_matches

    names, wanted = list(seen), list(wanted)
    if not names:
        return ""
    shown = ", ".join(names[:_SHOWN_COLUMNS]) + (", …" if len(names) > _SHOWN_COLUMNS else "")
    near: dict[str, str] = {}  # column -> what it may be meant for; each is told once
    for one in wanted:
        for match in get_close_matches(one, names, n=1, cutoff=0.6):
            near.setdefault(match, one)
    told = [name if name == one else f"{name} ({one}?)" for name, one in near.items()]
    hint = f" Nearest: {', '.join(told)}." if told else ""
    return f" Columns: {shown}.{hint} Say which it is: --map {wanted[0]}={next(iter(near), 'COLUMN')}."


def _extra_keys(batch: pa.RecordBatch, question_id: pa.Array) -> pa.RecordBatch:
    own = {name: batch.column(name) for name in KEYS.names if name in batch.schema.names}
    columns = {"question_id": question_id, **own}
    return pa.RecordBatch.from_arrays(
        [columns[name].cast(type_) for name, type_ in zip(KEYS.names, KEYS.types, strict=True)], schema=KEYS
    )


def _chosen(batch: pa.RecordBatch, rows: Any) -> tuple[pa.RecordBatch, Any]:
    """(those rows of a batch, the rows)"""
    return batch if len(rows) == batch.num_rows else batch.take(as_arrow(rows)), rows


def _rejects(source: Source, block: Block, reason: Any, *, details: dict[int, str], found: Rows) -> pa.Table:
    found_rows = np.flatnonzero(reason >= 0)
    if not len(found_rows):
        return REJECTS.empty_table()
    rows = found_rows[np.argsort(block.lines[found_rows], kind="stable")].tolist()
    names = [_REJECTED[reason[row]] for row in rows]
    run, question = found.batch.column("run_id"), found.question_id
    return pa.table(
        {
            "file": pa.repeat(pa.scalar(source.name, LARGE_STRING), len(rows)),
            "line": block.lines[rows],
            "reason": names,
            "detail": [
                details.get(row) or _detail(name, run[row].as_py(), question[row].as_py())
                for name, row in zip(names, rows, strict=True)
            ],
            "raw": [block.raw(row) for row in rows],
        },
        schema=REJECTS,
    )


_REJECTED = (
    "malformed_json",
    "too_long",
    "malformed_csv",
    "malformed_trec",
    "not_object",
    "not_utf8",
    "null_run_id",
    "bad_run_id",
    "null_question_id",
    "bad_question_id",
    "bad_repeat",
    "unknown_question",
    "wrong_shape",
    "duplicate",
)
_REASON = {name: code for code, name in enumerate(_REJECTED)}
_SKIPPED = np.int8(-2)
_SHOWN_OF_KEY = 1_024  # characters
_NO_KEY = "true, false, a list, an object or a number that is not finite where a text or number is wanted"


def _detail(reason: str, run: str | None, question: str | None) -> str:
    """What is wrong with a row, with the beginnings of its keys; its raw text has all of them."""
    run, question = (text if text is None else text[:_SHOWN_OF_KEY] for text in (run, question))
    return {
        "null_run_id": "no run_id",
        "bad_run_id": f"run_id is {_NO_KEY}",
        "null_question_id": f"no {' or '.join(QUESTION_ID)}",
        "bad_question_id": f"{' or '.join(QUESTION_ID)} is {_NO_KEY}",
        "bad_repeat": "repeat is not a whole number from 0",
        "unknown_question": f"question '{question}' is not in the eval set",
        "wrong_shape": "the answer is an object or list where a text is wanted; --map output=PATH names the text",
        "duplicate": f"run '{run}' has an earlier answer to question '{question}' with this repeat",
    }[reason]


def _has_run_column(source: Source, block: Block) -> bool | None:
    """Whether rows name their runs: the first usable one decides, None where there is none."""
    if source.reading.ignores_run_column or source.reading.needs_run_column:
        return source.reading.needs_run_column
    bad = {row_error.row for row_error in block.row_errors}
    first = next((row for row in range(len(block)) if row not in bad), None)
    return None if first is None else bool(block.field(RUN_ID).kind[first] != ABSENT)


def has_run_column(source: Source, blocks: Iterable[Block]) -> bool | None:
    """Whether the rows of a file name their runs; None where none can be used."""
    found = (_has_run_column(source, block) for block in blocks)
    return next((has_run for has_run in found if has_run is not None), None)


def read_run_ids(block: Block, source: Source, has_run: bool) -> tuple[pa.Array, Flags]:
    """(run, unusable) of each row; where rows do not name their runs, the run of the file."""
    if source.reading.ignores_run_column:
        count = len(block)
        return pa.repeat(pa.scalar(source.run, LARGE_STRING), count), np.zeros(count, np.bool_)
    return read_keys(block.field(RUN_ID), None if has_run else source.run)


def read_keys(found: Field, default: str | None) -> tuple[pa.Array, Flags]:
    """(text, unusable) of a key: a string or number that is not empty; `default` where the field is absent."""
    text = found.text
    usable = (
        ((found.kind == TEXT) | (found.kind == NUMERIC))
        & ~found.not_finite()
        & (pc.fill_null(pc.greater(pc.binary_length(text), 0), False).to_numpy(zero_copy_only=False))
    )
    if default is not None and (absent := found.kind == ABSENT).any():
        text = pc.if_else(as_arrow(absent), pa.scalar(default, LARGE_STRING), text)
        usable = usable | absent
    if not usable.all():
        text = pc.if_else(as_arrow(usable), text, pa.scalar(None, LARGE_STRING))
    return text, ~usable


def read_repeats(found: Field) -> tuple[Ints, Flags]:
    """(repeat, unusable): whole numbers from 0, written as such; absent, null and empty are 0."""
    if (found.kind <= NOTHING).all():
        return np.zeros(len(found.kind), np.int32), np.zeros(len(found.kind), np.bool_)
    text = pc.fill_null(found.text, "")
    whole = pc.match_substring_regex(text, r"^\d{1,9}$").to_numpy(zero_copy_only=False)
    none = (found.kind <= NOTHING) | pc.equal(text, "").to_numpy(zero_copy_only=False)
    number = pc.if_else(as_arrow(whole), text, pa.scalar("0", LARGE_STRING)).cast(pa.int32()).to_numpy()
    return number, ~(whole | none) | (found.kind > NUMERIC)
