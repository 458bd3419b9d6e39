"""Gates that a user gives in a file, and what a profile's gates are once they have been added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rageval_batch.config import read_config
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.model import LEVELS, OPS, RUN_STATS, STATS, Gate, Profile

PROVENANCE_GATE = "provenance"
_FIELDS = ("name", "metric", "stat", "op", "limit", "level", "failure", "profile")
_TOP = ("gate", "gates", "defaults")


@dataclass(frozen=True)
class GivenGate:
    """A gate of a file, for one profile or for all."""

    gate: Gate
    profile: str | None = None


@dataclass(frozen=True)
class GateFile:
    """Gates that add to the profiles' own or replace them by name; without `defaults` they stand alone."""

    path: str
    gates: tuple[GivenGate, ...]
    defaults: bool = True


def read_gates(path: str, profiles: Mapping[str, Profile]) -> GateFile:
    """The gates of a TOML or JSON file; InputError names the gate and what is allowed."""
    content = read_config(path)
    for name in content:
        if name not in _TOP:
            raise InputError(f"{path}: {did_you_mean('entry', name, list(_TOP))}")
    defaults = content.get("defaults", True)
    if not isinstance(defaults, bool):
        raise InputError(f"{path}: defaults is true or false.")
    tables = content.get("gate", content.get("gates"))
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path} has no gates. Write each as a table [[gate]] with name, metric, stat, op and limit.")
    given = tuple(_given(f"{path}, gate {k}", table, profiles) for k, table in enumerate(tables, 1))
    _check_distinct(path, given)
    return GateFile(path, given, defaults)


def _given(where: str, table: dict[str, Any], profiles: Mapping[str, Profile]) -> GivenGate:
    for name, value in table.items():
        if name not in _FIELDS:
            raise InputError(f"{where}: {did_you_mean('field', name, list(_FIELDS))}")
        if name != "limit" and not isinstance(value, str):
            raise InputError(f"{where}: {name} must be a text.")
    stat = _choice(where, table, "stat", STATS)
    of_run = stat in RUN_STATS
    for name in ("name", "op", "limit", *(() if of_run else ("metric",))):
        if name not in table or table[name] == "":
            raise InputError(f"{where}: {name} is absent.")
    if of_run and table.get("metric"):
        raise InputError(f"{where}: {stat} is of a run and has no metric. Leave the metric out.")
    limit = _limit(where, table["limit"])
    profile = table.get("profile")
    if profile is not None and profile not in profiles:
        raise InputError(f"{where}: {did_you_mean('profile', profile, list(profiles))}")
    gate = Gate(
        table["name"],
        "" if of_run else table["metric"],
        stat,
        _choice(where, {"op": "==" if table["op"] == "=" else table["op"]}, "op", OPS),
        limit,
        failure=table.get("failure", "QualityGateFailure"),
        level=_choice(where, {"level": ""} | table, "level", ("", *LEVELS)),
    )
    found = GivenGate(gate, profile)
    _check_metric(where, found, profiles)
    return found


def _limit(where: str, given: Any) -> float:
    try:
        if not isinstance(given, bool) and isinstance(given, int | float) and math.isfinite(given):
            return float(given)
    except OverflowError:  # an integer that no float holds
        raise InputError(f"{where}: limit is too large.") from None
    raise InputError(f"{where}: limit {given!r} is not a number.")


def _choice(where: str, table: dict[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    value: str = table.get(name, "mean" if name == "stat" else "")
    if value not in allowed:
        known = ", ".join(word for word in allowed if word)
        raise InputError(f"{where}: {name} '{value}' is not known. Allowed: {known}.")
    return value


def _check_metric(where: str, given: GivenGate, profiles: Mapping[str, Profile]) -> None:
    """A metric that no profile has is a slip of the pen, not a gate to skip."""
    meant = [profiles[given.profile]] if given.profile else list(profiles.values())
    known = [metric.name for profile in meant for metric in profile.metrics]
    if given.gate.metric and given.gate.metric not in known:
        raise InputError(f"{where}: {did_you_mean('metric', given.gate.metric, sorted(set(known)))}")


def _check_distinct(path: str, given: tuple[GivenGate, ...]) -> None:
    seen: set[tuple[str, str | None, str]] = set()
    for one in given:
        key = (one.gate.name, one.profile, one.gate.level)
        if key in seen:
            raise InputError(f"{path}: gate '{one.gate.name}' is there twice. Give each a name or level of its own.")
        seen.add(key)


def gates_of(profile: Profile, file: GateFile | None = None) -> list[Gate]:
    """All gates of a profile: its own, that its provenance is complete, and those of a file, which win by their name.

    Where any of them is of a level, all of them are written out for each level.
    """
    own = list(profile.gates) if file is None or file.defaults else []
    if profile.summary.provenance and (file is None or file.defaults):
        own.append(Gate(PROVENANCE_GATE, "", "missing_provenance", "==", 0.0, failure="MissingProvenance"))
    # Gates for this very profile come behind those for all, and so win.
    added = sorted(file.gates if file else (), key=lambda given: given.profile is not None)
    gates = [*own, *(given.gate for given in added if given.profile in (None, profile.name))]
    levels = LEVELS if any(gate.level for gate in gates) else ("",)
    chosen: dict[tuple[str, str], Gate] = {}
    for level in levels:
        for gate in gates:
            if gate.level in ("", level):
                chosen[gate.name, level] = replace(gate, level=level)
    return list(chosen.values())
