"""Scores of answers that were met before: an answer that stands in many batches for one question is scored once.

Answers are told apart by a keyed digest of all that their score follows from. The key is drawn for every job, so that
nobody can write two answers with one digest. What is kept is bounded. Where looking for known answers costs more than
scoring all of them, few batches are looked at, and ever fewer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar.arrays import as_arrow
from rageval_batch.columnar.kernels.digests import (
    distinct_digests,
    find_digests,
    insert_digests,
    keyed_digests,
    room_for_digests,
)
from rageval_batch.columnar.strings import LARGE_STRING, Ints, Offsets, bounds_by_owner, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.model import Scored

Digests = npt.NDArray[np.uint64]  # two words a row

MOST_BYTES = 64 << 20  # of scores that are kept; beyond that all are forgotten
MOST_ANSWERS = 1 << 18
JOINED = 1 << 15  # answers from which on kept scores are no longer copied into larger pieces
SPREAD_BELOW = 0.875  # of a batch; with more new answers, gathering them costs more than scoring all
WINDOW = 1 << 14  # rows after which it is seen whether looking pays
APART, MOST_APART = 8, 64  # batches between two that are looked at where it does not pay: twice as many each time
TALLIED = pa.schema(
    [("row", pa.int32()), ("kind", LARGE_STRING), ("got", LARGE_STRING), ("expected", LARGE_STRING), ("n", pa.int64())]
)


@dataclass(frozen=True)
class _Known:
    """The distinct answers of a batch: where each stands among the kept scores, -1 where it is new."""

    digests: Digests
    first: Ints  # the first row of each
    spread: Ints  # for each row its distinct answer
    _: KW_ONLY
    place: Ints
    kept: tuple[_Kept, ...]


@dataclass(frozen=True)
class _Kept:
    """Scores of some answers, numbered from `start`, and their tallies, in the order of the answers."""

    start: int
    columns: pa.RecordBatch
    tallies: pa.Table
    _: KW_ONLY
    bounds: Offsets  # of the tallies of each answer

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return int(self.columns.nbytes + self.tallies.nbytes + self.bounds.nbytes)

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def take(self, rows: Ints, number: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The scores of some answers, and their tallies, whose rows count from `number`."""
        first, counts = self.bounds[rows], self.bounds[rows + 1] - self.bounds[rows]
        places = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        owner = np.repeat(np.arange(len(rows), dtype=np.int32), counts) + np.int32(number)
        return self.columns.take(as_arrow(rows)), _of_rows(self.tallies.take(as_arrow(places)), owner)

    def followed_by(self, other: _Kept) -> _Kept:
        """The same with the answers that come next."""
        moved = _of_rows(other.tallies, other.tallies.column("row").to_numpy() + np.int32(len(self)))
        return _Kept(
            self.start,
            pa.concat_batches([self.columns, other.columns]),
            pa.concat_tables([self.tallies, moved]).combine_chunks(),
            bounds=np.concatenate([self.bounds, other.bounds[1:] + self.bounds[-1]]),
        )


def _kept(scored: Scored) -> _Kept:
    """The scores of a batch of answers."""
    names = sorted(scored.columns)
    columns = pa.RecordBatch.from_arrays([scored.columns[name] for name in names], names)
    tallies = TALLIED.empty_table() if scored.tallies is None else scored.tallies.select(TALLIED.names).cast(TALLIED)
    row = tallies.column("row").to_numpy()
    bounds = bounds_by_owner(row, columns.num_rows)
    return _Kept(0, columns, tallies.take(as_arrow(np.argsort(row, kind="stable"))), bounds=bounds)


def _of_rows(tallies: pa.Table, rows: Ints) -> pa.Table:
    """Tallies that belong to other rows."""
    return tallies.set_column(0, TALLIED.field("row"), as_arrow(rows))


class ReusedScores:
    """Scores batches of a job and remembers what it scored. Threads may share it; no result depends on it."""

    def __init__(self, score: Callable[[pa.RecordBatch], Scored], answer: tuple[str, ...]) -> None:
        """`score`: a pure function; `answer`: the columns of a batch that its results follow from, first the number of
        the question, then texts."""
        self._score = score
        self._answer = answer
        self._key = (secrets.randbits(64), secrets.randbits(64))
        self._lock = Lock()
        self._batches = self._rows = self._saved = self._scored_rows = 0
        self._looking = self._scoring = 0.0  # seconds: of a window, of all
        self._pays = True
        self._apart, self._next_look = APART, 0
        self._forget()

    def _forget(self) -> None:
        self._chunks: list[_Kept] = []
        self._count = self._size = 0
        self._slots, self._digests = room_for_digests(1)

    def score(self, batch: pa.RecordBatch) -> tuple[Scored, Ints | None]:
        """(scores of the different answers of a batch, which of them each row has; None: its own)"""
        with self._lock:
            self._batches += 1
            is_looked_at = self._pays or self._batches >= self._next_look
            if is_looked_at and not self._pays:  # by one thread
                self._apart = min(2 * self._apart, MOST_APART)
                self._next_look = self._batches + self._apart
        if not is_looked_at:
            return self._score(batch), None
        start = time.thread_time()
        known = self._look(batch)
        is_new = known.place < 0
        new = known.first[is_new]
        if len(new) < SPREAD_BELOW * batch.num_rows:
            scored, scoring = self._timed(batch.take(as_arrow(new))) if len(new) else (None, 0.0)
            kept = _kept(scored) if scored is not None else None
            found: tuple[Scored, Ints | None] = _put_together(known, kept)
            place = np.arange(len(new), dtype=np.int32)
        else:
            scored, scoring = self._timed(batch)
            kept = _kept(scored)  # known ones among them: to leave those few out costs more
            found = scored, None
            place = new
        if kept is not None:
            self._keep(known.digests[is_new], kept, place)
        self._note(batch.num_rows, len(new), time.thread_time() - start - scoring, scoring=scoring)
        return found

    def _timed(self, batch: pa.RecordBatch) -> tuple[Scored, float]:
        start = time.thread_time()
        return self._score(batch), time.thread_time() - start

    def _look(self, batch: pa.RecordBatch) -> _Known:
        number, *texts = (batch.column(name) for name in self._answer)
        columns = [(from_arrow(text), text.is_valid().to_numpy(zero_copy_only=False)) for text in texts]
        digests = keyed_digests(self._key, number.to_numpy(), columns)
        first, spread = distinct_digests(digests)
        own = digests[first]
        with self._lock:
            return _Known(
                own, first, spread, place=find_digests(self._slots, self._digests, own), kept=tuple(self._chunks)
            )

    def _keep(self, digests: Digests, kept: _Kept, place: Ints) -> None:
        """Remember scores; `place`: where among them those of each digest are."""
        with self._lock:
            if self._count + len(kept) > MOST_ANSWERS or self._size + kept.size > MOST_BYTES:
                self._forget()
            self._chunks.append(replace(kept, start=self._count))
            while len(self._chunks) > 1 and len(self._chunks[-2]) < min(2 * len(self._chunks[-1]), JOINED):
                self._chunks[-2:] = [self._chunks[-2].followed_by(self._chunks[-1])]
            numbers = place + np.int32(self._count)
            self._count, self._size = self._count + len(kept), self._size + kept.size
            if self._count > len(self._digests):
                known = self._slots[self._slots >= 0]
                digests = np.concatenate([self._digests[known], digests])
                numbers = np.concatenate([known, numbers])
                self._slots, self._digests = room_for_digests(self._count)
            insert_digests(self._slots, self._digests, digests, numbers)

    def _note(self, rows: int, scored_rows: int, looking: float, *, scoring: float) -> None:
        """Whether what was saved is worth the time that looking took: decided again and again."""
        with self._lock:
            self._scoring, self._scored_rows = self._scoring + scoring, self._scored_rows + scored_rows
            self._rows, self._saved = self._rows + rows, self._saved + rows - scored_rows
            self._looking += looking
            if self._rows >= WINDOW or not self._pays:
                paid = self._pays
                self._pays = self._saved * self._scoring > self._looking * self._scored_rows
                if paid and not self._pays:
                    self._apart, self._next_look = APART, self._batches + APART
                self._rows = self._saved = 0
                self._looking = 0.0


def _put_together(known: _Known, new: _Kept | None) -> tuple[Scored, Ints]:
    """(the scores of all answers of a batch: first those that were kept, by their places, then the new ones; for each
    row which of them it has)"""
    is_old = known.place >= 0
    old = np.flatnonzero(is_old)
    old = old[np.argsort(known.place[old])]
    place = known.place[old]
    taken = []
    for kept in known.kept:
        first, behind = np.searchsorted(place, (kept.start, kept.start + len(kept)))
        if first < behind:
            taken.append(kept.take(place[first:behind] - np.int32(kept.start), int(first)))
    if new is not None:
        taken.append((new.columns, _of_rows(new.tallies, new.tallies.column("row").to_numpy() + np.int32(len(old)))))
    order = np.empty(len(known.place), np.int32)
    order[old] = np.arange(len(old))
    order[~is_old] = np.arange(len(old), len(order))
    columns = pa.concat_batches([part for part, _ in taken])
    return _scored(columns, pa.concat_tables([part for _, part in taken])), order[known.spread]


def _scored(columns: pa.RecordBatch, tallies: pa.Table) -> Scored:
    return Scored(dict(zip(columns.schema.names, columns.columns, strict=True)), tallies)
