"""Columnar rows: Arrow and Feather files, and frames in memory; what readers of other columns share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rageval_batch.columnar import json_tape
from rageval_batch.columnar.ipc_sizes import batch_sizes
from rageval_batch.columnar.json_tape import Tape
from rageval_batch.columnar.kernels.json import ARRAY, OBJECT, OK
from rageval_batch.columnar.kernels.lines import valid_utf8
from rageval_batch.columnar.nested import BLANK, held_kinds, json_of
from rageval_batch.columnar.plain_types import plain_column
from rageval_batch.columnar.row_sizes import bytes_at_most, row_sizes
from rageval_batch.columnar.strings import LARGE_STRING, Flags, Ints, Offsets, Strings, from_arrow
from rageval_batch.dataclass import dataclass
from rageval_batch.errors import InputError
from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import (
    BOOLEAN,
    KEPT_OF_LONG,
    LIST,
    MOST_COLUMNS,
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
from rageval_batch.inputs.readers.json_rows import field_of, json_of_nodes, nodes_at
from rageval_batch.inputs.reading import MAX_ROW_BYTES, steps_of
from rageval_batch.inputs.sources import Source, check_growth
from rageval_batch.locations import open_input
from rageval_batch.model.schemas import FIELDS, OutputField

COLUMN_BYTES = 4 * blocks.BLOCK_BYTES  # of columns, which are wider in memory than in a file


@dataclass(frozen=True, kw_only=True)
class ColumnBlock:
    """Rows whose fields are Arrow columns, the same for all rows."""

    lines: Offsets
    columns: Mapping[str, pa.Array]
    row_errors: list[RowError]
    raw_rows: pa.RecordBatch | Sequence[str]  # a row's raw text is the JSON of its record, or one of these texts
    unread: frozenset[str] = frozenset()  # columns that are read only when somebody asks for them by name

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.columns)

    def field(self, names: tuple[str, ...]) -> Field:
        for name in names:
            if name in self.columns:
                column = self.columns[name]
                kind = np.where(column.is_valid().to_numpy(zero_copy_only=False), _kind_of(column.type), NOTHING)
                doubles = column.cast(pa.float64()) if pa.types.is_floating(column.type) else None
                return Field(_as_text(column), kind.astype(np.int8), doubles)
        return absent_field(len(self))

    def field_at(self, path: str) -> Field:
        if path in self.columns:
            return self.field((path,))
        nodes = self._nodes(path)
        return absent_field(len(self)) if nodes is None else field_of(*nodes)

    def _nodes(self, path: str) -> tuple[Tape, Ints] | None:
        """(JSON of the column that a path begins with, the node that the path leads to); None without the column."""
        name, *steps = steps_of(path)
        if name not in self.columns:
            return None
        column = self.columns[str(name)]
        tape = json_tape.parse_strings(
            from_arrow(_as_text(column) if _kind_of(column.type) == TEXT else json_of(column))
        )
        return tape, nodes_at(tape, np.where(tape.status == OK, tape.root, -1).astype(np.int32), tuple(steps))

    def has(self, name: str) -> bool:
        return name in self.columns

    def others(
        self,
        known: frozenset[str],
        *,
        read: tuple[Names, ...] = (),
        rows: Flags | None = None,
        limit: ColumnLimit | None = None,
        taken: Taken = NONE_TAKEN,
    ) -> list[Column]:
        out = []
        limit = limit or ColumnLimit()
        known = known.union(*([name for name in field if name in self.columns][:1] for field in read))
        for name in self.columns:
            if name in known:
                continue
            if name in self.unread and not limit.may_take(name):
                limit.take(name)
                continue
            column = self.columns[name]
            text = _as_text(column)
            filled = text.is_valid().to_numpy(zero_copy_only=False)
            if name in taken:
                filled &= ~taken[name]
            mine = np.flatnonzero(filled if rows is None else filled & rows).astype(np.int32)
            if (len(mine) or rows is not None) and limit.take(name):
                kind = np.full(len(mine), _kind_of(column.type), np.int8)
                out.append(Column(name, mine, text.take(pa.array(mine)), kind=kind))
        return out

    def raw(self, row: int) -> str:
        if not isinstance(self.raw_rows, pa.RecordBatch):
            return self.raw_rows[row]
        try:
            cells = self.raw_rows.slice(row, 1).to_pylist()[0]
        except (ValueError, OverflowError, TypeError, LookupError):  # times and time zones that Python does not have
            cells = {name: _as_text(self.columns[name])[row].as_py() for name in self.raw_rows.schema.names}
        return json.dumps(cells, ensure_ascii=False, default=_printable)

    def whole_rows(self) -> pa.Array | None:
        return None

    def value(self, field: OutputField) -> pa.Array | None:
        """As in `Block`; a text that holds a JSON list or object is that, unless the field is a text."""
        return self.value_at(field.name, field)

    def value_at(self, path: str, field: OutputField) -> pa.Array | None:
        if path not in self.columns:
            nodes = self._nodes(path)
            return None if nodes is None else json_of_nodes(*nodes)
        column = self.columns[path]
        value = json_of(column)
        if field.is_text or _kind_of(column.type) != TEXT:
            return value
        text = _as_text(column)
        kinds = held_kinds(text)
        scalar = pc.if_else(pa.array(kinds == BLANK), pa.scalar(None, LARGE_STRING), value)
        return pc.if_else(pa.array((kinds == OBJECT) | (kinds == ARRAY)), text, scalar)


def read_arrow(source: Source) -> Iterator[ColumnBlock]:
    """The rows of an Arrow IPC file or stream."""
    with open_input(source.place) if source.url else pa.memory_map(source.place) as mapped:
        _check_batches(source, mapped)
        mapped.seek(0)
        try:
            file = pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            stream = pa.ipc.open_stream(mapped)
            names, batches = stream.schema.names, iter(stream)
        else:
            names = file.schema.names
            batches = (file.get_batch(k) for k in range(file.num_record_batches))
        check_names(source, names)
        yield from _blocks_of(source, names, batches, is_mapped=True)


def _blocks_of(
    source: Source,
    names: Sequence[str],
    batches: Iterable[pa.RecordBatch],
    *,
    is_mapped: bool = False,
) -> Iterator[ColumnBlock]:
    """The rows of batches that lie in memory; of wide ones the columns that are kept, and others on demand.

    `is_mapped`: they are as a file has them, which nobody has looked at.
    """
    fields, line = field_columns(source), 1
    read = first_columns(names, fields)
    for batch in batches:
        others = BatchColumns(source, batch, read) if len(read) < len(names) else None
        part = batch if others is None else batch.select([name for name in names if name in read])
        if is_mapped:
            part.validate()
            for name in part.schema.names:
                _check_column(source, name, part.column(name))
        lines = np.arange(line, line + batch.num_rows)
        longest = source.reading.max_row_bytes
        yield from column_blocks([part], lines, fields, longest=longest, others=others)
        line += batch.num_rows


def _check_batches(source: Source, file: pa.NativeFile) -> None:
    """InputError where a file, or a batch that has to be made in memory, is beyond all measure.

    A batch without compression is mapped: the system reads of it what is used, and drops it again.
    """
    total, limit = 0, source.reading.max_piece_bytes
    for size in batch_sizes(file, mapped=not source.url):
        total += size
        if size > limit:
            raise InputError(
                f"{source.name} has a batch of {size:,} bytes, and a batch is read whole; {limit:,} are allowed. "
                "Write it in smaller batches, or without compression, or allow more with --max-row-bytes, of which "
                "this is eight times."
            )
    check_growth(source, total)


def _check_column(source: Source, name: str, column: pa.Array) -> None:
    """InputError where offsets of a column lie beyond its buffers: Arrow maps a file as it is, and would read there.

    A text that is not UTF-8 is an error of its row; inside of a list or struct it is one of the file.
    """
    try:
        _as_binary(column).validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowIndexError) as error:
        said = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"{source.name}: column {name} is no valid Arrow data ({said}). Write the file anew, texts as UTF-8."
        ) from error


def _as_binary(column: pa.Array) -> pa.Array:
    """A column of texts, be it coded, as one of bytes with the same buffers; any other as it is."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _as_binary(column.dictionary), safe=False)
    if pa.types.is_string(column.type):
        return column.view(pa.binary())
    return column.view(pa.large_binary()) if pa.types.is_large_string(column.type) else column


def read_frame(source: Source) -> Iterator[ColumnBlock]:
    """The rows of a frame in memory."""
    assert source.table is not None
    check_names(source, source.table.column_names)
    yield from _blocks_of(source, source.table.column_names, source.table.to_batches(max_chunksize=blocks.BLOCK_ROWS))


def check_names(source: Source, names: Sequence[str]) -> None:
    """InputError for a column that is there twice."""
    if len(set(names)) < len(names):
        doubled = Counter(names).most_common(1)[0][0]
        raise InputError(f"{source.name} has two columns '{doubled}'. Rename or remove one of them.")


def field_columns(source: Source) -> frozenset[str]:
    """The columns that are fields of a row, under their own names or by a map."""
    mapped = (str(steps_of(path)[0]) for paths in source.reading.fields.values() for path in paths if path)
    return frozenset(name for names in FIELDS for name in names) | frozenset(mapped)


def first_columns(
    names: Sequence[str], fields: Container[str], is_empty: Callable[[str], bool] = lambda name: False
) -> frozenset[str]:
    """Of the columns of a table those that are fields, and as many others as are kept, those without a value aside."""
    if len(names) <= MOST_COLUMNS:
        return frozenset(names)
    others = (name for name in names if name not in fields and not is_empty(name))
    return frozenset(name for name in names if name in fields).union(islice(others, MOST_COLUMNS))


def column_blocks(
    batches: Iterable[pa.RecordBatch],
    lines: Offsets | None = None,
    texts: Container[str] | None = None,
    *,
    longest: int = MAX_ROW_BYTES,
    others: OtherColumns | None = None,
    first: int = 0,
) -> Iterator[ColumnBlock]:
    """Batches in blocks of bounded size. `lines` are those of the one batch; without them rows count from 1.

    `texts`: the binary columns in which bytes that are not UTF-8 are an error of their row; without it, all. A row of
    more than `longest` bytes is a row error, in a block without columns. `others`: columns that batches do not
    have, whose rows are asked for by their places, which count from `first`.
    """
    line = 1
    for batch in batches:
        numbers = np.arange(line, line + batch.num_rows) if lines is None else lines
        for start, stop, is_long in _slices(batch, longest):
            part = batch.slice(start, stop - start)
            if is_long:
                yield _long_rows(part, numbers[start:stop], longest)
                continue
            block = column_block(part, numbers[start:stop], texts)
            yield block if others is None else _with_others(block, others, first + start)
        line += batch.num_rows


class OtherColumns(Protocol):
    """Columns of a wide table that are read when they are asked for."""

    @property
    def every(self) -> Sequence[str]:
        """All names of the table, in their order."""

    @property
    def names(self) -> frozenset[str]:
        """Those that its batches do not have."""

    def column(self, name: str, first: int, count: int) -> pa.Array:
        """Some rows of one of these columns, by their places; later calls ask for later rows."""


def _with_others(block: ColumnBlock, others: OtherColumns, first: int) -> ColumnBlock:
    """A block with columns that are read when they are asked for; `first`: the place of its first row."""
    return replace(block, columns=_Columns(block.columns, others, first, count=len(block)), unread=others.names)


class BatchColumns:
    """The columns of a batch that are read when they are asked for."""

    def __init__(self, source: Source, batch: pa.RecordBatch, read: Container[str]) -> None:
        self._source, self._batch = source, batch
        self.every = batch.schema.names
        self.names = frozenset(name for name in self.every if name not in read)

    def column(self, name: str, first: int, count: int) -> pa.Array:
        """Some rows of one of these columns."""
        column = self._batch.column(name)
        _check_column(self._source, name, column)
        return column.slice(first, count)


class _Columns(Mapping[str, pa.Array]):
    """The columns of a block in the order of its table, those that batches do not have being read on demand."""

    def __init__(self, read: Mapping[str, pa.Array], others: OtherColumns, first: int, *, count: int) -> None:
        self._read, self._others = dict(read), others
        self._first, self._count = first, count

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._read:
            if name not in self._others.names:
                raise KeyError(name)
            column = self._others.column(name, self._first, self._count)
            lines = np.zeros(self._count, np.int64)
            self._read[name] = column_block(pa.record_batch({name: column}), lines, texts=()).columns[name]
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._read or name in self._others.names

    def __iter__(self) -> Iterator[str]:
        return iter(self._others.every)

    def __len__(self) -> int:
        return len(self._others.every)


def _slices(batch: pa.RecordBatch, longest: int) -> Iterator[tuple[int, int, bool]]:
    """(first row, row behind the last, whether its rows are too long) of the blocks of a batch."""
    most = bytes_at_most(batch)
    if most is not None and most <= min(longest, COLUMN_BYTES):
        edges, too_long = np.zeros(0, np.int64), np.zeros(batch.num_rows, np.bool_)
    else:
        sizes = row_sizes(batch)
        too_long = sizes > longest
        piece = np.cumsum(np.where(too_long, 0, sizes)) // COLUMN_BYTES
        edges = 1 + np.flatnonzero((np.diff(piece) != 0) | (np.diff(too_long) != 0))
    bounds = [0, *edges.tolist(), batch.num_rows]
    for begin, end in pairwise(bounds):
        for first in range(begin, end, blocks.BLOCK_ROWS):
            yield first, min(first + blocks.BLOCK_ROWS, end), bool(too_long[first])


def _long_rows(batch: pa.RecordBatch, lines: Offsets, longest: int) -> ColumnBlock:
    """Rows that are too long: their beginnings alone."""
    return ColumnBlock(
        lines=lines,
        columns={},
        row_errors=[too_long_error(row, longest) for row in range(batch.num_rows)],
        raw_rows=[_beginning(batch, row) for row in range(batch.num_rows)],
    )


def _beginning(batch: pa.RecordBatch, row: int) -> str:
    """The texts and numbers of a row as JSON, as far as a row that is too long is kept."""
    cells = {name: _text_start(column[row]) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
    return cut_long(json.dumps(cells, ensure_ascii=False).encode())


def _text_start(cell: pa.Scalar) -> str | None:
    """The beginning of a value as text, of lists and structs nothing."""
    if isinstance(cell, pa.DictionaryScalar):
        cell = cell.value
    if not cell.is_valid:
        return None
    if isinstance(cell, pa.BinaryScalar):
        return bytes(memoryview(cell.as_buffer())[:KEPT_OF_LONG]).decode("utf-8", "backslashreplace")
    return "…" if pa.types.is_nested(cell.type) else str(cell)


def column_block(batch: pa.RecordBatch, lines: Offsets, texts: Container[str] | None = None) -> ColumnBlock:
    """The rows of one batch. A binary column is text; bytes that are not UTF-8, which a column of texts may hold as
    well, are a row error in one of `texts` (all columns without it), and shown as \\xNN in another."""
    columns = {name: _decoded(plain_column(batch.column(k))) for k, name in enumerate(batch.schema.names)}
    for k, (name, column) in enumerate(columns.items()):
        if _has_bad_texts(column):
            columns[name] = column.cast(pa.large_binary())
            batch = batch.set_column(k, name, columns[name])
    bad = np.zeros(batch.num_rows, np.bool_)
    for name, column in columns.items():
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            columns[name], bad_cells = _decode_utf8(column)
            if texts is None or name in texts:
                bad |= bad_cells
            elif bad_cells.any():
                columns[name] = pc.replace_with_mask(columns[name], pa.array(bad_cells), _escaped(column, bad_cells))
    row_errors = [
        RowError(row, "not_utf8", "a cell with bytes that are not UTF-8; --encoding names another")
        for row in np.flatnonzero(bad).tolist()
    ]
    return ColumnBlock(lines=lines, columns=columns, row_errors=row_errors, raw_rows=batch)


def _has_bad_texts(column: pa.Array) -> bool:
    """Whether a column that calls itself text has bytes that are not UTF-8: Arrow's readers take them as they come."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    texts = _binary_strings(column.cast(pa.large_binary()))
    return not bool(valid_utf8(texts.data, texts.starts, texts.ends).all())


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _escaped(column: pa.Array, cells: Flags) -> pa.Array:
    """Some binary cells as text, what is not UTF-8 as \\xNN."""
    return pa.array(map(_printable, column.filter(pa.array(cells)).to_pylist()), LARGE_STRING)


def _printable(value: Any) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _decode_utf8(column: pa.Array) -> tuple[pa.Array, Flags]:
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


def _kind_of(type_: pa.DataType) -> int:
    if pa.types.is_boolean(type_):
        return BOOLEAN
    if pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return NUMERIC
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return LIST
    if pa.types.is_struct(type_) or pa.types.is_map(type_):
        return STRUCT
    return TEXT


def _as_text(column: pa.Array) -> pa.Array:
    """A column as strings; nested values as JSON text."""
    if _kind_of(column.type) in (LIST, STRUCT):
        return json_of(column)
    return column if column.type == LARGE_STRING else column.cast(LARGE_STRING)
