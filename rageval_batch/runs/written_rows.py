"""What is told of score rows, learnt while they are written: the file of a commit need not be read again for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from rageval_batch.model import Profile
from rageval_batch.runs.findings import CountedRows, Observed
from rageval_batch.runs.run_statistics import statistics_of_rows
from rageval_batch.runs.score_runs import OtherRows
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
        self.has_summary = False
        self._is_complete = False

    def watch(self, chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The same rows: all that there are, in the order of a commit, some whole runs at a time."""
        repeats = self._repeats()
        file: SummaryFile | None = SummaryFile(self._target)
        for rows in chunks:
            self._counted.add(rows)
            if file is not None and not self._add(file, rows, repeats):
                file = None
            yield rows
        if file is not None:
            file.close()
        self.has_summary = file is not None
        self._is_complete = True

    def _add(self, file: SummaryFile, rows: pa.Table, repeats: Mapping[str, int]) -> bool:
        """Add rows to the summary; False, and no file, where the loops do not take them."""
        try:
            for made in statistics_of_rows(self._plan, rows, repeats):
                file.add(made)
        except OtherRows:
            file.close()
            self._target.unlink()
            return False
        return True

    def observed(self) -> Observed | None:
        """What the rows show; None where they must be looked at in their file."""
        return self._counted.nothing if self._is_complete and self._counted.is_nothing() else None
