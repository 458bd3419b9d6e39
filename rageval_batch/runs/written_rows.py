"""What is told of score rows, learnt while they are written: the file of a commit need not be read again for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from rageval_batch.model import Profile
from rageval_batch.runs.findings import CountedRows, Observed
from rageval_batch.runs.run_statistics import statistics_of_rows
from rageval_batch.runs.score_runs import OtherRows
from rageval_batch.runs.sorted_rows import SortedChunk
from rageval_batch.runs.summary import SummaryFile
from rageval_batch.runs.summary_plan import summary_plan


class WrittenRows:
    """Makes the summary, and counts what is to be told, of rows on their way into a file."""

    def __init__(
        self, profile: Profile, schema: pa.Schema, summary: Path, *, repeats: Callable[[], Mapping[str, int]]
    ) -> None:
        """`schema`: the columns of the rows; `summary`: where it is written; `repeats`: how many each run has."""
        self._plan = summary_plan(profile)
        self._counted = CountedRows(profile, schema)
        self._repeats = repeats
        self._target = summary
        self._summary: SummaryFile | None = None
        self.has_summary = False
        self._is_complete = False

    def watch(self, chunks: Iterator[SortedChunk]) -> Iterator[pa.Table]:
        """The same rows: all that there are, in the order of a commit. While some are written, a thread works on them.

        Where a run comes in several pieces, no summary is made."""
        repeats = self._repeats()
        self._summary = SummaryFile(self._target)
        with ThreadPoolExecutor(1) as thread:
            seen: Future[None] | None = None
            for chunk in chunks:
                if seen is not None:
                    seen.result()
                seen = thread.submit(self._see, chunk, repeats)
                yield chunk.rows
            if seen is not None:
                seen.result()
        if self._summary is not None:
            self._summary.close()
        self.has_summary = self._summary is not None
        self._is_complete = True

    def _see(self, chunk: SortedChunk, repeats: Mapping[str, int]) -> None:
        """Count rows and add them to the summary; no more of it, and no file, where the loops do not take them."""
        if not chunk.has_whole_runs:
            self._counted.add(chunk.rows)
            self._end_summary()
            return
        self._counted.add_whole_runs(chunk.rows)
        if self._summary is None:
            return
        try:
            for made in statistics_of_rows(self._plan, chunk.rows, repeats):
                self._summary.add(made)
        except OtherRows:
            self._end_summary()

    def _end_summary(self) -> None:
        """Leave no summary: it is for those who read the file."""
        if self._summary is not None:
            self._summary.close()
            self._summary = None
            self._target.unlink()

    def observed(self) -> Observed | None:
        """What the rows show; None where they must be looked at in their file."""
        return self._counted.nothing if self._is_complete and self._counted.is_nothing() else None
