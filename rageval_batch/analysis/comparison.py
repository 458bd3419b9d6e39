"""A run against a run: how far apart, on which questions or other units, and whether chance could have done it.

Rows come from SQL.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rageval_batch.analysis.compared_runs import ComparedRun, ComparedRuns, described, differences
from rageval_batch.analysis.repeats import repeat_summary
from rageval_batch.analysis.runs import Run
from rageval_batch.analysis.session import Session
from rageval_batch.columnar import statistics
from rageval_batch.columnar.statistics import TOLERANCE, Interval
from rageval_batch.errors import InputError

MOVERS = 10
MOST_LISTED = 1_000  # question ids of a kind in a result; of several candidates, fewer
_LISTED_OF_SEVERAL = 50
MOST_DETAILED = 10  # candidates whose answers and repeats are looked up
RULES, SIGNIFICANT = "rules", "significant"
WEIGHTED = "weighted_mean"  # the statistic of a run that weighs its questions
MICRO = "micro"  # the one that is made of the parts of its rows
_PARTS = "base_numerator, base_denominator, cand_numerator, cand_denominator"
_NO_PARTS = ", ".join(f"null::decimal(38, 18) as {name}" for name in _PARTS.split(", "))  # columns that cost much
_LISTS = {"improvement": "improved", "regression": "regressed", "only_base": "only_base", "only_cand": "only_cand"}


@dataclass(frozen=True)
class Rules:
    """When a candidate passes."""

    min_delta: float = 0.0
    max_regressions: int = 0
    fail_on: str = RULES  # significant: only a drop that the interval shows fails

    def __post_init__(self) -> None:
        if self.fail_on not in (RULES, SIGNIFICANT) or not math.isfinite(self.min_delta):
            raise InputError(f"A comparison fails on {RULES} or {SIGNIFICANT}, and its least delta is a finite number.")

    def passed(self, delta: float | None, regressions: int, interval: Interval) -> bool:
        """Whether a candidate keeps the rules; one that cannot be measured does not."""
        if delta is None:
            return False
        if self.fail_on == SIGNIFICANT:
            return interval.high is not None and not statistics.shows_drop(interval)
        return delta >= self.min_delta - TOLERANCE and regressions <= self.max_regressions


@dataclass(frozen=True, kw_only=True)
class Mover:
    """A question, or what else is paired, that moved, with the answers of both runs where they can still be read."""

    question_id: str
    base_score: float
    cand_score: float
    delta: float
    base_answer: str | None = None
    cand_answer: str | None = None


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
    p_holm: float
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
    session: Session, compared: ComparedRuns, rules: Rules, *, answers: bool = True, seed: int = statistics.SEED
) -> list[Comparison]:
    """Every candidate against the base, in the order given; p-values are corrected for their number.

    Answers and repeats are looked up where there are few candidates; of more, the notes say that they were not.
    """
    base = compared.base
    session.keep_table(
        "compared",
        f"""
        select run_id, unit, question_id, base_weight, cand_weight, base_score, cand_score, delta, status,
            {_PARTS if compared.run_stat == MICRO else _NO_PARTS}
        from unit_pairs($profile, $metric, $base, $base_set, $candidates, $names)
        """,
        {
            "profile": compared.profile,
            "metric": compared.metric,
            "base": base.name,
            "base_set": base.eval_set,
            "names": [run.name for run in (base, *compared.candidates)],
            "candidates": [
                {"run_id": candidate.name, "eval_set": candidate.eval_set} for candidate in compared.candidates
            ],
        },
        metrics=(compared.metric,),
    )
    totals = {row["run_id"]: row for row in session.rows(_TOTALS, {"stat": compared.run_stat})}
    for candidate in compared.candidates:
        if candidate.name not in totals:
            raise InputError(
                f"'{base.name}' and '{candidate.name}' have no value of {compared.metric}. Nothing to compare."
            )
    chances = dict(
        zip(sorted(totals), _chances(session, totals, compared.run_stat == WEIGHTED, seed=seed), strict=True)
    )
    listed = _first_units(session, MOST_LISTED if len(compared.candidates) == 1 else _LISTED_OF_SEVERAL)
    movers = {row["run_id"]: tuple(Mover(**_mover(part)) for part in row["moved"]) for row in session.rows(_MOVED)}
    found = [
        _comparison(
            compared,
            candidate,
            totals[candidate.name],
            chance=chances[candidate.name],
            rules=rules,
            listed=listed.get(candidate.name, {}),
            movers=movers.get(candidate.name, ()),
        )
        for candidate in compared.candidates
    ]
    corrected = statistics.holm([result.p_value for result in found])
    found = [replace(result, p_holm=p) for result, p in zip(found, corrected, strict=True) if p is not None]
    if len(found) <= MOST_DETAILED:
        return [_with_details(session, result, answers) for result in found]
    note = f"Answers and repeats are looked up for at most {MOST_DETAILED} candidates: compare fewer to see them."
    return [replace(result, notes=(*result.notes, note)) for result in found]


_TOTALS = """
    with max_weights as (
        select
            run_id,
            max(coalesce(base_weight, 1.0)) filter (base_score is not null) as base_top,
            max(coalesce(cand_weight, 1.0)) filter (cand_score is not null) as cand_top
        from compared
        group by run_id
    )
    select
        c.run_id,
        run_value($stat, base_score, coalesce(base_weight, 1.0), base_top, base_numerator, base_denominator)
            as base_score,
        run_value($stat, cand_score, coalesce(cand_weight, 1.0), cand_top, cand_numerator, cand_denominator)
            as cand_score,
        count(*) filter (status = 'improvement') as improvements,
        count(*) filter (status = 'regression') as regressions,
        count(*) filter (status = 'tie') as ties,
        count(*) filter (status = 'only_base') as only_base,
        count(*) filter (status = 'only_cand') as only_cand
    from compared c
    join max_weights t on t.run_id = c.run_id
    group by c.run_id
"""

_SHARED = """
    select delta, coalesce(base_weight, cand_weight, 1.0) as weight
    from compared
    where delta is not null
    order by run_id, unit
"""

# The heap of the smallest keeps memory small; what comes first in the struct decides, the unit breaks ties.
_MOVED = f"""
    select run_id, min(struct_pack(size := -abs(delta), question_id := unit, base_score := base_score,
        cand_score := cand_score, delta := delta), {MOVERS}) as moved
    from compared
    where status in ('improvement', 'regression')
    group by run_id
"""


def _mover(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "size"}


def _first_units(session: Session, most: int) -> dict[str, dict[str, list[str]]]:
    """The first units of each kind, by candidate."""
    rows = session.rows(
        f"select run_id, status, min(unit, {most}) as ids from compared where status <> 'tie' group by all"
    )
    out: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        out.setdefault(row["run_id"], {})[_LISTS[row["status"]]] = row["ids"]
    return out


def _chances(
    session: Session, totals: dict[str, dict[str, Any]], weighted: bool, *, seed: int
) -> Iterator[tuple[float | None, Interval, float]]:
    """(mean delta, interval, p-value) of every candidate by name, on threads: the resamples do not depend on them."""
    shared = session.table(_SHARED)
    deltas, weights = (shared.column(name).to_numpy() for name in ("delta", "weight"))
    sizes = [sum(totals[name][kind] for kind in ("improvements", "regressions", "ties")) for name in sorted(totals)]
    ends = np.cumsum(sizes)

    def chance(bounds: tuple[int, int]) -> tuple[float | None, Interval, float]:
        mine = slice(*bounds)
        own = weights[mine] if weighted else None
        return (
            statistics.mean_delta(deltas[mine], own),
            statistics.bootstrap_interval(deltas[mine], own, seed=seed),
            statistics.sign_flip_p(deltas[mine], own, seed=seed),
        )

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(chance, zip((ends - sizes).tolist(), ends.tolist(), strict=True))


def _comparison(
    compared: ComparedRuns,
    candidate: ComparedRun,
    total: dict[str, Any],
    *,
    chance: tuple[float | None, Interval, float],
    rules: Rules,
    listed: dict[str, list[str]],
    movers: tuple[Mover, ...],
) -> Comparison:
    base_score = compared.base.score if compared.base.score is not None else total["base_score"]
    cand_score = candidate.score if candidate.score is not None else total["cand_score"]
    delta = None
    if base_score is not None and cand_score is not None:
        delta = cand_score - base_score if compared.higher_is_better else base_score - cand_score
    paired, interval, p_value = chance
    names = differences(compared.base, candidate)
    notes = [f"Compared all the same: {described(compared.base, candidate, names)}."] if names else []
    notes += compared.notes
    if paired is None and not (total["improvements"] or total["regressions"] or total["ties"]):
        notes.append(f"The runs have no {compared.unit} in common: the delta is of whole runs, and nothing is paired.")
    return Comparison(
        compared=compared,
        candidate=candidate,
        base_score=base_score,
        cand_score=cand_score,
        delta=delta,
        paired_delta=paired,
        improvements=total["improvements"],
        regressions=total["regressions"],
        ties=total["ties"],
        only_base_count=total["only_base"],
        only_cand_count=total["only_cand"],
        interval=interval,
        p_value=p_value,
        p_holm=p_value,
        rules=rules,
        passed=rules.passed(delta, total["regressions"], interval),
        listed={name: listed.get(name, []) for name in _LISTS.values()},
        movers=movers,
        base_repeats={},
        cand_repeats={},
        notes=tuple(notes),
    )


# --- what is worth its time for few candidates -------------------------------------------------------------------


def _with_details(session: Session, result: Comparison, answers: bool) -> Comparison:
    """The same comparison with what repeats say of both runs, and the answers of the questions that moved."""
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
        movers = tuple(
            replace(
                mover,
                base_answer=found.get((before, mover.question_id)),
                cand_answer=found.get((after, mover.question_id)),
            )
            for mover in result.movers
        )
        said = dict.fromkeys((*result.notes, *(notes[name] for name in (before, after) if name in notes)))
        out.append(replace(result, movers=movers, notes=tuple(said)))
    return out


def _answers(
    session: Session, wanted: Sequence[tuple[ComparedRun, Sequence[str]]]
) -> tuple[dict[tuple[str, str], str | None], dict[str, str]]:
    """(answers by run and unit, why a run has none); of several repeats or judgements the first that counts."""
    from rageval_batch.runs import stored_inputs
    from rageval_batch.runs.commit_profile import profile_of

    found: dict[tuple[str, str], str | None] = {}
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
            outputs = stored_inputs.unit_outputs(commit, profile_of(commit), rows)
        except InputError as error:
            notes |= {run.name: f"Answers of '{run.name}' are not shown: {error}" for run, *_ in members}
            continue
        found |= {keys[key]: output for key, output in outputs.items()}
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
