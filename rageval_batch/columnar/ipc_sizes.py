"""How large the batches of an Arrow IPC file are without their compression, told before they are read.

Arrow writes the size of each compressed buffer ahead of it and allocates as much as that says. The lists of buffers are
in the messages' headers (FlatBuffers, by the schema Message.fbs), which pyarrow gives as bytes only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa

_MAGIC = b"ARROW1\0\0"
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_HEADER_TYPE, _HEADER = 1, 2  # fields of a Message
_DATA = 1  # of a DictionaryBatch: its RecordBatch
_BUFFERS, _COMPRESSION = 2, 3  # of a RecordBatch
_AS_IT_IS = -1  # in place of a size: the buffer is not compressed


def batch_sizes(file: pa.NativeFile, *, mapped: bool) -> Iterator[int]:
    """The bytes that each batch of an IPC file or stream takes in memory, as far as they can be read.

    Those of its compressed buffers; of a file that is not mapped, those of its other buffers too.
    """
    file.seek(len(_MAGIC) if file.read(len(_MAGIC)) == _MAGIC else 0)
    try:
        for message in pa.ipc.MessageReader.open_stream(file):
            yield sum(_sizes(message)) + (0 if mapped else len(message.body or b""))
    except (pa.ArrowException, OSError, struct.error, IndexError, EOFError):
        pass  # what is wrong with the file is for its reader to say


def _sizes(message: pa.ipc.Message) -> Iterator[int]:
    """The size of each compressed buffer of a message."""
    header, body = memoryview(message.metadata), memoryview(message.body or b"")
    table = _offset(header, 0)
    kind_at, table_at = _field(header, table, _HEADER_TYPE), _field(header, table, _HEADER)
    if kind_at is None or table_at is None or header[kind_at] not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return
    batch: int | None = _offset(header, table_at)
    if header[kind_at] == _DICTIONARY_BATCH:
        data = _field(header, batch or 0, _DATA)
        batch = None if data is None else _offset(header, data)
    if batch is None or _field(header, batch, _COMPRESSION) is None:
        return
    listed = _field(header, batch, _BUFFERS)
    if listed is None:
        return
    vector = _offset(header, listed)
    (count,) = struct.unpack_from("<I", header, vector)
    for start, length in struct.iter_unpack("<qq", header[vector + 4 : vector + 4 + 16 * count]):
        if length >= 8:
            (size,) = struct.unpack_from("<q", body, start)
            yield length if size == _AS_IT_IS else max(0, size)


def _offset(data: memoryview, at: int) -> int:
    """Where the table or vector lies that an offset at a place points to."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: memoryview, table: int, number: int) -> int | None:
    """Where a field of a table lies; None where the table lacks it."""
    fields = table - int(struct.unpack_from("<i", data, table)[0])
    (size,) = struct.unpack_from("<H", data, fields)
    place = 4 + 2 * number
    if place + 2 > size:
        return None
    offset = int(struct.unpack_from("<H", data, fields + place)[0])
    return table + offset if offset else None
