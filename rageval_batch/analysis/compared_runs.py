"""Which runs are compared: names of runs and files become compared runs of the same questions and source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rageval_batch.analysis.catalog import open_store
from rageval_batch.analysis.catalog_rows import UNKNOWN_PROFILE, MetricRow, ProfileRow
from rageval_batch.analysis.run_lines import stat_name
from rageval_batch.analysis.runs import Run, find_run, matching_runs
from rageval_batch.analysis.session import Session
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import IncompatibleRuns, InputError, StoreError, did_you_mean
from rageval_batch.inputs.run_files import RunFile, WantedRows, is_run_file, open_run_file

UNKNOWN = UNKNOWN_PROFILE.profile  # of files that say none
_SHOWN_HASH = 16
_FILE_SET = "file"
WEIGHTED = "weighted_mean"  # the statistic of a run that weighs its questions


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """One run of a comparison, from a store or a file."""

    name: str
    profile: str
    eval_set: str
    questions_sha256: str | None
    source_sha256: str | None
    params_sha256: str | None
    run: Run | None = None
    score: float | None = None  # of the whole run, where a file says it

    @property
    def profile_version(self) -> str | None:
        """The version of the profile that scored the run, of a profile file its hash; None for a file of a run.

        Every change of a score counts the version up. Stores of 0.1 do not say it: then it was the first.
        """
        if self.run is None:
            return None
        _, stated, version = str(self.run.record["signature"]).split("|", 1)[0].partition("/")
        return version if stated else "1"

    @property
    def repeats(self) -> int:
        """How many repeats a question of the run has at most, as far as is known."""
        return int(self.run.record["repeats"]) if self.run else 1


@dataclass(frozen=True, kw_only=True)
class ComparedRuns:
    """A base, its candidates, and what they are compared by."""

    base: ComparedRun
    candidates: tuple[ComparedRun, ...]
    profile: str
    metric: str
    higher_is_better: bool
    run_stat: str  # how a run's value comes from its rows
    unit: str = "question"  # what is paired
    left_out: tuple[str, ...] = ()  # of all runs, those that cannot be compared with the base
    notes: tuple[str, ...] = ()

    @property
    def stat(self) -> str:
        """What people call the statistic that a run's value is."""
        return stat_name(self.run_stat)

    @property
    def paired_stat(self) -> str:
        """What people call the mean of the differences between units, of which interval and test are."""
        return stat_name(WEIGHTED) if self.is_weighted else "mean"

    @property
    def is_weighted(self) -> bool:
        """Whether units count by the weights of their questions."""
        return self.run_stat == WEIGHTED

    def parted(self, first: int) -> tuple[ComparedRuns, ComparedRuns | None]:
        """The same with so many candidates, and with the others, where there are any."""
        head, rest = self.candidates[:first], self.candidates[first:]
        return replace(self, candidates=head), replace(self, candidates=rest) if rest else None


class NothingToCompare(InputError):
    """The base has no run beside it."""


def open_compared(store: str | os.PathLike[str], names: Sequence[str]) -> Session:
    """A session in which these names, runs or files of runs, can be compared; files need no store."""
    stored = [name for name in names if not is_run_file(name)]
    every = len(stored) < len(names)  # the store may have no run of a file's profile
    return open_store(store, functions=False, named=stored, missing_ok=True, every_profile=every)


def find_compared_runs(
    session: Session,
    base: str,
    candidates: Sequence[str],
    *,
    every: bool = False,
    profile: str | None = None,
    eval_set: str | None = None,
    metric: str = "score",
    strict: bool = True,
) -> ComparedRuns:
    """The runs of a comparison; IncompatibleRuns where they must not be compared."""
    for name in (base, *candidates):
        if not _is_text(name):
            raise InputError(f"The name {name!a} is no valid text. Rename the file.")
    picker = _Picker(session, profile, eval_set, metric=metric)
    first = picker.base(base, candidates)
    found = [picker.candidate(name, first) for name in dict.fromkeys(candidates)]
    if every:
        found += picker.others(first, {run.name for run in found})
    chosen = next((run.profile for run in (first, *found) if run.profile != UNKNOWN), profile or UNKNOWN)
    row = session.profile(chosen)
    if row is None:
        raise InputError(f"Profile '{chosen}' is not known. See rageval profiles.")
    measure, notes = picker.measure(row)
    left_out: tuple[str, ...] = ()
    if every:
        left_out = tuple(run.name for run in found if run.name not in candidates and differences(first, run))
        found = [run for run in found if run.name not in left_out]
    _check(first, found, chosen, strict=strict)
    if not found:
        raise NothingToCompare(f"There is no run to compare with '{base}'. See rageval runs.")
    base_run, *others = (picker.known(run, row, measure) for run in (first, *found))
    return ComparedRuns(
        base=base_run,
        candidates=tuple(others),
        profile=chosen,
        metric=metric,
        higher_is_better=measure.higher_is_better,
        run_stat=row.run_stat,
        unit=row.unit,
        left_out=left_out,
        notes=notes,
    )


def runs_to_compare(
    session: Session, base: str, others: Sequence[str], *, profile: str | None, eval_set: str | None
) -> list[Run]:
    """The base and the others, of the store: of several results those that a comparison of them takes; StoreError where
    one is not there."""
    names = [name for name in dict.fromkeys(others) if name != base]
    for name in (base, *names):
        find_run(session, name, profile, eval_set=eval_set)
    picker = _Picker(session, profile, eval_set, metric="score")
    first = picker.base(base, names)
    found = [first, *(picker.candidate(name, first) for name in names)]
    return [one.run for one in found if one.run is not None]


class _Picker:
    """Finds the runs to compare in one session."""

    def __init__(self, session: Session, profile: str | None, eval_set: str | None, *, metric: str) -> None:
        self._session = session
        self._profile = profile
        self._eval_set = eval_set
        self._metric = metric
        self._files: dict[str, RunFile] = {}
        self._added: set[str] = set()

    def base(self, name: str, candidates: Sequence[str]) -> ComparedRun:
        """The base: of several results the newest whose profile and questions all candidates have too."""
        mine = self._stored(name)
        if not mine:
            return self._outside(name)
        others = [stored for candidate in candidates if (stored := self._stored(candidate))]
        keys = [{_profile_and_questions(run) for run in runs} for runs in others]
        shared = [run for run in mine if all(_profile_and_questions(run) in theirs for theirs in keys)]
        return _compared_run((shared or mine)[-1], name)

    def candidate(self, name: str, base: ComparedRun) -> ComparedRun:
        """A candidate: of several results the newest of the base's questions, else of its profile."""
        mine = self._stored(name)
        if not mine:
            return self._outside(name)
        same_profile = [run for run in mine if base.profile in (UNKNOWN, run.record["profile"])]
        same = [run for run in same_profile if run.record["questions_sha256"] == base.questions_sha256]
        return _compared_run((same or same_profile or mine)[-1], name)

    def others(self, base: ComparedRun, named: set[str]) -> list[ComparedRun]:
        """All other current runs of the base's profile and questions."""
        runs = matching_runs(self._session, base.profile or self._profile, self._eval_set)
        taken = named | {base.name, base.run.record["run_id"] if base.run else base.name}
        same = {
            run.record["run_id"]: run
            for run in runs
            if run.record["questions_sha256"] == base.questions_sha256 and run.record["run_id"] not in taken
        }
        return [_compared_run(same[name], name) for name in sorted(same)]

    def measure(self, profile: ProfileRow) -> tuple[MetricRow, tuple[str, ...]]:
        """(what runs are compared by, what must be said of it): a metric of the profile, or a column of numbers."""
        metrics = {metric.metric: metric for metric in profile.metrics}
        if self._metric in metrics:
            return metrics[self._metric], self._unweighted(profile)
        if profile is UNKNOWN_PROFILE:
            raise InputError(f"Which way is {self._metric} better? The files do not name a profile: add -p PROFILE.")
        stored = self._session.number_columns(profile.profile)
        known = dict.fromkeys((*metrics, *stored, *(name for file in self._files.values() for name in file.numbers)))
        if self._metric not in known:
            raise InputError(did_you_mean(f"metric of {profile.profile}", self._metric, list(known)))
        said = f"{self._metric} is a column of {profile.profile} and no metric: higher counts as better."
        return self._session.add_metric(profile, self._metric, stored=self._metric in stored), (said,)

    def _unweighted(self, profile: ProfileRow) -> tuple[str, ...]:
        """What must be said of files without a profile: their scores are taken as weighted means."""
        if profile is not UNKNOWN_PROFILE:
            return ()
        files = ", ".join(name for name in self._files if name.lower().endswith(".parquet"))
        return (f"{files}: no profile is named, rows count by their weight. -p PROFILE says which.",) if files else ()

    def known(self, run: ComparedRun, profile: ProfileRow, metric: MetricRow) -> ComparedRun:
        """The run, with its rows in the session: those of a file are added there once."""
        if run.run is not None:
            return run
        if run.name not in self._added:
            needed = dict.fromkeys((*metric.needs(profile.run_stat), *profile.unit_key))
            wanted = WantedRows(
                profile.profile, metric.metric, tuple(needed), unit_key=profile.unit_key, restored=profile.restored
            )
            rows = self._files[run.name].rows(wanted)
            self._session.add_run(run.name, run.eval_set, profile, metric=metric, rows=rows)
            self._added.add(run.name)
        return replace(run, profile=profile.profile)

    def _stored(self, name: str) -> list[Run]:
        return matching_runs(self._session, self._profile, self._eval_set, name=name)

    def _outside(self, name: str) -> ComparedRun:
        """A run from a file; where there is none, the store's own words for an unknown run."""
        if not is_run_file(name):
            if name.lower().endswith((".json", ".parquet")):
                raise InputError(f"There is no file {name}, and no run of that name in {self._session.store.name}.")
            find_run(self._session, name, self._profile, eval_set=self._eval_set)
            raise StoreError(f"Run '{name}' cannot be found.")
        if name not in self._files:
            self._files[name] = open_run_file(name)
        file = self._files[name]
        about = file.about
        eval_set = about.get("eval_set")
        if (
            self._eval_set
            and eval_set
            and not _matches_eval_set(self._eval_set, eval_set, about.get("questions_sha256"))
        ):
            raise InputError(f"{name} is of eval set {eval_set}, not of {self._eval_set}.")
        return ComparedRun(
            name=name,
            profile=about.get("profile") or UNKNOWN,
            eval_set=eval_set or _FILE_SET,
            questions_sha256=about.get("questions_sha256"),
            source_sha256=about["source_sha256"],
            params_sha256=about.get("params_sha256"),
            score=file.score if self._metric == "score" else None,
        )


def _matches_eval_set(wanted: str, eval_set: str, questions_sha256: str | None) -> bool:
    """Whether an eval set is meant: its name, its version, or the start of its hash."""
    return wanted in (eval_set, eval_set.split("@", maxsplit=1)[0]) or (questions_sha256 or "").startswith(wanted)


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8: one of the command line may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _profile_and_questions(run: Run) -> tuple[str, str]:
    return run.record["profile"], run.record["questions_sha256"]


def _compared_run(run: Run, name: str) -> ComparedRun:
    record = run.record
    return ComparedRun(
        name=name,
        profile=record["profile"],
        eval_set=record["eval_set"],
        questions_sha256=record["questions_sha256"],
        source_sha256=record["source_sha256"],
        params_sha256=record["params_sha256"],
        run=run,
    )


# --- compatibility ----------------------------------------------------------------------------------------------------


_REMEDY = "Score both on the same inputs"
_REMEDY_VERSION = "Its version counts up when scores change: score the older run again with rageval rescore"


def differences(base: ComparedRun, candidate: ComparedRun) -> list[str]:
    """What forbids a comparison: another eval set or source (unknown in both runs is equal), and other parameters or
    another version of the profile where both are known."""
    found = [name for name in ("questions_sha256", "source_sha256") if getattr(base, name) != getattr(candidate, name)]
    if base.params_sha256 and candidate.params_sha256 and base.params_sha256 != candidate.params_sha256:
        found.append("params_sha256")
    if base.profile_version and candidate.profile_version and base.profile_version != candidate.profile_version:
        found.append("profile_version")
    return found


def _check(base: ComparedRun, candidates: Sequence[ComparedRun], profile: str, *, strict: bool) -> None:
    for run in (base, *candidates):
        if run.profile not in (UNKNOWN, profile):
            raise IncompatibleRuns(
                f"'{run.name}' was scored by {run.profile}, "
                f"'{base.name if run is not base else candidates[0].name}' by {profile}: "
                "their scores cannot be compared.",
                advice="Choose one profile with -p.",
            )
    bad = [(candidate, found) for candidate in candidates if strict and (found := differences(base, candidate))]
    if not bad:
        return
    candidate, found = bad[0]
    more = f" ({len(bad)} of {len(candidates)} candidates differ.)" if len(bad) > 1 else ""
    raise IncompatibleRuns(
        f"'{base.name}' and '{candidate.name}' cannot be compared: {described(base, candidate, found)}.",
        [_mismatch(base, candidate) for candidate, _ in bad],
        advice=f"{_REMEDY_VERSION if found == ['profile_version'] else _REMEDY}, or add --no-strict-hashes.{more}",
    )


def described(base: ComparedRun, candidate: ComparedRun, names: Sequence[str]) -> str:
    """What differs, with both values."""
    return "; ".join(
        f"{name} is {_short_hash(getattr(base, name))} and {_short_hash(getattr(candidate, name))}" for name in names
    )


def _short_hash(value: str | None) -> str:
    return "unknown" if value is None else value if len(value) <= _SHOWN_HASH else value[:_SHOWN_HASH] + "…"


def _mismatch(base: ComparedRun, candidate: ComparedRun) -> dict[str, object]:
    found: dict[str, Any] = {
        "error": "hash_mismatch",
        "base_run": base.name,
        "candidate_run": candidate.name,
        "base_pdf_sha256": base.source_sha256,
        "cand_pdf_sha256": candidate.source_sha256,
        "base_questions_sha256": base.questions_sha256,
        "cand_questions_sha256": candidate.questions_sha256,
    }
    known = {
        "base_params_sha256": base.params_sha256,
        "cand_params_sha256": candidate.params_sha256,
        "base_profile_version": base.profile_version,
        "cand_profile_version": candidate.profile_version,
    }
    return found | {name: value for name, value in known.items() if value is not None}
