"""The columns of a profile's score rows, and the metrics among them."""

from __future__ import annotations

from dataclasses import KW_ONLY

import pyarrow as pa

from rageval_batch.dataclass import dataclass


@dataclass(frozen=True)
class Column:
    """A column of the profile's score rows."""

    name: str
    type: pa.DataType
    doc: str
    _: KW_ONLY
    internal: bool = False  # metrics and views need it; the profile's own view leaves it out


@dataclass(frozen=True)
class Metric:
    """A numeric or boolean column that runs are measured by."""

    name: str
    doc: str
    _: KW_ONLY
    higher_is_better: bool = True
    null_counts_as: float | None = None  # None: a null is left out of the mean; a number: it counts as that
    numerator: str | None = None
    denominator: str | None = None
    column: str | None = None  # the column that has its value, where that is not called like the metric
    scale: float | None = 1.0  # from the worst value to the best, in its unit; None: a count, which has no best or
    # worst. Of the metric `score` it is the profile's score_top
    coverage: bool = False  # it says how much there is to judge, not how good that is
