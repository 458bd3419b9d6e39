"""rageval-batch: columnar batch scoring for RAG evaluation."""

from __future__ import annotations

from rageval_batch.version import __version__

TYPE_CHECKING = False  # of typing: the command line imports that when it watches for Ctrl-C, see `start`
if TYPE_CHECKING:
    from typing import Any

    from rageval_batch.analysis.catalog import open_store
    from rageval_batch.api import compare, score
    from rageval_batch.profiles.files.build import declare_profile
    from rageval_batch.profiles.files.row_metrics import row_metric
    from rageval_batch.profiles.registry import PROFILES

__all__ = ["PROFILES", "__version__", "compare", "declare_profile", "open_store", "row_metric", "score"]

_HOMES = {
    "compare": "api",
    "score": "api",
    "open_store": "analysis.catalog",
    "PROFILES": "profiles.registry",
    "declare_profile": "profiles.files.build",
    "row_metric": "profiles.files.row_metrics",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: the command line starts without them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rageval_batch' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"rageval_batch.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, for completion and `help`."""
    return sorted(__all__)
