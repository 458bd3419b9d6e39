"""Score rows in the order of a commit, a few runs at a time: for sweeps whose files have the rows of a run together.

Most have. Then nothing but the rows of one row group is sorted at once, in memory, whatever the size of the sweep;
rows of all runs mixed are for a sort that spills.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.strings import LARGE_STRING, Ints, Offsets, bounds_by_owner
from rageval_batch.dataclass import dataclass
from rageval_batch.runs.parts import Part, table_of_part

ORDER = ("run_id", "question_id", "repeat")
MOST_OF_RUN = 1 << 18  # rows of one run that are in memory at once
_MOST_PIECES = 4  # stretches of rows that each run and each part may have on average

MakeRows = Callable[[Mapping[str, Ints]], pa.Table]  # the rows of questions that runs left unanswered


class SortedChunk(NamedTuple):
    """Some rows by ORDER; names of runs and questions are codes."""

    rows: pa.Table
    has_whole_runs: bool  # all rows of each of its runs; else some of one


@dataclass(frozen=True, kw_only=True)
class _Pieces:
    """Stretches of rows of one run that stand together in a part, by run, then as they were met: columns, as there may
    be many runs."""

    part: Ints
    start: Ints
    count: Ints
    bounds: Offsets  # of the pieces of each run

    @staticmethod
    def of(part: Ints, start: Ints, count: Ints, *, run: Ints, runs: int) -> _Pieces:
        """Pieces as they were met, and which of so many runs each is of."""
        order = np.argsort(run, kind="stable")
        return _Pieces(part=part[order], start=start[order], count=count[order], bounds=bounds_by_owner(run, runs))

    def rows(self) -> Offsets:
        """How many rows each run has."""
        return np.diff(np.append(0, np.cumsum(self.count, dtype=np.int64))[self.bounds])

    def joined(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """(part, start, count) of the rows of runs that follow each other, in fewer pieces: what stands together in a
        part is one."""
        mine = slice(self.bounds[first], self.bounds[last])
        part, start, count = self.part[mine], self.start[mine], self.count[mine]
        follows = (part[1:] == part[:-1]) & (start[1:] == start[:-1] + count[:-1])
        heads = np.flatnonzero(np.append(True, ~follows)[: len(part)])
        if len(heads):
            yield from zip(
                part[heads].tolist(), start[heads].tolist(), np.add.reduceat(count, heads).tolist(), strict=True
            )


class _Parts:
    """Parts in memory or mapped into it. Pages of a mapped one that were read count as memory of the process until it
    is closed, so that only those are held open that rows were last taken of: the next rows may stand there too."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._open: dict[int, pa.Table] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def tables(self, pieces: Sequence[tuple[int, int, int]]) -> list[pa.Table]:
        """The rows of pieces: (part, first row, how many)."""
        wanted = {part for part, _, _ in pieces}
        self._open = {part: rows for part, rows in self._open.items() if part in wanted}
        for part in wanted - self._open.keys():
            self._open[part] = self.read(part)
        return [self._open[part].slice(start, count) for part, start, count in pieces]

    def read(self, number: int) -> pa.Table:
        """A whole part, which is open as long as it is referred to."""
        return table_of_part(self._parts[number])


def sorted_by_run(
    given: Sequence[Part], missing: Mapping[str, Ints], make: MakeRows, *, rows_at_once: int
) -> Iterator[SortedChunk] | None:
    """All rows of the parts and those that are made of the missing questions of runs, by ORDER, some runs at a time, or
    some rows of a large one. The missing questions of a run come in the order of their ids; none of them is answered.

    None where the rows of a run in the parts are too many or too scattered.
    """
    parts = _Parts(given)
    places = {run: place for place, run in enumerate(missing)}  # of runs, as they are met
    found: list[tuple[Ints, Ints]] = []  # of each part: the runs of its pieces, where these end
    count = 0
    for number in range(len(parts)):
        encoded = pc.run_end_encode(parts.read(number).column("run_id").combine_chunks())
        runs = [places.setdefault(run, len(places)) for run in encoded.values.to_pylist()]
        found.append((np.array(runs, np.int32), encoded.run_ends.to_numpy()))
        count += len(runs)
        if count > _MOST_PIECES * (len(parts) + len(places)):
            return None
    names = sorted(places)
    rank = np.empty(len(names), np.int32)
    rank[[places[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    nothing = np.zeros(0, np.int32)
    pieces = _Pieces.of(
        np.repeat(np.arange(len(found), dtype=np.int32), [len(ends) for _, ends in found]),
        np.concatenate([nothing, *(np.append(0, ends[:-1])[: len(ends)].astype(np.int32) for _, ends in found)]),
        np.concatenate([nothing, *(np.diff(ends, prepend=0).astype(np.int32) for _, ends in found)]),
        run=rank[np.concatenate([nothing, *(runs for runs, _ in found)])],
        runs=len(names),
    )
    if (pieces.rows() > MOST_OF_RUN).any():
        return None
    return _chunks(parts, pieces, missing, names=names, make=make, rows_at_once=rows_at_once)


def _chunks(
    parts: _Parts,
    pieces: _Pieces,
    missing: Mapping[str, Ints],
    *,
    names: Sequence[str],
    make: MakeRows,
    rows_at_once: int,
) -> Iterator[SortedChunk]:
    answered = pieces.rows()

    def whole_runs(first: int, behind: int, lacking: Mapping[int, Ints]) -> SortedChunk:
        """All rows of runs that follow each other."""
        tables = parts.tables(list(pieces.joined(first, behind)))
        if lacking:
            tables.append(make({names[one]: questions for one, questions in lacking.items()}))
        places = np.array([*range(first, behind), *lacking], np.int32) - first
        counts = np.append(answered[first:behind], [*map(len, lacking.values())]).astype(np.int64)
        rows = _ordered(pa.concat_tables(tables), np.repeat(places, counts), names[first:behind])
        return SortedChunk(rows, has_whole_runs=True)

    first, lacking, count = 0, dict[int, Ints](), 0
    for place, (run, rows) in enumerate(zip(names, answered.tolist(), strict=True)):
        questions = missing.get(run)
        if questions is not None and rows + len(questions) > MOST_OF_RUN:
            if count:
                yield whole_runs(first, place, lacking)
            there = parts.tables(list(pieces.joined(place, place + 1)))
            yield from _pieces_of_run(there, run, questions, make=make, rows_at_once=rows_at_once)
            first, lacking, count = place + 1, {}, 0
            continue
        if questions is not None:
            lacking[place] = questions
            count += len(questions)
        count += rows
        if count >= rows_at_once:
            yield whole_runs(first, place + 1, lacking)
            first, lacking, count = place + 1, {}, 0
    if count:
        yield whole_runs(first, len(names), lacking)


def _pieces_of_run(
    tables: Sequence[pa.Table], run: str, missing: Ints, *, make: MakeRows, rows_at_once: int
) -> Iterator[SortedChunk]:
    """The rows of one run, and those of its missing questions, which are made some at a time."""
    waiting = pa.concat_tables(tables).combine_chunks()
    waiting = waiting.take(pc.sort_indices(waiting.column("question_id")))
    for start in range(0, len(missing), rows_at_once):
        made = make({run: missing[start : start + rows_at_once]})
        if start + rows_at_once < len(missing):
            is_before = pc.less(waiting.column("question_id"), made.column("question_id")[-1])
            count = pc.sum(is_before, min_count=0).as_py()
        else:
            count = waiting.num_rows
        rows = pa.concat_tables([waiting.slice(0, count), made])
        waiting = waiting.slice(count)
        yield SortedChunk(_ordered(rows, np.zeros(len(rows), np.int32), [run]), has_whole_runs=False)


def _ordered(rows: pa.Table, place: Ints, names: Sequence[str]) -> pa.Table:
    """Rows by the places of their runs in a list of names, then by question and repeat."""
    question = rows.column("question_id").combine_chunks().dictionary_encode()
    rank = np.empty(len(question.dictionary), np.int64)
    rank[pc.sort_indices(question.dictionary).to_numpy()] = np.arange(len(rank))
    key = place * np.int64(len(rank)) + rank[question.indices.to_numpy()]
    run = pa.DictionaryArray.from_arrays(as_arrow(place), pa.array(names, LARGE_STRING))
    rows = rows.set_column(rows.column_names.index("run_id"), "run_id", run)
    rows = rows.set_column(rows.column_names.index("question_id"), "question_id", question)
    if (key[1:] > key[:-1]).all():
        return rows
    return rows.take(as_arrow(np.lexsort((rows.column("repeat").to_numpy(), key))))
