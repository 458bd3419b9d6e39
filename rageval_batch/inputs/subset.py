"""A stratified subset of an eval set: the same on every machine, whatever the order of the input."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rageval_batch.columnar.json_numbers import value_text
from rageval_batch.errors import InputError, did_you_mean
from rageval_batch.inputs import eval_sets, readers
from rageval_batch.inputs.readers import Block
from rageval_batch.inputs.sources import Source
from rageval_batch.model.schemas import EvalSet, value_at


def stratum(question: dict[str, Any], fields: Sequence[str]) -> tuple[str, ...]:
    """The values of dotted keys of a question as texts, empty where it has none; of `a|b` the first that has one."""
    return tuple(
        next((text for path in field.split("|") if (text := _as_text(value_at(question, path)))), "")
        for field in fields
    )


def _as_text(value: Any) -> str:
    return "" if value is None else value_text(value)


def _require_fields(eval_set: EvalSet, fields: Sequence[str]) -> None:
    """InputError where no question has one of the fields: it would stratify nothing."""
    for field in fields:
        if not any(stratum(question, [field])[0] for question in eval_set.objects):
            names = sorted({name for question in eval_set.objects for name in question})
            raise InputError(did_you_mean("field of the questions in --by", field, names))


def tested(eval_set: EvalSet) -> list[int]:
    """The indices of the questions that test something: all but those with an empty list of ids, or whose judged ids
    have no grade above 0."""
    return [
        index
        for index, question in enumerate(eval_set.objects)
        if question.get("gold_ids") != [] and _has_relevant(question.get("gold"))
    ]


def _has_relevant(gold: Any) -> bool:
    """Whether graded ids have one to find; true of what are no graded ids."""
    if not isinstance(gold, list) or not all(isinstance(item, dict) for item in gold):
        return True
    grades = [item.get("grade", 1) for item in gold]
    return any(not isinstance(grade, int | float) or grade > 0 for grade in grades)


def choose(
    eval_set: EvalSet, size: int, seed: int, *, fields: Sequence[str], among: Sequence[int] | None = None
) -> list[int]:
    """The indices of the chosen questions, in the order of the eval set; `among`: of these questions alone."""
    allowed = range(len(eval_set)) if among is None else among
    if not 1 <= size <= len(allowed):
        raise InputError(f"--size {size} is not possible: the eval set has {len(allowed)} questions.")
    strata: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for index in allowed:
        strata[stratum(eval_set.objects[index], fields)].append(index)
    ordered = sorted(strata, key=lambda key: (-len(strata[key]), key))
    quota = _quotas([len(strata[key]) for key in ordered], size)
    chosen: list[int] = []
    for key, count in zip(ordered, quota, strict=True):
        ranked = sorted(strata[key], key=lambda index: _rank(seed, eval_set.ids[index]))
        chosen += ranked[:count]
    return sorted(chosen)


def _rank(seed: int, name: str) -> tuple[str, str]:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest(), name


def _quotas(sizes: list[int], total: int) -> list[int]:
    """One of each stratum in order while they last, the rest by largest remainder of what is left, ties in order."""
    quota = [1 if k < total else 0 for k in range(len(sizes))]
    rest = total - sum(quota)
    left = [size - taken for size, taken in zip(sizes, quota, strict=True)]
    total = sum(left)
    if rest == 0 or total == 0:
        return quota
    floors = [rest * size // total for size in left]
    order = sorted(range(len(sizes)), key=lambda k: (-(rest * left[k] % total), k))
    for k, floor in enumerate(floors):
        quota[k] += floor
    for k in order[: rest - sum(floors)]:
        quota[k] += 1
    return quota


def chosen_questions(
    file: Source,
    *,
    size: int | None,
    seed: int,
    fields: Sequence[str],
    required: bool = False,
    only_tested: bool = False,
) -> Chosen:
    """The questions of a file that are chosen.

    `size`: how many, None for all; `fields`: what the choice is stratified over, `required` makes one that no question
    has an InputError; `only_tested` leaves out questions that test nothing.
    """
    eval_set = eval_sets.read_questions([file])
    if required:
        _require_fields(eval_set, fields)
    among = tested(eval_set) if only_tested else list(range(len(eval_set)))
    if not among:
        raise InputError(f"{file.name}: no question of it tests anything.")
    places = among if size is None else choose(eval_set, size, seed, fields=fields, among=among)
    kept = set(among)
    untested = [name for place, name in enumerate(eval_set.ids) if place not in kept]
    return Chosen(places, [eval_set.ids[place] for place in places], untested)


class Chosen(NamedTuple):
    """Questions of a file: their indices and ids, and the ids of those that test nothing and were left out."""

    places: list[int]
    ids: list[str]
    untested: list[str]


def write_subset(file: Source, target: Path, chosen: Chosen) -> None:
    """Write the chosen questions in the input's order and form."""
    places = set(chosen.places)
    if file.format == "parquet":
        _write_parquet(file, places, target)
        return
    if file.format == "jsonl":
        content = "".join(row + "\n" for row in _raw_rows(readers.read_blocks(file), places))
    elif file.format == "json":
        document = readers.read_document(file)
        array = "[\n" + ",\n".join(_raw_rows(document.blocks(), places)) + "\n]\n"
        header = document.header()
        content = array if not header else _with_header(header, array)
    elif file.format == "qrels":
        content = _judgements(file, set(chosen.ids))
    else:
        raise InputError(
            f"{file.name}: a subset is made of .json, .jsonl, .parquet or .qrels files, not of {file.format}."
        )
    target.write_text(content, encoding="utf-8", newline="")


def _judgements(file: Source, ids: set[str]) -> str:
    """The lines of a qrels file that are of these queries."""
    with file.open() as stream:
        lines = stream.read().decode("utf-8-sig").split("\n")
    return "".join(f"{line}\n" for line in lines if (words := line.split()) and words[0] in ids)


def _raw_rows(blocks: Iterator[Block], chosen: set[int]) -> list[str]:
    """The raw text of the rows with these indices."""
    rows = ((block, row) for block in blocks for row in range(len(block)))
    return [block.raw(row) for index, (block, row) in enumerate(rows) if index in chosen]


def _with_header(header: dict[str, Any], array: str) -> str:
    opened = json.dumps(header, ensure_ascii=False, indent=1).removesuffix("}").rstrip()
    return f'{opened},\n "questions": {array}}}\n'


def _write_parquet(file: Source, chosen: set[int], target: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(file.path, partitioning=None)
    pq.write_table(table.take(sorted(chosen)), target)
