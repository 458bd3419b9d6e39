"""Compile all kernels once: `python -m rageval_batch.bench.warm`. Processes that start later load them from disk.

Without it, workers that start together on a machine without a cache each compile the same kernels.
"""

from __future__ import annotations

import contextlib
import io
import time

import click


def warm() -> float:
    """Run the demo without its output, once with the default parameters; returns the seconds it took."""
    from rageval_batch.cli import cli

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        cli.main(["demo"], prog_name="rageval", standalone_mode=False)
    return time.perf_counter() - start


if __name__ == "__main__":
    click.echo(f"Kernels are compiled and cached ({warm():.0f} s).", err=True)
