"""Question files as objects: every question that can be read with its place, and what cannot be read."""

from __future__ import annotations

import ast
import json
import math
from array import array
from collections.abc import Iterator, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, replace
from typing import Any, overload

from rageval_batch.columnar.json_numbers import number_text, written_float, written_int
from rageval_batch.columnar.kernels.json import OK
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs import readers
from rageval_batch.inputs.readers import Block, JsonDocument
from rageval_batch.inputs.sources import Source
from rageval_batch.model.schemas import QUESTION, QUESTION_ID, first_of

JSON_FORMATS = ("json", "jsonl")
SHOWN = 80  # characters of a value that was found
_KEPT_BYTES = 1 << 20  # of JSON text, whose questions stay decoded: some 10 MiB of objects


@dataclass(frozen=True)
class Unreadable:
    """A part of a question file that is no question: where it stands, what is wrong, what is allowed there."""

    line: int | None
    path: str
    found: str
    _: KW_ONLY
    allowed: str


class Questions(Sequence[dict[str, Any]]):
    """Questions of a file, kept as the bytes of their JSON texts and decoded whenever they are asked for: as objects
    they take several times the memory, as strings up to twice. The first _KEPT_BYTES stay decoded: a file is gone
    through four times, and most are no longer than that. Nobody may change a question."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts = bytearray()
        self._bounds = array("q", [0])
        self._first: list[dict[str, Any]] = []
        self._prepared_once = False

    def add(self, text: str) -> None:
        """One more; ValueError where the text is no question."""
        question = _question(self._source, text)
        self._texts += text.encode("utf-8", "surrogatepass")
        self._bounds.append(len(self._texts))
        if len(self._texts) <= _KEPT_BYTES:
            self._first.append(question)

    def prepare_once(self) -> None:
        """Say that only one profile will read the questions: see `once`."""
        self._prepared_once = True

    def once(self) -> Iterator[dict[str, Any]]:
        """Every question; behind the last they are let go where nobody else will read them."""
        yield from self
        if self._prepared_once:
            self._texts, self._bounds, self._first = bytearray(), array("q", [0]), []

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self._decoded(place) for place in range(*index.indices(len(self)))]
        return self._decoded(range(len(self))[index])

    def _decoded(self, place: int) -> dict[str, Any]:
        """A text that was decoded before, so that what is wrong with some needs no second look."""
        if place < len(self._first):
            return self._first[place]
        text = self._texts[self._bounds[place] : self._bounds[place + 1]].decode("utf-8", "surrogatepass")
        if self._source.format in JSON_FORMATS and "null" not in text:
            question: dict[str, Any] = (_SIGNED_ZEROS if "-0" in text else _NUMBERS).decode(text)
            return question
        return _question(self._source, text)


@dataclass(frozen=True)
class QuestionFile:
    """A question file: what stands around the questions, the questions that can be read, and where each stands."""

    source: Source
    header: dict[str, Any]
    questions: Sequence[dict[str, Any]]
    _: KW_ONLY
    lines: MutableSequence[int]
    places: MutableSequence[int]  # the index of each question in the file
    in_object: bool  # the questions stand under `questions` of an object
    unreadable: list[Unreadable]

    def where(self, index: int) -> str:
        """The file and line of a question that can be read."""
        return f"{self.source.name}, line {self.lines[index]}"

    def path(self, place: int) -> str:
        """The JSON path of the question with an index in the file."""
        return f"$.questions[{place}]" if self.in_object else f"$[{place}]"


def question_id(question: dict[str, Any]) -> str | None:
    """The id of a question as text, a number as it is written; None where it has none that can be used."""
    found = first_of(question, QUESTION_ID)
    if isinstance(found, bool) or not isinstance(found, str | int | float) or found == "":
        return None
    return found if isinstance(found, str) else number_text(found)


def read_question_file(file: Source) -> QuestionFile:
    """A file as far as it can be read. Members that are null are absent, as columnar files write what a row lacks."""
    if file.format != "json":
        read = QuestionFile(file, {}, (), lines=[], places=[], in_object=False, unreadable=[])
        return _with_questions(read, readers.read_blocks(file))
    document = readers.read_document(file)
    read = _without_questions(file, document)
    return read if read.unreadable else _with_questions(read, document.blocks())


def _with_questions(read: QuestionFile, blocks: Iterator[Block]) -> QuestionFile:
    """The same file with the questions of its rows."""
    questions, lines, places, place = Questions(read.source), array("q"), array("q"), 0
    for block in blocks:
        bad = {row_error.row: row_error for row_error in block.row_errors}
        for row, line in enumerate(block.lines.tolist()):
            raw = block.raw(row)
            try:
                if row in bad:
                    raise ValueError(f"{bad[row].reason}, {bad[row].detail}")
                questions.add(raw)
                lines.append(line)
                places.append(place)
            except (ValueError, RecursionError) as error:
                found = f"{error}: {raw[:SHOWN]}"
                read.unreadable.append(Unreadable(line, read.path(place), found, allowed="a JSON object"))
            place += 1
    return replace(read, questions=questions, lines=lines, places=places)


def _without_questions(file: Source, document: JsonDocument) -> QuestionFile:
    """A JSON file without its questions yet: its header, or why it has no questions."""
    if document.tape.status[0] != OK:
        line = 1 + document.content.count(b"\n", 0, max(0, int(document.tape.error_at[0])))
        problem = document.tape.problem(0)
        return QuestionFile(
            file,
            {},
            [],
            lines=[],
            places=[],
            in_object=False,
            unreadable=[Unreadable(line, "$", problem, allowed="one JSON value")],
        )
    try:
        header = _loads(json.dumps(document.header()))
    except RecursionError:
        problem = "nested too deeply"
        return QuestionFile(
            file,
            {},
            [],
            lines=[],
            places=[],
            in_object=True,
            unreadable=[Unreadable(1, "$", problem, allowed="a list of questions")],
        )
    except InputError:
        found = shown_json(_shallow(document.content))
        allowed = "a list of questions, or an object with a list `questions`"
        return QuestionFile(
            file, {}, [], lines=[], places=[], in_object=False, unreadable=[Unreadable(1, "$", found, allowed=allowed)]
        )
    except ValueError as error:
        return QuestionFile(
            file,
            {},
            [],
            lines=[],
            places=[],
            in_object=True,
            unreadable=[Unreadable(1, "$", str(error), allowed="finite numbers")],
        )
    return QuestionFile(file, header, [], lines=[], places=[], in_object=document.in_object, unreadable=[])


def _shallow(content: bytes) -> Any:
    """The value of a JSON text; nothing of one that is nested too deeply."""
    try:
        return json.loads(content)
    except RecursionError:
        return None


def _question(file: Source, raw: str) -> dict[str, Any]:
    """The question of a row; ValueError where it is none."""
    question: dict[str, Any] = _loads(raw)
    if file.format in JSON_FORMATS:
        return question
    return {
        name: cell_value(file, name, value) for name, value in question.items() if value != "" or file.format != "csv"
    }


def cell_value(file: Source, name: str, value: Any) -> Any:
    """A cell of a columnar file: an object or list may stand there as JSON text, in CSV any value."""
    if not isinstance(value, str) or name in (*QUESTION_ID, *QUESTION):
        return value
    if file.format == "csv" or value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return _loads(value)
        return python_list(value)
    return value


def python_list(text: str) -> Any:
    """The list that a text is as Python prints it, which pandas writes into cells; else the text."""
    if text.lstrip().startswith("["):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            found = ast.literal_eval(text.strip())
            if isinstance(found, list) and all(isinstance(one, str | int | float) for one in found):
                return found
    return text


def _loads(text: str) -> Any:
    """JSON whose null members are absent; ValueError for a number that is not finite and a name that is there twice."""
    return (_STRICT_SIGNED_ZEROS if "-0" in text else _STRICT).decode(text)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for k, name in enumerate(names) if name in names[:k])
        raise ValueError(f"an object in which the name {shown_json(doubled)} stands twice")
    return {name: value for name, value in pairs if value is not None} if None in found.values() else found


def _finite_number(text: str) -> float:
    value = written_float(text)
    return value if math.isfinite(value) else _no_number(text)


def _no_number(text: str) -> float:
    raise ValueError(f"a value with {text}, a number that is not finite")


# Python reads whole numbers itself where it is asked for no more; -0 is the only one that it writes otherwise.
_NUMBERS = json.JSONDecoder(parse_float=written_float)
_SIGNED_ZEROS = json.JSONDecoder(parse_float=written_float, parse_int=written_int)
_STRICT = json.JSONDecoder(object_pairs_hook=_members, parse_float=_finite_number, parse_constant=_no_number)
_STRICT_SIGNED_ZEROS = json.JSONDecoder(
    object_pairs_hook=_members, parse_float=_finite_number, parse_int=written_int, parse_constant=_no_number
)


def shown_json(value: Any) -> str:
    """A value as JSON text, cut where it is long."""
    return shortened(json.dumps(value, ensure_ascii=False, default=str))


def shortened(text: str) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
