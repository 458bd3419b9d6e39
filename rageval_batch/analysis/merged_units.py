"""The units of a base and a candidate, paired by reading both runs side by side: their rows stand in the order of their
questions, as commits have them.

A join of all rows takes many times as long. What is not as the loops need it (several rows of a question, runs in
files, compacted commits, rows in another order, values that are not finite, micro averages) is for the SQL of
paired_units, which defines all that is said here; both give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from rageval_batch.analysis.catalog_rows import MetricRow
from rageval_batch.analysis.compared_runs import WEIGHTED, ComparedRun, ComparedRuns
from rageval_batch.analysis.paired_units import (
    IMPROVEMENT,
    MICRO,
    MOVERS,
    ONLY_BASE,
    ONLY_CAND,
    REGRESSION,
    TIE,
    Mover,
    PairedUnits,
)
from rageval_batch.analysis.session import Session
from rageval_batch.columnar.kernels.group_statistics import decimal_sum
from rageval_batch.columnar.kernels.merging import merged_places
from rageval_batch.columnar.strings import Flags, Floats, Ints, Strings, from_arrow
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.runs.run_statistics import MOST_SUMMED
from rageval_batch.runs.score_runs import OtherRows, finite_numbers, rows_of_run

_DECIMALS = 10**18  # units of decimal_sum in 1


def merged_units(session: Session, compared: ComparedRuns, most_listed: int) -> dict[str, PairedUnits] | None:
    """The units of every candidate that has a unit with a value, or whose base has, by its name.

    None where the rows of a run are not for this way.
    """
    profile = session.profile(compared.profile)
    metric = next((one for one in profile.metrics if one.metric == compared.metric), None) if profile else None
    if profile is None or metric is None or metric.reads or not profile.by_question or compared.run_stat == MICRO:
        return None
    found = {}
    try:
        for candidate in compared.candidates:
            sides = (_units(session, run, metric) for run in (compared.base, candidate))
            pairs = _Pairs(compared, most_listed)
            for base, cand in _side_by_side(*sides):
                pairs.add(base, cand)
            if units := pairs.units():
                found[candidate.name] = units
    except (OtherRows, pa.ArrowException, OSError):  # the join will say what is wrong with a file
        return None
    return found


# --- the rows of a run ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Units:
    """Some units of a run that have a value, in their order."""

    names: Strings
    values: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> _Units:
        start, stop, _ = rows.indices(len(self))
        return _Units(
            names=Strings(self.names.data, self.names.offsets[start : stop + 1]),
            values=self.values[rows],
            weights=self.weights[rows],
        )


def _units(session: Session, run: ComparedRun, metric: MetricRow) -> Iterator[_Units]:
    """The units of a stored run by a metric, some at a time; OtherRows where they are not for this way."""
    if run.run is None or run.repeats != 1:
        raise OtherRows
    commit = next(one for one in session.commits if one.id == run.run.record["commit"])
    if commit.packed:
        raise OtherRows
    value = metric.column or metric.metric
    columns = list(dict.fromkeys(("question_id", "weight", value)))
    for rows in rows_of_run(commit.files("scores"), session.stored_name(run.name), columns):
        if rows.column("question_id").null_count or rows.column("weight").null_count:
            raise OtherRows
        values, known = finite_numbers(rows.column(value).combine_chunks())
        weights, _ = finite_numbers(rows.column("weight").combine_chunks())
        names = rows.column("question_id")
        if not known.all():
            if metric.null_counts_as is not None:
                values = np.where(known, values, metric.null_counts_as)
            else:
                names, values, weights = names.filter(pa.array(known)), values[known], weights[known]
        if len(values):
            yield _Units(names=from_arrow(names), values=values, weights=weights)


# --- two runs side by side --------------------------------------------------------------------------------------------

_Side = tuple[_Units, Ints]  # some units, and the place in them of every pair; -1 where the run has none
_NONE = _Units(names=Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64)), values=np.zeros(0), weights=np.zeros(0))


def _side_by_side(base: Iterator[_Units], cand: Iterator[_Units]) -> Iterator[tuple[_Side, _Side]]:
    """All units of both runs in the order of their names, some at a time; OtherRows where names do not rise."""
    before, after = next(base, None), next(cand, None)
    while before is not None or after is not None:
        left, right = before or _NONE, after or _NONE
        places = merged_places(
            left.names.data, left.names.offsets, before is None, right.names.data, right.names.offsets, after is None
        )
        if places is None:
            raise OtherRows
        yield (left, places[0]), (right, places[1])
        before, after = (
            None if some is None else _rest(some, own, more)
            for some, own, more in ((before, places[0], base), (after, places[1], cand))
        )


def _used(places: Ints) -> int:
    """How many units of a run there are pairs of."""
    return int(places.max(initial=-1)) + 1


def _rest(units: _Units, places: Ints, more: Iterator[_Units]) -> _Units | None:
    """What is left of some units of a run, else the next of it."""
    if (used := _used(places)) < len(units):
        return units[used:]
    following = next(more, None)
    if following is not None and following.names.at(0) <= units.names.at(len(units) - 1):
        raise OtherRows
    return following


# --- what they add up to ----------------------------------------------------------------------------------------------

_Weighed = tuple[Floats, Floats]  # values and their weights


class _Pairs:
    """What is said of the pairs of a candidate and the base, which come in the order of their names."""

    def __init__(self, compared: ComparedRuns, most_listed: int) -> None:
        self._compared = compared
        self._most_listed = most_listed
        self._counts = dict.fromkeys((IMPROVEMENT, REGRESSION, TIE, ONLY_BASE, ONLY_CAND), 0)
        self._listed: dict[str, list[str]] = {}
        self._movers: list[Mover] = []
        self._deltas: list[Floats] = []
        self._weights: list[Floats] = []
        self._runs: tuple[list[_Weighed], list[_Weighed]] = ([], [])

    def add(self, base: _Side, cand: _Side) -> None:
        """Some more pairs."""
        for run, (units, places) in zip(self._runs, (base, cand), strict=True):
            if used := _used(places):
                run.append((units.values[:used], units.weights[:used]))
        only_base, only_cand = cand[1] < 0, base[1] < 0
        self._count(ONLY_BASE, base, only_base)
        self._count(ONLY_CAND, cand, only_cand)
        shared = ~(only_base | only_cand)
        both = base[0], base[1][shared]
        before, after = base[0].values[both[1]], cand[0].values[cand[1][shared]]
        with np.errstate(over="ignore"):
            deltas = after - before if self._compared.higher_is_better else before - after
        if not np.isfinite(deltas).all():
            raise OtherRows
        better, worse = deltas > TOLERANCE, deltas < -TOLERANCE
        self._count(IMPROVEMENT, both, better)
        self._count(REGRESSION, both, worse)
        self._counts[TIE] += int(np.count_nonzero(~(better | worse)))
        for k in _largest(np.where(better | worse, np.abs(deltas), 0.0)):
            self._move(both[0].names.at(int(both[1][k])), before[k], after[k], delta=deltas[k])
        self._deltas.append(deltas)
        self._weights.append(both[0].weights[both[1]])

    def _count(self, status: str, side: _Side, marked: Flags) -> None:
        """Count the pairs that are marked as something; the first of all are listed."""
        found = np.flatnonzero(marked)
        if len(found):
            units, places = side
            self._counts[status] += len(found)
            listed = self._listed.setdefault(status, [])
            listed += map(units.names.at, places[found[: self._most_listed - len(listed)]].tolist())

    def _move(self, name: str, before: float, after: float, *, delta: float) -> None:
        """Keep a pair if it is among those that moved most; of those that moved as far, the first."""
        moved = Mover(question_id=name, base_score=float(before), cand_score=float(after), delta=float(delta))
        self._movers = sorted((*self._movers, moved), key=lambda one: -abs(one.delta))[:MOVERS]

    def units(self) -> PairedUnits | None:
        """All of it; None without pairs."""
        if not any(self._counts.values()):
            return None
        base_score, cand_score = (_run_value(self._compared.run_stat, run) for run in self._runs)
        return PairedUnits(
            base_score=base_score,
            cand_score=cand_score,
            counts=self._counts,
            deltas=np.concatenate(self._deltas),
            weights=np.concatenate(self._weights),
            listed=self._listed,
            movers=tuple(self._movers),
        )


def _largest(sizes: Floats) -> list[int]:
    """The places of the MOVERS largest sizes above 0, in their order; of equal ones the first."""
    found = np.flatnonzero(sizes)
    if len(found) > MOVERS:
        least = np.partition(sizes[found], -MOVERS)[-MOVERS]
        found = found[sizes[found] >= least]
        found = np.sort(found[np.argsort(-sizes[found], kind="stable")[:MOVERS]])
    places: list[int] = found.tolist()
    return places


# --- the value of a run -----------------------------------------------------------------------------------------------


def _run_value(stat: str, run: Sequence[_Weighed]) -> float | None:
    """The value of a run, as the macro run_value has it; None without units."""
    if not run:
        return None
    if stat != WEIGHTED:
        total = _exact_sum(values for values, _ in run)
        return None if total is None else total / sum(len(values) for values, _ in run)
    top = max(float(weights.max()) for _, weights in run)
    if not top:
        return None
    above = _exact_sum(values * (weights / top) for values, weights in run)
    below = _exact_sum(weights / top for _, weights in run)
    return above / below if above is not None and below else None


def _exact_sum(pieces: Iterable[Floats]) -> float | None:
    """The sum, as the macro exact_sum has it; None where a value is too large to be added."""
    total = 0
    for values in pieces:
        if float(np.abs(values).max()) > MOST_SUMMED:
            return None
        total += decimal_sum(values)
    return total / _DECIMALS
