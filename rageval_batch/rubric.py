"""A rubric: the dimensions that judges score, the scale, and which totals pass. Checked when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_ON_SCALE = 100
_KEYS = ("name", "dimensions", "scale_top", "evidence_required", "verdict")
_VERDICT_KEYS = ("fail_max", "pass_min", "pass_nonzero")


@dataclass(frozen=True)
class Rubric:
    """Dimensions in the order of their columns, each from 0 to `top`; limits of their sum."""

    dimensions: tuple[str, ...]
    top: int
    evidence_required: bool
    fail_max: int
    pass_min: int
    pass_nonzero: tuple[int, ...]  # dimensions that must not be 0 for a PASS

    @property
    def best(self) -> int:
        """The highest sum."""
        return len(self.dimensions) * self.top


def rubric_of(table: dict[str, Any]) -> Rubric:
    """The rubric of a table without problems."""
    names = tuple(table["dimensions"])
    verdict = table["verdict"]
    return Rubric(
        names,
        table["scale_top"],
        table.get("evidence_required", True),
        verdict["fail_max"],
        verdict["pass_min"],
        tuple(names.index(name) for name in verdict.get("pass_nonzero", [])),
    )


def rubric_problems(table: dict[str, Any], taken: frozenset[str]) -> list[str]:
    """What is wrong with a rubric, a phrase each; `taken` are names that other columns have, in lower case."""
    problems = [f"unknown key '{key}'" for key in table if key not in _KEYS]
    if not isinstance(table.get("name", ""), str):
        problems.append("'name' must be a text")
    names = table.get("dimensions")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name.strip() for name in names):
        return [*problems, "'dimensions' must be a list of one or more names"]
    lower = [name.lower() for name in names]  # SQL does not tell capitals apart in the names of columns
    if len(set(lower)) < len(lower):
        problems.append("'dimensions' names one twice")
    problems += [f"dimension '{name}' has the name of another column" for name in names if name.lower() in taken]
    problems += [f"dimension {name!r} has a NUL in it" for name in names if "\0" in name]
    top: Any = table.get("scale_top")
    if not _whole(top) or not 1 <= top <= MOST_ON_SCALE:
        return [*problems, f"'scale_top' must be a whole number from 1 to {MOST_ON_SCALE}"]
    if not isinstance(table.get("evidence_required", True), bool):
        problems.append("'evidence_required' must be true or false")
    return problems + _verdict_problems(table.get("verdict"), names, len(names) * top)


def _verdict_problems(verdict: Any, names: list[str], best: int) -> list[str]:
    if not isinstance(verdict, dict):
        return ["the table [verdict] is missing"]
    problems = [f"unknown key 'verdict.{key}'" for key in verdict if key not in _VERDICT_KEYS]
    low: Any = verdict.get("fail_max")
    high: Any = verdict.get("pass_min")
    if not _whole(low) or not _whole(high) or not -1 <= low < high <= best:
        problems.append(f"verdict limits must be whole numbers with -1 <= fail_max < pass_min <= {best}")
    needed = verdict.get("pass_nonzero", [])
    if not isinstance(needed, list) or any(name not in names for name in needed):
        problems.append("'verdict.pass_nonzero' must be a list of names out of 'dimensions'")
    return problems


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
