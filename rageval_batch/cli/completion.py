"""What a shell may complete: profiles, runs, eval sets, metrics. Commands and options are click's own.

Names come from declarations and manifests; no rows are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from rageval_batch.errors import DamagedCommit, RagevalError

if TYPE_CHECKING:
    from rageval_batch.runs.store import Commit

DEFAULT_STORE = "runs"


def profiles(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of profiles, with their titles."""
    from rageval_batch.profiles.registry import known_profiles

    known = known_profiles()
    return [CompletionItem(name, help=known[name].title) for name in sorted(known) if name.startswith(begun)]


def runs(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Runs of the store."""
    return _items((run for commit in _commits(context) for run in commit.manifest["runs"]), begun)


def eval_sets(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Eval sets of the store."""
    return _items((commit.manifest["questions"]["version"] for commit in _commits(context)), begun)


def metrics(context: click.Context, option: click.Parameter, begun: str) -> list[CompletionItem]:
    """Metrics of the profile, else of all profiles."""
    from rageval_batch.profiles.registry import known_profiles

    wanted = context.params.get("profile_name")
    found = [profile for name, profile in known_profiles().items() if wanted in (None, name)]
    return _items((metric.name for profile in found for metric in profile.metrics), begun)


def _items(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """Names that begin so; one with a control character cannot be typed and is left out."""
    return [CompletionItem(name) for name in sorted(set(names)) if name.startswith(begun) and name.isprintable()]


def _commits(context: click.Context) -> Iterator[Commit]:
    """The commits of the store that the command line names; none where it cannot be read."""
    from rageval_batch.runs.store import Store

    warnings.simplefilter("ignore", DamagedCommit)
    try:
        yield from Store(context.params.get("store") or DEFAULT_STORE).commits()
    except (RagevalError, OSError):
        return
