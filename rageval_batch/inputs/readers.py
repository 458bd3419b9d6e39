"""Files of every format as blocks of rows of bounded size. A block knows its fields, its lines and its raw text.

A JSON row is read by the exact JSON tape; a Parquet, Arrow or CSV row by its columns. Both give the same `Block`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_tape
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import ARRAY, FALSE, NULL, NUMBER, OBJECT, OK, STRING, TRUE
from rageval_batch.columnar.kernels.lines import split_lines, valid_utf8
from rageval_batch.columnar.kernels.spaces import cut
from rageval_batch.columnar.nested import BLANK, held_kinds, json_of
from rageval_batch.columnar.strings import LARGE_STRING, Bytes, Flags, Ints, Offsets, Strings
from rageval_batch.errors import InputError
from rageval_batch.inputs.sources import Source, shown_name, unreadable
from rageval_batch.model.schemas import CHUNKS, FIELDS, FILE, OUTPUT, OutputField

_NAMES = tuple(dict.fromkeys(name for names in FIELDS for name in names))
BLOCK_BYTES = 8 << 20
BLOCK_ROWS = 16_384
META_BYTES = 1_024  # a longer value is no run metadata

# Kinds of a field's value; ABSENT: the row has no such field.
ABSENT, NOTHING, TEXT, NUMERIC, BOOLEAN, LIST, STRUCT = range(-1, 6)
_KIND_OF_NODE = np.array([STRUCT, LIST, TEXT, NUMERIC, BOOLEAN, BOOLEAN, NOTHING], np.int8)
assert tuple(range(7)) == (OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE, NULL)


@dataclass(frozen=True)
class Field:
    """One field of all rows of a block: its text (JSON text where it is no string) and its kind."""

    text: pa.Array
    kind: np.ndarray[tuple[int], np.dtype[np.int8]]


@dataclass(frozen=True)
class RowError:
    """A row that is no row: its index in the block, the reason, and what exactly."""

    row: int
    reason: str
    detail: str


@dataclass(frozen=True)
class Block:
    """Some rows of a file. `field` gives the first present of several names; `others` every other scalar field."""

    lines: Offsets
    row_errors: list[RowError]
    field: Callable[[tuple[str, ...]], Field]
    others: Callable[[frozenset[str]], list[tuple[str, Ints, pa.Array]]]
    raw: Callable[[int], str]
    names: frozenset[str] = frozenset()  # the columns of a columnar file
    value: Callable[[OutputField], pa.Array | None] = lambda wanted: None  # a field as JSON text, null where not there

    def __len__(self) -> int:
        return len(self.lines)


def read_blocks(source: Source, wanted: Offsets | None = None) -> Iterator[Block]:
    """The rows of one file. Where only some lines are wanted, a JSONL file gives no others; they cost no parsing."""
    try:
        if source.format == "jsonl":
            yield from _jsonl(source, wanted)
            return
        yield from _READERS[source.format](source)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable(source.name, error) from error


def read_output(block: Block, fields: tuple[OutputField, ...]) -> Field:
    """The answer of each row: its `output`, else a JSON object of those of the fields that it has."""
    output = block.field(OUTPUT)
    lacks = output.kind <= NOTHING
    if not fields or not lacks.any():
        return output
    named = [(wanted.name, found) for wanted in fields if (found := block.value(wanted)) is not None]
    if not named:
        return output
    nothing, comma = pa.scalar("", LARGE_STRING), pa.scalar(",", LARGE_STRING)
    members = [
        pc.binary_join_element_wise(pa.scalar(f'"{name}":', LARGE_STRING), found, comma, nothing)
        for name, found in named
    ]
    # Nulls are filled by hand: where all is null, Arrow's own null_handling="skip" leaves the row out.
    inner = pc.binary_join_element_wise(*(part.fill_null("") for part in members), nothing)
    built = lacks & (pc.binary_length(inner).to_numpy() > 0)
    whole = pc.binary_join_element_wise(
        pa.scalar("{", LARGE_STRING), pc.utf8_rtrim(inner, characters=","), pa.scalar("}", LARGE_STRING), nothing
    )
    return Field(pc.if_else(pa.array(built), whole, output.text), np.where(built, STRUCT, output.kind).astype(np.int8))


def read_chunks(block: Block) -> pa.Array:
    """The chunks of each row: a list, or a text that holds a JSON list (a cell of CSV); null where there is none."""
    found = block.field(CHUNKS)
    listed = found.kind == LIST
    if (texts := found.kind == TEXT).any():
        listed |= texts & (held_kinds(found.text) == ARRAY)
    return pc.if_else(pa.array(listed), found.text, pa.scalar(None, LARGE_STRING))


# --- JSON ---------------------------------------------------------------------------------------------------------


def _jsonl(source: Source, wanted: Offsets | None = None) -> Iterator[Block]:
    line = 1
    rest = np.zeros(0, np.uint8)
    with source.open() as stream:
        if (head := stream.read(3)) != b"\xef\xbb\xbf":  # a byte order mark is no part of the first line
            rest = np.frombuffer(head, np.uint8)
        while True:
            room = np.empty(len(rest) + max(BLOCK_BYTES, len(rest)), np.uint8)  # a long line doubles it
            room[: len(rest)] = rest
            filled = len(rest) + _read_into(stream, room[len(rest) :])
            at_end = filled < len(room)
            data = room[:filled]
            cut = filled if at_end else _behind_last_newline(data)
            rest = data[cut:]
            if cut:
                starts, ends, lines, line = split_lines(data[:cut], line)
                if wanted is not None:
                    mine = np.isin(lines, wanted)
                    starts, ends, lines = starts[mine], ends[mine], lines[mine]
                yield from _json_blocks(data[:cut], starts, ends, lines)
            if at_end:
                return


def _read_into(stream: BinaryIO, room: Bytes) -> int:
    """Fill the room as far as the stream reaches."""
    filled = 0
    view = memoryview(room)  # type: ignore[arg-type]
    while filled < len(room):
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            break
        filled += count
    return filled


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


def _json_file(source: Source) -> Iterator[Block]:
    """A JSON array, or an object with the array under `questions`; an element is a row."""
    data, start, _ = json_array(source)
    starts, ends, lines, behind, closed = json_tape.elements_of_array(data, start)
    lines = lines + int(np.count_nonzero(data[:start] == 10))
    if not closed:
        raise InputError(f"{source.name} ends inside its JSON array. Check that the file is whole.")
    bare = not data[:start].tobytes().strip()  # not inside an object, which has been parsed as a whole
    if bare and data[behind:].tobytes().strip():
        raise InputError(f"{source.name} has something behind its JSON array. For one object a line, call it .jsonl.")
    yield from _json_blocks(data, starts, ends, lines)


def json_array(source: Source) -> tuple[Bytes, int, dict[str, Any]]:
    """(bytes, position of the array of rows, the other keys of the object around it) of a JSON file."""
    with source.open() as stream:
        content = stream.read()
    content = content.removeprefix(b"\xef\xbb\xbf")
    data = np.frombuffer(content, np.uint8)
    at = len(content) - len(content.lstrip())
    if content[at : at + 1] == b"[":
        return data, at, {}
    header, where = _questions_of_object(source, content)
    return data, where, header


def _questions_of_object(source: Source, content: bytes) -> tuple[dict[str, Any], int]:
    data = np.frombuffer(content, np.uint8)
    bounds = np.array([0, len(content)], np.int64)
    tape = json_tape.parse(data, bounds[:1], bounds[1:])
    if tape.status[0] != OK:
        raise InputError(f"{source.name} is not JSON: {tape.problem(0)}. For one object a line, call it .jsonl.")
    node = int(tape.members(tape.root, ["questions"])[0, 0])
    if node < 0 or tape.kind[node] != ARRAY:
        raise InputError(f"{source.name} is neither a JSON array nor an object with an array `questions`.")
    header = json.loads(content)
    del header["questions"]
    return header, int(tape.start[node])


def _json_blocks(data: Bytes, starts: Offsets, ends: Offsets, lines: Offsets) -> Iterator[Block]:
    for first in range(0, len(starts), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        yield json_block(data, starts[rows], ends[rows], lines[rows])


def json_block(data: Bytes, starts: Offsets, ends: Offsets, lines: Offsets) -> Block:
    """Rows that are spans of bytes, each a JSON object if all is well."""
    good = _utf8_rows(data, starts, ends)
    tape = json_tape.parse(data, np.where(good, starts, 0), np.where(good, ends, 0))
    usable = json_tape.usable(tape)
    root = np.where(usable, tape.root, -1).astype(np.int32)
    found = tape.members(root, list(_NAMES))

    def field(names: tuple[str, ...]) -> Field:
        if set(names) <= set(_NAMES):
            return _json_field(tape, found[:, [_NAMES.index(name) for name in names]])
        return _json_field(tape, tape.members(root, list(names)))

    def raw(row: int) -> str:
        return data[starts[row] : ends[row]].tobytes().decode("utf-8", "backslashreplace")

    return Block(
        lines,
        [_json_trouble(tape, row, bool(good[row])) for row in np.flatnonzero(~usable).tolist()],
        field,
        lambda known: [] if _has_only(tape, found, known) else _json_others(tape, root, known),
        raw,
        value=lambda wanted: _json_value(tape, root, wanted),
    )


def _utf8_rows(data: Bytes, starts: Offsets, ends: Offsets) -> Flags:
    """Which rows are UTF-8: mostly all, which Arrow sees at once; else each is looked at."""
    bounds = np.array([0, len(data)], np.int64)
    whole = Strings(data, bounds).to_arrow()
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return valid_utf8(data, starts, ends)
    return np.ones(len(starts), np.bool_)


def _json_trouble(tape: Tape, row: int, utf8: bool) -> RowError:
    if not utf8:
        return RowError(row, "not_utf8", "bytes that are not UTF-8, shown as \\xNN")
    if tape.status[row] != OK:
        return RowError(row, "malformed_json", tape.problem(row))
    return RowError(row, "not_object", "the line is JSON, but no object")


def _json_field(tape: Tape, found: npt.NDArray[np.int32]) -> Field:
    node = found[:, 0]
    for k in range(1, found.shape[1]):
        node = np.where(node >= 0, node, found[:, k])
    node = np.ascontiguousarray(node, np.int32)
    kind = np.full(len(node), ABSENT, np.int8)
    there = node >= 0
    kind[there] = _KIND_OF_NODE[tape.kind[node[there]]]
    if not there.any():
        return _no_field(len(node))
    return Field(tape.texts(node).to_arrow(kind > NOTHING), kind)


def _json_value(tape: Tape, root: Ints, wanted: OutputField) -> pa.Array:
    """A member of each row as it stands, quotes and escapes and all."""
    node = tape.members(root, [wanted.name])[:, 0]
    there = node >= 0
    there[there] = tape.kind[node[there]] != NULL
    starts, stops = np.zeros(len(node), np.int64), np.zeros(len(node), np.int64)
    quote = tape.kind[node[there]] == STRING
    starts[there], stops[there] = tape.start[node[there]] - quote, tape.stop[node[there]] + quote
    return cut(tape.data, starts, stops).to_arrow(there)


def _has_only(tape: Tape, found: npt.NDArray[np.int32], known: frozenset[str]) -> bool:
    """Whether no row has a member beside those that are known: mostly so, and soon seen."""
    columns = [k for k, name in enumerate(_NAMES) if name in known]
    inside = tape.parent >= 0
    members = np.count_nonzero(inside & (tape.parent[tape.parent] < 0))
    return bool(members == np.count_nonzero(found[:, columns] >= 0))


def _json_others(tape: Tape, root: Ints, known: frozenset[str]) -> list[tuple[str, Ints, pa.Array]]:
    nodes, rows, keys = tape.names(root)
    scalar = (tape.kind[nodes] >= STRING) & (tape.kind[nodes] != NULL)
    short = tape.stop[nodes] - tape.start[nodes] <= META_BYTES
    coded = keys.to_arrow().dictionary_encode()
    code = coded.indices.to_numpy()
    out = []
    for k, name in enumerate(coded.dictionary.to_pylist()):
        if name not in known:
            mine = (code == k) & scalar & short
            if mine.any():
                out.append((name, rows[mine], tape.texts(nodes[mine]).to_arrow()))
    return out


# --- columns --------------------------------------------------------------------------------------------------------


def _parquet(source: Source) -> Iterator[Block]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(source.path) as file:
        yield from _column_blocks(file.iter_batches(batch_size=BLOCK_ROWS))


def _arrow(source: Source) -> Iterator[Block]:
    with pa.memory_map(str(source.path)) as mapped:
        try:
            file = pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            yield from _column_blocks(pa.ipc.open_stream(mapped))
        else:
            yield from _column_blocks(file.get_batch(k) for k in range(file.num_record_batches))


def _csv(source: Source) -> Iterator[Block]:
    """CSV with every cell as text. A record of the wrong width is trouble, not an end."""
    from pyarrow import csv

    skipped: list[Any] = []

    def keep(row: Any) -> str:
        skipped.append(row)
        return "skip"

    names = _csv_names(source)
    with source.open() as stream:
        reader = csv.open_csv(
            stream,
            csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            csv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_binary()), strings_can_be_null=False),
        )
        line = 2  # records are counted as lines: the header is the first
        for batch in reader:  # Arrow reads ahead: it has met every bad record before the last of this batch
            numbers = _numbers_without(line, batch.num_rows, {row.number for row in skipped})
            yield from _column_blocks(iter([batch]), numbers)
            line = int(numbers[-1]) + 1 if len(numbers) else line
    if skipped:
        yield _bad_records(skipped)


def _numbers_without(first: int, count: int, taken: set[int]) -> Offsets:
    """`count` numbers from `first` on, without those that are taken."""
    numbers: list[int] = []
    while len(numbers) < count:
        if first not in taken:
            numbers.append(first)
        first += 1
    return np.array(numbers, np.int64)


def _bad_records(bad: list[Any]) -> Block:
    row_errors = [
        RowError(k, "malformed_csv", f"{row.actual_columns} cells where the header has {row.expected_columns}")
        for k, row in enumerate(bad)
    ]
    lines = np.array([row.number for row in bad], np.int64)
    return Block(lines, row_errors, lambda names: _no_field(len(bad)), lambda known: [], lambda k: str(bad[k].text))


def _csv_names(source: Source) -> list[str]:
    import csv
    import io

    with source.open() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
        return next(csv.reader(text), [])


def _no_field(rows: int) -> Field:
    return Field(pa.nulls(rows, LARGE_STRING), np.full(rows, ABSENT, np.int8))


def _column_blocks(batches: Iterator[pa.RecordBatch], numbers: Offsets | None = None) -> Iterator[Block]:
    line = 1
    for batch in batches:
        for first in range(0, batch.num_rows, BLOCK_ROWS):
            part = batch.slice(first, BLOCK_ROWS)
            count = part.num_rows
            lines = np.arange(line, line + count) if numbers is None else numbers[first : first + count]
            yield column_block(part, lines)
            line += count


def column_block(batch: pa.RecordBatch, lines: Offsets) -> Block:
    """Rows of a columnar file; binary columns are text if they are UTF-8."""
    columns = {name: batch.column(k) for k, name in enumerate(batch.schema.names)}
    bad = np.zeros(batch.num_rows, np.bool_)
    for name, column in columns.items():
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            columns[name], broken = _utf8(column)
            bad |= broken

    def raw(row: int) -> str:
        return json.dumps(batch.slice(row, 1).to_pylist()[0], ensure_ascii=False, default=_shown)

    return Block(
        lines,
        [RowError(row, "not_utf8", "a cell with bytes that are not UTF-8") for row in np.flatnonzero(bad).tolist()],
        lambda names: _column_field(columns, names, batch.num_rows),
        lambda known: _column_others(columns, known),
        raw,
        frozenset(columns),
        lambda wanted: _column_value(columns, wanted),
    )


def _shown(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _utf8(column: pa.Array) -> tuple[pa.Array, Flags]:
    """Bytes as text, null where they are not UTF-8, and which those are."""
    column = column.cast(pa.large_binary())
    texts = _binary_strings(column)
    bad = ~valid_utf8(texts.data, texts.starts, texts.ends)
    if bad.any():
        column = pc.if_else(pa.array(bad), pa.scalar(None, pa.large_binary()), column)
    return column.cast(LARGE_STRING), bad


def _binary_strings(column: pa.Array) -> Strings:
    column = column.fill_null(b"")
    if len(column) == 0:
        return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return Strings(np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), bounds)


def _column_field(columns: dict[str, pa.Array], names: tuple[str, ...], rows: int) -> Field:
    for name in names:
        if name in columns:
            column = columns[name]
            kind = np.where(column.is_valid().to_numpy(zero_copy_only=False), _kind_of(column.type), NOTHING)
            return Field(as_text(column), kind.astype(np.int8))
    return _no_field(rows)


def _kind_of(type_: pa.DataType) -> int:
    if pa.types.is_dictionary(type_):
        return _kind_of(type_.value_type)
    if pa.types.is_boolean(type_):
        return BOOLEAN
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return NUMERIC
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return LIST
    if pa.types.is_struct(type_) or pa.types.is_map(type_):
        return STRUCT
    return TEXT


def as_text(column: pa.Array) -> pa.Array:
    """A column as strings; nested values as JSON text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _kind_of(column.type) in (LIST, STRUCT):
        return json_of(column)
    return column if column.type == LARGE_STRING else column.cast(LARGE_STRING)


def _column_value(columns: dict[str, pa.Array], wanted: OutputField) -> pa.Array | None:
    """A column as JSON; a text that is a JSON list or object is that, unless the field is a text."""
    if wanted.name not in columns:
        return None
    column = columns[wanted.name]
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    value = json_of(column)
    if wanted.is_text or _kind_of(column.type) != TEXT:
        return value
    text = as_text(column)
    held = held_kinds(text)
    own = pc.if_else(pa.array(held == BLANK), pa.scalar(None, LARGE_STRING), value)
    return pc.if_else(pa.array((held == OBJECT) | (held == ARRAY)), text, own)


def _column_others(columns: dict[str, pa.Array], known: frozenset[str]) -> list[tuple[str, Ints, pa.Array]]:
    out = []
    for name, column in columns.items():
        if name in known or _kind_of(column.type) in (LIST, STRUCT):
            continue
        text = as_text(column)
        mine = pc.fill_null(pc.less_equal(pc.binary_length(text), META_BYTES), False)
        rows = np.flatnonzero(mine.to_numpy(zero_copy_only=False)).astype(np.int32)
        if len(rows):
            out.append((name, rows, text.take(pa.array(rows))))
    return out


def _frame(source: Source) -> Iterator[Block]:
    assert source.table is not None
    yield from _column_blocks(iter(source.table.to_batches(max_chunksize=BLOCK_ROWS)))


# --- whole files ----------------------------------------------------------------------------------------------------


def _texts(source: Source) -> Iterator[Block]:
    """A row a file: its bytes are the output; those that are not UTF-8 become NUL, which no JSON has."""
    names: list[str] = []
    contents: list[str] = []
    size, line = 0, 1
    for member in source.members:
        content = (source.path / member).read_bytes()
        names.append(shown_name(member))
        contents.append(_nul_for_bad_bytes(content))
        size += len(content)
        if size >= BLOCK_BYTES or len(names) >= BLOCK_ROWS:
            yield _texts_block(names, contents, line)
            line += len(names)
            names, contents, size = [], [], 0
    if names:
        yield _texts_block(names, contents, line)


def _nul_for_bad_bytes(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        kept = content.decode("utf-8", "surrogateescape")
        return "".join("\0" if "\ud800" <= c <= "\udfff" else c for c in kept)


def _texts_block(names: list[str], contents: list[str], line: int) -> Block:
    rows = len(names)
    columns = {OUTPUT[0]: pa.array(contents, LARGE_STRING), FILE[0]: pa.array(names, LARGE_STRING)}
    lines = np.arange(line, line + rows)
    return Block(
        lines, [], lambda wanted: _column_field(columns, wanted, rows), lambda known: [], lambda row: contents[row]
    )


_READERS: dict[str, Callable[[Source], Iterator[Block]]] = {
    "json": _json_file,
    "parquet": _parquet,
    "arrow": _arrow,
    "csv": _csv,
    "frame": _frame,
    "texts": _texts,
}
