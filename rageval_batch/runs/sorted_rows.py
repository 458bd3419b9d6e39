"""Score rows in the order of a commit, a few runs at a time: for sweeps whose files have the rows of a run together.

Most have. Then nothing but the rows of one row group is sorted at once, in memory, whatever the size of the sweep;
rows of all runs mixed are for a sort that spills.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import Ints, Offsets
from rageval_batch.runs.parts import Part, table_of_part

ORDER = ("run_id", "question_id", "repeat")
MOST_OF_RUN = 1 << 18  # rows of one run that are sorted in memory
_MOST_PIECES = 4  # stretches of rows that each run and each part may have on average
_OPEN = 32  # parts that are held open

MakeRows = Callable[[Mapping[str, Ints]], pa.Table]  # the rows of questions that runs left unanswered


@dataclass(frozen=True)
class _Piece:
    """Rows of one run that stand together in a part."""

    part: int
    start: int
    count: int


class _Parts:
    """Parts in memory or mapped into it, the last few of them held open."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._open: dict[int, pa.Table] = {}

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: int) -> pa.Table:
        found = self._open.pop(number, None)
        if found is None:
            found = table_of_part(self._parts[number])
            if len(self._open) >= _OPEN:
                del self._open[next(iter(self._open))]
        self._open[number] = found
        return found


def sorted_by_run(
    given: Sequence[Part], missing: Mapping[str, Ints], make: MakeRows, *, rows_at_once: int
) -> Iterator[pa.Table] | None:
    """All rows of the parts and those that are made of the missing questions of runs, by ORDER, some runs at a time.

    None where the rows of a run are too many or too scattered.
    """
    parts = _Parts(given)
    pieces: dict[str, list[_Piece]] = {run: [] for run in missing}
    found = 0
    for number in range(len(parts)):
        encoded = pc.run_end_encode(parts[number].column("run_id").combine_chunks())
        start = 0
        for run, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
            pieces.setdefault(run, []).append(_Piece(number, start, end - start))
            start = end
        found += len(encoded.run_ends)
        if found > _MOST_PIECES * (len(parts) + len(pieces)):
            return None
    if any(sum(piece.count for piece in mine) > MOST_OF_RUN for mine in pieces.values()):
        return None
    return _chunks(parts, pieces, missing, make=make, rows_at_once=rows_at_once)


def _chunks(
    parts: _Parts,
    pieces: Mapping[str, list[_Piece]],
    missing: Mapping[str, Ints],
    *,
    make: MakeRows,
    rows_at_once: int,
) -> Iterator[pa.Table]:
    runs: list[str] = []
    count = 0
    for run in sorted(pieces):
        runs.append(run)
        count += sum(piece.count for piece in pieces[run]) + len(missing.get(run, ()))
        if count >= rows_at_once:
            yield _chunk(parts, pieces, missing, runs=runs, make=make)
            runs, count = [], 0
    if runs:
        yield _chunk(parts, pieces, missing, runs=runs, make=make)


def _chunk(
    parts: _Parts,
    pieces: Mapping[str, list[_Piece]],
    missing: Mapping[str, Ints],
    *,
    runs: Sequence[str],
    make: MakeRows,
) -> pa.Table:
    """The rows of some runs, which come in the order of their names, each run by question and repeat."""
    answered = [(place, piece) for place, run in enumerate(runs) for piece in pieces[run]]
    lacking = [(place, missing[run]) for place, run in enumerate(runs) if run in missing]
    tables = [parts[piece.part].slice(piece.start, piece.count) for piece in _joined([piece for _, piece in answered])]
    if lacking:
        tables.append(make({runs[place]: questions for place, questions in lacking}))
    places = np.array([place for place, _ in (*answered, *lacking)], np.int64)
    counts = np.array([*(piece.count for _, piece in answered), *(len(asked) for _, asked in lacking)], np.int64)
    return _ordered(pa.concat_tables(tables), np.repeat(places, counts))


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    """The same rows in fewer pieces: what stands together in a part is one."""
    out: list[_Piece] = []
    for piece in pieces:
        last = out[-1] if out else None
        if last is not None and (last.part, last.start + last.count) == (piece.part, piece.start):
            out[-1] = _Piece(last.part, last.start, last.count + piece.count)
        else:
            out.append(piece)
    return out


def _ordered(rows: pa.Table, place: Offsets) -> pa.Table:
    """Rows by the places of their runs, then by question and repeat."""
    coded = rows.column("question_id").combine_chunks().dictionary_encode()
    rank = np.empty(len(coded.dictionary), np.int64)
    rank[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(rank))
    key = place * len(rank) + rank[coded.indices.to_numpy()]
    if (key[1:] > key[:-1]).all():
        return rows
    return rows.take(pa.array(np.lexsort((rows.column("repeat").to_numpy(), key))))
