"""The units that a base and its candidates have values of, paired by SQL: what comparisons are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from rageval_batch.analysis.compared_runs import ComparedRuns
from rageval_batch.analysis.session import Session
from rageval_batch.columnar.strings import Floats
from rageval_batch.dataclass import dataclass

PAIRS = "compared"  # the table that a session keeps them in
MOVERS = 10
MICRO = "micro"  # the one that is made of the parts of its rows
NULL, MISSING = "null", "missing"  # why a unit has no answer: its row has null, or there is no row
IMPROVEMENT, REGRESSION, TIE, ONLY_BASE, ONLY_CAND = "improvement", "regression", "tie", "only_base", "only_cand"

_PARTS = "base_numerator, base_denominator, cand_numerator, cand_denominator"
_NO_PARTS = ", ".join(f"null::decimal(38, 18) as {name}" for name in _PARTS.split(", "))  # columns that cost much


@dataclass(frozen=True, kw_only=True)
class Mover:
    """A question, or what else is paired, that moved, with the answers of both runs where they can still be read."""

    question_id: str
    base_score: float
    cand_score: float
    delta: float
    base_answer: str | None = None
    cand_answer: str | None = None
    base_absent: str | None = None  # why there is no answer, NULL or MISSING; null where there is one, or is not known
    cand_absent: str | None = None


@dataclass(frozen=True, kw_only=True)
class PairedUnits:
    """A candidate and the base, unit by unit. Deltas are positive where the candidate is better."""

    base_score: float | None  # of the whole run, by the statistic of its profile
    cand_score: float | None
    counts: Mapping[str, int]  # of units, by what became of them
    deltas: Floats  # of the shared units, in the order of their names
    weights: Floats
    listed: Mapping[str, list[str]]  # the first units, by what became of them; ties are not listed
    movers: tuple[Mover, ...]  # those that moved most


def joined_units(session: Session, compared: ComparedRuns, most_listed: int) -> dict[str, PairedUnits]:
    """The units of every candidate that has a unit with a value, or whose base has, by its name.

    The session keeps all of them as the table PAIRS.
    """
    _keep_pairs(session, compared)
    totals = {row["run_id"]: row for row in session.rows(_TOTALS, {"stat": compared.run_stat})}
    shared = session.table(_SHARED)
    deltas, weights = (shared.column(name).to_numpy() for name in ("delta", "weight"))
    listed: dict[str, dict[str, list[str]]] = {}
    for row in session.rows(_LISTED.format(most=most_listed)):
        listed.setdefault(row["run_id"], {})[row["status"]] = row["ids"]
    movers = {row["run_id"]: tuple(Mover(**_mover(part)) for part in row["moved"]) for row in session.rows(_MOVED)}
    found = {}
    start = 0
    for name in sorted(totals):
        counts = {status: totals[name][status] for status in (IMPROVEMENT, REGRESSION, TIE, ONLY_BASE, ONLY_CAND)}
        end = start + counts[IMPROVEMENT] + counts[REGRESSION] + counts[TIE]
        found[name] = PairedUnits(
            base_score=totals[name]["base_score"],
            cand_score=totals[name]["cand_score"],
            counts=counts,
            deltas=deltas[start:end],
            weights=weights[start:end],
            listed=listed.get(name, {}),
            movers=movers.get(name, ()),
        )
        start = end
    return found


def _keep_pairs(session: Session, compared: ComparedRuns) -> None:
    session.keep_table(
        PAIRS,
        f"""
        select run_id, unit, question_id, base_weight, cand_weight, base_score, cand_score, delta, status,
            {_PARTS if compared.run_stat == MICRO else _NO_PARTS}
        {_FROM_PAIRS}
        """,
        _arguments(compared),
        metrics=(compared.metric,),
    )


def shared_units(session: Session, compared: ComparedRuns) -> pa.Table:
    """run_id, delta and weight of the units that candidates share with the base, in the order of runs and units."""
    query = f"select run_id, {_SHARED_VALUES} {_FROM_PAIRS} where delta is not null order by run_id, unit"
    return session.table(query, _arguments(compared), metrics=(compared.metric,))


def _arguments(compared: ComparedRuns) -> dict[str, Any]:
    """What `unit_pairs` is called with."""
    base = compared.base
    return {
        "profile": compared.profile,
        "metric": compared.metric,
        "base": base.name,
        "base_set": base.eval_set,
        "names": [run.name for run in (base, *compared.candidates)],
        "candidates": [{"run_id": candidate.name, "eval_set": candidate.eval_set} for candidate in compared.candidates],
    }


_FROM_PAIRS = "from unit_pairs($profile, $metric, $base, $base_set, $candidates, $names)"
_SHARED_VALUES = "delta, coalesce(base_weight, cand_weight, 1.0) as weight"


_TOTALS = f"""
    with max_weights as (
        select
            run_id,
            max(coalesce(base_weight, 1.0)) filter (base_score is not null) as base_top,
            max(coalesce(cand_weight, 1.0)) filter (cand_score is not null) as cand_top
        from {PAIRS}
        group by run_id
    )
    select
        c.run_id,
        run_value($stat, base_score, coalesce(base_weight, 1.0), base_top, base_numerator, base_denominator)
            as base_score,
        run_value($stat, cand_score, coalesce(cand_weight, 1.0), cand_top, cand_numerator, cand_denominator)
            as cand_score,
        count(*) filter (status = '{IMPROVEMENT}') as {IMPROVEMENT},
        count(*) filter (status = '{REGRESSION}') as {REGRESSION},
        count(*) filter (status = '{TIE}') as {TIE},
        count(*) filter (status = '{ONLY_BASE}') as {ONLY_BASE},
        count(*) filter (status = '{ONLY_CAND}') as {ONLY_CAND}
    from {PAIRS} c
    join max_weights t on t.run_id = c.run_id
    group by c.run_id
"""

_SHARED = f"""
    select {_SHARED_VALUES}
    from {PAIRS}
    where delta is not null
    order by run_id, unit
"""

_LISTED = f"""
    select run_id, status, min(unit, {{most}}) as ids
    from {PAIRS}
    where status <> '{TIE}'
    group by all
"""

# The heap of the smallest keeps memory small; what comes first in the struct decides, the unit breaks ties.
_MOVED = f"""
    select run_id, min(struct_pack(size := -abs(delta), question_id := unit, base_score := base_score,
        cand_score := cand_score, delta := delta), {MOVERS}) as moved
    from {PAIRS}
    where status in ('{IMPROVEMENT}', '{REGRESSION}')
    group by run_id
"""


def _mover(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "size"}
