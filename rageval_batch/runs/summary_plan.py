"""What the summary of a profile's score rows is made of, and its columns."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cached_property

import pyarrow as pa

from rageval_batch.columnar.strings import LARGE_STRING
from rageval_batch.dataclass import dataclass
from rageval_batch.model import Profile
from rageval_batch.resources import sql_definition

OF_RUN = ""  # the metric of what is said of a run itself: the share of its answers that can be used
FAIL_REASON = "fail_reason"  # the grouping of OF_RUN that counts answers by their reason
MACROS = (
    "exact_sum", "exact_mean", "exact_weighted_mean", "metric_totals", "metric_parts", "spread_scale", "metric_spread",
    "summary_row",
)  # fmt: skip

SUMMARY = pa.schema(
    [
        *((name, LARGE_STRING) for name in ("run_id", "metric", "grouping", "group_value")),
        *((name, pa.int64()) for name in ("n_total", "n_scored", "n_counted", "n_parts")),
        *(
            (name, pa.float64())
            for name in (
                "mean", "weighted_mean", "numerator", "denominator", "micro", "rate", "std", "min", "p50", "p90", "p95",
                "max", "sum", "value",
            )
        ),
        ("n_units", pa.int64()),
    ]
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SummarizedMetric:
    """A metric by the columns that it is made of; see model.Metric."""

    name: str
    column: str
    null_counts_as: float | None
    numerator: str | None
    denominator: str | None


@dataclass(frozen=True, kw_only=True)
class SummaryPlan:
    """What the summary of a profile's score rows is made of."""

    run_stat: str
    unit_key: tuple[str, ...]
    metrics: tuple[SummarizedMetric, ...]
    groups: tuple[str, ...]

    @cached_property
    def definition(self) -> str:
        """The hash of all that a summary depends on beside the rows: one of another definition is not read."""
        parts = [json.dumps(asdict(self)), *(sql_definition(name) for name in MACROS)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @property
    def by_question(self) -> bool:
        """Whether a run's value is made of its questions, not of other units."""
        return self.unit_key == ("question_id",)


def summary_plan(profile: Profile) -> SummaryPlan:
    """The plan that a profile declares."""
    return SummaryPlan(
        run_stat=profile.summary.run_stat,
        unit_key=profile.summary.unit.key,
        metrics=tuple(
            SummarizedMetric(
                name=metric.name,
                column=metric.column or metric.name,
                null_counts_as=metric.null_counts_as,
                numerator=metric.numerator,
                denominator=metric.denominator,
            )
            for metric in profile.metrics
        ),
        groups=profile.summary.groups,
    )
