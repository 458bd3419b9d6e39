"""Gates that a user gives in a file, and what a profile's gates are once they have been added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import msgspec

from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import LEVELS, OPS, RUN_STATS, STATS, Gate, Profile
from rageval_batch.typed_config import read_typed_config

PROVENANCE_GATE = "provenance"
_Name = Annotated[str, msgspec.Meta(min_length=1)]


class _GateTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A table [[gate]] of a file."""

    name: _Name
    metric: str = ""
    stat: str = "mean"
    op: _Name
    limit: float
    level: str = ""
    failure: str = "QualityGateFailure"
    profile: str | None = None


class _GateFileTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All tables of a file; `gates` is another name of `gate`."""

    gate: list[_GateTable] = []
    gates: list[_GateTable] = []
    defaults: bool = True


@dataclass(frozen=True)
class FileGate:
    """A gate of a file, for one profile or for all."""

    gate: Gate
    profile: str | None = None


@dataclass(frozen=True)
class GateFile:
    """Gates that add to the profiles' own or replace them by name; without `defaults` they stand alone."""

    path: str
    gates: tuple[FileGate, ...]
    defaults: bool = True


def read_gates(path: str, profiles: Mapping[str, Profile]) -> GateFile:
    """The gates of a TOML or JSON file; InputError names the gate and what is allowed."""
    content = read_typed_config(path, _GateFileTable)
    tables = [
        (f"{path}, $.{key}[{k}]", table)
        for key, listed in (("gate", content.gate), ("gates", content.gates))
        for k, table in enumerate(listed)
    ]
    if not tables:
        raise InputError(f"{path} has no gates. Write each as a table [[gate]] with name, metric, stat, op and limit.")
    gates = tuple(_file_gate(where, table, profiles) for where, table in tables)
    _check_distinct(path, gates)
    return GateFile(path, gates, content.defaults)


def _file_gate(where: str, table: _GateTable, profiles: Mapping[str, Profile]) -> FileGate:
    _check_choice(f"{where}.stat", table.stat, STATS)
    of_run = table.stat in RUN_STATS
    if of_run and table.metric:
        raise InputError(f"{where}.metric: {table.stat} is of a run and has no metric. Leave the metric out.")
    if not of_run and not table.metric:
        raise InputError(f"{where}: metric is missing.")
    if not math.isfinite(table.limit):
        raise InputError(f"{where}.limit: Expected a finite number, got {table.limit}.")
    op = "==" if table.op == "=" else table.op
    _check_choice(f"{where}.op", op, OPS)
    if table.level:
        _check_choice(f"{where}.level", table.level, LEVELS)
    if table.profile is not None and table.profile not in profiles:
        raise InputError(f"{where}.profile: {did_you_mean('profile', table.profile, list(profiles))}")
    gate = Gate(
        table.name, table.metric, table.stat, op=op, limit=table.limit, failure=table.failure, level=table.level
    )
    _check_metric(f"{where}.metric", FileGate(gate, table.profile), profiles)
    return FileGate(gate, table.profile)


def _check_choice(where: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{where}: '{value}' is not known. Allowed: {', '.join(allowed)}.")


def _check_metric(where: str, file_gate: FileGate, profiles: Mapping[str, Profile]) -> None:
    """A metric that no profile has is a mistake of the file, not a gate to skip."""
    candidates = [profiles[file_gate.profile]] if file_gate.profile else list(profiles.values())
    known = [metric.name for profile in candidates for metric in profile.metrics]
    if file_gate.gate.metric and file_gate.gate.metric not in known:
        raise InputError(f"{where}: {did_you_mean('metric', file_gate.gate.metric, sorted(set(known)))}")


def _check_distinct(path: str, file_gates: tuple[FileGate, ...]) -> None:
    seen: set[tuple[str, str | None, str]] = set()
    for file_gate in file_gates:
        name, level = file_gate.gate.name, file_gate.gate.level
        if (name, file_gate.profile, level) in seen:
            raise InputError(f"{path}: gate '{name}' is there twice. Give each a name or level of its own.")
        seen.add((name, file_gate.profile, level))


def gates_of(profile: Profile, file: GateFile | None = None) -> list[Gate]:
    """All gates of a profile: its own, that its provenance is complete, and those of a file, which win by their name.

    Where any of them is of a level, all of them are written out for each level.
    """
    own = list(profile.gates) if file is None or file.defaults else []
    if profile.summary.provenance and (file is None or file.defaults):
        own.append(Gate(PROVENANCE_GATE, "", "missing_provenance", op="==", limit=0.0, failure="MissingProvenance"))
    # Gates for this very profile come behind those for all, and so win.
    added = sorted(file.gates if file else (), key=lambda file_gate: file_gate.profile is not None)
    gates = [*own, *(file_gate.gate for file_gate in added if file_gate.profile in (None, profile.name))]
    levels = LEVELS if any(gate.level for gate in gates) else ("",)
    chosen: dict[tuple[str, str], Gate] = {}
    for level in levels:
        for gate in gates:
            if gate.level in ("", level):
                chosen[gate.name, level] = replace(gate, level=level)
    return list(chosen.values())
