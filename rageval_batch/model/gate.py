"""Limits that a run must keep, as data: statistic, operator, number."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import DeclarationError

METRIC_STATS = ("mean", "weighted_mean", "micro", "min", "max", "sum", "rate", "p50", "p90", "p95", "n")
SCORE_STATS = ("mean", "weighted_mean", "micro")  # how a run's score comes from its rows
RUN_STATS = ("answered_share", "usable_share", "missing_provenance")  # of a run's record and rows, of no metric
COVERAGE_STATS = (*RUN_STATS, "n")  # they say how much there is to judge, not how good it is
STATS = (*METRIC_STATS, *RUN_STATS)
OPS = (">=", "<=", "==", ">", "<")
LEVELS = ("initial", "target")


@dataclass(frozen=True)
class Gate:
    """A limit that a run must keep: data, compared in SQL.

    `rate` is the share of values that are not 0, `n` how many questions have a value of their own. Without a metric:
    `answered_share` of the questions have an output, `usable_share` of the answers have no fail_reason, and
    `missing_provenance` is how many names of the profile's `provenance` the run's record lacks.
    """

    name: str
    metric: str
    stat: str
    _: KW_ONLY
    op: str
    limit: float
    failure: str = "QualityGateFailure"
    level: str = ""  # one of LEVELS, or empty: every level

    def __post_init__(self) -> None:
        if self.stat not in STATS or self.op not in OPS:
            raise DeclarationError(f"gate {self.name}: {self.stat} {self.op} is not a known statistic and operator")
        if self.level not in ("", *LEVELS) or not math.isfinite(self.limit):
            raise DeclarationError(f"gate {self.name}: level '{self.level}' or limit {self.limit} is not usable")
        if (self.stat in RUN_STATS) != (self.metric == ""):
            raise DeclarationError(f"gate {self.name}: {self.stat} of metric '{self.metric}' does not exist")
