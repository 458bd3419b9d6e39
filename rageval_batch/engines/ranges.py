"""Range partitions of a commit: which of its files each score row goes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.strings import LARGE_STRING, Ints
from rageval_batch.dataclass import dataclass

ROWS_A_FILE = 1_000_000  # score rows of a file, unless that makes too many files
MOST_FILES = 10_000


@dataclass(frozen=True)
class Piece:
    """The rows of a run that a partition has: those of the questions from rank `low` to before rank `high`."""

    run: str
    low: int
    high: int


@dataclass(frozen=True)
class Ranges:
    """Runs in their order, several in a partition; a large one has partitions of its own, by ranges of questions.

    The order is that of UTF-8 bytes, in which commits are sorted.
    """

    runs: pa.Array  # sorted
    first: Ints  # of each run: its first partition
    pieces: Ints  # of each run: how many partitions it has
    _: KW_ONLY
    questions: pa.Array  # ids of the eval set, sorted; a run is never divided where there are none
    count: int  # of partitions

    def of_runs(self, run_id: pa.Array) -> Ints:
        """The first partition of each row's run."""
        first: Ints = self.first[pc.index_in(run_id, self.runs).to_numpy()]
        return first

    def of_rows(self, run_id: pa.Array, question_id: pa.Array) -> Ints:
        """The partition of each row."""
        run = pc.index_in(run_id, self.runs).to_numpy()
        pieces = self.pieces[run]
        partition: Ints = self.first[run]
        if (pieces > 1).any():
            rank = pc.index_in(question_id, self.questions).to_numpy(zero_copy_only=False).astype(np.int64)
            partition = (partition + rank * pieces // len(self.questions)).astype(np.int32)
        return partition

    def pieces_of(self, partition: int) -> list[Piece]:
        """What a partition has, in order."""
        low = int(np.searchsorted(self.first + self.pieces, partition, side="right"))
        high = int(np.searchsorted(self.first, partition, side="right"))
        total = len(self.questions)
        out = []
        for run in range(low, high):
            count, piece = int(self.pieces[run]), partition - int(self.first[run])
            # The ranks whose rank * count // total is the piece.
            bounds = [-(-k * total // count) for k in (piece, piece + 1)]
            out.append(Piece(self.runs[run].as_py(), *bounds))
        return out

    def groups(self) -> list[tuple[list[int], list[str]]]:
        """(partitions, their runs) in groups that have all rows of each of their runs."""
        out = []
        divided = {int(first): int(pieces) for first, pieces in zip(self.first, self.pieces, strict=True) if pieces > 1}
        partition = 0
        while partition < self.count:
            width = divided.get(partition, 1)
            out.append((list(range(partition, partition + width)), [piece.run for piece in self.pieces_of(partition)]))
            partition += width
        return out


def plan_ranges(rows: Mapping[str, int], questions: Sequence[str], partitions: int | None = None) -> Ranges:
    """Partitions of about equal size for runs that make so many score rows each; `partitions`: about how many."""
    names = sorted(rows)
    total = sum(rows.values())
    target = max(ROWS_A_FILE, -(-total // MOST_FILES)) if partitions is None else max(1, -(-total // partitions))
    first, pieces = np.zeros(len(names), np.int32), np.ones(len(names), np.int32)
    partition = filled = 0
    for k, name in enumerate(names):
        size = rows[name]
        divided = min(-(-size // target), len(questions)) if size > 1.5 * target else 1
        if filled and (divided > 1 or filled + size > 1.25 * target):
            partition, filled = partition + 1, 0
        first[k], pieces[k] = partition, max(divided, 1)
        filled += size
        if divided > 1:
            partition, filled = partition + divided, 0
    count = partition + (1 if filled or not names else 0)
    ids = pa.array(sorted(questions), LARGE_STRING)
    return Ranges(pa.array(names, LARGE_STRING), first, pieces, questions=ids, count=count)
