"""A run against a run: how far apart, on which questions or other units, and whether chance could have done it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from rageval_batch.analysis.all_candidates import p_values
from rageval_batch.analysis.compared_runs import ComparedRun, ComparedRuns, described, differences
from rageval_batch.analysis.merged_units import merged_units
from rageval_batch.analysis.missing_answers import raised_by_missing
from rageval_batch.analysis.paired_units import (
    IMPROVEMENT,
    MISSING,
    NULL,
    ONLY_BASE,
    ONLY_CAND,
    REGRESSION,
    TIE,
    Mover,
    PairedUnits,
    joined_units,
)
from rageval_batch.analysis.repeats import repeat_summary
from rageval_batch.analysis.runs import Run
from rageval_batch.analysis.session import Session
from rageval_batch.columnar import statistics
from rageval_batch.columnar.statistics import Interval
from rageval_batch.columnar.strings import Floats
from rageval_batch.columnar.tolerance import TOLERANCE
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError

MOST_LISTED = 1_000  # question ids of a kind in a result; of several candidates, fewer
_LISTED_OF_SEVERAL = 50
MOST_DETAILED = 10  # candidates whose answers and repeats are looked up
RULES, SIGNIFICANT = "rules", "significant"
_LISTS = {IMPROVEMENT: "improved", REGRESSION: "regressed", ONLY_BASE: ONLY_BASE, ONLY_CAND: ONLY_CAND}


@dataclass(frozen=True)
class Rules:
    """When a candidate passes."""

    min_delta: float = 0.0
    max_regressions: int = 0
    fail_on: str = RULES  # significant: only a drop that the interval shows fails

    def __post_init__(self) -> None:
        if self.fail_on not in (RULES, SIGNIFICANT):
            raise InputError(f"A comparison fails on {RULES} or {SIGNIFICANT}, not on '{self.fail_on}'.")
        if not math.isfinite(self.min_delta):
            raise InputError(f"The least delta (--min-delta) is {self.min_delta}. Give a finite number, as 0.01.")

    def passed(self, delta: float | None, regressions: int, interval: Interval) -> bool:
        """Whether a candidate keeps the rules; one that cannot be measured does not."""
        if delta is None:
            return False
        if self.fail_on == SIGNIFICANT:
            return interval.high is not None and not statistics.shows_drop(interval)
        return delta >= self.min_delta - TOLERANCE and regressions <= self.max_regressions


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One candidate against the base. Deltas are positive where the candidate is better."""

    compared: ComparedRuns
    candidate: ComparedRun
    base_score: float | None
    cand_score: float | None
    delta: float | None
    paired_delta: float | None  # of the shared units alone: what the interval is about
    improvements: int
    regressions: int
    ties: int
    only_base_count: int
    only_cand_count: int
    interval: Interval
    p_value: float
    p_holm: float  # corrected for all candidates
    tests: int  # how many these are
    holm_is_bound: bool  # there are so many that p_holm is an upper bound
    rules: Rules
    passed: bool
    listed: dict[str, list[str]]
    movers: tuple[Mover, ...]
    base_repeats: dict[str, float | int | None]
    cand_repeats: dict[str, float | int | None]
    notes: tuple[str, ...] = ()

    @property
    def shared(self) -> int:
        """How many units have a value in both runs."""
        return self.improvements + self.regressions + self.ties

    @property
    def is_of_more_than_pairs(self) -> bool:
        """Whether the delta of the whole runs is another number than the mean delta of the shared units."""
        if self.delta is None or self.paired_delta is None:
            return False
        return abs(self.delta - self.paired_delta) > TOLERANCE

    def as_dict(self) -> dict[str, Any]:
        """One flat object with everything, unrounded; null texts where nothing is known."""
        base = self.compared.base
        return {
            "base": self.base_score,
            "candidate": self.cand_score,
            "delta": self.delta,
            "changed": self.improvements + self.regressions,
            "improvements": self.improvements,
            "regressions": self.regressions,
            "min_delta": self.rules.min_delta,
            "max_regressions": self.rules.max_regressions,
            "passed": self.passed,
            "base_run": base.name,
            "candidate_run": self.candidate.name,
            "profile": self.compared.profile or None,
            "metric": self.compared.metric,
            "stat": self.compared.stat,
            "higher_is_better": self.compared.higher_is_better,
            "fail_on": self.rules.fail_on,
            "unit": self.compared.unit,
            "ties": self.ties,
            "paired_delta": self.paired_delta,
            "interval_low": self.interval.low,
            "interval_high": self.interval.high,
            "p_value": self.p_value,
            "p_holm": self.p_holm,
            "only_base_count": self.only_base_count,
            "only_cand_count": self.only_cand_count,
            "hashes_equal": not differences(base, self.candidate),
            "questions_sha256": self.candidate.questions_sha256,
            "pdf_sha256": self.candidate.source_sha256,
            **self.listed,
            "movers": [vars(mover) for mover in self.movers],
            "base_repeats": self.base_repeats or None,
            "candidate_repeats": self.cand_repeats or None,
            "notes": [*self.notes, *self._cut_lists()],
        }

    def _cut_lists(self) -> list[str]:
        """Of each list of units that was cut, how many more there are."""
        counts = {
            "improved": self.improvements, "regressed": self.regressions,
            "only_base": self.only_base_count, "only_cand": self.only_cand_count,
        }  # fmt: skip
        return [
            f"{name} lists the first {len(listed):,} of {counts[name]:,}; {counts[name] - len(listed):,} are left out."
            for name, listed in self.listed.items()
            if len(listed) < counts[name]
        ]


def compare(
    session: Session,
    compared: ComparedRuns,
    rules: Rules,
    *,
    answers: bool = True,
    keep_pairs: bool = False,
    others: ComparedRuns | None = None,
    seed: int = statistics.SEED,
) -> list[Comparison]:
    """Every candidate against the base, in the order given; p-values are corrected for their number.

    Answers and repeats are looked up where there are few candidates; of more, the notes say that they were not.
    `keep_pairs`: the session keeps the units with the values of both runs as the table `compared`.
    `others`: more candidates of the same base that p-values are corrected for, and nothing else is said of.
    """
    few = len(compared.candidates) <= MOST_DETAILED
    most_listed = MOST_LISTED if len(compared.candidates) == 1 else _LISTED_OF_SEVERAL
    paired = merged_units(session, compared, most_listed) if few and not keep_pairs else None
    if paired is None:
        paired = joined_units(session, compared, most_listed)
    for candidate in compared.candidates:
        if candidate.name not in paired:
            raise InputError(
                f"'{compared.base.name}' and '{candidate.name}' have no value of {compared.metric}. Nothing to compare."
            )
        _check_sums(compared, candidate, paired[candidate.name].deltas)
    chances = _chances(paired, compared.is_weighted, seed=seed)
    found = [
        _comparison(compared, candidate, paired[candidate.name], chance=chances[candidate.name], rules=rules)
        for candidate in compared.candidates
    ]
    found = _with_missing(session, found)
    found = _corrected(session, found, others, seed=seed)
    if few:
        return [_with_details(session, result, answers) for result in found]
    note = f"Answers and repeats are looked up for at most {MOST_DETAILED} candidates: compare fewer to see them."
    return [replace(result, notes=(*result.notes, note)) for result in found]


def _corrected(
    session: Session, results: Sequence[Comparison], others: ComparedRuns | None, *, seed: int
) -> list[Comparison]:
    """The same comparisons with p-values that are corrected for their number and that of the others."""
    of_others = p_values(session, others, seed=seed) if others else []
    tests = len(results) + (len(others.candidates) if others else 0)
    corrected = statistics.holm([*(result.p_value for result in results), *(of_others or ())], tests)
    return [
        replace(result, p_holm=p, tests=tests, holm_is_bound=of_others is None)
        for result, p in zip(results, corrected, strict=False)
        if p is not None
    ]


def _check_sums(compared: ComparedRuns, candidate: ComparedRun, deltas: Floats) -> None:
    """InputError where values are too large to be summed."""
    if len(deltas) and not np.abs(deltas).max() <= sys.float_info.max / (2 * len(deltas)):
        raise InputError(
            f"'{compared.base.name}' and '{candidate.name}' have values of {compared.metric} too large to be summed. "
            "Scale them, and compare again."
        )


def require_shared_questions(results: Sequence[Comparison]) -> None:
    """InputError where no question has a value in both runs: scores of the whole runs alone must pass no candidate.

    Units of other kinds, as samples of judges, may differ from run to run.
    """
    for result in results:
        if not result.shared and result.compared.unit == "question":
            raise InputError(
                f"'{result.compared.base.name}' and '{result.candidate.name}' have no question with a value of "
                f"{result.compared.metric} in both, so nothing can be compared. Check that both are results of the "
                "same questions, with scores."
            )


def _with_missing(session: Session, results: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with what missing answers do to runs whose scores go below 0."""
    runs = [run.run for result in results for run in (result.compared.base, result.candidate) if run.run is not None]
    raised = raised_by_missing(session, list({tuple(run.key.values()): run for run in runs}.values()))
    if not raised:
        return list(results)

    def said(run: ComparedRun) -> tuple[str, ...]:
        sentence = raised.get(tuple(run.run.key.values())) if run.run is not None else None
        return (f"WARNING: {sentence}",) if sentence else ()

    return [replace(one, notes=(*said(one.compared.base), *said(one.candidate), *one.notes)) for one in results]


_Chance = tuple[float | None, Interval, float]


def _chances(paired: Mapping[str, PairedUnits], weighted: bool, *, seed: int) -> dict[str, _Chance]:
    """(mean delta, interval, p-value) of every candidate, on threads: the resamples do not depend on them."""

    def chance(units: PairedUnits) -> _Chance:
        weights = units.weights if weighted else None
        return (
            statistics.mean_delta(units.deltas, weights),
            statistics.bootstrap_interval(units.deltas, weights, seed=seed),
            statistics.sign_flip_p(units.deltas, weights, seed=seed),
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(paired, pool.map(chance, paired.values()), strict=True))


def _comparison(
    compared: ComparedRuns, candidate: ComparedRun, units: PairedUnits, *, chance: _Chance, rules: Rules
) -> Comparison:
    base_score = compared.base.score if compared.base.score is not None else units.base_score
    cand_score = candidate.score if candidate.score is not None else units.cand_score
    delta = None
    if base_score is not None and cand_score is not None:
        delta = cand_score - base_score if compared.higher_is_better else base_score - cand_score
    paired, interval, p_value = chance
    names = differences(compared.base, candidate)
    notes = [f"Compared all the same: {described(compared.base, candidate, names)}."] if names else []
    notes += compared.notes
    if not len(units.deltas):
        notes.append(f"The runs have no {compared.unit} in common: the delta is of whole runs, and nothing is paired.")
    return Comparison(
        compared=compared,
        candidate=candidate,
        base_score=base_score,
        cand_score=cand_score,
        delta=delta,
        paired_delta=paired,
        improvements=units.counts[IMPROVEMENT],
        regressions=units.counts[REGRESSION],
        ties=units.counts[TIE],
        only_base_count=units.counts[ONLY_BASE],
        only_cand_count=units.counts[ONLY_CAND],
        interval=interval,
        p_value=p_value,
        p_holm=p_value,
        tests=1,
        holm_is_bound=False,
        rules=rules,
        passed=rules.passed(delta, units.counts[REGRESSION], interval),
        listed={name: units.listed.get(status, []) for status, name in _LISTS.items()},
        movers=units.movers,
        base_repeats={},
        cand_repeats={},
        notes=tuple(notes),
    )


# --- what is worth its time for few candidates -------------------------------------------------------------------


def _with_details(session: Session, result: Comparison, answers: bool) -> Comparison:
    """The same comparison with what repeats say of both scores, and the answers of the questions that moved."""
    if result.compared.metric == "score":
        before, after = (_repeats(session, run) for run in (result.compared.base, result.candidate))
        result = replace(result, base_repeats=before, cand_repeats=after)
    return with_answers(session, [result])[0] if answers else result


def _repeats(session: Session, run: ComparedRun) -> dict[str, float | int | None]:
    return repeat_summary(session, run.run.key, run.repeats) if run.run else {}


def with_answers(session: Session, results: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with answers, read again from the inputs, which takes one pass over each commit's."""
    runs_by_name = {run.name: run for result in results for run in (result.compared.base, result.candidate)}
    units: dict[str, dict[str, None]] = {name: {} for name in runs_by_name}
    for result in results:
        for name in (result.compared.base.name, result.candidate.name):
            units[name].update(dict.fromkeys(mover.question_id for mover in result.movers))
    found, notes = _answers(session, [(run, list(units[name])) for name, run in runs_by_name.items()])
    out = []
    for result in results:
        before, after = result.compared.base.name, result.candidate.name
        movers = []
        for mover in result.movers:
            (base, base_absent), (cand, cand_absent) = (
                found.get((name, mover.question_id), (None, None)) for name in (before, after)
            )
            movers.append(
                replace(
                    mover, base_answer=base, cand_answer=cand, base_absent=base_absent, cand_absent=cand_absent
                )
            )  # fmt: skip
        said = dict.fromkeys((*result.notes, *(notes[name] for name in (before, after) if name in notes)))
        out.append(replace(result, movers=tuple(movers), notes=tuple(said)))
    return out


_Answer = tuple[str | None, str | None]  # the answer, and why there is none


def _answers(
    session: Session, wanted: Sequence[tuple[ComparedRun, Sequence[str]]]
) -> tuple[dict[tuple[str, str], _Answer], dict[str, str]]:
    """(answers by run and unit, why a run has none that can be shown); of several repeats or judgements the first that
    counts."""
    from rageval_batch.runs import stored_inputs
    from rageval_batch.runs.commit_profile import profile_of

    found: dict[tuple[str, str], _Answer] = {}
    notes: dict[str, str] = {}
    by_commit: dict[str, list[tuple[ComparedRun, Run, Sequence[str]]]] = {}
    for compared, units in wanted:
        if units and compared.run is not None:
            by_commit.setdefault(compared.run.record["commit"], []).append((compared, compared.run, units))
    for members in by_commit.values():
        keys: dict[str, tuple[str, str]] = {}  # a name for each run and unit
        rows = []
        for number, (compared, run, units) in enumerate(members):
            commit, places = _places(session, run, units)
            for place in places:
                key = f"{number} {place['unit']}"
                keys[key] = compared.name, place["unit"]
                rows.append({**place, "unit": key})
        try:
            outputs, lost = stored_inputs.unit_outputs(commit, profile_of(commit), rows)
        except InputError as error:
            notes |= {run.name: f"Answers of '{run.name}' are not shown: {error}" for run, *_ in members}
            continue
        for row in rows:
            name, unit = keys[row["unit"]]
            if row["input"] in lost:
                notes[name] = f"Answers of '{name}' are not shown: {lost[row['input']]}"
                continue
            output = outputs.get(row["unit"])
            absent = None if output is not None else NULL if row["unit"] in outputs else MISSING
            found[name, unit] = output, absent
    return found, notes


def _places(session: Session, run: Run, units: Sequence[str]) -> tuple[Any, list[dict[str, Any]]]:
    """(the commit of a run, where the answers of some units stand)."""
    profile = session.profile(run.record["profile"])
    assert profile is not None
    counted = f"{profile.counted} is null, " if profile.counted else ""
    rows = session.rows(
        f"""
        select run_id as stored_id, question_id, {profile.unit_sql} as unit, repeat, input, line
        from stored_{profile.profile}
        where commit = $commit and run_id = $run_id and unit in (select unnest($units))
        qualify row_number() over (partition by unit order by {counted}repeat, input, line) = 1
        """,
        {
            "commit": run.record["commit"],
            "run_id": session.stored_name(run.record["run_id"]),
            "units": list(units),
        },
    )
    return next(commit for commit in session.commits if commit.id == run.record["commit"]), rows
