"""Compile all kernels once: `python -m rageval_batch.bench.warm`. Processes that start later load them from disk.

Without it, workers that start together on a machine without a cache each compile the same kernels.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time


def warm() -> float:
    """Run the demo without its output: it scores with every profile. Returns the seconds it took."""
    from rageval_batch.cli import cli

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        cli.main(["demo"], prog_name="rageval", standalone_mode=False)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(f"Kernels are compiled and cached ({warm():.0f} s).", file=sys.stderr)
