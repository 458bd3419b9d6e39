"""Rows of JSON documents: elements of an array, in a file of its own or in an object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from rageval_batch.columnar import json_tape
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import ARRAY, OK
from rageval_batch.columnar.kernels.lines import behind_element
from rageval_batch.columnar.strings import Bytes
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.json_rows import BYTE_ORDER_MARK, JsonBlock, json_blocks, nodes_at, read_more
from rageval_batch.inputs.reading import MAX_ROW_BYTES, steps_of
from rageval_batch.inputs.recognise import HEAD
from rageval_batch.inputs.sources import Source, unreadable

_OPEN = np.frombuffer(b"[", np.uint8)


@dataclass(frozen=True)
class JsonDocument:
    """The bytes of a JSON file: an array of rows, or an object with the array under `questions` or at another path."""

    name: str
    content: bytes
    rows: tuple[str, ...] = ("questions",)  # paths of the array, the first that is there
    _: KW_ONLY
    longest: int = MAX_ROW_BYTES  # bytes of a row

    @cached_property
    def data(self) -> Bytes:
        """The bytes as an array."""
        return np.frombuffer(self.content, np.uint8)

    @cached_property
    def tape(self) -> Tape:
        """The whole file as one JSON value."""
        bounds = np.array([0, len(self.content)], np.int64)
        return json_tape.parse(self.data, bounds[:1], bounds[1:])

    @cached_property
    def in_object(self) -> bool:
        """Whether the file does not begin with an array."""
        return self.content.lstrip()[:1] != b"["

    @cached_property
    def _array(self) -> tuple[int, int | None]:
        """Where the array of rows begins, and where it ends as far as that is known before its rows are read."""
        if not self.in_object:
            return len(self.content) - len(self.content.lstrip()), None
        tape = self.tape
        if tape.status[0] != OK:
            raise InputError(f"{self.name} is not JSON: {tape.problem(0)}. For one object a line, call it .jsonl.")
        for path in self.rows:
            node = int(nodes_at(tape, tape.root.copy(), steps_of(path))[0])
            if node >= 0 and tape.kind[node] == ARRAY:
                return int(tape.start[node]), int(tape.stop[node])
        wanted = " or ".join(f"`{path}`" for path in self.rows)
        raise InputError(f"{self.name} is neither a JSON array nor an object with an array {wanted}.{self._lists()}")

    def _lists(self) -> str:
        """The lists of objects that the document has near its top, and how to name one."""
        try:
            found = _paths_of_lists(json.loads(self.content))
        except RecursionError:  # which is valid JSON all the same, too deep to look for lists in it
            found = []
        if not found:
            return ""
        return f" It has lists of rows at {', '.join(found)}: name one with --map rows={found[0]}."

    def header(self) -> dict[str, Any]:
        """The members of the object beside `questions`; none where the file is an array.

        RecursionError where they are nested too deeply.
        """
        start, stop = self._array
        if stop is None:
            return {}
        header: dict[str, Any] = json.loads(self.content[:start] + b"[]" + self.content[stop:])
        header.pop("questions", None)
        return header

    def blocks(self) -> Iterator[JsonBlock]:
        """The elements of the array as rows."""
        start, _ = self._array
        starts, ends, lines, behind, closed = json_tape.elements_of_array(self.data, start)
        if not closed:
            raise _ends_early(self.name)
        if not self.in_object and self.content[behind:].strip():
            raise _more_behind(self.name)
        yield from json_blocks(
            self.data, starts, ends, lines=lines + self.content.count(b"\n", 0, start), longest=self.longest
        )


def _ends_early(name: str) -> InputError:
    return InputError(f"{name} ends inside its JSON array. Check that the file is whole.")


def _more_behind(name: str) -> InputError:
    return InputError(f"{name} has something behind its JSON array. For one object a line, call it .jsonl.")


def _paths_of_lists(value: Any, at: str = "", depth: int = 3) -> list[str]:
    """The paths of lists of objects in an object, not too deep."""
    if not isinstance(value, dict) or not depth:
        return []
    out = []
    for name, below in value.items():
        path = f"{at}.{name}" if at else name
        if isinstance(below, list) and below and isinstance(below[0], dict):
            out.append(path)
        out += _paths_of_lists(below, path, depth - 1)
    return out


def read_document(source: Source) -> JsonDocument:
    """A JSON file, read once; InputError where it cannot be read."""
    try:
        with source.open() as stream:
            content = stream.read().removeprefix(BYTE_ORDER_MARK)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(source.name, error) from error
    return JsonDocument(
        source.name, content, source.reading.rows or ("questions",), longest=source.reading.max_row_bytes
    )


def read_json(source: Source) -> Iterator[JsonBlock]:
    """The rows of a JSON file: those of an array while it is read, those in an object once it is there whole."""
    with source.open() as stream:
        head = stream.read(HEAD).removeprefix(BYTE_ORDER_MARK)
        if head.lstrip()[:1] == b"[":
            yield from _streamed_array(source, stream, head)
            return
    yield from read_document(source).blocks()


def _streamed_array(source: Source, stream: BinaryIO, head: bytes) -> Iterator[JsonBlock]:
    """The elements of an array, some at a time; of one that is too long, its beginning alone."""
    longest = source.reading.max_row_bytes
    before = len(head) - len(head.lstrip())
    newlines = head.count(b"\n", 0, before)  # ahead of the bytes at hand
    rest = np.frombuffer(head, np.uint8)[before:]
    while True:
        data, at_end = read_more(stream, rest)
        starts, ends, lines, behind, closed = json_tape.elements_of_array(data, 0)
        if at_end and not closed:
            raise _ends_early(source.name)
        is_cut = not closed and len(ends) > 0 and ends[-1] == len(data)
        whole = len(ends) - is_cut
        yield from json_blocks(data, starts[:whole], ends[:whole], lines=lines[:whole] + newlines, longest=longest)
        if closed:
            if data[behind:].tobytes().strip() or any(piece.strip() for piece in _pieces(stream)):
                raise _more_behind(source.name)
            return
        stop = int(starts[-1]) if is_cut else len(data)
        if is_cut and len(data) - stop > longest:
            line = lines[-1:] + newlines
            yield JsonBlock(data[stop:], np.array([0]), np.array([len(data) - stop]), lines=line, longest=longest)
            newlines += int(np.count_nonzero(data == ord("\n")))
            skipped, rest = _behind_long_element(source, stream, data[stop:])
            newlines += skipped
        else:
            newlines += int(np.count_nonzero(data[:stop] == ord("\n")))
            rest = data[stop:]
        rest = np.concatenate([_OPEN, rest])  # as if the array began there


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: stream.read(blocks.BLOCK_BYTES), b"")


def _behind_long_element(source: Source, stream: BinaryIO, begun: Bytes) -> tuple[int, Bytes]:
    """Read over the rest of an element: (its newlines in what is read, what is read from its end on)."""
    place, depth, quoted = behind_element(begun, 0, 0, False)
    newlines = 0
    for piece in _pieces(stream):
        data = np.frombuffer(piece, np.uint8)
        # An escape at the end of a piece reaches one byte into the next.
        place, depth, quoted = behind_element(data, place - len(begun), depth, quoted)
        if place < len(data):
            return newlines + piece.count(b"\n", 0, place), data[place:]
        newlines += piece.count(b"\n")
        begun = data
    raise _ends_early(source.name)
