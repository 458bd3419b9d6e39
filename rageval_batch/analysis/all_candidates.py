"""The p-values of candidates that are not looked at more closely: those of others are corrected for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow.compute as pc

from rageval_batch.analysis.compared_runs import ComparedRuns
from rageval_batch.analysis.paired_units import shared_units
from rageval_batch.analysis.session import Session
from rageval_batch.columnar import statistics
from rageval_batch.columnar.strings import Floats

MOST_UNITS = 5_000_000  # of all candidates: a few seconds; of more, p-values have an upper bound
_AT_ONCE = 250_000  # units that are held in memory


def p_values(session: Session, compared: ComparedRuns, *, seed: int = statistics.SEED) -> list[float] | None:
    """The p-value of every candidate, as a comparison of them has it; None where that would take too long.

    A candidate without a unit in common with the base has 1, as there.
    """
    each = _units_of_a_run(compared)
    if each * len(compared.candidates) > MOST_UNITS:
        return None
    weighted = compared.is_weighted

    def p_value(units: tuple[Floats, Floats]) -> float:
        deltas, weights = units
        return statistics.sign_flip_p(deltas, weights if weighted else None, seed=seed)

    found: list[float] = []
    step = max(1, _AT_ONCE // max(1, each))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(compared.candidates), step):
            some = replace(compared, candidates=compared.candidates[start : start + step])
            found += pool.map(p_value, _units(session, some))
    return found


def _units_of_a_run(compared: ComparedRuns) -> int:
    """About how many units a run has: its questions, as far as is known."""
    return int(compared.base.run.record["question_count"]) if compared.base.run else 1


def _units(session: Session, compared: ComparedRuns) -> Iterator[tuple[Floats, Floats]]:
    """(deltas, weights) of the units that each candidate shares with the base, in the order of their names."""
    shared = shared_units(session, compared)
    runs = pc.run_end_encode(shared.column("run_id").combine_chunks())
    ends = runs.run_ends.to_pylist()
    places = dict(zip(runs.values.to_pylist(), zip([0, *ends], ends, strict=False), strict=True))
    deltas, weights = (shared.column(name).to_numpy() for name in ("delta", "weight"))
    for candidate in compared.candidates:
        start, end = places.get(candidate.name, (0, 0))
        yield deltas[start:end], weights[start:end]
