"""A rubric: the dimensions that judges score, the scale, which totals pass, and where a record has its fields.

Checked when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rageval_batch.columnar.strings import is_text

Path = tuple[str, ...]  # the keys from the record to a field; () is the record itself

MOST_ON_SCALE = 100
JUDGE, SAMPLE = "judge_model", ("question_id", "prompt_variant", "target_model", "output_id")
KEYS = (JUDGE, *SAMPLE, "method")  # who judged what: a column of the row may say it in place of the record
SCORES, OVERALL, EVIDENCE = "scores", "overall_score", "evidence"
FORMS = ("objects", "map", "texts")

_KEYS = ("name", "dimensions", "scale_bottom", "scale_top", "evidence_required", "verdict", "record")
_VERDICT_KEYS = ("fail_max", "pass_min", "pass_nonzero")
_TEXTS = (*KEYS, "timestamp")  # fields that may be joined of several
_DEFAULT_PATHS: dict[str, tuple[Path, ...]] = {
    **{name: (("meta", name),) for name in _TEXTS},
    SCORES: (("scores",),),
    OVERALL: (("scores", OVERALL),),
    **{name: ((name,),) for name in ("verdict", "flags", EVIDENCE, "notes")},
}
ENTRY = ("dimension", "quote", "reason")  # of an entry of evidence, where it is an object
_NOT_ASKED = (*(name for name in _DEFAULT_PATHS if name != SCORES), "dimension", "reason")
_RECORD_KEYS = (*_DEFAULT_PATHS, *ENTRY, "evidence_form", "not_asked")


@dataclass(frozen=True)
class RecordForm:
    """Where a record has its fields, which of them judges were asked for, and the form of evidence."""

    paths: Mapping[str, tuple[Path, ...]]  # the texts of several paths are joined by "_"
    named: frozenset[str]  # fields whose path the rubric gives: there a name may be a whole number
    not_asked: frozenset[str]  # neither read nor checked
    evidence_form: str
    entry: Mapping[str, str]  # what the parts of an entry are called

    def asks(self, name: str) -> bool:
        """Whether judges were asked for the field."""
        return name not in self.not_asked

    def path(self, name: str) -> Path:
        """The one path of a field that is not joined."""
        return self.paths[name][0]

    @property
    def entry_parts(self) -> tuple[str, ...]:
        """The parts that an entry of evidence needs, where it is an object."""
        return tuple(part for part in ENTRY if self.asks(part))

    @property
    def by_dimension(self) -> bool:
        """Whether evidence says which dimension it is for."""
        return self.evidence_form == "map" or (self.evidence_form == "objects" and self.asks("dimension"))

    @property
    def beside_scores(self) -> tuple[str, ...]:
        """Keys of the object of scores that other fields stand under."""
        scores = self.path(SCORES)
        paths = (path for paths in self.paths.values() for path in paths if len(path) > len(scores))
        return tuple(dict.fromkeys(path[len(scores)] for path in paths if path[: len(scores)] == scores))


@dataclass(frozen=True)
class Rubric:
    """Dimensions in the order of their columns, each from `bottom` to `top`; limits of their sum."""

    dimensions: tuple[str, ...]
    bottom: int
    top: int
    evidence_required: bool
    limits: tuple[int, int] | None  # FAIL up to the first, PASS from the second; None: there is no verdict
    pass_nonzero: tuple[int, ...]  # dimensions that must be above the bottom for a PASS
    record: RecordForm

    @property
    def best(self) -> int:
        """The highest sum."""
        return len(self.dimensions) * self.top


def rubric_of(table: dict[str, Any]) -> Rubric:
    """The rubric of a table without problems."""
    names = tuple(table["dimensions"])
    verdict = table.get("verdict")
    record = _record_of(table.get("record", {}))
    return Rubric(
        names,
        table.get("scale_bottom", 0),
        table["scale_top"],
        record.asks(EVIDENCE) and table.get("evidence_required", True),
        (verdict["fail_max"], verdict["pass_min"]) if verdict else None,
        tuple(names.index(name) for name in verdict.get("pass_nonzero", [])) if verdict else (),
        record,
    )


def _record_of(table: dict[str, Any]) -> RecordForm:
    given = {name: _paths(table[name]) for name in _DEFAULT_PATHS if name in table}
    return RecordForm(
        {**_DEFAULT_PATHS, **given},
        frozenset(given),
        frozenset(table.get("not_asked", [])),
        table.get("evidence_form", FORMS[0]),
        {part: table.get(part, part) for part in ENTRY},
    )


def _paths(given: str | list[str]) -> tuple[Path, ...]:
    texts = [given] if isinstance(given, str) else given
    return tuple(() if text == "." else tuple(text.split(".")) for text in texts)


# --- what is wrong with a rubric ------------------------------------------------------------------------------------


def rubric_problems(table: dict[str, Any], taken: frozenset[str]) -> list[str]:
    """What is wrong with a rubric, a phrase each; `taken` are names that other columns have, in lower case."""
    problems = [f"unknown key '{key}'" for key in table if key not in _KEYS]
    if not isinstance(table.get("name", ""), str):
        problems.append("'name' must be a text")
    names = table.get("dimensions")
    if not isinstance(names, list) or not names or not all(_filled(name) for name in names):
        return [*problems, "'dimensions' must be a list of one or more names"]
    lower = [name.lower() for name in names]  # SQL does not tell capitals apart in the names of columns
    if len(set(lower)) < len(lower):
        problems.append("'dimensions' names one twice")
    problems += [f"dimension '{name}' has the name of another column" for name in names if name.lower() in taken]
    problems += [f"dimension {name!r} has a NUL in it" for name in names if "\0" in name]
    top: Any = table.get("scale_top")
    if not _whole(top) or not 1 <= top <= MOST_ON_SCALE:
        return [*problems, f"'scale_top' must be a whole number from 1 to {MOST_ON_SCALE}"]
    bottom: Any = table.get("scale_bottom", 0)
    if not _whole(bottom) or not 0 <= bottom < top:
        problems.append("'scale_bottom' must be a whole number from 0 and below 'scale_top'")
    if not isinstance(table.get("evidence_required", True), bool):
        problems.append("'evidence_required' must be true or false")
    found = _record_problems(table.get("record", {}), names)
    if found:
        return problems + found
    record = _record_of(table.get("record", {}))
    if table.get("evidence_required") is True and not record.asks(EVIDENCE):
        problems.append("'evidence_required' is true, but 'record.not_asked' has 'evidence' in it")
    if "verdict" not in table and not record.asks("verdict"):
        return problems
    return problems + _verdict_problems(table.get("verdict"), names, len(names) * top)


def _verdict_problems(verdict: Any, names: list[str], best: int) -> list[str]:
    if verdict is None:
        return ["the table [verdict] is missing; without one, 'record.not_asked' must have 'verdict' in it"]
    if not isinstance(verdict, dict):
        return ["'verdict' must be a table"]
    problems = [f"unknown key 'verdict.{key}'" for key in verdict if key not in _VERDICT_KEYS]
    low: Any = verdict.get("fail_max")
    high: Any = verdict.get("pass_min")
    if not _whole(low) or not _whole(high) or not -1 <= low < high <= best:
        problems.append(
            f"'verdict.fail_max' and 'verdict.pass_min' must be whole numbers with -1 <= fail_max < pass_min <= {best}"
        )
    needed = verdict.get("pass_nonzero", [])
    if not isinstance(needed, list) or any(name not in names for name in needed):
        problems.append("'verdict.pass_nonzero' must be a list of names out of 'dimensions'")
    return problems


def _record_problems(record: Any, dimensions: list[str]) -> list[str]:
    if not isinstance(record, dict):
        return ["'record' must be a table"]
    problems = [f"unknown key 'record.{key}'" for key in record if key not in _RECORD_KEYS]
    problems += [f"'record.{name}' must be {wanted}" for name in record if (wanted := _wanted_path(name, record[name]))]
    if record.get("evidence_form", FORMS[0]) not in FORMS:
        problems.append(f"'record.evidence_form' must be one of {', '.join(FORMS)}")
    without = record.get("not_asked", [])
    if not isinstance(without, list) or any(name not in _NOT_ASKED for name in without):
        problems.append(f"'record.not_asked' must be a list of names out of {', '.join(_NOT_ASKED)}")
    if problems:
        return problems
    form = _record_of(record)
    for name, paths in form.paths.items():
        for dimension in dimensions:
            if name != SCORES and form.asks(name) and (*form.path(SCORES), dimension) in paths:
                problems.append(f"dimension '{dimension}' stands where 'record.{name}' does")
    return problems


def _wanted_path(name: str, value: Any) -> str | None:
    """What a value of the table [record] has to be, where it is not that."""
    if name in ENTRY:
        return None if _filled(value) else "the name of a part of an entry of evidence"
    if name not in _DEFAULT_PATHS:
        return None
    if name == SCORES:
        return None if value == "." or _is_path(value) else "a JSON path like 'a.b', or '.' for the record itself"
    if name not in _TEXTS:
        return None if _is_path(value) else "a JSON path like 'a.b'"
    listed = value if isinstance(value, list) else [value]
    return None if listed and all(map(_is_path, listed)) else "a JSON path like 'a.b', or a list of such paths"


def _is_path(value: Any) -> bool:
    return is_text(value) and all(key.strip() for key in value.split("."))


def _filled(value: Any) -> bool:
    return is_text(value) and bool(value.strip())


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
