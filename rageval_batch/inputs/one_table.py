"""Questions out of rows that carry them: one table with questions, references and answers needs no question file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar.json_numbers import written_float, written_int, written_json
from rageval_batch.columnar.strings import LARGE_STRING, Flags
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.check import Violation, question_fields, refusal, violations
from rageval_batch.inputs.outputs import KNOWN_FIELDS, columns_seen, read_keys
from rageval_batch.inputs.questions import QuestionFile, cell_value, shown_json
from rageval_batch.inputs.readers import NOTHING, TEXT, Block
from rageval_batch.inputs.readers.mapped import MappedBlock
from rageval_batch.inputs.reading import Reading
from rageval_batch.inputs.sources import Source
from rageval_batch.model import OutputField, Profile
from rageval_batch.model.schemas import EXPECTED, EXPECTED_NAMES, OUTPUT, OUTPUT_NAMES, QUESTION, QUESTION_ID

_GROUPS = (QUESTION_ID, QUESTION, EXPECTED_NAMES)
# Names of texts that are not read as answers, but show that another column may not be the answer.
_ALSO_ANSWERS = (
    "generated", "generated_text", "generation", "hypothesis", "llm_answer", "llm_output", "model_answer",
    "model_response", "pred", "predicted", "predicted_answer", "predictions",
)  # fmt: skip
_NAME = "questions"


@dataclass(frozen=True)
class OneTable:
    """Output files whose rows are known to carry their questions, the questions as a file, and what to tell a user."""

    outputs: list[Source]
    questions: Source
    notes: list[str]


def take_questions(files: Sequence[Source], profile: Profile, folder: Path) -> OneTable:
    """The questions of the rows of files, each once, as a file in the folder.

    InputError where rows carry none, where two rows of a question differ, and where a question is bad.
    """
    fields = fields_of(profile)
    taken = {names[-1] for names in fields.values()} | {name for names in fields.values() for name in names}
    outputs = [replace(file, reading=_with_aliases(file.reading, profile, taken)) for file in files]
    found = _Questions(outputs, profile, fields)
    for number, (given, file) in enumerate(zip(files, outputs, strict=True)):
        said = OUTPUT[0] in given.reading.fields
        possible = () if said else _free_names((*OUTPUT_NAMES, *_ALSO_ANSWERS), given.reading, profile, taken=taken)
        for block in readers.read_blocks(file):
            _refuse_two_answers(file, block, possible)
            found.add(number, _mapped(file, block))
    questions = found.checked()
    path = folder / f"{_NAME}.jsonl"
    path.write_text("".join(written_json(question) + "\n" for question in questions), "utf-8", newline="")
    source = Source(path.name, path, "jsonl", compression=None, stem=_NAME, reading=Reading(derived=True))
    notes = [f"No -q: the {len(questions):,} questions are taken from the rows."]
    if found.by_text:
        notes.append("Rows without an id: the hash of the question's text is the id.")
    if found.unread:
        notes.append(
            f"WARNING: {found.unread:,} rows cannot be read; a question that only they have is not in the eval set, "
            "and no score counts it."
        )
    return OneTable(outputs, source, notes)


def _mapped(file: Source, block: Block) -> Block:
    return block if isinstance(block, MappedBlock) else MappedBlock(block, file.reading, file.run)


def fields_of(profile: Profile) -> dict[str, tuple[str, ...]]:
    """The fields of a question, and the names of a row that stand for each, the first first."""
    out: dict[str, tuple[str, ...]] = {}
    known = list(question_fields(profile).members)
    for names in _GROUPS:
        mine = [name for name in names if name in known]
        if mine or names is QUESTION:  # rows of one question must agree in its text, whether it is scored or not
            mine = mine or [names[0]]
            out[mine[0]] = (*mine, *(name for name in names if name not in mine))
    grouped = {name for names in _GROUPS for name in names}
    return {**out, **{name: (name,) for name in known if name not in grouped}}


def _with_aliases(reading: Reading, profile: Profile, taken: set[str]) -> Reading:
    """The reading of a table: answers under more names, unless these are fields of a question or of the answer."""
    names = _free_names(OUTPUT_NAMES, reading, profile, taken=taken)
    return replace(
        reading, fields={OUTPUT[0]: names, **reading.fields}, id_from_question=QUESTION_ID[0] not in reading.fields
    )


def _free_names(names: tuple[str, ...], reading: Reading, profile: Profile, *, taken: set[str]) -> tuple[str, ...]:
    """Those of the names that are no field of a question or of the answer, and that no map gives to another field."""
    mapped = {path for field, paths in reading.fields.items() if field != OUTPUT[0] for path in paths}
    own = {field.name for field in getattr(profile.inputs, "output_fields", ())} | taken | mapped
    return tuple(name for name in names if name not in own)


def _refuse_two_answers(file: Source, block: Block, possible: tuple[str, ...]) -> None:
    """InputError where two columns that can be the answer differ in a row: one of them may be the reference."""
    columns = [column for column in block.others(frozenset()) if column.name in possible]
    columns = [one for one in columns if one.name in OUTPUT_NAMES or bool((one.kind == TEXT).any())]
    columns.sort(key=lambda one: possible.index(one.name))
    for first, second in combinations(columns, 2):
        _, left, right = np.intersect1d(first.rows, second.rows, assume_unique=True, return_indices=True)
        one, other = first.text.take(pa.array(left)), second.text.take(pa.array(right))
        blank = pc.or_(pc.equal(pc.utf8_trim_whitespace(one), ""), pc.equal(pc.utf8_trim_whitespace(other), ""))
        row = pc.index(pc.and_not(pc.not_equal(one, other), blank), pa.scalar(True)).as_py()
        if row >= 0:
            names = [column.name for column in columns]
            raise InputError(
                f"{file.name}, line {block.lines[first.rows[left[row]]]}: {' and '.join(names)} can each be the "
                f"answer, and they differ: {first.name} has {shown_json(one[row].as_py())}, "
                f"{second.name} has {shown_json(other[row].as_py())}. Nothing was scored. "
                f"Say which it is: {' or '.join(f'--map output={name}' for name in names)}."
            )


class _Questions:
    """What the rows say of their questions, gathered block by block."""

    def __init__(self, files: list[Source], profile: Profile, fields: Mapping[str, tuple[str, ...]]) -> None:
        self._files, self._profile, self._fields = files, profile, fields
        self._names = question_fields(profile)
        self._found: pl.DataFrame | None = None
        self._columns: dict[str, None] = {}  # names that rows have
        self._unknown: set[str] = set()  # of those, neither of a question nor of an answer
        self.by_text = False
        self.unread = 0  # rows that cannot be read, and with them their questions

    def add(self, number: int, block: Block) -> None:
        """Note the questions of a block of the file with that number."""
        known = frozenset(name for names in self._fields.values() for name in names)
        there = [column.name for column in block.others(frozenset())]
        self._columns.update(dict.fromkeys(there))
        self._unknown.update(name for name in there if name not in known | KNOWN_FIELDS | used_names(block))
        ids, bad = read_keys(block.field(QUESTION_ID), None)
        mapped = QUESTION_ID[0] in self._files[number].reading.fields
        self.by_text |= not mapped and bool((~bad & _without_id(block)).any())
        self.unread += len(block.row_errors)
        columns: dict[str, Any] = {
            "id": pl.from_arrow(ids),
            "file": np.full(len(block), number),
            "line": block.lines,
        }
        for name, names in self._fields.items():
            if names[0] not in QUESTION_ID:
                value = _first_value(block, self._files[number].reading, names)
                columns[f"={name}"] = pl.Series([None] * len(block), dtype=pl.String) if value is None else value
        frame = pl.DataFrame(columns).filter(pl.col("id").is_not_null())
        whole = frame if self._found is None else pl.concat([self._found, frame])
        self._found = self._one_each(whole)

    def _one_each(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The first row of each question with what later rows add; InputError where two rows differ."""
        columns = [name for name in frame.columns if name.startswith("=")]
        differing = frame.group_by("id").agg(pl.col(name).drop_nulls().n_unique() for name in columns)
        differing = differing.filter(pl.any_horizontal(pl.col(name) > 1 for name in columns))
        if len(differing):
            self._check_same(frame, columns, differing["id"].to_list())
        return frame.group_by("id", maintain_order=True).agg(
            pl.col("file").first(), pl.col("line").first(), *(pl.col(name).drop_nulls().first() for name in columns)
        )

    def _check_same(self, frame: pl.DataFrame, columns: list[str], ids: list[str]) -> None:
        """InputError for the first question of which two rows say different things, however they are written."""
        for row_id in ids:
            rows = frame.filter(pl.col("id") == row_id).to_dicts()
            for name in columns:
                there = [row for row in rows if row[name] is not None]
                other = next((row for row in there if _json_value(row[name]) != _json_value(there[0][name])), None)
                if other is not None:
                    first = there[0]
                    raise InputError(
                        f"Question '{row_id}' has two values of {name[1:]}: "
                        f"{self._where(first)} has {shown_json(_json_value(first[name]))}, "
                        f"{self._where(other)} has {shown_json(_json_value(other[name]))}. "
                        "Rows of one question must agree, or give the questions with -q."
                    )

    def _where(self, row: Mapping[str, Any]) -> str:
        return f"{self._files[row['file']].name}, line {row['line']}"

    def checked(self) -> list[dict[str, Any]]:
        """All questions in the order of their ids; InputError where there is none or one is bad."""
        rows = [] if self._found is None else self._found.to_dicts()
        scored_fields = [name for name in self._fields if name not in (*QUESTION_ID, *QUESTION, "weight", "dataset")]
        if not any(row[f"={name}"] is not None for row in rows for name in scored_fields):
            raise InputError(self._nothing(rows, scored_fields))
        by_file: dict[int, list[Mapping[str, Any]]] = {}
        for row in sorted(rows, key=lambda row: (row["file"], row["line"])):
            by_file.setdefault(row["file"], []).append(row)
        files = [self._question_file(self._files[number], mine) for number, mine in by_file.items()]
        found = [one for read in files for one in violations(read, self._profile.inputs.questions)]
        self._refuse_misspelt(rows)
        if found:
            raise InputError(refusal(found, None, self._profile) + self._cells_told(found))
        return sorted((one for read in files for one in read.questions), key=lambda one: str(one["id"]))

    def _question_file(self, file: Source, rows: Sequence[Mapping[str, Any]]) -> QuestionFile:
        """The questions of the rows of a file."""
        questions, lines = [self._question(file, row) for row in rows], [row["line"] for row in rows]
        return QuestionFile(
            file, {}, questions, lines=lines, places=list(range(len(rows))), in_object=False, unreadable=[]
        )

    def _cells_told(self, found: Sequence[Violation]) -> str:
        """How a list is written in a cell, where a cell should have one."""
        cells = {file.name for file in self._files if file.format in ("csv", "xlsx")}
        if not any(one.file in cells and one.allowed.startswith("a list") for one in found):
            return ""
        return '\nA cell holds a list as ["one", "two"]; --map FIELD=COLUMN takes the text of a cell as a list of one.'

    def _refuse_misspelt(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """InputError for a column that nothing reads, a slip away from a field of the questions that no row has."""
        there = [name for name in self._fields if any(row.get(f"={name}") is not None for row in rows)]
        for written, meant in self._names.slips((*there, *QUESTION_ID, *QUESTION, *EXPECTED, *sorted(self._unknown))):
            if written in self._unknown:
                name = self._files[0].name
                raise InputError(
                    f"{name}: nothing reads the column {written}; did you mean {meant}? Nothing was scored. "
                    f"If so, --map {meant}={written}; else rename it."
                )

    def _nothing(self, rows: Sequence[Any], scored_fields: list[str]) -> str:
        name = self._profile.name
        if not rows:
            wanted = [*QUESTION_ID, *QUESTION]
            return (
                f"{self._files[0].name}: rows have neither an id nor a question.{columns_seen(self._columns, wanted)}"
            )
        return (
            f"Profile {name} needs the questions of the eval set: add -q FILE, or rows that carry "
            f"{' or '.join(scored_fields[:8])}.{columns_seen(self._columns, scored_fields)}"
        )

    def _question(self, file: Source, row: Mapping[str, Any]) -> dict[str, Any]:
        """The question of a row."""
        texts = {name[1:]: row[name] for name in row if name.startswith("=") and row[name] is not None}
        return {"id": row["id"]} | {
            name: self._field(file, name, text)
            for name, text in texts.items()
            if name in self._names.members and (text != '""' or file.format != "csv")
        }

    def _field(self, file: Source, name: str, text: str) -> Any:
        """The value of a field from its JSON text; a cell is read as what the field wants.

        A text or number where a list is wanted is a list of one where a map put it there; a number where a text is
        wanted is its JSON text.
        """
        value = _json_value(text)
        types = self._names.members[name].types
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and "string" in types and not types & {"number", "integer"}:
            return text
        if types == {"array"} and name in file.reading.fields:
            if isinstance(value, str) and not value.lstrip().startswith("["):
                return [value]
            if is_number:
                return [value]
        if types == {"boolean"} and isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"  # Excel writes TRUE
        is_cell = file.format not in ("json", "jsonl") and isinstance(value, str) and value[:1] == "["
        if "string" not in types or ("array" in types and is_cell):
            value = cell_value(file, name, value)
        return [value] if isinstance(value, str) and types == {"array"} and name in file.reading.fields else value


def used_names(block: Block) -> set[str]:
    """The names that a map reads."""
    return block.used_names() if isinstance(block, MappedBlock) else set()


def _without_id(block: Block) -> Flags:
    """The rows that have none of the fields of an id."""
    lacking: Flags = np.logical_and.reduce([block.field_at(name).kind <= NOTHING for name in QUESTION_ID])
    return lacking


def _first_value(block: Block, reading: Reading, names: tuple[str, ...]) -> pl.Series | None:
    """The JSON text of the first of several names of each row; a map of the first name wins."""
    values: list[pa.Array] = []
    for name in names:
        value = block.value(OutputField(name, is_text=name in QUESTION))
        if value is not None:
            values.append(value)
        if name in reading.fields:
            break
    if not values:
        return None
    return pl.Series(pc.coalesce(*values).cast(LARGE_STRING))


def _json_value(text: str) -> Any:
    """The value of a JSON text; InputError where it is nested too deeply."""
    try:
        return json.loads(text, parse_float=written_float, parse_int=written_int)
    except RecursionError as error:
        raise InputError(f"A field of a question is nested too deeply: {text[:60]}…") from error
