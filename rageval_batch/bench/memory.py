"""Peak memory of processes, where the system tells it."""

from __future__ import annotations

import sys


def peak_mib() -> float | None:
    """The most memory that this process had at a time; None on Windows."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return in_mib(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def in_mib(maxrss: int) -> float:
    """`ru_maxrss`, which is in bytes on macOS and in KiB elsewhere."""
    return maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
