"""A rubric: the dimensions that judges score, the scale, which totals pass, and where a record has its fields.

Checked when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import msgspec

from rageval_batch.columnar.strings import is_text
from rageval_batch.dataclass import dataclass
from rageval_batch.resources import packaged_data
from rageval_batch.typed_config import DecodeError, decode

Path = tuple[str, ...]  # the keys from the record to a field; () is the record itself

MOST_ON_SCALE = 100
DEFAULT_RUBRIC: dict[str, Any] = packaged_data("judge_protocol.toml")  # what a rubric does not say stands as it is here
JUDGE, SAMPLE = "judge_model", ("question_id", "prompt_variant", "target_model", "output_id")
KEYS = (JUDGE, *SAMPLE, "method")  # who judged what: a column of the row may say it in place of the record
SCORES, OVERALL, EVIDENCE = "scores", "overall_score", "evidence"
ENTRY = ("dimension", "quote", "reason")  # of an entry of evidence, where it is an object

_TEXTS = (*KEYS, "timestamp")  # fields that may be joined of several
_PATHS = (*_TEXTS, SCORES, OVERALL, "verdict", "flags", EVIDENCE, "notes")
_NOT_ASKED = (*(name for name in _PATHS if name != SCORES), "dimension", "reason")
_JoinedPaths = str | list[str]


class _VerdictTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The table [verdict] of a rubric."""

    fail_max: int
    pass_min: int
    pass_nonzero: list[str] = []


class _RecordTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The table [record] of a rubric: JSON paths of the fields of a record, names of the parts of its evidence."""

    judge_model: _JoinedPaths = "meta.judge_model"
    question_id: _JoinedPaths = "meta.question_id"
    prompt_variant: _JoinedPaths = "meta.prompt_variant"
    target_model: _JoinedPaths = "meta.target_model"
    output_id: _JoinedPaths = "meta.output_id"
    method: _JoinedPaths = "meta.method"
    timestamp: _JoinedPaths = "meta.timestamp"
    scores: str = "scores"
    overall_score: str = "scores.overall_score"
    verdict: str = "verdict"
    flags: str = "flags"
    evidence: str = "evidence"
    notes: str = "notes"
    dimension: str = "dimension"
    quote: str = "quote"
    reason: str = "reason"
    evidence_form: Literal["objects", "map", "texts"] = "objects"
    not_asked: list[str] = []


class _RubricTable(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A whole rubric as it stands in a file."""

    name: str = ""
    dimensions: Annotated[list[str], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: list(DEFAULT_RUBRIC["dimensions"])
    )
    scale_bottom: Annotated[int, msgspec.Meta(ge=0)] = 0
    scale_top: Annotated[int, msgspec.Meta(ge=1, le=MOST_ON_SCALE)] = DEFAULT_RUBRIC["scale_top"]
    evidence_required: bool | msgspec.UnsetType = msgspec.UNSET
    verdict: _VerdictTable | msgspec.UnsetType = msgspec.UNSET
    record: _RecordTable = msgspec.field(default_factory=_RecordTable)


@dataclass(frozen=True)
class RecordForm:
    """Where a record has its fields, which of them judges were asked for, and the form of evidence."""

    paths: Mapping[str, tuple[Path, ...]]  # the texts of several paths are joined by "_"
    named: frozenset[str]  # fields whose path the rubric gives: there a name may be a whole number
    not_asked: frozenset[str]  # neither read nor checked
    _: KW_ONLY
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
    _: KW_ONLY
    evidence_required: bool
    limits: tuple[int, int]  # FAIL up to the first, PASS from the second
    pass_nonzero: tuple[int, ...]  # dimensions that must be above the bottom for a PASS
    record: RecordForm

    @property
    def best(self) -> int:
        """The highest sum."""
        return len(self.dimensions) * self.top


def rubric_of(table: dict[str, Any]) -> Rubric:
    """The rubric of a table without problems."""
    rubric = decode(table, _RubricTable)
    names = rubric.dimensions
    record = _record_form(rubric.record, frozenset(table.get("record", {})))
    verdict = rubric.verdict or _default_verdict(rubric)
    return Rubric(
        tuple(names),
        rubric.scale_bottom,
        rubric.scale_top,
        evidence_required=record.asks(EVIDENCE) and rubric.evidence_required is not False,
        limits=(verdict.fail_max, verdict.pass_min),
        pass_nonzero=tuple(names.index(name) for name in verdict.pass_nonzero),
        record=record,
    )


def _default_verdict(rubric: _RubricTable) -> _VerdictTable:
    """The limits of the default rubric at the same shares of this one's range; the first two dimensions as there."""
    default = DEFAULT_RUBRIC["verdict"]
    best = len(DEFAULT_RUBRIC["dimensions"]) * DEFAULT_RUBRIC["scale_top"]
    least = len(rubric.dimensions) * rubric.scale_bottom
    width = len(rubric.dimensions) * rubric.scale_top - least
    return _VerdictTable(
        fail_max=least + default["fail_max"] * width // best,
        pass_min=least - -default["pass_min"] * width // best,
        pass_nonzero=rubric.dimensions[: len(default["pass_nonzero"])],
    )


def _record_form(table: _RecordTable, keys: frozenset[str]) -> RecordForm:
    """The form of a record; `keys` are those that the rubric gives itself."""
    return RecordForm(
        {name: _split_paths(getattr(table, name)) for name in _PATHS},
        keys.intersection(_PATHS),
        frozenset(table.not_asked),
        evidence_form=table.evidence_form,
        entry={part: getattr(table, part) for part in ENTRY},
    )


def _split_paths(value: str | list[str]) -> tuple[Path, ...]:
    texts = [value] if isinstance(value, str) else value
    return tuple(() if text == "." else tuple(text.split(".")) for text in texts)


# --- what is wrong with a rubric ------------------------------------------------------------------------------------


def rubric_problems(table: dict[str, Any], taken: frozenset[str]) -> list[str]:
    """What is wrong with a rubric, a phrase each; `taken` are names that other columns have, in lower case."""
    try:
        rubric = decode(table, _RubricTable)
    except DecodeError as error:
        return [str(error).rstrip(".")]
    names = rubric.dimensions
    if not all(map(_filled, names)):
        return ["$.dimensions: must be a list of one or more names"]
    problems = []
    lower = [name.lower() for name in names]  # SQL does not tell capitals apart in the names of columns
    if len(set(lower)) < len(lower):
        problems.append("$.dimensions: names one twice")
    problems += [f"dimension '{name}' has the name of another column" for name in names if name.lower() in taken]
    problems += [f"dimension {name!r} has a NUL in it" for name in names if "\0" in name]
    if rubric.scale_bottom >= rubric.scale_top:
        problems.append("$.scale_bottom: must be below 'scale_top'")
    if found := _record_problems(rubric.record, names):
        return problems + found
    required = frozenset(_NOT_ASKED).difference(rubric.record.not_asked)
    if rubric.evidence_required is True and EVIDENCE not in required:
        problems.append("$.evidence_required: is true, but 'record.not_asked' has 'evidence' in it")
    if rubric.verdict is not msgspec.UNSET:
        problems += _verdict_problems(rubric.verdict, names, len(names) * rubric.scale_top)
    return problems


def _verdict_problems(verdict: _VerdictTable, names: list[str], best: int) -> list[str]:
    problems = []
    if not -1 <= verdict.fail_max < verdict.pass_min <= best:
        problems.append(f"$.verdict: must have -1 <= fail_max < pass_min <= {best}")
    if any(name not in names for name in verdict.pass_nonzero):
        problems.append("$.verdict.pass_nonzero: must be a list of names out of 'dimensions'")
    return problems


def _record_problems(record: _RecordTable, dimensions: list[str]) -> list[str]:
    problems = [
        f"$.record.{name}: must be {expected}"
        for name in (*_PATHS, *ENTRY)
        if (expected := _expected_path(name, getattr(record, name)))
    ]
    if any(name not in _NOT_ASKED for name in record.not_asked):
        problems.append(f"$.record.not_asked: must be a list of names out of {', '.join(_NOT_ASKED)}")
    if problems:
        return problems
    form = _record_form(record, frozenset())
    for name, paths in form.paths.items():
        for dimension in dimensions:
            if name != SCORES and form.asks(name) and (*form.path(SCORES), dimension) in paths:
                problems.append(f"dimension '{dimension}' stands where 'record.{name}' does")
    return problems


def _expected_path(name: str, value: str | list[str]) -> str | None:
    """What a value of the table [record] has to be, where it is not that."""
    if name in ENTRY:
        return None if _filled(value) else "the name of a part of an entry of evidence"
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
