"""JSON rows: spans of bytes that the exact JSON tape reads, and the lines of JSONL files as such."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rageval_batch.columnar import json_tape
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels import json as json_kernel
from rageval_batch.columnar.kernels.json import ARRAY, FALSE, NULL, NUMBER, OBJECT, OK, STRING, TRUE
from rageval_batch.columnar.kernels.lines import HAS_WIDE, is_valid_utf8, split_lines, valid_utf8
from rageval_batch.columnar.kernels.rows import MOST_GROUPS, ROOM, ReadRows, read_rows
from rageval_batch.columnar.kernels.spaces import cut
from rageval_batch.columnar.strings import Bytes, Flags, Ints, Offsets, RecycledBytes, Strings, pooled_bytes
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import (
    ABSENT,
    BOOLEAN,
    KEPT_OF_LONG,
    LIST,
    NONE_TAKEN,
    NOTHING,
    NUMERIC,
    STRUCT,
    TEXT,
    Column,
    ColumnLimit,
    Field,
    Names,
    RowError,
    Taken,
    absent_field,
    cut_long,
    too_long_error,
)
from rageval_batch.inputs.readers.parts import LineSpan
from rageval_batch.inputs.reading import MAX_ROW_BYTES, Steps, steps_of
from rageval_batch.inputs.sources import Source
from rageval_batch.model.schemas import FIELDS, OUTPUT, OutputField

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NAMES = tuple(dict.fromkeys(name for names in FIELDS for name in names))
_ANSWER = FIELDS.index(OUTPUT)  # the long field
_KIND_OF_NODE = np.array([STRUCT, LIST, TEXT, NUMERIC, BOOLEAN, BOOLEAN, NOTHING, ABSENT], np.int8)  # the last: of -1
assert tuple(range(7)) == (OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE, NULL)


class AskedFields:
    """Fields that were asked of blocks of a file beside FIELDS: its next blocks read them in their one pass."""

    def __init__(self) -> None:
        self.groups: tuple[Names, ...] = FIELDS

    def add(self, names: Names) -> None:
        """Read this field too, unless it shares a name with another or there are too many."""
        if len(self.groups) < MOST_GROUPS and not {name for group in self.groups for name in group} & {*names}:
            self.groups = (*self.groups, names)


class JsonBlock:
    """Rows that are spans of bytes, each of them one JSON object; a row that is not is a row error."""

    names: frozenset[str] = frozenset()

    def __init__(
        self,
        data: Bytes,
        starts: Offsets,
        ends: Offsets,
        *,
        lines: Offsets,
        longest: int = MAX_ROW_BYTES,
        texts: RecycledBytes | None = None,
        asked: AskedFields | None = None,
    ) -> None:
        """A row of more than `longest` bytes is a row error, and so is one that was cut off behind them.

        `texts`: room for the answers, which is used again when nobody has them any more. `asked`: what is known of
        the fields that earlier blocks of the file were asked for.
        """
        self._asked = asked or AskedFields()
        self._groups = self._asked.groups
        self._names = [name for group in self._groups for name in group]
        self.lines = lines
        self._found: dict[Names, Field] = {}
        self._data, self._starts, self._ends = data, starts, ends
        self._too_long = ends - starts > longest
        utf8 = _utf8_rows(data, starts, ends)
        read = utf8 & ~self._too_long
        self._spans: tuple[Offsets, Offsets] = (
            (starts, ends) if read.all() else (np.where(read, starts, 0), np.where(read, ends, 0))
        )
        room = (texts or RecycledBytes()).take(len(data) + ROOM)
        self._read = read_rows(data, *self._spans, self._groups, _ANSWER, room)
        self.row_errors = [
            too_long_error(row, longest) if self._too_long[row] else _row_error(self._read, row, bool(utf8[row]))
            for row in np.flatnonzero(~self._read.usable).tolist()
        ]

    @cached_property
    def _tape(self) -> Tape:
        """All values of the rows: for fields that nobody has asked for before, and parts of fields."""
        return json_tape.parse(self._data, *self._spans)

    @cached_property
    def _root(self) -> Ints:
        return np.where(self._read.usable, self._tape.root, -1).astype(np.int32)

    def __len__(self) -> int:
        return len(self.lines)

    def field(self, names: tuple[str, ...]) -> Field:
        if names not in self._found:  # several ask for the answers, which are long
            self._found[names] = self._field(names)
        return self._found[names]

    def _field(self, names: tuple[str, ...]) -> Field:
        if names not in self._groups:
            self._asked.add(names)
            if self._lacks(names):
                return absent_field(len(self))
            return _first_present(self._tape, self._tape.members(self._root, list(names)))
        found = self._read.fields[self._groups.index(names)]
        if (found.kinds < 0).all():
            return absent_field(len(self))
        kind = _KIND_OF_NODE[found.kinds]
        if names == OUTPUT:
            return Field(Strings(*self._read.copied).to_arrow(kind > NOTHING), kind)
        rows = np.arange(len(self), dtype=np.int32)
        stops = np.where(kind > NOTHING, found.stops, found.starts)  # no bytes behind nulls
        texts = Strings(*json_kernel.texts(self._data, found.starts, stops, found.flags, rows))
        return Field(texts.to_arrow(kind > NOTHING), kind)

    def _lacks(self, names: Names) -> bool:
        """Whether no row has a field, as far as that is seen at once."""
        known = dict(zip(self._names, self._read.having.tolist(), strict=True))
        return self._read.members == sum(known.values()) and not any(known.get(name) for name in names)

    def field_at(self, path: str) -> Field:
        return field_of(self._tape, self._node(path))

    def _node(self, path: str) -> Ints:
        """The node at a path of each row, -1 where there is none."""
        steps = steps_of(path)
        node = nodes_at(self._tape, self._root, steps)
        if len(steps) > 1 and path not in _NAMES:  # a member may be called like the whole path
            own = np.ascontiguousarray(self._tape.members(self._root, [path])[:, 0], np.int32)
            node = np.where(own >= 0, own, node).astype(np.int32)
        return node

    def has(self, name: str) -> bool:
        if name in self._names:
            return bool(self._read.having[self._names.index(name)])
        return bool((self._tape.members(self._root, [name]) >= 0).any())

    def others(
        self,
        known: frozenset[str],
        *,
        read: tuple[Names, ...] = (),
        rows: Flags | None = None,
        limit: ColumnLimit | None = None,
        taken: Taken = NONE_TAKEN,
    ) -> list[Column]:
        if self._has_only(known, read):
            return []
        limit = limit or ColumnLimit()
        tape = self._tape
        nodes, owners, keys = tape.names(self._root)
        kept = tape.kind[nodes] != NULL
        if rows is not None:
            kept &= rows[owners]
        coded = keys.to_arrow().dictionary_encode()
        code = coded.indices.to_numpy()
        names = coded.dictionary.to_pylist()
        for field in read:
            place = np.array([field.index(name) if name in field else -1 for name in names], np.int64)
            kept &= place[code] != self._read_name(field)[owners]
        for name in taken.keys() & set(names):
            kept &= (code != names.index(name)) | ~taken[name][owners]
        nodes, owners, code = nodes[kept], owners[kept], code[kept]
        found, first = np.unique(code, return_index=True)
        order = np.argsort(code, kind="stable")
        out = []
        for k in found[np.argsort(first)].tolist():  # in the order in which rows have them
            if names[k] not in known and limit.take(names[k]):
                mine = order[slice(*np.searchsorted(code, (k, k + 1), sorter=order))]
                kind = _KIND_OF_NODE[tape.kind[nodes[mine]]]
                out.append(Column(names[k], owners[mine], tape.texts(nodes[mine]).to_arrow(), kind=kind))
        return out

    def _read_name(self, field: Names) -> Offsets:
        """Which of the names of a field the value of each row stands under; behind the last where it has none."""
        there = self._tape.members(self._root, list(field)) >= 0
        return np.where(there.any(axis=1), there.argmax(axis=1), len(field))

    def _has_only(self, known: frozenset[str], read: tuple[Names, ...]) -> bool:
        """Whether every member of every row is known. Usually so, and much cheaper to see than to list the others."""
        columns = [k for k, name in enumerate(self._names) if name in known]
        of_read = sum(int((self._read.fields[self._groups.index(field)].kinds >= 0).sum()) for field in read)
        return bool(self._read.members == self._read.having[columns].sum() + of_read)

    def raw(self, row: int) -> str:
        start, end = self._starts[row], self._ends[row]
        if self._too_long[row]:
            return cut_long(self._data[start : start + KEPT_OF_LONG].tobytes())
        return self._data[start:end].tobytes().decode("utf-8", "backslashreplace")

    def whole_rows(self) -> pa.Array | None:
        return cut(self._data, self._starts, self._ends).to_arrow(self._read.usable)

    def value(self, field: OutputField) -> pa.Array | None:
        """As in `Block`: the member as it stands, with its quotes and escapes."""
        return json_of_nodes(self._tape, self._tape.members(self._root, [field.name])[:, 0])

    def value_at(self, path: str, field: OutputField) -> pa.Array | None:
        return json_of_nodes(self._tape, self._node(path))


def nodes_at(tape: Tape, owners: Ints, steps: Steps) -> Ints:
    """The nodes that steps lead to from each owner, -1 where they lead nowhere; a place from the end is negative."""
    for step in steps:
        if isinstance(step, str):
            owners = np.ascontiguousarray(tape.members(owners, [step])[:, 0], np.int32)
            continue
        nodes, owner = tape.elements(owners, step + 1 if step >= 0 else None)
        counts = np.bincount(owner, minlength=len(owners))
        wanted = tape.position[nodes] == (step if step >= 0 else counts[owner] + step)
        owners = np.full(len(owners), -1, np.int32)
        owners[owner[wanted]] = nodes[wanted]
    return owners


def field_of(tape: Tape, node: Ints) -> Field:
    """Nodes as a field: texts and kinds."""
    return _first_present(tape, node.reshape(-1, 1))


def json_of_nodes(tape: Tape, node: Ints) -> pa.Array:
    """Nodes as JSON text, as it stands; null for null and -1."""
    there = node >= 0
    there[there] = tape.kind[node[there]] != NULL
    starts, stops = np.zeros(len(node), np.int64), np.zeros(len(node), np.int64)
    quote = tape.kind[node[there]] == STRING
    starts[there], stops[there] = tape.start[node[there]] - quote, tape.stop[node[there]] + quote
    return cut(tape.data, starts, stops).to_arrow(there)


def _utf8_rows(data: Bytes, starts: Offsets, ends: Offsets) -> Flags:
    """Which rows are UTF-8. Usually all, which is seen at once; else each row is checked."""
    return np.ones(len(starts), np.bool_) if is_utf8(data) else valid_utf8(data, starts, ends)


def is_utf8(data: Bytes) -> bool:
    """Whether bytes are UTF-8 as a whole. Arrow is faster than a loop over bytes, 64 at once are faster still."""
    if HAS_WIDE:
        return is_valid_utf8(data)
    try:
        Strings(data, np.array([0, len(data)], np.int64)).to_arrow().validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _row_error(read: ReadRows, row: int, utf8: bool) -> RowError:
    if not utf8:
        return RowError(row, "not_utf8", "bytes that are not UTF-8, shown as \\xNN")
    if read.status[row] != OK:
        return RowError(row, "malformed_json", json_tape.problem(int(read.status[row]), int(read.error_at[row])))
    return RowError(row, "not_object", "the line is JSON, but no object")


def _first_present(tape: Tape, members: npt.NDArray[np.int32]) -> Field:
    """The field of the first member of each row that is there."""
    node = members[:, 0]
    for k in range(1, members.shape[1]):
        node = np.where(node >= 0, node, members[:, k])
    node = np.ascontiguousarray(node, np.int32)
    kind = np.full(len(node), ABSENT, np.int8)
    there = node >= 0
    kind[there] = _KIND_OF_NODE[tape.kind[node[there]]]
    if not there.any():
        return absent_field(len(node))
    return Field(tape.texts(node).to_arrow(kind > NOTHING), kind)


def json_blocks(
    data: Bytes,
    starts: Offsets,
    ends: Offsets,
    *,
    lines: Offsets,
    longest: int = MAX_ROW_BYTES,
    texts: RecycledBytes | None = None,
    asked: AskedFields | None = None,
) -> Iterator[JsonBlock]:
    """Spans of bytes, in the order of their places, as blocks of so many rows that a block has."""
    for first in range(0, len(starts), blocks.BLOCK_ROWS):
        rows = slice(first, first + blocks.BLOCK_ROWS)
        begin, stop = int(starts[rows][0]), int(ends[rows][-1])
        spans = starts[rows] - begin, ends[rows] - begin
        yield JsonBlock(data[begin:stop], *spans, lines=lines[rows], longest=longest, texts=texts, asked=asked)


# --- one object a line ----------------------------------------------------------------------------------------------


def read_jsonl(
    source: Source, only_lines: Offsets | None = None, spans: Sequence[LineSpan] | None = None
) -> Iterator[JsonBlock]:
    """The lines of a file, or only some of them, in the order of their numbers; blank lines are no rows.

    `spans`: some of those that `line_spans` gives, which have the blocks that they have in the whole file.
    """
    longest = source.reading.max_row_bytes
    kept: dict[str, Any] = {"longest": longest, "texts": RecycledBytes(), "asked": AskedFields()}
    with source.open() as stream:
        found = _whole_lines(stream, source) if spans is None else _read_spans(stream, spans)
        for span, data, starts, ends, lines in found:
            if only_lines is None:
                yield from json_blocks(data, starts, ends, lines=lines, **kept)
            else:
                first, behind = np.searchsorted(only_lines, (span.line, lines[-1] + 1 if len(lines) else span.line))
                mine = np.isin(lines, only_lines[first:behind])
                yield from json_blocks(data, starts[mine], ends[mine], lines=lines[mine], **kept)


def line_spans(source: Source) -> Iterator[LineSpan]:
    """The spans that a file is read in."""
    with source.open() as stream:
        for span, *_ in _whole_lines(stream, source):
            yield span


_Lines = tuple[LineSpan, Bytes, Offsets, Offsets, Offsets]  # with the starts, ends and numbers of lines that are rows


def _read_spans(stream: BinaryIO, spans: Sequence[LineSpan]) -> Iterator[_Lines]:
    for span in spans:
        stream.seek(span.start)
        data = np.empty(span.size, np.uint8)
        yield _lines_of(data[: read_into(stream, data)], span)[0]


def _lines_of(data: Bytes, span: LineSpan) -> tuple[_Lines, int]:
    """(the lines of a span, the number of the line behind it)"""
    if span.is_cut:
        whole = np.array([0, len(data)], np.int64)
        return (span, data, whole[:1], whole[1:], np.array([span.line], np.int64)), span.line + 1
    starts, ends, lines, line = split_lines(data, span.line)
    return (span, data, starts, ends, lines), line


def _whole_lines(stream: BinaryIO, source: Source) -> Iterator[_Lines]:
    """The whole lines of a stream, some at a time; of a line that is too long, its beginning alone."""
    line, start = 1, 0
    rest = np.zeros(0, np.uint8)
    buffers = RecycledBytes()
    room = blocks.BLOCK_BYTES
    if source.size >= 0 and not source.compression and not source.reading.encoding:
        room = min(room, source.size + 1)  # many small files need no large buffers
    if (head := stream.read(len(BYTE_ORDER_MARK))) == BYTE_ORDER_MARK:
        start = len(head)
    else:
        rest = np.frombuffer(head, np.uint8)
    while True:
        # A line that is longer than the buffer doubles it.
        buffer = buffers.take(len(rest) + max(room, len(rest)))
        buffer[: len(rest)] = rest
        filled = len(rest) + read_into(stream, buffer[len(rest) :])
        at_end = filled < len(buffer)
        data = buffer[:filled]
        stop = filled if at_end else _behind_last_newline(data)
        rest = data[stop:]
        if stop:
            found, line = _lines_of(data[:stop], LineSpan(start, stop, line))
            yield found
            start += stop
        elif filled > source.reading.max_row_bytes:
            found, line = _lines_of(data, LineSpan(start, filled, line, is_cut=True))
            yield found
            skipped, rest = _behind_next_newline(stream)
            start += filled + skipped
        if at_end:
            return


def _behind_next_newline(stream: BinaryIO) -> tuple[int, Bytes]:
    """Read over the rest of a line: (how many bytes that was, what was read of the next ones)."""
    skipped = 0
    while piece := stream.read(blocks.BLOCK_BYTES):
        if (place := piece.find(b"\n")) >= 0:
            return skipped + place + 1, np.frombuffer(piece, np.uint8)[place + 1 :]
        skipped += len(piece)
    return skipped, np.zeros(0, np.uint8)


def read_into(stream: BinaryIO, buffer: Bytes) -> int:
    """Fill the buffer as far as the stream reaches; how many bytes that were."""
    filled = 0
    view = memoryview(buffer)  # type: ignore[arg-type]
    while filled < len(buffer):
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            break
        filled += count
    return filled


def read_more(stream: BinaryIO, rest: Bytes) -> tuple[Bytes, bool]:
    """(the rest of the last bytes and more of the stream, whether that is all); a long row doubles the buffer."""
    buffer = pooled_bytes(len(rest) + max(blocks.BLOCK_BYTES, len(rest)))
    buffer[: len(rest)] = rest
    filled = len(rest) + read_into(stream, buffer[len(rest) :])
    return buffer[:filled], filled < len(buffer)


def _behind_last_newline(data: Bytes) -> int:
    """The position behind the last newline, 0 where there is none; looks at the end first."""
    width = 1 << 16
    while True:
        tail = data[max(0, len(data) - width) :]
        found = np.flatnonzero(tail == 10)
        if len(found):
            return len(data) - len(tail) + int(found[-1]) + 1
        if width >= len(data):
            return 0
        width *= 8
