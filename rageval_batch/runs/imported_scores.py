"""Scores that another tool computed: a file of run_id, question_id and numbers as the job of a profile of its own.

The profile is a profile file that is written here, with a metric for every column of numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace

import numpy as np
import polars as pl
import pyarrow as pa

from rageval_batch.columnar.strings import Flags, Offsets
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.inputs import readers
from rageval_batch.inputs.outputs import KNOWN_FIELDS
from rageval_batch.inputs.sources import Source, frame_source
from rageval_batch.model.schemas import QUESTION_ID
from rageval_batch.profiles.files.imported import number_expression
from rageval_batch.profiles.files.names import SQL_WORDS, check_column_name
from rageval_batch.profiles.files.program import LARGEST, SMALLEST
from rageval_batch.profiles.registry import known_profiles, profile_of_text
from rageval_batch.runs.job import Job

_SHOWN = 10  # columns that a sentence names
_NO_NAME = re.compile(r"\W+", re.ASCII)


@dataclass
class _Some:
    """How many values are of a kind, and where the first of them stands and what it is."""

    count: int = 0
    first: str = ""


@dataclass
class _Numbers:
    """What is known of a column: how many of its values are numbers and how many are not, and the greatest."""

    high: float = float("-inf")
    numbers: int = 0
    _: KW_ONLY
    texts: _Some = field(default_factory=_Some)
    too_large: _Some = field(default_factory=_Some)  # for sums
    too_small: _Some = field(default_factory=_Some)  # for sums of all their digits


@dataclass
class _Seen:
    """What a first reading of the files finds: the columns, and the questions."""

    columns: dict[str, _Numbers] = field(default_factory=dict)  # that have a short value in any row
    others: set[str] = field(default_factory=set)  # that have a long one, or a list or object
    named: set[str] = field(default_factory=set)  # of tables, be they null
    _: KW_ONLY
    questions: set[str] = field(default_factory=set)


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What the user says of the scores."""

    name: str = "imported"  # of the profile
    score: str | None = None  # the column that is the score
    top: float | None = None  # the best score
    lower: tuple[str, ...] = ()  # columns of which less is better
    run_id: str | None = None  # of rows that name no run


def import_job(files: list[Source], questions: list[Source], options: ImportOptions) -> tuple[Job, list[str]]:
    """(the job that makes a run of scores from another tool, what to tell of the columns); without questions those of
    the rows are the eval set."""
    if options.run_id is not None:
        files = [replace(file, stem=options.run_id) for file in files]
    seen = _scan_columns(files)
    _check_numbers(seen.columns, {*options.lower, options.score})
    names = {column: _metric_name(column) for column, found in seen.columns.items() if not found.texts.count}
    if not names:
        raise InputError(f"{files[0].name} has no column of numbers beside its keys. See rageval import-scores --help.")
    if options.name in known_profiles():
        raise InputError(f"--name {options.name}: that is a profile already. Give the scores another name.")
    text = _profile_text(names, seen.columns, options)
    profile = profile_of_text(text, f"scores of {files[0].name}")
    own = not questions
    if own:
        questions = [frame_source(pa.table({QUESTION_ID[0]: sorted(seen.questions)}), "questions")]
    job = Job(profile=profile, params={}, outputs=files, questions=questions, keep_inputs=own)
    return job, _notes(seen, names)


def _notes(seen: _Seen, names: Mapping[str, str]) -> list[str]:
    """What becomes of columns, where their user may not expect it, in sentences."""
    notes = []
    renamed = [f"{column!r} is {name}" for column, name in names.items() if name != column]
    if renamed:
        notes.append(f"WARNING: columns have other names as metrics: {_few(renamed)}.")
    valued = seen.columns.keys() | seen.others
    empty = [column for column, found in seen.columns.items() if not found.numbers and not found.texts.count]
    for what, columns in (
        ("columns that are no numbers are left out", sorted(valued - names.keys())),
        ("columns have no value in any row", sorted({*empty, *(seen.named - valued)})),
    ):
        if columns:
            notes.append(f"WARNING: {what}: {_few([repr(column) for column in columns])}.")
    for column in names:
        found = seen.columns[column]
        for some, what, unit in (
            (found.too_large, f"count as null, as sums hold none beyond {LARGEST:,.0f}, either side of 0", "larger"),
            (found.too_small, f"lose digits in sums, which have 18 decimal places: below {SMALLEST:g}", "smaller"),
        ):
            if some.count:
                notes.append(
                    f"WARNING: {some.count:,} of {found.numbers:,} values of the column {column!r} {what}. "
                    f"The first is {some.first}. Give the column in a {unit} unit."
                )
    return notes


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
    return f"{', '.join(texts[:_SHOWN])}{more}"


def _scan_columns(files: Iterable[Source]) -> _Seen:
    seen = _Seen()
    for file in files:
        for block in readers.read_blocks(file):
            ids = block.field(QUESTION_ID).text
            seen.questions.update(name for name in ids.unique().to_pylist() if name)
            for column in block.others(KNOWN_FIELDS):
                short = column.short()
                if len(short.text) < len(column.text):
                    seen.others.add(column.name)
                if len(short.text):
                    _count_numbers(
                        seen.columns.setdefault(column.name, _Numbers()), short.text, block.lines[short.rows], file=file
                    )
            seen.named |= block.names - KNOWN_FIELDS
    return seen


def _check_numbers(columns: Mapping[str, _Numbers], chosen: Container[str | None]) -> None:
    """InputError for a value that is no number in a column of numbers: most of its values are, or the user names it."""
    for column, found in columns.items():
        texts = found.texts.count
        if texts and (found.numbers >= texts or column in chosen):
            others = f" ({texts:,} of {found.numbers + texts:,} values are none)" if texts > 1 else ""
            raise InputError(
                f"{found.texts.first} in the column {column} is no number{others}. Correct it, or leave the cell empty."
            )


def _count_numbers(found: _Numbers, texts: pa.Array, lines: Offsets, *, file: Source) -> None:
    values = pl.Series(pl.from_arrow(texts)).cast(pl.String).str.strip_chars().str.to_lowercase()
    there = (values != "").to_numpy()
    numbers = values.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)
    bad = there & numbers.is_null().to_numpy()
    size = np.abs(numbers.fill_null(0.0).to_numpy())

    def count(some: _Some, which: Flags) -> None:
        places = np.flatnonzero(which)
        if len(places) and not some.count:
            some.first = f"{file.name}, line {lines[places[0]]}: '{texts[int(places[0])].as_py()}'"
        some.count += len(places)

    found.numbers += int(np.count_nonzero(there & ~bad))
    count(found.texts, bad)
    count(found.too_large, np.isfinite(size) & (size > LARGEST))
    count(found.too_small, (size > 0) & (size < SMALLEST))
    finite = numbers.filter(numbers.is_finite().fill_null(False))
    if len(finite):
        found.high = max(found.high, float(finite.max()))  # type: ignore[arg-type]


def _metric_name(column: str) -> str:
    """A column's name as that of a metric: lower case, with _ for what no name may have."""
    name = _NO_NAME.sub("_", column.lower()).strip("_") or "column"
    if name == "score":
        return name
    name = f"_{name}" if name[0].isdigit() else name
    name = f"{name}_value" if name in SQL_WORDS or name in ("output", "chunks") else name
    if name == "weight":
        raise InputError(
            f"The column {column}: weights are those of the questions. Leave the column out, or rename it if it is "
            "a metric. With -q FILE, whose questions have a `weight`, the view run_summary has a weighted_mean beside "
            "the mean, which the score of imported scores is."
        )
    check_column_name(name, f"the column {column}")
    return name


def _profile_text(names: Mapping[str, str], columns: Mapping[str, _Numbers], options: ImportOptions) -> str:
    """The profile file of the columns: the same for all files with these columns, so that their runs compare."""
    doubled = [name for name in names.values() if list(names.values()).count(name) > 1]
    if doubled:
        raise InputError(f"Several columns would be the metric '{doubled[0]}'. Rename one of them.")
    score = _score_column(list(names), options.score)
    if score in options.lower:  # a missing answer has the score 0, which would be the best
        raise InputError(
            f"--lower {score}: of the score, more is better. Give --score with a column of which more is better, and "
            "compare runs by this one with --metric; or turn its values round in the file."
        )
    top = options.top
    if top is None:
        if columns[score].high > 1:
            raise InputError(f"{score} goes up to {columns[score].high:g}. Say which score is the best with --top N.")
        top = 1.0
    for column in options.lower:
        if column not in names:
            raise InputError(f"--lower: {did_you_mean('column', column, list(names))}")
    metrics = []
    for column, name in names.items():
        if name == "score":
            continue
        higher = "false" if column in options.lower else "true"
        metrics.append(
            f"{name} = {{ expr = {_toml(number_expression(column))}, doc = {_toml(f'the column {column}')}, "
            f"higher_is_better = {higher}, scale = 0.0 }}"
        )
    own = number_expression(score) if names[score] == "score" else names[score]
    lines = [
        f"name = {_toml(options.name)}",
        'title = "Scores that another tool computed"',
        f"output_members = [{', '.join(map(_toml, names))}]",
        f"score = {{ expr = {_toml(own)}, top = {top!r}, doc = {_toml(f'the column {score}')} }}",
        "[metrics]",
        *metrics,
    ]
    return "\n".join(lines) + "\n"


def _score_column(columns: Sequence[str], chosen: str | None) -> str:
    if chosen is not None:
        if chosen not in columns:
            raise InputError(f"--score: {did_you_mean('column', chosen, list(columns))}")
        return chosen
    named = [column for column in columns if column.lower() == "score"] or list(columns)
    if len(named) > 1:
        raise InputError(f"Which column is the score? Give --score with one of {', '.join(columns)}.")
    return named[0]


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
