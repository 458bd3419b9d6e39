"""The profiles as rows, the form in which analytics learns of them; and stores opened with them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pyarrow as pa

from rageval_batch.analytics import MetricRow, ProfileRow, Session
from rageval_batch.profile import Metric
from rageval_batch.profiles import PROFILES
from rageval_batch.store import Store
from rageval_batch.tables import KEYS


def catalog() -> list[ProfileRow]:
    """All profiles with their tables and metrics."""
    return [
        ProfileRow(
            profile.name,
            pa.schema([*KEYS, *profile.schema]),
            profile.run_stat,
            profile.score_top,
            tuple(_metric_row(profile.name, metric) for metric in profile.metrics),
            profile.groups,
        )
        for profile in PROFILES.values()
    ]


def _metric_row(profile: str, metric: Metric) -> MetricRow:
    return MetricRow(
        profile, metric.name, metric.higher_is_better, metric.null_counts_as, metric.numerator, metric.denominator
    )


def open_store(path: str | os.PathLike[str] = "runs", functions: bool = True, named: Iterable[str] = ()) -> Session:
    """A store for SQL: `open_store("runs").sql("from leaderboard")` gives an Arrow table."""
    return Session(Store(path), catalog(), functions, named)
