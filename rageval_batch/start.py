"""Where the command `rageval` starts: interrupts are watched before anything else is imported."""

from __future__ import annotations

from typing import NoReturn

from rageval_batch import interrupts
from rageval_batch.errors import EXIT_INTERRUPTED


def main() -> NoReturn:
    """Run the command line in this process and end it."""
    code = EXIT_INTERRUPTED
    try:
        interrupts.watch()
        from rageval_batch.cli import main as run

        run()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        pass
    interrupts.leave(code)
