"""The profiles as rows, the form in which analytics learns of them; and stores opened with them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pyarrow as pa

from rageval_batch.analysis.catalog_rows import GateRow, MetricRow, ProfileRow, stored_profile
from rageval_batch.analysis.gate_file import GateFile, gates_of
from rageval_batch.analysis.session import Session
from rageval_batch.answering import answered
from rageval_batch.errors import InputError, StoreError
from rageval_batch.model import Gate, Metric, Profile
from rageval_batch.model.schemas import KEYS
from rageval_batch.profiles.registry import known_profile, known_profiles, note_kept, note_reference
from rageval_batch.runs.commit_profile import kept_profile
from rageval_batch.runs.store import Commit, Store


def catalog(
    gate_file: GateFile | None = None, waived: tuple[str, ...] = (), *, of: Iterable[str] | None = None
) -> list[ProfileRow]:
    """Profiles with their tables, metrics and gates: those `of` these names as far as they are known, else all.

    `waived` are statistics that no run fails for.
    """
    found = known_profiles().values() if of is None else filter(None, map(known_profile, of))
    return [_profile_row(profile, gate_file, waived) for profile in found]


def profiles_of(path: str | os.PathLike[str]) -> dict[str, Profile]:
    """The profiles that are known, and those of which a store keeps the file, as its newest commits have them."""
    known = dict(known_profiles())
    newest = {commit.manifest["profile"]: commit for commit in Store(path).commits()}
    for name, commit in newest.items():
        if name not in known and (profile := kept_profile(commit)) is not None:
            known[name] = profile
    return known


def _profile_row(profile: Profile, gate_file: GateFile | None, waived: tuple[str, ...]) -> ProfileRow:
    return ProfileRow(
        profile=profile.name,
        schema=pa.schema([*KEYS, *profile.schema]),
        run_stat=profile.summary.run_stat,
        score_top=profile.summary.score_top,
        metrics=tuple(_metric_row(profile, metric) for metric in profile.metrics),
        gates=tuple(_gate_row(profile, gate, gate.stat in waived) for gate in gates_of(profile, gate_file)),
        provenance=profile.summary.provenance,
        view_keys=profile.views.keys,
        internal=tuple(column.name for column in profile.columns if column.internal),
        groups=profile.summary.groups,
        title=profile.title,
        docs=tuple((column.name, column.doc) for column in profile.columns),
        question_groups=profile.inputs.questions.strata,
        unit=profile.summary.unit.name,
        row=profile.summary.unit.row,
        unit_key=profile.summary.unit.key,
        counted=profile.summary.unit.counted,
        restored=profile.summary.unit.restored,
    )


def _metric_row(profile: Profile, metric: Metric) -> MetricRow:
    return MetricRow(
        profile=profile.name,
        metric=metric.name,
        higher_is_better=metric.higher_is_better,
        null_counts_as=metric.null_counts_as,
        numerator=metric.numerator,
        denominator=metric.denominator,
        column=metric.column,
        scale=profile.scale(metric),
    )


def _gate_row(profile: Profile, gate: Gate, waived: bool) -> GateRow:
    return GateRow(
        profile=profile.name,
        gate=gate.name,
        metric=gate.metric,
        stat=gate.stat,
        op=gate.op,
        limit=gate.limit,
        level=gate.level,
        failure=gate.failure,
        waived=waived,
        coverage=profile.is_coverage(gate),
    )


def open_store(
    path: str | os.PathLike[str] = "runs",
    functions: bool = True,
    named: Iterable[str] = (),
    *,
    gate_file: GateFile | None = None,
    waived: tuple[str, ...] = (),
    missing_ok: bool = False,
    every_profile: bool | None = None,
) -> Session:
    """A store for SQL: `open_store("runs").sql("from leaderboard")` gives an Arrow table.

    StoreError where there is no such folder, unless `missing_ok`: then the store is empty. `every_profile`: profiles of
    which the store has no run are known too, which takes longer; by default where there are `functions`.
    """
    store = Store(path)
    if not missing_ok and not store.exists():
        raise StoreError(f"There is no store {store.name}. Check the path (--store); rageval score makes a store.")
    named = tuple(named)

    def described(commit: Commit) -> ProfileRow | None:
        """A profile that nobody here knows: by the copy of its file, else by what its commit says of it."""
        try:
            profile = kept_profile(commit)
        except InputError:  # written for another version of this package
            profile = None
        if profile is None:
            return stored_profile(commit)
        note_kept(profile)
        return _profile_row(profile, gate_file, waived)

    def opened() -> Session:
        commits = store.commits()
        stored = None if every_profile or (every_profile is None and functions) else _profiles_in(commits)
        known = catalog(gate_file, waived, of=stored)
        return Session(store, known, functions, named=named, described=described, commits=commits)

    session = answered(opened)
    for commit in session.commits:
        if declared := commit.manifest.get("declaration"):
            note_reference(commit.manifest["profile"], declared["reference"])
    return session


def _profiles_in(commits: Iterable[Commit]) -> list[str]:
    """The profiles that commits were scored by, by name."""
    return sorted({commit.manifest["profile"] for commit in commits})
