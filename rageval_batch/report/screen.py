"""Where a result is shown: on a terminal, which has an edge and colours, or in a pipe or file, which has neither."""

from __future__ import annotations

import os
import shutil
import sys

from rageval_batch.dataclass import dataclass

NARROWEST = 20
GOOD, BAD, DOUBTFUL, STRONG = "good", "bad", "doubtful", "strong"
_CODES = {GOOD: "32", BAD: "31", DOUBTFUL: "33", STRONG: "1"}
_VERDICTS = {
    "pass": GOOD, "passed": GOOD, "improvement": GOOD, "fail": BAD, "failed": BAD, "regression": BAD, "alert": BAD,
    "stale": BAD, "skipped": DOUBTFUL,
}  # fmt: skip


@dataclass(frozen=True)
class Screen:
    """A terminal of so many columns; without columns, a pipe or file, in which nothing is cut or rounded."""

    columns: int | None = None
    colour: bool = False

    @property
    def exact(self) -> bool:
        """Whether numbers are written to their last digit."""
        return self.columns is None

    def paint(self, text: str, tone: str | None) -> str:
        """The text in the colour of its tone, where there are colours."""
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if self.colour and tone else text


PLAIN = Screen()


def standard_screen(target: str | None = None) -> Screen:
    """What standard output is, or a file that takes its place."""
    if target is not None or not sys.stdout.isatty():
        return PLAIN
    coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(NARROWEST, shutil.get_terminal_size((80, 24)).columns), coloured)


def verdict_tone(value: object) -> str | None:
    """The tone of a verdict: good, bad, doubtful; of another value none."""
    if isinstance(value, bool):
        return GOOD if value else BAD
    return _VERDICTS.get(value.lower()) if isinstance(value, str) else None


def delta_tone(value: object) -> str | None:
    """Better is good, worse is bad."""
    return None if not isinstance(value, float | int) or not value else GOOD if value > 0 else BAD
