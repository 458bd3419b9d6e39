"""Rows of a zip archive: each is a JSON file in it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa

from rageval_batch.inputs.readers import blocks
from rageval_batch.inputs.readers.blocks import KEPT_OF_LONG
from rageval_batch.inputs.readers.json_rows import BYTE_ORDER_MARK, JsonBlock
from rageval_batch.inputs.sources import Source, check_growth, unreadable
from rageval_batch.locations import open_input


def read_zipped_samples(source: Source) -> Iterator[JsonBlock]:
    """The rows of a zip archive: the JSON files of its folder `samples`, in the order of their names."""
    longest = source.reading.max_row_bytes
    try:
        with open_input(source.place) as file, ZipFile(file) as archive:
            infos = [info for info in archive.infolist() if info.filename.startswith("samples/")]
            infos = sorted((info for info in infos if info.filename.endswith(".json")), key=lambda one: one.filename)
            check_growth(source, sum(info.file_size for info in infos))
            size, first, texts = 0, 1, list[bytes]()
            for number, info in enumerate(infos, start=1):
                texts.append(_member(archive, file, info, longest=max(longest, KEPT_OF_LONG) + len(BYTE_ORDER_MARK)))
                size += len(texts[-1])
                if size >= blocks.BLOCK_BYTES or number == len(infos):
                    yield _block_of_texts(texts, first, longest)
                    size, first, texts = 0, number + 1, []
    except (BadZipFile, NotImplementedError, struct.error, zlib.error, EOFError, RuntimeError) as error:
        raise unreadable(source.name, error) from error


_ZIP_ZSTD = 93  # a compression that the zip module of Python knows from 3.14 on
_LOCAL_HEADER = struct.Struct("<26x2H")  # lengths of the name and of the extra field, behind which the data begin


def _member(archive: ZipFile, file: BinaryIO, info: ZipInfo, *, longest: int) -> bytes:
    """The content of a file in an archive; of a longer one, one byte more than that."""
    if info.compress_type == _ZIP_ZSTD:
        content = _zstd_member(file, info, longest + 1)
    else:
        with archive.open(info) as stream:
            content = stream.read(longest + 1)
    return content.removeprefix(BYTE_ORDER_MARK)


def _zstd_member(file: BinaryIO, info: ZipInfo, most: int) -> bytes:
    """So many bytes of a file in an archive that is compressed with Zstandard."""
    file.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(name + extra, 1)
    packed = pa.BufferReader(file.read(info.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        content: bytes = stream.read(most)
        return content


def _block_of_texts(texts: list[bytes], first: int, longest: int) -> JsonBlock:
    """JSON texts as rows whose lines count from `first`."""
    bounds = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    data = np.frombuffer(b"".join(texts), np.uint8)
    return JsonBlock(data, bounds[:-1], bounds[1:], lines=np.arange(first, first + len(texts)), longest=longest)
