"""Progress on stderr: a line that moves on a terminal, now and then a quiet line elsewhere."""

from __future__ import annotations

import sys
import time

import click

from rageval_batch.cli.options import is_quiet

_EVERY = 10.0


class Progress:
    """Counts rows as they are done."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._start = self._last = time.monotonic()
        self._moving = sys.stderr.isatty() and not is_quiet()
        self._silent = is_quiet()

    def __call__(self, rows: int, size: int) -> None:
        if self._silent:
            return
        now = time.monotonic()
        rate = rows / max(now - self._start, 1e-9)
        line = f"{self._doing} {rows:,} rows of {size / 1e6:,.0f} MB, {rate:,.0f} rows/s"
        if self._moving:
            click.echo(f"\r\x1b[K{line}", err=True, nl=False)
        elif now - self._last >= _EVERY:
            self._last = now
            click.echo(line, err=True)

    def close(self) -> None:
        """Clear the moving line."""
        if self._moving:
            click.echo("\r\x1b[K", err=True, nl=False)
