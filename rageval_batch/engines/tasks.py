"""What runs on the executors of a cluster: files divided, splits scored, rows sent to their range, files written.

Nothing here knows Spark. A task is given small rows and returns small rows; whatever is large lies in files.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, as_column
from rageval_batch.dataclass import dataclass
from rageval_batch.engines.parts import Part, SplitResult, ipc_bytes, read_part, write_part
from rageval_batch.engines.ranges import Piece, Ranges
from rageval_batch.engines.shared import SharedFolder
from rageval_batch.errors import RagevalError
from rageval_batch.inputs import extras, readers
from rageval_batch.inputs.outputs import FileColumns, Ingest, Ingested
from rageval_batch.inputs.protocols import InputKind, LoadedInputs, RunCounts
from rageval_batch.inputs.readers import ColumnLimit
from rageval_batch.inputs.readers.blocks import BLOCK_ROWS, MOST_COLUMNS
from rageval_batch.inputs.sources import Source
from rageval_batch.inputs.splits import Split
from rageval_batch.model.schemas import REJECTS
from rageval_batch.runs import commit_files
from rageval_batch.runs.batch import Scorer
from rageval_batch.runs.database import Database, database
from rageval_batch.runs.findings import Observed, observed
from rageval_batch.runs.manifest import file_checksum
from rageval_batch.runs.parts import read_parts
from rageval_batch.runs.staging import store_error
from rageval_batch.runs.summary import write_commit_summary
from rageval_batch.runs.summary_plan import summary_plan
from rageval_batch.runs.sweep import ScoreFile, scored_tables

SCORES, TALLIES, EXTRAS, ANSWERS, REJECTED = "scores", "tallies", "extras", "answers", "rejects"


@dataclass(frozen=True, kw_only=True)
class Work:
    """All that the tasks of a job need: it is sent to the executors once."""

    scorer: Scorer
    kind: InputKind
    inputs: LoadedInputs
    sources: list[Source]
    has_run: list[bool | None]  # of each source: whether its rows name their runs
    runs: frozenset[str] | None
    keep_inputs: bool
    max_rows: int
    store: str  # its path or URL
    parts: SharedFolder  # of what was made of splits
    written: SharedFolder  # of files on their way into the commit


@dataclass(frozen=True, kw_only=True)
class Routes:
    """Where the rows of parts go: partitions of the commit's ranges, then those of kept answers, then of rejects."""

    ranges: Ranges
    extras: pa.Schema | None  # common to all parts; None: there are none
    copy_partitions: int  # of the copy of the answers
    reject_group: Ints  # of each split: which file of rejects it goes to
    reject_groups: int

    @property
    def count(self) -> int:
        """Of all partitions."""
        return self.ranges.count + self.copy_partitions + self.reject_groups


# --- splits ---------------------------------------------------------------------------------------------------------


def score_split(
    work: Work, number: int, split: Split, *, second_answers: Offsets, columns: Sequence[str] = ()
) -> SplitResult:
    """Score the rows of a split but its duplicates, and keep what it made as a part; or find it made.

    `columns`: those that are kept of the ones that are no fields, where there are more than are kept in all.
    """
    name = f"{number:07d}"
    if len(second_answers):
        name += f"-{hashlib.sha256(np.sort(second_answers).tobytes()).hexdigest()[:16]}"
    if columns:
        name += f"-{hashlib.sha256(json.dumps(list(columns)).encode()).hexdigest()[:16]}"
    if (part := read_part(work.parts, name)) is not None:
        return replace(part.result, found=True)
    limit = ColumnLimit(columns, others=2 * MOST_COLUMNS)
    result = SplitResult(number=number, name=name, columns=FileColumns(has_run=work.has_run[split.file]), others=limit)
    try:
        tables = _scored(work, split, second_answers, result=result)
        kept = {kind: [ipc_bytes(table) for table in found] for kind, found in tables.items()}
        write_part(work.parts, name, Part(result, kept, second_answers))
    except RagevalError as error:
        return replace(result, error=error)
    except OSError as error:
        return replace(result, error=store_error(work.store, error))
    return result


def _scored(work: Work, split: Split, second_answers: Offsets, *, result: SplitResult) -> dict[str, list[pa.Table]]:
    """The tables of the blocks of a split, by kind; the result learns what they tell."""
    reader = work.inputs.row_reader()
    ingest = Ingest(work.sources, reader, work.runs, second_answers=second_answers, columns=result.others)
    blocks = readers.read_blocks(work.sources[split.file], part=split.part)
    tables: dict[str, list[pa.Table]] = {}
    reused = work.scorer.reused_scores()
    for block in ingest.file_blocks(split.file, blocks, result.columns):
        _count_block(result, block)
        work.inputs.check_rows(result.repeats, sum(result.scored.values()), work.max_rows)
        found = scored_tables(work.scorer, work.inputs, block, keep_inputs=work.keep_inputs, reused=reused)
        for kind, table in found.items():
            tables.setdefault(kind, []).append(table)
    result.counts = ingest.counts
    return tables


def rescore_split(work: Work, number: int, split: Split, *, name: str, columns: Sequence[str]) -> SplitResult:
    """Score the rows of a part again, keeping these of the columns that are no fields."""
    part = _required(work, name)
    return score_split(work, number, split, second_answers=part.second_answers, columns=columns)


def _count_block(result: SplitResult, block: Ingested) -> None:
    result.rows_read += block.rows
    result.rejected += block.rejects.num_rows
    answers = pa.Table.from_batches([block.batch.select(["run_id", "repeat"])])
    found = answers.group_by(["run_id", "repeat"]).aggregate([([], "count_all")])
    for run, repeat, count in zip(*(found.column(k).to_pylist() for k in range(3)), strict=True):
        result.scored[run] = result.scored.get(run, 0) + count
        result.repeats.setdefault(run, set()).add(repeat)
    if block.extras is not None and (not result.extras or not result.extras[-1].equals(block.extras.schema, True)):
        result.extras.append(block.extras.schema)
    if block.rejects.num_rows:
        result.reject_bytes += block.rejects.nbytes
        if result.first_reject is None:
            result.first_reject = block.rejects.slice(0, 1).to_pylist()[0]


def _required(work: Work, name: str) -> Part:
    part = read_part(work.parts, name)
    if part is None:
        raise OSError(f"{name} of {work.parts.place} is gone or damaged")
    return part


def answer_keys(work: Work, number: int, name: str) -> Iterator[pa.RecordBatch]:
    """The keys of the answers of a part: run_id, question (its index), repeat, split, place among its usable rows.

    The part has all of them: it is of a split that was scored with its duplicates.
    """
    scores = _required(work, name).table(SCORES)
    if scores is None:  # of a file without rows
        return
    question = pc.index_in(scores.column("question_id"), work.inputs.eval_set.id_column())
    keys = pa.table(
        {
            "run_id": scores.column("run_id").cast(pa.string()),
            "question": question,
            "repeat": scores.column("repeat"),
            "split": pa.repeat(pa.scalar(number, pa.int32()), scores.num_rows),
            "place": pa.array(np.arange(scores.num_rows)),
        }
    )
    yield from keys.combine_chunks().to_batches(max_chunksize=BLOCK_ROWS)


# --- rows to their range --------------------------------------------------------------------------------------------


def routed(work: Work, routes: Routes, number: int, *, name: str) -> Iterator[tuple[int, str, bytes]]:
    """(partition, kind, Arrow file) of all that a part has."""
    part = _required(work, name)
    ranges = routes.ranges
    for kind in (SCORES, EXTRAS, TALLIES, ANSWERS):
        table = _typed_extras(part, routes.extras) if kind == EXTRAS else part.table(kind)
        if table is None or not table.num_rows:
            continue
        if kind == TALLIES:
            partition = ranges.of_runs(table.column("run_id"))
        elif kind == ANSWERS:
            partition = ranges.count + _copy_partition(table, routes)
        else:
            partition = ranges.of_rows(table.column("run_id"), table.column("question_id"))
        for target, rows in _divided(table, partition):
            yield target, kind, ipc_bytes(rows)
    if (rejected := part.table(REJECTED)) is not None:
        target = ranges.count + routes.copy_partitions + int(routes.reject_group[number])
        yield target, REJECTED, ipc_bytes(rejected.combine_chunks())


def _typed_extras(part: Part, schema: pa.Schema | None) -> pa.Table | None:
    if schema is None:
        return None
    batches = [
        extras.filled(batch, schema) for table in part.blocks(EXTRAS) for batch in table.combine_chunks().to_batches()
    ]
    return pa.Table.from_batches(batches, schema)


def _copy_partition(table: pa.Table, routes: Routes) -> Ints:
    """Equal answers go to the same partition: answers to one question."""
    if routes.copy_partitions == 1:
        return np.zeros(table.num_rows, np.int32)
    questions = routes.ranges.questions
    rank = pc.index_in(table.column("question_id"), questions).to_numpy().astype(np.int64)
    partition: Ints = (rank * routes.copy_partitions // len(questions)).astype(np.int32)
    return partition


def _divided(table: pa.Table, partition: Ints) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each partition, in their order."""
    if (partition == partition[0]).all():
        yield int(partition[0]), table.combine_chunks()
        return
    order = np.argsort(partition, kind="stable")
    targets, starts = np.unique(partition[order], return_index=True)
    rows = table.take(pa.array(order)).combine_chunks()
    for target, start, stop in zip(targets, starts, [*starts[1:], len(order)], strict=True):
        yield int(target), rows.slice(int(start), int(stop - start))


# --- files of the commit --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Written:
    """A file on its way into the commit: its role, its place among those of the role, its name aside and checksum."""

    role: str
    place: int
    name: str
    checksum: dict[str, Any]
    runs: dict[str, RunCounts] = field(default_factory=dict)  # of score rows: what became of the runs
    repeats: dict[str, frozenset[int]] = field(default_factory=dict)


def write_partition(
    work: Work, routes: Routes, partition: int, *, payloads: Iterable[tuple[str, bytes]]
) -> Iterator[Written]:
    """The files of a partition, from the tables that were sent to it, in the order of the splits."""
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder, database(Path(folder)) as opened:
        files: dict[str, list[Path]] = {}
        for number, (kind, content) in enumerate(payloads):
            path = Path(folder) / f"{kind}-{number:07d}"
            path.write_bytes(content)
            files.setdefault(kind, []).append(path)
        ready = Path(folder) / "ready"
        ready.mkdir()
        ranges = routes.ranges
        if partition < ranges.count:
            target = ready / "scores.parquet"
            yield _write_scores(
                work, ranges.pieces_of(partition), partition, files=files.get(SCORES, []), target=target, opened=opened
            )
        if TALLIES in files:
            target = ready / "tallies.parquet"
            commit_files.write_tallies(files[TALLIES], target=target, database=opened)
            yield _delivered(work, "tallies", partition, path=target)
        if EXTRAS in files and routes.extras is not None:
            target = ready / "extras.parquet"
            rows = read_parts(files[EXTRAS])
            commit_files.write_sorted(rows, routes.extras, extras.ORDER, target=target, database=opened)
            yield _delivered(work, "extras", partition, path=target)
        if ANSWERS in files:
            target = ready / "kept_outputs.parquet"
            commit_files.write_input_copy(files[ANSWERS], work.kind.copy_format, target=target, database=opened)
            yield _delivered(work, "kept_outputs", partition, path=target)
        if REJECTED in files:
            target = ready / "rejects.parquet"
            commit_files.write_rejects(files[REJECTED], REJECTS, target)
            yield _delivered(work, "rejects", partition, path=target)


def _write_scores(
    work: Work, pieces: list[Piece], partition: int, *, files: list[Path], target: Path, opened: Database
) -> Written:
    answers = _RangeAnswers(work.inputs.eval_set.ids, pieces, files)
    runs = work.inputs.finish(answers, ScoreFile(path=target, scorer=work.scorer, parts=files, database=opened))
    return replace(_delivered(work, SCORES, partition, path=target), runs=runs, repeats=answers.met_repeats)


class _RangeAnswers:
    """Which questions the runs of a partition have answered. Those of other partitions count as answered: they are
    not missing here."""

    def __init__(self, ids: Sequence[str], pieces: list[Piece], files: list[Path]) -> None:
        names = pa.array([piece.run for piece in pieces], LARGE_STRING)
        questions = as_column(ids)
        order = pc.sort_indices(questions).to_numpy().astype(np.int64)
        flags = np.ones((len(pieces), len(ids)), np.bool_)
        for k, piece in enumerate(pieces):
            flags[k, order[piece.low : piece.high]] = False
        met: dict[str, set[int]] = {piece.run: set() for piece in pieces}
        for batch in read_parts(files) if ids else ():
            run = pc.index_in(batch.column("run_id"), names).to_numpy()
            flags[run, pc.index_in(batch.column("question_id"), questions).to_numpy()] = True
            pairs = np.unique(np.stack([run, batch.column("repeat").to_numpy()], axis=1), axis=0)
            for k, repeat in pairs.tolist():
                met[pieces[k].run].add(repeat)
        self._flags = {piece.run: flags[k] for k, piece in enumerate(pieces)}
        self.met_repeats = {run: frozenset(found) for run, found in met.items()}

    def answered(self) -> dict[str, Flags]:
        """Of every run of the partition."""
        return self._flags

    def repeats(self) -> dict[str, int]:
        """How many different repeats each run has in the partition."""
        return {run: len(found) for run, found in self.met_repeats.items()}


def _delivered(work: Work, role: str, place: int, *, path: Path) -> Written:
    """A file that was written on the executor, copied to where the driver finds it, under a name of its own.

    A task that is tried twice leaves two files: only that of the try whose result counts becomes part of the commit.
    """
    name = f"{role}-{place:05d}-{secrets.token_hex(8)}"
    checksum = file_checksum(path)
    work.written.deliver(path, name)
    os.unlink(path)
    return Written(role=role, place=place, name=name, checksum=checksum)


def summarized(work: Work, place: int, names: list[str], *, runs: pa.Table) -> tuple[Written | str, Observed]:
    """The summary of score files that have all rows of their runs, a sentence where it cannot be made; what they
    show."""
    with tempfile.TemporaryDirectory(prefix="rageval-") as folder, database(Path(folder)) as opened:
        target = Path(folder) / "summary.parquet"
        scores = [work.written.local(name, Path(folder)) for name in names]
        profile = work.scorer.profile
        unmade = write_commit_summary(summary_plan(profile), scores, runs, target=target, database=opened)
        written = unmade or _delivered(work, "summary", place, path=target)
        return written, observed(scores, profile, database=opened)
