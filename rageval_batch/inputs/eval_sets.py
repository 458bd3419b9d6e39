"""Questions and contexts from files. A bad question is an error: dropping it would shrink every denominator."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import KW_ONLY, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.json_arrays import joined_arrays
from rageval_batch.columnar.json_numbers import value_text
from rageval_batch.columnar.places import TextPlaces
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Offsets, TextColumn, as_column, release_unused_memory
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.questions import QuestionFile, question_id, read_question_file
from rageval_batch.inputs.readers import NUMERIC, TEXT, Block
from rageval_batch.inputs.readers.blocks import places_of_ids
from rageval_batch.inputs.sources import Source, content_hash
from rageval_batch.locations import arrow_input
from rageval_batch.model.schemas import (
    CHUNK_TEXT,
    QUESTION_ID,
    RUN_ID,
    SOURCE_PATH,
    EvalSet,
    QuestionChunks,
    first_of,
    read_once,
    say_prepared_once,
)

_READ_AT_ONCE = 1_024  # questions that are decoded at a time


@dataclass(frozen=True)
class Identity:
    """Which eval set it is: its name with a short hash, and the full one."""

    name: str
    version: str
    sha256: str


def identity(files: list[Source]) -> Identity:
    """`name@sha1[:12]` and the SHA-256 of the question files; without any the eval set is called none."""
    if not files:
        return Identity("none", "none", hashlib.sha256(b"").hexdigest())
    hashes = content_hash(files)
    name = "+".join(sorted({file.stem for file in files}))
    return Identity(name, f"{name}@{hashes.sha1[:12]}", hashes.sha256)


# --- questions ------------------------------------------------------------------------------------------------------


def read_questions(files: list[Source]) -> EvalSet:
    """All questions of the files, whatever profile they are for; InputError naming the first that is bad or doubled."""
    return eval_set_of([read_question_file(file) for file in files])


def eval_set_of(files: list[QuestionFile]) -> EvalSet:
    """The questions of files that were read; InputError naming the first that is bad or doubled."""
    places, ids = TextPlaces(as_column(())), [as_column(())]
    datasets, weights = [as_column(())], array("d")
    for file in files:
        for bad in file.unreadable:
            line = "" if bad.line is None else f", line {bad.line}"
            raise InputError(f"{file.source.name}{line}: not a question: {bad.found}. Allowed is {bad.allowed}.")
        for first in range(0, len(file.questions), _READ_AT_ONCE):
            part = file.questions[first : first + _READ_AT_ONCE]
            names = [question_id(question) for question in part]
            ids.append(as_column(names))
            for index, (question, name, place) in enumerate(zip(part, names, places.add(ids[-1]), strict=True), first):
                if name is None:
                    known = ", ".join(QUESTION_ID)
                    raise InputError(
                        f"{file.where(index)}: this question has no id. Every question needs {known}, a text or number."
                    )
                if place < len(weights):
                    raise InputError(
                        f"{file.where(index)}: question '{name}' is there twice, first at {_where(files, place)}. "
                        "Ids must be unique."
                    )
                weights.append(_weight(file, index, question))
            datasets.append(as_column([_text_or_none(question.get("dataset")) for question in part]))
    if not weights:
        raise InputError(f"{', '.join(file.source.name for file in files)}: no question in it.")
    headers = [file.header for file in files]
    return EvalSet(
        TextColumn(pa.concat_arrays(ids)),
        files[0].questions if len(files) == 1 else _Chained([file.questions for file in files]),
        TextColumn(pa.concat_arrays(datasets)),
        weights=weights,
        headers=_Chained([[header] * len(file.questions) for header, file in zip(headers, files, strict=True)])
        if any(headers)
        else (),
    )


class _Chained(Sequence[Any]):
    """Several sequences, one behind the other."""

    def __init__(self, parts: Sequence[Sequence[Any]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._parts)

    def prepare_once(self) -> None:
        for part in self._parts:
            say_prepared_once(part)

    def once(self) -> Iterator[Any]:
        return chain.from_iterable(map(read_once, self._parts))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        for part in self._parts:
            if place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(index)


def _where(files: list[QuestionFile], index: int) -> str:
    """The file and line of a question by its index among those of all files."""
    for file in files:
        if index < len(file.questions):
            return file.where(index)
        index -= len(file.questions)
    raise IndexError(index)


def _weight(file: QuestionFile, index: int, question: dict[str, Any]) -> float:
    weight = question.get("weight")
    if weight is None:
        return 1.0
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= sys.float_info.max:
        name = first_of(question, QUESTION_ID)
        where = file.where(index)
        raise InputError(f"{where}: question '{name}' has weight {weight!r}. A weight is a finite number from 0.")
    return float(weight)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else value_text(value)


# --- lists and texts of records -------------------------------------------------------------------------------------


def read_rows(files: list[Source], names: tuple[str, ...], kind: str) -> pa.Table:
    """The named columns of all rows of files, as text; InputError naming the first row that lacks one."""
    schema = pa.schema([*((name, LARGE_STRING) for name in names), ("where", LARGE_STRING)])
    parts = []
    for file in files:
        for block in readers.read_blocks(file):
            for row_error in block.row_errors:
                line = block.lines[row_error.row]
                raise InputError(f"{file.name}, line {line}: no {kind}: {row_error.reason}, {row_error.detail}.")
            columns = [block.field(_ALIASES.get(name, (name,))) for name in names]
            for name, column in zip(names, columns, strict=True):
                if (lacking := ~((column.kind == TEXT) | (column.kind == NUMERIC))).any():
                    line = block.lines[int(lacking.argmax())]
                    raise InputError(
                        f"{file.name}, line {line}: this {kind} has no {name}. All need {_joined_by_and(names)}."
                    )
            lines = pa.array(block.lines).cast(LARGE_STRING)
            where = pc.binary_join_element_wise(
                pa.scalar(file.name, LARGE_STRING), lines, pa.scalar(", line ", LARGE_STRING)
            )
            parts.append(pa.Table.from_arrays([*(column.text for column in columns), where], schema=schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


_ALIASES = {QUESTION_ID[0]: QUESTION_ID, CHUNK_TEXT[0]: CHUNK_TEXT}


def _joined_by_and(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def read_texts(files: list[Source], names: tuple[str, str]) -> dict[str, str]:
    """Text by key; InputError where one key has two texts."""
    out: dict[str, str] = {}
    for key, text, where in zip(*read_rows(files, names, "text").to_pydict().values(), strict=True):
        if out.setdefault(key, text) != text:
            raise InputError(f"{where}: {names[0]} '{key}' has another text already. Give each one text.")
    return out


# --- contexts -------------------------------------------------------------------------------------------------------


@dataclass
class UnknownContexts:
    """Rows of contexts whose question is none of the eval set, and the first of them with its place."""

    rows: int = 0
    of: int = 0
    first: str = ""
    _: KW_ONLY
    empty: list[str] = field(default_factory=list)  # files without a row

    def add(self, file: Source, block: Block, known: Flags) -> None:
        """Count a block's rows; `known`: whose question is one of the eval set."""
        unknown = np.flatnonzero(~known)
        self.of += len(block)
        if len(unknown) and not self.rows:
            row = int(unknown[0])
            self.first = f"'{block.field(QUESTION_ID).text[row].as_py()}', {file.name}, line {block.lines[row]}"
        self.rows += len(unknown)

    def said(self) -> list[str]:
        """Sentences: where there are any, and of files without a row."""
        empty = [f"WARNING: {name} is empty: it has no contexts." for name in self.empty]
        if not self.rows:
            return empty
        return [
            *empty,
            f"WARNING: {self.rows:,} of {self.of:,} contexts are of no question of the eval set (first {self.first}).",
        ]


def with_contexts(
    eval_set: EvalSet, files: list[Source], folder: Path
) -> tuple[EvalSet, RunContexts | None, UnknownContexts]:
    """The eval set with the chunks of its questions; those of single runs, which lie in a file of the folder; and what
    belongs to no question."""
    ids = eval_set.id_column()
    places = TextPlaces(ids)
    general, general_question = list[pa.Array](), [np.zeros(0, np.int32)]
    spilled = _Spill(folder / "contexts.parquet")
    unknown = UnknownContexts()
    for file in files:
        before = unknown.of
        for block in readers.read_blocks(file):
            rows = _fragments(file, block)
            question = places_of_ids(places, block.field(QUESTION_ID))
            unknown.add(file, block, question >= 0)
            of_all = rows.column("run_id").is_null().to_numpy()
            general.append(rows.column("fragment").filter(as_arrow((question >= 0) & of_all)).combine_chunks())
            general_question.append(question[(question >= 0) & of_all])
            mine = as_arrow((question >= 0) & ~of_all)
            own = rows.filter(mine)
            spilled.write(own.set_column(1, "question_id", ids.take(as_arrow(question).filter(mine))))
        if unknown.of == before:
            unknown.empty.append(file.name)
    fragments = pa.chunked_array(general, LARGE_STRING)
    contexts = QuestionChunks(fragments, np.concatenate(general_question), len(eval_set))
    release_unused_memory()
    return replace(eval_set, contexts=contexts), spilled.close(), unknown


_JSON_SPACES = " \t\r\n"
_FRAGMENTS = pa.schema([(name, LARGE_STRING) for name in ("run_id", "question_id", "fragment")])


def _fragments(file: Source, block: Block) -> pa.Table:
    """(run_id or null, question_id, members of a JSON array of chunks) of every row of a block."""
    for row_error in block.row_errors:
        line = block.lines[row_error.row]
        raise InputError(
            f"{file.name}, line {line}: not a context: {row_error.reason}, {row_error.detail}. Mend the line."
        )
    question = block.field(QUESTION_ID)
    missing = question.text.is_null().to_numpy(zero_copy_only=False) | question.not_finite()
    if missing.any():
        line = block.lines[int(missing.argmax())]
        raise InputError(f"{file.name}, line {line}: a context without {' or '.join(QUESTION_ID)}.")
    run = block.field(RUN_ID).text
    lists = readers.read_chunks(block)
    path, text = block.field(SOURCE_PATH), block.field(CHUNK_TEXT)
    listed, single = lists.is_valid().to_numpy(zero_copy_only=False), text.kind == TEXT
    if not (listed | single).all():
        line = block.lines[int((~(listed | single)).argmax())]
        raise InputError(f"{file.name}, line {line}: a context needs `chunks`, a list, or `source_path` and `text`.")
    run = pc.if_else(pc.equal(run, ""), pa.scalar(None, LARGE_STRING), run)  # a blank cell
    inside = pc.utf8_slice_codeunits(pc.ascii_trim(lists, _JSON_SPACES), 1, -1)
    fragments = pc.ascii_trim(inside, _JSON_SPACES)
    if not listed.all():
        paths = pc.if_else(as_arrow(path.kind == TEXT), path.text, pa.scalar(None, LARGE_STRING))
        fragments = pc.if_else(as_arrow(listed), fragments, _as_objects(paths, text.text))
    return pa.table([run, question.text, fragments], schema=_FRAGMENTS)


def _as_objects(paths: pa.Array, texts: pa.Array) -> pa.Array:
    """Chunks as JSON objects."""
    import polars as pl

    columns = {"source_path": pl.from_arrow(paths), "text": pl.from_arrow(texts)}
    chunks = pl.DataFrame(columns).select(pl.struct(pl.all()).struct.json_encode())
    return chunks.to_series().to_arrow().cast(LARGE_STRING)


class _Spill:
    """Fragments of runs' own contexts, on disk because there may be as many as answers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, rows.schema, compression="zstd")
        self._writer.write_table(rows)

    def close(self) -> RunContexts | None:
        if self._writer is None:
            return None
        self._writer.close()
        return RunContexts(str(self._path))


@dataclass(frozen=True)
class RunContexts:
    """Chunks of (run, question), looked up a batch at a time."""

    place: str  # the path or URL of a Parquet file

    def of_other_runs(self, runs: Collection[str]) -> list[str]:
        """A sentence where there are contexts of runs that have no answers."""
        of_runs = self._stored(columns=["run_id"]).column("run_id").unique().to_pylist()
        others = [run for run in of_runs if run not in runs]
        if not others:
            return []
        return [f"WARNING: there are contexts of runs without answers: {len(others):,}, the first '{others[0]}'."]

    def _stored(self, **options: Any) -> pa.Table:
        return pq.read_table(arrow_input(self.place), partitioning=None, **options)

    def joined_to(self, batch: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
        """The batch in which rows without chunks of their own have those given for their run and question."""
        chunks = self.chunks_for(batch.column("run_id"), ids.take(batch.column("question")))
        merged = pc.coalesce(batch.column("chunks"), chunks)
        return batch.set_column(batch.schema.get_field_index("chunks"), "chunks", merged)

    def chunks_for(self, run: pa.Array, question_id: pa.Array) -> pa.Array:
        """The JSON array of each row's own chunks, null where the run has none for the question."""
        runs, questions = run.unique(), question_id.unique()
        stored = self._stored(filters=pc.field("run_id").isin(runs))
        stored = stored.filter(pc.is_in(stored.column("question_id"), questions)).combine_chunks()

        def pairs(run: pa.Array, question_id: pa.Array) -> Offsets:
            found = (pc.index_in(run, runs), pc.index_in(question_id, questions))
            of_run, of_question = (column.to_numpy().astype(np.int64) for column in found)
            pair: Offsets = of_run * len(questions) + of_question
            return pair

        wanted, row = np.unique(pairs(run, question_id), return_inverse=True)
        given = pairs(stored.column("run_id"), stored.column("question_id"))
        place = np.minimum(np.searchsorted(wanted, given), len(wanted) - 1)
        mine = wanted[place] == given
        place, fragments = place[mine], stored.column("fragment").combine_chunks().filter(pa.array(mine))
        arrays = joined_arrays(pa.array(place), fragments, len(wanted))
        there = np.bincount(place, minlength=len(wanted)) > 0
        return pc.if_else(pa.array(there), arrays, pa.scalar(None, LARGE_STRING)).take(pa.array(row))
