"""Runs against their gates: rows of one SQL statement into frozen results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rageval_batch.analysis.gate_file import GateFile, gates_of
from rageval_batch.analysis.missing_answers import raised_by_missing
from rageval_batch.analysis.runs import Run, find_run, matching_runs
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import LEVELS
from rageval_batch.model.schemas import PROVENANCE
from rageval_batch.profiles.registry import get_profile
from rageval_batch.runs import stored_inputs
from rageval_batch.runs.commit_profile import profile_of

WAIVED_PROVENANCE = ("missing_provenance",)  # the statistics that --allow-missing-provenance lets go
APPLICABLE_GATES = "applicable_gates"  # the statistic of a run that no gate applies to
_OF_RECORD = ("missing_provenance", APPLICABLE_GATES)  # statistics that are no metric of the run
_SHOWN = ("gate", "metric", "stat", "actual", "op", "limit", "level", "status", "failure", "n", "reason")
_FAILING = ("name", "actual", "limit", "failure", "metric", "stat", "op", "n")


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """One gate of one run: what was found, what is allowed."""

    gate: str
    metric: str | None
    stat: str
    actual: float | None
    op: str
    limit: float
    level: str
    status: str  # passed, failed, skipped
    failure: str | None
    n: int

    @property
    def name(self) -> str:
        """The gate's name."""
        return self.gate

    @property
    def reason(self) -> str | None:
        """Why the gate was skipped."""
        if self.status != "skipped":
            return None
        if self.actual is not None:
            return "allowed to be missing"
        return f"no value of {self.metric}" if self.metric else f"no {self.stat} of this run"


@dataclass(frozen=True, kw_only=True)
class GatedRun:
    """A run and all its gates, with the claims that do not hold where its profile knows claims."""

    run: Run
    level: str
    gates: tuple[GateResult, ...]
    failing_claims: tuple[dict[str, Any], ...] = ()
    note: str | None = None  # why the claims could not be looked at
    raised_by_missing: str | None = None  # where missing answers count for more than some that were given

    def of_status(self, status: str) -> list[GateResult]:
        """The gates that passed, failed or were skipped."""
        return [gate for gate in self.gates if gate.status == status]

    @property
    def passed(self) -> bool:
        """No gate failed; that some gate applies is a gate too."""
        return bool(self.gates) and not self.of_status("failed")

    @property
    def unanswered(self) -> list[str]:
        """What missing answers do to the run and to its gates."""
        own = [self.raised_by_missing] if self.raised_by_missing else []
        return [*own, *self.unanswered_by_gate.values()]

    @property
    def unanswered_by_gate(self) -> dict[str, str]:
        """Of gates whose statistics leave answers out that the run lacks: how many questions they are over.

        Those are of metrics of which less is better, and micro averages, whose parts a missing answer does not have.
        """
        record = self.run.record
        questions, answered = record["question_count"], record["answered_count"]
        if questions is None or answered >= questions:
            return {}
        metrics = get_profile(record["profile"]).metrics
        uncounted = {one.name for one in metrics if not one.higher_is_better and one.null_counts_as is None}
        return {
            gate.gate: f"{gate.gate}: {gate.stat} of {gate.metric} is over {gate.n:,} of {questions:,} questions; "
            f"those without an answer ({questions - answered:,}) count neither for the run nor against it."
            for gate in self.gates
            if gate.status != "skipped"
            and (gate.metric in uncounted or (gate.stat == "micro" and (gate.n or 0) < questions))
        }

    @property
    def has_levels(self) -> bool:
        """Whether the run was held to the limits of a level."""
        return any(gate.level for gate in self.gates)

    @property
    def provenance(self) -> dict[str, str | None]:
        """Where the run came from."""
        return {name: self.run.record[name] for name in PROVENANCE}

    def rows(self) -> list[dict[str, Any]]:
        """A row a gate."""
        verdict = "pass" if self.passed else "fail"
        return [
            {**self.run.key, "pass_fail": verdict, **{name: getattr(gate, name) for name in _SHOWN}}
            for gate in self.gates
        ]

    def as_dict(self) -> dict[str, Any]:
        """One object with everything, unrounded."""
        record = self.run.record
        return {
            "run_id": record["run_id"],
            "pass_fail": "pass" if self.passed else "fail",
            "metrics": {gate.gate: gate.actual for gate in self.gates if gate.stat not in _OF_RECORD},
            "failing_gates": [{name: getattr(gate, name) for name in _FAILING} for gate in self.of_status("failed")],
            "skipped_gates": [{"name": gate.gate, "reason": gate.reason} for gate in self.of_status("skipped")],
            "failing_claims": list(self.failing_claims),
            "gates": [{name: getattr(gate, name) for name in _SHOWN} for gate in self.gates],
            "level": self.level,
            "note": self.note,
            "unanswered": self.unanswered,
            "profile": record["profile"],
            "eval_set": record["eval_set"],
            "commit": record["commit"],
            "provenance": self.provenance,
            "signature": record["signature"],
            "version": record["version"],
            "params_sha256": record["params_sha256"],
        }


def wanted_runs(session: Session, names: Sequence[str], profile: str | None, *, eval_set: str | None) -> list[Run]:
    """The runs of these names, each once, or all current ones; StoreError where one is not there."""
    current = matching_runs(session, profile, eval_set)
    if not names:
        if not current:
            session.store.require()
            raise InputError(
                f"The store {session.store.name} has no run of that profile or eval set. See rageval runs."
            )
        return current
    newest = {run.record["run_id"]: run for run in current}
    return [newest.get(name) or find_run(session, name, profile, eval_set=eval_set) for name in dict.fromkeys(names)]


def wanted_levels(session: Session, runs: Sequence[Run], level: str | None) -> list[str]:
    """The level of each run: the given one, else that of its parameter `level`, else the first."""
    if level is not None:
        return [level] * len(runs)
    stored = {commit.id: commit.manifest["params"].get("level") for commit in session.commits}
    found = [stored[run.record["commit"]] for run in runs]
    return [one if one in LEVELS else LEVELS[0] for one in found]


def gated_runs(
    runs: Sequence[Run], levels: Sequence[str], file: GateFile | None
) -> tuple[list[Run], list[str], dict[str, int]]:
    """(the runs whose profile has gates, their levels, how many runs each profile without gates has).

    Where no profile has gates, all runs stay: `check_gates` then says what is missing.
    """
    names = dict.fromkeys(run.record["profile"] for run in runs)
    without = {name for name in names if not gates_of(get_profile(name), file)}
    if without == set(names):
        return list(runs), list(levels), {}
    judged = [k for k, run in enumerate(runs) if run.record["profile"] not in without]
    counts = {name: sum(run.record["profile"] == name for run in runs) for name in names if name in without}
    return [runs[k] for k in judged], [levels[k] for k in judged], counts


def check_gates(runs: Sequence[Run], levels: Sequence[str], file: GateFile | None) -> None:
    """InputError where a profile has no gates of a run's level, or a gate of the file is about none of the profiles."""
    pairs = dict.fromkeys(zip((run.record["profile"] for run in runs), levels, strict=True))
    profiles = [get_profile(name) for name in dict.fromkeys(name for name, _ in pairs)]
    gates = {profile.name: gates_of(profile, file) for profile in profiles}
    for name, level in pairs:
        if not gates[name]:
            raise InputError(f"Profile {name} has no gates of its own. Give some with --gates FILE.toml.")
        if not any(gate.level in ("", level) for gate in gates[name]):
            raise InputError(f"Profile {name} has no gates of level {level}. Choose another with --level.")
    for given in file.gates if file else ():
        meant = [profile for profile in profiles if given.profile in (None, profile.name)]
        known = [metric.name for profile in meant for metric in profile.metrics]
        if meant and given.gate.metric and given.gate.metric not in known:
            unknown = did_you_mean(f"metric of {meant[0].name}", given.gate.metric, known)
            raise InputError(f"Gate '{given.gate.name}': {unknown}")


def gate_runs(session: Session, runs: Sequence[Run], levels: Sequence[str], *, every: bool = False) -> list[GatedRun]:
    """All gates of the runs, each at its level, by one statement; the session knows the gates."""
    names = None if every else [run.record["run_id"] for run in runs]
    rows = session.rows(
        "select * from gated($names::varchar[]) where level = '' or list_contains($levels, level)",
        {"names": names, "levels": sorted(set(levels))},
    )
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(row.pop(name) for name in ("run_id", "profile", "eval_set"))
        found.setdefault(key, []).append(row)
    places = session.gate_places()
    raised = raised_by_missing(session, runs)
    gated = []
    for run, level in zip(runs, levels, strict=True):
        mine = [row for row in found.get(tuple(run.key.values()), []) if row["level"] in ("", level)]
        mine.sort(key=lambda row: places.get((run.record["profile"], row["gate"], row["level"]), len(places)))
        gates = tuple(GateResult(**row) for row in mine)
        said = raised.get(tuple(run.key.values()))
        gated.append(GatedRun(run=run, level=level, gates=gates, raised_by_missing=said))
    return gated


def with_claims(session: Session, gated: list[GatedRun]) -> list[GatedRun]:
    """The same results with the claims that do not hold, read again from the inputs of each commit."""
    by_commit: dict[str, list[int]] = {}
    for k, result in enumerate(gated):
        if get_profile(result.run.record["profile"]).scoring.failing_claims is not None:
            by_commit.setdefault(result.run.record["commit"], []).append(k)
    out = list(gated)
    commits = {commit.id: commit for commit in session.commits}
    for commit, members in by_commit.items():
        stored = {k: session.stored_name(gated[k].run.record["run_id"]) for k in members}
        profile = profile_of(commits[commit])
        try:
            with tempfile.TemporaryDirectory(prefix="rageval-") as folder:
                claims = stored_inputs.failing_claims(
                    commits[commit], profile, frozenset(stored.values()), folder=Path(folder)
                )
        except InputError as error:  # the gates are still worth seeing
            for k in members:
                out[k] = replace(gated[k], note=str(error))
            continue
        for k in members:
            out[k] = replace(gated[k], failing_claims=tuple(claims.get(stored[k], ())))
    return out
